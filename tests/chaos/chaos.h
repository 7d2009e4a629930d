/*
 * chaos.h - for the programs of tests/chaos: each has one bug that a legal but rare schedule shows.
 *
 * It ends with 0 when the bug did not show, and with 1 and one line "BUG: ..." when it did. Natively, on one CPU
 * or many, that is in few of a hundred runs; each takes less than 50 ms then. tests/chaos/run counts the runs that
 * it takes.
 */
#ifndef CHAOS_H
#define CHAOS_H

#include "../guests/async.h"

__attribute__((noreturn, format(printf, 1, 2))) static inline void bug(const char *fmt, ...)
{
	char buf[256];
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(buf, sizeof(buf), fmt, ap);
	va_end(ap);
	write_all(1, "BUG: ", 5);
	write_all(1, buf, (size_t)n);
	write_all(1, "\n", 1);
	_exit(1);
}

/* Work that has nothing to do with the bug; some ns per step. */
static inline void work(unsigned long steps)
{
	(void)burn(1, steps);
}

/* For bugs that show as a standstill: what to say when it lasts. */
static const char *volatile standstill UNUSED;

static inline void standing_still(int sig UNUSED)
{
	bug("%s", standstill);
}

static inline void watch_for_standstill(const char *text)
{
	standstill = text;
	CHECK(signal(SIGALRM, standing_still) != SIG_ERR);
	alarm(2);
}

#endif
