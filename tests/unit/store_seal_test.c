/* store/xz, index, seal, verify: compressed recordings say the same, and their damage is found. */
#include "store/maintain.h"

#include <lzma.h>
#include "base/crc32c.h"
#include "store/format_priv.h"
#include "store/index_priv.h"
#include "store/limits_priv.h"
#include "store/manifest_priv.h"
#include "store/reader_priv.h"
#include "store/source_priv.h"
#include "store/xz_priv.h"
#include "tests/unit/store_help.h"

/* --- xz --- */

/* xz_sink_fn */
static int to_buf(void *ctx, const void *p, size_t n)
{
	struct buf *b = ctx;

	buf_put(b, p, n);
	return buf_error(b);
}

/* n bytes in blocks of about `block`. */
static void pack(const uint8_t *p, size_t n, size_t block, struct buf *out)
{
	struct xz_encoder *e;

	buf_init(out);
	OK(xz_encoder_new(1, to_buf, out, &e));
	for (size_t at = 0; at < n; at += block) {
		OK(xz_encoder_put(e, p + at, MIN(block, n - at)));
		OK(xz_encoder_end_block(e));
		OK(xz_encoder_end_block(e)); /* no empty blocks */
	}
	OK(xz_encoder_finish(e));
	xz_encoder_free(e);
}

static int open_packed(const void *p, size_t n, struct source **ret)
{
	struct source *src;

	OK(source_memory(p, n, &src));
	return source_xz(src, ret);
}

START_TEST(xz_random_access)
{
	static uint8_t raw[300000], got[300000];
	struct rng r = { 1 };
	struct source *src;
	struct buf packed;
	uint64_t size;

	for (size_t i = 0; i < sizeof(raw); i++)
		raw[i] = (uint8_t)(i / 100 + rng_below(&r, 4));
	pack(raw, sizeof(raw), 20000, &packed);
	OK(open_packed(packed.data, packed.len, &src));
	OK(source_size(src, &size));
	ck_assert_uint_eq(size, sizeof(raw));
	for (int i = 0; i < 300; i++) {
		uint64_t off = rng_below(&r, sizeof(raw) + 100), n = rng_below(&r, i % 2 ? 100 : sizeof(raw));
		ssize_t want = off >= sizeof(raw) ? 0 : (ssize_t)MIN(n, sizeof(raw) - off);

		ck_assert_int_eq(source_pread(src, got, n, off), want);
		ck_assert_mem_eq(got, raw + off, (size_t)want);
	}
	ck_assert_int_eq(source_pread(src, got, 5, UINT64_MAX), 0);
	source_free(src);
	buf_done(&packed);
	/* nothing at all is a good stream too */
	pack(raw, 0, 1, &packed);
	OK(open_packed(packed.data, packed.len, &src));
	ck_assert_int_eq(source_pread(src, got, 5, 0), 0);
	source_free(src);
	buf_done(&packed);
}
END_TEST

START_TEST(xz_flips_and_cuts)
{
	uint8_t raw[3000], got[3000];
	struct source *src;
	struct buf packed;

	for (size_t i = 0; i < sizeof(raw); i++)
		raw[i] = (uint8_t)(i * i);
	pack(raw, sizeof(raw), 1000, &packed);
	for (size_t cut = 0; cut < packed.len; cut++)
		ck_assert_int_lt(open_packed(packed.data, cut, &src), 0);
	for (size_t bit = 0; bit < packed.len * 8; bit++) {
		ssize_t n;
		int r;

		packed.data[bit / 8] ^= (uint8_t)(1 << bit % 8);
		r = open_packed(packed.data, packed.len, &src);
		if (r == 0) {
			n = source_pread(src, got, sizeof(got), 0);
			/* padding aside every bit is under some checksum */
			if (n >= 0)
				ck_assert_mem_eq(got, raw, sizeof(raw));
			else
				ck_assert(n == ERR_CORRUPT || n == ERR_LIMIT);
			source_free(src);
		}
		packed.data[bit / 8] ^= (uint8_t)(1 << bit % 8);
	}
	buf_done(&packed);
}
END_TEST

/* What a stranger's .xz may ask for: a dictionary of 1.5 GiB, a block of 8 GiB. */
START_TEST(xz_limits)
{
	lzma_options_lzma opt;
	lzma_filter filters[] = { { LZMA_FILTER_LZMA2, &opt }, { LZMA_VLI_UNKNOWN, NULL } };
	static uint8_t raw[1 << 20], packed[1 << 20];
	size_t n = 0;
	uint8_t got;
	struct source *src;

	ck_assert(!lzma_lzma_preset(&opt, 0));
	opt.dict_size = 1u << 27;
	ck_assert_int_eq(lzma_stream_buffer_encode(filters, LZMA_CHECK_CRC32, NULL, raw, 1000, packed, &n, sizeof(packed)), LZMA_OK);
	OK(open_packed(packed, n, &src));
	ck_assert_int_eq(source_pread(src, &got, 1, 0), 1);
	source_free(src);
	/* the dictionary's size is the byte behind the filter's id (0x21) and the length of its properties; 40 = 4 GiB - 1 */
	size_t head = (packed[12] + 1) * 4, at = 12;
	while (packed[at] != LZMA_FILTER_LZMA2 || packed[at + 1] != 1)
		at++;
	packed[at + 2] = 40;
	uint32_t crc = lzma_crc32(packed + 12, head - 4, 0);
	memcpy(packed + 12 + head - 4, &crc, 4);
	OK(open_packed(packed, n, &src));
	ck_assert_int_eq(source_pread(src, &got, 1, 0), ERR_LIMIT);
	source_free(src);
	/* one block of 67 MiB of zeros */
	lzma_stream s = LZMA_STREAM_INIT;
	ck_assert(!lzma_lzma_preset(&opt, 0));
	ck_assert_int_eq(lzma_stream_encoder(&s, filters, LZMA_CHECK_CRC32), LZMA_OK);
	s.next_out = packed;
	s.avail_out = sizeof(packed);
	for (int i = 0; i < 67; i++) {
		s.next_in = raw;
		s.avail_in = sizeof(raw);
		ck_assert_int_eq(lzma_code(&s, i == 66 ? LZMA_FINISH : LZMA_RUN), i == 66 ? LZMA_STREAM_END : LZMA_OK);
	}
	OK(open_packed(packed, sizeof(packed) - s.avail_out, &src));
	ck_assert_int_eq(source_pread(src, &got, 1, 0), ERR_LIMIT);
	source_free(src);
	lzma_end(&s);
}
END_TEST

/* --- sealing --- */

struct told {
	uint64_t calls, done, total, stop_at;
};

/* store_progress_fn */
static int tell(void *ctx, uint64_t done, uint64_t total)
{
	struct told *t = ctx;

	ck_assert_uint_ge(done, t->done);
	t->calls++;
	t->done = done;
	t->total = total;
	return t->stop_at && done >= t->stop_at ? ERR_INTERRUPTED : 0;
}

START_TEST(seal)
{
	struct help_store h = help_open();
	struct store_id id = help_record(h.s, 1, 7000);
	char *events = help_path(&h, &id, "events.journal"), *data = help_path(&h, &id, "data.journal"), *journal[2], *cmd;
	struct told t = { .stop_at = 1u << 20 };
	struct errinfo ei = { 0 };
	struct manifest m;
	size_t n[2];

	/* the blobs of help_event() do not exist; the streams are good */
	FAILS(ERR_MISSING_BLOB, store_verify(h.s, &id, tell, &(struct told){ 0 }, &ei));
	journal[0] = help_slurp(events, &n[0]);
	journal[1] = help_slurp(data, &n[1]);
	FAILS(ERR_INTERRUPTED, store_seal(h.s, &id, tell, &t, NULL));
	help_check(h.s, &id, 1, 7000);
	t = (struct told){ 0 };
	OK(store_seal(h.s, &id, tell, &t, NULL));
	ck_assert_uint_gt(t.calls, 1);
	ck_assert_uint_eq(t.total, n[0] + n[1]);
	OK(manifest_load(h.s, &id, &m, NULL));
	ck_assert(m.state == RECORDING_SEALED && m.compressed);
	ck_assert_uint_eq(m.events, 7000);
	ck_assert_uint_lt(m.event_stream.stored_bytes, n[0]);
	manifest_done(&m);
	ck_assert_int_eq(access(events, F_OK), -1);
	ck_assert_int_eq(access(data, F_OK), -1);
	help_check(h.s, &id, 1, 7000);
	FAILS(ERR_MISSING_BLOB, store_verify(h.s, &id, NULL, NULL, NULL));
	OK(store_seal(h.s, &id, NULL, NULL, NULL));
	/* the promise of docs/FORMAT.md */
	for (int i = 0; i < 2 && system("command -v xz >/dev/null") == 0; i++) {
		char *back, *out = os_asprintf("%s/out", h.dir);
		size_t len;

		cmd = os_asprintf("cd %s/%s && xz -dc %s.xz >%s", h.dir, id.hex, i ? "data" : "events", out);
		ck_assert_int_eq(system(cmd), 0);
		back = help_slurp(out, &len);
		ck_assert_uint_eq(len, n[i]);
		ck_assert_mem_eq(back, journal[i], len);
		free(back);
		free(out);
		free(cmd);
	}
	free(journal[0]);
	free(journal[1]);
	free(events);
	free(data);
	help_close(&h);
}
END_TEST

/* Random access in a sealed recording, with the index, without it, and with a bad one. */
START_TEST(seek_sealed)
{
	struct help_store h = help_open();
	const uint64_t n = 4000;
	struct store_id id = help_record(h.s, 2, n);
	static struct help_event want;
	char *index, *bytes;
	size_t len;

	OK(store_seal(h.s, &id, NULL, NULL, NULL));
	index = help_path(&h, &id, "index");
	bytes = help_slurp(index, &len);
	for (int round = 0; round < 4; round++) {
		struct store_reader *rd;
		const struct event *ev;
		struct rng r = { 9 };
		uint64_t count;

		if (round == 1)
			OK(unlink(index));
		if (round == 2) {
			bytes[len / 2] ^= 1;
			help_spill(index, bytes, len);
			bytes[len / 2] ^= 1;
		}
		if (round == 3)
			help_spill(index, bytes, len - 24);
		OK(store_reader_open(h.s, &id, &rd, NULL));
		OK(store_reader_count(rd, &count, NULL));
		ck_assert_uint_eq(count, n);
		for (int i = 0; i < 12; i++) {
			uint64_t to = rng_below(&r, n) + 1;

			OK(store_reader_seek(rd, to, NULL));
			ck_assert_int_eq(store_reader_next(rd, &ev, NULL), 1);
			help_event(2, to, to == n ? EVENT_END : EVENT_INVALID, &want);
			help_same_event(rd, ev, &want.ev);
		}
		store_reader_free(rd);
		help_check(h.s, &id, 2, n);
	}
	/* sealing again makes a lost index new */
	OK(unlink(index));
	OK(store_seal(h.s, &id, NULL, NULL, NULL));
	{
		size_t len2;
		char *again = help_slurp(index, &len2);

		ck_assert_uint_eq(len, len2);
		ck_assert_mem_eq(bytes, again, len);
		free(again);
	}
	free(bytes);
	free(index);
	help_close(&h);
}
END_TEST

/* An index with good checksums that tells lies: everything is found all the same. */
START_TEST(lying_index)
{
	struct help_store h = help_open();
	const uint64_t n = 9000;
	struct store_id id = help_record(h.s, 2, n);
	struct index_entry *e;
	struct index_head head;
	char *index, *bytes;
	size_t len;

	OK(store_seal(h.s, &id, NULL, NULL, NULL));
	index = help_path(&h, &id, "index");
	bytes = help_slurp(index, &len);
	memcpy(&head, bytes, sizeof(head));
	ck_assert_uint_gt(head.n_events, 4);
	e = (struct index_entry *)(void *)(bytes + sizeof(head));
	/* events moved from frame to frame; the sums stay right */
	e[1].count += 5;
	for (uint64_t i = 2; i < head.n_events; i++)
		e[i].first += 5;
	e[head.n_events - 1].count -= 5;
	/* and a border between two frames */
	e[2].raw_len -= 100;
	e[3].offset -= 100;
	e[3].raw_len += 100;
	head.entries_crc = crc32c(0, e, len - sizeof(head));
	head.crc = crc32c(0, &head, offsetof(struct index_head, crc));
	memcpy(bytes, &head, sizeof(head));
	help_spill(index, bytes, len);
	for (uint64_t to = 1; to <= n; to += 737) {
		struct store_reader *rd;
		const struct event *ev;

		OK(store_reader_open(h.s, &id, &rd, NULL));
		OK(store_reader_seek(rd, to, NULL));
		ck_assert_int_eq(store_reader_next(rd, &ev, NULL), 1);
		ck_assert_uint_eq(ev->number, to);
		store_reader_free(rd);
	}
	help_check(h.s, &id, 2, n);
	free(bytes);
	free(index);
	help_close(&h);
}
END_TEST

/* What a killed sealer can leave, step by step. */
START_TEST(leftovers)
{
	struct help_store h = help_open();
	struct store_id id = help_record(h.s, 3, 5000);
	char *events = help_path(&h, &id, "events.journal"), *new = help_path(&h, &id, "events.xz.new");
	char *xz = help_path(&h, &id, "events.xz"), *bytes;
	size_t n;

	bytes = help_slurp(events, &n);
	help_spill(new, "rubbish", 7);
	help_spill(xz, "rubbish", 7);
	help_check(h.s, &id, 3, 5000);
	OK(store_seal(h.s, &id, NULL, NULL, NULL));
	help_check(h.s, &id, 3, 5000);
	help_spill(events, bytes, n / 2);
	help_spill(new, "rubbish", 7);
	help_check(h.s, &id, 3, 5000);
	OK(store_seal(h.s, &id, NULL, NULL, NULL));
	ck_assert_int_eq(access(events, F_OK), -1);
	ck_assert_int_eq(access(new, F_OK), -1);
	help_check(h.s, &id, 3, 5000);
	free(bytes);
	free(events);
	free(new);
	free(xz);
	help_close(&h);
}
END_TEST

/* A damaged journal is not sealed, and stays as it is. */
START_TEST(damaged_journal)
{
	struct help_store h = help_open();
	struct store_id id = help_record(h.s, 4, 6000);
	static const char *const names[] = { "events.journal", "data.journal" };

	for (int i = 0; i < 2; i++) {
		char *path = help_path(&h, &id, names[i]), *bytes;
		struct errinfo ei = { 0 };
		size_t n;

		bytes = help_slurp(path, &n);
		bytes[n * 2 / 3] ^= 4;
		help_spill(path, bytes, n);
		FAILS(ERR_CORRUPT, store_seal(h.s, &id, NULL, NULL, &ei));
		ck_assert_ptr_nonnull(strstr(ei.text, names[i]));
		ck_assert_uint_gt(ei.offset, 0);
		FAILS(ERR_CORRUPT, store_verify(h.s, &id, NULL, NULL, NULL));
		bytes[n * 2 / 3] ^= 4;
		help_spill(path, bytes, n - 1);
		FAILS(ERR_TRUNCATED, store_seal(h.s, &id, NULL, NULL, NULL));
		FAILS(ERR_TRUNCATED, store_verify(h.s, &id, NULL, NULL, NULL));
		help_spill(path, bytes, n);
		free(bytes);
		free(path);
	}
	help_check(h.s, &id, 4, 6000);
	OK(store_seal(h.s, &id, NULL, NULL, NULL));
	help_close(&h);
}
END_TEST

/* Each bit and each cut of a small sealed recording: verification finds it; reading gives a prefix or an error. */
START_TEST(sealed_flips)
{
	struct help_store h = help_open();
	struct store_id id = help_record_blobs(h.s, 5, 2);
	static const char *const names[] = { "events.xz", "data.xz", "index", "manifest.json" };
	char *path, *bytes;
	size_t n;

	OK(store_seal(h.s, &id, NULL, NULL, NULL));
	OK(store_verify(h.s, &id, NULL, NULL, NULL));
	path = help_path(&h, &id, names[_i]);
	bytes = help_slurp(path, &n);
	for (size_t bit = 0; bit < n * 16; bit++) {
		bool cut = bit >= n * 8;
		size_t keep = cut ? (bit - n * 8) / 8 : n;
		struct store_reader *rd;
		const struct event *ev;
		int r;

		if (cut && bit % 8)
			continue;
		if (!cut)
			bytes[bit / 8] ^= (char)(1 << bit % 8);
		help_spill(path, bytes, keep);
		r = store_verify(h.s, &id, NULL, NULL, NULL);
		if (_i < 2)
			ck_assert(r == ERR_CORRUPT || r == ERR_TRUNCATED);
		if (_i == 2)
			ck_assert_int_eq(r, 0); /* the index is nobody's truth */
		if (store_reader_open(h.s, &id, &rd, NULL) == 0) {
			uint64_t k = 0;

			while ((r = store_reader_next(rd, &ev, NULL)) > 0)
				k++;
			ck_assert_uint_le(k, 3);
			ck_assert(r == 0 || r == ERR_CORRUPT || r == ERR_LIMIT);
			store_reader_free(rd);
		}
		if (!cut)
			bytes[bit / 8] ^= (char)(1 << bit % 8);
	}
	free(bytes);
	free(path);
	help_close(&h);
}
END_TEST

START_TEST(verify_finds)
{
	struct help_store h = help_open();
	struct store_id id = help_record_blobs(h.s, 6, 3);
	struct errinfo ei = { 0 };
	struct manifest m;
	char *blob, hex[65];

	OK(store_verify(h.s, &id, NULL, NULL, NULL));
	OK(manifest_load(h.s, &id, &m, NULL));
	/* another content of the same size */
	blob_id_hex(&m.blobs[1], hex);
	blob = os_asprintf("%s/blobs/%.2s/%s", h.dir, hex, hex + 2);
	help_spill(blob, "blob 6 7", 8);
	FAILS(ERR_CORRUPT, store_verify(h.s, &id, NULL, NULL, &ei));
	ck_assert_ptr_nonnull(strstr(ei.text, hex));
	OK(unlink(blob));
	ei = (struct errinfo){ 0 };
	FAILS(ERR_MISSING_BLOB, store_verify(h.s, &id, NULL, NULL, &ei));
	ck_assert_ptr_nonnull(strstr(ei.text, hex));
	help_spill(blob, "blob 6 1", 8);
	OK(store_verify(h.s, &id, NULL, NULL, NULL));
	/* a manifest that does not name what an event maps */
	m.n_blobs--;
	OK(manifest_save(h.s, &m));
	ei = (struct errinfo){ 0 };
	FAILS(ERR_CORRUPT, store_verify(h.s, &id, NULL, NULL, &ei));
	ck_assert_uint_eq(ei.event, 3);
	m.n_blobs++;
	m.events++;
	OK(manifest_save(h.s, &m));
	FAILS(ERR_TRUNCATED, store_verify(h.s, &id, NULL, NULL, NULL));
	m.events -= 2;
	OK(manifest_save(h.s, &m));
	FAILS(ERR_CORRUPT, store_verify(h.s, &id, NULL, NULL, NULL));
	free(blob);
	manifest_done(&m);
	help_close(&h);
}
END_TEST

/* An end event is the last one. */
START_TEST(two_ends)
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
	OK(store_writer_event(w, &(struct event){ .kind = EVENT_END }));
	OK(store_writer_event(w, &(struct event){ .kind = EVENT_NOTE, .text = "more" }));
	OK(store_writer_commit(w, &m, NULL));
	store_writer_free(w);
	manifest_done(&m);
	FAILS(ERR_CORRUPT, store_verify(h.s, &id, NULL, NULL, NULL));
	OK(store_reader_open(h.s, &id, &rd, NULL));
	while (store_reader_next(rd, &ev, NULL) > 0)
		;
	ck_assert(store_reader_truncated(rd));
	store_reader_free(rd);
	help_close(&h);
}
END_TEST

HELP_MAIN("store_seal",
	  { xz_random_access, 0 }, { xz_flips_and_cuts, 0 }, { xz_limits, 0 }, { seal, 0 }, { seek_sealed, 0 },
	  { lying_index, 0 }, { leftovers, 0 }, { damaged_journal, 0 }, { sealed_flips, 4 }, { verify_finds, 0 }, { two_ends, 0 })
