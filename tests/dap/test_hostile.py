"""Hostile clients, recordings and surroundings: nothing of this machine is run, changed or left behind, and bad input gets a clear answer."""
import os
import signal
import time

import client

WORDS = "would run commands of this machine"


def test_no_shell(t):
    """gdb's $_shell() runs commands of this machine (from gdb 14 on): nothing that an expression can be written in gets to it."""
    c = t.at_break("steps", "in square")
    mark = os.path.join(t.run_dir, "touched")
    shell = '$_shell("touch %s")' % mark
    frame = c.top()["id"]
    for context in ("hover", "watch", "repl", "clipboard"):
        for text in (shell, "-exec print " + shell, "n[%s]" % shell, "condition 1 " + shell):
            said = c.refused("evaluate", {"expression": text, "context": context, "frameId": frame})["message"]
            assert WORDS in said or "act on this machine" in said, said
    # a macro hides it from the guard: those of programs (-g3) do the same
    c.type("macro define CALL(a) a ## ell(\"touch %s\")" % mark)
    c.refused("evaluate", {"expression": "CALL($_sh)", "context": "watch", "frameId": frame})
    said = c.request("dataBreakpointInfo", {"name": shell, "frameId": frame, "asAddress": True})["description"]
    assert "may-call-functions" in said or WORDS in said, said
    c.request("setDataBreakpoints", {"breakpoints": [{"dataId": "0x1000|4|int) + %s + sizeof(int|x" % shell}]})
    t.breaks(c, ("in square", {"logMessage": "{%s}" % shell}))
    c.go("restart")
    c.go("continue")
    assert any(WORDS in o["output"] for o in c.had("output")), c.had("output")
    assert not os.path.exists(mark)


def stop_server(c):
    replay = [p for p in client.children(c.adapter.process.pid) if "--gdbserver-socket" in client.command(p)]
    assert replay, "no replay server"
    for pid in replay:
        os.kill(pid, signal.SIGSTOP)


def test_server_hangs(t):
    """A replay server that answers no more does not keep the session from its end, whatever waits in line before that."""
    c = t.launch("steps")
    c.adapter.expect = "it was told to go"
    at = c.top()["instructionPointerReference"]
    stop_server(c)
    waiting = [c.send("readMemory", {"memoryReference": at, "offset": n * 4096, "count": 4096}) for n in (1, 2, 3)]
    time.sleep(0.3)
    c.answer(c.send("disconnect", {}), 10)
    assert [c.answer(seq)["message"] for seq in waiting] == ["cancelled"] * 3, [c.answer(seq) for seq in waiting]
    c.adapter.wait()


def test_gdb_is_none(t):
    """Debuggers that are something else: launch fails, says so, and can be tried again."""
    c = t.client()
    for number, (text, words) in enumerate((("exit 3", "exit code 3"), ("exec head -c 3000000 /dev/urandom", "gdb ended"), ("exec yes nonsense", "does not answer"))):
        gdb = os.path.join(t.top, "gdb-%d-%d" % (os.getpid(), number))
        with open(gdb, "w", encoding="ascii") as f:
            f.write("#!/bin/sh\n%s\n" % text)
        os.chmod(gdb, 0o700)
        said = c.refused("launch", {"recording": t.recording("steps"), "gdb": gdb}, 40)["message"]
        assert words in said, said
        assert not client.children(c.adapter.process.pid), [client.command(p) for p in client.children(c.adapter.process.pid)]
    c.open({"recording": t.recording("steps"), "stopAt": "main"})
    assert c.at()[0] == "main"


def test_ignored_signals(t):
    """Who starts the adapter may ignore the ends of children; that is inherited, and makes the kernel reap them."""
    program = os.path.join(t.top, "ignoring-%d" % os.getpid())
    with open(program, "w", encoding="utf-8") as f:
        f.write("#!/usr/bin/env python3\nimport os, signal, sys\nsignal.signal(signal.SIGCHLD, signal.SIG_IGN)\nos.execv(%r, sys.argv)\n" % client.HERMIT_DAP)
    os.chmod(program, 0o700)
    c = t.adapter(program=program).connect()
    c.initialize()
    c.open({"recording": t.recording("steps"), "stopAt": "main"})
    c.disconnect()
    assert "does not end" not in c.adapter.errors(), c.adapter.errors()
