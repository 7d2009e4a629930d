/* A recording as one tar: ID/manifest.json, its streams, then blobs/ab/cdef... Written in one pass, so that pipes will do. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include "base/json.h"
#include "base/os.h"
#include "store/limits_priv.h"
#include "store/maintain.h"
#include "store/manifest_priv.h"
#include "store/notes_priv.h"
#include "store/progress_priv.h"
#include "store/store_priv.h"
#include "store/tar_priv.h"

#define CHUNK (256u << 10)

struct export {
	struct store *store;
	const char *dir;
	int fd;
	const struct manifest *manifest;
	uint64_t mtime;
	struct progress progress;
	uint8_t *chunk;
	struct errinfo *ei;
};

/* Copies exactly `size` bytes: the head has promised them. */
static int copy_content(struct export *x, int from, uint64_t size)
{
	uint64_t done = 0;
	ssize_t n;
	int r = 0;

	while (r == 0 && done < size) {
		n = os_pread_full(from, x->chunk, (size_t)MIN(size - done, (uint64_t)CHUNK), (off_t)done);
		if (n <= 0)
			return n < 0 ? (int)n : ERR_TRUNCATED;
		r = os_write_full(x->fd, x->chunk, (size_t)n);
		done += (uint64_t)n;
		if (r == 0)
			r = progress_add(&x->progress, (uint64_t)n);
	}
	return r;
}

/* Writes the open file (closed here) as a member. */
static int put_file(struct export *x, int from, const char *name)
{
	int fd CLEANUP(closep) = from;
	struct stat st;
	int r = os_fstat(fd, &st);

	if (r == 0 && !S_ISREG(st.st_mode))
		r = ERR_CORRUPT;
	if (r == 0)
		r = tar_put_head(x->fd, name, (uint64_t)st.st_size, x->mtime);
	if (r == 0)
		r = copy_content(x, fd, (uint64_t)st.st_size);
	if (r == 0)
		r = tar_put_padding(x->fd, (uint64_t)st.st_size);
	return r < 0 ? errinfo_set_r(x->ei, r, "export %s", name) : 0;
}

/* A file of the recording's directory; one that may be missing is left out then. */
static int put_own(struct export *x, const char *file, bool optional)
{
	char *path CLEANUP(freep) = os_asprintf("%s/%s", x->dir, file);
	char *name CLEANUP(freep) = os_asprintf("%s/%s", x->manifest->id.hex, file);
	int fd = path && name ? os_open_regular(path) : -ENOMEM;

	if (fd == -ENOENT && optional)
		return 0;
	return fd < 0 ? errinfo_set_r(x->ei, fd, "open %s/%s", x->dir, file) : put_file(x, fd, name);
}

/* Notes travel in the manifest: importers that do not know them keep the member. */
static int add_notes(struct export *x, json_t *manifest)
{
	struct notes n CLEANUP(notes_done) = { 0 };
	json_t *items;
	int r = notes_load_at(x->dir, &n, x->ei);

	if (r < 0 || !n.n)
		return r;
	r = notes_to_json(&n, &items);
	return r < 0 ? r : jsonx_set_new(manifest, MEMBER_NOTES, items);
}

/* The manifest as it shows itself, with the label that it was given later. */
static int put_manifest(struct export *x)
{
	char *name CLEANUP(freep) = os_asprintf("%s/" NAME_MANIFEST, x->manifest->id.hex);
	json_t *j CLEANUP(jsonx_unrefp) = NULL;
	char *text CLEANUP(freep) = NULL;
	size_t len = 0;
	int r = name ? manifest_to_json(x->manifest, &j) : -ENOMEM;

	if (r == 0)
		r = add_notes(x, j);
	if (r == 0)
		r = jsonx_dump(j, JSON_INDENT(1), &text, &len);
	if (r == 0)
		r = tar_put_head(x->fd, name, len, x->mtime);
	if (r == 0)
		r = os_write_full(x->fd, text, len);
	if (r == 0)
		r = tar_put_padding(x->fd, len);
	return r < 0 ? errinfo_set_r(x->ei, r, "export %s/" NAME_MANIFEST, x->dir) : 0;
}

static int put_blob(struct export *x, const struct blob_id *id)
{
	char hex[65], name[80];
	int fd, r = store_blob_open(x->store, id, &fd);

	blob_id_hex(id, hex);
	if (r < 0)
		return errinfo_set_r(x->ei, r, "export blob %s", hex);
	(void)snprintf(name, sizeof(name), "blobs/%.2s/%s", hex, hex + 2);
	return put_file(x, fd, name);
}

static int put_all(struct export *x)
{
	const struct manifest *m = x->manifest;
	int r = put_manifest(x);

	if (r == 0)
		r = put_own(x, m->compressed ? NAME_EVENTS_XZ : NAME_EVENTS, false);
	if (r == 0)
		r = put_own(x, m->compressed ? NAME_DATA_XZ : NAME_DATA, false);
	if (r == 0 && m->compressed)
		r = put_own(x, NAME_INDEX, true);
	for (size_t i = 0; i < m->n_blobs && r == 0; i++)
		r = put_blob(x, &m->blobs[i]);
	return r == 0 ? tar_put_end(x->fd) : r;
}

/* Missing blobs are best known before the first byte is written. */
static int check_blobs(struct export *x)
{
	for (size_t i = 0; i < x->manifest->n_blobs; i++) {
		char *path CLEANUP(freep) = blob_path(x->store, &x->manifest->blobs[i]);
		struct stat st;
		int r = path ? fs_stat(path, &st) : -ENOMEM;

		if (r < 0)
			return errinfo_set_r(x->ei, r == -ENOENT ? ERR_MISSING_BLOB : r, "export blob %s", path ? path : "?");
		x->progress.total += (uint64_t)st.st_size;
	}
	return 0;
}

static int export_dir(struct export *x)
{
	struct manifest m CLEANUP(manifest_done);
	int r;

	manifest_init(&m);
	r = manifest_load_at(x->dir, &m, x->ei);
	if (r < 0)
		return r;
	if (m.state == RECORDING_OPEN)
		return ERR_BUSY;
	x->manifest = &m;
	x->mtime = m.start_wall_ns / 1000000000;
	x->progress.total = m.event_stream.stored_bytes + m.data_stream.stored_bytes;
	r = check_blobs(x);
	return r == 0 ? put_all(x) : r;
}

int store_export(struct store *s, const struct store_id *id, int fd, store_progress_fn fn, void *ctx, struct errinfo *ei)
{
	struct export x = { .store = s, .fd = fd, .progress = { .fn = fn, .ctx = ctx }, .ei = ei };
	uint8_t *chunk CLEANUP(freep) = os_malloc(CHUNK);
	char *dir CLEANUP(freep) = NULL;
	char *stop CLEANUP(freep) = NULL;
	int lock CLEANUP(closep) = -1;
	int r = chunk ? store_path(s, id, &dir) : -ENOMEM;

	x.dir = dir;
	x.chunk = chunk;
	/* shared: the sealer must not change files under us, other exports may read them */
	if (r == 0)
		r = recording_lock(s, dir, false, MAINTAIN_WAIT_MS, &x.progress, &lock);
	if (r == 0)
		x.progress.stop = stop = os_asprintf("%s/" NAME_STOP, dir);
	if (r == 0)
		r = export_dir(&x);
	return r < 0 ? errinfo_set_r(ei, r, "export recording %s", id->hex) : 0;
}
