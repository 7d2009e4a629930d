# curl against a python http.server, both recorded: files, ranges, posts, errors, head, many in parallel. Ports and dates differ.
set -eu
py=/usr/bin/python3
[ -x $py ] || py=python3
mkdir www
seq 1 100000 >www/numbers
echo index >www/index.html
cat >server.py <<'EOT'
import http.server, sys
class H(http.server.SimpleHTTPRequestHandler):
    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.send_response(201)
        self.end_headers()
        self.wfile.write(body.upper())
        if body == b"stop":
            import threading
            threading.Thread(target=self.server.shutdown).start()
    def log_message(self, *a): pass
s = http.server.ThreadingHTTPServer(("127.0.0.1", 0), lambda *a: H(*a, directory="www"))
with open("port.new", "w") as f: f.write(str(s.server_address[1]))
import os; os.rename("port.new", "port")
s.serve_forever()
EOT
$py server.py &
while [ ! -e port ]; do sleep 0.05; done
u=http://127.0.0.1:$(cat port)
curl -sS $u/
curl -sS $u/numbers | sha256sum
curl -sS -o first -o second $u/index.html $u/index.html && cat first second
curl -sSI $u/numbers | grep -i -e length -e date | tr -d '\r'
curl -sS -o /dev/null -w '%{http_code} %{size_download} %{time_total}\n' $u/missing
curl -sS -d 'posted text' -w ' %{http_code}\n' $u/
curl -sS -Z -o 'a' $u/numbers -o b $u/index.html -o c $u/numbers 2>/dev/null
cmp a www/numbers && cmp b www/index.html && cmp c a && echo parallel
curl -sS http://127.0.0.1:1/ 2>/dev/null || echo "refused $?"
curl -sS -d stop $u/
wait
echo
echo stopped
