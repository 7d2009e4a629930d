/* What a CPU profile leaves of the features. Recorded with --cpu-profile and -e PROFILE=NAME, checks it itself. Output: features. */
#include "guest.h"

int main(void)
{
	const char *profile = getenv("PROFILE");

	if (syscall(SYS_arch_prctl, 0x1012 /* ARCH_SET_CPUID */, 1) != 0) {
		say("skip: this CPU (or hypervisor) cannot trap cpuid\n");
		return 77;
	}
	__builtin_cpu_init();
	say("sse4.2 %d avx %d avx2 %d avx512f %d\n", !!__builtin_cpu_supports("sse4.2"), !!__builtin_cpu_supports("avx"),
	    !!__builtin_cpu_supports("avx2"), !!__builtin_cpu_supports("avx512f"));
	if (profile) {
		CHECK(__builtin_cpu_supports("sse4.2"));
		CHECK(!__builtin_cpu_supports("avx512f"));
		CHECK(strcmp(profile, "v2") || !__builtin_cpu_supports("avx"));
	}
	done();
	return 0;
}
