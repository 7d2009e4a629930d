/* mlock, mlock2, mlockall, munlock, mincore, msync: results and resident pages. Output: page counts differ. */
#include "guest.h"

int main(void)
{
	enum { N = 32 };
	char *p = mmap(NULL, N * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	unsigned char vec[N];
	int n = 0;

	CHECK(p != MAP_FAILED);
	for (int i = 0; i < N; i += 3)
		p[i * 4096] = 1;
	show("mincore", mincore(p, N * 4096, vec));
	for (int i = 0; i < N; i++)
		n += vec[i] & 1;
	say("resident %d\n", n);
	show("mlock", mlock(p, 8 * 4096));
	show("mincore", mincore(p, 8 * 4096, vec));
	say("%d%d%d%d\n", vec[0] & 1, vec[1] & 1, vec[2] & 1, vec[3] & 1);
	show("mlock2 on fault", mlock2(p + 8 * 4096, 4096, MLOCK_ONFAULT));
	show("munlock", munlock(p, 8 * 4096));
	show("munlockall", munlockall());
	show("mlockall bad", mlockall(0x400));
	show("mlock hole", mlock((void *)4096, 4096));
	show("mincore hole", mincore((void *)4096, 4096, vec));
	show("mincore bad vector", mincore(p, 4096, (unsigned char *)8));
	show("msync", msync(p, 4096, MS_ASYNC));
	show("msync hole", msync((void *)4096, 4096, MS_SYNC));
	done();
	return 0;
}
