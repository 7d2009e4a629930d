/* See evindex.h.
 *
 *     evindex_extend: events --decode, fds_event()--> records, names, threads
 *
 * One thread at a time builds (`build`), in batches that exclude readers (`lock`) for less than a millisecond each: records, names and threads may move then. */
#include "analysis/evindex.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include "analysis/evindex_priv.h"
#include "analysis/evprint.h"
#include "analysis/fds.h"
#include "analysis/idmap_priv.h"
#include "base/os.h"

#define BATCH 512
#define LOOK_AGAIN_NS 500000000u /* how often it is asked whether a recording has ended otherwise than by its last event */

struct builder {
	struct store *store;
	struct store_reader *reader;
	struct fds *fds;
	struct idmap open;      /* thread -> number of the entry that it is in */
	uint64_t next;          /* event */
	uint64_t looked_ns;
	bool ended;             /* EVENT_END was seen */
	int error;
	struct errinfo why;
};

struct evindex {
	_Atomic unsigned users;
	char *dir;
	struct store_id id;
	pthread_mutex_t build;
	pthread_rwlock_t lock;
	struct builder *b;      /* NULL: finished */
	/* under lock: */
	struct evindex_storage storage;
	struct names names;
	struct evindex_thread *thread; /* owned, unless the storage is loaded */
	uint32_t n_threads, cap_threads;
	struct idmap index;     /* thread number -> place in thread[] */
	uint64_t end_ns;
	bool finished;
};

/* --- life --- */

static void builder_free(struct builder *b)
{
	if (!b)
		return;
	fds_free(b->fds);
	store_reader_free(b->reader);
	store_free(b->store);
	idmap_done(&b->open);
	free(b);
}

static void evindex_free(struct evindex *d)
{
	builder_free(d->b);
	storage_done(&d->storage);
	names_done(&d->names);
	free(d->thread);
	idmap_done(&d->index);
	pthread_mutex_destroy(&d->build);
	pthread_rwlock_destroy(&d->lock);
	free(d->dir);
	free(d);
}

struct evindex *evindex_ref(struct evindex *d)
{
	atomic_fetch_add(&d->users, 1);
	return d;
}

void evindex_unref(struct evindex *d)
{
	if (d && atomic_fetch_sub(&d->users, 1) == 1)
		evindex_free(d);
}

void evindex_unrefp(struct evindex **d)
{
	evindex_unref(*d);
}

const struct store_id *evindex_id(const struct evindex *d)
{
	return &d->id;
}

static int builder_new(struct evindex *d, struct errinfo *ei)
{
	struct builder *b = d->b = os_calloc(1, sizeof(*b));
	int r = b ? store_open(d->dir, false, &b->store, ei) : -ENOMEM;

	if (r >= 0)
		r = store_reader_open(b->store, &d->id, &b->reader, ei);
	if (r >= 0)
		r = fds_new(store_reader_manifest(b->reader)->cwd, &d->names, &b->fds);
	if (r >= 0)
		b->next = 1;
	return r;
}

static int index_loaded(struct evindex *d)
{
	const struct evindex_storage *s = &d->storage;
	int r = 0;

	d->n_threads = (uint32_t)s->head.n_threads;
	for (uint32_t i = 0; i < d->n_threads && r >= 0; i++)
		r = s->thread[i].number ? idmap_put(&d->index, s->thread[i].number, i) : 0;
	d->end_ns = s->head.end_ns;
	d->finished = true;
	return r;
}

static int evindex_begin(struct evindex *d, struct errinfo *ei)
{
	const struct manifest *m;
	int r = builder_new(d, ei);

	if (r < 0)
		return r;
	m = store_reader_manifest(d->b->reader);
	if (m->state == RECORDING_OPEN || storage_load(&d->storage, d->dir, m) < 0)
		return 0;
	r = index_loaded(d);
	builder_free(TAKE(d->b));
	return r;
}

int evindex_open(const char *dir, const struct store_id *id, struct evindex **ret, struct errinfo *ei)
{
	struct evindex *d = os_calloc(1, sizeof(*d));
	int r;

	if (!d)
		return -ENOMEM;
	d->users = 1;
	d->id = *id;
	storage_init(&d->storage);
	pthread_mutex_init(&d->build, NULL);
	pthread_rwlock_init(&d->lock, NULL);
	d->dir = os_strdup(dir);
	r = d->dir ? evindex_begin(d, ei) : -ENOMEM;
	if (r < 0) {
		evindex_free(d);
		return r;
	}
	*ret = d;
	return 0;
}

/* --- building --- */

static int16_t small_fd(int fd)
{
	return fd < 0 ? EVINDEX_NO_FD : fd > INT16_MAX ? EVINDEX_LARGE_FD : (int16_t)fd;
}

static void record_refs(struct evindex_record *rec, const struct fds_refs *refs)
{
	rec->name[0] = refs->path[0];
	rec->name[1] = refs->path[1] ? refs->path[1] : refs->fd[1].info.name;
	rec->name[2] = refs->fd[0].info.name;
	for (int i = 0; i < 2; i++)
		rec->fd[i] = small_fd(refs->fd[i].fd);
	if (refs->more)
		rec->bits |= EVINDEX_MORE_FDS;
}

/* Notes an entry for its end, and ends find theirs. The entry's own record is completed when the batch is appended. */
static int pair(struct builder *b, const struct event *ev, struct evindex_record *rec)
{
	uint32_t *entry;

	if (ev->kind == EVENT_SYSCALL_ENTER || ev->kind == EVENT_BIRTH)
		return idmap_put(&b->open, ev->thread, (uint32_t)ev->number);
	if (ev->kind != EVENT_SYSCALL_EXIT && ev->kind != EVENT_EXEC && ev->kind != EVENT_EXIT)
		return 0;
	entry = idmap_find(&b->open, ev->thread);
	if (!entry)
		return 0;
	if (ev->kind == EVENT_SYSCALL_EXIT)
		rec->partner = *entry;
	*entry = 0;
	return 0;
}

static int make_record(struct evindex *d, const struct event *ev, struct evindex_record *rec)
{
	struct builder *b = d->b;
	struct fds_refs refs;
	int r = fds_event(b->fds, b->reader, ev, &refs);

	*rec = (struct evindex_record){ .time_ns = ev->time_ns, .thread = ev->thread, .kind = (uint8_t)ev->kind, .flags = (uint16_t)ev->flags,
				       .offset = store_reader_offset(b->reader), .result = ev->kind == EVENT_BIRTH ? (int64_t)ev->child : ev->result };
	rec->sysno = (uint16_t)MIN(ev->kind == EVENT_SIGNAL ? ev->signo : ev->sysno, (uint32_t)UINT16_MAX);
	if (evprint_errno(ev))
		rec->bits |= EVINDEX_FAILED;
	rec->fd[0] = rec->fd[1] = EVINDEX_NO_FD;
	if (r >= 0 && refs.call)
		record_refs(rec, &refs);
	if (r >= 0 && (ev->kind == EVENT_EXEC || ev->kind == EVENT_NOTE))
		rec->name[0] = names_add(&d->names, ev->text, strlen(ev->text));
	return r < 0 || !ev->thread ? r : pair(b, ev, rec);
}

static struct evindex_thread *thread_add(struct evindex *d, uint32_t number)
{
	struct evindex_thread *more;
	uint32_t cap;

	if (d->n_threads == d->cap_threads) {
		cap = d->cap_threads ? d->cap_threads * 2 : 8;
		more = reallocarray(d->thread, cap, sizeof(*more));
		if (!more)
			return NULL;
		d->thread = more;
		d->cap_threads = cap;
	}
	if (idmap_put(&d->index, number, d->n_threads) < 0)
		return NULL;
	d->thread[d->n_threads] = (struct evindex_thread){ .number = number, .process = number, .status = -1 };
	return &d->thread[d->n_threads++];
}

static struct evindex_thread *thread_find(const struct evindex *d, uint32_t number)
{
	uint32_t *at = idmap_find(&d->index, number);

	return at ? &d->thread[*at] : NULL;
}

static int thread_of(struct evindex *d, uint32_t number, struct evindex_thread **ret)
{
	struct evindex_thread *t = thread_find(d, number);

	*ret = t ? t : thread_add(d, number);
	return *ret ? 0 : -ENOMEM;
}

static int thread_born(struct evindex *d, const struct event *ev)
{
	struct evindex_thread *child, *parent;
	int r = thread_of(d, ev->child, &child);

	if (r < 0)
		return r;
	parent = thread_find(d, ev->thread);
	child->parent = ev->thread;
	child->pid = ev->pid;
	child->tid = ev->tid;
	child->first = child->last = (uint32_t)ev->number;
	child->start_ns = child->end_ns = ev->time_ns;
	if (parent)
		child->name = parent->name;
	if (parent && parent->pid == ev->pid)
		child->process = parent->process;
	return 0;
}

static int thread_event(struct evindex *d, const struct event *ev, const struct evindex_record *rec)
{
	struct evindex_thread *t;
	int r;

	if (!ev->thread)
		return 0;
	r = thread_of(d, ev->thread, &t);
	if (r < 0)
		return r;
	if (!t->first) {
		t->first = (uint32_t)ev->number;
		t->start_ns = ev->time_ns;
	}
	t->last = (uint32_t)ev->number;
	t->end_ns = ev->time_ns;
	if (ev->kind == EVENT_EXIT) {
		t->ended = 1;
		t->status = (int32_t)ev->result;
	}
	if (ev->kind == EVENT_EXEC) {
		t->name = rec->name[0];
		if (ev->pid) {
			t->pid = ev->pid;
			t->tid = ev->tid;
		}
	}
	return ev->kind == EVENT_BIRTH && ev->child ? thread_born(d, ev) : 0;
}

/* One event into the batch. Names and threads change as well: the caller has the write lock. */
static int add_event(struct evindex *d, const struct event *ev)
{
	struct evindex_storage *s = &d->storage;
	struct evindex_record *rec = &s->record[s->n];
	int r = make_record(d, ev, rec);

	if (r >= 0)
		r = thread_event(d, ev, rec);
	if (r < 0)
		return r;
	if (rec->partner && rec->partner <= s->n)
		s->record[rec->partner - 1].partner = (uint32_t)ev->number;
	s->n++;
	d->end_ns = MAX(d->end_ns, ev->time_ns);
	d->b->next = ev->number + 1;
	d->b->ended = ev->kind == EVENT_END;
	return 0;
}

/* At most a batch of events. Number added, 0 at the end for now. */
static int add_batch(struct evindex *d, struct errinfo *ei)
{
	struct builder *b = d->b;
	const struct event *ev;
	int r, n = 0;

	pthread_rwlock_wrlock(&d->lock);
	r = storage_reserve(&d->storage, d->dir, BATCH);
	while (r >= 0 && n < BATCH) {
		r = store_reader_next(b->reader, &ev, ei);
		if (r <= 0)
			break;
		r = add_event(d, ev);
		n++;
	}
	pthread_rwlock_unlock(&d->lock);
	return r < 0 ? r : n;
}

/* The recorder has ended it or died: the rest, if any, comes from where it lies now. */
static int look_again(struct evindex *d, struct errinfo *ei)
{
	struct builder *b = d->b;
	struct store_reader *fresh CLEANUP(store_reader_freep) = NULL;
	uint64_t now = os_mono_ns();
	int r;

	if (now - b->looked_ns < LOOK_AGAIN_NS)
		return 0;
	b->looked_ns = now;
	r = store_reader_open(b->store, &d->id, &fresh, ei);
	if (r < 0)
		return r;
	if (store_reader_manifest(fresh)->state == RECORDING_OPEN)
		return 0;
	r = store_reader_seek(fresh, b->next, ei);
	if (r < 0)
		return r;
	store_reader_free(b->reader);
	b->reader = TAKE(fresh);
	return 0;
}

/* The last event is in, of a recording that does not grow any more. */
static void finish(struct evindex *d)
{
	const struct manifest *m = store_reader_manifest(d->b->reader);
	int r UNUSED = 0;

	/* a recording that was opened while it grew is saved with the manifest that it has now, by whoever opens it next */
	if (m->state != RECORDING_OPEN)
		r = storage_save(&d->storage, d->dir, m, d->thread, d->n_threads, &d->names, d->end_ns);
	pthread_rwlock_wrlock(&d->lock);
	d->finished = true;
	pthread_rwlock_unlock(&d->lock);
	builder_free(TAKE(d->b));
}

static int extend_more(struct evindex *d, uint64_t deadline_ns, struct errinfo *ei)
{
	struct builder *b = d->b;
	int r;

	do {
		r = add_batch(d, ei);
		if (r < 0)
			return r;
		if (r == 0 && store_reader_manifest(b->reader)->state == RECORDING_OPEN && !b->ended) {
			r = look_again(d, ei);
			return r < 0 ? r : 1;
		}
		if (r == 0 || b->ended) {
			finish(d);
			return 1;
		}
	} while (os_mono_ns() < deadline_ns);
	return 0;
}

int evindex_extend(struct evindex *d, uint64_t deadline_ns, struct errinfo *ei)
{
	const struct timespec until = { .tv_sec = (time_t)(deadline_ns / 1000000000), .tv_nsec = (long)(deadline_ns % 1000000000) };
	struct errinfo why = { 0 };
	int r = 1;

	/* when another one builds until then, that is as good */
	if (pthread_mutex_clocklock(&d->build, CLOCK_MONOTONIC, &until) != 0)
		return 0;
	if (d->b && d->b->error) {
		r = d->b->error;
		why = d->b->why;
	} else if (d->b) {
		r = extend_more(d, deadline_ns, &why);
		if (r < 0 && d->b) {
			d->b->error = r;
			d->b->why = why;
		}
	}
	pthread_mutex_unlock(&d->build);
	if (r < 0)
		return errinfo_set(ei, r, "%s", why.text[0] ? why.text : err_str(r));
	return r;
}

uint64_t evindex_memory(struct evindex *d)
{
	uint64_t n;

	pthread_rwlock_rdlock(&d->lock);
	n = d->names.text.cap + d->names.cap * 4u + d->names.n_slots * 4u + d->cap_threads * sizeof(*d->thread) + d->index.n_slots * 8u;
	if (d->storage.fd < 0 && !d->storage.loaded)
		n += d->storage.map_bytes;
	pthread_rwlock_unlock(&d->lock);
	return n;
}

/* --- views --- */

void evindex_view(struct evindex *d, struct evindex_view *ret)
{
	const struct evindex_storage *s = &d->storage;

	pthread_rwlock_rdlock(&d->lock);
	*ret = (struct evindex_view){ .record = s->record, .n = s->n, .thread = s->loaded ? s->thread : d->thread, .n_threads = d->n_threads,
				     .n_names = s->loaded ? (uint32_t)s->head.n_names : d->names.n, .finished = d->finished, .end_ns = d->end_ns, .evindex = d };
}

void evindex_trim(struct evindex *d)
{
	pthread_rwlock_rdlock(&d->lock);
	storage_trim(&d->storage);
	pthread_rwlock_unlock(&d->lock);
}

void evindex_release(const struct evindex_view *v)
{
	if (v->evindex)
		pthread_rwlock_unlock(&((struct evindex *)v->evindex)->lock);
}

const struct evindex_record *evindex_at(const struct evindex_view *v, uint64_t number)
{
	return number && number <= v->n ? &v->record[number - 1] : NULL;
}

const struct evindex_thread *evindex_thread(const struct evindex_view *v, uint32_t number)
{
	uint32_t *at = idmap_find(&v->evindex->index, number);

	return at ? &v->thread[*at] : NULL;
}

const char *evindex_name(const struct evindex_view *v, uint32_t name)
{
	const struct evindex_storage *s = &v->evindex->storage;

	if (!s->loaded)
		return names_get(&v->evindex->names, name);
	return name && name <= v->n_names ? s->name_text + s->name_offset[name - 1] : NULL;
}

int evindex_seek(const struct evindex_view *v, struct store_reader *r, uint64_t number, struct errinfo *ei)
{
	const struct evindex_record *rec = evindex_at(v, number);

	return rec ? store_reader_seek_at(r, number, rec->offset, ei) : store_reader_seek(r, number, ei);
}

uint64_t evindex_duration(const struct evindex_view *v, uint64_t number)
{
	const struct evindex_record *rec = evindex_at(v, number), *other = rec ? evindex_at(v, rec->partner) : NULL;

	if (!other || rec->kind == EVENT_BIRTH || other->kind == EVENT_BIRTH)
		return 0;
	return rec->time_ns > other->time_ns ? rec->time_ns - other->time_ns : other->time_ns - rec->time_ns;
}
