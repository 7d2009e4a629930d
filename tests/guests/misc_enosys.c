/* Calls that a recorder answers ENOSYS (natively they may work): the program must get along. Output: depends. */
#include "guest.h"

int main(void)
{
	char params[256] = { 0 };
	static char area[64] __attribute__((aligned(32)));

	show("io_uring_setup", syscall(SYS_io_uring_setup, 4, params) < 0 ? -1 : 0);
	show("io_uring_enter", syscall(SYS_io_uring_enter, 99, 0, 0, 0, NULL, 0));
	show("io_uring_register", syscall(SYS_io_uring_register, 99, 0, NULL, 0));
	show("userfaultfd", syscall(SYS_userfaultfd, 1) < 0 ? -1 : 0);
	show("rseq", syscall(SYS_rseq, area, 32, 0, 0x53053053));
	show("perf_event_open", syscall(SYS_perf_event_open, params, 0, -1, -1, 0) < 0 ? -1 : 0);
	show("bpf", syscall(SYS_bpf, 0, params, 8) < 0 ? -1 : 0);
	show("modify_ldt", syscall(SYS_modify_ldt, 0, params, 100));
	show("kcmp", syscall(SYS_kcmp, getpid(), getpid(), 0, 1, 2) >= -1);
	show("uselib", syscall(SYS_uselib, "x"));
	show("ustat", syscall(SYS_ustat, 0, params) >= -1);
	show("sysfs", syscall(SYS_sysfs, 3) >= -1);
	show("create_module", syscall(174, "x", 1));
	show("nfsservctl", syscall(180, 0, NULL, NULL));
	show("lookup_dcookie", syscall(212, 0, NULL, 0) >= -1);
	show("vserver", syscall(236, 0));
	show("set_thread_area", syscall(SYS_set_thread_area, params));
	show("kexec_load", syscall(SYS_kexec_load, 0, 0, NULL, ~0ul) >= -1);
	show("last number plus 100", syscall(561));
	done();
	return 0;
}
