/* The environment of a recorded program: a base (--base-env) and the variables of -e. */
#ifndef CLI_GUESTENV_H
#define CLI_GUESTENV_H

#include "cli/opt.h"

enum guestenv_base { GUESTENV_HOST, GUESTENV_MINIMAL, GUESTENV_EMPTY, GUESTENV_MAX_ };
extern const char *const guestenv_base_names[]; /* in this order, NULL-terminated */

/* Builds it from our environment `host` (NULL-terminated) and the -e words "NAME=VALUE" or "NAME" (taken over from host).
 * Variables that steer hermit itself are left out of the base. The array and its strings are owned: guestenv_free().
 * -EINVAL: a word is no variable; -ENOENT: NAME is not set in host (both name it in ei); -ENOMEM. */
int guestenv_new(enum guestenv_base base, char *const *host, const struct opt_list *words, char ***ret, struct errinfo *ei) MUST_CHECK;
void guestenv_free(char **env);
void guestenv_freep(char ***env);
/* Value of a variable, NULL. */
const char *guestenv_get(char *const *env, const char *name);

#endif
