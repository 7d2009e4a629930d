#!/usr/bin/env python3
"""Places in the middle of one long computation, in loops that come by millions of times: names are exact, however they were counted.

usage: tests/debug/computation.py [--units 600]

Some places are walked to backwards from marks of the guest (tests/bench/debug_work.c). Each must have one name: in the session that
came there, when that session goes there again, and in another one which counts from the beginning; with the same state.
"""
import argparse
import os
import sys

sys.dont_write_bytecode = True
import rsp  # noqa: E402
from guests import build_guest  # noqa: E402
from random_walk import symbols  # noqa: E402


def must_be(what, found, wanted):
    if found != wanted:
        raise rsp.RspError("%s: %s, not %s" % (what, found, wanted))


def places(client, names):
    """[(name, state)] a few instructions before marks, in the loop."""
    found = []
    client.insert(rsp.BREAK, names["mark"])
    for mark in range(12):
        must_be("a run to mark %d" % mark, client.cont(timeout=300).reason(), "break")
        if mark % 4 != 3:
            continue
        client.remove(rsp.BREAK, names["mark"])
        for _ in range(30):
            must_be("a step back", client.reverse_step(timeout=300).reason(), "trap")
        name = client.where()
        found.append((name, rsp.state(client)))
        must_be("the name where nothing has moved", client.where(), name)
        for _ in range(30):
            client.step()
        must_be("30 steps on and 30 back", client.pc(), names["mark"])
        client.insert(rsp.BREAK, names["mark"])
    client.remove(rsp.BREAK, names["mark"])
    return found


def check(client, name, state):
    client.goto(name)
    must_be("the name of %s" % name, client.where(), name)
    different = rsp.differences(state, rsp.state(client))
    if different:
        raise rsp.RspError("the state at %s: %s" % (name, "; ".join(different[:5])))


def main():
    p = argparse.ArgumentParser(prog="tests/debug/computation.py")
    p.add_argument("--units", default="600")
    args = p.parse_args()
    program = build_guest("debug_work", "-O2 -no-pie", folder=os.path.join(rsp.TOP, "tests", "bench"))
    with rsp.Hermit() as hermit:
        try:
            ident = hermit.record([program, "single", args.units])
            client = hermit.serve(ident).connect(timeout=300)
            found = places(client, symbols(program))
            client.goto("end")
            for name, state in reversed(found):
                check(client, name, state)
            client = hermit.serve(ident).connect(timeout=300)
            for name, state in found[1:] + found[:1]:
                check(client, name, state)
        except rsp.RspError as e:
            print("FAIL: computation: %s" % e)
            return 1
    print("computation: %d places passed" % len(found))
    return 0


if __name__ == "__main__":
    sys.exit(main())
