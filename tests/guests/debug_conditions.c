/* A function that is called very often, from wherever a debugger could lose track of its breakpoint there: between system calls, around mappings that
 * move, in handlers of signals, in children, in threads that nobody schedules. For tests/debug/conditions.py: argument: how often. flags: -O2 -no-pie
 */
#include <pthread.h>
#include <spawn.h>
#include <sys/time.h>
#include "guest.h"

struct item {
	struct item *next;
	unsigned value;
};

volatile unsigned long total;
static struct item items[8];
static volatile unsigned long ticks;
extern char **environ;

__attribute__((noinline)) void visit(const struct item *p, unsigned long i)
{
	total += i ^ (total << 1);
	if (p)
		total += p->value;
}

static void visits(unsigned long from, unsigned long to)
{
	for (unsigned long i = from; i < to; i++)
		visit(i % 500 == 499 ? NULL : &items[i % 8], i);
}

static void on_alarm(int signo UNUSED)
{
	visit(&items[1], 1000000 + ++ticks);
}

static void *thread(void *arg)
{
	unsigned long n = *(unsigned long *)arg;

	visits(2000000, 2000000 + n);
	return NULL;
}

static void mappings(unsigned long n)
{
	size_t size = 1 << 14;
	char *p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	for (unsigned long i = 0; i < n && p != MAP_FAILED; i++) {
		visits(i * 100, i * 100 + 100);
		p = mremap(p, size, size * 2, MREMAP_MAYMOVE);
		size *= 2;
		visits(i * 100, i * 100 + 100);
		munmap(mmap(NULL, 64 << 20, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), 64 << 20);
	}
	munmap(p, size);
}

static void children(unsigned long n)
{
	char *argv[] = {(char *)"true", NULL};
	pid_t pid = fork();

	visits(0, n);
	if (pid == 0)
		_exit(0);
	waitpid(pid, NULL, 0);
	if (posix_spawn(&pid, "/bin/true", NULL, NULL, argv, environ) == 0)
		waitpid(pid, NULL, 0);
	pid = vfork();
	if (pid == 0) {
		visits(3000000, 3000100);
		_exit(0);
	}
	waitpid(pid, NULL, 0);
	visits(n, n + 100);
}

int main(int argc, char **argv)
{
	unsigned long n = argc > 1 ? strtoul(argv[1], NULL, 0) : 2000;
	struct itimerval often = {{0, 3000}, {0, 3000}}, never = {{0, 0}, {0, 0}};
	pthread_t threads[3];
	pthread_attr_t attr;

	for (unsigned i = 0; i < 8; i++)
		items[i] = (struct item){&items[(i + 1) % 8], i};
	for (unsigned i = 0; i < 8; i++) {
		visits(i * n, i * n + n);
		syscall(SYS_getpid);
	}
	mappings(5);
	children(n);
	sigaction(SIGALRM, &(struct sigaction){.sa_handler = on_alarm, .sa_flags = SA_RESTART}, NULL);
	setitimer(ITIMER_REAL, &often, NULL);
	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, 64 << 10); /* states of them are compared */
	for (unsigned i = 0; i < 3; i++)
		pthread_create(&threads[i], &attr, thread, &n);
	while (ticks < 5) {
		visits(0, 100);
		usleep(200); /* it is not to be called millions of times: a debugger may stop at each */
	}
	for (unsigned i = 0; i < 3; i++)
		pthread_join(threads[i], NULL);
	setitimer(ITIMER_REAL, &never, NULL);
	visits(4000000, 4000000 + n);
	return 0;
}
