"""Stands between gdb and a server, checks both sides' packets, and keeps the state of the process wherever gdb says `monitor state`."""
import select
import socket
import threading

import rsp

STATE = b"qRcmd," + b"state".hex().encode()


class Proxy(threading.Thread):
    """Serves one gdb on self.port. After join(): self.states = [(position, state)], self.error = None or a text."""

    def __init__(self, server_port):
        super().__init__(daemon=True)
        self.server = rsp.Rsp(server_port, timeout=120)
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        self.states, self.error, self.general = [], None, None

    def run(self):
        self.listener.settimeout(60)
        try:
            self.client, _ = self.listener.accept()
            self.client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            self.pump()
        except (rsp.RspError, OSError, ValueError) as e:
            self.error = "%s: %s" % (type(e).__name__, e)
        finally:
            self.listener.close()
            self.server.close()
            if hasattr(self, "client"):
                self.client.close()

    def pump(self):
        """Passes bytes until one side closes."""
        asked, answered = b"", b""
        while True:
            ready, _, _ = select.select([self.client, self.server.socket], [], [])
            if self.server.socket in ready:
                data = self.server.socket.recv(1 << 16)
                self.client.sendall(data)
                answered = self.check(answered + data)
                if not data:
                    return
            if self.client in ready:
                data = self.client.recv(1 << 16)
                if not data:
                    return
                asked = self.ask(asked + data)

    @staticmethod
    def check(data):
        """Parses whole packets of the server: an error where they are malformed."""
        payload = b""
        while payload is not None:
            payload, data = rsp.take_packet(data)
        return data

    def ask(self, data):
        """Hands requests on, but our own; gives what is not complete yet."""
        while data:
            if data[:1] in (b"+", b"-", b"\x03"):
                self.server.send_raw(data[:1])
                data = data[1:]
                continue
            payload, rest = rsp.take_packet(data)
            if payload is None:
                return data
            if payload == STATE:
                self.keep_state()
            else:
                if payload[:2] == b"Hg":
                    self.general = payload
                self.server.send_raw(data[:len(data) - len(rest)])
                if payload == b"QStartNoAckMode":
                    self.server.ack = False
            data = rest
        return b""

    def keep_state(self):
        if not self.server.registers:
            self.server.packet_size = 0x4000
            self.server.registers = self.server.read_registers_list("target.xml")
        try:
            self.states.append((self.server.where(), rsp.state(self.server)))
        finally:
            if self.general:
                self.server.ok(self.general)
        if self.server.ack:
            self.client.sendall(b"+")
        self.client.sendall(rsp.frame(b"OK"))
