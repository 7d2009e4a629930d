/* store/catalog: what changes is told once, hostile directories are no recordings, readers never see half a thing. */
#include "store/catalog.h"

#include <pthread.h>
#include <sys/file.h>
#include "store/store_priv.h"
#include "tests/unit/store_help.h"

struct told {
	unsigned added, changed, removed;
	struct store_id last;
	char label[200];
	uint64_t events;
};

static void tell(void *ctx, enum catalog_change what, const struct catalog_entry *e)
{
	struct told *t = ctx;

	t->added += what == CATALOG_ADDED;
	t->changed += what == CATALOG_CHANGED;
	t->removed += what == CATALOG_REMOVED;
	t->last = e->id;
	t->events = e->events;
	(void)snprintf(t->label, sizeof(t->label), "%s", e->label);
}

static struct told refresh(struct catalog *c)
{
	struct told t = { 0 };

	OK(catalog_refresh(c, tell, &t));
	return t;
}

#define TOLD(c, a, ch, rm) \
	({ \
		struct told told_ = refresh(c); \
\
		ck_assert_uint_eq(told_.added, a); \
		ck_assert_uint_eq(told_.changed, ch); \
		ck_assert_uint_eq(told_.removed, rm); \
		told_; \
	})

static struct catalog *open_catalog(const char *dir)
{
	struct catalog *c;

	OK(catalog_new(dir, &c, NULL));
	return c;
}

START_TEST(changes)
{
	struct help_store h = help_open();
	struct store_id a = help_record(h.s, 1, 20), b;
	struct catalog *c = open_catalog(h.dir);
	const struct catalog_view *before, *v = catalog_get(c);
	const struct catalog_entry *e = catalog_find(v, &a);
	struct told t;

	ck_assert_uint_eq(v->n, 1);
	ck_assert_uint_eq(e->events, 20);
	ck_assert_str_eq(e->command, "/bin/test");
	ck_assert_str_eq(e->program, "test");
	ck_assert_str_eq(e->source, "local");
	ck_assert_str_eq(e->error, "");
	ck_assert(!e->live && !e->broken && !e->keep && e->state == RECORDING_COMPLETE && e->bytes > 128);
	TOLD(c, 0, 0, 0);
	before = v;
	b = help_record(h.s, 2, 5);
	t = TOLD(c, 1, 0, 0);
	ck_assert_str_eq(t.last.hex, b.hex);
	v = catalog_get(c);
	/* newest first; the old view is as it was */
	ck_assert_uint_eq(v->n, 2);
	ck_assert_str_eq(v->entry[0]->id.hex, b.hex);
	ck_assert_uint_eq(before->n, 1);
	ck_assert(v->version > before->version);
	ck_assert_ptr_eq(catalog_find(v, &a), catalog_find(before, &a));
	catalog_put(c, before);
	OK(store_annotate(h.s, &a, "label", 1, NULL));
	t = TOLD(c, 0, 1, 0);
	ck_assert_str_eq(t.label, "label");
	before = v;
	v = catalog_get(c);
	ck_assert(catalog_find(v, &a)->keep && !catalog_find(before, &a)->keep);
	ck_assert(catalog_find(v, &a)->version > catalog_find(before, &a)->version);
	ck_assert_uint_eq(catalog_find(v, &b)->version, catalog_find(before, &b)->version);
	catalog_put(c, before);
	catalog_put(c, v);
	OK(store_seal(h.s, &a, NULL, NULL, NULL));
	TOLD(c, 0, 1, 0);
	OK(store_note_verified(h.s, &a, "bad frame", NULL));
	TOLD(c, 0, 1, 0);
	v = catalog_get(c);
	e = catalog_find(v, &a);
	ck_assert(e->state == RECORDING_SEALED && e->compressed && e->broken && e->verified_ns > 0);
	ck_assert_str_eq(e->error, "bad frame");
	ck_assert_str_eq(e->label, "label");
	catalog_put(c, v);
	OK(store_remove(h.s, &a, NULL));
	t = TOLD(c, 0, 0, 1);
	ck_assert_str_eq(t.last.hex, a.hex);
	v = catalog_get(c);
	ck_assert_ptr_null(catalog_find(v, &a));
	ck_assert_ptr_nonnull(catalog_find(v, &b));
	catalog_put(c, v);
	TOLD(c, 0, 0, 0);
	catalog_free(c);
	help_close(&h);
}
END_TEST

/* Frames show as they are flushed; end and death of a recorder show too. */
START_TEST(live)
{
	struct help_store h = help_open();
	struct catalog *c = open_catalog(h.dir);
	const struct catalog_view *v;
	struct store_writer *w;
	struct help_event ev;
	struct manifest m;
	struct store_id id;
	uint64_t bytes;

	help_manifest(&m);
	OK(store_writer_new(h.s, &m, &w, NULL));
	id = *store_writer_id(w);
	TOLD(c, 1, 0, 0);
	v = catalog_get(c);
	ck_assert(v->n == 1 && v->entry[0]->live && v->entry[0]->state == RECORDING_OPEN && v->entry[0]->events == 0);
	ck_assert_uint_eq(v->entry[0]->threads, 1);
	catalog_put(c, v);
	for (uint64_t round = 0; round < 5; round++) {
		for (uint64_t i = 1; i <= 1000; i++) {
			help_event(7, round * 1000 + i, EVENT_INVALID, &ev);
			OK(store_writer_event(w, &ev.ev));
		}
		OK(store_writer_flush(w));
		ck_assert_uint_eq(TOLD(c, 0, 1, 0).events, (round + 1) * 1000);
		TOLD(c, 0, 0, 0);
	}
	v = catalog_get(c);
	bytes = v->entry[0]->bytes;
	ck_assert_uint_eq(bytes, store_writer_bytes(w) - 2 * 56);
	ck_assert(v->entry[0]->duration_ns > 0);
	catalog_put(c, v);
	OK(store_writer_commit(w, &m, NULL));
	store_writer_free(w);
	ck_assert_uint_eq(TOLD(c, 0, 1, 0).events, 5000);
	v = catalog_get(c);
	ck_assert(!v->entry[0]->live && v->entry[0]->state == RECORDING_COMPLETE);
	ck_assert_uint_eq(v->entry[0]->bytes, bytes);
	catalog_put(c, v);
	/* a recorder that dies */
	OK(store_writer_new(h.s, &m, &w, NULL));
	id = *store_writer_id(w);
	TOLD(c, 1, 0, 0);
	store_writer_free(w);
	TOLD(c, 0, 1, 0);
	v = catalog_get(c);
	ck_assert(!catalog_find(v, &id)->live && catalog_find(v, &id)->state == RECORDING_OPEN);
	catalog_put(c, v);
	ck_assert_int_eq(store_recover(h.s), 1);
	TOLD(c, 0, 1, 0);
	v = catalog_get(c);
	ck_assert_int_eq(catalog_find(v, &id)->state, RECORDING_TRUNCATED);
	ck_assert_str_ne(catalog_find(v, &id)->reason, "");
	catalog_put(c, v);
	manifest_done(&m);
	catalog_free(c);
	help_close(&h);
}
END_TEST

#define FAKE "00000000000000000000000000000001"

START_TEST(hostile)
{
	struct help_store h = help_open(), elsewhere = help_open();
	struct store_id good = help_record(h.s, 1, 5), other = help_record(elsewhere.s, 1, 5), fake;
	char *path = os_asprintf("%s/" FAKE, h.dir), *inside = os_asprintf("%s/" FAKE "/manifest.json", h.dir);
	char *target = os_asprintf("%s/%s", elsewhere.dir, other.hex), *junk = os_asprintf("%s/not an id", h.dir);
	char *manifest = os_asprintf("%s/manifest.json", target);
	struct catalog *c;
	const struct catalog_view *v;

	memcpy(fake.hex, FAKE, sizeof(fake.hex));
	ck_assert_int_eq(mkdir(junk, 0700), 0);
	/* a link to a directory, a file, a pipe */
	ck_assert_int_eq(symlink(target, path), 0);
	c = open_catalog(h.dir);
	v = catalog_get(c);
	ck_assert_uint_eq(v->n, 1);
	ck_assert_ptr_nonnull(catalog_find(v, &good));
	catalog_put(c, v);
	ck_assert_int_eq(unlink(path), 0);
	help_spill(path, "x", 1);
	TOLD(c, 0, 0, 0);
	ck_assert_int_eq(unlink(path), 0);
	ck_assert_int_eq(mkfifo(path, 0600), 0);
	TOLD(c, 0, 0, 0);
	ck_assert_int_eq(unlink(path), 0);
	/* directories: empty, with a manifest that is a link, a pipe, of another recording, rubbish, too new */
	ck_assert_int_eq(mkdir(path, 0700), 0);
	TOLD(c, 1, 0, 0);
	v = catalog_get(c);
	ck_assert(catalog_find(v, &fake)->broken && catalog_find(v, &fake)->start_wall_ns > 0);
	ck_assert_ptr_nonnull(strstr(catalog_find(v, &fake)->error, "manifest.json"));
	catalog_put(c, v);
	ck_assert_int_eq(symlink(manifest, inside), 0);
	TOLD(c, 0, 1, 0);
	v = catalog_get(c);
	ck_assert_ptr_nonnull(strstr(catalog_find(v, &fake)->error, "no regular file"));
	catalog_put(c, v);
	ck_assert_int_eq(unlink(inside), 0);
	ck_assert_int_eq(mkfifo(inside, 0600), 0);
	TOLD(c, 0, 0, 0);
	ck_assert_int_eq(unlink(inside), 0);
	ck_assert_int_eq(link(manifest, inside), 0);
	TOLD(c, 0, 1, 0);
	v = catalog_get(c);
	ck_assert_ptr_nonnull(strstr(catalog_find(v, &fake)->error, "another recording"));
	catalog_put(c, v);
	ck_assert_int_eq(unlink(inside), 0);
	help_spill(inside, "{\"format\": {\"major\": 99, \"minor\": 0}}", 37);
	TOLD(c, 0, 1, 0);
	v = catalog_get(c);
	ck_assert_ptr_nonnull(strstr(catalog_find(v, &fake)->error, "99.0"));
	ck_assert_uint_eq(v->n, 2);
	catalog_put(c, v);
	help_remove(path);
	TOLD(c, 0, 0, 1);
	free(path);
	free(inside);
	free(target);
	free(junk);
	free(manifest);
	catalog_free(c);
	help_close(&h);
	help_close(&elsewhere);
}
END_TEST

START_TEST(no_store)
{
	struct errinfo ei = { 0 };
	struct help_store h = help_open();
	const struct catalog_view *v;
	struct catalog *c;

	FAILS(-ENOENT, catalog_new("/does/not/exist", &c, &ei));
	ck_assert_ptr_nonnull(strstr(ei.text, "/does/not/exist"));
	(void)help_record(h.s, 1, 5);
	c = open_catalog(h.dir);
	help_remove(h.dir);
	/* a disk that has gone is no empty store */
	FAILS(-ENOENT, catalog_refresh(c, NULL, NULL));
	v = catalog_get(c);
	ck_assert_uint_eq(v->n, 1);
	catalog_put(c, v);
	catalog_free(c);
	help_close(&h);
}
END_TEST

START_TEST(command)
{
	struct help_store h = help_open();
	struct store_writer *w;
	struct manifest m;
	struct catalog *c;
	const struct catalog_view *v;
	char *big = calloc(1, 6000);
	json_t *text;

	memset(big, 'a', 5999);
	memcpy(big + 4095, "\xc3\xa9", 2);
	help_manifest(&m);
	free(m.argv[0]);
	free(m.argv);
	m.argv = calloc(3, sizeof(char *));
	m.argv[0] = strdup("/x/");
	m.argv[1] = big;
	OK(store_writer_new(h.s, &m, &w, NULL));
	OK(store_writer_commit(w, &m, NULL));
	store_writer_free(w);
	c = open_catalog(h.dir);
	v = catalog_get(c);
	ck_assert(strlen(v->entry[0]->command) <= 4096);
	/* not cut in the middle of a character */
	text = json_string(v->entry[0]->command);
	ck_assert_ptr_nonnull(text);
	json_decref(text);
	ck_assert_str_eq(v->entry[0]->program, "/x/");
	catalog_put(c, v);
	manifest_done(&m);
	catalog_free(c);
	help_close(&h);
}
END_TEST

/* Two thousand recordings: one is real, the others are copies of its manifest under ids of their own. */
static void fill(struct help_store *h, unsigned n)
{
	struct store_id id = help_record(h->s, 1, 50);
	char *from = help_path(h, &id, "manifest.json");
	size_t len, at;
	char *text;

	OK(os_read_file(from, 1 << 20, &text, &len));
	at = (size_t)(strstr(text, id.hex) - text);
	for (unsigned i = 0; i < n; i++) {
		char *dir = os_asprintf("%s/%032x", h->dir, i + 1), *to = os_asprintf("%s/manifest.json", dir);
		char fake[33];

		(void)snprintf(fake, sizeof(fake), "%032x", i + 1);
		ck_assert_int_eq(mkdir(dir, 0700), 0);
		memcpy(text + at, fake, 32);
		help_spill(to, text, len);
		free(dir);
		free(to);
	}
	free(from);
	free(text);
}

START_TEST(many)
{
	struct help_store h = help_open();
	struct catalog *c;
	const struct catalog_view *v;
	uint64_t t0, fast = UINT64_MAX;

	fill(&h, 2000);
	t0 = os_mono_ns();
	c = open_catalog(h.dir);
	(void)fprintf(stderr, "first look at 2001 recordings: %llu ms\n", (unsigned long long)(os_mono_ns() - t0) / 1000000);
	v = catalog_get(c);
	ck_assert_uint_eq(v->n, 2001);
	for (size_t i = 0; i < v->n; i++) {
		ck_assert_ptr_eq(catalog_find(v, &v->entry[i]->id), v->entry[i]);
		ck_assert_msg(!v->entry[i]->broken, "%s", v->entry[i]->error);
	}
	catalog_put(c, v);
	usleep(2200000); /* until stat data are trusted */
	TOLD(c, 0, 0, 0);
	for (int i = 0; i < 5; i++) {
		t0 = os_mono_ns();
		TOLD(c, 0, 0, 0);
		fast = MIN(fast, os_mono_ns() - t0);
	}
	(void)fprintf(stderr, "further ones: %llu us\n", (unsigned long long)fast / 1000);
	ck_assert_uint_lt(fast, 200000000);
	catalog_free(c);
	help_close(&h);
}
END_TEST

struct reading {
	struct catalog *c;
	bool stop;
	uint64_t seen;
};

static void *read_on(void *arg)
{
	struct reading *r = arg;
	uint64_t version = 0;

	while (!__atomic_load_n(&r->stop, __ATOMIC_RELAXED)) {
		const struct catalog_view *v = catalog_get(r->c);

		if (v->version < version)
			return NULL;
		version = v->version;
		for (size_t i = 0; i < v->n; i++)
			r->seen += strlen(v->entry[i]->command) + strlen(v->entry[i]->label);
		catalog_put(r->c, v);
	}
	return r;
}

START_TEST(threads)
{
	struct help_store h = help_open();
	struct catalog *c = open_catalog(h.dir);
	struct reading r[3] = { 0 };
	pthread_t t[3];
	void *fine;

	for (int i = 0; i < 3; i++) {
		r[i].c = c;
		ck_assert_int_eq(pthread_create(&t[i], NULL, read_on, &r[i]), 0);
	}
	for (uint64_t i = 0; i < 100; i++) {
		struct store_id id = help_record(h.s, i, 3);

		TOLD(c, 1, 0, 0);
		OK(store_annotate(h.s, &id, "renamed", -1, NULL));
		TOLD(c, 0, 1, 0);
		if (i % 3 == 0) {
			OK(store_remove(h.s, &id, NULL));
			TOLD(c, 0, 0, 1);
		}
	}
	for (int i = 0; i < 3; i++) {
		__atomic_store_n(&r[i].stop, true, __ATOMIC_RELAXED);
		pthread_join(t[i], &fine);
		ck_assert_ptr_nonnull(fine);
		ck_assert_uint_gt(r[i].seen, 0);
	}
	catalog_free(c);
	help_close(&h);
}
END_TEST

TEST_MAIN("store_catalog", changes, live, hostile, no_store, command, many, threads)
