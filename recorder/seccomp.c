/* Seccomp filters that guests install: kept and run here, never given to the kernel (see engine/cbpf.h). They belong to a thread, are inherited by
 * its children, and survive exec. */
#define LOG_AREA "recorder.seccomp"
#include "recorder/rec_priv.h"

#include <errno.h>
#include <linux/audit.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/log.h"
#include "engine/cbpf.h"

#define FILTERS_MAX 128

struct rec_filter {
	unsigned refs, depth;
	bool strict;
	struct rec_filter *parent; /* older filters run too */
	unsigned n;
	struct sock_filter code[];
};

struct rec_filter *rec_filter_ref(struct rec_filter *f)
{
	if (f)
		f->refs++;
	return f;
}

void rec_filter_unref(struct rec_filter *f)
{
	while (f && --f->refs == 0) {
		struct rec_filter *parent = f->parent;

		free(f);
		f = parent;
	}
}

int rec_filter_mode(const struct rec_task *t)
{
	return !t->filter ? SECCOMP_MODE_DISABLED : t->filter->strict ? SECCOMP_MODE_STRICT : SECCOMP_MODE_FILTER;
}

static void set_filter(struct rec_task *t, struct rec_filter *f)
{
	rec_filter_unref(t->filter);
	t->filter = f;
}

int rec_filter_strict(struct rec_task *t)
{
	struct rec_filter *f;

	if (t->filter)
		return -EINVAL;
	f = calloc(1, sizeof(*f));
	if (!f)
		return -ENOMEM;
	f->refs = 1;
	f->strict = true;
	t->filter = f;
	return 0;
}

static int read_filter(struct rec_task *t, uint64_t addr, struct rec_filter **ret)
{
	struct sock_fprog p;
	struct rec_filter *f;
	int r;

	if (eng_read(&t->t, addr, &p, sizeof(p)) < 0)
		return -EFAULT;
	if (!p.len || p.len > BPF_MAXINSNS)
		return -EINVAL;
	f = calloc(1, sizeof(*f) + p.len * sizeof(f->code[0]));
	if (!f)
		return -ENOMEM;
	f->refs = 1;
	f->n = p.len;
	r = eng_read(&t->t, (uint64_t)p.filter, f->code, p.len * sizeof(f->code[0])) < 0 ? -EFAULT : cbpf_check(f->code, f->n);
	if (r < 0) {
		free(f);
		return r;
	}
	*ret = f;
	return 0;
}

int rec_filter_install(struct rec_task *t, uint64_t flags, uint64_t addr)
{
	const uint64_t known = SECCOMP_FILTER_FLAG_TSYNC | SECCOMP_FILTER_FLAG_LOG | SECCOMP_FILTER_FLAG_SPEC_ALLOW | 1u << 4 | 1u << 5;
	struct rec_filter *f;
	int r;

	if (flags & ~known) { /* also listeners: they would let another process answer */
		rec_warn(t->rec, "a seccomp filter with flags %#lx was refused: a listener cannot be recorded", flags);
		return -EINVAL;
	}
	if (t->filter && t->filter->strict)
		return -EINVAL;
	if (!t->proc->no_new_privs && geteuid() != 0)
		return -EACCES;
	r = read_filter(t, addr, &f);
	if (r < 0)
		return r;
	f->depth = t->filter ? t->filter->depth + 1 : 1;
	if (f->depth > FILTERS_MAX) {
		free(f);
		return -ENOMEM;
	}
	f->parent = t->filter; /* takes its reference */
	t->filter = f;
	for (struct rec_task *o = t->rec->tasks; o && (flags & SECCOMP_FILTER_FLAG_TSYNC); o = o->next)
		if (o != t && o->proc == t->proc)
			set_filter(o, rec_filter_ref(f));
	return 0;
}

/* --- verdicts --- */

static uint32_t verdict(const struct rec_task *t)
{
	const struct sys_call *c = &t->outs.call;
	struct seccomp_data data = { .nr = (int)c->nr, .arch = AUDIT_ARCH_X86_64, .instruction_pointer = t->entry.rip };
	uint32_t worst = SECCOMP_RET_ALLOW;

	memcpy(data.args, c->args, sizeof(data.args));
	for (const struct rec_filter *f = t->filter; f; f = f->parent) {
		uint32_t v = cbpf_run(f->code, &data);

		/* Actions are ordered as signed numbers: KILL_PROCESS is the lowest. */
		if ((int32_t)(v & SECCOMP_RET_ACTION_FULL) < (int32_t)(worst & SECCOMP_RET_ACTION_FULL))
			worst = v;
	}
	return worst;
}

/* Lets the kernel do it: a filter that kills, installed on behalf of the guest, meets the call when it is entered again. */
static int kill_by_kernel(struct rec_task *t, uint32_t action)
{
	const struct sock_filter code = { .code = BPF_RET | BPF_K, .k = action };
	uint64_t at = ALIGN_DOWN(t->entry.rsp - 512, 16ull); /* below the red zone; it will not be used again */
	struct sock_fprog p = { .len = 1, .filter = (struct sock_filter *)(at + 64) };
	int64_t result;
	int r = eng_write(&t->t, at, &p, sizeof(p));

	if (r >= 0)
		r = eng_write(&t->t, at + 64, &code, sizeof(code));
	if (r >= 0)
		r = eng_remote_at_entry(&t->t, SYS_seccomp, (uint64_t[6]){ SECCOMP_SET_MODE_FILTER, 0, at }, &result);
	return r < 0 ? r : ERR_GUEST;
}

static int strict_verdict(struct rec_task *t)
{
	switch (t->outs.call.nr) {
	case SYS_read:
	case SYS_write:
	case SYS_exit:
	case SYS_rt_sigreturn:
		return 0;
	}
	kill(t->t.tgid, SIGKILL);
	return ERR_GUEST_GONE;
}

static int trap(struct rec_task *t, uint32_t data)
{
	siginfo_t si = { .si_signo = SIGSYS, .si_code = 1 /* SYS_SECCOMP */, .si_errno = (int)data };

	si.si_call_addr = (void *)t->entry.rip;
	si.si_syscall = (int)t->outs.call.nr;
	si.si_arch = AUDIT_ARCH_X86_64;
	return rec_signal_for_call(t, &si);
}

int rec_filter_call(struct rec_task *t)
{
	uint32_t v;
	int r;

	if (t->filter->strict)
		return strict_verdict(t);
	v = verdict(t);
	if ((v & SECCOMP_RET_ACTION_FULL) == SECCOMP_RET_TRACE && t->trace) {
		r = rec_trace_seccomp(t, v & SECCOMP_RET_DATA);
		if (r)
			return r < 0 ? r : r == 1;
	}
	switch (v & SECCOMP_RET_ACTION_FULL) {
	case SECCOMP_RET_ALLOW:
	case SECCOMP_RET_LOG:
		return 0;
	case SECCOMP_RET_ERRNO:
		r = rec_answer(t, -(int64_t)MIN(v & SECCOMP_RET_DATA, 4095u), 0);
		break;
	case SECCOMP_RET_TRACE:
	case SECCOMP_RET_USER_NOTIF: /* nobody to ask */
		r = rec_answer(t, -ENOSYS, 0);
		break;
	case SECCOMP_RET_TRAP:
		r = trap(t, v & SECCOMP_RET_DATA);
		break;
	default:
		r = kill_by_kernel(t, v & SECCOMP_RET_ACTION_FULL);
	}
	return r < 0 ? r : 1;
}
