/* The CPUs that the guest sees are the machine's, not the one it is pinned to; it may bind itself. Deterministic. */
#include "guest.h"
#include <pthread.h>
#include <sys/sysinfo.h>

static void *body(void *arg)
{
	cpu_set_t s;

	CK(sched_getaffinity(0, sizeof(s), &s));
	*(int *)arg = CPU_COUNT(&s);
	return NULL;
}

int main(void)
{
	cpu_set_t s, one;
	pthread_t t;
	char buf[64] = "";
	int n, fd;

	CPU_ZERO(&s);
	show("getaffinity bytes", syscall(SYS_sched_getaffinity, 0, sizeof(s), &s));
	say("affinity %d cpus, first word %#lx\n", CPU_COUNT(&s), *(unsigned long *)&s);
	say("nprocs %d of %d, sysconf %ld\n", get_nprocs(), get_nprocs_conf(), sysconf(_SC_NPROCESSORS_ONLN));
	CHECK(pthread_create(&t, NULL, body, &n) == 0 && pthread_join(t, NULL) == 0);
	say("in a thread %d\n", n);
	fd = CK(open("/sys/devices/system/cpu/online", O_RDONLY | O_CLOEXEC));
	CK(read(fd, buf, sizeof(buf) - 1));
	say("online %s", buf);
	show("buffer too small", syscall(SYS_sched_getaffinity, 0, 1, &s));
	CPU_ZERO(&one);
	for (int i = 0; i < CPU_SETSIZE && CPU_COUNT(&one) == 0; i++)
		if (CPU_ISSET(i, &s))
			CPU_SET(i, &one);
	show("bind", sched_setaffinity(0, sizeof(one), &one));
	CK(sched_getaffinity(0, sizeof(s), &s));
	say("bound to %d cpu\n", CPU_COUNT(&s));
	CHECK(CPU_EQUAL(&s, &one));
	CPU_ZERO(&one);
	show("bind to none", sched_setaffinity(0, sizeof(one), &one));
	done();
	return 0;
}
