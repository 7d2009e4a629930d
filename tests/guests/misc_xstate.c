/* The state that XSAVE shows: enabled components, init bits, sizes; upper halves after system calls. Output: depends on the CPU. */
#include "guest.h"
#include <cpuid.h>

__attribute__((target("xsave"))) static void show_xsave(void)
{
	static unsigned char area[16384] __attribute__((aligned(64)));
	unsigned a, b, c, d, lo, hi;

	__asm__ volatile("xgetbv" : "=a"(lo), "=d"(hi) : "c"(0));
	say("xcr0 %08x%08x\n", hi, lo);
	__cpuid_count(13, 0, a, b, c, d);
	say("size %u of %u\n", b, c);
	__cpuid_count(13, 1, a, b, c, d);
	if (a & 4) {
		unsigned l1, h1;

		__asm__ volatile("xgetbv" : "=a"(l1), "=d"(h1) : "c"(1));
		say("in use %08x%08x\n", h1, l1);
	}
	__asm__ volatile("xsave %0" : "=m"(area) : "a"(~0u), "d"(~0u));
	say("xstate_bv %016llx\n", *(unsigned long long *)(void *)(area + 512));
	say("legacy area %016llx\n", (unsigned long long)hash(area + 160, 256));
}

int main(void)
{
	unsigned a, b, c, d;

	__cpuid(1, a, b, c, d);
	if (!(c & bit_OSXSAVE))
		skip("no XSAVE");
	show_xsave();
	syscall(SYS_getppid);
	show_xsave();
	done();
	return 0;
}
