/* Waits of guests that trace guests: the kernel knows nothing of their tracees' stops.
 *
 * A wait that finds one here is answered. Any other is made: for real children the kernel knows best. It is
 * interrupted when a stop comes up, and answered at its exit stop. A wait for tracees that are no children would
 * end with ECHILD at once: then the thread sleeps in pause() instead. */
#define LOG_AREA "recorder.ptrace"
#include "recorder/trace_priv.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/log.h"

enum { KERNEL_ERESTARTSYS = 512, KERNEL_ERESTARTNOHAND = 514 };

/* --- what is waited for --- */

struct wanted {
	bool is_waitid;
	uint64_t type, options;
	pid_t id;
	uint64_t status_at, info_at, rusage_at;
};

/* The process of a pidfd. */
static pid_t pidfd_process(struct rec_task *t, int fd)
{
	char path[48], text[512];
	const char *p;
	FILE *f;
	size_t n;

	snprintf(path, sizeof(path), "/proc/%d/fdinfo/%d", t->t.tid, fd);
	f = fopen(path, "re");
	if (!f)
		return -1;
	n = fread(text, 1, sizeof(text) - 1, f);
	fclose(f);
	text[n] = '\0';
	p = strstr(text, "Pid:");
	return p ? (pid_t)strtol(p + 4, NULL, 10) : -1;
}

/* False: t is in no wait. */
static bool read_wait(struct rec_task *t, struct wanted *w)
{
	const uint64_t *a = t->outs.call.args;
	pid_t pid = (pid_t)a[0];

	*w = (struct wanted){ .is_waitid = t->outs.call.nr == SYS_waitid };
	if (w->is_waitid) {
		w->type = a[0];
		w->id = (pid_t)a[1];
		w->info_at = a[2];
		w->options = a[3];
		w->rusage_at = a[4];
		if (w->type == P_PIDFD) {
			w->type = P_PID;
			w->id = pidfd_process(t, (int)a[1]);
		}
	} else if (t->outs.call.nr == SYS_wait4) {
		w->type = pid > 0 ? P_PID : pid == -1 ? P_ALL : P_PGID;
		w->id = pid < -1 ? -pid : pid;
		w->status_at = a[1];
		w->options = a[2] | WEXITED;
		w->rusage_at = a[3];
	} else {
		return false;
	}
	if (w->type == P_PGID && !w->id)
		w->id = getpgid(t->t.tgid);
	return true;
}

static bool matches(struct rec_task *t, const struct wanted *w, const struct rec_task *tracer, pid_t tid, pid_t pgid)
{
	if (tracer != t && (tracer->t.tgid != t->t.tgid || (w->options & __WNOTHREAD)))
		return false;
	return w->type == P_ALL || (w->type == P_PID ? w->id == tid : w->type == P_PGID && w->id == pgid);
}

static bool is_wanted_tracee(struct rec_task *t, const struct wanted *w, const struct rec_task *tracee)
{
	const struct rec_trace *tr = tracee->trace;

	return tr && !tr->detached && matches(t, w, tr->tracer, tracee->t.tid, getpgid(tracee->t.tgid));
}

/* Any tracee or zombie that it might wait for some day? */
static bool any_wanted(struct rec_task *t, const struct wanted *w)
{
	for (const struct rec_task *c = t->rec->tasks; c; c = c->next)
		if (is_wanted_tracee(t, w, c))
			return true;
	for (const struct rec_zombie *z = t->rec->zombies; z; z = z->next)
		if (matches(t, w, z->tracer, z->tid, z->pgid))
			return true;
	return false;
}

/* --- what is found --- */

struct found {
	pid_t tid;
	uid_t uid;
	int status; /* as wait4() says it */
};

static bool take_stop(struct rec_task *t, const struct wanted *w, struct found *ret)
{
	struct rec_task *last = NULL;

	for (struct rec_task *c = t->rec->tasks; c; c = c->next) /* the oldest one: they are listed from the newest on */
		if (c->state == REC_HELD && c->trace->unseen && is_wanted_tracee(t, w, c))
			last = c;
	if (!last)
		return false;
	*ret = (struct found){ last->t.tid, last->trace->uid, (int)(last->trace->code << 8 | 0x7f) };
	if (!(w->options & WNOWAIT))
		last->trace->unseen = false;
	return true;
}

static bool take_zombie(struct rec_task *t, const struct wanted *w, struct found *ret)
{
	for (struct rec_zombie **p = &t->rec->zombies; *p && (w->options & WEXITED); p = &(*p)->next) {
		struct rec_zombie *z = *p;

		if (!matches(t, w, z->tracer, z->tid, z->pgid))
			continue;
		*ret = (struct found){ z->tid, z->uid, z->status };
		if (w->options & WNOWAIT)
			return true;
		*p = z->next;
		free(z);
		t->rec->n_traced--;
		return true;
	}
	return false;
}

static bool take(struct rec_task *t, const struct wanted *w, struct found *ret)
{
	return take_zombie(t, w, ret) || take_stop(t, w, ret);
}

static void child_info(const struct found *f, siginfo_t *si)
{
	*si = (siginfo_t){ .si_signo = SIGCHLD };
	si->si_pid = f->tid;
	si->si_uid = f->uid;
	if (WIFSTOPPED(f->status)) {
		si->si_code = CLD_TRAPPED;
		si->si_status = f->status >> 8;
	} else if (WIFSIGNALED(f->status)) {
		si->si_code = WCOREDUMP(f->status) ? CLD_DUMPED : CLD_KILLED;
		si->si_status = WTERMSIG(f->status);
	} else {
		si->si_code = CLD_EXITED;
		si->si_status = WEXITSTATUS(f->status);
	}
}

/* Fields 14 and 15 of /proc/PID/stat: ticks in user and kernel mode. The rest of what the kernel would tell is
 * left zero. */
static void times_used(pid_t tid, struct rusage *ret)
{
	enum { STATE_FIELD = 3, UTIME_FIELD = 14 };
	unsigned long ticks = (unsigned long)sysconf(_SC_CLK_TCK), user = 0, kernel = 0;
	char text[1024];
	const char *p = eng_stat(tid, text, sizeof(text));

	*ret = (struct rusage){ 0 };
	for (int field = STATE_FIELD; p && field < UTIME_FIELD; field++) {
		p = strchr(p, ' ');
		p = p ? p + 1 : NULL;
	}
	if (!p || sscanf(p, "%lu %lu", &user, &kernel) != 2)
		return;
	ret->ru_utime = (struct timeval){ (time_t)(user / ticks), (suseconds_t)(user % ticks * 1000000 / ticks) };
	ret->ru_stime = (struct timeval){ (time_t)(kernel / ticks), (suseconds_t)(kernel % ticks * 1000000 / ticks) };
}

/* The outputs, as the kernel writes them. Which bytes those are the table knows, where the call ends as calls do
 * (log = false). */
static int put(struct rec_task *t, uint64_t addr, const void *p, size_t n, bool log)
{
	int rc = addr ? eng_write(&t->t, addr, p, n) : 0;

	if (rc >= 0 && addr && log)
		fx_bytes(&t->rec->fx, EFFECT_MEM, addr, p, n);
	return rc;
}

static int64_t put_found(struct rec_task *t, const struct wanted *w, const struct found *f, bool log)
{
	struct rusage used;
	siginfo_t si;
	int rc;

	child_info(f, &si);
	times_used(f->tid, &used);
	/* waitid() stores the first 28 bytes: as far as si_status */
	rc = w->is_waitid ? put(t, w->info_at, &si, 28, log) : put(t, w->status_at, &f->status, 4, log);
	if (rc >= 0)
		rc = put(t, w->rusage_at, &used, sizeof(used), log);
	return rc < 0 ? -EFAULT : w->is_waitid ? 0 : f->tid;
}

/* --- telling the tracer --- */

static bool wants_signal(struct rec_task *tracer, bool stopped)
{
	struct eng_sigsets s;
	uint64_t bit = 1ull << (SIGCHLD - 1);

	if (stopped && tracer->proc->no_stop_sigchld)
		return false;
	/* Ignored ones are dropped when they are sent; its own tracer sees them all the same. */
	return tracer->trace || (eng_sigsets(&tracer->t, &s) >= 0 && ((s.caught | s.blocked) & bit));
}

static void send_sigchld(struct rec_task *tracer, const struct found *f)
{
	if (!wants_signal(tracer, WIFSTOPPED(f->status)))
		return;
	if (!tracer->proc->chld_sent) {
		child_info(f, &tracer->proc->chld);
		if (WIFSTOPPED(f->status))
			tracer->proc->chld.si_status = WSTOPSIG(f->status) & 0x7f;
	}
	tracer->proc->chld_sent = true;
	kill(tracer->t.tgid, SIGCHLD);
}

void rec_trace_tell(struct rec_task *tracer, pid_t tid, uid_t uid, int status)
{
	const struct found f = { tid, uid, status };
	struct wanted w;

	send_sigchld(tracer, &f);
	for (struct rec_task *t = tracer->rec->tasks; t; t = t->next) {
		if (t->t.tgid != tracer->t.tgid || !t->in_call || (t->state != REC_BLOCKED && t->state != REC_READY))
			continue;
		if (!read_wait(t, &w) || !matches(t, &w, tracer, tid, getpgid(tid)))
			continue;
		if (t->state == REC_BLOCKED && eng_state(t->t.tid) == 't')
			continue; /* on its way out */
		if (eng_interrupt(&t->t) < 0)
			log_trace("thread %u is dying", t->num);
	}
}

void rec_wait_child_born(const struct rec_task *parent)
{
	for (struct rec_task *t = parent->rec->tasks; t; t = t->next)
		if (t->wait_asleep && t->t.tgid == parent->t.tgid && t->state == REC_BLOCKED && eng_interrupt(&t->t) < 0)
			log_trace("thread %u is dying", t->num);
}

/* --- the calls --- */

int rec_wait_enter(struct rec_task *t)
{
	bool without = t->wait_without;
	struct user_regs_struct *r;
	struct wanted w;
	struct found f;
	int rc;

	t->wait_without = false;
	if (!read_wait(t, &w))
		return 0;
	if (take(t, &w, &f)) {
		rc = rec_answer(t, put_found(t, &w, &f, true), 0);
		return rc < 0 ? rc : 1;
	}
	if (!without)
		return 0;
	rc = eng_regs(&t->t, &r);
	if (rc < 0)
		return rc;
	r->orig_rax = SYS_pause;
	eng_regs_changed(&t->t);
	t->wait_asleep = true;
	return 0;
}

static int set_result(struct rec_task *t, int64_t result)
{
	struct user_regs_struct *r;
	int rc = eng_regs(&t->t, &r);

	if (rc < 0)
		return rc;
	r->orig_rax = t->entry.orig_rax; /* it was pause(), or is this call */
	r->rax = (unsigned long)result;
	eng_regs_changed(&t->t);
	return 0;
}

/* A stop of a tracee that the kernel tells because it is a child too: its tracer is told by us. */
static bool told_by_kernel(struct rec_task *t, const struct wanted *w, int64_t result)
{
	uint32_t status = 0;
	struct user_regs_struct *r;

	if (w->is_waitid || result <= 0 || eng_regs(&t->t, &r) < 0 || !r->rsi || eng_read(&t->t, r->rsi, &status, 4) < 0)
		return false;
	if (!WIFSTOPPED((int)status))
		return false;
	for (const struct rec_task *c = t->rec->tasks; c; c = c->next)
		if (c->t.tid == (pid_t)result && is_wanted_tracee(t, w, c))
			return true;
	return false;
}

static int without_children(struct rec_task *t, const struct wanted *w, int64_t *result)
{
	const siginfo_t none = { 0 };

	if (!any_wanted(t, w))
		return 0;
	if (!(w->options & WNOHANG)) {
		t->wait_without = true;
		return 1;
	}
	*result = w->is_waitid && put(t, w->info_at, &none, 28, false) < 0 ? -EFAULT : 0;
	rec_scratch_forget(t);
	return set_result(t, *result);
}

int rec_wait_exit(struct rec_task *t, int64_t *result)
{
	bool cut = *result == -KERNEL_ERESTARTSYS || (t->wait_asleep && *result == -KERNEL_ERESTARTNOHAND);
	struct wanted w;
	struct found f;

	if (!read_wait(t, &w))
		return 0;
	if (told_by_kernel(t, &w, *result))
		return 1;
	if ((cut || *result == -ECHILD || (*result == 0 && (w.options & WNOHANG))) && take(t, &w, &f)) {
		rec_scratch_forget(t); /* what the kernel did not write there */
		*result = put_found(t, &w, &f, false);
	} else if (*result == -ECHILD) {
		return without_children(t, &w, result);
	} else if (cut) {
		if (t->wait_asleep)
			rec_scratch_forget(t);
		*result = -KERNEL_ERESTARTSYS;
	} else {
		return 0;
	}
	t->wait_asleep = false;
	return set_result(t, *result);
}
