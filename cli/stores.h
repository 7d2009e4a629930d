/* Opening the store and naming recordings, with errors reported to the user: what most commands begin with.
 * Functions that give an int return 0, or the exit code after the failure was printed. */
#ifndef CLI_STORES_H
#define CLI_STORES_H

#include "cli/opt.h"
#include "store/manifest.h"

/* The row of every command's table for --data-dir; member is the const char * of its options struct. */
#define OPT_DATA_DIR(type, member) \
	{ \
		.kind = OPT_STRING, .name = "data-dir", .arg = "DIR", .offset = offsetof(type, member), .env = "HERMIT_DATA_DIR", \
		.help = "Directory of the recordings; without it $XDG_DATA_HOME/hermit or ~/.local/share/hermit" \
	}

/* Opens the store in dir (NULL: the default), turning recordings that a dead recorder left behind into truncated ones. */
int stores_open(const char *dir, bool create, struct store **ret) MUST_CHECK;
/* The same, but *ret is NULL when the directory does not exist: then there are simply no recordings. */
int stores_open_if_there(const char *dir, struct store **ret) MUST_CHECK;
/* Resolves an id, abbreviation or label; NULL and "last" are the newest recording. */
int stores_resolve(struct store *s, const char *text, struct store_id *ret) MUST_CHECK;
/* Opens the store in dir and resolves. */
int stores_open_resolve(const char *dir, const char *text, struct store **ret, struct store_id *ret_id) MUST_CHECK;
/* The same, but NULL is the newest one that is being recorded, if there is any. */
int stores_open_resolve_live(const char *dir, const char *text, struct store **ret, struct store_id *ret_id) MUST_CHECK;
/* For calls that give ERR_BUSY while the background sealer of a finished recording works on it: sleeps a moment and says whether to
 * try again. False for other results, while it is being recorded, and after STORES_PATIENCE_S seconds. */
#define STORES_PATIENCE_S 120
struct stores_patience {
	uint64_t until_ns; /* 0 = not waiting yet */
	bool told;
};
bool stores_retry(struct stores_patience *p, struct store *s, const struct store_id *id, int r);
/* Is the store in the directory that is used when none is named? */
bool stores_is_default(const struct store *s);
/* Absolute path of the store's directory, owned; NULL when out of memory. */
char *stores_abs_dir(const struct store *s);

#endif
