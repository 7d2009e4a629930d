/* hermit session record: the child of hermitd that makes one recording. Its specification comes in a memory file, what becomes of it goes out as messages
 * (daemon/spec.h). It outlives hermitd: when nobody listens any more it records on. */
#define LOG_AREA "cli.session"
#include <errno.h>
#include <fcntl.h>
#include <linux/close_range.h>
#include <math.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/json.h"
#include "base/log.h"
#include "base/os.h"
#include "cli/cmd.h"
#include "cli/fail.h"
#include "cli/guestenv.h"
#include "cli/prog.h"
#include "cli/records.h"
#include "cli/stores.h"
#include "daemon/spec.h"
#include "store/maintain.h"

struct session_values {
	const char *data_dir, *source;
};

struct session {
	struct store *store;
	struct record_values v;
	char timeslice[32]; /* text of v's */
};

/* --- telling --- */

/* Takes the reference. Waits for hermitd only if it is `important`; that it is gone is fine. */
static void tell(json_t *message, bool important)
{
	char *text CLEANUP(freep) = NULL;
	size_t n;

	if (message && jsonx_dump(message, JSON_COMPACT, &text, &n) >= 0 &&
	    send(SPEC_FD_TELL, text, n, MSG_NOSIGNAL | (important ? 0 : MSG_DONTWAIT)) < 0)
		log_debug("tell hermitd: %s", strerror(errno));
	json_decref(message);
}

static void on_started(void *ctx, const struct store_id *id)
{
	const struct session *s = ctx;
	struct errinfo ei = { 0 };

	/* not before: the program would inherit it. The pipe of our log may end before we do. */
	signal(SIGPIPE, SIG_IGN);
	if (s->v.keep && store_annotate(s->store, id, NULL, true, &ei) < 0)
		log_warn("the recording could not be marked as kept: %s", ei.text);
	tell(json_pack("{ss ss}", "what", "started", "id", id->hex), true);
}

static void on_alive(void *ctx)
{
	(void)ctx;
	tell(json_pack("{ss}", "what", "alive"), false);
}

static int tell_error(int r, int code, const char *text)
{
	tell(json_pack("{ss si si so}", "what", "error", "error", r, "exit", code, "text", jsonx_string_lossy(text, strlen(text))), true);
	return code;
}

/* --- options --- */

static int take_label(const json_t *j, struct record_values *v)
{
	v->label = json_string_value(j);
	return v->label && record_label_is_good(v->label) ? 0 : -EINVAL;
}

static int take_number(const json_t *j, uint64_t max, uint64_t *ret)
{
	if (!json_is_integer(j) || json_integer_value(j) < 0 || (uint64_t)json_integer_value(j) > max)
		return -EINVAL;
	*ret = (uint64_t)json_integer_value(j);
	return 0;
}

/* true: what the bare option means. */
static int take_number_or_true(const json_t *j, uint64_t if_true, uint64_t *ret)
{
	if (json_is_boolean(j)) {
		*ret = json_is_true(j) ? if_true : 0;
		return 0;
	}
	return take_number(j, INT64_MAX, ret);
}

static int take_chaos(const json_t *j, struct record_values *v)
{
	return take_number_or_true(j, RECORD_CHAOS_RANDOM, &v->chaos);
}

static int take_checksum(const json_t *j, struct record_values *v)
{
	return take_number_or_true(j, RECORD_CHECKSUM_EVERY, &v->checksum);
}

static int take_timeout(const json_t *j, struct record_values *v)
{
	return take_number(j, RECORD_TIMEOUT_MAX, &v->timeout_s);
}

static int take_watchdog(const json_t *j, struct record_values *v)
{
	return take_number(j, RECORD_TIMEOUT_MAX, &v->watchdog_s);
}

static int take_timeslice(const json_t *j, struct record_values *v)
{
	struct session *s = CONTAINER_OF(v, struct session, v);
	uint64_t ns;

	if (!json_is_number(j))
		return -EINVAL;
	snprintf(s->timeslice, sizeof(s->timeslice), "%.6f", json_number_value(j));
	v->timeslice = fpclassify(json_number_value(j)) == FP_ZERO ? "off" : s->timeslice;
	return record_timeslice(v->timeslice, &ns) ? 0 : -EINVAL;
}

static int take_cpu_profile(const json_t *j, struct record_values *v)
{
	const char *name = json_string_value(j);

	for (int i = 0; name && i < REC_CPU_MAX_; i++)
		if (!strcmp(name, record_cpu_profiles[i])) {
			v->cpu_profile = i;
			return 0;
		}
	return -EINVAL;
}

static int take_keep(const json_t *j, struct record_values *v)
{
	v->keep = json_is_true(j);
	return json_is_boolean(j) ? 0 : -EINVAL;
}

static const struct {
	const char *name;
	int (*take)(const json_t *j, struct record_values *v);
} takers[] = {
	{ "label", take_label },     { "chaos", take_chaos },       { "checksum", take_checksum },       { "timeslice_ms", take_timeslice },
	{ "timeout_s", take_timeout }, { "watchdog_s", take_watchdog }, { "cpu_profile", take_cpu_profile }, { "keep", take_keep },
};

static int take_options(json_t *options, struct record_values *v, struct errinfo *ei)
{
	const char *name;
	json_t *j;

	json_object_foreach(options, name, j) {
		int r = -ENOENT;

		if (json_is_null(j))
			continue;
		for (size_t i = 0; i < ARRAY_SIZE(takers) && r == -ENOENT; i++)
			if (!strcmp(takers[i].name, name))
				r = takers[i].take(j, v);
		if (r < 0)
			return errinfo_set(ei, -EINVAL, r == -ENOENT ? "there is no option '%.100s'" : "option '%.100s' has a bad value", name);
	}
	return 0;
}

/* --- what the program inherits --- */

/* Not more than we may have ourselves. */
static void limit(int which, struct rlimit want)
{
	struct rlimit own;

	if (setrlimit((enum __rlimit_resource)which, &want) == 0 || errno != EPERM || getrlimit((enum __rlimit_resource)which, &own))
		return;
	want.rlim_max = MIN(want.rlim_max, own.rlim_max);
	want.rlim_cur = MIN(want.rlim_cur, want.rlim_max);
	if (setrlimit((enum __rlimit_resource)which, &want))
		log_debug("limit %d: %s", which, strerror(errno));
}

static int take_place(const struct record_spec *spec, struct errinfo *ei)
{
	if (spec->cwd && chdir(spec->cwd))
		return errinfo_set_r(ei, -errno, "enter %s", spec->cwd);
	if (!spec->cwd && fcntl(SPEC_FD_CWD, F_GETFD) >= 0 && fchdir(SPEC_FD_CWD))
		return errinfo_set_r(ei, -errno, "enter the directory");
	if (spec->umask != (mode_t)-1)
		umask(spec->umask);
	for (int i = 0; spec->has_limits && i < RLIM_NLIMITS; i++)
		limit(i, spec->limits[i]);
	return 0;
}

/* --- recording --- */

static int find_program(struct record_job *job)
{
	struct prog_fault fault = { 0 };
	char text[sizeof(fault.text) + sizeof(fault.advice) + 4];
	int r = prog_resolve(job->argv[0], guestenv_get(job->env, "PATH"), NULL, &job->program, &fault);

	if (r >= 0)
		return 0;
	snprintf(text, sizeof(text), "%s%s%s", fault.text, fault.advice[0] ? ": " : "", fault.advice);
	return tell_error(r, fault.code, r == -ENOMEM ? err_str(r) : text);
}

static int report(const struct record_job *job, int r, const struct errinfo *ei)
{
	const char *advice;
	int code = record_job_code(job, r, ei, &advice);
	char text[2048];

	snprintf(text, sizeof(text), "cannot %s %s: %s%s%s", advice ? "run" : "record", job->argv[0], ei->text[0] && !advice ? ei->text : err_str(r),
		 advice ? ": " : "", advice ? advice : "");
	return tell_error(r, code, text);
}

static int record(const struct session *s, struct record_job *job)
{
	struct rec_result res = { 0 };
	struct errinfo ei = { 0 };
	int r = record_job_run(job, s->store, &res, &ei);

	if (r < 0)
		return report(job, r, &ei);
	tell(json_pack("{ss ss si sb ss}", "what", "ended", "id", res.id.hex, "status", res.status, "truncated", res.truncated, "reason", res.reason), true);
	return 0;
}

/* Directory, limits and program, then the recording. */
static int run_job(struct session *s, struct record_spec *spec, struct record_job *job)
{
	struct errinfo ei = { 0 };
	int r = take_options(spec->options, &s->v, &ei);

	if (r >= 0)
		r = store_open(s->v.data_dir, true, &s->store, &ei);
	if (r >= 0)
		r = take_place(spec, &ei);
	if (r >= 0 && !spec->env)
		r = record_job_env(job);
	if (r >= 0)
		r = record_job_seed(job);
	if (r < 0)
		return tell_error(r, EXIT_INTERNAL, ei.text[0] ? ei.text : err_str(r));
	if (spec->env)
		job->env = TAKE(spec->env);
	r = find_program(job);
	return r ? r : record(s, job);
}

static int run_spec(const struct session_values *sv, struct record_spec *spec)
{
	struct session s = { .v = { .data_dir = sv->data_dir, .cpu_profile = REC_CPU_HOST } };
	struct record_job job = { .v = &s.v, .argv = spec->argv, .fds = { SPEC_FD_STDIN, SPEC_FD_STDOUT, SPEC_FD_STDERR },
				  .source = sv->source, .started = on_started, .alive = on_alive, .ctx = &s };
	int r = run_job(&s, spec, &job);

	record_job_done(&job);
	store_free(s.store);
	return r;
}

static int run(const struct cmd_call *call)
{
	const struct session_values *v = call->values;
	struct record_spec spec CLEANUP(spec_done) = { 0 };
	struct errinfo ei = { 0 };
	int r;

	if (fcntl(SPEC_FD_SPEC, F_GETFD) < 0)
		return cmd_usage(call->cmd, "this is started by hermitd");
	setsid(); /* no signals of hermitd's terminal */
	close_range(SPEC_FD_TELL, ~0u, CLOSE_RANGE_CLOEXEC);
	r = spec_load(SPEC_FD_SPEC, &spec, &ei);
	close(SPEC_FD_SPEC);
	return r < 0 ? tell_error(r, EXIT_INTERNAL, ei.text) : run_spec(v, &spec);
}

static const struct opt opts[] = {
	OPT_DATA_DIR(struct session_values, data_dir),
	{ .kind = OPT_STRING, .name = "source", .arg = "WHO", .offset = offsetof(struct session_values, source), .help = "Who wants it recorded" },
	{ .kind = OPT_END_ },
};

const struct cmd cmd_session_record = {
	.name = "session record",
	.summary = "Make one recording for hermitd",
	.usage = "--data-dir DIR",
	.about = "Makes the recording that hermitd specifies, and tells it what becomes of it.",
	.example = "    hermit session record --data-dir DIR  # with descriptors of hermitd's\n",
	.opts = opts,
	.values_size = sizeof(struct session_values),
	.hidden = true,
	.run = run,
};
