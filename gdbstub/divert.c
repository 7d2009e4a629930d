/* Calls of functions from gdb (call f(x), pretty printers). The recording cannot change, so they run in a diversion: a copy that is thrown away.
 *
 * The protocol does not say that a call is meant. gdb reads the thread's siginfo before each (to put it back later), then writes arguments and
 * registers, runs, and writes the registers back:
 *
 *     NONE --siginfo read--> READY --write--> SET --resume, rip is elsewhere--> RAN --registers as before--> OVER --memory read, resume--> NONE
 *                              \--resume--> NONE    \--resume, same rip--> NONE                                \--siginfo read--> AGAIN --write--> SET
 *
 * OVER: the copy is still there, because what the call returned may be memory for the next one: `call f("text")` calls malloc() and writes the
 * text there at once. Everything else ends it. A write that is no part of a call is refused. */
#include "gdbstub/stub_priv.h"

#include <errno.h>
#include <string.h>

/* Below the stack pointer: gdb pushes arguments, buffers for results and the return address there. */
#define FRAME_MAX (1u << 20)

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
}

void stub_divert_siginfo(struct stub *s)
{
	if (s->divert == DIVERT_NONE)
		s->divert = DIVERT_READY;
	else if (s->divert == DIVERT_OVER)
		s->divert = DIVERT_AGAIN; /* the next call, in the same copy: it may need what the last one returned */
}

void stub_divert_read(struct stub *s)
{
	if (s->divert == DIVERT_OVER)
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

int stub_divert_write(struct stub *s, pid_t tid, bool regs, uint64_t addr)
{
	struct errinfo ei = { 0 };
	int r;

	if (s->divert == DIVERT_SET || s->divert == DIVERT_RAN)
		return 1;
	if (s->divert == DIVERT_OVER && !regs && addr == s->divert_result)
		return 1;
	if ((s->divert != DIVERT_READY && s->divert != DIVERT_AGAIN) || !begins_call(s, tid, regs, addr)) {
		stub_refuse_loud(s, -EROFS, REFUSAL);
		return 0;
	}
	r = dbg_regs(s->d, tid, &s->divert_regs);
	if (r >= 0 && s->divert == DIVERT_READY)
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
	if (memcmp(&u, &s->divert_regs, sizeof(u)) == 0)
		s->divert = DIVERT_OVER;
}

bool stub_divert_resume(struct stub *s, bool backwards)
{
	struct user_regs_struct u;

	if (s->divert == DIVERT_SET && !backwards && dbg_regs(s->d, s->divert_tid, &u) >= 0 && u.rip != s->divert_regs.rip)
		s->divert = DIVERT_RAN;
	if (s->divert == DIVERT_RAN && !backwards)
		return true;
	stub_divert_drop(s, s->divert == DIVERT_SET || s->divert == DIVERT_RAN ? "the copy that had been changed is dropped" : NULL);
	return false;
}
