/* What a service manager passes in the environment, by the protocols of sd_notify(3) and sd_listen_fds(3), without its library.
 * All of it is optional: without a service manager nothing happens. */
#ifndef DAEMON_SYSTEMD_H
#define DAEMON_SYSTEMD_H

#include <stdbool.h>
#include <sys/socket.h>
#include <sys/un.h>
#include "base/err.h"

#define SYSTEMD_FDS_MAX 16

struct systemd {
	struct sockaddr_un notify;
	socklen_t notify_len; /* 0 = nobody wants to know */
	int fds[SYSTEMD_FDS_MAX]; /* listening stream sockets, close-on-exec; owned until n_fds is 0 */
	size_t n_fds;
	uint64_t watchdog_ns; /* "WATCHDOG=1" is wanted at least so often; 0 = never */
};

/* Takes it out of the environment, so that children do not have it, before there are threads. Descriptors that are no listening stream sockets, and numbers that make
 * no sense, are errors; what is meant for another process is not ours. */
int systemd_begin(struct systemd *ret, struct errinfo *ei) MUST_CHECK;
void systemd_done(struct systemd *s); /* closes the sockets that it still owns */
/* Sends lines ("READY=1\nSTATUS=..."); 1: sent, 0: nobody wants to know; -EAGAIN: it does not read. */
int systemd_notify(const struct systemd *s, const char *text) MUST_CHECK;

#endif
