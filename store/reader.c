/* See reader.h. Frames come checked from stream.c; this file turns them into events and finds the bytes that events refer to.
 *
 * Events are decoded in place: their strings and inline data point into the frame held in `frame`. A few data frames are kept,
 * since neighbouring effects mostly share one.
 */
#include "store/reader.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include "base/os.h"
#include "store/event_priv.h"
#include "store/index_priv.h"
#include "store/limits_priv.h"
#include "store/manifest_priv.h"
#include "store/reader_priv.h"
#include "store/store_priv.h"

#define DATA_FRAMES 4

struct store_reader {
	struct store *store;
	struct manifest manifest;
	struct stream events, data;
	struct frame frame;  /* of the current events; raw_len 0 = none */
	struct view view;    /* what is not decoded yet of it */
	uint32_t left;       /* events in view */
	uint64_t next;       /* number of the next event */
	struct event_memory *memory;
	struct event event;  /* what was given last */
	uint32_t offset;     /* of it in the frame's payload */
	bool peeked;         /* event is number `next` and not taken yet */
	bool complete;       /* event number `seen` is EVENT_END */
	uint64_t seen;       /* highest number decoded, or looked at by look_for_end() */
	struct frame cache[DATA_FRAMES];
	unsigned cache_next; /* the one to replace next */
};

/* --- opening --- */

static int open_source(int fd, bool compressed, struct store_blocks *blocks, struct source **ret)
{
	struct source *src;
	struct stat st;
	int r = os_fstat(fd, &st);

	if (r < 0) {
		os_close(fd);
		return r;
	}
	r = source_file(fd, &src);
	if (r == 0 && compressed)
		r = source_xz_shared(src, &st, blocks, &src);
	if (r == 0)
		*ret = src;
	return r;
}

static int open_stream(const char *dir, const struct manifest *m, enum stream_kind kind, struct store_blocks *blocks, struct stream *ret,
		       struct errinfo *ei)
{
	static const char *const names[2][2] = {
		[STREAM_EVENTS] = { NAME_EVENTS, NAME_EVENTS_XZ },
		[STREAM_DATA] = { NAME_DATA, NAME_DATA_XZ },
	};
	const char *name = names[kind][m->compressed];
	char *path CLEANUP(freep) = os_asprintf("%s/%s", dir, name);
	struct source *src = NULL;
	int r = path ? os_open_regular(path) : -ENOMEM;

	if (r >= 0)
		r = open_source(r, m->compressed, blocks, &src);
	if (r < 0)
		return errinfo_set_r(ei, r, "open %s", path ? path : name);
	return stream_init(ret, kind, path, src, &m->id, ei);
}

/* While journals are replaced by .xz files the manifest may be read before and the files opened after: -ENOENT then. */
static int open_streams(const char *dir, const struct manifest *m, bool salvage, struct store_blocks *blocks, struct stream *events, struct stream *data,
			struct errinfo *ei)
{
	int r;

	*events = *data = (struct stream){ 0 };
	r = open_stream(dir, m, STREAM_EVENTS, blocks, events, ei);
	if (r == 0)
		r = open_stream(dir, m, STREAM_DATA, blocks, data, ei);
	if (r < 0) {
		stream_done(events);
		stream_done(data);
		return r;
	}
	if (m->state != RECORDING_OPEN && !salvage) {
		events->strict_below = m->events + 1;
		data->strict_below = m->data_stream.raw_bytes;
	}
	/* no index, or a bad one, only means more reading */
	if (m->compressed && index_load(dir, &m->id, events, data) < 0)
		return 0;
	return 0;
}

int recording_open_streams(const char *dir, const struct manifest *m, bool salvage, struct stream *events, struct stream *data,
			   struct errinfo *ei)
{
	return open_streams(dir, m, salvage, NULL, events, data, ei);
}

static int reader_new(struct store *s, const char *dir, struct manifest *m, struct store_reader **ret, struct errinfo *ei)
{
	struct store_reader *rd = os_calloc(1, sizeof(*rd));
	int r;

	if (!rd)
		return errinfo_set_r(ei, -ENOMEM, "open recording %s", m->id.hex);
	r = open_streams(dir, m, false, s ? s->blocks : NULL, &rd->events, &rd->data, ei);
	if (r == 0)
		r = event_memory_new(&rd->memory);
	if (r < 0) {
		manifest_init(&rd->manifest);
		store_reader_free(rd);
		return r;
	}
	rd->store = s;
	rd->next = 1;
	rd->manifest = *m;
	manifest_init(m);
	*ret = rd;
	return 0;
}

int store_reader_open_at(struct store *s, const char *dir, struct store_reader **ret, struct errinfo *ei)
{
	struct manifest m CLEANUP(manifest_done);
	int r;

	manifest_init(&m);
	r = manifest_load_at(dir, &m, ei);
	return r < 0 ? r : reader_new(s, dir, &m, ret, ei);
}

int store_reader_open(struct store *s, const struct store_id *id, struct store_reader **ret, struct errinfo *ei)
{
	for (int tries = 0;; tries++) {
		struct manifest m CLEANUP(manifest_done);
		char *dir CLEANUP(freep) = NULL;
		struct errinfo why = { 0 };
		int r;

		manifest_init(&m);
		r = manifest_load(s, id, &m, &why);
		if (r == 0)
			r = store_path(s, id, &dir);
		if (r == 0)
			r = reader_new(s, dir, &m, ret, &why);
		/* committed or sealed while we looked: names have moved, look again */
		if (r == -ENOENT && tries < 5)
			continue;
		if (r < 0 && ei && !ei->text[0])
			*ei = why;
		return r;
	}
}

void store_reader_free(struct store_reader *r)
{
	if (!r)
		return;
	stream_done(&r->events);
	stream_done(&r->data);
	frame_done(&r->frame);
	for (unsigned i = 0; i < DATA_FRAMES; i++)
		frame_done(&r->cache[i]);
	event_memory_free(r->memory);
	manifest_done(&r->manifest);
	free(r);
}

void store_reader_freep(struct store_reader **r)
{
	store_reader_free(*r);
}

const struct manifest *store_reader_manifest(const struct store_reader *r)
{
	return &r->manifest;
}

struct store *store_reader_store(const struct store_reader *r)
{
	return r->store;
}

/* --- events --- */

static int event_fault(struct store_reader *r, int err, const char *what, struct errinfo *ei)
{
	err = errinfo_set_r(ei, err, "%s: event %llu in the frame at byte %llu: %s", r->events.name,
			    (unsigned long long)r->next, (unsigned long long)r->frame.offset, what);
	if (ei) {
		ei->event = r->next;
		ei->offset = r->frame.offset;
	}
	return err;
}

static int check_data_ranges(const struct store_reader *r, const struct event *ev)
{
	for (uint32_t i = 0; i < ev->n_effects; i++) {
		const struct effect *e = &ev->effects[i];

		if (effect_has_data(e->kind) && !e->data && e->data_off + e->len > r->frame.head.data_end)
			return ERR_CORRUPT;
	}
	return 0;
}

/* Decodes the event at the view; its number is given. */
static int decode_one(struct store_reader *r, uint64_t number, struct errinfo *ei)
{
	int err;

	r->offset = (uint32_t)(r->view.p - frame_payload(&r->frame));
	err = event_decode_at(&r->view, r->frame.head.time, r->memory, &r->event);
	/* an event that runs out of its frame is as bad as any other */
	if (err < 0)
		return event_fault(r, err == ERR_TRUNCATED ? ERR_CORRUPT : err, "cannot be decoded", ei);
	r->event.number = number;
	if (number >= r->seen) {
		r->seen = number;
		r->complete = r->event.kind == EVENT_END;
	}
	r->left--;
	if (r->left == 0 && view_left(&r->view) > 0)
		return event_fault(r, ERR_CORRUPT, "bytes are left behind it, the last of its frame", ei);
	if (r->event.n_effects && check_data_ranges(r, &r->event) < 0)
		return event_fault(r, ERR_CORRUPT, "refers to data behind the end of the data stream", ei);
	return 0;
}

/* At the end without having read up to it (after a seek): is the last event EVENT_END? */
static int look_for_end(struct store_reader *r, struct errinfo *ei)
{
	uint64_t end, number;
	int err;

	if (r->complete || r->next <= 1 || r->seen + 1 >= r->next)
		return 0;
	err = stream_count(&r->events, &end, ei);
	if (err < 0 || end <= 1 || r->seen + 1 >= end)
		return err;
	err = stream_load(&r->events, end - 1, &r->frame, ei);
	if (err <= 0)
		return err;
	r->view = view_of(frame_payload(&r->frame), r->frame.head.raw_len);
	r->left = r->frame.head.count;
	for (number = r->frame.head.first; number < end && err >= 0; number++)
		err = decode_one(r, number, ei);
	r->left = 0;
	r->frame.head.raw_len = 0;
	return err < 0 ? err : 0;
}

/* Loads the frame that holds event `next` and places the view at its start. 1, 0 at the end. */
static int load_frame(struct store_reader *r, struct errinfo *ei)
{
	int err = stream_load(&r->events, r->next, &r->frame, ei);

	r->left = 0;
	if (err <= 0) {
		r->frame.head.raw_len = 0;
		return err < 0 ? err : look_for_end(r, ei);
	}
	/* Before a recording's end is known, its events must not run ahead of their data (the machine may have died in between). */
	if (r->frame.head.data_end > r->data.strict_below) {
		err = stream_reaches(&r->data, r->frame.head.data_end, ei);
		if (err <= 0) {
			r->frame.head.raw_len = 0;
			return err < 0 ? err : 0;
		}
	}
	r->view = view_of(frame_payload(&r->frame), r->frame.head.raw_len);
	r->left = r->frame.head.count;
	return 1;
}

int store_reader_peek(struct store_reader *r, const struct event **ret_ev, struct errinfo *ei)
{
	int err;

	if (!r->peeked) {
		if (r->left == 0) {
			err = load_frame(r, ei);
			if (err <= 0)
				return err;
		}
		err = decode_one(r, r->next, ei);
		if (err < 0) {
			r->left = 0;
			return err;
		}
		r->peeked = true;
	}
	*ret_ev = &r->event;
	return 1;
}

int store_reader_next(struct store_reader *r, const struct event **ret_ev, struct errinfo *ei)
{
	int err = store_reader_peek(r, ret_ev, ei);

	if (err > 0) {
		r->peeked = false;
		r->next++;
	}
	return err;
}

/* Steps over events of the current frame until number n is next. */
static int skip_to(struct store_reader *r, uint64_t first, uint64_t n, struct errinfo *ei)
{
	int err = 0;

	for (uint64_t i = first; i < n && err == 0; i++)
		err = decode_one(r, i, ei);
	return err;
}

int store_reader_seek(struct store_reader *r, uint64_t n, struct errinfo *ei)
{
	uint64_t end;
	int err;

	if (n == r->next)
		return 0;
	if (n == 0)
		return errinfo_set_r(ei, -ERANGE, "go to event 0");
	/* forward in the same frame costs only the steps between */
	if (n > r->next && r->left > 0 && n - r->next < r->left && !r->peeked) {
		err = skip_to(r, r->next, n, ei);
		r->next = err < 0 ? r->next : n;
		r->left = err < 0 ? 0 : r->left;
		return err;
	}
	r->peeked = false;
	r->left = 0;
	r->next = n;
	err = load_frame(r, ei);
	if (err > 0)
		return skip_to(r, r->frame.head.first, n, ei);
	if (err == 0)
		err = stream_count(&r->events, &end, ei);
	if (err == 0 && n > end)
		err = errinfo_set_r(ei, -ERANGE, "go to event %llu of %llu", (unsigned long long)n, (unsigned long long)(end - 1));
	return err;
}

uint32_t store_reader_offset(const struct store_reader *r)
{
	return r->offset;
}

/* Is event n in the frame at hand? */
static bool frame_has(const struct store_reader *r, uint64_t n)
{
	const struct frame_head *h = &r->frame.head;

	return h->raw_len && n >= h->first && n - h->first < h->count;
}

int store_reader_seek_at(struct store_reader *r, uint64_t n, uint32_t offset, struct errinfo *ei)
{
	int err = 1;

	if (n == r->next)
		return 0;
	r->peeked = false;
	r->next = n;
	if (!frame_has(r, n))
		err = load_frame(r, ei);
	if (err <= 0 || !frame_has(r, n)) {
		r->left = 0;
		return err < 0 ? err : errinfo_set_r(ei, -ERANGE, "go to event %llu", (unsigned long long)n);
	}
	if (offset >= r->frame.head.raw_len) {
		r->left = 0;
		return event_fault(r, ERR_CORRUPT, "is not where it is looked for", ei);
	}
	r->view = view_of(frame_payload(&r->frame) + offset, r->frame.head.raw_len - offset);
	r->left = r->frame.head.count - (uint32_t)(n - r->frame.head.first);
	return 0;
}

int store_reader_count(struct store_reader *r, uint64_t *ret, struct errinfo *ei)
{
	uint64_t end;
	int err = stream_count(&r->events, &end, ei);

	if (err == 0)
		*ret = end - 1;
	return err;
}

bool store_reader_truncated(const struct store_reader *r)
{
	return !r->complete;
}

/* --- data --- */

/* The cached frame that holds byte pos of the data stream. */
static int data_frame(struct store_reader *r, uint64_t pos, struct frame **ret, struct errinfo *ei)
{
	struct frame *f;
	int err;

	for (unsigned i = 0; i < DATA_FRAMES; i++) {
		f = &r->cache[i];
		if (f->head.raw_len && pos >= f->head.first && pos - f->head.first < f->head.raw_len) {
			*ret = f;
			return 0;
		}
	}
	f = &r->cache[r->cache_next];
	err = stream_load(&r->data, pos, f, ei);
	if (err <= 0) {
		f->head.raw_len = 0;
		return err < 0 ? err : errinfo_set_r(ei, ERR_TRUNCATED, "%s: byte %llu of the data", r->data.name,
						     (unsigned long long)pos);
	}
	r->cache_next = (r->cache_next + 1) % DATA_FRAMES;
	*ret = f;
	return 0;
}

int store_reader_data(struct store_reader *r, const struct effect *e, uint64_t off, void *buf, size_t n, struct errinfo *ei)
{
	uint8_t *to = buf;
	struct frame *f = NULL;
	size_t part;
	int err;

	if (off > e->len || n > e->len - off)
		return errinfo_set_r(ei, -ERANGE, "read %zu bytes at %llu of an effect with %llu", n, (unsigned long long)off,
				     (unsigned long long)e->len);
	if (e->data) {
		if (n)
			memcpy(to, (const uint8_t *)e->data + off, n);
		return 0;
	}
	for (uint64_t pos = e->data_off + off; n > 0; pos += part, to += part, n -= part) {
		err = data_frame(r, pos, &f, ei);
		if (err < 0)
			return err;
		part = MIN(n, (size_t)(f->head.first + f->head.raw_len - pos));
		memcpy(to, frame_payload(f) + (pos - f->head.first), part);
	}
	return 0;
}
