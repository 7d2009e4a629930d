/* The filter language of events (docs/HTTP.md): terms that are all to hold. Parsing is pure; a parsed filter never changes and may be used by several threads.
 *
 *     syscall:openat,read -failed path:*.conf #100..#200 passwd
 */
#ifndef ANALYSIS_FILTER_H
#define ANALYSIS_FILTER_H

#include <stdbool.h>
#include "analysis/evindex.h"
#include "analysis/evprint.h"

#define FILTER_TEXT_MAX 4096u
#define FILTER_TERMS_MAX 64u

struct filter;

/* Why a text is no filter: what, and the word of the text. */
struct filter_error {
	size_t offset, length;
	char text[160];
};

/* A term as it was understood. key: "" for text; value without quotes. Offsets are of the parsed text. */
struct filter_chip {
	size_t offset, length;
	const char *key, *value;
	bool negated;
};

/* Parses the text (UTF-8, any bytes). -EINVAL with err (may be NULL), -ENOMEM. An empty text gives a filter that all events pass. */
int filter_parse(const char *text, struct filter **ret, struct filter_error *err) MUST_CHECK;
int filter_copy(const struct filter *f, struct filter **ret) MUST_CHECK;
void filter_free(struct filter *f);
void filter_freep(struct filter **f);
/* One more term "key:value", the value as it is (not quoted); key NULL: text. Its chip has length 0. -EINVAL, -ENOMEM. */
int filter_add(struct filter *f, const char *key, const char *value, struct filter_error *err) MUST_CHECK;
/* ... times, or event numbers, from lo up to hi. */
int filter_add_times(struct filter *f, uint64_t lo, uint64_t hi) MUST_CHECK;
int filter_add_numbers(struct filter *f, uint64_t lo, uint64_t hi) MUST_CHECK;
size_t filter_terms(const struct filter *f);
bool filter_chip(const struct filter *f, size_t i, struct filter_chip *ret);
/* Appends a text that is the same for filters that mean the same. */
void filter_put_key(const struct filter *f, struct buf *out);
/* Do events have to be printed for it, whatever the index says? */
bool filter_wants_lines(const struct filter *f);

/* A filter at work on one index: what it has found out about names and threads. Not thread-safe. */
struct filter_run;
int filter_run_new(const struct filter *f, struct filter_run **ret) MUST_CHECK; /* f is borrowed */
void filter_run_free(struct filter_run *r);

enum filter_verdict {
	FILTER_NO,
	FILTER_YES,
	FILTER_LINE, /* the printed event decides: filter_line() */
};

/* Of event `number` of the view. -ENOMEM. */
int filter_record(struct filter_run *r, const struct evindex_view *v, uint64_t number) MUST_CHECK;
/* After FILTER_LINE: does the event pass, whose line this is? */
bool filter_line(const struct filter_run *r, const struct evindex_view *v, uint64_t number, const char *line, size_t n);
/* Does the pattern with * and ? fit? A pattern that begins with neither / nor * may begin at any part of the path. */
bool filter_glob(const char *pattern, const char *path);

#endif
