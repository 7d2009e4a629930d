/* System calls run in a tracee on our behalf. All signals are blocked meanwhile (PTRACE_SETSIGMASK), so that none is delivered between
 * our steps; SIGKILL alone gets through and shows as ERR_GUEST_GONE. */
#define LOG_AREA "engine.remote"
#include "engine/engine.h"

#include <elf.h>
#include <string.h>

#include "base/log.h"
#include "engine/ptrace_priv.h"

/* Resumes and insists on the stop that must come. Group-stops are passed over: the guest is stopped again afterwards anyway. */
static int resume_to(struct eng_task *t, enum eng_resume how, enum eng_stop_kind want)
{
	for (;;) {
		struct eng_stop st;
		int r = eng_resume(t, how, 0);

		if (r < 0)
			return r;
		do
			r = eng_wait_task(t, &st);
		while (r == ERR_INTERRUPTED);
		if (r < 0)
			return r;
		if (st.kind == want)
			return 0;
		if (st.kind == ENG_STOP_GONE || st.kind == ENG_STOP_EXITING)
			return ERR_GUEST_GONE;
		log_trace("task %d: %s (%#x) on the way to %s", t->tid, eng_stop_name(st.kind), st.status, eng_stop_name(want));
		if (st.kind != ENG_STOP_GROUP && st.kind != ENG_STOP_TRAP && st.kind != ENG_STOP_BIRTH)
			return ERR_GUEST;
	}
}

static void load_call(struct user_regs_struct *r, uint64_t nr, const uint64_t args[6])
{
	r->rax = r->orig_rax = nr;
	r->rdi = args[0];
	r->rsi = args[1];
	r->rdx = args[2];
	r->r10 = args[3];
	r->r8 = args[4];
	r->r9 = args[5];
}

int eng_call_instead(struct eng_task *t, uint64_t nr, const uint64_t args[6], int64_t *ret_result)
{
	struct user_regs_struct *r;
	int rc = eng_regs(t, &r);

	if (rc < 0)
		return rc;
	load_call(r, nr, args);
	eng_regs_changed(t);
	rc = resume_to(t, ENG_TO_EXIT, ENG_STOP_SYSCALL);
	return rc < 0 ? rc : eng_result(t, ret_result);
}

/* Runs the call from user mode at the gate. */
static int run_at_gate(struct eng_task *t, uint64_t nr, const uint64_t args[6], int64_t *ret_result)
{
	struct user_regs_struct *r;
	int rc = eng_regs(t, &r);

	if (rc < 0)
		return rc;
	load_call(r, nr, args);
	r->orig_rax = (unsigned long)-1; /* no restart of what the task did before */
	r->rip = t->mm->gate;
	eng_regs_changed(t);
	rc = resume_to(t, ENG_RUN, ENG_STOP_SECCOMP);
	/* Loaded once more: whatever code the gate holds, this call runs and no other. */
	return rc < 0 ? rc : eng_call_instead(t, nr, args, ret_result);
}

int eng_remote(struct eng_task *t, uint64_t nr, const uint64_t args[6], int64_t *ret_result)
{
	struct user_regs_struct saved, *r;
	struct eng_stop stop = t->stop;
	uint64_t mask;
	int rc;

	if (!t->mm->gate)
		return -ENOSYS;
	rc = eng_regs(t, &r);
	if (rc < 0)
		return rc;
	saved = *r;
	rc = eng_sigmask(t, &mask);
	if (rc >= 0)
		rc = eng_set_sigmask(t, UINT64_MAX);
	if (rc < 0)
		return rc;
	rc = run_at_gate(t, nr, args, ret_result);
	if (rc == ERR_GUEST_GONE)
		return rc;
	if (eng_set_sigmask(t, mask) < 0)
		return ERR_GUEST_GONE;
	t->stop = stop;
	t->remoted = true;
	eng_regs_set(t, &saved);
	return rc;
}

int eng_remote_at_entry(struct eng_task *t, uint64_t nr, const uint64_t args[6], int64_t *ret_result)
{
	struct user_regs_struct saved, *r;
	uint64_t mask;
	int rc = eng_regs(t, &r);

	if (rc < 0)
		return rc;
	saved = *r;
	rc = eng_sigmask(t, &mask);
	if (rc >= 0)
		rc = eng_set_sigmask(t, UINT64_MAX);
	if (rc < 0)
		return rc;
	rc = eng_call_instead(t, nr, args, ret_result);
	if (rc < 0)
		return rc;
	/* Back onto the guest's own syscall instruction. */
	saved.rax = saved.orig_rax;
	saved.rip -= 2;
	eng_regs_set(t, &saved);
	rc = resume_to(t, ENG_RUN, ENG_STOP_SECCOMP);
	return rc < 0 ? rc : eng_set_sigmask(t, mask);
}

int eng_find_gate(struct eng_task *t)
{
	static const uint8_t code[] = { 0x0f, 0x05, 0xc3 }; /* syscall; ret */
	uint8_t page[8192];

	for (size_t i = 0; i < t->mm->as.n; i++) {
		const struct mapping *m = &t->mm->as.m[i];
		size_t len = MIN((size_t)(m->end - m->start), sizeof(page));
		const uint8_t *hit;

		if (!(m->flags & ASPACE_VDSO) || !(m->prot & 4) || eng_read(t, m->start, page, len) < 0)
			continue;
		hit = memmem(page, len, code, 2);
		if (hit) {
			t->mm->gate = m->start + (uint64_t)(hit - page);
			return 0;
		}
	}
	return -ENOSYS;
}
