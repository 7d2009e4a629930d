/* Places inside of a repeated string instruction (docs/ASYNC.md).
 *
 * Nothing can stop a thread there, but the state can be built: from the instruction's beginning, or an earlier place inside, it is made to move only so many
 * elements as the recorded one had moved, by a smaller rcx; then rcx is set to what was left, and rip back to the instruction. What was not
 * the place goes on from there, and nothing is lost either.
 *
 * A breakpoint stands at the instruction while the thread runs elsewhere, and behind it while it runs: never a copy of it, and no single step, which
 * would stop after each element. */
#define LOG_AREA "replayer.string"
#include "replayer/rep_priv.h"

#include "engine/patch.h"

#define EFLAGS_DF 0x400u

/* Runs to addr. 1: there. 0: *st came instead. */
static int run_to(struct rep_task *t, uint64_t addr, struct eng_stop *st, uint64_t deadline)
{
	struct user_regs_struct *r;
	int cleared, rc = eng_patch_set(&t->t, addr);

	if (rc <= 0)
		return rc < 0 ? rc : ERR_CORRUPT;
	t->awaited = addr;
	rc = rep_run(t, st, deadline);
	t->awaited = 0;
	cleared = eng_patch_clear(&t->t, addr);
	if (rc >= 0)
		rc = cleared;
	if (rc < 0 || st->kind != ENG_STOP_SIGNAL || st->signo != SIGTRAP)
		return MIN(rc, 0);
	rc = eng_regs(&t->t, &r);
	if (rc < 0 || r->rip != addr + 1)
		return MIN(rc, 0);
	r->rip = addr;
	eng_regs_changed(&t->t);
	return 1;
}

/* Can the point be reached from here, and how many elements from here is it? */
static bool leads_to(const struct rep_point *p, const struct code_string *s, const struct user_regs_struct *r, uint64_t *ret_elements)
{
	uint64_t elements = r->rcx - p->regs.rcx, bytes = elements * s->size;
	struct user_regs_struct then = *r;

	if (r->rcx < p->regs.rcx)
		return false;
	if (r->eflags & EFLAGS_DF)
		bytes = -bytes;
	then.rcx = p->regs.rcx;
	then.rdi += bytes;
	if (s->moves)
		then.rsi += bytes;
	*ret_elements = elements;
	return rep_point_registers(p, &then);
}

/* Moves so many elements, and stands inside of the instruction then. 1, or 0: *st came instead. */
static int move(struct rep_task *t, const struct rep_point *p, const struct code_string *s, uint64_t elements, struct eng_stop *st, uint64_t deadline)
{
	struct user_regs_struct *r;
	int stopped, rc = eng_regs(&t->t, &r);

	if (rc < 0 || !elements)
		return rc < 0 ? rc : 1;
	r->rcx = elements;
	eng_regs_changed(&t->t);
	stopped = run_to(t, p->regs.rip + s->len, st, deadline);
	if (stopped <= 0 && stopped != ERR_STOPPED)
		return stopped;
	rc = eng_regs(&t->t, &r);
	if (rc < 0)
		return rc;
	if (stopped == ERR_STOPPED) { /* for a debugger, who may look at it before all are moved */
		r->rcx += p->regs.rcx;
		eng_regs_changed(&t->t);
		return stopped;
	}
	r->rcx = p->regs.rcx;
	r->rip = p->regs.rip;
	eng_regs_changed(&t->t);
	return 1;
}

/* One execution, at whose beginning or inside of which t stands. 1: it is at the point. 0: *st came. 2: behind it. */
static int pass(struct rep_task *t, struct rep_point *p, const struct code_string *s, struct eng_stop *st, uint64_t deadline)
{
	struct user_regs_struct *r;
	uint64_t elements;
	int rc = eng_regs(&t->t, &r);

	if (rc >= 0 && leads_to(p, s, r, &elements)) {
		rc = move(t, p, s, elements, st, deadline);
		if (rc <= 0)
			return rc;
		rc = rep_point_compare(p, t, NULL, 0, NULL);
		if (rc)
			return rc;
	}
	if (rc >= 0)
		rc = run_to(t, p->regs.rip + s->len, st, deadline);
	return rc > 0 ? 2 : rc;
}

int rep_string_find(struct rep_task *t, struct rep_point *p, struct eng_stop *st, uint64_t deadline, uint64_t *passes)
{
	struct sys_mem mem = eng_sys_mem(&t->t);
	const struct aspace *as = &t->t.mm->as;
	uint64_t at = p->regs.rip;
	struct user_regs_struct *r;
	struct code_string s;
	int rc = eng_regs(&t->t, &r);

	if (rc < 0)
		return rc;
	if (!code_string(&mem, at, &s) || !aspace_code_own(as, at) || !aspace_code_own(as, at + s.len))
		return ERR_CORRUPT;
	rc = r->rip == at ? 1 : run_to(t, at, st, deadline);
	while (rc > 0) {
		rc = pass(t, p, &s, st, deadline);
		if (rc != 2)
			break;
		++*passes;
		rc = run_to(t, at, st, deadline);
	}
	return rc;
}
