/* See loop.h. Every source is one descriptor in the epoll set: its own (io, child), a timerfd or a signalfd.
 *
 * A source that is removed while events are dispatched may still be named by one of them: it is only marked then, and freed after the round. */
#define LOG_AREA "base.loop"
#include "base/loop.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <sys/timerfd.h>
#include <unistd.h>
#include "base/limits.h"
#include "base/log.h"
#include "base/os.h"

enum source_kind { SOURCE_IO, SOURCE_TIMER, SOURCE_SIGNAL, SOURCE_CHILD };

struct loop_source {
	struct loop *loop;
	struct loop_source *prev, *next;
	char *name;
	enum source_kind kind;
	int fd;      /* in the epoll set; owned when it is a timer or a signal */
	bool in_set;
	bool removed;
	union {
		loop_io_fn io;
		loop_fn plain; /* timer, child */
		loop_signal_fn signal;
	} fn;
	void *ctx;
};

/* What another thread wants done. */
struct call {
	struct call *next;
	loop_fn fn;
	void *ctx;
	bool posted; /* owned by the loop; nobody waits */
	bool done;
	int result;
};

struct loop {
	int epoll_fd, wake_fd;
	struct loop_source *sources, *removed;
	atomic_bool quit;
	pthread_mutex_t lock; /* of what follows */
	pthread_cond_t answered;
	pthread_t thread;
	struct call *calls, **calls_end;
	bool ended;
};

/* --- making and freeing --- */

int loop_new(struct loop **ret)
{
	struct epoll_event ev = { .events = EPOLLIN, .data.ptr = NULL };
	struct loop *l = os_calloc(1, sizeof(*l));
	int r;

	if (!l)
		return -ENOMEM;
	l->calls_end = &l->calls;
	l->thread = pthread_self();
	pthread_mutex_init(&l->lock, NULL);
	pthread_cond_init(&l->answered, NULL);
	l->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	l->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	if (l->epoll_fd < 0 || l->wake_fd < 0 || epoll_ctl(l->epoll_fd, EPOLL_CTL_ADD, l->wake_fd, &ev) < 0) {
		r = -errno;
		loop_free(l);
		return r;
	}
	*ret = l;
	return 0;
}

static void source_free(struct loop_source *s)
{
	if (s->kind == SOURCE_TIMER || s->kind == SOURCE_SIGNAL)
		closep(&s->fd);
	free(s->name);
	free(s);
}

static void free_removed(struct loop *l)
{
	while (l->removed) {
		struct loop_source *s = l->removed;

		l->removed = s->next;
		source_free(s);
	}
}

/* Tells all who wait that nothing will be done any more; what was posted is forgotten. */
static void end_calls(struct loop *l)
{
	struct call *c, *next;

	pthread_mutex_lock(&l->lock);
	l->ended = true;
	for (c = l->calls; c; c = next) {
		next = c->next;
		c->result = ERR_INTERRUPTED;
		c->done = true;
		if (c->posted)
			free(c);
	}
	l->calls = NULL;
	l->calls_end = &l->calls;
	pthread_cond_broadcast(&l->answered);
	pthread_mutex_unlock(&l->lock);
}

void loop_free(struct loop *l)
{
	if (!l)
		return;
	end_calls(l);
	while (l->sources)
		loop_remove(l->sources);
	free_removed(l);
	closep(&l->epoll_fd);
	closep(&l->wake_fd);
	pthread_cond_destroy(&l->answered);
	pthread_mutex_destroy(&l->lock);
	free(l);
}

void loop_freep(struct loop **l)
{
	loop_free(*l);
}

/* --- sources --- */

/* fd is taken over for timers and signals, also on failure. */
static int source_new(struct loop *l, const char *name, enum source_kind kind, int fd, uint32_t events, void *ctx, struct loop_source **ret)
{
	struct epoll_event ev = { .events = events };
	struct loop_source *s = os_calloc(1, sizeof(*s));
	bool owned = kind == SOURCE_TIMER || kind == SOURCE_SIGNAL;
	int r;

	if (s)
		s->name = os_strdup(name);
	if (!s || !s->name) {
		free(s);
		if (owned)
			close(fd);
		return -ENOMEM;
	}
	s->loop = l;
	s->kind = kind;
	s->fd = fd;
	s->ctx = ctx;
	ev.data.ptr = s;
	if (epoll_ctl(l->epoll_fd, EPOLL_CTL_ADD, fd, &ev) < 0) {
		r = -errno;
		source_free(s);
		return r;
	}
	s->in_set = true;
	s->next = l->sources;
	if (s->next)
		s->next->prev = s;
	l->sources = s;
	*ret = s;
	return 0;
}

int loop_add_io(struct loop *l, const char *name, int fd, uint32_t events, loop_io_fn fn, void *ctx, struct loop_source **ret)
{
	struct loop_source *s;
	int r = source_new(l, name, SOURCE_IO, fd, events, ctx, &s);

	if (r < 0)
		return r;
	s->fn.io = fn;
	*ret = s;
	return 0;
}

int loop_io_set(struct loop_source *s, uint32_t events)
{
	struct epoll_event ev = { .events = events, .data.ptr = s };

	return epoll_ctl(s->loop->epoll_fd, EPOLL_CTL_MOD, s->fd, &ev) < 0 ? -errno : 0;
}

static struct timespec timespec_of(uint64_t ns)
{
	return (struct timespec){ .tv_sec = (time_t)(ns / 1000000000u), .tv_nsec = (long)(ns % 1000000000u) };
}

int loop_add_timer(struct loop *l, const char *name, uint64_t first_ns, uint64_t every_ns, loop_fn fn, void *ctx, struct loop_source **ret)
{
	struct loop_source *s;
	int fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
	int r = fd < 0 ? -errno : source_new(l, name, SOURCE_TIMER, fd, EPOLLIN, ctx, &s);

	if (r < 0)
		return r;
	s->fn.plain = fn;
	r = loop_timer_set(s, first_ns ? first_ns : 1, every_ns);
	if (r < 0) {
		loop_remove(s);
		return r;
	}
	*ret = s;
	return 0;
}

int loop_timer_set(struct loop_source *s, uint64_t first_ns, uint64_t every_ns)
{
	const struct itimerspec it = { .it_value = timespec_of(first_ns), .it_interval = timespec_of(every_ns) };

	return timerfd_settime(s->fd, 0, &it, NULL) < 0 ? -errno : 0;
}

int loop_add_signal(struct loop *l, int signo, loop_signal_fn fn, void *ctx, struct loop_source **ret)
{
	struct loop_source *s;
	sigset_t set;
	int fd, r;

	if (sigemptyset(&set) < 0 || sigaddset(&set, signo) < 0)
		return -errno;
	r = pthread_sigmask(SIG_BLOCK, &set, NULL);
	if (r)
		return -r;
	fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	r = fd < 0 ? -errno : source_new(l, "signal", SOURCE_SIGNAL, fd, EPOLLIN, ctx, &s);
	if (r < 0)
		return r;
	s->fn.signal = fn;
	*ret = s;
	return 0;
}

int loop_add_child(struct loop *l, const char *name, int pidfd, loop_fn fn, void *ctx, struct loop_source **ret)
{
	struct loop_source *s;
	int r = source_new(l, name, SOURCE_CHILD, pidfd, EPOLLIN, ctx, &s);

	if (r < 0)
		return r;
	s->fn.plain = fn;
	*ret = s;
	return 0;
}

static void leave_set(struct loop_source *s)
{
	if (s->in_set && epoll_ctl(s->loop->epoll_fd, EPOLL_CTL_DEL, s->fd, NULL) < 0)
		log_debug("%s: leave the epoll set: %s", s->name, strerror(errno));
	s->in_set = false;
}

void loop_remove(struct loop_source *s)
{
	struct loop *l;

	if (!s || s->removed)
		return;
	l = s->loop;
	leave_set(s);
	if (s->prev)
		s->prev->next = s->next;
	else
		l->sources = s->next;
	if (s->next)
		s->next->prev = s->prev;
	s->removed = true;
	s->next = l->removed;
	l->removed = s;
}

/* --- dispatching --- */

static int dispatch_signal(struct loop_source *s)
{
	struct signalfd_siginfo si;
	ssize_t n = os_read(s->fd, &si, sizeof(si));

	if (n == -EAGAIN)
		return 0;
	return n < 0 ? (int)n : s->fn.signal(s->ctx, (int)si.ssi_signo);
}

static int dispatch_timer(struct loop_source *s)
{
	uint64_t times;
	ssize_t n = os_read(s->fd, &times, sizeof(times));

	if (n == -EAGAIN) /* set anew since epoll told */
		return 0;
	return n < 0 ? (int)n : s->fn.plain(s->ctx);
}

static int dispatch(struct loop_source *s, uint32_t events)
{
	switch (s->kind) {
	case SOURCE_IO:
		return s->fn.io(s->ctx, events);
	case SOURCE_TIMER:
		return dispatch_timer(s);
	case SOURCE_SIGNAL:
		return dispatch_signal(s);
	case SOURCE_CHILD:
		leave_set(s); /* a pidfd stays readable */
		return s->fn.plain(s->ctx);
	}
	return -EINVAL;
}

static struct call *next_call(struct loop *l)
{
	struct call *c;

	pthread_mutex_lock(&l->lock);
	c = l->calls;
	if (c) {
		l->calls = c->next;
		if (!l->calls)
			l->calls_end = &l->calls;
	}
	pthread_mutex_unlock(&l->lock);
	return c;
}

static int run_calls(struct loop *l)
{
	struct call *c;
	uint64_t times;
	int n = 0;

	if (os_read(l->wake_fd, &times, sizeof(times)) < 0)
		log_trace("woken twice");
	for (; n < LOOP_ROUND_MAX && (c = next_call(l)); n++) {
		int r = c->fn(c->ctx);

		if (c->posted) {
			if (r < 0)
				log_error("posted call: %s", err_str(r));
			free(c);
			continue;
		}
		pthread_mutex_lock(&l->lock);
		c->result = r;
		c->done = true;
		pthread_cond_broadcast(&l->answered);
		pthread_mutex_unlock(&l->lock);
	}
	if (n == LOOP_ROUND_MAX) /* the rest in the next round, after the other sources */
		eventfd_write(l->wake_fd, 1);
	return n;
}

int loop_step(struct loop *l, int timeout_ms)
{
	struct epoll_event ev[LOOP_ROUND_MAX];
	int n = epoll_wait(l->epoll_fd, ev, ARRAY_SIZE(ev), timeout_ms), called = 0;

	if (n < 0)
		return errno == EINTR ? 0 : -errno;
	for (int i = 0; i < n; i++) {
		struct loop_source *s = ev[i].data.ptr;
		int r;

		if (!s) {
			called += run_calls(l);
			continue;
		}
		if (s->removed)
			continue;
		called++;
		r = dispatch(s, ev[i].events);
		if (r < 0 && !s->removed) {
			log_error("%s: %s", s->name, err_str(r));
			loop_remove(s);
		}
	}
	free_removed(l);
	return called;
}

int loop_run(struct loop *l)
{
	int r = 0;

	pthread_mutex_lock(&l->lock);
	l->thread = pthread_self();
	l->ended = false;
	pthread_mutex_unlock(&l->lock);
	while (r >= 0 && !atomic_load(&l->quit))
		r = loop_step(l, -1);
	end_calls(l);
	atomic_store(&l->quit, false);
	return r < 0 ? r : 0;
}

void loop_quit(struct loop *l)
{
	atomic_store(&l->quit, true);
	eventfd_write(l->wake_fd, 1);
}

/* --- other threads --- */

/* The lock is held. */
static void append_call(struct loop *l, struct call *c)
{
	*l->calls_end = c;
	l->calls_end = &c->next;
	eventfd_write(l->wake_fd, 1);
}

int loop_call(struct loop *l, loop_fn fn, void *ctx)
{
	struct call c = { .fn = fn, .ctx = ctx };

	pthread_mutex_lock(&l->lock);
	if (pthread_equal(l->thread, pthread_self())) {
		pthread_mutex_unlock(&l->lock);
		return fn(ctx);
	}
	if (l->ended) {
		pthread_mutex_unlock(&l->lock);
		return ERR_INTERRUPTED;
	}
	append_call(l, &c);
	while (!c.done)
		pthread_cond_wait(&l->answered, &l->lock);
	pthread_mutex_unlock(&l->lock);
	return c.result;
}

int loop_post(struct loop *l, loop_fn fn, void *ctx)
{
	struct call *c = os_calloc(1, sizeof(*c));
	int r = 0;

	if (!c)
		return -ENOMEM;
	c->fn = fn;
	c->ctx = ctx;
	c->posted = true;
	pthread_mutex_lock(&l->lock);
	if (l->ended)
		r = ERR_INTERRUPTED;
	else
		append_call(l, c);
	pthread_mutex_unlock(&l->lock);
	if (r < 0)
		free(c);
	return r;
}
