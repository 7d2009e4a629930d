/* The pool behind daemon_inspect(): children (hermit session inspect) that answer questions about one recording each, and stay for the next one.
 *
 *     thread of a client                     lock                  loop's thread
 *     request --send--> socket of the child    |
 *     waits for `more`                         |     <--- lines --- replies go to the waiter of that id
 *     timed out: cancel                        |     <--- end ----- all waiters get the reason
 *
 * A request that takes too long is cancelled, and the child stays: the way that it went is not to be gone again. Only one
 * that does not react to that is killed. Nobody holds the lock while waiting for the loop.
 */
#include "daemon/inspectors_priv.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>
#include "base/json.h"
#include "base/os.h"
#include "daemon/child_priv.h"
#include "daemon/limits_priv.h"

#define LOG_AREA "daemon.inspectors"
#include "base/log.h"

#define SWEEP_NS 1000000000ull
#define FD_IN_CHILD 3

/* On the stack of who waits. Whoever completes it takes it from its inspector's list. */
struct waiter {
	struct waiter *next;
	uint64_t id;
	bool done;
	int r;
	json_t *result;
	struct errinfo *ei;
};

struct inspector {
	struct inspectors *pool;
	struct inspector *next;
	struct store_id recording;
	struct child *child;
	int fd;
	struct loop_source *source;
	struct buf input;
	struct waiter *waiters;
	uint64_t used_ns, cancel_ns; /* monotonic; cancel_ns: a request was cancelled then and has not been answered, 0 = none */
	uint64_t cancel_id;
};

struct inspectors {
	struct daemon *d;
	struct loop_source *timer;
	pthread_mutex_t lock;
	pthread_cond_t more; /* a waiter is done, a place is free, somebody left */
	struct inspector *first;
	unsigned n, inside; /* callers of daemon_inspect() */
	uint64_t last_id;
	bool closed;
};

/* --- waiters (under the lock) --- */

static void complete(struct waiter *w, int r, json_t *result, const char *text)
{
	w->done = true;
	w->r = r;
	w->result = result;
	if (text)
		(void)errinfo_set(w->ei, r, "%s", text);
}

static struct waiter *unlink_waiter(struct inspector *in, uint64_t id)
{
	for (struct waiter **p = &in->waiters; *p; p = &(*p)->next)
		if ((*p)->id == id) {
			struct waiter *w = *p;

			*p = w->next;
			return w;
		}
	return NULL;
}

static void fail_all(struct inspector *in, int r, const char *text)
{
	while (in->waiters) {
		struct waiter *w = in->waiters;

		in->waiters = w->next;
		complete(w, r, NULL, text);
	}
}

/* Takes it out of the pool; its child is killed if it still runs. Loop's thread, under the lock. */
static void drop(struct inspector *in, int r, const char *text)
{
	struct inspectors *pool = in->pool;

	for (struct inspector **p = &pool->first; *p; p = &(*p)->next)
		if (*p == in) {
			*p = in->next;
			pool->n--;
			break;
		}
	fail_all(in, r, text);
	pthread_cond_broadcast(&pool->more);
	loop_remove(in->source);
	child_free(in->child);
	closep(&in->fd);
	buf_done(&in->input);
	free(in);
}

/* --- what children say (loop's thread) --- */

/* An error of the inspector is one of ours, or it makes no sense. */
static int error_code(const json_t *error)
{
	int64_t code;

	if (jsonx_get_i64(error, "code", &code) < 0 || code >= 0 || code < -8192)
		return ERR_PROTOCOL;
	return (int)code;
}

static void take_reply(struct inspector *in, const char *line, size_t len)
{
	json_t *msg CLEANUP(jsonx_unrefp) = NULL;
	const char *text = NULL;
	json_t *part;
	struct waiter *w;
	uint64_t id;

	if (jsonx_parse(line, len, &msg, NULL) < 0 || jsonx_get_u64(msg, "id", &id) < 0)
		return;
	part = json_object_get(msg, "result");
	if (!part && !json_object_get(msg, "error"))
		return; /* progress */
	if (in->cancel_id == id)
		in->cancel_ns = 0;
	w = unlink_waiter(in, id);
	if (!w)
		return;
	in->used_ns = os_mono_ns();
	if (part) {
		complete(w, 0, json_incref(part), NULL);
	} else {
		part = json_object_get(msg, "error");
		if (jsonx_get_str(part, "text", &text) < 0)
			text = "the inspector gave no reason";
		complete(w, error_code(part), NULL, text);
	}
	pthread_cond_broadcast(&in->pool->more);
}

/* fresh: how many bytes have come just now; before them there is no end of a line. */
static void take_lines(struct inspector *in, size_t fresh)
{
	size_t done = 0, seen = in->input.len - fresh;

	for (;; seen = done) {
		const uint8_t *begin = in->input.data + done;
		const uint8_t *nl = in->input.len > seen ? memchr(in->input.data + seen, '\n', in->input.len - seen) : NULL;

		if (!nl)
			break;
		take_reply(in, (const char *)begin, (size_t)(nl - begin));
		done += (size_t)(nl - begin) + 1;
	}
	if (done) {
		memmove(in->input.data, in->input.data + done, in->input.len - done);
		in->input.len -= done;
	}
}

static int on_readable(void *ctx, uint32_t events UNUSED)
{
	struct inspector *in = ctx;
	struct inspectors *pool = in->pool;
	char chunk[16384];
	ssize_t n = recv(in->fd, chunk, sizeof(chunk), MSG_DONTWAIT);

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return 0;
	pthread_mutex_lock(&pool->lock);
	if (n <= 0) {
		/* its end, and with that the reason, comes by itself */
		loop_remove(in->source);
		in->source = NULL;
	} else {
		buf_put(&in->input, chunk, (size_t)n);
		if (!buf_error(&in->input))
			take_lines(in, (size_t)n);
		if (in->input.len > INSPECT_REPLY_MAX || buf_error(&in->input))
			drop(in, ERR_LIMIT, "the inspector's answer was too long; it was ended");
	}
	pthread_mutex_unlock(&pool->lock);
	return 0;
}

static bool is_readable(int fd)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };

	return poll(&p, 1, 0) > 0;
}

static void on_ended(void *ctx, const char *error)
{
	struct inspector *in = ctx;
	struct inspectors *pool = in->pool;
	char *text CLEANUP(freep) = os_asprintf("the inspector of this recording ended: %s; ask again to start another",
						error ? error : "its socket was closed");

	if (error)
		log_warn("inspector of %s: %s", in->recording.hex, error);
	/* what it said last may not have been read yet */
	while (in->source && is_readable(in->fd))
		(void)!on_readable(in, EPOLLIN);
	pthread_mutex_lock(&pool->lock);
	in->child = NULL; /* freed by who calls */
	drop(in, ERR_GUEST_GONE, text ? text : "the inspector ended");
	pthread_mutex_unlock(&pool->lock);
}

/* --- starting (loop's thread) --- */

static struct inspector *find(const struct inspectors *pool, const struct store_id *id)
{
	for (struct inspector *in = pool->first; in; in = in->next)
		if (strcmp(in->recording.hex, id->hex) == 0)
			return in;
	return NULL;
}

/* The idle one that was not used for longest; NULL. */
static struct inspector *idlest(const struct inspectors *pool)
{
	struct inspector *best = NULL;

	for (struct inspector *in = pool->first; in; in = in->next)
		if (!in->waiters && (!best || in->used_ns < best->used_ns))
			best = in;
	return best;
}

static int start_child(struct inspector *in, int theirs)
{
	struct daemon *d = in->pool->d;
	const char *argv[] = { d->cfg->session_binary, "session", "inspect", "--data-dir", d->cfg->data_dir, "--fd", "3",
			       "--checkpoint-memory", INSPECT_CHECKPOINT_MEMORY, in->recording.hex,
			       d->cfg->debuginfod ? "--debuginfod" : NULL, NULL };
	char name[60];
	struct child_options opt = { .name = name, .argv = argv, .lines_fd = 1, .fd = { theirs, FD_IN_CHILD }, .ended = on_ended, .ctx = in };
	int r;

	(void)snprintf(name, sizeof(name), "inspector of %s", in->recording.hex);
	r = child_start(d->loop, &opt, &in->child);
	return r < 0 ? r : loop_add_io(d->loop, name, in->fd, EPOLLIN, on_readable, in, &in->source);
}

static int start(struct inspectors *pool, const struct store_id *id)
{
	struct inspector *in = os_calloc(1, sizeof(*in));
	int theirs CLEANUP(closep) = -1;
	int pair[2], r;

	if (!in)
		return -ENOMEM;
	in->pool = pool;
	in->recording = *id;
	in->fd = -1;
	in->used_ns = os_mono_ns();
	buf_init(&in->input);
	in->next = pool->first;
	pool->first = in;
	pool->n++;
	r = socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0 ? -errno : 0;
	if (r == 0) {
		in->fd = pair[0];
		theirs = pair[1];
		r = start_child(in, theirs);
	}
	if (r < 0)
		drop(in, r, NULL);
	return r;
}

struct wish {
	struct inspectors *pool;
	const struct store_id *id;
};

/* There is an inspector of that recording afterwards. ERR_BUSY: no place. */
static int do_start(void *ctx)
{
	struct wish *w = ctx;
	struct inspectors *pool = w->pool;
	int r = 0;

	pthread_mutex_lock(&pool->lock);
	if (pool->closed) {
		r = ERR_INTERRUPTED;
	} else if (!find(pool, w->id)) {
		struct inspector *old = pool->n >= pool->d->cfg->max_inspectors ? idlest(pool) : NULL;

		if (old)
			drop(old, ERR_INTERRUPTED, NULL);
		r = pool->n < pool->d->cfg->max_inspectors ? start(pool, w->id) : ERR_BUSY;
	}
	pthread_mutex_unlock(&pool->lock);
	return r;
}

/* --- asking (any thread) --- */

static int send_line(struct inspector *in, json_t *msg)
{
	char *text CLEANUP(freep) = NULL;
	size_t len = 0;
	int r = jsonx_dump(msg, JSON_COMPACT, &text, &len);
	ssize_t n;

	if (r < 0)
		return r;
	if (len >= INSPECT_REQUEST_MAX)
		return ERR_LIMIT;
	text[len++] = '\n'; /* in place of the NUL */
	n = send(in->fd, text, len, MSG_DONTWAIT | MSG_NOSIGNAL);
	if (n == (ssize_t)len)
		return 0;
	if (n >= 0) {
		/* a piece of a line spoils all that follow */
		(void)shutdown(in->fd, SHUT_RDWR);
		return ERR_BUSY;
	}
	return errno == EAGAIN ? ERR_BUSY : errno == EPIPE || errno == ECONNRESET ? ERR_GUEST_GONE : -errno;
}

static int send_request(struct inspector *in, const json_t *request, struct waiter *w)
{
	json_t *msg CLEANUP(jsonx_unrefp) = json_copy((json_t *)request);
	int r = msg ? jsonx_set_u64(msg, "id", w->id) : -ENOMEM;

	if (r == 0)
		r = send_line(in, msg);
	if (r < 0)
		return r;
	w->next = in->waiters;
	in->waiters = w;
	in->used_ns = os_mono_ns();
	return 0;
}

/* Under the lock. False: the time is over. */
static bool wait_more(struct inspectors *pool, uint64_t until_ns)
{
	struct timespec ts = { .tv_sec = (time_t)(until_ns / 1000000000), .tv_nsec = (long)(until_ns % 1000000000) };

	return pthread_cond_timedwait(&pool->more, &pool->lock, &ts) != ETIMEDOUT;
}

/* An inspector of that recording, under the lock (which is let go meanwhile). */
static int get(struct inspectors *pool, const struct store_id *id, uint64_t until_ns, struct inspector **ret)
{
	struct wish wish = { pool, id };
	int r;

	while (!(*ret = find(pool, id))) {
		if (pool->closed)
			return ERR_INTERRUPTED;
		pthread_mutex_unlock(&pool->lock);
		r = loop_call(pool->d->loop, do_start, &wish);
		pthread_mutex_lock(&pool->lock);
		/* all are at work: one may become idle */
		if (r == ERR_BUSY ? !wait_more(pool, until_ns) : r < 0)
			return r;
	}
	return 0;
}

static void give_up(struct inspectors *pool, const struct store_id *id, struct waiter *w)
{
	struct inspector *in = find(pool, id);
	json_t *msg CLEANUP(jsonx_unrefp) = json_pack("{s:s, s:I}", "op", "cancel", "request", (json_int_t)w->id);

	if (!in || !unlink_waiter(in, w->id))
		return;
	in->cancel_id = w->id;
	in->cancel_ns = os_mono_ns();
	if (!msg || send_line(in, msg) < 0)
		log_debug("inspector of %s takes no cancelling", in->recording.hex);
}

static int ask(struct inspectors *pool, const struct store_id *id, const json_t *request, int timeout_ms, struct waiter *w)
{
	uint64_t until = os_mono_ns() + (uint64_t)MAX(timeout_ms, 0) * 1000000;
	struct inspector *in;
	int r = get(pool, id, until, &in);

	if (r == ERR_BUSY)
		return errinfo_set(w->ei, r, "all %u inspectors are at work", pool->n);
	if (r < 0)
		return errinfo_set_r(w->ei, r, "start an inspector of recording %s", id->hex);
	w->id = ++pool->last_id;
	r = send_request(in, request, w);
	if (r < 0)
		return errinfo_set_r(w->ei, r, "ask the inspector of recording %s", id->hex);
	while (!w->done && wait_more(pool, until))
		;
	if (w->done)
		return w->r;
	give_up(pool, id, w);
	return errinfo_set(w->ei, ERR_TIMEOUT, "the state was not reached within %d s: ask again to go on from there", timeout_ms / 1000);
}

int daemon_inspect(struct daemon *d, const struct store_id *id, const json_t *request, int timeout_ms, json_t **ret, struct errinfo *ei)
{
	struct inspectors *pool = d->inspectors;
	struct waiter w = { .ei = ei };
	int r;

	pthread_mutex_lock(&pool->lock);
	pool->inside++;
	r = pool->closed ? ERR_INTERRUPTED : ask(pool, id, request, timeout_ms, &w);
	pool->inside--;
	pthread_cond_broadcast(&pool->more);
	pthread_mutex_unlock(&pool->lock);
	if (r == 0)
		*ret = w.result;
	return r;
}

/* --- care --- */

void inspectors_sweep(struct inspectors *pool, uint64_t now)
{
	struct inspector *next;

	pthread_mutex_lock(&pool->lock);
	for (struct inspector *in = pool->first; in; in = next) {
		next = in->next;
		if (in->cancel_ns && now > in->cancel_ns && now - in->cancel_ns > INSPECT_CANCEL_NS) {
			log_warn("inspector of %s did not react to being cancelled: killed", in->recording.hex);
			drop(in, ERR_GUEST_GONE, "the inspector of this recording hung and was killed; ask again to start another");
		} else if (!in->waiters && now > in->used_ns && now - in->used_ns > INSPECT_IDLE_NS) {
			drop(in, ERR_INTERRUPTED, NULL);
		}
	}
	pthread_mutex_unlock(&pool->lock);
}

static int on_timer(void *ctx)
{
	inspectors_sweep(ctx, os_mono_ns());
	return 0;
}

void inspectors_forget(struct inspectors *pool, const struct store_id *id)
{
	struct inspector *in;

	pthread_mutex_lock(&pool->lock);
	in = find(pool, id);
	if (in)
		drop(in, ERR_INTERRUPTED, "the recording has changed meanwhile: ask again");
	pthread_mutex_unlock(&pool->lock);
}

unsigned inspectors_count(struct inspectors *pool)
{
	unsigned n;

	pthread_mutex_lock(&pool->lock);
	n = pool->n;
	pthread_mutex_unlock(&pool->lock);
	return n;
}

int inspectors_new(struct daemon *d, struct inspectors **ret)
{
	struct inspectors *pool = os_calloc(1, sizeof(*pool));
	pthread_condattr_t attr;
	int r;

	if (!pool)
		return -ENOMEM;
	pool->d = d;
	pthread_mutex_init(&pool->lock, NULL);
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&pool->more, &attr);
	pthread_condattr_destroy(&attr);
	r = loop_add_timer(d->loop, "inspectors", SWEEP_NS, SWEEP_NS, on_timer, pool, &pool->timer);
	if (r < 0) {
		inspectors_free(pool);
		return r;
	}
	*ret = pool;
	return 0;
}

void inspectors_drain(struct inspectors *pool)
{
	pthread_mutex_lock(&pool->lock);
	pool->closed = true;
	while (pool->first)
		drop(pool->first, ERR_INTERRUPTED, "hermitd is shutting down");
	pthread_cond_broadcast(&pool->more);
	pthread_mutex_unlock(&pool->lock);
}

void inspectors_free(struct inspectors *pool)
{
	if (!pool)
		return;
	loop_remove(pool->timer);
	inspectors_drain(pool);
	pthread_mutex_lock(&pool->lock);
	while (pool->inside) {
		pthread_cond_broadcast(&pool->more);
		pthread_cond_wait(&pool->more, &pool->lock);
	}
	pthread_mutex_unlock(&pool->lock);
	pthread_cond_destroy(&pool->more);
	pthread_mutex_destroy(&pool->lock);
	free(pool);
}
