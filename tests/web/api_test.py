"""What the tests of the HTTP API stand on: a hermitd of their own, a client, recordings.

A test file tests/web/test_NAME.py has functions test_SOMETHING(t), t being a Context:

    def test_events(t):
        r = t.get("/api/v1/recordings/%s/events" % t.recording("echo"), limit=10)
        assert r.status == 200 and len(r.json["items"]) == 10

t.get() and the like check each answer against the description of the API (openapi.py) and raise AssertionError when it does not fit;
raise Skip("why") skips a test. tests/web/run runs them.

Environment: BUILD_DIR (build), HERMITD (BUILD_DIR/hermitd), HERMIT (BUILD_DIR/hermit).
"""
import http.client
import json
import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time
import urllib.parse

import openapi

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BUILD = os.environ.get("BUILD_DIR", os.path.join(TOP, "build"))
HERMIT = os.environ.get("HERMIT", os.path.join(BUILD, "hermit"))
HERMITD = os.environ.get("HERMITD", os.path.join(BUILD, "hermitd"))

# Recordings that tests ask for by name: made once for each server, when the first test wants one.
PROGRAMS = {
    "echo": ["/bin/echo", "hello", "world"],
    "fail": ["/bin/sh", "-c", "ls /nowhere; exit 3"],
    "crash": ["/bin/sh", "-c", "kill -SEGV $$"],
    "tree": ["/bin/sh", "-c", "echo one; (echo two >&2; /bin/echo three) | cat; echo four | cat"],
    "files": ["/bin/sh", "-c", "cat /etc/passwd > /dev/null; ls / > /dev/null; cat /etc/hostname /nowhere"],
}


class Skip(Exception):
    pass


class Response:
    def __init__(self, status, headers, body):
        self.status, self.headers, self.body = status, headers, body

    @property
    def json(self):
        return json.loads(self.body)

    @property
    def code(self):
        """Code of a problem, or None."""
        return self.json.get("code") if self.headers.get("Content-Type") == "application/problem+json" else None


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


class Server:
    """A hermitd with directories of its own. settings: lines of hermitd.conf. command: what runs hermitd, such as unshare."""

    def __init__(self, data_dir=None, listen=None, settings=(), wait=True, command=()):
        self.home = tempfile.mkdtemp(prefix="hermit-web-")
        self.own_data = data_dir is None
        self.data_dir = data_dir or os.path.join(self.home, "data")
        self.port = free_port()
        self.socket = listen[5:] if listen and listen.startswith("unix:") else None
        self.listen = listen or "127.0.0.1:%d" % self.port
        self.env = dict(os.environ, HERMIT_DATA_DIR=self.data_dir, XDG_RUNTIME_DIR=os.path.join(self.home, "run"), XDG_CONFIG_HOME=self.home)
        os.makedirs(self.env["XDG_RUNTIME_DIR"], mode=0o700)
        os.makedirs(self.data_dir, mode=0o700, exist_ok=True)
        config = os.path.join(self.home, "hermitd.conf")
        with open(config, "w", encoding="utf-8") as f:
            f.write("\n".join(["listen = " + self.listen, "data_dir = " + self.data_dir, "disk_floor = 16M", "session_binary = " + os.path.abspath(HERMIT), *settings]) + "\n")
        self.log_path = os.path.join(self.home, "log")
        with open(self.log_path, "wb") as log:
            self.process = subprocess.Popen([*command, *HERMITD.split(), "--config", config], stdin=subprocess.DEVNULL, stdout=log, stderr=log, env=self.env)
        if wait:
            self.wait_ready()

    def wait_ready(self):
        for _ in range(200):
            if self.process.poll() is not None:
                raise AssertionError("hermitd ended with %s: %s" % (self.process.returncode, self.log()))
            try:
                self.connect().close()
                return
            except OSError:
                time.sleep(0.05)
        raise AssertionError("hermitd does not listen: " + self.log())

    def connect(self, timeout=20):
        if self.socket:
            s = socket.socket(socket.AF_UNIX)
            s.settimeout(timeout)
            s.connect(self.socket)
            return s
        return socket.create_connection(("127.0.0.1", self.port), timeout=timeout)

    @property
    def host(self):
        return "127.0.0.1:%d" % self.port

    @property
    def token(self):
        with open(os.path.join(self.env["XDG_RUNTIME_DIR"], "hermit", "token"), encoding="ascii") as f:
            return f.read().strip()

    def log(self):
        with open(self.log_path, encoding="utf-8", errors="replace") as f:
            return f.read()[-4000:]

    def hermit(self, *args, check=True):
        r = subprocess.run([HERMIT, *args], env=self.env, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=120)
        if check and r.returncode != 0:
            raise AssertionError("hermit %s: %d: %s" % (" ".join(args), r.returncode, r.stderr))
        return r

    def login_url(self):
        """A link that logs in, once."""
        path = os.path.join(self.env["XDG_RUNTIME_DIR"], "hermit", "control.sock")
        if not os.path.exists(path):
            raise Skip("this hermitd has no control socket")
        with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as s:
            s.settimeout(20)
            s.connect(path)
            s.send(json.dumps({"ask": "login"}).encode())
            return json.loads(s.recv(65536))["url"]

    def rss_kib(self):
        with open("/proc/%d/status" % self.process.pid, encoding="ascii") as f:
            return int([l for l in f if l.startswith("VmRSS")][0].split()[1])

    def stop(self):
        """Its exit status; what it left is removed."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        try:
            status = self.process.wait(20)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
            raise AssertionError("hermitd did not stop within 20 s: " + self.log())
        finally:
            shutil.rmtree(self.home, ignore_errors=True)
        return status


class Connection(http.client.HTTPConnection):
    def __init__(self, server, timeout=60):
        super().__init__(server.host, timeout=timeout)
        self.server = server

    def connect(self):
        self.sock = self.server.connect(self.timeout)


class Context:
    """What a test gets: the server that all tests share, and requests to it."""

    def __init__(self, server):
        self.server = server
        self.recordings = {}
        self.api = None
        self.seen = set()  # (method, path of the description)

    # --- requests ---

    def request(self, method, path, /, body=None, headers=None, auth=True, check=True, server=None, **query):
        """body: bytes, or something for JSON. check: the answer must fit the description."""
        server = server or self.server
        sent = {"Host": server.host}
        if auth:
            sent["Authorization"] = "Bearer " + server.token
        if body is not None and not isinstance(body, bytes):
            body = json.dumps(body).encode()
            sent["Content-Type"] = "application/json"
        sent.update(headers or {})
        query = {k: v for k, v in query.items() if v is not None}
        target = path + ("?" + urllib.parse.urlencode(query, doseq=True) if query else "")
        connection = Connection(server)
        try:
            connection.request(method, target, body=body, headers={k: v for k, v in sent.items() if v is not None})
            answer = connection.getresponse()
            response = Response(answer.status, answer.headers, answer.read())
        finally:
            connection.close()
        if check:
            self.check(method, path, response)
        return response

    def check(self, method, path, response):
        """An answer that is described; problems that say what they are; the headers that all have."""
        api = self.description()
        template = api.template(path)
        if template and method != "HEAD":
            self.seen.add((method, template))
        if template and response.status not in (404, 405):
            api.validate(method, path, response.status, response.headers.get("Content-Type"), response.body)
        if response.status >= 400 and method != "HEAD":
            problem = response.json
            api.check({"$ref": "#/components/schemas/Problem"}, problem, path)
            assert problem["status"] == response.status and problem["type"] == "/problems/" + problem["code"], problem
        for name in ("X-Request-Id", "X-Content-Type-Options", "Content-Security-Policy", "Cache-Control", "Referrer-Policy"):
            assert response.headers.get(name), "%s %s has no %s" % (method, path, name)
        assert not response.headers.get("Access-Control-Allow-Origin")

    def description(self):
        if not self.api:
            self.api = openapi.OpenApi(self.request("GET", "/api/v1/openapi.json", check=False).json)
        return self.api

    def get(self, path, /, **k):
        return self.request("GET", path, **k)

    def post(self, path, /, body=None, **k):
        return self.request("POST", path, body, **k)

    def patch(self, path, /, body=None, **k):
        return self.request("PATCH", path, body, **k)

    def delete(self, path, /, **k):
        return self.request("DELETE", path, **k)

    def raw(self, data, timeout=20, half_close=False, server=None):
        """Sends bytes as they are; all that comes back."""
        got = b""
        with (server or self.server).connect(timeout) as s:
            try:
                s.sendall(data)
                if half_close:
                    s.shutdown(socket.SHUT_WR)
                while True:
                    piece = s.recv(65536)
                    if not piece:
                        break
                    got += piece
            except ConnectionResetError:
                pass
        return got

    def events(self, path, want, timeout=30, headers=None, server=None):
        """Reads server-sent events until want(list) is true: [(type, data, id)]."""
        server = server or self.server
        connection = Connection(server, timeout)
        connection.request("GET", path, headers=dict({"Host": server.host, "Authorization": "Bearer " + server.token}, **(headers or {})))
        answer = connection.getresponse()
        assert answer.status == 200, answer.read()
        assert answer.headers["Content-Type"] == "text/event-stream"
        found, event = [], {}
        until = time.monotonic() + timeout
        try:
            while not want(found) and time.monotonic() < until:
                line = answer.readline()
                if not line:
                    break
                line = line.decode().rstrip("\n")
                if not line:
                    if "data" in event:
                        found.append((event.get("event", "message"), json.loads(event["data"]), event.get("id")))
                    event = {}
                elif not line.startswith(":"):
                    name, _, value = line.partition(": ")
                    event[name] = value
        finally:
            connection.close()
        return found

    # --- recordings ---

    def record(self, *argv):
        """Records a program now; its id."""
        before = self.ids()
        self.server.hermit("record", "start", "--", *argv, check=False)
        made = set(self.ids()) - set(before)
        assert len(made) == 1, "recording %r made %d recordings" % (argv, len(made))
        return made.pop()

    def ids(self):
        names = os.listdir(self.server.data_dir)
        return [n for n in names if len(n) == 32]

    def recording(self, name):
        """Id of one of PROGRAMS, known to the server."""
        if name not in self.recordings:
            self.recordings[name] = self.record(*PROGRAMS[name])
            self.wait(lambda: self.get("/api/v1/recordings/" + self.recordings[name]).status == 200)
        return self.recordings[name]

    def finished(self, name):
        """The same, when it has been sealed (the server seals in the background, if at all)."""
        id = self.recording(name)
        self.wait(lambda: self.get("/api/v1/recordings/" + id).json["state"] in ("complete", "sealed", "truncated"))
        return id

    @staticmethod
    def wait(condition, timeout=20, every=0.1):
        until = time.monotonic() + timeout
        while not condition():
            assert time.monotonic() < until, "waited %s s in vain" % timeout
            time.sleep(every)
