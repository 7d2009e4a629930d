/* The table of words of the debug console. Lookup and taking lines apart are pure. */
#ifndef DAP_WORDS_PRIV_H
#define DAP_WORDS_PRIV_H

#include "dap/places_priv.h"

struct word_call;
typedef int (*word_fn)(struct dap *d, const struct word_call *c, struct buf *out);

struct word {
	const char *name, *args, *what;
	const char *same;  /* another name of that word; then the rest is empty */
	word_fn fn;
	const char *mi;    /* of movements */
	bool reverse;
};

struct word_call {
	const struct word *word;
	const char *args; /* behind the word, without blanks around; "" = none */
	int64_t frame_id;
};

/* The word that the line begins with; *ret_args (owned) is what comes behind it. 1; 0: none of ours; -ENOMEM. */
int words_find(const char *line, const struct word **ret, char **ret_args) MUST_CHECK;
/* Does a word take these arguments: "" none, "[X]" perhaps, "X" at least one? */
bool words_fits(const struct word *w, const char *args);
const struct word *words_at(size_t i); /* NULL behind the last one */

/* "LOCATION TEXT if COND" in pieces of s, which is changed; *ret_condition is NULL when there is none. False: there is no text. */
bool words_log_all(char *s, const char **ret_location, const char **ret_text, const char **ret_condition);
/* "A-B", "A-", "A"; "": around `here`. False: it is no range. */
bool words_range(const char *s, uint64_t here, uint64_t *ret_from, uint64_t *ret_to);

#endif
