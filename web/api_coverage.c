/* GET /coverage: which system calls recordings made and how they were handled, as a table over some of them or all. */
#define LOG_AREA "web.coverage"
#include "web/server_priv.h"

#include <errno.h>
#include <string.h>
#include "analysis/coverage.h"

/* One recording that was named, by its whole id. */
static int add_named(struct web_request *q, struct coverage *c, const char *hex)
{
	struct store_id id = { "" };
	int r;

	if (strlen(hex) != STORE_ID_LEN || hex[strspn(hex, "0123456789abcdef")])
		return web_problem(q, 400, "bad-request", "id must be 32 hexadecimal digits");
	memcpy(id.hex, hex, sizeof(id.hex));
	r = coverage_add(c, q->web->coverage, web_store(q), &id);
	return r == ERR_NOT_FOUND ? web_problem(q, 404, "no-such-recording", "there is no recording %s", id.hex) : r;
}

/* All that there are, oldest first. One that is removed meanwhile is simply not there. */
static int add_all(struct web_request *q, struct coverage *c)
{
	struct store_id *ids CLEANUP(freep) = NULL;
	size_t n = 0;
	int r = store_list(web_store(q), &ids, &n);

	for (size_t i = 0; i < n && r >= 0; i++) {
		r = coverage_add(c, q->web->coverage, web_store(q), &ids[i]);
		r = r == ERR_NOT_FOUND ? 0 : r;
	}
	return r;
}

int web_coverage_get(struct web_request *q)
{
	static const char *const types[] = { "application/json", "text/csv", NULL };
	struct coverage *c CLEANUP(coverage_freep) = NULL;
	struct buf b CLEANUP(buf_done) = { 0 };
	json_t *j = NULL;
	const char *hex;
	int type, r = web_accept(q, types, &type);

	if (r < 0)
		return web_replied(q);
	if (!web_store(q))
		return web_errinfo(q)->text[0] ? -EIO : -ENOMEM;
	r = coverage_new(&c);
	if (r >= 0 && !web_query(q, "id"))
		r = add_all(q, c);
	for (size_t i = 0; r >= 0 && !q->replied && (hex = web_query_nth(q, "id", i)); i++)
		r = add_named(q, c, hex);
	if (r < 0 || q->replied)
		return r < 0 ? r : 0;
	if (!type) {
		r = coverage_json(c, &j);
		return r < 0 ? r : web_reply_json(q, 200, j);
	}
	r = coverage_csv(c, &b);
	return r < 0 ? r : web_reply_buf(q, 200, "text/csv; charset=utf-8", &b);
}
