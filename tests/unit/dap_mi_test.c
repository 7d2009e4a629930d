/* dap/mi: a gdb that answers, refuses, is interrupted, ends; and, with a shell that plays gdb, all that a gdb does not do on demand. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include "base/os.h"
#include "dap/mi_priv.h"
#include "tests/unit/test.h"

#define ARGV(...) ((const char *const[]){ __VA_ARGS__, NULL })
#define GDB ARGV("gdb", "-q", "-nx", "--interpreter=mi3")
#define SHELL(script) ARGV("sh", "-c", script)
/* In a shell: the token of the command that comes next, as $t. */
#define TOKEN "read -r l; t=${l%%-*}; "

/* What comes to opt.record and what opt.wait shall do. */
struct seen {
	struct buf text; /* a letter of each record and its name or text */
	struct mi *m;
	int fail; /* what wait() returns */
	int waits;
	bool busy; /* gdb is in a command that does not end */
};

static void on_record(void *ctx, const struct mi_record *rec)
{
	struct seen *s = ctx;

	buf_printf(&s->text, "%c", "^*+=~@&>"[rec->kind]);
	if (rec->name)
		buf_printf(&s->text, "%s", rec->name);
	buf_put(&s->text, rec->text.data, rec->text.len);
	buf_printf(&s->text, "|");
}

static int on_wait(void *ctx, int fd)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };
	struct seen *s = ctx;

	s->waits++;
	if (s->fail)
		return s->fail;
	ck_assert_int_eq(poll(&p, 1, 20000), 1);
	return 0;
}

static void setup(void)
{
	ck_assert(signal(SIGPIPE, SIG_IGN) != SIG_ERR);
}

static struct mi *start(const char *const *argv, struct seen *s)
{
	struct mi_options opt = { .argv = argv, .record = on_record, .wait = on_wait, .ctx = s };
	struct errinfo ei = { 0 };
	struct mi *m = NULL;

	setup();
	ck_assert_msg(mi_start(&opt, &m, &ei) == 0, "%s", ei.text);
	s->m = m;
	return m;
}

static void seen_done(struct seen *s)
{
	buf_done(&s->text);
}

/* Nothing of ours is left: no child, no descriptor but those of before. */
static void check_clean(int lowest)
{
	int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);

	ck_assert_int_eq(fd, lowest);
	close(fd);
	ck_assert_int_eq(waitpid(-1, NULL, WNOHANG), -1);
	ck_assert_int_eq(errno, ECHILD);
}

static int lowest_fd(void)
{
	int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);

	close(fd);
	return fd;
}

/* --- gdb --- */

static bool have_gdb(void)
{
	if (system("command -v gdb >/dev/null") == 0)
		return true;
	printf("skipped: there is no gdb\n");
	return false;
}

START_TEST(gdb_answers)
{
	CLEANUP(jsonx_unrefp) json_t *v = NULL;
	CLEANUP(buf_done) struct buf out = { 0 };
	CLEANUP(seen_done) struct seen s = { 0 };
	struct errinfo ei = { 0 };
	int lowest = lowest_fd();
	struct mi *m;

	if (!have_gdb())
		return;
	m = start(GDB, &s);
	ck_assert_int_eq(getpgid(mi_pid(m)), mi_pid(m));
	ck_assert_int_eq(mi_command(m, NULL, &ei, "-gdb-version"), 0);
	ck_assert_ptr_nonnull(strstr(buf_cstr(&s.text), "~GNU gdb "));
	ck_assert_ptr_nonnull(strstr(buf_cstr(&s.text), "=thread-group-added|"));
	ck_assert_int_eq(mi_command(m, &v, &ei, "-data-evaluate-expression %d*7", 6), 0);
	ck_assert_str_eq(mi_str(v, "value"), "42");
	buf_clear(&s.text);
	ck_assert_int_eq(mi_console(m, &out, &ei, "print \"a\\tb\\\"%s\"", "c"), 0);
	ck_assert_str_eq(buf_cstr(&out), "$1 = \"a\\tb\\\"c\"\n");
	ck_assert_int_eq(mi_console(m, NULL, &ei, "print 5"), 0);
	ck_assert_ptr_null(strchr(buf_cstr(&s.text), '~'));
	mi_free(m);
	check_clean(lowest);
}
END_TEST

/* Bytes go to gdb and come back as they are: through its quotes, its expressions and its output. */
START_TEST(gdb_quotes)
{
	static const char *const texts[] = { "plain", "a b", "\\", "\"", "\\n", "tab\there", "\xc3\xa4", "%s %d", "'", "-x --y", "\001\033[1m", "#no comment" };
	CLEANUP(seen_done) struct seen s = { 0 };
	struct mi *m;

	if (!have_gdb())
		return;
	m = start(GDB, &s);
	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		CLEANUP(buf_done) struct buf out = { 0 };
		CLEANUP(buf_done) struct buf want = { 0 };
		struct errinfo ei = { 0 };

		buf_printf(&want, "[%s]\n", texts[i]);
		ck_assert_msg(mi_console(m, &out, &ei, "echo [%s]\\n", strcmp(texts[i], "\\") == 0 ? "\\\\" : strcmp(texts[i], "\\n") == 0 ? "\\\\n" : texts[i]) == 0, "%s", ei.text);
		ck_assert_str_eq(buf_cstr(&out), buf_cstr(&want));
	}
	mi_free(m);
}
END_TEST

/* gdb speaks English and UTF-8 whatever the user's language is. */
START_TEST(gdb_language)
{
	CLEANUP(seen_done) struct seen s = { 0 };
	CLEANUP(buf_done) struct buf out = { 0 };
	struct errinfo ei = { 0 };
	struct mi *m;

	if (!have_gdb())
		return;
	ck_assert_int_eq(setenv("LC_ALL", "C", 1) | setenv("LANGUAGE", "de", 1), 0);
	m = start(GDB, &s);
	ck_assert_int_eq(mi_console(m, &out, &ei, "print \"\\303\\244\""), 0);
	ck_assert_str_eq(buf_cstr(&out), "$1 = \"\xc3\xa4\"\n");
	buf_clear(&out);
	ck_assert_int_eq(mi_console(m, &out, &ei, "show environment LC_ALL"), 0);
	ck_assert_str_eq(buf_cstr(&out), "LC_ALL = C.UTF-8\n");
	buf_clear(&out);
	ck_assert_int_eq(mi_console(m, &out, &ei, "show environment LANGUAGE"), 0);
	ck_assert_str_eq(buf_cstr(&out), "Environment variable \"LANGUAGE\" not defined.\n");
	mi_free(m);
}
END_TEST

START_TEST(gdb_refuses)
{
	CLEANUP(seen_done) struct seen s = { 0 };
	CLEANUP(buf_done) struct buf out = { 0 };
	struct errinfo ei = { 0 };
	json_t *v = NULL;
	struct mi *m;

	if (!have_gdb())
		return;
	m = start(GDB, &s);
	ck_assert_int_eq(mi_command(m, &v, &ei, "-data-evaluate-expression nope"), -EREMOTEIO);
	ck_assert_str_eq(ei.text, "No symbol table is loaded.  Use the \"file\" command.");
	ck_assert_ptr_null(v);
	ei = (struct errinfo){ 0 };
	ck_assert_int_eq(mi_console(m, &out, &ei, "nope"), -EREMOTEIO);
	ck_assert_str_eq(ei.text, "Undefined command: \"nope\".  Try \"help\".");
	ei = (struct errinfo){ 0 };
	ck_assert_int_eq(mi_command(m, NULL, &ei, "-no-such"), -EREMOTEIO);
	ck_assert_str_eq(ei.text, "Undefined MI command: no-such");
	ei = (struct errinfo){ 0 };
	ck_assert_int_eq(mi_monitor(m, &v, &ei, "where"), -EREMOTEIO); /* there is no target */
	ck_assert_str_eq(ei.text, "\"monitor\" command not supported by this target.");
	ei = (struct errinfo){ 0 };
	ck_assert_int_eq(mi_command(m, NULL, &ei, "-gdb-version\n-gdb-exit"), -EINVAL);
	ck_assert_int_eq(mi_console(m, NULL, NULL, "echo\n"), -EINVAL);
	ck_assert_int_eq(mi_command(m, NULL, &ei, "-gdb-set confirm off"), 0);
	mi_free(m);
}
END_TEST

static void end_gdb(struct mi *m, const char *command, const char *text)
{
	struct errinfo ei = { 0 };
	int r = mi_command(m, NULL, &ei, "%s", command);

	/* its answer, if it gave one, then its end */
	ck_assert(r == 0 || r == ERR_GUEST_GONE);
	ei = (struct errinfo){ 0 };
	ck_assert_int_eq(mi_command(m, NULL, &ei, "-gdb-version"), ERR_GUEST_GONE);
	ck_assert_str_eq(ei.text, text);
	ei = (struct errinfo){ 0 };
	ck_assert_int_eq(mi_read(m, &ei), ERR_GUEST_GONE);
	ck_assert_str_eq(ei.text, text);
	ck_assert_int_eq(mi_pid(m), 0);
	mi_interrupt(m); /* nobody is there */
}

START_TEST(gdb_ends)
{
	static const struct {
		const char *command, *text;
	} ways[] = {
		{ "-gdb-exit", "gdb ended with exit code 0" },
		{ "-interpreter-exec console \"quit 7\"", "gdb ended with exit code 7" },
		{ "-interpreter-exec console \"shell kill -9 $PPID; sleep 5\"", "gdb was killed by SIGKILL" },
	};
	int lowest = lowest_fd();

	if (!have_gdb())
		return;
	for (size_t i = 0; i < ARRAY_SIZE(ways); i++) {
		CLEANUP(seen_done) struct seen s = { 0 };
		struct mi *m = start(GDB, &s);

		end_gdb(m, ways[i].command, ways[i].text);
		mi_free(m);
		check_clean(lowest);
	}
}
END_TEST

static int kill_it(void *ctx, int fd)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };
	struct seen *s = ctx;

	/* silent: it is in the middle */
	while (poll(&p, 1, 300) == 0)
		ck_assert_int_eq(kill(mi_pid(s->m), SIGKILL), 0);
	return 0;
}

START_TEST(gdb_killed)
{
	CLEANUP(seen_done) struct seen s = { 0 };
	struct mi_options opt = { .argv = GDB, .record = on_record, .wait = kill_it, .ctx = &s };
	struct errinfo ei = { 0 };
	uint64_t begin;

	if (!have_gdb())
		return;
	setup();
	ck_assert_int_eq(mi_start(&opt, &s.m, &ei), 0);
	begin = os_mono_ns();
	ck_assert_int_eq(mi_console(s.m, NULL, &ei, "shell sleep 30"), ERR_GUEST_GONE);
	ck_assert_str_eq(ei.text, "gdb was killed by SIGKILL");
	ck_assert(os_mono_ns() - begin < UINT64_C(20000000000)); /* although the sleep held its pipes */
	mi_free(s.m);
}
END_TEST

static int interrupt_it(void *ctx, int fd)
{
	struct seen *s = ctx;
	struct pollfd p = { .fd = fd, .events = POLLIN };

	/* not before gdb can take it; then again and again, as the first may come before the loop has begun */
	if (!s->busy)
		return on_wait(ctx, fd);
	while (poll(&p, 1, 200) == 0)
		mi_interrupt(s->m);
	return 0;
}

START_TEST(gdb_interrupted)
{
	CLEANUP(seen_done) struct seen s = { 0 };
	struct mi_options opt = { .argv = GDB, .record = on_record, .wait = interrupt_it, .ctx = &s };
	struct errinfo ei = { 0 };

	if (!have_gdb())
		return;
	setup();
	ck_assert_int_eq(mi_start(&opt, &s.m, &ei), 0);
	ck_assert_int_eq(mi_command(s.m, NULL, &ei, "-gdb-version"), 0);
	s.busy = true;
	ck_assert_int_eq(mi_console(s.m, NULL, &ei, "python while True: pass"), -EREMOTEIO);
	s.busy = false;
	ei = (struct errinfo){ 0 };
	ck_assert_msg(mi_command(s.m, NULL, &ei, "-gdb-version") == 0, "%s", ei.text);
	mi_free(s.m);
}
END_TEST

/* A long command is answered; one that would keep gdb for minutes is not given to it. */
START_TEST(gdb_long_line)
{
	CLEANUP(seen_done) struct seen s = { 0 };
	CLEANUP(jsonx_unrefp) json_t *v = NULL;
	struct errinfo ei = { 0 };
	struct mi *m;

	if (!have_gdb())
		return;
	m = start(GDB, &s);
	ck_assert_int_eq(mi_command(m, &v, &ei, "-data-evaluate-expression \"1+%*s1\"", 300000, ""), ERR_LIMIT);
	ck_assert_str_eq(ei.text, "ask gdb: a command of 300031 bytes is too long");
	ck_assert_int_eq(mi_command(m, &v, &ei, "-data-evaluate-expression \"1+%*s1\"", 20000, ""), 0);
	ck_assert_int_eq(mi_int(v, "value", 0), 2);
	mi_free(m);
}
END_TEST

/* --- what a shell plays --- */

START_TEST(no_program)
{
	struct mi_options opt = { .argv = ARGV("/nonexistent/gdb") };
	struct errinfo ei = { 0 };
	int lowest = lowest_fd();
	struct mi *m = NULL;

	ck_assert_int_eq(mi_start(&opt, &m, &ei), -ENOENT);
	ck_assert_str_eq(ei.text, "start /nonexistent/gdb: No such file or directory");
	ck_assert_ptr_null(m);
	check_clean(lowest);
}
END_TEST

START_TEST(last_words)
{
	CLEANUP(seen_done) struct seen s = { 0 };
	struct errinfo ei = { 0 };
	struct mi *m = start(SHELL("i=0; while [ $i -lt 3000 ]; do echo line $i >&2; i=$((i+1)); done; printf 'gdb: \\033[1mno\\n' >&2; exit 3"), &s);

	ck_assert_int_eq(mi_command(m, NULL, &ei, "-gdb-version"), ERR_GUEST_GONE);
	ck_assert_ptr_nonnull(strstr(ei.text, "gdb ended with exit code 3: "));
	ck_assert_ptr_nonnull(strstr(ei.text, " line 2999 gdb: \\x1b[1mno"));
	ck_assert_ptr_null(strstr(ei.text, "line 2000 "));
	mi_free(m);
}
END_TEST

/* An answer that was the last word counts; after it gdb is gone. */
START_TEST(answer_then_end)
{
	CLEANUP(seen_done) struct seen s = { 0 };
	CLEANUP(jsonx_unrefp) json_t *v = NULL;
	struct errinfo ei = { 0 };
	struct mi *m = start(SHELL(TOKEN "printf '=n\\n%s^done,a=\"1\"\\n=later\\nhalf' $t"), &s);

	ck_assert_msg(mi_command(m, &v, &ei, "-x") == 0, "%s", ei.text);
	ck_assert_str_eq(mi_str(v, "a"), "1");
	ck_assert_int_eq(mi_command(m, NULL, &ei, "-x"), ERR_GUEST_GONE);
	ck_assert_str_eq(buf_cstr(&s.text), "=n|=later|");
	mi_free(m);
}
END_TEST

/* Answers of others, streams and prose are not the answer. */
START_TEST(not_the_answer)
{
	CLEANUP(seen_done) struct seen s = { 0 };
	CLEANUP(buf_done) struct buf out = { 0 };
	struct errinfo ei = { 0 };
	struct mi *m = start(SHELL(TOKEN "printf '^done\\n77^done\\nprose\\n~\"a\"\\n&\"log\"\\n@\"b\"\\n(gdb) \\n%s^running\\n~\"c\"\\n' $t; cat"), &s);

	ck_assert_int_eq(mi_console(m, &out, &ei, "x"), 0);
	while (!strstr(buf_cstr(&s.text), "~c|")) {
		ck_assert_int_eq(on_wait(&s, mi_fd(m)), 0);
		ck_assert_int_eq(mi_read(m, &ei), 0);
	}
	ck_assert_str_eq(buf_cstr(&out), "prose\nab");
	ck_assert_str_eq(buf_cstr(&s.text), "^done|^done|&log|>|~c|");
	mi_free(m);
}
END_TEST

/* A command that is given up: its answer is nobody's, the next command gets its own. */
START_TEST(given_up)
{
	CLEANUP(seen_done) struct seen s = { .fail = ERR_INTERRUPTED };
	CLEANUP(jsonx_unrefp) json_t *v = NULL;
	struct errinfo ei = { 0 };
	struct mi *m = start(SHELL(TOKEN "a=$t; " TOKEN "printf '%s^done,a=\"old\"\\n%s^done,a=\"new\"\\n' $a $t; cat"), &s);

	ck_assert_int_eq(mi_command(m, &v, &ei, "-first"), ERR_INTERRUPTED);
	ck_assert_ptr_null(v);
	s.fail = 0;
	ck_assert_int_eq(mi_command(m, &v, &ei, "-second"), 0);
	ck_assert_str_eq(mi_str(v, "a"), "new");
	ck_assert_str_eq(buf_cstr(&s.text), "^done|");
	mi_free(m);
}
END_TEST

static bool runs(long pid)
{
	CLEANUP(freep) char *text = NULL;
	char path[64];
	size_t n;

	snprintf(path, sizeof(path), "/proc/%ld/stat", pid);
	return os_read_file(path, 4096, &text, &n) == 0 && !strstr(text, ") Z ");
}

/* gdb has ended, but what it had started still holds its pipes: that goes with it. */
START_TEST(pipes_held)
{
	CLEANUP(seen_done) struct seen s = { 0 };
	struct errinfo ei = { 0 };
	struct mi *m = start(SHELL("sleep 30 & echo pid $!; exit 4"), &s);
	uint64_t begin = os_mono_ns();
	long pid;

	ck_assert_int_eq(mi_command(m, NULL, &ei, "-x"), ERR_GUEST_GONE);
	ck_assert_str_eq(ei.text, "gdb ended with exit code 4");
	ck_assert_int_eq(sscanf(buf_cstr(&s.text), "@pid %ld", &pid), 1);
	while (runs(pid))
		ck_assert(os_mono_ns() - begin < UINT64_C(15000000000));
	mi_free(m);
}
END_TEST

/* Its input is full of commands that were given up: the next one is written as there is room. */
START_TEST(slow_reader)
{
	CLEANUP(seen_done) struct seen s = { .fail = ERR_INTERRUPTED };
	struct errinfo ei = { 0 };
	struct mi *m = start(SHELL("sleep .3; while read -r l; do case $l in 6-*) echo \"5^done\"; echo \"6^done\";; esac; done"), &s);

	for (int i = 0; i < 5; i++)
		ck_assert_int_eq(mi_command(m, NULL, NULL, "-x%*s", 30000, ""), ERR_INTERRUPTED);
	s.fail = 0;
	ck_assert_msg(mi_command(m, NULL, &ei, "-x%*s", 30000, "") == 0, "%s", ei.text);
	ck_assert_str_eq(buf_cstr(&s.text), "^done|");
	ck_assert_int_lt(s.waits, 200); /* it does not spin while there is no room */
	mi_free(m);
}
END_TEST

/* It neither reads nor ends nor minds that its input is closed. */
START_TEST(deaf)
{
	CLEANUP(seen_done) struct seen s = { 0 };
	int lowest = lowest_fd();
	struct mi *m = start(SHELL("trap '' INT TERM HUP; echo =up; while :; do sleep 1; done"), &s);
	uint64_t begin;

	while (!strstr(buf_cstr(&s.text), "=up|")) {
		ck_assert_int_eq(on_wait(&s, mi_fd(m)), 0);
		ck_assert_int_eq(mi_read(m, NULL), 0);
	}
	s.fail = ERR_TIMEOUT;
	for (int i = 0; i < 5; i++)
		ck_assert_int_eq(mi_command(m, NULL, NULL, "-x%*s", 30000, ""), ERR_TIMEOUT);
	mi_interrupt(m);
	begin = os_mono_ns();
	mi_free(m);
	ck_assert(os_mono_ns() - begin < UINT64_C(5000000000));
	check_clean(lowest);
}
END_TEST

START_TEST(monitor)
{
	static const struct {
		const char *script;
		int r;
		const char *text; /* of member "a", or the error */
	} rows[] = {
		{ "printf '@\"note\\\\n\"\\n@\"{\\\\\"a\\\\\":\"\\n@\"\\\\\"\\\\303\\\\244\\\\\"}\\\\n\"\\n%s^done\\n' $t", 0, "\xc3\xa4" },
		{ "printf '~\"{\\\\\"a\\\\\":\\\\\"1\\\\\"}\"\\n%s^done\\n' $t", 0, "1" },
		{ "printf '@\"{\\\\\"error\\\\\":\\\\\"no such place\\\\\"}\\\\n\"\\n%s^error,msg=\"Protocol error with Rcmd\"\\n' $t", -EREMOTEIO, "no such place" },
		{ "printf '@\"{\\\\\"error\\\\\":\\\\\"no such place\\\\\"}\\\\n\"\\n%s^done\\n' $t", -EREMOTEIO, "no such place" },
		{ "printf '%s^error,msg=\"Protocol error with Rcmd\"\\n' $t", -EREMOTEIO, "Protocol error with Rcmd" },
		{ "printf '@\"help text\\\\n\"\\n%s^done\\n' $t", ERR_PROTOCOL, "monitor hermit where 7: the server's answer is no JSON" },
		{ "printf '@\"{\\\\\"a\\\\\":\"\\n%s^done\\n' $t", ERR_PROTOCOL, "monitor hermit where 7: the server's answer is no JSON" },
		{ "printf '%s^done\\n' $t", ERR_PROTOCOL, "monitor hermit where 7: the server's answer is no JSON" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		CLEANUP(buf_done) struct buf script = { 0 };
		CLEANUP(seen_done) struct seen s = { 0 };
		CLEANUP(jsonx_unrefp) json_t *v = NULL;
		struct errinfo ei = { 0 };
		struct mi *m;
		int r;

		buf_printf(&script, "read -r l; t=${l%%%%-*}; [ \"$l\" = \"$t\"'-interpreter-exec console \"monitor hermit where 7 --json\"' ] || exit 9; %s; cat", rows[i].script);
		m = start(SHELL(buf_cstr(&script)), &s);
		r = mi_monitor(m, &v, &ei, "where %d", 7);
		ck_assert_msg(r == rows[i].r, "row %zu: %s: %s", i, err_name(r), ei.text);
		ck_assert_str_eq(r == 0 ? mi_str(v, "a") : ei.text, rows[i].text);
		ck_assert_str_eq(buf_cstr(&s.text), "");
		mi_free(m);
	}
}
END_TEST

/* Too long a line, and one nested too deep, cost that line and the command that it belongs to. */
START_TEST(bad_lines)
{
	CLEANUP(seen_done) struct seen s = { 0 };
	struct mi *m = start(SHELL("printf '=deep,a='; head -c 100 /dev/zero | tr '\\0' '['; echo; echo =one; " TOKEN "echo ${t}^done; " TOKEN "printf '%s^done,a=\"' $t; "
				   "head -c 68000000 /dev/zero | tr '\\0' x; echo '\"'; echo =two; " TOKEN "echo ${t}^done; cat"),
			     &s);
	static const int want[] = { ERR_LIMIT, ERR_LIMIT, 0 };

	for (size_t i = 0; i < ARRAY_SIZE(want); i++) {
		struct errinfo ei = { 0 };

		ck_assert_int_eq(mi_command(m, NULL, &ei, "-x"), want[i]);
		ck_assert_str_eq(ei.text, want[i] ? "read what gdb answers: a limit was exceeded" : "");
	}
	ck_assert_str_eq(buf_cstr(&s.text), "=one|=two|");
	mi_free(m);
}
END_TEST

/* The same when no command waits: mi_read() tells it, and goes on. */
START_TEST(bad_line_alone)
{
	CLEANUP(seen_done) struct seen s = { 0 };
	struct mi *m = start(SHELL("printf '=deep,a='; head -c 100 /dev/zero | tr '\\0' '['; echo; echo =one; cat"), &s);
	int r = 0;

	while (!strstr(buf_cstr(&s.text), "=one|")) {
		int e;

		ck_assert_int_eq(on_wait(&s, mi_fd(m)), 0);
		e = mi_read(m, NULL);
		r = e < 0 ? e : r;
	}
	ck_assert_int_eq(r, ERR_LIMIT);
	ck_assert_int_eq(mi_read(m, NULL), 0);
	mi_free(m);
}
END_TEST

static const char pieces[] = "=thread-created,id=\"1\"\n~\"a\\\"b\\n\\303\\244\"\n\nprose\n(gdb) \n*stopped,frame={a=[\"1\"]}\n5^done,a=\"\\\\\"\n";
static const char pieces_seen[] = "=thread-created|~a\"b\n\xc3\xa4|@\n|@prose\n|>|*stopped|^done|";

static void feed(struct mi *m, struct seen *s, int fd, const char *p, size_t n)
{
	size_t had = s->text.len;

	if (n == 0)
		return;
	ck_assert_int_eq(os_write_full(fd, p, n), 0);
	ck_assert_int_eq(on_wait(s, mi_fd(m)), 0);
	ck_assert_int_eq(mi_read(m, NULL), 0);
	ck_assert(s->text.len >= had);
}

/* Lines come the same however the pipe cuts them: through a named pipe that the test fills, at each place. */
START_TEST(any_split)
{
	CLEANUP(seen_done) struct seen s = { 0 };
	CLEANUP(closep) int fd = -1;
	char dir[] = "/tmp/dap_mi_test.XXXXXX", path[64];
	struct mi *m;

	ck_assert_ptr_nonnull(mkdtemp(dir));
	snprintf(path, sizeof(path), "%s/pipe", dir);
	ck_assert_int_eq(mkfifo(path, 0600), 0);
	m = start(ARGV("cat", path), &s);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	ck_assert_int_ge(fd, 0);
	unlink(path);
	rmdir(dir);
	for (size_t cut = 0; cut < sizeof(pieces); cut++) {
		buf_clear(&s.text);
		feed(m, &s, fd, pieces, cut);
		feed(m, &s, fd, pieces + cut, sizeof(pieces) - 1 - cut);
		ck_assert_msg(strcmp(buf_cstr(&s.text), pieces_seen) == 0, "cut at %zu: %s", cut, buf_cstr(&s.text));
	}
	buf_clear(&s.text);
	for (size_t i = 0; i < sizeof(pieces) - 1; i++)
		feed(m, &s, fd, pieces + i, 1);
	ck_assert_str_eq(buf_cstr(&s.text), pieces_seen);
	mi_free(m);
}
END_TEST

static void asks(void *ctx, const struct mi_record *rec UNUSED)
{
	struct seen *s = ctx;

	(void)!mi_command(s->m, NULL, NULL, "-gdb-version");
}

/* A command out of opt.record is a bug of ours. */
START_TEST(no_command_in_record)
{
	pid_t pid = fork();
	int status;

	if (pid == 0) {
		struct seen s = { 0 };
		struct mi_options opt = { .argv = SHELL("echo =x; cat"), .record = asks, .ctx = &s };

		close(2); /* the text of must() */
		setup();
		if (mi_start(&opt, &s.m, NULL) == 0)
			(void)!mi_command(s.m, NULL, NULL, "-x");
		_exit(0);
	}
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
}
END_TEST

TEST_MAIN("dap_mi", gdb_answers, gdb_quotes, gdb_language, gdb_refuses, gdb_ends, gdb_killed, gdb_interrupted, gdb_long_line, no_program, last_words, answer_then_end, not_the_answer, given_up,
	  pipes_held, slow_reader, deaf, monitor, bad_lines, bad_line_alone, any_split, no_command_in_record)
