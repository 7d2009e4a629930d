/* What others left behind in tmp/: recordings of dead recorders become truncated ones, scraps are cleared away.
 *
 * A recorder holds tmp/ID/lock as long as it lives, so a free lock means that nobody will go on. The journals are cut back to their
 * last whole frames (of events: to the last frame whose data are there as well), which makes the recording strict from then
 * on: what its manifest promises must be readable.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include "base/os.h"
#include "base/str.h"
#include "store/idset_priv.h"
#include "store/limits_priv.h"
#include "store/live.h"
#include "store/manifest_priv.h"
#include "store/reader_priv.h"
#include "store/sha_priv.h"
#include "store/store_priv.h"

#define LOG_AREA "store.recover"
#include "base/log.h"

#define BLOB_LIST_MAX (MANIFEST_BLOBS_MAX * 65ull)

int blob_list_load(const char *dir, struct idset *ret)
{
	char *path CLEANUP(freep) = os_asprintf("%s/" NAME_BLOBS, dir);
	char *text CLEANUP(freep) = NULL;
	char hex[65] = "";
	struct blob_id id;
	size_t len;
	int r = path ? os_read_regular(path, BLOB_LIST_MAX, &text, &len) : -ENOMEM;

	if (r < 0)
		return r == -ENOENT ? 0 : r;
	for (size_t i = 0; i + 65 <= len && r >= 0; i += 65) {
		memcpy(hex, text + i, 64);
		r = blob_id_parse(hex, &id) == 0 ? idset_add(ret, &id) : 0;
	}
	return r < 0 ? r : 0;
}

/* --- one recording --- */

/* A journal whose head never reached the disk (the machine died): an empty one takes its place. */
static int mend_head(const char *dir, const struct manifest *m, enum stream_kind kind)
{
	char *path CLEANUP(freep) = os_asprintf("%s/%s", dir, kind == STREAM_EVENTS ? NAME_EVENTS : NAME_DATA);
	struct errinfo ignored = { 0 };
	struct source *src = NULL;
	struct stream st = { 0 };
	struct stream_head h;
	uint8_t id[16];
	int r = path ? os_open_regular(path) : -ENOMEM;

	if (r >= 0)
		r = source_file(r, &src);
	if (r >= 0)
		r = stream_init(&st, kind, path, src, &m->id, &ignored);
	stream_done(&st);
	if (r != ERR_TRUNCATED && r != ERR_CORRUPT && r != -ENOENT)
		return r;
	store_id_bytes(&m->id, id);
	stream_head_fill(&h, kind, id, m->start_wall_ns);
	return os_write_file_atomic(path, &h, sizeof(h), 0600);
}

/* Where the events end whose data are all there: position and bytes. */
static int find_cut(struct stream *events, struct stream *data, uint64_t *ret_pos, uint64_t *ret_bytes)
{
	struct frame f = { 0 };
	uint64_t end, data_end, bytes;
	int r = stream_count_checked(data, &data_end, NULL);

	if (r == 0)
		r = stream_count_checked(events, &end, NULL);
	bytes = stream_good_bytes(events);
	while (r == 0 && end > 1) {
		r = stream_load(events, end - 1, &f, NULL);
		if (r <= 0 || f.head.data_end <= data_end)
			break;
		end = f.head.first;
		bytes = f.offset;
		r = 0;
	}
	frame_done(&f);
	if (r < 0)
		return r;
	*ret_pos = end;
	*ret_bytes = bytes;
	return 0;
}

/* Cuts the file to `bytes` and tells its digest. */
static int cut_file(const char *dir, const char *name, uint64_t bytes, struct manifest_stream *ms)
{
	char *path CLEANUP(freep) = os_asprintf("%s/%s", dir, name);
	int fd CLEANUP(closep) = -1;
	struct blob_id digest;
	int r = path ? os_open(path, O_RDWR | O_NOFOLLOW, 0) : -ENOMEM;

	if (r < 0)
		return r;
	fd = r;
	r = os_ftruncate(fd, (off_t)bytes);
	if (r == 0)
		r = blob_hash_fd(fd, -1, &digest, &ms->stored_bytes);
	if (r == 0)
		blob_id_hex(&digest, ms->sha256);
	return r;
}

/* Payload bytes of the frames before position pos. */
static uint64_t raw_bytes_before(const struct stream *st, uint64_t pos)
{
	uint64_t n = 0;

	for (size_t i = 0; i < st->n && st->entries[i].first < pos; i++)
		n += st->entries[i].raw_len;
	return n;
}

/* The time of the last event, for the duration; 0 if it cannot be told. */
static uint64_t last_time(const char *dir, uint64_t events)
{
	struct store_reader *r CLEANUP(store_reader_freep) = NULL;
	const struct event *ev;

	if (events == 0 || store_reader_open_at(NULL, dir, &r, NULL) < 0 || store_reader_seek(r, events, NULL) < 0 ||
	    store_reader_next(r, &ev, NULL) <= 0)
		return 0;
	return ev->time_ns;
}

#define USUAL_REASON "the recorder ended without finishing the recording"

static int set_reason(struct manifest *m, const char *reason)
{
	free(m->reason);
	m->reason = os_strdup(reason ? reason : USUAL_REASON);
	return m->reason ? 0 : -ENOMEM;
}

static int take_blobs(const char *dir, struct manifest *m)
{
	struct idset ids = { 0 };
	int r = blob_list_load(dir, &ids);

	if (r < 0) {
		idset_done(&ids);
		return r;
	}
	free(m->blobs);
	m->blobs = ids.ids;
	m->n_blobs = ids.n;
	free(ids.slots);
	return 0;
}

/* Makes m and the journals in dir those of a truncated recording. */
static int cut_recording(const char *dir, struct manifest *m)
{
	struct stream events = { 0 }, data = { 0 };
	uint64_t end = 1, bytes = 0, data_bytes = 0;
	int r = mend_head(dir, m, STREAM_EVENTS);

	if (r == 0)
		r = mend_head(dir, m, STREAM_DATA);
	if (r == 0)
		r = recording_open_streams(dir, m, true, &events, &data, NULL);
	if (r == 0)
		r = find_cut(&events, &data, &end, &bytes);
	if (r == 0) {
		m->events = end - 1;
		m->event_stream.raw_bytes = raw_bytes_before(&events, end);
		m->data_stream.raw_bytes = raw_bytes_before(&data, UINT64_MAX);
		data_bytes = stream_good_bytes(&data);
	}
	stream_done(&events);
	stream_done(&data);
	if (r == 0)
		r = cut_file(dir, NAME_EVENTS, bytes, &m->event_stream);
	if (r == 0)
		r = cut_file(dir, NAME_DATA, data_bytes, &m->data_stream);
	return r;
}

static int recover_open(const char *dir, struct manifest *m, const char *reason)
{
	int r = cut_recording(dir, m);

	if (r == 0)
		r = set_reason(m, reason);
	if (r == 0)
		r = take_blobs(dir, m);
	if (r < 0)
		return r;
	m->duration_ns = last_time(dir, m->events);
	m->state = RECORDING_TRUNCATED;
	return manifest_save_at(dir, m, true);
}

static int drop_file(const char *dir, const char *name)
{
	char *path CLEANUP(freep) = os_asprintf("%s/%s", dir, name);

	return path ? fs_unlink_quiet(path) : -ENOMEM;
}

static int drop_reserve(const char *dir)
{
	char *path CLEANUP(freep) = os_asprintf("%s/" NAME_LOCK, dir);
	int fd CLEANUP(closep) = -1;
	int r = path ? os_open(path, O_WRONLY | O_NOFOLLOW, 0) : -ENOMEM;

	if (r < 0)
		return r;
	fd = r;
	return os_ftruncate(fd, 0);
}

/* The manifest never reached the disk (the machine died): what the head of the events tells is better than nothing. */
static int mend_manifest(const char *dir, const struct store_id *id, struct manifest *m)
{
	char *path CLEANUP(freep) = os_asprintf("%s/" NAME_EVENTS, dir);
	struct source *src = NULL;
	struct stream st = { 0 };
	int r = path ? os_open_regular(path) : -ENOMEM;

	if (r >= 0)
		r = source_file(r, &src);
	if (r >= 0)
		r = stream_init(&st, STREAM_EVENTS, path, src, id, NULL);
	if (r == 0) {
		m->id = *id;
		m->state = RECORDING_OPEN;
		m->start_wall_ns = st.start_wall_ns;
	}
	stream_done(&st);
	return r;
}

/* The lock on dir is held. */
static int recover_locked(struct store *s, const char *dir, const struct store_id *id, const char *reason)
{
	struct manifest m CLEANUP(manifest_done);
	int r;

	manifest_init(&m);
	r = drop_reserve(dir);
	if (r == 0)
		r = manifest_load_at(dir, &m, NULL);
	if (r == ERR_CORRUPT || r == -ENOENT)
		r = mend_manifest(dir, id, &m);
	/* else the recorder died between its last manifest and the move */
	if (r == 0 && m.state == RECORDING_OPEN)
		r = recover_open(dir, &m, reason);
	if (r == 0)
		r = drop_file(dir, NAME_BLOBS);
	if (r == 0)
		r = store_publish(s, dir, id);
	if (r == 0)
		store_set_last(s, id, true);
	return r;
}

/* Somebody else has recovered it just now, who did not know why the recorder ended. */
static int tell_reason(struct store *s, const struct store_id *id, const char *reason)
{
	struct manifest m CLEANUP(manifest_done);
	char *dir CLEANUP(freep) = store_done_path(s, id);
	int lock CLEANUP(closep) = -1;
	int r;

	manifest_init(&m);
	r = dir ? manifest_load_at(dir, &m, NULL) : -ENOMEM;
	if (r < 0 || m.state != RECORDING_TRUNCATED || !m.reason || strcmp(m.reason, USUAL_REASON) != 0)
		return r;
	r = fs_lock_file(dir, NAME_LOCK, true, &lock);
	if (r < 0) /* it is being sealed: that it is truncated has to do */
		return r == ERR_BUSY ? 0 : r;
	manifest_done(&m);
	r = manifest_load_at(dir, &m, NULL);
	if (r == 0)
		r = set_reason(&m, reason);
	return r < 0 ? r : manifest_save_at(dir, &m, true);
}

int store_recover_one(struct store *s, const struct store_id *id, const char *reason)
{
	int lock CLEANUP(closep) = -1;
	char *dir CLEANUP(freep) = store_tmp_path(s, id);
	int r = dir ? fs_lock_file(dir, NAME_LOCK, true, &lock) : -ENOMEM;

	if (r == -ENOENT && reason)
		r = tell_reason(s, id, reason);
	else if (r == 0)
		r = recover_locked(s, dir, id, reason) ?: 1;
	return r == ERR_BUSY || r == -ENOENT ? 0 : r;
}

/* --- tmp/ --- */

static bool is_stale(const char *path)
{
	struct stat st;

	return fs_stat(path, &st) == 0 && time(NULL) - st.st_mtime > STALE_SECONDS;
}

/* A directory that was being made: its maker locks it, and has an hour to get that far. */
static void clear_unfinished(const char *path)
{
	int lock CLEANUP(closep) = -1;

	if (fs_is_dir(path) && is_stale(path) && fs_lock_file(path, NAME_LOCK, true, &lock) == 0)
		(void)!fs_remove_dir(path);
}

static void clear_scrap(struct store *s, const char *name)
{
	char *path CLEANUP(freep) = os_asprintf("%s/tmp/%s", s->dir, name);

	if (!path)
		return;
	if (str_has_prefix(name, PREFIX_REMOVE))
		(void)!fs_remove_dir(path);
	else if (str_has_prefix(name, PREFIX_NEW) || str_has_prefix(name, PREFIX_IMPORT))
		clear_unfinished(path);
	else if ((str_has_prefix(name, PREFIX_BLOB) || str_has_prefix(name, PREFIX_LAST)) && is_stale(path))
		(void)!fs_unlink_quiet(path);
}

struct recovery {
	struct store *store;
	int recovered;
};

static int visit(void *ctx, const char *name)
{
	struct recovery *rec = ctx;
	struct store_id id;
	int r;

	if (!store_id_valid(name)) {
		clear_scrap(rec->store, name);
		return 0;
	}
	/* one that cannot be recovered stays where it is, and does not keep the others from it */
	memcpy(id.hex, name, sizeof(id.hex));
	r = store_recover_one(rec->store, &id, NULL);
	if (r < 0)
		log_debug("recover recording %s: %s", name, err_str(r));
	else
		rec->recovered += r;
	return 0;
}

int store_recover(struct store *s)
{
	char *tmp CLEANUP(freep) = os_asprintf("%s/tmp", s->dir);
	struct recovery rec = { .store = s };
	int r = tmp ? fs_each_name(tmp, visit, &rec) : -ENOMEM;

	return r < 0 ? (r == -ENOENT ? 0 : r) : rec.recovered;
}
