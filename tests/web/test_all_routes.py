"""What holds for each route of the description, whoever wrote it: answers fit, a token is needed, strangers' pages and --read-only are refused, nothing
ends in a 500."""
import re

from api_test import Server

# Parameters of paths besides {id}; queries that a route cannot do without.
PARAMS = {"n": "5", "i": "0", "jid": "nojob", "sid": "nosession", "bid": "nobookmark"}
QUERIES = {"/api/v1/recordings/{id}/events/locate": {"event": 5}, "/api/v1/recordings/{id}/events/{n}/memory": {"addr": "0x1000", "len": 16},
           "/api/v1/recordings/{id}/source": {"path": "/etc/passwd"}}
OPEN = ("/healthz", "/login")


def fill(path, id, **params):
    return re.sub(r"\{(\w+)\}", lambda m: id if m.group(1) == "id" else params.get(m.group(1), PARAMS.get(m.group(1), "1")), path)


def streams(operation):
    return "text/event-stream" in str(operation.get("responses", {}).get("200", "")) or "Events" in str(operation.get("responses", {}).get("200", ""))


def queries(path, id):
    if path == "/api/v1/diff" or path == "/api/v1/diff/rows":
        return {"left": id, "right": id}
    return QUERIES.get(path, {})


def test_each_get_fits(t):
    ids = [t.finished(name) for name in ("tree", "crash", "files")]
    for method, path, operation in t.description().operations():
        if method != "GET" or streams(operation) or path == "/login":
            continue
        for id in ids if "{id}" in path else ids[:1]:
            r = t.get(fill(path, id), **queries(path, id))
            assert r.status < 500, (path, r.status, r.body[:500])
            if "{id}" in path and "{bid}" not in path:
                missing = t.get(fill(path, "f" * 32), **queries(path, "f" * 32))
                assert missing.status == 404 and missing.code == "no-such-recording", (path, missing.status)


def test_each_other_form(t):
    """All types that a route describes can be asked for, and one that it does not describe is refused."""
    id = t.finished("tree")
    for method, path, operation in t.description().operations():
        answer = t.description().resolve(operation["responses"].get("200", {}))
        types = list(answer.get("content", {}))
        if method != "GET" or streams(operation) or len(types) < 2:
            continue
        for kind in types:
            r = t.get(fill(path, id), headers={"Accept": kind}, **queries(path, id))
            assert r.status != 406 and (r.status != 200 or r.headers["Content-Type"].startswith(kind)), (path, kind, r.status)
        assert t.get(fill(path, id), headers={"Accept": "image/png"}, **queries(path, id)).status in (404, 406), path


def test_each_wants_a_token(t):
    id = t.finished("echo")
    for method, path, _ in t.description().operations():
        if path in OPEN:
            continue
        r = t.request(method, fill(path, id), auth=False)
        assert r.status == 401, (method, path, r.status)


def test_each_change_is_guarded(t):
    id = t.finished("echo")
    for method, path, _ in t.description().operations():
        if method == "GET":
            continue
        r = t.request(method, fill(path, id), headers={"Origin": "http://evil.example"})
        assert r.status == 403 and r.code == "forbidden", (method, path, r.status)
        r = t.request(method, fill(path, id), headers={"Sec-Fetch-Site": "cross-site"})
        assert r.status == 403, (method, path, r.status)
        r = t.request(method, fill(path, id), b"x=1", headers={"Content-Type": "application/x-www-form-urlencoded"})
        assert r.status == 415, (method, path, r.status)


def test_each_change_is_refused_when_read_only(t):
    id = t.finished("echo")
    server = Server(data_dir=t.server.data_dir, settings=["read_only = yes"])
    try:
        for method, path, _ in t.description().operations():
            if method != "GET" and path != "/api/v1/logout":
                r = t.request(method, fill(path, id), server=server)
                assert r.status == 403 and r.code == "read-only", (method, path, r.status)
    finally:
        server.stop()


def test_each_bad_number(t):
    """Whatever stands for a number in a path may be any text."""
    id = t.finished("tree")
    for method, path, operation in t.description().operations():
        if method != "GET" or streams(operation):
            continue
        for bad in ("0", "-1", "x", "999999999", "99999999999999999999", "1e3", "%20", "%C3%A9", "0x5"):
            if "{n}" in path:
                r = t.get(fill(path, id, n=bad), **queries(path, id))
                assert r.status in (400, 404) or bad == "0x5", (path, bad, r.status)
            if "{i}" in path:
                r = t.get(fill(path, id, i=bad), **queries(path, id))
                assert r.status in (200, 400, 404), (path, bad, r.status)
            for name in ("jid", "sid", "bid"):
                if "{%s}" % name in path:
                    assert t.get(fill(path, id, **{name: bad})).status in (400, 404), (path, bad)


def test_each_bad_query(t):
    """Parameters of any content give an answer that fits, and no 500."""
    id = t.finished("tree")
    for method, path, operation in t.description().operations():
        if method != "GET" or streams(operation) or path == "/login":
            continue
        for p in operation.get("parameters", ()):
            p = t.description().resolve(p)
            if p.get("in") != "query":
                continue
            for value in ("", "x", "-1", "0", "18446744073709551616", "\u00e9\u0000".replace("\u0000", ""), "a" * 2000, "'\"<>&;", "[" * 100):
                r = t.get(fill(path, id), **dict(queries(path, id), **{p["name"]: value}))
                assert r.status < 500, (path, p["name"], value[:20], r.status, r.body[:300])


def test_each_bad_body(t):
    id = t.finished("echo")
    for method, path, operation in t.description().operations():
        body = operation.get("requestBody", {}).get("content", {})
        if "application/json" not in body:
            continue
        for bad in (b"", b"{", b"[]", b'"x"', b"null", b'{"nobody knows this": 1}'):
            r = t.request(method, fill(path, id), bad, headers={"Content-Type": "application/json", "If-Match": "*"})
            # a stopped recording, a missing bookmark come first for some
            assert 400 <= r.status < 500, (method, path, bad, r.status)
