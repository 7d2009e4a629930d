"""The life of a session: initialize, launch and its stops, the end, and requests that come when they should not."""
import os
import re

import client
from client import Refused, wait_for

TRAITS = {"supportsHitConditionalBreakpoints", "supportsLogPoints", "supportsValueFormattingOptions", "supportsClipboardContext", "supportsANSIStyling"}


def table():
    """Rows of dap/requests.def: (wire name, capability or None)."""
    with open(os.path.join(client.TOP, "dap", "requests.def"), encoding="utf-8") as f:
        rows = re.findall(r'^REQUEST\(\w+, "([\w/]+)", [^"]*?(?:"(\w+)"|NULL)\)', f.read(), re.M)
    assert len(rows) > 50, rows
    return [(wire, capability or None) for wire, capability in rows]


def test_capabilities(t):
    """Those of the table, and nothing of what is refused."""
    said = t.client().capabilities
    flags = {name for name, value in said.items() if value is True}
    assert flags == TRAITS | {capability for _, capability in table() if capability}, flags
    assert said["exceptionBreakpointFilters"], said
    for name in ("supportsSetVariable", "supportsSetExpression", "supportsWriteMemoryRequest", "supportsGotoTargetsRequest", "supportsRestartFrame",
                 "supportTerminateDebuggee", "supportsSingleThreadExecutionRequests"):
        assert not said.get(name), name


def test_table_and_schema(t):
    """Each request of the table is one of the protocol's or has a schema of ours."""
    del t
    for wire, _ in table():
        client.SCHEMA.definition({"type": "request", "command": wire})
        client.SCHEMA.definition({"type": "response", "command": wire, "success": True})


def stop_of(t, name, stop, **more):
    c = t.launch(name, stop, **more)
    return c, c.stopped_body


def test_stop_main(t):
    c, stop = stop_of(t, "steps", "main")
    assert stop["reason"] == "entry", stop
    assert c.at() == ("main", t.line("steps", "first line"))


def test_stop_entry(t):
    c, stop = stop_of(t, "steps", "entry")
    assert stop["reason"] == "entry" and "event" in stop["description"], stop
    assert "main" not in [f["name"] for f in c.stack()]
    where = c.go("continue")
    assert "End" in where["description"], where


def test_stop_on_entry(t):
    """stopOnEntry is the word of other adapters for stopAt: entry."""
    c = t.client()
    stop = c.open({"recording": t.recording("steps"), "stopOnEntry": True})
    assert stop["reason"] == "entry" and "Start" in stop["description"], stop


def test_stop_end(t):
    c, stop = stop_of(t, "steps", "end")
    assert "exit status 0" in stop["description"], stop
    t.breaks(c, "last line")
    c.go("reverseContinue")
    assert c.at() == ("main", t.line("steps", "last line"))


def test_stop_crash(t):
    c, stop = stop_of(t, "crash", "crash")
    assert stop["reason"] == "exception" and "SIGSEGV" in stop["description"], stop
    assert c.at() == ("sum", t.line("crash", "the crash"))


def test_stop_crash_by_default(t):
    c = t.client()
    stop = c.open({"recording": t.recording("crash")})
    assert "SIGSEGV" in stop["description"], stop


def test_stop_event(t):
    """Numbers of events, as number and as text, are the same place."""
    seen = []
    for number in (30, "30"):
        c, stop = stop_of(t, "steps", number)
        assert "(event 30 of" in stop["description"], stop
        seen.append(c.evaluate("$rip"))
    assert seen[0] == seen[1]


def test_stop_place(t):
    """Times and bookmarks, which the session goes to by itself; one of another recording is none of this one."""
    c, stop = stop_of(t, "steps", "12h")
    assert "exit status 0" in stop["description"], stop
    assert c.at()[0] == "__GI__exit", c.at()  # libraries that came on the way are known
    c.go("hermit/seek", place=40)
    c.request("hermit/addBookmark", {"text": "to begin with"})
    begin = c.request("hermit/where")["position"]
    other = t.client()
    assert "no place" in other.refused("launch", {"recording": t.recording("crash"), "stopAt": "to begin with"})["message"]
    stop = other.open({"recording": t.recording("steps"), "stopAt": "to begin with"})
    assert "to begin with" in stop["description"] and other.request("hermit/where")["position"] == begin, (stop, begin)


def test_stop_refused(t):
    """What cannot be: the launch is refused in words, and can be tried again."""
    c = t.client()
    ident = t.recording("steps")
    for arguments, word in (({"recording": "nonsense"}, "nonsense"), ({"recording": ident, "process": 4}, "4"), ({"recording": ident, "stopAt": "nowhere"}, "nowhere"),
                            ({"recording": ident, "stopAt": "crash"}, "crash"), ({"recording": ident, "stopAt": 99999999}, "99999999"),
                            ({"recording": ident, "gdb": "/nonexistent/gdb"}, "/nonexistent/gdb"), ({"recording": ident, "stopAt": [1]}, "stopAt"),
                            ({"recording": 5}, "recording"), ({"recording": ident, "output": "loud"}, "loud"), ({"recording": ident, "processes": "some"}, "some"), ({"recording": ident, "server": "127.0.0.1:1"}, "127.0.0.1:1"), ({"recording": ident, "server": " | true"}, "ssh -L")):
        try:
            c.open(arguments)
            raise AssertionError("launch %r was not refused" % arguments)
        except Refused as e:
            assert word in e.response["message"], (arguments, e.response)
    c.open({"recording": ident, "stopAt": "main"})
    assert c.at()[0] == "main"


def test_process(t):
    """By pid, and by name where that is one."""
    ident = t.recording("fork")
    c = t.client()
    try:
        c.open({"recording": ident, "stopAt": "main", "process": "debug_fork"})
        raise AssertionError("a name of several processes was taken")
    except Refused as e:
        assert "several processes" in e.response["message"], e.response
    c.open({"recording": ident, "stopAt": "main"})
    assert c.at()[0] == "main" and c.event("process")["name"].endswith("debug_fork")
    for process in c.request("hermit/processes")["processes"]:
        other = t.client()
        other.open({"recording": ident, "stopAt": "entry", "process": process["pid"]})
        assert other.request("hermit/where")["pid"] == process["pid"]


def test_gone_with_the_editor(t):
    """An editor that dies takes all with it."""
    c = t.launch("steps")
    c.close()
    assert c.adapter.wait() == 0


def test_editor_dies_while_running(t):
    c = t.launch("long")
    c.send("continue", {"threadId": c.thread})
    c.close()
    c.adapter.expect = "the answer went nowhere"
    c.adapter.wait()


def kill_child(c, word):
    pids = [p for p in client.children(c.adapter.process.pid) if word in client.command(p)]
    assert pids, [client.command(p) for p in client.children(c.adapter.process.pid)]
    os.kill(pids[0], 9)


def ends_well(c):
    c.event("terminated")
    assert c.had("output"), "nobody was told why"
    c.refused("stackTrace", {"threadId": 1})
    c.refused("continue", {"threadId": 1})
    c.disconnect()


def test_gdb_dies(t):
    c = t.launch("steps")
    kill_child(c, "--interpreter=mi")
    ends_well(c)


def test_server_dies(t):
    c = t.launch("steps")
    kill_child(c, " replay ")
    ends_well(c)


def test_server_dies_while_running(t):
    c = t.launch("long")
    c.request("continue", {"threadId": c.thread})
    kill_child(c, " replay ")
    ends_well(c)


def test_adapter_dies(t):
    """gdb, the server and the replayed processes do not survive hermit-dap."""
    c = t.launch("steps")
    c.adapter.expect = "it is killed"
    below = client.children(c.adapter.process.pid)
    assert len(below) >= 3, below
    c.adapter.process.kill()
    wait_for(lambda: not any(client.is_alive(p) for p in below), lambda: [client.command(p) for p in below if client.is_alive(p)])
    for name in os.listdir(t.run_dir):  # nobody is left who could remove them
        for file in os.listdir(os.path.join(t.run_dir, name)):
            os.unlink(os.path.join(t.run_dir, name, file))
        os.rmdir(os.path.join(t.run_dir, name))


def test_terminate(t):
    c = t.launch("steps")
    c.request("terminate", {})
    c.event("terminated")
    for name, arguments in (("threads", None), ("next", {"threadId": 1}), ("launch", {"recording": t.recording("steps")}), ("initialize", client.CLIENT)):
        c.refused(name, arguments)
    c.request("terminate", {})
    assert not c.had("terminated"), "terminated twice"


def test_order(t):
    """Requests before their time and twice; each is refused in words, none harms the session."""
    c = t.adapter().connect()
    for name, arguments in (("launch", {"recording": "x"}), ("threads", None), ("setBreakpoints", {"source": {"path": "/x.c"}, "breakpoints": []}),
                            ("configurationDone", None), ("terminate", {}), ("hermit/reverseNext", {})):
        c.refused(name, arguments)
    c.request("cancel", {"requestId": 77})
    c.initialize()
    c.refused("initialize", client.CLIENT)
    c.refused("configurationDone")
    c.refused("stackTrace", {"threadId": 1})
    c.open({"recording": t.recording("steps"), "stopAt": "main"})
    c.refused("launch", {"recording": t.recording("steps")})
    c.refused("attach", {"target": "x"})
    c.refused("configurationDone")
    assert c.at()[0] == "main"


def test_while_running(t):
    """What needs a standstill is refused while it runs, and pause ends it."""
    c = t.launch("long")
    c.request("continue", {"threadId": c.thread})
    for name, arguments in (("stackTrace", {"threadId": c.thread}), ("next", {"threadId": c.thread}), ("reverseContinue", {"threadId": c.thread}),
                            ("scopes", {"frameId": 1}), ("evaluate", {"expression": "1"}), ("launch", {"recording": "x"}), ("initialize", client.CLIENT)):
        c.refused(name, arguments)
    c.request("threads")
    c.request("pause", {"threadId": c.thread})
    stop = c.stop()
    assert stop["reason"] == "pause", stop
    c.stack()
    c.go("reverseContinue")
    assert "Start" in c.stopped_body["description"]
    c.go("continue")
    assert "End" in c.stopped_body["description"]


def test_disconnect_while_running(t):
    c = t.launch("long")
    c.request("continue", {"threadId": c.thread})
    c.disconnect()


def test_unknown_requests(t):
    c = t.launch("steps")
    for name in ("nonsense", "", "x" * 5000, "hermit/", "Next", "stepInTargets", "gotoTargets"):
        assert name[:20] in c.refused(name, {}, valid=False)["message"] or not name
    for arguments in ([], "text", 5, True, {"threadId": "one"}, {"threadId": 1.5}, {"threadId": {}}, {"granularity": 5}):
        c.refused("next", arguments, valid=False)
    for name, arguments in (("next", {"granularity": "line\0"}), ("evaluate", {"expression": "total\0 = 1"}), ("launch\0", {}), ("next", {"threadId": "\0"}),
                            ("setBreakpoints", {"source": {"path": t.source("steps")}, "breakpoints": [{"line": 1, "condition": "\0"}]})):
        c.refused(name, arguments, valid=False)
    assert c.at()[0] == "main"


def framed(text, head=b"Content-Length: %d\r\n\r\n"):
    return head % len(text) + text


def test_passed_over(t):
    """Frames that hold no request are passed over; the session goes on."""
    c = t.launch("steps")
    for text in (b"", b"{", b"[]", b"5", b"null", b"{}", b'{"type": "request"}', b'{"type": "request", "seq": "1", "command": "next"}', b"\xff\xfe", b"\0" * 30,
                 b'{"type": "response", "seq": 1, "request_seq": 1, "success": true, "command": "x"}', b'{"type": "event", "seq": 1, "event": "x"}'):
        c.send_raw(framed(text))
    c.send_raw(framed(b'{"type": "response", "seq": 2, "request_seq": 9, "success": true, "command": "runInTerminal"}', b"Content-Type: a\r\nContent-Length: %d\r\n\r\n"))
    assert c.at()[0] == "main"


def test_piece_by_piece(t):
    """Messages that come in bytes, and many in one piece."""
    c = t.client()
    message = b'{"seq": 2, "type": "request", "command": "threads"}'
    c.sent[2], c.seq = "threads", 2
    for byte in framed(message):
        c.send_raw(bytes([byte]))
    assert not c.answer(2)["success"]
    for seq in range(3, 203):
        c.sent[seq], c.seq = "threads", seq
    c.send_raw(b"".join(framed(message.replace(b'"seq": 2', b'"seq": %d' % seq)) for seq in range(3, 203)))
    for seq in range(3, 203):
        c.answer(seq)


def test_garbage(t):
    """Bytes that are no framing end the session in words; nothing is left."""
    for bytes_ in (b"GET / HTTP/1.1\r\nHost: x\r\n\r\n", b"Content-Length: x\r\n\r\n", b"Content-Length: -5\r\n\r\n", b"Content-Length: 99999999999999999999\r\n\r\n",
                   b"\r\n\r\n", b"A" * 100000, b"Content-Length: 999999999\r\n\r\n{}"):
        c = t.launch("steps") if bytes_[:3] == b"GET" else t.client()
        c.adapter.expect = "garbage"
        try:
            c.send_raw(bytes_)
        except BrokenPipeError:
            pass
        assert c.adapter.wait() != 0
        assert c.adapter.errors().strip(), "nothing is said about %r" % bytes_[:40]


def test_two_clients_port(t):
    """Each client of a port has a session of its own; the second goes on when the first is gone."""
    adapter = t.adapter("--port", "0")
    clients = [adapter.connect() for _ in range(2)]
    for c, name, function in zip(clients, ("steps", "crash"), ("main", "sum")):
        c.initialize()
        c.open({"recording": t.recording(name), "stopAt": "main" if name == "steps" else "crash"})
        assert c.at()[0] == function
    clients[0].go("next")
    clients[0].disconnect()
    assert clients[1].at()[0] == "sum"
    third = adapter.connect()
    third.initialize()
    clients[1].close()
    third.open({"recording": t.recording("steps"), "stopAt": "main"})
    assert third.at()[0] == "main"


def test_client_socket(t):
    path = os.path.join(t.top, "s-%d" % os.getpid())
    adapter = t.adapter("--socket", path)
    assert os.stat(path).st_mode & 0o077 == 0, "others could connect"
    c = adapter.connect()
    c.initialize()
    c.open({"recording": t.recording("steps"), "stopAt": "main"})
    assert c.at()[0] == "main"


def test_attach(t):
    """A replay that is served already."""
    import rsp  # pylint: disable=import-outside-toplevel
    hermit = rsp.Hermit()
    hermit.env["HERMIT_DATA_DIR"] = t.store
    try:
        server = hermit.serve(t.recording("steps"))
        c = t.client()
        c.open({"target": "127.0.0.1:%d" % server.port}, "attach")
        t_line = t.line("steps", "the print")
        c.set_breaks(t.source("steps"), [t_line])
        c.go("continue")
        assert c.at() == ("main", t_line)
        c.disconnect()
    finally:
        hermit.close()


def test_attach_refused(t):
    c = t.client()
    for arguments in ({"target": "127.0.0.1:1"}, {"target": "/nonexistent"}, {"target": ""}, {}, {"target": 5}):
        try:
            c.open(arguments, "attach")
            raise AssertionError("attach %r was not refused" % arguments)
        except Refused as e:
            assert e.response["message"]
    mark = os.path.join(t.run_dir, "touched")
    for target in ("|touch " + mark, "  | touch " + mark, "|", ""):
        assert "ssh -L" in c.refused("attach", {"target": target})["message"]
    assert not os.path.exists(mark)
    c.open({"recording": t.recording("steps"), "stopAt": "main"})


def test_restart(t):
    c = t.at_break("steps", "the print")
    c.set_breaks(t.source("steps"), [])
    c.go("restart")
    assert c.at() == ("main", t.line("steps", "first line")), c.at()
    assert c.evaluate("total") == "0"


def test_restart_of_a_crash(t):
    c = t.launch("crash", "crash")
    c.go("restart")
    assert c.at()[0] == "main"


def test_read_only(t):
    """What would change the past is refused in words."""
    c = t.at_break("steps", "in square")
    local = c.request("scopes", {"frameId": c.top()["id"]})["scopes"][0]["variablesReference"]
    frame = c.top()["id"]
    for name, arguments in (("setVariable", {"variablesReference": local, "name": "n", "value": "5"}), ("setExpression", {"expression": "total", "value": "5", "frameId": frame}),
                            ("writeMemory", {"memoryReference": "0x1000", "data": "AAAA"}), ("goto", {"threadId": c.thread, "targetId": 1}),
                            ("restartFrame", {"frameId": frame}), ("terminateThreads", {"threadIds": [c.thread]})):
        answer = c.refused(name, arguments)
        assert "read-only" in answer["message"] or "recording" in answer["message"], answer
        assert answer["body"]["error"].get("showUser") in (True, None), answer
    for line in ("set var total = 5", "print total = 5", "call square(3)", "jump 1", "return", "kill", "run", "set $rax = 1", "total = 7", "print total++", "p calls += 1"):
        before = c.evaluate("total"), c.evaluate("calls"), c.at()
        try:
            c.type(line)
        except Refused as e:
            assert e.response["message"]
        assert (c.evaluate("total"), c.evaluate("calls"), c.at()) == before, line
    assert not c.had("terminated")


def test_signals(t):
    """Editors end adapters by signals as well; what those have made goes."""
    for number in (15, 1, 2):
        c = t.launch("steps")
        c.adapter.process.send_signal(number)
        assert c.adapter.wait() == 0
    adapter = t.adapter("--port", "0")
    c = adapter.connect()
    c.initialize()
    c.open({"recording": t.recording("steps"), "stopAt": "main"})
    adapter.process.terminate()
    assert adapter.wait() == 0


def test_signal_while_running(t):
    c = t.launch("long")
    c.request("continue", {"threadId": c.thread})
    c.adapter.process.terminate()
    assert c.adapter.wait() == 0
