/* See diffs_priv.h. An entry is made by the first who asks; its worker has a store and readers of its own. The pool's lock guards everything but the work. */
#define LOG_AREA "web.diffs"
#include "web/diffs_priv.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "base/os.h"
#include "web/server_priv.h"

struct entry {
	struct web_diffs *pool;
	struct store_id left, right;
	pthread_t thread;
	bool started, done;
	unsigned users;
	uint64_t used;   /* a count: who was asked for last */
	_Atomic unsigned permille;
	int error;       /* when done */
	struct errinfo ei;
	struct diff *d;
};

struct web_diffs {
	struct web *web;
	pthread_mutex_t lock;
	pthread_cond_t changed;
	struct entry *entry[DIFFS_MAX];
	uint64_t clock;
	unsigned working;
	_Atomic bool stop;
};

int diffs_new(struct web *w, struct web_diffs **ret)
{
	struct web_diffs *p = os_calloc(1, sizeof(*p));
	pthread_condattr_t attr;

	if (!p)
		return -ENOMEM;
	p->web = w;
	pthread_mutex_init(&p->lock, NULL);
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&p->changed, &attr);
	pthread_condattr_destroy(&attr);
	*ret = p;
	return 0;
}

static void entry_free(struct entry *e)
{
	if (!e)
		return;
	if (e->started)
		pthread_join(e->thread, NULL);
	diff_free(e->d);
	free(e);
}

void diffs_free(struct web_diffs *p)
{
	if (!p)
		return;
	p->stop = true;
	for (size_t i = 0; i < DIFFS_MAX; i++)
		entry_free(p->entry[i]);
	pthread_cond_destroy(&p->changed);
	pthread_mutex_destroy(&p->lock);
	free(p);
}

static int progress(void *ctx, unsigned permille)
{
	struct entry *e = ctx;

	e->permille = permille;
	return e->pool->stop ? ERR_INTERRUPTED : 0;
}

static int compare(struct entry *e)
{
	struct web_readers *readers = e->pool->web->readers;
	struct store_reader *left CLEANUP(store_reader_freep) = NULL, *right CLEANUP(store_reader_freep) = NULL;
	struct store *s = NULL;
	int r = readers_store_get(readers, &s, &e->ei);

	if (r >= 0)
		r = store_reader_open(s, &e->left, &left, &e->ei);
	if (r >= 0)
		r = store_reader_open(s, &e->right, &right, &e->ei);
	if (r >= 0)
		r = diff_new(left, right, progress, e, &e->d, &e->ei);
	store_reader_freep(&left);
	store_reader_freep(&right);
	left = right = NULL; /* they use the store */
	readers_store_put(readers, s);
	return r;
}

static void *work(void *arg)
{
	struct entry *e = arg;
	int r = compare(e);

	pthread_mutex_lock(&e->pool->lock);
	e->error = r;
	e->done = true;
	e->pool->working--;
	pthread_cond_broadcast(&e->pool->changed);
	pthread_mutex_unlock(&e->pool->lock);
	return NULL;
}

/* The place of the pair, else one that can be used for it; NULL when all are needed. */
static struct entry **place(struct web_diffs *p, const struct store_id *left, const struct store_id *right)
{
	struct entry **best = NULL;

	for (size_t i = 0; i < DIFFS_MAX; i++) {
		struct entry **e = &p->entry[i];

		if (*e && !strcmp((*e)->left.hex, left->hex) && !strcmp((*e)->right.hex, right->hex))
			return e;
		if (*e && ((*e)->users || !(*e)->done))
			continue;
		if (!best || (*best && (!*e || (*e)->used < (*best)->used)))
			best = e;
	}
	return best;
}

static int start(struct web_diffs *p, struct entry **at, const struct store_id *left, const struct store_id *right)
{
	struct entry *e = p->working < DIFFS_WORKERS_MAX ? os_calloc(1, sizeof(*e)) : NULL;
	sigset_t all, old;
	int r;

	if (!e)
		return p->working < DIFFS_WORKERS_MAX ? -ENOMEM : ERR_LIMIT;
	e->pool = p;
	e->left = *left;
	e->right = *right;
	/* signals are for the loop's thread */
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	r = pthread_create(&e->thread, NULL, work, e);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	if (r) {
		free(e);
		return -r;
	}
	e->started = true;
	p->working++;
	entry_free(*at);
	*at = e;
	return 0;
}

static bool is(const struct entry *e, const struct store_id *left, const struct store_id *right)
{
	return e && !strcmp(e->left.hex, left->hex) && !strcmp(e->right.hex, right->hex);
}

static void wait_for(struct web_diffs *p, const struct entry *e, unsigned wait_ms)
{
	uint64_t until = os_mono_ns() + wait_ms * UINT64_C(1000000);
	const struct timespec at = { (time_t)(until / 1000000000), (long)(until % 1000000000) };

	while (!e->done && !p->web->stopping && os_mono_ns() < until)
		if (pthread_cond_timedwait(&p->changed, &p->lock, &at))
			break;
}

int diffs_get(struct web_diffs *p, const struct store_id *left, const struct store_id *right, unsigned wait_ms, struct diffs_state *ret, struct errinfo *ei)
{
	struct entry **at, *e;
	int r = 0;

	pthread_mutex_lock(&p->lock);
	at = place(p, left, right);
	/* what has failed is tried again */
	if (!at)
		r = ERR_LIMIT;
	else if (!is(*at, left, right) || ((*at)->done && (*at)->error < 0 && !(*at)->users))
		r = start(p, at, left, right);
	if (r < 0) {
		pthread_mutex_unlock(&p->lock);
		return r;
	}
	e = *at;
	e->users++;
	e->used = ++p->clock;
	wait_for(p, e, wait_ms);
	r = e->done ? e->error : 0;
	if (r < 0) {
		errinfo_set(ei, r, "%s", e->ei.text[0] ? e->ei.text : err_str(r));
		e->users--;
	} else {
		*ret = (struct diffs_state){ .d = e->done ? e->d : NULL, .permille = e->permille, .entry = e };
	}
	pthread_mutex_unlock(&p->lock);
	return r < 0 ? r : 0;
}

void diffs_put(struct web_diffs *p, const struct diffs_state *s)
{
	struct entry *e = s->entry;

	pthread_mutex_lock(&p->lock);
	e->users--;
	pthread_mutex_unlock(&p->lock);
}
