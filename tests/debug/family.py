#!/usr/bin/env python3
"""What happens outside of the process that a session looks at, and below what is known of its stack.

usage: tests/debug/family.py
"""
import sys
import time

sys.dont_write_bytecode = True
import guests  # noqa: E402
from random_walk import symbols  # noqa: E402
from rsp import BREAK, WATCH, Hermit, RspError  # noqa: E402


def want(ok, what):
    if not ok:
        raise RspError(what)


def interrupt_in_child(client, _):
    """^C while a child computes is quick, is about a thread of ours, and the place can be named and gone back to."""
    client.send("vCont;c")
    time.sleep(0.2)
    began = time.monotonic()
    client.send_raw(b"\x03")
    stop = client.wait(60)
    want(time.monotonic() - began < 2, "an interrupt took %.1f s" % (time.monotonic() - began))
    want(client.current() in client.threads(), "%r is about another process" % stop)
    place = client.where()
    want(":" in place, "%s is not in the middle of computation" % place)
    client.reverse_step()
    client.goto(place)
    there = client.where()
    want(there == place, "at %s instead of %s" % (there, place))


def write_by_other(client, names):
    """What another process's call writes here stops, both ways."""
    address = names["written"]
    client.insert(WATCH, address, 8)
    want("watch" in repr(client.cont(120)) and client.read_number(address) == 5, "the write is not seen")
    client.remove(WATCH, address, 8)
    client.goto("end")
    client.goto(client.hermit("last-write %#x 8" % address)["position"])
    want(client.read_number(address) == 1, "last-write does not stand before the write")


def grown_stack(client, names):
    """A buffer that is longer than debug registers hold, on a stack that has grown."""
    client.goto("start")
    client.insert(BREAK, names["buffer_is"])
    client.cont(120)
    client.remove(BREAK, names["buffer_is"])
    address = client.regs()["rdi"]
    client.insert(WATCH, address, 200)
    stop = client.cont(120)
    want("watch:%x;" % (address + 100) in repr(stop) and client.read_number(address + 100, 1) == 7, "%r is not the write" % stop)
    want("watch" in repr(client.reverse_cont(120)) and client.read_number(address + 100, 1) == 0, "the write is not seen backwards")


def main():
    program = guests.build_guest("debug_family")
    names, failed = symbols(program), 0
    tests = [interrupt_in_child, write_by_other, grown_stack]
    with Hermit() as hermit:
        ident = hermit.record([program])
        for test in tests:
            with hermit.serve(ident).connect() as client:
                try:
                    test(client, names)
                    print("family: %s passed" % test.__name__)
                except RspError as e:
                    print("family: %s: %s" % (test.__name__, e))
                    failed += 1
    print("%d passed, %d failed, 0 skipped" % (len(tests) - failed, failed))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
