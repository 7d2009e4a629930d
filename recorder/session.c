/* One recording from start to end: starts the guest, hands stops to their handlers, writes events, commits.
 *
 * Invariant: while a task runs user code, no other task does, and nothing is written into guests or the log.
 * A negative result of a handler ends the recording (truncated), except ERR_GUEST_GONE: then that task is dying and its end is awaited. */
#define LOG_AREA "recorder.session"
#include "recorder/trace_priv.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/log.h"
#include "base/os.h"
#include "base/str.h"
#include "engine/code.h"
#include "store/live.h"

#define TICK_NS 20000000ull
#define TELL_NS 2000000000ull
#define ALIVE_NS 1000000000ull
#define FLUSH_NS 20000000ull
#define OUTPUT_FLUSH_NS 2000000ull /* what a user has seen should be in the recording of a killed recorder */

/* Signals that reached hermit itself; the only file-scope state, written by the handler. */
static volatile sig_atomic_t got_signal, got_from_terminal, got_sender;

static void on_signal(int signo, siginfo_t *si, void *ctx)
{
	(void)ctx;
	if (signo == SIGALRM)
		return; /* the tick: its work is to interrupt waits */
	got_signal = signo;
	got_from_terminal = si->si_code == SI_KERNEL;
	got_sender = si->si_pid;
}

/* --- events --- */

void rec_event_init(struct rec_task *t, struct event *ev, enum event_kind kind)
{
	t->rec->now = os_mono_ns();
	t->ran = t->inside = false;
	t->due = 0;
	if (kind != EVENT_ASYNC_POINT) {
		t->spins = 0;
		t->rec->progress = t->rec->now;
		t->rec->watchdog_told = false;
	}
	*ev = (struct event){
		.kind = kind,
		.thread = t->num,
		.time_ns = t->rec->now - t->rec->start_mono,
		.text = "",
	};
}

int rec_log(struct rec *rec, struct event *ev)
{
	int r = rec->fx.error;

	ev->effects = rec->fx.e;
	ev->n_effects = rec->fx.n;
	if (r >= 0)
		r = store_writer_event(rec->writer, ev);
	if (r >= 0 && (ev->flags & (EVENT_F_STDOUT | EVENT_F_STDERR)) && rec->now - rec->last_flush > OUTPUT_FLUSH_NS) {
		rec->last_flush = rec->now;
		r = store_writer_flush(rec->writer);
	}
	fx_reset(&rec->fx);
	if (r < 0 && !rec->error) {
		rec->error = r;
		snprintf(rec->reason, sizeof(rec->reason), "could not write the recording: %s", err_str(r));
	}
	return r;
}

static bool warned_before(struct rec *rec, const char *text)
{
	size_t i;
	json_t *w;

	json_array_foreach(rec->manifest.warnings, i, w)
		if (!strcmp(json_string_value(w), text))
			return true;
	return false;
}

void rec_warn(struct rec *rec, const char *fmt, ...)
{
	/* not later than the event in the making, which follows */
	struct event ev = { .kind = EVENT_NOTE, .time_ns = rec->now - rec->start_mono };
	char text[512];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	if (warned_before(rec, text))
		return;
	json_array_append_new(rec->manifest.warnings, json_string(text));
	log_warn("%s", text);
	ev.text = text;
	/* Not through rec_log(): effects of the event in the making must stay. Failures are sticky in the writer. */
	if (store_writer_event(rec->writer, &ev) < 0)
		log_debug("note not written");
}

/* --- tasks and processes --- */

struct rec_process *rec_process_new(struct rec *rec, uint32_t thread, uint32_t parent, pid_t pid)
{
	struct rec_process *p = calloc(1, sizeof(*p));

	if (!p)
		return NULL;
	p->info.thread = thread;
	p->info.parent = parent;
	p->info.pid = pid;
	p->info.status = -1;
	p->info.first_event = store_writer_count(rec->writer) + 1;
	p->affinity = rec->affinity;
	p->dumpable = 1;
	*rec->processes_end = p;
	rec->processes_end = &p->next;
	rec->manifest.processes++;
	return p;
}

struct rec_task *rec_task_new(struct rec *rec, pid_t tid, pid_t tgid, struct eng_mm *mm, struct rec_files *files,
			      struct rec_process *proc)
{
	struct rec_task *t = calloc(1, sizeof(*t));

	if (!t)
		return NULL;
	eng_task_init(&t->t, tid, tgid, mm);
	t->rec = rec;
	t->num = ++rec->last_num;
	t->files = files;
	t->proc = proc;
	t->state = REC_STOPPED;
	sys_outs_init(&t->outs);
	buf_init(&t->input_bytes);
	buf_init(&t->exec_marks);
	buf_init(&t->peeked);
	t->next = rec->tasks;
	rec->tasks = t;
	rec->n_tasks++;
	rec->manifest.threads++;
	if (rec->chaos)
		rec_chaos_priority(t);
	return t;
}

void rec_task_remove(struct rec *rec, struct rec_task *t)
{
	struct rec_task **p = &rec->tasks;

	while (*p != t)
		p = &(*p)->next;
	*p = t->next;
	rec->n_tasks--;
	if (rec->cur == t)
		rec->cur = NULL;
	rec_tally_end(t, REC_DID_NOT_RETURN);
	rec_trace_free(t);
	rec_scratch_forget(t);
	if (t->scratch_len == REC_SCRATCH_DEFAULT && t->t.mm && t->t.mm->n_spare < ARRAY_SIZE(t->t.mm->spare))
		t->t.mm->spare[t->t.mm->n_spare++] = t->scratch;
	sys_outs_done(&t->outs);
	buf_done(&t->input_bytes);
	buf_done(&t->exec_marks);
	buf_done(&t->peeked);
	buf_done(&t->written);
	free(t->inputs);
	rec_snapshot_free(t);
	rec_files_unref(t->files);
	rec_filter_unref(t->filter);
	eng_task_done(&t->t);
	free(t);
}

struct rec_task *rec_task_find(struct rec *rec, pid_t tid)
{
	for (struct rec_task *t = rec->tasks; t; t = t->next)
		if (t->t.tid == tid)
			return t;
	return NULL;
}

void rec_ready(struct rec_task *t, enum eng_resume how, int signo)
{
	t->state = REC_READY;
	t->next_how = how;
	t->next_signo = signo;
}

/* --- stops --- */

/* A new task, the end of a group-stop, or what preempt() asked for. */
static int trap_stop(struct rec_task *t)
{
	bool point = t->want_point && t->ran && !t->in_call;

	t->interrupting = t->want_point = t->regroup = false;
	if (point)
		return rec_async_point(t, t->n_stash ? EVENT_POINT_SIGNAL : EVENT_POINT_SLICE);
	rec_ready(t, t->in_call && !t->again ? ENG_TO_EXIT : ENG_RUN, 0);
	return 0;
}

/* Another thread was told to stop the process. What this one has run ends at an event: the process may be continued, and others run first then. */
static int group_stop(struct rec_task *t)
{
	if (t->ran && !t->in_call && !t->trace && !rec_memory_private(t)) {
		t->regroup = true;
		return rec_async_point(t, EVENT_POINT_STOP);
	}
	rec_ready(t, ENG_LISTEN, 0);
	return 0;
}

static int handle_stop(struct rec_task *t)
{
	switch (t->t.stop.kind) {
	case ENG_STOP_SECCOMP:
		return rec_call_entry(t);
	case ENG_STOP_SYSCALL:
		return t->execed ? rec_exec_finish(t) : rec_call_exit(t);
	case ENG_STOP_SIGNAL:
		return rec_signal_stop(t);
	case ENG_STOP_GROUP:
		return group_stop(t);
	case ENG_STOP_BIRTH:
		return rec_birth(t);
	case ENG_STOP_EXEC:
		return rec_exec_event(t);
	case ENG_STOP_EXITING:
		return rec_exiting(t);
	case ENG_STOP_GONE:
		return rec_gone(t);
	default:
		return trap_stop(t);
	}
}

int rec_handle_stop(struct rec_task *t)
{
	bool ends = t->t.stop.kind == ENG_STOP_EXITING || t->t.stop.kind == ENG_STOP_GONE; /* and t with it */
	int r = t->trace ? rec_trace_before(t) : 0;

	if (r)
		return r < 0 ? r : 0;
	r = handle_stop(t);
	return r >= 0 && !ends && t->trace ? rec_trace_after(t) : r;
}

/* --- signals to hermit, timeouts, flushing --- */

static void kill_guests(struct rec *rec)
{
	for (struct rec_task *t = rec->tasks; t; t = t->next)
		kill(t->t.tgid, SIGKILL);
}

void rec_kill_all(struct rec *rec)
{
	struct eng_stop st;
	pid_t tid;
	int r;

	rec->stopping = true;
	if (rec->first_pid && !rec->tasks)
		kill(rec->first_pid, SIGKILL); /* started, not yet taken up */
	kill_guests(rec);
	for (;;) {
		r = eng_wait_any(true, &tid, &st);
		if (r == ERR_INTERRUPTED)
			continue;
		if (r < 0)
			return; /* ECHILD: all are gone */
		if (st.kind != ENG_STOP_GONE) {
			struct eng_task t = { .tid = tid };

			kill(tid, SIGKILL); /* also children born meanwhile */
			if (eng_resume(&t, ENG_RUN, 0) < 0)
				log_trace("%d is dying", tid);
		}
	}
}

/* To the first process, or to any when it has ended. */
static void forward(struct rec *rec, int signo)
{
	struct rec_task *t = rec_task_find(rec, rec->first_pid);

	t = t ? t : rec->tasks;
	if (t)
		kill(t->t.tgid, signo);
}

static bool asks_to_end(int signo)
{
	return signo == SIGINT || signo == SIGTERM || signo == SIGQUIT;
}

/* A signal to hermit is meant for the guest. One from the terminal or from a guest to its whole group has reached the guest already. The second one
 * that asks to end ends the recording. */
static int take_signal(struct rec *rec)
{
	int signo = got_signal;
	bool seen_by_guest = got_from_terminal || rec_task_find(rec, got_sender);

	if (!signo)
		return 0;
	got_signal = 0;
	if (seen_by_guest)
		return 0;
	if (!asks_to_end(signo) || !rec->forwarded) {
		rec->forwarded = rec->forwarded || asks_to_end(signo);
		forward(rec, signo);
		return 0;
	}
	rec->end_signo = signo;
	snprintf(rec->reason, sizeof(rec->reason), "ended by a second SIG%s", sigabbrev_np(signo));
	return ERR_INTERRUPTED;
}

/* What others ask (recorder.h). Anything else is passed over: who can write there may do worse. */
static int take_asked(struct rec *rec)
{
	char line[STORE_ASK_MAX];
	uint64_t signo;

	while (store_writer_asked(rec->writer, line, sizeof(line)) > 0) {
		if (str_has_prefix(line, "cut ")) {
			snprintf(rec->reason, sizeof(rec->reason), "%.*s", (int)sizeof(rec->reason) - 1, line + 4);
			return ERR_INTERRUPTED;
		}
		if (!strcmp(line, "kill"))
			kill_guests(rec);
		else if (str_has_prefix(line, "signal ") && str_parse_u64(line + 7, &signo) >= 0 && signo > 0 && signo < NSIG)
			forward(rec, (int)signo);
	}
	return 0;
}

/* The recording ends with the whole tree. That is not what everybody expects. */
static void tell_waiting(struct rec *rec, uint64_t now)
{
	if (rec->told_waiting || !rec->first_ended || now - rec->first_ended < TELL_NS)
		return;
	rec->told_waiting = true;
	log_warn("%s has ended, %u of its tree go on: the recording ends with them, or with a second SIGINT or SIGTERM", rec->opt->program,
		 rec->n_tasks);
}

static void tell_alive(struct rec *rec, uint64_t now)
{
	if (!rec->opt->alive || now - rec->told_alive < ALIVE_NS)
		return;
	rec->told_alive = now;
	rec->opt->alive(rec->opt->ctx);
}

static int tick(struct rec *rec)
{
	uint64_t now = rec->now = os_mono_ns();
	int r = take_signal(rec);

	if (r >= 0)
		r = take_asked(rec);
	if (r < 0)
		return r;
	tell_alive(rec, now);
	tell_waiting(rec, now);
	rec_watchdog(rec);
	if (rec->deadline && now > rec->deadline)
		return ERR_TIMEOUT;
	if (now - rec->last_flush > FLUSH_NS) {
		rec->last_flush = now;
		r = store_writer_flush(rec->writer);
		if (r < 0) {
			rec->error = r;
			snprintf(rec->reason, sizeof(rec->reason), "could not write the recording: %s", err_str(r));
		}
	}
	return r;
}

struct saved_signals {
	struct sigaction old[7];
	sigset_t mask;
};

static const int taken_signals[] = { SIGALRM, SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2 };

static void signals_take(const struct rec *rec, struct saved_signals *s)
{
	struct sigaction sa = { .sa_sigaction = on_signal, .sa_flags = SA_SIGINFO };
	const suseconds_t us = (suseconds_t)(rec->tick_ns / 1000);
	const struct itimerval it = { .it_interval.tv_usec = us, .it_value.tv_usec = us };
	sigset_t set;

	sigemptyset(&set);
	for (size_t i = 0; i < ARRAY_SIZE(taken_signals); i++) {
		sigaction(taken_signals[i], NULL, &s->old[i]);
		/* nohup and shells without job control ignore signals: they stay ignored. */
		if (s->old[i].sa_handler != SIG_IGN || taken_signals[i] == SIGALRM)
			sigaction(taken_signals[i], &sa, NULL);
		sigaddset(&set, taken_signals[i]);
	}
	sigprocmask(SIG_UNBLOCK, &set, &s->mask);
	setitimer(ITIMER_REAL, &it, NULL);
}

static void signals_give_back(const struct saved_signals *s)
{
	const struct itimerval off = { 0 };

	setitimer(ITIMER_REAL, &off, NULL);
	sigprocmask(SIG_SETMASK, &s->mask, NULL);
	for (size_t i = 0; i < ARRAY_SIZE(taken_signals); i++)
		sigaction(taken_signals[i], &s->old[i], NULL);
}

/* --- main loop --- */

static int main_loop(struct rec *rec)
{
	for (;;) {
		struct rec_task *t;
		int r = rec_sched(rec, &t);

		if (r == 0)
			return 0;
		if (r == ERR_INTERRUPTED) {
			r = tick(rec);
			if (r < 0)
				return r;
			continue;
		}
		if (r > 0)
			r = rec_handle_stop(t);
		if (rec->chaos)
			rec_chaos_after_event(rec);
		if (r == ERR_GUEST_GONE) {
			/* Killed under our hands: its end is at hand, or will be reported. */
			bool told = t->t.stop.kind == ENG_STOP_EXITING || t->t.stop.kind == ENG_STOP_GONE;

			t->state = told && !t->t.running && t->state != REC_DYING ? REC_STOPPED : REC_DYING;
			fx_reset(&rec->fx);
			r = 0;
		}
		if (r < 0)
			return r;
	}
}

/* --- start --- */

/* execve of the first program: its stops come one after the other, nothing else runs yet. */
static int first_exec(struct rec *rec, struct rec_task *t, struct errinfo *ei)
{
	struct eng_stop st;
	int64_t result;
	int r = eng_resume(&t->t, ENG_TO_EXIT, 0);

	while (r >= 0) {
		do
			r = eng_wait_task(&t->t, &st);
		while (r == ERR_INTERRUPTED);
		if (r < 0)
			break;
		if (st.kind == ENG_STOP_GONE)
			return errinfo_set(ei, ERR_GUEST_GONE, "start %s: the process died at once", rec->opt->program);
		if (st.kind == ENG_STOP_EXEC) {
			r = rec_exec_event(t);
		} else if (st.kind == ENG_STOP_SYSCALL) {
			r = eng_result(&t->t, &result);
			if (r >= 0 && result < 0)
				return errinfo_set_r(ei, (int)result, "run %s", rec->opt->program);
			if (r >= 0)
				r = rec_exec_finish(t);
			if (r >= 0)
				return 0;
		}
		if (r >= 0)
			r = eng_resume(&t->t, ENG_TO_EXIT, 0);
	}
	return errinfo_set_r(ei, r, "start %s", rec->opt->program);
}

/* Every guest process costs a descriptor (its memory), the journals may be larger than the guest's files, and what we make we open again. The
 * guest's own limits and mask stay: it was forked already. */
static void raise_own_limits(void)
{
	static const int which[] = { RLIMIT_NOFILE, RLIMIT_FSIZE };
	struct rlimit rl;
	mode_t mask = umask(0);

	umask(mask & 077);

	for (size_t i = 0; i < ARRAY_SIZE(which); i++)
		if (getrlimit(which[i], &rl) == 0 && rl.rlim_cur < rl.rlim_max) {
			rl.rlim_cur = rl.rlim_max;
			setrlimit(which[i], &rl);
		}
	signal(SIGXFSZ, SIG_IGN); /* a hard limit is an error of write() */
}

static int start_guest(struct rec *rec, struct errinfo *ei)
{
	const struct rec_options *o = rec->opt;
	struct eng_spawn sp = { .path = o->program, .argv = o->argv, .envp = o->envp, .workdir = o->workdir,
				.fds = { o->stdin_fd, o->stdout_fd, o->stderr_fd } };
	struct rec_files *files = rec_files_new();
	struct rec_process *p;
	struct rec_task *t;
	pid_t tid;
	int r;

	if (!files)
		return errinfo_set_r(ei, -ENOMEM, "start %s", o->program);
	r = eng_spawn(&sp, &tid, ei);
	if (r < 0) {
		rec_files_unref(files);
		return r;
	}
	rec->first_pid = tid;
	raise_own_limits();
	/* Not before: until its exec the guest would hold the lock that says that a recorder is alive. */
	r = store_writer_new(rec->store, &rec->manifest, &rec->writer, ei);
	if (r < 0) {
		rec_files_unref(files);
		return r;
	}
	p = rec_process_new(rec, 1, 0, tid);
	t = p ? rec_task_new(rec, tid, tid, NULL, files, p) : NULL;
	if (!t)
		return errinfo_set_r(ei, -ENOMEM, "start %s", o->program);
	p->live = 1;
	p->info.threads = 1;
	return first_exec(rec, t, ei);
}

static void stat_stdio(struct rec *rec)
{
	const int fds[3] = { rec->opt->stdin_fd, rec->opt->stdout_fd, rec->opt->stderr_fd };
	struct stat st;

	for (int i = 0; i < 3; i++)
		if (fstat(fds[i], &st) == 0)
			rec->stdio[i] = (struct stat_id){ st.st_dev, st.st_ino };
}

static int rec_init(struct rec *rec, struct store *s, const struct rec_options *opt, struct errinfo *ei)
{
	int r;

	*rec = (struct rec){ .points = REC_POINT_POLICY, .store = s, .opt = opt, .first_status = -1, .processes_end = &rec->processes };
	fx_init(&rec->fx);
	manifest_init(&rec->manifest);
	if (rec_tally_new(rec) < 0)
		return errinfo_set_r(ei, -ENOMEM, "start the recorder");
	rec->now = rec->start_mono = rec->progress = os_mono_ns();
	rec->last_flush = rec->start_mono;
	rec->tick_ns = opt->timeslice_ns ? MIN(opt->timeslice_ns, TICK_NS) : TICK_NS;
	if (opt->timeout_ns)
		rec->deadline = rec->start_mono + opt->timeout_ns;
	rec->cpu = eng_pin(-1, &rec->affinity, sizeof(rec->affinity));
	if (rec->cpu < 0)
		return errinfo_set_r(ei, rec->cpu, "pin the recorder to a CPU");
	stat_stdio(rec);
	if (opt->chaos && rec_chaos_new(rec) < 0)
		return errinfo_set_r(ei, -ENOMEM, "start the recorder");
	rec->code = code_cache_new(); /* without it points only cost more */
	r = rec_machine_facts(rec);
	return r < 0 ? errinfo_set_r(ei, r, "describe this machine") : 0;
}

static void rec_done(struct rec *rec)
{
	while (rec->tasks)
		rec_task_remove(rec, rec->tasks);
	while (rec->processes) {
		struct rec_process *p = rec->processes;

		rec->processes = p->next;
		free(p->info.command);
		free(p->info.exe);
		free(p);
	}
	while (rec->zombies) {
		struct rec_zombie *z = rec->zombies;

		rec->zombies = z->next;
		free(z);
	}
	code_cache_free(rec->code);
	rec_chaos_free(rec->chaos);
	free(rec->interrupted);
	store_writer_free(rec->writer);
	manifest_done(&rec->manifest);
	fx_done(&rec->fx);
	rec_mapped_done(rec);
	free(rec->objects);
	free(rec->tally);
	sched_setaffinity(0, sizeof(rec->affinity), &rec->affinity);
}

/* --- end --- */

static int fill_processes(struct rec *rec)
{
	struct manifest *m = &rec->manifest;
	size_t i = 0;

	m->process = calloc(m->processes ? m->processes : 1, sizeof(*m->process));
	if (!m->process)
		return -ENOMEM;
	for (struct rec_process *p = rec->processes; p; p = p->next) {
		m->process[i] = p->info;
		p->info.command = p->info.exe = NULL; /* handed over */
		i++;
	}
	return 0;
}

static int commit(struct rec *rec, struct rec_result *ret, struct errinfo *ei)
{
	struct event end = { .kind = EVENT_END, .time_ns = os_mono_ns() - rec->start_mono, .text = "" };
	struct manifest *m = &rec->manifest;
	int r;

	rec_mapped_check(rec);
	if (!rec->reason[0] && store_writer_event(rec->writer, &end) < 0)
		snprintf(rec->reason, sizeof(rec->reason), "could not write the end of the recording");
	m->state = rec->reason[0] ? RECORDING_TRUNCATED : RECORDING_COMPLETE;
	m->reason = rec->reason[0] ? os_strdup(rec->reason) : NULL;
	m->status = rec->first_status;
	m->duration_ns = os_mono_ns() - rec->start_mono;
	m->events = store_writer_count(rec->writer);
	r = fill_processes(rec);
	if (r >= 0)
		r = rec_tally_fill(rec, m->syscalls);
	if (r < 0)
		return errinfo_set_r(ei, r, "write the manifest");
	*ret = (struct rec_result){ .id = *store_writer_id(rec->writer), .status = rec->first_status, .events = m->events,
				    .truncated = rec->reason[0] != '\0', .signo = rec->end_signo };
	memcpy(ret->reason, rec->reason, sizeof(ret->reason));
	return store_writer_commit(rec->writer, m, ei);
}

static int discard(struct rec *rec, int r)
{
	if (rec->writer && store_writer_discard(rec->writer) < 0)
		log_debug("the failed recording could not be removed");
	return r;
}

int rec_record(struct store *s, const struct rec_options *opt, struct rec_result *ret, struct errinfo *ei)
{
	struct saved_signals signals;
	struct rec rec;
	int r = rec_init(&rec, s, opt, ei);

	if (r >= 0)
		r = start_guest(&rec, ei);
	if (r < 0) {
		rec_kill_all(&rec);
		r = discard(&rec, r);
		rec_done(&rec);
		return r;
	}
	got_signal = 0;
	if (opt->started)
		opt->started(opt->ctx, store_writer_id(rec.writer));
	signals_take(&rec, &signals);
	if (rec.cpuid_faulting)
		eng_traps_prefetch(&rec.traps);
	eng_traps_join(&rec.traps, rec.cpuid_faulting);
	r = main_loop(&rec);
	if (r < 0)
		rec_kill_all(&rec);
	eng_traps_leave(&rec.traps);
	signals_give_back(&signals);
	while (rec.tasks) /* their descriptors may be what the commit lacks */
		rec_task_remove(&rec, rec.tasks);
	if (r == ERR_TIMEOUT) {
		r = errinfo_set(ei, discard(&rec, r), "recording timed out after %g seconds", (double)opt->timeout_ns / 1e9);
	} else {
		if (r < 0 && !rec.reason[0])
			snprintf(rec.reason, sizeof(rec.reason), "recorder failed: %s%s", err_str(r),
				 r == -EMFILE ? " (each process of the guest takes one: raise ulimit -n)" : "");
		r = commit(&rec, ret, ei);
	}
	rec_done(&rec);
	return r;
}
