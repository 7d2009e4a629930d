/* analysis/coverage: what manifests say, sums that are wrong, recordings that do not say, the cache. */
#include "analysis/coverage.h"

#include <string.h>
#include <sys/syscall.h>
#include "base/json.h"
#include "tests/unit/store_help.h"

/* A recording of three calls and an exit whose manifest has this "syscalls". */
static struct store_id record(struct store *s, const char *syscalls)
{
	static const struct event events[] = {
		{ .kind = EVENT_EXEC, .thread = 1, .pid = 1, .tid = 1, .text = "/bin/x" },
		{ .kind = EVENT_SYSCALL, .thread = 1, .sysno = SYS_read, .result = 1, .text = "" },
		{ .kind = EVENT_SYSCALL, .thread = 1, .sysno = SYS_read, .result = -5, .text = "" },
		{ .kind = EVENT_SYSCALL, .thread = 1, .sysno = SYS_rseq, .result = -38, .flags = EVENT_F_REFUSED, .text = "" },
		{ .kind = EVENT_SYSCALL_ENTER, .thread = 1, .sysno = SYS_exit_group, .text = "" },
		{ .kind = EVENT_EXIT, .thread = 1, .text = "" },
		{ .kind = EVENT_END, .text = "" },
	};
	struct store_writer *w;
	struct manifest m;
	struct store_id id;

	help_manifest(&m);
	OK(store_writer_new(s, &m, &w, NULL));
	for (size_t i = 0; i < ARRAY_SIZE(events); i++) {
		struct event ev = events[i];

		OK(store_writer_event(w, &ev));
	}
	OK(jsonx_parse(syscalls, strlen(syscalls), &m.syscalls, NULL));
	id = *store_writer_id(w);
	OK(store_writer_commit(w, &m, NULL));
	store_writer_free(w);
	manifest_done(&m);
	return id;
}

#define GOOD "{\"read\": {\"count\": 10, \"executed\": 7, \"buffered\": 1, \"answered\": 2}, " \
	     "\"exit\": {\"count\": 1, \"executed\": 0, \"did_not_return\": 1}, \"syscall_4000\": {\"count\": 2, \"executed\": 0, \"refused\": 2}}"

static void check_json(const struct coverage *c, uint64_t calls)
{
	json_t *j CLEANUP(jsonx_unrefp) = NULL, *totals;
	uint64_t v, sum = 0;

	OK(coverage_json(c, &j));
	totals = json_object_get(j, "totals");
	OK(jsonx_get_u64(totals, "calls", &v));
	ck_assert_uint_eq(v, calls);
	for (int h = 0; h < COVERAGE_HOW_MAX_; h++) {
		OK(jsonx_get_u64(totals, coverage_how_name((enum coverage_how)h), &v));
		sum += v;
	}
	ck_assert_uint_eq(sum, calls);
	ck_assert_uint_eq(json_array_size(json_object_get(j, "recordings")), c->n);
	ck_assert_uint_eq(json_array_size(json_object_get(j, "not_counted")), c->n - c->counted);
}

START_TEST(manifests)
{
	struct help_store h = help_open();
	struct coverage *c CLEANUP(coverage_freep) = NULL;
	struct store_id id = record(h.s, GOOD);
	struct buf b CLEANUP(buf_done) = { 0 };

	OK(coverage_new(&c));
	OK(coverage_add(c, NULL, h.s, &id));
	OK(coverage_add(c, NULL, h.s, &id));
	ck_assert_uint_eq(c->counted, 2);
	ck_assert_uint_eq(c->row[SYS_read].calls, 20);
	ck_assert_uint_eq(c->row[SYS_read].how[COVERAGE_EXECUTED], 14);
	ck_assert_uint_eq(c->row[SYS_read].how[COVERAGE_BUFFERED], 2);
	ck_assert_uint_eq(c->row[SYS_read].how[COVERAGE_ANSWERED], 4);
	ck_assert_uint_eq(c->row[SYS_read].recordings, 2);
	ck_assert_uint_eq(c->row[SYS_TABLE_MAX].how[COVERAGE_REFUSED], 4);
	ck_assert_str_eq(c->recording[0].command, "/bin/test");
	check_json(c, 26);
	OK(coverage_csv(c, &b));
	ck_assert_ptr_nonnull(strstr(buf_cstr(&b), "\n0,read,emulate,20,2,14,4,0,0,yes,2\r\n"));
	ck_assert_ptr_nonnull(strstr(buf_cstr(&b), "\n1,write,emulate,0,0,0,0,0,0,yes,0\r\n"));
	help_close(&h);
}
END_TEST

static const struct {
	const char *syscalls, *why;
} wrong[] = {
	{ "{\"read\": {\"count\": 10, \"executed\": 9}}", "read do not add up" },
	{ "{\"read\": {\"count\": 10, \"executed\": 10}, \"nonsense\": {\"count\": 1, \"executed\": 1}}", "nonsense" },
	{ "{\"read\": {\"count\": -1, \"executed\": -1}}", "no sensible count" },
	{ "{\"read\": {\"count\": \"x\", \"executed\": 1}}", "no sensible count" },
	{ "{\"read\": {\"executed\": 9223372036854775807, \"count\": 9223372036854775807}}", "too large" },
	{ "{\"read\": {\"count\": 0, \"executed\": 9223372036854775807, \"refused\": 9223372036854775807, \"answered\": 2}}", "do not add up" },
};

START_TEST(not_counted)
{
	struct help_store h = help_open();
	struct coverage *c CLEANUP(coverage_freep) = NULL;
	struct store_id good = record(h.s, GOOD), bad = record(h.s, wrong[_i].syscalls);

	OK(coverage_new(&c));
	OK(coverage_add(c, NULL, h.s, &good));
	OK(coverage_add(c, NULL, h.s, &bad));
	ck_assert_uint_eq(c->n, 2);
	ck_assert_uint_eq(c->counted, 1);
	ck_assert_ptr_null(c->recording[0].why);
	ck_assert_ptr_nonnull(c->recording[1].why);
	ck_assert_msg(strstr(c->recording[1].why, wrong[_i].why) != NULL, "%s", c->recording[1].why);
	check_json(c, 13);
	help_close(&h);
}
END_TEST

/* Recordings that do not say, or only as versions before 1.2 did. */
START_TEST(events)
{
	static const char *const old[] = { "{}", "{\"read\": {\"count\": 100, \"refused\": 0}}" };
	struct help_store h = help_open();
	struct coverage *c CLEANUP(coverage_freep) = NULL;
	struct store_id id = record(h.s, old[_i]);

	OK(coverage_new(&c));
	OK(coverage_add(c, NULL, h.s, &id));
	ck_assert_uint_eq(c->counted, 1);
	ck_assert_uint_eq(c->row[SYS_read].calls, 2);
	ck_assert_uint_eq(c->row[SYS_read].how[COVERAGE_EXECUTED], 2);
	ck_assert_uint_eq(c->row[SYS_rseq].how[COVERAGE_REFUSED], 1);
	ck_assert_uint_eq(c->row[SYS_exit_group].how[COVERAGE_DID_NOT_RETURN], 1);
	check_json(c, 4);
	help_close(&h);
}
END_TEST

START_TEST(cache)
{
	struct help_store h = help_open();
	struct coverage_cache *kept;
	struct store_id id = record(h.s, GOOD), gone = { "0123456789abcdef0123456789abcdef" };

	OK(coverage_cache_new(&kept));
	for (int i = 0; i < 3; i++) {
		struct coverage *c CLEANUP(coverage_freep) = NULL;

		OK(coverage_new(&c));
		FAILS(ERR_NOT_FOUND, coverage_add(c, kept, h.s, &gone));
		OK(coverage_add(c, kept, h.s, &id));
		ck_assert_uint_eq(c->row[SYS_read].calls, 10);
		check_json(c, 13);
		if (i == 0) { /* from now on it is known from the cache alone */
			char *path CLEANUP(freep) = os_asprintf("%s/%s/manifest.json", h.dir, id.hex);

			ck_assert_int_eq(truncate(path, 0), 0);
		}
	}
	OK(store_remove(h.s, &id, NULL));
	{
		struct coverage *c CLEANUP(coverage_freep) = NULL;

		OK(coverage_new(&c));
		FAILS(ERR_NOT_FOUND, coverage_add(c, kept, h.s, &id));
	}
	coverage_cache_free(kept);
	help_close(&h);
}
END_TEST

HELP_MAIN("analysis_coverage", { manifests, 1 }, { not_counted, ARRAY_SIZE(wrong) }, { events, 2 }, { cache, 1 })
