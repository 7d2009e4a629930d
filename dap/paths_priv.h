/* Names of source files: prefixes that are exchanged for others, two spellings of one file, file: URIs. Pure, but for path_map_parse(), which asks for the
 * working directory. */
#ifndef DAP_PATHS_PRIV_H
#define DAP_PATHS_PRIV_H

#include <stdbool.h>
#include <stddef.h>
#include "base/json.h"

/* Rules of one map: a launch configuration may hold so many, and bytes of one path. */
#define PATH_RULES_MAX 256u
#define PATH_BYTES_MAX 4096u

struct path_rule {
	char *from, *to; /* owned; no slash at the end, but for "/" */
};

/* Zeroed is a valid empty one. */
struct path_map {
	struct path_rule *v; /* owned; the longest .from first */
	size_t n;
};

void path_map_done(struct path_map *m); /* for CLEANUP too */
/* A launch configuration's sourceMap: {"recorded prefix": "local prefix", ...}, or [["recorded", "local"], ...] whose elements may also be
 * {"from": ..., "to": ...}. Relative local prefixes are of the working directory. NULL and null: an empty map. -EINVAL with what is wrong in ei. */
int path_map_parse(const json_t *j, struct path_map *ret, struct errinfo *ei) MUST_CHECK;
/* Adds a rule, or changes the one of that prefix. ERR_LIMIT, -ENOMEM. */
int path_map_add(struct path_map *m, const char *from, const char *to) MUST_CHECK;
/* Removes the rule that path_map_apply() takes for this path, if there is one. */
void path_map_remove(struct path_map *m, const char *path);
/* The path with its prefix exchanged: owned; NULL when no rule fits (or memory has run out). Prefixes end at slashes; the longest that fits is taken. */
char *path_map_apply(const struct path_map *m, const char *path);

/* Without empty and "." components, and ".." taken with what is before it. Owned, NULL = no memory. "" becomes ".". */
char *path_normalise(const char *path);
/* Of two names of one file: what differs, as prefixes (alias /link/src/a.c, real /disk/src/a.c: /link and /disk). False: they are equal, or only the last
 * component is. *ret_from is of real, *ret_to of alias; owned. */
bool path_alias(const char *real, const char *alias, char **ret_from, char **ret_to);
/* The last component, borrowed. */
const char *path_base(const char *path);
/* gdb's name of a file of the recording without the "target:" in front; borrowed. */
const char *path_plain(const char *name);

bool path_is_uri(const char *s);
/* The path of a file: URI of this machine, owned; NULL: it is none. */
char *path_from_uri(const char *uri);
char *path_to_uri(const char *path); /* of an absolute path; owned, NULL = no memory */

#endif
