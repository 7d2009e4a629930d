/* The HTTP server: API and page on the addresses of the configuration, in threads of its own. */
#ifndef WEB_WEB_H
#define WEB_WEB_H

#include "daemon/daemon.h"

struct web;

/* fds: listening sockets that somebody else opened (socket activation), n of them; with none those of the configuration are opened. What cannot be
 * bound is an error that names the address. Takes the descriptors. */
int web_new(struct daemon *d, const int *fds, size_t n, struct web **ret, struct errinfo *ei) MUST_CHECK;
/* "http://127.0.0.1:7777" of the n-th listener, NULL behind the last (with the true port). */
const char *web_url(const struct web *w, size_t n);
/* Takes no new connections; those in work end within grace_ms. */
void web_free(struct web *w, int grace_ms);

#endif
