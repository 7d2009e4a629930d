/* daemon/jobs: order, progress, results, failures, cancelling; and how ends of children are told. */
#include "daemon/jobs_priv.h"

#include <errno.h>
#include <signal.h>
#include "daemon/child_priv.h"
#include "daemon/limits_priv.h"
#include "tests/unit/daemon_help.h"

static struct store_id a, b, c;
static char over[2000];

static void on_over(void *ctx UNUSED, enum job_kind kind, const struct store_id *recording, enum job_state state)
{
	size_t n = strlen(over);

	(void)snprintf(over + n, sizeof(over) - n, "%s %c %s\n", job_kind_name(kind),
		       !recording ? '-' : strcmp(recording->hex, a.hex) == 0 ? 'a' : strcmp(recording->hex, b.hex) == 0 ? 'b' : 'c',
		       job_state_name(state));
}

static void begin(struct help_daemon *hd, const char *script)
{
	help_daemon_begin(hd, script);
	a = help_record(hd->h.s, 1, 5);
	b = help_record(hd->h.s, 2, 5);
	c = help_record(hd->h.s, 3, 5);
	OK(catalog_refresh(hd->d.catalog, NULL, NULL));
	OK(jobs_new(&hd->d, &hd->d.jobs));
	over[0] = '\0';
	jobs_listen(hd->d.jobs, on_over, NULL);
}

static void end(struct help_daemon *hd)
{
	help_daemon_stop(hd);
	jobs_free(hd->d.jobs);
	help_daemon_end(hd);
}

static bool idle(struct help_daemon *hd)
{
	return jobs_count(hd->d.jobs, JOB_QUEUED) == 0 && jobs_count(hd->d.jobs, JOB_RUNNING) == 0;
}

static json_t *nth(struct help_daemon *hd, size_t n)
{
	json_t *list, *j;

	OK(daemon_job_list(&hd->d, &list));
	j = json_incref(json_array_get(list, n));
	json_decref(list);
	ck_assert_ptr_nonnull(j);
	return j;
}

/* What people wait for goes before housekeeping; nothing twice. */
START_TEST(order)
{
	struct help_daemon hd;
	json_t *j, *again;

	begin(&hd, "[ \"$1 $2 $3\" = 'session job --data-dir' ] || exit 9\n"
		   "echo '{\"done\": 3, \"total\": 4}' >&3; echo \"{\\\"result\\\": {\\\"said\\\": \\\"$5\\\"}}\" >&3");
	OK(jobs_add(hd.d.jobs, JOB_SEAL, &a));
	OK(jobs_add(hd.d.jobs, JOB_SCAN, &b));
	OK(jobs_add(hd.d.jobs, JOB_SCAN, &b));
	OK(jobs_add(hd.d.jobs, JOB_GC, NULL));
	OK(daemon_job_new(&hd.d, "verify", &c, &j, NULL));
	OK(daemon_job_new(&hd.d, "verify", &c, &again, NULL));
	ck_assert_str_eq(help_text(j, "id"), help_text(again, "id"));
	ck_assert_str_eq(help_text(j, "state"), "queued");
	ck_assert(jobs_has(hd.d.jobs, JOB_VERIFY, &c) && !jobs_has(hd.d.jobs, JOB_VERIFY, &a));
	json_decref(j);
	json_decref(again);
	HELP_UNTIL(&hd, idle(&hd));
	ck_assert_str_eq(over, "seal a done\nverify c done\nscan b done\ngc - done\n");
	j = nth(&hd, 0);
	ck_assert_str_eq(help_text(j, "kind"), "verify");
	ck_assert_str_eq(help_text(j, "recording"), c.hex);
	ck_assert_str_eq(help_text(j, "state"), "done");
	ck_assert_str_eq(help_text(json_object_get(j, "result"), "said"), "verify");
	ck_assert_int_eq(json_integer_value(json_object_get(j, "done")), 3);
	ck_assert_int_eq(json_integer_value(json_object_get(j, "total")), 4);
	ck_assert(json_is_null(json_object_get(j, "error")));
	ck_assert_uint_eq(strlen(help_text(j, "created")), 24);
	ck_assert_uint_eq(strlen(help_text(j, "finished")), 24);
	json_decref(j);
	end(&hd);
}
END_TEST

START_TEST(failures)
{
	static const struct {
		const char *script, *error;
	} cases[] = {
		{ "echo '{\"error\": \"frame 3 is bad\"}' >&3; exit 1", "frame 3 is bad" },
		{ "echo '{\"error\": \"frame 3 is bad\"}' >&3", "frame 3 is bad" },
		{ "exit 3", "ended with exit code 3 and said nothing" },
		{ "echo 'hermit: error: cannot x' >&2; echo 'hermit: because y' >&2; exit 3", "cannot x; because y" },
		{ "kill -9 $$", "killed by SIGKILL (out of memory, or by hand)" },
		{ "echo 'half a line' >&2; kill -SEGV $$", "killed by SIGSEGV: half a line" },
		{ "echo garbage >&3; echo '{\"error\": 3}' >&3; echo '{\"done\": \"x\"}' >&3; printf 'no end' >&3; exit 1",
		  "ended with exit code 1 and said nothing" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct help_daemon hd;
		json_t *j;

		begin(&hd, cases[i].script);
		OK(jobs_add(hd.d.jobs, JOB_VERIFY, &a));
		HELP_UNTIL(&hd, idle(&hd));
		j = nth(&hd, 0);
		ck_assert_str_eq(help_text(j, "state"), "failed");
		ck_assert_str_eq(help_text(j, "error"), cases[i].error);
		json_decref(j);
		end(&hd);
	}
}
END_TEST

START_TEST(no_program)
{
	struct help_daemon hd;
	json_t *j;

	begin(&hd, "");
	ck_assert_int_eq(unlink(hd.script), 0);
	OK(jobs_add(hd.d.jobs, JOB_VERIFY, &a));
	OK(jobs_add(hd.d.jobs, JOB_VERIFY, &b));
	HELP_UNTIL(&hd, idle(&hd));
	j = nth(&hd, 1);
	ck_assert_ptr_nonnull(strstr(help_text(j, "error"), "cannot start"));
	ck_assert_ptr_nonnull(strstr(help_text(j, "error"), hd.script));
	json_decref(j);
	end(&hd);
}
END_TEST

START_TEST(cancel)
{
	struct help_daemon hd;
	json_t *first, *second;

	begin(&hd, "sleep 100 & wait");
	OK(daemon_job_new(&hd.d, "seal", &a, &first, NULL));
	OK(daemon_job_new(&hd.d, "seal", &b, &second, NULL));
	FAILS(ERR_NOT_FOUND, daemon_job_cancel(&hd.d, "nonsense"));
	OK(daemon_job_cancel(&hd.d, help_text(second, "id")));
	ck_assert_str_eq(over, "seal b cancelled\n");
	FAILS(-EALREADY, daemon_job_cancel(&hd.d, help_text(second, "id")));
	OK(daemon_job_cancel(&hd.d, help_text(first, "id")));
	HELP_UNTIL(&hd, idle(&hd));
	ck_assert_str_eq(over, "seal b cancelled\nseal a cancelled\n");
	json_decref(first);
	OK(daemon_job_get(&hd.d, help_text(second, "id"), &first));
	ck_assert_str_eq(help_text(first, "state"), "cancelled");
	ck_assert(json_is_null(json_object_get(first, "error")));
	json_decref(first);
	json_decref(second);
	FAILS(ERR_NOT_FOUND, daemon_job_get(&hd.d, "nonsense", &first));
	end(&hd);
}
END_TEST

/* It does not listen: killed. */
START_TEST(stubborn)
{
	struct help_daemon hd;

	begin(&hd, "trap '' TERM; echo '{\"done\":1,\"total\":2}' >&3; while :; do sleep 1; done");
	OK(jobs_add(hd.d.jobs, JOB_SEAL, &a));
	(void)!loop_step(hd.d.loop, 500);
	jobs_drain(hd.d.jobs);
	FAILS(ERR_INTERRUPTED, jobs_add(hd.d.jobs, JOB_SEAL, &b));
	ck_assert(jobs_busy(hd.d.jobs));
	HELP_UNTIL(&hd, !jobs_busy(hd.d.jobs));
	ck_assert_str_eq(over, "seal a cancelled\n");
	end(&hd);
}
END_TEST

START_TEST(refused)
{
	struct errinfo ei = { 0 };
	struct help_daemon hd;
	struct store_writer *w;
	struct store_id live;
	struct manifest m;
	json_t *j;

	begin(&hd, "");
	help_manifest(&m);
	OK(store_writer_new(hd.h.s, &m, &w, NULL));
	live = *store_writer_id(w);
	OK(catalog_refresh(hd.d.catalog, NULL, NULL));
	FAILS(ERR_BUSY, daemon_job_new(&hd.d, "seal", &live, &j, &ei));
	ck_assert_ptr_nonnull(strstr(ei.text, "still being made"));
	live.hex[0] ^= 1;
	FAILS(ERR_NOT_FOUND, daemon_job_new(&hd.d, "seal", &live, &j, NULL));
	FAILS(-EINVAL, daemon_job_new(&hd.d, "dance", &a, &j, NULL));
	FAILS(-EINVAL, daemon_job_new(&hd.d, "gc", &a, &j, NULL));
	FAILS(-EINVAL, daemon_job_new(&hd.d, "verify", NULL, &j, NULL));
	store_writer_free(w);
	manifest_done(&m);
	end(&hd);
}
END_TEST

START_TEST(history)
{
	struct help_daemon hd;
	struct feed_message msg;
	json_t *list;

	begin(&hd, "exit 0");
	for (int i = 0; i < JOBS_KEPT + 20; i++) {
		OK(jobs_add(hd.d.jobs, JOB_GC, NULL));
		HELP_UNTIL(&hd, idle(&hd));
	}
	OK(daemon_job_list(&hd.d, &list));
	ck_assert_uint_eq(json_array_size(list), JOBS_KEPT);
	json_decref(list);
	ck_assert_int_eq(feed_wait(hd.d.feed, feed_last(hd.d.feed) - 1, 0, &msg), 1);
	ck_assert_str_eq(msg.type, "job");
	ck_assert_ptr_nonnull(strstr(msg.json, "\"done\""));
	free(msg.json);
	end(&hd);
}
END_TEST

/* Lines without end, and more of them than anybody reads, cost no memory. */
START_TEST(flood)
{
	struct help_daemon hd;
	json_t *j;

	begin(&hd, "head -c 3000000 /dev/zero | tr '\\0' x >&3; echo >&3; head -c 3000000 /dev/zero | tr '\\0' y >&2\n"
		   "echo '{\"result\": {\"after\": 1}}' >&3; echo last words >&2; exit 1");
	OK(jobs_add(hd.d.jobs, JOB_GC, NULL));
	HELP_UNTIL(&hd, idle(&hd));
	j = nth(&hd, 0);
	ck_assert_int_eq(json_integer_value(json_object_get(json_object_get(j, "result"), "after")), 1);
	ck_assert_uint_le(strlen(help_text(j, "error")), CHILD_STDERR_KEPT);
	ck_assert_ptr_nonnull(strstr(help_text(j, "error"), "yyy"));
	ck_assert_ptr_nonnull(strstr(help_text(j, "error"), "last words"));
	json_decref(j);
	end(&hd);
}
END_TEST

/* Housekeeping that does not come to an end, as on a busy machine, makes way for what somebody asks for and is begun anew behind it. */
START_TEST(makes_way)
{
	struct help_daemon hd;
	json_t *j;

	begin(&hd, "case \"$*\" in *--idle) [ -e \"$4/begun\" ] || { echo '{\"done\": 1, \"total\": 2}' >&3; : >\"$4/begun\"; exec sleep 60; };; esac\n"
		   "echo \"{\\\"result\\\": {\\\"said\\\": \\\"$*\\\"}}\" >&3");
	OK(jobs_add(hd.d.jobs, JOB_SEAL, &a));
	OK(daemon_job_new(&hd.d, "verify", &c, &j, NULL));
	json_decref(j);
	HELP_UNTIL(&hd, idle(&hd));
	ck_assert_str_eq(over, "verify c done\nseal a done\n");
	j = nth(&hd, 1);
	ck_assert_str_eq(help_text(j, "state"), "done");
	ck_assert_int_eq(json_integer_value(json_object_get(j, "done")), 0);
	ck_assert_ptr_nonnull(strstr(help_text(json_object_get(j, "result"), "said"), " --idle"));
	json_decref(j);
	j = nth(&hd, 0);
	ck_assert_ptr_null(strstr(help_text(json_object_get(j, "result"), "said"), "--idle"));
	json_decref(j);
	end(&hd);
}
END_TEST

/* The same when it is that work which somebody asks for. */
START_TEST(asked_for_later)
{
	struct help_daemon hd;
	json_t *j;

	begin(&hd, "case \"$*\" in *--idle) exec sleep 60;; esac");
	OK(jobs_add(hd.d.jobs, JOB_SEAL, &a));
	HELP_UNTIL(&hd, jobs_count(hd.d.jobs, JOB_RUNNING) == 1);
	OK(daemon_job_new(&hd.d, "seal", &a, &j, NULL));
	json_decref(j);
	HELP_UNTIL(&hd, idle(&hd));
	ck_assert_str_eq(over, "seal a done\n");
	end(&hd);
}
END_TEST

/* And when its recording is wanted. Of another one it is left alone. */
START_TEST(recording_wanted)
{
	struct help_daemon hd;
	uint64_t long_enough;

	begin(&hd, "case \"$*\" in *--idle) exec sleep 60;; esac");
	OK(jobs_add(hd.d.jobs, JOB_SEAL, &a));
	daemon_job_hurry(&hd.d, &b);
	long_enough = os_mono_ns() + 4000000000u;
	HELP_UNTIL(&hd, os_mono_ns() > long_enough);
	ck_assert_uint_eq(jobs_count(hd.d.jobs, JOB_RUNNING), 1);
	daemon_job_hurry(&hd.d, &a);
	HELP_UNTIL(&hd, idle(&hd));
	ck_assert_str_eq(over, "seal a done\n");
	end(&hd);
}
END_TEST

/* Who cancels work that is being put off means it. */
START_TEST(cancelled_while_put_off)
{
	struct help_daemon hd;
	uint64_t asked_to_end = os_mono_ns() + 3200000000u;
	json_t *j, *seal;

	begin(&hd, "case \"$*\" in *--idle) trap '' TERM; sleep 60 & wait; wait;; esac");
	OK(jobs_add(hd.d.jobs, JOB_SEAL, &a));
	OK(daemon_job_new(&hd.d, "verify", &c, &j, NULL));
	json_decref(j);
	HELP_UNTIL(&hd, os_mono_ns() > asked_to_end);
	seal = nth(&hd, 1);
	OK(daemon_job_cancel(&hd.d, help_text(seal, "id")));
	json_decref(seal);
	HELP_UNTIL(&hd, idle(&hd));
	ck_assert_str_eq(over, "seal a cancelled\nverify c done\n");
	end(&hd);
}
END_TEST

TEST_MAIN("daemon_jobs", order, makes_way, asked_for_later, recording_wanted, cancelled_while_put_off, failures, no_program, cancel, stubborn, refused, history, flood)
