"""Guests of the tests of debugging: tests/guests/NAME.c with the flags of its first comment, in BUILD_DIR/debug.d."""
import fcntl
import glob
import os
import re
import shlex
import subprocess

from rsp import BUILD, TOP

FOLDER = os.path.join(BUILD, "debug.d")
GUESTS = os.path.join(TOP, "tests", "guests")


def build_guest(name, flags="-O0", target=None, folder=GUESTS):
    """Path of the program, compiled when its source is newer. The flags of the source come last."""
    source = os.path.join(folder, name + ".c")
    target = os.path.join(FOLDER, target or name)
    os.makedirs(FOLDER, exist_ok=True)
    with open(source, encoding="utf-8") as f:
        found = re.search(r"\bflags:([^\n]*)", f.read(2000).partition("*/")[0])
    argv = shlex.split(os.environ.get("CC", "gcc")) + ["-std=gnu17", "-D_GNU_SOURCE", "-g", "-Wall", "-pthread", *shlex.split(flags)]
    argv += (shlex.split(found.group(1)) if found else []) + ["-o", target + ".new", source]
    with open(target + ".lock", "w", encoding="ascii") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        newest = max(map(os.path.getmtime, [source, *glob.glob(os.path.join(GUESTS, "*.h"))]))
        if not os.path.exists(target) or os.path.getmtime(target) < newest:
            subprocess.run(argv, check=True)
            os.rename(target + ".new", target)
    return target


def build_go(name):
    """The same for tests/guests/NAME.go."""
    source, target = os.path.join(GUESTS, name + ".go"), os.path.join(FOLDER, name)
    os.makedirs(FOLDER, exist_ok=True)
    with open(target + ".lock", "w", encoding="ascii") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not os.path.exists(target) or os.path.getmtime(target) < os.path.getmtime(source):
            subprocess.run(["go", "build", "-o", target, source], check=True)
    return target


def run_script(name):
    """Command for a script of tests/programs."""
    return ["/bin/sh", os.path.join(TOP, "tests", "programs", name + ".sh")]
