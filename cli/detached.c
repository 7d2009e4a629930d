/* hermit record start -d: hands the recording over to hermitd, with everything that the program would have had from here. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/json.h"
#include "base/os.h"
#include "cli/daemons.h"
#include "cli/fail.h"
#include "cli/records.h"
#include "cli/stores.h"
#include "daemon/ctl.h"
#include "daemon/spec.h"

/* As `hermit session record` takes them. */
static int options_to_json(const struct record_job *job, json_t *j)
{
	const struct record_values *v = job->v;
	uint64_t ns = 0;
	int r = v->label ? jsonx_set_str(j, "label", v->label) : 0;

	if (r == 0 && job->chaos_seed)
		r = jsonx_set_u64(j, "chaos", job->chaos_seed);
	if (r == 0 && v->checksum)
		r = jsonx_set_u64(j, "checksum", v->checksum);
	if (r == 0 && v->timeout_s)
		r = jsonx_set_u64(j, "timeout_s", v->timeout_s);
	if (r == 0 && v->watchdog_s)
		r = jsonx_set_u64(j, "watchdog_s", v->watchdog_s);
	if (r == 0 && v->timeslice && record_timeslice(v->timeslice, &ns))
		r = jsonx_set_new(j, "timeslice_ms", json_real((double)ns / 1e6));
	if (r == 0 && v->cpu_profile != REC_CPU_HOST)
		r = jsonx_set_str(j, "cpu_profile", record_cpu_profiles[v->cpu_profile]);
	return r;
}

static int make_spec(const struct record_job *job, int *ret_fd)
{
	json_t *options CLEANUP(jsonx_unrefp) = json_object();
	struct rlimit limits[RLIM_NLIMITS];
	struct daemon_record rec = { .argv = job->argv, .envp = job->env, .limits = limits, .options = options };
	sighandler_t old;
	int r = options_to_json(job, options);

	for (int i = 0; i < RLIM_NLIMITS; i++)
		if (getrlimit((enum __rlimit_resource)i, &limits[i]))
			limits[i] = (struct rlimit){ RLIM_INFINITY, RLIM_INFINITY };
	rec.umask = umask(0);
	umask(rec.umask & 077); /* for what a hermitd that is started now makes; the program gets it whole */
	old = signal(SIGXFSZ, SIG_IGN); /* the program's limit may be smaller than its description */
	r = r < 0 ? r : spec_new(&rec, ret_fd);
	signal(SIGXFSZ, old);
	return r;
}

/* null: three of /dev/null, opened each for itself, so that what goes to which can be told apart; or none. */
static int ask_start(int sock, struct store *s, const int *null, int spec, int dir, json_t **ret)
{
	char *data_dir CLEANUP(freep) = stores_abs_dir(s);
	json_t *ask CLEANUP(jsonx_unrefp) = json_pack("{ss so*}", "ask", "start", "data_dir", data_dir ? jsonx_bytes(data_dir) : NULL);
	const int fds[CTL_START_MAX_] = {
		[CTL_START_SPEC] = spec,
		[CTL_START_STDIN] = null ? null[0] : STDIN_FILENO,
		[CTL_START_STDOUT] = null ? null[1] : STDOUT_FILENO,
		[CTL_START_STDERR] = null ? null[2] : STDERR_FILENO,
		[CTL_START_CWD] = dir,
	};

	return ask ? daemons_ask(sock, ask, fds, ARRAY_SIZE(fds), "hermitd cannot record it", ret) : fail_memory();
}

static int hand_over(const struct record_job *job, const int *null, int spec, json_t **ret)
{
	const char *workdir = job->v->workdir ? job->v->workdir : ".";
	int dir CLEANUP(closep) = os_open(workdir, O_RDONLY | O_DIRECTORY, 0);
	int sock CLEANUP(closep) = -1;
	struct store *s CLEANUP(store_freep) = NULL;
	int r;

	if (dir < 0)
		return fail_r(dir, NULL, "cannot open the directory %s", workdir);
	r = stores_open(job->v->data_dir, true, &s);
	if (!r)
		r = daemons_connect(s, &sock);
	return r ? r : ask_start(sock, s, null, spec, dir, ret);
}

int record_detached(const struct record_job *job)
{
	const struct record_values *v = job->v;
	json_t *reply CLEANUP(jsonx_unrefp) = NULL;
	int spec CLEANUP(closep) = -1;
	int null[3] = { -1, -1, -1 };
	const char *id;
	int r = make_spec(job, &spec);

	for (size_t i = 0; i < ARRAY_SIZE(null) && v->no_stdio && r >= 0; i++)
		r = null[i] = os_open("/dev/null", O_RDWR, 0);
	r = r < 0 ? fail_r(r, NULL, "cannot hand over what is to be recorded") : hand_over(job, v->no_stdio ? null : NULL, spec, &reply);
	for (size_t i = 0; i < ARRAY_SIZE(null); i++)
		closep(&null[i]);
	if (r)
		return r;
	if (jsonx_get_str(reply, "id", &id) < 0)
		return fail_r(ERR_PROTOCOL, NULL, "hermitd gave no answer that makes sense");
	printf("%s\n", id);
	if (job->chaos_seed && !v->quiet)
		fprintf(stderr, "Chaos seed: %" PRIu64 "\n", job->chaos_seed);
	return 0;
}
