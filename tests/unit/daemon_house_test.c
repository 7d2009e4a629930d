/* daemon/house: what goes, what stays, what is done about recordings that were left, and about a full disk. */
#include "daemon/house_priv.h"

#include <errno.h>
#include <sys/file.h>
#include "daemon/jobs_priv.h"
#include "tests/unit/daemon_help.h"

#define S 1000000000ull

/* --- retention --- */

struct choice {
	const char *items; /* newest first: one letter each, K and L are spared */
	uint64_t age_step, bytes, max_age, max_size;
	const char *want; /* . stays, a age, s size */
};

START_TEST(retention)
{
	static const struct choice cases[] = {
		{ "", 10, 5, 1, 1, "" },
		{ "rrr", 10, 5, 0, 0, "..." },
		/* ages are 0, 10, 20 s ... */
		{ "rrrr", 10, 5, 20, 0, "..aa" },
		{ "rrrr", 10, 5, 21, 0, "...a" },
		{ "rrrr", 10, 5, 1000, 0, "...." },
		{ "rrKr", 10, 5, 20, 0, "...a" },
		{ "rLKL", 10, 5, 1, 0, "...." },
		{ "rrrr", 10, 5, 0, 20, "...." },
		{ "rrrr", 10, 5, 0, 19, "...s" },
		{ "rrrr", 10, 5, 0, 10, "..ss" },
		{ "rrrr", 10, 5, 0, 4, "ssss" },
		/* spared ones count, so others go in their place */
		{ "rrrK", 10, 5, 0, 10, ".ss." },
		{ "KKKr", 10, 5, 0, 1, "...s" },
		{ "KKKK", 10, 5, 0, 1, "...." },
		/* what is too old goes first, and then counts no more */
		{ "rrrr", 10, 5, 30, 15, "...a" },
		{ "rrrr", 10, 5, 30, 14, "..sa" },
	};

	for (size_t c = 0; c < ARRAY_SIZE(cases); c++) {
		size_t n = strlen(cases[c].items);
		struct retention_item items[8];
		enum retention_why why[8];

		for (size_t i = 0; i < n; i++)
			items[i] = (struct retention_item){ .start_ns = (1000 - cases[c].age_step * i) * S, .bytes = cases[c].bytes,
							    .spared = cases[c].items[i] != 'r' };
		retention_choose(items, n, 1000 * S, cases[c].max_age, cases[c].max_size, why);
		for (size_t i = 0; i < n; i++)
			ck_assert_msg(".as"[why[i]] == cases[c].want[i], "case %zu, item %zu: %c", c, i, ".as"[why[i]]);
	}
}
END_TEST

START_TEST(retention_extremes)
{
	struct retention_item items[2] = { { .start_ns = UINT64_MAX, .bytes = UINT64_MAX }, { .start_ns = 0, .bytes = UINT64_MAX } };
	enum retention_why why[2];

	/* begun in the future, and sums that overflow */
	retention_choose(items, 2, 5, 1, 10, why);
	ck_assert_int_eq(why[0], RETENTION_SIZE);
	ck_assert_int_eq(why[1], RETENTION_SIZE);
	retention_choose(items, 2, 5, 1, 0, why);
	ck_assert_int_eq(why[0], RETENTION_STAYS);
	ck_assert_int_eq(why[1], RETENTION_STAYS);
}
END_TEST

START_TEST(scan)
{
	struct catalog_entry e[4] = {
		{ .state = RECORDING_SEALED, .verified_ns = 90 * S },
		{ .state = RECORDING_OPEN, .live = true },
		{ .state = RECORDING_COMPLETE, .verified_ns = 50 * S },
		{ .state = RECORDING_COMPLETE, .broken = true },
	};
	const struct catalog_entry *p[4] = { &e[0], &e[1], &e[2], &e[3] };
	struct catalog_view v = { .n = 4, .entry = p };

	ck_assert_int_eq(scan_choose(&v, 100 * S, 0), -1);
	ck_assert_int_eq(scan_choose(&v, 100 * S, 51), -1);
	ck_assert_int_eq(scan_choose(&v, 100 * S, 50), 2);
	ck_assert_int_eq(scan_choose(&v, 100 * S, 5), 2);
	e[2].verified_ns = 99 * S;
	ck_assert_int_eq(scan_choose(&v, 100 * S, 5), 0);
	/* found damaged before: it may have been mended */
	e[3].verified_ns = 1;
	ck_assert_int_eq(scan_choose(&v, 100 * S, 5), 3);
	ck_assert_uint_eq(scan_pause_ns(0, 1), S);
	ck_assert_uint_eq(scan_pause_ns(1000000, 86400), S);
	ck_assert_uint_eq(scan_pause_ns(1, 86400 * 30), 3600 * S);
	ck_assert_uint_le(scan_pause_ns(2000, 86400 * 30) * 2000, 86400ull * 30 * S);
}
END_TEST

/* --- the house, without its thread --- */

struct disk {
	uint64_t free;
};

static int disk_free(void *ctx, const char *dir UNUSED, uint64_t *ret)
{
	*ret = ((struct disk *)ctx)->free;
	return 0;
}

static struct disk disk;

static void begin(struct help_daemon *hd)
{
	help_daemon_begin(hd, "echo \"$5 $6\" >> \"$4/ran\"");
	disk.free = 100ull << 30;
	OK(jobs_new(&hd->d, &hd->d.jobs));
	OK(recorders_new(&hd->d, &hd->d.recorders));
	OK(house_make(&hd->d, &hd->d.house));
	house_set_free(hd->d.house, disk_free, &disk);
}

static void end(struct help_daemon *hd)
{
	house_free(hd->d.house);
	hd->d.house = NULL;
	recorders_free(hd->d.recorders);
	jobs_free(hd->d.jobs);
	help_daemon_end(hd);
}

/* One round at that time behind now; then all that it ordered. */
static void round_at(struct help_daemon *hd, uint64_t after)
{
	house_round(hd->d.house, os_mono_ns() + after, os_wall_ns() + after);
	while (loop_step(hd->d.loop, 0) > 0)
		;
	HELP_UNTIL(hd, jobs_count(hd->d.jobs, JOB_QUEUED) == 0 && jobs_count(hd->d.jobs, JOB_RUNNING) == 0);
}

static char *ran(struct help_daemon *hd)
{
	char *path = os_asprintf("%s/ran", hd->h.dir), *text;
	size_t n;

	if (os_read_file(path, 1 << 20, &text, &n) < 0)
		text = strdup("");
	(void)unlink(path);
	free(path);
	return text;
}

#define RAN(hd, ...) \
	do { \
		char *want_ = os_asprintf(__VA_ARGS__), *got_ = ran(hd); \
\
		ck_assert_str_eq(got_, want_); \
		free(want_); \
		free(got_); \
	} while (0)

static unsigned count(struct help_daemon *hd)
{
	const struct catalog_view *v = catalog_get(hd->d.catalog);
	unsigned n = (unsigned)v->n;

	catalog_put(hd->d.catalog, v);
	return n;
}

START_TEST(seals)
{
	struct help_daemon hd;
	struct store_id a, b;
	int lock;
	char *path;

	begin(&hd);
	hd.cfg.scan_every_s = 0;
	a = help_record(hd.h.s, 1, 5);
	house_ended(hd.d.house, &a);
	round_at(&hd, 0);
	RAN(&hd, "seal %s\n", a.hex);
	/* the fake has not done it: that recording was left */
	b = help_record(hd.h.s, 2, 5);
	round_at(&hd, 300 * S);
	RAN(&hd, "%s", "");
	OK(store_seal(hd.h.s, &a, NULL, NULL, NULL));
	path = help_path(&hd.h, &b, "lock");
	lock = os_open(path, O_RDWR, 0);
	OK(lock);
	ck_assert_int_eq(flock(lock, LOCK_SH), 0);
	round_at(&hd, 700 * S);
	RAN(&hd, "%s", "");
	os_close(lock);
	round_at(&hd, 800 * S);
	RAN(&hd, "seal %s\n", b.hex);
	free(path);
	end(&hd);
}
END_TEST

/* One that cannot be sealed is not tried for ever. */
START_TEST(seal_fails)
{
	struct help_daemon hd;
	struct store_id a;

	begin(&hd);
	hd.cfg.scan_every_s = 0;
	help_spill(hd.script, "#!/bin/sh\necho \"$5 $6\" >> \"$4/ran\"; exit 1\n", strlen("#!/bin/sh\necho \"$5 $6\" >> \"$4/ran\"; exit 1\n"));
	a = help_record(hd.h.s, 1, 5);
	round_at(&hd, 700 * S);
	RAN(&hd, "seal %s\n", a.hex);
	round_at(&hd, 800 * S);
	RAN(&hd, "%s", "");
	end(&hd);
}
END_TEST

START_TEST(removes)
{
	struct help_daemon hd;
	struct store_id a, b, c, d;
	const struct catalog_view *v;

	begin(&hd);
	hd.cfg.scan_every_s = 0;
	a = help_record_blobs(hd.h.s, 1, 2);
	b = help_record_blobs(hd.h.s, 1, 2);
	c = help_record_blobs(hd.h.s, 1, 2);
	d = help_record_blobs(hd.h.s, 2, 2);
	OK(store_annotate(hd.h.s, &a, NULL, 1, NULL));
	round_at(&hd, 100 * S);
	ck_assert_uint_eq(count(&hd), 4);
	hd.cfg.max_size = 1;
	round_at(&hd, 110 * S);
	ck_assert_uint_eq(count(&hd), 4); /* it looks every 30 s */
	round_at(&hd, 140 * S);
	v = catalog_get(hd.d.catalog);
	ck_assert_uint_eq(v->n, 1);
	ck_assert_ptr_nonnull(catalog_find(v, &a));
	ck_assert_ptr_null(catalog_find(v, &b));
	ck_assert_ptr_null(catalog_find(v, &c));
	ck_assert_ptr_null(catalog_find(v, &d));
	catalog_put(hd.d.catalog, v);
	free(ran(&hd));
	/* its blobs go when they are old enough */
	round_at(&hd, 300 * S);
	RAN(&hd, "%s", "");
	OK(store_annotate(hd.h.s, &a, NULL, 0, NULL));
	hd.cfg.max_size = 0;
	hd.cfg.max_age_s = 4000;
	round_at(&hd, 3900 * S);
	ck_assert_uint_eq(count(&hd), 1);
	free(ran(&hd));
	round_at(&hd, 4300 * S);
	ck_assert_uint_eq(count(&hd), 0);
	{
		char *text = ran(&hd);

		ck_assert_ptr_nonnull(strstr(text, "gc"));
		free(text);
	}
	end(&hd);
}
END_TEST

START_TEST(read_only)
{
	struct help_daemon hd;
	struct store_writer *w;
	struct manifest m;
	struct store_id a;
	const struct catalog_view *v;
	char asked[600];

	begin(&hd);
	hd.cfg.read_only = true;
	hd.cfg.max_age_s = 1;
	hd.cfg.scan_every_s = 1;
	hd.cfg.disk_floor = 1ull << 30;
	disk.free = 200 << 20;
	help_manifest(&m);
	OK(store_writer_new(hd.h.s, &m, &w, NULL));
	a = help_record(hd.h.s, 1, 5);
	house_ended(hd.d.house, &a);
	round_at(&hd, 10000 * S);
	ck_assert_uint_eq(count(&hd), 2);
	RAN(&hd, "%s", "");
	ck_assert(house_disk_low(hd.d.house));
	ck_assert_int_eq(store_writer_asked(w, asked, sizeof(asked)), 0);
	/* what a dead recorder has left can be read */
	store_writer_free(w);
	round_at(&hd, 10001 * S);
	round_at(&hd, 10005 * S);
	v = catalog_get(hd.d.catalog);
	for (size_t i = 0; i < v->n; i++)
		ck_assert_int_ne(v->entry[i]->state, RECORDING_OPEN);
	catalog_put(hd.d.catalog, v);
	RAN(&hd, "%s", "");
	manifest_done(&m);
	end(&hd);
}
END_TEST

START_TEST(scans)
{
	struct help_daemon hd;
	struct store_id a, b;

	begin(&hd);
	a = help_record_blobs(hd.h.s, 1, 1);
	b = help_record_blobs(hd.h.s, 2, 1);
	OK(store_seal(hd.h.s, &a, NULL, NULL, NULL));
	OK(store_seal(hd.h.s, &b, NULL, NULL, NULL));
	OK(store_note_verified(hd.h.s, &a, NULL, NULL));
	round_at(&hd, 10 * S);
	RAN(&hd, "%s", "");
	round_at(&hd, 100 * S);
	RAN(&hd, "scan %s\n", b.hex);
	OK(store_note_verified(hd.h.s, &b, NULL, NULL));
	round_at(&hd, 4000 * S);
	RAN(&hd, "%s", "");
	round_at(&hd, (31 * 86400) * S);
	RAN(&hd, "scan %s\n", a.hex);
	end(&hd);
}
END_TEST

START_TEST(dead_recorder)
{
	struct help_daemon hd;
	struct store_writer *w;
	struct manifest m;
	const struct catalog_view *v;

	begin(&hd);
	help_manifest(&m);
	OK(store_writer_new(hd.h.s, &m, &w, NULL));
	round_at(&hd, 0);
	round_at(&hd, 10 * S);
	v = catalog_get(hd.d.catalog);
	ck_assert(v->n == 1 && v->entry[0]->live);
	catalog_put(hd.d.catalog, v);
	store_writer_free(w);
	round_at(&hd, 11 * S);
	round_at(&hd, 12 * S);
	v = catalog_get(hd.d.catalog);
	ck_assert_int_eq(v->entry[0]->state, RECORDING_OPEN);
	catalog_put(hd.d.catalog, v);
	round_at(&hd, 15 * S);
	v = catalog_get(hd.d.catalog);
	ck_assert_int_eq(v->entry[0]->state, RECORDING_TRUNCATED);
	catalog_put(hd.d.catalog, v);
	manifest_done(&m);
	end(&hd);
}
END_TEST

START_TEST(full_disk)
{
	struct errinfo ei = { 0 };
	struct help_daemon hd;
	struct store_writer *w;
	struct manifest m;
	char asked[600];

	begin(&hd);
	hd.cfg.disk_floor = 1ull << 30;
	help_manifest(&m);
	/* somebody else's recording in the same store */
	OK(store_writer_new(hd.h.s, &m, &w, NULL));
	round_at(&hd, 0);
	ck_assert(!house_disk_low(hd.d.house));
	OK(house_disk_refusal(hd.d.house, &ei));
	ck_assert_int_eq(store_writer_asked(w, asked, sizeof(asked)), 0);
	disk.free = 200 << 20;
	/* at once, not at the next round */
	FAILS(-ENOSPC, house_disk_refusal(hd.d.house, &ei));
	ck_assert_str_eq(ei.text, "the disk is full: 200 MiB are free, hermitd keeps 1.0 GiB (disk_floor)");
	round_at(&hd, 1 * S);
	ck_assert_int_eq(store_writer_asked(w, asked, sizeof(asked)), 1);
	ck_assert_str_eq(asked, "cut the disk is full: 200 MiB are free, hermitd keeps 1.0 GiB (disk_floor)");
	disk.free = 2ull << 30;
	round_at(&hd, 2 * S);
	OK(house_disk_refusal(hd.d.house, NULL));
	hd.cfg.disk_floor = 0;
	disk.free = 0;
	round_at(&hd, 3 * S);
	ck_assert(!house_disk_low(hd.d.house));
	store_writer_free(w);
	manifest_done(&m);
	end(&hd);
}
END_TEST

static void expect_recording(struct help_daemon *hd, uint64_t *at, const struct store_id *id, const char *what)
{
	for (;;) {
		struct feed_message msg;
		json_t *j;
		bool found;

		ck_assert_msg(feed_wait(hd->d.feed, *at, 10000, &msg) == 1, "nothing told of %s", what);
		*at = msg.id;
		OK(jsonx_parse(msg.json, strlen(msg.json), &j, NULL));
		found = strcmp(msg.type, "recording") == 0 && strcmp(help_text(j, "id"), id->hex) == 0 && strcmp(help_text(j, "what"), what) == 0;
		json_decref(j);
		free(msg.json);
		if (found)
			return;
	}
}

/* With its thread: changes by others are told soon. */
START_TEST(tells)
{
	struct help_daemon hd;
	struct store_id id;
	uint64_t at = 0, t0;

	help_daemon_begin(&hd, "exit 0");
	OK(jobs_new(&hd.d, &hd.d.jobs));
	OK(recorders_new(&hd.d, &hd.d.recorders));
	OK(house_new(&hd.d, &hd.d.house));
	help_daemon_run(&hd);
	t0 = os_mono_ns();
	id = help_record(hd.h.s, 1, 5);
	expect_recording(&hd, &at, &id, "added");
	OK(store_annotate(hd.h.s, &id, "x", -1, NULL));
	daemon_refresh(&hd.d);
	expect_recording(&hd, &at, &id, "changed");
	OK(store_remove(hd.h.s, &id, NULL));
	expect_recording(&hd, &at, &id, "removed");
	ck_assert_uint_lt(os_mono_ns() - t0, 8 * S);
	help_daemon_stop(&hd);
	end(&hd);
}
END_TEST

TEST_MAIN("daemon_house", retention, retention_extremes, scan, seals, seal_fails, removes, read_only, scans, dead_recorder, full_disk, tells)
