/* What the words of 'hermit replay' mean: which process, which commands, the command line of gdb, where the crash is. */
#include "tests/unit/store_help.h"

#include <sched.h>
#include <signal.h>
#include <sys/syscall.h>
#include "cli/debug_choose.h"
#include "cli/debug_gdb.h"

static struct manifest_process three[] = {
	{ .thread = 1, .pid = 100, .status = 0, .first_event = 1, .last_event = 90, .exe = (char *)"/bin/dash", .command = (char *)"sh -c make" },
	{ .thread = 2, .pid = 101, .status = SIGSEGV, .first_event = 5, .last_event = 40, .exe = (char *)"/usr/bin/make",
	  .command = (char *)"make all" },
	{ .thread = 3, .pid = 102, .status = -1, .first_event = 9, .last_event = 95, .exe = (char *)"/usr/bin/make",
	  .command = (char *)"./deep/7z 'a b'" },
};

static void chosen(const char *want, uint64_t n, int result, int pid)
{
	const struct manifest m = { .process = three, .processes = n };
	const struct manifest_process *p;
	pid_t got = -7;

	FAILS(result, debug_choose_process(&m, want, &p, &got));
	if (result == 0)
		ck_assert_int_eq(got, pid);
	if (result == 0 && n)
		ck_assert_int_eq(p->pid, pid);
}

START_TEST(processes)
{
	chosen("100", 3, 0, 100);
	chosen("dash", 3, 0, 100);
	chosen("sh", 3, 0, 100);
	chosen("/bin/dash", 3, 0, 100);
	chosen("make", 3, ERR_AMBIGUOUS, 0);
	chosen("/usr/bin/make", 3, ERR_AMBIGUOUS, 0);
	chosen("make", 2, 0, 101);
	chosen("./deep/7z", 3, 0, 102);
	chosen("7z", 3, 0, 102);
	chosen("7", 3, ERR_NOT_FOUND, 0);
	chosen("all", 3, ERR_NOT_FOUND, 0);
	chosen("mak", 3, ERR_NOT_FOUND, 0);
	chosen("", 3, ERR_NOT_FOUND, 0);
	chosen("1", 3, ERR_NOT_FOUND, 0);
	chosen(NULL, 3, 0, 101); /* it crashed */
	chosen(NULL, 1, 0, 100);
	chosen(NULL, 0, 0, 0);
	chosen("55", 0, 0, 55);
	chosen("99999999999", 0, -ENODATA, 0);
	chosen("make", 0, -ENODATA, 0);
}
END_TEST

START_TEST(pid_used_again)
{
	struct manifest_process p[3];
	const struct manifest m = { .process = p, .processes = 3 };
	const struct manifest_process *got;
	pid_t pid;

	memcpy(p, three, sizeof(p));
	p[2].pid = 100;
	OK(debug_choose_process(&m, "100", &got, &pid));
	ck_assert_ptr_eq(got, &p[0]);
}
END_TEST

START_TEST(crashed_process)
{
	struct manifest_process p[3];
	struct manifest m = { .process = p, .processes = 3 };

	memcpy(p, three, sizeof(p));
	ck_assert_ptr_eq(manifest_crashed(&m), &p[1]);
	p[2].status = SIGABRT | 0x80;
	ck_assert_ptr_eq(manifest_crashed(&m), &p[2]); /* later */
	p[2].status = SIGTERM;
	p[1].status = SIGTERM;
	ck_assert_ptr_null(manifest_crashed(&m)); /* children are killed every day */
	p[0].status = SIGTERM;
	ck_assert_ptr_eq(manifest_crashed(&m), &p[0]);
}
END_TEST

START_TEST(list_of_processes)
{
	struct buf b CLEANUP(buf_done) = { 0 };
	char evil[] = "x\033[2J";
	struct manifest_process p[3];
	const struct manifest m = { .process = p, .processes = 3 };

	memcpy(p, three, sizeof(p));
	p[0].command = evil;
	debug_put_processes(&b, &m, NULL, 2);
	ck_assert_ptr_nonnull(strstr(buf_cstr(&b), "      101         5-40        SIGSEGV   make all\n"));
	ck_assert_ptr_nonnull(strstr(buf_cstr(&b), "... and 1 more\n"));
	ck_assert_ptr_null(strchr(buf_cstr(&b), '\033'));
	buf_clear(&b);
	debug_put_processes(&b, &m, "make", 5);
	ck_assert_ptr_null(strstr(buf_cstr(&b), "100"));
	ck_assert_ptr_nonnull(strstr(buf_cstr(&b), "running"));
}
END_TEST

START_TEST(commands)
{
	static const struct {
		const char *text, *want[4];
	} rows[] = {
		{ "", { NULL } },
		{ " ; ;", { NULL } },
		{ "c", { "c" } },
		{ "b main ;c; bt", { "b main", "c", "bt" } },
		{ "printf \"a;b\"; x/s ';';q", { "printf \"a;b\"", "x/s ';'", "q" } },
		{ "printf \"\\\";\";q", { "printf \"\\\";\"", "q" } },
		{ "shell a\\;b;c", { "shell a\\;b", "c" } },
		{ "print 'open;c", { "print 'open;c" } },
		{ "x\\", { "x\\" } },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		char **v = NULL;
		size_t n = 0;

		OK(debug_split_commands(rows[i].text, &v, &n));
		for (size_t k = 0; k < n; k++)
			ck_assert_str_eq(v[k], rows[i].want[k]);
		ck_assert(n == ARRAY_SIZE(rows[i].want) || !rows[i].want[n]);
		debug_free_argv(v);
	}
}
END_TEST

START_TEST(command_line_of_gdb)
{
	const char *lists[] = { "b main;c", "bt" };
	const struct opt_list list = { .v = lists, .n = 2 };
	struct buf b CLEANUP(buf_done) = { 0 };
	char **v;

	OK(debug_gdb_argv(&(struct debug_gdb){ .program = "/x/gdb", .commands = &list, .note = "N" }, "/d", &v));
	for (size_t i = 0; v[i]; i++)
		buf_printf(&b, "%s\n", v[i]);
	/* what is early comes before the user's files; what the user asked for comes last, in order */
	ck_assert_int_eq(strncmp(buf_cstr(&b), "/x/gdb\n-q\n-iex\nset auto-load off\n-ex\nset sysroot target:\n", 54), 0);
	ck_assert_ptr_nonnull(strstr(buf_cstr(&b), "-ex\nsource /d/hermit.gdb\n-ex\ntarget remote /d/gdb\n-ex\necho N\\n\n"
						   "-ex\nb main\n-ex\nc\n-ex\nbt\n"));
	ck_assert_ptr_null(strstr(buf_cstr(&b), "-nx"));
	debug_free_argv(v);
}
END_TEST

/* --- the crash --- */

static struct store_reader *recording(struct help_store *h, const struct event *ev, size_t n)
{
	struct store_writer *w;
	struct store_reader *r;
	struct manifest m;
	struct store_id id;

	help_manifest(&m);
	OK(store_writer_new(h->s, &m, &w, NULL));
	for (size_t i = 0; i < n; i++) {
		struct event copy = ev[i];

		copy.text = "";
		OK(store_writer_event(w, &copy));
	}
	id = *store_writer_id(w);
	OK(store_writer_commit(w, &m, NULL));
	store_writer_free(w);
	manifest_done(&m);
	OK(store_reader_open(h->s, &id, &r, NULL));
	return r;
}

START_TEST(place_of_the_crash)
{
	const struct event events[] = {
		{ .kind = EVENT_EXEC, .thread = 1 },
		{ .kind = EVENT_BIRTH, .thread = 1, .sysno = SYS_clone, .child = 2 },
		{ .kind = EVENT_BIRTH, .thread = 2, .sysno = SYS_clone, .args = { CLONE_THREAD }, .child = 3 },
		{ .kind = EVENT_SIGNAL, .thread = 3, .signo = SIGSEGV },
		{ .kind = EVENT_SIGNAL, .thread = 3, .signo = SIGSEGV, .flags = EVENT_F_FATAL },
		{ .kind = EVENT_SIGNAL, .thread = 1, .signo = SIGABRT, .flags = EVENT_F_FATAL },
		{ .kind = EVENT_END },
	};
	struct manifest_process first = { .thread = 1, .first_event = 1, .last_event = 7 },
				second = { .thread = 2, .first_event = 2, .last_event = 6 },
				cut = { .thread = 1, .first_event = 1, .last_event = 5 };
	struct help_store h = help_open();
	struct store_reader *r = recording(&h, events, ARRAY_SIZE(events));
	uint64_t event = 0;

	OK(debug_find_crash(r, &second, &event, NULL));
	ck_assert_uint_eq(event, 5);
	OK(debug_find_crash(r, &first, &event, NULL));
	ck_assert_uint_eq(event, 6);
	OK(debug_find_crash(r, NULL, &event, NULL));
	ck_assert_uint_eq(event, 6);
	FAILS(ERR_NOT_FOUND, debug_find_crash(r, &cut, &event, NULL));
	cut.status = SIGKILL; /* which no event delivers */
	OK(debug_find_crash(r, &cut, &event, NULL));
	ck_assert_uint_eq(event, 5);
	store_reader_free(r);
	help_close(&h);
}
END_TEST

HELP_MAIN("cli_debug", { processes, 0 }, { pid_used_again, 0 }, { crashed_process, 0 }, { list_of_processes, 0 }, { commands, 0 }, { command_line_of_gdb, 0 },
	  { place_of_the_crash, 0 })
