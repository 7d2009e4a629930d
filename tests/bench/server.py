#!/usr/bin/env python3
"""Measures hermitd under load: 200 clients and 100 listeners over a store of 2000 short and two long recordings, while four programs are recorded and others misbehave.

usage: tests/bench/server.py [--seconds 20] [--closed 3] [--clients 200] [--listeners 100] [--think 1000] [--store DIR] [--quick]

The store is made by make_recordings (kept in --store DIR when there is one): 2000 short recordings, one of 10^6 events as it was written, the same sealed. Recorded are a loop that
computes, one that makes some 2000 calls a second, a server that sleeps, and a Python program. Each client has one connection, asks for something by WEIGHTS, and thinks for
--think ms on average (exponentially distributed) after the answer. Event pages begin at places by chance: nearly none has been asked for before. Beside them (NUISANCES):
connections that never send a whole head, or a byte of it each second; bodies that never end; readers of a long download that take 1 KiB each second; uploads that are aborted. Then,
without think time and without those, single kinds: how much the server can do (--closed seconds each; 0: none).

Prints for each kind requests, errors, milliseconds; for the server its processor time and memory at the highest. Rows end in MISSED where a bar of issue 5 is missed. The driver
(http_load.c) and the recorded programs share the machine with the server; what else runs there shows in the load average. --quick: 200 recordings, 3 s. BUILD_DIR as for tools/bench.
"""
import argparse
import fcntl
import json
import os
import random
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import time

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(HERE), "web"))
import api_test  # noqa: E402

EVENTS = 1000000
MIB = 1 << 20
TICK = os.sysconf("SC_CLK_TCK")
WEIGHTS = {"list": 20, "search": 10, "events": 20, "events-raw": 10, "filtered": 10, "event": 8, "timeline": 4, "summary": 4, "recording": 8, "processes": 3, "live": 3}
BARS_P99_MS = {"list": 100, "search": 100, "events": 50, "events-raw": 50, "filtered": 50}
BAR_MEMORY = 256 * MIB
CLOSED = ("list", "search", "events", "events-raw", "filtered", "recording")
FILTERS = ("syscall:openat", "failed:", "errno:ENOENT", "thread:3", "class:net", "kind:signal", "fd:3", "syscall:read,write", "path:/etc/*", "dur:>1ms")
NUISANCES = 5 # of each kind
PROGRAMS = {
    "compute": ["/usr/bin/python3", "-c", "x = 1\nwhile True: x = x * 3 % 1000003"],
    "calls": ["/usr/bin/python3", "-c", "import os, time\nwhile True:\n    for i in range(100): os.getppid()\n    time.sleep(0.05)"],
    "server": ["/usr/bin/python3", "-c", "import socket\ns = socket.socket(); s.bind(('127.0.0.1', 0)); s.listen(); s.accept()"],
    "python": ["/usr/bin/python3", "-c", "import time, json, random\nwhile True:\n    json.dumps([random.random() for i in range(1000)]); open('/etc/passwd').read(); print('x'); time.sleep(0.1)"],
}


# --- the store ---

def make(store, kind, count):
    out = subprocess.run([os.path.join(api_test.BUILD, "tests/tools/make_recordings"), store, kind, str(count)], check=True, capture_output=True, text=True)
    return out.stdout.split()[-1]


def make_store(store, short):
    """(id of the raw one, id of the sealed one)"""
    known = os.path.join(store, "bench.json")
    if os.path.exists(known):
        with open(known, encoding="ascii") as f:
            return json.load(f)
    os.makedirs(store, mode=0o700, exist_ok=True)
    make(store, "small", short)
    ids = [make(store, "big", EVENTS), make(store, "big", EVENTS)]
    subprocess.run([api_test.HERMIT, "record", "seal", "--quiet", "--data-dir", store, ids[1]], check=True)
    with open(known, "w", encoding="ascii") as f:
        json.dump(ids, f)
    return ids


# --- what is asked for ---

def plan(path, raw, sealed, short, live, kinds=WEIGHTS):
    rng = random.Random(5)
    api = "/api/v1/recordings"
    page = lambda: "offset=%d&limit=100" % rng.randrange(EVENTS - 100)
    some = lambda v: v[rng.randrange(len(v))]
    makers = {
        "list": lambda: api + some(("", "?sort=duration&order=desc", "?sort=events", "?sort=label", "?state=complete", "?exit=failed", "?limit=50")),
        "search": lambda: api + "?q=" + some(("make", "server", "python", "gcc", "test", "a", "big", "worker%20x")),
        "events": lambda: "%s/%s/events?%s" % (api, sealed, page()),
        "events-raw": lambda: "%s/%s/events?%s" % (api, raw, page()),
        "filtered": lambda: "%s/%s/events?q=%s&offset=%d&limit=100" % (api, some((raw, sealed)), some(FILTERS), rng.randrange(2000)),
        "event": lambda: "%s/%s/events/%d" % (api, some((raw, sealed)), 1 + rng.randrange(EVENTS)),
        "timeline": lambda: "%s/%s/timeline?from_ns=%d" % (api, sealed, rng.randrange(10**9)),
        "summary": lambda: "%s/%s/summary" % (api, some(short)),
        "recording": lambda: "%s/%s" % (api, some(short)),
        "processes": lambda: "%s/%s/processes" % (api, some(short + [raw, sealed])),
        "live": lambda: "%s/%s/events?limit=100" % (api, some(live)),
    }
    with open(path, "w", encoding="ascii") as f:
        for kind in kinds:
            for _ in range(4000):
                f.write("%s %d %s\n" % (kind, WEIGHTS[kind], makers[kind]()))
        f.write("stream 1 /api/v1/stream\n")
        for id in live:
            f.write("stream 1 %s/%s/stream\n" % (api, id))


# --- the server from outside ---

def status_of(pid):
    with open("/proc/%d/status" % pid, encoding="ascii") as f:
        fields = dict(line.split(":", 1) for line in f)
    got = {name: int(fields[name].split()[0]) * 1024 for name in ("VmRSS", "RssAnon", "RssFile")}
    return dict(got, threads=int(fields["Threads"]), fds=len(os.listdir("/proc/%d/fd" % pid)))


def cpu_of(pid):
    with open("/proc/%d/stat" % pid, encoding="ascii", errors="replace") as f:
        return sum(int(n) for n in f.read().rpartition(")")[2].split()[11:13]) / TICK


class Watch(threading.Thread):
    """The highest of what status_of() tells."""

    def __init__(self, pid):
        super().__init__(daemon=True)
        self.pid, self.peak, self.stop = pid, {}, threading.Event()
        self.start()

    def run(self):
        while not self.stop.wait(0.2):
            for name, value in status_of(self.pid).items():
                self.peak[name] = max(value, self.peak.get(name, 0))


# --- those who misbehave ---

class Nuisances:
    def __init__(self, server, sealed):
        self.server, self.stop, self.count = server, threading.Event(), {}
        auth = "Host: %s\r\nAuthorization: Bearer %s\r\n" % (server.host, server.token)
        post = "POST /api/v1/recordings/import HTTP/1.1\r\n" + auth + "Content-Type: application/x-tar\r\nContent-Length: 50000000\r\n\r\n"
        export = "GET /api/v1/recordings/%s/events HTTP/1.1\r\n%sAccept: application/x-ndjson\r\n\r\n" % (sealed, auth)
        kinds = {
            "half-open": lambda s: s.sendall(b"GET /api"),
            "slow-head": lambda s: self.drip(s, "GET / HTTP/1.1\r\nX-Long: "),
            "slow-body": lambda s: self.drip(s, post),
            "slow-reader": lambda s: s.sendall(export.encode()),
            "aborted": lambda s: self.abort(s, post),
        }
        self.threads = [threading.Thread(target=self.go_on, args=(kind, act), daemon=True) for kind, act in kinds.items() for _ in range(NUISANCES)]
        for t in self.threads:
            t.start()

    def drip(self, s, head):
        s.sendall(head.encode())
        while not self.stop.wait(1):
            s.sendall(b"x")

    def abort(self, s, head):
        s.sendall(head.encode() + b"\0" * 1000000)
        s.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
        s.close()
        self.stop.wait(0.2)

    def go_on(self, kind, act):
        while not self.stop.is_set():
            self.count[kind] = self.count.get(kind, 0) + 1
            try:
                with self.server.connect() as s:
                    s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
                    act(s)
                    while kind != "aborted" and not self.stop.wait(1) and s.recv(1024):
                        pass
            except OSError:
                pass # cut by the server

    def end(self):
        self.stop.set()
        for t in self.threads:
            t.join(25)


# --- phases ---

def drive(driver, server, plan_file, clients, listeners, seconds, think):
    """({kind: [count, errors, p50, p99, max, bytes]}, driver's CPU seconds, lateness in ms, server's CPU seconds)"""
    before = cpu_of(server.process.pid)
    out = subprocess.run([driver, server.host, plan_file, str(clients), str(listeners), str(seconds), str(think), "Authorization: Bearer " + server.token], stdout=subprocess.PIPE, text=True)
    rows = [line.split() for line in out.stdout.splitlines()]
    used = cpu_of(server.process.pid) - before
    kinds = {r[0]: [int(n) for n in r[1:]] for r in rows if r[0] != "driver"}
    return kinds, int(rows[-1][2]) / 1e6, int(rows[-1][4]) / 1e3, used


def show(kind, row, seconds):
    count, errors, p50, p99, most, size = row
    missed = errors or (seconds and p99 / 1e3 > BARS_P99_MS.get(kind, 1e9))
    print("%-12s %7d %6d %8.1f %8.1f %8.1f %8.1f%s" % (kind, count, errors, p50 / 1e3, p99 / 1e3, most / 1e3, size / max(count, 1) / 1024, "  MISSED" if missed else ""))
    return not missed


def show_memory(pid, what, got):
    print("%s: RSS %.0f MiB (own %.0f, files %.0f), %d threads, %d descriptors%s" % (
        what, got["VmRSS"] / MIB, got["RssAnon"] / MIB, got["RssFile"] / MIB, got["threads"], got["fds"], "  MISSED" if got["VmRSS"] > BAR_MEMORY else ""))
    return got["VmRSS"] <= BAR_MEMORY


HEAD = "%-12s %7s %6s %8s %8s %8s %8s" % ("", "count", "errors", "p50 ms", "p99 ms", "max ms", "KiB each")


def mixed(o, server, driver, top, ids, live):
    short = [r["id"] for r in api_test.Context(server).get("/api/v1/recordings", limit=1000).json["items"] if r["events"] < 10000 and not r["live"] and not r["error"]]
    plan_file = os.path.join(top, "plan")
    plan(plan_file, *ids, short, live)
    drive(driver, server, plan_file, o.clients, 0, 2, o.think) # indexes are made, files are in memory
    nuisances, watch = Nuisances(server, ids[1]), Watch(server.process.pid)
    kinds, driver_s, late, used = drive(driver, server, plan_file, o.clients, o.listeners, o.seconds, o.think)
    nuisances.end()
    watch.stop.set()
    print("\n%d clients, think time %d ms, %d listeners, %d s; 4 recordings; nuisances: %s" % (o.clients, o.think, o.listeners, o.seconds, nuisances.count))
    print(HEAD)
    good = all([show(kind, row, o.seconds) for kind, row in kinds.items()])
    answered = sum(r[0] for r in kinds.values())
    print("%.0f requests/s; server %.0f %% of a processor, %.2f ms a request; driver %.0f %%, late by %.1f ms (p99)" % (
        answered / o.seconds, 100 * used / o.seconds, 1000 * used / max(answered, 1), 100 * driver_s / o.seconds, late))
    return show_memory(server.process.pid, "highest", watch.peak) and good, short


def closed(o, server, driver, top, ids, short, live):
    print("\n%d clients without think time, %d s each" % (o.clients, o.closed))
    print(HEAD + " %8s %8s" % ("req/s", "cpu ms"))
    for kind in CLOSED:
        time.sleep(1) # what others have been asking for is answered
        plan_file = os.path.join(top, "plan-" + kind)
        plan(plan_file, *ids, short, live, (kind,))
        kinds, _, _, used = drive(driver, server, plan_file, o.clients, 0, o.closed, 0)
        count, errors, p50, p99, most, size = kinds[kind]
        print("%-12s %7d %6d %8.1f %8.1f %8.1f %8.1f %8.0f %8.2f" % (
            kind, count, errors, p50 / 1e3, p99 / 1e3, most / 1e3, size / max(count, 1) / 1024, count / o.closed, 1000 * used / max(count, 1)))


def run(o, top):
    driver, store = os.path.join(top, "http_load"), o.store or os.path.join(top, "store")
    subprocess.run(["cc", "-O2", "-D_GNU_SOURCE", "-o", driver, os.path.join(HERE, "http_load.c"), "-lm"], check=True)
    print("load average %s" % os.getloadavg()[0])
    ids = make_store(store, 200 if o.quick else 2000)
    with open(os.path.join(store, ids[0], "lock"), "rb") as held:
        fcntl.flock(held, fcntl.LOCK_SH) # so that it stays as it is
        server = api_test.Server(store, settings=["max_connections = 1024"])
        try:
            rest = status_of(server.process.pid)
            t = api_test.Context(server)
            live = []
            for argv in PROGRAMS.values():
                r = t.post("/api/v1/recordings", {"argv": argv})
                assert r.status == 201, r.body
                live.append(r.json["id"])
            time.sleep(1)
            good, short = mixed(o, server, driver, top, ids, live)
            if o.closed:
                closed(o, server, driver, top, ids, short, live)
            for id in live:
                t.post("/api/v1/recordings/%s/stop" % id, {"mode": "kill"})
            time.sleep(0 if o.quick else 12) # freed memory is given back every ten seconds
            print()
            show_memory(server.process.pid, "at the beginning", rest)
            show_memory(server.process.pid, "at the end", status_of(server.process.pid))
            for id in live:
                t.delete("/api/v1/recordings/" + id)
        finally:
            status = server.stop()
    print("load average %s" % os.getloadavg()[0])
    return good and status == 0


def main():
    p = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    for name, default in (("seconds", 20), ("closed", 3), ("clients", 200), ("listeners", 100), ("think", 1000)):
        p.add_argument("--" + name, type=int, default=default)
    p.add_argument("--store")
    p.add_argument("--quick", action="store_true")
    o = p.parse_args()
    if o.quick:
        o.seconds, o.closed = 3, 1
    top = tempfile.mkdtemp(prefix="hermit-bench-")
    try:
        return 0 if run(o, top) else 1
    finally:
        shutil.rmtree(top)


if __name__ == "__main__":
    sys.exit(main())
