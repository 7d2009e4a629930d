#!/usr/bin/env python3
"""Random requests along the table of requests to a session that stands somewhere: right and wrong ones, in any order, while it runs too.

usage: fuzz.py [--seed N] [--requests N] [--sessions N]     tests/dap/run has a few fixed seeds

Each request must get one answer, of its kind and valid by the schema; the adapter lives on, or ends as it was asked to; nothing is left behind.
"""
import argparse
import os
import random
import sys
import tempfile

sys.dont_write_bytecode = True
import client  # noqa: E402
import context  # noqa: E402

WORDS = ["", "main", "square", "total", "n", "shape.corners[1]", "p.x", "0", "-1", "0x10", "end", "start", "nonsense", "\u00e4\U0001f600", "a" * 3000, "1; quit", "-exec-continue",
         "\"", "\\", "%s%n", "\n-gdb-exit", "{n}", "$pc", "write", "*0", "line", "statement", "instruction", "hover", "repl", "watch", "when", "back", "next", "back\n"]
NUMBERS = [0, 1, 2, 3, 5, 30, 60, 1000, -1, 2**31 - 1, 2**31, 2**53, -2**63, 2**63 - 1]
# Ends of the session are drawn seldom, or nothing else would come behind them.
ENDS = ("disconnect", "terminate")
RUNS = {"continue", "next", "stepIn", "stepOut", "stepBack", "reverseContinue", "restart", "hermit/seek", "hermit/lastWrite", "hermit/navigate", "hermit/reverseNext",
        "hermit/reverseStepIn", "hermit/reverseStepOut"}


class Fuzzer:
    def __init__(self, seed, t):
        self.r, self.t, self.definitions = random.Random(seed), t, client.SCHEMA.open["definitions"]
        self.seen = {"frameId": [0, 1], "variablesReference": [1, 2], "threadId": [1], "memoryReference": ["0x400000"], "path": [t.source("steps")], "dataId": ["x"]}
        self.names = [name for name in client.SCHEMA.requests() if name not in ("launch", "attach", "initialize")]
        self.names += ["hermit/" + n[6:7].lower() + n[7:-7] for n in client.SCHEMA.ours if n.endswith("Request")]

    # values along a schema

    def value(self, schema, name, depth=0):
        r = self.r
        if r.random() < 0.04:
            return r.choice([None, [], {}, "x", -5, True, 1.5, [[[]]]])
        if "$ref" in schema:
            schema = self.definitions[schema["$ref"].rpartition("/")[2]]
        if "allOf" in schema:
            schema = schema["allOf"][-1]
        if "anyOf" in schema:
            schema = r.choice(schema["anyOf"])
        if "enum" in schema:
            return r.choice(schema["enum"])
        kind = schema.get("type")
        kind = r.choice(kind) if isinstance(kind, list) else kind
        if name in self.seen and r.random() < 0.8:
            return r.choice(self.seen[name])
        if kind == "object" or "properties" in schema:
            return self.object(schema, depth)
        if kind == "array":
            return [self.value(schema.get("items", {}), name, depth + 1) for _ in range(r.choice([0, 1, 1, 2, 7]) if depth < 4 else 0)]
        return self.plain(kind, name)

    def plain(self, kind, name):
        r = self.r
        if kind == "boolean":
            return r.random() < 0.3
        if kind in ("integer", "number"):
            if name in ("count", "levels", "instructionCount", "limit"):
                return r.choice([0, 1, 10, 100, -1])
            return r.choice([self.t.line("steps", "in square"), r.randrange(80)]) if name == "line" and r.random() < 0.7 else r.choice(NUMBERS)
        if kind == "string" or kind is None:
            return r.choice(WORDS)
        return None

    def object(self, schema, depth):
        required = schema.get("required", ())
        keep = 0.5 if depth else 0.7
        return {name: self.value(part, name, depth + 1) for name, part in schema.get("properties", {}).items()
                if self.r.random() < (0.97 if name in required else keep)}

    def arguments(self, name):
        ours = name.startswith("hermit/")
        short = name[7:] if ours else name
        definition = self.definitions[("Hermit" if ours else "") + short[:1].upper() + short[1:] + "Request"]
        properties = (definition["allOf"][-1] if "allOf" in definition else definition).get("properties", {})
        made = self.value(properties.get("arguments", {}), "arguments")
        if isinstance(made, dict):
            made.pop("singleThread", None) if self.r.random() < 0.8 else None
        return made

    # what answers tell

    def learn(self, body):
        if isinstance(body, list):
            for one in body[:50]:
                self.learn(one)
        elif isinstance(body, dict):
            for key, value in body.items():
                target = {"id": "frameId", "instructionPointerReference": "memoryReference"}.get(key, key)
                if target in self.seen and isinstance(value, (int, str)) and not isinstance(value, bool):
                    self.seen[target] = self.seen[target][-30:] + [value]
                self.learn(value)

    def pick(self):
        r = self.r
        if r.random() < 0.002:
            return r.choice(ENDS)
        if r.random() < 0.02:
            return r.choice(["launch", "attach", "initialize", "nonsense", "hermit/nonsense", ""])
        return r.choice([n for n in self.names if n not in ENDS])

    def send_one(self, c):
        name = self.pick()
        known = name in self.names or name in ("launch", "attach", "initialize")
        arguments = self.arguments(name) if known and name not in ("launch", "attach") else {}
        return c.send(name, arguments, valid=False)

    def session(self, count):
        c = self.t.launch("steps")
        self.t.breaks(c, "in square")
        waiting, sent = [], 0
        while sent < count and not c.closed:
            try:
                for _ in range(self.r.choice([1, 1, 1, 2, 6])):
                    waiting.append(self.send_one(c))
                    sent += 1
            except BrokenPipeError:
                break
            if self.r.random() < 0.8:
                self.collect(c, waiting)
                self.settle(c)
        self.collect(c, waiting)
        assert not c.broken, c.broken
        return c

    def collect(self, c, waiting):
        """Answers to all that was sent; behind a disconnect there are none."""
        for seq in waiting:
            try:
                self.learn(c.answer(seq, 90).get("body"))
            except client.Gone:
                assert "disconnect" in c.sent.values(), "the adapter is gone before %s was answered: %s" % (c.sent[seq], c.adapter.errors()[-2000:])
                c.adapter.expect = "it was told to go"
        waiting.clear()

    def settle(self, c):
        """Most of the time the next request waits until nothing runs."""
        if self.r.random() < 0.85 and not c.closed:
            try:
                c.request("pause", {"threadId": 1}, 60)
                c.request("threads", None, 60)
            except (client.Refused, client.Gone, BrokenPipeError):
                pass
        c.events = [e for e in c.events if e["event"] != "stopped"][-200:]


def main():
    p = argparse.ArgumentParser(prog="tests/dap/fuzz.py")
    p.add_argument("--seed", type=int, default=random.SystemRandom().randrange(1 << 30))
    p.add_argument("--requests", type=int, default=400)
    p.add_argument("--sessions", type=int, default=1)
    args = p.parse_args()
    context.adopt_orphans()
    failed = 0
    with tempfile.TemporaryDirectory(prefix="hermit-dap-fuzz-") as top:
        for seed in range(args.seed, args.seed + args.sessions):
            t = context.Context(top)
            try:
                problems = []
                Fuzzer(seed, t).session(args.requests)
            except AssertionError as e:
                problems = [str(e)]
            problems += t.finish()
            print("%s seed %d%s" % ("FAIL" if problems else "ok  ", seed, "".join("\n    " + p for p in problems)), flush=True)
            failed += bool(problems)
    return 1 if failed else 0


if __name__ == "__main__":
    os.environ.setdefault("LC_ALL", "C.UTF-8")
    sys.exit(main())
