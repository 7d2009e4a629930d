/* Lists that are short enough to be made whole, a page at a time. */
#ifndef WEB_PAGE_PRIV_H
#define WEB_PAGE_PRIV_H

#include "web/http_priv.h"

/* Answers with {"items", "next_cursor", "total"} by the parameters limit and cursor. Takes the reference to all, an array; NULL = -ENOMEM. */
int web_reply_page(struct web_request *q, json_t *all) MUST_CHECK;

#endif
