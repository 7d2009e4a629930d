/* See page_priv.h. A cursor is an offset: what came in at the front meanwhile shows some items twice, none is missed. */
#include "web/page_priv.h"

#include <errno.h>
#include <string.h>
#include "base/json.h"
#include "web/cursor_priv.h"
#include "web/server_priv.h"

#define LIMIT_DEFAULT 100
#define LIMIT_MAX 1000

static int parse(struct web_request *q, uint64_t *ret_limit, struct cursor *ret)
{
	const char *text = web_query(q, "cursor");
	int r = web_query_u64(q, "limit", 1, LIMIT_MAX, LIMIT_DEFAULT, ret_limit);

	if (r == 0 && text) {
		r = cursor_parse(text, cursor_filter(&q->url), ret);
		if (r < 0)
			q->error = web_problem(q, 400, "bad-request", "the cursor is not one of this list");
	}
	return r;
}

int web_reply_page(struct web_request *q, json_t *all)
{
	json_t *list CLEANUP(jsonx_unrefp) = all, *items CLEANUP(jsonx_unrefp) = json_array();
	size_t n = json_array_size(list), end;
	char next[CURSOR_BYTES] = "";
	struct cursor at = { 0 };
	uint64_t limit;

	if (!list || !items)
		return -ENOMEM;
	if (parse(q, &limit, &at) < 0)
		return web_replied(q);
	at.offset = MIN(at.offset, (uint64_t)n);
	end = MIN(n, (size_t)(at.offset + limit));
	for (size_t i = (size_t)at.offset; i < end; i++)
		if (json_array_append(items, json_array_get(list, i)) < 0)
			return -ENOMEM;
	if (end < n) {
		at.offset = end;
		memset(at.id, '0', STORE_ID_LEN); /* cursors name a recording; here there is none */
		cursor_print(&at, cursor_filter(&q->url), next);
	}
	return web_reply_json(q, 200,
			      json_pack("{s:O, s:o, s:I}", "items", items, "next_cursor", end < n ? json_string(next) : json_null(), "total",
					(json_int_t)n));
}
