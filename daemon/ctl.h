/* The control socket's protocol: RUNTIME_DIR/control.sock, SOCK_SEQPACKET, one JSON object a message, descriptors beside it. Only
 * processes of the same user may speak there, and both sides check that.
 *
 *     {"ask": "status"}                              {"pid", "version", "data_dir", "urls": [...], "recording": n}
 *     {"ask": "start", "data_dir", "source"?}        {"id"}; descriptors: CTL_START_*
 *     {"ask": "login"}                               {"url": "http://127.0.0.1:7777/login?token=..."}; works once, for a minute
 *
 * What cannot be done: {"error": text, "code": of base/err.h, "exit": exit code}. A message that is none ends the connection. */
#ifndef DAEMON_CTL_H
#define DAEMON_CTL_H

#include <jansson.h>
#include <stdbool.h>
#include "base/err.h"

#define CTL_MESSAGE_MAX (64u << 10)
#define CTL_FDS_MAX 8
/* Descriptors of "start": the specification (daemon/spec.h), 0, 1, 2 and the directory of the program. */
enum ctl_start_fd { CTL_START_SPEC, CTL_START_STDIN, CTL_START_STDOUT, CTL_START_STDERR, CTL_START_CWD, CTL_START_MAX_ };

struct ctl_message {
	json_t *body; /* an object */
	int fds[CTL_FDS_MAX];
	size_t n_fds;
};

void ctl_message_done(struct ctl_message *m); /* for CLEANUP too; closes what is left in it */
/* Sends; fds are borrowed. ERR_LIMIT: too large; -EAGAIN: the other side does not read (does not wait); -EPIPE. */
int ctl_send(int sock, const json_t *body, const int *fds, size_t n_fds) MUST_CHECK;
/* Receives one message, waiting only if the socket does. 1; 0: the other side has closed; -EAGAIN; ERR_PROTOCOL: no JSON object, too large,
 * too many descriptors. */
int ctl_receive(int sock, struct ctl_message *ret) MUST_CHECK;

/* Path of the socket, owned; NULL when out of memory. */
char *ctl_path(const char *runtime_dir);
/* A listening socket there (0600). ERR_BUSY: another hermitd answers there; a dead one's is replaced. *ret_lock is to stay open as long. */
int ctl_listen(const char *runtime_dir, int *ret_sock, int *ret_lock, struct errinfo *ei) MUST_CHECK;
/* Connects as a client. -ENOENT, -ECONNREFUSED: nobody is there; -EPERM: somebody else's. */
int ctl_connect(const char *runtime_dir, int *ret_sock, struct errinfo *ei) MUST_CHECK;
/* Is the process at the other end of the same user (or root)? */
bool ctl_peer_is_ours(int sock);
/* Asks and waits for the reply (new reference): what the other side refused comes back as its code, with the text in ei; the reply is given then too. */
int ctl_ask(int sock, const json_t *request, const int *fds, size_t n_fds, int timeout_ms, json_t **ret, struct errinfo *ei) MUST_CHECK;

#endif
