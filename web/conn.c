/* Connections, and the thread that ends those which take too long. MHD itself only knows how long nothing has come: a client that sends or takes a byte
 * from time to time would keep its thread for ever. */
#include "web/server_priv.h"

#include <errno.h>
#include <malloc.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <time.h>
#include "base/os.h"
#include "web/exports_priv.h"

#define WATCH_EVERY_NS 1000000000u
/* How often freed memory is given back to the system, in rounds of the watch. */
#define TRIM_EVERY 10u

int conn_new(struct listener *l, int fd, struct conn **ret)
{
	struct conns *cs = &l->web->conns;
	struct conn *c = os_calloc(1, sizeof(*c));

	if (!c)
		return -ENOMEM;
	c->listener = l;
	c->fd = fd;
	conn_deadline(c, WEB_HEAD_NS);
	pthread_mutex_lock(&cs->lock);
	c->next = cs->first;
	if (c->next)
		c->next->prev = c;
	cs->first = c;
	c->excess = ++cs->n > l->web->cfg->max_connections;
	pthread_mutex_unlock(&cs->lock);
	*ret = c;
	return 0;
}

void conn_free(struct conn *c)
{
	struct conns *cs;

	if (!c)
		return;
	cs = &c->listener->web->conns;
	pthread_mutex_lock(&cs->lock);
	if (c->prev)
		c->prev->next = c->next;
	else
		cs->first = c->next;
	if (c->next)
		c->next->prev = c->prev;
	cs->n--;
	pthread_mutex_unlock(&cs->lock);
	free(c);
}

void conn_deadline(struct conn *c, uint64_t ns)
{
	c->deadline_ns = ns ? os_mono_ns() + ns : 0;
}

bool conn_gone(const struct conn *c, bool sse)
{
	struct pollfd p = { .fd = c->fd, .events = POLLRDHUP };

	return poll(&p, 1, 0) > 0 && (p.revents & (POLLHUP | POLLERR | POLLNVAL | (sse ? POLLRDHUP : 0)));
}

/* The lock keeps the descriptors: MHD tells us before it closes one. */
static void cut_late(struct web *w, uint64_t now)
{
	for (struct conn *c = w->conns.first; c; c = c->next) {
		uint64_t deadline = c->deadline_ns;

		if (deadline && deadline < now) {
			c->deadline_ns = 0;
			w->counters.timeouts++;
			(void)shutdown(c->fd, SHUT_RDWR);
		}
	}
}

void conns_cut(struct conns *cs)
{
	pthread_mutex_lock(&cs->lock);
	for (struct conn *c = cs->first; c; c = c->next)
		(void)shutdown(c->fd, SHUT_RDWR);
	pthread_mutex_unlock(&cs->lock);
}

static void *watch(void *arg)
{
	struct web *w = arg;
	struct conns *cs = &w->conns;

	pthread_mutex_lock(&cs->lock);
	for (unsigned round = 1; !cs->stop; round++) {
		struct timespec until;

		clock_gettime(CLOCK_MONOTONIC, &until);
		until.tv_sec += WATCH_EVERY_NS / 1000000000u;
		(void)pthread_cond_timedwait(&cs->wake, &cs->lock, &until);
		cut_late(w, os_mono_ns());
		pthread_mutex_unlock(&cs->lock);
		readers_trim(w->readers, false);
		exports_trim(w->exports, false);
		if (round % TRIM_EVERY == 0)
			malloc_trim(0);
		pthread_mutex_lock(&cs->lock);
	}
	pthread_mutex_unlock(&cs->lock);
	return NULL;
}

int conns_init(struct conns *cs, struct web *w)
{
	pthread_condattr_t attr;
	int r;

	pthread_mutex_init(&cs->lock, NULL);
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&cs->wake, &attr);
	pthread_condattr_destroy(&attr);
	r = pthread_create(&cs->watch, NULL, watch, w);
	cs->watching = r == 0;
	return -r;
}

void conns_done(struct conns *cs)
{
	if (!cs->watching)
		return;
	pthread_mutex_lock(&cs->lock);
	cs->stop = true;
	pthread_cond_signal(&cs->wake);
	pthread_mutex_unlock(&cs->lock);
	pthread_join(cs->watch, NULL);
	cs->watching = false;
	pthread_mutex_destroy(&cs->lock);
	pthread_cond_destroy(&cs->wake);
}
