/* daemon_record_*(): what any thread may ask of recordings. */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include "daemon/recorders_priv.h"
#include "daemon/spec.h"
#include "store/live.h"

struct start {
	struct daemon *d;
	struct recorder_order order;
	struct store_id *ret;
	struct errinfo *ei;
	pthread_mutex_t lock;
	pthread_cond_t told;
	bool done;
	int r;
};

static void start_done(void *ctx, const struct recorder_started *what)
{
	struct start *s = ctx;

	pthread_mutex_lock(&s->lock);
	s->done = true;
	s->r = what->r < 0 ? errinfo_set(s->ei, what->r, "%s", what->text) : 0;
	if (s->r == 0)
		*s->ret = *what->id;
	pthread_cond_signal(&s->told);
	pthread_mutex_unlock(&s->lock);
}

static int start_call(void *ctx)
{
	struct start *s = ctx;

	return recorders_start(s->d->recorders, &s->order, start_done, s, s->ei);
}

int daemon_record_start(struct daemon *d, const struct daemon_record *rec, struct store_id *ret, struct errinfo *ei)
{
	struct start s = { .d = d, .ret = ret, .ei = ei, .lock = PTHREAD_MUTEX_INITIALIZER, .told = PTHREAD_COND_INITIALIZER };
	int spec CLEANUP(closep) = -1;
	int r = spec_new(rec, &spec);

	if (r < 0)
		return errinfo_set_r(ei, r, "hand over what is to be recorded");
	s.order = (struct recorder_order){ .spec_fd = spec, .cwd_fd = rec->cwd_fd, .source = rec->source };
	memcpy(s.order.fds, rec->fds, sizeof(s.order.fds));
	r = loop_call(d->loop, start_call, &s);
	if (r < 0)
		return r == ERR_INTERRUPTED ? errinfo_set_r(ei, r, "start a recording") : r;
	pthread_mutex_lock(&s.lock);
	while (!s.done)
		pthread_cond_wait(&s.told, &s.lock);
	pthread_mutex_unlock(&s.lock);
	return s.r;
}

struct ask {
	struct daemon *d;
	const struct store_id *id;
	enum daemon_stop how;
	const char *reason;
	int signo;
};

static int asked(int r, const struct ask *a, struct errinfo *ei)
{
	if (r == -ESRCH)
		return errinfo_set(ei, r, "%s is not being recorded", a->id->hex);
	return r < 0 ? errinfo_set_r(ei, r, "ask the recorder of %s", a->id->hex) : 0;
}

static int stop_call(void *ctx)
{
	const struct ask *a = ctx;

	switch (a->how) {
	case DAEMON_STOP_TERM:
		return store_ask(a->d->store, a->id, "signal %d", SIGTERM);
	case DAEMON_STOP_KILL:
		return store_ask(a->d->store, a->id, "kill");
	case DAEMON_STOP_CUT:
		return recorders_cut(a->d->recorders, a->id, a->reason ? a->reason : "it was stopped");
	}
	return -EINVAL;
}

int daemon_record_stop(struct daemon *d, const struct store_id *id, enum daemon_stop how, const char *reason, struct errinfo *ei)
{
	struct ask a = { .d = d, .id = id, .how = how, .reason = reason };

	return asked(loop_call(d->loop, stop_call, &a), &a, ei);
}

static int signal_call(void *ctx)
{
	const struct ask *a = ctx;

	return store_ask(a->d->store, a->id, "signal %d", a->signo);
}

int daemon_record_signal(struct daemon *d, const struct store_id *id, int signo, struct errinfo *ei)
{
	struct ask a = { .d = d, .id = id, .signo = signo };

	return asked(loop_call(d->loop, signal_call, &a), &a, ei);
}
