/* .xz streams through liblzma: an encoder that ends a block where asked, and a source that reads any byte of such a file.
 *
 * The files are plain single-stream .xz, so that `xz -dc` gives the journal back. Reading uses the block index at the file's end: one block is
 * decoded at a time and kept, by the source itself or where all readers of the file find it (blocks.c). Block and dictionary sizes come from a stranger and are held against limits_priv.h before memory is taken.
 */
#include "store/xz_priv.h"

#include <errno.h>
#include <lzma.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include "base/os.h"
#include "store/blocks_priv.h"
#include "store/limits_priv.h"
#include "store/source_priv.h"

#define OUT_SIZE (64u << 10)

static int from_lzma(lzma_ret r)
{
	switch (r) {
	case LZMA_OK:
	case LZMA_STREAM_END:
		return 0;
	case LZMA_MEM_ERROR:
		return -ENOMEM;
	case LZMA_MEMLIMIT_ERROR:
		return ERR_LIMIT;
	default:
		return ERR_CORRUPT;
	}
}

/* --- encoder --- */

struct xz_encoder {
	lzma_stream lzma;
	xz_sink_fn sink;
	void *ctx;
	bool in_block; /* bytes were put since the last block ended */
	uint8_t out[OUT_SIZE];
};

int xz_encoder_new(unsigned preset, xz_sink_fn sink, void *ctx, struct xz_encoder **ret)
{
	struct xz_encoder *e = os_malloc(sizeof(*e));
	lzma_options_lzma options;
	lzma_filter filters[] = { { LZMA_FILTER_LZMA2, &options }, { LZMA_VLI_UNKNOWN, NULL } };
	int r;

	if (!e)
		return -ENOMEM;
	e->lzma = (lzma_stream)LZMA_STREAM_INIT;
	e->sink = sink;
	e->ctx = ctx;
	e->in_block = false;
	if (lzma_lzma_preset(&options, preset)) {
		free(e);
		return -EINVAL;
	}
	/* no match can reach across a block, so a larger dictionary only costs the time to clear it */
	options.dict_size = MIN(options.dict_size, 2 * XZ_BLOCK_DATA);
	r = from_lzma(lzma_stream_encoder(&e->lzma, filters, LZMA_CHECK_CRC64));
	if (r < 0) {
		free(e);
		return r == ERR_CORRUPT ? -EINVAL : r;
	}
	*ret = e;
	return 0;
}

void xz_encoder_free(struct xz_encoder *e)
{
	if (!e)
		return;
	lzma_end(&e->lzma);
	free(e);
}

void xz_encoder_freep(struct xz_encoder **e)
{
	xz_encoder_free(*e);
}

/* Runs the encoder until it has done what action asks for. */
static int encode(struct xz_encoder *e, const void *p, size_t n, lzma_action action)
{
	lzma_ret lr = LZMA_OK;
	int r;

	e->lzma.next_in = p;
	e->lzma.avail_in = n;
	while (lr == LZMA_OK && (action != LZMA_RUN || e->lzma.avail_in > 0)) {
		e->lzma.next_out = e->out;
		e->lzma.avail_out = sizeof(e->out);
		lr = lzma_code(&e->lzma, action);
		if (lr != LZMA_OK && lr != LZMA_STREAM_END)
			return from_lzma(lr) == ERR_CORRUPT ? -EIO : from_lzma(lr);
		r = sizeof(e->out) == e->lzma.avail_out ? 0 : e->sink(e->ctx, e->out, sizeof(e->out) - e->lzma.avail_out);
		if (r < 0)
			return r;
	}
	return 0;
}

int xz_encoder_put(struct xz_encoder *e, const void *p, size_t n)
{
	if (n > 0)
		e->in_block = true;
	return encode(e, p, n, LZMA_RUN);
}

int xz_encoder_end_block(struct xz_encoder *e)
{
	if (!e->in_block)
		return 0;
	e->in_block = false;
	return encode(e, NULL, 0, LZMA_FULL_FLUSH);
}

int xz_encoder_finish(struct xz_encoder *e)
{
	return encode(e, NULL, 0, LZMA_FINISH);
}

/* --- source --- */

struct xz_source {
	struct source base;
	struct source *inner;
	lzma_index *index;
	lzma_check check;
	struct store_blocks *blocks; /* NULL: none are shared */
	struct block_key key;        /* of those */
	uint64_t start, len; /* the block that raw holds; len 0 = none */
	uint8_t *raw, *packed;
	size_t raw_cap, packed_cap;
};

struct block_load {
	struct xz_source *x;
	const lzma_index_iter *it;
};

static int reserve(uint8_t **p, size_t *cap, size_t want)
{
	uint8_t *q;

	if (want <= *cap)
		return 0;
	q = os_malloc(want);
	if (!q)
		return -ENOMEM;
	free(*p);
	*p = q;
	*cap = want;
	return 0;
}

static int pread_exact(struct source *s, void *p, size_t n, uint64_t off)
{
	ssize_t r = source_pread(s, p, n, off);

	if (r < 0)
		return (int)r;
	return (size_t)r == n ? 0 : ERR_CORRUPT;
}

/* Decodes the block of `packed_len` bytes at packed to raw_len bytes at raw. */
static int decode_block(const struct xz_source *x, const uint8_t *packed, size_t packed_len, uint64_t unpadded, uint8_t *raw, size_t raw_len)
{
	lzma_filter filters[LZMA_FILTERS_MAX + 1];
	lzma_block block = { .version = 1, .check = x->check, .filters = filters };
	size_t in_pos, out_pos = 0;
	uint64_t mem;
	int r;

	block.header_size = lzma_block_header_size_decode(packed[0]);
	if (packed[0] == 0 || block.header_size > packed_len)
		return ERR_CORRUPT;
	r = from_lzma(lzma_block_header_decode(&block, NULL, packed));
	if (r < 0)
		return r;
	mem = lzma_raw_decoder_memusage(filters);
	in_pos = block.header_size;
	if (mem > XZ_DECODER_MEM_MAX)
		r = mem == UINT64_MAX ? ERR_CORRUPT : ERR_LIMIT;
	if (r == 0)
		r = from_lzma(lzma_block_compressed_size(&block, unpadded));
	if (r == 0)
		r = from_lzma(lzma_block_buffer_decode(&block, NULL, packed, &in_pos, packed_len, raw, &out_pos, raw_len));
	for (size_t i = 0; filters[i].id != LZMA_VLI_UNKNOWN; i++)
		free(filters[i].options);
	if (r == 0 && (out_pos != raw_len || in_pos != packed_len))
		r = ERR_CORRUPT;
	return r;
}

/* LZMA2 expands by less than 1 %; a longer block only wants our memory. */
static int check_sizes(const lzma_index_iter *it)
{
	uint64_t raw_len = it->block.uncompressed_size, packed_len = it->block.total_size;

	return raw_len > XZ_BLOCK_RAW_MAX || packed_len > raw_len + raw_len / 16 + 4096 ? ERR_LIMIT : 0;
}

static int load_packed(struct xz_source *x, const lzma_index_iter *it)
{
	int r = reserve(&x->packed, &x->packed_cap, it->block.total_size);

	return r < 0 ? r : pread_exact(x->inner, x->packed, it->block.total_size, it->block.compressed_file_offset);
}

/* block_load_fn */
static int load_shared(void *ctx, uint8_t *p, size_t len)
{
	const struct block_load *l = ctx;
	int r = load_packed(l->x, l->it);

	return r < 0 ? r : decode_block(l->x, l->x->packed, l->it->block.total_size, l->it->block.unpadded_size, p, len);
}

static int load_own(struct xz_source *x, const lzma_index_iter *it)
{
	uint64_t raw_len = it->block.uncompressed_size;
	int r;

	x->len = 0;
	r = reserve(&x->raw, &x->raw_cap, raw_len);
	if (r == 0)
		r = load_packed(x, it);
	if (r == 0)
		r = decode_block(x, x->packed, it->block.total_size, it->block.unpadded_size, x->raw, raw_len);
	if (r < 0)
		return r;
	x->start = it->block.uncompressed_file_offset;
	x->len = raw_len;
	return 0;
}

/* Copies up to n bytes at off, as far as they are in one block; how many, 0 at the end. */
static ssize_t read_some(struct xz_source *x, void *p, size_t n, uint64_t off)
{
	lzma_index_iter it;
	struct block_load load = { x, &it };
	uint64_t start, len;
	int r;

	if (off >= x->start && off - x->start < x->len) {
		n = MIN(n, (size_t)(x->start + x->len - off));
		memcpy(p, x->raw + (off - x->start), n);
		return (ssize_t)n;
	}
	lzma_index_iter_init(&it, x->index);
	if (lzma_index_iter_locate(&it, off))
		return 0;
	r = check_sizes(&it);
	start = it.block.uncompressed_file_offset;
	len = it.block.uncompressed_size;
	n = MIN(n, (size_t)(start + len - off));
	if (r == 0 && x->blocks && store_blocks_fit(x->blocks, len)) {
		x->key.start = start;
		r = store_blocks_copy(x->blocks, &x->key, len, load_shared, &load, off - start, p, n);
	} else if (r == 0) {
		r = load_own(x, &it);
		if (r == 0)
			memcpy(p, x->raw + (off - start), n);
	}
	return r < 0 ? r : (ssize_t)n;
}

static ssize_t xz_pread(struct source *s, void *p, size_t n, uint64_t off)
{
	struct xz_source *x = CONTAINER_OF(s, struct xz_source, base);
	size_t done = 0;
	ssize_t r;

	for (; done < n; done += (size_t)r) {
		r = read_some(x, (uint8_t *)p + done, n - done, off + done);
		if (r <= 0)
			return r < 0 ? r : (ssize_t)done;
	}
	return (ssize_t)done;
}

static int xz_size(struct source *s, uint64_t *ret)
{
	*ret = lzma_index_uncompressed_size(CONTAINER_OF(s, struct xz_source, base)->index);
	return 0;
}

static void xz_free(struct source *s)
{
	struct xz_source *x = CONTAINER_OF(s, struct xz_source, base);

	lzma_index_end(x->index, NULL);
	source_free(x->inner);
	store_blocks_unref(x->blocks);
	free(x->raw);
	free(x->packed);
	free(x);
}

/* Reads and checks the block index that `footer` announces. */
static int load_index(struct xz_source *x, uint64_t file_size, const lzma_stream_flags *footer)
{
	uint64_t index_size = footer->backward_size, mem = XZ_INDEX_MEM_MAX;
	size_t pos = 0;
	uint8_t *p CLEANUP(freep) = NULL;
	int r;

	if (index_size > file_size - 2 * LZMA_STREAM_HEADER_SIZE)
		return ERR_CORRUPT;
	if (index_size > XZ_INDEX_MEM_MAX)
		return ERR_LIMIT;
	p = os_malloc(index_size);
	if (!p)
		return -ENOMEM;
	r = pread_exact(x->inner, p, index_size, file_size - LZMA_STREAM_HEADER_SIZE - index_size);
	if (r == 0)
		r = from_lzma(lzma_index_buffer_decode(&x->index, &mem, NULL, p, &pos, index_size));
	if (r < 0)
		return r;
	if (pos != index_size || lzma_index_file_size(x->index) != file_size)
		return ERR_CORRUPT;
	return 0;
}

static int open_stream(struct xz_source *x)
{
	uint8_t head[LZMA_STREAM_HEADER_SIZE], foot[LZMA_STREAM_HEADER_SIZE];
	lzma_stream_flags header, footer;
	uint64_t size;
	int r = source_size(x->inner, &size);

	if (r < 0)
		return r;
	if (size < 2 * LZMA_STREAM_HEADER_SIZE)
		return ERR_TRUNCATED;
	r = pread_exact(x->inner, head, sizeof(head), 0);
	if (r == 0)
		r = pread_exact(x->inner, foot, sizeof(foot), size - sizeof(foot));
	if (r < 0)
		return r;
	if (lzma_stream_header_decode(&header, head) != LZMA_OK || lzma_stream_footer_decode(&footer, foot) != LZMA_OK ||
	    lzma_stream_flags_compare(&header, &footer) != LZMA_OK || !lzma_check_is_supported(header.check))
		return ERR_CORRUPT;
	x->check = header.check;
	return load_index(x, size, &footer);
}

int source_xz_shared(struct source *inner, const struct stat *st, struct store_blocks *blocks, struct source **ret)
{
	static const struct source_ops ops = { .pread = xz_pread, .size = xz_size, .free = xz_free };
	struct xz_source *x = os_calloc(1, sizeof(*x));
	int r;

	if (!x) {
		source_free(inner);
		return -ENOMEM;
	}
	x->base.ops = &ops;
	x->inner = inner;
	x->blocks = store_blocks_ref(blocks);
	if (blocks)
		block_key_init(&x->key, st);
	r = open_stream(x);
	if (r < 0) {
		xz_free(&x->base);
		return r;
	}
	*ret = &x->base;
	return 0;
}

int source_xz(struct source *inner, struct source **ret)
{
	return source_xz_shared(inner, NULL, NULL, ret);
}
