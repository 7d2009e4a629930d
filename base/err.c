/* Texts of results and the filling of struct errinfo. */
#include "base/err.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

struct err_row {
	const char *name, *text;
};

static const struct err_row err_rows[] = {
#define ERR(name, text) { #name, text },
#include "base/err.def"
#undef ERR
};

static const struct err_row *err_row(int r)
{
	int i = ERR_BASE_ - 1 - r;

	return r < ERR_BASE_ && i >= 0 && (size_t)i < ARRAY_SIZE(err_rows) ? &err_rows[i] : NULL;
}

const char *err_str(int r)
{
	const struct err_row *row = err_row(r);
	const char *s;

	if (r >= 0)
		return "success";
	if (row)
		return row->text;
	s = r > ERR_BASE_ ? strerrordesc_np(-r) : NULL;
	return s ? s : "unknown error";
}

const char *err_name(int r)
{
	const struct err_row *row = err_row(r);
	const char *s = row ? row->name : NULL;

	if (!row && r < 0 && r > ERR_BASE_)
		s = strerrorname_np(-r);
	return s ? s : "?";
}

static int PRINTF_LIKE(3, 0) errinfo_vset(struct errinfo *ei, int r, const char *fmt, va_list ap, const char *tail)
{
	size_t n;

	if (!ei || ei->text[0] != '\0')
		return r;
	(void)vsnprintf(ei->text, sizeof(ei->text), fmt, ap);
	n = strlen(ei->text);
	if (tail)
		(void)snprintf(ei->text + n, sizeof(ei->text) - n, ": %s", tail);
	return r;
}

int errinfo_set(struct errinfo *ei, int r, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	(void)errinfo_vset(ei, r, fmt, ap, NULL);
	va_end(ap);
	return r;
}

int errinfo_set_r(struct errinfo *ei, int r, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	(void)errinfo_vset(ei, r, fmt, ap, err_str(r));
	va_end(ap);
	return r;
}
