/* Listening sockets. */
#ifndef WEB_LISTEN_PRIV_H
#define WEB_LISTEN_PRIV_H

#include <stdbool.h>
#include "base/err.h"

struct listen_info {
	char *url; /* "http://127.0.0.1:7777", "unix:PATH"; owned */
	unsigned port;
	bool loopback, local; /* local: a unix socket */
};

/* Opens one of the configuration. ei names it: -EINVAL, -EADDRINUSE, -EACCES, ... A unix socket is for its owner (0600); one that a dead daemon left
 * is replaced. */
int listen_open(const char *text, int *ret_fd, struct errinfo *ei) MUST_CHECK;
/* What a socket is bound to, with the true port. */
int listen_describe(int fd, struct listen_info *ret) MUST_CHECK;
/* Is the other side of a unix socket a process of our user (or root)? */
bool listen_same_user(int fd);

#endif
