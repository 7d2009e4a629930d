/* See text.h. Everything appends to a struct buf, so that callers can align columns by length. */
#include "cli/text.h"

#include <stdbool.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include "base/str.h"
#include "engine/sysprint.h"

#define NS_PER_S 1000000000ull

static void put_time(struct buf *out, const struct tm *tm, char separator)
{
	buf_printf(out, "%04d-%02d-%02d%c%02d:%02d:%02d", tm->tm_year + 1900, tm->tm_mon + 1, tm->tm_mday, separator, tm->tm_hour,
		   tm->tm_min, tm->tm_sec);
}

void text_when(struct buf *out, uint64_t wall_ns)
{
	time_t t = (time_t)(wall_ns / NS_PER_S);
	struct tm tm;

	if (wall_ns && localtime_r(&t, &tm))
		put_time(out, &tm, ' ');
	else
		buf_printf(out, "-");
}

void text_when_utc(struct buf *out, uint64_t wall_ns)
{
	time_t t = (time_t)(wall_ns / NS_PER_S);
	struct tm tm;

	if (!gmtime_r(&t, &tm))
		return;
	put_time(out, &tm, 'T');
	buf_printf(out, ".%06uZ", (unsigned)(wall_ns % NS_PER_S / 1000));
}

void text_status(struct buf *out, int status)
{
	char name[24];

	if (status == -1)
		buf_printf(out, "?");
	else if (WIFSIGNALED(status))
		buf_printf(out, "%s", sysprint_signal(WTERMSIG(status), name));
	else
		buf_printf(out, "exit %d", WEXITSTATUS(status));
}

unsigned text_utf8(const char *s)
{
	const uint8_t *p = (const uint8_t *)s;
	static const uint32_t least[5] = { 0, 0, 0x80, 0x800, 0x10000 };
	unsigned n = p[0] < 0x80 ? 1 : p[0] < 0xc2 ? 0 : p[0] < 0xe0 ? 2 : p[0] < 0xf0 ? 3 : p[0] < 0xf5 ? 4 : 0;
	uint32_t c;

	if (n < 2)
		return n;
	c = p[0] & (0xffu >> (n + 1));
	for (unsigned i = 1; i < n; i++) {
		if ((p[i] & 0xc0) != 0x80)
			return 0;
		c = c << 6 | (p[i] & 0x3f);
	}
	return c < least[n] || c > 0x10ffff || (c >= 0xd800 && c < 0xe000) ? 0 : n;
}

/* Length of a character that may go to a terminal as it is; 0 for control characters (C0, DEL, C1), bidirectional overrides and broken UTF-8. */
static unsigned printable(const char *s)
{
	const uint8_t *p = (const uint8_t *)s;
	unsigned n = text_utf8(s);

	if (n == 1)
		return *p >= 0x20 && *p != 0x7f;
	if (n == 2 && p[0] == 0xc2 && p[1] < 0xa0)
		return 0;
	/* U+200E..U+200F, U+2028..U+202E, U+2066..U+2069 reorder or break the line */
	if (n == 3 && p[0] == 0xe2 && p[1] == 0x80 && (p[2] == 0x8e || p[2] == 0x8f || (p[2] >= 0xa8 && p[2] <= 0xae)))
		return 0;
	if (n == 3 && p[0] == 0xe2 && p[1] == 0x81 && p[2] >= 0xa6 && p[2] <= 0xa9)
		return 0;
	return n;
}

void text_safe(struct buf *out, const char *s)
{
	unsigned n;

	for (; *s; s += n ? n : 1) {
		n = printable(s);
		if (n)
			buf_put(out, s, n);
		else
			buf_printf(out, "\\x%02x", (uint8_t)*s);
	}
}

void text_command(struct buf *out, char *const *argv)
{
	struct buf plain CLEANUP(buf_done) = { 0 };

	if (!argv)
		return;
	buf_put_shell_argv(&plain, (const char *const *)argv);
	text_safe(out, buf_cstr(&plain));
}

void text_wrap(FILE *f, const char *text, unsigned indent, unsigned width)
{
	unsigned column = indent;
	bool fresh = true; /* no word on this line yet */

	while (*text) {
		size_t n = strcspn(text, " \n");

		if (!fresh && column + 1 + n > width) {
			fprintf(f, "\n%*s", (int)indent, "");
			column = indent;
			fresh = true;
		}
		if (n) {
			fprintf(f, "%s%.*s", fresh ? "" : " ", (int)n, text);
			column += (unsigned)n + !fresh;
			fresh = false;
		}
		text += n;
		if (*text == '\n') {
			fprintf(f, text[1] && text[1] != '\n' ? "\n%*s" : "\n", (int)indent, "");
			column = indent;
			fresh = true;
		}
		if (*text)
			text++;
	}
	fputc('\n', f);
}
