/* What 'record start' and 'record start --verify' share: the options, and running the recorder by them. */
#ifndef CLI_RECORDS_H
#define CLI_RECORDS_H

#include "cli/opt.h"
#include "recorder/recorder.h"

#define RECORD_TIMESLICE "20" /* ms, of --timeslice */
#define RECORD_CHAOS_RANDOM UINT64_MAX /* --chaos without a seed */
#define RECORD_CHECKSUM_EVERY 1000 /* events, when --checksum names no number */

struct record_values {
	const char *data_dir, *workdir, *label, *verify_json, *timeslice;
	struct opt_list env;
	int base_env, cpu_profile;
	uint64_t timeout_s, checksum, chaos, watchdog_s;
	bool verify, verify_strict, strict, no_seal, quiet, keep, detach, no_stdio;
};

#define RECORD_TIMEOUT_MAX (100u * 365 * 86400) /* seconds */
extern const char *const record_cpu_profiles[]; /* by enum rec_cpu_profile, NULL-terminated */
#define RECORD_LABEL_MAX 100
/* 1 to RECORD_LABEL_MAX bytes, no '/' and no control characters. */
bool record_label_is_good(const char *label);

/* Milliseconds with a fraction, or "off" (0), as nanoseconds in *ret. False: neither. */
bool record_timeslice(const char *text, uint64_t *ret_ns);

/* What is to be recorded, found and checked. */
struct record_job {
	const struct record_values *v;
	char *program; /* owned */
	char **argv;   /* borrowed */
	char **env;    /* owned */
	uint64_t chaos_seed; /* 0 = no chaos */
	int fds[3];    /* the guest's 0, 1, 2 */
	const char *source; /* as in rec_options */
	void (*started)(void *ctx, const struct store_id *id);
	void (*alive)(void *ctx);
	void *ctx;
};

/* Fills job for argv (at least one word). 0, or the exit code after the fault was printed. record_job_done() is due in any case. */
int record_job_init(struct record_job *job, const struct record_values *v, char **argv, bool implied) MUST_CHECK;
void record_job_done(struct record_job *job); /* for CLEANUP too */
/* Parts of it: the environment that v asks for, the seed of chaos. Errors of base/err.h, nothing is printed. */
int record_job_env(struct record_job *job) MUST_CHECK;
int record_job_seed(struct record_job *job) MUST_CHECK;
/* Records into s. Results and errors of rec_record(). */
int record_job_run(const struct record_job *job, struct store *s, struct rec_result *ret, struct errinfo *ei) MUST_CHECK;
/* The exit code for r of record_job_run(); *ret_advice is set when it is the kernel's answer to execve(), else NULL. */
int record_job_code(const struct record_job *job, int r, const struct errinfo *ei, const char **ret_advice);
/* Prints why record_job_run() failed with r; exit code. */
int record_job_report(const struct record_job *job, int r, const struct errinfo *ei);

/* Has hermitd record it, prints the id; exit code. */
int record_detached(const struct record_job *job);
/* Records into a store of its own, replays, compares; the exit code of --verify. */
int record_verify(struct record_job *job);

#endif
