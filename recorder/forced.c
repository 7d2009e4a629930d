/* Traps that are ours alone: steps, breakpoints, watchpoints (SIGTRAP), rdtsc and cpuid (SIGSEGV).
 *
 * The kernel forces such a signal upon a thread. One that blocks or ignores it loses its mask's bit and the whole process its handler, before
 * any tracer is asked. So a thread that blocks SIGTRAP has it unblocked while we step it; one that ignores it is not stepped. rdtsc comes without
 * warning: what was lost is known (t->blocked, proc->sigsegv) and is put back. */
#define LOG_AREA "recorder.forced"
#include "recorder/rec_priv.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/syscall.h>

#include "base/log.h"

#define BIT(signo) (1ull << ((signo) - 1))
#define RED_ZONE 128u
#define HANDLER_IGNORE 1u /* SIG_IGN */

/* --- what the program wants --- */

int rec_forced_mask_changed(struct rec_task *t)
{
	return eng_sigmask(&t->t, &t->blocked);
}

/* Handlers do not outlive exec. */
int rec_forced_exec(struct rec_task *t)
{
	struct eng_sigsets sets;
	int rc = eng_sigsets(&t->t, &sets);

	if (rc < 0)
		return rc;
	t->blocked = sets.blocked;
	t->proc->sigsegv = (struct rec_sigaction){ .handler = sets.ignored & BIT(SIGSEGV) ? HANDLER_IGNORE : 0 };
	return 0;
}

void rec_forced_born(struct rec_task *c, const struct rec_task *parent, bool clear_handlers)
{
	c->blocked = parent->blocked;
	if (c->proc == parent->proc)
		return;
	c->proc->sigsegv = parent->proc->sigsegv;
	if (clear_handlers && c->proc->sigsegv.handler != HANDLER_IGNORE)
		c->proc->sigsegv.handler = 0;
}

void rec_forced_action(struct rec_task *t, uint64_t signo, uint64_t addr)
{
	struct rec_sigaction sa;

	if (signo == SIGSEGV && addr && eng_read(&t->t, addr, &sa, sizeof(sa)) >= 0)
		t->proc->sigsegv = sa;
}

int rec_forced_handled(struct rec_task *t, int signo)
{
	if (signo == SIGSEGV && t->proc->sigsegv.flags & SA_RESETHAND)
		t->proc->sigsegv.handler = 0;
	return rec_forced_mask_changed(t);
}

/* --- SIGTRAP --- */

int rec_forced_may_trap(struct rec_task *t)
{
	struct eng_sigsets sets;
	int rc = eng_sigsets(&t->t, &sets);

	return rc < 0 ? rc : !((sets.ignored | sets.blocked) & BIT(SIGTRAP));
}

int rec_forced_open(struct rec_task *t, uint64_t *ret_mask)
{
	struct eng_sigsets sets;
	int rc = eng_sigsets(&t->t, &sets);

	if (rc < 0)
		return rc;
	if (sets.ignored & BIT(SIGTRAP))
		return 0;
	if (sets.blocked & BIT(SIGTRAP))
		rc = eng_unblock(&t->t, SIGTRAP);
	if (rc < 0)
		return rc;
	*ret_mask = sets.blocked;
	return 1;
}

int rec_forced_close(struct rec_task *t, uint64_t mask)
{
	int rc = mask & BIT(SIGTRAP) && t->t.stop.kind != ENG_STOP_GONE ? eng_set_sigmask(&t->t, mask) : 0;

	return rc == ERR_GUEST_GONE ? 0 : rc; /* its end is seen in its course */
}

/* --- SIGSEGV --- */

/* Memory of the program that can hold a struct for a moment: nobody runs meanwhile. */
static uint64_t place(struct rec_task *t, uint64_t rsp, void *old, size_t n)
{
	const struct aspace *as = &t->t.mm->as;
	uint64_t at = (rsp - RED_ZONE - n) & ~15ull;

	if (rec_range_writable(t, at, n) && eng_read(&t->t, at, old, n) >= 0)
		return at;
	for (size_t i = 0; i < as->n; i++)
		if ((as->m[i].prot & 3) == 3 && eng_read(&t->t, as->m[i].start, old, n) >= 0)
			return as->m[i].start;
	return 0;
}

static int put_action_back(struct rec_task *t)
{
	const struct rec_sigaction *sa = &t->proc->sigsegv;
	struct rec_sigaction old;
	struct user_regs_struct *r;
	int64_t result = -EFAULT;
	uint64_t at;
	int rc = eng_regs(&t->t, &r);

	if (rc < 0)
		return rc;
	at = place(t, r->rsp, &old, sizeof(old));
	if (at) {
		rc = eng_write(&t->t, at, sa, sizeof(*sa));
		if (rc >= 0)
			rc = eng_remote(&t->t, SYS_rt_sigaction, (uint64_t[6]){ SIGSEGV, at, 0, sizeof(sa->mask) }, &result);
		if (rc >= 0)
			rc = eng_write(&t->t, at, &old, sizeof(old));
	}
	if (rc >= 0 && result < 0)
		rec_warn(t->rec, "a handler of SIGSEGV was lost over rdtsc or cpuid");
	return rc == -ENOSYS ? 0 : rc;
}

int rec_forced_repair(struct rec_task *t)
{
	bool blocked = t->blocked & BIT(SIGSEGV);
	int rc = blocked ? eng_set_sigmask(&t->t, t->blocked) : 0;

	if (rc < 0 || !t->proc->sigsegv.handler || !(blocked || t->proc->sigsegv.handler == HANDLER_IGNORE))
		return rc;
	return put_action_back(t);
}
