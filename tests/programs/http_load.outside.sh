# Load for the servers that answer /hash/N and /echo, from outside of the recording; ends them by SIGTERM.
set -eu
while [ ! -e port ]; do sleep 0.05; done
u=http://127.0.0.1:$(cat port)
curl -sS $u/hash/1 >first
[ "$(wc -c <first)" = 65 ]
head -c 200000 /dev/zero | tr '\0' x >body
curl -sS --data-binary @body $u/echo | cmp - body
# several at a time, some connections used again
set --
for i in $(seq 24); do set -- "$@" -o "out$i" "$u/hash/$i"; done
curl -sS -Z --parallel-max 8 "$@"
cmp first out1
curl -sS "$@"
cmp first out1
kill -TERM "$(cat pid)"
