/* The vDSO is hidden or answers what is recorded: AT_SYSINFO_EHDR and a million-free loop of clock_gettime. Output: times. */
#include "guest.h"
#include <sys/auxv.h>

int main(void)
{
	struct timespec a, b;
	uint64_t mix = 0;

	say("vDSO at %s\n", getauxval(AT_SYSINFO_EHDR) ? "some address" : "none");
	CK(clock_gettime(CLOCK_MONOTONIC, &a));
	for (int i = 0; i < 3000; i++) {
		CK(clock_gettime(CLOCK_MONOTONIC, &b));
		mix = mix * 31 + (uint64_t)b.tv_nsec;
	}
	say("3000 calls in %ld ns, mix %llx\n", (b.tv_sec - a.tv_sec) * 1000000000 + b.tv_nsec - a.tv_nsec,
	    (unsigned long long)mix);
	say("platform %s, execfn %s\n", (char *)getauxval(AT_PLATFORM), (char *)getauxval(AT_EXECFN) ? "set" : "none");
	done();
	return 0;
}
