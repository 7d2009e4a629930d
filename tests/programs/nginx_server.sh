# nginx with two workers, recorded, asked from outside of the recording (nginx_server.outside.sh).
set -eu
py=/usr/bin/python3
[ -x $py ] || py=python3
port=$($py -c 'import socket; s = socket.create_server(("127.0.0.1", 0)); print(s.getsockname()[1])')
mkdir -p www tmp
seq 1 50000 >www/numbers
user=
[ "$(id -u)" != 0 ] || user='user root;'
cat >conf <<EOT
$user
worker_processes 2;
daemon off;
pid $PWD/pid;
events { worker_connections 64; }
http {
	access_log /dev/stdout;
	client_body_temp_path $PWD/tmp/body;
	proxy_temp_path $PWD/tmp/proxy;
	fastcgi_temp_path $PWD/tmp/fastcgi;
	uwsgi_temp_path $PWD/tmp/uwsgi;
	scgi_temp_path $PWD/tmp/scgi;
	server { listen 127.0.0.1:$port; root $PWD/www; }
}
EOT
echo "$port" >port
exec nginx -e stderr -p "$PWD" -c conf
