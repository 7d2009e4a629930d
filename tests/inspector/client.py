"""A client of the inspector for tests: recordings, `hermit session inspect`, and gdb's idea of the same stack."""
import functools
import json
import os
import re
import shutil
import socket
import subprocess
import tempfile

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BUILD = os.path.abspath(os.environ.get("BUILD_DIR", os.path.join(TOP, "build")))
HERMIT = os.path.abspath(os.environ.get("HERMIT", os.path.join(BUILD, "hermit")))
TIMEOUT = 120

GDB_SCRIPT = """
import gdb
frame = gdb.newest_frame()
while frame is not None:
    if frame.type() in (gdb.NORMAL_FRAME, gdb.SIGTRAMP_FRAME):
        gdb.write("FRAME %#x\\n" % frame.pc())
    try:
        frame = frame.older()
    except gdb.error:
        break
gdb.write("FRAMES DONE\\n")
"""


class Refused(Exception):
    def __init__(self, error):
        super().__init__(error["text"])
        self.name, self.text = error["name"], error["text"]


class Inspector:
    """One child; ask() is a request and its result."""

    def __init__(self, recording, *options):
        ours, theirs = socket.socketpair()
        self.process = subprocess.Popen([HERMIT, "session", "inspect", "--fd", str(theirs.fileno()), "--data-dir", recording.dir, *options,
                                         recording.id], pass_fds=[theirs.fileno()], stdin=subprocess.DEVNULL,
                                        stderr=None if os.environ.get("INSPECTOR_STDERR") else subprocess.DEVNULL)
        theirs.close()
        ours.settimeout(TIMEOUT)
        self.socket, self.data, self.id, self.progress = ours, b"", 0, []

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        self.socket.close()
        try:
            return self.process.wait(timeout=TIMEOUT)
        except subprocess.TimeoutExpired:
            self.process.kill()
            raise

    def send(self, line):
        self.socket.sendall(line + b"\n")

    def receive(self):
        """The next line, parsed; None at the end."""
        while b"\n" not in self.data:
            try:
                more = self.socket.recv(1 << 16)
            except ConnectionResetError:
                more = b""
            if not more:
                return None
            self.data += more
        line, self.data = self.data.split(b"\n", 1)
        return json.loads(line)

    def answer(self, number):
        while True:
            line = self.receive()
            if line is None:
                raise EOFError("the inspector has ended")
            if line["id"] != number:
                raise AssertionError("an answer to %r, not to %d" % (line["id"], number))
            if "progress" in line:
                self.progress.append(line["progress"])
                continue
            if "error" in line:
                raise Refused(line["error"])
            return line["result"]

    def post(self, op, **members):
        self.id += 1
        self.send(json.dumps({"id": self.id, "op": op, **members}).encode())
        return self.id

    def ask(self, op, **members):
        return self.answer(self.post(op, **members))


class Recording:
    """What a program did, in a store of its own."""

    def __init__(self, argv, *options, cwd=None, env=None):
        self.dir = tempfile.mkdtemp(prefix="hermit-inspect-")
        run = subprocess.run([HERMIT, "record", "start", "-q", "--no-seal", "--data-dir", self.dir, *options, "--", *argv], cwd=cwd, env=env,
                             stdout=subprocess.PIPE, stderr=subprocess.PIPE, stdin=subprocess.DEVNULL, timeout=TIMEOUT)
        self.status, self.output = run.returncode, run.stdout
        with open(os.path.join(self.dir, "last")) as f:
            self.id = f.read().strip()

    @functools.cached_property
    def events(self):
        lines = self.run("events", "--json", self.id).stdout.decode().splitlines()
        return [dict(e, number=int(e["number"])) for e in map(json.loads, lines)]

    def run(self, *args, check=True):
        words = [HERMIT, *args[:1], "--data-dir", self.dir, *args[1:]]
        return subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, stdin=subprocess.DEVNULL, timeout=TIMEOUT, check=check)

    def find(self, test, nth=0):
        """Number of the nth event that the test is true for."""
        return [e["number"] for e in self.events if test(e)][nth]

    def gdb(self, event, pid=None):
        """The program counters of gdb's frames where the event is about to happen."""
        with tempfile.NamedTemporaryFile("w", suffix=".py") as script:
            script.write(GDB_SCRIPT)
            script.flush()
            args = ["-p", str(pid)] if pid else []
            run = self.run("replay", *args, "-g", "%d!" % (event - 1), "--gdbex", "set backtrace past-main on", "--gdbex",
                           "set backtrace past-entry on", "--gdbex", "set debuginfod enabled off", "--gdbex", "source " + script.name, "--gdbex",
                           "quit", self.id, check=False)
        out = run.stdout.decode(errors="replace")
        if "FRAMES DONE" not in out:
            raise AssertionError("gdb failed:\n%s%s" % (out, run.stderr.decode(errors="replace")))
        return [int(x, 16) for x in re.findall(r"^FRAME (0x[0-9a-f]+)", out, re.M)]

    def remove(self):
        shutil.rmtree(self.dir, ignore_errors=True)


def pcs(stack):
    """Of the frames that are on the stack, without inlined ones."""
    return [int(f["pc"], 16) for f in stack["frames"] if not f["inlined"]]


def functions(stack):
    return [f["function"] for f in stack["frames"]]
