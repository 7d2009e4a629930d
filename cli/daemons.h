/* The hermitd of this user, as the commands see it. Functions that give an int return 0, or the exit code after the failure was printed. */
#ifndef CLI_DAEMONS_H
#define CLI_DAEMONS_H

#include <jansson.h>
#include "store/store.h"

/* Connects to it, starting one for the store when there is none. */
int daemons_connect(struct store *s, int *ret_sock) MUST_CHECK;
/* Asks it (daemon/ctl.h) and waits for the reply (new reference). A refusal is printed as "what: why". */
int daemons_ask(int sock, const json_t *request, const int *fds, size_t n_fds, const char *what, json_t **ret) MUST_CHECK;

#endif
