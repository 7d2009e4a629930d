# python http.server, recorded, asked by curl from outside of the recording (http_server.outside.sh). Ports and log lines differ.
py=/usr/bin/python3
[ -x $py ] || py=python3
mkdir www
seq 1 100000 >www/numbers
cat >server.py <<'EOT'
import functools, http.server, os, signal, sys, threading
h = functools.partial(http.server.SimpleHTTPRequestHandler, directory="www")
s = http.server.ThreadingHTTPServer(("127.0.0.1", 0), h)
signal.signal(signal.SIGTERM, lambda *a: threading.Thread(target=s.shutdown).start())
with open("port.new", "w") as f: f.write(str(s.server_address[1]))
with open("pid", "w") as f: f.write(str(os.getpid()))
os.rename("port.new", "port")
s.serve_forever()
print("stopped")
EOT
$py server.py 2>&1
