"""What hermitd does by itself: retention, the integrity scan, a full disk; and what it tells a service manager."""
import contextlib
import os
import signal
import socket
import subprocess
import tempfile
import time

import api_test
from api_test import Context, Server, Skip

RECORDINGS = "/api/v1/recordings"


@contextlib.contextmanager
def hermitd(*settings, **k):
    server = Server(settings=settings, **k)
    context = Context(server)
    try:
        yield context
    finally:
        server.stop()


def shown(t, id):
    r = t.get("%s/%s" % (RECORDINGS, id))
    return r.json if r.status == 200 else None


def test_retention_size(t):
    """The oldest go, those with a keep mark stay; a line in the log for each."""
    with hermitd("max_size = 1") as u:
        ids = [u.record("/bin/echo", str(n)) for n in range(2)]
        for id in ids:
            u.wait(lambda: shown(u, id))
        etag = u.get("%s/%s" % (RECORDINGS, ids[0])).headers["ETag"]
        assert u.patch("%s/%s" % (RECORDINGS, ids[0]), {"keep": True}, headers={"If-Match": etag}).status == 200
        u.wait(lambda: not shown(u, ids[1]), timeout=60)
        assert shown(u, ids[0])["keep"]
        assert "retention: recording %s" % ids[1] in u.server.log()


def test_scan(t):
    """Damage is found without anybody asking."""
    with hermitd("scan_every = 1s") as u:
        id = u.record("/bin/echo", "x")
        u.wait(lambda: shown(u, id) and shown(u, id)["state"] == "sealed", timeout=30)
        with open("%s/%s/events.xz" % (u.server.data_dir, id), "r+b") as f:
            f.seek(200)
            f.write(b"damage")
        u.wait(lambda: shown(u, id)["state"] == "broken", timeout=90)
        assert "events.xz" in shown(u, id)["error"]


def test_disk_floor(t):
    with hermitd("disk_floor = 1000000T") as u:
        r = u.post(RECORDINGS, {"argv": ["/bin/true"]})
        assert r.status == 507 and r.code == "disk-full" and "disk_floor" in r.json["detail"], r.body


def test_full_disk(t):
    """A disk that fills up ends what is being recorded, with the reason in the recording."""
    mount = tempfile.mkdtemp(prefix="hermit-full-")
    if os.geteuid() != 0 or subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64M,mode=0700", "none", mount], capture_output=True).returncode != 0:
        os.rmdir(mount)
        raise Skip("cannot mount a small file system")
    try:
        with hermitd("disk_floor = 16M", data_dir=mount) as u:
            r = u.post(RECORDINGS, {"argv": ["/bin/sleep", "1000"]})
            assert r.status == 201, r.body
            id = r.json["id"]
            u.wait(lambda: shown(u, id)["live"])
            with open(mount + "/filler", "wb") as f:
                f.write(bytes(52 << 20))
            u.wait(lambda: not shown(u, id)["live"], timeout=30)
            u.wait(lambda: shown(u, id)["state"] == "truncated")
            assert "the disk is full" in shown(u, id)["reason"] and "disk_floor" in shown(u, id)["reason"]
            os.unlink(mount + "/filler")
            u.wait(lambda: u.post(RECORDINGS, {"argv": ["/bin/true"]}).status == 201)
    finally:
        subprocess.run(["umount", "-l", mount], check=True)
        os.rmdir(mount)


def test_service_manager(t):
    """A socket that was passed, and readiness, watchdog and stop as systemd wants to know them."""
    home = tempfile.mkdtemp(prefix="hermit-sd-")
    os.mkdir(home + "/run", 0o700)
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as manager, socket.socket() as listener:
        manager.bind(home + "/notify")
        manager.settimeout(30)
        listener.bind(("127.0.0.1", 0))
        listener.listen(16)
        port = listener.getsockname()[1]
        env = dict(os.environ, XDG_RUNTIME_DIR=home + "/run", HERMIT_DATA_DIR=home + "/data", XDG_CONFIG_HOME=home, NOTIFY_SOCKET=home + "/notify",
                   LISTEN_FDS="1", WATCHDOG_USEC="300000", PASSED=str(listener.fileno()))
        script = "export LISTEN_PID=$$; eval \"exec 3<&$PASSED\"; exec " + api_test.HERMITD
        with open(home + "/log", "wb") as log:
            p = subprocess.Popen(["/bin/sh", "-c", script], env=env, pass_fds=[listener.fileno()], stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        try:
            first = manager.recv(1000)
            assert first.startswith(b"READY=1\n") and str(port).encode() in first, first
            assert manager.recv(1000) == b"WATCHDOG=1"
            with socket.create_connection(("127.0.0.1", port), timeout=20) as c:
                c.sendall(b"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1:%d\r\nConnection: close\r\n\r\n" % port)
                assert c.recv(12) == b"HTTP/1.1 200"
            p.send_signal(signal.SIGTERM)
            until = time.monotonic() + 20
            while manager.recv(1000) != b"STOPPING=1":
                assert time.monotonic() < until
            assert p.wait(20) == 0
        finally:
            p.kill()
            p.wait()
    subprocess.run(["rm", "-rf", home], check=True)
