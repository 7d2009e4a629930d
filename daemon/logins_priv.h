/* One-time login tokens, with the time as an argument. */
#ifndef DAEMON_LOGINS_PRIV_H
#define DAEMON_LOGINS_PRIV_H

#include "daemon/daemon_priv.h"

int logins_add(struct logins *l, uint64_t now_ns, char ret[65]) MUST_CHECK;
/* True once, within LOGIN_LIFE_NS. */
bool logins_take(struct logins *l, uint64_t now_ns, const char *token);

#endif
