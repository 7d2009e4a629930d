/* The parts of a daemon, made and freed in order; and its stopping. */
#define LOG_AREA "daemon"
#include "daemon/daemon_priv.h"

#include <errno.h>
#include <stdlib.h>
#include "base/log.h"
#include "base/os.h"

#define DRAIN_LOOK_NS 50000000ull

struct daemon_drain {
	loop_fn done;
	void *ctx;
	struct loop_source *timer;
};

/* What an earlier hermitd, or anybody else, left half done. */
static int open_store(struct daemon *d, struct errinfo *ei)
{
	int r = store_open(d->cfg->data_dir, true, &d->store, ei);

	if (r < 0)
		return r;
	r = store_recover(d->store);
	if (r < 0)
		log_warn("%s: recordings that were cut off could not be recovered: %s", d->cfg->data_dir, err_str(r));
	else if (r > 0)
		log_info("%d recordings were cut off by a dead recorder; they are marked truncated", r);
	return catalog_new(d->cfg->data_dir, &d->catalog, ei);
}

static int make_parts(struct daemon *d)
{
	int r = feed_new(&d->feed);

	if (r == 0)
		r = logins_new(d, &d->logins);
	if (r == 0)
		r = jobs_new(d, &d->jobs);
	if (r == 0)
		r = recorders_new(d, &d->recorders);
	if (r == 0)
		r = sessions_new(d, &d->sessions);
	if (r == 0)
		r = inspectors_new(d, &d->inspectors);
	return r == 0 ? house_new(d, &d->house) : r;
}

int daemon_new(struct loop *l, const struct daemon_config *cfg, struct daemon **ret, struct errinfo *ei)
{
	struct daemon *d = os_calloc(1, sizeof(*d));
	int r;

	if (!d)
		return errinfo_set_r(ei, -ENOMEM, "start hermitd");
	d->loop = l;
	d->cfg = cfg;
	r = open_store(d, ei);
	if (r == 0) {
		r = make_parts(d);
		if (r < 0)
			errinfo_set_r(ei, r, "start hermitd");
	}
	if (r < 0) {
		daemon_free(d);
		return r;
	}
	*ret = d;
	return 0;
}

void daemon_free(struct daemon *d)
{
	if (!d)
		return;
	house_free(d->house);
	inspectors_free(d->inspectors);
	sessions_free(d->sessions);
	d->house = NULL; /* the ends of recordings are told to it */
	recorders_free(d->recorders);
	jobs_free(d->jobs);
	logins_free(d->logins);
	feed_free(d->feed);
	catalog_free(d->catalog);
	store_free(d->store);
	if (d->drain)
		loop_remove(d->drain->timer);
	free(d->drain);
	free(d);
}

const struct daemon_config *daemon_config(struct daemon *d)
{
	return d->cfg;
}

struct catalog *daemon_catalog(struct daemon *d)
{
	return d->catalog;
}

struct feed *daemon_feed(struct daemon *d)
{
	return d->feed;
}

/* --- stopping --- */

static int look_whether_done(void *ctx)
{
	struct daemon *d = ctx;
	struct daemon_drain *drain = d->drain;

	if (recorders_busy(d->recorders) || jobs_busy(d->jobs) || sessions_busy(d->sessions))
		return 0;
	loop_remove(drain->timer);
	drain->timer = NULL;
	return drain->done(drain->ctx);
}

void daemon_drain(struct daemon *d, loop_fn done, void *ctx)
{
	int r;

	if (d->draining)
		return;
	d->draining = true;
	feed_close(d->feed);
	recorders_drain(d->recorders);
	sessions_drain(d->sessions);
	inspectors_drain(d->inspectors);
	jobs_drain(d->jobs);
	d->drain = os_calloc(1, sizeof(*d->drain));
	if (d->drain) {
		d->drain->done = done;
		d->drain->ctx = ctx;
	}
	r = d->drain ? loop_add_timer(d->loop, "drain", 0, DRAIN_LOOK_NS, look_whether_done, d, &d->drain->timer) : -ENOMEM;
	if (r < 0) { /* then without waiting */
		log_error("stop: %s", err_str(r));
		(void)!done(ctx);
	}
}
