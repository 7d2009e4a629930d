#!/usr/bin/env python3
"""Breakpoints with conditions that the guest evaluates by itself must stop where those stop that the server evaluates.

usage: tests/debug/conditions.py [--visits 2000] [--only NAME] [-v]

The guest debug_conditions is recorded. For each condition it is run from the beginning to the end, once with the condition alone, so
that a jump to its code may stand in the guest, and once together with another one that is always false: then the server evaluates both, at
an int3. The stops must be the same ones, with the same registers and memory; the last of them must come backwards too, in both ways.
Then the guest debug_count is interrupted while a condition is false all the time.
"""
import argparse
import re
import struct
import sys
import time

sys.dont_write_bytecode = True
import rsp  # noqa: E402
from guests import build_guest  # noqa: E402
from random_walk import symbols  # noqa: E402

RSI, RDI = 4, 5
FALSE = bytes((0x22, 0, 0x27))
STOPS_MAX = 400
BACK = 6
CALLS = 80000000


class Wrong(Exception):
    """The stops differ; the text says where."""


def reg(n):
    return struct.pack(">BH", 0x26, n)


def const(n):
    return struct.pack(">BQ", 0x25, n)


ADD, REM, LSH, AND, EQUAL, LESS, REF8, REF32, REF64, END = (bytes((n,)) for n in (0x02, 0x08, 0x09, 0x0F, 0x13, 0x15, 0x17, 0x19, 0x1A, 0x27))


def conditions(names, visits):
    """{name: (bytecode, is it ever true)}"""
    return {
        "one": (reg(RSI) + const(visits * 7 + 5) + EQUAL + END, True),
        "some": (reg(RSI) + const(97) + REM + const(5) + EQUAL + END, True),
        "never": (reg(RSI) + const(1 << 40) + EQUAL + END, False),
        "memory": (const(names["total"]) + REF64 + const(211) + REM + const(3) + EQUAL + END, True),
        # an item that is no address: an error, which counts as true
        "fault": (reg(RDI) + const(8) + ADD + REF32 + const(77) + EQUAL + END, True),
        # counts beyond 63 shift everything out
        "shift": (const(1) + reg(RSI) + const(100) + REM + LSH + const(1 << 36) + AND + reg(RSI) + const(40) + LESS + AND + END, False),
        "code": (const(names["visit"]) + REF8 + const(0xCC) + EQUAL + END, False),
        "threads": (reg(RSI) + const(2000000 + visits // 2) + EQUAL + END, True),
        "handler": (const(1000000) + reg(RSI) + LESS + reg(RSI) + const(1000100) + LESS + AND + END, True),
    }


def insert(client, address, code, alone):
    client.ok("Z0,%x,1;X%x,%s%s" % (address, len(code), code.hex(), "" if alone else "X%x,%s" % (len(FALSE), FALSE.hex())))


def look(client, names):
    """What tells a stop from others."""
    regs = client.regs()
    return client.current(), regs["rip"], regs["rsi"], regs["rdi"], regs["rsp"], regs["eflags"], client.read_number(names["total"])


def run(client, backwards):
    while True:
        stop = client.reverse_cont(timeout=120) if backwards else client.cont(timeout=120)
        if not stop.reason().startswith("signal"):
            return stop


def stops(client, names, backwards, most):
    found = []
    while len(found) < most:
        if not backwards and client.pc() == names["visit"]:
            client.step(client.current())  # as debuggers do; it meets no breakpoint
        reason = run(client, backwards).reason()
        if reason in ("begin", "end", "exit"):
            return found
        if reason != "break":
            raise Wrong("a run stops with %s" % reason)
        found.append(look(client, names))
    return found


def compare(name, what, mine, other):
    if mine == other:
        return
    at = next((i for i, (a, b) in enumerate(zip(mine, other)) if a != b), min(len(mine), len(other)))
    raise Wrong("%s: %s: %d stops of the guest, %d of the server; number %d is %s and %s" % (
        name, what, len(mine), len(other), at, mine[at:at + 1], other[at:at + 1]))


def check(client, names, name, code, is_true, say):
    began, ways, ends = time.monotonic(), {}, []
    for alone in (True, False):
        client.monitor("hermit goto start")
        insert(client, names["visit"], code, alone)
        started = time.monotonic()
        ways[alone] = stops(client, names, False, STOPS_MAX)
        ends.append(client.where())
        middle = time.monotonic()
        ways[alone, "back"] = stops(client, names, True, BACK)
        client.remove(rsp.BREAK, names["visit"])
        say("%s: %s: %d stops, %.2f s; %d backwards, %.2f s" % (name, "guest" if alone else "server", len(ways[alone]), middle - started,
                                                               len(ways[alone, "back"]), time.monotonic() - middle))
    compare(name, "forwards", ways[True], ways[False])
    compare(name, "backwards", ways[True, "back"], ways[False, "back"])
    if ends[0] != ends[1]:
        raise Wrong("%s: the guest's runs end at %s, the server's at %s" % (name, *ends))
    there = ways[True] if len(ways[True]) < STOPS_MAX else ways[True][:-1]
    compare(name, "back again", ways[True, "back"], there[::-1][:BACK])
    if bool(ways[True]) != is_true:
        raise Wrong("%s: %d stops" % (name, len(ways[True])))
    say("%s: %.1f s" % (name, time.monotonic() - began))


def interrupts(hermit, say):
    """Stopped anywhere, most often in a trampoline, the thread stands in its own code, and goes on as if nothing had been."""
    program = build_guest("debug_count", "-O2")
    server = hermit.serve(hermit.record([program, str(CALLS)]))
    low, stopped = (1 << 40), 0
    with server.connect(timeout=120) as client:
        start, _, _, _ = next(m for m in client.maps(rsp.pid_of(client.threads()[0])) if m[3] == program)
        tick = symbols(program)["tick"] + start
        condition = reg(RDI) + const(CALLS - 10) + EQUAL + END
        insert(client, tick, condition, True)
        for wait in (0.06, 0.02, 0.1, 0.03, 0.05, 0.04):
            client.send("vCont;c")
            time.sleep(wait)
            client.interrupt()
            if client.wait(120).reason() == "break":
                break
            stopped += 1
            regs = client.regs()
            if not start <= regs["rip"] < start + 0x10000:
                raise Wrong("interrupted at %#x, outside of the program" % regs["rip"])
            low = min(low, regs["rdi"])
        else:
            run(client, False)
        if client.pc() != tick or client.regs()["rdi"] != CALLS - 10:
            raise Wrong("after interrupts the run stops at %#x with %d" % (client.pc(), client.regs()["rdi"]))
        interrupted = rsp.state(client)
        client.goto("start")
        run(client, False)
        found = rsp.differences(interrupted, rsp.state(client))
        if found:
            raise Wrong("after interrupts the state is another one: %s" % found[:5])
    if not stopped:
        raise Wrong("no run was interrupted")
    say("interrupts: %d, the first after %d calls" % (stopped, low))


def compare_ways(args, hermit, say):
    program = build_guest("debug_conditions")
    ident = hermit.record([program, str(args.visits)])
    hermit.env["HERMIT_LOG"] = "replayer:debug"
    server = hermit.serve(ident)
    names = symbols(program)
    chosen = {name: c for name, c in conditions(names, args.visits).items() if args.only in (None, name)}
    with server.connect(timeout=120) as client:
        for name, (code, is_true) in chosen.items():
            check(client, names, name, code, is_true, say)
    # the child that was forked; what the parent does is not its business
    child = re.findall(r"^ +(\d+) +\d+-\d+ ", server.said(), re.M)[1]
    with hermit.serve(ident, ["-p", child]).connect(timeout=120) as client:
        for name in ("some", "never") if args.only is None else ():
            code, is_true = conditions(names, args.visits)[name]
            check(client, names, "child: " + name, code, is_true, say)
    if "the guest evaluates the condition" not in server.said():
        raise Wrong("the guest has not evaluated any condition")


def main():
    p = argparse.ArgumentParser(prog="tests/debug/conditions.py")
    p.add_argument("--visits", type=int, default=2000)
    p.add_argument("--only", help="name of a condition, or interrupts")
    p.add_argument("-v", "--verbose", action="store_true")
    args = p.parse_args()
    started = time.monotonic()

    def say(text):
        if args.verbose:
            print(text, flush=True)

    with rsp.Hermit() as hermit:
        try:
            if args.only != "interrupts":
                compare_ways(args, hermit, say)
            if args.only in (None, "interrupts"):
                interrupts(hermit, say)
        except (Wrong, rsp.RspError) as e:
            print("FAIL conditions: %s" % e)
            for server in hermit.servers:
                print("the server said: %s" % server.said()[-2000:])
            return 1
    print("conditions: passed after %.0f s" % (time.monotonic() - started))
    return 0


if __name__ == "__main__":
    sys.exit(main())
