#!/usr/bin/env python3
"""Measures hermit-dap: what an editor's user waits for, and what of that is the adapter's own.

usage: tests/bench/dap.py [--stops 40] [--rows NAME,...]

Times are wall time in ms, medians of all stops, the greatest beside them. Each row is a program that is recorded first.
launch: from the request to the first stop (at main). screen: at a stop, threads, stackTrace (20 frames), scopes, and the variables of
arguments and locals, one request after the other, as editors do. step, back: the request to its stopped event. gdb: the same questions asked to a
gdb (MI) of our own at the same stops: -thread-info, -stack-info-depth, -stack-list-frames, -stack-list-variables. own: (screen - gdb) for each request.
read: readMemory of 256 bytes, and gdb's -data-read-memory-bytes. Memory: RSS of the adapter at the end, without gdb and the replay. BUILD_DIR as for tools/bench.
"""
import argparse
import json
import os
import queue
import shutil
import statistics
import subprocess
import sys
import tempfile
import threading
import time

sys.dont_write_bytecode = True
TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BUILD = os.path.abspath(os.environ.get("BUILD_DIR", os.path.join(TOP, "build")))
PROGRAMS = os.path.join(TOP, "tests", "dap", "programs")
LIMIT = 120


def rows(folder):
    def compiled(compiler, name, *flags):
        binary = os.path.join(folder, name.split(".")[0])
        subprocess.run([compiler, "-g", *flags, "-o", binary, os.path.join(PROGRAMS, name)], check=True)
        return [binary]
    yield "c", compiled("gcc", "steps.c", "-O0")
    yield "c++", compiled("g++", "containers.cc", "-O0")
    if shutil.which("rustc"):
        yield "rust", compiled("rustc", "shapes.rs")
    yield "python3", ["/usr/bin/python3", "-c", "print(sum(len(str(i)) for i in range(3000)))"]


class Adapter:
    """A client that checks nothing: that would be measured too."""

    def __init__(self, store):
        self.process = subprocess.Popen([BUILD + "/hermit-dap", "--data-dir", store], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.seq, self.messages = 0, queue.Queue()
        threading.Thread(target=self.read, daemon=True).start()

    def read(self):
        out = self.process.stdout
        while True:
            length = 0
            while (line := out.readline().strip()):
                length = int(line.split(b":")[1])
            if not length:
                return self.messages.put(None)
            self.messages.put(json.loads(out.read(length)))

    def request(self, command, arguments=None, event=None):
        """The body of the answer; with an event, waits for that instead."""
        self.seq += 1
        text = json.dumps({"seq": self.seq, "type": "request", "command": command, "arguments": arguments or {}}).encode()
        self.process.stdin.write(b"Content-Length: %d\r\n\r\n" % len(text) + text)
        self.process.stdin.flush()
        body = None
        while True:
            m = self.messages.get(timeout=LIMIT)
            if m is None:
                sys.exit("hermit-dap has ended")
            if m["type"] == "response" and m["request_seq"] == self.seq:
                if not m["success"]:
                    sys.exit("%s: %s" % (command, m["message"]))
                body = m.get("body", {})
                if not event:
                    return body
            elif m["type"] == "event" and m["event"] == event:
                return m.get("body", {})

    def rss(self):
        with open("/proc/%d/status" % self.process.pid, encoding="ascii") as f:
            return int([line for line in f if line.startswith("VmRSS")][0].split()[1]) / 1024


class Gdb:
    """gdb's machine interface on a server of its own."""

    def __init__(self, store, binary):
        self.folder = tempfile.mkdtemp(prefix="hermit-bench-dap-")
        where = self.folder + "/s"
        self.server = subprocess.Popen([BUILD + "/hermit", "replay", "--data-dir", store, "--gdbserver-socket", where], stdout=subprocess.PIPE,
                                       stderr=subprocess.DEVNULL)
        self.server.stdout.readline()
        self.process = subprocess.Popen(["gdb", "-q", "-nx", "--interpreter=mi3", "-iex", "set auto-load off"], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        for line in ("-gdb-set mi-async on", "-gdb-set sysroot target:", "-gdb-set debuginfod enabled off", "-gdb-set breakpoint always-inserted on",
                     "-enable-pretty-printing", "-target-select remote " + where):
            self.ask(line)

    def ask(self, line, until=b"^"):
        self.process.stdin.write(line.encode() + b"\n")
        self.process.stdin.flush()
        while True:
            answer = self.process.stdout.readline()
            if not answer or answer.startswith(b"^error"):
                sys.exit("gdb: %s: %s" % (line, answer.decode(errors="replace")))
            if answer.startswith(until):
                return answer.decode(errors="replace")

    def close(self):
        self.process.kill()
        self.server.terminate()
        self.process.wait()
        self.server.wait()
        shutil.rmtree(self.folder)


def took(f):
    began = time.monotonic()
    f()
    return 1000 * (time.monotonic() - began)


def show(times):
    return "%7.1f (%.1f)" % (statistics.median(times), max(times))


def screen(a):
    """What an editor asks at a stop; how many requests that is, and an address to read."""
    thread = a.request("threads")["threads"][0]["id"]
    top = a.request("stackTrace", {"threadId": thread, "levels": 20})["stackFrames"][0]
    scopes = a.request("scopes", {"frameId": top["id"]})["scopes"]
    wanted = [s for s in scopes if s.get("presentationHint") in ("arguments", "locals")]
    for scope in wanted:
        a.request("variables", {"variablesReference": scope["variablesReference"]})
    return 3 + len(wanted), top.get("instructionPointerReference")


def ask_gdb(g):
    g.ask("-thread-info")
    g.ask("-stack-info-depth 1000")
    g.ask("-stack-list-frames 0 19")
    g.ask("-stack-list-variables --thread 1 --frame 0 --all-values")


def walk_adapter(store, stops):
    a, t = Adapter(store), {"launch": [], "screen": [], "step": [], "back": [], "read": []}
    a.request("initialize", {"adapterID": "bench", "linesStartAt1": True})

    def launch():
        a.request("launch", {"recording": "", "stopAt": "main"}, event="initialized")
        a.request("configurationDone", event="stopped")
    t["launch"].append(took(launch))
    for command, times in (("next", t["step"]), ("stepBack", t["back"])):
        for _ in range(stops):
            times.append(took(lambda: a.request(command, {"threadId": 1}, event="stopped")))
            result = []
            t["screen"].append(took(lambda: result.extend(screen(a))))
            requests, pc = result
            t["read"].append(took(lambda: a.request("readMemory", {"memoryReference": pc, "count": 256})))
    rss = a.rss()
    a.request("disconnect")
    a.process.wait()
    return t, requests, rss


def walk_gdb(store, argv, stops):
    g, t = Gdb(store, argv[0]), {"screen": [], "step": [], "back": [], "read": []}
    try:
        answer = g.ask("-break-insert -t -f main")
        if "<PENDING>" in answer:
            g.ask("-break-delete")
        else:
            g.ask("-exec-continue", until=b"*stopped")
        for command, times in (("-exec-next", t["step"]), ("-exec-next --reverse", t["back"])):
            for _ in range(stops):
                times.append(took(lambda: g.ask(command, until=b"*stopped")))
                t["screen"].append(took(lambda: ask_gdb(g)))
                t["read"].append(took(lambda: g.ask("-data-read-memory-bytes $pc 256")))
    finally:
        g.close()
    return t


def measure(name, argv, stops):
    store = tempfile.mkdtemp(prefix="hermit-bench-dap-store-")
    try:
        subprocess.run([BUILD + "/hermit", "record", "start", "-q", "--data-dir", store, "--", *argv], stdout=subprocess.DEVNULL, check=False)
        ours, requests, rss = walk_adapter(store, stops)
        gdbs = walk_gdb(store, argv, stops)
    finally:
        shutil.rmtree(store)
    own = (statistics.median(ours["screen"]) - statistics.median(gdbs["screen"])) / requests
    print("%-8s launch %s" % (name, show(ours["launch"])))
    for what in ("screen", "step", "back", "read"):
        print("%-8s %-6s %s   gdb %s" % (name, what, show(ours[what]), show(gdbs[what])))
    print("%-8s own, each request %.2f ms   memory %.1f MiB" % (name, own, rss), flush=True)


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--stops", type=int, default=40)
    p.add_argument("--rows", default="")
    options = p.parse_args()
    wanted = [w for w in options.rows.split(",") if w]
    with tempfile.TemporaryDirectory(prefix="hermit-bench-dap-") as folder:
        for name, argv in rows(folder):
            if not wanted or name in wanted:
                measure(name, argv, options.stops)


if __name__ == "__main__":
    main()
