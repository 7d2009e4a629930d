"""Real clients, headless: the test support of VS Code's adapters, Neovim with a client of ours, Emacs with dap-mode."""
import fcntl
import glob
import json
import os
import shutil
import subprocess

import client
import context

MODULES = os.path.join(client.BUILD, "dap-tests")
LINES = {"steps": ("first line", "in square", "after the loop", "again", "the print", "the change"), "corrupt": ("the culprit", "noticed here")}


def given(t, *recordings):
    """The environment of a client."""
    told = {"adapter": client.HERMIT_DAP, "modules": MODULES, "recordings": {name: t.recording(name) for name in recordings},
            "sources": {name: t.source(name) for name in recordings}, "lines": {words: t.line(name, words) for name in recordings for words in LINES[name]}}
    env = {k: v for k, v in os.environ.items() if not k.startswith("HERMIT")}
    home = os.path.join(t.top, "home-%d" % os.getpid())
    os.makedirs(home, exist_ok=True)
    env.update(HERMIT_DATA_DIR=t.store, HERMIT_DAP_SCENARIO=json.dumps(told), XDG_RUNTIME_DIR=t.run_dir, HOME=home, LC_ALL="C.UTF-8")
    return env


def run(argv, env, limit=120):
    done = subprocess.run(argv, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace", timeout=limit, check=False)
    assert done.returncode == 0, "%s: status %d\n%s" % (argv[0], done.returncode, done.stdout[-4000:])


def install():
    if not shutil.which("npm"):
        raise context.Skip("needs npm")
    os.makedirs(MODULES, exist_ok=True)
    with open(os.path.join(MODULES, "lock"), "w", encoding="ascii") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if os.path.exists(os.path.join(MODULES, "node_modules/@vscode/debugadapter-testsupport")):
            return
        for name in ("package.json", "package-lock.json", ".npmrc"):
            shutil.copy(os.path.join(context.HERE, "npm", name), MODULES)
        done = subprocess.run(["npm", "ci", "--no-audit", "--no-fund"], cwd=MODULES, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=120, check=False)
        if done.returncode != 0:
            raise context.Skip("npm ci failed: " + done.stderr.strip().splitlines()[-1])


def support(t, scenario, *recordings):
    install()
    run(["node", os.path.join(context.HERE, "npm", "scenarios.cjs"), scenario], given(t, *recordings))


def test_support_breakpoint(t):
    support(t, "breakpoint", "steps")


def test_support_back(t):
    support(t, "back", "steps")


def test_support_crash(t):
    support(t, "crash", "corrupt")


def test_support_data(t):
    support(t, "data", "steps")


def test_support_refusals(t):
    support(t, "refusals", "steps")


def test_neovim(t):
    if not shutil.which("nvim"):
        raise context.Skip("needs nvim")
    run(["nvim", "--headless", "-u", "NONE", "-i", "NONE", "-n", "-S", os.path.join(context.HERE, "nvim", "client.lua")], given(t, "steps"))


def test_emacs(t):
    if not shutil.which("emacs"):
        raise context.Skip("needs emacs")
    if not glob.glob("/usr/share/emacs/site-lisp/elpa/dap-mode-*"):
        raise context.Skip("needs dap-mode (elpa-dap-mode)")
    run(["emacs", "--batch", "-f", "package-initialize", "-l", os.path.join(context.HERE, "emacs", "scenario.el")], given(t, "steps"))
