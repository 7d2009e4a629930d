/* To which process a thread belongs. The manifest names the first thread of each process, and a cut recording has not even that: the rest is
 * read from the events, as far as somebody asks. */
#include "inspector/inspect_priv.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#define THREADS_KNOWN_MAX (16u << 20)

void thread_table_done(struct thread_table *t)
{
	free(t->v);
	store_reader_free(t->reader);
	*t = (struct thread_table){ 0 };
}

static int open_scan(struct inspector *in, struct errinfo *ei)
{
	return in->threads.reader ? 0 : store_reader_open(in->store, &in->opt->recording, &in->threads.reader, ei);
}

static int grow(struct thread_table *t, uint32_t thread)
{
	size_t n = MAX((size_t)thread + 1, t->n * 2);
	struct thread_entry *v;

	if (thread < t->n)
		return 0;
	if (thread >= THREADS_KNOWN_MAX)
		return ERR_LIMIT;
	v = reallocarray(t->v, n, sizeof(*v));
	if (!v)
		return -ENOMEM;
	for (size_t i = t->n; i < n; i++)
		v[i] = (struct thread_entry){ 0 };
	t->v = v;
	t->n = n;
	return 0;
}

static int note(struct thread_table *t, const struct event *ev)
{
	uint32_t thread = ev->kind == EVENT_BIRTH ? ev->child : ev->thread;
	int r;

	if (ev->kind != EVENT_BIRTH && !(ev->kind == EVENT_EXEC && ev->pid))
		return 0;
	r = grow(t, thread);
	if (r >= 0 && !t->v[thread].pid)
		t->v[thread] = (struct thread_entry){ .pid = ev->pid, .tid = ev->tid };
	return r;
}

static int scan(struct inspector *in, uint32_t thread, uint64_t event, struct errinfo *ei)
{
	struct thread_table *t = &in->threads;
	int r = open_scan(in, ei);

	if (!t->next)
		t->next = 1;
	if (r >= 0 && t->next <= event)
		r = store_reader_seek(t->reader, t->next, ei);
	while (r >= 0 && t->next <= event && !(thread < t->n && t->v[thread].pid)) {
		const struct dbg_progress p = { .what = "looking for the thread", .event = t->next, .total = event };
		const struct event *ev;

		r = store_reader_next(t->reader, &ev, ei);
		if (r <= 0)
			break;
		r = note(t, ev);
		t->next++;
		if (t->next % 65536 == 0 && in->interrupted(in->ctx, &p))
			r = errinfo_set(ei, ERR_INTERRUPTED, "interrupted while the thread was looked for");
	}
	return MIN(r, 0);
}

int thread_table_find(struct inspector *in, uint32_t thread, uint64_t event, pid_t *ret_pid, struct errinfo *ei)
{
	const struct manifest *m = store_reader_manifest(in->reader);
	struct thread_table *t = &in->threads;
	int r;

	for (uint64_t i = 0; i < m->processes; i++) {
		if (m->process[i].thread != thread && m->processes > 1)
			continue;
		*ret_pid = m->process[i].pid;
		return 0;
	}
	r = scan(in, thread, event, ei);
	if (r < 0)
		return r;
	if (thread >= t->n || !t->v[thread].pid)
		return errinfo_set(ei, ERR_NOT_FOUND, "there is no thread %u at event %" PRIu64, thread, event);
	*ret_pid = t->v[thread].pid;
	return 0;
}

int thread_of_event(struct inspector *in, uint64_t event, uint32_t *ret, struct errinfo *ei)
{
	const struct event *ev;
	int r = open_scan(in, ei);

	if (r >= 0)
		r = store_reader_seek(in->threads.reader, event, ei);
	if (r >= 0)
		r = store_reader_next(in->threads.reader, &ev, ei);
	if (r == 0)
		r = errinfo_set(ei, ERR_NOT_FOUND, "the recording has no event %" PRIu64, event);
	if (r < 0)
		return r;
	*ret = ev->thread;
	return 0;
}
