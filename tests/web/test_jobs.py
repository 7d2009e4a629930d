"""Long work and debug sessions."""
import os
import signal
import socket

JOBS = "/api/v1/jobs"
SESSIONS = "/api/v1/sessions"


def over(t, id, timeout=60):
    t.wait(lambda: t.get(JOBS + "/" + id).json["state"] not in ("queued", "running"), timeout)
    return t.get(JOBS + "/" + id).json


def start(t, id, kind):
    r = t.post("/api/v1/recordings/%s/%s" % (id, kind))
    assert r.status == 202, r.body
    assert r.headers["Location"] == JOBS + "/" + r.json["id"]
    assert r.json["kind"] == kind and r.json["recording"] == id
    return r.json["id"]


def test_verify(t):
    job = over(t, start(t, t.finished("echo"), "verify"))
    assert job["state"] == "done" and job["error"] is None and job["finished"] >= job["created"], job
    assert job["id"] in [j["id"] for j in t.get(JOBS).json["items"]]
    assert t.delete(JOBS + "/" + job["id"]).code == "conflict"


def test_replay_check(t):
    id = t.finished("tree")
    job = over(t, start(t, id, "replay-check"))
    assert job["state"] == "done", job
    assert job["result"]["events"] == t.get("/api/v1/recordings/" + id).json["events"]


def test_seal(t):
    id = t.finished("fail")
    assert over(t, start(t, id, "seal"))["state"] == "done"
    t.wait(lambda: t.get("/api/v1/recordings/" + id).json["state"] == "sealed")


def test_damage(t):
    """A damaged recording fails its verification, and shows that from then on."""
    id = t.record("/bin/echo", "damaged")
    t.wait(lambda: t.get("/api/v1/recordings/" + id).status == 200)
    t.wait(lambda: over(t, start(t, id, "seal"))["state"] == "done")
    with open("%s/%s/events.xz" % (t.server.data_dir, id), "r+b") as f:
        f.seek(300)
        f.write(b"damage")
    job = over(t, start(t, id, "verify"))
    assert job["state"] == "failed" and "events.xz" in job["error"], job
    t.wait(lambda: t.get("/api/v1/recordings/" + id).json["state"] == "broken")
    assert "events.xz" in t.get("/api/v1/recordings/" + id).json["error"]
    assert t.delete("/api/v1/recordings/" + id, headers={"If-Match": "*"}).status == 204


def test_no_such_job(t):
    assert t.get(JOBS + "/nonsense").code == "not-found"
    assert t.delete(JOBS + "/nonsense").code == "not-found"
    assert t.post("/api/v1/recordings/%s/verify" % ("f" * 32)).status == 404


def test_job_pages(t):
    id = t.finished("echo")
    for _ in range(3):
        over(t, start(t, id, "verify"))
    first = t.get(JOBS, limit=2).json
    assert len(first["items"]) == 2 and first["total"] >= 3 and first["next_cursor"]
    second = t.get(JOBS, limit=2, cursor=first["next_cursor"]).json
    assert first["items"][0]["id"] not in [j["id"] for j in second["items"]]
    assert t.get(JOBS, cursor="nonsense").status == 400
    assert t.get(JOBS, limit=0).status == 400


def test_job_events(t):
    id = t.finished("echo")
    begun = []

    def want(found):
        if not begun:
            begun.append(start(t, id, "verify"))
        return any(kind == "job" and data["id"] == begun[0] and data["state"] == "done" for kind, data, _ in found)

    assert want(t.events("/api/v1/stream", want))


def opened(t, id, **more):
    r = t.post(SESSIONS, dict(recording=id, **more))
    assert r.status == 201 and r.json["state"] == "starting", r.body
    assert r.headers["Location"] == SESSIONS + "/" + r.json["id"]
    t.wait(lambda: t.get(SESSIONS + "/" + r.json["id"]).json["state"] != "starting")
    return t.get(SESSIONS + "/" + r.json["id"]).json


def packet(s, text):
    s.sendall(b"$%s#%02x" % (text, sum(text) % 256))
    got = b""
    while b"#" not in got or len(got) < got.index(b"#") + 3:
        piece = s.recv(4096)
        assert piece, got
        got += piece
    return got


def test_session(t):
    id = t.finished("crash")
    s = opened(t, id, goto="end")
    assert s["state"] == "ready", s
    assert s["goto"] == "end" and s["recording"] == id
    address = s["address"]
    assert "%s:%d" % (address["host"], address["port"]) in s["commands"]["gdb"] and id in s["commands"]["local"]
    assert s["commands"]["vscode"] == "vscode://hermit.hermit-debug/open?recording=%s&target=127.0.0.1:%d" % (id, address["port"])
    with socket.create_connection((address["host"], address["port"]), timeout=20) as c:
        assert b"PacketSize=" in packet(c, b"qSupported:multiprocess+")
    assert s["id"] in [x["id"] for x in t.get(SESSIONS).json["items"]]
    assert t.delete(SESSIONS + "/" + s["id"]).status == 204
    t.wait(lambda: t.get(SESSIONS + "/" + s["id"]).json["state"] == "ended")
    try:
        socket.create_connection((address["host"], address["port"]), timeout=5).close()
        raise AssertionError("the session still listens")
    except ConnectionRefusedError:
        pass
    assert t.delete(SESSIONS + "/" + s["id"]).status == 204
    assert t.get(SESSIONS + "/" + s["id"]).code == "not-found"


def test_session_fails(t):
    s = opened(t, t.finished("echo"), pid=1)
    assert s["state"] == "failed" and s["error"] and s["address"] is None, s


def test_session_refused(t):
    id = t.finished("echo")
    for body in ({}, {"recording": 3}, {"recording": "../" + id}, {"recording": id, "pid": "x"}, {"recording": id, "pid": -1},
                 {"recording": id, "goto": 3}, {"recording": id, "goto": "a\nb"}, {"recording": id, "goto": "x" * 1000}):
        assert t.post(SESSIONS, body).status == 400, body
    assert t.post(SESSIONS, {"recording": "f" * 32}).code == "no-such-recording"
    assert t.get(SESSIONS + "/nonsense").code == "not-found"
    assert t.delete(SESSIONS + "/nonsense").code == "not-found"


def children(t, *words):
    """Processes of hermitd whose command has the words."""
    found = []
    for pid in os.listdir("/proc"):
        try:
            with open("/proc/%s/cmdline" % pid, "rb") as f:
                command = f.read().split(b"\0")
            with open("/proc/%s/stat" % pid, encoding="utf-8", errors="replace") as f:
                parent = int(f.read().rsplit(")", 1)[1].split()[1])
        except (OSError, ValueError, IndexError):
            continue
        if parent == t.server.process.pid and all(w.encode() in command for w in words):
            found.append(int(pid))
    return found


def test_killed_session(t):
    id = t.finished("tree")
    s = opened(t, id)
    assert s["state"] == "ready", s
    (pid,) = children(t, "replay", "--serve-only", id)
    os.kill(pid, signal.SIGKILL)
    t.wait(lambda: t.get(SESSIONS + "/" + s["id"]).json["state"] == "failed")
    assert "killed by SIGKILL" in t.get(SESSIONS + "/" + s["id"]).json["error"]
    assert t.delete(SESSIONS + "/" + s["id"]).status == 204


def test_killed_inspector(t):
    id = t.finished("crash")
    where = "/api/v1/recordings/%s/events/20/registers" % id
    first = t.get(where)
    assert first.status == 200, first.body
    (pid,) = children(t, "inspect", id)
    os.kill(pid, signal.SIGKILL)
    answers = []

    def works():
        answers.append(t.get(where))
        return answers[-1].status == 200

    t.wait(works)
    assert all(a.status == 503 and "inspector" in a.json["detail"] for a in answers[:-1]), [a.body for a in answers]
    assert answers[-1].json == first.json
    assert children(t, "inspect", id) != [pid]
