#!/usr/bin/env python3
"""Real programs against everything that reads recordings: records a program, then asks hermitd and the commands the same things in several ways.

usage: real_programs.py [--list] [--short] [--gdb N] [--inspect N] [--only CHECK,..] [NAME...]      NAME: of a row; none = all

    --short   the rows that tests/web/run takes along
    --gdb N   compare stacks, registers and memory with gdb's at N events of the rows with native code (default 4)
    --inspect N   look at N events of each row (default 20)
    --only    these checks alone: events, filters, details ... (the functions check_...)

A row is a script of tests/programs (word.sh, in an empty directory) or a command. Its words after that:
    same      prints the same without hermit       code     stacks are compared with gdb's
    short     belongs to --short                   again    is recorded twice, and the two are compared
"""
import base64
import collections
import csv
import io
import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(os.path.dirname(HERE), "inspector")]
sys.dont_write_bytecode = True

import api_test  # noqa: E402
import client  # noqa: E402

PROGRAMS = os.path.join(api_test.TOP, "tests", "programs")
HOW = ("buffered", "executed", "answered", "refused", "did_not_return")
# frames above these are nothing that a debugger could know
ENTRIES = ("_start", "runtime.rt0_go", "runtime.clone", "runtime.goexit", "runtime.mstart")
LIMIT = 240

ROWS = """
    sqlite      sqlite_work      same again
    git         git_work         same again
    bash        sh_bash          same
    dash        sh_dash          same
    awk         sed_awk          same again
    perl        perl_work        same short
    tar         archives         same
    text        coreutils_text   same
    tree        coreutils_tree   same
    find        find_grep        same
    vim         vim_ex           same
    tmux        tmux_session
    py-threads  py_threads
    py-asyncio  py_asyncio       same
    py-procs    py_processes     same
    py-ssl      py_ssl
    py-random   py_random        again
    node        lang_node
    node-work   node_workers
    curl        curl_server
    nginx       nginx_both
    redis       redis_both       same
    openssl     openssl_work
    pg-initdb   pg_initdb
    gcc         build_c:gcc      same code
    crash       cxx_crash        same code again
    rust        rust_work        same code
    cargo       cargo_build
    go          go_http          code
    java        java_server
"""


class Row:
    def __init__(self, line):
        self.name, what, *self.words = line.split()
        self.script, _, arg = what.partition(":")
        self.argv = ["/bin/sh", os.path.join(PROGRAMS, self.script + ".sh")] + ([arg] if arg else [])


class Run:
    """A recorded run: what it printed, and what is asked about it."""

    def __init__(self, t, row):
        self.t, self.row = t, row
        before = set(t.ids())
        with Place(t, row) as place:
            done = subprocess.run([api_test.HERMIT, "record", "start", "--quiet", "--no-seal", "--", *row.argv], cwd=place.dir, env=place.env,
                                  stdin=subprocess.DEVNULL, capture_output=True, timeout=LIMIT, check=False)
        self.status, self.out, self.err = done.returncode, done.stdout, done.stderr
        if self.status == 77:
            raise api_test.Skip(self.out.decode(errors="replace").strip())
        made = set(t.ids()) - before
        assert len(made) == 1, (made, self.err[-500:])
        self.id = made.pop()
        t.wait(lambda: self.api().json.get("live") is False)
        self.whole("/events", limit=1)  # the index is made: entries know their ends
        self.events = [json.loads(line) for line in self.text("/events", "application/x-ndjson").splitlines()]

    def api(self, more="", **k):
        return self.t.get("/api/v1/recordings/%s%s" % (self.id, more), **k)

    def whole(self, more, **k):
        """An answer that is complete."""
        answer = {}

        def ready():
            r = self.api(more, **k)
            assert r.status == 200, (more, r.status, r.body[:300])
            answer.update(r.json)
            return answer.get("complete", True)

        self.t.wait(ready, timeout=60)
        return answer

    def text(self, more, kind, **k):
        r = self.api(more, headers={"Accept": kind}, **k)
        assert r.status == 200 and r.headers["Content-Type"].startswith(kind), (more, r.status, r.body[:300])
        return r.body

    def hermit(self, *args, check=True):
        return self.t.server.hermit(*args, check=check)

    def as_recording(self):
        """For the comparer of tests/inspector."""
        r = client.Recording.__new__(client.Recording)
        r.dir, r.id = self.t.server.data_dir, self.id
        return r


class Place:
    """An empty directory, and the environment of tests/run."""

    def __init__(self, t, row):
        # the same path for each run of a program: programs print and ask for it
        self.dir = "/tmp/hermit-real-%d-%s" % (os.getpid(), row.name)
        os.mkdir(self.dir, 0o755)
        self.work = os.path.join(self.dir, "w")
        os.mkdir(self.work)
        self.env = dict(t.server.env, HOME=self.work, TMPDIR=self.work, LANG="C.UTF-8", GUESTS=os.path.join(api_test.BUILD, "tests", "guests"))
        for name in ("RUSTUP_HOME", "CARGO_HOME", "PYENV_ROOT", "GOCACHE"):
            known = os.environ.get(name) or os.path.expanduser({"RUSTUP_HOME": "~/.rustup", "CARGO_HOME": "~/.cargo", "PYENV_ROOT": "~/.pyenv", "GOCACHE": "~/.cache/go-build"}[name])
            if os.path.isdir(known):
                self.env[name] = known

    def __enter__(self):
        self.dir, self.top = self.work, self.dir
        return self

    def __exit__(self, *_):
        shutil.rmtree(self.top, ignore_errors=True)


def same(what, a, b):
    if a != b:
        if isinstance(a, dict) and isinstance(b, dict):
            a, b = {k: v for k, v in a.items() if b.get(k) != v}, {k: v for k, v in b.items() if a.get(k) != v}
        elif isinstance(a, (list, bytes)) and isinstance(b, type(a)):
            at = next((i for i, (x, y) in enumerate(zip(a, b)) if x != y), min(len(a), len(b)))
            what, a, b = "%s, from [%d] of %d and %d" % (what, at, len(a), len(b)), a[at:at + 3], b[at:at + 3]
            if a and b and isinstance(a[0], dict):
                same(what, a[0], b[0])
        raise AssertionError("%s: %.600r / %.600r" % (what, a, b))


# --- the checks: each takes a run and raises AssertionError ---

def check_events(run):
    """One list, in all forms."""
    numbers = [e["number"] for e in run.events]
    same("event numbers", numbers, list(range(1, len(numbers) + 1)))
    same("events of the recording", run.api().json["events"], len(numbers))
    times = [int(e["time_ns"]) for e in run.events]
    assert times == sorted(times), "times go back"
    same("lines of text", len(run.text("/events", "text/plain").splitlines()), len(numbers))
    table = list(csv.DictReader(io.StringIO(run.text("/events", "text/csv").decode("utf-8", "replace"), newline="")))
    same("rows of csv", [r["number"] for r in table], [str(n) for n in numbers])
    for offset in (0, len(numbers) // 2, max(0, len(numbers) - 100)):
        page = run.api("/events", offset=offset, limit=100).json
        for got, want in zip(page["items"], run.events[offset:offset + 100], strict=True):  # which show shorter strings
            same("page at %d" % offset, dict(got, args=""), dict(want, args=""))
    # the command prints the same lines, but for cpuid and rdtsc that it leaves out
    lines = run.hermit("events", run.id).stdout.splitlines()
    kinds = collections.Counter(e["kind"] for e in run.events)
    listed = len(numbers) - kinds["cpuid"] - kinds["tsc"]
    assert abs(len(lines) - listed) <= 3, (len(lines), listed, kinds)
    partners = {e["number"]: e["partner"] for e in run.events if e["partner"]}
    for n, p in partners.items():
        assert partners.get(p) == n, "event %d has partner %d, which has %r" % (n, p, partners.get(p))
        assert run.events[n - 1]["thread"] == run.events[p - 1]["thread"] and run.events[n - 1]["name"] == run.events[p - 1]["name"], (n, p)


def check_filters(run):
    """API and command find the same, and what the rows say."""
    names = collections.Counter(e["name"] for e in run.events if e["kind"].startswith("syscall"))
    chosen = [n for n, _ in names.most_common(4)]
    queries = {"syscall:" + n: lambda e, n=n: (e["kind"].startswith("syscall") or e["kind"] == "restart") and e["name"] == n for n in chosen if n not in ("execve", "clone", "fork", "vfork", "clone3", "execveat")}
    queries["kind:signal,exit"] = lambda e: e["kind"] in ("signal", "exit")
    threads = sorted({e["thread"] for e in run.events if e["thread"]})
    queries["thread:%d" % threads[-1]] = lambda e: e["thread"] == threads[-1]
    middle = len(run.events) // 2
    queries["#%d..#%d" % (middle, middle + 50)] = lambda e: middle <= e["number"] <= middle + 50
    queries["failed"] = lambda e: e["failed"]
    queries["failed -errno:ENOENT thread:1"] = lambda e: e["failed"] and e["errno"] != "ENOENT" and e["thread"] == 1
    for query, test in queries.items():
        want = [e["number"] for e in run.events if test(e)]
        got = [json.loads(line)["number"] for line in run.text("/events", "application/x-ndjson", q=query).splitlines()]
        same(query, got, want)
        printed = run.hermit("events", "--format", "json", "--filter", query, run.id).stdout.splitlines()
        same("hermit events --filter " + query, [int(json.loads(line)["number"]) for line in printed], want)
        if want:
            at = run.api("/events/locate", event=want[len(want) // 2], dir="nearest", q=query).json
            same("locate " + query, (at["event"], at["offset"]), (want[len(want) // 2], len(want) // 2))
    # one that needs the text of the events
    def found():
        answer.update(run.api("/events", q="\"libc.so.6\"", limit=1000).json)
        return answer["complete"]
    answer = {}
    run.t.wait(found)
    want = [int(re.match(r" *(\d+)", line).group(1)) for line in run.hermit("events", run.id).stdout.splitlines() if "libc.so.6" in line.lower()]
    if len(want) <= 1000:
        same("text filter", [e["number"] for e in answer["items"]], want)


def check_warnings(run):
    """Nobody else changes what these programs use."""
    found = [w for w in run.api().json["warnings"] if "outside" in w]
    assert not found, found


def check_details(run, every=50):
    """Each 50th event, and its buffers; t.get() holds the answers against the description."""
    for n in sorted(set(range(1, len(run.events) + 1, max(every, len(run.events) // 200))) | {len(run.events)}):
        r = run.api("/events/%d" % n)
        assert r.status == 200, (n, r.status, r.body[:200])
        d, row = r.json, run.events[n - 1]
        same("row in the detail of %d" % n, {k: d[k] for k in row}, row)
        for name, step in (("previous_same_thread", -1), ("next_same_thread", 1)):
            if d[name] is not None:
                assert run.events[d[name] - 1]["thread"] == row["thread"] and (d[name] - n) * step > 0, (n, name, d[name])
        for b in d["buffers"][:4]:
            got = run.api("/events/%d/buffers/%d" % (n, b["index"])).body
            same("buffer %d of event %d" % (b["index"], n), len(got), b["len"])


def check_console(run):
    """The console is what came out."""
    out, err = (run.text("/console", "text/plain", stream=s) for s in ("stdout", "stderr"))
    same("stdout", out, run.out)
    assert run.err.startswith(err) or b"hermit:" in run.err, ("stderr", err[:300], run.err[:300])
    both = run.text("/console", "text/plain")
    same("console", len(both), len(out) + len(err))
    logs = subprocess.run([api_test.HERMIT, "record", "logs", run.id], env=run.t.server.env, capture_output=True, timeout=120, check=True)
    same("hermit record logs", (logs.stdout, logs.stderr), (out, err))
    items, after = [], 0
    while after is not None:
        page = run.whole("/console", after=after, limit=1000)
        items += page["items"]
        after = page["next_after"]
    same("bytes of chunks", sum(i["bytes"] for i in items), len(both))
    flagged = [e["number"] for e in run.events if e["stream"]]
    assert {i["event"] for i in items} <= set(flagged), "output without a stream"


def check_native(run):
    if "same" not in run.row.words:
        return
    with Place(run.t, run.row) as place:
        done = subprocess.run(run.row.argv, cwd=place.dir, env=place.env, stdin=subprocess.DEVNULL, capture_output=True, timeout=LIMIT, check=False)
    want = re.sub(rb"\d+ms|0x[0-9a-f]+", b"N", done.stdout)
    same("output without hermit", re.sub(rb"\d+ms|0x[0-9a-f]+", b"N", run.out), want)
    same("status without hermit", run.status, done.returncode)


def check_processes(run):
    p = run.whole("/processes")
    manifest = json.loads(run.hermit("record", "show", "--json", run.id).stdout)
    tree = manifest["process_tree"]
    same("processes", len(p["items"]), int(manifest["processes"]))
    same("threads", sum(len(x["threads"]) for x in p["items"]), int(manifest["threads"]))
    same("tree", [(x["thread"], x["parent"], x["pid"], x["exe"]) for x in p["items"]], [(m["thread"], m["parent"], m["pid"], m["exe"]) for m in tree])
    lives = {}
    for x in p["items"]:
        for th in x["threads"]:
            lives[th["number"]] = (th["first_event"], th["last_event"], x["pid"], th["tid"])
    for e in run.events:
        if not e["thread"]:
            continue
        first, last, pid, tid = lives[e["thread"]]
        assert first <= e["number"] <= last, "event %d of thread %d is outside of its life %d..%d" % (e["number"], e["thread"], first, last)
        same("ids of event %d" % e["number"], (e["pid"], e["tid"]), (pid, tid))


def check_summary(run):
    s = run.whole("/summary")
    kinds = collections.Counter(e["kind"] for e in run.events)
    same("kinds", s["kinds"], dict(kinds))
    same("events", s["events"], len(run.events))
    calls = {c["name"]: c["calls"] for c in s["syscalls"]}
    same("calls", s["calls"], sum(calls.values()))
    rows = collections.Counter(e["name"] for e in run.events if e["kind"] in ("syscall", "syscall-enter"))
    special = {"execve", "execveat", "clone", "clone3", "fork", "vfork"}
    same("calls by name", {k: v for k, v in calls.items() if k not in special}, {k: v for k, v in rows.items() if k not in special})
    errors = collections.defaultdict(collections.Counter)
    for e in run.events:
        if e["kind"] in ("syscall", "syscall-exit") and e["errno"]:
            errors[e["name"]][e["errno"]] += 1
    same("errors", {c["name"]: c["errnos"] for c in s["syscalls"] if c["errors"]}, {k: dict(v) for k, v in errors.items()})
    same("signals", sum(x["count"] for x in s["signals"]), kinds["signal"])
    same("execs", [x["event"] for x in s["execs"]], [e["number"] for e in run.events if e["kind"] == "exec"][:len(s["execs"])])
    same("children", s["children"], len(run.whole("/processes")["items"]) - 1)
    manifest = json.loads(run.hermit("record", "show", "--json", run.id).stdout)["syscalls"]
    same("calls in the manifest", calls, {k: int(v["count"]) for k, v in manifest.items()})


def check_coverage(run):
    c = run.t.get("/api/v1/coverage", id=run.id).json
    same("counted", (c["counted"], c["reasons"]), (1, {}))
    for row in c["syscalls"]:
        assert row["adds_up"] and row["calls"] == sum(row[h] for h in HOW), row
    same("totals", c["totals"], dict({h: sum(r[h] for r in c["syscalls"]) for h in HOW}, calls=sum(r["calls"] for r in c["syscalls"])))
    same("calls", {r["name"]: r["calls"] for r in c["syscalls"]}, {x["name"]: x["calls"] for x in run.whole("/summary")["syscalls"]})
    same("hermit coverage", json.loads(run.hermit("coverage", "--json", run.id).stdout), c)


def result(e):
    found = re.match(r"(-?\d+)\b", e["result"])
    return int(found.group(1)) if found else None


def check_touched(run):
    """Sums over files and sockets against the calls."""
    files, sockets = run.whole("/files")["items"], run.whole("/sockets")["items"]
    same("paths are listed once", len({f["path"] for f in files}), len(files))
    ends = [e for e in run.events if e["kind"] in ("syscall", "syscall-exit")]
    opened = sum(1 for e in ends if e["name"] in ("open", "openat", "openat2", "creat") and (result(e) or 0) >= 0 and not e["failed"])
    assert sum(f["opens"] for f in files) == opened, ("opens", sum(f["opens"] for f in files), opened)
    for f in files:
        assert f["failed"] >= sum(f["errors"].values()) >= 0 and f["first_event"] <= f["last_event"], f
    moved = collections.Counter()
    for e in ends:
        n = result(e)
        if n and n > 0 and not e["failed"]:
            kind = {"read": "in", "pread64": "in", "readv": "in", "preadv": "in", "recvfrom": "in", "recvmsg": "in", "preadv2": "in", "getdents": "in", "getdents64": "in",
                    "write": "out", "pwrite64": "out", "writev": "out", "pwritev": "out", "pwritev2": "out", "sendto": "out", "sendmsg": "out"}.get(e["name"])
            moved[kind] += n
    for kind, f_name, s_name in (("in", "bytes_read", "bytes_received"), ("out", "bytes_written", "bytes_sent")):
        got = sum(f[f_name] for f in files) + sum(s[s_name] for s in sockets)
        extra = sum(result(e) or 0 for e in ends if e["name"] in ("sendfile", "splice", "copy_file_range", "recvmmsg", "sendmmsg", "tee", "vmsplice") and not e["failed"])
        # pipes and terminals belong to neither
        assert got <= moved[kind] + extra, (kind, got, moved[kind], extra)
    accepted = sum(1 for e in ends if e["name"] in ("accept", "accept4") and not e["failed"])
    same("accepted", sum(1 for s in sockets if s["how"] == "accept"), accepted)


def check_timeline(run):
    tl = run.whole("/timeline")
    threads = {e["thread"] for e in run.events if e["thread"]}
    same("lanes", (len(tl["lanes"]), tl["lanes_total"]), (min(256, len(threads)), len(threads)))
    per = collections.Counter(e["thread"] for e in run.events if e["thread"])
    failed = collections.Counter(e["thread"] for e in run.events if e["failed"])
    for lane in tl["lanes"]:
        same("events of thread %d" % lane["thread"], (lane["total"], sum(lane["counts"])), (per[lane["thread"]], per[lane["thread"]]))
        same("errors of thread %d" % lane["thread"], sum(lane["errors"]), failed[lane["thread"]])
    same("last", tl["last"], len(run.events))
    # a part of it
    times = [int(e["time_ns"]) for e in run.events]
    a, b = times[len(times) // 3], times[len(times) // 3 * 2]
    part = run.whole("/timeline", from_ns=a, to_ns=b + 1, buckets=100)
    inside = sum(1 for e, x in zip(run.events, times) if e["thread"] and a <= x <= b)
    got = sum(sum(lane["counts"]) for lane in part["lanes"])
    assert len(part["lanes"]) == 256 or int(part["to_ns"]) > b + 1 or got == inside, (got, inside)
    trace = json.loads(run.api("/trace").body)
    assert trace["traceEvents"]


def check_replay(run):
    job = run.t.post("/api/v1/recordings/%s/replay-check" % run.id)
    assert job.status == 202, job.body
    done = {}

    def over():
        done.update(run.t.get("/api/v1/jobs/" + job.json["id"]).json)
        return done["state"] in ("done", "failed", "cancelled")

    run.t.wait(over, timeout=LIMIT)
    assert done["state"] == "done", done
    same("replayed events", done["result"].get("events"), len(run.events))


def sample(run, count, seed=7):
    numbers = [e["number"] for e in run.events if e["thread"] and e["kind"] not in ("exec", "end", "exit", "birth")]
    return sorted(random.Random(seed).sample(numbers, min(count, len(numbers))))


def asked(run, n, what, **k):
    """An answer of the inspector, which may need more than one request."""
    answer = []

    def got():
        r = run.api("/events/%d/%s" % (n, what), **k)
        answer[:] = [r]
        return r.status not in (429, 503, 504)  # busy, sealed meanwhile, takes long

    run.t.wait(got, timeout=LIMIT)
    return answer[0]


def check_inspector(run, count):
    """Stacks, registers, maps, memory and threads at events by chance, and they agree with each other."""
    bad = []
    for n in sample(run, count):
        r = asked(run, n, "stack")
        if r.status != 200:
            bad.append((n, r.status, r.json.get("detail", "")[:200]))
            if len(bad) > 3:
                break
            continue
        stack = r.json
        assert stack["frames"] and stack["thread"] == run.events[n - 1]["thread"] and stack["pid"] == run.events[n - 1]["pid"], stack
        regs = {x["name"]: x["value"] for x in asked(run, n, "registers").json["registers"]}
        same("rip at %d" % n, regs["rip"], stack["frames"][0]["pc"])
        maps = asked(run, n, "maps").json["items"]
        ranges = [(int(m["start"], 16), int(m["end"], 16), m["prot"]) for m in maps]
        assert ranges == sorted(ranges) and all(a[1] <= b[0] for a, b in zip(ranges, ranges[1:])), "mappings overlap at %d" % n
        for f in stack["frames"]:
            pc = int(f["pc"], 16)
            assert any(s <= pc < e and "x" in p for s, e, p in ranges), "pc %s of frame %d at event %d is in no code" % (f["pc"], f["index"], n)
        sp = int(regs["rsp"], 16)
        room = [e - sp for s, e, p in ranges if s <= sp < e]
        assert room, "rsp %s at %d is in no mapping" % (regs["rsp"], n)
        m = asked(run, n, "memory", addr=hex(sp), len=64).json
        same("memory read at %d" % n, m["read"], min(64, room[0]))
        threads = asked(run, n, "threads").json["items"]
        assert [x["number"] for x in threads if x["current"]] == [stack["thread"]], threads
        assert [x["pc"] for x in threads if x["current"]] == [regs["rip"]], threads
        detail = run.api("/events/%d" % n).json
        if detail["kind"] in ("syscall", "syscall-enter") and detail["name"] not in ("rt_sigreturn", "restart_syscall"):
            names = ["rdi", "rsi", "rdx", "r10", "r8", "r9"][:len(detail["arguments"])]
            same("arguments at %d" % n, [int(a["value"], 16) & 0xffffffff for a in detail["arguments"]], [int(regs[x], 16) & 0xffffffff for x in names])
            for b in [b for b in detail["buffers"] if b["direction"] == "in" and b["len"]][:2]:
                want = run.api("/events/%d/buffers/%d" % (n, b["index"])).body[:4096]
                m = asked(run, n, "memory", addr=b["addr"], len=len(want))
                if b["addr"] != "0x0":
                    same("buffer of event %d in memory" % n, base64.b64decode(m.json["data"]), want)
    assert not bad, bad


GDB = """
import gdb
def say(x): gdb.write(x + "\\n")
for r in "rax rbx rcx rdx rsi rdi rbp rsp r8 r9 r10 r11 r12 r13 r14 r15 rip eflags fs_base".split():
    say("REG %s %#x" % (r, int(gdb.parse_and_eval("$" + r)) & (1 << 64) - 1))
sp = int(gdb.parse_and_eval("$rsp")) & (1 << 64) - 1
say("MEM " + bytes(gdb.selected_inferior().read_memory(sp, 64)).hex())
try:
    for line in gdb.execute("info proc mappings", to_string=True).splitlines():
        w = line.split()
        if len(w) >= 4 and w[0].startswith("0x"): say("MAP %s %s" % (w[0], w[1]))
except gdb.error as e: say("NOMAP %s" % e)
"""


def check_gdb(run, count):
    """gdb on a replay to the same place says the same."""
    if "code" not in run.row.words or not count or not shutil.which("gdb"):
        return
    recording = run.as_recording()
    for n in sample(run, count, seed=11):
        stack = asked(run, n, "stack")
        assert stack.status == 200, (n, stack.body[:300])
        stack = stack.json
        ours, gdbs = client.pcs(stack), recording.gdb(n, stack["pid"])
        if stack["complete"] and client.functions(stack)[-1] in ENTRIES:
            gdbs = gdbs[:len(ours)]
        same("stack at %d %r" % (n, client.functions(stack)), [hex(x) for x in ours], [hex(x) for x in gdbs if x])
        with tempfile.NamedTemporaryFile("w", suffix=".py") as script:
            script.write(GDB)
            script.flush()
            out = recording.run("replay", "-p", str(stack["pid"]), "-g", "%d!" % (n - 1), "--gdbex", "set debuginfod enabled off", "--gdbex", "source " + script.name,
                                "--gdbex", "quit", run.id, check=False).stdout.decode(errors="replace")
        regs = {x["name"]: int(x["value"], 16) for x in asked(run, n, "registers").json["registers"]}
        theirs = {k: int(v, 16) for k, v in re.findall(r"^REG (\w+) (0x\w+)", out, re.M)}
        assert len(theirs) == 19, out[-500:]
        same("registers at %d" % n, {k: hex(regs[k]) for k in theirs}, {k: hex(v) for k, v in theirs.items()})
        memory = base64.b64decode(asked(run, n, "memory", addr=hex(regs["rsp"]), len=64).json["data"])
        same("memory at %d" % n, memory.hex(), re.search(r"^MEM (\w+)", out, re.M).group(1))
        maps = [(int(a, 16), int(b, 16)) for a, b in re.findall(r"^MAP (0x\w+) (0x\w+)", out, re.M)]
        if maps:
            same("mappings at %d" % n, [(int(m["start"], 16), int(m["end"], 16)) for m in asked(run, n, "maps").json["items"]], maps)


def check_backtrace(run):
    crash = run.api().json["crash"]
    done = run.hermit("backtrace", "--json", *(["--crash"] if crash else []), run.id, check=False)
    if done.returncode != 0:
        assert not crash and "diverge" not in done.stderr, done.stderr
        return
    stack = json.loads(done.stdout)["stacks"][0]
    assert stack["frames"], stack
    if crash:
        there = asked(run, crash["event"], "stack").json
        same("stack of the crash", client.pcs(stack), client.pcs(there))


def answers(t, id):
    base = "/api/v1/recordings/" + id
    got = {"events": t.get(base + "/events", headers={"Accept": "application/x-ndjson"}).body}
    for what in ("processes", "summary", "files", "sockets", "console", "timeline"):
        t.wait(lambda: t.get(base + "/" + what).json.get("complete", True), timeout=60)
        got[what] = t.get(base + "/" + what).json
    got["coverage"] = t.get("/api/v1/coverage", id=id).json
    about = t.get(base).json
    for name in ("source", "bytes", "state", "streams"):
        about.pop(name)
    got["about"] = about
    got["detail"] = t.get(base + "/events/%d" % (about["events"] // 2)).json
    return got


def check_travel(run, other):
    archive = run.api("/export").body
    r = other.post("/api/v1/recordings/import", archive, headers={"Content-Type": "application/x-tar"})
    assert r.status == 201 and r.json["id"] == run.id, r.body[:300]
    here, there = answers(run.t, run.id), answers(other, run.id)
    for what in here:
        same("imported: " + what, there[what], here[what])
    other.delete("/api/v1/recordings/" + run.id, headers={"If-Match": other.get("/api/v1/recordings/" + run.id).headers["ETag"]})


def compared(t, left, right):
    d, rows = {}, []

    def ready():
        r = t.get("/api/v1/diff", left=left, right=right)
        if r.status == 429:
            return False
        d.update(r.json)
        return d["state"] == "ready"

    t.wait(ready, timeout=60)
    while len(rows) < d["rows"]:
        page = t.get("/api/v1/diff/rows", left=left, right=right, offset=len(rows), limit=1000).json
        assert page["items"]
        rows += page["items"]
    return d, rows


def check_diff(run):
    """Equal to itself; a second run is mostly the same, and the first difference is one."""
    d, rows = compared(run.t, run.id, run.id)
    assert d["equal"] and d["output_equal"] and all(r["op"] == "same" for r in rows)
    same("calls", {s["name"]: s["left"] for s in d["syscalls"]}, {x["name"]: x["calls"] for x in run.whole("/summary")["syscalls"]})
    if "again" not in run.row.words:
        return
    second = Run(run.t, run.row)
    d, rows = compared(run.t, run.id, second.id)
    ops = collections.Counter(r["op"] for r in rows)
    same("counts", d["counts"], {"same": ops["same"], "changed": ops["changed"], "only_left": ops["left"], "only_right": ops["right"]})
    for side in ("left", "right"):
        numbers = [r[side] for r in rows if r[side] is not None]
        same("steps once", len(set(numbers)), len(numbers))
    same("output", d["output_equal"], (run.out, run.err) == (second.out, second.err))
    first = next((r for r in rows if r["op"] != "same"), None)
    assert (first is None) == d["equal"]
    if first:
        same("divergence", (d["divergence"]["left_line"], d["divergence"]["right_line"]), (first["left_line"], first["right_line"]))
    assert ops["same"] > 0.8 * len(rows), (ops, d["divergence"])
    run.note = "again: %d of %d rows the same; %s" % (ops["same"], len(rows), d["divergence"] and "%s: %s" % (d["divergence"]["why"], d["divergence"]["left_line"]))


CHECKS = [check_events, check_warnings, check_filters, check_details, check_console, check_native, check_processes, check_summary, check_coverage, check_touched, check_timeline,
          check_diff, check_travel, check_replay, check_inspector, check_gdb, check_backtrace]


def run_row(t, other, row, gdb=4, only=None, inspected=20, say=print):
    """Faults of one row, as text."""
    began = time.monotonic()
    try:
        run = Run(t, row)
    except api_test.Skip as e:
        say("SKIP %s: %s" % (row.name, e))
        return []
    except Exception as e:  # pylint: disable=broad-except
        say("FAIL %s: not recorded: %.1500s" % (row.name, e))
        return [str(e)]
    run.note = None
    recorded = time.monotonic() - began
    faults = []
    for check in CHECKS:
        if only and check.__name__[6:] not in only:
            continue
        begun = time.monotonic()
        try:
            check(run, *{check_travel: [other], check_gdb: [gdb], check_inspector: [inspected]}.get(check, []))
        except Exception as e:  # pylint: disable=broad-except
            faults.append("%s: %.1500s" % (check.__name__[6:], str(e) or type(e).__name__))
            say("FAIL %s %s: %.1500s%s" % (row.name, check.__name__[6:], type(e).__name__ + " " + str(e), "" if isinstance(e, AssertionError) else where(e)))
        if time.monotonic() - begun > 20:
            say("slow %s %s: %.1f s" % (row.name, check.__name__[6:], time.monotonic() - begun))
    say("%s %s: %d events, status %d, recorded in %.1f s, looked at in %.1f s%s" %
        ("FAIL" if faults else "ok  ", row.name, len(run.events), run.status, recorded, time.monotonic() - began - recorded, "; " + run.note if run.note else ""))
    return faults


def where(e):
    tb = e.__traceback__
    lines = []
    while tb:
        lines.append(tb.tb_lineno)
        tb = tb.tb_next
    return " at lines %s" % lines


def rows(names=(), short=False):
    for line in ROWS.strip().splitlines():
        row = Row(line)
        if (not names or row.name in names) and (not short or "short" in row.words):
            yield row


def main():
    args, gdb, only, short, inspected = sys.argv[1:], 4, None, False, 20
    if "--list" in args:
        print(ROWS.strip("\n"))
        return 0
    names = []
    while args:
        a = args.pop(0)
        if a == "--gdb":
            gdb = int(args.pop(0))
        elif a == "--only":
            only = args.pop(0).split(",")
        elif a == "--inspect":
            inspected = int(args.pop(0))
        elif a == "--short":
            short = True
        else:
            names.append(a)
    servers = [api_test.Server(settings=["disk_floor = 64M"]) for _ in range(2)]
    faults = 0
    try:
        t, other = [api_test.Context(s) for s in servers]
        for row in rows(names, short):
            faults += len(run_row(t, other, row, gdb, only, inspected, say=lambda x: print(x, flush=True)))
    finally:
        for s in servers:
            s.stop()
    print("%d faults" % faults)
    return 1 if faults else 0


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    sys.exit(main())
