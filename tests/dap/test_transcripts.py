"""The sessions of transcripts/*.jsonl again: the same answers, but for what differs from run to run."""
import json
import os

import transcripts


def replay(t, name):
    wanted = transcripts.load(name)
    got = transcripts.play(t, wanted)
    for number, (a, b) in enumerate(zip(wanted, got), 1):
        assert a == b, "%s, line %d:\n    was %s\n    is  %s" % (name, number, json.dumps(a, sort_keys=True)[:1500], json.dumps(b, sort_keys=True)[:1500])
    assert len(wanted) == len(got), "%d messages, not %d" % (len(got), len(wanted))


def test_first_session(t):
    replay(t, "first-session")


def test_back_in_time(t):
    replay(t, "back-in-time")


def test_refusals(t):
    replay(t, "refusals")


def test_all_are_tested(t):
    del t
    with open(__file__, encoding="utf-8") as f:
        text = f.read()
    for name in os.listdir(transcripts.FOLDER):
        assert '"%s"' % name.replace(".jsonl", "") in text, name
