/* The server behind gdb: `monitor hermit ... --json`, and one line of JSON back, see mi_priv.h. */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include "dap/mi_priv.h"

/* The last line that begins an object: gdb may have said something before. */
static int last_object(const struct buf *out, json_t **ret)
{
	size_t end = out->len;

	while (end > 0) {
		const char *nl = memrchr(out->data, '\n', end), *from = nl ? nl + 1 : (const char *)out->data;
		size_t n = (size_t)((const char *)out->data + end - from);

		if (n > 0 && *from == '{')
			return jsonx_parse(from, n, ret, NULL);
		if (!nl)
			break;
		end = (size_t)(nl - (const char *)out->data);
	}
	return -ENOENT;
}

/* text: the command and its arguments. */
static int ask(struct mi *m, json_t **ret, struct errinfo *ei, const char *text)
{
	CLEANUP(buf_done) struct buf out = { 0 };
	CLEANUP(jsonx_unrefp) json_t *j = NULL;
	struct errinfo cause = { 0 };
	const char *error;
	int r, parsed;

	r = mi_console(m, &out, &cause, "monitor hermit %s --json", text);
	if (r < 0 && r != -EREMOTEIO)
		return errinfo_set(ei, r, "%s", cause.text);
	parsed = last_object(&out, &j);
	error = mi_str(j, "error"); /* the server's own words are better than gdb's about a packet that failed */
	if (error || r < 0)
		return errinfo_set(ei, -EREMOTEIO, "%s", error ? error : cause.text);
	if (parsed < 0)
		return errinfo_set(ei, ERR_PROTOCOL, "monitor hermit %s: the server's answer is no JSON", text);
	*ret = TAKE(j);
	return 0;
}

int mi_monitor(struct mi *m, json_t **ret, struct errinfo *ei, const char *fmt, ...)
{
	CLEANUP(freep) char *text = NULL;
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vasprintf(&text, fmt, ap);
	va_end(ap);
	if (n < 0) {
		text = NULL; /* undefined then */
		return errinfo_set_r(ei, -ENOMEM, "ask the server");
	}
	return ask(m, ret, ei, text);
}
