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

void text_safe(struct buf *out, const char *s)
{
	buf_put_safe(out, s);
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
