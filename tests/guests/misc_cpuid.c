/* cpuid: vendor, features, topology leaves; RDRAND is used if it is advertised (inside a recording it should not be). Output: depends. */
#include "guest.h"
#include <cpuid.h>
#include <sys/auxv.h>

__attribute__((target("rdrnd"))) static void use_rdrand(void)
{
	unsigned long long v = 0;
	unsigned char ok;

	__asm__ volatile("rdrand %0; setc %1" : "=r"(v), "=qm"(ok) : : "cc");
	say("rdrand gave %016llx %d\n", v, ok);
}

int main(void)
{
	static const unsigned leaves[][2] = { { 0, 0 }, { 1, 0 },  { 2, 0 },  { 4, 0 },	 { 4, 1 },	    { 6, 0 },
					      { 7, 0 }, { 7, 1 },  { 11, 0 }, { 11, 1 }, { 13, 0 },	    { 13, 1 },
					      { 0x15, 0 }, { 0x16, 0 }, { 0x40000000, 0 }, { 0x80000000, 0 },
					      { 0x80000001, 0 }, { 0x80000007, 0 }, { 0x80000008, 0 } };
	unsigned a, b, c, d;
	char brand[49] = "";

	for (size_t i = 0; i < N_ELEMENTS(leaves); i++) {
		__cpuid_count(leaves[i][0], leaves[i][1], a, b, c, d);
		say("%08x.%u: %08x %08x %08x %08x\n", leaves[i][0], leaves[i][1], a, b, c, d);
	}
	for (unsigned i = 0; i < 3; i++) {
		__cpuid(0x80000002 + i, a, b, c, d);
		memcpy(brand + 16 * i, (unsigned[]){ a, b, c, d }, 16);
	}
	say("%s\n", brand);
	__cpuid(1, a, b, c, d);
	say("rdrand advertised %d\n", !!(c & bit_RDRND));
	if (c & bit_RDRND)
		use_rdrand();
	say("hwcap %lx hwcap2 %lx\n", getauxval(AT_HWCAP), getauxval(AT_HWCAP2));
	say("libc says: avx2 %d rtm %d\n", !!__builtin_cpu_supports("avx2"), !!__builtin_cpu_supports("avx512f"));
	done();
	return 0;
}
