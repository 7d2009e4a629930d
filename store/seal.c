/* Compression of a finished recording.
 *
 *     journals --> events.xz.new data.xz.new index.new --fsync, rename--> *.xz index --> manifest says "compressed" --> journals removed
 *
 * The manifest alone decides which files count, so that the recording is whole at every step; what a killed
 * sealer leaves is overwritten or removed by the next one. Every frame and the digest of the whole journal are checked on the way: a damaged
 * journal is never turned into a good-looking .xz.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include "base/fault.h"
#include "base/os.h"
#include "store/index_priv.h"
#include "store/limits_priv.h"
#include "store/maintain.h"
#include "store/manifest_priv.h"
#include "store/progress_priv.h"
#include "store/reader_priv.h"
#include "store/sha_priv.h"
#include "store/store_priv.h"
#include "store/xz_priv.h"

/* Chosen by measurement (tests/unit/store_bench): 1 packs journals as well as 3 does within a few percent, at twice the speed. */
#define SEAL_PRESET 1

#define NEW ".new"

struct sealing {
	struct store *store;
	const char *dir;
	struct manifest *manifest;
	struct progress progress;
	struct errinfo *ei;
};

struct packing {
	int fd;
	struct sha256_ctx sha; /* of what went to fd */
	uint64_t bytes;
};

/* xz_sink_fn */
static int put_packed(void *ctx, const void *p, size_t n)
{
	struct packing *pk = ctx;
	int r = os_write_full(pk->fd, p, n);

	if (r < 0)
		return r;
	sha256_update(&pk->sha, n, p);
	pk->bytes += n;
	return 0;
}

/* The head of the stream, as it is in the file. */
static int put_stream_head(struct stream *st, struct xz_encoder *xz, struct sha256_ctx *raw_sha, uint64_t *ret_len)
{
	uint64_t len = st->n ? st->entries[0].offset : st->scan_off;
	uint8_t *p CLEANUP(freep) = os_malloc(len);
	ssize_t got = p ? source_pread(st->source, p, len, 0) : -ENOMEM;

	if (got < 0)
		return (int)got;
	if ((uint64_t)got != len)
		return ERR_CORRUPT;
	sha256_update(raw_sha, len, p);
	*ret_len = len;
	return xz_encoder_put(xz, p, len);
}

static int pack_frames(struct sealing *sl, struct stream *st, struct xz_encoder *xz, struct sha256_ctx *raw_sha)
{
	const size_t target = st->kind == STREAM_EVENTS ? XZ_BLOCK_EVENTS : XZ_BLOCK_DATA;
	struct frame f = { 0 };
	uint64_t in_block = 0;
	int r = put_stream_head(st, xz, raw_sha, &in_block);

	for (size_t i = 0; i < st->n && r >= 0; i++) {
		r = stream_load(st, st->entries[i].first, &f, sl->ei);
		if (r == 0)
			r = ERR_TRUNCATED;
		if (r > 0 && in_block > 0 && in_block + f.bytes.len > target) {
			r = xz_encoder_end_block(xz);
			in_block = 0;
		}
		if (r >= 0)
			r = xz_encoder_put(xz, f.bytes.data, f.bytes.len);
		if (r >= 0) {
			sha256_update(raw_sha, f.bytes.len, f.bytes.data);
			in_block += f.bytes.len;
			r = progress_add(&sl->progress, f.bytes.len);
		}
	}
	frame_done(&f);
	return r < 0 ? r : 0;
}

/* Compresses st into DIR/NAME.new; ms becomes that of the new file. */
static int pack_stream(struct sealing *sl, struct stream *st, const char *name, struct manifest_stream *ms)
{
	char *path CLEANUP(freep) = os_asprintf("%s/%s" NEW, sl->dir, name);
	struct xz_encoder *xz CLEANUP(xz_encoder_freep) = NULL;
	struct packing pk = { .fd = -1 };
	int fd CLEANUP(closep) = -1;
	struct sha256_ctx raw_sha;
	char digest[65];
	int r = path ? os_open(path, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW, 0600) : -ENOMEM;

	if (r < 0)
		return r;
	pk.fd = fd = r;
	sha256_init(&pk.sha);
	sha256_init(&raw_sha);
	r = xz_encoder_new(SEAL_PRESET, put_packed, &pk, &xz);
	if (r == 0)
		r = pack_frames(sl, st, xz, &raw_sha);
	if (r == 0)
		r = xz_encoder_finish(xz);
	if (r < 0)
		return r;
	sha_hex(&raw_sha, digest);
	if (strcmp(digest, ms->sha256) != 0)
		return errinfo_set(sl->ei, ERR_CORRUPT, "%s: digest is not that of the manifest", st->name);
	ms->stored_bytes = pk.bytes;
	sha_hex(&pk.sha, ms->sha256);
	return os_fsync(fd);
}

/* All of the journal must be frames, as many as the manifest says. */
static int check_length(struct sealing *sl, struct stream *st, const struct manifest_stream *ms, uint64_t want_end)
{
	uint64_t end;
	int r = stream_count(st, &end, sl->ei);

	if (r < 0)
		return r;
	if (end != want_end || st->end != STREAM_END_CLEAN || stream_good_bytes(st) != ms->stored_bytes) {
		if (sl->ei)
			sl->ei->offset = stream_good_bytes(st);
		return errinfo_set(sl->ei, end < want_end ? ERR_TRUNCATED : ERR_CORRUPT,
				   "%s: frames end at byte %llu, the manifest says %llu", st->name,
				   (unsigned long long)stream_good_bytes(st), (unsigned long long)ms->stored_bytes);
	}
	return 0;
}

static int pack_both(struct sealing *sl, struct manifest_stream *ev, struct manifest_stream *da)
{
	struct manifest *m = sl->manifest;
	struct stream events = { 0 }, data = { 0 };
	int r = recording_open_streams(sl->dir, m, false, &events, &data, sl->ei);

	if (r == 0)
		r = check_length(sl, &events, ev, m->events + 1);
	if (r == 0)
		r = check_length(sl, &data, da, da->raw_bytes);
	if (r == 0)
		r = pack_stream(sl, &events, NAME_EVENTS_XZ, ev);
	if (r == 0)
		r = pack_stream(sl, &data, NAME_DATA_XZ, da);
	if (r == 0)
		r = index_save(sl->dir, NAME_INDEX NEW, &m->id, &events, &data);
	stream_done(&events);
	stream_done(&data);
	return r;
}

static int in_dir(const char *dir, const char *name, int (*fn)(const char *path))
{
	char *path CLEANUP(freep) = os_asprintf("%s/%s", dir, name);

	return path ? fn(path) : -ENOMEM;
}

static int rename_new(const char *dir, const char *name)
{
	char *from CLEANUP(freep) = os_asprintf("%s/%s" NEW, dir, name);
	char *to CLEANUP(freep) = os_asprintf("%s/%s", dir, name);

	return from && to ? os_rename(from, to) : -ENOMEM;
}

static const char *const packed_names[] = { NAME_EVENTS_XZ, NAME_DATA_XZ, NAME_INDEX };

static void drop_new(const char *dir)
{
	for (size_t i = 0; i < ARRAY_SIZE(packed_names); i++) {
		char *path CLEANUP(freep) = os_asprintf("%s/%s" NEW, dir, packed_names[i]);

		if (path)
			(void)!fs_unlink_quiet(path);
	}
}

static int install(struct sealing *sl)
{
	int r = 0;

	for (size_t i = 0; i < ARRAY_SIZE(packed_names) && r == 0; i++)
		r = rename_new(sl->dir, packed_names[i]);
	return r == 0 ? fs_sync_dir(sl->dir) : r;
}

static int drop_journals(const char *dir)
{
	int r = in_dir(dir, NAME_EVENTS, fs_unlink_quiet);

	return r == 0 ? in_dir(dir, NAME_DATA, fs_unlink_quiet) : r;
}

static int seal_journals(struct sealing *sl)
{
	struct manifest *m = sl->manifest;
	struct manifest_stream ev = m->event_stream, da = m->data_stream;
	int r;

	sl->progress.total = ev.stored_bytes + da.stored_bytes;
	r = pack_both(sl, &ev, &da);
	if (r == 0)
		r = install(sl);
	if (r < 0) {
		drop_new(sl->dir);
		return r;
	}
	m->event_stream = ev;
	m->data_stream = da;
	m->compressed = true;
	if (m->state == RECORDING_COMPLETE)
		m->state = RECORDING_SEALED;
	r = manifest_save_at(sl->dir, m, true);
	if (r == 0)
		r = fs_sync_dir(sl->dir);
	if (FAULT_HIT(store_seal))
		return -EIO;
	return r == 0 ? drop_journals(sl->dir) : r;
}

/* Sealed before: finish what a killed sealer left to do, and make a lost index again. */
static int tidy(struct sealing *sl)
{
	struct stream events = { 0 }, data = { 0 };
	uint64_t end;
	int r = drop_journals(sl->dir);

	drop_new(sl->dir);
	if (r == 0)
		r = recording_open_streams(sl->dir, sl->manifest, false, &events, &data, sl->ei);
	if (r == 0 && !(events.from_index && data.from_index)) {
		r = stream_count(&events, &end, sl->ei);
		if (r == 0)
			r = stream_count(&data, &end, sl->ei);
		if (r == 0)
			r = index_save(sl->dir, NAME_INDEX NEW, &sl->manifest->id, &events, &data);
		if (r == 0)
			r = rename_new(sl->dir, NAME_INDEX);
	}
	stream_done(&events);
	stream_done(&data);
	return r;
}

static int seal_dir(struct sealing *sl)
{
	struct manifest m CLEANUP(manifest_done);
	int r;

	manifest_init(&m);
	sl->manifest = &m;
	r = manifest_load_at(sl->dir, &m, sl->ei);
	if (r < 0)
		return r;
	if (m.state == RECORDING_OPEN)
		return ERR_BUSY;
	return m.compressed ? tidy(sl) : seal_journals(sl);
}

int store_seal(struct store *s, const struct store_id *id, store_progress_fn fn, void *ctx, struct errinfo *ei)
{
	struct sealing sl = { .store = s, .progress = { .fn = fn, .ctx = ctx }, .ei = ei };
	char *dir CLEANUP(freep) = store_done_path(s, id);
	char *stop CLEANUP(freep) = os_asprintf("%s/%s/" NAME_STOP, s->dir, id->hex);
	int lock CLEANUP(closep) = -1;
	int r = dir && stop ? 0 : -ENOMEM;

	sl.dir = dir;
	sl.progress.stop = stop;
	if (r == 0 && !fs_exists(dir)) {
		char *tmp CLEANUP(freep) = store_tmp_path(s, id);

		r = tmp && fs_exists(tmp) ? ERR_BUSY : ERR_NOT_FOUND;
	}
	if (r == 0)
		r = fs_lock_file(dir, NAME_LOCK, true, &lock);
	if (r == 0)
		r = seal_dir(&sl);
	return r < 0 ? errinfo_set_r(ei, r, "seal recording %s", id->hex) : 0;
}
