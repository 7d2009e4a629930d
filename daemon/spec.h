/* What is to be recorded, as it goes from a client through hermitd to the child that records: JSON in a memory file, so that an environment
 * of megabytes passes through sockets and loops as one descriptor. Only the child looks inside. */
#ifndef DAEMON_SPEC_H
#define DAEMON_SPEC_H

#include "daemon/daemon.h"

/* Descriptors of `hermit session record`: where it tells what becomes of it (below), the specification, the guest's 0, 1, 2 and (maybe) its directory. */
enum spec_fd { SPEC_FD_TELL = 3, SPEC_FD_SPEC, SPEC_FD_STDIN, SPEC_FD_STDOUT, SPEC_FD_STDERR, SPEC_FD_CWD, SPEC_FD_END_ };

/* Messages on SPEC_FD_TELL, a SOCK_SEQPACKET; each an object of at most SPEC_TELL_MAX bytes:
 *     {"what": "started", "id"}
 *     {"what": "alive"}                                      about once a second
 *     {"what": "ended", "status", "truncated", "reason"}     committed
 *     {"what": "error", "error": code of base/err.h, "exit": as hermit record start would, "text"}      nothing was recorded */
#define SPEC_TELL_MAX 8192

struct record_spec {
	char **argv, **env; /* env NULL: the recorder's own */
	char *cwd;          /* NULL: SPEC_FD_CWD, or the recorder's own */
	mode_t umask;       /* (mode_t)-1: the recorder's own */
	bool has_limits;
	struct rlimit limits[RLIM_NLIMITS];
	json_t *options;    /* object */
};

/* The memory file of rec (its descriptors and its source are not in it). */
int spec_new(const struct daemon_record *rec, int *ret_fd) MUST_CHECK;
/* From the file, which may come from anybody. ERR_CORRUPT, ERR_LIMIT with ei. spec_done() is due in any case. */
int spec_load(int fd, struct record_spec *ret, struct errinfo *ei) MUST_CHECK;
void spec_done(struct record_spec *s); /* for CLEANUP too */

#endif
