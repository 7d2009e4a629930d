/* store/annotate: labels and keep marks of recordings in all states, with others at work on them. */
#include "store/annotate_priv.h"

#include <pthread.h>
#include "store/store_priv.h"
#include "tests/unit/store_help.h"

static void expect(struct store *s, const struct store_id *id, const char *label, bool keep)
{
	struct manifest m;

	manifest_init(&m);
	OK(manifest_load(s, id, &m, NULL));
	if (label)
		ck_assert_str_eq(m.label, label);
	else
		ck_assert_ptr_null(m.label);
	ck_assert_int_eq(m.keep, keep);
	manifest_done(&m);
}

START_TEST(finished)
{
	struct help_store h = help_open();
	struct store_id id = help_record_blobs(h.s, 1, 2), found;

	expect(h.s, &id, NULL, false);
	OK(store_annotate(h.s, &id, "one", -1, NULL));
	expect(h.s, &id, "one", false);
	OK(store_annotate(h.s, &id, NULL, 1, NULL));
	expect(h.s, &id, "one", true);
	OK(store_resolve(h.s, "one", &found, NULL));
	ck_assert_str_eq(found.hex, id.hex);
	OK(store_seal(h.s, &id, NULL, NULL, NULL));
	expect(h.s, &id, "one", true);
	OK(store_annotate(h.s, &id, "", 0, NULL));
	expect(h.s, &id, NULL, false);
	OK(store_verify(h.s, &id, NULL, NULL, NULL));
	OK(store_remove(h.s, &id, NULL));
	FAILS(ERR_NOT_FOUND, store_annotate(h.s, &id, "x", -1, NULL));
	FAILS(ERR_NOT_FOUND, store_note_verified(h.s, &id, NULL, NULL));
	help_close(&h);
}
END_TEST

/* A recorder that knows nothing of it writes its manifest later. */
START_TEST(live)
{
	struct help_store h = help_open();
	struct store_writer *w;
	struct manifest m;
	struct store_id id;

	help_manifest(&m);
	m.label = os_strdup("begun with");
	m.options = json_pack("{s:s}", "source", "daemon");
	OK(store_writer_new(h.s, &m, &w, NULL));
	id = *store_writer_id(w);
	expect(h.s, &id, "begun with", false);
	OK(store_annotate(h.s, &id, "renamed", 1, NULL));
	expect(h.s, &id, "renamed", true);
	OK(store_writer_event(w, &(struct event){ .kind = EVENT_END }));
	OK(store_writer_commit(w, &m, NULL));
	store_writer_free(w);
	manifest_done(&m);
	expect(h.s, &id, "renamed", true);
	manifest_init(&m);
	OK(manifest_load(h.s, &id, &m, NULL));
	ck_assert_str_eq(m.source, "daemon");
	manifest_done(&m);
	help_close(&h);
}
END_TEST

START_TEST(bad_labels)
{
	static const char *const bad[] = { "a/b", "a\nb", "\x7f", "\xff\xfe", "\xc3" };
	struct help_store h = help_open();
	struct store_id id = help_record(h.s, 1, 5);
	char longest[102];
	struct errinfo ei = { 0 };

	memset(longest, 'l', 101);
	longest[101] = '\0';
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
		FAILS(-EINVAL, store_annotate(h.s, &id, bad[i], -1, NULL));
	FAILS(-EINVAL, store_annotate(h.s, &id, longest, -1, &ei));
	ck_assert_ptr_nonnull(strstr(ei.text, "1 to 100 bytes"));
	longest[100] = '\0';
	OK(store_annotate(h.s, &id, longest, -1, NULL));
	expect(h.s, &id, longest, false);
	OK(store_annotate(h.s, &id, "\xc3\xa9t\xc3\xa9 <b>", -1, NULL));
	expect(h.s, &id, "\xc3\xa9t\xc3\xa9 <b>", false);
	help_close(&h);
}
END_TEST

/* What a stranger put there does not make the recording unreadable, and is not followed. */
START_TEST(bad_files)
{
	static const char *const texts[] = { "", "[1]", "{", "{\"label\":3,\"keep\":\"x\"}", "{\"label\":\"a/b\"}", "{\"keep\":1}" };
	struct help_store h = help_open();
	struct store_id id = help_record(h.s, 1, 5);
	char *path = help_path(&h, &id, NAME_ANNOTATIONS);
	char *big = calloc(1, 200000);

	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		help_spill(path, texts[i], strlen(texts[i]));
		expect(h.s, &id, NULL, false);
	}
	help_spill(path, big, 200000);
	expect(h.s, &id, NULL, false);
	OK(store_annotate(h.s, &id, "mended", -1, NULL));
	expect(h.s, &id, "mended", false);
	ck_assert_int_eq(unlink(path), 0);
	ck_assert_int_eq(mkfifo(path, 0600), 0);
	expect(h.s, &id, NULL, false);
	OK(store_annotate(h.s, &id, "mended", -1, NULL));
	expect(h.s, &id, "mended", false);
	free(big);
	free(path);
	help_close(&h);
}
END_TEST

struct work {
	char *dir;
	struct store_id id;
	int which, r;
};

static void *annotate(void *arg)
{
	struct work *w = arg;
	struct store *s;

	w->r = store_open(w->dir, false, &s, NULL);
	for (int i = 0; i < 40 && w->r == 0; i++)
		w->r = w->which ? store_annotate(s, &w->id, NULL, 1, NULL) : store_annotate(s, &w->id, "labelled", -1, NULL);
	store_free(s);
	return NULL;
}

static void *seal(void *arg)
{
	struct work *w = arg;
	struct store *s;

	w->r = store_open(w->dir, false, &s, NULL);
	if (w->r == 0)
		w->r = store_seal(s, &w->id, NULL, NULL, NULL);
	store_free(s);
	return NULL;
}

/* A sealer rewrites the manifest meanwhile; two change different things at once. Nothing is lost. */
START_TEST(concurrent)
{
	struct help_store h = help_open();
	struct work w[3];
	pthread_t t[3];

	for (uint64_t round = 0; round < 5; round++) {
		struct store_id id = help_record(h.s, round, 3000);

		for (int i = 0; i < 3; i++) {
			w[i] = (struct work){ .dir = h.dir, .id = id, .which = i };
			ck_assert_int_eq(pthread_create(&t[i], NULL, i == 2 ? seal : annotate, &w[i]), 0);
		}
		for (int i = 0; i < 3; i++) {
			pthread_join(t[i], NULL);
			OK(w[i].r);
		}
		expect(h.s, &id, "labelled", true);
		help_check(h.s, &id, round, 3000);
	}
	help_close(&h);
}
END_TEST

START_TEST(verified)
{
	struct help_store h = help_open();
	struct store_id id = help_record(h.s, 1, 5);
	char *dir, *error;
	uint64_t when, before = os_wall_ns();

	OK(store_path(h.s, &id, &dir));
	FAILS(-ENOENT, verified_load(dir, &when, &error));
	OK(store_note_verified(h.s, &id, NULL, NULL));
	OK(verified_load(dir, &when, &error));
	ck_assert(when >= before && when <= os_wall_ns());
	ck_assert_ptr_null(error);
	OK(store_note_verified(h.s, &id, "bad \xff frame", NULL));
	OK(verified_load(dir, &when, &error));
	ck_assert_str_eq(error, "bad \xef\xbf\xbd frame");
	free(error);
	free(dir);
	help_close(&h);
}
END_TEST

START_TEST(imported)
{
	struct help_store h = help_open(), other = help_open();
	struct store_id id = help_record_blobs(h.s, 1, 2);
	char *path = os_asprintf("%s/tar", other.dir);
	struct manifest m;
	int fd = os_open(path, O_RDWR | O_CREAT, 0600);

	OK(fd);
	OK(store_annotate(h.s, &id, "as seen", 1, NULL));
	OK(store_export(h.s, &id, fd, NULL, NULL, NULL));
	ck_assert_int_eq(lseek(fd, 0, SEEK_SET), 0);
	OK(store_import(other.s, fd, &id, NULL, NULL, NULL));
	manifest_init(&m);
	OK(manifest_load(other.s, &id, &m, NULL));
	ck_assert_str_eq(m.source, "import");
	/* keep marks are of a store, labels of a recording */
	ck_assert_str_eq(m.label, "as seen");
	ck_assert(!m.keep);
	manifest_done(&m);
	os_close(fd);
	free(path);
	help_close(&h);
	help_close(&other);
}
END_TEST

/* Each blob counts once, at the first who needs it. */
START_TEST(shares)
{
	struct help_store h = help_open();
	struct store_id id[3];
	uint64_t share[3], own, blobs, all, sum = 0;

	id[0] = help_record_blobs(h.s, 1, 2);
	id[1] = help_record_blobs(h.s, 1, 3); /* two of them are those of the first */
	memset(id[2].hex, 'e', STORE_ID_LEN);
	id[2].hex[STORE_ID_LEN] = '\0';
	OK(store_shares(h.s, id, 3, share));
	OK(store_usage(h.s, &id[0], &own, &blobs));
	ck_assert_uint_eq(share[0], own + blobs);
	sum += own + blobs;
	OK(store_usage(h.s, &id[1], &own, &blobs));
	ck_assert_uint_eq(share[1], own + strlen("blob 1 2"));
	ck_assert_uint_eq(share[2], 0);
	OK(store_blobs_usage(h.s, &all));
	ck_assert_uint_eq(all, blobs);
	ck_assert_uint_lt(share[0] + share[1], sum + own + blobs);
	help_close(&h);
}
END_TEST

TEST_MAIN("store_annotate", finished, live, bad_labels, bad_files, concurrent, verified, imported, shares)
