/* manifest.json: what a recording is, readable without opening its streams.
 *
 * Plain data: strings are owned and may be NULL for "not known". Unknown JSON members are kept and written back. */
#ifndef STORE_MANIFEST_H
#define STORE_MANIFEST_H

#include <jansson.h>
#include <stdbool.h>
#include "store/store.h"

#define MANIFEST_FORMAT_MAJOR 1
#define MANIFEST_FORMAT_MINOR 2

enum recording_state {
	RECORDING_OPEN,      /* "recording": being written */
	RECORDING_COMPLETE,  /* "complete": ended, raw journals */
	RECORDING_TRUNCATED, /* "truncated": recorder died or was cut; may be sealed as well */
	RECORDING_SEALED,    /* "sealed": complete and compressed */
	RECORDING_STATE_MAX_
};

struct manifest_stream {
	uint64_t raw_bytes;    /* of the uncompressed content (events or data), frame heads not counted */
	uint64_t stored_bytes; /* of the file */
	char sha256[65];       /* of the file, "" while open */
};

struct manifest_process {
	uint32_t thread;  /* number of its first thread */
	uint32_t parent;  /* thread number of the parent process, 0 for the first */
	int32_t pid;      /* as the guest saw it */
	int status;       /* wait status; -1 = still running at the end */
	uint64_t first_event, last_event;
	uint32_t threads; /* how many it had */
	char *command;    /* last exec'd argv, joined by space and shell-quoted */
	char *exe;        /* path of the last program */
};

struct manifest {
	int major, minor;
	struct store_id id;
	enum recording_state state;
	bool compressed;
	char *label, *reason; /* reason: why truncated */
	/* of the annotations beside manifest.json, when it was loaded from a store: */
	char *source;         /* who had it recorded: "daemon", "http", "import"; NULL = the user's own command */
	bool keep;            /* retention spares it (store_annotate()) */
	char **argv, **envp;  /* NULL-terminated, owned */
	char *cwd, *hermit_version, *hostname, *kernel, *cpu_model, *user;
	uint64_t start_wall_ns, duration_ns;
	int status;           /* wait status of the first process, -1 = unknown */
	uint64_t events, threads, processes;
	struct manifest_stream event_stream, data_stream;
	struct manifest_process *process; /* processes of them */
	json_t *cpu;      /* object: "features", "cpuid" table, "xcr0", "cpuid_faulting", "cpu_profile", "pinned_cpu", "cpu_count" */
	json_t *syscalls; /* object: name -> {"count", "executed", "answered", "refused", "did_not_return"}: docs/FORMAT.md */
	json_t *warnings; /* array of strings */
	json_t *options;  /* object: how it was recorded */
	json_t *extra;    /* unknown members */
	struct blob_id *blobs;
	size_t n_blobs;
};

void manifest_init(struct manifest *m);
void manifest_done(struct manifest *m); /* for CLEANUP too */
/* Reads STORE/ID/manifest.json. ERR_NEWER_FORMAT names the version in ei; ERR_CORRUPT names member and file. */
int manifest_load(struct store *s, const struct store_id *id, struct manifest *ret, struct errinfo *ei) MUST_CHECK;
/* Writes it atomically into the recording's directory. */
int manifest_save(struct store *s, const struct manifest *m) MUST_CHECK;
/* The same from and to JSON (new reference). */
int manifest_from_json(const json_t *j, struct manifest *ret, struct errinfo *ei) MUST_CHECK;
int manifest_to_json(const struct manifest *m, json_t **ret) MUST_CHECK;
const char *recording_state_name(enum recording_state s);
/* The process whose fatal fault (SIGSEGV, SIGABRT, ...) the recording is about, NULL = none: the first one if it ended by a signal at
 * all, else the last one to crash. */
const struct manifest_process *manifest_crashed(const struct manifest *m);

#endif
