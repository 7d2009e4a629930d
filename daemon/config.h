/* What hermitd was told: hermitd.conf (docs/man/hermitd.conf.5), then the command line. */
#ifndef DAEMON_CONFIG_H
#define DAEMON_CONFIG_H

#include <stdbool.h>
#include <stdint.h>
#include "base/err.h"

struct daemon_config {
	char *data_dir;        /* absolute */
	char *runtime_dir;     /* $XDG_RUNTIME_DIR/hermit, else /tmp/hermit-UID (0700, ours, checked) */
	char *session_binary;  /* hermit: beside hermitd, else in PATH */
	char **listen;         /* "127.0.0.1:7777", "[::1]:7777", "unix:PATH"; NULL-terminated */
	char **hosts;          /* further names allowed in Host; NULL-terminated */
	char *token_file;      /* NULL: runtime_dir/token, made when it is not there */
	bool read_only;        /* the API refuses changes; housekeeping only recovers recordings of dead recorders */
	bool allow_start;      /* POST /recordings */
	bool keep_running;     /* at a stop: recordings go on, else they are ended cleanly */
	bool debuginfod;
	uint64_t max_size;     /* bytes, 0 = no limit */
	uint64_t max_age_s;    /* 0 = no limit */
	uint64_t disk_floor;   /* bytes of free space */
	uint64_t scan_every_s; /* integrity scan, 0 = never */
	uint64_t recorder_timeout_s; /* a recorder that is not heard of for so long is taken for hung */
	uint64_t max_recordings, max_sessions, max_inspectors; /* at once */
	uint64_t max_upload;   /* bytes */
	uint64_t max_connections;
};

void config_init(struct daemon_config *c); /* defaults */
void config_done(struct daemon_config *c);
/* Reads "name = value" lines (# comments, [sections] are ignored; lists are added to, an empty one begins anew); unknown names and bad values are errors with file and line in ei. */
int config_load(struct daemon_config *c, const char *path, struct errinfo *ei) MUST_CHECK;
/* One setting from the command line; the same names. */
int config_set(struct daemon_config *c, const char *name, const char *value, struct errinfo *ei) MUST_CHECK;
/* Fills in what depends on the environment (directories, binary) and checks the whole. */
int config_finish(struct daemon_config *c, struct errinfo *ei) MUST_CHECK;

#endif
