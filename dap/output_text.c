/* Bytes of recorded output as text: see output_priv.h. */
#include "dap/output_priv.h"

#include <string.h>

static unsigned length_of(uint8_t first)
{
	return first >= 0xc2 && first < 0xe0 ? 2 : first >= 0xe0 && first < 0xf0 ? 3 : first >= 0xf0 && first < 0xf5 ? 4 : 1;
}

size_t output_tail(const uint8_t *p, size_t n)
{
	for (size_t back = 1; back <= MIN(n, (size_t)3); back++) {
		uint8_t c = p[n - back];

		if ((c & 0xc0) == 0x80)
			continue;
		return length_of(c) > back ? back : 0;
	}
	return 0;
}

json_t *output_string(struct output_rest *rest, const void *p, size_t n, bool last)
{
	struct buf b CLEANUP(buf_done) = { 0 };
	size_t tail;

	buf_put(&b, rest->byte, rest->n);
	buf_put(&b, p, n);
	if (buf_error(&b))
		return NULL;
	tail = last ? 0 : output_tail(b.data, b.len);
	rest->n = (unsigned)tail;
	if (tail)
		memcpy(rest->byte, b.data + b.len - tail, tail);
	/* its bytes may be followed by no NUL, which it looks for behind the last character */
	b.len -= tail;
	return jsonx_string_lossy(buf_cstr(&b), b.len);
}
