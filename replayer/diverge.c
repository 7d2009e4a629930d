/* Explains divergence: what was expected, what came, and what led there. */
#define LOG_AREA "replayer.diverge"
#include "replayer/rep_priv.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "engine/sysprint.h"

static int no_memory(void *ctx, uint64_t addr, void *buf, size_t n)
{
	(void)ctx;
	(void)addr;
	(void)buf;
	(void)n;
	return -14; /* EFAULT: pointers are printed as numbers */
}

static bool has_call(const struct event *ev)
{
	return ev->kind == EVENT_SYSCALL || ev->kind == EVENT_SYSCALL_ENTER || ev->kind == EVENT_BIRTH;
}

static void describe(const struct event *ev, struct buf *out)
{
	const struct sys_mem none = { .read = no_memory };
	struct sys_call c = { .nr = ev->sysno };
	char name[24];

	if (has_call(ev)) {
		memcpy(c.args, ev->args, sizeof(c.args));
		sysprint_call(out, &c, ev->kind == EVENT_SYSCALL, ev->result, &none, &none, NULL);
		return;
	}
	switch (ev->kind) {
	case EVENT_SYSCALL_EXIT:
		buf_printf(out, "%s ", sys_name(ev->sysno, name));
		sysprint_result(out, sys_row(ev->sysno), ev->result);
		return;
	case EVENT_SIGNAL:
		buf_printf(out, "%s", sysprint_signal((int)ev->signo, name));
		return;
	case EVENT_EXIT:
		buf_printf(out, "exit, status %#" PRIx64, (uint64_t)ev->result);
		return;
	default:
		buf_printf(out, "%s", event_kind_name(ev->kind));
	}
}

int rep_diverged(struct rep_session *s, struct rep_task *t, const struct event *ev, struct errinfo *ei, const char *fmt, ...)
{
	CLEANUP(buf_done) struct buf want;
	char got[600];
	va_list ap;

	(void)s;
	va_start(ap, fmt);
	vsnprintf(got, sizeof(got), fmt, ap);
	va_end(ap);
	buf_init(&want);
	describe(ev, &want);
	if (ei)
		ei->event = ev->number;
	return errinfo_set(ei, ERR_DIVERGED, "replay diverged at event %" PRIu64 " in thread %u: expected %s, %s", ev->number, t->num,
			   buf_cstr(&want), got);
}

static void report_registers(struct rep_task *t, struct buf *out)
{
	struct user_regs_struct *r;

	if (eng_regs(&t->t, &r) < 0) {
		buf_printf(out, "  (the thread is gone)\n");
		return;
	}
	buf_printf(out, "  rip %016llx rsp %016llx rbp %016llx flags %08llx\n", r->rip, r->rsp, r->rbp, r->eflags);
	buf_printf(out, "  rax %016llx rbx %016llx rcx %016llx rdx %016llx\n", r->rax, r->rbx, r->rcx, r->rdx);
	buf_printf(out, "  rsi %016llx rdi %016llx r8  %016llx r9  %016llx\n", r->rsi, r->rdi, r->r8, r->r9);
	buf_printf(out, "  r10 %016llx r11 %016llx r12 %016llx r13 %016llx\n", r->r10, r->r11, r->r12, r->r13);
	buf_printf(out, "  r14 %016llx r15 %016llx fs  %016llx orig_rax %lld\n", r->r14, r->r15, r->fs_base, (long long)r->orig_rax);
}

/* Frames by the rbp chain: right where code keeps frame pointers, a hint elsewhere. */
static void report_stack(struct rep_task *t, struct buf *out)
{
	struct user_regs_struct *r;
	uint64_t frame[2], at;

	if (eng_regs(&t->t, &r) < 0)
		return;
	buf_printf(out, "  #0  %#llx\n", r->rip);
	at = r->rbp;
	for (int i = 1; i < 16; i++) {
		if (eng_read(&t->t, at, frame, sizeof(frame)) < 0 || !frame[1])
			return;
		buf_printf(out, "  #%-2d %#" PRIx64 "\n", i, frame[1]);
		if (frame[0] <= at)
			return;
		at = frame[0];
	}
}

void rep_session_report(struct rep_session *s, struct buf *out)
{
	struct rep_task *t = rep_task(s, s->diverged_thread);
	uint64_t last = s->pending ? s->pending->number : s->event, first = last > 10 ? last - 10 : 1;

	buf_printf(out, "last events:\n");
	for (uint64_t n = first; n <= last; n++) {
		const struct event *ev = &s->past[n % ARRAY_SIZE(s->past)].ev;

		if (ev->number != n)
			continue;
		buf_printf(out, "  %8" PRIu64 "  thread %-4u ", n, ev->thread);
		describe(ev, out);
		buf_printf(out, "\n");
	}
	if (!json_is_true(json_object_get(s->manifest->cpu, "cpuid_faulting")))
		buf_printf(out, "recorded without cpuid faulting: a program that uses RDRAND or RDSEED (std::random_device, gpg) does not replay\n");
	if (!t)
		return;
	buf_printf(out, "registers of thread %u now:\n", t->num);
	report_registers(t, out);
	buf_printf(out, "stack of thread %u (frame pointers):\n", t->num);
	report_stack(t, out);
}
