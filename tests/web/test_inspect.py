"""The inspector over HTTP: stack, registers, maps, threads, memory at an event, and sources."""
import base64
import os
import subprocess

SOURCE = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "inspector", "guests", "crash.c")


def url(id, event, what):
    return "/api/v1/recordings/%s/events/%s/%s" % (id, event, what)


def crashed(t):
    """(id, fatal event) of a program with debugging information; recorded once."""
    if not hasattr(t, "inspected"):
        binary = os.path.join(t.server.home, "crash")
        subprocess.run(["gcc", "-g", "-O2", "-fno-optimize-sibling-calls", "-o", binary, SOURCE], check=True)
        t.server.hermit("record", "start", "-q", "--", binary, check=False)
        with open(os.path.join(t.server.data_dir, "last"), encoding="ascii") as f:
            id = f.read().strip()
        t.inspected = id, t.get("/api/v1/recordings/" + id).json["crash"]["event"]
    return t.inspected


def test_stack(t):
    id, event = crashed(t)
    s = t.get(url(id, event, "stack")).json
    assert [f["function"] for f in s["frames"]][:3] == ["sum", "work", "deeper"], s
    assert s["event"] == event and s["when"] == "before" and s["thread"] == 1 and s["complete"]
    assert s["frames"][0]["file"] == SOURCE and s["frames"][0]["inlined"] and s["frames"][0]["source"]
    after = t.get(url(id, event - 1, "stack"), when="after").json
    assert after["when"] == "after" and after["event"] == event - 1


def test_registers_and_memory(t):
    id, event = crashed(t)
    regs = {r["name"]: r["value"] for r in t.get(url(id, event, "registers")).json["registers"]}
    stack = t.get(url(id, event, "stack")).json
    assert regs["rip"] == stack["frames"][0]["pc"]
    m = t.get(url(id, event, "memory"), addr=regs["rsp"], len=32).json
    assert m["read"] == 32 and m["addr"] == regs["rsp"]
    raw = t.get(url(id, event, "memory"), addr=regs["rsp"], len=32, headers={"Accept": "application/octet-stream"})
    assert raw.headers["Content-Type"] == "application/octet-stream" and raw.body == base64.b64decode(m["data"])
    nothing = t.get(url(id, event, "memory"), addr="0x10").json
    assert nothing["read"] == 0 and nothing["data"] == ""


def test_maps_and_threads(t):
    id, event = crashed(t)
    maps = t.get(url(id, event, "maps")).json["items"]
    assert any(m["name"] == "[stack]" for m in maps) and any(m["name"].endswith("/crash") and m["prot"] == "r-xp" for m in maps)
    threads = t.get(url(id, event, "threads")).json["items"]
    assert len(threads) == 1 and threads[0]["current"] and threads[0]["function"].startswith("work+")


def test_source(t):
    id, event = crashed(t)
    with open(SOURCE, encoding="utf-8") as f:
        lines = f.read().split("\n")
    path = "/api/v1/recordings/%s/source" % id
    s = t.get(path, path=SOURCE, line=10, context=2, event=event).json
    assert s["first"] == 8 and s["lines"] == lines[7:12] and s["language"] == "c"
    for other in ("/etc/passwd", "../../etc/passwd", SOURCE + ".orig"):
        r = t.get(path, path=other)
        assert r.status == 404 and r.code == "not-found", other
    assert t.get(path).status == 400


def test_refused(t):
    id, event = crashed(t)
    for what in ("stack", "registers", "maps", "threads"):
        for n in (99999999, "0", "x", "-1"):
            r = t.get(url(id, n, what))
            assert r.status == 404 and r.code == "no-such-event", (what, n)
        assert t.get(url(id, event, what), thread=99).code == "not-found"
        assert t.get(url(id, event, what), when="soon").status == 400
        assert t.get(url(id, event, what), thread="x").status == 400
        assert t.get(url("f" * 32, event, what)).code == "no-such-recording"
    for query in ({}, {"addr": "here"}, {"addr": "0x1", "len": 65537}, {"addr": "0x1", "len": 0}):
        assert t.get(url(id, event, "memory"), **query).status == 400, query
