/* Request targets: path segments and query parameters, decoded once. Pure. */
#ifndef WEB_URL_PRIV_H
#define WEB_URL_PRIV_H

#include "base/err.h"
#include "web/limits_priv.h"

struct url_pair {
	const char *name, *value;
};

/* All strings lie in text. A slash that was sent as %2F is part of its segment, like any other byte. */
struct url {
	char *text; /* owned */
	char *path; /* as sent, without the query; owned */
	char *target; /* as sent; owned */
	size_t n_segments, n_pairs;
	const char *segment[URL_SEGMENTS_MAX];
	struct url_pair pair[URL_PAIRS_MAX];
};

/* "/a/b%20c?x=1&y=a+b". -EINVAL: does not begin with a slash, has bytes that no URL has, bad escapes, an escaped NUL, or a segment "." or "..";
 * ERR_LIMIT: too many segments or parameters; -ENOMEM. */
int url_parse(const char *target, struct url *ret) MUST_CHECK;
void url_done(struct url *u); /* for CLEANUP too; all-zero is fine */
/* The n-th value of that name, NULL. */
const char *url_query(const struct url *u, const char *name, size_t n);

#endif
