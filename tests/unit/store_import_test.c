/* store/tar, export, import: there and back through pipes; archives that lie. */
#include "store/maintain.h"

#include <sys/mman.h>
#include <sys/wait.h>
#include "store/limits_priv.h"
#include "store/manifest_priv.h"
#include "store/tar_priv.h"
#include "tests/unit/store_help.h"

static int memory_file(const void *p, size_t n)
{
	int fd = memfd_create("tar", MFD_CLOEXEC);

	OK(fd);
	OK(os_write_full(fd, p, n));
	ck_assert_int_eq(lseek(fd, 0, SEEK_SET), 0);
	return fd;
}

static void export_to(struct help_store *h, const struct store_id *id, struct buf *out)
{
	int fd = memory_file("", 0);
	struct errinfo ei = { 0 };
	ssize_t n;
	int r = store_export(h->s, id, fd, NULL, NULL, &ei);

	ck_assert_msg(r == 0, "%s", ei.text);
	n = lseek(fd, 0, SEEK_END);
	buf_init(out);
	ck_assert_int_eq(os_pread_full(fd, buf_extend(out, (size_t)n), (size_t)n, 0), n);
	close(fd);
}

static int import_from(struct store *s, const void *p, size_t n, struct store_id *ret, struct errinfo *ei)
{
	int fd = memory_file(p, n), r = store_import(s, fd, ret, NULL, NULL, ei);

	close(fd);
	return r;
}

/* A store as store_open() makes it, with nothing but perhaps empty directories and locks in it. */
static void must_be_empty(struct help_store *h)
{
	char *cmd = os_asprintf("test -z \"$(find %s -type f ! -path '*/blobs/lock')\" && test -z \"$(ls %s/tmp)\"", h->dir, h->dir);

	if (system(cmd) != 0) {
		char *show = os_asprintf("find %s", h->dir);

		ck_assert_int_ge(system(show), 0);
		ck_abort_msg("something is left");
	}
	free(cmd);
}

START_TEST(there_and_back)
{
	struct help_store a = help_open(), b = help_open();
	struct store_id id = help_record_blobs(a.s, 1, 5), got, second;
	struct errinfo ei = { 0 };
	struct buf tar;

	if (_i)
		OK(store_seal(a.s, &id, NULL, NULL, NULL));
	export_to(&a, &id, &tar);
	OK(import_from(b.s, tar.data, tar.len, &got, &ei));
	ck_assert_str_eq(got.hex, id.hex);
	OK(store_verify(b.s, &got, NULL, NULL, NULL));
	OK(store_seal(b.s, &got, NULL, NULL, NULL));
	OK(store_verify(b.s, &got, NULL, NULL, NULL));
	/* twice: it is there */
	FAILS(-EEXIST, import_from(b.s, tar.data, tar.len, &second, &ei));
	ck_assert_ptr_nonnull(strstr(ei.text, "already"));
	OK(store_verify(b.s, &got, NULL, NULL, NULL));
	/* removed, it can come again; its blobs were still there */
	OK(store_remove(b.s, &got, NULL));
	OK(import_from(b.s, tar.data, tar.len, &got, NULL));
	OK(store_verify(b.s, &got, NULL, NULL, NULL));
	buf_done(&tar);
	help_close(&a);
	help_close(&b);
}
END_TEST

START_TEST(through_a_pipe)
{
	struct help_store a = help_open(), b = help_open();
	struct store_id id = help_record(a.s, 1, 20000), got;
	struct manifest m;
	int p[2], status;
	pid_t pid;

	/* without blobs: those of help_event() do not exist */
	OK(manifest_load(a.s, &id, &m, NULL));
	m.n_blobs = 0;
	OK(manifest_save(a.s, &m));
	manifest_done(&m);
	OK(pipe(p));
	pid = fork();
	if (pid == 0) {
		close(p[0]);
		_exit(store_export(a.s, &id, p[1], NULL, NULL, NULL) == 0 ? 0 : 1);
	}
	close(p[1]);
	/* its events map blobs that the manifest does not name: found at the very end */
	FAILS(ERR_CORRUPT, store_import(b.s, p[0], &got, NULL, NULL, NULL));
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert_int_eq(status, 0);
	close(p[0]);
	must_be_empty(&b);
	help_close(&a);
	help_close(&b);
}
END_TEST

START_TEST(truncated_recording)
{
	struct help_store a = help_open(), b = help_open();
	struct store_writer *w;
	struct manifest m;
	struct store_id id, got;
	struct buf tar;

	help_manifest(&m);
	m.state = RECORDING_TRUNCATED;
	OK(store_writer_new(a.s, &m, &w, NULL));
	OK(store_writer_event(w, &(struct event){ .kind = EVENT_NOTE, .text = "x" }));
	id = *store_writer_id(w);
	OK(store_writer_commit(w, &m, NULL));
	store_writer_free(w);
	manifest_done(&m);
	export_to(&a, &id, &tar);
	OK(import_from(b.s, tar.data, tar.len, &got, NULL));
	OK(manifest_load(b.s, &got, &m, NULL));
	ck_assert_int_eq(m.state, RECORDING_TRUNCATED);
	manifest_done(&m);
	buf_done(&tar);
	help_close(&a);
	help_close(&b);
}
END_TEST

/* Our archives are tar's, and tar's are ours. */
START_TEST(tar_program)
{
	struct help_store a = help_open(), b = help_open();
	struct store_id id = help_record_blobs(a.s, 1, 3), got;
	static const char *const formats[] = { "ustar", "pax", "gnu" };
	char *cmd, *file = os_asprintf("%s/x.tar", a.dir);
	struct errinfo ei = { 0 };
	int fd;

	if (system("command -v tar >/dev/null") != 0) {
		printf("store_import: no tar program, case skipped\n");
		return;
	}
	fd = os_open(file, O_RDWR | O_CREAT, 0600);
	OK(store_export(a.s, &id, fd, NULL, NULL, NULL));
	close(fd);
	for (size_t i = 0; i < ARRAY_SIZE(formats); i++) {
		cmd = os_asprintf("cd %s && rm -rf out && mkdir out && cd out && tar xf ../x.tar && "
				  "tar c --format=%s -f ../y.tar %s/manifest.json %s/*.journal blobs",
				  a.dir, formats[i], id.hex, id.hex);
		ck_assert_int_eq(system(cmd), 0);
		free(cmd);
		cmd = os_asprintf("%s/y.tar", a.dir);
		fd = os_open(cmd, O_RDONLY, 0);
		OK(fd);
		FAILS(0, store_import(b.s, fd, &got, NULL, NULL, &ei));
		close(fd);
		OK(store_verify(b.s, &got, NULL, NULL, NULL));
		OK(store_remove(b.s, &got, NULL));
		free(cmd);
	}
	free(file);
	help_close(&a);
	help_close(&b);
}
END_TEST

/* --- liars --- */

/* An archive put together member by member. */
struct maker {
	struct buf out;
};

static void put_member(struct maker *k, const char *name, const void *p, size_t n)
{
	int fd = memory_file("", 0);
	size_t len;

	OK(tar_put_head(fd, name, n, 0));
	OK(os_write_full(fd, p, n));
	OK(tar_put_padding(fd, n));
	len = (size_t)lseek(fd, 0, SEEK_END);
	ck_assert_int_eq(os_pread_full(fd, buf_extend(&k->out, len), len, 0), (ssize_t)len);
	close(fd);
}

static void put_end(struct maker *k)
{
	static const uint8_t zeros[1024];

	buf_put(&k->out, zeros, sizeof(zeros));
}

/* What a good archive of a small recording consists of. */
struct parts {
	struct help_store h;
	struct store_id id;
	char *manifest, *events, *data, dir[64], name[3][64], blob_name[2][80], blob[2][20];
	size_t n[3], n_blob[2];
};

static struct parts parts_make(void)
{
	struct parts p = { .h = help_open() };
	static const char *const files[] = { "manifest.json", "events.journal", "data.journal" };
	char **to[] = { &p.manifest, &p.events, &p.data };
	struct manifest m;

	p.id = help_record_blobs(p.h.s, 1, 2);
	for (int i = 0; i < 3; i++) {
		char *path = help_path(&p.h, &p.id, files[i]);

		*to[i] = help_slurp(path, &p.n[i]);
		(void)snprintf(p.name[i], sizeof(p.name[i]), "%s/%s", p.id.hex, files[i]);
		free(path);
	}
	OK(manifest_load(p.h.s, &p.id, &m, NULL));
	for (int i = 0; i < 2; i++) {
		char hex[65];

		blob_id_hex(&m.blobs[i], hex);
		(void)snprintf(p.blob_name[i], sizeof(p.blob_name[i]), "blobs/%.2s/%s", hex, hex + 2);
		p.n_blob[i] = (size_t)snprintf(p.blob[i], sizeof(p.blob[i]), "blob 1 %d", i);
	}
	manifest_done(&m);
	return p;
}

static void parts_done(struct parts *p)
{
	free(p->manifest);
	free(p->events);
	free(p->data);
	help_close(&p->h);
}

static void put_part(struct maker *k, struct parts *p, char which)
{
	switch (which) {
	case 'm':
		put_member(k, p->name[0], p->manifest, p->n[0]);
		break;
	case 'e':
		put_member(k, p->name[1], p->events, p->n[1]);
		break;
	case 'd':
		put_member(k, p->name[2], p->data, p->n[2]);
		break;
	case '0':
	case '1':
		put_member(k, p->blob_name[which - '0'], p->blob[which - '0'], p->n_blob[which - '0']);
		break;
	case 'E': /* the right size, other bytes */
		p->events[100] ^= 1;
		put_member(k, p->name[1], p->events, p->n[1]);
		p->events[100] ^= 1;
		break;
	case 'B':
		put_member(k, p->blob_name[0], p->blob[1], p->n_blob[1]);
		break;
	case 's': /* a size that the manifest does not say */
		put_member(k, p->name[1], p->events, p->n[1] - 1);
		break;
	case '.':
		put_end(k);
		break;
	}
}

static int import_parts(struct parts *p, const char *which, struct errinfo *ei)
{
	struct help_store h = help_open();
	struct maker k = { 0 };
	struct store_id id;
	int r;

	for (; *which; which++)
		put_part(&k, p, *which);
	r = import_from(h.s, k.out.data, k.out.len, &id, ei);
	if (r < 0)
		must_be_empty(&h);
	else
		OK(store_verify(h.s, &id, NULL, NULL, NULL));
	buf_done(&k.out);
	help_close(&h);
	return r;
}

START_TEST(wrong_parts)
{
	struct parts p = parts_make();

	OK(import_parts(&p, "med01.", NULL));
	OK(import_parts(&p, "m1d0e.", NULL));
	FAILS(ERR_TRUNCATED, import_parts(&p, "", NULL));
	FAILS(ERR_TRUNCATED, import_parts(&p, ".", NULL));
	FAILS(ERR_TRUNCATED, import_parts(&p, "med01", NULL)); /* no end mark */
	FAILS(ERR_TRUNCATED, import_parts(&p, "m.", NULL));
	FAILS(ERR_TRUNCATED, import_parts(&p, "me01.", NULL));
	FAILS(ERR_MISSING_BLOB, import_parts(&p, "med0.", NULL));
	FAILS(ERR_CORRUPT, import_parts(&p, "emd01.", NULL)); /* manifest not first */
	FAILS(ERR_CORRUPT, import_parts(&p, "mmed01.", NULL));
	FAILS(ERR_CORRUPT, import_parts(&p, "meed01.", NULL));
	FAILS(ERR_CORRUPT, import_parts(&p, "medd01.", NULL));
	FAILS(ERR_CORRUPT, import_parts(&p, "med001.", NULL));
	FAILS(ERR_CORRUPT, import_parts(&p, "mEd01.", NULL));
	FAILS(ERR_CORRUPT, import_parts(&p, "msd01.", NULL));
	FAILS(ERR_CORRUPT, import_parts(&p, "medB1.", NULL));
	parts_done(&p);
}
END_TEST

START_TEST(wrong_names)
{
	static const char *const names[] = {
		"../../etc/passwd", "/etc/passwd", "blobs/../../x", "blobs/", "blobs/ab/cd", "tmp/x", "last",
		"ID/../x", "ID/lock", "ID/manifest.json/x", "ID/events.xz", "ID/index", "ID/events.journal/",
		"blobs/00/112233445566778899aabbccddeeff00112233445566778899aabbccddeeff", "ID/\x1b[2Jx", "",
	};
	struct parts p = parts_make();

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		struct help_store h = help_open();
		struct errinfo ei = { 0 };
		struct maker k = { 0 };
		struct store_id id;
		char name[120];

		if (strncmp(names[i], "ID/", 3) == 0)
			(void)snprintf(name, sizeof(name), "%s/%s", p.id.hex, names[i] + 3);
		else
			(void)snprintf(name, sizeof(name), "%s", names[i]);
		for (const char *which = "med01"; *which; which++)
			put_part(&k, &p, *which);
		put_member(&k, name, "x", 1);
		put_end(&k);
		FAILS(ERR_CORRUPT, import_from(h.s, k.out.data, k.out.len, &id, &ei));
		ck_assert_ptr_null(strchr(ei.text, '\x1b'));
		must_be_empty(&h);
		buf_done(&k.out);
		help_close(&h);
	}
	parts_done(&p);
}
END_TEST

/* Changes the manifest's text, leaves all the rest. */
static int import_changed(struct parts *p, const char *from, const char *to, struct errinfo *ei)
{
	char *all = p->manifest, *changed = os_malloc(p->n[0] + 200);
	size_t at = 0, len = p->n[0];
	int r;

	while (at < len && strncmp(all + at, from, strlen(from)) != 0)
		at++;
	ck_assert_msg(at < len, "%s", from);
	memcpy(changed, all, at);
	memcpy(changed + at, to, strlen(to));
	memcpy(changed + at + strlen(to), all + at + strlen(from), len - at - strlen(from));
	p->manifest = changed;
	p->n[0] = len + strlen(to) - strlen(from);
	r = import_parts(p, "med01.", ei);
	p->manifest = all;
	p->n[0] = len;
	free(changed);
	return r;
}

START_TEST(wrong_manifests)
{
	struct parts p = parts_make();
	struct errinfo ei = { 0 };

	OK(import_changed(&p, "\"cwd\": \"/\"", "\"cwd\": \"/x\"", NULL));
	FAILS(ERR_NEWER_FORMAT, import_changed(&p, "\"major\": 1", "\"major\": 3", &ei));
	ck_assert_ptr_nonnull(strstr(ei.text, "3.2"));
	FAILS(ERR_CORRUPT, import_changed(&p, "\"complete\"", "\"recording\"", NULL));
	FAILS(ERR_CORRUPT, import_changed(&p, "\"complete\"", "\"sealed\"", NULL));
	FAILS(ERR_CORRUPT, import_changed(&p, p.id.hex, "00000000000000000000000000000000", NULL));
	FAILS(ERR_TRUNCATED, import_changed(&p, "\"events\": 3", "\"events\": 4", NULL));
	FAILS(ERR_CORRUPT, import_changed(&p, "\"events\": 3", "\"events\": 2", NULL));
	FAILS(ERR_CORRUPT, import_changed(&p, "\"stored_bytes\": ", "\"stored_bytes\": 1", NULL));
	FAILS(ERR_CORRUPT, import_changed(&p, "\"raw_bytes\": ", "\"raw_bytes\": x", NULL));
	FAILS(ERR_CORRUPT, import_changed(&p, "\"format\"", "\"fromat\"", NULL));
	parts_done(&p);
}
END_TEST

/* Cuts and flips of a whole archive: nothing is left unless it is all there and good. */
START_TEST(flips_and_cuts)
{
	struct parts p = parts_make();
	struct help_store h = help_open();
	struct maker k = { 0 };
	struct store_id id;

	for (const char *which = "med01."; *which; which++)
		put_part(&k, &p, *which);
	for (size_t cut = 0; cut < k.out.len; cut += cut % 512 == 511 || cut % 512 < 3 ? 1 : 31) {
		int r = import_from(h.s, k.out.data, cut, &id, NULL);

		/* the second half of the end mark may be missing */
		ck_assert(r < 0 || cut >= k.out.len - 512);
		if (r == 0)
			OK(store_remove(h.s, &id, NULL));
	}
	for (size_t bit = 0; bit < k.out.len * 8; bit++) {
		int r;

		k.out.data[bit / 8] ^= (uint8_t)(1 << bit % 8);
		r = import_from(h.s, k.out.data, k.out.len, &id, NULL);
		if (r == 0) {
			OK(store_verify(h.s, &id, NULL, NULL, NULL));
			OK(store_remove(h.s, &id, NULL));
		}
		k.out.data[bit / 8] ^= (uint8_t)(1 << bit % 8);
	}
	buf_done(&k.out);
	parts_done(&p);
	help_close(&h);
}
END_TEST

/* --- tar itself --- */

START_TEST(large_sizes)
{
	struct tar_member t;
	int fd = memory_file("", 0);

	OK(tar_put_head(fd, "small", (UINT64_C(1) << 33) - 1, 0));
	OK(tar_put_head(fd, "large", UINT64_C(1) << 33, 0));
	OK(tar_put_head(fd, "larger", TAR_MEMBER_MAX, 0));
	OK(tar_put_head(fd, "absurd", TAR_MEMBER_MAX + 1, 0));
	FAILS(-ENAMETOOLONG, tar_put_head(fd, "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"
					      "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx", 0, 0));
	ck_assert_int_eq(lseek(fd, 0, SEEK_SET), 0);
	ck_assert_int_eq(tar_next(fd, &t, NULL), 1);
	ck_assert_uint_eq(t.size, (UINT64_C(1) << 33) - 1);
	ck_assert_int_eq(tar_next(fd, &t, NULL), 1);
	ck_assert_str_eq(t.name, "large");
	ck_assert_uint_eq(t.size, UINT64_C(1) << 33);
	ck_assert_int_eq(tar_next(fd, &t, NULL), 1);
	ck_assert_uint_eq(t.size, TAR_MEMBER_MAX);
	FAILS(ERR_LIMIT, tar_next(fd, &t, NULL));
	close(fd);
}
END_TEST

HELP_MAIN("store_import",
	  { there_and_back, 2 }, { through_a_pipe, 0 }, { truncated_recording, 0 }, { tar_program, 0 },
	  { wrong_parts, 0 }, { wrong_names, 0 }, { wrong_manifests, 0 }, { flips_and_cuts, 0 }, { large_sizes, 0 })
