"""Recordings: list, get, label, remove, export, import, start, end, watch."""
import concurrent.futures
import io
import os
import shutil
import subprocess
import tarfile
import tempfile
import time
import urllib.parse

from api_test import Server, Skip


def url(id, more=""):
    return "/api/v1/recordings/%s%s" % (id, more)


def test_get(t):
    id = t.finished("fail")
    r = t.get(url(id)).json
    assert r["id"] == id and r["argv"] == ["/bin/sh", "-c", "ls /nowhere; exit 3"] and r["program"] == "sh"
    assert r["exit"] == {"kind": "exited", "code": 3} and r["status"] == 3 << 8 and not r["live"]
    assert r["crash"] is None and r["events"] > 10 and r["processes"] == 2
    assert int(r["duration_ns"]) > 0 and abs(int(r["started_ns"]) / 1e9 - time.time()) < 3600
    assert any(e.startswith("PATH=") for e in r["env"]) and r["cwd"] == os.getcwd()
    assert {s["name"] for s in r["streams"]} == {"events", "data"} and r["blobs"]["count"] > 0


def test_crash(t):
    r = t.get(url(t.finished("crash"))).json
    assert r["exit"] == {"kind": "signaled", "signal": "SIGSEGV"}
    assert r["crash"]["signal"] == "SIGSEGV" and r["crash"]["thread"] == 1 and 1 <= r["crash"]["event"] <= r["events"]


def test_no_such(t):
    for more in ("", "/export", "/stream"):
        r = t.get(url("f" * 32, more))
        assert r.status == 404 and r.code == "no-such-recording", more
        assert t.get(url("f" * 31, more)).status == 404
        assert t.get(url("F" * 32, more)).status == 404
    assert t.patch(url("f" * 32), {"label": "x"}).status == 404
    assert t.delete(url("f" * 32)).status == 404
    assert t.post(url("f" * 32, "/stop")).status == 404


def test_list(t):
    names = ["echo", "fail", "crash", "tree"]
    ids = [t.finished(n) for n in names]
    listed = t.get("/api/v1/recordings", limit=1000).json
    assert listed["total"] == len(listed["items"]) >= 4 and listed["next_cursor"] is None
    assert set(ids) <= {r["id"] for r in listed["items"]}
    started = [int(r["started_ns"]) for r in listed["items"] if not r["live"]]
    assert started == sorted(started, reverse=True)
    one = t.get(url(ids[0])).json
    entry = [r for r in listed["items"] if r["id"] == ids[0]][0]
    assert all(one[k] == v for k, v in entry.items()), "the list shows what the recording shows"


def test_list_filters(t):
    echo, fail, crash = t.finished("echo"), t.finished("fail"), t.finished("crash")

    def found(**query):
        return {r["id"] for r in t.get("/api/v1/recordings", limit=1000, **query).json["items"]}

    assert echo in found(q="ECHO hello") and fail not in found(q="ECHO hello")
    assert found(q=crash[:12]) == {crash}
    assert found(q="nothing has these words") == set()
    assert echo in found(exit="ok") and fail not in found(exit="ok") and crash not in found(exit="ok")
    assert {fail, crash} <= found(exit="failed") and echo not in found(exit="failed")
    assert crash in found(exit="signaled") and fail not in found(exit="signaled")
    state = t.get(url(echo)).json["state"]
    assert echo in found(state=state) and found(state="broken").isdisjoint({echo})
    assert found(label="no such label") == set()


def test_list_sorted(t):
    for name in ("echo", "fail", "crash", "tree"):
        t.finished(name)
    keys = {"started": lambda r: int(r["started_ns"]), "duration": lambda r: int(r["duration_ns"] or 0), "bytes": lambda r: r["bytes"],
            "events": lambda r: r["events"], "command": lambda r: r["command"].lower(), "label": lambda r: (r["label"] or "").lower(), "state": lambda r: r["state"]}
    for sort, key in keys.items():
        for order in ("asc", "desc"):
            items = [r for r in t.get("/api/v1/recordings", sort=sort, order=order, limit=1000).json["items"] if not r["live"]]
            values = [key(r) for r in items]
            assert values == sorted(values, reverse=order == "desc"), (sort, order)


def test_list_pages(t):
    for name in ("echo", "fail", "crash", "tree", "files"):
        t.finished(name)
    whole = [r["id"] for r in t.get("/api/v1/recordings", sort="events", limit=1000).json["items"]]
    got, cursor = [], None
    while True:
        r = t.get("/api/v1/recordings", sort="events", limit=2, cursor=cursor)
        got += [x["id"] for x in r.json["items"]]
        cursor = r.json["next_cursor"]
        assert r.json["total"] == len(whole)
        if not cursor:
            assert "Link" not in r.headers
            break
        assert len(r.json["items"]) == 2 and 'rel="next"' in r.headers["Link"]
    assert got == whole
    first = t.get("/api/v1/recordings", sort="events", limit=2).json["next_cursor"]
    assert t.get("/api/v1/recordings", sort="bytes", limit=2, cursor=first).status == 400, "a cursor is of one list"


def test_list_not_modified(t):
    t.finished("echo")

    def unchanged():
        etag = t.get("/api/v1/recordings").headers["ETag"]
        return t.get("/api/v1/recordings", headers={"If-None-Match": etag}).status == 304
    t.wait(unchanged)


def test_label(t):
    id = t.finished("tree")
    r = t.get(url(id))
    etag = r.headers["ETag"]
    assert t.patch(url(id), {"label": "x"}).status == 428
    assert t.patch(url(id), {"label": "x"}, headers={"If-Match": '"other"'}).status == 412
    r = t.patch(url(id), {"label": "first", "keep": True}, headers={"If-Match": etag})
    assert r.status == 200 and r.json["label"] == "first" and r.json["keep"] is True and r.headers["ETag"] != etag
    assert t.patch(url(id), {"label": "x"}, headers={"If-Match": etag}).status == 412, "somebody else was first"
    assert [x["id"] for x in t.get("/api/v1/recordings", label="first").json["items"]] == [id]
    assert t.server.hermit("record", "list").stdout.count("first") == 1, "the command line sees it"
    for bad in ({"label": "a/b"}, {"label": "x" * 101}, {"label": 1}, {"label": "a\nb"}, {"keep": 1}, {"keep": None}, {"colour": "red"}, {"id": "x"}):
        q = t.patch(url(id), bad, headers={"If-Match": "*"})
        assert q.status == 400, bad
    r = t.patch(url(id), {"label": None, "keep": False}, headers={"If-Match": r.headers["ETag"]})
    assert r.status == 200 and r.json["label"] is None and r.json["keep"] is False
    # of many who have seen the same state one is first
    etag = r.headers["ETag"]
    with concurrent.futures.ThreadPoolExecutor(12) as pool:
        statuses = list(pool.map(lambda i: t.patch(url(id), {"label": "l%d" % i}, headers={"If-Match": etag}).status, range(12)))
    assert sorted(statuses) == [200] + [412] * 11, statuses
    assert t.patch(url(id), {"label": None}, headers={"If-Match": "*"}).status == 200


def test_delete(t):
    id = t.record("/bin/echo", "gone soon")
    t.wait(lambda: t.get(url(id)).status == 200)
    assert t.delete(url(id)).status == 428
    assert t.delete(url(id), headers={"If-Match": '"other"'}).status == 412
    r = t.delete(url(id), headers={"If-Match": "*"})
    assert r.status == 204 and r.body == b""
    assert t.get(url(id)).status == 404 and t.delete(url(id), headers={"If-Match": "*"}).status == 404
    assert id not in {r["id"] for r in t.get("/api/v1/recordings", limit=1000).json["items"]}
    assert not os.path.exists(os.path.join(t.server.data_dir, id))


def test_export_import(t):
    id = t.record("/bin/echo", "travels")
    t.wait(lambda: t.get(url(id)).status == 200 and not t.get(url(id)).json["live"])
    tar = t.get(url(id, "/export"))
    assert tar.status == 200
    with tarfile.open(fileobj=io.BytesIO(tar.body)) as f:
        assert f.getnames()[0] == id + "/manifest.json"
    kind = {"Content-Type": "application/x-tar"}
    r = t.post("/api/v1/recordings/import", tar.body, headers=kind)
    assert r.status == 409, "it is there already"
    t.delete(url(id), headers={"If-Match": "*"})
    r = t.post("/api/v1/recordings/import", tar.body, headers=kind)
    assert r.status == 201 and r.json["id"] == id and r.headers["Location"] == url(id) and r.json["source"] == "import"
    assert t.get(url(id)).json["argv"] == ["/bin/echo", "travels"]
    out = t.server.hermit("replay", "--autopilot", id)
    assert "travels" in out.stdout, "what was imported can be replayed"


def test_read_only_disk(t):
    """What lies on a disk that cannot be written to can be exported; what would change it is refused, and not by a 500."""
    id = t.finished("echo")
    whole = t.get(url(id, "/export")).body
    with tempfile.TemporaryDirectory() as data:
        os.rmdir(data)
        shutil.copytree(t.server.data_dir, data, ignore=shutil.ignore_patterns("tmp", "cache"))
        os.mkdir(data + "/tmp", 0o700)
        if os.geteuid() == 0:
            if subprocess.call(["mount", "--bind", data, data], stderr=subprocess.DEVNULL):
                raise Skip("nothing can be mounted")
            subprocess.check_call(["mount", "-o", "remount,bind,ro", data])
        else:
            os.chmod(data, 0o500)
        server = None
        try:
            server = Server(data_dir=data)
            r = t.get(url(id, "/export"), server=server)
            assert r.status == 200, r.body[:1000]
            assert tarfile.open(fileobj=io.BytesIO(r.body)).getnames()[0] == id + "/manifest.json"
            r = t.post("/api/v1/recordings/import", whole, headers={"Content-Type": "application/x-tar"}, server=server)
            assert r.status == 403 and r.code == "forbidden", r.body
        finally:
            if server:
                server.stop()
            if os.geteuid() == 0:
                subprocess.check_call(["umount", data])
            os.chmod(data, 0o700)


def test_import_broken(t):
    tar = t.get(url(t.finished("echo"), "/export")).body
    kind = {"Content-Type": "application/octet-stream"}
    before = sorted(t.ids())
    for body in (b"x", b"", tar[:100], tar[:len(tar) // 2], b"\0" * 10240, tar[:600] + b"\xff" * 400 + tar[1000:], os.urandom(4096)):
        r = t.post("/api/v1/recordings/import", body, headers=kind)
        assert r.status in (400, 409, 422), (len(body), r.status, r.body)
    assert sorted(t.ids()) == before


def test_import_too_large(t):
    server = Server(settings=["max_upload = 1M"])
    try:
        r = t.post("/api/v1/recordings/import", b"x" * (2 << 20), headers={"Content-Type": "application/x-tar"}, server=server)
        assert r.status == 413 and r.code == "too-large"
    finally:
        server.stop()


def test_start(t):
    r = t.post("/api/v1/recordings", {"argv": ["/bin/sh", "-c", "echo $GREETING $HOME; pwd"], "cwd": "/tmp", "env": {"GREETING": "hi there"}, "base_env": "minimal",
                                      "label": "from http", "keep": True})
    assert r.status == 201 and r.headers["Location"] == url(r.json["id"])
    id = r.json["id"]
    t.wait(lambda: not t.get(url(id)).json["live"])
    got = t.get(url(id)).json
    assert got["exit"] == {"kind": "exited", "code": 0} and got["cwd"] == "/tmp" and got["label"] == "from http" and got["keep"] is True
    assert "GREETING=hi there" in got["env"] and not any(e.startswith("HERMIT_") for e in got["env"])
    out = t.server.hermit("replay", "--autopilot", id).stdout
    assert "hi there" in out and "/tmp" in out


def test_start_bad(t):
    for body in ({}, {"argv": []}, {"argv": "ls"}, {"argv": [1]}, {"argv": [""]}, {"argv": ["ls"], "cwd": "tmp"}, {"argv": ["ls"], "cwd": 1}, {"argv": ["ls"], "env": []},
                 {"argv": ["ls"], "env": {"A": 1}}, {"argv": ["ls"], "env": {"A=B": "c"}}, {"argv": ["ls"], "base_env": "other"}, {"argv": ["ls"], "label": "a/b"},
                 {"argv": ["ls"], "keep": "yes"}, {"argv": ["ls"], "options": []}, {"argv": ["ls"], "shell": True}, {"argv": ["/nowhere/program"]},
                 {"argv": ["ls"], "cwd": "/nowhere"}):
        r = t.post("/api/v1/recordings", body)
        assert r.status == 400 and r.code == "bad-request", (body, r.status, r.body)


def test_start_not_allowed(t):
    server = Server(settings=["allow_start = no"])
    try:
        r = t.post("/api/v1/recordings", {"argv": ["/bin/true"]}, server=server)
        assert r.status == 403 and r.code == "forbidden"
    finally:
        server.stop()


def sleeper(t, *argv):
    id = t.post("/api/v1/recordings", {"argv": list(argv or ["/bin/sleep", "300"])}).json["id"]
    t.wait(lambda: t.get(url(id)).json["live"])
    return id


def test_stop(t):
    for mode, exit in (("term", {"kind": "signaled", "signal": "SIGTERM"}), ("kill", {"kind": "signaled", "signal": "SIGKILL"}), ("cut", None)):
        id = sleeper(t)
        assert t.delete(url(id), headers={"If-Match": "*"}).status == 409, "busy while it is recorded"
        assert t.get(url(id, "/export")).status == 409
        assert t.post(url(id, "/stop"), {"mode": "later"}).status == 400
        r = t.post(url(id, "/stop"), {"mode": mode})
        assert r.status == 202
        t.wait(lambda: not t.get(url(id)).json["live"])
        got = t.get(url(id)).json
        if exit:
            assert got["exit"] == exit, (mode, got["exit"])
        else:
            assert got["state"] == "truncated", got["state"]
        assert t.post(url(id, "/stop")).status == 409


def test_signal(t):
    id = sleeper(t, "/bin/sh", "-c", "trap 'echo caught; exit 7' USR1; while :; do sleep 0.1; done")
    time.sleep(0.5)
    for bad in ({}, {"signal": 99}, {"signal": "SIGNOPE"}, {"signal": "0"}, {"signal": "65"}):
        assert t.post(url(id, "/signal"), bad).status == 400, bad
    r = t.post(url(id, "/signal"), {"signal": "SIGUSR1"})
    assert r.status == 202
    t.wait(lambda: not t.get(url(id)).json["live"])
    assert t.get(url(id)).json["exit"] == {"kind": "exited", "code": 7}
    assert t.post(url(id, "/signal"), {"signal": "SIGINT"}).status == 409


def test_stream_of_all(t):
    made = []

    def want(found):
        if not made:
            made.append(t.record("/bin/echo", "news"))
        return any(e[0] == "recording" and e[1]["id"] == made[0] for e in found)
    # the first look records, so that the stream is open before
    found = t.events("/api/v1/stream", lambda f: want(f))
    mine = [e for e in found if e[0] == "recording" and e[1]["id"] == made[0]]
    assert mine and mine[0][1]["what"] == "added", found
    last = mine[0][2]
    # resumes behind it, and does not tell it again
    t.delete(url(made[0]), headers={"If-Match": "*"})
    again = t.events("/api/v1/stream", lambda f: any(e[1].get("what") == "removed" for e in f), headers={"Last-Event-ID": last})
    assert all(e[2] != last for e in again) and any(e[1] == {"id": made[0], "what": "removed"} for e in again), again
    # an id of another run: everything is to be looked at anew
    assert t.events("/api/v1/stream", lambda f: f, headers={"Last-Event-ID": "0" * 16 + "-7"})[0][0] == "reset"


def test_stream_of_one(t):
    id = t.finished("echo")
    found = t.events(url(id, "/stream"), lambda f: any(e[0] == "end" for e in f), headers={"Last-Event-ID": "0"})
    kinds = [e[0] for e in found]
    last = t.get(url(id)).json["events"]
    assert kinds[0] == "state" and kinds[-1] == "end", kinds
    assert ("output", "stdout") in [(e[0], e[1].get("stream")) for e in found]
    assert max(e[1]["last"] for e in found if e[0] == "events") == last
    half = t.events(url(id, "/stream"), lambda f: any(e[0] == "end" for e in f), headers={"Last-Event-ID": str(last)})
    assert [e[0] for e in half] == ["state", "end"], half
    assert t.get(url(id, "/stream"), headers={"Last-Event-ID": "x"}).status == 400


def test_stream_while_recorded(t):
    id = sleeper(t, "/bin/sh", "-c", "for i in 1 2 3 4 5 6 7 8; do echo $i; sleep 0.3; done")
    found = t.events(url(id, "/stream") + "?" + urllib.parse.urlencode({"after": 0}), lambda f: any(e[0] == "end" for e in f))
    outputs = [e[1]["event"] for e in found if e[0] == "output"]
    assert len(outputs) == 8 and outputs == sorted(outputs), outputs
    lasts = [e[1]["last"] for e in found if e[0] == "events"]
    assert len(lasts) >= 2 and lasts == sorted(set(lasts)), "it is told while it grows"
    states = [e[1] for e in found if e[0] == "state"]
    assert states[0]["live"] and not states[-1]["live"] and found[-1][0] == "end"
