/* hermitd's side of the control socket (daemon/ctl.h), in the loop. */
#ifndef DAEMON_CONTROL_H
#define DAEMON_CONTROL_H

#include "daemon/daemon.h"

struct control;

/* Takes sock and lock of ctl_listen(). version: borrowed for good. */
int control_new(struct daemon *d, int sock, int lock, const char *version, struct control **ret) MUST_CHECK;
/* Where the page is, in the order of web_url(); "" at first. Copied. */
int control_add_url(struct control *c, const char *url) MUST_CHECK;
/* Ends all connections and removes the socket. NULL is fine. */
void control_free(struct control *c);

#endif
