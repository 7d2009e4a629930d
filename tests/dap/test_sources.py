"""Sources, modules, memory, disassembly, places in files."""
import base64
import os
import re
import shutil

import context


def test_source(t):
    """The text of a file that the recording has, or that is there; others are refused."""
    c = t.at_break("steps", "in square")
    source = c.top()["source"]
    assert source["path"] == t.source("steps") and source["name"] == "steps.c", source
    body = c.request("source", {"source": {"path": source["path"]}, "sourceReference": 0})
    with open(t.source("steps"), encoding="utf-8") as f:
        assert body["content"] == f.read()
    for path in ("/nonexistent/file.c", "/etc/shadow", "relative.c"):
        c.refused("source", {"source": {"path": path}, "sourceReference": 0})
    c.refused("source", {"sourceReference": 98765})


def test_loaded_sources(t):
    c = t.launch("steps")
    paths = [s.get("path") for s in c.request("loadedSources", {})["sources"]]
    assert t.source("steps") in paths and len(set(paths)) == len(paths), paths[:20]


def test_modules(t):
    c = t.launch("steps")
    body = c.request("modules", {})
    names = [m["name"] for m in body["modules"]]
    assert any("steps" in n for n in names) and any("libc" in n for n in names), names
    assert body.get("totalModules") == len(names)
    page = c.request("modules", {"startModule": 1, "moduleCount": 1})["modules"]
    assert len(page) == 1 and page[0] == body["modules"][1], page


def test_breakpoint_locations(t):
    c = t.launch("steps")
    first, last = t.line("steps", "int result = n * n"), t.line("steps", "leaving square")
    found = c.request("breakpointLocations", {"source": {"path": t.source("steps")}, "line": first, "endLine": last})["breakpoints"]
    lines = sorted({b["line"] for b in found})
    assert first in lines and last in lines and all(first <= line <= last for line in lines) and first + 1 not in lines, lines
    assert c.request("breakpointLocations", {"source": {"path": t.source("steps")}, "line": 1})["breakpoints"] == []


def test_memory(t):
    c = t.at_break("steps", "the print")
    text = c.scope("local")["text"]
    reference = text["memoryReference"]
    body = c.request("readMemory", {"memoryReference": reference, "count": 4})
    assert base64.b64decode(body["data"]) == b"bye\0" and int(body["address"], 16) == int(reference, 16), body
    body = c.request("readMemory", {"memoryReference": reference, "offset": 1, "count": 2})
    assert base64.b64decode(body["data"]) == b"ye", body
    assert "data" not in c.request("readMemory", {"memoryReference": reference, "count": 0}) or True
    assert not c.had("memory")
    c.go("stepBack")
    seen = [e for e in c.had("memory") if e["memoryReference"] == reference]
    assert seen == [{"memoryReference": reference, "offset": 0, "count": 4}], seen
    c.go("stepBack")
    assert len(c.had("memory")) == 1, "told of memory that is not looked at"
    body = c.request("readMemory", {"memoryReference": "0x10", "count": 16})
    assert body.get("unreadableBytes", 0) >= 16 and not body.get("data"), body
    for bad in ("nonsense", "", "-5"):
        c.refused("readMemory", {"memoryReference": bad, "count": 4})
    c.refused("readMemory", {"memoryReference": reference, "count": -1})


def test_disassemble(t):
    c = t.at_break("steps", "in square")
    here = c.top()["instructionPointerReference"]
    body = c.request("disassemble", {"memoryReference": here, "instructionCount": 40, "instructionOffset": -10, "resolveSymbols": True})
    found = body["instructions"]
    assert len(found) == 40, len(found)
    addresses = [int(i["address"], 16) for i in found]
    assert addresses == sorted(set(addresses)), addresses
    at = [i for i in found if int(i["address"], 16) == int(here, 16)]
    assert len(at) == 1 and found.index(at[0]) == 10, "the offset is counted in instructions"
    assert at[0]["line"] == t.line("steps", "in square"), at
    assert re.search(r"[a-z]{2}", at[0]["instruction"]) and at[0].get("instructionBytes"), at
    walked = [int(here, 16)]
    for _ in range(3):
        c.go("stepIn", granularity="instruction")
        walked.append(int(c.top()["instructionPointerReference"], 16))
    assert walked == addresses[10:14], (walked, addresses)
    odd = c.request("disassemble", {"memoryReference": "0x10", "instructionCount": 5})["instructions"]
    assert len(odd) == 5 and all(i.get("presentationHint") == "invalid" or "bad" in i["instruction"] or "??" in i["instruction"] for i in odd), odd
    c.refused("disassemble", {"memoryReference": "nonsense", "instructionCount": 5})


def test_source_map(t):
    """Sources that have moved: the client's paths are those of sourceMap."""
    elsewhere = os.path.join(t.top, "elsewhere-%d" % os.getpid())
    os.mkdir(elsewhere)
    shutil.copy(t.source("steps"), elsewhere)
    c = t.client()
    c.recording = "steps"
    c.open({"recording": t.recording("steps"), "stopAt": "main", "sourceMap": {context.PROGRAMS: elsewhere}})
    moved = os.path.join(elsewhere, "steps.c")
    assert c.top()["source"]["path"] == moved, c.top()
    got = c.set_breaks(moved, [t.line("steps", "in square")])
    assert got[0]["verified"], got
    c.go("continue")
    assert c.at()[0] == "square" and c.top()["source"]["path"] == moved


def test_lines_from_0(t):
    """A client that counts from 0."""
    c = t.client(linesStartAt1=False, columnsStartAt1=False)
    c.recording = "steps"
    c.open({"recording": t.recording("steps"), "stopAt": "main"})
    assert c.at() == ("main", t.line("steps", "first line") - 1)
    line = t.line("steps", "in square") - 1
    got = c.set_breaks(t.source("steps"), [line])
    assert got[0]["line"] == line, got
    c.go("continue")
    assert c.at() == ("square", line)


def test_missing_source(t):
    """A file that is not here: the frame says its name, a text where it is expected, breakpoints and all else work."""
    folder = os.path.join(t.top, "gone-%d" % os.getpid())
    os.mkdir(folder)
    shutil.copy(t.source("steps"), os.path.join(folder, "vanished.c"))
    program = os.path.join(folder, "vanished")
    assert os.system("gcc -g -O0 -o %s %s.c" % (program, program)) == 0
    ident = t.record("vanished-%d" % os.getpid(), lambda: [program])
    os.unlink(program + ".c")
    c = t.client()
    c.open({"recording": ident, "stopAt": "main"})
    frame = c.top()
    assert frame["name"].startswith("main") and frame["source"]["name"] == "vanished.c", frame
    asked = {"sourceReference": frame["source"]["sourceReference"], "source": frame["source"]}
    text = c.request("source", asked)["content"]
    assert program + ".c" in text and "sourceMap" in text, text
    line = t.line("steps", "in square")
    body = c.request("setBreakpoints", {"source": frame["source"], "breakpoints": [{"line": line}]})
    assert body["breakpoints"][0]["verified"] and body["breakpoints"][0]["line"] == line, body
    c.go("continue")
    assert c.at() == ("square", line)
