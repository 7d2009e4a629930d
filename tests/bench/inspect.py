#!/usr/bin/env python3
"""Measures the inspector: how long the first stack takes, how long those of events near by and far away, and the memory of the child.

usage: tests/bench/inspect.py [--runs 3] [--events 40]

Times are wall time in ms from request to answer over the socket of `hermit session inspect`; each a median of all runs, the greatest beside it.
first: a new child, an event in the middle (it replays to there and reads debugging information); the same for the last event. near: the 20
events after it, one after the other. far: events by chance. Memory: RSS of the child at the end. BUILD_DIR as for tools/bench.
"""
import argparse
import os
import random
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(HERE), "inspector"))
from client import Inspector, Recording, Refused  # noqa: E402

SOURCE = "#include <stdio.h>\n#include <map>\n#include <string>\n#include <iostream>\nint main() { std::map<std::string, int> m; m[\"x\"] = 1; std::cout << m.size() << std::endl; }\n"


def programs(top):
    source = os.path.join(top, "x.cc")
    with open(source, "w", encoding="ascii") as f:
        f.write(SOURCE)
    yield "echo", ["/bin/echo", "x"]
    yield "python3", ["/usr/bin/python3", "-c", "import json, re, decimal\nfor i in range(300): open('/dev/null').close()"]
    if shutil.which("g++"):
        yield "g++", ["g++", "-c", "-O1", source, "-o", os.path.join(top, "x.o")]
    if shutil.which("rustc"):
        binary = os.path.join(top, "speak")
        subprocess.run(["rustc", "-g", "-O", "-o", binary, os.path.join(os.path.dirname(HERE), "inspector", "guests", "speak.rs")], check=True)
        yield "rust", [binary]
    if shutil.which("node"):
        yield "node", ["node", "-e", "for (let i = 0; i < 50; i++) require('fs').readdirSync('/')"]


def rss(pid):
    with open("/proc/%d/status" % pid, encoding="ascii") as f:
        return int([line for line in f if line.startswith("VmRSS")][0].split()[1]) / 1024


def timed(i, event):
    began = time.monotonic()
    try:
        i.ask("stack", event=event)
    except Refused as e:
        if e.name != "NOT_FOUND":
            raise
    return 1000 * (time.monotonic() - began)


def show(times):
    return "%7.1f (%.1f)" % (statistics.median(times), max(times)) if times else "-"


def measure(recording, runs, count):
    numbers = [e["number"] for e in recording.events if e.get("thread") and e["kind"] not in ("exec", "exit")]
    middle = len(numbers) // 2
    first, last, near, far, memory = [], [], [], [], []
    for run in range(runs):
        with Inspector(recording) as i:
            last.append(timed(i, numbers[-1]))
        with Inspector(recording) as i:
            first.append(timed(i, numbers[middle]))
            near += [timed(i, n) for n in numbers[middle + 1:middle + 21]]
            far += [timed(i, n) for n in random.Random(run).sample(numbers, min(count, len(numbers)))]
            memory.append(rss(i.process.pid))
    return [show(first), show(last), show(near), show(far), "%.0f" % max(memory)]


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--events", type=int, default=40)
    args = parser.parse_args()
    top = tempfile.mkdtemp(prefix="hermit-bench-inspect-")
    print("%-10s %8s  %-18s %-18s %-18s %-20s %s" % ("", "events", "first, middle", "first, last", "near", "far", "MiB"))
    try:
        for name, argv in programs(top):
            r = Recording(argv)
            print("%-10s %8d  %-18s %-18s %-18s %-20s %s" % (name, len(r.events), *measure(r, args.runs, args.events)), flush=True)
            r.remove()
    finally:
        shutil.rmtree(top, ignore_errors=True)


if __name__ == "__main__":
    main()
