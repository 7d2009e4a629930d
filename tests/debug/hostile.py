#!/usr/bin/env python3
"""Clients that a debug server must survive: garbage, halves, lies about lengths, vanishing at the worst moment.

usage: tests/debug/hostile.py [--rounds 200] [--seed N] [-v]

After each of them the server either serves the next client, with the state it had, or has ended by itself as it does when a
client leaves (--serve-only serves one client after the other, or only one: both are fine as long as it is always the same).
What it must never do: die by a signal or an assertion, hang, leave a process of the replay behind, take memory without bound.
"""
import argparse
import os
import random
import re
import signal
import socket
import sys
import time

sys.dont_write_bytecode = True
import rsp  # noqa: E402
from guests import build_guest  # noqa: E402

MEMORY_LIMIT = 512 << 20  # of the server itself, after all of it


class Wrong(Exception):
    """The server does not survive as it should; the text says what it did."""


def resident(pid):
    with open("/proc/%d/status" % pid, encoding="ascii", errors="replace") as f:
        return int(re.search(r"^VmHWM:\s+(\d+) kB", f.read(), re.M).group(1)) << 10


# --- what they send: each takes a connected Rsp that has shaken hands, and may close it -----------------------------------


def garbage(client, rng):
    client.send_raw(rng.randbytes(rng.choice((1, 10, 1000, 100000))))


def half_packet(client, rng):
    whole = rsp.frame(rng.choice((b"g", b"m400000,20", b"vCont;c", b"qXfer:features:read:target.xml:0,fff", b"bc")))
    client.send_raw(whole[:rng.randint(1, len(whole) - 1)])


def wrong_checksum(client, _):
    client.send_raw(b"$g#00")
    client.send_raw(b"$?#zz")


def endless_packet(client, _):
    """More than any PacketSize, without an end. The server may close the connection at any time."""
    try:
        client.send_raw(b"$")
        for _ in range(64):
            client.send_raw(b"m" * (1 << 20))
    except OSError:
        pass


# Requests with numbers that are too large, too long, negative, or not there. The answer may be anything.
LIES = [
    b"m0,ffffffffffffffff", b"m0,7fffffff", b"mffffffffffffffff,ffffffffffffffff", b"m%s,1" % (b"f" * 5000), b"m", b"m,", b"m1", b"m-1,5",
    b"x0,ffffffffffffffff", b"M0,ffffffff:00", b"X0,ffffffff:a", b"X0,10:}", b"G" + b"0" * 70000, b"G", b"G0", b"P0=00", b"Pffffffffff=00", b"pffffffff",
    b"p-1", b"p", b"Z0,0,0", b"Z0,ffffffffffffffff,1", b"Z2,ffffffffffffffff,ffffffffffffffff", b"Z2,0,ffffffffffffffff", b"Z9,0,1", b"Z", b"Z0", b"Z0,",
    b"z0,123456,1", b"z9,,", b"Z0,400000,1;X", b"Z0,400000,1;Xffffffff,00", b"Z0,400000,1;X4,00", b"Z0,400000,1;X1," + b"34" * 5, b"Z0,400000,1;X3,340000",
    b"Z0,400000,1;X6,2200002102ff", b"Z0,400000,1;cmds:0,X1,27", b"H", b"Hg", b"Hgp", b"Hgpffffffffffffffffffff.1", b"Hg-5", b"Hcp-1.-1", b"Hx0", b"T", b"Tzz",
    b"Tp1", b"vCont", b"vCont;", b"vCont;z", b"vCont;s:p0.0;c:p-1.-1;s:zz", b"vCont;r", b"vCont;r1", b"vCont;r1,", b"vCont;r5,1:p1.1", b"vCont;C", b"vCont;Czz",
    b"vCont;t", b"vFile:", b"vFile:open:", b"vFile:open:zz,0,0", b"vFile:open:" + b"2f" * 60000 + b",0,0", b"vFile:open:2f6574632f736861646f77,0,0",
    b"vFile:open:2e2e2f2e2e2f6574632f706173737764,0,0", b"vFile:open:2f,2,1ff", b"vFile:open:00,0,0", b"vFile:pread:ffffffff,10,0", b"vFile:pread:0,ffffffff,0",
    b"vFile:pread:-1,1,1", b"vFile:close:ffffffff", b"vFile:close:-1", b"vFile:close:0", b"vFile:fstat:7fffffff", b"vFile:readlink:2f70726f632f", b"vFile:setfs:ffffffff",
    b"vFile:pwrite:0,0,aa", b"vFile:unlink:2f746d702f78", b"qXfer:features:read:target.xml:ffffffffffffffff,ffffffffffffffff",
    b"qXfer:features:read:../../etc/passwd:0,100", b"qXfer:features:read::0,10", b"qXfer:auxv:read::0,ffffffffffffffff", b"qXfer:exec-file:read:zz:0,10",
    b"qXfer:exec-file:read:ffffffffffffffffff:0,10", b"qXfer:siginfo:read::0,ffffffff", b"qXfer:siginfo:write::0:aa", b"qXfer:threads:read::0,0", b"qXfer:", b"qXfer:features:read:target.xml",
    b"qXfer:libraries-svr4:read::fffffffffffffff0,20", b"qSearch:memory:0;ffffffffffffffff;a", b"qSearch:memory:0;10;", b"qSearch:memory:", b"qCRC:0,ffffffffffffffff", b"qCRC:",
    b"qRcmd,", b"qRcmd,zz", b"qRcmd,6", b"qRcmd," + b"41" * 30000, b"qThreadExtraInfo,", b"qThreadExtraInfo,pffff.ffffffff", b"qGetTLSAddr:,,", b"qGetTLSAddr:p1.1,0,0",
    b"QPassSignals:" + b"e;" * 30000, b"QPassSignals:ffffffff", b"QProgramSignals:zz", b"QCatchSyscalls:", b"QCatchSyscalls:1;ffffffffffff", b"QCatchSyscalls:1;" + b"1;" * 20000,
    b"QStartNoAckMode+", b"qSupported:" + b"a+;" * 30000, b"qSupported", b"D;zz", b"vKill;zz", b"vRun;" + b"41" * 1000, b"vAttach;1", b"R00", b"vMustReplyEmpty", b"", b"\x00", b"\xff" * 100,
    b"bx", b"b", b"bs1", b"bc1", b"k1", b"qSymbol:", b"qSymbol:zz:zz", b"jThreadsInfo", b"vCtrlC", b"qSupported:PacketSize=ffffffffffffffff;",
]
MONITOR_LIES = ["", "hermit", "hermit ", "hermit nonsense", "hermit goto", "hermit goto -1", "hermit goto 99999999999999999999999", "hermit goto 18446744073709551615",
                "hermit goto 5:0x*1", "hermit goto 1+18446744073709551615", "hermit goto 0:0x1*18446744073709551615", "hermit arm", "hermit arm x", "hermit last-write",
                "hermit last-write 0 0", "hermit last-write 0 18446744073709551615", "hermit last-write zz 1", "hermit events 5-1", "hermit events 0-18446744073709551615",
                "hermit events zz", "hermit bookmark", "hermit bookmark " + "n" * 20000, "hermit bookmark ../../x", "hermit bookmark a\nb", "hermit where --json --json", "hermit where x"]


def lies(client, rng):
    """Each gets one answer within the time limit, or the connection is closed."""
    for packet in rng.sample(LIES, 25):
        client.send(packet)
        answer = client.receive()
        # a run may have begun: it says O packets, and ends with a stop
        while answer[:1] == b"O" and answer != b"OK":
            answer = client.receive()


def monitor_lies(client, rng):
    for text in rng.sample(MONITOR_LIES, 8):
        try:
            client.monitor(text)
        except rsp.RspError as e:
            if "monitor" not in str(e):
                raise


def many_breakpoints(client, rng):
    for _ in range(5000):
        client.request("Z%d,%x,%x" % (rng.randint(0, 4), rng.getrandbits(47), rng.randint(1, 64)))


def vanish_while_running(client, rng):
    client.send(rng.choice(("bc", "vCont;c", "bs", "qRcmd," + b"hermit goto 18446744073709551615".hex(), "qSearch:memory:0;ffffffffffff;zz")))
    time.sleep(rng.choice((0, 0.001, 0.02, 0.1)))
    if rng.random() < 0.5:
        # a reset in place of an end
        client.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")


def vanish_while_answered(client, _):
    """Asks for much and does not read it."""
    try:
        client.socket.settimeout(2)
        for _ in range(2000):
            client.send("qXfer:features:read:target.xml:0,8000")
    except OSError:
        pass


def interrupts(client, rng):
    """More 0x03 than there are runs: no answer to them; the one to the run comes."""
    client.send_raw(b"\x03" * rng.randint(1, 50))
    client.send(rng.choice(("bc", "vCont;c")))
    client.send_raw(b"\x03" * rng.randint(1, 50))
    client.wait()


def second_client(client, _):
    """It waits, or is refused; it does not disturb the first."""
    before = client.raw_regs()
    with socket.socket() as other:
        other.settimeout(0.3)
        try:
            other.connect(("127.0.0.1", client.socket.getpeername()[1]))
            other.sendall(rsp.frame(b"vCont;c") + rsp.frame(b"k"))
            other.recv(100)
        except OSError:
            pass
        if client.raw_regs() != before:
            raise Wrong("a second client moves the session of the first")
    if client.raw_regs() != before:
        raise Wrong("a second client that leaves moves the session of the first")


HOSTILE = [garbage, half_packet, wrong_checksum, endless_packet, lies, lies, lies, monitor_lies, many_breakpoints, vanish_while_running,
           vanish_while_running, vanish_while_answered, interrupts, second_client]


# --- the test ---------------------------------------------------------------------------------------------------------


class Hostile:
    def __init__(self, args, hermit):
        self.args, self.hermit, self.rng = args, hermit, random.Random(args.seed)
        self.ident = hermit.record([build_guest("debug_walk"), "300"])
        self.server, self.serves_again = None, None

    def open(self):
        if self.server is None or self.server.process.poll() is not None:
            self.server = self.hermit.serve(self.ident)
            self.fresh = True
        return self.server.connect(timeout=60)

    def round(self, number):
        what = self.rng.choice(HOSTILE) if number >= len(HOSTILE) else HOSTILE[number]
        if self.args.verbose:
            print("%d: %s" % (number, what.__name__), flush=True)
        try:
            client = self.open()
            self.server.note_guests()
            try:
                what(client, self.rng)
            except (rsp.RspError, OSError) as e:
                # the server may close a connection that it cannot make sense of, but must answer what it keeps open
                if "no answer" in str(e) or isinstance(e, TimeoutError):
                    raise Wrong("no answer: %s" % e) from None
            client.close()
            self.after()
        except (Wrong, rsp.RspError) as e:
            raise Wrong("round %d, %s: %s" % (number, what.__name__, e)) from None

    def after(self):
        """The server has ended by itself, without leaving anything, or serves somebody friendly."""
        deadline = time.monotonic() + 1
        while time.monotonic() < deadline and self.server.process.poll() is None and self.serves_again is not True:
            time.sleep(0.01)
        status = self.server.process.poll()
        again = status is None
        if self.serves_again is None:
            self.serves_again = again
        try:
            friend = self.server.connect(timeout=60) if again else None
        except (rsp.RspError, ConnectionError):
            friend = None
        if not friend:
            # some of what was sent ends a session, as `k` does
            status = self.server.wait()
            if status < 0:
                raise Wrong("the server died by %s" % signal.Signals(-status).name)
            if "assertion" in self.server.said().lower():
                raise Wrong("an assertion failed")
            return
        with friend:
            if friend.first.reason() == "exit":
                raise Wrong("the session is dead: %r" % friend.first)
            friend.regs()
            friend.reverse_cont()
            stop = friend.step()
            while stop.reason().startswith("signal"):
                stop = friend.step()
            if stop.reason() != "trap":
                raise Wrong("a step from the beginning gives %r" % stop)
        if resident(self.server.process.pid) > MEMORY_LIMIT:
            raise Wrong("the server has taken %d MiB" % (resident(self.server.process.pid) >> 20))

    def leave(self):
        """A server that is told to end takes its guests along, also while they run."""
        client = self.open()
        self.server.note_guests()
        client.send("vCont;c")
        self.server.process.send_signal(signal.SIGTERM)
        self.server.wait()
        client.close()
        client = self.open()
        self.server.note_guests()
        client.send("bc")
        self.server.process.kill()
        self.server.wait()
        client.close()


def main():
    p = argparse.ArgumentParser(prog="tests/debug/hostile.py")
    p.add_argument("--rounds", type=int, default=200)
    p.add_argument("--seed", type=int, default=int.from_bytes(os.urandom(4), "little"))
    p.add_argument("-v", "--verbose", action="store_true")
    args = p.parse_args()
    print("hostile: seed %d" % args.seed, flush=True)
    started = time.monotonic()
    with rsp.Hermit() as hermit:
        try:
            hostile = Hostile(args, hermit)
            for number in range(args.rounds):
                hostile.round(number)
            hostile.leave()
        except (Wrong, rsp.RspError) as e:
            print("FAIL (seed %d): %s" % (args.seed, e))
            for server in hermit.servers[-1:]:
                print("the server said: %s" % server.said()[-2000:])
            return 1
    print("hostile: %d clients passed after %.0f s" % (args.rounds, time.monotonic() - started))
    return 0


if __name__ == "__main__":
    sys.exit(main())
