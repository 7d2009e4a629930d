#!/usr/bin/env python3
"""Fuzzes the HTTP API along its description: each route, with parameters, headers and bodies that are bad in known ways or drawn at random.

usage: fuzz_api.py [--seed N] [--seconds S] [--requests N] [-v]

Starts a hermitd of its own with a few recordings. A fault is a 500, an answer that the description does not fit, an answer that does not come, or a
hermitd that ends, or that does not stop when it is asked to; the seed and the request are printed. tests/web/test_fuzz.py runs it for a moment.
"""
import argparse
import json
import random
import socket
import sys
import time
import urllib.parse

import api_test

NASTY = ["", "0", "-1", "1", "2", "7", "64", "1000", "1001", "4294967296", "9223372036854775807", "9223372036854775808", "18446744073709551615", "18446744073709551616",
         "1e9", "0x10", "0x", "0xffffffffffffffff", " 1", "1 ", "+1", "nan", "true", "null", "..", ".", "/", "../../../../etc/passwd", "/etc/passwd", "/proc/self/mem", "\\",
         "%", "%00", "%2f", "<script>alert(1)</script>", "'\"", "\u00e9", "\u202e", "\U0001f600", "\ufeff", "a" * 300, "a" * 5000, "\r\nX-Evil: 1", "\x01\x7f\x1b[2J",
         "*", "?" * 200, "[", "(", "a,b,c", "," * 500, "SIGKILL", "SIGTERM", "0" * 32, "f" * 32]
FILTERS = ["failed", "-failed", "syscall:open*", "syscall:", "thread:1,2", "pid:x", "fd:-1", "path:/*", "path:" + "*" * 100 + "x", "errno:ENOENT", "errno:EFOO", "signal:SIGSEGV",
           "kind:exec", "kind:", "time:1s..2s", "time:2s..1s", "time:..", "#1..#5", "#5..#1", "#99999999999999999999", "dur:>1ms", "dur:<", "class:net", '"', '"a b"', "-", "--x", "a" * 1000,
           "(", "x:y:z", "-syscall:read -syscall:write", "#", "\u00e9:\u00e9"]
JSON = [None, True, False, 0, -1, 1, 2 ** 31, 2 ** 53, -2 ** 63, 1.5, 1e308, "", "x", "a" * 5000, "\u0000", "\u202e", "/etc", "../x", [], {}, [[]], [None], ["x"] * 300, {"a": {"b": {}}}, "SIGKILL"]
HEADERS = {"Accept": ["*/*", "text/csv", "text/plain", "application/json", "application/x-ndjson", "application/octet-stream", "image/png", ";;,,", "*/*;q=x", "a" * 2000],
           "Range": ["bytes=0-", "bytes=-1", "bytes=-0", "bytes=5-1", "bytes=0-0,2-3", "bytes=99999999999999999999-", "bytes=" + "9" * 300, "x", "bytes=0-18446744073709551615"],
           "If-Match": ["*", '"x"', "x", '"' * 50, 'W/"x"'], "If-None-Match": ["*", '"x"', ",,,", '"' + "a" * 3000], "If-Range": ['"x"', "x", "Mon"],
           "Last-Event-ID": ["0", "-1", "x", "9" * 40, ""], "Content-Type": ["application/json; charset=latin1", "text/plain", "", "application/x-tar"],
           "Cookie": ["hermit=x", "=;=", "a" * 3000], "X-Request-Id": ["<b>", "a" * 200, "ok-1"], "Accept-Encoding": ["gzip", "gzip;q=9", ",,,"]}
# Slow by design, or for ever.
STREAMS = ("/api/v1/stream", "/api/v1/recordings/{id}/stream")
# What would start programs, which is not what is tested here: only their refusals are.
HARMLESS = {("POST", "/api/v1/recordings"): {"argv": ["/nowhere/at/all"]}}


class Fuzz:
    def __init__(self, seed):
        self.rnd = random.Random(seed)
        self.server = api_test.Server()
        self.t = api_test.Context(self.server)
        self.done = 0
        self.statuses = {}
        try:
            self.ids = [self.t.finished(name) for name in ("tree", "crash", "files")]
            self.operations = [o for o in self.t.description().operations() if o[1] not in STREAMS]
        except BaseException:
            self.server.stop()
            raise

    # --- what is asked ---

    def value(self, schema):
        """A value for a parameter, as text: what the description wants, or something nasty."""
        schema = self.t.description().resolve(schema or {})
        if self.rnd.random() < 0.4:
            if schema.get("enum"):
                return str(self.rnd.choice(schema["enum"]))
            if "integer" in str(schema.get("type")):
                return str(self.rnd.randint(0, 600))
        if self.rnd.random() < 0.1:
            return "".join(chr(self.rnd.choice((self.rnd.randrange(1, 128), self.rnd.randrange(128, 0x800)))) for _ in range(self.rnd.randrange(1, 40)))
        return self.rnd.choice(NASTY)

    def segment(self, name):
        if name == "id" and self.rnd.random() < 0.85:
            return self.rnd.choice(self.ids)
        if name in ("n", "i") and self.rnd.random() < 0.7:
            return str(self.rnd.randint(0, 150 if name == "n" else 4))
        return self.rnd.choice(NASTY)

    def path(self, template):
        parts = []
        for part in template.split("/"):
            if part.startswith("{"):
                part = urllib.parse.quote(self.segment(part[1:-1]), safe=self.rnd.choice(("", "/%")))
            parts.append(part)
        return "".join(c if " " < c < "\x7f" else urllib.parse.quote(c) for c in "/".join(parts))

    def query(self, path, operation):
        pairs = []
        for p in operation.get("parameters", ()):
            p = self.t.description().resolve(p)
            if p.get("in") != "query" or self.rnd.random() < (0.2 if p.get("required") else 0.6):
                continue
            name = p["name"]
            if name == "q":
                value = " ".join(self.rnd.sample(FILTERS, self.rnd.randint(1, 3)))
            elif name in ("left", "right", "id") and self.rnd.random() < 0.8:
                value = self.rnd.choice(self.ids)
            else:
                value = self.value(p.get("schema"))
            pairs += [(name, value)] * self.rnd.choice((1, 1, 1, 2, 70))
        if self.rnd.random() < 0.05:
            pairs.append((self.rnd.choice(NASTY), self.rnd.choice(NASTY)))
        if path == "/login" and self.rnd.random() < 0.5:
            pairs = [("token", self.rnd.choice(NASTY))]
        return urllib.parse.urlencode(pairs[:100])

    def body_value(self, schema, depth=0):
        schema = self.t.description().resolve(schema or {})
        if depth > 4 or self.rnd.random() < 0.4:
            return self.rnd.choice(JSON)
        if schema.get("enum"):
            return self.rnd.choice(schema["enum"])
        if "properties" in schema or "allOf" in schema:
            members = dict(schema.get("properties", {}))
            for part in schema.get("allOf", ()):
                members.update(self.t.description().resolve(part).get("properties", {}))
            return {k: self.body_value(v, depth + 1) for k, v in members.items() if self.rnd.random() < 0.6}
        if "array" in str(schema.get("type")):
            return [self.body_value(schema.get("items"), depth + 1) for _ in range(self.rnd.randrange(4))]
        return self.rnd.choice((self.rnd.randrange(300), "text", self.rnd.choice(JSON)))

    def body(self, method, path, operation):
        """(bytes or None, content type)"""
        content = operation.get("requestBody", {}).get("content", {})
        if not content:
            return (None, None) if self.rnd.random() < 0.8 else (b"{}", "application/json")
        kind = self.rnd.choice(sorted(content))
        if not kind.endswith("json"):
            return self.rnd.randbytes(self.rnd.randrange(3000)), kind
        value = self.body_value(content[kind].get("schema"))
        if (method, path) in HARMLESS and isinstance(value, dict):
            value.update(HARMLESS[method, path])
        data = json.dumps(value).encode()
        if self.rnd.random() < 0.2 and (method, path) not in HARMLESS:
            data = bytearray(data)
            for _ in range(self.rnd.randint(1, 4)):
                data[self.rnd.randrange(len(data))] = self.rnd.randrange(256)
            data = bytes(data[:self.rnd.randint(0, len(data))])
        return data, kind

    def headers(self):
        return {k: self.rnd.choice(v) for k, v in HEADERS.items() if self.rnd.random() < 0.12}

    # --- asking ---

    def one(self, verbose):
        method, template, operation = self.rnd.choice(self.operations)
        if method == "DELETE" and template == "/api/v1/recordings/{id}" and self.rnd.random() < 0.9:
            return
        target = self.path(template)
        query = self.query(template, operation)
        data, kind = self.body(method, template, operation)
        headers = self.headers()
        if kind:
            headers.setdefault("Content-Type", kind)
        if method == "DELETE" and template == "/api/v1/recordings/{id}":
            headers.pop("If-Match", None)  # they are still wanted
        if method == "GET" and self.rnd.random() < 0.05:
            method = "HEAD"
        shown = "%s %s %r %r" % (method, target + ("?" + query if query else ""), headers, data and data[:500])
        if verbose:
            print(shown)
        try:
            self.ask(method, template, target + ("?" + query if query else ""), data, headers)
        except Exception as e:
            raise AssertionError("%s: %s: %s" % (shown[:3000], type(e).__name__, e)) from e

    def ask(self, method, template, target, data, headers):
        # Too many or too long for a head is the library's to refuse; the connection may end without an answer.
        large = len(target) + sum(len(k) + len(v) for k, v in headers.items()) > 24000
        try:
            r = self.t.request(method, target, data, headers=headers, check=False)
        except (ConnectionError, api_test.http.client.HTTPException, socket.timeout):
            if large and self.server.process.poll() is None:
                return
            raise
        self.done += 1
        self.statuses[r.status] = self.statuses.get(r.status, 0) + 1
        if large and r.status in (400, 413, 414, 431):
            return
        assert r.status != 500, r.body[:1000]
        path = target.split("?")[0]
        if self.t.description().template(path) in (None, template):
            self.t.check(method, path, r)

    def run(self, seconds, requests, verbose=False):
        end = time.monotonic() + seconds
        while time.monotonic() < end and self.done < requests:
            self.one(verbose)
            assert self.server.process.poll() is None, "hermitd ended with %s: %s" % (self.server.process.returncode, self.server.log())

    def stop(self):
        return self.server.stop()


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--seed", type=int, default=int(time.time()))
    p.add_argument("--seconds", type=float, default=30)
    p.add_argument("--requests", type=int, default=10 ** 9)
    p.add_argument("-v", action="store_true")
    a = p.parse_args()
    fuzz = Fuzz(a.seed)
    status = 1
    try:
        fuzz.run(a.seconds, a.requests, a.v)
        status = 0
    except AssertionError as e:
        print("seed %d, request %d: %s\n%s" % (a.seed, fuzz.done, e, fuzz.server.log()))
    if fuzz.stop() != 0:
        print("seed %d: hermitd did not end well" % a.seed)
        status = 1
    print("%d requests: %s" % (fuzz.done, ", ".join("%d of %d" % (n, s) for s, n in sorted(fuzz.statuses.items()))))
    return status


if __name__ == "__main__":
    sys.exit(main())
