# curl, recorded, against a python http.server that runs outside of the recording (http_client.outside.sh).
set -eu
i=0
while [ ! -e port ]; do
	i=$((i + 1))
	sleep 0.05
done
u=http://127.0.0.1:$(cat port)
curl -sS $u/
curl -sS $u/numbers | sha256sum
curl -sS -Z -o a $u/numbers -o b $u/numbers 2>/dev/null
cmp a b && wc -c <a
curl -sS $u/random
curl -sS $u/stop
