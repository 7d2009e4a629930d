/* Calls of functions from gdb (call f(x), pretty printers). The recording cannot change, so they run in a diversion: a copy that is thrown away.
 *
 * The protocol does not say that a call is meant. gdb reads the thread's siginfo before each (to put it back later), then writes arguments and
 * registers, runs, and writes the registers back:
 *
 *     NONE --write while a siginfo read counts--> SET --resume, a call is set up--> RAN --registers as before--> OVER --other read, resume--> NONE
 *                                                  \--resume, none is--> NONE                                    \--write (as from NONE)--> SET
 *
 * Siginfo reads are counted, because calls nest: for f("text") gdb reads it for f, then calls malloc(), and then writes the text where malloc()
 * said and the arguments of f. So the copy is kept in OVER until memory is read that the call did not return, or a resume. A resume sets the count to 0: looking
 * at $_siginfo alone begins nothing. A write that is no part of a call is refused. */
#include "gdbstub/stub_priv.h"

#include <errno.h>
#include <string.h>

/* Below the stack pointer: gdb pushes arguments, buffers for results and the return address there. */
#define FRAME_MAX (1u << 20)
/* What gdb allocates for strings and arrays. */
#define RESULT_MAX (1u << 20)
/* What of a result gdb shows. */
#define SHOWN_MAX 4096u
#define CALLS_MAX 16u

#define REFUSAL "a recording cannot be changed; only calls of functions (call f(x)) can write, to a copy that is dropped afterwards"

void stub_divert_drop(struct stub *s, const char *why)
{
	struct errinfo ei = { 0 };

	if (s->divert >= DIVERT_SET && s->d && dbg_diverted(s->d)) {
		if (dbg_divert_end(s->d, &ei) < 0)
			stub_console(s, "[%s]\n", ei.text);
		else if (why)
			stub_console(s, "[%s]\n", why);
	}
	s->divert = DIVERT_NONE;
	s->divert_calls = 0;
}

void stub_divert_siginfo(struct stub *s)
{
	if (s->divert_calls < CALLS_MAX)
		s->divert_calls++;
}

/* What the call returned may point to something that only the copy has: gdb reads that right after the call (print f() with a char *). */
static bool is_result(const struct stub *s, uint64_t addr)
{
	return addr && addr >= s->divert_result && addr - s->divert_result < SHOWN_MAX;
}

void stub_divert_read(struct stub *s, uint64_t addr)
{
	if (s->divert == DIVERT_OVER && !is_result(s, addr))
		stub_divert_drop(s, NULL);
}

/* Does this write belong to the beginning of a call? */
static bool begins_call(struct stub *s, pid_t tid, bool regs, uint64_t addr)
{
	const struct mapping *stack = aspace_find(dbg_aspace(s->d), addr);
	struct user_regs_struct u;

	if (regs)
		return true;
	return stack && dbg_regs(s->d, tid, &u) >= 0 && addr < u.rsp && u.rsp - addr <= FRAME_MAX && u.rsp <= stack->end;
}

static int save_regs(struct stub *s, pid_t tid)
{
	int r = dbg_regs(s->d, tid, &s->divert_regs);

	if (r >= 0)
		r = stub_xstate(s, tid);
	buf_clear(&s->divert_xstate);
	buf_put(&s->divert_xstate, s->xstate.data, s->xstate.len);
	return r < 0 ? r : buf_error(&s->divert_xstate);
}

/* All that gdb restores: by value, since the same registers can be saved in several ways. */
static bool same_regs(struct stub *s, const struct user_regs_struct *u)
{
	for (unsigned n = 0; n < s->layout.n; n++) {
		uint8_t now[REGS_BYTES_MAX], then[REGS_BYTES_MAX];

		regs_get(&s->layout, n, u, &s->xstate, now);
		regs_get(&s->layout, n, &s->divert_regs, &s->divert_xstate, then);
		if (memcmp(now, then, regs_size(&s->layout, n)) != 0)
			return false;
	}
	return true;
}

int stub_divert_write(struct stub *s, pid_t tid, bool regs, uint64_t addr)
{
	struct errinfo ei = { 0 };
	int r;

	if (s->divert == DIVERT_SET || s->divert == DIVERT_RAN)
		return 1;
	if (s->divert == DIVERT_OVER && s->divert_calls && !regs && addr >= s->divert_result && addr - s->divert_result < RESULT_MAX)
		return 1;
	if (!s->divert_calls || !begins_call(s, tid, regs, addr)) {
		stub_refuse_loud(s, -EROFS, REFUSAL);
		return 0;
	}
	r = save_regs(s, tid);
	if (r >= 0 && s->divert == DIVERT_NONE)
		r = dbg_divert(s->d, &ei);
	if (r < 0) {
		stub_refuse_loud(s, r, ei.text[0] ? ei.text : err_str(r));
		return 0;
	}
	s->divert_tid = tid;
	s->divert = DIVERT_SET;
	return 1;
}

void stub_divert_ran(struct stub *s)
{
	struct user_regs_struct u;

	if (s->divert == DIVERT_RAN && dbg_regs(s->d, s->divert_tid, &u) >= 0)
		s->divert_result = u.rax;
}

void stub_divert_check(struct stub *s)
{
	struct user_regs_struct u;

	if (s->divert != DIVERT_RAN || dbg_regs(s->d, s->divert_tid, &u) < 0)
		return;
	u.orig_rax = s->divert_regs.orig_rax; /* stub_reg_write() leaves it alone */
	if (memcmp(&u, &s->divert_regs, sizeof(u)) != 0)
		return;
	if (stub_xstate(s, s->divert_tid) < 0 || !same_regs(s, &u))
		return;
	s->divert = DIVERT_OVER;
	s->divert_calls -= s->divert_calls > 0;
}

/* It is elsewhere, or a return address was pushed: a thread at the beginning of a function may call that one. */
static bool is_set_up(struct stub *s)
{
	struct user_regs_struct u;

	return dbg_regs(s->d, s->divert_tid, &u) >= 0 && (u.rip != s->divert_regs.rip || u.rsp < s->divert_regs.rsp);
}

bool stub_divert_resume(struct stub *s, bool backwards)
{
	if (s->divert == DIVERT_SET && !backwards && is_set_up(s))
		s->divert = DIVERT_RAN;
	if (s->divert == DIVERT_RAN && !backwards)
		return true;
	stub_divert_drop(s, s->divert == DIVERT_SET || s->divert == DIVERT_RAN ? "the copy that had been changed is dropped" : NULL);
	return false;
}
