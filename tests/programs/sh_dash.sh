# dash: pipelines, traps, subshells, background jobs, command substitution, here documents, signals between processes. Deterministic.
set -u
trap 'echo bye; exit 13' TERM
echo start | while read -r w; do echo "loop $w"; done
v=$(
	echo nested $(echo deep $(echo deeper))
	exit 3
)
echo "$v $?"
(sleep 0.1; echo late) &
echo early
wait
(exit 5) &
wait $!
echo "background $?"
i=0
while [ $i -lt 50 ]; do
	i=$((i + 1))
	/bin/true
	: $(echo $i)
done
echo "fifty $i"
cat <<EOT | tr a-z A-Z
here document $((i * 2))
EOT
seq 1 100 | (
	read -r first
	echo "first $first"
	sum=0
	while read -r n; do sum=$((sum + n)); done
	echo "sum $sum"
)
mkfifo fifo
cat fifo &
echo through the fifo >fifo
wait
(trap 'echo child INT; exit 8' INT; kill -INT $(sh -c 'echo $PPID'); sleep 1)
echo "child $?"
sh -c 'trap "" PIPE; yes 2>/dev/null' | head -n 1
set -- a 'b c' d
for x; do echo "[$x]"; done
shift 2
echo "$# $*"
eval 'echo eval $1'
. /dev/stdin <<'EOT'
echo sourced
EOT
test -t 0 || echo no terminal
umask 077
: >private
ls -l private | cut -c1-10
ulimit -n
type cd
command -v sh
exec 3<&0 4>&1
echo to four >&4
kill -TERM $$
echo not reached
