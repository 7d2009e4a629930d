/* See stream_priv.h.
 *
 *     head | frame 0: head payload | frame 1: head payload | ...        scan_off --> first byte not yet known to be a frame
 */
#include "store/stream_priv.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "base/crc32c.h"
#include "base/os.h"
#include "store/limits_priv.h"

void store_id_bytes(const struct store_id *id, uint8_t ret[16])
{
	for (int i = 0; i < 16; i++) {
		unsigned b = 0;

		for (int k = 0; k < 2; k++) {
			char c = id->hex[2 * i + k];

			b = b << 4 | (unsigned)(c <= '9' ? c - '0' : c - 'a' + 10);
		}
		ret[i] = (uint8_t)b;
	}
}

void stream_head_fill(struct stream_head *h, enum stream_kind kind, const uint8_t id[16], uint64_t start_wall_ns)
{
	*h = (struct stream_head){ .major = FORMAT_MAJOR, .minor = FORMAT_MINOR, .head_size = sizeof(*h),
				   .start_wall_ns = start_wall_ns };
	memcpy(h->magic, kind == STREAM_EVENTS ? STREAM_MAGIC_EVENTS : STREAM_MAGIC_DATA, sizeof(h->magic));
	memcpy(h->id, id, sizeof(h->id));
	h->crc = crc32c(0, h, offsetof(struct stream_head, crc));
}

void frame_head_seal(struct frame_head *h, const void *payload)
{
	h->crc = crc32c(0, payload, h->raw_len);
	h->head_crc = crc32c(0, h, offsetof(struct frame_head, head_crc));
}

uint64_t frame_end(const struct frame *f)
{
	return f->head.first + (f->head.magic == FRAME_MAGIC_EVENTS ? f->head.count : f->head.raw_len);
}

const uint8_t *frame_payload(const struct frame *f)
{
	return f->bytes.data + sizeof(struct frame_head);
}

void frame_done(struct frame *f)
{
	buf_done(&f->bytes);
	*f = (struct frame){ 0 };
}

static int fault(const struct stream *st, struct errinfo *ei, int r, uint64_t off, const char *what)
{
	r = errinfo_set_r(ei, r, "%s: %s at byte %llu", st->name, what, (unsigned long long)off);
	if (ei)
		ei->offset = off;
	return r;
}

static int check_stream_head(struct stream *st, const struct stream_head *h, const struct store_id *id, struct errinfo *ei)
{
	uint8_t want[16];

	if (memcmp(h->magic, st->kind == STREAM_EVENTS ? STREAM_MAGIC_EVENTS : STREAM_MAGIC_DATA, sizeof(h->magic)) != 0)
		return fault(st, ei, ERR_CORRUPT, 0, "no stream of a recording: bad magic");
	if (h->major > FORMAT_MAJOR)
		return errinfo_set(ei, ERR_NEWER_FORMAT, "%s has format %u.%u, this hermit reads up to %d.x", st->name, h->major,
				   h->minor, FORMAT_MAJOR);
	if (h->crc != crc32c(0, h, offsetof(struct stream_head, crc)))
		return fault(st, ei, ERR_CORRUPT, 0, "bad checksum of the stream head");
	if (h->incompat != 0)
		return errinfo_set(ei, ERR_NEWER_FORMAT, "%s needs features 0x%x of a newer hermit", st->name, h->incompat);
	if (h->head_size < sizeof(*h) || h->head_size > 65536)
		return fault(st, ei, ERR_CORRUPT, 0, "bad size of the stream head");
	if (id) {
		store_id_bytes(id, want);
		if (memcmp(want, h->id, sizeof(want)) != 0)
			return fault(st, ei, ERR_CORRUPT, 0, "belongs to another recording: bad id in the stream head");
	}
	return 0;
}

int stream_init(struct stream *st, enum stream_kind kind, const char *name, struct source *source, const struct store_id *id,
		struct errinfo *ei)
{
	struct stream_head h;
	ssize_t got;
	int r;

	*st = (struct stream){ .kind = kind, .source = source, .base = kind == STREAM_EVENTS };
	st->name = os_strdup(name);
	if (!st->name)
		r = errinfo_set_r(ei, -ENOMEM, "open %s", name);
	else if ((got = source_pread(source, &h, sizeof(h), 0)) < 0)
		r = errinfo_set_r(ei, (int)got, "read %s", name);
	else if ((size_t)got < sizeof(h))
		r = fault(st, ei, ERR_TRUNCATED, (uint64_t)got, "file ends inside the stream head");
	else
		r = check_stream_head(st, &h, id, ei);
	if (r < 0) {
		stream_done(st);
		return r;
	}
	memcpy(st->id, h.id, sizeof(st->id));
	st->start_wall_ns = h.start_wall_ns;
	st->scan_off = h.head_size;
	return 0;
}

void stream_done(struct stream *st)
{
	source_free(st->source);
	free((char *)st->name);
	free(st->entries);
	*st = (struct stream){ 0 };
}

/* Position behind entry e. */
static uint64_t entry_end(const struct stream *st, const struct index_entry *e)
{
	return e->first + (st->kind == STREAM_EVENTS ? e->count : e->raw_len);
}

static uint64_t known_end(const struct stream *st)
{
	return st->n ? entry_end(st, &st->entries[st->n - 1]) : st->base;
}

static bool good_counts(const struct stream *st, uint32_t count, uint32_t raw_len)
{
	if (raw_len == 0 || raw_len > FRAME_RAW_MAX)
		return false;
	/* the shortest event has 4 bytes */
	return st->kind == STREAM_EVENTS ? count > 0 && count <= raw_len / 4 : count == 0;
}

/* Is h the head of frame number seq, which should begin at position first? */
static bool good_head(const struct stream *st, const struct frame_head *h, uint64_t seq, uint64_t first)
{
	if (h->magic != (st->kind == STREAM_EVENTS ? FRAME_MAGIC_EVENTS : FRAME_MAGIC_DATA))
		return false;
	if (h->head_crc != crc32c(0, h, offsetof(struct frame_head, head_crc)))
		return false;
	if (h->flags != 0 || h->seq != seq || h->first != first || !good_counts(st, h->count, h->raw_len))
		return false;
	if (first > UINT64_MAX - h->raw_len)
		return false;
	return st->kind == STREAM_EVENTS || (h->time == 0 && h->data_end == first + h->raw_len);
}

static int add_entry(struct stream *st, struct index_entry e)
{
	size_t cap = st->cap ? st->cap * 2 : 64;
	struct index_entry *p;

	if (st->n == st->cap) {
		if (st->n >= FRAMES_MAX)
			return ERR_LIMIT;
		p = os_malloc(cap * sizeof(*p));
		if (!p)
			return -ENOMEM;
		if (st->n)
			memcpy(p, st->entries, st->n * sizeof(*p));
		free(st->entries);
		st->entries = p;
		st->cap = cap;
	}
	st->entries[st->n++] = e;
	return 0;
}

int stream_use_index(struct stream *st, const struct index_entry *entries, size_t n)
{
	uint64_t pos = st->base, off = st->scan_off, size;
	struct index_entry *p;
	int r;

	for (size_t i = 0; i < n; i++) {
		const struct index_entry *e = &entries[i];

		if (e->first != pos || e->offset != off || !good_counts(st, e->count, e->raw_len) || off > UINT64_MAX / 2)
			return -EINVAL;
		pos = entry_end(st, e);
		off += sizeof(struct frame_head) + e->raw_len;
	}
	r = source_size(st->source, &size);
	if (r < 0)
		return r;
	if (n > FRAMES_MAX || size != off)
		return -EINVAL;
	p = os_malloc(MAX(n, (size_t)1) * sizeof(*p));
	if (!p)
		return -ENOMEM;
	if (n)
		memcpy(p, entries, n * sizeof(*p));
	free(st->entries);
	st->entries = p;
	st->n = n;
	st->cap = MAX(n, (size_t)1);
	st->scan_off = off;
	st->from_index = true;
	st->end = STREAM_END_CLEAN;
	return 0;
}

/* The scan met something that is no frame: the end, or corruption where the manifest promised more. */
static int met_bad(struct stream *st, const char *what, uint64_t off, struct errinfo *ei)
{
	st->end = STREAM_END_BAD;
	if (known_end(st) < st->strict_below)
		return fault(st, ei, ERR_CORRUPT, off, what);
	return 0;
}

/* Entry number i and all behind it are no frames after all: its payload is bad. */
static int met_bad_payload(struct stream *st, size_t i, struct errinfo *ei)
{
	st->n = i;
	st->scan_off = st->bad_off = st->entries[i].offset;
	st->bad_size = st->size;
	return met_bad(st, "bad frame", st->scan_off, ei);
}

/* Reads one more head. 1, 0 at the end (which may move later while a recording is made), or an error. */
static int scan_one(struct stream *st, struct errinfo *ei)
{
	uint64_t off = st->scan_off, first = known_end(st), left;
	struct frame_head h;
	ssize_t got;
	int r;

	r = source_size(st->source, &st->size);
	if (r < 0)
		return errinfo_set_r(ei, r, "size of %s", st->name);
	if (st->bad_off == off && st->bad_size == st->size && off) {
		st->end = STREAM_END_BAD;
		return 0;
	}
	left = st->size > off ? st->size - off : 0;
	if (left < sizeof(h)) {
		st->end = left ? STREAM_END_CUT : STREAM_END_CLEAN;
		return 0;
	}
	got = source_pread(st->source, &h, sizeof(h), off);
	if (got < 0)
		return fault(st, ei, (int)got, off, "cannot read the frame head");
	if ((size_t)got < sizeof(h) || !good_head(st, &h, st->n, first))
		return met_bad(st, "bad frame head", off, ei);
	if (left - sizeof(h) < h.raw_len) {
		st->end = STREAM_END_CUT;
		return 0;
	}
	r = add_entry(st, (struct index_entry){ .first = first, .offset = off, .count = h.count, .raw_len = h.raw_len });
	if (r < 0)
		return errinfo_set_r(ei, r, "frame table of %s", st->name);
	st->scan_off = off + sizeof(h) + h.raw_len;
	st->end = STREAM_END_NONE;
	return 1;
}

int stream_reaches(struct stream *st, uint64_t pos, struct errinfo *ei)
{
	int r = 1;

	while (known_end(st) < pos && r > 0)
		r = st->from_index ? 0 : scan_one(st, ei);
	return r;
}

/* Forgets a table from an index file: from here on the frames themselves are asked. */
static void drop_index(struct stream *st)
{
	if (st->n)
		st->scan_off = st->entries[0].offset;
	st->n = 0;
	st->from_index = false;
	st->end = STREAM_END_NONE;
}

static const struct index_entry *find_entry(const struct stream *st, uint64_t pos)
{
	size_t lo = 0, hi = st->n;

	while (lo + 1 < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (st->entries[mid].first <= pos)
			lo = mid;
		else
			hi = mid;
	}
	return &st->entries[lo];
}

/* Reads entry number i. 1 fine, 0 not what the table says. */
static int read_frame(struct stream *st, size_t i, struct frame *f, struct errinfo *ei)
{
	const struct index_entry *e = &st->entries[i];
	size_t len = sizeof(struct frame_head) + e->raw_len;
	ssize_t got;

	buf_clear(&f->bytes);
	if (!buf_extend(&f->bytes, len))
		return errinfo_set_r(ei, buf_error(&f->bytes), "read a frame of %s", st->name);
	got = source_pread(st->source, f->bytes.data, len, e->offset);
	if (got < 0)
		return fault(st, ei, (int)got, e->offset, "cannot read the frame");
	if ((size_t)got < len)
		return 0;
	memcpy(&f->head, f->bytes.data, sizeof(f->head));
	f->offset = e->offset;
	if (!good_head(st, &f->head, i, e->first) || f->head.count != e->count || f->head.raw_len != e->raw_len)
		return 0;
	return f->head.crc == crc32c(0, frame_payload(f), f->head.raw_len);
}

int stream_load(struct stream *st, uint64_t pos, struct frame *f, struct errinfo *ei)
{
	const struct index_entry *e;
	int r;

	for (;;) {
		r = pos == UINT64_MAX ? 0 : stream_reaches(st, pos + 1, ei);
		if (r <= 0 && !(r == 0 && st->from_index && pos < st->strict_below))
			return r;
		if (r > 0) {
			e = find_entry(st, pos);
			r = read_frame(st, (size_t)(e - st->entries), f, ei);
			if (r != 0)
				return r;
			if (!st->from_index)
				return met_bad_payload(st, (size_t)(e - st->entries), ei);
		}
		drop_index(st);
	}
}

int stream_count(struct stream *st, uint64_t *ret, struct errinfo *ei)
{
	struct frame f = { 0 };
	int r = stream_reaches(st, UINT64_MAX, ei);

	/* A frame written last may lack bytes after a power failure although its head and the length are there. */
	while (r == 0 && st->n > 0) {
		r = read_frame(st, st->n - 1, &f, ei);
		if (r != 0)
			break;
		if (st->from_index) {
			drop_index(st);
			r = stream_reaches(st, UINT64_MAX, ei);
			continue;
		}
		r = met_bad_payload(st, st->n - 1, ei);
	}
	frame_done(&f);
	if (r < 0)
		return r;
	*ret = known_end(st);
	return 0;
}

int stream_count_checked(struct stream *st, uint64_t *ret, struct errinfo *ei)
{
	struct frame f = { 0 };
	uint64_t pos = st->base;
	int r;

	while ((r = stream_load(st, pos, &f, ei)) > 0)
		pos = frame_end(&f);
	frame_done(&f);
	return r < 0 ? r : stream_count(st, ret, ei);
}

uint64_t stream_good_bytes(const struct stream *st)
{
	return st->scan_off;
}
