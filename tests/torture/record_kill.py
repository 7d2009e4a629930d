#!/usr/bin/env python3
"""Kills recorders and fills disks: what is left must be a recording that replays up to the cut, and nothing else.

usage: tests/torture/record_kill.py [--count 200] [--seed N] [--no-disk] [-v]

A busy guest (tests/guests/torture_busy.c: processes, threads, forks, output) is recorded and the recorder is killed by
SIGKILL at a random moment, COUNT times. After each kill:
  - no process of the guest is left (it writes the pids of all its processes to a file);
  - `hermit record list` shows the recording as truncated (or complete, or none when killed before it began);
  - `hermit replay --autopilot` gives the output back up to the cut, says so, and ends with 0; sealing changes nothing;
  - nothing stays in the store's tmp/, and the recordings made earlier verify and replay as before.
Then the same with small tmpfs as store that fill up while recording (root only). BUILD_DIR and HERMIT as for tests/run.
Prints `N kills: ...` and ends with 1 when anything was wrong. Needs no root but for the disks.
"""
import argparse
import ctypes
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

TESTS = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
BUILD = os.path.abspath(os.environ.get("BUILD_DIR", os.path.join(os.path.dirname(TESTS), "build")))
HERMIT = os.path.abspath(os.environ.get("HERMIT", os.path.join(BUILD, "hermit")))
PR_SET_CHILD_SUBREAPER = 36
LIMIT = 60  # seconds for a command of hermit that is not killed
STEP_ENV = {"PATH": "/usr/bin:/bin", "LANG": "C.UTF-8", "HOME": "/nonexistent"}


class Wrong(Exception):
    """The product did something wrong; the text says what."""


def hermit(*words, cwd="/"):
    """Status, stdout, stderr of a command of hermit that must end by itself."""
    try:
        done = subprocess.run([HERMIT, *words], cwd=cwd, env=STEP_ENV, stdin=subprocess.DEVNULL, capture_output=True,
                              timeout=LIMIT, check=False)
    except subprocess.TimeoutExpired:
        raise Wrong("hermit %s: no end after %d s" % (" ".join(words), LIMIT)) from None
    return done.returncode, done.stdout, done.stderr.decode("utf-8", "replace")


def process_start(pid):
    """The start time of a process, None when it is gone or a zombie."""
    try:
        with open("/proc/%d/stat" % pid, encoding="utf-8", errors="replace") as f:
            fields = f.read().rpartition(")")[2].split()
    except OSError:
        return None
    return None if fields[0] in "ZX" else int(fields[19])


def alive(pids_file):
    """Processes of the guest that still run: pid and start time agree."""
    left = []
    if os.path.exists(pids_file):
        with open(pids_file, encoding="ascii") as f:
            for line in f:
                words = line.split()
                if len(words) == 2 and process_start(int(words[0])) == int(words[1]):
                    left.append(int(words[0]))
    return left


def reap():
    """Collects what was handed to us as subreaper."""
    try:
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
    except ChildProcessError:
        pass


class Torture:
    def __init__(self, args, top):
        self.args, self.top = args, top
        self.store = os.path.join(top, "store")
        self.work = os.path.join(top, "work")
        self.random = random.Random(args.seed)
        self.kept = {}  # id of a recording: its replayed output
        self.counts = {}
        self.most_lost = 0
        os.mkdir(self.work)
        self.guest = os.path.join(top, "torture_busy")
        subprocess.run([*os.environ.get("CC", "gcc").split(), "-std=gnu17", "-D_GNU_SOURCE", "-O1", "-pthread", "-o", self.guest,
                        os.path.join(TESTS, "guests", "torture_busy.c")], check=True)

    def say(self, text):
        if self.args.verbose:
            print("  " + text, flush=True)

    def count(self, what):
        self.counts[what] = self.counts.get(what, 0) + 1

    def recordings(self, store):
        status, out, err = hermit("record", "list", "--json", "--data-dir", store)
        if status != 0:
            raise Wrong("record list: status %d: %s" % (status, err))
        rows = json.loads(out)
        bad = [row for row in rows if "error" in row]
        if bad:
            raise Wrong("record list: %s" % bad)
        return {row["id"]: row["state"] for row in rows}

    def start(self, store, rounds):
        """Starts a recorder; returns it, the file of the guest's pids and that of its output."""
        pids, output = os.path.join(self.top, "pids"), os.path.join(self.top, "output")
        for path in (pids, output):
            if os.path.exists(path):
                os.unlink(path)
        with open(output, "wb") as out, open(os.path.join(self.top, "errors"), "wb") as err:
            child = subprocess.Popen([HERMIT, "record", "start", "--no-seal", "--data-dir", store, "--", self.guest, pids, str(rounds)],
                                     cwd=self.work, env=STEP_ENV, stdin=subprocess.DEVNULL, stdout=out, stderr=err,
                                     preexec_fn=os.setpgrp)
        return child, pids, output

    def no_guest_left(self, pids):
        end = time.monotonic() + 5
        while True:
            reap()
            left = alive(pids)
            if not left:
                return
            if time.monotonic() > end:
                states = []
                for pid in left:
                    with open("/proc/%d/status" % pid, encoding="utf-8", errors="replace") as f:
                        states.append("%d: %s" % (pid, re.findall(r"^(?:State|TracerPid):\s*(.*)$", f.read(), re.M)))
                    os.kill(pid, signal.SIGKILL)
                raise Wrong("processes of the guest are left: %s" % states)
            time.sleep(0.01)

    def check_cut(self, store, ident, state, output):
        """Replays a recording that was cut (or just not) and compares with what its guest printed while recorded."""
        with open(output, "rb") as f:
            printed = f.read()
        status, out, err = hermit("replay", "--autopilot", "--data-dir", store, ident)
        if state == "truncated":
            if status != 0:
                raise Wrong("replay of the truncated %s: status %d: %s" % (ident, status, err[-2000:]))
            if "truncated" not in err:
                raise Wrong("replay of %s does not say that it is truncated: %s" % (ident, err))
        elif status != 5:
            raise Wrong("replay of the complete %s: status %d, not the guest's 5: %s" % (ident, status, err[-2000:]))
        if not printed.startswith(out) and not (state == "truncated" and out.startswith(printed)):
            at = len(os.path.commonprefix([printed, out]))
            raise Wrong("replay of %s: output differs from byte %d on: %r, not %r" % (ident, at, out[at:at + 80], printed[at:at + 80]))
        if state != "truncated" and out != printed:
            raise Wrong("replay of the complete %s: %d bytes of output, not %d" % (ident, len(out), len(printed)))
        self.most_lost = max(self.most_lost, len(printed) - len(out))
        return out

    def check_sealed(self, store, ident, out):
        status, _, err = hermit("record", "seal", "--data-dir", store, ident)
        if status != 0:
            raise Wrong("record seal of the cut %s: status %d: %s" % (ident, status, err))
        _, again, err = hermit("replay", "--autopilot", "--data-dir", store, ident)
        if again != out:
            raise Wrong("%s replays otherwise after it was sealed: %d bytes, not %d: %s" % (ident, len(again), len(out), err[-500:]))

    def check_kept(self):
        for ident, out in self.kept.items():
            status, again, err = hermit("replay", "--autopilot", "--data-dir", self.store, ident)
            if again != out:
                raise Wrong("the earlier recording %s replays otherwise now (status %d): %s" % (ident, status, err[-500:]))
        status, out, err = hermit("record", "verify", "--all", "--data-dir", self.store)
        if status != 0:
            raise Wrong("record verify --all: status %d: %s%s" % (status, out.decode(), err))
        left = os.listdir(os.path.join(self.store, "tmp")) if os.path.isdir(os.path.join(self.store, "tmp")) else []
        # unfinished beginnings go when they are old enough not to be somebody's who is alive
        left = [name for name in left if not name.startswith(("new.", "blob.", "last."))]
        if left:
            raise Wrong("the store's tmp/ still holds %s" % left)

    def first(self):
        """A complete recording that must survive everything; how long it takes bounds the moments of the kills."""
        started = time.monotonic()
        child, pids, output = self.start(self.store, self.args.rounds)
        try:
            status = child.wait(LIMIT)
        except subprocess.TimeoutExpired:
            child.kill()
            raise Wrong("record start: no end after %d s" % LIMIT) from None
        seconds = time.monotonic() - started
        self.no_guest_left(pids)
        if status != 5:
            with open(os.path.join(self.top, "errors"), encoding="utf-8", errors="replace") as f:
                raise Wrong("record start: status %d, not the guest's 5: %s" % (status, f.read()[-2000:]))
        (ident, state), = self.recordings(self.store).items()
        self.kept[ident] = self.check_cut(self.store, ident, state, output)
        self.check_sealed(self.store, ident, self.kept[ident])
        return seconds

    def kill_once(self, number, longest):
        delay = self.random.uniform(0, longest)
        before = self.recordings(self.store)
        child, pids, output = self.start(self.store, self.args.rounds)
        time.sleep(delay)
        child.kill()
        child.wait()
        self.no_guest_left(pids)
        after = self.recordings(self.store)
        if [i for i in before if i not in after]:
            raise Wrong("recordings are lost: %s" % [i for i in before if i not in after])
        new = {i: s for i, s in after.items() if i not in before}
        if len(new) > 1:
            raise Wrong("one kill left %s" % new)
        if not new:
            if os.path.exists(pids) and os.path.getsize(pids):
                raise Wrong("the guest ran, but there is no recording (killed after %.3f s)" % delay)
            self.count("none")
            self.say("%d: killed after %.3f s: no recording yet" % (number, delay))
            return
        (ident, state), = new.items()
        if state == "recording":
            raise Wrong("%s of a dead recorder is shown as going on" % ident)
        out = self.check_cut(self.store, ident, state, output)
        self.say("%d: killed after %.3f s: %s, %d of %d bytes of output" % (number, delay, state, len(out), os.path.getsize(output)))
        self.count("truncated" if state == "truncated" else "complete")
        if number % 10 == 0:
            self.check_sealed(self.store, ident, out)
        if number % 40 == 0:
            self.kept[ident] = out
            self.check_kept()
            return
        status, _, err = hermit("record", "rm", "--data-dir", self.store, ident)
        if status != 0:
            raise Wrong("record rm %s: status %d: %s" % (ident, status, err))

    def kills(self):
        longest = self.first() * 1.1
        for number in range(1, self.args.count + 1):
            self.kill_once(number, longest)
        self.check_kept()
        print("%d kills: %s; at most %d bytes of output were seen but not recorded" % (
            self.args.count, ", ".join("%d %s" % (n, what) for what, n in sorted(self.counts.items())), self.most_lost), flush=True)

    def full_disk(self, size_kib):
        place = os.path.join(self.top, "small")
        os.makedirs(place, exist_ok=True)
        mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=%dk,nr_inodes=2000" % size_kib, "none", place],
                                 capture_output=True, text=True, check=False)
        if mounted.returncode != 0:
            print("skip: full disks: cannot mount a tmpfs: %s" % mounted.stderr.strip())
            return False
        try:
            store = os.path.join(place, "store")
            child, pids, output = self.start(store, self.args.rounds)
            try:
                status = child.wait(LIMIT)
            except subprocess.TimeoutExpired:
                child.kill()
                child.wait()
                self.no_guest_left(pids)
                raise Wrong("record start on a full disk of %d KiB: no end after %d s" % (size_kib, LIMIT)) from None
            self.no_guest_left(pids)
            with open(os.path.join(self.top, "errors"), encoding="utf-8", errors="replace") as f:
                err = f.read()
            found = self.recordings(store) if os.path.isdir(store) else {}
            if status == 5 and list(found.values()) not in (["truncated"],):
                what = "fitted"
                if not found:
                    raise Wrong("%d KiB: the guest ended well, but there is no recording: %s" % (size_kib, err))
            elif not re.search(r"no space|disk|cut off", err, re.I):
                raise Wrong("%d KiB: a full disk (status %d) is not named: %s" % (size_kib, status, err))
            elif status == 0:
                raise Wrong("%d KiB: the guest was cut off, yet record start ends with 0: %s" % (size_kib, err))
            else:
                what = "cut" if found else "refused"
            for ident, state in found.items():
                out = self.check_cut(store, ident, state, output)
                what += ", %s, %d of %d bytes of output" % (state, len(out), os.path.getsize(output))
            print("disk of %d KiB: status %d, %s" % (size_kib, status, what), flush=True)
        finally:
            subprocess.run(["umount", "-l", place], check=False)
        return True

    def disks(self):
        if os.geteuid() != 0:
            print("skip: full disks: needs root")
            return
        for size in (16, 64, 256, 1024, 2048, 3072, 4096, 6144, 8192, 16384):
            if not self.full_disk(size):
                return


def main():
    p = argparse.ArgumentParser(prog="tests/torture/record_kill.py")
    p.add_argument("--count", type=int, default=200, help="kills (200)")
    p.add_argument("--rounds", type=int, default=40, help="length of the guest, about that many ms natively (40)")
    p.add_argument("--seed", type=int, default=int.from_bytes(os.urandom(4), "little"))
    p.add_argument("--no-disk", action="store_true", help="leave out full disks")
    p.add_argument("--keep", action="store_true", help="keep the scratch directory when something is wrong")
    p.add_argument("-v", "--verbose", action="store_true")
    args = p.parse_args()
    if not os.access(HERMIT, os.X_OK):
        raise SystemExit("record_kill: there is no %s: build first" % HERMIT)
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    top = tempfile.mkdtemp(prefix="hermit-kill-")
    started, status = time.monotonic(), 0
    try:
        torture = Torture(args, top)
        torture.kills()
        if not args.no_disk:
            torture.disks()
    except Wrong as wrong:
        print("FAIL (seed %d): %s" % (args.seed, wrong))
        status = 1
    finally:
        if status and args.keep:
            print("kept: " + top)
        else:
            shutil.rmtree(top, ignore_errors=True)
    print("record_kill: %s after %.0f s" % ("failed" if status else "passed", time.monotonic() - started))
    return status


if __name__ == "__main__":
    sys.exit(main())
