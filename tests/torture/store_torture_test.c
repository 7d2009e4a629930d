/* The store under failures: every libc call it makes fails once, or for ever from then on; short writes; full disks; processes that are
 * killed at any moment; many processes at once. Each must end in success or a clean error, with what was there before intact.
 */
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <time.h>
#include "base/fault.h"
#include "store/manifest_priv.h"
#include "store/reader_priv.h"
#include "tests/unit/store_help.h"

/* --- calls that fail --- */

/* The n-th call of all fails (n = 0: none), or all from the n-th on. */
static struct {
	unsigned n, count;
	bool forever, short_writes;
} fault;

static bool now(void)
{
	unsigned c = ++fault.count;

	return fault.n && (fault.forever ? c >= fault.n : c == fault.n);
}

#define FAIL(err) \
	do { \
		if (now()) { \
			errno = err; \
			return -1; \
		} \
	} while (0)

static int t_open(const char *path, int flags, mode_t mode)
{
	FAIL(flags & O_CREAT ? ENOSPC : EIO);
	return open(path, flags, mode);
}

static ssize_t t_read(int fd, void *p, size_t n)
{
	FAIL(EIO);
	return read(fd, p, n);
}

static ssize_t t_pread(int fd, void *p, size_t n, off_t off)
{
	FAIL(EIO);
	return pread(fd, p, n, off);
}

static ssize_t t_write(int fd, const void *p, size_t n)
{
	/* the disk fills up in the middle of a write: some bytes get there, the next call fails */
	if (fault.short_writes && fault.n && fault.count + 1 == fault.n && n > 1) {
		fault.count++;
		fault.n++;
		return write(fd, p, n / 2);
	}
	FAIL(ENOSPC);
	return write(fd, p, n);
}

static ssize_t t_pwrite(int fd, const void *p, size_t n, off_t off)
{
	FAIL(ENOSPC);
	return pwrite(fd, p, n, off);
}

static int t_fsync(int fd)
{
	FAIL(EIO);
	return fsync(fd);
}

static int t_ftruncate(int fd, off_t len)
{
	FAIL(EIO);
	return ftruncate(fd, len);
}

static int t_rename(const char *from, const char *to)
{
	FAIL(ENOSPC);
	return rename(from, to);
}

static int t_unlink(const char *path)
{
	FAIL(EIO);
	return unlink(path);
}

static int t_mkdir(const char *path, mode_t mode)
{
	FAIL(ENOSPC);
	return mkdir(path, mode);
}

static int t_fstat(int fd, struct stat *st)
{
	FAIL(EIO);
	return fstat(fd, st);
}

static void *t_malloc(size_t n)
{
	return now() ? NULL : malloc(n);
}

static const struct os_calls torture_calls = {
	.open = t_open, .read = t_read, .pread = t_pread, .write = t_write, .pwrite = t_pwrite, .fsync = t_fsync, .ftruncate = t_ftruncate,
	.rename = t_rename, .unlink = t_unlink, .mkdir = t_mkdir, .fstat = t_fstat, .malloc = t_malloc,
};

static void faults_on(unsigned n, int mode)
{
	fault.n = n;
	fault.count = 0;
	fault.forever = mode == 1;
	fault.short_writes = mode == 2;
	os_set_calls(&torture_calls);
}

/* True when the fault happened. */
static bool faults_off(void)
{
	bool hit = fault.n && fault.count >= fault.n;

	os_set_calls(NULL);
	fault.n = 0;
	return hit;
}

/* --- scenarios --- */

struct bed {
	struct help_store h;
	struct store_id old; /* a recording that must not suffer, with blobs */
	struct store_id id;  /* of the recording that the scenario works on */
	struct buf tar;
};

static void check_old(struct bed *b)
{
	struct errinfo ei = { 0 };
	int r = store_verify(b->h.s, &b->old, NULL, NULL, &ei);

	ck_assert_msg(r == 0, "fault %u: %s", fault.count, ei.text);
}

/* A fresh handle: what a failing one had in memory is gone. */
static void reopen(struct bed *b)
{
	store_free(b->h.s);
	OK(store_open(b->h.dir, false, &b->h.s, NULL));
}

/* Records a little of everything. The first error. */
static int do_record(struct store *s, struct store_id *ret)
{
	static struct help_event he;
	struct store_writer *w;
	struct blob_id blob;
	struct manifest m;
	int r;

	help_manifest(&m);
	r = store_writer_new(s, &m, &w, NULL);
	if (r < 0) {
		manifest_done(&m);
		return r;
	}
	*ret = *store_writer_id(w);
	for (uint64_t i = 1; i <= 60 && r == 0; i++) {
		help_event(11, i, i == 60 ? EVENT_END : EVENT_INVALID, &he);
		/* blobs that exist */
		for (uint32_t k = 0; k < he.ev.n_effects && r == 0; k++)
			if (he.effects[k].kind == EFFECT_MAP && he.effects[k].source == MAP_SOURCE_BLOB)
				r = store_blob_add(s, &i, 1, &he.effects[k].blob);
		if (r == 0)
			r = store_writer_event(w, &he.ev);
		if (r == 0 && i % 20 == 0)
			r = store_writer_flush(w);
	}
	if (r == 0)
		r = store_blob_add(s, "x", 1, &blob);
	if (r == 0)
		r = store_writer_use_blob(w, &blob);
	if (r == 0)
		r = store_writer_commit(w, &m, NULL);
	/* what a recorder does then: keep what there is */
	if (r < 0) {
		m.state = RECORDING_TRUNCATED;
		(void)!store_writer_commit(w, &m, NULL);
	}
	store_writer_free(w);
	manifest_done(&m);
	return r;
}

/* A recording made under faults: complete if that was said, else nothing or a prefix, after recovery. */
static void check_record(struct bed *b, int r)
{
	struct store_reader *rd;
	struct store_id *ids;
	const struct event *ev;
	size_t n;

	OK(store_recover(b->h.s));
	OK(store_list(b->h.s, &ids, &n));
	ck_assert_uint_le(n, 2);
	if (r == 0)
		ck_assert_uint_eq(n, 2);
	for (size_t i = 0; i < n; i++) {
		struct errinfo ei = { 0 };
		uint64_t k = 0;
		int v;

		if (strcmp(ids[i].hex, b->old.hex) == 0)
			continue;
		v = store_verify(b->h.s, &ids[i], NULL, NULL, &ei);
		ck_assert_msg(v == 0, "r %d: %s", r, ei.text);
		OK(store_reader_open(b->h.s, &ids[i], &rd, NULL));
		while ((v = store_reader_next(rd, &ev, NULL)) > 0)
			ck_assert_uint_eq(ev->number, ++k);
		ck_assert_int_eq(v, 0);
		ck_assert_uint_le(k, 60);
		if (r == 0)
			ck_assert_uint_eq(k, 60);
		store_reader_free(rd);
		OK(store_remove(b->h.s, &ids[i], NULL));
	}
	free(ids);
}

static int scene_record(struct bed *b)
{
	return do_record(b->h.s, &b->id);
}

static void prepare_seal(struct bed *b)
{
	b->id = help_record_blobs(b->h.s, 77, 3);
}

static int scene_seal(struct bed *b)
{
	return store_seal(b->h.s, &b->id, NULL, NULL, NULL);
}

static void check_seal(struct bed *b, int r)
{
	struct errinfo ei = { 0 };
	struct manifest m;
	int v = store_verify(b->h.s, &b->id, NULL, NULL, &ei);

	ck_assert_msg(v == 0, "%s", ei.text);
	OK(manifest_load(b->h.s, &b->id, &m, NULL));
	if (r == 0)
		ck_assert_int_eq(m.state, RECORDING_SEALED);
	manifest_done(&m);
	OK(store_seal(b->h.s, &b->id, NULL, NULL, NULL));
	OK(store_verify(b->h.s, &b->id, NULL, NULL, NULL));
	OK(store_remove(b->h.s, &b->id, NULL));
}

static int scene_blob(struct bed *b)
{
	char *path = NULL;
	struct blob_id id[2];
	struct stat st;
	int fd, r = store_blob_add(b->h.s, "torture", 7, &id[0]);

	if (r < 0)
		return r;
	/* opened behind the table's back: the recorder has the guest's descriptor */
	path = strdup("/proc/self/exe");
	fd = open(path, O_RDONLY | O_CLOEXEC);
	OK(fd);
	OK(fstat(fd, &st));
	r = store_blob_add_file(b->h.s, fd, &st, &id[1]);
	close(fd);
	free(path);
	return r;
}

static void check_blob(struct bed *b, int r)
{
	struct blob_id id;
	char *cmd = os_asprintf("cd %s/blobs && for f in */*; do s=$(sha256sum <$f); test \"${s%%%% *}\" = \"${f%%%%/*}${f#*/}\" || exit 1; done",
				b->h.dir);

	/* no blob is ever half there */
	ck_assert_int_eq(system(cmd), 0);
	free(cmd);
	if (r == 0)
		return;
	OK(store_blob_add(b->h.s, "torture", 7, &id));
}

static void fresh_blobs(struct bed *b)
{
	char *cmd = os_asprintf("cd %s && rm -f tmp/blob.* blobs/cache && find blobs -type f -size +100k -delete", b->h.dir);
	char hex[65], *path;
	struct blob_id id;

	ck_assert_int_eq(system(cmd), 0);
	free(cmd);
	OK(store_blob_add(b->h.s, "torture", 7, &id));
	blob_id_hex(&id, hex);
	path = os_asprintf("%s/blobs/%.2s/%s", b->h.dir, hex, hex + 2);
	OK(unlink(path));
	free(path);
	reopen(b);
}

static void prepare_import(struct bed *b)
{
	struct help_store other = help_open();
	struct store_id id = help_record_blobs(other.s, 78, 3);
	int fd = memfd_create("tar", MFD_CLOEXEC);
	ssize_t n;

	if (b->tar.len) {
		help_close(&other);
		close(fd);
		return;
	}
	OK(store_seal(other.s, &id, NULL, NULL, NULL));
	OK(store_export(other.s, &id, fd, NULL, NULL, NULL));
	n = lseek(fd, 0, SEEK_END);
	ck_assert_int_eq(os_pread_full(fd, buf_extend(&b->tar, (size_t)n), (size_t)n, 0), n);
	b->id = id;
	close(fd);
	help_close(&other);
}

static int scene_import(struct bed *b)
{
	int fd = memfd_create("tar", MFD_CLOEXEC), r;
	struct store_id id;

	ck_assert_int_eq(write(fd, b->tar.data, b->tar.len), (ssize_t)b->tar.len);
	ck_assert_int_eq(lseek(fd, 0, SEEK_SET), 0);
	r = store_import(b->h.s, fd, &id, NULL, NULL, NULL);
	close(fd);
	return r;
}

static void check_import(struct bed *b, int r)
{
	struct store_id *ids;
	size_t n;

	OK(store_list(b->h.s, &ids, &n));
	free(ids);
	ck_assert_uint_eq(n, r == 0 ? 2 : 1);
	if (r == 0) {
		OK(store_verify(b->h.s, &b->id, NULL, NULL, NULL));
		OK(store_remove(b->h.s, &b->id, NULL));
	}
	/* its blobs go, so that the next round adds them anew */
	{
		char *cmd = os_asprintf("find %s/blobs -type f -size -20c -exec grep -l 'blob 78' {} + | xargs -r rm", b->h.dir);

		ck_assert_int_eq(system(cmd), 0);
		free(cmd);
	}
}

static void prepare_remove(struct bed *b)
{
	b->id = help_record_blobs(b->h.s, 79, 2);
}

static int scene_remove(struct bed *b)
{
	return store_remove(b->h.s, &b->id, NULL);
}

/* Gone, or whole. */
static void check_remove(struct bed *b, int r)
{
	char *path = NULL;
	struct store_id last;

	if (store_path(b->h.s, &b->id, &path) == 0) {
		ck_assert_int_lt(r, 0);
		OK(store_verify(b->h.s, &b->id, NULL, NULL, NULL));
		OK(store_remove(b->h.s, &b->id, NULL));
	}
	free(path);
	OK(store_resolve(b->h.s, NULL, &last, NULL));
	ck_assert_str_eq(last.hex, b->old.hex);
}

static int scene_gc(struct bed *b)
{
	uint64_t freed;

	return store_gc(b->h.s, &freed, NULL);
}

static void check_gc(UNUSED struct bed *b, UNUSED int r)
{
}

static void make_all_old(struct bed *b)
{
	char *cmd = os_asprintf("find %s/blobs -type f -exec touch -d '2 hours ago' {} +", b->h.dir);
	struct blob_id id;

	OK(store_blob_add(b->h.s, "to go", 5, &id));
	ck_assert_int_eq(system(cmd), 0);
	free(cmd);
}

struct scene {
	const char *name;
	void (*prepare)(struct bed *b);
	int (*run)(struct bed *b);
	void (*check)(struct bed *b, int r);
};

static const struct scene scenes[] = {
	{ "record", NULL, scene_record, check_record },
	{ "seal", prepare_seal, scene_seal, check_seal },
	{ "blob", fresh_blobs, scene_blob, check_blob },
	{ "import", prepare_import, scene_import, check_import },
	{ "remove", prepare_remove, scene_remove, check_remove },
	{ "gc", make_all_old, scene_gc, check_gc },
};

/* Files in tmp/ that no clearing away explains. `forever` also hits the clearing away itself. */
static void check_tmp(struct bed *b, bool forever)
{
	char *tmp = os_asprintf("%s/tmp", b->h.dir);
	DIR *d;
	struct dirent *e;

	OK(store_recover(b->h.s));
	d = opendir(tmp);
	while ((e = readdir(d))) {
		if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0)
			continue;
		ck_assert_msg(forever, "%s is left in tmp/ after fault %u", e->d_name, fault.count);
		ck_assert_msg(strchr(e->d_name, '.') != NULL, "%s", e->d_name);
	}
	closedir(d);
	free(tmp);
}

/* Each scene in each mode: one failure, failures from there on, a short write and then failure. */
START_TEST(failing_calls)
{
	const struct scene *sc = &scenes[_i / 3];
	int mode = _i % 3, failures = 0;
	struct bed b = { .h = help_open() };
	bool hit = true;

	b.old = help_record_blobs(b.h.s, 1, 3);
	for (unsigned n = 1; hit; n++) {
		int r;

		if (sc->prepare)
			sc->prepare(&b);
		reopen(&b);
		faults_on(n, mode);
		r = sc->run(&b);
		hit = faults_off();
		failures += r < 0;
		if (!hit)
			ck_assert_msg(r == 0, "%s without a fault: %s", sc->name, err_str(r));
		reopen(&b);
		check_tmp(&b, mode != 0);
		check_old(&b);
		sc->check(&b, r);
		if (mode != 0) {
			char *cmd = os_asprintf("rm -rf %s/tmp/*", b.h.dir);

			ck_assert_int_eq(system(cmd), 0);
			free(cmd);
		}
		ck_assert_uint_lt(n, 5000);
	}
	ck_assert_int_gt(failures, 3);
	buf_done(&b.tar);
	help_close(&b.h);
}
END_TEST

/* --- sudden death --- */

static void nap(struct rng *r, uint64_t max_us)
{
	usleep((useconds_t)rng_below(r, max_us) + 1);
}

/* Everything a list shows must be readable: complete ones to the end. */
static void check_all(struct help_store *h, uint64_t seed, uint64_t n_events)
{
	struct store_id *ids;
	size_t n;

	OK(store_list(h->s, &ids, &n));
	for (size_t i = 0; i < n; i++) {
		const struct manifest *m;
		struct store_reader *rd;
		struct errinfo ei = { 0 };
		uint64_t k;
		int r = store_reader_open(h->s, &ids[i], &rd, &ei);

		ck_assert_msg(r == 0, "%s", ei.text);
		m = store_reader_manifest(rd);
		k = help_read(rd, seed, n_events, &r);
		ck_assert_int_eq(r, 0);
		ck_assert_uint_le(k, n_events);
		if (m->state == RECORDING_COMPLETE || m->state == RECORDING_SEALED)
			ck_assert_uint_eq(k, n_events);
		store_reader_free(rd);
	}
	free(ids);
}

static void record_for_ever(const char *dir, uint64_t seed, uint64_t n_events)
{
	static struct help_event he;
	struct store_writer *w;
	struct manifest m;
	struct store *s;

	if (store_open(dir, false, &s, NULL) < 0)
		_exit(1);
	for (;;) {
		help_manifest(&m);
		if (store_writer_new(s, &m, &w, NULL) < 0)
			_exit(2);
		for (uint64_t i = 1; i <= n_events; i++) {
			help_event(seed, i, i == n_events ? EVENT_END : EVENT_INVALID, &he);
			if (store_writer_event(w, &he.ev) < 0 || (i % 37 == 0 && store_writer_flush(w) < 0))
				_exit(3);
		}
		if (store_writer_commit(w, &m, NULL) < 0)
			_exit(4);
		store_writer_free(w);
		manifest_done(&m);
	}
}

/* 200 recorders killed at random moments. */
START_TEST(killed_recorders)
{
	struct help_store h = help_open();
	struct rng r = { os_mono_ns() };
	unsigned cut = 0;

	for (int i = 0; i < 200; i++) {
		pid_t pid = fork();
		struct store_id *ids;
		size_t n;
		int status;

		if (pid == 0)
			record_for_ever(h.dir, 21, 250);
		nap(&r, 3000);
		OK(kill(pid, SIGKILL));
		ck_assert_int_eq(waitpid(pid, &status, 0), pid);
		ck_assert_msg(WIFSIGNALED(status), "recorder ended with %d", status);
		/* as it lies there, and recovered */
		if (i % 2)
			check_all(&h, 21, 250);
		ck_assert_int_ge(status = store_recover(h.s), 0);
		cut += (unsigned)status;
		check_all(&h, 21, 250);
		OK(store_list(h.s, &ids, &n));
		for (size_t k = 0; k < n; k++) {
			status = store_verify(h.s, &ids[k], NULL, NULL, NULL);
			ck_assert(status == 0 || status == ERR_MISSING_BLOB);
			OK(store_remove(h.s, &ids[k], NULL));
		}
		free(ids);
	}
	ck_assert_uint_gt(cut, 50);
	help_close(&h);
}
END_TEST

/* A sealer killed at random moments loses nothing; the next one ends the work. */
START_TEST(killed_sealers)
{
	struct help_store h = help_open();
	struct rng r = { os_mono_ns() };
	struct store_id id = help_record(h.s, 22, 300);
	char *cmd = os_asprintf("cd %s && rm -rf save && cp -a %s save", h.dir, id.hex);
	char *back = os_asprintf("cd %s && rm -rf %s && cp -a save %s", h.dir, id.hex, id.hex);

	ck_assert_int_eq(system(cmd), 0);
	for (int i = 0; i < 50; i++) {
		pid_t pid;
		int status;

		ck_assert_int_eq(system(back), 0);
		pid = fork();
		if (pid == 0) {
			struct store *s;

			_exit(store_open(h.dir, false, &s, NULL) == 0 && store_seal(s, &id, NULL, NULL, NULL) == 0 ? 0 : 1);
		}
		nap(&r, 30000);
		kill(pid, SIGKILL);
		ck_assert_int_eq(waitpid(pid, &status, 0), pid);
		ck_assert(WIFSIGNALED(status) || WEXITSTATUS(status) == 0);
		help_check(h.s, &id, 22, 300);
		OK(store_seal(h.s, &id, NULL, NULL, NULL));
		help_check(h.s, &id, 22, 300);
	}
	free(cmd);
	free(back);
	help_close(&h);
}
END_TEST

/* At the named places too, where a random moment hardly ever falls. */
START_TEST(killed_at_points)
{
	static const char *const points[] = { "store_frame:3:kill", "store_commit:kill", "store_seal:kill", "store_blob:kill", "store_write:4" };
	struct help_store h = help_open();

	for (size_t i = 0; i < ARRAY_SIZE(points); i++) {
		pid_t pid = fork();
		struct store_id *ids;
		size_t n;
		int status;

		if (pid == 0) {
			struct store_id id;
			struct blob_id blob;
			struct stat st;
			struct store *s;
			int fd;

			setenv("HERMIT_FAULT", points[i], 1);
			fault_reload();
			if (store_open(h.dir, false, &s, NULL) < 0)
				_exit(1);
			if (do_record(s, &id) < 0 || store_seal(s, &id, NULL, NULL, NULL) < 0)
				_exit(9);
			fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
			if (fd < 0 || fstat(fd, &st) < 0 || store_blob_add_file(s, fd, &st, &blob) < 0)
				_exit(9);
			_exit(0);
		}
		ck_assert_int_eq(waitpid(pid, &status, 0), pid);
		ck_assert_msg(WIFSIGNALED(status) || WEXITSTATUS(status) == 9, "%s: %x", points[i], (unsigned)status);
		OK(store_recover(h.s));
		OK(store_list(h.s, &ids, &n));
		ck_assert_uint_eq(n, 1);
		OK(store_verify(h.s, &ids[0], NULL, NULL, NULL));
		OK(store_seal(h.s, &ids[0], NULL, NULL, NULL));
		OK(store_verify(h.s, &ids[0], NULL, NULL, NULL));
		OK(store_remove(h.s, &ids[0], NULL));
		free(ids);
	}
	help_close(&h);
}
END_TEST

/* Imports killed at random moments: there or not there. */
START_TEST(killed_imports)
{
	struct bed b = { .h = help_open() };
	struct rng r = { os_mono_ns() };

	prepare_import(&b);
	for (int i = 0; i < 50; i++) {
		pid_t pid = fork();
		struct store_id *ids;
		size_t n;
		int status;

		if (pid == 0)
			_exit(scene_import(&b) == 0 ? 0 : 1);
		nap(&r, 3000);
		kill(pid, SIGKILL);
		ck_assert_int_eq(waitpid(pid, &status, 0), pid);
		OK(store_list(b.h.s, &ids, &n));
		ck_assert_uint_le(n, 1);
		if (n) {
			OK(store_verify(b.h.s, &ids[0], NULL, NULL, NULL));
			OK(store_remove(b.h.s, &ids[0], NULL));
		} else {
			ck_assert(WIFSIGNALED(status));
		}
		free(ids);
	}
	buf_done(&b.tar);
	help_close(&b.h);
}
END_TEST

/* --- full disks --- */

/* Records until the disk is full. The sticky error. */
static int fill(struct store *s, struct store_id *ret, int *ret_commit)
{
	static struct help_event he;
	struct store_writer *w;
	struct manifest m;
	int r;

	help_manifest(&m);
	r = store_writer_new(s, &m, &w, NULL);
	if (r < 0) {
		manifest_done(&m);
		return r;
	}
	*ret = *store_writer_id(w);
	for (uint64_t i = 1; r == 0 && i < 100000; i++) {
		help_event(23, i, EVENT_INVALID, &he);
		r = store_writer_event(w, &he.ev);
	}
	ck_assert_int_lt(r, 0);
	/* sticky */
	ck_assert_int_eq(store_writer_event(w, &he.ev), r);
	ck_assert_int_eq(store_writer_flush(w), r);
	ck_assert_int_eq(store_writer_commit(w, &m, NULL), r);
	m.state = RECORDING_TRUNCATED;
	*ret_commit = store_writer_commit(w, &m, NULL);
	store_writer_free(w);
	manifest_done(&m);
	return r;
}

START_TEST(full_disk)
{
	char *dir = help_tmp_dir();
	struct store_id id, old, got;
	struct store_reader *rd;
	struct blob_id blob;
	struct manifest m;
	static char big[8 << 20];
	struct store *s;
	int r, commit = -1;
	uint64_t n;

	if (unshare(CLONE_NEWNS) < 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ||
	    mount("tmpfs", dir, "tmpfs", 0, "size=4m") < 0) {
		printf("store_torture: cannot mount a small tmpfs (%s), case full_disk skipped\n", strerror(errno));
		(void)rmdir(dir);
		free(dir);
		return;
	}
	OK(store_open(dir, true, &s, NULL));
	old = help_record(s, 24, 100);
	for (int round = 0; round < 3; round++) {
		FAILS(-ENOSPC, fill(s, &id, &commit));
		/* the reserve leaves room for the manifest */
		ck_assert_int_eq(commit, 0);
		OK(store_reader_open(s, &id, &rd, NULL));
		n = help_read(rd, 23, 0, &r);
		ck_assert_int_eq(r, 0);
		ck_assert_uint_gt(n, 1000);
		ck_assert(store_reader_truncated(rd));
		store_reader_free(rd);
		OK(manifest_load(s, &id, &m, NULL));
		ck_assert_uint_eq(m.events, n);
		manifest_done(&m);
		FAILS(ERR_MISSING_BLOB, store_verify(s, &id, NULL, NULL, NULL));
		/* nothing else fits, and says so */
		memset(big, round + 1, sizeof(big));
		FAILS(-ENOSPC, store_blob_add(s, big, sizeof(big), &blob));
		r = store_seal(s, &id, NULL, NULL, NULL);
		ck_assert(r == 0 || r == -ENOSPC);
		help_check(s, &old, 24, 100);
		OK(store_reader_open(s, &id, &rd, NULL));
		ck_assert_uint_eq(help_read(rd, 23, 0, &r), n);
		store_reader_free(rd);
		OK(store_remove(s, &id, NULL));
	}
	/* room again: all works again */
	got = help_record(s, 25, 500);
	help_check(s, &got, 25, 500);
	help_check(s, &old, 24, 100);
	/* an import that does not fit */
	{
		struct help_store from = help_open();
		struct store_writer *w;
		int fd = memfd_create("tar", MFD_CLOEXEC);

		help_manifest(&m);
		OK(store_writer_new(from.s, &m, &w, NULL));
		for (size_t i = 0; i < sizeof(big); i++)
			big[i] = (char)(i * 2654435761u >> 13);
		OK(store_blob_add(from.s, big, sizeof(big), &blob));
		OK(store_writer_use_blob(w, &blob));
		OK(store_writer_event(w, &(struct event){ .kind = EVENT_END }));
		id = *store_writer_id(w);
		OK(store_writer_commit(w, &m, NULL));
		store_writer_free(w);
		manifest_done(&m);
		OK(store_export(from.s, &id, fd, NULL, NULL, NULL));
		ck_assert_int_eq(lseek(fd, 0, SEEK_SET), 0);
		FAILS(-ENOSPC, store_import(s, fd, &got, NULL, NULL, NULL));
		FAILS(ERR_NOT_FOUND, store_resolve(s, id.hex, &got, NULL));
		close(fd);
		help_close(&from);
	}
	{
		char *tmp = os_asprintf("%s/tmp", dir);

		ck_assert_uint_eq(help_count_names(tmp), 0);
		free(tmp);
	}
	store_free(s);
	OK(umount(dir));
	OK(rmdir(dir));
	free(dir);
}
END_TEST

/* --- all at once --- */

static pid_t child(struct help_store *h, void (*work)(struct store *s, unsigned i), unsigned i)
{
	pid_t pid = fork();
	struct store *s;

	if (pid != 0)
		return pid;
	if (store_open(h->dir, false, &s, NULL) < 0)
		_exit(1);
	work(s, i);
	_exit(0);
}

static void work_record(struct store *s, unsigned i)
{
	for (unsigned k = 0; k < 15; k++) {
		struct store_id id = help_record_blobs(s, k, 10);
		struct store_reader *rd;

		(void)i;
		/* the recorder's own prompt: it may be sealed, or being sealed, by then */
		OK(store_reader_open(s, &id, &rd, NULL));
		store_reader_free(rd);
	}
}

static void work_tidy(struct store *s, UNUSED unsigned i)
{
	for (int k = 0; k < 60; k++) {
		struct store_id *ids;
		uint64_t freed;
		size_t n;

		ck_assert_int_eq(store_recover(s), 0);
		OK(store_gc(s, &freed, NULL));
		OK(store_list(s, &ids, &n));
		for (size_t j = 0; j < n; j++) {
			int r = store_seal(s, &ids[j], NULL, NULL, NULL);

			ck_assert_msg(r == 0 || r == ERR_BUSY, "%s", err_str(r));
			r = store_verify(s, &ids[j], NULL, NULL, NULL);
			ck_assert_msg(r == 0 || r == ERR_BUSY, "%s", err_str(r));
		}
		free(ids);
		usleep(1000);
	}
}

START_TEST(together)
{
	struct help_store h = help_open();
	struct store_id *ids, last;
	size_t n;
	int status;

	for (unsigned i = 0; i < 3; i++)
		ck_assert_int_gt(child(&h, work_record, i), 0);
	for (unsigned i = 0; i < 2; i++)
		ck_assert_int_gt(child(&h, work_tidy, i), 0);
	for (unsigned i = 0; i < 5; i++) {
		ck_assert_int_gt(wait(&status), 0);
		ck_assert_int_eq(status, 0);
	}
	OK(store_list(h.s, &ids, &n));
	ck_assert_uint_eq(n, 45);
	for (size_t i = 0; i < n; i++)
		OK(store_verify(h.s, &ids[i], NULL, NULL, NULL));
	OK(store_resolve(h.s, NULL, &last, NULL));
	free(ids);
	help_close(&h);
}
END_TEST

HELP_MAIN("store_torture",
	  { failing_calls, 3 * (int)ARRAY_SIZE(scenes) }, { killed_recorders, 0 }, { killed_sealers, 0 },
	  { killed_at_points, 0 }, { killed_imports, 0 }, { full_disk, 0 }, { together, 0 })
