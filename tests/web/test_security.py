"""Who may do what, and what hostile or broken clients can do: get an answer, or be cut off; never harm."""
import os
import socket
import subprocess
import time

import api_test
from api_test import Server, Skip

VERSION = "/api/v1/version"


def head(status_line):
    return int(status_line.split(b" ")[1]) if status_line.startswith(b"HTTP/1.") else None


def test_no_token(t):
    for path in (VERSION, "/api/v1/recordings", "/api/v1/openapi.json", "/metrics", "/api/v1/stream"):
        r = t.get(path, auth=False)
        assert r.status == 401 and r.code == "unauthorized", path
        assert r.headers["WWW-Authenticate"].startswith("Bearer")
    for wrong in ("Bearer", "Bearer ", "Bearer x", "Basic " + t.server.token, "Bearer " + t.server.token[:-1], "Bearer " + t.server.token + "0"):
        assert t.get(VERSION, headers={"Authorization": wrong}).status == 401, wrong
    assert t.get(VERSION).status == 200


def test_open_without_token(t):
    assert t.get("/healthz", auth=False).json == {"status": "ok"}
    r = t.get("/", auth=False)
    assert r.status == 200 and r.headers["Content-Type"].startswith("text/html")


def test_token_is_private(t):
    path = os.path.join(t.server.env["XDG_RUNTIME_DIR"], "hermit", "token")
    assert os.stat(path).st_mode & 0o777 == 0o600
    assert len(t.server.token) == 64


def test_login(t):
    url = t.server.login_url()
    path, token = url[url.index("/login"):].split("?token=")
    r = t.get(path, auth=False, check=False)
    assert r.status == 400
    r = t.get(path, auth=False, check=False, **{"token": token})
    assert r.status == 303 and r.headers["Location"] == "/"
    t.check("GET", path, r)
    cookie = r.headers["Set-Cookie"]
    for part in ("HttpOnly", "SameSite=Strict", "Path=/"):
        assert part in cookie, cookie
    assert "Domain" not in cookie
    pair = cookie.split(";")[0]
    assert t.get(path, auth=False, **{"token": token}).status == 403, "a link works once"
    assert t.get(VERSION, auth=False, headers={"Cookie": "a=b; %s; c=d" % pair}).status == 200
    assert t.get(VERSION, auth=False, headers={"Cookie": pair[:-1] + ("0" if pair[-1] != "0" else "1")}).status == 401
    origin = "http://" + t.server.host
    # with a cookie a change needs an origin
    assert t.post("/api/v1/logout", auth=False, headers={"Cookie": pair}).status == 403
    assert t.post("/api/v1/logout", auth=False, headers={"Cookie": pair, "Origin": "http://evil.example"}).status == 403
    r = t.post("/api/v1/logout", auth=False, headers={"Cookie": pair, "Origin": origin})
    assert r.status == 204 and "Max-Age=0" in r.headers["Set-Cookie"]
    assert t.get(VERSION, auth=False, headers={"Cookie": pair}).status == 401


def test_login_guess(t):
    assert t.get("/login", auth=False, **{"token": "0" * 64}).status == 403


def test_wrong_host(t):
    for host in ("evil.example", "evil.example:%d" % t.server.port, "127.0.0.1.evil.example", "localhost.evil.example", "127.0.0.1:80:80", "",
                 "[::1", "127.0.0.1@evil.example", "10.0.0.1"):
        r = t.get(VERSION, headers={"Host": host})
        assert r.status == 421 and r.code == "wrong-host", host
    for host in ("localhost", "LOCALHOST:1", "127.0.0.1", "[::1]:%d" % t.server.port):
        assert t.get(VERSION, headers={"Host": host}).status == 200, host
    # also for the page and for what needs no token
    assert t.get("/", auth=False, headers={"Host": "evil.example"}).status == 421
    assert t.get("/healthz", auth=False, headers={"Host": "evil.example"}).status == 421


def test_no_host(t):
    assert head(t.raw(b"GET /healthz HTTP/1.1\r\n\r\n", half_close=True)) in (400, 421)
    assert head(t.raw(b"GET /healthz HTTP/1.0\r\n\r\n", half_close=True)) in (400, 421)


def test_foreign_origin(t):
    id = t.recording("echo")
    for origin in ("http://evil.example", "null", "https://127.0.0.1.evil.example", "http://127.0.0.1:1", "file://"):
        r = t.patch("/api/v1/recordings/" + id, {"label": "x"}, headers={"Origin": origin})
        assert r.status == 403 and r.code == "forbidden", origin
        assert t.get("/api/v1/stream", headers={"Origin": origin}).status == 403
        r = t.get(VERSION, headers={"Origin": origin})
        assert r.status == 200 and "Access-Control-Allow-Origin" not in r.headers
    r = t.patch("/api/v1/recordings/" + id, {"keep": False}, headers={"Origin": "http://" + t.server.host})
    assert r.status == 428, "our own origin passes"


def test_cross_site(t):
    for site in ("cross-site", "same-site"):
        r = t.get(VERSION, headers={"Sec-Fetch-Site": site})
        assert r.status == 403, site
        r = t.get("/icon.svg", auth=False, headers={"Sec-Fetch-Site": site, "Sec-Fetch-Mode": "no-cors"})
        assert r.status in (403, 404)
        # a link to the page may be followed; it holds no secrets
        assert t.get("/", auth=False, headers={"Sec-Fetch-Site": site, "Sec-Fetch-Mode": "navigate"}).status == 200
        assert t.get(VERSION, headers={"Sec-Fetch-Site": site, "Sec-Fetch-Mode": "navigate"}).status == 403
    assert t.get(VERSION, headers={"Sec-Fetch-Site": "same-origin"}).status == 200
    assert t.get(VERSION, headers={"Sec-Fetch-Site": "none"}).status == 200


def test_no_preflight(t):
    r = t.request("OPTIONS", VERSION, headers={"Origin": "http://evil.example", "Access-Control-Request-Method": "PUT"})
    assert r.status == 405 and r.headers["Allow"] == "GET, HEAD"


def test_security_headers(t):
    for path in ("/", VERSION, "/nowhere"):
        r = t.get(path)
        policy = r.headers["Content-Security-Policy"]
        assert "script-src 'self'" in policy and "frame-ancestors 'none'" in policy and "unsafe" not in policy
        assert r.headers["X-Content-Type-Options"] == "nosniff"
        assert r.headers["Referrer-Policy"] == "no-referrer"
        assert r.headers["Cross-Origin-Opener-Policy"] == "same-origin"
        assert r.headers["Cross-Origin-Resource-Policy"] == "same-origin"
        assert "camera=()" in r.headers["Permissions-Policy"]


def test_content_type(t):
    id = t.recording("echo")
    path = "/api/v1/recordings/%s/signal" % id
    for kind in ("text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x", "application/jsonx", None):
        r = t.post(path, b'{"signal": "SIGINT"}', headers={"Content-Type": kind})
        assert r.status == 415 and r.code == "unsupported-media-type", kind
    r = t.post(path, b'{"signal": "SIGINT"}', headers={"Content-Type": "application/json; charset=utf-8"})
    assert r.status == 409
    assert t.post("/api/v1/recordings/import", b"x", headers={"Content-Type": "text/plain"}).status == 415


def test_bad_json(t):
    path = "/api/v1/recordings/%s/signal" % t.recording("echo")
    for body in (b"", b"{", b"[]", b"1", b"null", b'{"a":1,"a":2}', b'{"signal":"SIGINT"} x', b"\xff\xfe", b'{"signal": "\x00"}', b"[" * 100000):
        r = t.post(path, body, headers={"Content-Type": "application/json"})
        assert r.status == 400 and r.code == "bad-request", body[:20]


def test_traversal(t):
    secret = "root:"
    for path in ("/../../../../etc/passwd", "/..%2f..%2f..%2fetc/passwd", "/%2e%2e/%2e%2e/etc/passwd", "/.%2e/etc/passwd", "//etc/passwd", "/ui/../../etc/passwd",
                 "/api/v1/recordings/..%2f..%2fetc%2fpasswd", "/api/v1/recordings/%2e%2e/export", "/api/v1/recordings/../../export",
                 "/api/v1/recordings/tmp/export", "/api/v1/recordings/blobs", "/api/v1/recordings/" + "0" * 31 + "%2f", "/api/v1/recordings/" + "G" * 32,
                 "/index.html/..", "/.", "/..", "/%5c..%5c"):
        r = t.get(path, check=False)
        assert r.status in (400, 404), (path, r.status)
        assert secret.encode() not in r.body, path
        assert r.headers["Content-Type"] == "application/problem+json"


def test_strange_urls(t):
    for path in ("/healthz%00", "/healthz%00.html", "/healthz%", "/healthz%4", "/healthz%zz", "/healthz?a=%00", "/healthz?%=1", "/" + "a/" * 40,
                 "/healthz?" + "a=1&" * 100):
        r = t.get(path, check=False)
        assert r.status == 400 and r.code == "bad-request", (path, r.status)
    assert t.get("/health%7a").status == 200
    assert t.get("/healthz/").status == 404
    assert t.get("/HEALTHZ").status == 404
    assert t.get("/healthz?&&a&=&b=c=d").status == 200
    host = b"Host: " + t.server.host.encode() + b"\r\n"
    for line in (b"GET healthz HTTP/1.1", b"GET http://evil.example/healthz HTTP/1.1", b"GET * HTTP/1.1", b"GET /a\x01b HTTP/1.1", b"GET /\xff HTTP/1.1",
                 b"\x00\x01\x02\x03", b"GET", b"G" * 100, b"PRI * HTTP/2.0", b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03"):
        got = t.raw(line + b"\r\n" + host + b"\r\n", half_close=True)
        assert head(got) in (None, 400, 404, 405, 421, 505), (line, got[:60])
    assert t.get("/healthz").status == 200


def test_header_injection(t):
    r = t.get("/healthz", headers={"X-Request-Id": "good-Id.1_"})
    assert r.headers["X-Request-Id"] == "good-Id.1_"
    r = t.get("/healthz", headers={"X-Request-Id": "bad id<script>"})
    assert "<" not in r.headers["X-Request-Id"]
    r = t.get("/api/v1/recordings/" + "a" * 32 + "%0d%0aX-Evil:%201", check=False)
    assert r.status == 404 and "X-Evil" not in r.headers


def test_large_headers(t):
    assert t.get("/healthz", headers={"X-Large": "x" * 30000}).status == 200
    # somewhat too large: a problem like all others
    for path, headers in (("/healthz", {"X-Large": "x" * 40000}), ("/healthz?" + "a" * 40000, {})):
        r = t.get(path, headers=headers, check=False)
        assert r.status == 431 and r.code == "headers-too-large", (r.status, r.body[:100])
    for data in (b"X-Large: " + b"x" * 100000 + b"\r\n", b"".join(b"X-%d: y\r\n" % i for i in range(20000))):
        got = t.raw(b"GET /healthz HTTP/1.1\r\nHost: " + t.server.host.encode() + b"\r\n" + data + b"\r\n")
        assert head(got) in (None, 431, 413, 400), got[:80]
    got = t.raw(b"GET /" + b"a" * 200000 + b" HTTP/1.1\r\nHost: x\r\n\r\n")
    assert head(got) in (None, 414, 431, 400), got[:80]
    assert t.get("/healthz").status == 200


def test_large_body(t):
    path = "/api/v1/recordings/%s/signal" % t.recording("echo")
    r = t.post(path, b'{"a": "' + b"x" * (5 << 20) + b'"}', headers={"Content-Type": "application/json"})
    assert r.status == 413 and r.code == "too-large"
    # announced larger than anything is read of it: answered at once
    got = t.raw(b"POST " + path.encode() + b" HTTP/1.1\r\nHost: %s\r\nAuthorization: Bearer %s\r\nContent-Type: application/json\r\nContent-Length: 99999999999\r\n\r\n"
                % (t.server.host.encode(), t.server.token.encode()))
    assert head(got) == 413, got[:80]
    # no length at all, and no end
    with t.server.connect() as s:
        s.sendall(b"POST " + path.encode() + b" HTTP/1.1\r\nHost: %s\r\nAuthorization: Bearer %s\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n"
                  % (t.server.host.encode(), t.server.token.encode()))
        sent = 0
        try:
            while sent < 64 << 20:
                s.sendall(b"10000\r\n" + b"x" * 0x10000 + b"\r\n")
                sent += 0x10000
        except OSError:
            pass
        assert sent < 64 << 20, "an endless body is cut off"
    for length in (b"-1", b"x", b"99999999999999999999999999", b"1, 2"):
        got = t.raw(b"POST " + path.encode() + b" HTTP/1.1\r\nHost: x\r\nContent-Length: " + length + b"\r\n\r\n{}", half_close=True)
        assert head(got) in (None, 400, 413, 421), got[:80]


def test_aborted_requests(t):
    path = b"/api/v1/recordings/import"
    start = b"POST %s HTTP/1.1\r\nHost: %s\r\nAuthorization: Bearer %s\r\nContent-Type: application/x-tar\r\nContent-Length: 1000000\r\n\r\n" % (
        path, t.server.host.encode(), t.server.token.encode())
    before = sorted(os.listdir(os.path.join(t.server.data_dir, "tmp"))) if os.path.isdir(os.path.join(t.server.data_dir, "tmp")) else []
    for n in (1, 10, len(start) // 2, len(start), len(start) + 5000):
        with t.server.connect() as s:
            s.sendall((start + b"x" * 5000)[:n])
    time.sleep(0.5)
    after = sorted(os.listdir(os.path.join(t.server.data_dir, "tmp"))) if os.path.isdir(os.path.join(t.server.data_dir, "tmp")) else []
    assert before == after, "an aborted upload leaves nothing"
    assert t.get("/healthz").status == 200


def test_pipelined(t):
    one = b"GET /healthz HTTP/1.1\r\nHost: %s\r\n\r\n" % t.server.host.encode()
    got = t.raw(one * 5 + one.replace(b"\r\n\r\n", b"\r\nConnection: close\r\n\r\n"))
    assert got.count(b"HTTP/1.1 200") == 6 and got.count(b'{"status":"ok"}') == 6, got


def test_smuggling(t):
    for headers in (b"Content-Length: 5\r\nTransfer-Encoding: chunked\r\n", b"Content-Length: 5\r\nContent-Length: 6\r\n"):
        got = t.raw(b"POST /api/v1/logout HTTP/1.1\r\nHost: %s\r\n%s\r\n0\r\n\r\nGET /healthz HTTP/1.1\r\nHost: %s\r\n\r\n" % (
            t.server.host.encode(), headers, t.server.host.encode()), half_close=True, timeout=30)
        assert b'{"status":"ok"}' not in got or head(got) in (400, 401), got[:200]
    assert t.get("/healthz").status == 200


def test_sse_disconnect(t):
    before = active(t)
    sockets = []
    for _ in range(20):
        s = t.server.connect()
        s.sendall(b"GET /api/v1/stream HTTP/1.1\r\nHost: %s\r\nAuthorization: Bearer %s\r\n\r\n" % (t.server.host.encode(), t.server.token.encode()))
        assert b"200 OK" in s.recv(100)
        sockets.append(s)
    t.wait(lambda: active(t) >= before + 20)
    for i, s in enumerate(sockets):
        if i % 2:
            s.shutdown(socket.SHUT_WR)
        else:
            s.close()
    t.wait(lambda: active(t) <= before + 1, timeout=15)
    for s in sockets:
        s.close()


def active(t):
    lines = t.get("/metrics").body.decode().splitlines()
    return [int(l.split()[1]) for l in lines if l.startswith("hermit_http_active_requests ")][0]


def test_slow_clients(t):
    """A client that sends a byte now and then is cut off; the others notice nothing."""
    sockets = [t.server.connect(60) for _ in range(10)]
    begun = time.monotonic()
    alive = len(sockets)
    while alive and time.monotonic() - begun < 25:
        alive = 0
        for s in sockets:
            try:
                s.sendall(b"G")
                s.settimeout(0.01)
                alive += s.recv(1) != b""
            except socket.timeout:
                alive += 1
            except OSError:
                pass
        r = t.get("/healthz")
        assert r.status == 200
        time.sleep(0.5)
    took = time.monotonic() - begun
    for s in sockets:
        s.close()
    assert not alive and took > 5, "cut after %.1f s, %d alive" % (took, alive)


def test_many_connections(t):
    """Silent connections take no more than their share; beyond the limit there is an answer."""
    server = Server(settings=["max_connections = 16"])
    try:
        idle = [server.connect() for _ in range(16)]
        time.sleep(0.3)
        r = t.get("/healthz", auth=False, check=False, server=server)
        assert r.status == 503 and r.code == "unavailable" and r.headers["Retry-After"] == "1", r.status
        for s in idle:
            s.close()
        t.wait(lambda: t.get("/healthz", auth=False, check=False, server=server).status == 200)
    finally:
        server.stop()


def test_read_only(t):
    id = t.recording("echo")
    server = Server(data_dir=t.server.data_dir, settings=["read_only = yes"])
    try:
        etag = t.get("/api/v1/recordings/" + id, server=server).headers["ETag"]
        match = {"If-Match": etag}
        tar = {"Content-Type": "application/x-tar"}
        for r in (t.patch("/api/v1/recordings/" + id, {"label": "x"}, headers=match, server=server),
                  t.delete("/api/v1/recordings/" + id, headers=match, server=server),
                  t.post("/api/v1/recordings", {"argv": ["/bin/true"]}, server=server),
                  t.post("/api/v1/recordings/import", b"x", headers=tar, server=server),
                  t.post("/api/v1/recordings/%s/stop" % id, server=server)):
            assert r.status == 403 and r.code == "read-only", r.body
        assert t.get(VERSION, server=server).json["read_only"] is True
        assert t.get("/api/v1/recordings/" + id, server=server).status == 200
    finally:
        server.stop()


def test_unix_socket(t):
    path = os.path.join(t.server.home, "web.sock")
    server = Server(listen="unix:" + path)
    try:
        assert os.stat(path).st_mode & 0o777 == 0o600
        # who may connect is known: no token
        assert t.get(VERSION, auth=False, check=False, server=server).status == 200
        assert t.get(VERSION, auth=False, check=False, server=server, headers={"Host": "evil.example"}).status == 421
    finally:
        server.stop()
    assert not os.path.exists(path)


def test_other_user(t):
    if os.geteuid() != 0:
        raise Skip("needs root to be somebody else")
    path = os.path.join(t.server.home, "other.sock")
    os.chmod(t.server.home, 0o755)
    server = Server(listen="unix:" + path)
    try:
        os.chmod(path, 0o666)  # even so
        script = ("import socket,sys\ns=socket.socket(socket.AF_UNIX)\ns.settimeout(10)\ns.connect(sys.argv[1])\n"
                  "s.sendall(b'GET /api/v1/version HTTP/1.1\\r\\nHost: localhost\\r\\n\\r\\n')\nprint(s.recv(100))")
        r = subprocess.run(["python3", "-c", script, path], user=65534, group=65534, extra_groups=[], capture_output=True, text=True, timeout=30, check=False,
                           cwd="/", env={"PATH": "/usr/bin:/bin"})
        assert "200" not in r.stdout, r.stdout
    finally:
        server.stop()


def test_remote_listen_refused(t):
    server = Server(listen="0.0.0.0:%d" % api_test.free_port(), wait=False)
    try:
        assert server.process.wait(20) != 0
        assert "hosts" in server.log()
    finally:
        server.stop()


def test_port_taken(t):
    server = Server(listen="127.0.0.1:%d" % t.server.port, wait=False)
    try:
        assert server.process.wait(20) != 0
        assert str(t.server.port) in server.log()
    finally:
        server.stop()


def test_symlinks_in_store(t):
    """What lies in the store and is no recording is not served."""
    id = "e" * 32
    link = os.path.join(t.server.data_dir, id)
    os.symlink("/etc", link)
    inside = os.path.join(t.server.data_dir, "d" * 32)
    os.mkdir(inside)
    os.symlink("/etc/passwd", os.path.join(inside, "manifest.json"))
    os.symlink("/etc/passwd", os.path.join(inside, "events.journal"))
    try:
        time.sleep(0.5)
        for one in (id, "d" * 32):
            for path in ("", "/export", "/stream"):
                r = t.get("/api/v1/recordings/%s%s" % (one, path), check=False)
                assert b"root:" not in r.body, path
                assert r.status in (200, 404, 409, 422), (path, r.status, r.body)
                assert path != "/export" or r.status != 200
    finally:
        os.unlink(link)
        for name in os.listdir(inside):
            os.unlink(os.path.join(inside, name))
        os.rmdir(inside)


def test_log_has_no_secrets(t):
    t.get("/login", auth=False, **{"token": "5ecre7" * 8})
    log = t.server.log()
    assert "5ecre7" not in log and t.server.token not in log
