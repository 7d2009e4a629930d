# redis-server, recorded, with redis-benchmark outside of the recording (redis_server.outside.sh). The log differs.
cat >conf <<EOT
port 0
unixsocket $PWD/s
bind 127.0.0.1
save ""
dir $PWD
EOT
py=/usr/bin/python3
[ -x $py ] || py=python3
port=$($py -c 'import socket; s = socket.create_server(("127.0.0.1", 0)); print(s.getsockname()[1])')
echo "$port" >port
exec redis-server conf --port "$port"
