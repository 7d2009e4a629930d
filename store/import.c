/* The way back from an export, which anybody may have made: nothing in it is believed.
 *
 * Members are unpacked into tmp/import.X under names of our own; only the names that an export of the manifest at the archive's front would
 * have are accepted, each once, the streams with the sizes and all with the digests that the manifest says. Then
 * every frame and event is read. Only when all that is well do blobs and recording get their places, by renames, under the lock that
 * keeps others from using the new blobs: so a failure can take them away again.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include "base/json.h"
#include "base/os.h"
#include "base/str.h"
#include "store/annotate_priv.h"
#include "store/idset_priv.h"
#include "store/index_priv.h"
#include "store/limits_priv.h"
#include "store/manifest_priv.h"
#include "store/notes_priv.h"
#include "store/reader_priv.h"
#include "store/sha_priv.h"
#include "store/store_priv.h"
#include "store/tar_priv.h"
#include "store/verify_priv.h"

#define CHUNK (256u << 10)

struct import {
	struct store *store;
	int fd;
	char *dir; /* tmp/import.X */
	int lock;
	struct manifest manifest;
	bool got_manifest, got_events, got_data, got_index;
	struct idset blobs;  /* of the manifest */
	uint64_t *blob_size; /* of each, + 1; 0 = not met yet */
	size_t n_blobs_got;
	uint8_t *chunk;
	struct progress progress;
	struct errinfo *ei;
};

/* Names come from strangers and go to terminals. */
static int bad_member(struct import *im, int r, const char *name, const char *what)
{
	struct buf text CLEANUP(buf_done);

	buf_init(&text);
	buf_put_printable(&text, name);
	return errinfo_set(im->ei, r, "import: member %s: %s", buf_cstr(&text), what);
}

/* Copies a member's content to a new file (or nowhere if path is NULL) and tells its digest. */
static int unpack(struct import *im, uint64_t size, const char *path, struct blob_id *ret)
{
	int out CLEANUP(closep) = -1;
	struct sha256_ctx sha;
	ssize_t n;
	int r = path ? os_open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0600) : 0;

	if (r < 0)
		return r;
	if (path)
		out = r;
	r = 0;
	sha256_init(&sha);
	for (uint64_t left = size; left > 0 && r == 0; left -= (uint64_t)n) {
		n = os_read_full(im->fd, im->chunk, (size_t)MIN(left, (uint64_t)CHUNK));
		if (n <= 0)
			return n < 0 ? (int)n : ERR_TRUNCATED;
		sha256_update(&sha, (size_t)n, im->chunk);
		if (path)
			r = os_write_full(out, im->chunk, (size_t)n);
		if (r == 0)
			r = progress_add(&im->progress, (uint64_t)n);
	}
	if (r < 0)
		return r;
	sha256_digest(&sha, sizeof(ret->sha256), ret->sha256);
	return tar_skip_padding(im->fd, size);
}

static int take_text(struct import *im, uint64_t size, char **ret)
{
	char *text CLEANUP(freep) = NULL;
	ssize_t n;

	if (size > MANIFEST_BYTES_MAX)
		return ERR_LIMIT;
	text = os_malloc(size + 1);
	if (!text)
		return -ENOMEM;
	n = os_read_full(im->fd, text, size);
	if (n < 0 || (uint64_t)n != size)
		return n < 0 ? (int)n : ERR_TRUNCATED;
	*ret = TAKE(text);
	return tar_skip_padding(im->fd, size);
}

/* What the manifest promises becomes the list of what else is accepted. */
static int expect(struct import *im, const char *member)
{
	struct manifest *m = &im->manifest;
	char *name CLEANUP(freep) = os_asprintf("%s/" NAME_MANIFEST, m->id.hex);
	char *path = NULL;
	int r = 0;

	if (!name)
		return -ENOMEM;
	if (strcmp(member, name) != 0)
		return bad_member(im, ERR_CORRUPT, member, "is not named after its recording");
	if (m->state == RECORDING_OPEN)
		return errinfo_set(im->ei, ERR_CORRUPT, "import: recording %s was exported before it ended", m->id.hex);
	if (store_path(im->store, &m->id, &path) == 0) {
		free(path);
		return errinfo_set(im->ei, -EEXIST, "import: recording %s is in the store already", m->id.hex);
	}
	for (size_t i = 0; i < m->n_blobs && r >= 0; i++)
		r = idset_add(&im->blobs, &m->blobs[i]);
	if (r < 0)
		return r;
	im->blob_size = os_calloc(im->blobs.n + 1, sizeof(*im->blob_size));
	im->progress.total = m->event_stream.stored_bytes + m->data_stream.stored_bytes;
	return im->blob_size ? 0 : -ENOMEM;
}

/* Notes become a file of their own again. *text is the manifest without them then. */
static int take_notes(struct import *im, json_t *manifest, char **text, size_t *len)
{
	struct notes n CLEANUP(notes_done) = { 0 };
	int r = notes_from_json(json_object_get(manifest, MEMBER_NOTES), &n, im->ei);

	if (r == 0)
		r = notes_save_at(im->dir, &n);
	if (r < 0)
		return r;
	(void)json_object_del(manifest, MEMBER_NOTES);
	free(*text);
	*text = NULL;
	return jsonx_dump(manifest, JSON_INDENT(1), text, len);
}

static int take_manifest(struct import *im, const struct tar_member *t)
{
	char *path CLEANUP(freep) = os_asprintf("%s/" NAME_MANIFEST, im->dir);
	json_t *j CLEANUP(jsonx_unrefp) = NULL;
	char *text CLEANUP(freep) = NULL;
	const char *slash = strchr(t->name, '/');
	size_t len = t->size;
	int r = path ? 0 : -ENOMEM;

	if (!slash || strcmp(slash, "/" NAME_MANIFEST) != 0)
		return errinfo_set(im->ei, ERR_CORRUPT, IMPORT_NO_EXPORT);
	if (r == 0)
		r = take_text(im, t->size, &text);
	if (r == 0)
		r = jsonx_parse(text, t->size, &j, im->ei);
	if (r == 0)
		r = manifest_from_json(j, &im->manifest, im->ei);
	if (r < 0)
		return errinfo_set_r(im->ei, r, "import: manifest");
	im->got_manifest = true;
	r = expect(im, t->name);
	if (r == 0 && json_object_get(j, MEMBER_NOTES))
		r = take_notes(im, j, &text, &len);
	return r == 0 ? os_write_file_atomic(path, text, len, 0600) : r;
}

static int take_stream(struct import *im, const struct tar_member *t, const char *file, const struct manifest_stream *ms, bool *got)
{
	char *path CLEANUP(freep) = os_asprintf("%s/%s", im->dir, file);
	struct blob_id digest;
	char hex[65];
	int r = path ? 0 : -ENOMEM;

	if (*got)
		return bad_member(im, ERR_CORRUPT, t->name, "comes twice");
	if (t->size != ms->stored_bytes)
		return bad_member(im, ERR_CORRUPT, t->name, "has not the size that the manifest says");
	if (r == 0)
		r = unpack(im, t->size, path, &digest);
	if (r < 0)
		return r;
	blob_id_hex(&digest, hex);
	if (strcmp(hex, ms->sha256) != 0)
		return bad_member(im, ERR_CORRUPT, t->name, "has not the digest that the manifest says");
	*got = true;
	return 0;
}

/* The index is made anew from the streams; what came with them is not needed. */
static int pass_index(struct import *im, const struct tar_member *t)
{
	struct blob_id ignored;

	if (im->got_index)
		return bad_member(im, ERR_CORRUPT, t->name, "comes twice");
	if (t->size > sizeof(struct index_head) + 2ull * FRAMES_MAX * sizeof(struct index_entry))
		return bad_member(im, ERR_LIMIT, t->name, "is too large");
	im->got_index = true;
	return unpack(im, t->size, NULL, &ignored);
}

static char *unpacked_blob_path(const struct import *im, size_t i)
{
	return os_asprintf("%s/" PREFIX_BLOB "%zu", im->dir, i);
}

static int take_blob(struct import *im, const struct tar_member *t, const char *name)
{
	char *path CLEANUP(freep) = NULL;
	struct blob_id id, digest;
	char hex[65];
	ssize_t i;
	int r;

	/* "ab/cdef..." */
	if (strlen(name) != 65 || name[2] != '/')
		return bad_member(im, ERR_CORRUPT, t->name, "is no name of a blob");
	memcpy(hex, name, 2);
	memcpy(hex + 2, name + 3, 63);
	if (blob_id_parse(hex, &id) < 0)
		return bad_member(im, ERR_CORRUPT, t->name, "is no name of a blob");
	i = idset_find(&im->blobs, &id);
	if (i < 0)
		return bad_member(im, ERR_CORRUPT, t->name, "is no blob of this recording");
	if (im->blob_size[i])
		return bad_member(im, ERR_CORRUPT, t->name, "comes twice");
	path = unpacked_blob_path(im, (size_t)i);
	r = path ? unpack(im, t->size, path, &digest) : -ENOMEM;
	if (r < 0)
		return r;
	if (!blob_id_equal(&id, &digest))
		return bad_member(im, ERR_CORRUPT, t->name, "has another digest than its name says");
	im->blob_size[i] = t->size + 1;
	im->n_blobs_got++;
	return 0;
}

static int take_own(struct import *im, const struct tar_member *t, const char *name)
{
	const struct manifest *m = &im->manifest;

	if (strcmp(name, m->compressed ? NAME_EVENTS_XZ : NAME_EVENTS) == 0)
		return take_stream(im, t, name, &m->event_stream, &im->got_events);
	if (strcmp(name, m->compressed ? NAME_DATA_XZ : NAME_DATA) == 0)
		return take_stream(im, t, name, &m->data_stream, &im->got_data);
	if (m->compressed && strcmp(name, NAME_INDEX) == 0)
		return pass_index(im, t);
	return bad_member(im, ERR_CORRUPT, t->name, "is no part of a recording");
}

static int take_member(struct import *im, const struct tar_member *t)
{
	int r;

	if (!im->got_manifest)
		r = take_manifest(im, t);
	else if (str_has_prefix(t->name, "blobs/"))
		r = take_blob(im, t, t->name + strlen("blobs/"));
	else if (strncmp(t->name, im->manifest.id.hex, STORE_ID_LEN) == 0 && t->name[STORE_ID_LEN] == '/')
		r = take_own(im, t, t->name + STORE_ID_LEN + 1);
	else
		r = bad_member(im, ERR_CORRUPT, t->name, "is no part of a recording");
	return r < 0 ? errinfo_set_r(im->ei, r, "import: read the archive") : 0;
}

static int take_all(struct import *im)
{
	struct tar_member t;
	int r;

	for (size_t n = 0; (r = tar_next(im->fd, &t, n ? im->ei : NULL)) > 0; n++) {
		if (n >= TAR_MEMBERS_MAX)
			return ERR_LIMIT;
		r = take_member(im, &t);
		if (r < 0)
			return r;
	}
	if (!im->got_manifest && (r == 0 || r == ERR_CORRUPT || r == ERR_TRUNCATED || r == ERR_LIMIT))
		return errinfo_set(im->ei, r ? r : ERR_TRUNCATED, IMPORT_NO_EXPORT);
	if (r < 0)
		return errinfo_set_r(im->ei, r, "import: read the archive");
	if (!im->got_manifest || !im->got_events || !im->got_data)
		return errinfo_set(im->ei, ERR_TRUNCATED, "import: the archive ends before manifest and streams are complete");
	if (im->n_blobs_got != im->blobs.n)
		return errinfo_set(im->ei, ERR_MISSING_BLOB, "import: %zu of %zu blobs are in the archive", im->n_blobs_got,
				   im->blobs.n);
	return 0;
}

static int make_index(struct import *im)
{
	struct stream events = { 0 }, data = { 0 };
	uint64_t end;
	int r = recording_open_streams(im->dir, &im->manifest, false, &events, &data, im->ei);

	if (r == 0)
		r = stream_count(&events, &end, im->ei);
	if (r == 0)
		r = stream_count(&data, &end, im->ei);
	if (r == 0)
		r = index_save(im->dir, NAME_INDEX, &im->manifest.id, &events, &data);
	stream_done(&events);
	stream_done(&data);
	return r;
}

static int sync_file(const char *dir, const char *name)
{
	char *path CLEANUP(freep) = os_asprintf("%s/%s", dir, name);
	int fd CLEANUP(closep) = -1;
	int r = path ? os_open(path, O_RDONLY, 0) : -ENOMEM;

	if (r < 0)
		return r;
	fd = r;
	return os_fsync(fd);
}

static int check_all(struct import *im)
{
	const struct manifest *m = &im->manifest;
	int r = verify_streams(im->dir, m, &im->progress, im->ei);

	if (r == 0 && m->compressed)
		r = make_index(im);
	if (r == 0)
		r = sync_file(im->dir, m->compressed ? NAME_EVENTS_XZ : NAME_EVENTS);
	if (r == 0)
		r = sync_file(im->dir, m->compressed ? NAME_DATA_XZ : NAME_DATA);
	return r;
}

/* Takes away the blobs that this import brought: those marked with size UINT64_MAX. */
static void take_back(struct import *im)
{
	for (size_t i = 0; i < im->blobs.n; i++) {
		char *path CLEANUP(freep) = im->blob_size[i] == UINT64_MAX ? blob_path(im->store, &im->blobs.ids[i]) : NULL;

		if (path)
			(void)!fs_unlink_quiet(path);
	}
}

static int publish_locked(struct import *im)
{
	int r = 0;

	for (size_t i = 0; i < im->blobs.n && r >= 0; i++) {
		char *path CLEANUP(freep) = unpacked_blob_path(im, i);

		r = path ? blob_adopt_locked(im->store, path, &im->blobs.ids[i], im->blob_size[i] - 1) : -ENOMEM;
		if (r > 0)
			im->blob_size[i] = UINT64_MAX;
	}
	if (r >= 0)
		r = store_publish(im->store, im->dir, &im->manifest.id);
	if (r < 0)
		take_back(im);
	return r < 0 ? r : 0;
}

static int publish(struct import *im)
{
	int r = blobs_lock(im->store, true);

	if (r < 0)
		return r;
	r = publish_locked(im);
	blobs_unlock(im->store);
	if (r < 0)
		return errinfo_set_r(im->ei, r, "import: recording %s", im->manifest.id.hex);
	free(TAKE(im->dir));
	return 0;
}

static int begin(struct import *im)
{
	struct store_id unique;
	int r = store_id_random(&unique);

	if (r < 0)
		return r;
	im->dir = os_asprintf("%s/tmp/" PREFIX_IMPORT "%s", im->store->dir, unique.hex);
	im->chunk = os_malloc(CHUNK);
	if (!im->dir || !im->chunk)
		return -ENOMEM;
	r = os_mkdir(im->dir, 0700);
	return r == 0 ? fs_lock_file(im->dir, NAME_LOCK, true, &im->lock) : r;
}

static void end(struct import *im)
{
	if (im->dir)
		(void)!fs_remove_dir(im->dir);
	free(im->dir);
	closep(&im->lock);
	manifest_done(&im->manifest);
	idset_done(&im->blobs);
	free(im->blob_size);
	free(im->chunk);
}

int store_import(struct store *s, int fd, struct store_id *ret, store_progress_fn fn, void *ctx, struct errinfo *ei)
{
	struct import im = { .store = s, .fd = fd, .lock = -1, .progress = { .fn = fn, .ctx = ctx }, .ei = ei };
	int r;

	manifest_init(&im.manifest);
	r = begin(&im);
	if (r == 0)
		r = take_all(&im);
	if (r == 0)
		r = check_all(&im);
	if (r == 0)
		r = annotations_begin(im.dir, "import");
	if (r == 0)
		r = publish(&im);
	if (r == 0)
		*ret = im.manifest.id;
	end(&im);
	return r < 0 ? errinfo_set_r(ei, r, "import") : 0;
}
