"""A client of gdb's remote protocol for tests: packets, registers, memory, stops, both directions, files, monitor commands.

It is strict where gdb is lenient: a wrong checksum, an answer that does not parse or a register block of the wrong length
is an error. Hermit (below) records programs and starts `hermit replay --serve-only`.
"""
import hashlib
import json
import os
import re
import select
import shutil
import signal
import socket
import subprocess
import tempfile
import time
import xml.etree.ElementTree as xml

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BUILD = os.path.abspath(os.environ.get("BUILD_DIR", os.path.join(TOP, "build")))
HERMIT = os.path.abspath(os.environ.get("HERMIT", os.path.join(BUILD, "hermit")))
SUPPORTED = (b"qSupported:multiprocess+;swbreak+;hwbreak+;vContSupported+;no-resumed+;xmlRegisters=i386;"
             b"QStartNoAckMode+;error-message+")
BREAK, HW_BREAK, WATCH, READ_WATCH, ACCESS_WATCH = range(5)
LARGE = 1 << 20
UNCOMPARED = ("[vvar", "[vsyscall]", "[vdso]")


class RspError(Exception):
    """The server broke the protocol, refused something or is gone; the text says which."""


# --- packets ----------------------------------------------------------------------------------------------------------


def escape(data):
    return re.sub(rb"[$#}*]", lambda m: b"}" + bytes([m.group(0)[0] ^ 0x20]), data)


CODED = re.compile(rb"(?:\}(.)|([^}*]))((?:\*.)+)|\}(.)|[}*]", re.DOTALL)


def decoded(match):
    escaped, plain, runs, alone = match.groups()
    if alone is not None:
        return bytes([alone[0] ^ 0x20])
    if runs is None:
        raise RspError("an escape at the end of a packet, or a bad run length: %r" % match.string[max(match.start() - 40, 0):match.end() + 40])
    lengths = [n - 29 for n in runs[1::2]]
    if not all(3 <= n <= 97 for n in lengths):
        raise RspError("a bad run length in %r" % match.group(0))
    return (bytes([escaped[0] ^ 0x20]) if escaped else plain) * (1 + sum(lengths))


def unescape(data):
    """Undoes escapes and run lengths."""
    return CODED.sub(decoded, data)


def frame(payload):
    body = escape(payload)
    return b"$%s#%02x" % (body, sum(body) & 0xff)


def take_packet(data):
    """(payload, rest) of the first packet in data, or (None, data) when it is not complete."""
    begin = data.find(b"$")
    if begin < 0:
        if data.strip(b"+"):
            raise RspError("noise between packets: %r" % data[:80])
        return None, b""
    if data[:begin].strip(b"+"):
        raise RspError("noise before a packet: %r" % data[:begin][:80])
    end = data.find(b"#", begin)
    if end < 0 or len(data) < end + 3:
        return None, data
    body = data[begin + 1:end]
    if int(data[end + 1:end + 3], 16) != sum(body) & 0xff:
        raise RspError("wrong checksum in %r" % data[begin:end + 3][:200])
    return unescape(body), data[end + 3:]


class Stop:
    """A stop reply."""

    def __init__(self, reply):
        self.raw, self.signal, self.thread, self.status, self.pairs = reply, None, None, None, {}
        text = reply.decode("latin-1")
        kind = text[:1]
        if kind not in ("T", "S", "W", "X", "N") or (kind != "N" and not re.fullmatch(r"[0-9a-fA-F]{1,2}", text[1:3].strip(";"))):
            raise RspError("no stop reply: %r" % reply[:200])
        if kind in ("T", "S"):
            self.signal = int(text[1:3], 16)
        elif kind in ("W", "X"):
            self.status = (kind, int(text[1:3].strip(";"), 16))
        if kind == "T":
            for pair in text[3:].strip(";").split(";"):
                key, _, value = pair.partition(":")
                self.pairs[key] = value
            self.thread = self.pairs.get("thread")

    def reason(self):
        """What the stop is about: breakpoint, watch, begin, end, exit, signal N, step."""
        if self.status:
            return "exit"
        for key, name in (("watch", "watch"), ("rwatch", "watch"), ("awatch", "watch"), ("swbreak", "break"), ("hwbreak", "break"),
                          ("syscall_entry", "call"), ("syscall_return", "call")):
            if key in self.pairs:
                return name
        if "replaylog" in self.pairs:
            return self.pairs["replaylog"]
        return "trap" if self.signal == 5 else "signal %d" % (self.signal or 0)

    def __repr__(self):
        return "Stop(%s)" % self.raw.decode("latin-1")


# --- the client -------------------------------------------------------------------------------------------------------


class Rsp:
    def __init__(self, port=None, path=None, timeout=30):
        self.timeout, self.buffer, self.ack, self.registers, self.packet_size = timeout, b"", True, [], 0x1000
        self.socket = socket.socket(socket.AF_UNIX if path else socket.AF_INET, socket.SOCK_STREAM)
        self.socket.settimeout(timeout)
        self.socket.connect(path or ("127.0.0.1", port))
        if not path:
            self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.features = {}

    def close(self):
        self.socket.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    # bytes and packets

    def send_raw(self, data):
        self.socket.sendall(data)

    def send(self, payload):
        self.send_raw(frame(payload if isinstance(payload, bytes) else payload.encode("latin-1")))

    def receive(self, timeout=None):
        """The next packet."""
        deadline = time.monotonic() + (timeout or self.timeout)
        while True:
            payload, self.buffer = take_packet(self.buffer)
            if payload is not None:
                if self.ack:
                    self.send_raw(b"+")
                return payload
            left = deadline - time.monotonic()
            if left <= 0 or not select.select([self.socket], [], [], left)[0]:
                raise RspError("no answer within %g s" % (timeout or self.timeout))
            try:
                more = self.socket.recv(1 << 20)
            except OSError as e:
                raise RspError("the connection broke: %s" % e) from None
            if not more:
                raise RspError("the server closed the connection")
            self.buffer += more

    def request(self, payload, timeout=None):
        self.send(payload)
        return self.receive(timeout)

    def ok(self, payload):
        answer = self.request(payload)
        if answer != b"OK":
            raise RspError("%r: answered by %r" % (payload, answer[:200]))

    def interrupt(self):
        self.send_raw(b"\x03")

    # beginning

    def handshake(self):
        """As gdb begins: features, no acks, the description of registers; gives the first stop."""
        for word in self.request(SUPPORTED).decode("latin-1").split(";"):
            match = re.fullmatch(r"([^=+\-?]+)(?:([+\-?])|=(.*))", word)
            if match:
                self.features[match.group(1)] = match.group(2) or match.group(3)
        self.packet_size = int(self.features.get("PacketSize", "1000"), 16)
        if self.features.get("QStartNoAckMode") == "+":
            self.ok("QStartNoAckMode")
            self.ack = False
        self.ok("Hg" + ("p0.0" if "multiprocess" in self.features else "0"))
        if self.features.get("qXfer:features:read") == "+":
            self.registers = self.read_registers_list("target.xml")
        stop = Stop(self.request("?"))
        return stop

    def transfer(self, what, annex=""):
        """All of an object of qXfer."""
        data = b""
        while True:
            answer = self.request("qXfer:%s:read:%s:%x,%x" % (what, annex, len(data), min(self.packet_size - 16, 0x8000)))
            if answer[:1] not in (b"l", b"m"):
                raise RspError("qXfer:%s:read:%s: answered by %r" % (what, annex, answer[:200]))
            data += answer[1:]
            if answer[:1] == b"l":
                return data
            if len(answer) == 1:
                raise RspError("qXfer:%s:read:%s: an empty part that is not the last" % (what, annex))

    def read_registers_list(self, annex):
        """[(name, bytes)] in the order of the g packet, of a description and what it includes."""
        root = xml.fromstring(re.sub(rb"<!DOCTYPE[^>]*>", b"", self.transfer("features", annex)))
        found, number = [], 0
        for node in root.iter():
            tag = node.tag.rpartition("}")[2]
            if tag == "include":
                found += self.read_registers_list(node.get("href"))
            elif tag == "reg":
                number = int(node.get("regnum", number))
                found.append((node.get("name"), int(node.get("bitsize")) // 8))
                number += 1
        return found

    # state

    def threads(self):
        """Ids as the server writes them."""
        found, answer = [], self.request("qfThreadInfo")
        while answer[:1] == b"m":
            found += answer[1:].decode().split(",")
            answer = self.request("qsThreadInfo")
        if answer != b"l":
            raise RspError("a thread list ends with %r" % answer[:200])
        return found

    def current(self):
        """The thread that the server thinks of."""
        answer = self.request("qC")
        if answer[:2] != b"QC":
            raise RspError("qC: answered by %r" % answer[:200])
        return answer[2:].decode()

    def raw_regs(self, thread=None):
        if thread:
            self.ok("Hg" + thread)
        answer = self.request("g")
        if answer[:1] == b"E" or not answer:
            raise RspError("g: answered by %r" % answer[:200])
        return answer

    def regs(self, thread=None):
        """{name: number, or None where the server does not know}"""
        answer, found, at = self.raw_regs(thread).decode(), {}, 0
        for name, size in self.registers:
            word = answer[at:at + 2 * size]
            if len(word) != 2 * size:
                raise RspError("g: %d bytes are too few for %s" % (len(answer) // 2, name))
            found[name] = None if "x" in word else int.from_bytes(bytes.fromhex(word), "little")
            at += 2 * size
        if at != len(answer):
            raise RspError("g: %d bytes more than the description says" % ((len(answer) - at) // 2))
        return found

    def pc(self, thread=None):
        return self.regs(thread)["rip"]

    def read(self, address, length):
        """Bytes of memory; what cannot be read is an error."""
        data, most = b"", (self.packet_size - 16) // 2
        while len(data) < length:
            answer = self.request("m%x,%x" % (address + len(data), min(length - len(data), most)))
            if answer[:1] == b"E" or not answer:
                raise RspError("memory at %#x: answered by %r" % (address + len(data), answer[:200]))
            data += bytes.fromhex(answer.decode())
        return data

    def read_number(self, address, size=8):
        return int.from_bytes(self.read(address, size), "little")

    # running

    def wait(self, timeout=None):
        """The stop that ends a run; what is said on the way (O packets) is dropped."""
        while True:
            answer = self.receive(timeout)
            if not (answer[:1] == b"O" and answer != b"OK"):
                return Stop(answer)

    def run(self, payload, timeout=None):
        self.send(payload)
        return self.wait(timeout)

    def cont(self, timeout=None):
        return self.run("vCont;c", timeout)

    def step(self, thread=None, timeout=None):
        """One instruction of a thread, as gdb asks for it: others may run."""
        return self.run("vCont;s:%s;c" % thread if thread else "vCont;s", timeout)

    def reverse_cont(self, timeout=None):
        return self.run("bc", timeout)

    def reverse_step(self, thread=None, timeout=None):
        if thread:
            self.ok("Hc" + thread)
        return self.run("bs", timeout)

    def insert(self, kind, address, length=1, condition=None):
        """condition: bytecode of an agent expression"""
        self.ok("Z%d,%x,%x%s" % (kind, address, length, ";X%x,%s" % (len(condition), condition.hex()) if condition else ""))

    def remove(self, kind, address, length=1):
        self.ok("z%d,%x,%x" % (kind, address, length))

    # more

    def monitor(self, text, timeout=None):
        """What a monitor command prints."""
        self.send("qRcmd," + text.encode().hex())
        out = b""
        while True:
            answer = self.receive(timeout)
            if answer == b"OK":
                return out.decode("utf-8", "replace")
            if answer[:1] == b"E" and re.match(rb"E([0-9a-fA-F]{2}$|\.)", answer):
                raise RspError("monitor %s: %s%s" % (text, out.decode("utf-8", "replace"), answer.decode("latin-1")))
            if answer[:1] == b"O":
                out += bytes.fromhex(answer[1:].decode())
            elif answer:
                return (out + bytes.fromhex(answer.decode())).decode("utf-8", "replace")
            else:
                raise RspError("monitor commands are not known")

    def hermit(self, text, timeout=120):
        """What `monitor hermit TEXT --json` answers."""
        answer = re.sub(r"\A(\[[^\n]*\]\n)+(?=.)", "", self.monitor("hermit %s --json" % text, timeout))  # without progress
        try:
            found = json.loads(answer)
        except ValueError:
            raise RspError("monitor hermit %s: no JSON: %r" % (text, answer[:500])) from None
        if "error" in found:
            raise RspError("monitor hermit %s: %s" % (text, found["error"]))
        return found

    def where(self):
        return self.hermit("where")["position"]

    def goto(self, position):
        self.hermit("goto " + position)

    def file_call(self, payload):
        """(result, attached bytes) of a vFile request."""
        answer = self.request(payload)
        match = re.match(rb"F(-?[0-9a-fA-F]+)(?:,([0-9a-fA-F]+))?(;?)", answer)
        if not match:
            raise RspError("%r: answered by %r" % (payload, answer[:200]))
        if match.group(1).startswith(b"-"):
            raise RspError("%r: fails with %s" % (payload, answer[:80].decode("latin-1")))
        return int(match.group(1), 16), answer[match.end():]

    def read_file(self, path):
        fd, _ = self.file_call("vFile:open:%s,0,0" % path.encode().hex())
        data = b""
        while True:
            n, part = self.file_call("vFile:pread:%x,%x,%x" % (fd, min(self.packet_size // 2 - 32, 0x8000), len(data)))
            if n != len(part):
                raise RspError("vFile:pread says %d bytes and sends %d" % (n, len(part)))
            if not n:
                break
            data += part
        self.file_call("vFile:close:%x" % fd)
        return data

    def maps(self, pid):
        """[(start, end, permissions, name)]"""
        found = []
        for line in self.read_file("/proc/%d/maps" % pid).decode("utf-8", "replace").splitlines():
            match = re.match(r"([0-9a-f]+)-([0-9a-f]+) (\S{4}) \S+ \S+ \S+\s*(.*)", line)
            if not match:
                raise RspError("no line of maps: %r" % line)
            found.append((int(match.group(1), 16), int(match.group(2), 16), match.group(3), match.group(4)))
        return found


def pid_of(thread):
    """The process of "p12.34"."""
    match = re.fullmatch(r"p([0-9a-f]+)\.([0-9a-f]+)", thread or "")
    if not match:
        raise RspError("no id of process and thread: %r" % thread)
    return int(match.group(1), 16)


def digest(client, start, end):
    """Of the memory there; of large mappings both ends count (stacks, heaps), and a page out of 64 between them."""
    hashed, page, ends = hashlib.blake2b(digest_size=16), 1 << 12, 1 << 16
    parts = [(start, end)]
    if end - start > LARGE:
        parts = [(start, start + ends), *((at, at + page) for at in range(start + ends, end - ends, 64 * page)), (end - ends, end)]
    for first, last in parts:
        hashed.update(client.read(first, last - first))
    return hashed.hexdigest()


def state(client):
    """{what: digest} of the whole process: threads, their registers, writable memory. Two of them are equal or name what differs."""
    found, threads = {}, sorted(client.threads())
    found["threads"] = " ".join(threads)
    for thread in threads:
        for name, value in client.regs(thread).items():
            found["%s %s" % (thread, name)] = value
    if threads:
        for start, end, permissions, name in client.maps(pid_of(threads[0])):
            place = "%x-%x %s %s" % (start, end, permissions, name)
            found[place] = "mapped"
            if permissions[1] == "w" and permissions[0] == "r" and not name.startswith(UNCOMPARED):
                found[place] = digest(client, start, end)
    return found


def differences(a, b):
    """Lines that say what is not the same in two states."""
    return ["%s: %s, not %s" % (key, b.get(key), a.get(key)) for key in sorted({*a, *b}) if a.get(key) != b.get(key)]


# --- hermit -----------------------------------------------------------------------------------------------------------


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def children(pid):
    """All descendants of a process."""
    found = []
    try:
        for task in os.listdir("/proc/%d/task" % pid):
            with open("/proc/%d/task/%s/children" % (pid, task), encoding="ascii") as f:
                found += [int(p) for p in f.read().split()]
    except OSError:
        pass
    return found + [p for c in list(found) for p in children(c)]


def is_alive(pid):
    try:
        with open("/proc/%d/stat" % pid, encoding="utf-8", errors="replace") as f:
            return f.read().rpartition(")")[2].split()[0] not in ("Z", "X")
    except OSError:
        return False


class Hermit:
    """A scratch store with recordings, and servers of their replays; all of it goes with close()."""

    def __init__(self):
        self.top = tempfile.mkdtemp(prefix="hermit-debug-")
        self.store = os.path.join(self.top, "store")
        self.env = {k: v for k, v in os.environ.items() if not k.startswith("HERMIT")}
        self.env.update(HERMIT_DATA_DIR=self.store, LC_ALL="C.UTF-8", TZ="UTC")
        self.servers = []

    def record(self, argv, options=(), timeout=120, status=0):
        """Id of the recording of a program that ends with that status (None: any)."""
        done = subprocess.run([HERMIT, "record", "start", "--no-seal", *options, "--", *argv], cwd=self.top, env=self.env,
                              stdin=subprocess.DEVNULL, capture_output=True, timeout=timeout, check=False)
        found = re.findall(rb"hermit replay [^\n]*?\b([0-9a-f]{32})\b", done.stderr)
        if not found or (status is not None and done.returncode != status):
            raise RspError("record start %s: status %d: %s" % (argv, done.returncode, done.stderr[-2000:].decode("utf-8", "replace")))
        return found[-1].decode()

    def run(self, *words):
        """What hermit prints."""
        return subprocess.run([HERMIT, *words], cwd=self.top, env=self.env, stdin=subprocess.DEVNULL, capture_output=True, timeout=120, check=True).stdout

    def serve(self, ident, options=(), timeout=60):
        """A Server of the recording; clients connect to its port."""
        server = Server(self, ident, list(options), timeout)
        self.servers.append(server)
        return server

    def close(self):
        for server in self.servers:
            server.kill()
        # the background sealer may still be writing
        for _ in range(50):
            shutil.rmtree(self.top, ignore_errors=True)
            if not os.path.exists(self.top):
                return
            time.sleep(0.1)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


class Server:
    def __init__(self, hermit, ident, options, timeout):
        self.port, self.guests = free_port(), set()
        self.log = os.path.join(hermit.top, "server-%d.log" % self.port)
        with open(self.log, "wb") as log:
            self.process = subprocess.Popen([HERMIT, "replay", "--serve-only", "--gdbserver-port", str(self.port), *options, ident],
                                            cwd=hermit.top, env=hermit.env, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        deadline = time.monotonic() + timeout
        while not is_listening(self.port):
            if self.process.poll() is not None or time.monotonic() > deadline:
                status = self.process.poll()
                self.kill()
                raise RspError("hermit replay --serve-only: %s: %s" % (
                    "does not listen" if status is None else "status %d" % status, self.said()[-2000:]))
            time.sleep(0.005)

    def said(self):
        with open(self.log, encoding="utf-8", errors="replace") as f:
            return f.read()

    def connect(self, timeout=60):
        client = Rsp(self.port, timeout=timeout)
        client.first = client.handshake()
        return client

    def note_guests(self):
        """Remembers the processes below the server, which must be gone when it is."""
        self.guests |= set(children(self.process.pid))
        return self.guests

    def wait(self, timeout=10):
        """Its exit status, when it ends by itself; an error when it does not, or leaves processes behind."""
        try:
            status = self.process.wait(timeout)
        except subprocess.TimeoutExpired:
            raise RspError("the server does not end within %g s" % timeout) from None
        deadline = time.monotonic() + timeout
        while [p for p in self.guests if is_alive(p)]:
            if time.monotonic() > deadline:
                raise RspError("the server leaves processes behind: %s" % [p for p in self.guests if is_alive(p)])
            time.sleep(0.01)
        return status

    def kill(self):
        if self.process.poll() is None:
            self.note_guests()
            self.process.send_signal(signal.SIGTERM)
            try:
                self.process.wait(5)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()
        for pid in self.guests:
            if is_alive(pid):
                os.kill(pid, signal.SIGKILL)


def is_listening(port):
    """Without connecting: a server may serve the first one only."""
    with open("/proc/net/tcp", encoding="ascii") as f:
        return re.search(r":%04X [0-9A-F]+:0000 0A " % port, f.read()) is not None
