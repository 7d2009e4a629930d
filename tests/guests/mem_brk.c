/* The break moves up and down; memory above is gone and comes back zeroed. Output: addresses differ. */
#include "guest.h"

int main(void)
{
	char *start = sbrk(0), *p;

	say("break %p\n", (void *)start);
	for (int round = 0; round < 4; round++) {
		p = sbrk(100000 * (round + 1));
		CHECK(p != (void *)-1);
		for (int i = 0; i < 100000 * (round + 1); i++)
			CHECK(p[i] == 0 || p + i < (char *)(((uintptr_t)start + 4095) & ~4095ul));
		memset(p, 7, (size_t)(100000 * (round + 1)));
		say("up to %p\n", sbrk(0));
		CHECK(brk(start) == 0);
		say("down to %p\n", sbrk(0));
	}
	show("raw brk(0) is the break", syscall(SYS_brk, 0) == (long)(uintptr_t)start);
	show("brk below", syscall(SYS_brk, 4096) == (long)(uintptr_t)start);
	show("far too high", brk((void *)(1ul << 46)));
	for (int i = 0; i < 30; i++)
		free(malloc((size_t)1 << (i % 22)));
	done();
	return 0;
}
