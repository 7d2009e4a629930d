"""A client of hermit-dap for tests: starts it, sends requests, waits for answers and events with time limits, validates all messages.

    adapter = Adapter(store)                       # hermit-dap on stdio, or Adapter(store, "--port", "0") with any number of adapter.connect()
    c = adapter.connect()
    c.initialize()
    c.launch({"recording": ID})                    # until the first stop
    c.set_breaks("/src/x.c", [12])
    c.go("reverseContinue")                        # a request that runs, and the stop that follows
"""
import json
import os
import re
import select
import socket
import subprocess
import threading
import time

import schema

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BUILD = os.path.abspath(os.environ.get("BUILD_DIR", os.path.join(TOP, "build")))
HERMIT_DAP = os.path.abspath(os.environ.get("HERMIT_DAP", os.path.join(BUILD, "hermit-dap")))
LIMIT = 120.0
SCHEMA = schema.Schema()
CLIENT = {"adapterID": "hermit", "clientID": "tests", "clientName": "tests of hermit", "linesStartAt1": True, "columnsStartAt1": True, "pathFormat": "path",
          "supportsProgressReporting": True, "supportsInvalidatedEvent": True, "supportsMemoryEvent": True, "supportsStartDebuggingRequest": True,
          "supportsVariableType": True, "supportsVariablePaging": True}


class Refused(AssertionError):
    """A request was answered with success false; .response is the answer."""

    def __init__(self, response):
        super().__init__("%s was refused: %s" % (response["command"], response.get("message")))
        self.response = response


class Gone(AssertionError):
    """The adapter has closed the connection."""


# --- processes --------------------------------------------------------------------------------------------------------


def children(pid):
    """All processes below it."""
    below, parents = [], {}
    for name in os.listdir("/proc"):
        if name.isdigit():
            try:
                with open("/proc/%s/stat" % name, encoding="latin-1") as f:
                    parents[int(name)] = int(f.read().rpartition(")")[2].split()[1])
            except OSError:
                pass
    wanted = {pid}
    while wanted:
        wanted = {p for p, parent in parents.items() if parent in wanted}
        below += wanted
    return below


def command(pid):
    try:
        with open("/proc/%d/cmdline" % pid, encoding="latin-1") as f:
            return f.read().replace("\0", " ").strip() or "(none)"
    except OSError:
        return "(gone)"


def is_alive(pid):
    try:
        with open("/proc/%d/stat" % pid, encoding="latin-1") as f:
            return f.read().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


def wait_for(condition, what, limit=10.0, every=0.02):
    until = time.monotonic() + limit
    while not condition():
        if time.monotonic() > until:
            raise AssertionError("waited %g s in vain: %s" % (limit, what() if callable(what) else what))
        time.sleep(every)


class Adapter:
    """A process of hermit-dap."""

    def __init__(self, store, *options, env=(), program=None):
        self.listens = any(o in ("--port", "--socket") for o in options)
        self.env = {k: v for k, v in os.environ.items() if not k.startswith("HERMIT")}
        self.env.update(HERMIT_DATA_DIR=store, LC_ALL="C.UTF-8", **dict(env))
        self.clients, self.error_text = [], b""
        argv = [program or HERMIT_DAP, *options]
        self.process = subprocess.Popen(argv, stdin=subprocess.DEVNULL if self.listens else subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=self.env)
        self.reader = threading.Thread(target=self.read_errors, daemon=True)
        self.reader.start()
        self.path = options[options.index("--socket") + 1] if "--socket" in options else None
        self.port = self.read_port() if "--port" in options else None
        if self.path:
            wait_for(lambda: os.path.exists(self.path), "no socket " + self.path)

    def read_errors(self):
        while True:
            piece = os.read(self.process.stderr.fileno(), 65536)
            if not piece:
                return
            self.error_text = (self.error_text + piece)[-100000:]

    def read_port(self):
        ready, _, _ = select.select([self.process.stdout], [], [], 20)
        line = self.process.stdout.readline().decode() if ready else ""
        found = re.search(r"\b(\d+)\s*$", line)
        if not found:
            raise AssertionError("hermit-dap --port tells no port: %r, %s" % (line, self.errors()))
        return int(found.group(1))

    def errors(self):
        return self.error_text.decode("utf-8", "replace")

    def connect(self):
        if not self.listens:
            client = Client(self, self.process.stdout.fileno(), self.process.stdin.fileno())
        else:
            s = socket.socket(socket.AF_UNIX if self.path else socket.AF_INET)
            s.settimeout(LIMIT)
            s.connect(self.path or ("127.0.0.1", self.port))
            s.settimeout(None)
            client = Client(self, s.fileno(), s.fileno(), s)
        self.clients.append(client)
        return client

    def wait(self, limit=15.0):
        """Its exit status; it must end by itself."""
        try:
            status = self.process.wait(limit)
        except subprocess.TimeoutExpired:
            raise AssertionError("hermit-dap does not end: %s" % self.errors()[-2000:]) from None
        self.reader.join(5)
        return status


# --- the client -------------------------------------------------------------------------------------------------------


class Client:
    def __init__(self, adapter, fd_in, fd_out, keep=None):
        self.adapter, self.fd_in, self.fd_out, self.keep = adapter, fd_in, fd_out, keep
        self.seq, self.their_seq, self.transcript = 0, 0, []
        self.sent, self.answers, self.events, self.reverse = {}, {}, [], []
        self.changed, self.closed, self.broken = threading.Condition(), False, None
        self.capabilities, self.thread, self.stopped_body = {}, None, None
        self.reader = threading.Thread(target=self.read, daemon=True)
        self.reader.start()

    # bytes

    def read(self):
        data = b""
        try:
            while True:
                piece = os.read(self.fd_in, 1 << 16)
                if not piece:
                    break
                data += piece
                while True:
                    message, data = take_message(data)
                    if message is None:
                        break
                    self.receive(message)
            if data:
                self.broken = "half a message at the end: %r" % data[:200]
        except OSError:
            pass
        except Exception as e:  # pylint: disable=broad-except
            self.broken = str(e) or repr(e)
        with self.changed:
            self.closed = True
            self.changed.notify_all()

    def receive(self, message):
        self.transcript.append(("<", message, time.monotonic()))
        SCHEMA.check(message, strict=True)
        self.their_seq += 1
        if message["seq"] != self.their_seq:
            raise AssertionError("seq %d, not %d: %r" % (message["seq"], self.their_seq, message))
        with self.changed:
            if message["type"] == "response":
                asked = self.sent.get(message["request_seq"])
                if asked is None or message["request_seq"] in self.answers:
                    raise AssertionError("an answer to no request, or a second one: %r" % message)
                if asked != message["command"]:
                    raise AssertionError("%s was asked, not %s" % (asked, message["command"]))
                self.answers[message["request_seq"]] = message
            elif message["type"] == "event":
                self.events.append(message)
            else:
                self.reverse.append(message)
            self.changed.notify_all()

    def send_raw(self, data):
        while data:
            data = data[os.write(self.fd_out, data):]

    def send_message(self, message, valid=True):
        if valid:
            SCHEMA.check(message)
        self.transcript.append((">", message, time.monotonic()))
        body = json.dumps(message).encode()
        self.send_raw(b"Content-Length: %d\r\n\r\n" % len(body) + body)

    # requests and events

    def send(self, name, arguments=None, valid=True):
        """Its seq."""
        self.seq += 1
        seq = self.seq
        message = {"seq": seq, "type": "request", "command": name}
        if arguments is not None:
            message["arguments"] = arguments
        self.sent[seq] = name
        self.send_message(message, valid)
        return seq

    def wait(self, look, what, limit=None):
        """Until look() gives something; that."""
        until = time.monotonic() + (limit or LIMIT)
        with self.changed:
            while True:
                found = look()
                if found is not None:
                    return found
                if self.broken:
                    raise AssertionError(self.broken)
                if self.closed:
                    raise Gone("the adapter is gone, no %s" % what)
                left = until - time.monotonic()
                if left <= 0:
                    raise AssertionError("no %s within %g s" % (what, limit or LIMIT))
                self.changed.wait(left)

    def answer(self, seq, limit=None):
        return self.wait(lambda: self.answers.get(seq), "answer to %s" % self.sent[seq], limit)

    def request(self, name, arguments=None, limit=None, valid=True):
        """The body of its answer."""
        answer = self.answer(self.send(name, arguments, valid), limit)
        if not answer["success"]:
            raise Refused(answer)
        return answer.get("body", {})

    def refused(self, name, arguments=None, limit=None, valid=True):
        """The answer, which has to be a refusal; its text has to say something."""
        answer = self.answer(self.send(name, arguments, valid), limit)
        assert not answer["success"], "%s was not refused: %r" % (name, answer)
        error = answer["body"]["error"]
        assert answer["message"] and error["format"], answer
        return answer

    def event(self, name, limit=None, match=lambda body: True):
        """The body of the next event of that name, which is taken off the list."""
        def look():
            for at, event in enumerate(self.events):
                if event["event"] == name and match(event.get("body") or {}):
                    return self.events.pop(at)
            return None
        return self.wait(look, "event " + name, limit).get("body") or {}

    def had(self, name):
        """Bodies of the events of that name that nobody has taken."""
        with self.changed:
            return [e.get("body") or {} for e in self.events if e["event"] == name]

    def reverse_request(self, name, limit=None):
        def look():
            for at, message in enumerate(self.reverse):
                if message["command"] == name:
                    return self.reverse.pop(at)
            return None
        message = self.wait(look, "reverse request " + name, limit)
        self.seq += 1
        self.send_message({"seq": self.seq, "type": "response", "request_seq": message["seq"], "success": True, "command": name})
        return message["arguments"]

    # sessions

    def initialize(self, **more):
        self.capabilities = self.request("initialize", dict(CLIENT, **more))
        return self.capabilities

    def stop(self, limit=None):
        """The body of the next stopped event."""
        self.stopped_body = self.event("stopped", limit)
        self.thread = self.stopped_body.get("threadId", self.thread)
        return self.stopped_body

    def open(self, arguments, name="launch", configure=None, limit=None):
        """launch or attach, up to the first stop."""
        seq = self.send(name, arguments)
        def ready():
            answer = self.answers.get(seq)
            if answer and not answer["success"]:
                raise Refused(answer)
            return True if any(e["event"] == "initialized" for e in self.events) else None
        self.wait(ready, "initialized event", limit)
        self.event("initialized")
        if configure:
            configure(self)
        self.request("configurationDone")
        answer = self.answer(seq, limit)
        if not answer["success"]:
            raise Refused(answer)
        return self.stop(limit)

    def go(self, name, limit=None, **arguments):
        """A request that runs, for the thread of the last stop; the stop that follows."""
        if name != "restart" and not name.startswith("hermit/") or name.startswith("hermit/reverse"):
            arguments.setdefault("threadId", self.thread)
        self.request(name, arguments, limit)
        return self.stop(limit)

    def set_breaks(self, path, breakpoints, **more):
        """breakpoints: lines, or the protocol's objects. What became of them."""
        wanted = [b if isinstance(b, dict) else {"line": b} for b in breakpoints]
        body = self.request("setBreakpoints", dict({"source": {"path": path}, "breakpoints": wanted}, **more))
        assert len(body["breakpoints"]) == len(wanted), body
        return body["breakpoints"]

    def stack(self, start=None, levels=None, thread=None):
        arguments = {"threadId": thread or self.thread}
        if start is not None:
            arguments["startFrame"] = start
        if levels is not None:
            arguments["levels"] = levels
        return self.request("stackTrace", arguments)["stackFrames"]

    def top(self):
        return self.stack(0, 1)[0]

    def at(self):
        """(function, line) of the innermost frame."""
        frame = self.top()
        return re.sub(r"\(.*", "", frame["name"]), frame["line"]

    def scope(self, word, frame=None):
        """Variables of the first scope whose name begins so: {name: the protocol's object}."""
        scopes = self.request("scopes", {"frameId": frame or self.top()["id"]})["scopes"]
        found = [s for s in scopes if s["name"].lower().startswith(word)]
        assert found, "no scope %s in %s" % (word, [s["name"] for s in scopes])
        return {v["name"]: v for v in self.variables(found[0]["variablesReference"])}

    def variables(self, reference, **arguments):
        return self.request("variables", dict(variablesReference=reference, **arguments))["variables"]

    def evaluate(self, expression, context="watch", frame=0):
        """The text of its value; frame None: that of the adapter's choice."""
        arguments = {"expression": expression, "context": context}
        if frame is not None:
            arguments["frameId"] = frame or self.top()["id"]
        return self.request("evaluate", arguments)["result"]

    def type(self, line):
        """A line of the debug console."""
        return self.evaluate(line, "repl")

    def disconnect(self):
        """The end of the session as editors make it."""
        self.request("disconnect", {})
        self.wait(lambda: True if self.closed else None, "end of the connection", 15)
        if self.broken:
            raise AssertionError(self.broken)

    def close(self):
        """As an editor that is killed."""
        if self.keep:
            self.keep.shutdown(socket.SHUT_RDWR)
        else:
            self.adapter.process.stdin.close()

    def unanswered(self):
        return [name for seq, name in self.sent.items() if seq not in self.answers]


def take_message(data):
    """(message, rest); message None: it is not whole."""
    head, mark, rest = data.partition(b"\r\n\r\n")
    if not mark:
        if len(data) > 4096:
            raise AssertionError("no header: %r" % data[:200])
        return None, data
    found = re.fullmatch(rb"Content-Length: (\d+)", head)
    if not found:
        raise AssertionError("a header that is none: %r" % head[:200])
    size = int(found.group(1))
    if len(rest) < size:
        return None, data
    return json.loads(rest[:size].decode("utf-8")), rest[size:]
