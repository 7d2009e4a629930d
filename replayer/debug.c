/* A debugging session: opening, looking, and what the client asks for (debug.h). */
#define LOG_AREA "replayer.debug"
#include "replayer/dbg_priv.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/os.h"
#include "replayer/files_priv.h"

/* Tells how the thread came to stop where it does; no program can see it. */
#define EFLAGS_RF 0x10000ull

#define INTERVAL_FIRST_NS 60000000ull

/* --- positions as text --- */

void dbg_pos_print(const struct dbg_pos *p, struct buf *out)
{
	buf_printf(out, "%" PRIu64, p->events);
	if (p->arrived) {
		buf_printf(out, "!");
		return;
	}
	if (p->hits)
		buf_printf(out, ":%#" PRIx64 "*%" PRIu64, p->addr, p->hits);
	if (p->steps)
		buf_printf(out, "+%" PRIu64, p->steps);
}

/* A number, and *p goes behind it. */
static bool number(const char **p, uint64_t *ret)
{
	char *end;

	if (**p < '0' || **p > '9')
		return false;
	errno = 0;
	*ret = strtoull(*p, &end, 0);
	*p = end;
	return errno == 0;
}

static bool skip(const char **p, char c)
{
	if (**p != c)
		return false;
	++*p;
	return true;
}

int dbg_pos_parse(const char *text, struct dbg_pos *ret)
{
	struct dbg_pos p = { 0 };

	if (!number(&text, &p.events))
		return -EINVAL;
	p.arrived = skip(&text, '!');
	if (!p.arrived && skip(&text, ':') && !(number(&text, &p.addr) && skip(&text, '*') && number(&text, &p.hits) && p.hits))
		return -EINVAL;
	if (!p.arrived && skip(&text, '+') && !number(&text, &p.steps))
		return -EINVAL;
	if (*text)
		return -EINVAL;
	*ret = p;
	return 0;
}

/* --- tasks --- */

bool dbg_is_target(const struct dbg *d, const struct rep_task *t)
{
	return t->guest_pid == d->process->pid;
}

struct rep_task *dbg_task(struct dbg *d, pid_t tid)
{
	for (uint32_t i = 0; i < d->s->cap_tasks; i++)
		if (d->s->tasks[i] && dbg_is_target(d, d->s->tasks[i]) && d->s->tasks[i]->guest_tid == tid)
			return d->s->tasks[i];
	return NULL;
}

struct rep_task *dbg_any_task(struct dbg *d)
{
	for (uint32_t i = 0; i < d->s->cap_tasks; i++)
		if (d->s->tasks[i] && dbg_is_target(d, d->s->tasks[i]))
			return d->s->tasks[i];
	return NULL;
}

struct rep_task *dbg_next_task(struct dbg *d)
{
	const struct event *ev;

	return rep_session_pending(d->s, &ev, NULL) > 0 ? rep_task(d->s, ev->thread) : NULL;
}

/* --- opening --- */

static const struct manifest_process *find_process(const struct manifest *m, pid_t pid)
{
	for (uint64_t i = 0; i < m->processes; i++)
		if (!pid || m->process[i].pid == pid)
			return &m->process[i];
	return NULL;
}

/* Recordings that were cut have no tree of processes: what is needed of it stands in the events. */
static int search_process(struct dbg *d, struct errinfo *ei)
{
	struct manifest_process *p = &d->found;
	const struct event *ev;
	int r;

	*p = (struct manifest_process){ .status = -1 };
	while ((r = store_reader_next(d->scan, &ev, ei)) > 0) {
		bool leads = (ev->kind == EVENT_EXEC && !p->pid) || (ev->kind == EVENT_BIRTH && ev->pid == ev->tid);

		p->last_event = ev->number;
		if (leads && !p->pid && (!d->opt.pid || ev->pid == d->opt.pid)) {
			p->pid = ev->pid;
			p->thread = ev->kind == EVENT_BIRTH ? ev->child : ev->thread;
			p->first_event = ev->number;
		}
		if (ev->kind == EVENT_EXEC && p->pid && ev->thread == p->thread) {
			free(p->exe);
			p->exe = strdup(ev->text);
		}
	}
	if (r < 0)
		return r;
	if (!p->pid)
		return errinfo_set(ei, ERR_NOT_FOUND, "no process %d in this recording", (int)d->opt.pid);
	d->process = p;
	return 0;
}

/* To where the process is there and has a program. */
static int run_to_begin(struct dbg *d, struct errinfo *ei)
{
	int r = 1;

	dbg_clock(true);
	while (r > 0 && !(d->s->event >= d->begin && dbg_any_task(d))) {
		const struct dbg_progress p = { .what = "going to the process", .event = d->s->event, .total = d->s->total };

		r = rep_session_step(d->s, ei);
		if (r > 0 && os_mono_ns() - d->last_tick > 50000000) {
			d->last_tick = os_mono_ns();
			if (d->opt.tick && d->opt.tick(d->opt.ctx, &p))
				r = errinfo_set(ei, ERR_INTERRUPTED, "interrupted on the way to process %d", (int)d->process->pid);
		}
	}
	dbg_clock(false);
	if (r == 0)
		return errinfo_set(ei, ERR_NOT_FOUND, "process %d has no life in this recording", (int)d->process->pid);
	d->begin = d->s->event;
	return r;
}

/* The event in which the process begins to run the program that it ends with, *ret = 0: it came with it, or that is too far away to look for.
 * Those that start themselves once more do so soon. */
static int find_program(struct dbg *d, uint64_t *ret, struct errinfo *ei)
{
	enum { EVENTS_MAX = 2000000, AGAIN_MAX = 20000 };
	const struct manifest_process *p = d->process;
	uint64_t last = MIN(p->last_event, p->first_event + EVENTS_MAX);
	int r = store_reader_seek(d->scan, MAX(p->first_event, (uint64_t)1), ei);

	*ret = 0;
	for (uint64_t n = p->first_event; n <= last && r >= 0; n++) {
		const struct event *ev;

		r = store_reader_next(d->scan, &ev, ei);
		if (r <= 0)
			break;
		if (ev->kind == EVENT_EXEC && ev->thread == p->thread && p->exe && !strcmp(ev->text, p->exe)) {
			*ret = ev->number;
			last = MIN(p->last_event, n + AGAIN_MAX);
		}
	}
	return MIN(r, 0);
}

/* From its birth to its program. */
static int run_to_program(struct dbg *d, struct errinfo *ei)
{
	uint64_t event;
	int r = find_program(d, &event, ei);

	if (r < 0 || event <= d->begin)
		return r;
	d->what = "going to the program";
	dbg_clock(true);
	r = dbg_go(d, event, ei);
	dbg_clock(false);
	return r > 0 && d->stop.kind == DBG_STOP_INTERRUPTED ? errinfo_set(ei, ERR_INTERRUPTED, "interrupted on the way to %s", d->process->exe) : MIN(r, 0);
}

static int open_process(struct dbg *d, struct store_reader *r, struct errinfo *ei)
{
	const struct manifest *m = store_reader_manifest(r);
	const struct rep_options opt = { .stdout_fd = -1, .stderr_fd = -1 };
	int rc;

	rc = store_reader_open(store_reader_store(r), &m->id, &d->scan, ei);
	d->process = find_process(m, d->opt.pid);
	if (rc >= 0 && !d->process)
		rc = search_process(d, ei);
	if (rc >= 0)
		rc = rep_files_new(r, &d->files, ei);
	if (rc >= 0)
		rc = rep_session_new(r, &opt, &d->s, ei);
	if (rc < 0)
		return rc;
	d->begin = d->process->first_event;
	rc = run_to_begin(d, ei);
	if (rc < 0)
		return rc;
	dbg_hooks(d);
	rc = dbg_checkpoint(d, ei);
	return rc < 0 ? rc : run_to_program(d, ei);
}

int dbg_open(struct store_reader *r, const struct dbg_options *opt, struct dbg **ret, struct errinfo *ei)
{
	struct dbg *d = calloc(1, sizeof(*d));
	int rc;

	if (!d)
		return errinfo_set_r(ei, -ENOMEM, "open the recording");
	d->opt = *opt;
	d->generation = 1;
	d->interval_ns = INTERVAL_FIRST_NS;
	rc = open_process(d, r, ei);
	if (rc < 0) {
		dbg_free(d);
		return rc;
	}
	*ret = d;
	return 0;
}

void dbg_free(struct dbg *d)
{
	if (!d)
		return;
	dbg_clock(false);
	if (d->s) {
		d->s->hooks = NULL;
		dbg_checkpoints_free(d);
		dbg_place_done(d, &d->home);
	}
	rep_session_free(d->s);
	rep_files_free(d->files);
	store_reader_free(d->scan);
	dbg_breaks_free(d);
	free(d->found.exe);
	free(d->threads);
	free(d);
}

struct store_reader *dbg_reader(struct dbg *d)
{
	return d->scan;
}

const struct manifest_process *dbg_process(const struct dbg *d)
{
	return d->process;
}

/* --- where --- */

uint64_t dbg_events(const struct dbg *d)
{
	return d->s->event;
}

uint64_t dbg_time_ns(const struct dbg *d)
{
	const struct rep_past *p = &d->s->past[d->s->event % ARRAY_SIZE(d->s->past)];

	return p->ev.number == d->s->event ? p->ev.time_ns : 0;
}

bool dbg_at_begin(const struct dbg *d)
{
	return d->s->event == d->begin && !d->here.computing && !d->here.arrived;
}

bool dbg_at_end(const struct dbg *d)
{
	return d->stop.kind == DBG_STOP_END && d->moves == d->end_moves;
}

bool dbg_lost(const struct dbg *d)
{
	return d->lost;
}

int dbg_exit_status(const struct dbg *d)
{
	return dbg_at_end(d) ? d->process->status : -1;
}

uint64_t dbg_moves(const struct dbg *d)
{
	return d->moves;
}

/* --- threads --- */

int dbg_threads(struct dbg *d, const struct dbg_thread **ret, size_t *ret_n)
{
	size_t n = 0;

	free(d->threads);
	d->threads = calloc(d->s->cap_tasks + 1, sizeof(*d->threads));
	if (!d->threads)
		return -ENOMEM;
	for (uint32_t i = 0; i < d->s->cap_tasks; i++) {
		const struct rep_task *t = d->s->tasks[i];
		struct dbg_thread *to = &d->threads[n];

		if (!t || !dbg_is_target(d, t))
			continue;
		*to = (struct dbg_thread){ .tid = t->guest_tid, .number = t->num, .in_call = t->in_call };
		snprintf(to->name, sizeof(to->name), "%s", rep_files_thread_name(d->files, t->num, d->s->event));
		n++;
	}
	*ret = d->threads;
	*ret_n = n;
	return 0;
}

pid_t dbg_current(const struct dbg *d)
{
	struct dbg *mutable = (struct dbg *)d;
	struct rep_task *t;

	if (d->stop_moves == d->moves && d->stop.tid && dbg_task(mutable, d->stop.tid))
		return d->stop.tid;
	t = dbg_next_task(mutable);
	if (!t || !dbg_is_target(d, t))
		t = dbg_any_task(mutable);
	return t ? t->guest_tid : 0;
}

int dbg_regs(struct dbg *d, pid_t tid, struct user_regs_struct *ret)
{
	struct rep_task *t = dbg_task(d, tid);
	struct user_regs_struct *regs;
	int r = t ? eng_regs(&t->t, &regs) : ERR_NOT_FOUND;

	if (r < 0)
		return r;
	*ret = *regs;
	ret->eflags &= ~EFLAGS_RF;
	if (t->in_call) { /* what the kernel would show, whatever we have used the thread for meanwhile */
		*ret = t->entry;
		ret->orig_rax = t->sysno;
		ret->rax = (unsigned long)-ENOSYS;
	}
	return 0;
}

int dbg_xstate(struct dbg *d, pid_t tid, void *buf, size_t cap, size_t *ret_len)
{
	struct rep_task *t = dbg_task(d, tid);

	return t ? eng_xstate(&t->t, buf, cap, ret_len) : ERR_NOT_FOUND;
}

/* Of the signal that the thread got last, if that is not too long ago to be looked for. */
static int last_siginfo(struct dbg *d, uint32_t num, siginfo_t *ret)
{
	enum { EVENTS_BACK = 10000 };
	uint64_t first = d->s->event > EVENTS_BACK ? d->s->event - EVENTS_BACK : 1;
	int r = store_reader_seek(d->scan, first, NULL), found = ERR_NOT_FOUND;

	for (uint64_t n = first; n <= d->s->event && r >= 0; n++) {
		const struct event *ev;

		r = store_reader_next(d->scan, &ev, NULL);
		if (r <= 0)
			break;
		if (ev->kind != EVENT_SIGNAL || ev->thread != num)
			continue;
		memcpy(ret, ev->siginfo, MIN(sizeof(*ret), sizeof(ev->siginfo)));
		found = 0;
	}
	return found;
}

int dbg_siginfo(struct dbg *d, pid_t tid, siginfo_t *ret)
{
	struct rep_task *t = dbg_task(d, tid);
	const struct event *ev;

	if (!t)
		return ERR_NOT_FOUND;
	if (d->here.arrived && rep_session_pending(d->s, &ev, NULL) > 0 && ev->kind == EVENT_SIGNAL && ev->thread == t->num) {
		memcpy(ret, ev->siginfo, MIN(sizeof(*ret), sizeof(ev->siginfo)));
		return 0;
	}
	return last_siginfo(d, t->num, ret);
}

/* --- memory --- */

size_t dbg_read(struct dbg *d, uint64_t addr, void *buf, size_t n)
{
	struct rep_task *t = dbg_any_task(d);
	ssize_t got = t ? eng_read_some(&t->t, addr, buf, n) : 0;

	return got > 0 ? (size_t)got : 0;
}

const struct aspace *dbg_aspace(struct dbg *d)
{
	static const struct aspace none;
	struct rep_task *t = dbg_any_task(d);

	return t ? &t->t.mm->as : &none;
}

/* --- running --- */

static int finish(struct dbg *d, int r, struct dbg_stop *ret)
{
	dbg_clock(false);
	d->step_tid = 0;
	d->how = NULL;
	d->muted = false;
	d->what = NULL;
	if (r < 0)
		return r;
	d->stop = *ret;
	d->stop_moves = d->moves;
	if (ret->kind == DBG_STOP_END)
		d->end_moves = d->moves;
	return 0;
}

static void go_over_here(struct dbg *d)
{
	struct rep_task *t = dbg_next_task(d);
	struct user_regs_struct *regs;

	if (t && dbg_is_target(d, t) && eng_regs(&t->t, &regs) >= 0)
		t->over = regs->rip;
}

static int forwards(struct dbg *d, const struct dbg_resume *how, struct dbg_stop *ret, struct errinfo *ei)
{
	const struct dbg_goal g = { .events = DBG_FOREVER, .user = true, .keep = true };
	struct user_regs_struct regs;
	int r;

	go_over_here(d);
	d->what = "running";
	d->step_tid = how->how != DBG_CONTINUE ? how->tid : 0;
	do {
		r = dbg_forward(d, &g, ei);
		if (r < 0 || how->how != DBG_RANGE || d->stop.kind != DBG_STOP_STEP || dbg_regs(d, how->tid, &regs) < 0)
			break;
	} while (regs.rip >= how->low && regs.rip < how->high && !dbg_interrupted(d));
	*ret = d->stop;
	return r;
}

int dbg_resume(struct dbg *d, const struct dbg_resume *how, struct dbg_stop *ret, struct errinfo *ei)
{
	int r;

	if (d->diverted) {
		dbg_clock(true);
		return finish(d, dbg_divert_resume(d, how, ret, ei), ret);
	}
	if (how->how != DBG_CONTINUE && !dbg_task(d, how->tid))
		return errinfo_set(ei, ERR_NOT_FOUND, "no thread %d lives here", (int)how->tid);
	d->how = how;
	dbg_clock(true);
	r = how->backwards ? dbg_backwards(d, how, ret, ei) : forwards(d, how, ret, ei);
	return finish(d, r, ret);
}

/* --- going places --- */

/* r of dbg_forward(): there, or something came before. */
static int arrived(struct dbg *d, int r, struct dbg_stop *ret)
{
	*ret = (struct dbg_stop){ .kind = DBG_STOP_SEEK };
	if (r > 0)
		*ret = d->stop;
	ret->tid = r >= 0 ? dbg_current(d) : 0;
	return finish(d, MIN(r, 0), ret);
}

static int go_to(struct dbg *d, const struct dbg_pos *to, struct errinfo *ei)
{
	const struct dbg_goal g = { .events = to->events, .arrive = true, .keep = true };
	int r = to->hits ? dbg_go_counted(d, to, ei) : to->arrived ? dbg_go_inside(d, to->events, ei) : dbg_go(d, to->events, ei);

	if (r == 0 && to->arrived)
		r = dbg_forward(d, &g, ei);
	for (uint64_t i = 0; i < to->steps && r == 0 && !to->arrived; i++) {
		r = dbg_step_inside(d, ei);
		r = r < 0 ? r : !r ? ERR_NOT_FOUND : dbg_interrupted(d);
	}
	if (to->arrived)
		d->told = true;
	return r;
}

int dbg_seek(struct dbg *d, const struct dbg_pos *to, struct dbg_stop *ret, struct errinfo *ei)
{
	struct dbg_place here;
	int r;

	if (to->events < d->begin)
		return errinfo_set(ei, ERR_NOT_FOUND, "the process begins after event %" PRIu64, d->begin);
	dbg_clock(true);
	d->what = "going there";
	r = dbg_place_take(d, false, &here, ei);
	if (r < 0)
		return finish(d, r, ret);
	r = go_to(d, to, ei);
	if (r < 0 && !d->lost) {
		struct errinfo second = { 0 };

		if (r == ERR_NOT_FOUND)
			errinfo_set(ei, r, "the thread never comes to that place");
		if (dbg_place_return(d, &here, &second) < 0)
			log_debug("not back: %s", second.text);
	}
	dbg_place_done(d, &here);
	return arrived(d, r, ret);
}

int dbg_seek_begin(struct dbg *d, struct dbg_stop *ret, struct errinfo *ei)
{
	int r = dbg_restore_checkpoint(d, 0, ei);

	r = arrived(d, r, ret);
	ret->kind = DBG_STOP_BEGIN;
	return r;
}

int dbg_seek_end(struct dbg *d, struct dbg_stop *ret, struct errinfo *ei)
{
	const struct dbg_goal g = { .events = DBG_FOREVER, .keep = true };
	size_t last = d->n_checkpoints - 1;
	int r = 0;

	dbg_clock(true);
	d->what = "going to the end";
	if (d->checkpoints[last].events > d->s->event || (d->checkpoints[last].events == d->s->event && d->checkpoints[last].computing && !d->here.computing))
		r = dbg_restore_checkpoint(d, last, ei);
	if (r >= 0)
		r = dbg_forward(d, &g, ei);
	return arrived(d, r, ret);
}

/* The first event behind that time, by bisection. */
static int event_at(struct dbg *d, uint64_t ns, uint64_t *ret, struct errinfo *ei)
{
	uint64_t low = d->begin, high = d->process->last_event;
	const struct event *ev;

	while (low < high) {
		uint64_t middle = low + (high - low + 1) / 2;
		int r = store_reader_seek(d->scan, middle, ei);

		if (r >= 0)
			r = store_reader_next(d->scan, &ev, ei);
		if (r < 0)
			return r;
		if (r > 0 && ev->time_ns <= ns)
			low = middle;
		else
			high = middle - 1;
	}
	*ret = low;
	return 0;
}

int dbg_seek_time(struct dbg *d, uint64_t ns, struct dbg_stop *ret, struct errinfo *ei)
{
	struct dbg_pos to = { 0 };
	int r = event_at(d, ns, &to.events, ei);

	return r < 0 ? r : dbg_seek(d, &to, ret, ei);
}

/* --- files --- */

static bool in_call(void *ctx, uint32_t thread)
{
	struct rep_task *t = rep_task(((struct dbg *)ctx)->s, thread);

	return t && t->in_call;
}

static struct rep_files_view view(struct dbg *d)
{
	struct rep_task *t = dbg_any_task(d);
	struct user_regs_struct *regs;

	return (struct rep_files_view){
		.events = d->s->event,
		.process = d->process->thread,
		.as = t ? &t->t.mm->as : NULL,
		.sp = t && eng_regs(&t->t, &regs) >= 0 ? regs->rsp : 0,
		.in_call = in_call,
		.ctx = d,
	};
}

int dbg_file_open(struct dbg *d, const char *path, int *ret_fd)
{
	const struct rep_files_view v = view(d);

	return rep_files_open(d->files, &v, path, ret_fd);
}

int dbg_proc_file(struct dbg *d, const char *name, struct buf *out)
{
	const struct rep_files_view v = view(d);

	return rep_files_proc(d->files, &v, name, out);
}

const char *dbg_exe(struct dbg *d)
{
	const struct rep_files_view v = view(d);

	return rep_files_exe(d->files, &v);
}
