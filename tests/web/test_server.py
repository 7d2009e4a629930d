"""Conditions, ranges, methods, the page: what every route has from the server."""
import concurrent.futures
import gzip
import os
import re
import time

from api_test import Server, Skip


def test_head(t):
    for path in ("/api/v1/version", "/", "/healthz", "/api/v1/recordings/" + t.recording("echo")):
        whole, head = t.get(path), t.request("HEAD", path)
        assert head.status == 200 and head.body == b""
        assert head.headers["Content-Length"] == whole.headers["Content-Length"], path
        assert head.headers["Content-Type"] == whole.headers["Content-Type"]
    assert t.request("HEAD", "/nowhere").status == 404


def test_methods(t):
    r = t.request("DELETE", "/api/v1/version")
    assert r.status == 405 and r.headers["Allow"] == "GET, HEAD"
    r = t.request("PUT", "/api/v1/recordings")
    assert r.status == 405 and r.headers["Allow"] == "GET, HEAD, POST"
    assert t.request("BREW", "/").status == 405
    assert t.request("BREW", "/nowhere").status == 404


def test_not_found(t):
    for path in ("/nowhere", "/api/v1", "/api/v1/", "/api/v1/nowhere", "/api/v2/version", "/api/v1/version/"):
        r = t.get(path)
        assert r.status == 404 and r.code == "not-found" and r.json["instance"] == path


def test_about(t):
    assert t.get("/api/v1/version").json["name"] == "hermit"
    storage = t.get("/api/v1/storage").json
    assert storage["data_dir"] == t.server.data_dir
    settings = t.get("/api/v1/settings")
    assert t.server.token.encode() not in settings.body
    assert settings.json["addresses"] == ["http://" + t.server.host]


def test_openapi_not_modified(t):
    r = t.get("/api/v1/openapi.json")
    assert t.get("/api/v1/openapi.json", headers={"If-None-Match": r.headers["ETag"]}).status == 304


def test_metrics(t):
    text = t.get("/metrics").body.decode()
    for line in text.splitlines():
        assert re.fullmatch(r"# (HELP|TYPE) \w+ .*|[a-z_]+(\{[^}]*\})? -?[0-9.e+]+", line), line
    before = count(text, 'status="2xx"')
    t.get("/healthz")
    assert count(t.get("/metrics").body.decode(), 'status="2xx"') >= before + 1


def count(text, what):
    return int(re.search(r"^hermit_http_requests_total\{%s\} (\d+)$" % what, text, re.M).group(1))


def test_page(t):
    r = t.get("/", auth=False)
    assert r.headers["Cache-Control"] == "no-cache" and r.headers["Vary"] == "Accept-Encoding"
    again = t.get("/", auth=False, headers={"If-None-Match": 'W/"x", ' + r.headers["ETag"]})
    assert again.status == 304 and again.body == b"" and again.headers["ETag"] == r.headers["ETag"]
    packed = t.get("/", auth=False, headers={"Accept-Encoding": "br, gzip;q=0.5"})
    if packed.headers.get("Content-Encoding"):
        assert gzip.decompress(packed.body) == r.body and packed.headers["ETag"] != r.headers["ETag"]
    assert t.get("/", auth=False, headers={"Accept-Encoding": "gzip;q=0"}).headers.get("Content-Encoding") is None
    # all that the page names is there
    for name in re.findall(rb'(?:src|href)="([a-z][a-z0-9-]*\.\w+)"', r.body):
        part = t.get("/" + name.decode(), auth=False)
        assert part.status == 200, name
    assert b"<script>" not in r.body and b"style=" not in r.body, "the policy allows no code in the page"


def test_page_is_whole(t):
    """Each file of web/ui is served as it is."""
    top = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "web", "ui")
    types = {"js": "text/javascript", "css": "text/css", "svg": "image/svg+xml", "html": "text/html"}
    for name in sorted(os.listdir(top)):
        kind = types.get(name.rpartition(".")[2])
        if kind:
            r = t.get("/" + name, auth=False)
            with open(os.path.join(top, name), "rb") as f:
                assert r.body == f.read(), name
            assert r.headers["Content-Type"].startswith(kind), name


def test_ranges(t):
    path = "/api/v1/recordings/%s/export" % t.finished("echo")
    whole = t.get(path)
    n, etag = len(whole.body), whole.headers["ETag"]
    assert whole.status == 200 and whole.headers["Accept-Ranges"] == "bytes" and int(whole.headers["Content-Length"]) == n
    for spec, first, last in (("0-0", 0, 0), ("5-9", 5, 9), ("%d-" % (n - 3), n - 3, n - 1), ("-4", n - 4, n - 1), ("10-%d" % (n * 2), 10, n - 1), ("-%d" % (n * 2), 0, n - 1)):
        r = t.get(path, headers={"Range": "bytes=" + spec})
        assert r.status == 206 and r.body == whole.body[first:last + 1], spec
        assert r.headers["Content-Range"] == "bytes %d-%d/%d" % (first, last, n)
        assert r.headers["ETag"] == etag
    for spec in ("%d-" % n, "-0"):
        r = t.get(path, headers={"Range": "bytes=" + spec})
        assert r.status == 416 and r.headers["Content-Range"] == "bytes */%d" % n and r.code == "range-not-satisfiable"
    for spec in ("bytes=1-0", "bytes=x", "lines=1-2", "bytes=0-1,5-6", "bytes=", "bytes=-", "bytes=1-2x"):
        assert t.get(path, headers={"Range": spec}).status == 200, spec
    assert t.get(path, headers={"Range": "bytes=0-1", "If-Range": etag}).status == 206
    assert t.get(path, headers={"Range": "bytes=0-1", "If-Range": '"other"'}).status == 200
    assert t.get(path, headers={"Range": "bytes=0-1", "If-Range": "W/" + etag}).status == 200
    assert t.get(path, headers={"Range": "bytes=0-1", "If-None-Match": etag}).status == 304
    head = t.request("HEAD", path)
    assert head.status == 200 and int(head.headers["Content-Length"]) == n
    assert "attachment" in whole.headers["Content-Disposition"]


def test_bad_parameters(t):
    for query in ({"limit": 0}, {"limit": 1001}, {"limit": "x"}, {"limit": ""}, {"limit": -1}, {"sort": "size"}, {"order": "up"}, {"exit": "9"}, {"cursor": "x"},
                  {"cursor": "0-0-" + "a" * 32}):
        r = t.get("/api/v1/recordings", **query)
        assert r.status == 400 and r.code == "bad-request", query


def test_many_readers(t):
    """More recordings are read at once than there are readers: all get their answer, and nothing stays open."""
    ids = [t.record("/bin/echo", str(i)) for i in range(24)]
    t.wait(lambda: all(t.get("/api/v1/recordings/" + i).status == 200 for i in ids))
    with concurrent.futures.ThreadPoolExecutor(48) as pool:
        answers = list(pool.map(lambda i: t.get("/api/v1/recordings/%s/stream" % i, headers={"Last-Event-ID": "0"}, check=False), ids * 4))
    for r in answers:
        assert r.status == 200 and b"event: output" in r.body and b"event: end" in r.body, r.body[-300:]

    def target(link):
        try:
            return os.readlink(link)
        except FileNotFoundError:  # closed since it was listed
            return ""

    def files():
        names = [target("/proc/%d/fd/%s" % (t.server.process.pid, n)) for n in os.listdir("/proc/%d/fd" % t.server.process.pid)]
        return [n for n in names if any(i in n for i in ids)]
    t.wait(lambda: not files(), timeout=20)


def test_removed_while_read(t):
    id = t.record("/bin/sh", "-c", "for i in 1 2 3 4 5 6 7 8 9; do /bin/echo $i; done")
    t.wait(lambda: t.get("/api/v1/recordings/" + id).status == 200)

    def ask(i):
        if i == 20:
            return t.delete("/api/v1/recordings/" + id, headers={"If-Match": "*"}).status
        return t.get("/api/v1/recordings/%s%s" % (id, ("", "/export", "/stream?after=0")[i % 3]), check=False).status
    with concurrent.futures.ThreadPoolExecutor(16) as pool:
        statuses = list(pool.map(ask, range(60)))
    assert statuses[20] in (204, 409) and all(s in (200, 404, 409, 503) for i, s in enumerate(statuses) if i != 20), statuses


def test_head_of_streams(t):
    for path in ("/api/v1/stream", "/api/v1/recordings/%s/stream" % t.finished("echo")):
        r = t.request("HEAD", path)
        assert r.status == 200 and r.headers["Content-Type"] == "text/event-stream" and r.body == b""


def test_stop_with_streams_open(t):
    """A stop does not wait for those who only listen."""
    server = Server()
    sockets = []
    for _ in range(10):
        s = server.connect()
        s.sendall(b"GET /api/v1/stream HTTP/1.1\r\nHost: %s\r\nAuthorization: Bearer %s\r\n\r\n" % (server.host.encode(), server.token.encode()))
        assert b"200" in s.recv(50)
        sockets.append(s)
    sockets += [server.connect() for _ in range(5)]
    begun = time.monotonic()
    assert server.stop() == 0
    assert time.monotonic() - begun < 8
    for s in sockets:
        s.close()


def test_memory(t):
    """Two hundred streams, and two hundred clients that ask for the list."""
    if os.environ.get("HERMIT_SANITIZERS", "no") != "no":
        raise Skip("sanitizers need memory of their own")
    server = Server(settings=["max_connections = 512"])
    sockets = []
    try:
        request = b"GET /api/v1/stream HTTP/1.1\r\nHost: %s\r\nAuthorization: Bearer %s\r\n\r\n" % (server.host.encode(), server.token.encode())
        for _ in range(200):
            s = server.connect()
            s.sendall(request)
            sockets.append(s)
        assert all(b"200" in s.recv(50) for s in sockets)
        others = [server.connect() for _ in range(200)]
        sockets += others
        for _ in range(3):
            for s in others:
                s.sendall(request.replace(b"/stream", b"/recordings"))
            assert all(b"200" in s.recv(100000) for s in others)
        assert server.rss_kib() < 128 << 10, "%d KiB" % server.rss_kib()
    finally:
        for s in sockets:
            s.close()
        server.stop()
