/* store/store, recover, gc: the directory and what lies in it. */
#include "store/store.h"

#include <sys/file.h>
#include <sys/wait.h>
#include <time.h>
#include <utime.h>
#include "store/manifest_priv.h"
#include "store/reader.h"
#include "store/store_priv.h"
#include "tests/unit/store_help.h"

static void check_default(const char *want)
{
	char *got;

	OK(store_default_dir(NULL, &got));
	ck_assert_str_eq(got, want);
	free(got);
}

START_TEST(default_dir)
{
	char *got;

	setenv("HERMIT_DATA_DIR", "/a", 1);
	setenv("XDG_DATA_HOME", "/b", 1);
	setenv("HOME", "/c", 1);
	check_default("/a");
	OK(store_default_dir("d", &got));
	ck_assert_str_eq(got, "d");
	free(got);
	setenv("HERMIT_DATA_DIR", "", 1);
	check_default("/b/hermit");
	setenv("XDG_DATA_HOME", "not/absolute", 1);
	check_default("/c/.local/share/hermit");
	unsetenv("HOME");
	FAILS(-ENOENT, store_default_dir(NULL, &got));
}
END_TEST

START_TEST(open_and_create)
{
	char *top = help_tmp_dir(), *dir = os_asprintf("%s/x/y", top), *file = os_asprintf("%s/file", top);
	struct errinfo ei = { 0 };
	struct stat st;
	struct store *s;

	FAILS(-ENOENT, store_open(dir, false, &s, &ei));
	ck_assert_ptr_nonnull(strstr(ei.text, dir));
	OK(store_open(dir, true, &s, NULL));
	ck_assert_str_eq(store_dir(s), dir);
	store_free(s);
	OK(store_open(dir, true, &s, NULL));
	store_free(s);
	OK(store_open(dir, false, &s, NULL));
	store_free(s);
	OK(stat(dir, &st));
	ck_assert_uint_eq(st.st_mode & 0777, 0700);
	help_spill(file, "x", 1);
	FAILS(-ENOTDIR, store_open(file, false, &s, NULL));
	ck_assert_int_lt(store_open(file, true, &s, NULL), 0);
	store_free(NULL);
	help_remove(top);
	free(file);
	free(dir);
	free(top);
}
END_TEST

/* Gives a recording a label and a starting time. */
static void mark(struct help_store *h, const struct store_id *id, const char *label, uint64_t start)
{
	struct manifest m;

	OK(manifest_load(h->s, id, &m, NULL));
	free(m.label);
	m.label = os_strdup(label);
	m.start_wall_ns = start;
	OK(manifest_save(h->s, &m));
	manifest_done(&m);
}

START_TEST(resolve)
{
	struct help_store h = help_open();
	struct errinfo ei = { 0 };
	struct store_id id[3], got;
	char text[64];

	FAILS(ERR_NOT_FOUND, store_resolve(h.s, NULL, &got, &ei));
	ck_assert_ptr_nonnull(strstr(ei.text, h.dir));
	FAILS(ERR_NOT_FOUND, store_resolve(h.s, "abcd", &got, NULL));
	FAILS(ERR_NOT_FOUND, store_resolve(h.s, "last", &got, NULL));
	for (int i = 0; i < 3; i++)
		id[i] = help_record(h.s, 1, 3);
	mark(&h, &id[0], "first", 1);
	mark(&h, &id[1], "twice", 2);
	mark(&h, &id[2], "twice", 3);
	OK(store_resolve(h.s, NULL, &got, NULL));
	ck_assert_str_eq(got.hex, id[2].hex);
	OK(store_resolve(h.s, id[0].hex, &got, NULL));
	ck_assert_str_eq(got.hex, id[0].hex);
	(void)snprintf(text, sizeof(text), "%.8s-%.4s-%.4s", id[1].hex, id[1].hex + 8, id[1].hex + 12);
	OK(store_resolve(h.s, text, &got, NULL));
	ck_assert_str_eq(got.hex, id[1].hex);
	for (char *p = text; *p; p++)
		*p = *p >= 'a' && *p <= 'f' ? (char)(*p - 32) : *p;
	OK(store_resolve(h.s, text, &got, NULL));
	ck_assert_str_eq(got.hex, id[1].hex);
	(void)snprintf(text, sizeof(text), "%.3s", id[1].hex);
	FAILS(ERR_NOT_FOUND, store_resolve(h.s, text, &got, NULL));
	(void)snprintf(text, sizeof(text), "%s0", id[1].hex);
	FAILS(ERR_NOT_FOUND, store_resolve(h.s, text, &got, NULL));
	OK(store_resolve(h.s, "first", &got, NULL));
	ck_assert_str_eq(got.hex, id[0].hex);
	/* the newest of those with the label, wherever it stands in the directory */
	OK(store_resolve(h.s, "twice", &got, NULL));
	ck_assert_str_eq(got.hex, id[2].hex);
	mark(&h, &id[1], "twice", 4);
	OK(store_resolve(h.s, "twice", &got, NULL));
	ck_assert_str_eq(got.hex, id[1].hex);
	/* a word, unless somebody gave it as a label */
	OK(store_resolve(h.s, "last", &got, NULL));
	ck_assert_str_eq(got.hex, id[2].hex);
	mark(&h, &id[0], "last", 5);
	OK(store_resolve(h.s, "last", &got, NULL));
	ck_assert_str_eq(got.hex, id[0].hex);
	FAILS(ERR_NOT_FOUND, store_resolve(h.s, "../tmp", &got, NULL));
	FAILS(ERR_NOT_FOUND, store_resolve(h.s, "", &got, NULL));
	help_close(&h);
}
END_TEST

START_TEST(ambiguous_ids)
{
	struct help_store h = help_open();
	struct store_id a = help_record(h.s, 1, 3), b = a, got;
	struct errinfo ei = { 0 };
	char *from, *to, last;

	/* the same but for the last digit */
	b.hex[31] = b.hex[31] == '0' ? '1' : '0';
	from = os_asprintf("%s/%s", h.dir, help_record(h.s, 1, 3).hex);
	to = os_asprintf("%s/%s", h.dir, b.hex);
	OK(rename(from, to));
	last = b.hex[31];
	b.hex[31] = '\0';
	FAILS(ERR_AMBIGUOUS, store_resolve(h.s, b.hex, &got, &ei));
	b.hex[31] = last;
	ck_assert(strstr(ei.text, a.hex) && strstr(ei.text, b.hex));
	OK(store_resolve(h.s, a.hex, &got, NULL));
	free(from);
	free(to);
	help_close(&h);
}
END_TEST

START_TEST(list_and_remove)
{
	struct help_store h = help_open();
	struct store_id id[4], last, *list;
	struct store_writer *w;
	struct manifest m;
	size_t n;

	OK(store_list(h.s, &list, &n));
	ck_assert_uint_eq(n, 0);
	free(list);
	for (int i = 0; i < 3; i++)
		id[i] = help_record(h.s, 1, 3);
	mark(&h, &id[0], "a", 300);
	mark(&h, &id[1], "b", 100);
	mark(&h, &id[2], "c", 200);
	help_manifest(&m);
	OK(store_writer_new(h.s, &m, &w, NULL));
	id[3] = *store_writer_id(w);
	OK(store_list(h.s, &list, &n));
	ck_assert_uint_eq(n, 4);
	ck_assert_str_eq(list[0].hex, id[1].hex);
	ck_assert_str_eq(list[1].hex, id[2].hex);
	ck_assert_str_eq(list[2].hex, id[0].hex);
	ck_assert_str_eq(list[3].hex, id[3].hex);
	free(list);
	FAILS(ERR_BUSY, store_remove(h.s, &id[3], NULL));
	OK(store_writer_discard(w));
	store_writer_free(w);
	manifest_done(&m);
	/* the newest goes: last names the next */
	OK(store_resolve(h.s, NULL, &last, NULL));
	ck_assert_str_eq(last.hex, id[2].hex);
	OK(store_remove(h.s, &id[2], NULL));
	OK(store_resolve(h.s, NULL, &last, NULL));
	ck_assert_str_eq(last.hex, id[0].hex);
	FAILS(ERR_NOT_FOUND, store_remove(h.s, &id[2], NULL));
	OK(store_remove(h.s, &id[0], NULL));
	OK(store_remove(h.s, &id[1], NULL));
	FAILS(ERR_NOT_FOUND, store_resolve(h.s, NULL, &last, NULL));
	/* blobs/ and tmp/, nothing else */
	ck_assert_uint_eq(help_count_names(h.dir), 2);
	help_close(&h);
}
END_TEST

/* A recording that is being sealed, exported or verified by another process is not removed under it. */
START_TEST(remove_locked)
{
	struct help_store h = help_open();
	struct store_id id = help_record(h.s, 1, 3);
	char *lock = help_path(&h, &id, "lock");
	int fd = open(lock, O_RDWR | O_CREAT | O_CLOEXEC, 0600);

	OK(flock(fd, LOCK_SH));
	FAILS(ERR_BUSY, store_remove(h.s, &id, NULL));
	FAILS(ERR_BUSY, store_seal(h.s, &id, NULL, NULL, NULL));
	OK(store_verify(h.s, &id, NULL, NULL, NULL));
	close(fd);
	OK(store_remove(h.s, &id, NULL));
	free(lock);
	help_close(&h);
}
END_TEST

/* store_progress_fn: tells the parent that work has begun, then takes its time. */
static int slow(void *ctx, UNUSED uint64_t done, UNUSED uint64_t total)
{
	int *fd = ctx;

	ck_assert_int_eq(write(*fd, "x", 1), 1);
	usleep(50000);
	return 0;
}

/* A sealer does not keep anybody from removing; verification waits for it. */
START_TEST(while_sealing)
{
	struct help_store h = help_open();
	struct store_id id = help_record(h.s, 1, 15000);
	struct store_reader *rd;
	int p[2], status;
	char byte;
	pid_t pid;

	OK(pipe(p));
	pid = fork();
	if (pid == 0) {
		struct store *s;

		OK(store_open(h.dir, false, &s, NULL));
		_exit(store_seal(s, &id, slow, &p[1], NULL) == (_i ? 0 : ERR_INTERRUPTED) ? 0 : 1);
	}
	ck_assert_int_eq(read(p[0], &byte, 1), 1);
	FAILS(ERR_BUSY, store_seal(h.s, &id, NULL, NULL, NULL));
	if (_i) {
		FAILS(ERR_MISSING_BLOB, store_verify(h.s, &id, NULL, NULL, NULL));
		help_check(h.s, &id, 1, 15000);
	} else {
		OK(store_remove(h.s, &id, NULL));
		FAILS(ERR_NOT_FOUND, store_reader_open(h.s, &id, &rd, NULL));
	}
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert_int_eq(status, 0);
	close(p[0]);
	close(p[1]);
	help_close(&h);
}
END_TEST

/* --- recovery --- */

/* A child records n events and dies without a word after the last flush; `tail` more are lost. */
static struct store_id die_recording(struct help_store *h, uint64_t seed, uint64_t n, uint64_t tail)
{
	struct store_id id;
	int p[2], status;
	pid_t pid;

	OK(pipe(p));
	pid = fork();
	if (pid == 0) {
		static struct help_event he;
		struct store_writer *w;
		struct store *s;
		struct manifest m;

		help_manifest(&m);
		if (store_open(h->dir, false, &s, NULL) < 0 || store_writer_new(s, &m, &w, NULL) < 0)
			_exit(1);
		for (uint64_t i = 1; i <= n + tail; i++) {
			help_event(seed, i, EVENT_INVALID, &he);
			if (store_writer_event(w, &he.ev) < 0 || (i == n && store_writer_flush(w) < 0))
				_exit(1);
		}
		if (write(p[1], store_writer_id(w)->hex, 33) != 33)
			_exit(1);
		_exit(0);
	}
	ck_assert_int_eq(read(p[0], id.hex, 33), 33);
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert_int_eq(status, 0);
	close(p[0]);
	close(p[1]);
	return id;
}

START_TEST(recover)
{
	struct help_store h = help_open();
	struct store_id before = help_record(h.s, 9, 20);
	struct store_id id = die_recording(&h, 7, 500, 20), none = die_recording(&h, 7, 0, 0), got;
	struct store_reader *rd;
	struct manifest m;
	struct stat st;
	char *path;
	int r;

	/* readable before, and the same after */
	OK(store_reader_open(h.s, &id, &rd, NULL));
	ck_assert_uint_eq(help_read(rd, 7, 0, &r), 500);
	ck_assert(r == 0 && store_reader_truncated(rd));
	store_reader_free(rd);
	ck_assert_int_eq(store_recover(h.s), 2);
	ck_assert_int_eq(store_recover(h.s), 0);
	OK(store_reader_open(h.s, &id, &rd, NULL));
	ck_assert_uint_eq(help_read(rd, 7, 0, &r), 500);
	ck_assert(r == 0 && store_reader_truncated(rd));
	store_reader_free(rd);
	OK(manifest_load(h.s, &id, &m, NULL));
	ck_assert_int_eq(m.state, RECORDING_TRUNCATED);
	ck_assert_uint_eq(m.events, 500);
	ck_assert_uint_ge(m.duration_ns, 500000);
	ck_assert_uint_gt(m.n_blobs, 0);
	ck_assert_ptr_nonnull(m.reason);
	manifest_done(&m);
	path = help_path(&h, &id, "lock");
	OK(stat(path, &st));
	ck_assert_int_eq(st.st_blocks, 0);
	free(path);
	OK(manifest_load(h.s, &none, &m, NULL));
	ck_assert_uint_eq(m.events, 0);
	manifest_done(&m);
	/* it is the newest */
	OK(store_resolve(h.s, NULL, &got, NULL));
	ck_assert(strcmp(got.hex, id.hex) == 0 || strcmp(got.hex, none.hex) == 0);
	help_check(h.s, &before, 9, 20);
	/* sealed, it stays truncated and reads the same */
	OK(store_seal(h.s, &id, NULL, NULL, NULL));
	OK(manifest_load(h.s, &id, &m, NULL));
	ck_assert(m.state == RECORDING_TRUNCATED && m.compressed);
	manifest_done(&m);
	OK(store_reader_open(h.s, &id, &rd, NULL));
	ck_assert_uint_eq(help_read(rd, 7, 0, &r), 500);
	store_reader_free(rd);
	help_close(&h);
}
END_TEST

/* After a failure of the machine: journals cut anywhere, also within or before their heads, garbage behind. */
START_TEST(recover_cut)
{
	static const char *const names[] = { "events.journal", "data.journal" };
	struct help_store h = help_open();

	for (int i = 0; i < 60; i++) {
		struct store_id id = die_recording(&h, 7, 30, 0);
		struct store_reader *rd;
		struct stat st;
		char *path = help_path(&h, &id, names[i & 1]);
		uint64_t n;
		int r;

		OK(stat(path, &st));
		if (i % 5 == 0)
			OK(truncate(path, i / 5 * 9));
		else if (i % 5 == 1)
			OK(truncate(path, st.st_size + 1000)); /* zeros */
		else
			OK(truncate(path, st.st_size * i / 60));
		if (i >= 58)
			OK(unlink(path));
		ck_assert_int_eq(store_recover(h.s), 1);
		OK(store_reader_open(h.s, &id, &rd, NULL));
		n = help_read(rd, 7, 0, &r);
		ck_assert_int_eq(r, 0);
		ck_assert_uint_le(n, 30);
		if (i % 5 == 1)
			ck_assert_uint_eq(n, 30);
		store_reader_free(rd);
		/* strict now: what is left is complete in itself, but for blobs that never were */
		FAILS(ERR_MISSING_BLOB, store_verify(h.s, &id, NULL, NULL, NULL));
		OK(store_seal(h.s, &id, NULL, NULL, NULL));
		free(path);
	}
	help_close(&h);
}
END_TEST

/* ... or the manifest did not. */
START_TEST(recover_without_manifest)
{
	struct help_store h = help_open();

	for (int i = 0; i < 3; i++) {
		struct store_id id = die_recording(&h, 7, 50, 0);
		char *path = help_path(&h, &id, "manifest.json");
		struct store_reader *rd;
		struct manifest m;
		int r;

		if (i == 0)
			OK(unlink(path));
		else
			OK(truncate(path, i == 1 ? 0 : 20));
		ck_assert_int_eq(store_recover(h.s), 1);
		OK(manifest_load(h.s, &id, &m, NULL));
		ck_assert_int_eq(m.state, RECORDING_TRUNCATED);
		ck_assert_uint_gt(m.start_wall_ns, 0);
		manifest_done(&m);
		OK(store_reader_open(h.s, &id, &rd, NULL));
		ck_assert_uint_eq(help_read(rd, 7, 0, &r), 50);
		store_reader_free(rd);
		OK(store_seal(h.s, &id, NULL, NULL, NULL));
		free(path);
	}
	help_close(&h);
}
END_TEST

/* The machine died and one frame in the middle never reached the disk, though later ones did. */
START_TEST(recover_hole)
{
	struct help_store h = help_open();
	struct store_id id = die_recording(&h, 7, 3000, 0);
	char *path = help_path(&h, &id, _i ? "data.journal" : "events.journal"), *bytes;
	struct store_reader *rd;
	struct manifest m;
	uint64_t k, count;
	size_t n;
	int r;

	bytes = help_slurp(path, &n);
	memset(bytes + n * 3 / 4, 0, 4096);
	help_spill(path, bytes, n);
	/* as it lies there: data are only missed when asked for */
	if (!_i) {
		OK(store_reader_open(h.s, &id, &rd, NULL));
		k = help_read(rd, 7, 0, &r);
		ck_assert_int_eq(r, 0);
		OK(store_reader_count(rd, &count, NULL));
		ck_assert_uint_eq(count, k);
		store_reader_free(rd);
	}
	ck_assert_int_eq(store_recover(h.s), 1);
	OK(manifest_load(h.s, &id, &m, NULL));
	ck_assert_uint_gt(m.events, 0);
	ck_assert_uint_lt(m.events, 3000);
	OK(store_reader_open(h.s, &id, &rd, NULL));
	ck_assert_uint_eq(help_read(rd, 7, 0, &r), m.events);
	ck_assert_int_eq(r, 0);
	store_reader_free(rd);
	FAILS(ERR_MISSING_BLOB, store_verify(h.s, &id, NULL, NULL, NULL));
	manifest_done(&m);
	free(bytes);
	free(path);
	help_close(&h);
}
END_TEST

static char *old_thing(const struct help_store *h, const char *name, bool dir)
{
	char *path = os_asprintf("%s/tmp/%s", h->dir, name);
	struct utimbuf old = { time(NULL) - 7200, time(NULL) - 7200 };

	if (dir) {
		char *file = os_asprintf("%s/file", path);

		OK(mkdir(path, 0700));
		help_spill(file, "x", 1);
		free(file);
	} else {
		help_spill(path, "x", 1);
	}
	OK(utime(path, &old));
	return path;
}

START_TEST(recover_scraps)
{
	struct help_store h = help_open();
	char *gone[] = { old_thing(&h, "new.1", true), old_thing(&h, "import.2", true), old_thing(&h, "blob.3", false),
			 old_thing(&h, "rm.4", true), old_thing(&h, "last.5", false) };
	char *kept[] = { old_thing(&h, "strange", false), old_thing(&h, "new.9", true), old_thing(&h, "blob.9", false) };

	OK(utime(kept[1], NULL));
	OK(utime(kept[2], NULL));
	ck_assert_int_eq(store_recover(h.s), 0);
	for (size_t i = 0; i < ARRAY_SIZE(gone); i++) {
		ck_assert_int_eq(access(gone[i], F_OK), -1);
		free(gone[i]);
	}
	for (size_t i = 0; i < ARRAY_SIZE(kept); i++) {
		OK(access(kept[i], F_OK));
		free(kept[i]);
	}
	help_close(&h);
}
END_TEST

/* --- blobs that nobody needs --- */

static void make_blobs_old(struct help_store *h)
{
	char *cmd = os_asprintf("find %s/blobs -type f -exec touch -d '2 hours ago' {} +", h->dir);

	ck_assert_int_eq(system(cmd), 0);
	free(cmd);
}

static int has_blob(struct help_store *h, const struct blob_id *id)
{
	int fd, r = store_blob_open(h->s, id, &fd);

	if (r < 0)
		return 0;
	close(fd);
	return 1;
}

START_TEST(gc)
{
	struct help_store h = help_open();
	struct blob_id a, b, c, in_use;
	struct store_id id = help_record_blobs(h.s, 1, 3);
	struct store_writer *w;
	struct manifest m;
	uint64_t freed, young, own, shared;

	OK(store_blob_add(h.s, "aaaa", 4, &a));
	OK(store_blob_add(h.s, "bb", 2, &b));
	OK(store_blob_add(h.s, "in use", 6, &in_use));
	help_manifest(&m);
	OK(store_writer_new(h.s, &m, &w, NULL));
	OK(store_writer_use_blob(w, &in_use));
	OK(store_gc(h.s, &freed, &young));
	ck_assert_uint_eq(freed, 0); /* all young */
	ck_assert_uint_eq(young, 4 + 2);
	make_blobs_old(&h);
	OK(store_blob_add(h.s, "bb", 2, &b)); /* wanted again just now */
	OK(store_gc(h.s, &freed, &young));
	ck_assert_uint_eq(freed, 4);
	ck_assert_uint_eq(young, 2);
	ck_assert(!has_blob(&h, &a));
	ck_assert(has_blob(&h, &b));
	ck_assert(has_blob(&h, &in_use));
	OK(store_verify(h.s, &id, NULL, NULL, NULL));
	OK(store_usage(h.s, &id, &own, &shared));
	ck_assert_uint_eq(shared, 3 * strlen("blob 1 0"));
	ck_assert_uint_gt(own, 200);
	OK(store_writer_discard(w));
	store_writer_free(w);
	manifest_done(&m);
	OK(store_remove(h.s, &id, NULL));
	make_blobs_old(&h);
	OK(store_gc(h.s, &freed, NULL));
	ck_assert_uint_eq(freed, 2 + 6 + 3 * strlen("blob 1 0"));
	/* a recorder that dies leaves the list of its blobs: they stay until it is recovered and removed */
	id = die_recording(&h, 7, 200, 0);
	OK(store_blob_add(h.s, "x", 1, &c));
	make_blobs_old(&h);
	OK(store_gc(h.s, &freed, NULL));
	ck_assert_uint_eq(freed, 1);
	help_close(&h);
}
END_TEST

/* What a manifest that cannot be read needs is not known: nothing is removed then. */
START_TEST(gc_careful)
{
	struct help_store h = help_open();
	struct store_id id = help_record_blobs(h.s, 1, 1);
	char *path = help_path(&h, &id, "manifest.json");
	struct blob_id a;
	uint64_t freed;

	OK(store_blob_add(h.s, "aaaa", 4, &a));
	make_blobs_old(&h);
	help_spill(path, "{", 1);
	FAILS(ERR_CORRUPT, store_gc(h.s, &freed, NULL));
	ck_assert(has_blob(&h, &a));
	free(path);
	help_close(&h);
}
END_TEST

/* What is no directory is no recording, and a link leads nowhere: neither a lock is made behind it nor is anything removed. */
START_TEST(links)
{
	struct help_store h = help_open();
	char *other = help_tmp_dir(), *file = os_asprintf("%s/precious", other), *lock = os_asprintf("%s/lock", other);
	struct store_id id = { "0123456789abcdef0123456789abcdef" };
	char *link = os_asprintf("%s/%s", h.dir, id.hex);
	char *scrap = os_asprintf("%s/tmp/rm.%s", h.dir, id.hex), *fresh = os_asprintf("%s/tmp/new.%s", h.dir, id.hex);
	struct utimbuf old = { 1000, 1000 };

	help_spill(file, "x", 1);
	OK(utime(other, &old));
	ck_assert(symlink(other, link) == 0 && symlink(other, scrap) == 0 && symlink(other, fresh) == 0);
	FAILS(ERR_NOT_FOUND, store_remove(h.s, &id, NULL));
	OK(store_recover(h.s));
	FAILS(-ENOENT, access(scrap, F_OK) < 0 ? -errno : 0);
	ck_assert_int_eq(access(file, F_OK), 0);
	ck_assert_int_ne(access(lock, F_OK), 0);
	OK(unlink(link));
	help_remove(other);
	help_close(&h);
	free(other);
	free(file);
	free(lock);
	free(link);
	free(scrap);
	free(fresh);
}
END_TEST

/* A pipe in the place of a file: nobody waits for a writer. */
START_TEST(pipes)
{
	static const char *const names[] = { NAME_MANIFEST, NAME_EVENTS, NAME_DATA, NAME_INDEX, NAME_BLOBS, "notes.json", "annotations.json" };
	struct help_store h = help_open();

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		struct store_id id = help_record(h.s, 1, 3);
		char *path = os_asprintf("%s/%s/%s", h.dir, id.hex, names[i]);
		struct store_reader *rd = NULL;
		struct store_id *ids;
		size_t n;
		bool needed = unlink(path) == 0 && i < 3;
		int r;

		OK(mkfifo(path, 0600));
		r = store_reader_open(h.s, &id, &rd, NULL);
		ck_assert_msg(needed == (i < 3), "%s", names[i]);
		ck_assert_msg(!needed || r == ERR_CORRUPT, "%s: %s", names[i], err_str(r));
		store_reader_free(rd);
		OK(store_list(h.s, &ids, &n));
		free(ids);
		free(path);
	}
	help_close(&h);
}
END_TEST

HELP_MAIN("store_dir",
	  { default_dir, 0 }, { open_and_create, 0 }, { resolve, 0 }, { ambiguous_ids, 0 }, { list_and_remove, 0 },
	  { remove_locked, 0 }, { while_sealing, 2 }, { recover, 0 }, { recover_cut, 0 }, { recover_without_manifest, 0 },
	  { recover_hole, 2 }, { recover_scraps, 0 }, { gc, 0 }, { gc_careful, 0 },
	  { links, 0 }, { pipes, 0 })
