"""Many clients at once, and such as misbehave: those who behave get answers, and nothing is left behind."""
import concurrent.futures
import os
import signal
import socket
import subprocess
import time

import api_test
from api_test import Server, Skip

MAKER = os.path.join(api_test.BUILD, "tests/tools/make_recordings")
LONG_READERS = 16  # WEB_LONG_READERS_MAX


def left(server):
    pid = server.process.pid
    return len(os.listdir("/proc/%d/fd" % pid)), len(os.listdir("/proc/%d/task" % pid))


def request(server, path, more=""):
    return ("GET %s HTTP/1.1\r\nHost: %s\r\nAuthorization: Bearer %s\r\n%s\r\n" % (path, server.host, server.token, more)).encode()


def start(server, data, size=4096):
    s = socket.socket()
    s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, size)
    s.settimeout(20)
    s.connect(("127.0.0.1", server.port))
    s.sendall(data)
    return s


def make(server, kind, *args):
    if not os.access(MAKER, os.X_OK):
        raise Skip("make -C build tests/tools/make_recordings")
    return subprocess.run([MAKER, server.data_dir, kind, *args], check=True, capture_output=True, text=True).stdout.split()[-1]


def test_slow_readers(t):
    """Clients that take a long answer slowly keep nobody from reading, and too many of them are told so."""
    id = make(t.server, "big", "200000")
    t.wait(lambda: t.get("/api/v1/recordings/" + id).status == 200)
    events = "/api/v1/recordings/%s/events" % id
    t.get(events, limit=1)
    before = left(t.server)
    slow = []
    try:
        for _ in range(LONG_READERS):
            s = start(t.server, request(t.server, events, "Accept: application/x-ndjson\r\n"))
            assert b" 200 " in s.recv(64)
            slow.append(s)
        r = t.get(events, headers={"Accept": "application/x-ndjson"})
        assert r.status == 503 and r.code == "unavailable" and r.headers["Retry-After"]
        with concurrent.futures.ThreadPoolExecutor(20) as pool:
            begun = time.monotonic()
            pages = list(pool.map(lambda i: t.get(events, offset=i * 1000, limit=20), range(60)))
            assert time.monotonic() - begun < 15
        assert all(len(p.json["items"]) == 20 for p in pages)
    finally:
        for s in slow:
            s.close()
    assert t.get(events, limit=1).status == 200
    t.wait(lambda: all(now <= then + 4 for now, then in zip(left(t.server), before)), timeout=40)
    t.wait(lambda: t.get(events, first=1, last=3, headers={"Accept": "application/x-ndjson"}).status == 200)
    t.delete("/api/v1/recordings/" + id, headers={"If-Match": "*"})


def test_index_in_the_making(t):
    """While the index of a long recording is made, others are read."""
    long = make(t.server, "big", "1000000")
    short = t.finished("echo")
    t.wait(lambda: t.get("/api/v1/recordings/" + long).status == 200)
    with concurrent.futures.ThreadPoolExecutor(60) as pool:
        waiting = [pool.submit(t.get, "/api/v1/recordings/%s/events" % long, offset=999000 - i, limit=5) for i in range(40)]
        waiting += [pool.submit(t.get, "/api/v1/recordings/%s/processes" % long) for i in range(10)]
        begun = time.monotonic()
        n = 0
        while not all(w.done() for w in waiting):
            assert t.get("/api/v1/recordings/%s/events" % short, limit=5).status == 200
            n += 1
        assert all(w.result().status == 200 for w in waiting)
    assert (time.monotonic() - begun) / max(n, 1) < 1
    t.delete("/api/v1/recordings/" + long, headers={"If-Match": "*"})


def test_clients_that_vanish(t):
    """Heads and bodies that never end, uploads that are aborted: no descriptor, no thread stays."""
    assert t.get("/api/v1/version").status == 200
    before = left(t.server)
    head = "POST /api/v1/recordings/import HTTP/1.1\r\nHost: %s\r\nAuthorization: Bearer %s\r\nContent-Type: application/x-tar\r\nContent-Length: 5000000\r\n\r\n" % (
        t.server.host, t.server.token)
    for _ in range(5):
        sockets = [start(t.server, data, 65536) for data in (b"GET", b"GET / HTTP/1.1\r\nX-A: ", head.encode(), head.encode() + b"\0" * 300000) for _ in range(10)]
        assert t.get("/api/v1/recordings").status == 200
        for i, s in enumerate(sockets):
            if i % 2:
                s.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
            s.close()
    t.wait(lambda: all(now <= then + 2 for now, then in zip(left(t.server), before)), timeout=40)
    assert not [n for n in os.listdir(os.path.join(t.server.data_dir, "tmp")) if n.startswith("import.")]


def inspectors(server):
    out = subprocess.run(["ps", "-o", "pid=,args=", "--ppid", str(server.process.pid)], capture_output=True, text=True).stdout
    return [int(line.split()[0]) for line in out.splitlines() if " inspect" in line]


def test_killed_inspector(t):
    """Twenty clients ask for states while inspectors are killed: each gets a state or a clear error, and the next one a state again."""
    id = t.finished("tree")
    last = t.get("/api/v1/recordings/" + id).json["events"] - 1
    path = "/api/v1/recordings/%s/events/%%d/registers" % id
    assert t.get(path % last).status == 200
    answers, killed_ever = [], 0
    with concurrent.futures.ThreadPoolExecutor(20) as pool:
        for _ in range(3):
            asked = [pool.submit(t.get, path % (1 + i * 7 % last)) for i in range(60)]
            killed = 0
            while not killed and not all(a.done() for a in asked):
                for pid in inspectors(t.server):
                    os.kill(pid, signal.SIGKILL)
                    killed += 1
            answers += [a.result() for a in asked]
            killed_ever += killed
    assert killed_ever
    assert {r.status for r in answers} <= {200, 404, 500, 503, 504}, {r.status for r in answers}
    assert all(r.code and r.json["detail"] for r in answers if r.status != 200)
    assert any(r.status == 200 for r in answers)
    t.wait(lambda: t.get(path % last).status == 200)


def test_disk_fills_up(t):
    """The disk is full while a program is recorded and clients read: reading goes on, the recording ends as truncated."""
    if os.geteuid() != 0:
        raise Skip("needs root")
    server = Server(wait=False, settings=["disk_floor = 1M"], command=["unshare", "-m", "--propagation", "private", "sh", "-c",
                    "mount -t tmpfs -o size=48M,mode=0700 none \"$HERMIT_DATA_DIR\" && exec \"$@\"", "sh"])
    try:
        try:
            server.wait_ready()
        except AssertionError:
            raise Skip("no private mount namespace here") from None
        own = api_test.Context(server)
        r = own.post("/api/v1/recordings", {"argv": ["/bin/echo", "first"]})
        assert r.status == 201, r.body
        first = r.json["id"]
        own.wait(lambda: not own.get("/api/v1/recordings/" + first).json["live"])
        before = left(server)
        id = own.post("/api/v1/recordings", {"argv": ["/bin/dd", "if=/dev/urandom", "of=/dev/null", "bs=64k", "count=100000"]}).json["id"]
        with concurrent.futures.ThreadPoolExecutor(10) as pool:
            while own.get("/api/v1/recordings/" + id).json["live"]:
                for r in pool.map(lambda p: own.get("/api/v1/recordings" + p), ["", "/%s/events" % first, "/%s/console" % first, "/%s/events" % id] * 5):
                    assert r.status == 200, r.body
        assert own.get("/api/v1/recordings/" + id).json["state"] == "truncated"
        assert own.post("/api/v1/recordings", {"argv": ["/bin/echo"]}).status == 507
        own.wait(lambda: own.delete("/api/v1/recordings/" + id, headers={"If-Match": "*"}).status == 204)
        own.wait(lambda: own.post("/api/v1/recordings", {"argv": ["/bin/echo"]}).status == 201)
        own.wait(lambda: all(now <= then + 6 for now, then in zip(left(server), before)), timeout=30)
    finally:
        server.stop()
