/* store/writer, reader, stream: what is written is read; cut, damaged, growing and lying journals. */
#include "store/writer.h"

#include "store/format_priv.h"
#include "store/limits_priv.h"
#include "store/manifest_priv.h"
#include "store/reader_priv.h"
#include "base/crc32c.h"
#include "tests/unit/store_help.h"

START_TEST(write_and_read)
{
	struct help_store h = help_open();
	struct store_id a = help_record(h.s, 1, 5000), b = help_record(h.s, 2, 1), last;
	struct manifest m;

	help_check(h.s, &a, 1, 5000);
	help_check(h.s, &b, 2, 1);
	OK(store_resolve(h.s, NULL, &last, NULL));
	ck_assert_str_eq(last.hex, b.hex);
	OK(manifest_load(h.s, &a, &m, NULL));
	ck_assert_int_eq(m.state, RECORDING_COMPLETE);
	ck_assert_uint_eq(m.events, 5000);
	/* auto-registered from MAP effects: help_event() uses 5 */
	ck_assert_uint_eq(m.n_blobs, 5);
	manifest_done(&m);
	help_close(&h);
}
END_TEST

START_TEST(empty)
{
	struct help_store h = help_open();
	struct store_writer *w;
	struct store_reader *rd;
	struct manifest m;
	const struct event *ev;
	struct store_id id;
	uint64_t n;

	help_manifest(&m);
	m.state = RECORDING_TRUNCATED;
	OK(store_writer_new(h.s, &m, &w, NULL));
	id = *store_writer_id(w);
	OK(store_writer_commit(w, &m, NULL));
	store_writer_free(w);
	manifest_done(&m);
	OK(store_reader_open(h.s, &id, &rd, NULL));
	ck_assert_int_eq(store_reader_next(rd, &ev, NULL), 0);
	ck_assert(store_reader_truncated(rd));
	OK(store_reader_count(rd, &n, NULL));
	ck_assert_uint_eq(n, 0);
	OK(store_reader_seek(rd, 1, NULL));
	FAILS(-ERANGE, store_reader_seek(rd, 2, NULL));
	store_reader_free(rd);
	OK(store_verify(h.s, &id, NULL, NULL, NULL));
	OK(store_seal(h.s, &id, NULL, NULL, NULL));
	OK(store_verify(h.s, &id, NULL, NULL, NULL));
	help_close(&h);
}
END_TEST

START_TEST(seek_and_peek)
{
	struct help_store h = help_open();
	const uint64_t n = 20000;
	struct store_id id = help_record(h.s, 3, n);
	static struct help_event want;
	struct store_reader *rd;
	const struct event *ev, *again;
	struct rng r = { 5 };

	OK(store_reader_open(h.s, &id, &rd, NULL));
	for (int i = 0; i < 2000; i++) {
		uint64_t to = rng_below(&r, n) + 1;

		if (i % 3 == 0)
			to = MIN(n, (i ? ev->number : 0) + rng_below(&r, 20) + 1);
		OK(store_reader_seek(rd, to, NULL));
		for (int k = 0; k < 3 && to + (uint64_t)k <= n; k++) {
			ck_assert_int_eq(store_reader_peek(rd, &again, NULL), 1);
			ck_assert_int_eq(store_reader_peek(rd, &again, NULL), 1);
			ck_assert_int_eq(store_reader_next(rd, &ev, NULL), 1);
			ck_assert_uint_eq(ev->number, to + (uint64_t)k);
			help_event(3, ev->number, ev->number == n ? EVENT_END : EVENT_INVALID, &want);
			help_same_event(rd, ev, &want.ev);
		}
	}
	/* after a peek a seek to the same place changes nothing */
	OK(store_reader_seek(rd, 10, NULL));
	ck_assert_int_eq(store_reader_peek(rd, &ev, NULL), 1);
	OK(store_reader_seek(rd, 10, NULL));
	ck_assert_int_eq(store_reader_next(rd, &ev, NULL), 1);
	ck_assert_uint_eq(ev->number, 10);
	OK(store_reader_seek(rd, n + 1, NULL));
	ck_assert_int_eq(store_reader_next(rd, &ev, NULL), 0);
	FAILS(-ERANGE, store_reader_seek(rd, n + 2, NULL));
	FAILS(-ERANGE, store_reader_seek(rd, UINT64_MAX, NULL));
	FAILS(-ERANGE, store_reader_seek(rd, 0, NULL));
	store_reader_free(rd);
	/* a reader that only jumps to the end still knows that it is a good end */
	OK(store_reader_open(h.s, &id, &rd, NULL));
	OK(store_reader_seek(rd, n + 1, NULL));
	ck_assert_int_eq(store_reader_next(rd, &ev, NULL), 0);
	ck_assert(!store_reader_truncated(rd));
	store_reader_free(rd);
	help_close(&h);
}
END_TEST

/* Effects of all sizes around the limits of inlining and of frames; parts of them. */
START_TEST(data)
{
	static const size_t sizes[] = { 0, 1, 255, 256, 257, 4095, 65536, FRAME_TARGET - 1, FRAME_TARGET, FRAME_TARGET + 1,
					DATA_FRAME_MAX - 1, DATA_FRAME_MAX, DATA_FRAME_MAX + 1, 5u << 20 };
	struct help_store h = help_open();
	uint8_t *big = os_malloc(5u << 20), *got = os_malloc(5u << 20);
	struct store_writer *w;
	struct store_reader *rd;
	const struct event *ev;
	struct manifest m;
	struct store_id id;
	struct rng r = { 8 };

	for (size_t i = 0; i < 5u << 20; i++)
		big[i] = (uint8_t)(rng_next(&r));
	help_manifest(&m);
	OK(store_writer_new(h.s, &m, &w, NULL));
	id = *store_writer_id(w);
	for (size_t i = 0; i < ARRAY_SIZE(sizes); i++) {
		struct effect e[2] = { { .kind = EFFECT_MEM, .addr = 1, .len = sizes[i], .data = big },
				       { .kind = EFFECT_MEM, .addr = 1, .len = sizes[i] / 2, .data = big + 5 } };

		OK(store_writer_event(w, &(struct event){ .kind = EVENT_SYSCALL, .effects = e, .n_effects = 2 }));
	}
	OK(store_writer_event(w, &(struct event){ .kind = EVENT_END }));
	OK(store_writer_commit(w, &m, NULL));
	store_writer_free(w);
	manifest_done(&m);
	OK(store_reader_open(h.s, &id, &rd, NULL));
	for (size_t i = 0; i < ARRAY_SIZE(sizes); i++) {
		ck_assert_int_eq(store_reader_next(rd, &ev, NULL), 1);
		ck_assert_int_eq(ev->effects[0].data != NULL, sizes[i] <= INLINE_MAX);
		OK(store_reader_data(rd, &ev->effects[0], 0, got, sizes[i], NULL));
		ck_assert_mem_eq(got, big, sizes[i]);
		OK(store_reader_data(rd, &ev->effects[1], 0, got, sizes[i] / 2, NULL));
		ck_assert_mem_eq(got, big + 5, sizes[i] / 2);
		for (int k = 0; k < 20 && sizes[i]; k++) {
			size_t off = rng_below(&r, sizes[i]), n = rng_below(&r, sizes[i] - off + 1);

			OK(store_reader_data(rd, &ev->effects[0], off, got, n, NULL));
			ck_assert_mem_eq(got, big + off, n);
		}
		FAILS(-ERANGE, store_reader_data(rd, &ev->effects[0], 0, got, sizes[i] + 1, NULL));
		FAILS(-ERANGE, store_reader_data(rd, &ev->effects[0], sizes[i] + 1, got, 0, NULL));
		FAILS(-ERANGE, store_reader_data(rd, &ev->effects[0], UINT64_MAX, got, 2, NULL));
	}
	store_reader_free(rd);
	OK(store_verify(h.s, &id, NULL, NULL, NULL));
	free(big);
	free(got);
	help_close(&h);
}
END_TEST

/* A reader follows a recording that is being made, from tmp/ to its place and through sealing. */
static void put_piece(struct store_writer *w, const uint8_t *p, size_t n, enum effect_kind kind)
{
	struct effect e = { .kind = kind, .thread = 1, .addr = kind == EFFECT_OUTPUT ? 0 : 4096, .len = n, .data = p };
	struct event ev = { .kind = EVENT_SYSCALL, .thread = 1, .sysno = 1, .flags = EVENT_F_STDOUT, .effects = &e, .n_effects = 1, .text = "" };

	OK(store_writer_event(w, &ev));
}

/* What is put again soon is stored once, and only if it is the same. */
START_TEST(again)
{
	enum { N = 100000, ROUNDS = 20 };
	struct event end = { .kind = EVENT_END, .text = "" };
	struct help_store h = help_open();
	struct store_writer *w;
	struct store_reader *rd;
	struct manifest m;
	const struct event *ev;
	uint8_t *p = malloc(N), *got = malloc(N);
	struct store_id id;

	help_manifest(&m);
	OK(store_writer_new(h.s, &m, &w, NULL));
	id = *store_writer_id(w);
	for (unsigned i = 0; i < ROUNDS; i++) {
		memset(p, (int)i, N);
		put_piece(w, p, N, EFFECT_INPUT);
		put_piece(w, p, N, EFFECT_OUTPUT);
		p[N / 3] ^= 1; /* where no sample is taken */
		put_piece(w, p, N, EFFECT_OUTPUT);
		put_piece(w, p, N - 1, EFFECT_OUTPUT);
	}
	OK(store_writer_event(w, &end));
	m.state = RECORDING_COMPLETE;
	m.events = store_writer_count(w);
	OK(store_writer_commit(w, &m, NULL));
	store_writer_free(w);
	ck_assert_uint_ge(m.data_stream.raw_bytes, ROUNDS * (3ull * N - 1));
	ck_assert_uint_lt(m.data_stream.raw_bytes, ROUNDS * 3ull * N);
	manifest_done(&m);
	OK(store_verify(h.s, &id, NULL, NULL, NULL));
	OK(store_reader_open(h.s, &id, &rd, NULL));
	for (unsigned i = 0; i < ROUNDS * 4; i++) {
		size_t n = i % 4 == 3 ? N - 1 : N;

		memset(p, (int)(i / 4), N);
		p[N / 3] ^= i % 4 >= 2;
		ck_assert_int_eq(store_reader_next(rd, &ev, NULL), 1);
		ck_assert_uint_eq(ev->effects[0].len, n);
		OK(store_reader_data(rd, &ev->effects[0], 0, got, n, NULL));
		ck_assert_mem_eq(got, p, n);
	}
	store_reader_free(rd);
	free(p);
	free(got);
	help_close(&h);
}
END_TEST

START_TEST(live)
{
	struct help_store h = help_open();
	static struct help_event he, want;
	struct store_writer *w;
	struct store_reader *rd;
	const struct event *ev;
	struct manifest m;
	struct store_id id, found;
	uint64_t n, seen = 0;

	help_manifest(&m);
	OK(store_writer_new(h.s, &m, &w, NULL));
	id = *store_writer_id(w);
	OK(store_resolve(h.s, id.hex, &found, NULL));
	OK(store_reader_open(h.s, &id, &rd, NULL));
	ck_assert_int_eq(store_reader_manifest(rd)->state, RECORDING_OPEN);
	for (uint64_t i = 1; i <= 3000; i++) {
		help_event(4, i, i == 3000 ? EVENT_END : EVENT_INVALID, &he);
		OK(store_writer_event(w, &he.ev));
		if (i % 100)
			continue;
		OK(store_writer_flush(w));
		while (store_reader_next(rd, &ev, NULL) > 0) {
			seen++;
			help_event(4, seen, seen == 3000 ? EVENT_END : EVENT_INVALID, &want);
			ck_assert_uint_eq(ev->number, seen);
			help_same_event(rd, ev, &want.ev);
		}
		ck_assert_uint_eq(seen, i);
		ck_assert_int_eq(store_reader_truncated(rd), i < 3000);
		OK(store_reader_count(rd, &n, NULL));
		ck_assert_uint_eq(n, i);
	}
	FAILS(ERR_BUSY, store_remove(h.s, &id, NULL));
	FAILS(ERR_BUSY, store_seal(h.s, &id, NULL, NULL, NULL));
	FAILS(ERR_BUSY, store_verify(h.s, &id, NULL, NULL, NULL));
	FAILS(ERR_BUSY, store_export(h.s, &id, -1, NULL, NULL, NULL));
	ck_assert_int_eq(store_recover(h.s), 0);
	OK(store_writer_commit(w, &m, NULL));
	OK(store_seal(h.s, &id, NULL, NULL, NULL));
	OK(store_reader_seek(rd, 1, NULL));
	int r;
	ck_assert_uint_eq(help_read(rd, 4, 3000, &r), 3000);
	store_writer_free(w);
	store_reader_free(rd);
	manifest_done(&m);
	help_check(h.s, &id, 4, 3000);
	help_close(&h);
}
END_TEST

/* An old frame goes out although it is small, so that little is lost when a recorder is killed. */
START_TEST(age)
{
	struct help_store h = help_open();
	struct store_writer *w;
	struct store_reader *rd;
	const struct event *ev;
	struct manifest m;
	struct store_id id;

	help_manifest(&m);
	OK(store_writer_new(h.s, &m, &w, NULL));
	id = *store_writer_id(w);
	OK(store_writer_event(w, &(struct event){ .kind = EVENT_NOTE, .text = "a", .time_ns = 1000 }));
	OK(store_writer_event(w, &(struct event){ .kind = EVENT_NOTE, .text = "b", .time_ns = 1000 + FLUSH_AGE_NS }));
	OK(store_writer_event(w, &(struct event){ .kind = EVENT_NOTE, .text = "c", .time_ns = 1001 + FLUSH_AGE_NS }));
	OK(store_reader_open(h.s, &id, &rd, NULL));
	ck_assert_int_eq(store_reader_next(rd, &ev, NULL), 1);
	ck_assert_int_eq(store_reader_next(rd, &ev, NULL), 1);
	ck_assert_str_eq(ev->text, "b");
	ck_assert_int_eq(store_reader_next(rd, &ev, NULL), 0);
	store_reader_free(rd);
	OK(store_writer_discard(w));
	store_writer_free(w);
	manifest_done(&m);
	FAILS(ERR_NOT_FOUND, store_reader_open(h.s, &id, &rd, NULL));
	char *tmp = os_asprintf("%s/tmp", h.dir);
	ck_assert_uint_eq(help_count_names(tmp), 0);
	free(tmp);
	help_close(&h);
}
END_TEST

/* --- damaged journals --- */

#define EVENTS 9
#define PER_FRAME 3
#define SEED 9


struct raw {
	struct help_store h;
	struct store_id id;
	char *path, *bytes; /* of events.journal */
	size_t n;
	uint64_t events;
};

/* A small recording of several frames. `state` as the manifest of a damaged copy should say. */
static struct raw raw_make(enum recording_state state)
{
	struct raw x = { .h = help_open(), .events = EVENTS };
	static struct help_event he;
	struct store_writer *w;
	struct manifest m;

	help_manifest(&m);
	OK(store_writer_new(x.h.s, &m, &w, NULL));
	x.id = *store_writer_id(w);
	for (uint64_t i = 1; i <= x.events; i++) {
		help_event(SEED, i, i == x.events ? EVENT_END : EVENT_INVALID, &he);
		OK(store_writer_event(w, &he.ev));
		if (i % PER_FRAME == 0)
			OK(store_writer_flush(w));
	}
	OK(store_writer_commit(w, &m, NULL));
	store_writer_free(w);
	if (state == RECORDING_OPEN) {
		char *dir;

		m.state = state;
		m.events = 0;
		OK(store_path(x.h.s, &x.id, &dir));
		OK(manifest_save_at(dir, &m, true));
		free(dir);
	}
	manifest_done(&m);
	x.path = help_path(&x.h, &x.id, "events.journal");
	x.bytes = help_slurp(x.path, &x.n);
	return x;
}

static void raw_done(struct raw *x)
{
	free(x->path);
	free(x->bytes);
	help_close(&x->h);
}

/* Reads as much as can be read: a prefix. The last result goes to *ret, its place to ei. */
static uint64_t read_prefix(struct raw *x, int *ret, struct errinfo *ei)
{
	static struct help_event want;
	struct store_reader *rd;
	const struct event *ev;
	uint64_t n = 0, count;
	int r = store_reader_open(x->h.s, &x->id, &rd, ei);

	if (r == 0) {
		while ((r = store_reader_next(rd, &ev, ei)) > 0) {
			n++;
			help_event(SEED, n, n == x->events ? EVENT_END : EVENT_INVALID, &want);
			help_same_event(rd, ev, &want.ev);
		}
		(void)!store_reader_count(rd, &count, NULL);
		(void)!store_reader_seek(rd, 8, NULL);
		store_reader_free(rd);
	}
	*ret = r;
	return n;
}

START_TEST(cut_anywhere)
{
	enum recording_state state = _i ? RECORDING_OPEN : RECORDING_COMPLETE;
	struct raw x = raw_make(state);
	uint64_t before = 0, n;
	int r;

	for (size_t cut = 0; cut <= x.n; cut++) {
		struct errinfo ei = { 0 };

		help_spill(x.path, x.bytes, cut);
		n = read_prefix(&x, &r, &ei);
		/* whole frames, and never less than with fewer bytes */
		ck_assert_uint_eq(n % PER_FRAME, 0);
		ck_assert_uint_ge(n, before);
		if (cut < 64)
			ck_assert_int_eq(r, ERR_TRUNCATED);
		else
			ck_assert_int_eq(r, 0);
		before = n;
		if (cut < x.n && state == RECORDING_COMPLETE && cut % 64 == 0)
			FAILS(ERR_TRUNCATED, store_verify(x.h.s, &x.id, NULL, NULL, NULL));
	}
	ck_assert_uint_eq(before, EVENTS);
	raw_done(&x);
}
END_TEST

/* Every bit: of a complete recording the damage is told with its place; of an open one reading ends before it. */
START_TEST(flip_anywhere)
{
	struct raw x = raw_make(_i ? RECORDING_OPEN : RECORDING_COMPLETE);
	int r;

	for (size_t bit = 0; bit < x.n * 8; bit++) {
		struct errinfo ei = { 0 };
		uint64_t n;

		x.bytes[bit / 8] ^= (char)(1 << bit % 8);
		help_spill(x.path, x.bytes, x.n);
		n = read_prefix(&x, &r, &ei);
		ck_assert_uint_lt(n, EVENTS);
		ck_assert_uint_eq(n % PER_FRAME, 0);
		if (_i && bit >= 64 * 8) {
			ck_assert_int_eq(r, 0);
		} else {
			ck_assert(r == ERR_CORRUPT || r == ERR_NEWER_FORMAT);
			ck_assert_ptr_nonnull(strstr(ei.text, "events.journal"));
			ck_assert(bit < 64 * 8 || ei.offset >= 64);
			ck_assert_uint_le(ei.offset, bit / 8);
		}
		x.bytes[bit / 8] ^= (char)(1 << bit % 8);
	}
	raw_done(&x);
}
END_TEST

START_TEST(garbage_tail)
{
	struct raw x = raw_make(_i ? RECORDING_OPEN : RECORDING_COMPLETE);
	char *with = os_malloc(x.n + 1000);
	struct errinfo ei = { 0 };
	int r;

	memcpy(with, x.bytes, x.n);
	for (int kind = 0; kind < 3; kind++) {
		/* zeros (a power failure), noise, an old frame again */
		for (size_t i = 0; i < 1000; i++)
			with[x.n + i] = kind == 0 ? 0 : kind == 1 ? (char)(i * 37) : x.bytes[64 + i % 500];
		help_spill(x.path, with, x.n + 1000);
		ck_assert_uint_eq(read_prefix(&x, &r, &ei), EVENTS);
		ck_assert_int_eq(r, 0);
	}
	free(with);
	raw_done(&x);
}
END_TEST

/* A frame whose checksums are right but whose events are not: an attacker's. */
START_TEST(lying_frame)
{
	struct raw x = raw_make(RECORDING_COMPLETE);
	struct frame_head fh;
	struct errinfo ei = { 0 };
	int r;

	memcpy(&fh, x.bytes + 64, sizeof(fh));
	for (size_t at = 0; at < MIN(fh.raw_len, 200u); at++) {
		char keep = x.bytes[64 + sizeof(fh) + at];
		for (int v = 0; v < 256; v += 17) {
			x.bytes[64 + sizeof(fh) + at] = (char)v;
			fh.crc = crc32c(0, x.bytes + 64 + sizeof(fh), fh.raw_len);
			fh.head_crc = crc32c(0, &fh, offsetof(struct frame_head, head_crc));
			memcpy(x.bytes + 64, &fh, sizeof(fh));
			help_spill(x.path, x.bytes, x.n);
			{
				struct store_reader *rd;
				const struct event *ev;
				uint8_t byte;

				OK(store_reader_open(x.h.s, &x.id, &rd, NULL));
				while ((r = store_reader_next(rd, &ev, &ei)) > 0)
					for (uint32_t i = 0; i < ev->n_effects; i++)
						if (ev->effects[i].len)
							(void)!store_reader_data(rd, &ev->effects[i], ev->effects[i].len - 1,
										 &byte, 1, NULL);
				ck_assert(r == 0 || r == ERR_CORRUPT);
				store_reader_free(rd);
			}
		}
		x.bytes[64 + sizeof(fh) + at] = keep;
	}
	/* fewer events than the frame holds, and more */
	for (int d = -1; d <= 1; d += 2) {
		memcpy(&fh, x.bytes + 64, sizeof(fh));
		fh.count = (uint32_t)((int)fh.count + d);
		fh.crc = crc32c(0, x.bytes + 64 + sizeof(fh), fh.raw_len);
		fh.head_crc = crc32c(0, &fh, offsetof(struct frame_head, head_crc));
		char *copy = os_malloc(x.n);
		memcpy(copy, x.bytes, x.n);
		memcpy(copy + 64, &fh, sizeof(fh));
		help_spill(x.path, copy, x.n);
		read_prefix(&x, &r, &ei);
		ck_assert_int_eq(r, ERR_CORRUPT);
		free(copy);
	}
	raw_done(&x);
}
END_TEST

START_TEST(newer_format)
{
	struct raw x = raw_make(RECORDING_COMPLETE);
	struct errinfo ei = { 0 };
	struct stream_head *sh = (struct stream_head *)(void *)x.bytes;
	int r;

	sh->major = 2;
	sh->crc = 0; /* a newer format may check its head in another way */
	help_spill(x.path, x.bytes, x.n);
	read_prefix(&x, &r, &ei);
	ck_assert_int_eq(r, ERR_NEWER_FORMAT);
	ck_assert_ptr_nonnull(strstr(ei.text, "2.2"));
	sh->major = 1;
	sh->minor = 9;
	sh->compat = 4; /* may be ignored */
	sh->crc = crc32c(0, sh, offsetof(struct stream_head, crc));
	help_spill(x.path, x.bytes, x.n);
	ck_assert_uint_eq(read_prefix(&x, &r, &ei), EVENTS);
	sh->incompat = 1;
	sh->crc = crc32c(0, sh, offsetof(struct stream_head, crc));
	help_spill(x.path, x.bytes, x.n);
	read_prefix(&x, &r, &ei);
	ck_assert_int_eq(r, ERR_NEWER_FORMAT);
	sh->incompat = 0;
	sh->id[3] ^= 1;
	sh->crc = crc32c(0, sh, offsetof(struct stream_head, crc));
	help_spill(x.path, x.bytes, x.n);
	read_prefix(&x, &r, &ei);
	ck_assert_int_eq(r, ERR_CORRUPT);
	raw_done(&x);
}
END_TEST

/* The machine died and the data stream is shorter than the events need: open recordings end before that. */
START_TEST(data_missing)
{
	struct raw x = raw_make(_i ? RECORDING_OPEN : RECORDING_COMPLETE);
	char *path = help_path(&x.h, &x.id, "data.journal"), *bytes;
	struct errinfo ei = { 0 };
	uint64_t n, before = 0;
	size_t len;
	int r;

	bytes = help_slurp(path, &len);
	ck_assert_uint_gt(len, 200);
	for (size_t cut = 64; cut <= len; cut += MIN(len - cut, (size_t)97) + (cut == len)) {
		struct store_reader *rd;
		const struct event *ev;
		static uint8_t got[HELP_BIG];

		help_spill(path, bytes, cut);
		OK(store_reader_open(x.h.s, &x.id, &rd, NULL));
		n = 0;
		while ((r = store_reader_next(rd, &ev, &ei)) > 0) {
			n++;
			for (uint32_t i = 0; i < ev->n_effects && r > 0; i++)
				if (ev->effects[i].data_off || ev->effects[i].data) {
					r = store_reader_data(rd, &ev->effects[i], 0, got, ev->effects[i].len, &ei);
					ck_assert(r == 0 || (!_i && (r == ERR_TRUNCATED || r == ERR_CORRUPT)));
					r = 1;
				}
		}
		ck_assert_int_eq(r, 0);
		ck_assert(_i ? n >= before && n <= EVENTS : n == EVENTS);
		before = n;
		store_reader_free(rd);
	}
	ck_assert_uint_eq(before, EVENTS);
	free(bytes);
	free(path);
	raw_done(&x);
}
END_TEST

/* Many effects, long texts: events larger than a frame's usual size, and too large ones. */
START_TEST(huge_events)
{
	struct help_store h = help_open();
	const uint32_t n = 60000;
	struct effect *e = os_calloc(n, sizeof(*e));
	char *text = os_malloc(TEXT_MAX + 2);
	struct event ev = { .kind = EVENT_EXEC, .text = "x", .effects = e, .n_effects = n };
	struct store_writer *w;
	struct store_reader *rd;
	const struct event *got;
	struct manifest m;
	struct store_id id;

	memset(text, 'a', TEXT_MAX + 2);
	text[200] = '\0';
	for (uint32_t i = 0; i < n; i++)
		e[i] = (struct effect){ .kind = EFFECT_MAP, .addr = i * 4096ull, .len = 4096, .name = text };
	help_manifest(&m);
	OK(store_writer_new(h.s, &m, &w, NULL));
	id = *store_writer_id(w);
	OK(store_writer_event(w, &(struct event){ .kind = EVENT_NOTE, .text = "first" }));
	OK(store_writer_event(w, &ev));
	/* 60 million bytes of names and more: too long for a frame */
	text[200] = 'a';
	text[2000] = '\0';
	FAILS(ERR_LIMIT, store_writer_event(w, &ev));
	text[2000] = 'a';
	text[TEXT_MAX + 1] = '\0';
	FAILS(ERR_LIMIT, store_writer_event(w, &(struct event){ .kind = EVENT_NOTE, .text = text }));
	/* that spoils nothing */
	OK(store_writer_event(w, &(struct event){ .kind = EVENT_END }));
	ck_assert_uint_eq(store_writer_count(w), 3);
	OK(store_writer_commit(w, &m, NULL));
	store_writer_free(w);
	manifest_done(&m);
	OK(store_reader_open(h.s, &id, &rd, NULL));
	ck_assert_int_eq(store_reader_next(rd, &got, NULL), 1);
	ck_assert_int_eq(store_reader_next(rd, &got, NULL), 1);
	ck_assert_uint_eq(got->n_effects, n);
	ck_assert_uint_eq(got->effects[n - 1].addr, (n - 1) * 4096ull);
	ck_assert_int_eq(store_reader_next(rd, &got, NULL), 1);
	ck_assert_int_eq(got->kind, EVENT_END);
	store_reader_free(rd);
	free(text);
	free(e);
	help_close(&h);
}
END_TEST

HELP_MAIN("store_journal",
	  { write_and_read, 0 }, { empty, 0 }, { seek_and_peek, 0 }, { data, 0 }, { again, 0 }, { live, 0 }, { age, 0 },
	  { cut_anywhere, 2 }, { flip_anywhere, 2 }, { garbage_tail, 2 }, { lying_frame, 0 }, { newer_format, 0 },
	  { data_missing, 2 }, { huge_events, 0 })
