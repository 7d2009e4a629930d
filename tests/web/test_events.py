"""Events: lists and their filters in all forms, places, details, buffers, timelines, traces; of real recordings, and of a synthetic one that grows."""
import csv
import io
import json
import os
import subprocess
import time

import api_test

MAKE = os.path.join(api_test.BUILD, "tests", "tools", "make_recordings")


def url(id, more=""):
    return "/api/v1/recordings/%s%s" % (id, more)


def whole(t, id, **query):
    """All that a filter finds, asked for until it is complete."""
    for _ in range(100):
        r = t.get(url(id, "/events"), limit=1000, **query)
        assert r.status == 200, r.body
        if r.json["complete"]:
            return r.json["items"]
    raise AssertionError("never complete: %r" % query)


def make(t, *args):
    """A synthetic recording in the server's store: the process that writes it, and its id."""
    if not os.path.exists(MAKE):
        raise api_test.Skip("tests/tools/make_recordings is not built")
    process = subprocess.Popen([MAKE, t.server.data_dir, *args], stdout=subprocess.PIPE, text=True)
    id = process.stdout.readline().strip()
    return process, id


def synthetic(t):
    if "synthetic" not in t.recordings:
        process, id = make(t, "big", "60000")
        assert process.wait(60) == 0
        process.stdout.close()
        t.recordings["synthetic"] = id
        t.wait(lambda: t.get(url(id)).status == 200)
    return t.recordings["synthetic"]


def test_list(t):
    id = t.finished("files")
    last = t.get(url(id)).json["events"]
    r = t.get(url(id, "/events"), limit=1000).json
    assert r["total"] == r["last"] == last and r["complete"] and r["offset"] == 0 and r["filter"] == []
    assert [i["number"] for i in r["items"]] == list(range(1, min(last, 1000) + 1))
    lines = t.server.hermit("events", id, "-v").stdout
    some = [i for i in r["items"] if i["name"] == "openat" and "/etc/passwd" in i["args"]]
    assert some and some[0]["kind"] == "syscall" and some[0]["result"] == "3" and "openat(" + some[0]["args"] + ") = 3" in lines
    gone = [i for i in r["items"] if '"/nowhere"' in i["args"] and i["failed"]]
    assert gone and gone[0]["result"] == "-1 ENOENT" and gone[0]["errno"] == "ENOENT"
    assert {i["pid"] for i in r["items"] if i["thread"]} >= {i["pid"] for i in t.get(url(id, "/processes")).json["items"]}
    page = t.get(url(id, "/events"), offset=7, limit=3).json
    assert [i["number"] for i in page["items"]] == [8, 9, 10] and page["offset"] == 7
    assert t.get(url(id, "/events"), event=20, limit=2).json["items"][0]["number"] == 20
    assert t.get(url(id, "/events"), offset=last, limit=2).json["items"] == []
    assert t.get(url(id, "/events"), offset=2**53 - 1).json["items"] == []
    for bad in ({"limit": 1001}, {"limit": "x"}, {"offset": -1}, {"offset": 2**53}, {"event": "1e3"}, {"from_ns": "z"}):
        assert t.get(url(id, "/events"), **bad).status == 400, bad


def test_halves(t):
    id = t.finished("tree")
    items = whole(t, id, q="syscall:wait4")
    ends = [i for i in items if i["kind"] == "syscall-exit"]
    assert ends and all(i["partner"] and int(i["duration_ns"]) > 0 for i in ends)
    for end in ends:
        entry = t.get(url(id, "/events/%d" % end["partner"])).json
        assert entry["kind"] == "syscall-enter" and entry["partner"] == end["number"] and entry["result"] == ""
        assert t.get(url(id, "/events"), event=end["number"], limit=1).json["items"] == [end]
        assert end["args"].startswith(entry["args"].split(",")[0])


def test_filter(t):
    id = t.finished("files")
    every = whole(t, id)
    for q, want in [
        ("failed", lambda e: e["failed"]),
        ("-failed kind:syscall", lambda e: not e["failed"] and e["kind"] == "syscall"),
        ("errno:ENOENT syscall:openat", lambda e: e["errno"] == "ENOENT" and e["name"] == "openat"),
        ("kind:exec,exit", lambda e: e["kind"] in ("exec", "exit")),
        ("thread:2", lambda e: e["thread"] == 2),
        ("#5..#9 -#7", lambda e: e["number"] in (5, 6, 8, 9)),
        ("time:..5ms", lambda e: int(e["time_ns"]) <= 5000000),
        ("signal:SIGCHLD", lambda e: e["name"] == "SIGCHLD"),
        ("syscall:open*", lambda e: e["kind"] != "exec" and e["name"].startswith("open")),
    ]:
        assert whole(t, id, q=q) == [e for e in every if want(e)], q
    assert {e["name"] for e in whole(t, id, q="path:/etc/passwd")} >= {"openat", "read", "close"}
    assert whole(t, id, q="PASSWD") == whole(t, id, text="passwd") != []
    assert whole(t, id, q="syscall:openat failed") == whole(t, id, syscall="openat", failed="1") == whole(t, id, q="failed", syscall="openat")
    assert whole(t, id, first=5, last=9) == every[4:9]
    assert whole(t, id, from_ns=every[3]["time_ns"], to_ns=every[5]["time_ns"]) == [e for e in every if 4 <= e["number"] <= 6]
    chips = t.get(url(id, "/events"), q='-failed path:"/a b" x', pid="1").json["filter"]
    assert chips == [
        {"text": "-failed", "offset": 0, "length": 7, "key": "failed", "value": "failed", "negated": True},
        {"text": 'path:"/a b"', "offset": 8, "length": 11, "key": "path", "value": "/a b", "negated": False},
        {"text": "x", "offset": 20, "length": 1, "key": "", "value": "x", "negated": False},
        {"text": "pid:1", "offset": 0, "length": 0, "key": "pid", "value": "1", "negated": False}], chips


def test_bad_filter(t):
    id = t.finished("files")
    for q, offset, length in [("foo:bar", 0, 3), ("failed errno:ENOTHING", 13, 8), ('x "open', 2, 5), ("a - b", 2, 1), ("x" * 5000, 4096, 0)]:
        for more in ("/events", "/events/locate"):
            r = t.get(url(id, more), q=q)
            assert r.status == 422 and r.code == "bad-filter", (q, r.body)
            assert (r.json["offset"], r.json["length"], r.json["parameter"]) == (offset, length, "q"), (q, r.json)
    r = t.get(url(id, "/events"), thread="x")
    assert r.status == 422 and r.json["parameter"] == "thread"
    assert t.get(url(id, "/events"), q=" ".join("a" * 65)).status == 422


def test_forms(t):
    id = t.finished("files")
    every = whole(t, id)

    def ask(form, **query):
        r = t.get(url(id, "/events"), headers={"Accept": form}, **query)
        assert r.status == 200 and r.headers["Content-Type"].startswith(form), r.headers
        return r.body.decode()

    # whole lists without limit, however long
    rows = list(csv.DictReader(io.StringIO(ask("text/csv"), newline="")))
    assert len(rows) == len(every)
    assert all(a["args"].lstrip("'") == b["args"] and a["number"] == str(b["number"]) and a["errno"] == (b["errno"] or "")
               for a, b in zip(rows, every) if '"...' not in a["args"] + b["args"])
    lines = [json.loads(line) for line in ask("application/x-ndjson", q="failed").splitlines()]
    assert [e["number"] for e in lines] == [e["number"] for e in every if e["failed"]]
    text = ask("text/plain", q="passwd").splitlines()
    assert text and all("passwd" in line for line in text)
    assert len(ask("text/plain", limit=5).splitlines()) == 5
    assert t.get(url(id, "/events"), headers={"Accept": "image/png"}).status == 406


def test_locate(t):
    id = t.finished("files")
    failed = [e["number"] for e in whole(t, id, q="failed")]
    assert len(failed) > 2

    def locate(event, dir, q="failed"):
        r = t.get(url(id, "/events/locate"), event=event, dir=dir, q=q).json
        assert r["complete"]
        return r["event"], r["offset"]

    assert locate(0, "next") == (failed[0], 0)
    assert locate(failed[0], "next") == (failed[1], 1)
    assert locate(failed[1], "previous") == (failed[0], 0)
    assert locate(failed[-1], "next") == (None, None)
    assert locate(failed[0], "previous") == (None, None)
    assert locate(failed[1], "nearest") == (failed[1], 1)
    assert locate(10**9, "nearest") == (failed[-1], len(failed) - 1)
    assert locate(41, "nearest", "") == (41, 40) and locate(41, "next", "") == (42, 41) and locate(41, "previous", "") == (40, 39)
    assert t.get(url(id, "/events/locate"), event=1, dir="up").status == 400


def test_detail(t):
    id = t.finished("files")
    every = whole(t, id)
    for e in every[::7] + [e for e in every if e["kind"] not in ("syscall", "tsc", "cpuid")][:40]:
        detail = t.get(url(id, "/events/%d" % e["number"])).json
        assert {k: detail[k] for k in ("number", "kind", "name", "thread", "errno", "partner")} == {k: e[k] for k in ("number", "kind", "name", "thread", "errno", "partner")}
        for key, step in (("previous_same_thread", -1), ("next_same_thread", 1)):
            beside = [o["number"] for o in every if o["thread"] == e["thread"] and (o["number"] - e["number"]) * step > 0]
            assert detail[key] == ((max if step < 0 else min)(beside) if beside else None)
    read = [e for e in whole(t, id, q="path:/etc/passwd syscall:read -failed") if e["result"] != "0"][0]
    detail = t.get(url(id, "/events/%d" % read["number"])).json
    assert detail["arguments"][0]["name"] == "fd" and detail["arguments"][0]["fd"]["path"] == "/etc/passwd"
    b = detail["buffers"][detail["arguments"][1]["buffer"]]
    assert b["direction"] == "out" and str(b["len"]) == read["result"] and detail["returned"]["value"] == hex(int(read["result"]))
    execs = [t.get(url(id, "/events/%d" % e["number"])).json["exec"] for e in every if e["kind"] == "exec"]
    assert execs[0]["argv"][:2] == ["/bin/sh", "-c"] and any(x["argv"][0] == "cat" for x in execs)
    births = [t.get(url(id, "/events/%d" % e["number"])).json for e in every if e["kind"] == "birth"]
    assert births and births[0]["child"]["thread"] == 2
    ends = [t.get(url(id, "/events/%d" % e["number"])).json for e in every if e["kind"] == "exit"]
    assert ends[-1]["status"]["kind"] == "exited"
    for n in ("0", str(len(every) + 1), "x", "-1", str(2**70)):
        r = t.get(url(id, "/events/" + n))
        assert r.status == 404 and r.code == "no-such-event", n


def test_buffers(t):
    id = t.finished("files")
    read = [e for e in whole(t, id, q="path:/etc/passwd syscall:read -failed") if e["result"] != "0"][0]
    path = url(id, "/events/%d/buffers/0" % read["number"])
    with open("/etc/passwd", "rb") as f:
        want = f.read()[:int(read["result"])]
    r = t.get(path)
    assert r.status == 200 and r.body == want and r.headers["ETag"]
    r = t.get(path, headers={"Range": "bytes=2-5"})
    assert r.status == 206 and r.body == want[2:6] and r.headers["Content-Range"] == "bytes 2-5/%d" % len(want)
    assert t.get(path, headers={"Range": "bytes=%d-" % len(want)}).status == 416
    assert t.get(path, headers={"If-None-Match": t.get(path).headers["ETag"]}).status == 304
    assert t.request("HEAD", path).body == b""
    for bad in ("buffers/99", "buffers/x", "buffers/-1"):
        assert t.get(url(id, "/events/%d/%s" % (read["number"], bad))).status == 404


def test_large_buffer(t):
    """More than a megabyte goes through a file."""
    id = t.record("/usr/bin/python3", "-c", "import os; os.read(os.open('/dev/urandom', 0), 3000000)")
    t.wait(lambda: t.get(url(id)).status == 200 and not t.get(url(id)).json["live"])
    read = whole(t, id, q="syscall:read path:/dev/urandom")[-1]
    detail = t.get(url(id, "/events/%d" % read["number"])).json
    lengths = [b["len"] for b in detail["buffers"]]
    assert sum(lengths) == 3000000, lengths
    i = lengths.index(max(lengths))
    path = url(id, "/events/%d/buffers/%d" % (read["number"], i))
    whole_body = t.get(path).body
    assert len(whole_body) == lengths[i]
    r = t.get(path, headers={"Range": "bytes=-7"})
    assert r.status == 206 and r.body == whole_body[-7:]


def test_etag(t):
    id = t.finished("files")
    for more in ("/events", "/events?q=failed", "/events/3", "/timeline"):
        r = t.get(url(id, more))
        assert r.headers["ETag"] and "immutable" in r.headers["Cache-Control"], more
        assert t.get(url(id, more), headers={"If-None-Match": r.headers["ETag"]}).status == 304
    forms = ["application/json", "text/csv", "application/x-ndjson", "text/plain"]
    tags = [t.get(url(id, "/events"), limit=5, headers={"Accept": form}).headers["ETag"] for form in forms]
    assert len(set(tags)) == len(forms), "the cache of a browser would give one form for another: %s" % tags
    assert t.get(url(id, "/events"), limit=5, headers={"Accept": forms[1], "If-None-Match": tags[0]}).status == 200
    assert t.get(url(id, "/events"), limit=5, headers={"Accept": forms[1], "If-None-Match": tags[1]}).status == 304


def test_timeline(t):
    id = t.finished("tree")
    every = whole(t, id)
    r = t.get(url(id, "/timeline"), buckets=100).json
    assert r["complete"] and r["last"] == len(every) and r["buckets"] <= 100
    assert int(r["end_ns"]) == int(every[-1]["time_ns"])
    threads = {e["thread"] for e in every if e["thread"]}
    assert {lane["thread"] for lane in r["lanes"]} == threads and r["lanes_total"] == len(threads)
    for lane in r["lanes"]:
        of = [e for e in every if e["thread"] == lane["thread"]]
        assert sum(lane["counts"]) == lane["total"] == len(of) and sum(lane["errors"]) == sum(e["failed"] for e in of)
        assert len(lane["counts"]) == len(lane["errors"]) == len(lane["blocked"]) == r["buckets"]
    assert {m["kind"] for m in r["marks"]} >= {"exec", "birth", "exit"}
    assert sum(m["kind"] == "exec" for m in r["marks"]) == sum(e["kind"] == "exec" for e in every)
    # a window with few events lists them
    some = every[len(every) // 2:len(every) // 2 + 20]
    r = t.get(url(id, "/timeline"), from_ns=some[0]["time_ns"], to_ns=some[-1]["time_ns"], buckets=50).json
    numbers = [e[0] for e in r["events"]]
    assert numbers == list(range(numbers[0], numbers[-1] + 1)) and set(numbers) >= {e["number"] for e in some[:-1]}
    for bad in ({"buckets": 9}, {"buckets": 4001}, {"from_ns": "x"}):
        assert t.get(url(id, "/timeline"), **bad).status == 400
    assert t.get(url(id, "/timeline"), from_ns=2**63, to_ns=1).status == 200


def test_trace(t):
    id = t.finished("tree")
    every = whole(t, id)
    r = t.get(url(id, "/trace"))
    assert r.status == 200 and "attachment" in r.headers["Content-Disposition"]
    events = r.json["traceEvents"]
    calls = [e for e in events if e["ph"] == "X"]
    assert len(calls) == sum(e["kind"] in ("syscall", "syscall-enter", "birth") for e in every)
    assert any(e["dur"] > 0 for e in calls) and all(e["pid"] and e["tid"] for e in calls)
    assert sum(e["ph"] == "i" and e["cat"] == "exec" for e in events) == sum(e["kind"] == "exec" for e in every)


def test_no_such(t):
    for more in ("/events", "/events/1", "/events/locate", "/events/1/buffers/0", "/timeline", "/trace"):
        r = t.get(url("f" * 32, more))
        assert r.status == 404 and r.code == "no-such-recording", more


def test_hostile_text(t):
    """What was recorded is text, whatever it is."""
    id = t.record("/bin/echo", "<script>alert(1)</script>", "=cmd|' /C calc'!A0", "\x1b[31m")
    t.wait(lambda: t.get(url(id)).status == 200 and not t.get(url(id)).json["live"])
    r = t.get(url(id, "/events"), q="kind:exec")
    assert "<script>" in r.json["items"][0]["args"] and r.headers["Content-Type"] == "application/json" and b"\x1b" not in r.body
    body = t.get(url(id, "/events"), headers={"Accept": "text/csv"}).body
    assert b"\x1b" not in body and not any(line.split(b",")[7:8] and line.split(b",")[7].startswith((b"=", b'"=')) for line in body.splitlines())


def test_synthetic(t):
    id = synthetic(t)
    begun = time.monotonic()
    r = t.get(url(id, "/events"), offset=59000, limit=100).json
    assert r["total"] == r["last"] > 59900 and len(r["items"]) == 100 and time.monotonic() - begun < 10
    # each page is the same as the list made at once, and as hermit events has it
    want = [line.split()[0] for line in t.server.hermit("events", id, "--filter", "failed syscall:openat").stdout.splitlines()]
    got = []
    while True:
        page = t.get(url(id, "/events"), q="failed syscall:openat", offset=len(got), limit=300).json
        got += [str(e["number"]) for e in page["items"]]
        if not page["items"] and page["complete"]:
            break
    assert got == want and len(got) > 20
    words = whole(t, id, q='"item 33"')
    assert words and all("item 33" in e["args"] for e in words)
    assert {e["stream"] for e in words} <= {"stdout", "stderr"}


def test_live(t):
    """A recording that is being written: events appear, pages that were incomplete become whole; then it ends."""
    process, id = make(t, "live", "3000", "40")
    try:
        t.wait(lambda: t.get(url(id, "/events")).status == 200)
        seen = []
        while process.poll() is None:
            r = t.get(url(id, "/events"), q="kind:call", limit=1)
            assert r.status == 200 and "immutable" not in r.headers["Cache-Control"] or process.poll() is not None, r.body
            seen.append(r.json["last"])
            assert t.get(url(id, "/timeline"), buckets=20).status == 200
            time.sleep(0.1)
        assert seen == sorted(seen) and len(set(seen)) > 3, seen
        t.wait(lambda: not t.get(url(id)).json["live"])
        last = t.get(url(id)).json["events"]
        t.wait(lambda: t.get(url(id, "/timeline")).json["last"] == last)
        assert whole(t, id, q="kind:end")[0]["number"] == last
    finally:
        process.kill()
        process.wait()
        process.stdout.close()
