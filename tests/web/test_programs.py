"""The short rows of real_programs.py, and what real programs have found, as small guests."""
import json
import os
import subprocess
import time

import api_test
import real_programs

OUTSIDE = "was changed from outside"
MAPS = "import mmap, os, sys, time\n" \
       "f = open(sys.argv[1], 'r+b')\nm = mmap.mmap(f.fileno(), 0, mmap.MAP_PRIVATE, mmap.PROT_READ)\n"


def recorded(t, program, *args, during=lambda: None):
    before = set(t.ids())
    with subprocess.Popen([api_test.HERMIT, "record", "start", "--quiet", "--", "/usr/bin/python3", "-c", program, *args], env=t.server.env,
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as p:
        p.stdout.readline()
        during()
        p.wait(timeout=60)
    id, = set(t.ids()) - before
    t.wait(lambda: t.get("/api/v1/recordings/" + id).json.get("live") is False)
    return t.get("/api/v1/recordings/" + id).json


def mapped_file(t, name):
    path = os.path.join(t.server.home, name)
    with open(path, "w", encoding="ascii") as f:
        f.write("x" * 5000)
    return path


def test_times_of_a_mapped_file(t):
    """A guest that sets the times of a file it has mapped is not somebody outside (git does)."""
    for how in ("os.utime(sys.argv[1])", "os.utime(f.fileno())", "os.chdir(os.path.dirname(sys.argv[1])); os.utime(os.path.basename(sys.argv[1]), (1, 2))",
                "d = os.open(os.path.dirname(sys.argv[1]), 0); os.utime(os.path.basename(sys.argv[1]), (1, 2), dir_fd=d)"):
        r = recorded(t, MAPS + "time.sleep(0.02)\n" + how + "\nprint()", mapped_file(t, "mapped"))
        assert r["exit"] == {"kind": "exited", "code": 0} and not [w for w in r["warnings"] if OUTSIDE in w], (how, r["exit"], r["warnings"])


def test_changed_from_outside(t):
    """That is said, and the note does not come after the end."""
    path = mapped_file(t, "changed")

    def change():
        time.sleep(0.02)
        with open(path, "r+", encoding="ascii") as f:
            f.write("y")

    r = recorded(t, MAPS + "print(flush=True)\ntime.sleep(0.5)", path, during=change)
    assert [w for w in r["warnings"] if OUTSIDE in w], r["warnings"]
    lines = [json.loads(x) for x in t.server.hermit("events", "--json", r["id"]).stdout.splitlines()]
    times = [int(e["time_ns"]) for e in lines]
    assert times == sorted(times) and [e["kind"] for e in lines[-2:]] == ["note", "end"]


def started(t, *argv):
    done = subprocess.run([api_test.HERMIT, "record", "start", "--detach", "--no-stdio", "--", *argv], env=t.server.env, stdin=subprocess.DEVNULL,
                          capture_output=True, text=True, timeout=30, check=True)
    return "/api/v1/recordings/" + done.stdout.strip()


def test_stream_at_once(t):
    """The stream of a recording that has just been started is not one of a removed recording."""
    for _ in range(5):
        where = started(t, "/bin/sh", "-c", "echo out; sleep 0.2")
        found = t.events(where + "/stream?after=0", lambda f: f and f[-1][0] == "end")
        assert found[-1][1] == {"why": "ended"} and "output" in [f[0] for f in found], found


def test_processes_that_have_ended(t):
    """While others of the recording go on."""
    where = started(t, "/bin/sh", "-c", "/bin/true; (exit 4); /bin/sh -c 'kill -KILL $$'; sleep 1; exit 0")
    t.wait(lambda: len(t.get(where + "/processes").json.get("items", ())) == 5)
    exits = [p["exit"] for p in t.get(where + "/processes").json["items"]]
    assert exits == [{"kind": "running"}, {"kind": "exited", "code": 0}, {"kind": "exited", "code": 4}, {"kind": "signaled", "signal": "SIGKILL"},
                     {"kind": "running"}], exits


def test_killed_child_is_no_crash(t):
    id = t.record("/bin/sh", "-c", "sleep 50 & kill $!; wait; exit 0")
    t.wait(lambda: t.get("/api/v1/recordings/" + id).json.get("live") is False)
    assert t.get("/api/v1/recordings/" + id).json["crash"] is None


def test_killed(t):
    """SIGKILL is never delivered: the stack is that of the end."""
    id = t.record("/bin/sh", "-c", "kill -KILL $$")
    t.wait(lambda: t.get("/api/v1/recordings/" + id).json.get("live") is False)
    crash = t.get("/api/v1/recordings/" + id).json["crash"]
    assert crash["signal"] == "SIGKILL"
    stack = json.loads(t.server.hermit("backtrace", "--crash", "--json", id).stdout)["stacks"][0]
    assert stack["event"] == crash["event"] and stack["frames"], stack


def test_real_programs(t):
    other = api_test.Context(api_test.Server())
    try:
        for row in real_programs.rows(short=True):
            assert not real_programs.run_row(t, other, row, gdb=1, inspected=4)
    finally:
        other.server.stop()
