/* A client's bytes: framing in one piece and in small ones gives the same messages, each of which comes back when it is framed again; its arguments
 * are taken apart. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "dap/args_priv.h"
#include "dap/frame_priv.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct all {
	const char *str;
	int64_t num;
	bool flag;
	json_t *list, *obj, *any;
};

static const struct arg table[] = {
	ARG(STR, struct all, str, "command"),
	ARG(INT, struct all, num, "seq", .def = -1),
	ARG(BOOL, struct all, flag, "flag"),
	ARG(ARRAY, struct all, list, "list"),
	ARG(OBJECT, struct all, obj, "arguments"),
	ARG(ANY, struct all, any, "any"),
	{ 0 },
};

static void decode(const json_t *msg)
{
	struct errinfo ei = { 0 };
	struct all a = { 0 };
	int r = args_decode(table, msg, &a, &ei);

	if (r != 0 && (r != -EINVAL || !ei.text[0]))
		abort();
	if (r == 0 && ((a.str && strlen(a.str) > 4096) || (a.list && !json_is_array(a.list)) || (a.obj && !json_is_object(a.obj))))
		abort();
}

static void again(const json_t *msg)
{
	struct frame_in f = { 0 };
	struct buf wire = { 0 };
	json_t *back = NULL;

	if (frame_write(msg, &wire) < 0)
		abort();
	frame_put(&f, wire.data, wire.len);
	if (frame_next(&f, &back, NULL) != 1 || !json_equal(msg, back) || frame_next(&f, &back, NULL) != 0)
		abort();
	json_decref(back);
	frame_in_done(&f);
	buf_done(&wire);
}

/* Takes what is there; a list of messages and, as integers, errors. False: the stream has ended. */
static bool take(struct frame_in *f, json_t *list)
{
	for (;;) {
		json_t *msg;
		int r = frame_next(f, &msg, NULL);

		if (r == 0)
			return true;
		if (json_array_append_new(list, r == 1 ? msg : json_integer(r)) < 0)
			abort();
		if (r < 0 && r != ERR_CORRUPT)
			return false;
	}
}

static json_t *in_pieces(const uint8_t *data, size_t size, size_t piece)
{
	struct frame_in f = { 0 };
	json_t *list = json_array();
	bool more = true;

	for (size_t at = 0; at < size && more; at += piece) {
		frame_put(&f, data + at, MIN(piece, size - at));
		more = take(&f, list);
	}
	frame_in_done(&f);
	return list;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	json_t *whole = in_pieces(data, size, MAX(size, (size_t)1)), *bytes = in_pieces(data, size, 1), *msg;
	size_t i;

	if (!json_equal(whole, bytes))
		abort();
	json_array_foreach(whole, i, msg) {
		decode(msg);
		if (json_is_object(msg))
			again(msg);
	}
	json_decref(whole);
	json_decref(bytes);
	return 0;
}
