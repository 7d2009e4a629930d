/* The long-lived secret that clients of the HTTP API show. */
#ifndef DAEMON_TOKEN_H
#define DAEMON_TOKEN_H

#include <stdbool.h>
#include "base/err.h"

/* 32 random bytes as hex digits. */
#define TOKEN_HEX_BYTES 65
int token_random(char ret[TOKEN_HEX_BYTES]) MUST_CHECK;
/* Reads the token of a file (owned string); makes the file, 0600 with a random token, when it is not there. -EPERM: others may read or
 * change it; -EINVAL: too short, too long or not printable. ei names the file. */
int token_load(const char *path, char **ret, struct errinfo *ei) MUST_CHECK;
/* In a time that does not depend on where they differ. NULL equals nothing. */
bool token_equal(const char *secret, const char *given);

#endif
