"""Places of the recording: where, going there and back, bookmarks, events, timeline, other processes, recorded output."""
import client


def place(c):
    return c.request("hermit/where")["position"]


def test_seek(t):
    """Numbers, times, the ends, positions; both ways, in each case the same place."""
    c = t.at_break("steps", "in square")
    here = place(c)
    line = c.at()
    t.breaks(c)
    for there in (20, "40", "start", "end", "0ms", here):
        c.request("hermit/seek", {"place": there})
        c.event("continued")
        stop = c.stop()
        assert stop["reason"] == "goto", (there, stop)
    assert c.at() == line and place(c) == here
    c.request("hermit/seek", {"place": 60})
    c.stop()
    assert c.request("hermit/where")["event"] == 60
    for bad in ("", "nowhere", "5 parsecs", "x" * 1000, -1, 1 << 60, "99999999"):
        c.refused("hermit/seek", {"place": bad})
    assert not c.had("stopped") and c.request("hermit/where")["event"] == 60


def test_libraries_after_leaps(t):
    """Those that are there at the place, whatever was passed over."""
    c = t.launch("steps", stop="end")
    modules = []
    for there in ("start", "end", "start", "end"):
        c.go("hermit/seek", place=there)
        modules.append([m["name"] for m in c.request("modules", {})["modules"]])
    assert modules[0] == modules[2] and modules[1] == modules[3] and "libc.so.6" in modules[1] and "libc.so.6" not in modules[0], modules
    assert c.at()[0] == "__GI__exit", c.at()


def test_back_and_forward(t):
    c = t.launch("steps")
    c.refused("hermit/navigate", {"direction": "back"})
    places = [place(c)]
    for there in (30, 50, 20):
        c.request("hermit/seek", {"place": there})
        c.stop()
        places.append(place(c))
    for direction, wanted in (("back", 2), ("back", 1), ("forward", 2), ("back", 1), ("back", 0), ("forward", 1)):
        c.request("hermit/navigate", {"direction": direction})
        c.stop()
        assert place(c) == places[wanted], (direction, wanted, places, place(c))
    where = c.request("hermit/where")
    assert where["canGoBack"] and where["canGoForward"], where


def test_bookmarks(t):
    """They stay with the recording: another session has them."""
    c = t.at_break("steps", "again")
    text = "here \u00e4 %s" % client.os.getpid()
    made = c.request("hermit/addBookmark", {"text": text})
    c.go("restart")
    other = t.launch("steps")
    found = [b for b in other.request("hermit/bookmarks")["bookmarks"] if b["text"] == text]
    assert len(found) == 1 and found[0]["id"] == made["id"] and found[0]["position"] == made["position"], (made, found)
    other.request("hermit/seek", {"place": text})
    assert text in other.stop()["description"]
    assert other.at() == ("main", t.line("steps", "again"))
    other.request("hermit/removeBookmark", {"id": made["id"]})
    other.refused("hermit/removeBookmark", {"id": made["id"]})
    assert text not in str(c.request("hermit/bookmarks"))
    for bad in ("", "two\nlines", "x" * 100000):
        c.refused("hermit/addBookmark", {"text": bad})


def test_words(t):
    """The same by words of the debug console."""
    c = t.at_break("steps", "again")
    t.breaks(c)
    name = "word-%d" % client.os.getpid()
    c.type("bookmark " + name)
    assert name in c.type("bookmarks")
    for word in ("start", "end", "seek 30", "back", "goto-bookmark " + name):
        c.type(word)
        c.stop()
    assert c.at() == ("main", t.line("steps", "again"))
    c.request("evaluate", {"expression": "last-write p.x", "context": "repl", "frameId": c.top()["id"]})
    assert c.stop()["reason"] == "data breakpoint"
    assert c.at() == ("change", t.line("steps", "the change"))
    c.type("delete-bookmark " + name)
    assert name not in c.type("bookmarks")
    assert str(c.request("hermit/where")["pid"]) in c.type("processes")
    assert "execve" in c.type("events 1-5") or c.type("events 1-5")
    for bad in ("seek", "seek nowhere", "bookmark", "last-write", "last-write 1 + 1", "last-write no_such", "open-process x", "delete-bookmark none"):
        c.refused("evaluate", {"expression": bad, "context": "repl", "frameId": c.top()["id"]})


def test_last_write(t):
    """Of a variable, of a range, again and again, until nothing has written."""
    c = t.at_break("steps", "the print")
    t.breaks(c)
    lines = []
    for _ in range(2):
        frame = [f for f in c.stack() if f["name"].startswith("main")][0]
        c.request("hermit/lastWrite", {"expression": "p.x", "frameId": frame["id"]})
        stop = c.stop()
        assert stop["reason"] == "data breakpoint", stop
        lines.append(c.at())
    assert lines == [("change", t.line("steps", "the change"))] * 2, lines
    address = c.evaluate("(long)&total", frame=c.stack()[0]["id"])
    c.request("hermit/lastWrite", {"address": hex(int(address)), "length": 4})
    c.stop()
    assert c.at() == ("add", t.line("steps", "in add"))
    for bad in ({}, {"expression": "1 + 1"}, {"expression": "no_such"}, {"address": "x"}, {"address": "0x1000", "length": 0}, {"expression": "total", "address": "0x1"}):
        c.refused("hermit/lastWrite", bad)
    c.request("hermit/lastWrite", {"address": "0x1000", "length": 4})
    assert "Nothing" in c.stop()["description"]


def test_events_and_timeline(t):
    c = t.launch("output", "end")
    body = c.request("hermit/events", {"from": 1, "count": 10})
    assert len(body["events"]) == 10 and body["next"] == 11, body
    assert c.request("hermit/events", {"filter": "syscall:write"})["events"]
    c.refused("hermit/events", {"filter": "syscall:("})
    line = c.request("hermit/timeline", {})
    assert line["events"] == c.request("hermit/where")["events"] and line["durationNs"] > 0, line
    assert all(0 < m["event"] <= line["events"] for m in line["marks"]), line["marks"][:5]


def test_processes(t):
    """One session for each process: the client is asked to start those of the others."""
    ident = t.recording("fork")
    adapter = t.adapter("--port", "0")
    c = adapter.connect()
    c.initialize()
    c.open({"recording": ident, "stopAt": "main"})
    processes = c.request("hermit/processes")["processes"]
    assert len(processes) >= 3 and sum(p["current"] for p in processes) == 1, processes
    other = [p for p in processes if not p["current"]][0]
    assert c.request("hermit/openProcess", {"process": other["pid"]})["opened"]
    asked = c.reverse_request("startDebugging")
    assert asked["request"] == "launch" and asked["configuration"]["process"] == other["pid"], asked
    child = adapter.connect()
    child.initialize()
    child.open(asked["configuration"])
    assert child.request("hermit/where")["pid"] == other["pid"]
    child.go("continue")
    assert c.at()[0] == "main"
    for bad in (999999999, processes[0]["pid"] if processes[0]["current"] else c.request("hermit/where")["pid"]):
        c.refused("hermit/openProcess", {"process": bad})


def test_all_processes(t):
    c = t.client()
    c.open({"recording": t.recording("fork"), "stopAt": "main", "processes": "all"})
    count = len(c.request("hermit/processes")["processes"]) - 1
    opened = {c.reverse_request("startDebugging")["configuration"]["process"] for _ in range(count)}
    assert len(opened) == count


def printed(c, category):
    return "".join(e["output"] for e in c.had("output") if e.get("category") == category)


def test_output(t):
    """What the program had printed by then, each piece once, with the line that wrote it; going back sends nothing again."""
    c = t.launch("output")
    t.breaks(c, "the middle", "the end")
    assert printed(c, "stdout") == ""
    c.go("continue")
    client.wait_for(lambda: "error" in printed(c, "stderr"), lambda: printed(c, "stderr"))
    assert printed(c, "stdout") == "first line\n" and printed(c, "stderr") == "an error\n", c.had("output")
    c.go("continue")
    client.wait_for(lambda: "no text" in printed(c, "stdout"), lambda: printed(c, "stdout"))
    whole = printed(c, "stdout")
    assert whole == "first line\nhalf and half\n\ufffdno text\ufffd\n", whole
    c.go("reverseContinue")
    c.go("continue")
    client.time.sleep(0.5)
    assert printed(c, "stdout") == whole
    placed = [e for e in c.had("output") if e.get("category") == "stdout" and "line" in e]
    assert placed and all(e["source"]["path"] == t.source("output") for e in placed), c.had("output")


def test_output_at_the_end(t):
    """A session that begins at the end has it all."""
    c = t.launch("output", "end")
    client.wait_for(lambda: "no text" in printed(c, "stdout") and "error" in printed(c, "stderr"), lambda: c.had("output"))
