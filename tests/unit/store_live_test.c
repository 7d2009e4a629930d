/* store/live: who lives, what is asked of a recorder, recovery of one recording with a reason. */
#include "store/live.h"

#include "tests/unit/store_help.h"

/* A recorder with ten events of seed 3. */
static struct store_writer *record(struct help_store *h, struct store_id *ret_id)
{
	struct manifest m CLEANUP(manifest_done);
	struct help_event e;
	struct store_writer *w;

	help_manifest(&m);
	OK(store_writer_new(h->s, &m, &w, NULL));
	for (uint64_t n = 1; n <= 10; n++) {
		help_event(3, n, EVENT_INVALID, &e);
		OK(store_writer_event(w, &e.ev));
	}
	OK(store_writer_flush(w));
	*ret_id = *store_writer_id(w);
	return w;
}

static void expect(struct store_writer *w, const char *want)
{
	char line[STORE_ASK_MAX] = "";

	ck_assert_int_eq(store_writer_asked(w, line, sizeof(line)), *want != '\0');
	ck_assert_str_eq(line, want);
}

START_TEST(asking)
{
	struct help_store h = help_open();
	struct manifest m CLEANUP(manifest_done);
	struct store_writer *w;
	struct store_id id;
	char long_text[STORE_ASK_MAX + 1], *path;
	struct stat st;

	w = record(&h, &id);
	ck_assert(store_is_live(h.s, &id));
	expect(w, "");
	OK(store_ask(h.s, &id, "signal %d", 15));
	OK(store_ask(h.s, &id, "cut %s", "the disk is full"));
	expect(w, "signal 15");
	expect(w, "cut the disk is full");
	expect(w, "");
	OK(store_ask(h.s, &id, "%s", "")); /* an empty line is one, too */
	ck_assert_int_eq(store_writer_asked(w, long_text, sizeof(long_text)), 1);
	memset(long_text, 'x', sizeof(long_text));
	long_text[STORE_ASK_MAX - 1] = '\0';
	FAILS(ERR_LIMIT, store_ask(h.s, &id, "%s", long_text));
	long_text[STORE_ASK_MAX - 2] = '\0';
	OK(store_ask(h.s, &id, "%s", long_text));
	expect(w, long_text);
	FAILS(-EINVAL, store_ask(h.s, &id, "kill\ncut x"));
	expect(w, "");

	/* nothing of it stays */
	help_manifest(&m);
	OK(store_writer_commit(w, &m, NULL));
	store_writer_free(w);
	path = help_path(&h, &id, "lock");
	ck_assert_int_eq(stat(path, &st), 0);
	ck_assert_int_eq(st.st_size, 0);
	free(path);
	ck_assert(!store_is_live(h.s, &id));
	FAILS(-ESRCH, store_ask(h.s, &id, "kill"));
	help_close(&h);
}
END_TEST

/* What strangers write there is passed over, line by line, and a torn line is waited for. */
START_TEST(garbage)
{
	struct help_store h = help_open();
	struct store_writer *w;
	struct store_id id;
	char line[STORE_ASK_MAX], *path;
	int fd, n = 0;

	w = record(&h, &id);
	path = os_asprintf("%s/tmp/%s/lock", h.dir, id.hex);
	fd = open(path, O_WRONLY | O_APPEND);
	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(write(fd, "kil", 3), 3);
	expect(w, "");
	ck_assert_int_eq(write(fd, "l\n", 2), 2);
	expect(w, "kill");
	for (int i = 0; i < 3000; i++)
		ck_assert_int_eq(write(fd, "\0x", 2), 2);
	ck_assert_int_eq(write(fd, "\n", 1), 1);
	OK(store_ask(h.s, &id, "cut now"));
	do {
		line[0] = '\0';
		OK(store_writer_asked(w, line, sizeof(line)));
	} while (strcmp(line, "cut now") != 0 && ++n < 100);
	ck_assert_int_lt(n, 100);
	close(fd);
	free(path);
	store_writer_free(w);
	help_close(&h);
}
END_TEST

START_TEST(recover_with_reason)
{
	struct help_store h = help_open();
	struct manifest m CLEANUP(manifest_done);
	struct store_writer *w;
	struct store_id id;

	manifest_init(&m);
	w = record(&h, &id);
	ck_assert_int_eq(store_recover_one(h.s, &id, "killed"), 0); /* it lives */
	store_writer_free(w);
	ck_assert(!store_is_live(h.s, &id));
	FAILS(-ESRCH, store_ask(h.s, &id, "kill"));
	ck_assert_int_eq(store_recover_one(h.s, &id, "killed for want of memory"), 1);
	ck_assert_int_eq(store_recover_one(h.s, &id, "again"), 0);
	OK(manifest_load(h.s, &id, &m, NULL));
	ck_assert_int_eq(m.state, RECORDING_TRUNCATED);
	ck_assert_str_eq(m.reason, "killed for want of memory");
	ck_assert_uint_eq(m.events, 10);
	manifest_done(&m);

	/* recovered by somebody who did not know; a reason that is known stays */
	w = record(&h, &id);
	store_writer_free(w);
	ck_assert_int_eq(store_recover(h.s), 1);
	ck_assert_int_eq(store_recover_one(h.s, &id, "it crashed"), 0);
	ck_assert_int_eq(store_recover_one(h.s, &id, "it was killed"), 0);
	OK(manifest_load(h.s, &id, &m, NULL));
	ck_assert_str_eq(m.reason, "it crashed");
	help_close(&h);
}
END_TEST

HELP_MAIN("store_live", { asking, 1 }, { garbage, 1 }, { recover_with_reason, 1 })
