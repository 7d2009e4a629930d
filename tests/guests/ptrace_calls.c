/* PTRACE_SYSCALL: entries and exits of calls, changed and skipped ones; registers and memory of the tracee. */
#include "ptrace.h"

static char shared_text[32] = "from the tracee\n";
static volatile long cell = 5;

static void tracee(void)
{
	long r;

	r = syscall(SYS_getppid);
	say("tracee: getppid %s\n", r == 4711 ? "4711" : "other");
	r = syscall(SYS_getpgid, 0);
	say("tracee: skipped getpgid gave %ld %s\n", r, r == -1 ? err_name(errno) : "");
	r = syscall(SYS_close, 1000);
	say("tracee: close became %ld\n", r);
	write_all(1, shared_text, strlen(shared_text));
	say("tracee: cell %ld\n", cell);
	_exit((int)cell);
}

/* Lets it run to its next entry of call nr. */
static void to_entry(pid_t p, long nr)
{
	struct __ptrace_syscall_info si;

	for (;;) {
		CK(ptrace(PTRACE_SYSCALL, p, NULL, NULL));
		CHECK(await_quiet(p) == ((SIGTRAP | 0x80) << 8 | 0x7f));
		CK(ptrace(PTRACE_GET_SYSCALL_INFO, p, (void *)sizeof(si), &si));
		if (si.op == PTRACE_SYSCALL_INFO_ENTRY && (long)si.entry.nr == nr)
			return;
	}
}

static void to_exit(pid_t p)
{
	struct __ptrace_syscall_info si;

	CK(ptrace(PTRACE_SYSCALL, p, NULL, NULL));
	CHECK(await_quiet(p) == ((SIGTRAP | 0x80) << 8 | 0x7f));
	CK(ptrace(PTRACE_GET_SYSCALL_INFO, p, (void *)sizeof(si), &si));
	CHECK(si.op == PTRACE_SYSCALL_INFO_EXIT);
	say("exit: error %d value %s\n", si.exit.is_error, si.exit.rval == -ENOSYS ? "-ENOSYS" : si.exit.rval < 0 ? "negative" : "positive");
}

static void change_memory(pid_t p)
{
	struct iovec mine, theirs;
	char text[] = "from the tracer\n";
	long w;

	to_entry(p, SYS_write);
	errno = 0;
	w = ptrace(PTRACE_PEEKDATA, p, shared_text, NULL);
	CHECK(!errno && !memcmp(&w, shared_text, 8));
	mine = (struct iovec){ text, sizeof(text) };
	theirs = (struct iovec){ shared_text, sizeof(text) };
	CHECK(process_vm_writev(p, &mine, 1, &theirs, 1, 0) == sizeof(text));
	CK(ptrace(PTRACE_POKEDATA, p, (void *)&cell, (void *)42));
	CHECK(cell == 5);
	show("poke nowhere", ptrace(PTRACE_POKEDATA, p, bad_address, NULL));
	show("peek nowhere", ptrace(PTRACE_PEEKDATA, p, bad_address, NULL));
}

int main(void)
{
	struct user_regs_struct r;
	pid_t p = traced_fork();

	if (!p)
		tracee();
	CK(ptrace(PTRACE_SETOPTIONS, p, NULL, (void *)PTRACE_O_TRACESYSGOOD));
	show("unknown options", ptrace(PTRACE_SETOPTIONS, p, NULL, (void *)0x80000000ul));
	to_entry(p, SYS_getppid);
	r = regs_of(p);
	say("entry: rax %s, orig_rax %lld\n", (long)r.rax == -ENOSYS ? "-ENOSYS" : "?", r.orig_rax);
	to_exit(p);
	r = regs_of(p);
	CHECK((pid_t)r.rax == getpid() && r.orig_rax == SYS_getppid);
	r.rax = 4711;
	CK(ptrace(PTRACE_SETREGS, p, NULL, &r));

	to_entry(p, SYS_getpgid);
	CK(ptrace(PTRACE_POKEUSER, p, offsetof(struct user_regs_struct, orig_rax), -1L));
	to_exit(p);

	to_entry(p, SYS_close); /* of descriptor 1000: becomes dup2(1, 77) */
	r = regs_of(p);
	r.orig_rax = SYS_dup2;
	r.rdi = 1;
	r.rsi = 77;
	CK(ptrace(PTRACE_SETREGS, p, NULL, &r));
	to_exit(p);
	r = regs_of(p);
	say("changed call: rax %lld, rdi %lld, rsi %lld\n", r.rax, r.rdi, r.rsi);

	to_entry(p, SYS_write); /* what it says of close */
	change_memory(p);
	show("listen without seize", ptrace(PTRACE_LISTEN, p, NULL, NULL));
	show("interrupt without seize", ptrace(PTRACE_INTERRUPT, p, NULL, NULL));
	CK(ptrace(PTRACE_CONT, p, NULL, NULL));
	await("tracee", p);
	show("gone", ptrace(PTRACE_CONT, p, NULL, NULL));
	done();
	return 0;
}
