/* Records a process tree into a store. One recording per process: ptrace belongs to the calling thread. */
#ifndef RECORDER_RECORDER_H
#define RECORDER_RECORDER_H

#include <signal.h>
#include "store/writer.h"

enum rec_cpu_profile { REC_CPU_HOST, REC_CPU_V2, REC_CPU_V3, REC_CPU_MAX_ };

struct rec_options {
	const char *program;       /* path to run (resolved by the caller) */
	char *const *argv, *const *envp;
	const char *workdir;       /* NULL = current */
	const char *label;         /* NULL = none */
	uint64_t timeout_ns;       /* 0 = none: then the tree is killed, result ERR_TIMEOUT, nothing is committed */
	uint64_t checksum_every;   /* 0 = off: else memory checksums every K events */
	uint64_t timeslice_ns;     /* CPU time after which a computing thread gives way to others that could run; 0 = never */
	uint64_t watchdog_ns;      /* report what the threads do after so long without progress; 0 = never */
	bool chaos;                /* unlikely schedules, wake-ups and results, drawn from */
	uint64_t chaos_seed;
	enum rec_cpu_profile cpu_profile;
	const char *version;       /* hermit's version for the manifest */
	const char *source;        /* who had it recorded, kept in the manifest's options: "daemon", "http"; NULL = the user's own command */
	int stdin_fd, stdout_fd, stderr_fd; /* the guest's 0, 1, 2: usually 0, 1, 2 */
	/* Told that the program runs, then about once a second that the recorder works. NULL = nobody. */
	void (*started)(void *ctx, const struct store_id *id);
	void (*alive)(void *ctx);
	void *ctx;
};

struct rec_result {
	struct store_id id;
	int status;        /* wait status of the first process */
	bool truncated;    /* recording was cut (disk full, second signal) : reason */
	char reason[256];
	int signo;         /* the second signal, which ended it; 0 otherwise */
	uint64_t events;
};

/* Runs the program to the end of its process tree. Negative: nothing was recorded (ei says why: -ENOENT, -EACCES, -ENOEXEC with the kernel's
 * answer to execve, ERR_NO_PTRACE, ERR_TIMEOUT, store errors). 0: *ret is filled, recording committed.
 * SIGINT, SIGTERM, SIGHUP, SIGQUIT to the caller are handled during the call: the first is forwarded to the guest (not when the terminal already sent it to the guest's
 * foreground group), a second one within the recording ends it cleanly as truncated.
 * Others ask by store_ask():
 *     signal N       to the first process, or to any when that has ended
 *     kill           SIGKILL to all processes
 *     cut REASON     the recording ends as truncated, with that reason, and with it the program (which cannot go on without its tracer) */
int rec_record(struct store *s, const struct rec_options *opt, struct rec_result *ret, struct errinfo *ei) MUST_CHECK;

#endif
