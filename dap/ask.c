/* What gdb knows of an expression in a frame: its text, its type, its address. See stack_priv.h. */
#include "dap/stack_priv.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include "base/str.h"

/* What of large objects is shown, and what the clipboard gets at most: a printer takes its time for each element. */
#define LARGE_SHOWN 200
#define FULL_CHARACTERS 200000
#define FULL_ELEMENTS 10000
#define FULL_BYTES (1u << 20)
#define USUAL_BYTES (1u << 16)
/* So many expressions are asked for singly when not all have an address. */
#define SINGLY_MAX 64u

static void trim(struct buf *b)
{
	while (b->len > 0 && (b->data[b->len - 1] == '\n' || b->data[b->len - 1] == ' '))
		b->len--;
}

static void limits(struct dap *d, int elements, unsigned bytes, int depth)
{
	struct errinfo ignored = { 0 };
	int r = mi_console(d->mi, NULL, &ignored, "set print elements %d", elements);

	if (r >= 0)
		r = mi_console(d->mi, NULL, &ignored, "set max-value-size %u", bytes);
	if (r >= 0)
		r = mi_console(d->mi, NULL, &ignored, "set print max-depth %d", depth);
	(void)r; /* what was not set limits what is shown */
}

int ask_console(struct dap *d, int thread, int level, const char *command, struct buf *ret, struct errinfo *ei)
{
	int r = mi_console_in(d->mi, thread, level, ret, ei, "%s", command);

	/* gdb keeps a line that has not ended for later */
	if (r >= 0 && (ret->len == 0 || ret->data[ret->len - 1] != '\n'))
		r = mi_console(d->mi, ret, ei, "echo \\n");
	trim(ret);
	return r;
}

static int plain_text(struct dap *d, int thread, int level, const char *expr, struct buf *ret, struct errinfo *ei)
{
	CLEANUP(jsonx_unrefp) json_t *mi = NULL;
	CLEANUP(buf_done) struct buf quoted = { 0 };
	int r;

	mi_quote(&quoted, expr);
	r = buf_error(&quoted);
	if (r >= 0)
		r = mi_command(d->mi, &mi, ei, "-data-evaluate-expression --thread %d --frame %d %s", thread, level, buf_cstr(&quoted));
	if (r >= 0)
		buf_printf(ret, "%s", mi_str(mi, "value") ?: "");
	return r < 0 ? r : buf_error(ret);
}

static int some_text(struct dap *d, int thread, int level, const char *expr, char format, struct buf *ret, struct errinfo *ei)
{
	CLEANUP(buf_done) struct buf command = { 0 };

	if (!format)
		return plain_text(d, thread, level, expr, ret, ei);
	buf_printf(&command, "output/%c %s", format, expr);
	return ask_console(d, thread, level, buf_cstr(&command), ret, ei);
}

int ask_text(struct dap *d, int thread, int level, const char *expr, char format, bool full, struct buf *ret, struct errinfo *ei)
{
	int r;

	if (!full)
		return some_text(d, thread, level, expr, format, ret, ei);
	limits(d, FULL_ELEMENTS, FULL_BYTES, 20);
	r = some_text(d, thread, level, expr, format, ret, ei);
	if (r >= 0 && ret->len > 4 && memcmp(ret->data + ret->len - 4, "\"...", 4) == 0) {
		buf_clear(ret);
		limits(d, FULL_CHARACTERS, FULL_BYTES, 20);
		r = some_text(d, thread, level, expr, format, ret, ei);
	}
	limits(d, LARGE_SHOWN, USUAL_BYTES, 3);
	return r;
}

/* "type = T", or with the type that an object really has before it: "type = / * real type = T * /" and a line with the declared one. */
static void put_type(const char *text, struct buf *ret)
{
	const char *real = strstr(text, "/* real type = "), *end = real ? strstr(real, " */") : NULL;

	if (real && end) {
		real += strlen("/* real type = ");
		buf_put(ret, real, (size_t)(end - real));
		return;
	}
	text = str_has_prefix(text, "type = ") ? text + strlen("type = ") : text;
	buf_put(ret, text, strcspn(text, "\n"));
}

int ask_type(struct dap *d, int thread, int level, const char *expr, struct buf *ret, struct errinfo *ei)
{
	CLEANUP(buf_done) struct buf out = { 0 };
	int r = mi_console_in(d->mi, thread, level, &out, ei, "whatis %s", expr);

	if (r >= 0)
		put_type(buf_cstr(&out), ret);
	return r < 0 ? r : buf_error(ret);
}

static bool of_characters(const char *type)
{
	const char *bracket = strchr(type, '[');

	return bracket && bracket > type && strstr(type, "char") && strstr(type, "char") < bracket && !strchr(bracket + 1, '[') && !strchr(type, '*');
}

void ask_large(struct dap *d, int thread, int level, const char *expr, const char *type, bool full, struct buf *ret)
{
	struct errinfo ignored = { 0 };
	CLEANUP(buf_done) struct buf slice = { 0 };
	int64_t n = value_elements(type, NULL), shown = full ? FULL_CHARACTERS : LARGE_SHOWN;

	if (n > shown && expr && of_characters(type)) {
		buf_printf(&slice, "(%s)[0]@%" PRId64, expr, shown);
		if (ask_text(d, thread, level, buf_cstr(&slice), 0, full, ret, &ignored) >= 0) {
			buf_printf(ret, "...");
			return;
		}
	}
	buf_clear(ret);
	if (n >= 0)
		buf_printf(ret, "[%" PRId64 "]", n);
	else
		buf_printf(ret, "{...}");
}

/* n expressions in one question; false: one of them has no address. */
static bool addresses_of(struct dap *d, int thread, int level, const char *const *exprs, size_t n, uint64_t *ret)
{
	CLEANUP(buf_done) struct buf line = { 0 };
	CLEANUP(buf_done) struct buf out = { 0 };
	struct errinfo ignored = { 0 };
	const char *p;

	buf_printf(&line, "printf \"");
	for (size_t i = 0; i < n; i++)
		buf_printf(&line, "%%p ");
	buf_printf(&line, "\\n\"");
	for (size_t i = 0; i < n; i++)
		buf_printf(&line, ",&(%s)", exprs[i]);
	if (buf_error(&line) || mi_console_in(d->mi, thread, level, &out, &ignored, "%s", buf_cstr(&line)) < 0)
		return false;
	p = buf_cstr(&out);
	for (size_t i = 0; i < n; i++) {
		char *end;

		p += strspn(p, " ");
		ret[i] = str_has_prefix(p, "0x") ? strtoull(p, &end, 16) : 0;
		p += strcspn(p, " ");
	}
	return true;
}

void ask_addresses(struct dap *d, int thread, int level, const char *const *exprs, size_t n, uint64_t *ret)
{
	memset(ret, 0, n * sizeof(*ret));
	if (n == 0 || addresses_of(d, thread, level, exprs, n, ret))
		return;
	for (size_t i = 0; i < n && i < SINGLY_MAX && n > 1; i++)
		(void)addresses_of(d, thread, level, exprs + i, 1, ret + i);
}
