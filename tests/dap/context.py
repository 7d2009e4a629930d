"""What scenarios get: recordings by name, adapters and clients, and the check that nothing is left when they end.

Each scenario runs in a process of its own that adopts orphans, so whatever it has left is below it.
"""
import ctypes
import fcntl
import os
import re
import shlex
import shutil
import subprocess
import sys
import time

import client

sys.path.insert(0, os.path.join(client.TOP, "tests", "debug"))
import guests  # noqa: E402
import rsp  # noqa: E402

HERE = os.path.dirname(os.path.abspath(__file__))
PROGRAMS = os.path.join(HERE, "programs")
FOLDER = os.path.join(client.BUILD, "dap.d")
PR_SET_CHILD_SUBREAPER = 36

# Recordings by name: program (of programs/ or tests/guests), its arguments, exit status (None: any), and how it is made.
RECORDINGS = {
    "steps": {"program": "steps"},
    "corrupt": {"program": "debug_corrupt", "status": None},
    "crash": {"program": "debug_crash", "arguments": ["1"], "status": None},
    "threads": {"program": "debug_threads"},
    "sixty-four": {"program": "thr_64"},
    "fork": {"program": "debug_fork"},
    "signal": {"program": "debug_signal"},
    "exec": {"program": "debug_exec"},
    "count": {"program": "debug_count", "arguments": ["30000"]},
    "long": {"program": "debug_count", "arguments": ["40000000"]},
    "deep": {"program": "deep"},
    "big": {"program": "big"},
    "inlined": {"program": "inlined", "flags": "-O2"},
    "stripped": {"program": "steps", "flags": "-s", "name": "steps-stripped"},
    "thread-crash": {"program": "crash_thread", "status": None},
    "containers": {"program": "containers"},
    "rust": {"program": "shapes"},
    "output": {"program": "output"},
}


class Skip(Exception):
    """The scenario cannot run here; the text says why."""


def adopt_orphans():
    if ctypes.CDLL(None, use_errno=True).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "PR_SET_CHILD_SUBREAPER")


def reap():
    try:
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
    except ChildProcessError:
        pass


def source_of(program):
    for folder in (PROGRAMS, guests.GUESTS):
        for end in (".c", ".cc", ".rs"):
            path = os.path.join(folder, program + end)
            if os.path.exists(path):
                return path
    raise AssertionError("no source of %s" % program)


def build(program, flags="", name=None):
    """Path of the program, made when its source is newer."""
    source, target = source_of(program), os.path.join(FOLDER, name or program)
    if source.endswith(".c"):
        return guests.build_guest(program, flags or "-O0", os.path.join(FOLDER, name or program), os.path.dirname(source))
    argv = {".cc": ["g++", "-std=gnu++17", "-g", "-O0", *shlex.split(flags)], ".rs": ["rustc", "-g", *shlex.split(flags)]}[os.path.splitext(source)[1]]
    if not shutil.which(argv[0]):
        raise Skip("needs " + argv[0])
    with open(target + ".lock", "w", encoding="ascii") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not os.path.exists(target) or os.path.getmtime(target) < os.path.getmtime(source):
            subprocess.run([*argv, "-o", target, source], check=True)
    return target


class Context:
    def __init__(self, top):
        self.top, self.store = top, os.path.join(top, "store")
        self.adapters = []
        self.run_dir = os.path.join(top, "run-%d" % os.getpid())
        os.makedirs(FOLDER, exist_ok=True)
        os.makedirs(self.run_dir, mode=0o700)

    # recordings

    def recording(self, name):
        """Id of one of RECORDINGS, made when first asked for."""
        row = RECORDINGS[name]
        return self.record(name, lambda: [build(row["program"], row.get("flags", ""), row.get("name")), *row.get("arguments", ())], row.get("status", 0))

    def record(self, name, argv, status=0, options=()):
        """The same for any program; argv is called when it is needed."""
        note = os.path.join(self.top, "recording-" + name)
        with open(note + ".lock", "w", encoding="ascii") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not os.path.exists(note):
                hermit = rsp.Hermit()
                shutil.rmtree(hermit.top)
                hermit.top, hermit.store = self.top, self.store
                hermit.env["HERMIT_DATA_DIR"] = self.store
                ident = hermit.record(argv(), options, status=status)
                with open(note, "w", encoding="ascii") as f:
                    f.write(ident)
        with open(note, encoding="ascii") as f:
            return f.read()

    @staticmethod
    def source(name):
        return source_of(RECORDINGS[name]["program"])

    def line(self, name, words):
        """Number of the line of the recording's source with these words."""
        with open(self.source(name), encoding="utf-8") as f:
            found = [n for n, line in enumerate(f, 1) if words in line]
        assert len(found) == 1, "%d lines of %s have %r" % (len(found), self.source(name), words)
        return found[0]

    # sessions

    def adapter(self, *options, **more):
        more.setdefault("env", {"XDG_RUNTIME_DIR": self.run_dir})
        self.adapters.append(client.Adapter(self.store, *options, **more))
        return self.adapters[-1]

    def client(self, *options, **initialize):
        c = self.adapter(*options).connect()
        c.initialize(**initialize)
        return c

    def launch(self, name, stop="main", configure=None, **arguments):
        """A client that stands at the first stop of a recording."""
        c = self.client()
        c.recording = name
        c.open(dict({"recording": self.recording(name), "stopAt": stop}, **arguments), configure=configure)
        return c

    def at_break(self, name, words, **arguments):
        """The same at the first time that the line with these words is reached."""
        c = self.launch(name, **arguments)
        self.breaks(c, words)
        c.go("continue")
        return c

    def breaks(self, c, *places, **more):
        """Breakpoints at the lines with these words; each place: words, or (words, {condition and such})."""
        wanted = []
        for place in places:
            words, extra = (place, {}) if isinstance(place, str) else place
            wanted.append(dict({"line": self.line(c.recording, words)}, **extra))
        return c.set_breaks(self.source(c.recording), wanted, **more)

    # the end

    def finish(self):
        """Ends the sessions that still go on and checks that nothing is left."""
        problems = []
        for adapter in self.adapters:
            problems += self.end(adapter)
        reap()
        until = time.monotonic() + 10
        left = client.children(os.getpid())
        while left and time.monotonic() < until:
            time.sleep(0.02)
            reap()
            left = client.children(os.getpid())
        problems += ["left behind: %d %s" % (pid, client.command(pid)) for pid in left]
        for pid in left:
            os.kill(pid, 9)
        for name in os.listdir(self.run_dir):
            problems.append("left behind: %s" % os.path.join(self.run_dir, name))
        shutil.rmtree(self.run_dir, ignore_errors=True)
        return problems

    @staticmethod
    def end(adapter):
        problems, tolerant = [], getattr(adapter, "expect", None)
        try:
            for c in adapter.clients:
                told = "disconnect" in c.sent.values()  # then it ends by itself, at any moment
                if not told and not c.closed and adapter.process.poll() is None and tolerant is None:
                    c.disconnect()
                if c.broken:
                    problems.append(c.broken)
                if c.unanswered() and tolerant is None:
                    problems.append("no answer to " + ", ".join(c.unanswered()))
            if adapter.listens and adapter.process.poll() is None:
                adapter.process.terminate()
            status = adapter.wait()
            if status != 0 and tolerant is None:
                problems.append("hermit-dap ended with %d" % status)
        except (AssertionError, OSError) as e:
            problems.append(str(e))
            if adapter.process.poll() is None:
                adapter.process.kill()
        errors = adapter.errors()
        if re.search(r"AddressSanitizer|LeakSanitizer|runtime error:|assertion|must\(", errors):
            problems.append(errors[-3000:])
        return problems
