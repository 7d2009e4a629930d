# gdb: breakpoints, steps, calls, watchpoints, catchpoints, forks, threads, kill, detach, attach.
set -eu
unset DEBUGINFOD_URLS
cat >one.c <<'EOT'
#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>
int total, hits;
int add(int a, int b)
{
	int c = a + b;

	total += c;
	return c;
}
int child(int x)
{
	return x * 2;
}
static void handler(int s)
{
	hits += s == SIGUSR1;
}
int main(int argc, char **argv)
{
	int st = 0;

	signal(SIGUSR1, handler);
	for (int i = 0; i < 3; i++)
		add(i, argc);
	raise(SIGUSR1);
	if (argc > 1) {
		if (fork() == 0)
			_exit(child(4));
		wait(&st);
	}
	printf("total %d hits %d child %d\n", total, hits, WEXITSTATUS(st));
	fflush(stdout);
	if (argc > 2)
		execl("/bin/echo", argv[0], "executed", NULL);
	return total;
}
EOT
cat >threads.c <<'EOT'
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>
static int fd[2], n;
static void *work(void *p)
{
	char c;

	n += (int)read(fd[0], &c, 1);
	return p;
}
int main(void)
{
	pthread_t t[3];

	if (pipe(fd))
		return 1;
	for (int i = 0; i < 3; i++)
		pthread_create(&t[i], NULL, work, NULL);
	puts("started");
	fflush(stdout);
	if (getchar() == EOF || write(fd[1], "abc", 3) != 3)
		return 1;
	for (int i = 0; i < 3; i++)
		pthread_join(t[i], NULL);
	printf("n %d\n", n);
	return 0;
}
EOT
gcc -g -O0 -o one one.c
gcc -g -O0 -pthread -o threads threads.c
debug() {
	echo "--- $1"
	shift
	gdb -nx -batch -ex 'set style enabled off' -ex 'set confirm off' -ex 'handle SIGUSR1 nostop noprint pass' "$@" 2>&1 </dev/null |
		sed -E '/libthread_db|debuginfod|warning:|No such file|extended state/d
			s/0x[0-9a-f]+/PTR/g; s/(process|LWP|pid=|Inferior [0-9]+ \(process) ?[0-9]+/\1 N/g; s/[0-9]+ (in|\t)/\1/'
}
debug breakpoints -ex 'break add' -ex run -ex bt -ex 'info registers rip' -ex 'x/2i $pc' -ex 'print a+b' -ex step -ex next -ex stepi \
	-ex 'print c' -ex finish -ex 'tbreak handler' -ex 'delete 1' -ex continue -ex 'bt 1' -ex 'set var total=50' -ex continue --args ./one
debug twice -ex 'break child' -ex run -ex kill -ex 'delete' -ex run -ex 'info program' --args ./one x
debug watch -ex 'set can-use-hw-watchpoints 0' -ex 'break main' -ex run -ex 'watch total' -ex continue -ex continue -ex kill --args ./one
debug hardware-watch -ex 'break main' -ex run -ex 'watch total' -ex continue -ex continue -ex delete -ex continue --args ./one
debug catch -ex 'catch exec' -ex 'catch syscall exit_group' -ex run -ex continue -ex continue --args ./one x y
debug signals -ex 'handle SIGUSR1 stop nopass' -ex run -ex 'print hits' -ex continue --args ./one
debug child -ex 'set follow-fork-mode child' -ex 'break child' -ex 'run >/dev/null' -ex bt -ex continue --args ./one x
# it goes on by itself then: what it prints and what gdb says come in any order
debug detach -ex 'break add' -ex 'run >/dev/null' -ex detach --args ./one
debug record -ex 'break add' -ex run -ex record -ex next -ex next -ex reverse-step -ex 'print total' -ex kill --args ./one

mkfifo in out
./threads <in >out &
pid=$!
exec 3>in 4<out
read -r line <&4
echo "$line"
sleep 0.2
gdb -nx -batch -p $pid -ex 'thread apply all bt 1' -ex detach 2>/dev/null </dev/null | grep -cE '^Thread [0-9]'
echo x >&3
read -r line <&4
echo "$line"
wait $pid
echo "status $?"
