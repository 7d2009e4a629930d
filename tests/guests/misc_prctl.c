/* prctl and arch_prctl: many known options, unknown ones, with pointers that must stay as they are. Deterministic. */
#include "guest.h"
#include <asm/prctl.h>
#include <linux/prctl.h>

int main(void)
{
	static char buf[4096];
	unsigned long fs = 0, gs = 1;
	int v = -1;

	memset(buf, 0x5a, sizeof(buf));
	show("PR_GET_PDEATHSIG", prctl(PR_GET_PDEATHSIG, &v));
	show("PR_SET_TIMERSLACK", prctl(PR_SET_TIMERSLACK, 70000));
	show("PR_GET_TIMERSLACK", prctl(PR_GET_TIMERSLACK));
	show("PR_SET_DUMPABLE 0", prctl(PR_SET_DUMPABLE, 0));
	show("PR_GET_DUMPABLE", prctl(PR_GET_DUMPABLE));
	show("PR_SET_DUMPABLE 1", prctl(PR_SET_DUMPABLE, 1));
	show("PR_SET_DUMPABLE 7", prctl(PR_SET_DUMPABLE, 7));
	show("PR_GET_TIMING", prctl(PR_GET_TIMING));
	show("PR_GET_ENDIAN", prctl(PR_GET_ENDIAN, &v));
	show("PR_GET_FPEMU", prctl(PR_GET_FPEMU, &v));
	show("PR_MCE_KILL_GET", prctl(PR_MCE_KILL_GET, 0, 0, 0, 0));
	show("PR_CAPBSET_READ", prctl(PR_CAPBSET_READ, 0));
	show("PR_GET_SECUREBITS", prctl(PR_GET_SECUREBITS));
	show("PR_SET_THP_DISABLE", prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0));
	show("PR_GET_THP_DISABLE", prctl(PR_GET_THP_DISABLE, 0, 0, 0, 0));
	show("PR_SET_PTRACER", prctl(PR_SET_PTRACER, 1) >= -1);
	show("PR_SET_IO_FLUSHER", prctl(PR_GET_IO_FLUSHER, 0, 0, 0, 0) >= -1);
	show("PR_SET_VMA name", prctl(PR_SET_VMA, PR_SET_VMA_ANON_NAME, buf, 4096, "name") >= -1);
	show("PR_GET_TID_ADDRESS", prctl(PR_GET_TID_ADDRESS, buf) >= -1);
	memset(buf, 0x5a, 8);
	show("unknown 9999", prctl(9999, buf, buf, buf, buf));
	show("unknown -1", prctl(-1, buf));
	show("unknown 0x12345", prctl(0x12345, 1, 2, 3, 4));
	show("unknown PR_SCHED_CORE use", prctl(62, 99, 0, 0, 0));
	for (size_t i = 0; i < sizeof(buf); i++)
		CHECK(buf[i] == 0x5a);
	show("ARCH_GET_FS", syscall(SYS_arch_prctl, ARCH_GET_FS, &fs));
	say("fs points to itself %d\n", *(unsigned long *)fs == fs);
	show("ARCH_SET_GS", syscall(SYS_arch_prctl, ARCH_SET_GS, buf));
	show("ARCH_GET_GS", syscall(SYS_arch_prctl, ARCH_GET_GS, &gs));
	say("gs as set %d\n", gs == (unsigned long)(uintptr_t)buf);
	__asm__("movq %%gs:8, %0" : "=r"(gs));
	say("through gs %lx\n", gs);
	show("ARCH unknown", syscall(SYS_arch_prctl, 0x9876, buf));
	show("ARCH_SET_FS kernel address", syscall(SYS_arch_prctl, ARCH_SET_FS, 1ul << 63));
	done();
	return 0;
}
