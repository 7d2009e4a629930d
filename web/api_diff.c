/* GET /diff and /diff/rows: two recordings side by side. */
#define LOG_AREA "web.diff"
#include "web/server_priv.h"

#include <errno.h>
#include <string.h>
#include "base/json.h"
#include "web/diffs_priv.h"

/* How long the summary waits for the work, and rows. */
#define SUMMARY_WAIT_MS 500u
#define ROWS_WAIT_MS 20000u
/* Rows shown in front of the first difference. */
#define BEFORE_DIVERGENCE 10u
#define ANSWER_VERSION 1

/* A recording that has ended, by a parameter of the query. -EINVAL: it has been answered. */
static int get_side(struct web_request *q, const char *name, struct store_id *ret, struct store_reader **ret_reader)
{
	const char *hex = web_query(q, name);
	struct store_id id = { "" };
	int r;

	if (!hex || strlen(hex) != STORE_ID_LEN || hex[strspn(hex, "0123456789abcdef")]) {
		(void)!web_problem(q, 400, "bad-request", "%s must be the id of a recording: 32 hexadecimal digits", name);
		return -EINVAL;
	}
	memcpy(id.hex, hex, sizeof(id.hex));
	r = web_reader(q, &id, ret_reader);
	if (r == ERR_NOT_FOUND) {
		(void)!web_problem(q, 404, "no-such-recording", "there is no recording %s", id.hex);
		return -EINVAL;
	}
	if (r >= 0 && store_reader_manifest(*ret_reader)->state == RECORDING_OPEN) {
		(void)!web_problem(q, 409, "busy", "recording %s has not ended", id.hex);
		return -EINVAL;
	}
	*ret = id;
	return r < 0 ? r : 0;
}

struct sides {
	struct store_id id[2];
	struct store_reader *reader[2];
	struct diffs_state s;
};

/* 0 with sides to be given back, or what the handler returns is *ret_result. */
static bool begin(struct web_request *q, unsigned wait_ms, struct sides *ret, int *ret_result)
{
	int r = get_side(q, "left", &ret->id[0], &ret->reader[0]);

	if (r >= 0)
		r = get_side(q, "right", &ret->id[1], &ret->reader[1]);
	if (r >= 0)
		r = diffs_get(q->web->diffs, &ret->id[0], &ret->id[1], wait_ms, &ret->s, web_errinfo(q));
	if (r == ERR_LIMIT && !web_errinfo(q)->text[0]) {
		web_set_header(q, "Retry-After", "5");
		(void)!web_problem(q, 429, "too-many-requests", "other recordings are being compared: try again");
	} else if (r == ERR_LIMIT) {
		(void)!web_problem(q, 422, "too-large", "%s", web_errinfo(q)->text);
	}
	*ret_result = q->replied ? 0 : r;
	return r >= 0;
}

/* --- the summary --- */

static const struct diff_step *step_of(const struct diff *d, const struct diff_row *row, int side)
{
	uint32_t i = side ? row->right : row->left;

	return i ? &d->side[side].step[i - 1] : NULL;
}

/* The line of a row's side, "" when it has none. */
static int line_of(const struct sides *v, const struct diff_row *row, int side, struct buf *out, struct errinfo *ei)
{
	const struct diff_step *s = step_of(v->s.d, row, side);

	buf_clear(out);
	return s ? diff_line(v->reader[side], s, out, ei) : 0;
}

/* Where that side stands: the event of the row, or of the last row before that has one. */
static uint64_t event_at(const struct diff *d, uint32_t row, int side)
{
	for (uint32_t i = row + 1; i-- > 0;) {
		const struct diff_step *s = step_of(d, &d->row[i], side);

		if (s)
			return s->number;
	}
	return 1;
}

static json_t *line_json(const struct buf *line, bool there)
{
	return there ? jsonx_string_lossy((const char *)line->data, line->len) : json_null();
}

static int divergence(struct web_request *q, const struct sides *v, json_t **ret)
{
	const struct diff *d = v->s.d;
	const struct diff_row *row = &d->row[d->first];
	struct buf line[2] = { { 0 }, { 0 } }, why CLEANUP(buf_done) = { 0 };
	int r = line_of(v, row, 0, &line[0], web_errinfo(q));

	if (r >= 0)
		r = line_of(v, row, 1, &line[1], web_errinfo(q));
	if (r >= 0) {
		diff_why(d, row, row->left ? buf_cstr(&line[0]) : NULL, row->right ? buf_cstr(&line[1]) : NULL, &why);
		*ret = json_pack("{s:o, s:o, s:o, s:o, s:o, s:o}", "left", jsonx_count(event_at(d, d->first, 0)), "right", jsonx_count(event_at(d, d->first, 1)),
				 "left_line", line_json(&line[0], row->left), "right_line", line_json(&line[1], row->right), "why",
				 jsonx_string_lossy((const char *)why.data, why.len), "thread",
				 jsonx_count(step_of(d, row, row->left ? 0 : 1)->thread));
		r = *ret ? 0 : -ENOMEM;
	}
	buf_done(&line[0]);
	buf_done(&line[1]);
	return r;
}

static json_t *calls_json(const struct diff *d)
{
	json_t *list = json_array();
	char name[24];

	for (uint32_t nr = 0; d && list && nr <= SYS_TABLE_MAX; nr++) {
		uint64_t left = d->side[0].calls[nr], right = d->side[1].calls[nr];

		if ((left || right) && json_array_append_new(list, json_pack("{s:s, s:o, s:o}", "name", nr < SYS_TABLE_MAX ? sys_name(nr, name) : "?", "left",
									     jsonx_count(left), "right", jsonx_count(right))) < 0) {
			json_decref(list);
			return NULL;
		}
	}
	return list;
}

static int summary(struct web_request *q, const struct sides *v, json_t **ret)
{
	const struct diff *d = v->s.d;
	json_t *first = NULL;
	int r = d && d->first < d->n_rows ? divergence(q, v, &first) : 0;

	if (r < 0)
		return r;
	*ret = json_pack("{s:s, s:s, s:s, s:f, s:b, s:o, s:{s:o, s:o, s:o, s:o}, s:o, s:[s,s,s,s], s:o, s:b}", "left", v->id[0].hex, "right", v->id[1].hex, "state",
			 d ? "ready" : "working", "progress", d ? 1.0 : v->s.permille / 1000.0, "equal", d && d->first == d->n_rows, "divergence",
			 first ? first : json_null(), "counts", "same", jsonx_count(d ? d->count[DIFF_SAME] : 0), "changed",
			 jsonx_count(d ? d->count[DIFF_CHANGED] : 0), "only_left", jsonx_count(d ? d->count[DIFF_LEFT] : 0), "only_right",
			 jsonx_count(d ? d->count[DIFF_RIGHT] : 0), "rows", jsonx_count(d ? d->n_rows : 0), "normalized", "pids", "addresses", "times", "random",
			 "syscalls", calls_json(d), "output_equal", d && diff_output_equal(d));
	return *ret ? 0 : -ENOMEM;
}

int web_diff_get(struct web_request *q)
{
	struct sides v = { 0 };
	json_t *j = NULL;
	int r;

	if (!begin(q, SUMMARY_WAIT_MS, &v, &r))
		return r;
	if (v.s.d) {
		web_etag(q, true, "diff-%s-%s-%d", v.id[0].hex, v.id[1].hex, ANSWER_VERSION);
		if (web_not_modified(q)) {
			diffs_put(q->web->diffs, &v.s);
			return web_replied(q);
		}
	}
	r = summary(q, &v, &j);
	diffs_put(q->web->diffs, &v.s);
	return r < 0 ? r : web_reply_json(q, 200, j);
}

/* --- rows --- */

static int put_row(struct web_request *q, const struct sides *v, const struct diff_row *row, struct buf line[2], json_t *list)
{
	static const char *const ops[] = { "same", "changed", "left", "right" };
	int r = line_of(v, row, 0, &line[0], web_errinfo(q));
	json_t *obj;

	if (r >= 0)
		r = line_of(v, row, 1, &line[1], web_errinfo(q));
	if (r < 0)
		return r;
	obj = json_pack("{s:s, s:o, s:o, s:o, s:o}", "op", ops[row->op], "left", row->left ? jsonx_count(step_of(v->s.d, row, 0)->number) : json_null(), "right",
			row->right ? jsonx_count(step_of(v->s.d, row, 1)->number) : json_null(), "left_line", line_json(&line[0], row->left), "right_line",
			line_json(&line[1], row->right));
	return json_array_append_new(list, obj) < 0 ? -ENOMEM : 0;
}

static int rows(struct web_request *q, const struct sides *v, uint64_t offset, uint64_t limit, json_t **ret)
{
	const struct diff *d = v->s.d;
	json_t *list CLEANUP(jsonx_unrefp) = json_array();
	struct buf line[2] = { { 0 }, { 0 } };
	int r = list ? 0 : -ENOMEM;

	for (uint64_t i = offset; r >= 0 && i < d->n_rows && i - offset < limit; i++)
		r = put_row(q, v, &d->row[i], line, list);
	buf_done(&line[0]);
	buf_done(&line[1]);
	if (r < 0)
		return r;
	*ret = json_pack("{s:O, s:o, s:o}", "items", list, "offset", jsonx_count(offset), "total", jsonx_count(d->n_rows));
	return *ret ? 0 : -ENOMEM;
}

int web_diff_rows_get(struct web_request *q)
{
	static const char *const places[] = { "divergence", NULL };
	struct sides v = { 0 };
	uint64_t offset, limit;
	json_t *j = NULL;
	int at, r = web_query_u64(q, "offset", 0, UINT32_MAX, 0, &offset);

	if (r >= 0)
		r = web_query_u64(q, "limit", 1, 1000, 100, &limit);
	if (r >= 0)
		r = web_query_enum(q, "at", places, -1, &at);
	if (r < 0)
		return web_replied(q);
	if (!begin(q, ROWS_WAIT_MS, &v, &r))
		return r;
	if (!v.s.d) {
		diffs_put(q->web->diffs, &v.s);
		return web_problem(q, 504, "timeout", "the recordings are still being compared: try again");
	}
	if (at == 0)
		offset = v.s.d->first > BEFORE_DIVERGENCE ? v.s.d->first - BEFORE_DIVERGENCE : 0;
	r = rows(q, &v, offset, at == 0 ? MAX(limit, (uint64_t)BEFORE_DIVERGENCE + 1) : limit, &j);
	diffs_put(q->web->diffs, &v.s);
	return r < 0 ? r : web_reply_json(q, 200, j);
}
