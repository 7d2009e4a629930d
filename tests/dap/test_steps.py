"""Steps and runs, forwards and backwards, of each granularity, and what their stops are called."""


def steps(c, name, count, **arguments):
    seen = []
    for _ in range(count):
        stop = c.go(name, **arguments)
        assert stop["reason"] == "step", stop
        seen.append(c.at())
    return seen


def test_over_and_back(t):
    """stepBack goes the way of next back, over the same lines and calls, to where it began."""
    c = t.launch("steps")
    there = [c.at()] + steps(c, "next", 9)
    assert there[0] == ("main", t.line("steps", "first line")) and all(function == "main" for function, _ in there), there
    back = []
    while not back or back[-1] != there[0]:
        back += steps(c, "stepBack", 1)
        assert len(back) <= 9 and back[-1] in there, (there, back)


def test_granularity(t):
    """statement and line go over calls; an instruction is one."""
    c = t.at_break("steps", "in add")
    rip = int(c.evaluate("(long)$rip"))
    for granularity in ("statement", "line", None):
        arguments = {"granularity": granularity} if granularity else {}
        c.go("next", **arguments)
        assert c.at() == ("add", t.line("steps", "end of add"))
        for _ in range(2):  # what is behind the call is a part of the line of its own
            c.go("stepBack", **arguments)
            assert c.at() == ("add", t.line("steps", "in add"))
        assert int(c.evaluate("(long)$rip")) == rip
    c.go("restart")
    c.go("continue")
    assert int(c.evaluate("(long)$rip")) == rip
    places = [rip]
    for _ in range(5):
        c.go("stepIn", granularity="instruction")
        places.append(int(c.evaluate("(long)$rip")))
    assert len(set(places)) == 6 and "square" in c.at()[0], (places, c.at())
    for place in places[-2::-1]:
        c.go("hermit/reverseStepIn", granularity="instruction")
        assert int(c.evaluate("(long)$rip")) == place
    c.go("next", granularity="instruction")
    c.go("stepBack", granularity="instruction")
    assert int(c.evaluate("(long)$rip")) == rip


def test_in_and_out(t):
    c = t.at_break("steps", "in add")
    t.breaks(c)
    c.go("stepIn")
    assert c.at() == ("square", t.line("steps", "in square"))
    c.go("stepOut")
    assert c.at() == ("add", t.line("steps", "in add"))
    c.go("next")
    c.go("hermit/reverseStepIn")  # the part of the line behind the call
    assert c.at()[0] == "add", c.at()
    c.go("hermit/reverseStepIn")
    assert c.at() == ("square", t.line("steps", "leaving square") + 1), c.at()
    c.go("hermit/reverseStepOut")
    assert c.at() == ("add", t.line("steps", "in add"))
    c.go("hermit/reverseStepOut")
    assert c.at() == ("main", t.line("steps", "calling add"))


def test_reverse_next(t):
    c = t.at_break("steps", "again")
    c.go("hermit/reverseNext")
    assert c.at() == ("main", t.line("steps", "after the loop"))
    assert c.evaluate("p.x") == "1"
    c.go("next")
    assert c.evaluate("p.x") == "11"


def test_continue_and_back(t):
    """A breakpoint ten times, and ten times back; then both ends, at which the session stays."""
    c = t.at_break("steps", "in square")
    values = [c.evaluate("n")]
    for _ in range(9):
        assert c.go("continue")["reason"] == "breakpoint"
        values.append(c.evaluate("n"))
    assert values == [str(i) for i in range(10)], values
    back = []
    for _ in range(9):
        assert c.go("reverseContinue")["reason"] == "breakpoint"
        back.append(c.evaluate("n"))
    assert back == values[-2::-1], back
    stop = c.go("reverseContinue")
    assert "Start" in stop["description"], stop
    stop = c.go("reverseContinue")
    assert "Start" in stop["description"], stop
    t.breaks(c)
    for _ in range(2):
        stop = c.go("continue")
        assert "exit status 0" in stop["description"], stop
    assert not c.had("terminated") and not c.had("exited")


def test_step_at_the_ends(t):
    c = t.launch("steps", "entry")
    for name in ("stepBack", "hermit/reverseNext", "reverseContinue"):
        assert "Start" in c.go(name, granularity="instruction")["description"], name
    c = t.launch("steps", "end")
    for name in ("next", "stepIn", "continue"):
        assert "End" in c.go(name, granularity="instruction")["description"], name


def test_breakpoint_where_a_step_ends(t):
    """A step that ends at a breakpoint is a step, and names the breakpoint."""
    c = t.at_break("steps", "after the loop")
    ids = [b["id"] for b in t.breaks(c, "after the loop", "again")]
    stop = c.go("next")
    assert stop["reason"] == "step" and stop.get("hitBreakpointIds") == [ids[1]], (stop, ids)
    stop = c.go("stepBack")
    assert stop["reason"] == "step" and stop.get("hitBreakpointIds") == [ids[0]], (stop, ids)


def test_step_over_a_breakpoint(t):
    """A breakpoint within what is stepped over stops."""
    c = t.at_break("steps", "calling add")
    ids = [b["id"] for b in t.breaks(c, "in square")]
    stop = c.go("next")
    assert c.at()[0] == "square" and stop.get("hitBreakpointIds") == ids, stop


def test_single_thread(t):
    c = t.launch("steps")
    assert "alone" in c.refused("next", {"threadId": c.thread, "singleThread": True})["message"]
    c.refused("continue", {"threadId": c.thread, "singleThread": True})
    assert c.at()[0] == "main"


def test_references_end(t):
    """Frames and variables of before a run are refused, not confused with those of now."""
    c = t.at_break("steps", "in square")
    frame = c.top()["id"]
    reference = c.request("scopes", {"frameId": frame})["scopes"][0]["variablesReference"]
    c.go("next")
    c.refused("scopes", {"frameId": frame})
    c.refused("variables", {"variablesReference": reference})
    c.refused("evaluate", {"expression": "n", "frameId": frame})
    c.refused("variables", {"variablesReference": 0})
    c.refused("scopes", {"frameId": -1})


def test_pause_when_stopped(t):
    """Nothing runs: nothing to pause, and no stop comes of it."""
    c = t.launch("steps")
    c.send("pause", {"threadId": c.thread})
    c.go("next")
    assert not c.had("stopped")


def test_restart_while_running(t):
    c = t.launch("long")
    c.request("continue", {"threadId": c.thread})
    c.go("restart")
    assert c.at()[0] == "main"
    assert not c.had("stopped"), c.had("stopped")


def test_progress_and_cancel(t):
    """What takes long is shown, and ends when it is cancelled; the session stands at a place that is valid."""
    c = t.launch("long", "end")
    t.breaks(c, ("total +=", {"condition": '$_streq("yes", "no")'}))
    for old in c.had("progressStart"):
        c.event("progressStart", match=lambda body, old=old: body == old)
    c.request("reverseContinue", {"threadId": c.thread})
    begun = c.event("progressStart", 20)
    assert begun["cancellable"] and begun["title"], begun
    c.request("cancel", {"progressId": begun["progressId"]})
    c.stop(20)
    c.event("progressEnd", match=lambda body: body["progressId"] == begun["progressId"])
    c.stack()


def test_many_requests_at_once(t):
    """An editor asks all at once; answers come, and to the right requests."""
    c = t.at_break("steps", "in square")
    frame = c.top()["id"]
    asked = [c.send("stackTrace", {"threadId": c.thread}) if i % 3 else c.send("evaluate", {"expression": "n + %d" % i, "frameId": frame}) for i in range(60)]
    for i, seq in enumerate(asked):
        answer = c.answer(seq)
        assert answer["success"], answer
        if not i % 3:
            assert answer["body"]["result"] == str(i), answer


def test_requests_behind_a_step(t):
    """Requests that were sent while a step goes on: answered or refused, each once."""
    c = t.launch("steps")
    for _ in range(10):
        asked = [c.send("next", {"threadId": c.thread}), c.send("stackTrace", {"threadId": c.thread}), c.send("threads")]
        for seq in asked:
            c.answer(seq)
        c.stop()
    assert c.at()[0] == "main"


def pc(c):
    return int(c.top()["instructionPointerReference"], 16)


def step_there_and_back(c):
    start = pc(c)
    c.go("next")
    behind = pc(c)
    assert 0 < behind - start < 16, (start, behind)
    c.go("next")
    c.go("stepBack")
    assert pc(c) == behind, c.top()
    c.go("hermit/reverseStepIn")
    assert pc(c) == start, c.top()


def test_without_lines(t):
    """A step is one of the listing, both ways; clients that show none leave the function, if there is one."""
    step_there_and_back(t.launch("stripped"))
    c = t.client(clientID="vscode")
    c.open({"recording": t.recording("stripped"), "stopAt": "main"})
    step_there_and_back(c)
    step_there_and_back(t.launch("no-lines"))
    c = t.client(clientID="vscode")
    c.open({"recording": t.recording("no-lines"), "stopAt": "main"})
    c.request("setFunctionBreakpoints", {"breakpoints": [{"name": "square"}]})
    c.go("continue")
    assert c.at()[0] == "square", c.top()
    c.request("setFunctionBreakpoints", {"breakpoints": []})
    c.go("next")
    assert c.at()[0] == "add", c.top()
    stop = c.go("stepOut")
    assert c.at()[0] == "main" and stop["description"].startswith("Step "), (stop, c.top())


def test_back_out_to_no_symbol(t):
    """gdb by itself goes on to the start of the process."""
    c = t.launch("stripped")
    for move in (lambda: c.go("hermit/reverseStepOut"), lambda: (c.type("reverse-finish"), c.stop())):
        c.request("setFunctionBreakpoints", {"breakpoints": [{"name": "fprintf"}]})
        c.go("continue")
        c.request("setFunctionBreakpoints", {"breakpoints": []})
        caller = int(c.stack()[1]["instructionPointerReference"], 16)
        move()
        assert 0 < caller - pc(c) < 8, (hex(caller), c.top())
