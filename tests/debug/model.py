"""A debug server without a guest: a made-up history of the guest `walk`, for tests of the random walk itself.

A position is a number. With `fault` the model is wrong in one way, which a walk has to find.
"""
import random
import re
import socket
import threading

import rsp

FAULTS = ("skips a hit backwards", "stops behind a write backwards", "skips a hit", "steps two", "steps back two", "keeps memory", "keeps a register",
          "goes astray", "reports late", "stays")
MAPS = "9000-c000 rw-p 00000000 00:00 0            [heap]\n"
NAMES = {"visits": 0x9000, "watched": 0x9008, "notes": 0xa000}
NAMES.update({"place_%d" % n: 0x1000 + 64 * n for n in range(8)})
NAMES.update({"write_%d" % n: 0x1000 + 64 * n + 7 for n in range(0, 8, 2)})


def history(seed):
    """[(pc, visits, watched)] and the order of visits."""
    rng, order, points, watched = random.Random(seed), [], [], 0
    for _ in range(120):
        n = rng.randrange(8)
        base = NAMES["place_%d" % n]
        points.append((base, len(order), watched))
        order.append(n)
        points.append((base + 7, len(order), watched))
        if n % 2 == 0:
            watched = len(order)
            points.append((base + 14, len(order), watched))
        points += [(0x2000 + i, len(order), watched) for i in range(rng.randrange(12))]
    return [(0x2000 - 1, 0, 0)] + points, bytes(order)


class Model(threading.Thread):
    def __init__(self, fault=None, seed=1):
        super().__init__(daemon=True)
        self.points, self.order = history(seed)
        self.fault, self.at, self.shown, self.breaks, self.watches, self.stops = fault, 0, 0, set(), set(), 0
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        self.start()

    # the parts of rsp.Server that a walk uses

    def connect(self, timeout=5):
        client = rsp.Rsp(self.port, timeout=timeout)
        client.first = client.handshake()
        return client

    def kill(self):
        pass

    def said(self):
        return ""

    # the server

    def run(self):
        with self.listener, self.listener.accept()[0] as s:
            s.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            data = b""
            while True:
                more = s.recv(1 << 16)
                if not more:
                    return
                data = (data + more).lstrip(b"+")
                payload, data = rsp.take_packet(data)
                if payload is not None:
                    s.sendall(b"".join(rsp.frame(a.encode("latin-1") if isinstance(a, str) else a) for a in self.answer(payload.decode("latin-1"))))

    def answer(self, asked):
        for pattern, act in self.ACTS:
            match = re.match(pattern, asked)
            if match:
                found = act(self, *match.groups())
                return found if isinstance(found, list) else [found]
        return [""]

    def memory(self, address, length):
        _, visits, watched = self.points[self.shown if self.fault == "keeps memory" else self.at]
        found = bytearray(0x3000)
        found[0:8], found[8:16] = visits.to_bytes(8, "little"), watched.to_bytes(8, "little")
        found[0x1000:0x1000 + visits] = self.order[:visits]
        begin = int(address, 16) - 0x9000
        return bytes(found[begin:begin + int(length, 16)]).hex()

    def registers(self):
        at = self.shown if self.fault == "keeps a register" else self.at
        return self.points[self.at][0].to_bytes(8, "little").hex() + at.to_bytes(8, "little").hex()

    def stop(self, reason):
        self.stops += 1
        if self.stops % 7:
            self.shown = self.at
        return "T05%s;thread:p5.5;" % reason

    def step(self, by):
        if self.fault == ("steps two" if by > 0 else "steps back two") and self.stops % 5 == 0:
            by *= 2
        to = self.at + by
        if not 0 <= to < len(self.points):
            return self.stop("replaylog:end" if by > 0 else "replaylog:begin")
        self.at = to
        return self.stop("")

    def forwards(self):
        skip = self.fault == "skips a hit" and self.stops % 5 == 0
        while self.at + 1 < len(self.points):
            before = self.points[self.at][2]
            self.at += 1
            if self.watches and self.points[self.at][2] != before:
                return self.stop("watch:9008")
            if self.points[self.at][0] in self.breaks:
                if not skip:
                    self.at += self.fault == "reports late" and self.at + 1 < len(self.points)
                    return self.stop("swbreak:")
                skip = False
        return self.stop("replaylog:end")

    def backwards(self):
        skip = self.fault == "skips a hit backwards" and self.stops % 5 == 0
        if self.fault == "stays" and self.points[self.at][0] in self.breaks:
            return self.stop("swbreak:")
        while self.at > 0:
            after = self.points[self.at][2]
            self.at -= 1
            if self.watches and self.points[self.at][2] != after:
                self.at += self.fault == "stops behind a write backwards"
                return self.stop("watch:9008")
            if self.points[self.at][0] in self.breaks:
                if not skip:
                    return self.stop("swbreak:")
                skip = False
        return self.stop("replaylog:begin")

    def monitor(self, text):
        text, out = bytes.fromhex(text).decode(), ""
        goto = re.match(r"hermit goto (\d+) --json$", text)
        if goto:
            self.at = int(goto.group(1))
            self.shown = self.at if self.stops % 3 else self.shown
            if self.fault == "goes astray" and self.at > 5:
                self.at -= 1
            out = '{"position": "%s"}' % goto.group(1)
        elif text == "hermit where --json":
            out = '{"position": "%d"}' % (self.at if self.fault != "goes astray" else self.at // 4)
        return ["O" + out.encode().hex(), "OK"]

    def change(self, add, kind, address):
        """Z and z."""
        {"0": self.breaks, "2": self.watches}[kind].__getattribute__("add" if add == "Z" else "discard")(int(address, 16))
        return "OK"

    ACTS = [
        (r"qSupported", lambda self: "PacketSize=10000;qXfer:features:read+;multiprocess+;QStartNoAckMode+"),
        (r"qXfer:features:read:target.xml", lambda self: 'l<target><reg name="rip" bitsize="64"/><reg name="rax" bitsize="64"/></target>'),
        (r"\?", lambda self: "T05thread:p5.5;"),
        (r"QStartNoAckMode|H[gc]|QPassSignals|vFile:setfs", lambda self: "OK"),
        (r"qC", lambda self: "QCp5.5"),
        (r"qfThreadInfo", lambda self: "mp5.5"),
        (r"qsThreadInfo", lambda self: "l"),
        (r"g$", registers),
        (r"m([0-9a-f]+),([0-9a-f]+)$", memory),
        (r"vFile:open", lambda self: "F3"),
        (r"vFile:pread:3,[0-9a-f]+,0$", lambda self: "F%x;%s" % (len(MAPS), MAPS)),
        (r"vFile:pread", lambda self: "F0;"),
        (r"vFile:close", lambda self: "F0"),
        (r"([Zz])([02]),([0-9a-f]+),", change),
        (r"vCont;s", lambda self: self.step(1)),
        (r"vCont;c", lambda self: self.forwards()),
        (r"bs", lambda self: self.step(-1)),
        (r"bc", lambda self: self.backwards()),
        (r"qRcmd,(.*)", monitor),
    ]


class Hermit:
    """Servers of models: the first one has the fault."""

    def __init__(self, fault):
        self.fault = fault

    def record(self, _):
        return "model"

    def serve(self, _):
        model, self.fault = Model(self.fault), None
        return model
