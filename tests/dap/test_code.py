"""Machine code for clients that show none by themselves, and files by other names than they are recorded with."""
import os
import re
import shutil
import subprocess

import context

PLUG = """int plug(int x)
{
	return x + 7;
}
"""
USER = """#include <dlfcn.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/stat.h>
static int twice(int x)
{
	return 2 * x;
}
int main(int argc, char **argv)
{
	int (*pointer)(int) = argc > 1 ? twice : NULL;
	void *lib = dlopen(argv[1], RTLD_NOW);
	struct stat st;
	int fd = open(argv[2], O_RDONLY);
	fstat(fd, &st);
	void *text = mmap(0, st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	printf("%d\\n", ((int (*)(int))dlsym(lib, "plug"))(pointer(3))); /* here */
	dlclose(lib);
	return text == MAP_FAILED;
}
"""


def write(path, text):
    with open(path, "w", encoding="ascii") as f:
        f.write(text)


def user(t, *flags):
    """A program that loads a library and maps its own source; the folder of both, and the recording."""
    folder = os.path.join(t.top, "user-%d" % os.getpid())
    os.mkdir(folder)
    program, library = os.path.join(folder, "user"), os.path.join(folder, "plug.so")
    write(os.path.join(folder, "user.c"), USER)
    write(os.path.join(folder, "plug.c"), PLUG)
    subprocess.run(["gcc", "-g", "-O0", "-shared", "-fPIC", "-o", library, os.path.join(folder, "plug.c")], check=True)
    subprocess.run(["gcc", "-g", "-O0", *flags, "-o", program, os.path.join(folder, "user.c")], check=True)
    return folder, t.record("user-%d" % os.getpid(), lambda: [program, library, program + ".c"])


def line_of(words):
    return 1 + [words in line for line in USER.splitlines()].index(True)


def at_plug(t, ident, **more):
    c = t.client(**more)
    c.open({"recording": ident, "stopAt": "main"})
    c.request("setFunctionBreakpoints", {"breakpoints": [{"name": "plug"}]})
    c.go("continue")
    return c


def text_of(c, source):
    return c.request("source", {"source": source, "sourceReference": source["sourceReference"]})["content"].split("\n")


def test_listing(t):
    """A stripped program: frames show their machine code, steps stay in the text, breakpoints can be set in it."""
    c = t.launch("stripped", stop="entry")
    c.request("setFunctionBreakpoints", {"breakpoints": [{"name": "printf"}]})
    c.go("continue")
    c.request("setFunctionBreakpoints", {"breakpoints": []})
    frames = [f for f in c.stack() if f.get("source", {}).get("origin") == "machine code"]
    assert frames, c.stack()
    for frame in frames:
        line = text_of(c, frame["source"])[frame["line"] - 1]
        assert int(line.split()[0], 16) == int(frame["instructionPointerReference"], 16), (frame, line)
    c.go("stepOut")
    frame = c.top()
    source, lines = frame["source"], text_of(c, frame["source"])
    body = c.request("setBreakpoints", {"source": source, "breakpoints": [{"line": frame["line"] - 2}, {"line": 1}]})["breakpoints"]
    assert body[0]["verified"] and not body[1]["verified"], body
    c.go("reverseContinue")
    top = c.top()
    assert top["line"] == frame["line"] - 2 and top["source"] == source, (top, frame)
    found = c.request("breakpointLocations", {"source": source, "line": 1, "endLine": len(lines)})["breakpoints"]
    assert [b["line"] for b in found] == list(range(2, len(lines))), found


def test_clients_with_a_view(t):
    """VS Code shows machine code by itself: no source for it."""
    c = t.client(clientID="vscode")
    c.open({"recording": t.recording("stripped"), "stopAt": "entry"})
    c.request("setFunctionBreakpoints", {"breakpoints": [{"name": "printf"}]})
    c.go("continue")
    assert all(f.get("source", {}).get("origin") != "machine code" for f in c.stack())
    assert any("source" not in f and f["instructionPointerReference"] for f in c.stack())


def test_backwards(t):
    """What is decoded backwards from any instruction is what objdump finds from the front."""
    c = t.at_break("steps", "in square")
    text = subprocess.run(["objdump", "-d", "--section=.text", context.build("steps")], check=True, stdout=subprocess.PIPE, text=True).stdout
    offsets = [int(m, 16) for m in re.findall(r"^ +([0-9a-f]+):\t[0-9a-f ]+\t", text, re.M)]
    start = int(c.request("modules", {})["modules"][0]["addressRange"].split("-")[0], 16)
    assert len(offsets) > 100
    for i in range(60, len(offsets), 17):
        body = c.request("disassemble", {"memoryReference": hex(start + offsets[i]), "instructionOffset": -50, "instructionCount": 55})["instructions"]
        got = [int(e["address"], 16) - start for e in body]
        assert got[:51] == offsets[i - 50:i + 1], (i, got, offsets[i - 50:i + 1])


def test_edges(t):
    """Always as many as asked for, also where nothing can be read."""
    c = t.launch("steps")
    ends = [int(a, 16) for a in c.request("modules", {})["modules"][0]["addressRange"].split("-")]
    for address, offset in ((ends[0], -20), (ends[1], -20), (ends[1] - 3, 0), (ends[0] - 2, 0), (0, -5), ((1 << 64) - 2, -3)):
        body = c.request("disassemble", {"memoryReference": hex(address), "instructionOffset": offset, "instructionCount": 40})["instructions"]
        addresses = [int(e["address"], 16) for e in body]
        assert len(body) == 40 and addresses == sorted(addresses) and addresses[-offset] == address, (hex(address), body)
        assert any(e.get("presentationHint") == "invalid" for e in body), body
    for bad in ({"instructionCount": 10 ** 9}, {"instructionCount": 5, "instructionOffset": -10 ** 9}, {"instructionCount": -1}):
        c.refused("disassemble", dict({"memoryReference": hex(ends[0])}, **bad))


def test_gaps(t):
    c = t.launch("steps")
    start, end = [int(a, 16) for a in c.request("modules", {})["modules"][0]["addressRange"].split("-")]
    body = c.request("readMemory", {"memoryReference": hex(start - 64), "count": 128})
    assert "data" not in body and body["unreadableBytes"] == 64, body
    body = c.request("readMemory", {"memoryReference": hex(end), "offset": -16, "count": 48})
    assert len(body["data"]) == 24 and body["unreadableBytes"] == 32, body
    c.refused("readMemory", {"memoryReference": hex(start), "count": 1 << 40})
    c.refused("readMemory", {"memoryReference": "0x10", "offset": -32, "count": 4})


def test_link(t):
    """A client that opened the source through a link sees it by that name."""
    folder, ident = user(t)
    link = folder + "-link"
    os.symlink(folder, link)
    c = t.client()
    c.open({"recording": ident, "stopAt": "main"})
    for path in (os.path.join(link, "user.c"), os.path.join(folder, "..", os.path.basename(link), ".", "user.c")):
        got = c.set_breaks(path, [line_of("here")])
        assert got[0]["verified"], (path, got)
        assert got[0]["source"]["path"] == os.path.join(link, "user.c"), got
    assert c.top()["source"]["path"] == os.path.join(link, "user.c")


def test_uris(t):
    folder, ident = user(t)
    c = t.client(pathFormat="uri")
    c.open({"recording": ident, "stopAt": "main"})
    uri = "file://" + os.path.join(folder, "user.c")
    assert c.top()["source"]["path"] == uri, c.top()
    assert c.set_breaks(uri, [line_of("here")])[0]["verified"]


def test_relative_names(t):
    """Built with its folder mapped to ".": sourceMap finds it, by the list form too."""
    folder, ident = user(t, "-ffile-prefix-map=%s=." % os.path.join(t.top, "user-%d" % os.getpid()), "-fdebug-prefix-map=%s=." % os.getcwd())
    path = os.path.join(folder, "user.c")
    c = t.client()
    c.open({"recording": ident, "stopAt": "main", "sourceMap": [[".", folder]]})
    assert c.top()["source"]["path"] == path, c.top()
    assert c.set_breaks(path, [line_of("here")])[0]["verified"]
    for bad in ("text", {"/a": 3}, [["/a"]], {"/a": ""}):
        c = t.client()
        seq = c.send("launch", {"recording": ident, "sourceMap": bad}, valid=False)
        answer = c.answer(seq)
        assert not answer["success"] and "sourceMap" in answer["message"], answer


def test_changed(t):
    """A source that is newer than the recording is marked."""
    folder, ident = user(t)
    c = t.client()
    c.open({"recording": ident, "stopAt": "main"})
    assert "origin" not in c.top()["source"], c.top()
    os.utime(os.path.join(folder, "user.c"), (4e9, 4e9))
    c.go("next")
    source = c.top()["source"]
    assert source["presentationHint"] == "deemphasize" and "changed" in source["origin"], source


def test_kept_in_the_recording(t):
    """A source that the program mapped is served from the recording when it is gone."""
    folder, ident = user(t)
    os.unlink(os.path.join(folder, "user.c"))
    c = at_plug(t, ident)
    source = c.stack()[1]["source"]
    assert source["name"] == "user.c" and source["sourceReference"], source
    assert "\n".join(text_of(c, source)) == USER


def test_libraries(t):
    """Events tell of a library that comes and goes, and of its sources once the client has asked for sources."""
    _, ident = user(t)
    c = t.client()
    c.open({"recording": ident, "stopAt": "main"})
    c.request("loadedSources", {})
    c.had("module")
    c.request("setFunctionBreakpoints", {"breakpoints": [{"name": "plug"}]})
    c.go("continue")
    event = c.event("module", match=lambda body: body["module"]["name"] == "plug.so")
    assert event["reason"] == "new", event
    assert c.event("loadedSource", match=lambda body: body["source"]["name"] == "plug.c")["reason"] == "new"
    module = [m for m in c.request("modules", {})["modules"] if m["name"] == "plug.so"][0]
    assert module["symbolStatus"] == "Symbols and lines" and re.fullmatch("0x[0-9a-f]+-0x[0-9a-f]+", module["addressRange"]), module
    readelf = subprocess.run(["readelf", "-n", module["path"]], check=True, stdout=subprocess.PIPE, text=True).stdout
    if "Build ID" in readelf:
        assert module["version"] == "build " + re.search("Build ID: ([0-9a-f]+)", readelf).group(1), module
    c.request("setFunctionBreakpoints", {"breakpoints": []})
    c.go("reverseContinue")
    event = c.event("module", match=lambda body: body["module"]["name"] == "plug.so")
    assert event["reason"] == "removed", event


def test_pointer_to_function(t):
    _, ident = user(t)
    c = at_plug(t, ident)
    pointer = [v for s in c.request("scopes", {"frameId": c.stack()[1]["id"]})["scopes"] if not s["expensive"]
               for v in c.variables(s["variablesReference"]) if v["name"] == "pointer"][0]
    place = c.request("locations", {"locationReference": pointer["valueLocationReference"]})
    assert place["source"]["name"] == "user.c" and place["line"] == line_of("twice(int x)") + 1, place
    c.go("next")
    c.refused("locations", {"locationReference": pointer["valueLocationReference"]})


def test_refusals(t):
    """What a recording cannot do is refused with what can be done instead."""
    c = t.launch("steps")
    for name, words in (("goto", "breakpoint"), ("restartFrame", "reverse"), ("terminateThreads", "disconnect"), ("writeMemory", "read-only")):
        message = c.refused(name, {"memoryReference": "0x10", "data": "", "threadId": 1, "targetId": 1, "frameId": 1})["message"]
        assert words in message, message


def test_lines_of_several_units(t):
    """The lines of a header are those of all units that it is part of."""
    folder = os.path.join(t.top, "units-%d" % os.getpid())
    os.mkdir(folder)
    write(os.path.join(folder, "a (1).h"), "#ifdef A\nstatic int a(int x)\n{\n\treturn x + 1;\n}\n#else\nstatic int b(int x)\n{\n\treturn x + 2;\n}\n#endif\n")
    write(os.path.join(folder, "a.c"), '#define A\n#include "a (1).h"\nint b_of(int);\nint main(void)\n{\n\treturn a(b_of(-3));\n}\n')
    write(os.path.join(folder, "b.c"), '#include "a (1).h"\nint b_of(int x)\n{\n\treturn b(x);\n}\n')
    program = os.path.join(folder, "units")
    subprocess.run(["gcc", "-g", "-O0", "-o", program, os.path.join(folder, "a.c"), os.path.join(folder, "b.c")], check=True)
    c = t.client()
    c.open({"recording": t.record("units-%d" % os.getpid(), lambda: [program]), "stopAt": "main"})
    header = {"path": os.path.join(folder, "a (1).h")}
    found = c.request("breakpointLocations", {"source": header, "line": 1, "endLine": 20})["breakpoints"]
    assert [b["line"] for b in found] == [3, 4, 5, 8, 9, 10], found
    assert "return x + 2" in c.request("source", {"source": header, "sourceReference": 0})["content"]
