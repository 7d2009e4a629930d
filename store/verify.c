/* Does a recording hold what its manifest says, to the last bit? Files by digest, then frames and events one by one. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include "base/os.h"
#include "store/idset_priv.h"
#include "store/maintain.h"
#include "store/manifest_priv.h"
#include "store/reader_priv.h"
#include "store/sha_priv.h"
#include "store/store_priv.h"
#include "store/verify_priv.h"

#define CHUNK (256u << 10)

/* SHA-256 of an open file, with progress. */
static int hash_file(int fd, struct progress *p, struct blob_id *ret, uint64_t *ret_size)
{
	uint8_t *chunk CLEANUP(freep) = os_malloc(CHUNK);
	struct sha256_ctx sha;
	uint64_t size = 0;
	ssize_t n = 0;
	int r = chunk ? 0 : -ENOMEM;

	sha256_init(&sha);
	while (r == 0 && (n = os_pread_full(fd, chunk, CHUNK, (off_t)size)) > 0) {
		sha256_update(&sha, (size_t)n, chunk);
		size += (uint64_t)n;
		r = progress_add(p, (uint64_t)n);
	}
	if (r < 0 || n < 0)
		return r < 0 ? r : (int)n;
	sha256_digest(&sha, sizeof(ret->sha256), ret->sha256);
	*ret_size = size;
	return 0;
}

static int verify_file(const char *dir, const char *name, const struct manifest_stream *ms, struct progress *p, struct errinfo *ei)
{
	char *path CLEANUP(freep) = os_asprintf("%s/%s", dir, name);
	int fd CLEANUP(closep) = -1;
	struct blob_id id;
	uint64_t size;
	char hex[65];
	int r = path ? os_open_regular(path) : -ENOMEM;

	if (r < 0)
		return errinfo_set_r(ei, r == -ENOENT ? ERR_TRUNCATED : r, "open %s/%s", dir, name);
	fd = r;
	r = hash_file(fd, p, &id, &size);
	if (r < 0)
		return errinfo_set_r(ei, r, "read %s", path);
	if (size != ms->stored_bytes) {
		if (ei)
			ei->offset = MIN(size, ms->stored_bytes);
		return errinfo_set(ei, size < ms->stored_bytes ? ERR_TRUNCATED : ERR_CORRUPT,
				   "%s has %llu bytes, the manifest says %llu", path, (unsigned long long)size,
				   (unsigned long long)ms->stored_bytes);
	}
	blob_id_hex(&id, hex);
	return strcmp(hex, ms->sha256) == 0 ? 0 : errinfo_set(ei, ERR_CORRUPT, "%s: digest is not that of the manifest", path);
}

/* Every blob an event maps must be one of the manifest, or an export would lack it. */
static int verify_blobs_of(const struct event *ev, const struct idset *blobs, struct errinfo *ei)
{
	for (uint32_t i = 0; i < ev->n_effects; i++) {
		const struct effect *e = &ev->effects[i];

		if (e->kind == EFFECT_MAP && e->source == MAP_SOURCE_BLOB && !idset_has(blobs, &e->blob)) {
			if (ei)
				ei->event = ev->number;
			return errinfo_set(ei, ERR_CORRUPT, "event %llu maps a blob that the manifest does not name",
					   (unsigned long long)ev->number);
		}
	}
	return 0;
}

static int verify_events(struct store_reader *rd, const struct idset *blobs, struct progress *p, struct errinfo *ei)
{
	const struct manifest *m = store_reader_manifest(rd);
	const struct event *ev;
	bool ended = false;
	uint64_t n = 0;
	int r;

	while ((r = store_reader_next(rd, &ev, ei)) > 0) {
		n++;
		if (ended)
			return errinfo_set(ei, ERR_CORRUPT, "events go on behind the end event %llu", (unsigned long long)n - 1);
		ended = ev->kind == EVENT_END;
		r = verify_blobs_of(ev, blobs, ei);
		/* so that a long recording can be interrupted */
		if (r == 0 && n % 4096 == 0 && p->fn)
			r = p->fn(p->ctx, p->done, p->total);
		if (r < 0)
			return r;
	}
	if (r < 0)
		return r;
	if (n != m->events)
		return errinfo_set(ei, n < m->events ? ERR_TRUNCATED : ERR_CORRUPT, "%llu events, the manifest says %llu",
				   (unsigned long long)n, (unsigned long long)m->events);
	if (!ended && m->state != RECORDING_TRUNCATED)
		return errinfo_set(ei, ERR_TRUNCATED, "the events end without an end event");
	return 0;
}

/* The data stream from end to end: each frame's checksum. */
static int verify_data(const char *dir, const struct manifest *m, struct errinfo *ei)
{
	struct stream events = { 0 }, data = { 0 };
	uint64_t end = 0;
	int r = recording_open_streams(dir, m, false, &events, &data, ei);

	if (r == 0)
		r = stream_count_checked(&data, &end, ei);
	if (r == 0 && end != m->data_stream.raw_bytes)
		r = errinfo_set(ei, end < m->data_stream.raw_bytes ? ERR_TRUNCATED : ERR_CORRUPT,
				"%s has %llu bytes of data, the manifest says %llu", data.name, (unsigned long long)end,
				(unsigned long long)m->data_stream.raw_bytes);
	if (r == 0 && data.end != STREAM_END_CLEAN)
		r = errinfo_set(ei, ERR_CORRUPT, "%s: bytes behind the last frame", data.name);
	stream_done(&events);
	stream_done(&data);
	return r;
}

int verify_streams(const char *dir, const struct manifest *m, struct progress *p, struct errinfo *ei)
{
	struct store_reader *rd CLEANUP(store_reader_freep) = NULL;
	struct idset blobs = { 0 };
	int r = verify_file(dir, m->compressed ? NAME_EVENTS_XZ : NAME_EVENTS, &m->event_stream, p, ei);

	if (r == 0)
		r = verify_file(dir, m->compressed ? NAME_DATA_XZ : NAME_DATA, &m->data_stream, p, ei);
	for (size_t i = 0; i < m->n_blobs && r >= 0; i++)
		r = idset_add(&blobs, &m->blobs[i]);
	if (r >= 0)
		r = store_reader_open_at(NULL, dir, &rd, ei);
	if (r == 0)
		r = verify_events(rd, &blobs, p, ei);
	if (r == 0)
		r = verify_data(dir, m, ei);
	idset_done(&blobs);
	return r;
}

static int verify_blob(struct store *s, const struct blob_id *id, struct progress *p, struct errinfo *ei)
{
	int fd CLEANUP(closep) = -1;
	struct blob_id got;
	uint64_t size;
	char hex[65];
	int r = store_blob_open(s, id, &fd);

	blob_id_hex(id, hex);
	if (r == 0)
		r = hash_file(fd, p, &got, &size);
	if (r == 0 && !blob_id_equal(&got, id))
		r = ERR_CORRUPT;
	return r < 0 ? errinfo_set_r(ei, r, "blob %s", hex) : 0;
}

static uint64_t blobs_total(struct store *s, const struct manifest *m)
{
	uint64_t n = 0;

	for (size_t i = 0; i < m->n_blobs; i++) {
		char *path CLEANUP(freep) = blob_path(s, &m->blobs[i]);
		struct stat st;

		if (path && fs_stat(path, &st) == 0)
			n += (uint64_t)st.st_size;
	}
	return n;
}

int store_verify(struct store *s, const struct store_id *id, store_progress_fn fn, void *ctx, struct errinfo *ei)
{
	struct progress p = { .fn = fn, .ctx = ctx };
	struct manifest m CLEANUP(manifest_done);
	char *dir CLEANUP(freep) = NULL;
	char *stop CLEANUP(freep) = NULL;
	int lock CLEANUP(closep) = -1;
	int r;

	manifest_init(&m);
	r = store_path(s, id, &dir);
	/* not while it is recorded, sealed or removed */
	if (r == 0)
		r = recording_lock(s, dir, false, MAINTAIN_WAIT_MS, &p, &lock);
	if (r < 0)
		return errinfo_set_r(ei, r, "verify recording %s", id->hex);
	p.stop = stop = os_asprintf("%s/" NAME_STOP, dir);
	r = manifest_load(s, id, &m, ei);
	if (r < 0)
		return r;
	if (m.state == RECORDING_OPEN)
		return errinfo_set(ei, ERR_TRUNCATED, "recording %s was not finished (its recorder is gone)", id->hex);
	p.total = m.event_stream.stored_bytes + m.data_stream.stored_bytes + blobs_total(s, &m);
	r = verify_streams(dir, &m, &p, ei);
	for (size_t i = 0; i < m.n_blobs && r == 0; i++)
		r = verify_blob(s, &m.blobs[i], &p, ei);
	return r;
}
