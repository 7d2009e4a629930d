/* A program that raises its own stack limit and then needs it: by setrlimit and by prlimit. */
#include "guest.h"
#include <sys/resource.h>

static int deep(int n)
{
	volatile char frame[4096];

	frame[0] = (char)n;
	return n ? deep(n - 1) + frame[0] : 0;
}

int main(void)
{
	struct rlimit r;

	CK(getrlimit(RLIMIT_STACK, &r));
	r.rlim_cur = r.rlim_max < (rlim_t)16 << 20 ? r.rlim_max : (rlim_t)16 << 20;
	CK(syscall(SYS_setrlimit, RLIMIT_STACK, &r));
	say("%d\n", deep(2500) != 1);
	r.rlim_cur = r.rlim_max < (rlim_t)32 << 20 ? r.rlim_max : (rlim_t)32 << 20;
	CK(syscall(SYS_prlimit64, 0, RLIMIT_STACK, &r, NULL));
	say("%d\n", deep(6000) != 1);
	done();
	return 0;
}
