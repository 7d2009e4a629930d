/* cli/proctree: the drawing, and manifests that lie about parents. */
#include "cli/proctree.h"

#include <stdio.h>
#include <string.h>
#include "tests/unit/test.h"

#define P(thread_, parent_, pid_, command_, status_) \
	{ .thread = thread_, .parent = parent_, .pid = pid_, .command = (char[]){ command_ }, .status = status_, \
	  .first_event = thread_, .last_event = 9, .threads = 1 }

START_TEST(drawing)
{
	struct manifest_process p[] = {
		P(1, 0, 10, "make", 0), P(2, 1, 11, "cc a.c", 0), P(3, 2, 12, "as \033[1m", 9), P(4, 1, 13, "cc b.c", 0x100),
		P(5, 4, 14, "as", -1),
	};
	CLEANUP(buf_done) struct buf b = { 0 };

	p[0].threads = 2;
	ck_assert_int_eq(proctree_put(&b, p, ARRAY_SIZE(p), false), 0);
	ck_assert_str_eq(buf_cstr(&b), "  10 make  (exit 0, 2 threads, events 1-9)\n"
				       "  |- 11 cc a.c  (exit 0, events 2-9)\n"
				       "  |  `- 12 as \\x1b[1m  (SIGKILL, events 3-9)\n"
				       "  `- 13 cc b.c  (exit 1, events 4-9)\n"
				       "     `- 14 as  (still running, events 5-9)\n");
	buf_clear(&b);
	ck_assert_int_eq(proctree_put(&b, p, ARRAY_SIZE(p), true), 0);
	ck_assert_ptr_nonnull(strstr(buf_cstr(&b), "  │  └─ 12 as"));
}
END_TEST

static unsigned lines(struct buf *b)
{
	unsigned n = 0;

	for (const char *s = buf_cstr(b); *s; s++)
		n += *s == '\n';
	return n;
}

START_TEST(lies)
{
	/* a cycle, its own parent, an unknown parent, a number twice */
	struct manifest_process p[] = {
		P(1, 2, 10, "a", 0), P(2, 1, 11, "b", 0), P(3, 3, 12, "c", 0), P(4, 77, 13, "d", 0), P(4, 4, 14, "e", 0),
	};
	CLEANUP(buf_done) struct buf b = { 0 };

	ck_assert_int_eq(proctree_put(&b, p, ARRAY_SIZE(p), false), 0);
	ck_assert_uint_eq(lines(&b), 5);
	buf_clear(&b);
	ck_assert_int_eq(proctree_put(&b, p, 0, false), 0);
	ck_assert_uint_eq(lines(&b), 0);
}
END_TEST

START_TEST(deep)
{
	enum { N = 50000 };
	struct manifest_process *p = calloc(N, sizeof(*p));
	CLEANUP(buf_done) struct buf b = { 0 };
	unsigned found = 0;

	/* one chain: it must neither overflow the stack nor lose anybody */
	for (uint32_t i = 0; i < N; i++)
		p[i] = (struct manifest_process){ .thread = i + 1, .parent = i, .pid = (int32_t)i, .threads = 1 };
	ck_assert_int_eq(proctree_put(&b, p, N, false), 0);
	for (const char *s = buf_cstr(&b); *s; s++)
		found += *s == '(';
	ck_assert_uint_eq(found, N);
	free(p);
}
END_TEST

TEST_MAIN("cli_proctree", drawing, lies, deep)
