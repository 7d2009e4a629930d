/* A whole event stream, raw or as .xz: frames, checksums, events. First byte: 1 = mend the checksums, so that what is behind them is met. */
#include <stdlib.h>
#include <string.h>
#include "base/crc32c.h"
#include "store/event_priv.h"
#include "store/format_priv.h"
#include "store/stream_priv.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void mend(uint8_t *p, size_t n)
{
	struct stream_head sh;
	struct frame_head fh;
	size_t at = sizeof(sh);

	if (n < sizeof(sh))
		return;
	memcpy(&sh, p, sizeof(sh));
	sh.crc = crc32c(0, &sh, offsetof(struct stream_head, crc));
	memcpy(p, &sh, sizeof(sh));
	while (at <= n && n - at >= sizeof(fh)) {
		memcpy(&fh, p + at, sizeof(fh));
		if (fh.raw_len > n - at - sizeof(fh))
			return;
		frame_head_seal(&fh, p + at + sizeof(fh));
		memcpy(p + at, &fh, sizeof(fh));
		at += sizeof(fh) + fh.raw_len;
	}
}

static void read_frames(struct stream *st)
{
	struct event_memory *mem;
	struct frame f = { 0 };
	struct event ev;
	uint64_t pos = 1, end;

	if (event_memory_new(&mem) < 0)
		abort();
	while (stream_load(st, pos, &f, NULL) > 0) {
		struct view v = view_of(frame_payload(&f), f.head.raw_len);

		if (frame_end(&f) <= pos)
			abort();
		pos = frame_end(&f);
		while (event_decode_at(&v, f.head.time, mem, &ev) == 0)
			;
	}
	if (stream_count(st, &end, NULL) == 0 && end > pos)
		abort();
	event_memory_free(mem);
	frame_done(&f);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint8_t *copy = malloc(size + 1);
	struct source *src;
	struct stream st;

	if (!copy)
		abort();
	if (size) {
		memcpy(copy, data + 1, size - 1);
		if (data[0] == 1)
			mend(copy, size - 1);
		if (source_memory(copy, size - 1, &src) < 0)
			abort();
		/* an .xz begins with 0xfd */
		if ((size < 2 || copy[0] != 0xfd || source_xz(src, &src) == 0) &&
		    stream_init(&st, STREAM_EVENTS, "fuzz", src, NULL, NULL) == 0) {
			st.strict_below = size > 2 ? data[size / 2] : 0;
			read_frames(&st);
			stream_done(&st);
		}
	}
	free(copy);
	return 0;
}
