/* Log records: filter, formatting, one write(2) per record so that lines of several processes do not mix.
 *
 * The filter is kept as (area, level) pairs; the longest matching area wins, the entry without an area is the
 * default. This file holds mutable state on purpose: logging must work from everywhere without a handle. */
#include "base/log.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
#include "base/limits.h"

#define AREA_BYTES "abcdefghijklmnopqrstuvwxyz0123456789._-"

struct log_filter {
	char area[32]; /* "" = all others */
	enum log_level level;
};

static const char *const level_names[LOG_MAX_] = {
	[LOG_OFF] = "off", [LOG_ERROR] = "error", [LOG_WARN] = "warn",
	[LOG_INFO] = "info", [LOG_DEBUG] = "debug", [LOG_TRACE] = "trace",
};

static struct log_filter log_filters[LOG_FILTERS_MAX] = { { "", LOG_WARN } };
static size_t log_n_filters = 1;
static enum log_level log_highest = LOG_WARN; /* no area is enabled above this */
static int log_fd = 2;
static const char *log_program = "hermit: ";

static int parse_level(const char *s, size_t n, enum log_level *ret)
{
	for (int i = 0; i < LOG_MAX_; i++) {
		if (strlen(level_names[i]) == n && memcmp(level_names[i], s, n) == 0) {
			*ret = i;
			return 0;
		}
	}
	return -EINVAL;
}

/* One entry: LEVEL or AREA:LEVEL. */
static int parse_entry(const char *s, size_t n, struct log_filter *ret)
{
	const char *colon = memchr(s, ':', n);
	size_t area = colon ? (size_t)(colon - s) : 0;
	struct log_filter f = { 0 };

	if (colon && (area == 0 || area >= sizeof(f.area) || strspn(s, AREA_BYTES) != area))
		return -EINVAL;
	memcpy(f.area, s, area);
	if (colon) {
		s = colon + 1;
		n -= area + 1;
	}
	if (parse_level(s, n, &f.level) < 0)
		return -EINVAL;
	*ret = f;
	return 0;
}

int log_set_filter(const char *spec)
{
	struct log_filter f[LOG_FILTERS_MAX] = { { "", LOG_WARN } };
	enum log_level highest = LOG_OFF;
	size_t n = 1;

	for (const char *s = spec ? spec : "warn";;) {
		size_t len = strcspn(s, ",");
		struct log_filter one;
		int r = parse_entry(s, len, &one);

		if (r < 0)
			return r;
		if (one.area[0] == '\0')
			f[0] = one;
		else if (n == ARRAY_SIZE(f))
			return -EINVAL;
		else
			f[n++] = one;
		if (s[len] == '\0')
			break;
		s += len + 1;
	}
	for (size_t i = 0; i < n; i++)
		highest = MAX(highest, f[i].level);
	memcpy(log_filters, f, sizeof(f));
	log_n_filters = n;
	log_highest = highest;
	return 0;
}

void log_set_fd(int fd)
{
	log_fd = fd;
}

void log_set_program(const char *prefix)
{
	log_program = prefix;
}

int log_enabled(enum log_level level, const char *area)
{
	enum log_level limit;
	size_t best = 0;

	if (level > log_highest)
		return 0;
	limit = log_filters[0].level;
	for (size_t i = 1; i < log_n_filters; i++) {
		const char *a = log_filters[i].area;
		size_t n = strlen(a);

		/* "engine" covers "engine" and "engine.wait", not "engineer" */
		if (n >= best && strncmp(a, area, n) == 0 && (area[n] == '\0' || area[n] == '.')) {
			best = n;
			limit = log_filters[i].level;
		}
	}
	return level <= limit;
}

/* Errors, warnings and infos are for users; debug and trace say where they come from. */
static int format_head(char *p, size_t size, enum log_level level, const char *area, const char *file, int line, const char *func)
{
	struct timespec ts;

	switch (level) {
	case LOG_ERROR:
	case LOG_INFO:
		return snprintf(p, size, "%s", log_program);
	case LOG_WARN:
		return snprintf(p, size, "%swarning: ", log_program);
	default:
		(void)syscall(SYS_clock_gettime, CLOCK_MONOTONIC, &ts); /* see os_mono_ns() */
		return snprintf(p, size, "%lld.%06ld %d %s %s:%d %s: ", (long long)ts.tv_sec, ts.tv_nsec / 1000,
				(int)getpid(), area, file, line, func);
	}
}

void log_write(enum log_level level, const char *area, const char *file, int line, const char *func, const char *fmt, ...)
{
	char rec[LOG_RECORD_MAX];
	size_t room = sizeof(rec) - 1, n; /* one byte is kept for the newline */
	int saved = errno;
	va_list ap;
	int w;

	w = format_head(rec, room, level, area, file, line, func);
	n = w < 0 ? 0 : MIN((size_t)w, room - 1);
	va_start(ap, fmt);
	errno = saved; /* for %m */
	w = vsnprintf(rec + n, room - n, fmt, ap);
	va_end(ap);
	n = w < 0 ? n : MIN(n + (size_t)w, room - 1);
	rec[n++] = '\n';
	for (size_t done = 0; done < n;) {
		ssize_t k = write(log_fd, rec + done, n - done);

		if (k < 0 && errno == EINTR)
			continue;
		if (k <= 0)
			break; /* nobody left to tell */
		done += (size_t)k;
	}
	errno = saved;
}
