"""Breakpoints of all kinds, in both directions; log points; data breakpoints; exceptions."""
import re
import signal

from client import Refused


def values(c, expression, name, count):
    seen = []
    for _ in range(count):
        stop = c.go(name)
        assert stop["reason"] == "breakpoint" and stop["hitBreakpointIds"], stop
        seen.append(c.evaluate(expression))
    return seen


def test_lines(t):
    """Verified, at the line where the code is; replaced as a whole; unknown files and lines say why not."""
    c = t.launch("steps")
    line = t.line("steps", "after the loop")
    blank = t.line("steps", "int result = n * n") + 1
    got = c.set_breaks(t.source("steps"), [line, blank])
    assert got[0]["verified"] and got[0]["line"] == line, got
    assert got[1]["verified"] and got[1]["line"] == blank + 1, got
    assert got[0]["id"] != got[1]["id"]
    again = c.set_breaks(t.source("steps"), [line])
    assert again[0]["id"] == got[0]["id"], "a breakpoint that stays keeps its id"
    for path, number in (("/nonexistent/x.c", 5), (t.source("steps"), 99999)):
        bad = c.set_breaks(path, [number])
        assert not bad[0]["verified"] and bad[0]["message"], bad
    c.set_breaks(t.source("steps"), [])
    stop = c.go("continue")
    assert "End" in stop["description"], stop


def test_before_configuration_done(t):
    ids = []
    def configure(c):
        ids.extend(b["id"] for b in c.set_breaks(t.source("steps"), [t.line("steps", "in square")]))
    c = t.launch("steps", configure=configure)
    assert c.at()[0] == "main"
    stop = c.go("continue")
    assert stop["hitBreakpointIds"] == ids and c.at()[0] == "square", stop


def test_conditions(t):
    c = t.launch("steps")
    t.breaks(c, ("in square", {"condition": "n % 4 == 3"}))
    assert values(c, "n", "continue", 2) == ["3", "7"]
    assert "End" in c.go("continue")["description"]
    assert values(c, "n", "reverseContinue", 2) == ["7", "3"]
    got = t.breaks(c, ("in square", {"condition": "nonsense ==="}))
    assert not got[0]["verified"] and got[0]["message"], got


def test_hit_conditions(t):
    """The n-th hit is that of the recording, from whichever side it is come to."""
    for text, wanted in (("3", ["2"]), (">= 8", ["7", "8", "9"]), ("> 8", ["8", "9"]), ("== 5", ["4"]), ("% 4", ["3", "7"]), ("<= 2", ["0", "1"])):
        c = t.launch("steps")
        t.breaks(c, ("in square", {"hitCondition": text}))
        assert values(c, "n", "continue", len(wanted)) == wanted, text
        assert "End" in c.go("continue")["description"], text
        back = values(c, "n", "reverseContinue", len(wanted))
        assert back == wanted[::-1], (text, back)
        c.disconnect()
    c = t.launch("steps")
    for text in ("often", "0x", "-1", "% 0"):
        got = t.breaks(c, ("in square", {"hitCondition": text}))
        assert not got[0]["verified"] and got[0]["message"], (text, got)


def test_functions(t):
    c = t.launch("steps")
    got = c.request("setFunctionBreakpoints", {"breakpoints": [{"name": "square", "condition": "n == 6"}, {"name": "no_such_function"}]})["breakpoints"]
    assert got[0]["verified"] and not got[1]["verified"] and got[1]["message"], got
    stop = c.go("continue")
    assert stop["reason"] == "function breakpoint" and stop["hitBreakpointIds"] == [got[0]["id"]] and c.at()[0] == "square", stop
    assert c.evaluate("n") == "6"
    c.request("setFunctionBreakpoints", {"breakpoints": []})
    assert "End" in c.go("continue")["description"]


def test_instructions(t):
    c = t.at_break("steps", "leaving square")
    address = c.top()["instructionPointerReference"]
    t.breaks(c)
    got = c.request("setInstructionBreakpoints", {"breakpoints": [{"instructionReference": address}, {"instructionReference": "nonsense"}]})["breakpoints"]
    assert got[0]["verified"] and not got[1]["verified"], got
    stop = c.go("continue")
    assert stop["reason"] == "instruction breakpoint" and c.top()["instructionPointerReference"] == address, stop
    assert c.evaluate("n") == "1"


def lines_of(c):
    return [e["output"].strip() for e in c.had("output") if e.get("category", "console") == "console"]


def test_logpoints(t):
    c = t.launch("steps")
    t.breaks(c, ("in square", {"logMessage": "n is {n}, twice {n * 2}; \\{plain\\}"}), "after the loop")
    c.go("continue")
    assert c.at()[1] == t.line("steps", "after the loop")
    said = [line for line in lines_of(c) if "n is" in line]
    assert len(said) == 10 and "n is 7, twice 14; {plain}" in said[7], said
    where = [e for e in c.had("output") if "n is 7" in e["output"]][0]
    assert where["line"] == t.line("steps", "in square") and where["source"]["path"] == t.source("steps"), where
    c.scope("global")
    assert t.breaks(c, ("in square", {"logMessage": "{n}"}))[0]["verified"], "after globals were listed"
    got = t.breaks(c, ("in square", {"logMessage": "{n"}))
    assert not got[0]["verified"] and got[0]["message"], got


def test_log_all(t):
    """A log point over the whole recording; the session stays where it is."""
    c = t.at_break("steps", "after the loop")
    where, frame = c.request("hermit/where"), c.top()["id"]
    body = c.request("hermit/logAll", {"source": {"path": t.source("steps")}, "line": t.line("steps", "in square"), "logMessage": "{n}", "condition": "n > 3"})
    assert body["complete"] and [line["text"] for line in body["lines"]] == [str(n) for n in range(4, 10)], body
    stop = c.stop()
    assert stop["reason"] == "goto" and "(event %d of" % where["event"] in stop["description"], stop
    assert c.request("hermit/where") == where and not c.had("stopped")
    c.refused("scopes", {"frameId": frame})
    assert c.at() == ("main", t.line("steps", "after the loop"))
    body = c.request("hermit/logAll", {"location": "square", "logMessage": "at {n}", "limit": 3})
    assert not body["complete"] and len(body["lines"]) == 3, body
    c.refused("hermit/logAll", {"location": "no_such_function", "logMessage": "x"})
    assert "4" in c.type('log-all square "n={n}" if n == 4') or "n=4" in " ".join(lines_of(c))


def test_data_breakpoint(t):
    """What writes a variable, in both directions; the values are told as before and after the write."""
    c = t.at_break("steps", "in square")
    info = c.request("dataBreakpointInfo", {"name": "total", "frameId": c.top()["id"]})
    assert info["dataId"] and "write" in info["accessTypes"], info
    t.breaks(c)
    got = c.request("setDataBreakpoints", {"breakpoints": [{"dataId": info["dataId"], "accessType": "write"}]})["breakpoints"]
    assert got[0]["verified"], got
    seen = []
    for _ in range(3):
        stop = c.go("continue")
        assert stop["reason"] == "data breakpoint" and stop["hitBreakpointIds"] == [got[0]["id"]], stop
        seen.append(c.evaluate("total"))
    assert seen == ["1", "5", "14"], seen
    stop = c.go("reverseContinue")
    assert stop["reason"] == "data breakpoint" and re.search(r"\b5\b.*\b14\b", stop.get("text", "") + stop["description"], re.S), stop
    assert c.evaluate("total") == "5" and c.at() == ("add", t.line("steps", "in add"))
    c.go("reverseContinue")
    assert c.evaluate("total") == "1"


def test_data_range(t):
    """bytes and asAddress; conditions; a member of a structure by its reference."""
    c = t.at_break("steps", "after the loop")
    address = c.evaluate("&shape.both").split()[0] if "0x" in c.evaluate("&shape.both").split()[0] else re.search(r"0x[0-9a-f]+", c.evaluate("&shape.both")).group()
    info = c.request("dataBreakpointInfo", {"name": address, "asAddress": True, "bytes": 4})
    assert info["dataId"], info
    got = c.request("setDataBreakpoints", {"breakpoints": [{"dataId": info["dataId"], "accessType": "write"}]})["breakpoints"]
    assert got[0]["verified"], got
    t.breaks(c)
    assert c.go("continue")["reason"] == "data breakpoint"
    assert c.evaluate("shape.both.number") == str(0x41424344)
    assert c.at()[0] == "main"
    for arguments in ({"name": "no_such", "frameId": c.top()["id"]}, {"name": "1 + 1", "frameId": c.top()["id"]}):
        info = c.request("dataBreakpointInfo", arguments)
        assert info["dataId"] is None and info["description"], info
    bad = c.request("setDataBreakpoints", {"breakpoints": [{"dataId": "nonsense"}]})["breakpoints"]
    assert not bad[0]["verified"], bad


def test_data_of_a_reference(t):
    c = t.at_break("steps", "the copy")
    local = c.scope("local")
    point = local["p"]["variablesReference"]
    info = c.request("dataBreakpointInfo", {"variablesReference": point, "name": "x"})
    assert info["dataId"], info
    c.request("setDataBreakpoints", {"breakpoints": [{"dataId": info["dataId"], "accessType": "write"}]})
    t.breaks(c)
    seen = []
    for _ in range(3):
        assert c.go("reverseContinue")["reason"] == "data breakpoint"
        seen.append((c.at()[0], c.at()[1] if c.at()[0] == "change" else 0))
    change = ("change", t.line("steps", "the change"))
    assert seen[:2] == [change, change] and seen[2][0] == "main", seen


def filters(c):
    return {f["filter"]: f for f in c.capabilities["exceptionBreakpointFilters"]}


def set_filters(c, *names, options=()):
    return c.request("setExceptionBreakpoints", {"filters": list(names), "filterOptions": list(options)}).get("breakpoints")


def test_crash_information(t):
    c = t.launch("crash", "main")
    stop = c.go("continue")
    assert stop["reason"] == "exception" and "SIGSEGV" in stop["description"], stop
    info = c.request("exceptionInfo", {"threadId": c.thread})
    assert "SIGSEGV" in info["exceptionId"] and info["breakMode"], info
    assert "0x18" in str(info) or "0x10" in str(info), "no address of the fault: %r" % info
    c.go("stepBack", granularity="instruction")
    c.refused("exceptionInfo", {"threadId": c.thread})


def test_throw_and_catch(t):
    c = t.launch("containers")
    wanted = [name for name in ("throw", "catch") if name in filters(c)]
    assert len(wanted) == 2, filters(c).keys()
    set_filters(c, *wanted)
    stop = c.go("continue")
    assert stop["reason"] == "exception" and "runtime_error" in str(c.request("exceptionInfo", {"threadId": c.thread})), stop
    assert "risky" in [re.sub(r"\(.*", "", f["name"]) for f in c.stack()]
    c.go("continue")
    assert "main" in [re.sub(r"\(.*", "", f["name"]) for f in c.stack()][:4] and "risky" not in str([f["name"] for f in c.stack()])
    c.go("reverseContinue")
    assert "risky" in str([f["name"] for f in c.stack()])
    set_filters(c)
    assert "End" in c.go("continue")["description"]


def test_signals(t):
    """Signals that the program handles stop only when asked for."""
    c = t.launch("signal")
    set_filters(c)
    assert "End" in c.go("continue")["description"]
    c.go("restart")
    assert "signal" in filters(c), filters(c).keys()
    number = None
    set_filters(c, options=[{"filterId": "signal", "condition": " ".join(s.name for s in signal.Signals if s.name in ("SIGUSR1", "SIGUSR2", "SIGALRM"))}])
    stop = c.go("continue")
    assert stop["reason"] == "exception" and "SIG" in stop["description"], (stop, number)


def test_syscalls(t):
    c = t.launch("output")
    assert "syscall" in filters(c), filters(c).keys()
    set_filters(c, options=[{"filterId": "syscall", "condition": "write"}])
    stop = c.go("continue")
    assert "write" in stop["description"] + stop.get("text", ""), stop
    assert "put" in [re.sub(r"\(.*", "", f["name"]) for f in c.stack()]


def test_filters_refused(t):
    c = t.launch("steps")
    for options in ([{"filterId": "nonsense"}], [{"filterId": "syscall", "condition": "no_such_call"}], [{"filterId": "signal", "condition": "SIGNONSENSE"}]):
        try:
            got = set_filters(c, options=options)
            assert got and not got[-1]["verified"] and got[-1]["message"], (options, got)
        except Refused as e:
            assert e.response["message"]
    assert c.at()[0] == "main"


def test_while_running(t):
    """Breakpoints that are set while it runs hold at once."""
    c = t.launch("long")
    c.request("continue", {"threadId": c.thread})
    got = c.request("setFunctionBreakpoints", {"breakpoints": [{"name": "tick"}]})["breakpoints"]
    assert got[0]["verified"], got
    stop = c.stop()
    assert stop["reason"] in ("function breakpoint", "breakpoint") and c.at()[0] == "tick", stop


def who_wrote(t, c):
    main = [f for f in c.stack() if f["name"].startswith("main")][0]
    c.request("hermit/lastWrite", {"expression": "records[checking].magic", "frameId": main["id"]})
    stop = c.stop()
    assert stop["reason"] == "data breakpoint", stop
    assert c.at() == ("rename_record", t.line("corrupt", "the culprit"))
    assert c.evaluate("rounds_done") == "700"


def test_last_write_of_corruption(t):
    """The story of docs/GDB.md: where it is noticed, the bad value, who wrote it."""
    who_wrote(t, t.at_break("corrupt", "noticed here"))


def test_last_write_from_the_crash(t):
    """The same from the signal, some system calls later."""
    who_wrote(t, t.launch("corrupt", "crash"))


def test_exec_and_exit(t):
    """A program that executes another one and ends, in both directions."""
    ident = t.record("exec", lambda: ["/bin/sh", "-c", "echo a; exec /bin/echo b"])
    c = t.client()
    c.open({"recording": ident, "stopAt": "1"}, configure=lambda c: c.request("setExceptionBreakpoints", {"filters": ["exec", "exit"]}))
    for command, words in (("continue", ("execve", "exit_group", "End of the process")), ("reverseContinue", ("exit_group", "execve", "Start of the process"))):
        for word in words:
            assert word in c.go(command)["description"], (command, word)
