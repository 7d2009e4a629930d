/* What the daemon tells of itself: storage, and metrics in the text form of Prometheus. */
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "base/build.h"
#include "base/os.h"
#include "daemon/house_priv.h"
#include "daemon/inspectors_priv.h"
#include "daemon/jobs_priv.h"
#include "daemon/sessions_priv.h"

struct totals {
	uint64_t bytes, events;
	unsigned live, broken, by_state[RECORDING_STATE_MAX_];
};

static struct totals count(struct daemon *d)
{
	const struct catalog_view *v = catalog_get(d->catalog);
	struct totals t = { 0 };

	for (size_t i = 0; i < v->n; i++) {
		const struct catalog_entry *e = v->entry[i];

		t.bytes += e->bytes;
		t.events += e->events;
		t.live += e->live;
		if (e->broken)
			t.broken++;
		else
			t.by_state[e->state]++;
	}
	catalog_put(d->catalog, v);
	return t;
}

static unsigned number(const struct totals *t)
{
	unsigned n = t->broken;

	for (int i = 0; i < RECORDING_STATE_MAX_; i++)
		n += t->by_state[i];
	return n;
}

int daemon_storage(struct daemon *d, json_t **ret)
{
	struct totals t = count(d);
	struct house_space space = { 0 };

	if (d->house)
		house_space(d->house, &space);
	*ret = json_pack("{s:s, s:I, s:I, s:I, s:I, s:I, s:I, s:I}", "data_dir", d->cfg->data_dir, "recordings", (json_int_t)number(&t),
			 "bytes_recordings", (json_int_t)t.bytes, "bytes_blobs", (json_int_t)space.blobs_bytes, "bytes_free",
			 (json_int_t)space.free_bytes, "floor", (json_int_t)d->cfg->disk_floor, "max_size", (json_int_t)d->cfg->max_size,
			 "max_age_s", (json_int_t)d->cfg->max_age_s);
	return *ret ? 0 : -ENOMEM; /* a data_dir that is not UTF-8 as well */
}

/* --- metrics --- */

static void put_head(struct buf *b, const char *name, const char *type, const char *help)
{
	buf_printf(b, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, type);
}

static void put_one(struct buf *b, const char *name, const char *type, const char *help, uint64_t value)
{
	put_head(b, name, type, help);
	buf_printf(b, "%s %llu\n", name, (unsigned long long)value);
}

static void put_recordings(struct buf *b, struct daemon *d)
{
	struct totals t = count(d);

	put_head(b, "hermit_recordings", "gauge", "Recordings in the store.");
	for (int i = 0; i < RECORDING_STATE_MAX_; i++)
		buf_printf(b, "hermit_recordings{state=\"%s\"} %u\n", recording_state_name((enum recording_state)i), t.by_state[i]);
	buf_printf(b, "hermit_recordings{state=\"broken\"} %u\n", t.broken);
	put_one(b, "hermit_live_recordings", "gauge", "Recordings that are being made.", t.live);
	put_one(b, "hermit_recordings_bytes", "gauge", "Bytes of the recordings' own streams.", t.bytes);
	put_one(b, "hermit_recordings_events", "gauge", "Events of all recordings.", t.events);
}

static void put_space(struct buf *b, struct daemon *d)
{
	struct house_space space = { 0 };

	if (!d->house)
		return;
	house_space(d->house, &space);
	put_one(b, "hermit_blobs_bytes", "gauge", "Bytes of shared files (blobs).", space.blobs_bytes);
	put_one(b, "hermit_disk_free_bytes", "gauge", "Free bytes where the store is.", space.free_bytes);
	put_one(b, "hermit_disk_floor_bytes", "gauge", "Below so many free bytes nothing is recorded.", d->cfg->disk_floor);
}

struct children {
	struct daemon *d;
	unsigned sessions, jobs[JOB_STATE_MAX_];
};

static int do_count(void *ctx)
{
	struct children *c = ctx;

	c->sessions = sessions_count(c->d->sessions);
	for (int i = 0; i < JOB_STATE_MAX_; i++)
		c->jobs[i] = jobs_count(c->d->jobs, (enum job_state)i);
	return 0;
}

static void put_children(struct buf *b, struct daemon *d)
{
	struct children c = { .d = d };

	if (loop_call(d->loop, do_count, &c) < 0)
		return;
	put_one(b, "hermit_debug_sessions", "gauge", "Debug sessions that are starting or ready.", c.sessions);
	put_one(b, "hermit_inspectors", "gauge", "Warm inspectors.", inspectors_count(d->inspectors));
	put_head(b, "hermit_jobs", "gauge", "Jobs that are remembered.");
	for (int i = 0; i < JOB_STATE_MAX_; i++)
		buf_printf(b, "hermit_jobs{state=\"%s\"} %u\n", job_state_name((enum job_state)i), c.jobs[i]);
}

static unsigned count_fds(void)
{
	DIR *dir = opendir("/proc/self/fd");
	unsigned n = 0;

	while (dir && readdir(dir))
		n++;
	if (dir)
		closedir(dir);
	return n > 3 ? n - 3 : 0; /* ".", "..", and the one to look with */
}

/* Fields of /proc/self/stat behind the name, which may hold anything: 14 utime, 15 stime, 20 threads, 22 start, 24 rss. */
static void put_process(struct buf *b)
{
	char *text CLEANUP(freep) = NULL;
	unsigned long long field[25] = { 0 };
	double tick = (double)sysconf(_SC_CLK_TCK);
	size_t len;
	char *p, *save = NULL;

	if (os_read_file("/proc/self/stat", 4096, &text, &len) < 0 || !(p = strrchr(text, ')')))
		return;
	p = strtok_r(p + 1, " ", &save);
	for (int i = 3; p && i < 25; i++, p = strtok_r(NULL, " ", &save))
		field[i] = strtoull(p, NULL, 10);
	put_head(b, "process_cpu_seconds_total", "counter", "Processor time of hermitd itself.");
	buf_printf(b, "process_cpu_seconds_total %.2f\n", (double)(field[14] + field[15]) / tick);
	put_one(b, "process_resident_memory_bytes", "gauge", "Memory of hermitd itself.", field[24] * (uint64_t)sysconf(_SC_PAGESIZE));
	put_one(b, "process_threads", "gauge", "Threads of hermitd itself.", field[20]);
	put_one(b, "process_open_fds", "gauge", "Open descriptors of hermitd itself.", count_fds());
}

void daemon_metrics(struct daemon *d, struct buf *out)
{
	put_head(out, "hermit_build_info", "gauge", "Version of hermitd.");
	buf_printf(out, "hermit_build_info{version=\"%s\"} 1\n", build_version());
	put_recordings(out, d);
	put_space(out, d);
	put_children(out, d);
	put_process(out);
}
