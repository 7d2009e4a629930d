/* Lines of gdb's output: what is parsed holds what mi_priv.h says, and printed by the grammar it is parsed to the same again. */
#include <stdlib.h>
#include <string.h>
#include "dap/mi_priv.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(bool ok)
{
	if (!ok)
		abort();
}

static void put_value(struct buf *b, const json_t *v, bool *plain);

static void put_members(struct buf *b, json_t *obj, bool *plain)
{
	const char *name;
	json_t *v;
	bool first = true;

	json_object_foreach(obj, name, v) {
		buf_printf(b, "%s%s=", first ? "" : ",", name);
		put_value(b, v, plain);
		first = false;
	}
}

static void put_items(struct buf *b, json_t *array, bool *plain)
{
	json_t *v;
	size_t i;

	json_array_foreach(array, i, v) {
		if (i)
			buf_put_u8(b, ',');
		put_value(b, v, plain);
	}
}

/* *plain: no NUL was in a string, which mi_quote() cannot write. */
static void put_value(struct buf *b, const json_t *v, bool *plain)
{
	check(json_is_string(v) || json_is_array(v) || json_is_object(v));
	if (json_is_string(v)) {
		*plain = *plain && strlen(json_string_value(v)) == json_string_length(v);
		mi_quote(b, json_string_value(v));
	} else if (json_is_array(v)) {
		buf_put_u8(b, '[');
		put_items(b, (json_t *)v, plain);
		buf_put_u8(b, ']');
	} else {
		buf_put_u8(b, '{');
		put_members(b, (json_t *)v, plain);
		buf_put_u8(b, '}');
	}
}

static void again(const struct mi_record *rec)
{
	struct mi_record back = { 0 };
	struct buf b = { 0 };
	bool plain = true;

	if (rec->token)
		buf_printf(&b, "%llu", (unsigned long long)rec->token);
	buf_printf(&b, "%c%s", "^*+="[rec->kind], rec->name);
	if (json_object_size(rec->values))
		buf_put_u8(&b, ',');
	put_members(&b, rec->values, &plain);
	check(mi_parse(buf_cstr(&b), b.len, &back) == 0);
	check(back.kind == rec->kind && back.token == rec->token && strcmp(back.name, rec->name) == 0);
	check(!plain || json_equal(back.values, rec->values));
	mi_record_done(&back);
	buf_done(&b);
}

static void one_line(const char *line, size_t n)
{
	struct mi_record rec = { 0 };
	int r = mi_parse(line, n, &rec);

	check(r == 0 || r == ERR_PROTOCOL || r == ERR_LIMIT);
	if (r < 0) {
		check(!rec.name && !rec.values && !rec.text.data);
		return;
	}
	check(rec.kind <= MI_PROMPT);
	if (rec.kind <= MI_NOTIFY) {
		check(rec.name && *rec.name && json_is_object(rec.values) && !rec.text.len);
		(void)mi_str(rec.values, "msg");
		(void)mi_int(rec.values, "line", 0);
		(void)mi_addr(rec.values, "addr");
		again(&rec);
	} else {
		check(!rec.name && !rec.values && rec.text.len <= n);
	}
	mi_record_done(&rec);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *p = (const char *)data, *end = p + size;

	while (p < end) {
		const char *nl = memchr(p, '\n', (size_t)(end - p)), *stop = nl ? nl : end;
		size_t n = (size_t)(stop - p);
		char *exact = malloc(n ? n : 1); /* so that sanitizers see a byte too many */

		check(exact != NULL);
		memcpy(exact, p, n);
		one_line(exact, n);
		free(exact);
		p = stop + (nl != NULL);
	}
	return 0;
}
