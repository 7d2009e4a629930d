/* analysis/fds, names: what descriptors and paths mean, through opening, duplicating, fork, threads, exec. */
#include "analysis/fds.h"

#include <sched.h>
#include "tests/unit/analysis_help.h"

#define AT_CWD ((uint64_t)-100)

static const int pipe_fds[2] = { 5, 6 };

/* What an event refers to, and what one descriptor of a thread is after it. Names: NULL = none. */
struct step {
	struct a_event a;
	const char *path[2];
	int fd[2];              /* 0: not checked, -1: none */
	const char *behind[2];
	uint32_t ask_thread;
	int ask;                /* descriptor */
	const char *is;
};

/* clang-format off */
static const struct step steps[] = {
	{ { A_EXEC(1, "/bin/x", 10) }, .ask_thread = 1, .ask = 3 },
	{ { A_CALL(1, SYS_openat, 3, AT_CWD, A_PATH_AT, O_CLOEXEC), "/etc/passwd" }, { "/etc/passwd" }, { 3, -1 }, { "/etc/passwd" }, 1, 3, "/etc/passwd" },
	{ { A_CALL(1, SYS_openat, 4, AT_CWD, A_PATH_AT), "./src/../a.c" }, { "/home/u/src/../a.c" }, { 4, -1 }, { "/home/u/src/../a.c" }, 1, 4, "/home/u/src/../a.c" },
	{ { A_CALL(1, SYS_read, 7, 3, A_BUF_AT, 10) }, .fd = { 3, -1 }, .behind = { "/etc/passwd" } },
	{ { A_CALL(1, SYS_open, -2, A_PATH_AT), "/gone" }, { "/gone" }, { -1, -1 }, .ask_thread = 1, .ask = 5 },
	{ { A_CALL(1, SYS_pipe2, 0, A_BUF_AT), .out = pipe_fds, .out_len = sizeof(pipe_fds) }, .fd = { 5, 6 }, .behind = { "[pipe]", "[pipe]" }, .ask_thread = 1, .ask = 6, .is = "[pipe]" },
	{ { A_CALL(1, SYS_dup2, 1, 4, 1) }, .fd = { 4, 1 }, .behind = { "/home/u/src/../a.c", "/home/u/src/../a.c" }, .ask_thread = 1, .ask = 1, .is = "/home/u/src/../a.c" },
	/* renameat: two directories, two paths, one of them relative to a descriptor */
	{ { A_CALL(1, SYS_renameat, 0, 4, A_PATH_AT, AT_CWD, A_PATH2_AT), "x", "y" }, { "/home/u/src/../a.c/x", "/home/u/y" }, { 4, -1 } },
	{ { A_CALL(1, SYS_chdir, 0, A_PATH_AT), "/tmp" }, { "/tmp" } },
	{ { A_CALL(1, SYS_stat, -2, A_PATH_AT, A_BUF_AT), "q" }, { "/tmp/q" } },
	/* a fork has copies, close() in it does not matter to the parent */
	{ { A_BIRTH(1, SYS_fork, 2, 11, 11, 0) }, .ask_thread = 2, .ask = 3, .is = "/etc/passwd" },
	{ { A_EXIT(1, SYS_fork, 11) } },
	{ { A_CALL(2, SYS_close, 0, 4) }, .fd = { 4, -1 }, .behind = { "/home/u/src/../a.c" }, .ask_thread = 1, .ask = 4, .is = "/home/u/src/../a.c" },
	{ { A_CALL(2, SYS_getpid, 11) }, .ask_thread = 2, .ask = 4 },
	/* exec closes what is close-on-exec, and nothing else */
	{ { A_EXEC(2, "/bin/y", 0) }, .ask_thread = 2, .ask = 3 },
	{ { A_CALL(2, SYS_getpid, 11) }, .ask_thread = 2, .ask = 5, .is = "[pipe]" },
	/* a thread shares its table; a call in two halves */
	{ { A_BIRTH(1, SYS_clone, 3, 10, 12, CLONE_FILES | CLONE_FS | CLONE_THREAD) }, .ask_thread = 3, .ask = 3, .is = "/etc/passwd" },
	{ { A_EXIT(1, SYS_clone, 12) } },
	{ { A_ENTER(3, SYS_openat, AT_CWD, A_PATH_AT), "z" }, { "/tmp/z" }, { -1, -1 } },
	{ { A_CALL(1, SYS_close, 0, 3) }, .fd = { 3, -1 }, .ask_thread = 3, .ask = 3 },
	{ { A_EXIT(3, SYS_openat, 3) }, { "/tmp/z" }, { 3, -1 }, { "/tmp/z" }, 1, 3, "/tmp/z" },
	{ { A_CALL(3, SYS_socket, 8, 2, 1) }, .fd = { 8, -1 }, .behind = { "[socket]" } },
	{ { A_ENTER(3, SYS_accept4, 8, 0, 0, O_CLOEXEC) }, .fd = { 8, -1 } },
	{ { A_EXIT(3, SYS_accept4, 9) }, .fd = { 8, 9 }, .behind = { "[socket]", "[socket]" } },
	{ { A_CALL(1, SYS_fcntl, 20, 3, F_DUPFD, 20) }, .fd = { 3, 20 }, .ask_thread = 3, .ask = 20, .is = "/tmp/z" },
	{ { A_CALL(1, SYS_fcntl, 0, 20, F_SETFD, FD_CLOEXEC) } },
	{ { A_CALL(1, 436, 0, 5, 6) }, .ask_thread = 1, .ask = 5 },                       /* close_range */
	{ { A_CALL(1, SYS_getpid, 10) }, .ask_thread = 1, .ask = 8, .is = "[socket]" },
	/* unshare: what the thread closes now is open for the others */
	{ { A_CALL(3, SYS_unshare, 0, CLONE_FILES) } },
	{ { A_CALL(3, SYS_close, 0, 8) }, .ask_thread = 1, .ask = 8, .is = "[socket]" },
	/* exec from a thread that is not the first: its table lives on under the first one's number */
	{ { { .kind = EVENT_EXEC, .thread = 1, .child = 3, .sysno = SYS_execve, .text = "/bin/z" } }, .ask_thread = 1, .ask = 8 },
	{ { A_CALL(1, SYS_getpid, 10) }, .ask_thread = 1, .ask = 20 },
	{ { A_CALL(1, SYS_getpid, 10) }, .ask_thread = 1, .ask = 3, .is = "/tmp/z" },
	{ { A_END(1, 0, EVENT_F_GROUP) }, .ask_thread = 1, .ask = 3 },
};
/* clang-format on */

static void check_name(const struct names *names, uint32_t number, const char *want, size_t step)
{
	const char *have = names_get(names, number);

	ck_assert_msg(want ? have && strcmp(have, want) == 0 : !have, "event %zu: %s, want %s", step + 1, have ? have : "none", want ? want : "none");
}

static void check(const struct step *s, size_t i, const struct fds *f, const struct names *names, const struct fds_refs *refs)
{
	for (int k = 0; k < 2; k++) {
		check_name(names, refs->path[k], s->path[k], i);
		if (s->fd[k])
			ck_assert_msg(refs->fd[k].fd == s->fd[k], "event %zu: descriptor %d is %d, want %d", i + 1, k, refs->fd[k].fd, s->fd[k]);
		if (s->behind[k])
			check_name(names, refs->fd[k].info.name, s->behind[k], i);
	}
	if (s->ask_thread)
		check_name(names, fds_get(f, s->ask_thread, s->ask).name, s->is, i);
}

START_TEST(follow)
{
	struct help_store h = help_open();
	struct store_writer *w = a_begin(h.s, "/home/u");
	struct names names CLEANUP(names_done) = { 0 };
	struct store_reader *r;
	const struct event *ev;
	struct fds_refs refs;
	struct store_id id;
	struct fds *f;

	for (size_t i = 0; i < ARRAY_SIZE(steps); i++)
		a_write(w, &steps[i].a, 1);
	id = a_commit(w, "/home/u", RECORDING_COMPLETE);
	OK(store_reader_open(h.s, &id, &r, NULL));
	OK(fds_new("/home/u", &names, &f));
	for (size_t i = 0; i < ARRAY_SIZE(steps); i++) {
		ck_assert_int_eq(store_reader_next(r, &ev, NULL), 1);
		OK(fds_event(f, r, ev, &refs));
		check(&steps[i], i, f, &names, &refs);
	}
	fds_free(f);
	store_reader_free(r);
	help_close(&h);
}
END_TEST

/* Duplicates are one object, what is opened later is another one. */
START_TEST(objects)
{
	static const struct a_event events[] = { { A_CALL(1, SYS_open, 3, A_PATH_AT), "/a" }, { A_CALL(1, SYS_dup, 4, 3) }, { A_CALL(1, SYS_open, 5, A_PATH_AT), "/a" } };
	struct help_store h = help_open();
	struct store_id id = a_recording(h.s, NULL, events, ARRAY_SIZE(events));
	struct names names CLEANUP(names_done) = { 0 };
	struct store_reader *r;
	const struct event *ev;
	struct fds_refs refs;
	struct fds *f;

	OK(store_reader_open(h.s, &id, &r, NULL));
	OK(fds_new(NULL, &names, &f));
	while (store_reader_next(r, &ev, NULL) == 1)
		OK(fds_event(f, r, ev, &refs));
	ck_assert_uint_eq(fds_get(f, 1, 3).object, fds_get(f, 1, 4).object);
	ck_assert_uint_ne(fds_get(f, 1, 3).object, fds_get(f, 1, 5).object);
	ck_assert_uint_eq(fds_get(f, 1, 3).name, fds_get(f, 1, 5).name);
	ck_assert_int_eq(fds_get(f, 1, 3).kind, FDS_FILE);
	fds_free(f);
	store_reader_free(r);
	help_close(&h);
}
END_TEST

START_TEST(strings)
{
	struct names t CLEANUP(names_done) = { 0 };
	char text[32];

	ck_assert_uint_eq(names_add(&t, "", 0), 0);
	ck_assert_uint_eq(names_find(&t, "name 17", 7), 0);
	for (uint32_t i = 0; i < 5000; i++) {
		snprintf(text, sizeof(text), "name %u", i);
		ck_assert_uint_eq(names_add(&t, text, strlen(text)), i + 1);
	}
	ck_assert_uint_eq(names_add(&t, "name 17xyz", 7), 18);
	ck_assert_uint_eq(names_add(&t, "name 17\0z", 9), 18);
	ck_assert_uint_eq(names_find(&t, "name 17xyz", 7), 18);
	ck_assert_uint_eq(names_find(&t, "name 17xyz", 8), 0);
	ck_assert_uint_eq(names_find(&t, "", 0), 0);
	ck_assert_str_eq(names_get(&t, 4321), "name 4320");
	ck_assert_ptr_null(names_get(&t, 0));
	ck_assert_ptr_null(names_get(&t, 5001));
}
END_TEST

HELP_MAIN("analysis_fds", { follow }, { objects }, { strings })
