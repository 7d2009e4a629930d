#!/usr/bin/env python3
"""Runs gdb on recordings of real programs: the scripts of tests/debug/sessions.

usage: tests/debug/sessions.py [--big] [--jobs 2] [-v] [NAME...]

A script NAME.gdb has gdb's commands and what they must print:

  #: record WORD...       what is recorded: a guest (debug_NAME of tests/guests, NAME.go too), a script of tests/programs or a program.
                          {words} of --big or without it stand as {A|B}: A without, B with it
  #: status N|any         exit status of the recording (0)          #: options WORD...   of hermit replay; {pid:NAME} is that of a process
  #: needs WORD           program that must be there                #: flags A, B        the guest is made with A, and again with B
  #: timeout N            seconds, of the session (60)              #: big               only with --big
  #: record-options ...   of record start
  #= REGEX                the last command's output holds it        #! REGEX             does not
  #at TEXT                as #=, and TEXT, which may hold {line:WORDS}, the number of the line of the guest's source with these words
  #state [NAME]           here the state is taken and afterwards compared with that of a fresh replay that only ran forwards
  #same [NAME]            the state is that of #state NAME above, the last one with that name or with none

$KEEP in the output of a failure names what gdb said. One line each, then `N passed, N failed, N skipped`.
"""
import argparse
import concurrent.futures
import glob
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import time

sys.dont_write_bytecode = True
import proxy  # noqa: E402
import rsp  # noqa: E402
from guests import GUESTS, build_go, build_guest, run_script  # noqa: E402

HERE = os.path.dirname(os.path.abspath(__file__))
SETTINGS = """set pagination off
set confirm off
set width 0
set height 0
set style enabled off
set debuginfod enabled off
set breakpoint pending on
set print entry-values no
set print thread-events off
set print inferior-events off
set auto-load safe-path /
set remotetimeout 60
set tcp connect-timeout 30
"""
OPENERS = ("commands", "define", "if", "while", "python", "document")


class Wrong(Exception):
    """The session does not go as its script says; the text says where."""


class Skipped(Exception):
    """The session cannot run here; the text says why."""


class Script:
    """A parsed NAME.gdb: steps = [(command lines, [(kind, text)])]."""

    def __init__(self, name, big):
        self.name, self.settings, self.steps = name, {}, [([], [])]
        with open(os.path.join(HERE, "sessions", name + ".gdb"), encoding="utf-8") as f:
            lines = f.read().splitlines()
        nesting = 0
        for line in lines:
            line = re.sub(r"\{([^{}|]*)\|([^{}|]*)\}", lambda m: m.group(2 if big else 1), line)
            mark = re.match(r"#(:|=|!|at|state|same)(?: (.*))?$", line)
            if mark and mark.group(1) == ":":
                key, _, value = mark.group(2).partition(" ")
                self.settings[key] = value
            elif mark:
                self.steps[-1][1].append((mark.group(1), mark.group(2) or ""))
            elif line.strip() and not line.startswith("#"):
                if nesting == 0:
                    self.steps.append(([], []))
                self.steps[-1][0].append(line)
                word = line.split()[0]
                nesting += (word in OPENERS and not (word == "python" and len(line.split()) > 1)) - (word == "end")

    def get(self, key, default=""):
        return self.settings.get(key, default)


def line_of(source, words):
    with open(source, encoding="utf-8") as f:
        found = [n for n, line in enumerate(f, 1) if words in line]
    if len(found) != 1:
        raise Wrong("%d lines of %s have %r" % (len(found), source, words))
    return str(found[0])


class Session:
    def __init__(self, script, flags, args):
        self.script, self.flags, self.args, self.guest, self.proxy = script, flags, args, None, None
        self.name = script.name + (" " + flags if flags else "")

    def program(self):
        words = shlex.split(self.script.get("record"))
        source = os.path.join(GUESTS, words[0])
        if os.path.exists(source + ".c"):
            self.guest = source + ".c"
            return [build_guest(words[0], self.flags or "-O0", words[0] + self.flags.replace(" ", ""))] + words[1:]
        if os.path.exists(source + ".go"):
            self.guest = source + ".go"
            return [build_go(words[0])] + words[1:]
        if not shutil.which(words[0]):
            return run_script(words[0]) + words[1:]
        return [shutil.which(words[0]), *words[1:]]

    def commands(self):
        """What gdb reads: after each step a line that tells its end, and requests for states."""
        text = SETTINGS
        for number, (lines, checks) in enumerate(self.script.steps):
            text += "".join(self.expand(line) + "\n" for line in lines)
            text += "".join("monitor state\n" for kind, _ in checks if kind in ("state", "same"))
            text += "echo \\n@@%d@@\\n\n" % number
        return text + "kill\n"

    def expand(self, line):
        line = re.sub(r"\{line:([^}]*)\}", lambda m: line_of(self.guest, m.group(1)), line)
        line = re.sub(r"\{event:([^}]*)\}", lambda m: self.event(m.group(1)), line)
        return line.replace("{port}", str(self.proxy.port) if self.proxy else "").replace("{top}", rsp.TOP)

    def event(self, name):
        """Number of the first event of that system call: how many come before depends on the machine (trapped cpuid)."""
        lines = self.recorded("events", "--filter", "syscall:" + name, "--json").splitlines()
        if not lines:
            raise Wrong("the recording has no call of %s" % name)
        return str(json.loads(lines[0])["number"])

    def run(self):
        needs = self.script.get("needs").split()
        for word in ["gdb", *needs]:
            if not shutil.which(word):
                raise Skipped("needs " + word)
        self.argv = self.program()
        status = self.script.get("status", "0")
        with rsp.Hermit() as hermit:
            ident = hermit.record(self.argv, shlex.split(self.script.get("record-options")), timeout=300, status=None if status == "any" else int(status))
            self.recorded = lambda *words: hermit.run(*words, ident)
            options = shlex.split(self.pids(hermit, ident, self.script.get("options")))
            server = hermit.serve(ident, options)
            self.proxy = proxy.Proxy(server.port)
            self.proxy.start()
            out = self.gdb(hermit)
            self.proxy.join(10)
            self.check(out)
            try:
                if self.proxy.error:
                    raise Wrong("between gdb and the server: %s" % self.proxy.error)
                if server.process.poll() not in (None, 0):
                    raise Wrong("the server ended with status %d" % server.process.poll())
                self.compare(hermit, ident, options)
            except (Wrong, rsp.RspError) as e:
                raise Wrong("%s\n%s\n%s" % (e, tail(out, 30), tail(server.said(), 10))) from None

    @staticmethod
    def pids(hermit, ident, text):
        """{pid:NAME} is the first process that ran a program of that name last."""
        tree = json.loads(hermit.run("record", "show", "--json", ident))["process_tree"]
        for name in re.findall(r"\{pid:([^}]*)\}", text):
            found = [p["pid"] for p in tree if os.path.basename(p["exe"]) == name or os.path.basename(p["command"].split()[0]) == name]
            if not found:
                raise Wrong("no process of the recording is called %s" % name)
            text = text.replace("{pid:%s}" % name, str(found[0]))
        return text

    def gdb(self, hermit):
        env = dict(hermit.env, TERM="dumb", HOME=hermit.top)
        child = subprocess.Popen(["gdb", "-q", "-nx"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, env=env, cwd=hermit.top, start_new_session=True)
        limit = float(self.script.get("timeout", "180"))
        try:
            out, _ = child.communicate(self.commands().encode(), timeout=limit)
        except subprocess.TimeoutExpired:
            child.kill()
            out, _ = child.communicate()
            raise Wrong("no end after %g s\n%s" % (limit, tail(out.decode("utf-8", "replace"), 30))) from None
        if self.args.verbose:
            print(out.decode("utf-8", "replace"))
        return out.decode("utf-8", "replace").replace("(gdb) ", "")

    def check(self, out):
        begin = 0
        for number, (lines, checks) in enumerate(self.script.steps):
            mark = "@@%d@@" % number
            end = out.find(mark, begin)
            said = out[begin:end if end >= 0 else len(out)]
            begin = end + len(mark)
            for kind, text in checks:
                found = re.search(self.expand(text), said, re.M) if kind in ("=", "!", "at") else None
                if (kind in ("=", "at") and not found) or (kind == "!" and found):
                    raise Wrong("%s\n    said: %s\n    %s: %s" % (
                        "; ".join(lines), said.strip().replace("\n", "\n          "), "not to be said" if kind == "!" else "expected", self.expand(text)))
            if end < 0:
                raise Wrong("gdb ends in: %s\n%s" % ("; ".join(lines), tail(out, 30)))

    def compare(self, hermit, ident, options):
        """Each state that was taken against a fresh replay; with one server per state, so all of them only run forwards."""
        wanted = [check for _, checks in self.script.steps for check in checks if check[0] in ("state", "same")]
        if len(wanted) != len(self.proxy.states):
            raise Wrong("%d states were taken, not %d" % (len(self.proxy.states), len(wanted)))
        named = {}
        for number, ((kind, name), (where, mine)) in enumerate(zip(wanted, self.proxy.states), 1):
            if kind == "same":
                found = rsp.differences(named[name][1], mine)
                if found:
                    raise Wrong("state %d at %s is not %s, at %s:\n    %s" % (number, where, name, named[name][0], "\n    ".join(found[:20])))
                continue
            named[name] = (where, mine)
            server = hermit.serve(ident, options)
            with server.connect(timeout=120) as client:
                client.goto(where)
                found = rsp.differences(rsp.state(client), mine)
            server.kill()
            if found:
                raise Wrong("state %d at %s is not that of a fresh replay:\n    %s" % (number, where, "\n    ".join(found[:20])))


def tail(text, lines):
    return "\n".join("    | " + line for line in text.splitlines()[-lines:])


def run_one(session):
    started = time.monotonic()
    try:
        session.run()
        result, text = "ok", ""
    except Skipped as e:
        result, text = "skip", ": %s" % e
    except (Wrong, rsp.RspError, subprocess.SubprocessError, OSError) as e:
        result, text = "FAIL", ": %s" % e
    return result, "%s %s (%.1f s)%s" % (result, session.name, time.monotonic() - started, text)


def main():
    p = argparse.ArgumentParser(prog="tests/debug/sessions.py")
    p.add_argument("names", nargs="*")
    p.add_argument("--big", action="store_true", help="long recordings")
    p.add_argument("--jobs", type=int, default=2)
    p.add_argument("-v", "--verbose", action="store_true", help="all that gdb says")
    args = p.parse_args()
    names = args.names or sorted(os.path.basename(path)[:-4] for path in glob.glob(os.path.join(HERE, "sessions", "*.gdb")))
    sessions = []
    for name in names:
        script = Script(name, args.big)
        if "big" not in script.settings or args.big or args.names:
            sessions += [Session(script, flags.strip(), args) for flags in script.get("flags").split(",")]
    counts = {"ok": 0, "FAIL": 0, "skip": 0}
    with concurrent.futures.ThreadPoolExecutor(args.jobs) as pool:
        for result, line in pool.map(run_one, sessions):
            print(line, flush=True)
            counts[result] += 1
    print("%d passed, %d failed, %d skipped" % (counts["ok"], counts["FAIL"], counts["skip"]))
    return 1 if counts["FAIL"] or not sessions else 0


if __name__ == "__main__":
    sys.exit(main())
