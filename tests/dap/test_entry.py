"""stopAt main: the program's own, wherever it is."""
import os
import shutil
import subprocess

from context import Skip, build

PROGRAM = "#include <stdlib.h>\nint main(int argc, char **argv)\n{\n\tint seen = argc; /* first */\n\treturn argv[0] ? seen - 1 : abs(seen);\n}\n"


def made(t, name, *commands):
    """A recording of a program that is built in a folder of its own from main.c."""
    folder = os.path.join(t.top, name)
    os.mkdir(folder)
    with open(os.path.join(folder, "main.c"), "w", encoding="ascii") as f:
        f.write(PROGRAM)
    for argv in commands:
        if not shutil.which(argv[0]):
            raise Skip("needs " + argv[0])
        subprocess.run(argv, cwd=folder, check=True)
    return t.record(name, lambda: [os.path.join(folder, "program")])


def at_main(t, ident):
    c = t.client()
    stop = c.open({"recording": ident, "stopAt": "main"})
    assert stop["reason"] == "entry" and stop["description"].startswith("main "), stop
    return c


def test_rust(t):
    """Not what C calls main."""
    c = at_main(t, t.recording("rust"))
    assert c.top()["name"] == "shapes::main" and c.top()["line"] > 0, c.top()
    c.request("restart")
    assert c.stop()["description"].startswith("main ") and c.top()["name"] == "shapes::main", c.top()


def test_stripped(t):
    """No symbol, but what it is called with."""
    c = at_main(t, t.recording("stripped"))
    assert c.evaluate("$edi") == "1" and os.path.basename(build("steps", "-s", "steps-stripped")) in c.evaluate("*(char **)$rsi"), c.top()
    assert c.stack()[1]["name"].startswith("__libc_start_call_main"), c.stack()
    c.request("restart")
    assert c.stop()["description"].startswith("main ") and c.evaluate("$edi") == "1"


def test_musl(t):
    c = at_main(t, made(t, "musl", ["musl-gcc", "-s", "-o", "program", "main.c"]))
    assert c.evaluate("$edi") == "1" and "program" in c.evaluate("*(char **)$rsi"), c.top()


def test_library(t):
    """main is in a library, with lines."""
    ident = made(t, "in-library", ["gcc", "-g", "-shared", "-fPIC", "-o", "libmain.so", "main.c"],
                 ["gcc", "-o", "program", "-L.", "-Wl,--no-as-needed", "-lmain", "-Wl,-rpath,$ORIGIN"])
    assert at_main(t, ident).at() == ("main", 4)


def test_static_stripped(t):
    """Nothing leads to main: the start it is."""
    c = t.client()
    stop = c.open({"recording": made(t, "static-stripped", ["gcc", "-s", "-static", "-o", "program", "main.c"]), "stopAt": "main"})
    assert stop["reason"] == "entry" and stop["description"].startswith("Start of the process"), stop
