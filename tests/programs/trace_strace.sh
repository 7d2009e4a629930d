# strace of programs, trees, threads; attached to a process that runs; one that changes results.
set -eu
# what differs from run to run: addresses, pids, and calls that only some kernels have
shown() {
	sed -E 's/0x[0-9a-f]+/PTR/g; s/^\[pid +[0-9]+\] //; s/^[0-9]+ +//' "$@"
}
strace -o log true
shown log | grep -E '^(execve|exit_group|\+\+\+)' | sed 's/PTR.*/PTR/'
strace -f -o log sh -c 'seq 1000 | sort -rn | head -n 3; (exit 3); echo "status $?"'
echo "processes $(grep -c 'exited with' log), one with 3: $(grep -c '+++ exited with 3 +++' log)"
grep -o 'execve("[^"]*", \["[^]]*\]' log | sed 's/.*\["//' | sort
strace -f -e trace=none -e signal=all -o log sh -c 'kill -USR1 $$' || echo "status $?"
shown log | sed -E 's/si_pid=[0-9]+, si_uid=[0-9]+/ids/'
strace -o log -e inject=getppid:retval=77 sh -c 'echo "parent $PPID"'
strace -o log -e inject=openat:error=ENOENT:when=3+ cat /dev/null 2>/dev/null || echo "cat: $?"
strace -o log -c ls / >/dev/null
grep -q 'total$' log && echo counted
strace -f --seccomp-bpf -e trace=write -o log sh -c 'echo one; /bin/echo two' && shown log | grep '^write(1'
mkfifo gate
sh -c 'read x <gate; echo "read $x"; exit 4' &
pid=$!
strace -p $pid -o log 2>err &
tracer=$!
while [ ! -s err ]; do sleep 0.05; done
sed 's/[0-9]\{2,\}/PID/' err
echo go >gate
wait $pid || echo "traced one: $?"
wait $tracer || echo "strace: $?"
tail -n 1 log
strace -D -o log true
strace -o /dev/null strace -f -o /dev/null sh -c 'echo nested; true'
