/* The coverage table as one HTML page that needs nothing else: no server, no network. */
#ifndef CLI_COVERAGE_PAGE_H
#define CLI_COVERAGE_PAGE_H

#include "analysis/coverage.h"

/* Appends the page. -ENOMEM, ERR_LIMIT. */
int coverage_page(const struct coverage *c, struct buf *out) MUST_CHECK;

#endif
