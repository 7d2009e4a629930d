# nginx with two workers and curl in one recording, own configuration, loopback only, reload, graceful end. Ports differ.
set -eu
py=/usr/bin/python3
[ -x $py ] || py=python3
port=$($py -c 'import socket; s = socket.create_server(("127.0.0.1", 0)); print(s.getsockname()[1])')
mkdir -p www tmp
seq 1 50000 >www/numbers
echo index >www/index.html
cat >conf <<EOT
worker_processes 2;
daemon off;
pid $PWD/pid;
error_log $PWD/error.log;
events { worker_connections 64; }
http {
	access_log $PWD/access.log;
	client_body_temp_path $PWD/tmp/body;
	proxy_temp_path $PWD/tmp/proxy;
	fastcgi_temp_path $PWD/tmp/fastcgi;
	uwsgi_temp_path $PWD/tmp/uwsgi;
	scgi_temp_path $PWD/tmp/scgi;
	sendfile on;
	gzip on;
	server {
		listen 127.0.0.1:$port;
		root $PWD/www;
		location /r { return 200 "request from \$remote_addr\n"; }
	}
}
EOT
[ "$(id -u)" != 0 ] || sed -i '1i user root;' conf
nginx -e error.log -p "$PWD" -c conf &
until curl -s -o /dev/null http://127.0.0.1:$port/; do sleep 0.05; done
u=http://127.0.0.1:$port
curl -sS $u/ $u/r
curl -sS $u/numbers | sha256sum
curl -sS --compressed $u/index.html
curl -sS -Z -o a $u/numbers -o b $u/numbers -o c $u/numbers -o d $u/r 2>/dev/null
cmp a www/numbers && cmp c www/numbers && echo parallel
curl -sS -o /dev/null -w '%{http_code}\n' $u/missing
kill -HUP "$(cat pid)"
sleep 0.3
curl -sS $u/
pid=$(cat pid)
kill -QUIT "$pid"
i=0
while kill -0 "$pid" 2>/dev/null && [ $i -lt 50 ]; do
	i=$((i + 1))
	sleep 0.1
done
kill -TERM "$pid" 2>/dev/null || :
wait
wc -l <access.log
