/* See search.h. Two lists, newest use first, under one lock; a search and an index have their own locks. */
#include "analysis/search.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "base/os.h"

#define STEP_NS 20000000u  /* how long a search or evindex is kept from others at a time */
#define STEP_EVENTS 4096u  /* records looked at before the clock is */
#define LINES_PER_LOOK 64u

struct search {
	_Atomic unsigned users;
	struct search *next; /* list of searches */
	struct searches *all;
	struct evindex *evindex;
	char *key;           /* recording and filter */
	struct filter *f;    /* owned */
	_Atomic uint64_t asked_ns;
	_Atomic bool idle;   /* nothing to do for the background thread */
	pthread_mutex_t lock;
	/* under lock: */
	struct filter_run *run;
	uint32_t *match;
	size_t n, cap;
	uint64_t scanned;
	bool complete;
	_Atomic int error;
	struct errinfo why;
	/* of events that have to be printed */
	struct store *store;
	struct store_reader *reader;
	struct evprint printer;
	struct buf line;
};

struct kept_evindex {
	struct kept_evindex *next;
	struct evindex *evindex;
	_Atomic uint64_t asked_ns;
	_Atomic bool idle;
};

struct searches {
	char *dir;
	pthread_mutex_t lock;
	pthread_cond_t wake;
	struct search *search;      /* newest use first */
	struct kept_evindex *evindex; /* newest use first */
	bool stop, running;
	pthread_t thread;
};

/* --- life --- */

/* A search that is over, or that nobody asks for, keeps no files of the recording open. */
static void close_reader(struct search *q)
{
	evprint_done(&q->printer);
	store_reader_free(TAKE(q->reader));
	store_free(TAKE(q->store));
}

static void search_free(struct search *q)
{
	close_reader(q);
	buf_done(&q->line);
	filter_run_free(q->run);
	filter_free(q->f);
	evindex_unref(q->evindex);
	pthread_mutex_destroy(&q->lock);
	free(q->match);
	free(q->key);
	free(q);
}

void search_unref(struct search *q)
{
	if (q && atomic_fetch_sub(&q->users, 1) == 1)
		search_free(q);
}

void search_unrefp(struct search **q)
{
	search_unref(*q);
}

static void kept_free(struct kept_evindex *k)
{
	evindex_unref(k->evindex);
	free(k);
}

static void *background(void *ctx);

int searches_new(const char *dir, struct searches **ret)
{
	struct searches *s = os_calloc(1, sizeof(*s));
	pthread_condattr_t attr;

	if (!s)
		return -ENOMEM;
	pthread_mutex_init(&s->lock, NULL);
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&s->wake, &attr);
	pthread_condattr_destroy(&attr);
	s->dir = os_strdup(dir);
	if (s->dir)
		evindex_sweep(dir);
	s->running = s->dir && pthread_create(&s->thread, NULL, background, s) == 0;
	if (!s->running) {
		searches_free(s);
		return -ENOMEM;
	}
	*ret = s;
	return 0;
}

void searches_free(struct searches *s)
{
	struct search *q;
	struct kept_evindex *k;

	if (!s)
		return;
	pthread_mutex_lock(&s->lock);
	s->stop = true;
	pthread_cond_broadcast(&s->wake);
	pthread_mutex_unlock(&s->lock);
	if (s->running)
		pthread_join(s->thread, NULL);
	while ((q = s->search)) {
		s->search = q->next;
		search_unref(q);
	}
	while ((k = s->evindex)) {
		s->evindex = k->next;
		kept_free(k);
	}
	pthread_mutex_destroy(&s->lock);
	pthread_cond_destroy(&s->wake);
	free(s->dir);
	free(s);
}

/* --- indexes --- */

/* Locked. The index comes to the front of the list. */
static struct kept_evindex *find_evindex(struct searches *s, const struct store_id *id)
{
	for (struct kept_evindex **at = &s->evindex, *k; (k = *at); at = &k->next) {
		if (strcmp(evindex_id(k->evindex)->hex, id->hex))
			continue;
		*at = k->next;
		k->next = s->evindex;
		return s->evindex = k;
	}
	return NULL;
}

/* Locked. Drops indexes from the end of the list, those that nobody has now are freed by it. */
static void trim_evindexs(struct searches *s)
{
	uint64_t bytes = 0;
	unsigned n = 0;

	for (struct kept_evindex **at = &s->evindex, *k; (k = *at);) {
		bytes += evindex_memory(k->evindex);
		if (n++ && (n > SEARCH_EVINDEXS_MAX || bytes > SEARCH_EVINDEX_MEMORY_MAX)) {
			*at = k->next;
			kept_free(k);
		} else {
			at = &k->next;
		}
	}
}

static int open_evindex(struct searches *s, const struct store_id *id, struct errinfo *ei)
{
	struct kept_evindex *k = os_calloc(1, sizeof(*k));
	int r = k ? evindex_open(s->dir, id, &k->evindex, ei) : -ENOMEM;

	if (r < 0) {
		free(k);
		return r;
	}
	pthread_mutex_lock(&s->lock);
	if (find_evindex(s, id)) { /* somebody was faster */
		kept_free(k);
	} else {
		k->next = s->evindex;
		s->evindex = k;
		trim_evindexs(s);
	}
	pthread_mutex_unlock(&s->lock);
	return 0;
}

static int get_evindex(struct searches *s, const struct store_id *id, struct evindex **ret, struct errinfo *ei)
{
	struct kept_evindex *k;
	int r = 0;

	for (int tries = 0; tries < 3 && r >= 0; tries++) {
		pthread_mutex_lock(&s->lock);
		k = find_evindex(s, id);
		if (k) {
			k->asked_ns = os_mono_ns();
			*ret = evindex_ref(k->evindex);
		}
		pthread_mutex_unlock(&s->lock);
		if (k)
			return 0;
		r = open_evindex(s, id, ei);
	}
	return r < 0 ? r : -EAGAIN;
}

static void drop_evindex(struct searches *s, const struct store_id *id)
{
	struct kept_evindex *k;

	pthread_mutex_lock(&s->lock);
	k = find_evindex(s, id);
	if (k)
		s->evindex = k->next;
	pthread_mutex_unlock(&s->lock);
	if (k)
		kept_free(k);
}

/* There is work for the background thread: this search, or this evindex. */
static void wake_search(struct searches *s, struct search *q)
{
	pthread_mutex_lock(&s->lock);
	q->idle = false;
	pthread_cond_signal(&s->wake);
	pthread_mutex_unlock(&s->lock);
}

static void wake_evindex(struct searches *s, const struct store_id *id)
{
	struct kept_evindex *k;

	pthread_mutex_lock(&s->lock);
	k = find_evindex(s, id);
	if (k)
		k->idle = false;
	pthread_cond_signal(&s->wake);
	pthread_mutex_unlock(&s->lock);
}

/* In steps, so that others get at it in between. */
static int extend_within(struct evindex *d, uint64_t deadline_ns, struct errinfo *ei)
{
	uint64_t now;
	int r;

	do {
		now = os_mono_ns();
		r = evindex_extend(d, MIN(deadline_ns, now + STEP_NS), ei);
	} while (r == 0 && now < deadline_ns);
	return r;
}

int searches_evindex(struct searches *s, const struct store_id *id, uint64_t budget_ns, struct evindex **ret, struct errinfo *ei)
{
	struct evindex *d CLEANUP(evindex_unrefp) = NULL;
	int r = get_evindex(s, id, &d, ei);

	if (r < 0)
		return r;
	r = extend_within(d, os_mono_ns() + budget_ns, ei);
	if (r < 0) {
		drop_evindex(s, id); /* the next one who asks tries again */
		return r;
	}
	if (r == 0)
		wake_evindex(s, id);
	*ret = TAKE(d);
	return 0;
}

/* --- searching --- */

static int add_match(struct search *q, uint64_t number)
{
	uint32_t *more;
	size_t cap;

	if (q->n == q->cap) {
		if (q->n >= SEARCH_MATCHES_MAX)
			return errinfo_set(&q->why, ERR_LIMIT, "more than %u events match", SEARCH_MATCHES_MAX);
		cap = q->cap ? q->cap * 2 : 256;
		more = reallocarray(q->match, cap, sizeof(*more));
		if (!more)
			return -ENOMEM;
		q->match = more;
		q->cap = cap;
	}
	q->match[q->n++] = (uint32_t)number;
	return 0;
}

/* The printer meets event number n, unless it comes next anyway. */
static int meet(struct search *q, const struct evindex_view *v, uint64_t n, bool print)
{
	const struct event *ev;
	int r = evindex_seek(v, q->reader, n, &q->why);

	if (r >= 0)
		r = store_reader_next(q->reader, &ev, &q->why);
	if (r == 0)
		r = ERR_TRUNCATED;
	if (r < 0)
		return r;
	if (print)
		evprint_text(&q->printer, ev, &q->line);
	else
		evprint_skip(&q->printer, ev);
	return 0;
}

static int open_reader(struct search *q)
{
	int r = q->store ? 0 : store_open(q->all->dir, false, &q->store, &q->why);

	if (r >= 0)
		r = store_reader_open(q->store, evindex_id(q->evindex), &q->reader, &q->why);
	if (r >= 0)
		evprint_init(&q->printer, q->reader, 0);
	return r;
}

/* Prints the event, as evprint does for who has seen all before it. */
static int print_line(struct search *q, const struct evindex_view *v, uint64_t number)
{
	const struct evindex_record *rec = evindex_at(v, number);
	uint64_t entry = rec->kind == EVENT_SYSCALL_EXIT && rec->partner < number ? rec->partner : 0;
	int r = q->reader ? 0 : open_reader(q);

	buf_clear(&q->line);
	if (r >= 0 && entry && !evprint_knows(&q->printer, rec->thread, entry))
		r = meet(q, v, entry, false);
	return r < 0 ? r : meet(q, v, number, true);
}

/* Events from q->scanned on, until one has to be printed that was not yet, or `most` were looked at. */
static int scan(struct search *q, const struct evindex_view *v, uint64_t most, unsigned *lines)
{
	uint64_t end = MIN(v->n, q->scanned + most);

	while (q->scanned < end && *lines) {
		uint64_t number = q->scanned + 1;
		int r = filter_record(q->run, v, number);

		if (r == FILTER_LINE) {
			(*lines)--;
			r = print_line(q, v, number);
			if (r >= 0)
				r = filter_line(q->run, v, number, (const char *)q->line.data, q->line.len) ? FILTER_YES : FILTER_NO;
		}
		if (r == FILTER_YES)
			r = add_match(q, number);
		if (r < 0)
			return r;
		q->scanned = number;
	}
	return 0;
}

/* Locked. One step, of the index when it is short, then of the search. 1: nothing is left to do for now. */
static int step(struct search *q, uint64_t deadline_ns)
{
	struct evindex_view v;
	unsigned lines = LINES_PER_LOOK;
	int up_to_date = 1, r;

	evindex_view(q->evindex, &v);
	if (q->scanned >= v.n && !v.finished) {
		evindex_release(&v);
		up_to_date = evindex_extend(q->evindex, MIN(deadline_ns, os_mono_ns() + STEP_NS), &q->why);
		if (up_to_date < 0)
			return up_to_date;
		evindex_view(q->evindex, &v);
	} else if (!v.finished) {
		up_to_date = 0;
	}
	r = scan(q, &v, STEP_EVENTS, &lines);
	q->complete = up_to_date == 1 && q->scanned >= v.n;
	if (q->complete && v.finished)
		close_reader(q);
	evindex_release(&v);
	return r < 0 ? r : q->complete;
}

/* Steps until the deadline, the end, or enough matches. Others get at the search in between. */
static int go_on(struct search *q, uint64_t deadline_ns, uint64_t enough)
{
	uint64_t pause_at;
	int r = 0;

	do {
		pthread_mutex_lock(&q->lock);
		pause_at = MIN(os_mono_ns() + STEP_NS, deadline_ns);
		r = q->error;
		while (r == 0 && q->n < enough) {
			r = step(q, deadline_ns);
			if (r < 0)
				q->error = r;
			if (os_mono_ns() >= pause_at)
				break;
		}
		if (q->n >= enough)
			deadline_ns = 0;
		pthread_mutex_unlock(&q->lock);
	} while (r == 0 && os_mono_ns() < deadline_ns);
	return r;
}

/* --- the list of searches --- */

/* Locked. To the front. */
static struct search *find_search(struct searches *s, const char *key)
{
	for (struct search **at = &s->search, *q; (q = *at); at = &q->next) {
		if (strcmp(q->key, key))
			continue;
		*at = q->next;
		q->next = s->search;
		return s->search = q;
	}
	return NULL;
}

/* Locked. */
static void trim_searches(struct searches *s)
{
	uint64_t bytes = 0;
	unsigned n = 0;

	for (struct search **at = &s->search, *q; (q = *at);) {
		bytes += q->cap * sizeof(*q->match);
		if (n++ && (n > SEARCHES_MAX || bytes > SEARCH_MEMORY_MAX)) {
			*at = q->next;
			search_unref(q);
		} else {
			at = &q->next;
		}
	}
}

static int search_new(struct searches *s, struct evindex *d, const char *key, const struct filter *f, struct search **ret)
{
	struct search *q = os_calloc(1, sizeof(*q));
	int r;

	if (!q)
		return -ENOMEM;
	q->users = 1;
	q->all = s;
	q->evindex = evindex_ref(d);
	q->key = os_strdup(key);
	pthread_mutex_init(&q->lock, NULL);
	r = q->key ? filter_copy(f, &q->f) : -ENOMEM;
	if (r >= 0)
		r = filter_run_new(q->f, &q->run);
	if (r < 0) {
		search_free(q);
		return r;
	}
	*ret = q;
	return 0;
}

/* The search, made when there is none, with one more user. */
static int get_search(struct searches *s, struct evindex *d, const struct filter *f, struct search **ret)
{
	struct buf key CLEANUP(buf_done) = { 0 };
	struct search *q, *fresh = NULL;
	int r = 0;

	buf_printf(&key, "%s ", evindex_id(d)->hex);
	filter_put_key(f, &key);
	buf_put_u8(&key, 0);
	if (buf_error(&key))
		return buf_error(&key);
	pthread_mutex_lock(&s->lock);
	q = find_search(s, (char *)key.data);
	/* one that failed, or is of an index that was given up, is begun anew */
	if (q && (q->error || q->evindex != d)) {
		s->search = q->next;
		search_unref(q);
		q = NULL;
	}
	if (!q)
		r = search_new(s, d, (char *)key.data, f, &fresh);
	if (fresh) {
		fresh->next = s->search;
		s->search = q = fresh;
		trim_searches(s);
	}
	if (q) {
		atomic_fetch_add(&q->users, 1);
		q->asked_ns = os_mono_ns();
		*ret = q;
	}
	pthread_mutex_unlock(&s->lock);
	return r;
}

int searches_find(struct searches *s, const struct store_id *id, const struct filter *f, uint64_t budget_ns, uint64_t enough, struct search **ret,
		  struct search_state *ret_state, struct errinfo *ei)
{
	struct evindex *d CLEANUP(evindex_unrefp) = NULL;
	struct search *q CLEANUP(search_unrefp) = NULL;
	struct evindex_view v;
	int r = get_evindex(s, id, &d, ei);

	if (r >= 0)
		r = get_search(s, d, f, &q);
	if (r < 0)
		return r;
	r = go_on(q, os_mono_ns() + budget_ns, enough);
	if (r < 0) {
		if (evindex_extend(d, 0, NULL) < 0)
			drop_evindex(s, id);
		return errinfo_set(ei, r, "%s", q->why.text[0] ? q->why.text : err_str(r));
	}
	pthread_mutex_lock(&q->lock);
	evindex_view(d, &v);
	*ret_state = (struct search_state){ .found = q->n, .scanned = q->scanned, .last = v.n, .complete = q->complete && q->scanned == v.n };
	evindex_release(&v);
	pthread_mutex_unlock(&q->lock);
	if (!ret_state->complete)
		wake_search(s, q);
	*ret = TAKE(q);
	return 0;
}

void searches_forget(struct searches *s, const struct store_id *id)
{
	pthread_mutex_lock(&s->lock);
	for (struct search **at = &s->search, *q; (q = *at);) {
		if (strncmp(q->key, id->hex, STORE_ID_LEN) == 0) {
			*at = q->next;
			search_unref(q);
		} else {
			at = &q->next;
		}
	}
	pthread_mutex_unlock(&s->lock);
	drop_evindex(s, id);
}

size_t search_get(struct search *q, uint64_t offset, size_t n, uint32_t *ret)
{
	pthread_mutex_lock(&q->lock);
	n = offset < q->n ? MIN(n, (size_t)(q->n - offset)) : 0;
	if (n)
		memcpy(ret, q->match + offset, n * sizeof(*ret));
	pthread_mutex_unlock(&q->lock);
	return n;
}

uint64_t search_place(struct search *q, uint64_t event)
{
	size_t lo = 0, hi;

	pthread_mutex_lock(&q->lock);
	for (hi = q->n; lo < hi;) {
		size_t mid = lo + (hi - lo) / 2;

		if (q->match[mid] < event)
			lo = mid + 1;
		else
			hi = mid;
	}
	pthread_mutex_unlock(&q->lock);
	return lo;
}

/* --- in the background --- */

/* Until somebody asks again. */
static void give_up(struct search *q)
{
	if (pthread_mutex_trylock(&q->lock))
		return;
	close_reader(q);
	q->idle = true;
	pthread_mutex_unlock(&q->lock);
}

/* Locked. Something to go on with: a search, or an index, with one more user. */
static bool find_work(struct searches *s, struct search **ret_search, struct evindex **ret_evindex)
{
	uint64_t now = os_mono_ns();

	*ret_search = NULL;
	*ret_evindex = NULL;
	for (struct search *q = s->search; q; q = q->next) {
		if (q->idle)
			continue;
		if (now - q->asked_ns > SEARCH_NOBODY_NS) {
			give_up(q);
			continue;
		}
		atomic_fetch_add(&q->users, 1);
		*ret_search = q;
		return true;
	}
	for (struct kept_evindex *k = s->evindex; k; k = k->next) {
		if (k->idle || now - k->asked_ns > SEARCH_NOBODY_NS)
			continue;
		k->idle = true; /* until somebody says otherwise */
		*ret_evindex = evindex_ref(k->evindex);
		return true;
	}
	return false;
}

static void work(struct searches *s, struct search *q, struct evindex *d)
{
	uint64_t until = os_mono_ns() + STEP_NS;

	if (q) {
		if (go_on(q, until, UINT64_MAX))
			q->idle = true; /* done, failed, or all that there is for now */
		search_unref(q);
	} else {
		if (extend_within(d, until, NULL) == 0)
			wake_evindex(s, evindex_id(d));
		evindex_unref(d);
	}
}

static void *background(void *ctx)
{
	struct searches *s = ctx;
	struct search *q;
	struct evindex *d;

	/* who asks goes first when both could run; a lower priority would make those wait who wait for a lock that this thread has */
	(void)sched_setscheduler(0, SCHED_BATCH, &(struct sched_param){ 0 });
	pthread_mutex_lock(&s->lock);
	while (!s->stop) {
		if (!find_work(s, &q, &d)) {
			pthread_cond_wait(&s->wake, &s->lock);
			continue;
		}
		pthread_mutex_unlock(&s->lock);
		work(s, q, d);
		pthread_mutex_lock(&s->lock);
	}
	pthread_mutex_unlock(&s->lock);
	return NULL;
}
