/* daemon/sessions: from starting to the end, whatever the child does. */
#include "daemon/sessions_priv.h"

#include <errno.h>
#include <signal.h>
#include "daemon/limits_priv.h"
#include "tests/unit/daemon_help.h"

static struct store_id rec;

static void begin(struct help_daemon *hd, const char *script)
{
	help_daemon_begin(hd, script);
	rec = help_record(hd->h.s, 1, 5);
	OK(catalog_refresh(hd->d.catalog, NULL, NULL));
	OK(sessions_new(&hd->d, &hd->d.sessions));
}

static void end(struct help_daemon *hd)
{
	sessions_free(hd->d.sessions);
	help_daemon_end(hd);
}

static char *open_session(struct help_daemon *hd, pid_t pid, const char *go)
{
	struct daemon_session_spec spec = { .recording = rec, .pid = pid, .go = go };
	struct errinfo ei = { 0 };
	json_t *j;
	char *id;
	int r = daemon_session_new(&hd->d, &spec, &j, &ei);

	ck_assert_msg(r == 0, "%s", ei.text);
	ck_assert_str_eq(help_text(j, "state"), "starting");
	ck_assert(json_is_null(json_object_get(j, "address")));
	id = strdup(help_text(j, "id"));
	json_decref(j);
	return id;
}

static json_t *get(struct help_daemon *hd, const char *id)
{
	json_t *j;

	OK(daemon_session_get(&hd->d, id, &j));
	return j;
}

static bool is(struct help_daemon *hd, const char *id, const char *state)
{
	json_t *j = get(hd, id);
	bool same = strcmp(help_text(j, "state"), state) == 0;

	json_decref(j);
	return same;
}

#define SERVE "trap 'exit 7' TERM; echo Listening on 127.0.0.1:4711; echo hermit: chatter >&2; sleep 100 & wait"

START_TEST(ready)
{
	struct help_daemon hd;
	struct feed_message msg;
	json_t *j, *c;
	char *id, *want;

	begin(&hd, "echo \"$@\" > \"$3/args\"; " SERVE);
	id = open_session(&hd, 77, "12");
	HELP_UNTIL(&hd, is(&hd, id, "ready"));
	ck_assert(sessions_use(hd.d.sessions, &rec));
	j = get(&hd, id);
	c = json_object_get(j, "commands");
	ck_assert_str_eq(help_text(j, "recording"), rec.hex);
	ck_assert_str_eq(help_text(j, "kind"), "gdb");
	ck_assert_str_eq(help_text(j, "goto"), "12");
	ck_assert_int_eq(json_integer_value(json_object_get(j, "pid")), 77);
	ck_assert_int_eq(json_integer_value(json_object_get(json_object_get(j, "address"), "port")), 4711);
	ck_assert_str_eq(help_text(c, "gdb"), "gdb -iex 'set auto-load off' -ex 'set sysroot target:' -ex 'target remote 127.0.0.1:4711'");
	want = os_asprintf("hermit replay --data-dir %s %s -p 77 -g 12", hd.h.dir, rec.hex);
	ck_assert_str_eq(help_text(c, "local"), want);
	free(want);
	want = os_asprintf("vscode://hermit.hermit-debug/open?recording=%s&target=127.0.0.1:4711", rec.hex);
	ck_assert_str_eq(help_text(c, "vscode"), want);
	free(want);
	json_decref(j);
	want = os_asprintf("replay --data-dir %s --serve-only %s --process=77 --goto=12\n", hd.h.dir, rec.hex);
	{
		char *path = os_asprintf("%s/args", hd.h.dir), *args;
		size_t n;

		OK(os_read_file(path, 4096, &args, &n));
		ck_assert_str_eq(args, want);
		free(args);
		free(path);
	}
	ck_assert_int_eq(feed_wait(hd.d.feed, 1, 0, &msg), 1);
	ck_assert_str_eq(msg.type, "session");
	ck_assert_ptr_nonnull(strstr(msg.json, "\"ready\""));
	free(msg.json);
	/* told to end: how it does that does not matter */
	OK(daemon_session_end(&hd.d, id));
	HELP_UNTIL(&hd, is(&hd, id, "ended"));
	j = get(&hd, id);
	ck_assert(json_is_null(json_object_get(j, "error")) && json_is_null(json_object_get(j, "address")));
	json_decref(j);
	ck_assert_uint_eq(sessions_count(hd.d.sessions), 0);
	ck_assert(!sessions_use(hd.d.sessions, &rec));
	OK(daemon_session_end(&hd.d, id));
	FAILS(ERR_NOT_FOUND, daemon_session_get(&hd.d, id, &j));
	FAILS(ERR_NOT_FOUND, daemon_session_end(&hd.d, id));
	free(want);
	free(id);
	end(&hd);
}
END_TEST

START_TEST(failures)
{
	static const struct {
		const char *script, *state, *error;
	} cases[] = {
		{ "echo 'hermit: cannot replay: no CPU' >&2; exit 3", "failed", "cannot replay: no CPU" },
		{ "exit 0", "failed", "it ended before a debugger could come" },
		{ "kill -9 $$", "failed", "killed by SIGKILL (out of memory, or by hand)" },
		{ "echo Listening on 127.0.0.1:99; kill -ABRT $$", "failed", "killed by SIGABRT" },
		{ "echo Listening on 127.0.0.1:99; exit 0", "ended", "" },
		{ "echo Listening on nothing; echo Listening on 127.0.0.1:0; echo Listening on 127.0.0.1:70000; exit 0", "failed",
		  "it ended before a debugger could come" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct help_daemon hd;
		json_t *j;
		char *id;

		begin(&hd, cases[i].script);
		id = open_session(&hd, 0, NULL);
		HELP_UNTIL(&hd, sessions_count(hd.d.sessions) == 0);
		j = get(&hd, id);
		ck_assert_msg(strcmp(help_text(j, "state"), cases[i].state) == 0, "%zu: %s", i, help_text(j, "error"));
		ck_assert_str_eq(help_text(j, "error"), cases[i].error);
		json_decref(j);
		free(id);
		end(&hd);
	}
}
END_TEST

START_TEST(files_only)
{
	struct help_daemon hd;
	const char *path;
	json_t *j;
	char *id;

	begin(&hd, "touch \"$7\"; echo \"Listening on $7\"; sleep 100 & wait");
	OK(config_set(&hd.cfg, "listen", "unix:/run/x", NULL));
	id = open_session(&hd, 0, NULL);
	HELP_UNTIL(&hd, is(&hd, id, "ready"));
	j = get(&hd, id);
	path = help_text(json_object_get(j, "address"), "path");
	ck_assert(strncmp(path, hd.h.dir, strlen(hd.h.dir)) == 0 && access(path, F_OK) == 0);
	ck_assert_ptr_nonnull(strstr(help_text(json_object_get(j, "commands"), "gdb"), path));
	ck_assert(json_is_null(json_object_get(json_object_get(j, "commands"), "vscode")));
	sessions_drain(hd.d.sessions);
	ck_assert(sessions_busy(hd.d.sessions));
	HELP_UNTIL(&hd, !sessions_busy(hd.d.sessions));
	OK(daemon_session_end(&hd.d, id));
	ck_assert_int_ne(access(path, F_OK), 0);
	json_decref(j);
	free(id);
	end(&hd);
}
END_TEST

START_TEST(hang)
{
	struct help_daemon hd;
	json_t *j;
	char *a, *b;

	begin(&hd, "trap '' TERM; [ \"$6\" = --process=1 ] && echo Listening on 127.0.0.1:99; while :; do sleep 1; done");
	a = open_session(&hd, 1, NULL);
	b = open_session(&hd, 2, NULL);
	HELP_UNTIL(&hd, is(&hd, a, "ready"));
	sessions_sweep(hd.d.sessions, os_mono_ns() + SESSION_START_NS - 10000000000ull);
	OK(daemon_session_end(&hd.d, a));
	sessions_sweep(hd.d.sessions, os_mono_ns());
	ck_assert_uint_eq(sessions_count(hd.d.sessions), 2);
	sessions_sweep(hd.d.sessions, os_mono_ns() + SESSION_STOP_NS + 1);
	HELP_UNTIL(&hd, is(&hd, a, "ended"));
	sessions_sweep(hd.d.sessions, os_mono_ns() + SESSION_START_NS + 1);
	HELP_UNTIL(&hd, is(&hd, b, "failed"));
	j = get(&hd, b);
	ck_assert_ptr_nonnull(strstr(help_text(j, "error"), "not ready after 15 minutes"));
	json_decref(j);
	free(a);
	free(b);
	end(&hd);
}
END_TEST

START_TEST(refused)
{
	struct daemon_session_spec spec;
	struct errinfo ei = { 0 };
	struct help_daemon hd;
	json_t *j;
	char *id, *longer;

	begin(&hd, SERVE);
	hd.cfg.max_sessions = 1;
	id = open_session(&hd, 0, NULL);
	spec = (struct daemon_session_spec){ .recording = rec };
	FAILS(ERR_LIMIT, daemon_session_new(&hd.d, &spec, &j, &ei));
	ck_assert_ptr_nonnull(strstr(ei.text, "max_sessions"));
	spec.go = "";
	FAILS(-EINVAL, daemon_session_new(&hd.d, &spec, &j, NULL));
	spec.go = "a\nb";
	FAILS(-EINVAL, daemon_session_new(&hd.d, &spec, &j, NULL));
	spec.go = longer = calloc(1, SESSION_GOTO_MAX + 2);
	memset(longer, '1', SESSION_GOTO_MAX + 1);
	FAILS(-EINVAL, daemon_session_new(&hd.d, &spec, &j, NULL));
	free(longer);
	spec.go = NULL;
	spec.pid = -1;
	FAILS(-EINVAL, daemon_session_new(&hd.d, &spec, &j, NULL));
	spec.pid = 0;
	spec.recording.hex[0] ^= 1;
	FAILS(ERR_NOT_FOUND, daemon_session_new(&hd.d, &spec, &j, NULL));
	OK(daemon_session_list(&hd.d, &j));
	ck_assert_uint_eq(json_array_size(j), 1);
	json_decref(j);
	free(id);
	end(&hd);
}
END_TEST

START_TEST(kept)
{
	struct help_daemon hd;
	json_t *j;
	char *id = NULL;

	begin(&hd, "exit 1");
	for (int i = 0; i < SESSIONS_KEPT + 5; i++) {
		free(id);
		id = open_session(&hd, 0, NULL);
		HELP_UNTIL(&hd, sessions_count(hd.d.sessions) == 0);
	}
	OK(daemon_session_list(&hd.d, &j));
	ck_assert_uint_eq(json_array_size(j), SESSIONS_KEPT);
	ck_assert_str_eq(help_text(json_array_get(j, 0), "id"), id);
	json_decref(j);
	free(id);
	end(&hd);
}
END_TEST

TEST_MAIN("daemon_sessions", ready, failures, files_only, hang, refused, kept)
