"""Walks through real programs, each step compared with gdb's (walks.py)."""
import shutil
import subprocess

import client
import context
import guests
import walks
from context import Skip


def moves(text):
    """"continue back*3" as steps of a walk."""
    steps = []
    for word in text.split():
        name, _, times = word.partition("*")
        steps += [(name,)] * int(times or 1)
    return steps


def lines(t, name, *words):
    """Breakpoints at the lines of a recording's source with these words, and the path by its name."""
    source = t.source(name)
    base = source.rpartition("/")[2]
    return [("break", "%s:%d" % (base, t.line(name, w))) for w in words], {base: source}


def test_steps(t):
    points, sources = lines(t, "steps", "in square", "the change", "the print")
    seen = walks.compare(t, t.recording("steps"), points + moves("continue*3 out next*2 reverse-next*2 reverse-step*3 step*4 reverse-out stepi*5 reverse-stepi*3 "
                                                                 "continue*9 next*2 back*4 reverse-nexti*3 nexti*2 continue"), sources=sources)
    assert len({s["pc"] for s in seen}) > 10, "it went nowhere"


def test_containers(t):
    points, sources = lines(t, "containers", "// the push", "// in twice", "// the catch", "// the end")
    walks.compare(t, t.recording("containers"), points + moves("continue*2 step out reverse-out back continue*22 next*3 reverse-next*2 back*2 reverse-step*2 stepi*2 continue*2"), sources=sources)


def test_rust(t):
    points, sources = lines(t, "rust", "// circle", "self.side // square", "// the total")
    walks.compare(t, t.recording("rust"), points + moves("continue reverse-next reverse-out continue next*2 continue*2 reverse-step*3 back stepi*3 reverse-stepi*2"), sources=sources)


def test_inlined(t):
    points, sources = lines(t, "inlined", "in inner")
    walks.compare(t, t.recording("inlined"), points + moves("continue next reverse-next stepi*4 reverse-stepi*4 continue back"), sources=sources)


def test_python(t):
    if not shutil.which("/usr/bin/python3"):
        raise Skip("needs /usr/bin/python3")
    ident = t.record("python", lambda: ["/usr/bin/python3", "-c", "import json; print(json.dumps({'a': [1, 2.5, None]}))"], options=("-e", "LD_BIND_NOW=1"))
    walks.compare(t, ident, [("break", "PyUnicode_New"), *moves("continue*8 back*3 stepi*3 reverse-stepi*5 continue*2"), ("clear",), ("break", "write"),
                             *moves("continue out back reverse-stepi*2 stepi")])


def test_redis(t):
    if not shutil.which("redis-server"):
        raise Skip("needs redis-server")
    ident = t.record("redis", lambda: guests.run_script("redis_both"), options=("-e", "LD_BIND_NOW=1"))
    walks.compare(t, ident, [("break", "epoll_wait"), *moves("continue*6 back*2 stepi*3 reverse-stepi*2"), ("clear",), ("break", "write"), *moves("continue*3 out back*2"),
                             ("clear",), ("break", "accept"), ("break", "accept4"), *moves("continue out reverse-stepi*2 back")], process=walks.pid_of(t, ident, "redis-server"))


def test_thread_crash(t):
    """To the crash, which stops by itself, and back from there."""
    walks.compare(t, t.recording("thread-crash"), moves("continue reverse-stepi*4 stepi*2 reverse-step*2 step*2 reverse-out continue"))


def test_threads(t):
    points, sources = lines(t, "sixty-four", "order[arrived++]", "next_id++")
    walks.compare(t, t.recording("sixty-four"), points + moves("continue*6 back*3 next reverse-next continue*2"), sources=sources)


def test_forked_server(t):
    """The process that serves the second connection, and the one that accepts."""
    source = context.source_of("forked")
    ident = t.record("forked", lambda: [context.build("forked")])
    with open(source, encoding="utf-8") as f:
        number = {words: n for n, line in enumerate(f, 1) for words in ("in answer", "in serve", "one more") if words in line}
    tree = client.json.loads(subprocess.run([walks.rsp.HERMIT, "record", "show", "--json", ident], env=dict(client.os.environ, HERMIT_DATA_DIR=t.store), capture_output=True,
                                            check=True, timeout=60).stdout)["process_tree"]
    assert len(tree) == 7, tree
    sources = {"forked.c": source}
    walks.compare(t, ident, [("break", "forked.c:%d" % number["one more"]), *moves("continue*3 back reverse-next*3 next*2 continue*2")], tree[0]["pid"], sources)
    for process in tree[4], tree[6]:
        walks.compare(t, ident, [("break", "forked.c:%d" % number["in answer"]), *moves("continue next reverse-next reverse-out reverse-next step*2 continue*2 back")],
                      process["pid"], sources)


def test_corruption(t):
    points, sources = lines(t, "corrupt", "the culprit", "noticed here")
    walks.compare(t, t.recording("corrupt"), points[1:] + moves("continue reverse-step*3 reverse-out next reverse-next back"), sources=sources)
