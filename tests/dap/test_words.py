"""The words of the debug console for moving and for looking at the whole recording; what they share with the requests of places. Bounded output. Attached sessions."""
import re
import subprocess

import client
import context


def word(c, line, limit=None):
    """A word that moves: it answers at once, the client is told that the guest runs, and sees the stop."""
    answer = c.request("evaluate", {"expression": line, "context": "repl", "frameId": c.top()["id"]})
    assert answer["result"] == "", (line, answer)
    c.event("continued", 5)
    return c.stop(limit)


def test_movements(t):
    """gdb's own words and ours are the same movements as the editor's buttons."""
    c = t.launch("steps")
    lines = {}
    for name, function in (("calling add", "main"), ("in add", "add"), ("in square", "square"), ("end of add", "add")):
        lines[name] = (function, t.line("steps", name))
    walk = [("advance add", "in add"), ("step", "in square"), ("finish", "in add"), ("reverse-finish", "calling add"), ("s", "in add"), ("s", "in square"), ("reverse-step-out", "in add"),
            ("next", "end of add"), ("reverse-step-over", "in add"), ("reverse-finish", "calling add"), ("step 2", "in square"), ("reverse-next", "in add"),
            ("until %d" % t.line("steps", "end of add"), "end of add")]
    for line, wanted in walk:
        assert word(c, line)["reason"] == "step", line
        assert c.at() == lines[wanted], (line, c.at(), lines[wanted])
    word(c, "start")
    word(c, "end")
    assert "exit status 0" in word(c, "continue")["description"]
    assert "Start" in word(c, "rc")["description"]
    word(c, "si")
    before = c.evaluate("(long)$pc")
    word(c, "si 3")
    assert c.evaluate("(long)$pc") != before
    word(c, "rsi 3")
    assert c.evaluate("(long)$pc") == before
    for bad in ("step x", "next 1 2", "continue 5", "start here", "advance", "advance no_such_function"):
        c.refused("evaluate", {"expression": bad, "context": "repl", "frameId": c.top()["id"]})
    assert not c.had("stopped")


def test_looking(t):
    c = t.at_break("steps", "the print")
    position = c.request("hermit/where")["position"]
    assert c.type("when").startswith("position %s:" % position)
    assert re.search(r"^seek PLACE .*\[goto\]", c.type("hermit-help"), re.M)
    text = c.type("log-all %d \"{n} of {total}\" if n > 7" % t.line("steps", "in square"))
    assert [line.split(None, 1)[1] for line in text.splitlines()] == ["8 of 140", "9 of 204"], text
    assert c.request("hermit/where")["position"] == position and c.at()[1] == t.line("steps", "the print")
    events = c.type("events 1-3").splitlines()
    assert len(events) == 3 and "exec" in events[0], events
    assert c.type("output") == ""
    word(c, "end")
    assert c.type("output") == "total 285, 21 changed bye\ncalls 10\n" or "total 285" in c.type("output"), c.type("output")
    labels = [target["label"] for target in c.request("completions", {"text": "reverse-", "column": 9, "frameId": c.top()["id"]})["targets"]]
    assert {"reverse-continue", "reverse-step-out", "reverse-finish"} <= set(labels) and len(labels) == len(set(labels)), labels
    for bad in ("events x", "events 5-3", "log-all", "log-all main", "log-all no_such_function x"):
        c.refused("evaluate", {"expression": bad, "context": "repl", "frameId": c.top()["id"]})


def test_last_write_of_the_tree(t):
    """A variable as trees name it, by the reference of its parent."""
    c = t.at_break("steps", "the print")
    t.breaks(c)
    scope = [s for s in c.request("scopes", {"frameId": c.top()["id"]})["scopes"] if s["name"].lower().startswith("local")][0]
    parent = {v["name"]: v for v in c.variables(scope["variablesReference"])}["p"]
    c.request("hermit/lastWrite", {"variablesReference": parent["variablesReference"], "name": "x"})
    stop = c.stop()
    assert stop["reason"] == "data breakpoint" and c.at() == ("change", t.line("steps", "the change")), (stop, c.at())
    c.refused("hermit/lastWrite", {"variablesReference": parent["variablesReference"], "name": "x"})  # from before the run


def test_marks(t):
    c = t.launch("fork")
    marks = c.request("hermit/timeline")["marks"]
    kinds = {m["kind"] for m in marks}
    assert {"exec", "fork", "exit"} <= kinds, marks
    others = [p["pid"] for p in c.request("hermit/processes")["processes"] if not p["current"]]
    assert not any(m["pid"] in others for m in marks), (others, marks)
    more = c.request("hermit/timeline", {"allProcesses": True})["marks"]
    assert {m["pid"] for m in more} > {m["pid"] for m in marks}, more
    crash = t.launch("crash", "crash")
    line = crash.request("hermit/timeline")
    assert ["SIG" in m["text"] for m in line["marks"] if m["kind"] == "crash"] == [True], line["marks"]
    assert [m["event"] for m in more] == sorted(m["event"] for m in more), more


def test_long_output(t):
    """Of very much output the last part is shown, with a note; quickly."""
    c = t.client()
    c.recording = "long-output"
    c.open({"recording": t.record("long-output", lambda: [context.build("io_big_output")]), "stopAt": "main"})
    c.go("hermit/seek", place="end")
    def shown(category):
        return "".join(e["output"] for e in c.had("output") if e.get("category") == category)
    client.wait_for(lambda: len(shown("stdout")) > 200000, lambda: len(shown("stdout")))
    client.time.sleep(0.2)
    assert len(shown("stdout")) < 300000 and shown("stdout").endswith("bytes more are not shown]\n"), len(shown("stdout"))
    assert "output before this are not shown" in shown("console"), shown("console")


def test_output_of_others(t):
    """Of the process of the session, of all by choice, of none."""
    shown = {}
    for choice in ("process", "all", "none"):
        c = t.client()
        c.open({"recording": t.recording("fork"), "stopAt": "end", "output": choice})
        client.time.sleep(1.0)
        shown[choice] = len("".join(e["output"] for e in c.had("output") if e.get("category") in ("stdout", "stderr")))
        c.disconnect()
    assert shown["none"] == 0 and shown["process"] <= shown["all"], shown


def test_attached(t):
    """To a server whose recording is not known here: what it can be asked."""
    server = subprocess.Popen([client.os.path.join(client.BUILD, "hermit"), "replay", "--serve-only", t.recording("steps")], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              env=dict(client.os.environ, HERMIT_DATA_DIR=t.store), text=True)
    try:
        for line in server.stdout:
            found = re.search(r"127\.0\.0\.1:(\d+)", line)
            if found:
                break
        c = t.client()
        c.open({"target": "127.0.0.1:" + found.group(1)}, name="attach")
        text = "attached %d" % client.os.getpid()
        c.go("hermit/seek", place=40)
        c.request("hermit/addBookmark", {"text": text})
        assert text in [b["text"] for b in c.request("hermit/bookmarks")["bookmarks"]]
        c.go("hermit/seek", place="start")
        c.go("hermit/seek", place=text)
        assert c.request("hermit/where")["event"] == 40
        rows = c.request("hermit/events", {"from": 1, "count": 3})["events"]
        assert [r["event"] for r in rows] == [1, 2, 3] and rows[0]["kind"] == "exec", rows
        assert len(c.request("hermit/processes")["processes"]) == 1 and c.request("hermit/timeline")["marks"] == []
        for name, arguments in (("hermit/removeBookmark", {"id": text}), ("hermit/events", {"filter": "write"})):
            assert "attached" in c.refused(name, arguments)["message"]
        c.disconnect()
    finally:
        server.kill()
        server.wait()
