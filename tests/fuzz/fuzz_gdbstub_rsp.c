/* Framing over the fuzzer's bytes: it always advances or asks for more, and a body that is found comes back when it is framed again. */
#include <stdlib.h>
#include <string.h>
#include "gdbstub/rsp_priv.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void again(const struct view *body)
{
	struct buf plain = { 0 }, wire = { 0 }, back = { 0 };
	struct rsp_frame f;

	if (rsp_unescape(body, &plain) == 0) {
		rsp_put_packet(&wire, plain.data, plain.len);
		rsp_scan(wire.data, wire.len, wire.len, &f);
		if (f.kind != RSP_PACKET || f.taken != wire.len || rsp_unescape(&f.body, &back) != 0 || back.len != plain.len ||
		    (plain.len && memcmp(back.data, plain.data, plain.len) != 0))
			abort();
	}
	buf_done(&plain);
	buf_done(&wire);
	buf_done(&back);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const uint8_t *end = data + size;

	while (data < end) {
		struct rsp_frame f;
		uint64_t n;

		rsp_scan(data, (size_t)(end - data), 64, &f);
		if (f.taken > (size_t)(end - data))
			abort();
		if (f.kind == RSP_MORE)
			break;
		if (!f.taken)
			abort();
		if (f.kind == RSP_PACKET) {
			struct buf bytes = { 0 };
			struct view v = f.body;

			again(&f.body);
			if (rsp_get_hex(&v, &n) >= 0)
				(void)rsp_get_until(&v, ';');
			(void)!rsp_get_bytes(&v, &bytes);
			buf_done(&bytes);
		}
		data += f.taken;
	}
	return 0;
}
