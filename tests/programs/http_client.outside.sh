# The server for http_client.sh, outside of the recording; ends when asked for /stop.
set -eu
py=/usr/bin/python3
[ -x $py ] || py=python3
cat >outside.py <<'EOT'
import http.server, os, threading
class H(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        body = {"/": b"index\n", "/numbers": "".join("%d\n" % i for i in range(50000)).encode(),
                "/random": os.urandom(20).hex().encode() + b"\n", "/stop": b"stopping\n"}.get(self.path, b"")
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
        if self.path == "/stop":
            threading.Thread(target=self.server.shutdown).start()
    def log_message(self, *a): pass
s = http.server.ThreadingHTTPServer(("127.0.0.1", 0), H)
with open("port.new", "w") as f: f.write(str(s.server_address[1]))
os.rename("port.new", "port")
s.serve_forever()
EOT
exec $py outside.py
