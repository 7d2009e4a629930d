/* Housekeeping: what is done from time to time, in a thread of its own because it waits for disks.
 *
 *     thread of the house                                                loop's thread
 *     every second, or when something moves in the store:
 *       the catalog, told to the feed                                    orders: jobs (seal, scan, gc), inspectors to forget,
 *       recordings of dead recorders, free space            --orders-->  recordings to cut when the disk is full
 *     more rarely: retention, sealing of what was left, the next scan
 *
 * A read-only hermitd (may_change()) only makes recordings of dead recorders truncated ones, so that they can be read.
 */
#include "daemon/house_priv.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/file.h>
#include <sys/inotify.h>
#include <sys/statvfs.h>
#include <unistd.h>
#include "base/os.h"
#include "base/str.h"
#include "daemon/inspectors_priv.h"
#include "daemon/jobs_priv.h"
#include "daemon/limits_priv.h"
#include "daemon/sessions_priv.h"
#include "store/live.h"
#include "store/maintain.h"

#define LOG_AREA "daemon.house"
#include "base/log.h"

#define S 1000000000ull
#define ROUND_MS 1000
/* Changes come in groups. */
#define SETTLE_MS 50
/* A recorder that has died is not ours to wait for: recorders.c has had time to say why. */
#define DEAD_NS (3 * S)
#define RETENTION_NS (30 * S)
/* A recording that nobody has sealed for so long was left by somebody who was killed. */
#define LEFT_NS (600 * S)
#define USAGE_NS (15 * S)
/* Blobs are spared for an hour after they were used. */
#define GC_AFTER_NS (65 * 60 * S)

enum order_kind { ORDER_SEAL, ORDER_SCAN, ORDER_GC, ORDER_FORGET, ORDER_CUT };

struct order {
	struct order *next;
	enum order_kind kind;
	struct store_id id;
	char *reason;
};

struct house {
	struct daemon *d;
	struct store *store; /* of the thread */
	house_free_fn free_fn;
	void *free_ctx;
	pthread_t thread;
	bool has_thread;
	int wake_fd, inotify_fd;

	pthread_mutex_t lock; /* of what follows */
	bool stop, posted, scanning;
	bool removed; /* atomic: there is something for gc */
	struct order *orders, **orders_end;
	uint64_t free_bytes, blobs_bytes;
	bool low;
	struct store_id *failed; /* could not be sealed: not tried again */
	size_t n_failed;

	/* the thread's own */
	uint64_t dead_since, usage_at, retention_at, scan_at, gc_at, left_at, told_at, told_free, cut_at;
	uint64_t usage_version, retention_version;
};

static bool may_change(const struct house *h)
{
	return !h->d->cfg->read_only;
}

/* --- orders for the loop --- */

static void carry_out(struct house *h, const struct order *o)
{
	struct daemon *d = h->d;
	int r = 0;

	switch (o->kind) {
	case ORDER_SEAL:
		r = jobs_add(d->jobs, JOB_SEAL, &o->id);
		break;
	case ORDER_SCAN:
		r = jobs_add(d->jobs, JOB_SCAN, &o->id);
		break;
	case ORDER_GC:
		r = jobs_add(d->jobs, JOB_GC, NULL);
		break;
	case ORDER_FORGET:
		if (d->inspectors)
			inspectors_forget(d->inspectors, &o->id);
		break;
	case ORDER_CUT:
		recorders_cut_all(d->recorders, o->reason);
		break;
	}
	if (r < 0 && r != ERR_INTERRUPTED)
		log_warn("add a job: %s", err_str(r));
}

static void order_free(struct order *o)
{
	free(o->reason);
	free(o);
}

static int on_orders(void *ctx)
{
	struct house *h = ctx;
	struct order *list, *next;

	pthread_mutex_lock(&h->lock);
	list = h->orders;
	h->orders = NULL;
	h->orders_end = &h->orders;
	h->posted = false;
	pthread_mutex_unlock(&h->lock);
	for (; list; list = next) {
		next = list->next;
		carry_out(h, list);
		order_free(list);
	}
	return 0;
}

static void give_order(struct house *h, enum order_kind kind, const struct store_id *id, const char *reason)
{
	struct order *o = os_calloc(1, sizeof(*o));

	if (o) {
		o->kind = kind;
		o->reason = reason ? os_strdup(reason) : NULL;
		if (id)
			o->id = *id;
	}
	if (!o || (reason && !o->reason)) {
		free(o);
		return;
	}
	pthread_mutex_lock(&h->lock);
	*h->orders_end = o;
	h->orders_end = &o->next;
	if (!h->posted)
		h->posted = loop_post(h->d->loop, on_orders, h) >= 0;
	pthread_mutex_unlock(&h->lock);
}

/* --- the catalog --- */

static void on_change(void *ctx, enum catalog_change what, const struct catalog_entry *e)
{
	static const char *const names[] = { [CATALOG_ADDED] = "added", [CATALOG_CHANGED] = "changed", [CATALOG_REMOVED] = "removed" };
	struct daemon *d = ctx;

	feed_publish(d->feed, "recording", json_pack("{s:s, s:s}", "id", e->id.hex, "what", names[what]));
	/* one that has ended is more than its inspector knows */
	if (what == CATALOG_REMOVED || (what == CATALOG_CHANGED && !e->live && !e->compressed))
		give_order(d->house, ORDER_FORGET, &e->id, NULL);
	if (what == CATALOG_REMOVED)
		__atomic_store_n(&d->house->removed, true, __ATOMIC_RELAXED);
}

void daemon_refresh(struct daemon *d)
{
	int r = catalog_refresh(d->catalog, d->house ? on_change : NULL, d);

	if (r < 0)
		log_warn("look at %s: %s", d->cfg->data_dir, err_str(r));
}

/* --- recorders that died --- */

static bool any_dead(const struct catalog_view *v)
{
	for (size_t i = 0; i < v->n; i++)
		if (v->entry[i]->state == RECORDING_OPEN && !v->entry[i]->live && !v->entry[i]->broken)
			return true;
	return false;
}

static void recover_dead(struct house *h, const struct catalog_view *v, uint64_t now)
{
	int r;

	if (!any_dead(v)) {
		h->dead_since = 0;
		return;
	}
	if (!h->dead_since)
		h->dead_since = now;
	if (now - h->dead_since < DEAD_NS)
		return;
	h->dead_since = now;
	r = store_recover(h->store);
	if (r < 0)
		log_warn("recordings that were cut off could not be recovered: %s", err_str(r));
	else if (r > 0)
		log_info("%d recordings were cut off by a dead recorder; they are marked truncated", r);
	if (r > 0)
		daemon_refresh(h->d);
}

/* --- free space --- */

static int statvfs_free(void *ctx UNUSED, const char *dir, uint64_t *ret)
{
	struct statvfs st;

	if (statvfs(dir, &st) < 0)
		return -errno;
	*ret = (uint64_t)st.f_bavail * st.f_frsize;
	return 0;
}

static char *low_reason(const struct house *h, uint64_t free_bytes)
{
	struct buf b CLEANUP(buf_done);

	buf_init(&b);
	buf_printf(&b, "the disk is full: ");
	buf_put_size(&b, free_bytes);
	buf_printf(&b, " are free, hermitd keeps ");
	buf_put_size(&b, h->d->cfg->disk_floor);
	buf_printf(&b, " (disk_floor)");
	return os_strdup(buf_cstr(&b));
}

static void watch_space(struct house *h, uint64_t now)
{
	uint64_t bytes = 0, floor = h->d->cfg->disk_floor;
	bool low, was;

	if (h->free_fn(h->free_ctx, h->d->cfg->data_dir, &bytes) < 0)
		return;
	low = floor && bytes < floor;
	pthread_mutex_lock(&h->lock);
	was = h->low;
	h->low = low;
	h->free_bytes = bytes;
	pthread_mutex_unlock(&h->lock);
	if (low && (!was || now - h->cut_at > 10 * S)) {
		char *reason CLEANUP(freep) = low_reason(h, bytes);

		if (!was)
			log_error("%s", reason ? reason : "the disk is full");
		h->cut_at = now;
		if (may_change(h))
			give_order(h, ORDER_CUT, NULL, reason ? reason : "the disk is full");
	}
	if (low != was || (bytes / (64 << 20) != h->told_free / (64 << 20) && now - h->told_at > 10 * S)) {
		h->told_at = now;
		h->told_free = bytes;
		feed_publish(h->d->feed, "storage", json_pack("{s:I, s:b}", "bytes_free", (json_int_t)bytes, "low", low));
	}
}

/* As it is now: a second ago is long on a disk that fills up. */
static bool is_low(const struct house *h, uint64_t *ret_free)
{
	return h->d->cfg->disk_floor && h->free_fn(h->free_ctx, h->d->cfg->data_dir, ret_free) == 0 && *ret_free < h->d->cfg->disk_floor;
}

bool house_disk_low(const struct house *h)
{
	uint64_t bytes;

	return is_low(h, &bytes);
}

int house_disk_refusal(const struct house *h, struct errinfo *ei)
{
	char *reason CLEANUP(freep) = NULL;
	uint64_t bytes;

	if (!is_low(h, &bytes))
		return 0;
	reason = low_reason(h, bytes);
	return errinfo_set(ei, -ENOSPC, "%s", reason ? reason : "the disk is full");
}

/* --- retention --- */

static void remove_one(struct house *h, const struct catalog_entry *e, uint64_t bytes, enum retention_why why)
{
	struct buf b CLEANUP(buf_done);
	struct errinfo ei = { 0 };
	int r = store_remove(h->store, &e->id, &ei);

	buf_init(&b);
	buf_put_rfc3339(&b, e->start_wall_ns);
	buf_printf(&b, ", ");
	buf_put_size(&b, bytes);
	if (r < 0)
		log_warn("retention: recording %s (%s) should go but stays: %s", e->id.hex, buf_cstr(&b), ei.text);
	else
		log_info("retention: recording %s (%s) removed: %s", e->id.hex, buf_cstr(&b),
			 why == RETENTION_AGE ? "it is older than max_age" : "all together are larger than max_size");
}

struct rows {
	const struct catalog_entry **e;
	struct store_id *ids;
	struct retention_item *items;
	uint64_t *bytes;
	enum retention_why *why;
	bool *spared; /* in the order of the view */
};

static void rows_done(struct rows *t)
{
	free(t->e);
	free(t->ids);
	free(t->items);
	free(t->bytes);
	free(t->why);
	free(t->spared);
}

static bool is_spared(struct house *h, const struct catalog_entry *e)
{
	return e->keep || e->live || e->state == RECORDING_OPEN || (h->d->sessions && sessions_use(h->d->sessions, &e->id));
}

/* Spared ones first, then from the newest to the oldest: so a blob counts at the last one that needs it. */
static int fill_rows(struct house *h, const struct catalog_view *v, struct rows *t)
{
	size_t n = 0;
	int r;

	t->e = os_calloc(v->n + 1, sizeof(*t->e));
	t->ids = os_calloc(v->n + 1, sizeof(*t->ids));
	t->items = os_calloc(v->n + 1, sizeof(*t->items));
	t->bytes = os_calloc(v->n + 1, sizeof(*t->bytes));
	t->why = os_calloc(v->n + 1, sizeof(*t->why));
	t->spared = os_calloc(v->n + 1, sizeof(*t->spared));
	if (!t->e || !t->ids || !t->items || !t->bytes || !t->why || !t->spared)
		return -ENOMEM;
	/* asked once: sessions come and go */
	for (size_t i = 0; i < v->n; i++)
		t->spared[i] = is_spared(h, v->entry[i]);
	for (int spared = 1; spared >= 0; spared--)
		for (size_t i = 0; i < v->n; i++)
			if (t->spared[i] == spared) {
				t->items[n].spared = spared;
				t->e[n++] = v->entry[i];
			}
	for (size_t i = 0; i < n; i++)
		t->ids[i] = t->e[i]->id;
	r = h->d->cfg->max_size ? store_shares(h->store, t->ids, n, t->bytes) : 0;
	for (size_t i = 0; i < n; i++)
		t->items[i] = (struct retention_item){ .start_ns = t->e[i]->start_wall_ns, .bytes = t->bytes[i], .spared = t->items[i].spared };
	return r;
}

static void apply_retention(struct house *h, const struct catalog_view *v, uint64_t wall)
{
	const struct daemon_config *cfg = h->d->cfg;
	struct rows t CLEANUP(rows_done) = { 0 };
	bool removed = false;

	/* sizes are what costs: all manifests are read for them */
	if (!cfg->max_age_s && (!cfg->max_size || v->version == h->retention_version))
		return;
	h->retention_version = v->version;
	if (fill_rows(h, v, &t) < 0)
		return;
	retention_choose(t.items, v->n, wall, cfg->max_age_s, cfg->max_size, t.why);
	/* oldest first */
	for (size_t i = v->n; i-- > 0;)
		if (t.why[i] != RETENTION_STAYS) {
			remove_one(h, t.e[i], t.bytes[i] ? t.bytes[i] : t.e[i]->bytes, t.why[i]);
			removed = true;
		}
	if (removed)
		daemon_refresh(h->d);
}

/* --- sealing what was left, scanning, collecting blobs --- */

static bool has_failed(struct house *h, const struct store_id *id)
{
	bool found = false;

	pthread_mutex_lock(&h->lock);
	for (size_t i = 0; i < h->n_failed && !found; i++)
		found = strcmp(h->failed[i].hex, id->hex) == 0;
	pthread_mutex_unlock(&h->lock);
	return found;
}

static void remember_failed(struct house *h, const struct store_id *id)
{
	struct store_id *v = os_malloc((h->n_failed + 1) * sizeof(*v));

	if (!v || h->n_failed >= HOUSE_FAILED_MAX) {
		free(v);
		return;
	}
	if (h->n_failed)
		memcpy(v, h->failed, h->n_failed * sizeof(*v));
	v[h->n_failed++] = *id;
	free(h->failed);
	h->failed = v;
}

/* Somebody seals, verifies or exports it. */
static bool is_in_use(struct house *h, const struct store_id *id)
{
	char *path CLEANUP(freep) = os_asprintf("%s/%s/lock", h->d->cfg->data_dir, id->hex);
	int fd CLEANUP(closep) = path ? os_open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK, 0) : -1;

	return fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) < 0;
}

static void seal_left(struct house *h, const struct catalog_view *v, uint64_t wall)
{
	for (size_t i = 0; i < v->n; i++) {
		const struct catalog_entry *e = v->entry[i];
		uint64_t ended = e->start_wall_ns + e->duration_ns;

		if (!e->live && !e->broken && !e->compressed && e->state != RECORDING_OPEN && wall > ended && wall - ended > LEFT_NS &&
		    !has_failed(h, &e->id) && !is_in_use(h, &e->id)) {
			give_order(h, ORDER_SEAL, &e->id, NULL);
			return; /* one at a time: it may take long */
		}
	}
}

static void scan_next(struct house *h, const struct catalog_view *v, uint64_t now, uint64_t wall)
{
	ssize_t i = scan_choose(v, wall, h->d->cfg->scan_every_s);
	bool busy;

	pthread_mutex_lock(&h->lock);
	busy = h->scanning;
	h->scanning = h->scanning || i >= 0;
	pthread_mutex_unlock(&h->lock);
	h->scan_at = now + scan_pause_ns(v->n, h->d->cfg->scan_every_s);
	if (i >= 0 && !busy)
		give_order(h, ORDER_SCAN, &v->entry[i]->id, NULL);
}

static void on_job_over(void *ctx, enum job_kind kind, const struct store_id *recording, enum job_state state)
{
	struct house *h = ctx;
	uint64_t one = 1;

	pthread_mutex_lock(&h->lock);
	if (kind == JOB_SCAN)
		h->scanning = false;
	if (kind == JOB_SEAL && state == JOB_FAILED)
		remember_failed(h, recording);
	pthread_mutex_unlock(&h->lock);
	(void)!write(h->wake_fd, &one, sizeof(one));
}

void house_ended(struct house *h, const struct store_id *id)
{
	uint64_t one = 1;
	int r = may_change(h) ? jobs_add(h->d->jobs, JOB_SEAL, id) : 0;

	if (r < 0 && r != ERR_INTERRUPTED)
		log_warn("seal recording %s: %s", id->hex, err_str(r));
	(void)!write(h->wake_fd, &one, sizeof(one));
}

void house_space(const struct house *h, struct house_space *ret)
{
	struct house *self = (struct house *)h;

	pthread_mutex_lock(&self->lock);
	*ret = (struct house_space){ .free_bytes = h->free_bytes, .blobs_bytes = h->blobs_bytes, .low = h->low };
	pthread_mutex_unlock(&self->lock);
}

/* --- the thread --- */

static void measure(struct house *h, const struct catalog_view *v, uint64_t now)
{
	uint64_t bytes;

	if (now < h->usage_at || h->usage_version == v->version)
		return;
	h->usage_at = now + USAGE_NS;
	h->usage_version = v->version;
	if (store_blobs_usage(h->store, &bytes) < 0)
		return;
	pthread_mutex_lock(&h->lock);
	h->blobs_bytes = bytes;
	pthread_mutex_unlock(&h->lock);
}

static void change(struct house *h, const struct catalog_view *v, uint64_t now, uint64_t wall)
{
	if (now >= h->retention_at) {
		h->retention_at = now + RETENTION_NS;
		apply_retention(h, v, wall);
	}
	if (now >= h->left_at) {
		h->left_at = now + RETENTION_NS;
		seal_left(h, v, wall);
	}
	if (h->d->cfg->scan_every_s && now >= h->scan_at)
		scan_next(h, v, now, wall);
	if (h->gc_at && now >= h->gc_at) {
		h->gc_at = 0;
		give_order(h, ORDER_GC, NULL, NULL);
	}
}

void house_round(struct house *h, uint64_t now, uint64_t wall)
{
	const struct catalog_view *v;

	daemon_refresh(h->d);
	watch_space(h, now);
	v = catalog_get(h->d->catalog);
	if (__atomic_exchange_n(&h->removed, false, __ATOMIC_RELAXED) && !h->gc_at)
		h->gc_at = now + GC_AFTER_NS;
	recover_dead(h, v, now);
	measure(h, v, now);
	if (may_change(h))
		change(h, v, now, wall);
	catalog_put(h->d->catalog, v);
}

static bool should_stop(struct house *h)
{
	bool stop;

	pthread_mutex_lock(&h->lock);
	stop = h->stop;
	pthread_mutex_unlock(&h->lock);
	return stop;
}

/* Until something moves in the store, somebody wakes us, or the next round is due. */
static void wait_round(struct house *h)
{
	struct pollfd p[2] = { { .fd = h->wake_fd, .events = POLLIN }, { .fd = h->inotify_fd, .events = POLLIN } };
	char sink[4096];

	if (poll(p, 2, ROUND_MS) <= 0)
		return;
	if (p[1].revents) {
		usleep(SETTLE_MS * 1000);
		while (read(h->inotify_fd, sink, sizeof(sink)) > 0)
			;
	}
	if (p[0].revents)
		(void)!read(h->wake_fd, sink, 8);
}

static void *run(void *arg)
{
	struct house *h = arg;

	while (!should_stop(h)) {
		house_round(h, os_mono_ns(), os_wall_ns());
		wait_round(h);
	}
	return NULL;
}

/* Without it a second is the rhythm. */
static void watch_dirs(struct house *h)
{
	char *tmp CLEANUP(freep) = os_asprintf("%s/tmp", h->d->cfg->data_dir);
	const char *const dirs[] = { h->d->cfg->data_dir, tmp };

	h->inotify_fd = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
	for (size_t i = 0; i < ARRAY_SIZE(dirs) && h->inotify_fd >= 0 && dirs[i]; i++)
		if (inotify_add_watch(h->inotify_fd, dirs[i], IN_MOVED_TO | IN_MOVED_FROM | IN_DELETE | IN_ONLYDIR) < 0)
			log_debug("watch %s: %s", dirs[i], strerror(errno));
}

int house_make(struct daemon *d, struct house **ret)
{
	struct house *h = os_calloc(1, sizeof(*h));
	uint64_t now = os_mono_ns();
	int r;

	if (!h)
		return -ENOMEM;
	h->d = d;
	h->free_fn = statvfs_free;
	h->orders_end = &h->orders;
	h->inotify_fd = -1;
	h->retention_at = h->left_at = now + 5 * S;
	h->scan_at = now + 15 * S;
	pthread_mutex_init(&h->lock, NULL);
	h->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	r = h->wake_fd < 0 ? -errno : store_open(d->cfg->data_dir, false, &h->store, NULL);
	if (r < 0) {
		house_free(h);
		return r;
	}
	jobs_listen(d->jobs, on_job_over, h);
	*ret = h;
	return 0;
}

int house_new(struct daemon *d, struct house **ret)
{
	struct house *h;
	int r = house_make(d, &h);

	if (r < 0)
		return r;
	watch_dirs(h);
	*ret = d->house = h; /* the thread needs it at once */
	r = -pthread_create(&h->thread, NULL, run, h);
	h->has_thread = r == 0;
	if (r < 0) {
		*ret = d->house = NULL;
		house_free(h);
	}
	return r;
}

void house_set_free(struct house *h, house_free_fn fn, void *ctx)
{
	h->free_fn = fn;
	h->free_ctx = ctx;
}

void house_free(struct house *h)
{
	uint64_t one = 1;

	if (!h)
		return;
	pthread_mutex_lock(&h->lock);
	h->stop = true;
	pthread_mutex_unlock(&h->lock);
	if (h->wake_fd >= 0)
		(void)!write(h->wake_fd, &one, sizeof(one));
	if (h->has_thread)
		pthread_join(h->thread, NULL);
	if (h->d->jobs)
		jobs_listen(h->d->jobs, NULL, NULL);
	while (h->orders) {
		struct order *o = h->orders;

		h->orders = o->next;
		order_free(o);
	}
	closep(&h->wake_fd);
	closep(&h->inotify_fd);
	store_free(h->store);
	pthread_mutex_destroy(&h->lock);
	free(h->failed);
	free(h);
}
