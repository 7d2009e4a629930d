"""The same walk twice: through hermit-dap and in gdb with `hermit replay --gdbex`; at each step both must stand at the same instruction and see the same.

A walk is a list of steps: ("break", WHERE) with WHERE a function or FILE:LINE, ("clear",), or a movement of MOVES.
"""
import json
import os
import re
import shlex
import subprocess

import client
import rsp

# movement: (request, its arguments, gdb's command)
MOVES = {
    "continue": ("continue", {}, "continue"),
    "back": ("reverseContinue", {}, "reverse-continue"),
    "next": ("next", {}, "next"),
    "step": ("stepIn", {}, "step"),
    "out": ("stepOut", {}, "finish"),
    "stepi": ("stepIn", {"granularity": "instruction"}, "stepi"),
    "nexti": ("next", {"granularity": "instruction"}, "nexti"),
    "reverse-next": ("stepBack", {}, "reverse-next"),
    "reverse-step": ("hermit/reverseStepIn", {}, "reverse-step"),
    "reverse-out": ("hermit/reverseStepOut", {}, "reverse-finish"),
    "reverse-stepi": ("hermit/reverseStepIn", {"granularity": "instruction"}, "reverse-stepi"),
    "reverse-nexti": ("stepBack", {"granularity": "instruction"}, "reverse-nexti"),
}
FRAMES = 12
# Prints where the session stands, as a line of JSON.
STATE = r"""
import json
def hermit_values(frame):
    values, block = {}, None
    try:
        block = frame.block()
    except RuntimeError:
        return values
    while block and not block.is_global and not block.is_static:
        for symbol in block:
            if (symbol.is_variable or symbol.is_argument) and symbol.name not in values:
                try:
                    value = symbol.value(frame)
                    kind = value.type.strip_typedefs().code
                    if kind in (gdb.TYPE_CODE_INT, gdb.TYPE_CODE_ENUM, gdb.TYPE_CODE_BOOL, gdb.TYPE_CODE_FLT, gdb.TYPE_CODE_CHAR):
                        values[symbol.name] = value.format_string()
                except (gdb.error, RuntimeError):
                    pass
        if block.function:
            break
        block = block.superblock
    return values
def hermit_do(line):
    try:
        gdb.execute(line)
    except gdb.error as e:
        print(e)
def hermit_state():
    frame, frames = gdb.newest_frame(), []
    values = hermit_values(frame)
    pc = frame.pc()
    thread = gdb.selected_thread().ptid
    while frame and len(frames) < %d:
        line = frame.find_sal()
        frames.append([frame.name(), line.symtab.filename if line.symtab else None, line.line if line.symtab else 0])
        frame = frame.older()
    print("@@" + json.dumps({"pc": pc, "tid": thread[1] or thread[0], "frames": frames, "values": values}))
""" % FRAMES
SETTINGS = ("set pagination off", "set confirm off", "set width 0", "set debuginfod enabled off", "set style enabled off", "set breakpoint pending on", "set print thread-events off",
            "set print elements 200")


def in_gdb(t, ident, walk, options):
    """States at the start and behind each movement."""
    script = os.path.join(t.top, "walk-%d.gdb" % os.getpid())
    lines = [*SETTINGS, "python" + STATE + "end"]
    for step in [("here",), *walk]:
        if step[0] == "break":
            lines.append("break " + step[1])
        elif step[0] == "clear":
            lines.append("delete")
        else:
            lines += ["python hermit_do(%r)" % MOVES[step[0]][2]] if step[0] != "here" else []
            lines.append("python hermit_state()")
    with open(script, "w", encoding="utf-8") as f:
        f.write("\n".join([*lines, "kill", "quit", ""]))
    env = {k: v for k, v in os.environ.items() if not k.startswith("HERMIT")}
    env.update(HERMIT_DATA_DIR=t.store, XDG_RUNTIME_DIR=t.run_dir, TERM="dumb", HOME=t.top, LC_ALL="C.UTF-8")
    done = subprocess.run([rsp.HERMIT, "replay", *options, "--gdbex", "source " + script, ident], env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          text=True, errors="replace", timeout=120, check=False)
    states = [json.loads(line[line.index("@@") + 2:]) for line in done.stdout.splitlines() if "@@" in line]
    moves = 1 + sum(step[0] in MOVES for step in walk)
    assert len(states) == moves, "gdb made %d of %d states of the walk:\n%s" % (len(states), moves, done.stdout[-3000:])
    return states


class Points:
    """Breakpoints by file and by function, as clients keep them: each request names all."""

    def __init__(self, c, sources):
        self.c, self.sources, self.lines, self.functions = c, sources, {}, []

    def add(self, where):
        found = re.fullmatch(r"(.+):(\d+)", where)
        if found:
            path = self.sources[found.group(1)]
            self.lines.setdefault(path, []).append(int(found.group(2)))
            self.c.set_breaks(path, self.lines[path])
        else:
            self.functions.append({"name": where})
            self.c.request("setFunctionBreakpoints", {"breakpoints": self.functions})

    def clear(self):
        for path in self.lines:
            self.c.set_breaks(path, [])
        self.lines, self.functions = {}, []
        self.c.request("setFunctionBreakpoints", {"breakpoints": []})


def scalars(c, frame):
    values = {}
    for scope in c.request("scopes", {"frameId": frame["id"]})["scopes"]:
        if not scope["name"].lower().startswith(("local", "arg")):
            continue
        for v in c.variables(scope["variablesReference"]):
            if v["variablesReference"] == 0:
                values.setdefault(v["name"], v["value"])
    return values


def state(c):
    frames = c.stack(0, FRAMES)
    threads = {x["id"]: x["name"] for x in c.request("threads")["threads"]}
    return {"pc": int(frames[0]["instructionPointerReference"], 16), "thread": threads[c.thread], "values": scalars(c, frames[0]),
            "frames": [[f["name"], f.get("source", {}).get("path") or f.get("source", {}).get("name"), f["line"]] for f in frames]}


def in_adapter(t, ident, walk, process, sources):
    c = t.client()
    c.open(dict({"recording": ident, "stopAt": "entry"}, **({"process": process} if process else {})))
    points, states = Points(c, sources), [state(c)]
    for step in walk:
        if step[0] == "break":
            points.add(step[1])
        elif step[0] == "clear":
            points.clear()
        else:
            request, arguments, _ = MOVES[step[0]]
            try:
                c.go(request, limit=120, **arguments)
            except client.Refused:
                pass  # gdb's command fails too, and both stay
            states.append(state(c))
    c.disconnect()
    return states


def plain(name):
    """A frame's name without what only one of the two shows: arguments, templates' arguments, marks."""
    return re.sub(r"\(.*|<.*| \[inlined\]$", "", name or "??").strip()


def same(theirs, mine):
    """What is different, in words."""
    found = []
    if theirs["pc"] != mine["pc"]:
        found.append("pc %#x, not %#x" % (mine["pc"], theirs["pc"]))
    if str(theirs["tid"]) not in mine["thread"]:
        found.append("thread %s, not %s" % (mine["thread"], theirs["tid"]))
    if len(theirs["frames"]) != len(mine["frames"]):
        found.append("%d frames, not %d" % (len(mine["frames"]), len(theirs["frames"])))
    for number, (a, b) in enumerate(zip(theirs["frames"], mine["frames"])):
        if a[0] and plain(a[0]) != plain(b[0]):
            found.append("frame %d is %s, not %s" % (number, b[0], a[0]))
        if a[1] and (os.path.basename(a[1]) != os.path.basename(b[1] or "") or a[2] != b[2]):
            found.append("frame %d is at %s:%s, not %s:%s" % (number, b[1], b[2], a[1], a[2]))
    for name, value in theirs["values"].items():
        if mine["values"].get(name, "<optimized out>") != value:
            found.append("%s is %s, not %s" % (name, mine["values"].get(name), value))
    return found


def compare(t, ident, walk, process=None, sources=None):
    """sources: paths by the file names of the walk. The states in gdb."""
    options = ["-p", str(process)] if process else []
    theirs = in_gdb(t, ident, walk, options)
    mine = in_adapter(t, ident, walk, process, sources or {})
    moves = ["start"] + [step[0] for step in walk if step[0] in MOVES]
    wrong = ["%d %s: %s" % (at, move, "; ".join(found)) for at, (move, found) in enumerate(zip(moves, map(same, theirs, mine))) if found]
    assert not wrong, "not where gdb is:\n    " + "\n    ".join(wrong[:10])
    return theirs


def pid_of(t, ident, program):
    """The first process of the recording that ran it last."""
    hermit = subprocess.run([rsp.HERMIT, "record", "show", "--json", ident], env=dict(os.environ, HERMIT_DATA_DIR=t.store), capture_output=True, check=True, timeout=60)
    found = [p["pid"] for p in json.loads(hermit.stdout)["process_tree"] if os.path.basename(p["exe"]) == program or os.path.basename(shlex.split(p["command"])[0]) == program]
    assert found, "no process %s" % program
    return found[0]
