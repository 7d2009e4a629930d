/* Signals: names, sets, actions, siginfo. */
#include "engine/print_priv.h"

#include <signal.h>
#include <stdio.h>

#define PUT(p, ...) buf_printf((p)->out, __VA_ARGS__)

#define SIGNALS 64u
#define RT_MIN 32 /* the kernel's, not libc's */
#define RT_MAX 64

const char *sysprint_signal(int signo, char buf[24])
{
	const char *name = sys_name_of(SYS_NAMES_SIGNAL, (uint64_t)signo);

	if (name)
		return name;
	if (signo == RT_MIN)
		return "SIGRTMIN";
	if (signo > RT_MIN && signo <= RT_MAX)
		snprintf(buf, 24, "SIGRT_%d", signo - RT_MIN);
	else
		snprintf(buf, 24, "signal %d", signo);
	return buf;
}

void print_signal(struct printer *p, int signo)
{
	char name[24];

	if (signo >= 1 && signo <= RT_MAX)
		PUT(p, "%s", sysprint_signal(signo, name));
	else
		PUT(p, "%d", signo);
}

/* Sets that hold most signals are shown by what is missing. */
void print_sigset_bits(struct printer *p, uint64_t set)
{
	bool inverted = (unsigned int)__builtin_popcountl(set) >= SIGNALS * 2 / 3;
	const char *separator = "";
	char name[24];

	PUT(p, inverted ? "~[" : "[");
	for (unsigned int i = 0; i < SIGNALS; i++) {
		if ((set >> i & 1) == inverted)
			continue;
		PUT(p, "%s%s", separator, sysprint_signal((int)i + 1, name) + 3);
		separator = " ";
	}
	PUT(p, "]");
}

void print_sigset(struct printer *p, struct data d)
{
	print_sigset_bits(p, u64_at(d, 0));
}

void print_sigset_arg(struct printer *p, struct data d)
{
	PUT(p, "{sigmask=");
	print_struct_at(p, SYS_STRUCT_SIGSET, u64_at(d, 0), 8);
	PUT(p, ", sigsetsize=%lu}", u64_at(d, 8));
}

static void print_handler(struct printer *p, uint64_t addr)
{
	if (addr == 0)
		PUT(p, "SIG_DFL");
	else if (addr == 1)
		PUT(p, "SIG_IGN");
	else
		PUT(p, "%#lx", addr);
}

void print_sigaction(struct printer *p, struct data d)
{
	uint64_t flags = u64_at(d, 8);

	PUT(p, flags & SA_SIGINFO ? "{sa_sigaction=" : "{sa_handler=");
	print_handler(p, u64_at(d, 0));
	PUT(p, ", sa_mask=");
	print_sigset_bits(p, u64_at(d, 24));
	PUT(p, ", sa_flags=");
	print_flags(p, SYS_NAMES_SA_FLAGS, flags);
	if (flags & 0x4000000) /* SA_RESTORER */
		PUT(p, ", sa_restorer=%#lx", u64_at(d, 16));
	PUT(p, "}");
}

void print_stack(struct printer *p, struct data d)
{
	PUT(p, "{ss_sp=");
	print_addr(p, u64_at(d, 0));
	PUT(p, ", ss_flags=");
	print_flags(p, SYS_NAMES_SS_FLAGS, u32_at(d, 8));
	PUT(p, ", ss_size=%lu}", u64_at(d, 16));
}

void print_sigevent(struct printer *p, struct data d)
{
	PUT(p, "{sigev_value={sival_int=%d, sival_ptr=%#lx}, sigev_signo=", i32_at(d, 0), u64_at(d, 0));
	print_signal(p, i32_at(d, 8));
	PUT(p, ", sigev_notify=");
	print_enum(p, SYS_NAMES_SIGEV, u32_at(d, 12));
	if (u32_at(d, 12) == SIGEV_THREAD_ID)
		PUT(p, ", sigev_notify_thread_id=%d", i32_at(d, 16));
	PUT(p, "}");
}

/* Which part of the union says more about the signal. */
enum info { INFO_PLAIN, INFO_FAULT, INFO_CHILD, INFO_POLL, INFO_SYS };

static const struct {
	uint8_t names; /* of positive codes */
	uint8_t info;
} by_signal[SIGNALS + 1] = {
	[SIGILL] = { SYS_NAMES_SI_ILL, INFO_FAULT },   [SIGFPE] = { SYS_NAMES_SI_FPE, INFO_FAULT },
	[SIGSEGV] = { SYS_NAMES_SI_SEGV, INFO_FAULT }, [SIGBUS] = { SYS_NAMES_SI_BUS, INFO_FAULT },
	[SIGTRAP] = { SYS_NAMES_SI_TRAP, INFO_FAULT }, [SIGCHLD] = { SYS_NAMES_SI_CHLD, INFO_CHILD },
	[SIGIO] = { SYS_NAMES_SI_POLL, INFO_POLL },    [SIGSYS] = { SYS_NAMES_SI_SYS, INFO_SYS },
};

static_assert(SYS_NAMES_MAX_ <= 256, "table numbers fit a byte");

static void print_code(struct printer *p, int signo, int code)
{
	const char *name = sys_name_of(SYS_NAMES_SI_CODE, (uint32_t)code);

	if (!name && signo > 0 && signo <= (int)SIGNALS)
		name = sys_name_of((enum sys_names)by_signal[signo].names, (uint64_t)(int64_t)code);
	if (name)
		PUT(p, "%s", name);
	else
		PUT(p, "%d", code);
}

static void print_child(struct printer *p, struct data d)
{
	PUT(p, ", si_pid=%d, si_uid=%u, si_status=", i32_at(d, 16), u32_at(d, 20));
	if (i32_at(d, 8) == CLD_EXITED)
		PUT(p, "%d", i32_at(d, 24));
	else
		print_signal(p, i32_at(d, 24));
	if (d.n >= 48)
		PUT(p, ", si_utime=%ld, si_stime=%ld", (int64_t)u64_at(d, 32), (int64_t)u64_at(d, 40));
}

static void print_value(struct printer *p, struct data d)
{
	if (u64_at(d, 24))
		PUT(p, ", si_int=%d, si_ptr=%#lx", i32_at(d, 24), u64_at(d, 24));
}

static void print_fault(struct printer *p, struct data d)
{
	PUT(p, ", si_addr=");
	print_addr(p, u64_at(d, 16));
	if (i32_at(d, 0) == SIGSEGV && i32_at(d, 8) == 4) /* SEGV_PKUERR */
		PUT(p, ", si_pkey=%u", u32_at(d, 32));
}

static void print_by_signal(struct printer *p, struct data d, enum info info)
{
	switch (info) {
	case INFO_FAULT:
		print_fault(p, d);
		break;
	case INFO_CHILD:
		print_child(p, d);
		break;
	case INFO_POLL:
		PUT(p, ", si_band=%ld, si_fd=%d", (int64_t)u64_at(d, 16), i32_at(d, 24));
		break;
	case INFO_SYS: {
		char name[24];

		PUT(p, ", si_call_addr=%#lx, si_syscall=__NR_%s, si_arch=%#x", u64_at(d, 16), sys_name(u32_at(d, 24), name), u32_at(d, 28));
		break;
	}
	case INFO_PLAIN:
		PUT(p, ", si_pid=%d, si_uid=%u", i32_at(d, 16), u32_at(d, 20));
		print_value(p, d);
		break;
	}
}

void print_siginfo_fields(struct printer *p, struct data d)
{
	int signo = i32_at(d, 0), code = i32_at(d, 8);
	enum info info = signo > 0 && signo <= (int)SIGNALS ? by_signal[signo].info : INFO_PLAIN;

	PUT(p, "si_code=");
	print_code(p, signo, code);
	if (i32_at(d, 4))
		PUT(p, ", si_errno=%d", i32_at(d, 4));
	if (code == SI_TIMER) {
		PUT(p, ", si_timerid=%d, si_overrun=%d", i32_at(d, 16), i32_at(d, 20));
		print_value(p, d);
	} else if (code == 0x80) { /* SI_KERNEL says nothing but, for a fault, the address */
		if (info == INFO_FAULT)
			print_fault(p, d);
	} else {
		print_by_signal(p, d, code > 0 ? info : INFO_PLAIN);
	}
}

void print_siginfo(struct printer *p, struct data d)
{
	if (!i32_at(d, 0)) { /* waitid() without a child */
		PUT(p, "{}");
		return;
	}
	PUT(p, "{si_signo=");
	print_signal(p, i32_at(d, 0));
	PUT(p, ", ");
	print_siginfo_fields(p, d);
	PUT(p, "}");
}

void sysprint_siginfo(struct buf *out, const void *siginfo)
{
	struct data d = { siginfo, 128 };
	struct printer p = { .out = out };
	char name[24];

	buf_printf(out, "%s {", sysprint_signal(i32_at(d, 0), name));
	print_siginfo_fields(&p, d);
	buf_printf(out, "}");
}
