/* Prepares and runs one recording: see records.h. Everything that can be told beforehand (environment, working directory, the program
 * itself) is refused here, so that what rec_record() reports is about recording. */
#include "cli/records.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>
#include "base/build.h"
#include "base/str.h"
#include "cli/cmd.h"
#include "cli/fail.h"
#include "cli/guestenv.h"
#include "cli/prog.h"

#define TIMESLICE_MIN_MS 0.05
#define TIMESLICE_MAX_MS 10000

int record_job_env(struct record_job *job)
{
	return guestenv_new((enum guestenv_base)job->v->base_env, environ, &job->v->env, &job->env, NULL);
}

static int build_env(struct record_job *job)
{
	const struct record_values *v = job->v;
	struct errinfo ei = { 0 };
	int r = guestenv_new((enum guestenv_base)v->base_env, environ, &v->env, &job->env, &ei);

	if (r >= 0)
		return 0;
	if (r == -EINVAL)
		return cmd_usage(&cmd_record_start, "%s", ei.text);
	if (r == -ENOMEM)
		return fail_memory();
	fail(EXIT_INTERNAL, "%s", ei.text);
	fail_cause("set it, or give a value: -e NAME=VALUE");
	return EXIT_INTERNAL;
}

/* "hermit record lits": perhaps a command of ours was meant. */
static void hint_command(const char *word)
{
	struct nearest near;

	nearest_init(&near, word);
	for (size_t i = 0; cmd_table[i]; i++)
		if (cmd_within(cmd_table[i], &cmd_record))
			nearest_try(&near, cmd_word(cmd_table[i]));
	if (near.found)
		fail_cause("did you mean 'hermit record %s'?", near.found);
}

static int find_program(struct record_job *job, bool implied)
{
	struct prog_fault fault;
	int r = prog_resolve(job->argv[0], guestenv_get(job->env, "PATH"), job->v->workdir, &job->program, &fault);

	if (r >= 0)
		return 0;
	if (r == -ENOMEM)
		return fail_memory();
	fail(fault.code, "%s", fault.text);
	if (fault.advice[0])
		fail_cause("%s", fault.advice);
	if (implied && fault.code == EXIT_NOT_FOUND)
		hint_command(job->argv[0]);
	return fault.code;
}

int record_job_seed(struct record_job *job)
{
	uint64_t seed = job->v->chaos;

	if (seed == RECORD_CHAOS_RANDOM) {
		if (getrandom(&seed, sizeof(seed), 0) < 0)
			return -errno;
		seed = seed % 1000000000 + 1;
	}
	job->chaos_seed = seed;
	return 0;
}

int record_job_init(struct record_job *job, const struct record_values *v, char **argv, bool implied)
{
	int r;

	*job = (struct record_job){ .v = v, .argv = argv, .fds = { STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO } };
	if (record_job_seed(job) < 0)
		return fail_memory();
	r = build_env(job);
	return r ? r : find_program(job, implied);
}

void record_job_done(struct record_job *job)
{
	free(job->program);
	guestenv_free(job->env);
	*job = (struct record_job){ 0 };
}

const char *const record_cpu_profiles[REC_CPU_MAX_ + 1] = {
	[REC_CPU_HOST] = "host", [REC_CPU_V2] = "x86-64-v2", [REC_CPU_V3] = "x86-64-v3",
};

bool record_label_is_good(const char *label)
{
	for (const char *p = label; *p; p++)
		if ((unsigned char)*p < 0x20 || *p == 0x7f || *p == '/')
			return false;
	return *label && strlen(label) <= RECORD_LABEL_MAX;
}

bool record_timeslice(const char *text, uint64_t *ret_ns)
{
	char *end;
	double ms;

	*ret_ns = 0;
	if (!strcmp(text, "off"))
		return true;
	ms = strtod(text, &end);
	if (end == text || *end || !(ms >= TIMESLICE_MIN_MS && ms <= TIMESLICE_MAX_MS))
		return false;
	*ret_ns = (uint64_t)(ms * 1e6);
	return true;
}

int record_job_run(const struct record_job *job, struct store *s, struct rec_result *ret, struct errinfo *ei)
{
	const struct record_values *v = job->v;
	struct rec_options opt = {
		.program = job->program,
		.argv = job->argv,
		.envp = job->env,
		.workdir = v->workdir,
		.label = v->label,
		.timeout_ns = v->timeout_s * 1000000000u,
		/* strict verification compares memory, so there have to be checksums */
		.checksum_every = v->checksum || !v->verify_strict ? v->checksum : RECORD_CHECKSUM_EVERY,
		.watchdog_ns = v->watchdog_s * 1000000000u,
		.chaos = job->chaos_seed != 0,
		.chaos_seed = job->chaos_seed,
		.cpu_profile = (enum rec_cpu_profile)v->cpu_profile,
		.version = build_version(),
		.source = job->source,
		.started = job->started,
		.alive = job->alive,
		.ctx = job->ctx,
		.stdin_fd = job->fds[0],
		.stdout_fd = job->fds[1],
		.stderr_fd = job->fds[2],
	};

	if (!record_timeslice(v->timeslice ? v->timeslice : RECORD_TIMESLICE, &opt.timeslice_ns))
		return errinfo_set(ei, -EINVAL, "'%s' is no time slice", v->timeslice);
	return rec_record(s, &opt, ret, ei);
}

/* Answers of the kernel to execve(). */
static const struct {
	int r;
	enum exit_code code;
	const char *advice;
} exec_answers[] = {
	{ -ENOENT, EXIT_NOT_FOUND, "the file, or an interpreter it needs, is not there (any more)" },
	{ -EACCES, EXIT_NOT_EXECUTABLE, "check the permissions of the file and its directories, and that no noexec mount is in the way" },
	{ -ENOEXEC, EXIT_NOT_EXECUTABLE, "it is neither an x86-64 program nor a script with a #! line; scripts: hermit record -- sh FILE" },
	{ -EPERM, EXIT_NOT_EXECUTABLE, "the kernel does not let you run it" },
	{ -ETXTBSY, EXIT_NOT_EXECUTABLE, "the file is being written" },
	{ -E2BIG, EXIT_NOT_EXECUTABLE, "arguments and environment are too long together" },
};

/* The same numbers come from a store that may not be written: the recorder's text for execve tells them apart. */
static bool is_exec_answer(const struct record_job *job, const struct errinfo *ei)
{
	return str_has_prefix(ei->text, "run ") && str_has_prefix(ei->text + 4, job->program);
}

int record_job_code(const struct record_job *job, int r, const struct errinfo *ei, const char **ret_advice)
{
	*ret_advice = NULL;
	for (size_t i = 0; i < ARRAY_SIZE(exec_answers); i++) {
		if (exec_answers[i].r != r || !is_exec_answer(job, ei))
			continue;
		*ret_advice = exec_answers[i].advice;
		return exec_answers[i].code;
	}
	return r == ERR_TIMEOUT ? EXIT_DEADLINE : EXIT_INTERNAL;
}

int record_job_report(const struct record_job *job, int r, const struct errinfo *ei)
{
	const char *advice;
	int code = record_job_code(job, r, ei, &advice);

	if (advice) {
		fail((enum exit_code)code, "cannot run %s", job->program);
		fail_cause("%s", err_str(r));
		fail_cause("%s", advice);
		return code;
	}
	if (r == ERR_TIMEOUT)
		return fail(EXIT_DEADLINE, "Recording timed out after %llu seconds; the guest was killed",
			    (unsigned long long)job->v->timeout_s);
	return fail_r(r, ei, "cannot record %s", job->argv[0]);
}
