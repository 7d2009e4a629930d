/* What a CPU profile leaves of the features: run under --cpu-profile. Output: features; skipped where cpuid cannot be trapped. */
#include "guest.h"

int main(void)
{
	if (syscall(SYS_arch_prctl, 0x1012 /* ARCH_SET_CPUID */, 1) != 0) {
		say("skip: this CPU (or hypervisor) cannot trap cpuid\n");
		return 77;
	}
	__builtin_cpu_init();
	say("sse4.2 %d avx %d avx2 %d avx512f %d\n", !!__builtin_cpu_supports("sse4.2"), !!__builtin_cpu_supports("avx"),
	    !!__builtin_cpu_supports("avx2"), !!__builtin_cpu_supports("avx512f"));
	done();
	return 0;
}
