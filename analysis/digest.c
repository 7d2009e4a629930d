/* See digest.h. An entry of the pool is locked by whoever uses it; the pool's lock guards the list and the counts of users only. */
#include "analysis/digest.h"

#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include "analysis/limits.h"
#include "base/os.h"

/* Events between two looks at the clock. */
#define CLOCK_EVERY 512u

int digest_new(const struct manifest *m, struct digest **ret)
{
	struct digest *d CLEANUP(digest_freep) = os_calloc(1, sizeof(*d));
	int r = d ? processes_new(&d->processes) : -ENOMEM;

	if (r >= 0)
		r = summary_new(&d->summary);
	if (r >= 0)
		r = console_new(&d->console);
	if (r >= 0)
		r = touched_new(m->cwd, &d->names, &d->touched);
	if (r < 0)
		return r;
	*ret = TAKE(d);
	return 0;
}

void digest_free(struct digest *d)
{
	if (!d)
		return;
	processes_free(d->processes);
	summary_free(d->summary);
	console_free(d->console);
	touched_free(d->touched);
	names_done(&d->names);
	free(d);
}

void digest_freep(struct digest **d)
{
	digest_free(*d);
}

static void see(struct digest *d, struct store_reader *r, const struct event *ev)
{
	processes_see(d->processes, r, ev);
	summary_see(d->summary, ev);
	console_see(d->console, ev);
	touched_see(d->touched, r, ev);
	d->scanned = ev->number;
}

int digest_scan(struct digest *d, struct store_reader *r, unsigned budget_ms, struct errinfo *ei)
{
	uint64_t end = budget_ms == UINT_MAX ? UINT64_MAX : os_mono_ns() + budget_ms * UINT64_C(1000000);
	const struct event *ev;
	uint64_t count;
	int err = store_reader_count(r, &count, ei);

	if (err < 0)
		return err;
	d->at_end = d->scanned >= count;
	if (d->at_end)
		return 0;
	err = store_reader_seek(r, d->scanned + 1, ei);
	for (unsigned i = 1; err >= 0; i++) {
		err = store_reader_next(r, &ev, ei);
		if (err <= 0)
			break;
		see(d, r, ev);
		if (i % CLOCK_EVERY == 0 && os_mono_ns() >= end)
			return 0;
	}
	d->at_end = err == 0;
	return err;
}

/* --- the pool --- */

struct entry {
	struct digest *d;
	struct store_id id;
	pthread_mutex_t lock;
	unsigned users;
	uint64_t used; /* when it was asked for last: a count */
};

struct digests {
	pthread_mutex_t lock;
	struct entry *entry[DIGESTS_MAX];
	uint64_t clock;
};

int digests_new(struct digests **ret)
{
	struct digests *p = os_calloc(1, sizeof(*p));

	if (!p)
		return -ENOMEM;
	pthread_mutex_init(&p->lock, NULL);
	*ret = p;
	return 0;
}

static void entry_free(struct entry *e)
{
	if (!e)
		return;
	digest_free(e->d);
	pthread_mutex_destroy(&e->lock);
	free(e);
}

void digests_free(struct digests *p)
{
	if (!p)
		return;
	for (size_t i = 0; i < DIGESTS_MAX; i++)
		entry_free(p->entry[i]);
	pthread_mutex_destroy(&p->lock);
	free(p);
}

/* The place of the recording, else a free one, else that of the one unused for longest; NULL when all are in use. */
static struct entry **place(struct digests *p, const struct store_id *id)
{
	struct entry **best = NULL;

	for (size_t i = 0; i < DIGESTS_MAX; i++) {
		struct entry **e = &p->entry[i];

		if (*e && !strcmp((*e)->id.hex, id->hex))
			return e;
		if (*e && (*e)->users)
			continue;
		if (!best || (*best && (!*e || (*e)->used < (*best)->used)))
			best = e;
	}
	return best;
}

static int entry_new(const struct manifest *m, struct entry **ret)
{
	struct entry *e = os_calloc(1, sizeof(*e));
	int r = e ? digest_new(m, &e->d) : -ENOMEM;

	if (r < 0) {
		free(e);
		return r;
	}
	pthread_mutex_init(&e->lock, NULL);
	e->id = m->id;
	*ret = e;
	return 0;
}

/* Finds or makes the entry and counts the caller as a user of it. */
static int entry_get(struct digests *p, const struct manifest *m, struct entry **ret)
{
	struct entry **at, *e;
	int r = 0;

	pthread_mutex_lock(&p->lock);
	at = place(p, &m->id);
	if (!at) {
		r = ERR_BUSY;
	} else if (!*at || strcmp((*at)->id.hex, m->id.hex)) {
		r = entry_new(m, &e);
		if (r >= 0) {
			entry_free(*at);
			*at = e;
		}
	}
	if (r >= 0) {
		(*at)->users++;
		(*at)->used = ++p->clock;
		*ret = *at;
	}
	pthread_mutex_unlock(&p->lock);
	return r;
}

static void entry_put(struct digests *p, struct entry *e)
{
	pthread_mutex_lock(&p->lock);
	e->users--;
	pthread_mutex_unlock(&p->lock);
}

static unsigned left_ms(uint64_t begun_ns, unsigned budget_ms)
{
	uint64_t gone = (os_mono_ns() - begun_ns) / 1000000;

	return budget_ms == UINT_MAX ? UINT_MAX : gone < budget_ms ? budget_ms - (unsigned)gone : 0;
}

int digests_get(struct digests *p, struct store_reader *r, unsigned budget_ms, struct digest **ret, struct errinfo *ei)
{
	uint64_t begun = os_mono_ns();
	struct entry *e;
	int err = entry_get(p, store_reader_manifest(r), &e);

	if (err < 0)
		return errinfo_set_r(ei, err, "too many recordings are looked at");
	pthread_mutex_lock(&e->lock);
	/* who has waited for others has that much less time: no row of waiting requests reads on one after the other */
	err = digest_scan(e->d, r, left_ms(begun, budget_ms), ei);
	if (err < 0) {
		pthread_mutex_unlock(&e->lock);
		entry_put(p, e);
		return err;
	}
	*ret = e->d;
	return 0;
}

void digests_put(struct digests *p, struct digest *d)
{
	struct entry *e = NULL;

	pthread_mutex_lock(&p->lock);
	for (size_t i = 0; i < DIGESTS_MAX && !e; i++)
		if (p->entry[i] && p->entry[i]->d == d)
			e = p->entry[i];
	pthread_mutex_unlock(&p->lock);
	must(e);
	pthread_mutex_unlock(&e->lock);
	entry_put(p, e);
}
