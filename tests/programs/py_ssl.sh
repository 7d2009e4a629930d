# python3 ssl on loopback with a certificate made here by openssl. Session keys, ports and times differ.
set -eu
py=/usr/bin/python3
[ -x $py ] || py=python3
openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -keyout key.pem -out cert.pem -days 2 \
	-subj /CN=localhost -addext subjectAltName=DNS:localhost 2>/dev/null
$py - <<'EOT'
import socket, ssl, threading
s = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
s.load_cert_chain("cert.pem", "key.pem")
listener = socket.create_server(("127.0.0.1", 0))
def serve():
    with s.wrap_socket(listener.accept()[0], server_side=True) as c:
        n = 0
        while data := c.recv(4096):
            n += len(data)
            c.sendall(b'!')
        print("server received", n)
t = threading.Thread(target=serve)
t.start()
k = ssl.create_default_context(cafile="cert.pem")
with k.wrap_socket(socket.create_connection(listener.getsockname()), server_hostname="localhost") as c:
    print(c.version(), c.cipher(), listener.getsockname(), c.getpeercert()["serialNumber"])
    for i in range(20):
        c.sendall(b"x" * (i * 100 + 1))
        assert c.recv(1) == b'!'
    print(c.session.id.hex() if c.session else None)
t.join()
try:
    with ssl.create_default_context().wrap_socket(socket.socketpair()[0], server_hostname="x", do_handshake_on_connect=False):
        print("no handshake")
except OSError as e:
    print(type(e).__name__)
EOT
