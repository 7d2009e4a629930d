#!/usr/bin/env python3
"""Measures debugging sessions: how long a client waits, as ratios to a plain replay of the same recording in the same run.

usage: tests/bench/debug.py [--seconds 10] [--runs 3] [--json FILE] [KIND...]

A recording of each kind of program (debug_work.c: single, threads, calls, memory) is replayed plainly and debugged over gdb's
protocol, in turns. Times are CPU time of the server with all guests, in brackets wall time: a machine that others use
too makes only the second one longer. Each figure is a median; `worst` rows are the greatest of all. A row ends in its bar and,
when it is missed, in MISSED. BUILD_DIR as for tools/bench.
"""
import argparse
import json
import os
import statistics
import subprocess
import sys
import time

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(HERE), "debug"))
import rsp  # noqa: E402
from guests import build_guest  # noqa: E402

KINDS = ("single", "threads", "calls", "memory")
LONG = 3600
STEPS = 12
TICK = os.sysconf("SC_CLK_TCK")

# (row, kinds, unit, bar): x = ratio to a plain replay, s = seconds
BARS = [
    ("first stop", KINDS, "s", 0.5),
    ("goto end", KINDS, "x", 1.3),
    ("seek to an event", ("threads", "calls"), "x", 0.2),
    ("seek to an event, worst", ("threads", "calls"), "x", 0.2),
    ("seek into computation", ("single", "threads", "calls"), "x", 0.2),
    ("seek into computation, worst", ("single", "threads", "calls"), "x", 0.2),
    ("reverse-continue to a breakpoint long ago", ("single", "threads", "calls"), "x", 2.5),
    ("reverse-continue to the beginning", ("single", "threads", "calls"), "x", 2.5),
    ("watchpoint backwards", ("single", "threads", "calls"), "x", 10),
    ("reverse-stepi", ("single", "threads", "calls"), "s", 0.1),
    ("reverse-stepi, worst", ("single", "threads", "calls"), "s", 1),
    ("reverse-next", ("single", "threads", "calls"), "s", 0.1),
    ("reverse-next, worst", ("single", "threads", "calls"), "s", 1),
]


def cpu_of(pid):
    """Seconds, with those of its dead children."""
    try:
        with open("/proc/%d/stat" % pid, encoding="utf-8", errors="replace") as f:
            fields = f.read().rpartition(")")[2].split()
    except OSError:
        return 0
    return sum(int(n) for n in fields[11:15]) / TICK


class Clock:
    """Both times of a piece of work below a process, in seconds."""

    def __init__(self, pid):
        self.pid, self.cpu, self.wall = pid, 0, 0

    def used(self):
        return cpu_of(self.pid) + sum(cpu_of(p) for p in rsp.children(self.pid))

    def __enter__(self):
        self.cpu, self.wall = -self.used(), -time.monotonic()
        return self

    def __exit__(self, *_):
        self.cpu, self.wall = self.cpu + self.used(), self.wall + time.monotonic()


class Session:
    """A server with its client, which measures what it does."""

    def __init__(self, hermit, ident, program, times):
        self.times, self.names = times, symbols(program)
        self.server = hermit.serve(ident)
        self.clock = Clock(self.server.process.pid)

    def note(self, row, clock):
        self.times.setdefault(row, []).append((clock.cpu, clock.wall))

    def measured(self, row, act, *args):
        with Clock(self.clock.pid) as clock:
            found = act(*args)
        self.note(row, clock)
        return found

    def connect(self, began):
        self.client = self.server.connect(timeout=LONG)
        self.times.setdefault("first stop", []).append((self.clock.used(), time.monotonic() - began))

    def run(self, packet):
        """A stop; signals are passed over."""
        while True:
            stop = self.client.run(packet, LONG)
            if not stop.reason().startswith("signal"):
                return stop

    def goto(self, position):
        self.client.hermit("goto " + position, LONG)

    def where(self):
        return self.client.hermit("where", LONG)

    def places(self, n):
        """Positions in the middle of computation, all over the recording."""
        found = []
        self.client.insert(rsp.BREAK, self.names["mark"])
        self.goto("start")
        for i in range(20):
            if self.run("vCont;c").reason() != "break":
                raise rsp.RspError("there are only %d marks" % i)
            if i % (20 // n) == 0:
                found.append(self.where()["position"])
        self.client.remove(rsp.BREAK, self.names["mark"])
        return found

    def must(self, row, packet, reason):
        stop = self.measured(row, self.run, packet)
        if stop.reason() != reason:
            raise rsp.RspError("%s: stopped with %r, not with %s" % (row, stop, reason))

    def seeks(self, row, positions):
        for position in positions:
            self.measured(row, self.goto, position)

    def steps(self, where):
        """Backwards from a place: instructions, and lines, calls in one go, as gdb does it."""
        for position in where:
            self.goto(position)
            for _ in range(STEPS):
                self.measured("reverse-stepi", self.client.reverse_step)
            for _ in range(STEPS // 3):
                self.measured("reverse-next", self.reverse_next)

    def reverse_next(self):
        """Over one instruction; from the end of a callee to where it was called."""
        sp = self.client.regs()["rsp"]
        self.client.reverse_step()
        regs = self.client.regs()
        entry = max((a for n, a in self.names.items() if a <= regs["rip"]), default=0)
        if regs["rsp"] < sp and entry in (self.names["mix"], self.names["mark"], self.names["early"]) and regs["rip"] != entry:
            self.client.insert(rsp.BREAK, entry)
            self.run("bc")
            self.client.remove(rsp.BREAK, entry)
            self.client.reverse_step()


def symbols(path):
    out = subprocess.run(["nm", path], capture_output=True, text=True, check=True).stdout
    return {f[2]: int(f[0], 16) for f in map(str.split, out.splitlines()) if len(f) == 3 and f[1] in "tTbBdD"}


def build():
    return build_guest("debug_work", "-O2 -no-pie", folder=HERE)


def units_for(program, seconds):
    """So many take that long natively."""
    used = os.times()
    subprocess.run([program, "single", "400"], check=True, stdout=subprocess.DEVNULL)
    spent = os.times().children_user - used.children_user
    return max(100, int(400 * seconds / max(spent, 0.01)))


def plain(hermit, ident):
    argv = [rsp.HERMIT, "replay", "--autopilot", ident]
    wall, before = time.monotonic(), os.times()
    subprocess.run(argv, env=hermit.env, check=True, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    after = os.times()
    return after.children_user + after.children_system - before.children_user - before.children_system, time.monotonic() - wall


def session(hermit, ident, program, kind, times):
    began = time.monotonic()
    s = Session(hermit, ident, program, times)
    s.connect(began)
    s.measured("goto end", s.goto, "end")
    if kind == "memory":
        return
    s.client.insert(rsp.BREAK, s.names["early"])
    s.must("reverse-continue to a breakpoint long ago", "bc", "break")
    s.client.remove(rsp.BREAK, s.names["early"])
    s.goto("end")
    s.client.insert(rsp.BREAK, s.names["never"])
    s.must("reverse-continue to the beginning", "bc", "begin")
    s.client.remove(rsp.BREAK, s.names["never"])
    s.goto("end")
    s.client.insert(rsp.WATCH, s.names["watched"], 8)
    s.must("watchpoint backwards", "bc", "watch")
    s.client.remove(rsp.WATCH, s.names["watched"], 8)
    s.goto("end")
    last = s.where()["events"]
    if kind != "single":
        s.seeks("seek to an event", [str(max(200, int(last * part))) for part in (0.95, 0.1, 0.5, 0.8, 0.3)])
    places = s.places(5)
    s.goto("end")
    s.seeks("seek into computation", [places[i] for i in (3, 0, 4, 1, 2)])
    s.steps([places[i] for i in (4, 1, 2)])


def rows_of(kind, times):
    """[(row, cpu, wall, ratio or None, bar, unit)]"""
    base = statistics.median(t[0] for t in times["plain"])
    found = []
    for row, kinds, unit, bar in BARS:
        all_times = times.get(row.removesuffix(", worst"))
        if kind not in kinds or not all_times:
            continue
        of = max if row.endswith("worst") else statistics.median
        cpu, wall = of(t[0] for t in all_times), of(t[1] for t in all_times)
        found.append((row, cpu, wall, cpu / base if unit == "x" else None, bar, unit))
    return found


def show(kind, times):
    base = [statistics.median(t[i] for t in times["plain"]) for i in (0, 1)]
    print("%s: plain replay %.2f s (%.2f s)" % (kind, base[0], base[1]))
    for row, cpu, wall, ratio, bar, unit in rows_of(kind, times):
        value = cpu if ratio is None else ratio
        print("  %-44s %8.3f s (%8.3f s) %8s  bar %g%s%s" % (
            row, cpu, wall, "" if ratio is None else "%.2fx" % ratio, bar, unit, "  MISSED" if value > bar else ""), flush=True)


def main():
    p = argparse.ArgumentParser(prog="tests/bench/debug.py", description="Measures debugging sessions.")
    p.add_argument("kinds", nargs="*", metavar="KIND", help=", ".join(KINDS))
    p.add_argument("--seconds", type=float, default=10, metavar="S", help="of computation in each recording (10)")
    p.add_argument("--runs", type=int, default=3, metavar="N")
    p.add_argument("--json", metavar="FILE", help="write all times there")
    args = p.parse_args()
    if set(args.kinds) - set(KINDS) or args.runs < 1:
        p.error("kinds are %s" % ", ".join(KINDS))
    program, results = build(), {}
    units = units_for(program, args.seconds)
    print("load %.1f, CPU time (wall time)" % os.getloadavg()[0])
    with rsp.Hermit() as hermit:
        for kind in args.kinds or KINDS:
            ident = hermit.record([program, kind, str(100 if kind == "memory" else units)], timeout=LONG)
            times = results[kind] = {"plain": []}
            for _ in range(args.runs):
                times["plain"].append(plain(hermit, ident))
                session(hermit, ident, program, kind, times)
                hermit.servers.pop().kill()
            show(kind, times)
    if args.json:
        with open(args.json, "w", encoding="utf-8") as f:
            json.dump({"seconds": args.seconds, "runs": args.runs, "kinds": results}, f, indent=2)
            f.write("\n")


main()
