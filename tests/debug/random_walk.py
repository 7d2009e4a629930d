#!/usr/bin/env python3
"""Walks through a replay at random, forwards and backwards, and compares each stop with a fresh replay.

usage: tests/debug/random_walk.py [--commands 500] [--seed N] [--guest walk|threads|PROGRAM...] [--fresh-every 1]

The guest is recorded once and served. After each of the random commands (single steps, runs to breakpoints and watchpoints,
`monitor hermit goto`) the state of the process - its threads, all their registers, a hash of its writable memory - must be
that of another server, which has just been sent to the same position and came there forwards only; with --fresh-every N
that server is a new one every N commands. The guest `walk` (debug_walk.c) tells besides which stop has to come: see Oracle.
The seed is printed; the same seed and guest give the same commands.
"""
import argparse
import os
import random
import shlex
import struct
import subprocess
import sys
import time

sys.dont_write_bytecode = True
import rsp  # noqa: E402
from guests import build_guest

STEPS_AT_ONCE = 20


class Wrong(Exception):
    """The walk came to where it should not be; the text says how."""


def symbols(path):
    """{name: address} as the program was linked."""
    out = subprocess.run(["nm", path], capture_output=True, text=True, check=True).stdout
    return {f[2]: int(f[0], 16) for f in map(str.split, out.splitlines()) if len(f) == 3}


def load_offset(client, path):
    """Where a position-independent program is, 0 for others."""
    with open(path, "rb") as f:
        if f.read(18)[16] != 3:
            return 0
    pid = rsp.pid_of(client.threads()[0])
    return min(start for start, _, _, name in client.maps(pid) if name == path)


# --- what must come ---------------------------------------------------------------------------------------------------


class Condition:
    """Of breakpoints: a counter in the guest's memory modulo some number; or none."""

    def __init__(self, counter=None, modulus=1, rest=0):
        self.counter, self.modulus, self.rest = counter, modulus, rest

    def holds(self, count):
        return count % self.modulus == self.rest

    def code(self):
        """const64, ref64, const16, rem_unsigned, const16, equal, end"""
        if self.counter is None:
            return None
        return struct.pack(">BQBBHBBHBB", 0x25, self.counter, 0x1A, 0x23, self.modulus, 0x08, 0x23, self.rest, 0x13, 0x27)


ALWAYS = Condition()


class Oracle:
    """Knows the order of all visits of the guest `walk` from its notes: visit n of place p counts `visits` from n to n + 1 by
    the first instruction of p; even places then write n + 1 to `watched`."""

    def __init__(self, client, names):
        self.client, self.names = client, names
        count = client.read_number(names["visits"])
        self.order = client.read(names["notes"], count)
        self.places = {names["place_%d" % n]: n for n in range(8)}
        self.writes = {names["write_%d" % n] for n in range(0, 8, 2)}
        if count < 50 or set(self.order) != set(range(8)):
            raise Wrong("the guest has made %d visits of places %s" % (count, sorted(set(self.order))))

    def look(self):
        """(pc, number of the next visit, number of the last write or -1)"""
        return (self.client.pc(), self.client.read_number(self.names["visits"]), self.client.read_number(self.names["watched"]) - 1)

    def at_hand(self):
        """(number,) of the visit that is about to be made where it stands, () elsewhere."""
        pc, visits, _ = self.look()
        return (visits,) if visits < len(self.order) and self.places.get(pc) == self.order[visits] else ()

    def next_stop(self, look, breaks, watching, condition=ALWAYS):
        """(what, number of the visit) that a run forwards stops for; None: the end. A breakpoint where it stands is left first."""
        pc, visits, written = look
        first = visits + (1 if pc in self.places else 0)
        events = [((n, 0), "break") for n in range(first, len(self.order)) if self.order[n] in breaks and condition.holds(n)][:1]
        if watching:
            events += [((n, 1), "watch") for n in range(written + 1, len(self.order)) if self.order[n] % 2 == 0][:1]
        return self.chosen(min(events, default=None))

    def last_stop(self, look, breaks, watching, condition=ALWAYS):
        """As above, backwards."""
        _, visits, written = look
        events = [((n, 0), "break") for n in range(visits - 1, -1, -1) if self.order[n] in breaks and condition.holds(n)][:1]
        if watching and written >= 0:
            events.append(((written, 1), "watch"))
        return self.chosen(max(events, default=None))

    @staticmethod
    def chosen(event):
        return event and (event[1], event[0][0])

    def check(self, stop, expected, backwards):
        pc, visits, written = self.look()
        if expected is None:
            fine = stop.reason() in (("begin",) if backwards else ("end", "exit"))
        elif expected[0] == "break":
            fine = stop.reason() == "break" and self.places.get(pc) == self.order[expected[1]] and visits == expected[1]
        elif backwards:
            fine = stop.reason() == "watch" and pc in self.writes and visits == expected[1] + 1 and written < expected[1]
        else:
            fine = stop.reason() == "watch" and written == expected[1] and pc - 7 in self.writes
        if not fine:
            raise Wrong("%r at %#x with %d visits, last write %d: expected %s" % (stop, pc, visits, written, expected or "the end of history"))


# --- the walk ---------------------------------------------------------------------------------------------------------


class Walk:
    def __init__(self, args, hermit, program):
        self.args, self.hermit, self.random = args, hermit, random.Random(args.seed)
        self.ident = hermit.record(program)
        self.server = hermit.serve(self.ident)
        self.client = self.server.connect(timeout=120)
        self.other = None
        self.names = self.find_names(program[0])
        self.watchable = [self.names[n] for n in ("watched", "shared", "visits") if n in self.names]
        self.functions = sorted(address for name, address in self.names.items() if name.startswith("place_")) or sorted(
            self.names[n] for n in ("main", "worker", "work") if n in self.names)
        self.known, self.breaks, self.oracle = [], [], None
        if "write_0" in self.names:
            self.see_everything()

    def close(self):
        for client in filter(None, (self.client, self.other)):
            client.close()

    def find_names(self, path):
        offset = load_offset(self.client, path)
        return {name: address + offset for name, address in symbols(path).items()}

    def see_everything(self):
        """Goes to the end for the order of all visits, and back."""
        start = self.client.where()
        stop = self.pass_signals(backwards=False)
        if stop.reason() not in ("end", "exit"):
            raise Wrong("a run to the end stops with %r" % stop)
        self.oracle = Oracle(self.client, self.names)
        stop = self.pass_signals(backwards=True)
        if stop.reason() != "begin":
            raise Wrong("a run back to the beginning stops with %r" % stop)
        if self.client.where() != start:
            raise Wrong("the beginning is %s, and was %s" % (self.client.where(), start))

    def say(self, text):
        if self.args.verbose:
            print(text, flush=True)

    # commands: each gives a text that says what it did

    def step(self, backwards, thread=None):
        thread = thread or self.client.current()
        stop = self.client.reverse_step(thread, timeout=120) if backwards else self.client.step(thread, timeout=120)
        if stop.reason() not in ("trap", "begin", "end", "exit") and not stop.reason().startswith("signal"):
            raise Wrong("a step stops with %r" % stop)
        return stop

    def single_step(self, backwards):
        """Steps of the thread that stopped, or of any."""
        n = self.random.randint(1, STEPS_AT_ONCE) if self.random.random() < 0.3 else 1
        threads = self.client.threads()
        thread = self.random.choice(threads) if threads and self.random.random() < 0.2 else None
        for i in range(n):
            stop = self.step(backwards, thread if thread in self.client.threads() else None)
            if stop.reason() in ("begin", "end", "exit"):
                return "%d steps, %s" % (i, stop.reason())
        return "%d steps" % n

    def there_and_back(self, backwards):
        """n steps, and as many in the other direction, end where they began; where there is one thread and no signal comes."""
        n = self.random.randint(1, STEPS_AT_ONCE)
        before, mine, plain = self.client.where(), rsp.state(self.client), True
        for way in (backwards, not backwards):
            for _ in range(n):
                plain = plain and len(self.client.threads()) == 1
                plain = self.step(way).reason() == "trap" and plain
        found = rsp.differences(mine, rsp.state(self.client)) if plain else []
        if found:
            raise Wrong("%d steps %s and as many back lead from %s to %s: %s" % (n, "back" if backwards else "on", before, self.client.where(), "; ".join(found[:5])))
        return "%d steps there and back" % n

    def run(self, backwards):
        breaks = self.breaks
        if self.random.random() < 0.7:
            breaks = self.breaks = self.random.sample(self.functions, self.random.randint(0, min(3, len(self.functions))))
        watched = self.random.choice(self.watchable) if self.watchable and self.random.random() < 0.5 else None
        if self.oracle and watched:
            watched = self.names["watched"]
        if not breaks and not watched and self.random.random() < 0.9:
            breaks = self.random.sample(self.functions, 1)
        stop = None if backwards else self.leave(breaks)
        if stop is not None:
            return "off a breakpoint: %s" % stop.reason()
        before, looked, expected = self.client.where(), None, None
        condition = self.random_condition()
        if self.oracle:
            wanted = {self.oracle.places[a] for a in breaks}
            expect = self.oracle.last_stop if backwards else self.oracle.next_stop
            looked = self.oracle.look()
            expected = expect(looked, wanted, watched is not None, condition)
        # sometimes the server is to pass ALRM, USR1 and USR2 itself (numbers of the protocol), else they are stops
        self.client.ok("QPassSignals:" + self.random.choice(("e;1e;1f", "")))
        for address in breaks:
            self.client.insert(rsp.BREAK, address, condition=condition.code())
        if watched:
            self.client.insert(rsp.WATCH, watched, 8)
        stop = self.pass_signals(backwards)
        if stop.reason() == "watch":
            self.write_again(backwards)
        for address in breaks:
            self.client.remove(rsp.BREAK, address)
        if watched:
            self.client.remove(rsp.WATCH, watched, 8)
        if self.oracle:
            # the handler of a signal may have returned to the place where it came: that is reached twice
            again = backwards and stop.reason() == "break" and self.client.where() != before and self.oracle.at_hand()
            self.oracle.check(stop, ("break", again[0]) if again and again[0] == looked[1] and condition.holds(again[0]) else expected, backwards)
        elif stop.reason() not in ("break", "watch", "begin", "end", "exit"):
            raise Wrong("a run stops with %r" % stop)
        return "%d breakpoints (1 of %d)%s: %s" % (len(breaks), condition.modulus, ", a watchpoint" if watched else "", stop.reason())

    def random_condition(self):
        counter = self.names.get("visits", self.names.get("shared"))
        if counter is None or self.random.random() < 0.5:
            return Condition()
        modulus = self.random.choice((1, 3, 10, 50, 200, 60000))
        return Condition(counter, modulus, self.random.randrange(modulus))

    def write_again(self, backwards):
        """A single step over the write that a watchpoint has found tells of it too, in both directions."""
        thread = self.client.current()
        for way in (not backwards, backwards):
            stop = self.client.reverse_step(thread) if way else self.client.step(thread)
            if stop.reason() != "watch":
                raise Wrong("a step %s over a watched write stops with %r" % ("back" if way else "on", stop))

    def leave(self, breaks):
        """Off a breakpoint, as gdb does it before it inserts them; gives the stop when that was all."""
        stop = None
        while self.client.pc() in breaks and (stop is None or stop.reason().startswith("signal")):
            stop = self.step(backwards=False)
        return stop if stop and (self.client.pc() in breaks or stop.reason() in ("begin", "end", "exit")) else None

    def pass_signals(self, backwards):
        """Runs on where only a signal stopped it."""
        while True:
            stop = self.client.reverse_cont(timeout=120) if backwards else self.client.cont(timeout=120)
            if not stop.reason().startswith("signal"):
                return stop

    def goto(self, _):
        if not self.known:
            return "nowhere to go"
        position, before = self.random.choice(self.known)
        self.client.goto(position)
        found = rsp.differences(before, rsp.state(self.client))
        if found:
            raise Wrong("goto %s leads to another state than that of before: %s" % (position, "; ".join(found[:5])))
        return "goto"

    # comparing

    def fresh(self, position):
        """Another server, at the same position."""
        if self.other is None or self.random.random() < 1 / self.args.fresh_every:
            if self.other is not None:
                self.other.close()
                self.other_server.kill()
            self.other_server = self.hermit.serve(self.ident)
            self.other = self.other_server.connect(timeout=120)
        self.other.goto(position)
        return self.other

    def compare(self, number, command):
        position = self.client.where()
        mine = rsp.state(self.client)
        if self.client.where() != position:
            raise Wrong("looking changes the position from %s to %s" % (position, self.client.where()))
        other = self.fresh(position)
        found = rsp.differences(rsp.state(other), mine)
        if found:
            raise Wrong("command %d (%s): at %s the state is not that of a fresh replay:\n    %s" % (number, command, position, "\n    ".join(found[:40])))
        self.known.append((position, mine))
        self.say("%d: %s: %s" % (number, command, position))

    def walk(self):
        commands = [(self.single_step, 3), (self.run, 4), (self.there_and_back, 2), (self.goto, 1)]
        for number in range(1, self.args.commands + 1):
            command, = self.random.choices([c for c, _ in commands], [w for _, w in commands])
            backwards = self.random.random() < 0.5
            what = "%s%s" % (command.__name__, " backwards" if backwards else "")
            try:
                self.compare(number, "%s: %s" % (what, command(backwards)))
            except (Wrong, rsp.RspError) as e:
                at = self.known[-1][0] if self.known else "the beginning"
                raise Wrong("command %d (%s) from %s: %s" % (number, what, at, e)) from None
            if len(self.known) > 100:
                del self.known[self.random.randrange(100)]


def main():
    p = argparse.ArgumentParser(prog="tests/debug/random_walk.py")
    p.add_argument("--commands", type=int, default=500)
    p.add_argument("--seed", type=int, default=int.from_bytes(os.urandom(4), "little"))
    p.add_argument("--guest", default="walk", help="debug_NAME of tests/guests, with arguments, or the path of a program")
    p.add_argument("--fresh-every", type=float, default=1, help="commands that one of the servers to compare with is for (1)")
    p.add_argument("-v", "--verbose", action="store_true")
    args = p.parse_args()
    words = shlex.split(args.guest)
    program = [words[0] if "/" in words[0] else build_guest("debug_" + words[0]), *words[1:]]
    print("random_walk: %s, seed %d" % (args.guest, args.seed), flush=True)
    started = time.monotonic()
    with rsp.Hermit() as hermit:
        try:
            Walk(args, hermit, program).walk()
        except (Wrong, rsp.RspError) as e:
            print("FAIL (seed %d): %s" % (args.seed, e))
            for server in hermit.servers:
                if server.said():
                    print("the server on port %d said: %s" % (server.port, server.said()[-2000:]))
            return 1
    print("random_walk: %d commands passed after %.0f s" % (args.commands, time.monotonic() - started))
    return 0


if __name__ == "__main__":
    sys.exit(main())
