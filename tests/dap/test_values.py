"""Stacks, variables and evaluation: what is shown, in pages, of C, C++, Rust, optimised and stripped programs."""
import re
import time


def test_scopes(t):
    c = t.at_break("steps", "in square")
    frame = c.top()["id"]
    scopes = c.request("scopes", {"frameId": frame})["scopes"]
    names = [s["name"].lower() for s in scopes]
    assert names[0] == "locals" and any("register" in n for n in names), scopes
    assert list(c.scope("local", frame)) == ["n", "result"], "arguments first"
    registers = c.scope("register", frame)
    for group in [v for v in registers.values() if v["variablesReference"]]:
        registers.update({v["name"]: v for v in c.variables(group["variablesReference"])})
    assert "0x" in registers["rip"]["value"] and "rsp" in registers, list(registers)[:20]
    caller = c.stack()[1]
    assert caller["name"].startswith("add") and caller["line"] == t.line("steps", "in add")
    assert c.evaluate("n", frame=caller["id"]) == "0"


def test_structures(t):
    c = t.at_break("steps", "the print")
    local = c.scope("local")
    point = {v["name"]: v["value"] for v in c.variables(local["p"]["variablesReference"])}
    assert point["x"] == "21" and point["y"] == "2" and "changed" in point["name"], point
    assert "bye" in local["text"]["value"], local["text"]
    body = c.request("evaluate", {"expression": "shape", "frameId": c.top()["id"], "context": "watch"})
    shape = {v["name"]: v for v in c.variables(body["variablesReference"])}
    assert shape["color"]["value"] == "GREEN" and shape["small"]["value"] == "5" and shape["wide"]["value"] == "300" and shape["area"]["value"] == "2.5", shape
    corners = c.variables(shape["corners"]["variablesReference"])
    assert len(corners) == 3 and {v["name"]: v["value"] for v in c.variables(corners[1]["variablesReference"])}["x"] == "3", corners
    both = c.variables(shape["both"]["variablesReference"])
    assert {v["name"] for v in both} == {"number", "bytes"} and both[0]["value"] == str(0x41424344), both
    again = c.variables(shape["next"]["variablesReference"])
    assert "color" in {v["name"] for v in again} or "*" in str(again), again
    assert shape["color"].get("evaluateName") and c.evaluate(shape["color"]["evaluateName"]) == "GREEN"


def test_hexadecimal(t):
    c = t.at_break("steps", "the print")
    body = c.request("evaluate", {"expression": "total", "frameId": c.top()["id"], "format": {"hex": True}})
    assert body["result"] == hex(285), body


def test_evaluate(t):
    c = t.at_break("steps", "leaving square")
    for expression, value in (("n", "0"), ("n + 3", "3"), ("sizeof(struct shape)", None), ("(double)5 / 2", "2.5"), ("shape.corners[1].name", None), ("total == 0", "1"),
                              ("$pc", None), ("&total", None)):
        for context in ("watch", "hover", "clipboard", "variables"):
            got = c.evaluate(expression, context)
            assert value is None or got == value, (expression, context, got)
    for expression in ("no_such", "n +", "1 / 0", "shape.nothing", "*(int *)0"):
        for context in ("watch", "hover"):
            c.refused("evaluate", {"expression": expression, "frameId": c.top()["id"], "context": context})


def test_guard(t):
    """Looking changes nothing: assignments and calls that a hover makes by chance are refused, in the console too where they would write."""
    c = t.at_break("steps", "leaving square")
    before = c.evaluate("calls"), c.at()
    for expression in ("total = 5", "total++", "--n", "square(3)", "n += 1", "shape.color = BLUE", "(n = 4)"):
        for context in ("hover", "watch"):
            answer = c.refused("evaluate", {"expression": expression, "frameId": c.top()["id"], "context": context})
            assert answer["message"], answer
    assert c.evaluate("n == 0 || n != 1") == "1"
    assert (c.evaluate("calls"), c.at()) == before


def test_console(t):
    c = t.at_break("steps", "in square")
    assert "rip" in c.type("info registers rip")
    assert "square" in c.type("backtrace") and "main" in c.type("bt")
    assert "hermit-help" in c.type("hermit-help")
    assert "event" in c.type("when").lower()
    for line in ("python print(1)", "shell echo x", "!echo x", "source /etc/passwd", "target native", "attach 1", "set logging on", "dump memory /tmp/x 0 1", "pipe p 1 | cat"):
        before = c.at()
        c.refused("evaluate", {"expression": line, "context": "repl"})
        assert c.at() == before, line


def test_console_moves(t):
    """gdb's words that run: the client sees it run and stop."""
    c = t.launch("steps")
    for line, function in (("next", "main"), ("step", None), ("reverse-step", None), ("next 3", "main"), ("reverse-next 2", "main"), ("reverse-continue", None)):
        c.request("evaluate", {"expression": line, "context": "repl", "frameId": c.top()["id"]})
        c.event("continued")
        c.stop()
        assert function is None or c.at()[0] == function, (line, c.at())


def test_completions(t):
    c = t.at_break("steps", "the print")
    def complete(text, column=None):
        return [i.get("text") or i["label"] for i in c.request("completions", {"frameId": c.top()["id"], "text": text, "column": column or len(text) + 1})["targets"]]
    assert any("square" in x for x in complete("break squ")), complete("break squ")
    assert any("corners" in x for x in complete("p shape.cor")), complete("p shape.cor")
    assert any("last-write" in x for x in complete("last-w")), complete("last-w")
    assert any("reverse-continue" in x for x in complete("reverse-con"))
    assert complete("no_such_thing_at_all") == []
    for column in (0, 1, 3, 99999):
        c.request("completions", {"text": "print", "column": column})


def test_deep_stack(t):
    """A hundred thousand frames, in pages; the first page comes at once."""
    c = t.at_break("deep", "the bottom")
    begun = time.monotonic()
    body = c.request("stackTrace", {"threadId": c.thread, "startFrame": 0, "levels": 20})
    took = time.monotonic() - begun
    assert len(body["stackFrames"]) == 20 and took < 5, took
    assert body["totalFrames"] > 20, body["totalFrames"]
    body = c.request("stackTrace", {"threadId": c.thread, "startFrame": 50000, "levels": 10}, 60)
    assert [f["name"].split("(")[0] for f in body["stackFrames"]] == ["down"] * 10
    assert c.evaluate("left", frame=body["stackFrames"][0]["id"]) == "50000"
    body = c.request("stackTrace", {"threadId": c.thread, "startFrame": 99995, "levels": 1000}, 60)
    assert body["stackFrames"][-1]["name"].startswith("main"), body["stackFrames"][-3:]
    assert len({f["id"] for f in body["stackFrames"]}) == len(body["stackFrames"])
    body = c.request("stackTrace", {"threadId": c.thread, "startFrame": 200000, "levels": 10})
    assert body["stackFrames"] == [], body


def test_whole_deep_stack(t):
    """A client that does not page gets an answer too."""
    c = t.at_break("deep", "the bottom")
    body = c.request("stackTrace", {"threadId": c.thread}, 60)
    assert len(body["stackFrames"]) >= 100, len(body["stackFrames"])
    c.go("stepOut")
    assert c.at()[0] == "down"


def test_big_arrays(t):
    """A million elements in pages, a million characters cut short and whole in memory."""
    c = t.at_break("big", "all is made")
    body = c.request("evaluate", {"expression": "numbers", "frameId": c.top()["id"], "context": "watch"}, 20)
    assert body["indexedVariables"] == 1000000, body
    assert len(body["result"]) < 5000
    for start, count in ((0, 100), (500000, 50), (999990, 100)):
        page = c.variables(body["variablesReference"], filter="indexed", start=start, count=count)
        assert len(page) == min(count, 1000000 - start), (start, len(page))
        assert page[0]["value"] == str(start * 3) and str(start) in page[0]["name"], page[0]
    text = c.request("evaluate", {"expression": "text", "frameId": c.top()["id"], "context": "watch"}, 20)
    assert len(text["result"]) < 20000 and "abcdef" in text["result"], len(text["result"])
    assert c.evaluate("sizeof(text)") == "1000001"
    rows = c.scope("local")["rows"]
    assert rows.get("indexedVariables") == 200, rows
    row = c.variables(rows["variablesReference"], start=150, count=1)
    assert {v["name"]: v["value"] for v in c.variables(row[0]["variablesReference"])}["key"] == "150", row
    matrix = c.scope("local")["matrix"]
    assert len(c.variables(matrix["variablesReference"])) == 4
    for reference in (-1, 99999999):
        c.refused("variables", {"variablesReference": reference})
    assert c.variables(body["variablesReference"], filter="named") == []


def test_all_of_a_big_array(t):
    """A client that does not page is not drowned, and neither are we."""
    c = t.at_break("big", "all is made")
    body = c.request("evaluate", {"expression": "numbers", "frameId": c.top()["id"], "context": "watch"}, 20)
    assert 0 < len(c.request("variables", {"variablesReference": body["variablesReference"]}, 60)["variables"]) <= 1000000


def test_containers(t):
    """C++: what the pretty printers of the library show."""
    c = t.at_break("containers", "the end")
    local = c.scope("local")
    numbers = local["numbers"]
    assert "20" in numbers["value"], numbers
    elements = c.variables(numbers["variablesReference"])
    assert [v["value"] for v in elements][:5] == ["0", "1", "4", "9", "16"] and len(elements) == 20, elements
    assert "hermit" in local["name"]["value"], local["name"]
    ages = str(c.variables(local["ages"]["variablesReference"]))
    assert "ann" in ages and "31" in ages and "eve" in ages, ages
    base = c.variables(local["base"]["variablesReference"])
    assert base, local["base"]
    t.breaks(c, "in twice")
    c.go("reverseContinue")
    assert c.top()["name"].startswith("twice<int>"), c.top()


def test_rust(t):
    c = t.at_break("rust", "the total")
    assert "sum" in c.top()["name"], c.top()
    assert c.evaluate("total") == "7", c.evaluate("total")
    t.breaks(c, "self.side // square")
    c.go("reverseContinue")
    assert c.top()["name"].endswith("area") and c.top()["line"] == t.line("rust", "self.side // square"), c.top()
    assert c.evaluate("self.side") == "2"


def test_inlined(t):
    """Inlined frames are frames; what was optimised out says so."""
    c = t.at_break("inlined", "in inner")
    names = [f["name"].split("(")[0].split(" [")[0] for f in c.stack()]
    assert names[:3] == ["inner", "outer", "main"], names
    assert c.evaluate("n", frame=c.stack()[0]["id"]) in ("7", "<optimized out>")
    for frame in c.stack():
        for scope in c.request("scopes", {"frameId": frame["id"]})["scopes"]:
            c.variables(scope["variablesReference"])


def test_stripped(t):
    """Neither symbols nor lines: frames have addresses, steps are instructions, disassembly works."""
    c = t.launch("stripped", "end")
    c.go("reverseContinue")
    frame = c.top()
    assert frame["instructionPointerReference"].startswith("0x"), frame
    for name in ("stepIn", "stepBack"):
        c.go(name, granularity="instruction")
    body = c.request("disassemble", {"memoryReference": c.top()["instructionPointerReference"], "instructionCount": 10})
    assert len(body["instructions"]) == 10
    c.request("scopes", {"frameId": c.top()["id"]})


def test_threads(t):
    """Threads have their recorded ids; each has a stack; going back to before their birth takes them away."""
    c = t.at_break("sixty-four", "order[arrived++]")
    threads = c.request("threads")["threads"]
    assert len(threads) == 65 and len({x["id"] for x in threads}) == 65, len(threads)
    assert len(set(re.search(r"\((\d+)\)", x["name"]).group(1) for x in threads)) == 65, threads
    for thread in threads:
        assert c.stack(0, 3, thread["id"]), thread
    t.breaks(c)
    c.request("setFunctionBreakpoints", {"breakpoints": [{"name": "pthread_barrier_init"}]})
    c.go("reverseContinue")
    assert len(c.request("threads")["threads"]) == 1
    c.refused("stackTrace", {"threadId": 9999})


def test_thread_crash(t):
    c = t.launch("thread-crash", "crash")
    assert "SIG" in c.stopped_body["description"], c.stopped_body
    assert len(c.request("threads")["threads"]) >= 2
    assert not any(f["name"].startswith("main") for f in c.stack()), "it is not the main thread that crashed"
