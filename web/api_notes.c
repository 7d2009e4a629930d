/* Bookmarks: places of a recording with a note, kept beside it (store/notes.h) for all who look at it. */
#define LOG_AREA "web.notes"
#include "web/server_priv.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "base/json.h"
#include "base/os.h"
#include "base/str.h"
#include "store/notes.h"
#include "web/json_priv.h"
#include "web/recording_priv.h"

/* What a body says. Strings are borrowed from it. */
struct wanted {
	const char *text, *author, *position; /* NULL: not given */
	uint64_t event, thread;
	bool has_event;
};

/* One change of the notes, under their lock. */
struct change {
	struct web_request *q;
	const struct store_id *id;
	struct wanted want;
	json_t *reply; /* owned */
};

static json_t *note_json(const struct note *n)
{
	json_t *j = json_pack("{s:s, s:o, s:o, s:o, s:s, s:o, s:o, s:o}", "id", n->id, "event", jsonx_count(n->event), "position", jsonx_text(n->position),
			      "thread", n->thread ? jsonx_count(n->thread) : json_null(), "text", n->text, "author", web_json_str(n->author), "created",
			      jsonx_time(n->created_ns), "changed", jsonx_time(n->changed_ns));

	return j;
}

static void set_etag(struct web_request *q, const struct note *n)
{
	web_etag(q, false, "%s-%llu", n->id, (unsigned long long)n->revision);
	q->no_cache = true;
}

/* --- GET --- */

int web_bookmarks_list(struct web_request *q)
{
	struct notes n CLEANUP(notes_done) = { 0 };
	struct store_id id;
	uint64_t hash = STR_HASH;
	json_t *items, *j;
	int r = web_recording(q, &id);

	if (r < 0)
		return web_replied(q);
	r = web_store(q) ? notes_load(web_store(q), &id, &n, web_errinfo(q)) : -ENOMEM;
	if (r < 0)
		return r;
	for (size_t i = 0; i < n.n; i++) {
		hash = str_hash(hash, n.v[i].id, strlen(n.v[i].id));
		hash = str_hash(hash, &n.v[i].revision, sizeof(n.v[i].revision));
	}
	web_etag(q, false, "%s-%zu-%016llx", id.hex, n.n, (unsigned long long)hash);
	q->no_cache = true;
	if (web_not_modified(q))
		return 0;
	items = json_array();
	for (size_t i = 0; items && i < n.n; i++)
		if (json_array_append_new(items, note_json(&n.v[i])) < 0) {
			json_decref(items);
			return -ENOMEM;
		}
	j = json_pack("{s:o, s:n, s:I}", "items", items, "next_cursor", "total", (json_int_t)n.n);
	return web_reply_json(q, 200, j);
}

int web_bookmark_get(struct web_request *q)
{
	struct notes n CLEANUP(notes_done) = { 0 };
	const struct note *at;
	struct store_id id;
	int r = web_recording(q, &id);

	if (r < 0)
		return web_replied(q);
	r = web_store(q) ? notes_load(web_store(q), &id, &n, web_errinfo(q)) : -ENOMEM;
	if (r < 0)
		return r;
	at = notes_find(&n, web_param(q, "bid"));
	if (!at)
		return web_problem(q, 404, "not-found", "there is no such bookmark");
	set_etag(q, at);
	return web_not_modified(q) ? 0 : web_reply_json(q, 200, note_json(at));
}

/* --- changes --- */

static int bad(struct web_request *q, const char *what)
{
	int r = web_problem(q, 400, "bad-request", "%s", what);

	return r < 0 ? r : -EINVAL;
}

/* null is as good as not given. */
static bool get_text(const json_t *body, const char *name, size_t max, const char **ret)
{
	int r = jsonx_get_str(body, name, ret);

	return r == -ENOENT || (r >= 0 && strlen(*ret) <= max);
}

static bool get_number(const json_t *body, const char *name, uint64_t max, uint64_t *ret, bool *ret_has)
{
	int r = jsonx_get_u64(body, name, ret);

	*ret_has = r >= 0;
	return r == -ENOENT || (r >= 0 && *ret <= max);
}

/* 0; -EINVAL: it has been answered. */
static int read_body(struct web_request *q, struct wanted *w)
{
	json_t *body;
	bool has;
	int r = web_body_json(q, &body);

	if (r < 0)
		return -EINVAL;
	if (!get_text(body, "text", NOTE_TEXT_MAX, &w->text))
		return bad(q, "text must be a string of at most 4096 bytes");
	if (!get_text(body, "author", NOTE_AUTHOR_MAX, &w->author))
		return bad(q, "author must be a string of at most 128 bytes");
	if (!get_text(body, "position", NOTE_POSITION_MAX, &w->position))
		return bad(q, "position must be a string of at most 256 bytes");
	if (!get_number(body, "thread", UINT32_MAX, &w->thread, &has))
		return bad(q, "thread must be a number");
	if (!get_number(body, "event", INT64_MAX, &w->event, &w->has_event))
		return bad(q, "event must be a number");
	return 0;
}

/* Runs fn under the lock; publishes and answers what it made. */
static int change(struct change *c, notes_fn fn, unsigned status)
{
	struct web_request *q = c->q;
	int r = web_store(q) ? notes_update(web_store(q), c->id, fn, c, web_errinfo(q)) : -ENOMEM;

	if (r < 0 || q->replied) {
		json_decref(c->reply);
		return r < 0 ? r : 0;
	}
	daemon_refresh(web_daemon(q));
	return status == 204 ? web_reply_empty(q, 204) : web_reply_json(q, status, TAKE(c->reply));
}

static int add(void *ctx, struct notes *n)
{
	struct change *c = ctx;
	const struct wanted *w = &c->want;
	json_t *user CLEANUP(jsonx_unrefp) = web_json_user();
	struct note from = { .event = w->event, .thread = (uint32_t)w->thread }, *at;
	int r;

	from.text = (char *)(uintptr_t)(w->text ? w->text : "");
	from.author = (char *)(uintptr_t)(w->author ? w->author : user ? json_string_value(user) : "");
	from.position = (char *)(uintptr_t)w->position;
	r = notes_add(n, &from, &at);
	if (r == ERR_LIMIT)
		return web_problem(c->q, 409, "conflict", "there are %u bookmarks already", NOTES_MAX);
	if (r < 0)
		return r;
	set_etag(c->q, at);
	c->reply = note_json(at);
	return c->reply ? 1 : -ENOMEM;
}

/* Is there such an event? Of a live recording: so far. */
static int check_event(struct web_request *q, const struct store_id *id, uint64_t event)
{
	struct store_reader *rd;
	uint64_t n;
	int r = web_reader(q, id, &rd);

	if (r >= 0) {
		r = store_reader_count(rd, &n, web_errinfo(q));
		web_reader_put(q, rd);
	}
	if (r >= 0 && event > n)
		(void)!web_problem(q, 404, "no-such-event", "the recording has %llu events", (unsigned long long)n);
	return r < 0 ? r : 0;
}

int web_bookmarks_post(struct web_request *q)
{
	struct change c = { .q = q };
	struct store_id id;
	int r = web_recording(q, &id);

	if (r < 0 || read_body(q, &c.want) < 0)
		return web_replied(q);
	if (!c.want.has_event) {
		(void)bad(q, "event is missing");
		return web_replied(q);
	}
	r = check_event(q, &id, c.want.event);
	if (r < 0 || q->replied)
		return r;
	c.id = &id;
	return change(&c, add, 201);
}

/* The bookmark of the route, if the client has seen its present state. NULL: it has been answered. */
static struct note *find_seen(struct change *c, struct notes *n)
{
	struct note *at = notes_find(n, web_param(c->q, "bid"));

	if (!at) {
		(void)!web_problem(c->q, 404, "not-found", "there is no such bookmark");
		return NULL;
	}
	set_etag(c->q, at);
	return web_if_match(c->q) ? at : NULL;
}

static int set(void *ctx, struct notes *n)
{
	struct change *c = ctx;
	struct note *at = find_seen(c, n);
	int r;

	if (!at)
		return 0;
	r = note_set_text(at, c->want.text);
	if (r < 0)
		return r;
	set_etag(c->q, at);
	c->reply = note_json(at);
	return c->reply ? 1 : -ENOMEM;
}

int web_bookmark_patch(struct web_request *q)
{
	struct change c = { .q = q };
	struct store_id id;

	if (web_recording(q, &id) < 0 || read_body(q, &c.want) < 0)
		return web_replied(q);
	if (!c.want.text) {
		(void)bad(q, "only text can be changed, and it is missing");
		return web_replied(q);
	}
	c.id = &id;
	return change(&c, set, 200);
}

static int cut(void *ctx, struct notes *n)
{
	struct note *at = find_seen(ctx, n);

	if (!at)
		return 0;
	notes_remove(n, at);
	return 1;
}

int web_bookmark_delete(struct web_request *q)
{
	struct change c = { .q = q };
	struct store_id id;

	if (web_recording(q, &id) < 0)
		return web_replied(q);
	c.id = &id;
	return change(&c, cut, 204);
}
