/* See answers_priv.h. A list, what was used last in front; it is short enough to be searched by hashes. */
#include "web/answers_priv.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include "base/os.h"
#include "base/str.h"

struct answer {
	struct answer *next;
	uint64_t hash;
	size_t len;
	char *key;
	uint8_t data[];
};

struct answers {
	pthread_mutex_t lock;
	struct answer *first;
};

int answers_new(struct answers **ret)
{
	struct answers *p = os_calloc(1, sizeof(*p));

	if (!p)
		return -ENOMEM;
	pthread_mutex_init(&p->lock, NULL);
	*ret = p;
	return 0;
}

static void answer_free(struct answer *g)
{
	free(g->key);
	free(g);
}

void answers_free(struct answers *p)
{
	struct answer *g;

	if (!p)
		return;
	while ((g = p->first)) {
		p->first = g->next;
		answer_free(g);
	}
	pthread_mutex_destroy(&p->lock);
	free(p);
}

/* Locked. To the front. */
static struct answer *find(struct answers *p, const char *key, uint64_t hash)
{
	for (struct answer **at = &p->first, *g; (g = *at); at = &g->next) {
		if (g->hash != hash || strcmp(g->key, key))
			continue;
		*at = g->next;
		g->next = p->first;
		return p->first = g;
	}
	return NULL;
}

bool answers_get(struct answers *p, const char *key, struct buf *out)
{
	uint64_t hash = str_hash(STR_HASH, key, strlen(key));
	struct answer *g;

	pthread_mutex_lock(&p->lock);
	g = find(p, key, hash);
	if (g)
		buf_put(out, g->data, g->len);
	pthread_mutex_unlock(&p->lock);
	return g && !buf_error(out);
}

/* Locked. What is left over at the end of the list goes. */
static void trim(struct answers *p)
{
	size_t bytes = 0, n = 0;

	for (struct answer **at = &p->first, *g; (g = *at);) {
		bytes += g->len;
		if (++n > ANSWERS_MAX || bytes > ANSWERS_BYTES_MAX) {
			*at = g->next;
			answer_free(g);
		} else {
			at = &g->next;
		}
	}
}

void answers_put(struct answers *p, const char *key, const struct buf *answer)
{
	struct answer *g = answer->len <= ANSWER_BYTES_MAX ? os_malloc(sizeof(*g) + answer->len) : NULL;

	if (!g)
		return;
	*g = (struct answer){ .hash = str_hash(STR_HASH, key, strlen(key)), .len = answer->len, .key = os_strdup(key) };
	if (!g->key) {
		free(g);
		return;
	}
	memcpy(g->data, answer->data, answer->len);
	pthread_mutex_lock(&p->lock);
	if (find(p, key, g->hash)) { /* somebody was faster */
		answer_free(g);
	} else {
		g->next = p->first;
		p->first = g;
		trim(p);
	}
	pthread_mutex_unlock(&p->lock);
}
