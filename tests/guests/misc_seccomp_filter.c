/* The guest installs its own seccomp filters: errno for getpid, trap for uname, kill for the rest of a child. Deterministic. */
#include "guest.h"
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/utsname.h>

#define ON(nr, ret)                                                                                                    \
	BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (nr), 0, 1), BPF_STMT(BPF_RET | BPF_K, (ret))

static void on_sys(int sig, siginfo_t *si, void *uc UNUSED)
{
	say("%s: call %d, arch ok %d, code %d, errno %d\n", sig_name(sig), si->si_syscall,
	    si->si_arch == AUDIT_ARCH_X86_64, si->si_code, si->si_errno);
}

int main(void)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		ON(SYS_getppid, SECCOMP_RET_ERRNO | EPERM),
		ON(SYS_uname, SECCOMP_RET_TRAP | 77),
		ON(SYS_sysinfo, SECCOMP_RET_KILL_PROCESS),
		ON(SYS_getgid, SECCOMP_RET_LOG),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog prog = { N_ELEMENTS(code), code };
	struct sigaction sa = { .sa_sigaction = on_sys, .sa_flags = SA_SIGINFO };
	uint32_t action = SECCOMP_RET_TRAP;
	struct utsname u;
	pid_t p;

	CK(sigaction(SIGSYS, &sa, NULL));
	CK(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0));
	show("PR_GET_NO_NEW_PRIVS", prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0));
	show("action available", syscall(SYS_seccomp, SECCOMP_GET_ACTION_AVAIL, 0, &action));
	show("getppid before", syscall(SYS_getppid) > 0);
	show("install", syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &prog));
	show("PR_GET_SECCOMP", prctl(PR_GET_SECCOMP));
	show("getppid", syscall(SYS_getppid));
	show("uname", uname(&u));
	show("getgid is allowed", syscall(SYS_getgid) >= 0);
	p = xfork();
	if (p == 0) {
		show("child getppid", syscall(SYS_getppid));
		syscall(SYS_sysinfo, NULL);
		_exit(0);
	}
	say("child: %s\n", wait_str(reap(p)));
	p = xfork();
	if (p == 0) {
		execl("/bin/sh", "sh", "-c", "echo still works", (char *)NULL);
		_exit(1);
	}
	say("shell: %s\n", wait_str(reap(p)));
	show("bad operation", syscall(SYS_seccomp, 77, 0, NULL));
	done();
	return 0;
}
