/* See feed.h. A ring: message id n lies at n % FEED_KEEP. */
#include "daemon/feed.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "base/json.h"
#include "base/os.h"

struct feed {
	pthread_mutex_t lock;
	pthread_cond_t more;
	struct feed_message kept[FEED_KEEP]; /* json NULL: not there (yet) */
	uint64_t last;
	bool closed;
};

int feed_new(struct feed **ret)
{
	struct feed *f = os_calloc(1, sizeof(*f));
	pthread_condattr_t attr;

	if (!f)
		return -ENOMEM;
	pthread_mutex_init(&f->lock, NULL);
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&f->more, &attr);
	pthread_condattr_destroy(&attr);
	*ret = f;
	return 0;
}

void feed_free(struct feed *f)
{
	if (!f)
		return;
	for (size_t i = 0; i < FEED_KEEP; i++)
		free(f->kept[i].json);
	pthread_cond_destroy(&f->more);
	pthread_mutex_destroy(&f->lock);
	free(f);
}

void feed_publish(struct feed *f, const char *type, json_t *message)
{
	struct feed_message *m;
	char *text;

	if (!message)
		return;
	if (jsonx_dump(message, JSON_COMPACT, &text, NULL) >= 0) {
		pthread_mutex_lock(&f->lock);
		f->last++;
		m = &f->kept[f->last % FEED_KEEP];
		free(m->json);
		m->id = f->last;
		m->json = text;
		snprintf(m->type, sizeof(m->type), "%s", type);
		pthread_cond_broadcast(&f->more);
		pthread_mutex_unlock(&f->lock);
	}
	json_decref(message);
}

uint64_t feed_last(struct feed *f)
{
	uint64_t last;

	pthread_mutex_lock(&f->lock);
	last = f->last;
	pthread_mutex_unlock(&f->lock);
	return last;
}

/* The lock is held. */
static int take(struct feed *f, uint64_t id, struct feed_message *ret)
{
	const struct feed_message *m = &f->kept[(id + 1) % FEED_KEEP];
	char *json;

	if (id > f->last || m->id != id + 1) /* of an earlier hermitd, or overwritten */
		return ERR_NOT_FOUND;
	json = os_strdup(m->json);
	if (!json)
		return -ENOMEM;
	*ret = *m;
	ret->json = json;
	return 1;
}

int feed_wait(struct feed *f, uint64_t id, int timeout_ms, struct feed_message *ret)
{
	uint64_t end = os_mono_ns() + (uint64_t)MAX(timeout_ms, 0) * 1000000u;
	const struct timespec until = { .tv_sec = (time_t)(end / 1000000000u), .tv_nsec = (long)(end % 1000000000u) };
	int r = 0;

	pthread_mutex_lock(&f->lock);
	while (!f->closed && id == f->last && r != ETIMEDOUT)
		r = timeout_ms < 0 ? pthread_cond_wait(&f->more, &f->lock) : pthread_cond_timedwait(&f->more, &f->lock, &until);
	if (f->closed)
		r = ERR_INTERRUPTED;
	else
		r = id == f->last ? 0 : take(f, id, ret);
	pthread_mutex_unlock(&f->lock);
	return r;
}

void feed_close(struct feed *f)
{
	pthread_mutex_lock(&f->lock);
	f->closed = true;
	pthread_cond_broadcast(&f->more);
	pthread_mutex_unlock(&f->lock);
}
