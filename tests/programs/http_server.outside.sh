# Asks http_server.sh from outside of the recording and ends it by a signal.
set -eu
while [ ! -e port ]; do sleep 0.05; done
u=http://127.0.0.1:$(cat port)
for i in 1 2 3 4 5 6 7 8; do
	curl -sS $u/numbers | cmp - www/numbers
done
curl -sS -Z -o a $u/numbers -o b $u/numbers -o c $u/numbers
cmp a www/numbers
curl -sS -o d -w '%{http_code}\n' $u/missing
kill -TERM "$(cat pid)"
