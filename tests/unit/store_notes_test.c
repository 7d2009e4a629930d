/* store/notes: adding, changing, limits; several processes at once; live, sealed, exported and imported recordings; strangers' files. */
#include "store/notes.h"

#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include "base/json.h"
#include "store/catalog.h"
#include "store/notes_priv.h"
#include "tests/unit/store_help.h"

static struct note sample(uint64_t event, const char *text)
{
	return (struct note){ .event = event, .thread = 3, .text = (char *)(uintptr_t)text, .author = (char *)(uintptr_t) "me" };
}

static int add(void *ctx, struct notes *n)
{
	int r = notes_add(n, ctx, NULL);

	return r < 0 ? r : 1;
}

static void put(struct store *s, const struct store_id *id, uint64_t event, const char *text)
{
	struct note n = sample(event, text);

	OK(notes_update(s, id, add, &n, NULL));
}

static size_t count(struct store *s, const struct store_id *id)
{
	struct notes n CLEANUP(notes_done) = { 0 };

	OK(notes_load(s, id, &n, NULL));
	return n.n;
}

START_TEST(changing)
{
	struct notes n CLEANUP(notes_done) = { 0 };
	struct note a = sample(20, "second"), b = sample(10, "first \xc3\xa4"), c = sample(20, "third"), *at;

	a.position = (char *)(uintptr_t) "20";
	OK(notes_add(&n, &a, &at));
	ck_assert_uint_eq(at->revision, 1);
	ck_assert_uint_eq(strlen(at->id), NOTE_ID_LEN);
	ck_assert_uint_gt(at->created_ns, 0);
	OK(notes_add(&n, &b, NULL));
	OK(notes_add(&n, &c, NULL));
	ck_assert_str_eq(n.v[0].text, "first \xc3\xa4");
	ck_assert_str_eq(n.v[1].position, "20");
	ck_assert_str_eq(n.v[2].text, "third");
	ck_assert_str_ne(n.v[0].id, n.v[1].id);
	at = notes_find(&n, n.v[1].id);
	OK(note_set_text(at, "changed"));
	ck_assert_uint_eq(at->revision, 2);
	ck_assert_str_eq(n.v[1].text, "changed");
	FAILS(-EINVAL, note_set_text(at, "\xff"));
	ck_assert_str_eq(n.v[1].text, "changed");
	notes_remove(&n, &n.v[0]);
	ck_assert_uint_eq(n.n, 2);
	ck_assert_str_eq(n.v[0].text, "changed");
	ck_assert_ptr_null(notes_find(&n, "0000000000000000"));
}
END_TEST

START_TEST(limits)
{
	struct notes n CLEANUP(notes_done) = { 0 };
	char *longest = malloc(NOTE_TEXT_MAX + 2);
	struct note a = sample(1, longest);

	memset(longest, 'x', NOTE_TEXT_MAX + 1);
	longest[NOTE_TEXT_MAX + 1] = '\0';
	FAILS(-EINVAL, notes_add(&n, &a, NULL));
	longest[NOTE_TEXT_MAX] = '\0';
	for (unsigned i = 0; i < NOTES_MAX; i++)
		OK(notes_add(&n, &a, NULL));
	FAILS(ERR_LIMIT, notes_add(&n, &a, NULL));
	ck_assert_uint_eq(n.n, NOTES_MAX);
	free(longest);
}
END_TEST

START_TEST(processes)
{
	struct help_store h = help_open();
	struct store_id id = help_record(h.s, 1, 20);

	for (int p = 0; p < 4; p++)
		if (fork() == 0) {
			struct store *s;

			OK(store_open(h.dir, false, &s, NULL));
			for (int i = 0; i < 25; i++)
				put(s, &id, (uint64_t)(p * 100 + i), "note");
			_exit(0);
		}
	for (int p = 0; p < 4; p++) {
		int status;

		ck_assert_int_gt(wait(&status), 0);
		ck_assert_int_eq(status, 0);
	}
	ck_assert_uint_eq(count(h.s, &id), 100);
	help_close(&h);
}
END_TEST

START_TEST(live)
{
	struct help_store h = help_open();
	struct store_writer *w;
	struct manifest m;
	struct store_id id;

	help_manifest(&m);
	OK(store_writer_new(h.s, &m, &w, NULL));
	id = *store_writer_id(w);
	ck_assert_uint_eq(count(h.s, &id), 0);
	put(h.s, &id, 1, "while it runs");
	OK(store_writer_event(w, &(struct event){ .kind = EVENT_END, .text = "" }));
	OK(store_writer_commit(w, &m, NULL));
	store_writer_free(w);
	manifest_done(&m);
	ck_assert_uint_eq(count(h.s, &id), 1);
	OK(store_seal(h.s, &id, NULL, NULL, NULL));
	ck_assert_uint_eq(count(h.s, &id), 1);
	OK(store_remove(h.s, &id, NULL));
	{
		struct notes n = { 0 };

		FAILS(ERR_NOT_FOUND, notes_load(h.s, &id, &n, NULL));
		FAILS(ERR_NOT_FOUND, notes_update(h.s, &id, add, NULL, NULL));
	}
	help_close(&h);
}
END_TEST

static void move(struct store *from, struct store *to, const struct store_id *id)
{
	struct store_id got;
	FILE *f = tmpfile();

	OK(store_export(from, id, fileno(f), NULL, NULL, NULL));
	rewind(f);
	OK(store_import(to, fileno(f), &got, NULL, NULL, NULL));
	ck_assert_str_eq(got.hex, id->hex);
	fclose(f);
}

START_TEST(exported)
{
	struct help_store h = help_open(), h2 = help_open();
	struct store_id id = help_record_blobs(h.s, 1, 2), plain = help_record_blobs(h.s, 2, 1);
	struct notes a CLEANUP(notes_done) = { 0 }, b CLEANUP(notes_done) = { 0 };
	struct manifest m CLEANUP(manifest_done);
	const struct catalog_view *view;
	struct catalog *c;

	manifest_init(&m);
	put(h.s, &id, 5, "here <b>");
	put(h.s, &id, 2, "there");
	move(h.s, h2.s, &id);
	move(h.s, h2.s, &plain);
	OK(notes_load(h.s, &id, &a, NULL));
	OK(notes_load(h2.s, &id, &b, NULL));
	ck_assert_uint_eq(b.n, 2);
	for (size_t i = 0; i < 2; i++) {
		ck_assert_str_eq(a.v[i].id, b.v[i].id);
		ck_assert_str_eq(a.v[i].text, b.v[i].text);
		ck_assert_uint_eq(a.v[i].created_ns, b.v[i].created_ns);
		ck_assert_uint_eq(a.v[i].event, b.v[i].event);
	}
	OK(manifest_load(h2.s, &id, &m, NULL));
	ck_assert(!m.extra || !json_object_get(m.extra, MEMBER_NOTES));
	ck_assert_uint_eq(count(h2.s, &plain), 0);
	OK(catalog_new(h2.dir, &c, NULL));
	view = catalog_get(c);
	ck_assert_uint_eq(catalog_find(view, &id)->bookmarks, 2);
	catalog_put(c, view);
	catalog_free(c);
	help_close(&h);
	help_close(&h2);
}
END_TEST

static const char *const hostile[] = {
	"{}", "[1]", "[{}]", "[{\"id\": \"0123456789abcdef\", \"event\": -1, \"text\": \"\"}]", "[{\"id\": \"../../../../../x\", \"event\": 1, \"text\": \"\"}]",
	"[{\"id\": \"0123456789abcdef\", \"event\": 1}]", "[{\"id\": \"0123456789abcdef\", \"event\": 1, \"text\": \"\", \"thread\": 4294967296}]",
	"[{\"id\": \"0123456789abcdef\", \"event\": 1, \"text\": \"\"}, {\"id\": \"0123456789abcdef\", \"event\": 2, \"text\": \"\"}]",
	"[{\"id\": \"0123456789abcdef\", \"event\": 1, \"text\": []}]",
};

START_TEST(strangers)
{
	struct help_store h = help_open();
	struct store_id id = help_record(h.s, 1, 20);
	struct notes n = { 0 };
	json_t *j CLEANUP(jsonx_unrefp) = NULL;
	char *path CLEANUP(freep) = os_asprintf("%s/%s/" NAME_NOTES, h.dir, id.hex);
	char *text CLEANUP(freep) = os_asprintf("{\"items\": %s}", hostile[_i]);

	OK(jsonx_parse(hostile[_i], strlen(hostile[_i]), &j, NULL));
	FAILS(ERR_CORRUPT, notes_from_json(j, &n, NULL));
	OK(os_write_file_atomic(path, text, strlen(text), 0600));
	FAILS(ERR_CORRUPT, notes_load(h.s, &id, &n, NULL));
	FAILS(ERR_CORRUPT, notes_update(h.s, &id, add, NULL, NULL));
	ck_assert_int_eq(unlink(path), 0);
	ck_assert_int_eq(symlink("/etc/passwd", path), 0);
	FAILS(ERR_CORRUPT, notes_load(h.s, &id, &n, NULL));
	ck_assert_uint_eq(n.n, 0);
	help_close(&h);
}
END_TEST

HELP_MAIN("store_notes", { changing, 1 }, { limits, 1 }, { processes, 1 }, { live, 1 }, { exported, 1 }, { strangers, ARRAY_SIZE(hostile) })
