/* See writer.h. Two frame buffers, one per stream; a frame goes out in one write(2).
 *
 *     event --encode--> events buffer --(256 KiB, or old)--> events.journal
 *             |large data--> data buffer --(256 KiB)--> data.journal      always written before the events that refer to it
 *
 * What a journal holds is known frame by frame (good_bytes): if a write fails half way, commit cuts the file back to that.
 */
#include "store/writer.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "base/fault.h"
#include "base/os.h"
#include "store/event_priv.h"
#include "store/idset_priv.h"
#include "store/limits_priv.h"
#include "store/live.h"
#include "store/manifest_priv.h"
#include "store/sha_priv.h"
#include "store/store_priv.h"
#include "store/stream_priv.h"

/* Room kept on disk for the last manifest: allocated to the lock file, behind its end. */
#define RESERVE_BYTES (256u << 10)

/* Large data that were put lately, as far as they are still in memory: what passes through a pipeline, or is read and printed, is stored once. */
#define RECENT_SLOTS 64

struct recent {
	uint64_t off, len; /* in the data stream; 0 bytes: none */
};

struct journal {
	int fd;
	struct buf buf; /* head (filled in at the end) and payload of the frame being gathered */
	uint64_t seq, first; /* of that frame */
	uint64_t good_bytes; /* of whole frames in the file */
	uint64_t raw_bytes;  /* of payload in those */
	struct sha256_ctx sha; /* of the good bytes */
};

struct store_writer {
	struct store *store;
	struct store_id id;
	char *dir;   /* tmp/ID; NULL when committed or discarded */
	int lock_fd;
	int blobs_fd;
	int error;   /* first failed write, sticky */
	uint64_t asked; /* bytes of the lock file that have been read */
	struct journal events, data;
	struct buf last;     /* the data frame before the one being gathered, and its place: */
	uint64_t last_first;
	struct recent recent[RECENT_SLOTS];
	uint64_t count;     /* events so far, and in the frame being gathered: */
	uint32_t in_frame;
	uint64_t time_base; /* time of the frame's first event, and of the last one: */
	uint64_t time;
	struct idset blobs;
};

static size_t payload_len(const struct journal *j)
{
	return j->buf.len - sizeof(struct frame_head);
}

/* Starts the next frame: its head is left open at the front of the buffer. */
static int begin_frame(struct journal *j)
{
	/* an exceptional event may have grown the buffer: memory stays bounded by what is usual */
	if (j->buf.cap > 4 * FRAME_TARGET)
		buf_done(&j->buf);
	buf_clear(&j->buf);
	return buf_extend(&j->buf, sizeof(struct frame_head)) ? 0 : buf_error(&j->buf);
}

static int write_good(struct journal *j, const void *p, size_t n)
{
	int r = FAULT_HIT(store_write) ? -ENOSPC : os_write_full(j->fd, p, n);

	if (r < 0)
		return r;
	sha256_update(&j->sha, n, p);
	return 0;
}

static int journal_open(struct store_writer *w, struct journal *j, enum stream_kind kind, const char *name, uint64_t start)
{
	char *path CLEANUP(freep) = os_asprintf("%s/%s", w->dir, name);
	struct stream_head h;
	uint8_t id[16];
	int r;

	if (!path)
		return -ENOMEM;
	r = os_open(path, O_WRONLY | O_CREAT | O_EXCL | O_APPEND, 0600);
	if (r < 0)
		return r;
	j->fd = r;
	j->first = kind == STREAM_EVENTS;
	sha256_init(&j->sha);
	store_id_bytes(&w->id, id);
	stream_head_fill(&h, kind, id, start);
	r = write_good(j, &h, sizeof(h));
	if (r < 0)
		return r;
	j->good_bytes = sizeof(h);
	return begin_frame(j);
}

/* The frame with head h is in the file. */
static void frame_written(struct journal *j, const struct frame_head *h)
{
	j->good_bytes += sizeof(*h) + h->raw_len;
	j->raw_bytes += h->raw_len;
	j->seq++;
	(void)FAULT_HIT(store_frame);
}

static int flush_data(struct store_writer *w)
{
	struct journal *j = &w->data;
	struct frame_head h = { .magic = FRAME_MAGIC_DATA, .seq = j->seq, .first = j->first };
	struct buf full;
	int r;

	h.raw_len = (uint32_t)payload_len(j);
	if (h.raw_len == 0)
		return 0;
	h.data_end = j->first + h.raw_len;
	frame_head_seal(&h, j->buf.data + sizeof(h));
	memcpy(j->buf.data, &h, sizeof(h));
	r = write_good(j, j->buf.data, j->buf.len);
	if (r < 0)
		return r;
	frame_written(j, &h);
	full = j->buf;
	j->buf = w->last;
	w->last = full;
	w->last_first = h.first;
	j->first = h.data_end;
	return begin_frame(j);
}

static int flush_events(struct store_writer *w)
{
	struct journal *j = &w->events;
	struct frame_head h = { .magic = FRAME_MAGIC_EVENTS, .seq = j->seq, .first = j->first, .count = w->in_frame,
				.time = w->time_base };
	int r = flush_data(w);

	if (r < 0 || w->in_frame == 0)
		return r;
	h.raw_len = (uint32_t)payload_len(j);
	h.data_end = w->data.first;
	frame_head_seal(&h, j->buf.data + sizeof(h));
	memcpy(j->buf.data, &h, sizeof(h));
	r = write_good(j, j->buf.data, j->buf.len);
	if (r < 0)
		return r;
	frame_written(j, &h);
	j->first += h.count;
	w->in_frame = 0;
	return begin_frame(j);
}

/* Large data go to the file from where they lie, in frames of their own. */
static int put_data_direct(struct store_writer *w, const uint8_t *p, size_t n)
{
	struct journal *j = &w->data;
	int r = flush_data(w);

	while (r == 0 && n > 0) {
		struct frame_head h = { .magic = FRAME_MAGIC_DATA, .seq = j->seq, .first = j->first };

		h.raw_len = (uint32_t)MIN(n, (size_t)DATA_FRAME_MAX);
		h.data_end = h.first + h.raw_len;
		frame_head_seal(&h, p);
		r = write_good(j, &h, sizeof(h));
		if (r == 0)
			r = write_good(j, p, h.raw_len);
		if (r < 0)
			return r;
		frame_written(j, &h);
		j->first = h.data_end;
		p += h.raw_len;
		n -= h.raw_len;
	}
	return r;
}

/* Where such data would be noted: by length and some of the bytes. */
static struct recent *recent_slot(struct store_writer *w, const uint8_t *p, size_t n)
{
	const size_t at[3] = { 0, n / 2, n - sizeof(uint64_t) };
	uint64_t h = n, x;

	for (unsigned i = 0; i < ARRAY_SIZE(at); i++) {
		memcpy(&x, p + at[i], sizeof(x));
		h = (h ^ x) * 0x9e3779b97f4a7c15ull;
		h ^= h >> 32;
	}
	return &w->recent[h % RECENT_SLOTS];
}

/* Are they there, byte for byte? */
static bool is_again(const struct store_writer *w, const struct recent *s, const uint8_t *p, size_t n)
{
	const bool old = s->off < w->data.first;
	const struct buf *b = old ? &w->last : &w->data.buf;
	uint64_t first = old ? w->last_first : w->data.first;

	if (s->len != n || s->off < first || b->len < sizeof(struct frame_head) + (s->off - first) + n)
		return false;
	return !memcmp(b->data + sizeof(struct frame_head) + (s->off - first), p, n);
}

/* event_put_data_fn. INLINE_MAX < n. */
static int put_data(void *ctx, const void *p, size_t n, uint64_t *ret_off)
{
	struct store_writer *w = ctx;
	struct journal *j = &w->data;
	struct recent *slot = recent_slot(w, p, n);
	uint64_t off = j->first + payload_len(j);
	int r = 0;

	if (is_again(w, slot, p, n)) {
		*ret_off = slot->off;
		return 0;
	}
	*slot = (struct recent){ off, n };
	if (n >= FRAME_TARGET) {
		r = put_data_direct(w, p, n);
	} else {
		buf_put(&j->buf, p, n);
		r = buf_error(&j->buf);
		if (r == 0 && payload_len(j) >= FRAME_TARGET)
			r = flush_data(w);
	}
	if (r < 0)
		return w->error = r;
	*ret_off = off;
	return 0;
}

static int open_blob_list(struct store_writer *w)
{
	char *path CLEANUP(freep) = os_asprintf("%s/" NAME_BLOBS, w->dir);
	int r = path ? os_open(path, O_WRONLY | O_CREAT | O_APPEND, 0600) : -ENOMEM;

	if (r < 0)
		return r;
	w->blobs_fd = r;
	return 0;
}

int store_writer_use_blob(struct store_writer *w, const struct blob_id *id)
{
	char line[66];
	int r;

	if (w->error)
		return w->error;
	r = idset_add(&w->blobs, id);
	if (r <= 0)
		return r;
	blob_id_hex(id, line);
	line[64] = '\n';
	r = w->blobs_fd < 0 ? open_blob_list(w) : 0;
	if (r == 0)
		r = os_write_full(w->blobs_fd, line, 65);
	return r < 0 ? w->error = r : 0;
}

static int use_blobs_of(struct store_writer *w, const struct event *ev)
{
	int r = 0;

	for (uint32_t i = 0; i < ev->n_effects && r == 0; i++)
		if (ev->effects[i].kind == EFFECT_MAP && ev->effects[i].source == MAP_SOURCE_BLOB)
			r = store_writer_use_blob(w, &ev->effects[i].blob);
	return r;
}

/* Closes the frame when it is full or old; before an event that might make it longer than a reader accepts, too. */
static int event_written(struct store_writer *w, const struct event *ev, size_t len)
{
	if (w->in_frame == 0)
		w->time_base = ev->time_ns;
	w->in_frame++;
	w->count++;
	w->time = ev->time_ns;
	if (payload_len(&w->events) >= FRAME_TARGET || len >= FRAME_TARGET || ev->time_ns - w->time_base >= FLUSH_AGE_NS)
		return flush_events(w);
	return 0;
}

int store_writer_event(struct store_writer *w, struct event *ev)
{
	size_t before = w->events.buf.len;
	int r;

	if (w->error)
		return w->error;
	if (ev->n_effects) {
		r = use_blobs_of(w, ev);
		if (r < 0)
			return r;
	}
	r = event_encode_at(ev, w->in_frame ? w->time_base : ev->time_ns, INLINE_MAX, put_data, w, &w->events.buf);
	if (r == 0 && w->events.buf.len - before > EVENT_BYTES_MAX - FRAME_TARGET) {
		w->events.buf.len = before;
		r = ERR_LIMIT;
	}
	if (r < 0)
		return r == -ENOMEM ? w->error = r : r;
	r = event_written(w, ev, w->events.buf.len - before);
	if (r < 0)
		return w->error = r;
	ev->number = w->count;
	return 0;
}

uint64_t store_writer_count(const struct store_writer *w)
{
	return w->count;
}

uint64_t store_writer_bytes(const struct store_writer *w)
{
	return w->events.good_bytes + w->events.buf.len + w->data.good_bytes + w->data.buf.len;
}

const struct store_id *store_writer_id(const struct store_writer *w)
{
	return &w->id;
}

int store_writer_flush(struct store_writer *w)
{
	int r = w->error ? w->error : flush_events(w);

	return r < 0 ? w->error = r : 0;
}

int store_writer_asked(struct store_writer *w, char *ret, size_t size)
{
	char text[STORE_ASK_MAX];
	ssize_t n = os_pread(w->lock_fd, text, sizeof(text), (off_t)w->asked);
	const char *end;

	if (n <= 0)
		return (int)n;
	end = memchr(text, '\n', (size_t)n);
	if (!end) { /* a line that is being written, or none of store_ask() */
		w->asked += n == sizeof(text) ? sizeof(text) : 0;
		return 0;
	}
	w->asked += (size_t)(end + 1 - text);
	snprintf(ret, size, "%.*s", (int)(end - text), text);
	return 1;
}

/* Best effort: a file system that cannot allocate just has no reserve. The file has only what others ask (store/live.h). */
static void make_reserve(struct store_writer *w)
{
	(void)!fallocate(w->lock_fd, FALLOC_FL_KEEP_SIZE, 0, RESERVE_BYTES);
}

static void drop_reserve(struct store_writer *w)
{
	int r UNUSED = os_ftruncate(w->lock_fd, 0);
}

/* The manifest has it now. */
static void drop_blob_list(struct store_writer *w)
{
	char *path CLEANUP(freep) = w->blobs_fd >= 0 ? os_asprintf("%s/" NAME_BLOBS, w->dir) : NULL;
	int r UNUSED = path ? os_unlink(path) : 0;
}

/* Fills tmp/new.ID, then gives it its name: until then store_recover() does not take it for a recording. */
static int build(struct store_writer *w, const struct manifest *m)
{
	char *final CLEANUP(freep) = store_tmp_path(w->store, &w->id);
	struct manifest first = *m;
	int r;

	if (!final)
		return -ENOMEM;
	first.id = w->id;
	first.state = RECORDING_OPEN;
	r = os_mkdir(w->dir, 0700);
	if (r == 0)
		r = fs_lock_file(w->dir, NAME_LOCK, true, &w->lock_fd);
	if (r == 0)
		r = journal_open(w, &w->events, STREAM_EVENTS, NAME_EVENTS, m->start_wall_ns);
	if (r == 0)
		r = journal_open(w, &w->data, STREAM_DATA, NAME_DATA, m->start_wall_ns);
	/* not fsync()ed, nor is the last: a recording has to be worth that first, and sealing does it */
	if (r == 0)
		r = manifest_save_at(w->dir, &first, false);
	if (r < 0)
		return r;
	make_reserve(w);
	r = os_rename(w->dir, final);
	if (r < 0)
		return r;
	free(w->dir);
	w->dir = TAKE(final);
	return 0;
}

int store_writer_new(struct store *s, const struct manifest *m, struct store_writer **ret, struct errinfo *ei)
{
	struct store_writer *w = os_calloc(1, sizeof(*w));
	int r;

	if (!w)
		return errinfo_set_r(ei, -ENOMEM, "start a recording");
	w->store = s;
	w->lock_fd = w->blobs_fd = w->events.fd = w->data.fd = -1;
	r = store_id_random(&w->id);
	if (r == 0) {
		w->dir = os_asprintf("%s/tmp/" PREFIX_NEW "%s", s->dir, w->id.hex);
		r = w->dir ? build(w, m) : -ENOMEM;
	}
	if (r < 0) {
		if (w->dir)
			(void)!fs_remove_dir(w->dir);
		store_writer_free(w);
		return errinfo_set_r(ei, r, "start a recording in %s", s->dir);
	}
	*ret = w;
	return 0;
}

static void journal_close(struct journal *j)
{
	if (j->fd >= 0)
		os_close(j->fd);
	j->fd = -1;
	buf_done(&j->buf);
}

void store_writer_free(struct store_writer *w)
{
	if (!w)
		return;
	journal_close(&w->events);
	journal_close(&w->data);
	buf_done(&w->last);
	closep(&w->blobs_fd);
	closep(&w->lock_fd);
	idset_done(&w->blobs);
	free(w->dir);
	free(w);
}

static void fill_stream(const struct journal *j, struct manifest_stream *ms)
{
	/* a copy, since ending a digest clears it: a commit that fails may be tried again */
	struct sha256_ctx sha = j->sha;

	ms->raw_bytes = j->raw_bytes;
	ms->stored_bytes = j->good_bytes;
	sha_hex(&sha, ms->sha256);
}

static int fill_manifest(struct store_writer *w, struct manifest *m)
{
	struct blob_id *ids = w->blobs.n ? os_malloc(w->blobs.n * sizeof(*ids)) : NULL;

	if (w->blobs.n && !ids)
		return -ENOMEM;
	if (ids)
		memcpy(ids, w->blobs.ids, w->blobs.n * sizeof(*ids));
	free(m->blobs);
	m->blobs = ids;
	m->n_blobs = w->blobs.n;
	m->id = w->id;
	m->events = w->events.first - 1;
	m->compressed = false;
	fill_stream(&w->events, &m->event_stream);
	fill_stream(&w->data, &m->data_stream);
	return 0;
}

/* A failed write may have left a piece of a frame. */
static void cut_back(struct journal *j)
{
	int r UNUSED = os_ftruncate(j->fd, (off_t)j->good_bytes);
}

static int commit(struct store_writer *w, struct manifest *m)
{
	int r = fill_manifest(w, m);

	if (r < 0)
		return r;
	if (w->error) {
		cut_back(&w->events);
		cut_back(&w->data);
	}
	drop_reserve(w);
	r = manifest_save_at(w->dir, m, false);
	if (r < 0)
		return r;
	drop_blob_list(w);
	(void)FAULT_HIT(store_commit);
	r = store_publish(w->store, w->dir, &w->id);
	if (r < 0)
		return r;
	free(TAKE(w->dir));
	store_set_last(w->store, &w->id, false);
	return 0;
}

int store_writer_commit(struct store_writer *w, struct manifest *m, struct errinfo *ei)
{
	int r = store_writer_flush(w);

	must(w->dir && m->state != RECORDING_OPEN && m->state != RECORDING_SEALED);
	/* after a failed write only an honest manifest is accepted */
	if (r < 0 && m->state != RECORDING_TRUNCATED)
		return errinfo_set_r(ei, r, "write recording %s", w->id.hex);
	r = commit(w, m);
	if (r < 0)
		return errinfo_set_r(ei, r, "commit recording %s", w->id.hex);
	closep(&w->lock_fd);
	w->lock_fd = -1;
	return 0;
}

int store_writer_discard(struct store_writer *w)
{
	char *rm CLEANUP(freep) = os_asprintf("%s/tmp/" PREFIX_REMOVE "%s", w->store->dir, w->id.hex);
	int r;

	must(w->dir);
	if (!rm)
		return -ENOMEM;
	r = os_rename(w->dir, rm);
	if (r < 0)
		return r;
	free(TAKE(w->dir));
	return fs_remove_dir(rm);
}
