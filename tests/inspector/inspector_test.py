#!/usr/bin/env python3
"""Tests what the inspector says of real programs: stacks against gdb's, names and lines, registers, memory, sources, separate debugging
information, hostile requests and hostile debugging information; and `hermit backtrace`."""
import base64
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
import unittest

sys.dont_write_bytecode = True
import client  # noqa: E402
from client import Inspector, Recording, Refused, functions, pcs  # noqa: E402

GUESTS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "guests")
# frames that gdb goes on from, into nothing
ENTRIES = ("_start", "runtime.rt0_go", "runtime.clone", "runtime.goexit")
HAS_GDB = shutil.which("gdb") is not None
CASES = int(os.environ.get("INSPECTOR_HOSTILE", "12"))


def line_of(source, marker):
    with open(os.path.join(GUESTS, source)) as f:
        return [i for i, text in enumerate(f, 1) if "/* %s */" % marker in text][0]


def is_call(name, text=""):
    return lambda e: e["kind"] in ("syscall", "syscall-enter") and e.get("syscall") == name and text in e.get("line", "")


class Case(unittest.TestCase):
    maxDiff = None

    @classmethod
    def setUpClass(cls):
        cls.top = tempfile.mkdtemp(prefix="hermit-inspect-guests-")
        cls.recordings = []

    @classmethod
    def tearDownClass(cls):
        shutil.rmtree(cls.top, ignore_errors=True)
        for r in cls.recordings:
            r.remove()

    @classmethod
    def compile(cls, source, name, *flags, compiler=None):
        out = os.path.join(cls.top, name)
        if not os.path.exists(out):
            compiler = compiler or os.environ.get("CC", "gcc").split()[0]
            subprocess.run([compiler, "-o", out, *flags, os.path.join(GUESTS, source)], check=True, stdin=subprocess.DEVNULL)
        return out

    @classmethod
    def record(cls, *argv, **options):
        r = Recording(list(argv), **options)
        cls.recordings.append(r)
        return r

    def same_as_gdb(self, recording, stack):
        if not HAS_GDB:
            return
        ours, gdbs = pcs(stack), recording.gdb(stack["event"], stack["pid"])
        # below the loader's entry there is the argument count, which gdb takes for an address
        if stack["complete"] and functions(stack)[-1] in ENTRIES or functions(stack)[-1] == "_dl_start_user":
            gdbs = gdbs[:len(ours)]
        self.assertEqual([hex(x) for x in ours], [hex(x) for x in gdbs if x], "at event %d: %s" % (stack["event"], functions(stack)))

    def compare_some(self, recording, count, seed=1):
        """Stacks at events chosen by chance are gdb's."""
        numbers = [e["number"] for e in recording.events if e.get("thread") and e["kind"] not in ("exec", "end")]
        chosen = random.Random(seed).sample(numbers, min(count, len(numbers)))
        with Inspector(recording) as i:
            for n in sorted(chosen):
                self.same_as_gdb(recording, i.ask("stack", event=n))


class Stacks(Case):
    def test_crash(self):
        r = self.record(self.compile("crash.c", "crash", "-g", "-O2", "-fno-optimize-sibling-calls"))
        fatal = r.find(lambda e: e["kind"] == "signal")
        with Inspector(r) as i:
            s = i.ask("stack", event=fatal)
            self.assertEqual(functions(s)[:6], ["sum", "work", "deeper", "deeper", "deeper", "main"])
            self.assertEqual([f["line"] for f in s["frames"][:6]],
                             [line_of("crash.c", m) for m in ("CRASH", "SUM", "WORK", "DEEPER", "DEEPER", "MAIN")])
            self.assertEqual([f["inlined"] for f in s["frames"][:3]], [True, False, False])
            self.assertTrue(s["complete"])
            self.assertEqual(s["frames"][0]["file"], os.path.join(GUESTS, "crash.c"))
            self.assertIn({"name": "n", "value": "0x10"}, s["frames"][0]["args"])
            self.assertIn({"name": "start", "value": "3"}, s["frames"][0]["args"])
            self.same_as_gdb(r, s)
            at_write = r.find(is_call("write"))
            s = i.ask("stack", event=at_write)
            self.assertIn("work", functions(s))
            self.same_as_gdb(r, s)
            after = i.ask("stack", event=at_write, when="after")
            self.assertEqual(after["when"], "after")
            self.assertEqual(pcs(after)[0], pcs(s)[0])

    def test_arguments(self):
        r = self.record(self.compile("crash.c", "crash-O0", "-g", "-O0"))
        with Inspector(r) as i:
            s = i.ask("stack", event=r.find(lambda e: e["kind"] == "signal"))
        work = [f for f in s["frames"] if f["function"] == "work"][0]
        values = {a["name"]: a["value"] for a in work["args"]}
        self.assertEqual((values["n"], values["c"], values["d"]), ("0x10", "GREEN", "2.5"))
        self.assertRegex(values["name"], r'^0x[0-9a-f]+ "the \\"list\\""$')
        main = [f for f in s["frames"] if f["function"] == "main"][0]
        self.assertEqual({a["name"]: a["value"] for a in main["args"]}["argc"], "1")

    def test_without_frame_pointers(self):
        r = self.record(self.compile("crash.c", "crash-nofp", "-O2", "-fomit-frame-pointer", "-fno-optimize-sibling-calls", "-s"), "5")
        with Inspector(r) as i:
            s = i.ask("stack", event=r.find(lambda e: e["kind"] == "signal"))
            self.assertTrue(s["complete"])
            self.assertGreater(len(s["frames"]), 9)
            self.same_as_gdb(r, s)

    def test_without_unwind_information(self):
        """Frame pointers serve, and it is said so."""
        binary = self.compile("crash.c", "crash-fp", "-O1", "-fno-omit-frame-pointer", "-fno-asynchronous-unwind-tables", "-fno-unwind-tables",
                              "-fno-optimize-sibling-calls")
        r = self.record(binary)
        with Inspector(r) as i:
            s = i.ask("stack", event=r.find(lambda e: e["kind"] == "signal"))
        self.assertEqual(functions(s)[:5], ["work", "deeper", "deeper", "deeper", "main"])
        self.assertIn("frame pointer", s["note"])

    def test_deep(self):
        r = self.record(self.compile("crash.c", "crash", "-g", "-O2", "-fno-optimize-sibling-calls"), "2000")
        with Inspector(r) as i:
            s = i.ask("stack", event=r.find(lambda e: e["kind"] == "signal"))
        self.assertEqual(len(s["frames"]), 256)
        self.assertFalse(s["complete"])
        self.assertIn("deeper", s["note"])

    def signal(self, *args, flags=()):
        r = self.record(self.compile("signal.c", "signal" + "".join(flags), "-g", "-O2", *flags), *args)
        with Inspector(r) as i:
            s = i.ask("stack", event=r.find(is_call("write", "tick")))
            names = functions(s)
            self.assertIn("on_tick", names)
            at = [f["signal"] for f in s["frames"]].index(True)
            self.assertLess(names.index("on_tick"), at)
            self.assertIn("outer", names[at:])
            self.assertEqual(names[-2 if names[-1] == "_start" else -1 - 2:][0].startswith("__libc_start"), True, names)
            self.assertTrue(s["complete"])
            self.same_as_gdb(r, s)

    def test_signal_handler(self):
        self.signal(flags=("-fomit-frame-pointer",))

    def test_signal_stack(self):
        self.signal("alternate")

    def test_static(self):
        r = self.record(self.compile("signal.c", "signal-static", "-g", "-O2", "-static"))
        with Inspector(r) as i:
            s = i.ask("stack", event=r.find(is_call("write", "tick")))
            self.assertIn("outer", functions(s))
            self.same_as_gdb(r, s)

    def test_threads(self):
        r = self.record(self.compile("threads.c", "threads", "-g", "-O2", "-pthread"))
        now = r.find(is_call("write", "now"))
        with Inspector(r) as i:
            answer = i.ask("threads", event=now)
            items = answer["items"]
            self.assertEqual(len(items), 4)
            self.assertEqual([t["number"] for t in items], sorted(t["number"] for t in items))
            self.assertEqual([t["current"] for t in items].count(True), 1)
            self.assertEqual({t["name"] for t in items[1:]}, {"second", "other"})
            for t in items[1:]:
                self.assertTrue(t["in_call"], t)
                s = i.ask("stack", event=now, thread=t["number"])
                self.assertEqual(s["tid"], t["tid"])
                self.assertIn("take", functions(s))
                self.assertIn("run", functions(s))
                self.assertTrue(s["complete"], s["note"])
            with self.assertRaisesRegex(Refused, "thread 77"):
                i.ask("stack", event=now, thread=77)

    def test_cxx(self):
        if not shutil.which("g++"):
            self.skipTest("no g++")
        r = self.record(self.compile("shapes.cc", "shapes", "-g", "-O2", compiler="g++"))
        with Inspector(r) as i:
            s = i.ask("stack", event=r.find(is_call("write", "grow")))
            names = functions(s)
            self.assertIn("shapes::Box<double>::grow", names[1])
            self.assertIn("shapes::many<double, 9>", names[2])
            self.assertTrue(s["frames"][2]["symbol"].startswith("_ZN6shapes4many"))
            self.same_as_gdb(r, s)
            s = i.ask("stack", event=r.find(is_call("write", "too big")))
            self.assertIn("main", functions(s))  # in its cold part, which lies elsewhere
            self.same_as_gdb(r, s)
        self.compare_some(r, 3)

    def test_rust(self):
        if not shutil.which("rustc"):
            self.skipTest("no rustc")
        out = os.path.join(self.top, "speak")
        subprocess.run(["rustc", "-g", "-O", "-o", out, os.path.join(GUESTS, "speak.rs")], check=True, stderr=subprocess.DEVNULL)
        r = self.record(out)
        with Inspector(r) as i:
            s = i.ask("stack", event=r.find(is_call("write", "say 1")))
            names = functions(s)
            self.assertIn("speak::say", names)
            self.assertTrue(any(n and n.startswith("speak::generic") for n in names), names)
            self.assertIn("speak::main", names)
            self.same_as_gdb(r, s)

    def test_go(self):
        if not shutil.which("go"):
            self.skipTest("no go")
        out = os.path.join(self.top, "inner")
        subprocess.run(["go", "build", "-o", out, os.path.join(GUESTS, "inner.go")], check=True, env=dict(os.environ, GOFLAGS=""))
        r = self.record(out)
        with Inspector(r) as i:
            s = i.ask("stack", event=r.find(is_call("write", "inner 1")))
            self.assertEqual(functions(s).count("main.inner"), 3)
            self.assertEqual(functions(s)[-1], "runtime.goexit")
            self.assertTrue(s["complete"])
            self.same_as_gdb(r, s)

    def test_python(self):
        """No debugging information: names of the dynamic symbols."""
        python = "/usr/bin/python3"
        if not os.path.exists(python):
            self.skipTest("no python of the system")
        r = self.record(python, "-c", "import os; os.write(1, b'here')")
        with Inspector(r) as i:
            s = i.ask("stack", event=r.find(is_call("write", "here")))
            self.assertIn("PyEval_EvalCode", functions(s))
            self.assertTrue(s["complete"])
            self.same_as_gdb(r, s)
        self.compare_some(r, 3)

    def test_processes(self):
        """Events of several processes, back and forth."""
        r = self.record("/bin/sh", "-c", "/bin/echo one; /bin/echo two | /bin/cat")
        pids = set()
        with Inspector(r) as i:
            for e in [e for e in r.events if is_call("write")(e)] * 2:
                s = i.ask("stack", event=e["number"])
                self.assertEqual(s["thread"], e["thread"])
                pids.add(s["pid"])
                self.assertTrue(s["complete"], s["note"])
            first = i.ask("threads", event=r.find(is_call("write")))
            with self.assertRaisesRegex(Refused, "no process 4194303"):
                i.ask("stack", event=5, pid=4194303)
            self.assertNotEqual(first["pid"], i.ask("stack", event=20)["pid"])
        self.assertGreaterEqual(len(pids), 3)
        self.compare_some(r, 3)


class Debuginfo(Case):
    """Separate debugging information."""

    def strip(self, name, link):
        """(program, directory for debugging information, the file there)"""
        whole = self.compile("crash.c", "whole-" + name, "-g", "-O2", "-fno-optimize-sibling-calls",
                             "-Wl,--build-id=%s" % ("none" if link else "sha1"))
        debug = os.path.join(self.top, "debug-" + name)
        stripped = os.path.join(self.top, name)
        if link:
            os.makedirs(debug + os.path.dirname(stripped))
            where = debug + stripped + ".debug"
        else:
            notes = subprocess.run(["readelf", "-n", whole], check=True, capture_output=True, text=True).stdout
            build_id = notes.split("Build ID: ")[1].split()[0]
            where = os.path.join(debug, ".build-id", build_id[:2], build_id[2:] + ".debug")
            os.makedirs(os.path.dirname(where))
        subprocess.run(["objcopy", "--only-keep-debug", whole, where], check=True)
        subprocess.run(["objcopy", "--strip-all", *(["--add-gnu-debuglink=" + where] if link else []), whole, stripped], check=True)
        return stripped, debug, where

    def top_frames(self, r, *options):
        with Inspector(r, *options) as i:
            s = i.ask("stack", event=r.find(lambda e: e["kind"] == "signal"))
        return functions(s)[:2]

    def check_found(self, name, link):
        stripped, debug, where = self.strip(name, link)
        r = self.record(stripped)
        self.assertEqual(self.top_frames(r), [None, None])
        self.assertEqual(self.top_frames(r, "--debug-dir", "/nowhere:" + debug), ["sum", "work"])
        return r, debug, where

    def test_build_id(self):
        r, debug, where = self.check_found("by-id", False)
        # of another program: not taken
        other = self.compile("signal.c", "other", "-g", "-O2")
        shutil.copy(other, where)
        self.assertEqual(self.top_frames(r, "--debug-dir", debug), [None, None])

    def test_debuglink(self):
        r, debug, where = self.check_found("by-link", True)
        with open(where, "ab") as f:
            f.write(b"changed")
        self.assertEqual(self.top_frames(r, "--debug-dir", debug), [None, None])
        os.unlink(where)
        os.mkfifo(where)  # waits for ever when it is opened
        self.assertEqual(self.top_frames(r, "--debug-dir", debug), [None, None])

    def test_split(self):
        out = os.path.join(self.top, "split")
        subprocess.run(["gcc", "-g", "-gsplit-dwarf", "-O2", "-fno-optimize-sibling-calls", "-o", out, os.path.join(GUESTS, "crash.c")],
                       check=True, cwd=self.top)
        r = self.record(out)
        self.assertEqual(self.top_frames(r), ["sum", "work"])
        for name in os.listdir(self.top):
            if name.endswith(".dwo"):
                os.unlink(os.path.join(self.top, name))
        with Inspector(r) as i:
            s = i.ask("stack", event=r.find(lambda e: e["kind"] == "signal"))
        self.assertEqual(s["frames"][0]["function"], "work")
        self.assertEqual(s["frames"][0]["line"], line_of("crash.c", "CRASH"))

    def test_clang(self):
        """Its units are not in .debug_aranges."""
        if not shutil.which("clang"):
            self.skipTest("no clang")
        for version in ("-gdwarf-4", "-gdwarf-5"):
            r = self.record(self.compile("crash.c", "clang" + version, version, "-O2", "-fno-optimize-sibling-calls", compiler="clang"))
            self.assertEqual(self.top_frames(r), ["sum", "work"])


class State(Case):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.r = cls.record(cls.compile("crash.c", "crash", "-g", "-O0"))
        cls.fatal = cls.r.find(lambda e: e["kind"] == "signal")
        cls.i = Inspector(cls.r)

    @classmethod
    def tearDownClass(cls):
        cls.i.close()
        super().tearDownClass()

    def test_registers(self):
        answer = self.i.ask("registers", event=self.fatal)
        regs = {x["name"]: x for x in answer["registers"]}
        stack = self.i.ask("stack", event=self.fatal)
        self.assertEqual(regs["rip"]["value"], stack["frames"][0]["pc"])
        self.assertTrue(regs["rip"]["text"].startswith("work+"), regs["rip"])
        self.assertIn("ZF" if int(regs["eflags"]["value"], 16) & 0x40 else "IF", regs["eflags"]["text"])
        for x in regs.values():
            self.assertRegex(x["value"], "^0x[0-9a-f]+$")
            self.assertIn(x["group"], ("general", "flags", "segment", "vector"))
        vectors = [n for n in regs if n[1:4] in ("mm0", "mm1") or n.startswith(("xmm", "ymm", "zmm"))]
        self.assertGreaterEqual(len(vectors), 16)
        if HAS_GDB:
            out = self.r.run("replay", "-g", "%d!" % (self.fatal - 1), "--gdbex",
                             "set pagination off; p/x $xmm0.uint128; p/x $xmm7.uint128; p/x $rsp; p/x $fs_base; p/x $mxcsr; quit", self.r.id).stdout.decode()
            values = [int(line.split(" = ")[1], 16) for line in out.splitlines() if line.startswith("$") and " = 0x" in line]
            kind = vectors[0][:3]
            ours = [int(regs[kind + n]["value"], 16) & (1 << 128) - 1 for n in ("0", "7")]
            self.assertEqual(values, ours + [int(regs[n]["value"], 16) for n in ("rsp", "fs_base", "mxcsr")])

    def test_maps(self):
        items = self.i.ask("maps", event=self.fatal)["items"]
        names = [x["name"] for x in items]
        self.assertIn(os.path.join(self.top, "crash"), names)
        self.assertIn("[stack]", names)
        starts = [int(x["start"], 16) for x in items]
        self.assertEqual(starts, sorted(starts))
        for x in items:
            self.assertEqual(int(x["end"], 16) - int(x["start"], 16), x["size"])
            self.assertRegex(x["prot"], "^[r-][w-][x-][ps]$")

    def test_memory(self):
        stack = self.i.ask("stack", event=self.fatal)
        work = [f for f in stack["frames"] if f["function"] == "work"][0]
        name = [a["value"] for a in work["args"] if a["name"] == "name"][0].split()[0]
        m = self.i.ask("memory", event=self.fatal, addr=name, len=10)
        self.assertEqual(base64.b64decode(m["data"]), b'the "list"')
        m = self.i.ask("memory", event=self.fatal, addr="0x10", len=16)
        self.assertEqual((m["read"], m["data"]), (0, ""))
        last = self.i.ask("maps", event=self.fatal)["items"][-1]
        m = self.i.ask("memory", event=self.fatal, addr=hex(int(last["end"], 16) - 8), len=65536)
        self.assertEqual(m["read"], 8)
        m = self.i.ask("memory", event=self.fatal, addr="0xffffffffffffffff", len=65536)
        self.assertEqual(m["read"], 0)

    def test_source(self):
        path = os.path.join(GUESTS, "crash.c")
        with open(path) as f:
            lines = f.read().split("\n")[:-1]
        whole = self.i.ask("source", path=path)
        self.assertEqual((whole["first"], whole["language"], whole["lines"]), (1, "c", lines))
        part = self.i.ask("source", path=path, line=10, context=2)
        self.assertEqual((part["first"], part["lines"]), (8, lines[7:12]))
        for other in ("/etc/passwd", path + "x", "crash.c", "/dev/zero"):
            with self.assertRaisesRegex(Refused, "names that source file"):
                self.i.ask("source", path=other)

    def test_source_of_a_new_inspector(self):
        """Nobody has asked for a stack before; and it can lie elsewhere."""
        elsewhere = os.path.join(self.top, "elsewhere")
        os.makedirs(elsewhere, exist_ok=True)
        with open(os.path.join(elsewhere, "crash.c"), "w") as f:
            f.write("other\n")
        with Inspector(self.r, "--source-map", "%s=%s" % (GUESTS, elsewhere)) as i:
            s = i.ask("source", path=os.path.join(GUESTS, "crash.c"))
            self.assertEqual(s["lines"], ["other"])
            self.assertIs(s["verified"], False)

    def test_checksum(self):
        """DWARF 5 of clang tells which file was compiled."""
        if not shutil.which("clang"):
            self.skipTest("no clang")
        source = os.path.join(self.top, "mine.c")
        shutil.copy(os.path.join(GUESTS, "crash.c"), source)
        binary = os.path.join(self.top, "mine")
        subprocess.run(["clang", "-gdwarf-5", "-O1", "-o", binary, source], check=True)
        r = self.record(binary)
        with Inspector(r) as i:
            self.assertIs(i.ask("source", path=source)["verified"], True)
            at = os.stat(source)
            with open(source, "a") as f:
                f.write("\n")
            os.utime(source, (at.st_atime, at.st_mtime))
            self.assertIs(i.ask("source", path=source)["verified"], False)

    def test_bad_requests(self):
        for line, text in ((b"", None), (b"nonsense", ""), (b"[]", "no object"), (b'{"id":5}', "no op"), (b'{"id":5,"op":"dance"}', "unknown op"),
                           (b'{"id":5,"op":"stack"}', "no event"), (b'{"id":5,"op":"stack","event":0}', "no event"),
                           (b'{"id":5,"op":"stack","event":-1}', "event"), (b'{"id":5,"op":"stack","event":"7"}', "event"),
                           (b'{"id":5,"op":"stack","event":99999999}', "no event 99999999"),
                           (b'{"id":5,"op":"stack","event":9223372036854775807}', "no event"),
                           (b'{"id":5,"op":"stack","event":9,"when":"soon"}', "when"), (b'{"id":5,"op":"stack","event":9,"thread":4294967295}', "thread"),
                           (b'{"id":5,"op":"memory","event":9,"addr":"x","len":1}', "addr"), (b'{"id":5,"op":"memory","event":9,"addr":"0x1","len":65537}', "len"),
                           (b'{"id":5,"op":"source","path":"' + b"x" * 5000 + b'"}', "source")):
            if text is None:
                self.i.send(line)
                continue
            self.i.send(line)
            answer = self.i.receive()
            self.assertIn(text, answer["error"]["text"], line)
        self.assertEqual(self.i.ask("stack", event=self.fatal)["event"], self.fatal)


class Protocol(Case):
    def test_many_at_once(self):
        r = self.record("/bin/echo", "x")
        with Inspector(r) as i:
            numbers = [i.post("stack", event=n) for n in range(3, 30)]
            for n in numbers:
                self.assertTrue(i.answer(n)["frames"])
            numbers = [i.post("maps", event=20) for _ in range(200)]
            refused = 0
            got = set()
            for _ in numbers:
                line = i.receive()
                got.add(line["id"])
                refused += "error" in line
            self.assertEqual(got, set(numbers))
            self.assertLess(refused, 200)

    def test_endless_line(self):
        r = self.record("/bin/echo", "x")
        i = Inspector(r)
        try:
            for _ in range(100):
                i.socket.sendall(b"x" * 65536)
        except OSError:
            pass
        self.assertNotEqual(i.close(), 0)

    def test_cancel(self):
        r = self.record("/usr/bin/python3", "-c", "import os\nfor i in range(250000): os.getppid()")
        with Inspector(r) as i:
            far = 240000  # more than a second away on a fast machine
            n = i.post("stack", event=far)
            time.sleep(0.1)
            waiting = i.post("maps", event=far)
            i.send(b'{"op":"cancel","request":%d}' % waiting)
            i.send(b'{"op":"cancel","request":%d}' % n)
            names = {}
            while len(names) < 2:
                line = i.receive()
                if "progress" not in line:
                    names[line["id"]] = line.get("error", {}).get("name")
            self.assertEqual(names, {n: "INTERRUPTED", waiting: "INTERRUPTED"})
            self.assertTrue(i.ask("stack", event=far)["frames"])

    def test_end_while_working(self):
        r = self.record("/usr/bin/python3", "-c", "import os\nfor i in range(60000): os.getppid()")
        i = Inspector(r)
        i.post("stack", event=50000)
        time.sleep(0.3)
        began = time.monotonic()
        self.assertEqual(i.close(), 0)
        self.assertLess(time.monotonic() - began, 10)

    def test_no_such_recording(self):
        r = self.record("/bin/echo", "x")
        with open(os.path.join(r.dir, r.id, "events.journal"), "r+b") as f:
            f.write(b"\0" * 64)
        with Inspector(r) as i:
            with self.assertRaises(Refused):
                i.ask("stack", event=5)


class Hostile(Case):
    """Debugging information that is nonsense: an answer, or an error as the last word, in bounded time."""

    def sections(self, path):
        out = subprocess.run(["readelf", "-SW", path], check=True, capture_output=True, text=True).stdout
        for line in out.splitlines():
            words = line.replace("[ ", "[").split()
            if len(words) > 5 and words[0][:1] == "[" and words[0][1:-1].isdigit():
                yield words[1], int(words[4], 16), int(words[5], 16)

    def test_corrupt(self):
        binary = self.compile("crash.c", "crash", "-g", "-O2", "-fno-optimize-sibling-calls")
        wanted = [s for s in self.sections(binary) if s[0].startswith((".debug", ".eh_frame", ".symtab", ".strtab")) and s[2]]
        with open(binary, "rb") as f:
            whole = f.read()
        answers = deaths = 0
        for seed in range(CASES):
            rng = random.Random(seed)
            data = bytearray(whole)
            for _, at, size in rng.sample(wanted, rng.randint(1, len(wanted))):
                for _ in range(rng.choice((1, 4, size // 8))):
                    data[at + rng.randrange(size)] = rng.choice((0, 0xff, 0x7f, rng.randrange(256)))
            name = os.path.join(self.top, "corrupt-%d" % seed)
            with open(name, "wb") as f:
                f.write(data)
            os.chmod(name, 0o755)
            r = Recording([name])
            began = time.monotonic()
            fatal = r.find(lambda e: e["kind"] == "signal")
            with Inspector(r) as i:
                for op, members in (("stack", {}), ("registers", {}), ("threads", {}), ("source", {"path": "/x/y"})):
                    try:
                        i.ask(op, event=fatal, **members)
                        answers += 1
                    except Refused as e:
                        self.assertIn(e.name, ("NOT_FOUND", "GUEST_GONE", "TIMEOUT"), "seed %d" % seed)
                        if e.name != "NOT_FOUND":
                            deaths += 1
                            break
            r.remove()
            self.assertLess(time.monotonic() - began, 60, "seed %d" % seed)
        self.assertGreater(answers, CASES)
        self.assertLess(deaths, CASES)


class Backtrace(Case):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.r = cls.record(cls.compile("crash.c", "crash", "-g", "-O2", "-fno-optimize-sibling-calls"))

    def test_text(self):
        out = self.r.run("backtrace").stdout.decode()
        self.assertRegex(out, r"#0 +sum \(.*\) at .*/crash\.c:%d\n +%d  s \+= n->value;" % ((line_of("crash.c", "CRASH"),) * 2))
        self.assertRegex(out, r"#1  0x[0-9a-f]{16} in work \(")
        self.assertNotIn("s += ", self.r.run("backtrace", "--no-source").stdout.decode())

    def test_json(self):
        j = json.loads(self.r.run("backtrace", "--json", "--crash").stdout)
        self.assertEqual(j["recording"], self.r.id)
        self.assertEqual(functions(j["stacks"][0])[:2], ["sum", "work"])

    def test_all(self):
        r = self.record(self.compile("threads.c", "threads", "-g", "-O2", "-pthread"))
        j = json.loads(r.run("backtrace", "--all", "--json", "--event", str(r.find(is_call("write", "now")))).stdout)
        self.assertEqual(len(j["stacks"]), 4)
        out = r.run("backtrace").stdout.decode()
        self.assertIn("main", out)

    def test_failures(self):
        echo = self.record("/bin/echo", "x")
        for r, args, text, code in ((echo, ["--crash"], "no signal killed", 125), (self.r, ["--event", "999999"], "no event 999999", 125),
                                    (self.r, ["--event", "0"], "", 2), (self.r, ["-p", "nobody"], "which process", 125),
                                    (self.r, ["--after"], "", 2), (self.r, ["--event", "9", "--thread", "8"], "thread 8 is not there", 125)):
            run = r.run("backtrace", *args, check=False)
            self.assertEqual(run.returncode, code, run.stderr)
            self.assertIn(text, run.stderr.decode())


if __name__ == "__main__":
    if os.environ.get("HERMIT_SANITIZERS", "no") != "no":
        print("inspector_test: skipped in sanitized builds")
        sys.exit(77)
    if not os.path.exists(client.HERMIT):
        sys.exit("inspector_test: %s is missing" % client.HERMIT)
    unittest.main(verbosity=2 if "-v" in sys.argv else 1)
