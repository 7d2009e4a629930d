/* See fail.h. stderr is written unbuffered in whole lines; a closed stderr is nobody's problem. */
#include "cli/fail.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include "cli/term.h"

/* First line of a failure, for scripts. The names are a published interface: docs/man/hermit.1. */
static const struct {
	enum exit_code code;
	const char *line;
} markers[] = {
	{ EXIT_DEADLINE, "HERMIT_RUN_TIMEOUT class=run-timeout" },
	{ EXIT_INTERNAL, "HERMIT_INTERNAL_FAILURE class=cli-error" },
	{ EXIT_NOT_EXECUTABLE, "HERMIT_INTERNAL_FAILURE class=guest-program-not-executable" },
	{ EXIT_NOT_FOUND, "HERMIT_INTERNAL_FAILURE class=guest-program-not-found" },
};

/* What a user can do about a result. */
static const struct {
	int r;
	const char *advice;
} advices[] = {
	{ ERR_NOT_FOUND, "'hermit record list' shows the recordings there are" },
	{ ERR_AMBIGUOUS, "give more digits of the id" },
	{ ERR_NEWER_FORMAT, "use the version of hermit that made it, or a newer one" },
	{ ERR_CORRUPT, "'hermit record verify' checks a whole recording; a damaged one cannot be repaired, only recorded again" },
	{ ERR_TRUNCATED, "'hermit record verify' checks a whole recording; a damaged one cannot be repaired, only recorded again" },
	{ ERR_MISSING_BLOB, "copy the recording again with 'hermit record export' where it was made" },
	{ ERR_UNSUPPORTED_CPU, "record with --cpu-profile=x86-64-v2 or x86-64-v3 for use on older CPUs" },
	{ ERR_BUSY, "wait until the other hermit has ended" },
	{ ERR_NO_PTRACE, "'hermit doctor' tells what this machine allows" },
	{ -ENOSPC, "free some space, or choose another place with --data-dir" },
	{ -EDQUOT, "free some space, or choose another place with --data-dir" },
	{ -EACCES, "check the permissions, or choose another place with --data-dir" },
	{ -EROFS, "choose a writable place with --data-dir" },
	{ -ENOTDIR, "choose a directory with --data-dir" },
};

static const char *const diverged_marker = "HERMIT_INTERNAL_FAILURE class=replay-divergence";

static void print_line(const char *start, const char *fmt, va_list ap) PRINTF_LIKE(2, 0);
static void print_failure(const char *marker, const char *fmt, va_list ap) PRINTF_LIKE(2, 0);

static void print_line(const char *start, const char *fmt, va_list ap)
{
	fputs(start, stderr);
	vfprintf(stderr, fmt, ap);
	fputc('\n', stderr);
}

static void print_failure(const char *marker, const char *fmt, va_list ap)
{
	char start[32];

	term_progress_clear();
	if (marker)
		fprintf(stderr, "%s\n", marker);
	snprintf(start, sizeof(start), "%sError:%s ", term_style(TERM_ERR, TERM_RED), term_style(TERM_ERR, TERM_PLAIN));
	print_line(start, fmt, ap);
}

int fail(enum exit_code code, const char *fmt, ...)
{
	const char *marker = NULL;
	va_list ap;

	for (size_t i = 0; i < ARRAY_SIZE(markers); i++)
		if (markers[i].code == code)
			marker = markers[i].line;
	/* mostly a mistake of the user, who would take the line for a fault of hermit */
	if (code == EXIT_INTERNAL && term_is_tty(TERM_ERR))
		marker = NULL;
	va_start(ap, fmt);
	print_failure(marker, fmt, ap);
	va_end(ap);
	return code;
}

int fail_diverged(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	print_failure(diverged_marker, fmt, ap);
	va_end(ap);
	return EXIT_INTERNAL;
}

void fail_cause(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	print_line("     > ", fmt, ap);
	va_end(ap);
}

void fail_advice(int r)
{
	for (size_t i = 0; i < ARRAY_SIZE(advices); i++)
		if (advices[i].r == r)
			fail_cause("%s", advices[i].advice);
}

void fail_causes(int r, const struct errinfo *ei)
{
	if (ei && ei->text[0])
		fail_cause("%s", ei->text);
	else if (r < 0)
		fail_cause("%s", err_str(r));
	fail_advice(r);
}

int fail_r(int r, const struct errinfo *ei, const char *fmt, ...)
{
	char text[2048];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	fail(EXIT_INTERNAL, "%s", text);
	fail_causes(r, ei);
	return EXIT_INTERNAL;
}

int fail_memory(void)
{
	return fail(EXIT_INTERNAL, "out of memory");
}

void warn_user(const char *fmt, ...)
{
	char start[40];
	va_list ap;

	term_progress_clear();
	snprintf(start, sizeof(start), "hermit: %swarning:%s ", term_style(TERM_ERR, TERM_YELLOW),
		 term_style(TERM_ERR, TERM_PLAIN));
	va_start(ap, fmt);
	print_line(start, fmt, ap);
	va_end(ap);
}
