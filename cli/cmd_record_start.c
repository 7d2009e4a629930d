/* hermit record start: runs a program and records it. After the guest's end: how to replay it, sealing in the background, and an
 * end like the guest's. */
#include <inttypes.h>
#include <string.h>
#include "base/str.h"
#include "cli/cmd.h"
#include "cli/ending.h"
#include "cli/fail.h"
#include "cli/guestenv.h"
#include "cli/records.h"
#include "cli/sealer.h"
#include "cli/stores.h"
#include "cli/term.h"


/* The last thing on stderr. Scripts look for "hermit replay ID", and the printed command works as it stands; so it says --autopilot
 * until there is a debugger to replay into. */
static void announce(struct store *s, const struct rec_result *res, uint64_t chaos)
{
	const char *style = term_style(TERM_ERR, TERM_BOLD), *plain = term_style(TERM_ERR, TERM_PLAIN);
	struct buf dir CLEANUP(buf_done) = { 0 };
	char *abs CLEANUP(freep) = stores_abs_dir(s);

	if (!stores_is_default(s)) {
		buf_printf(&dir, " --data-dir=");
		buf_put_shell_quoted(&dir, abs ? abs : store_dir(s));
	}
	fprintf(stderr, "\n%s%s%s %s, run:\n\n", style, res->truncated ? "RECORDING CUT OFF!" : "RECORDING COMPLETE!", plain,
		res->truncated ? "To replay up to there" : "To replay");
	fprintf(stderr, "    hermit replay %s --autopilot%s\n\n", res->id.hex, buf_cstr(&dir));
	if (chaos)
		fprintf(stderr, "Chaos seed: %" PRIu64 "\n\n", chaos);
}

static int check_values(const struct cmd_call *call)
{
	const struct record_values *v = call->values;
	uint64_t ns;

	if (v->timeslice && !record_timeslice(v->timeslice, &ns))
		return cmd_usage(call->cmd, "'--timeslice' takes milliseconds (0.05 to 10000) or 'off', not '%s'", v->timeslice);
	if (!v->label)
		return 0;
	if (!*v->label || strlen(v->label) > RECORD_LABEL_MAX)
		return cmd_usage(call->cmd, "a label ('--name') has 1 to %d characters", RECORD_LABEL_MAX);
	if (!record_label_is_good(v->label))
		return cmd_usage(call->cmd, "a label ('--name') may hold neither '/' nor control characters");
	return 0;
}

static int record(struct record_job *job)
{
	const struct record_values *v = job->v;
	struct store *s CLEANUP(store_freep) = NULL;
	struct rec_result res = { 0 };
	struct errinfo ei = { 0 };
	int r = stores_open(v->data_dir, true, &s);

	if (r)
		return r;
	r = record_job_run(job, s, &res, &ei);
	if (r < 0)
		return record_job_report(job, r, &ei);
	if (res.truncated)
		warn_user("the recording was cut off: %s", res.reason);
	if (!v->quiet || res.truncated)
		announce(s, &res, job->chaos_seed);
	if (!v->no_seal)
		sealer_start(s, &res.id);
	if (res.status == -1) /* cut off before the guest ended */
		return res.signo ? 128 + res.signo : EXIT_INTERNAL;
	return end_like(res.status);
}

static int run(const struct cmd_call *call)
{
	const struct record_values *v = call->values;
	struct record_job job CLEANUP(record_job_done) = { 0 };
	int r = check_values(call);

	if (!r)
		r = record_job_init(&job, v, call->argv, call->implied && !call->dashes);
	if (r)
		return r;
	if (v->detach)
		return record_detached(&job);
	return v->verify ? record_verify(&job) : record(&job);
}

/* clang-format off */
#define ROW(kind_, letter_, name_, member, ...) \
	{ .kind = kind_, .letter = letter_, .name = name_, .offset = offsetof(struct record_values, member), __VA_ARGS__ }

static const struct opt opts[] = {
	ROW(OPT_FLAG, 'd', "detach", detach, .conflicts = "verify",
	    .help = "Have hermitd record it, which is started if need be, print the recording's id and return; input, output, directory, environment, umask "
		    "and limits are those of here"),
	ROW(OPT_FLAG, 0, "no-stdio", no_stdio, .needs = "detach",
	    .help = "Give it /dev/null as input and output instead; 'hermit record logs' shows what it prints"),
	ROW(OPT_LIST, 'e', "env", env, .arg = "NAME[=VALUE]",
	    .help = "Set a variable for the program, or pass one on from here; may be repeated"),
	ROW(OPT_ENUM, 0, "base-env", base_env, .arg = "WHAT", .choices = guestenv_base_names, .preset = GUESTENV_HOST,
	    .help = "What its environment begins with: all of the host's, a fixed small one, or nothing"),
	ROW(OPT_STRING, 0, "workdir", workdir, .arg = "DIR",
	    .help = "Run it in DIR; a relative program path is looked up there"),
	ROW(OPT_STRING, 0, "name", label, .arg = "LABEL",
	    .help = "Label of the recording, usable instead of its id; of several with the same one the newest is meant"),
	OPT_DATA_DIR(struct record_values, data_dir),
	ROW(OPT_UINT, 0, "record-timeout", timeout_s, .arg = "SECONDS", .min = 1, .max = RECORD_TIMEOUT_MAX,
	    .help = "Kill the program after that time, keep no recording, exit with 124"),
	ROW(OPT_STRING, 0, "timeslice", timeslice, .arg = "MS",
	    .help = "CPU time after which a computing thread gives way to others of its process that could run (20); 'off': never"),
	ROW(OPT_UINT_IF, 0, "chaos", chaos, .arg = "SEED", .min = 1, .max = RECORD_CHAOS_RANDOM - 1, .preset = RECORD_CHAOS_RANDOM,
	    .help = "Look for rare failures: unlikely schedules, wake-ups, short reads and interruptions, drawn from SEED (else "
		    "a random one, printed at the end). The recording is the reproduction: the same seed need not give the same run"),
	ROW(OPT_UINT, 0, "watchdog", watchdog_s, .arg = "SECONDS", .min = 1, .max = RECORD_TIMEOUT_MAX,
	    .help = "When nothing has happened for that time, print what every thread does"),
	ROW(OPT_UINT_IF, 0, "checksum", checksum, .arg = "K", .min = 1, .max = UINT64_MAX, .preset = RECORD_CHECKSUM_EVERY,
	    .help = "Record a checksum of the program's memory every K events (1000), for 'replay --check'; slow"),
	ROW(OPT_ENUM, 0, "cpu-profile", cpu_profile, .arg = "CPU", .choices = record_cpu_profiles, .preset = REC_CPU_HOST,
	    .help = "CPU features the program may find, so that the recording also replays on older CPUs; needs CPUID faulting"),
	ROW(OPT_FLAG, 0, "verify", verify,
	    .help = "Record, replay and compare, printing the verdict; keeps nothing. The program's stdin is /dev/null, its output is not shown"),
	ROW(OPT_STRING, 0, "verify-json", verify_json, .arg = "FILE", .needs = "verify",
	    .help = "Write the verdict to FILE as one line of JSON"),
	ROW(OPT_FLAG, 0, "verify-strict", verify_strict, .needs = "verify",
	    .help = "Compare memory checksums and what system calls read as well"),
	ROW(OPT_FLAG, 0, "no-seal", no_seal, .conflicts = "detach",
	    .help = "Do not compress the recording in the background afterwards"),
	ROW(OPT_FLAG, 'q', "quiet", quiet,
	    .help = "Do not print how to replay the recording, unless it was cut off"),
	ROW(OPT_FLAG, 0, "strict", strict, .hidden = true, .help = "Accepted, without effect"),
	{ .kind = OPT_END_ },
};
/* clang-format on */

const struct cmd cmd_record_start = {
	.name = "record start",
	.summary = "Run a program and record it ('hermit record -- PROGRAM' for short)",
	.usage = "[OPTIONS] -- PROGRAM [ARGS]...",
	.about = "Runs PROGRAM as the shell would, and records it with all processes it starts. Its output, exit code and way to end "
		 "are its own; at the end the command to replay the recording is printed. Everything after PROGRAM is passed to it.\n"
		 "A recording whose recorder is killed, or whose disk fills up, is kept and replays up to there.",
	.example = "    hermit record -- make -j2\n"
		   "    hermit record start -e LANG=C --name nightly -- ./server --port 8080\n"
		   "    id=$(hermit record start -d --no-stdio -- ./server)\n",
	.opts = opts,
	.values_size = sizeof(struct record_values),
	.mode = OPT_GUEST,
	.min_args = 1,
	.max_args = CMD_ARGS_ANY,
	.is_default = true,
	.run = run,
};

const struct cmd cmd_record = {
	.name = "record",
	.summary = "Record a program; list and manage recordings",
	.usage = "[OPTIONS] -- PROGRAM [ARGS]...\n       hermit record COMMAND ...",
	.about = "Runs PROGRAM and records it ('hermit record -- PROGRAM' is the same as 'hermit record start -- PROGRAM'), or does something "
		 "with the recordings there are.",
	.example = "    hermit record -- ls -l\n"
		   "    hermit record list\n",
};
