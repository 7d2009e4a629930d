/* base/log: filters by area, format of records, and no record longer than its limit. */
#define LOG_AREA "test.log"
#include "base/log.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include "base/limits.h"
#include "tests/unit/test.h"

/* What one log call writes. */
static const char *captured(int fd, char *text, size_t size)
{
	ssize_t n = pread(fd, text, size - 1, 0);

	ck_assert_int_ge(n, 0);
	text[n] = '\0';
	ck_assert_int_eq(ftruncate(fd, 0), 0);
	ck_assert_int_eq(lseek(fd, 0, SEEK_SET), 0);
	return text;
}

static int capture_start(FILE **ret)
{
	*ret = tmpfile();
	ck_assert_ptr_nonnull(*ret);
	log_set_fd(fileno(*ret));
	return fileno(*ret);
}

START_TEST(filters)
{
	ck_assert_int_eq(log_set_filter("warn,engine:debug,engine.wait:off,store:trace"), 0);
	ck_assert(log_enabled(LOG_WARN, "base"));
	ck_assert(!log_enabled(LOG_INFO, "base"));
	ck_assert(log_enabled(LOG_DEBUG, "engine"));
	ck_assert(log_enabled(LOG_DEBUG, "engine.mem"));
	ck_assert(!log_enabled(LOG_TRACE, "engine.mem"));
	ck_assert(!log_enabled(LOG_ERROR, "engine.wait"));
	ck_assert(!log_enabled(LOG_INFO, "engineer"));
	ck_assert(log_enabled(LOG_TRACE, "store.xz"));
	ck_assert_int_eq(log_set_filter(NULL), 0);
	ck_assert(!log_enabled(LOG_INFO, "store"));
}
END_TEST

START_TEST(bad_filters)
{
	static const char *const bad[] = { "", "loud", "warn,", ",warn", "engine:", ":warn", "engine:loud", "warn engine:debug" };

	ck_assert_int_eq(log_set_filter("store:trace"), 0);
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
		ck_assert_int_eq(log_set_filter(bad[i]), -EINVAL);
	ck_assert(log_enabled(LOG_TRACE, "store"));
	ck_assert(log_enabled(LOG_WARN, "other"));
}
END_TEST

START_TEST(records)
{
	char text[8192];
	FILE *f;
	int fd = capture_start(&f);

	ck_assert_int_eq(log_set_filter("debug"), 0);
	log_error("open %s", "x");
	ck_assert_str_eq(captured(fd, text, sizeof(text)), "hermit: open x\n");
	log_warn("careful");
	ck_assert_str_eq(captured(fd, text, sizeof(text)), "hermit: warning: careful\n");
	log_debug("detail");
	ck_assert_ptr_nonnull(strstr(captured(fd, text, sizeof(text)), "test.log"));
	ck_assert_ptr_nonnull(strstr(text, "base_log_test.c:"));
	log_trace("hidden");
	ck_assert_str_eq(captured(fd, text, sizeof(text)), "");
	ck_assert_int_eq(log_error_r(-ENOENT, "open %d", 3), -ENOENT);
	ck_assert_str_eq(captured(fd, text, sizeof(text)), "hermit: open 3: No such file or directory\n");
	fclose(f);
}
END_TEST

START_TEST(long_records_are_cut)
{
	char text[3 * LOG_RECORD_MAX], body[2 * LOG_RECORD_MAX];
	FILE *f;
	int fd = capture_start(&f);

	memset(body, 'y', sizeof(body) - 1);
	body[sizeof(body) - 1] = '\0';
	log_error("%s", body);
	captured(fd, text, sizeof(text));
	ck_assert_uint_le(strlen(text), LOG_RECORD_MAX);
	ck_assert_int_eq(text[strlen(text) - 1], '\n');
	fclose(f);
}
END_TEST

START_TEST(errno_survives)
{
	FILE *f;

	(void)capture_start(&f);
	errno = EXDEV;
	log_error("x");
	ck_assert_int_eq(errno, EXDEV);
	fclose(f);
}
END_TEST

TEST_MAIN("log", filters, bad_filters, records, long_records_are_cut, errno_survives)
