# Asks nginx_server.sh from outside of the recording, then ends it.
set -eu
while [ ! -e port ]; do sleep 0.05; done
u=http://127.0.0.1:$(cat port)
until curl -s -o /dev/null $u/numbers; do sleep 0.05; done
for i in 1 2 3 4 5 6; do curl -sS -H "X: $i" $u/numbers | cmp - www/numbers; done
curl -sS -Z -o a $u/numbers -o b $u/numbers -o c $u/numbers 2>/dev/null
cmp b www/numbers
pid=$(cat pid)
kill -QUIT "$pid"
i=0
while kill -0 "$pid" 2>/dev/null && [ $i -lt 50 ]; do
	i=$((i + 1))
	sleep 0.1
done
kill -TERM "$pid" 2>/dev/null || :
