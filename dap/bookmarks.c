/* Bookmarks: notes that are kept with the recording (store/notes.h), the same that hermitd and gdb show. A session that is attached to a server whose recording
 * is not known here asks the server. Others change them meanwhile, so nothing is kept. */
#include "dap/places_priv.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include "base/os.h"
#include "store/notes.h"

static int load(struct dap *d, struct notes *ret)
{
	struct recorded *rec;
	int r = recorded_get(d, &rec);

	return r < 0 ? r : notes_load(rec->store, &rec->id, ret, &d->ei);
}

/* Where a note is: its position, or right before its event. Owned; NULL: it is of the whole recording (or there is no memory). */
static char *position_of(const struct note *n)
{
	if (n->position)
		return os_strdup(n->position);
	return n->event ? os_asprintf("%" PRIu64 "!", n->event - 1) : NULL;
}

/* --- the list --- */

static int put_note(json_t *list, const struct note *n)
{
	char *position CLEANUP(freep) = position_of(n);
	json_t *j = json_pack("{ss ss ss sI ss* sI sI}", "id", n->id, "text", n->text, "author", n->author, "event", (json_int_t)n->event, "position", position, "thread",
			      (json_int_t)n->thread, "revision", (json_int_t)n->revision);

	if (j && n->created_ns && jsonx_set_new(j, "created", jsonx_time(n->created_ns)) < 0)
		jsonx_unrefp(&j);
	return json_array_append_new(list, j) < 0 ? -ENOMEM : 0;
}

/* Of the server: those of its session, and those of the recording. */
static int list_of_server(struct dap *d, json_t *list)
{
	json_t *j CLEANUP(jsonx_unrefp) = NULL, *one;
	size_t i;
	int r = mi_monitor(d->mi, &j, &d->ei, "bookmarks");

	if (r < 0)
		return r;
	json_array_foreach(json_object_get(j, "bookmarks"), i, one) {
		const char *name = mi_str(one, "name");

		if (name && json_array_append_new(list, json_pack("{ss ss sI ss*}", "id", name, "text", name, "event", (json_int_t)mi_int(one, "event", 0), "position",
								  mi_str(one, "position"))) < 0)
			return -ENOMEM;
	}
	return 0;
}

int bookmarks_list(struct dap *d, json_t **ret)
{
	struct notes notes CLEANUP(notes_done) = { 0 };
	json_t *list CLEANUP(jsonx_unrefp) = json_array();
	int r = list ? 0 : -ENOMEM;

	if (r >= 0 && !d->recording)
		r = d->state == DAP_RUNNING ? errinfo_set(&d->ei, -EBUSY, "the server can be asked for bookmarks when the session is paused") : list_of_server(d, list);
	else if (r >= 0)
		r = load(d, &notes);
	for (size_t i = 0; i < notes.n && r >= 0; i++)
		r = put_note(list, &notes.v[i]);
	if (r >= 0)
		*ret = TAKE(list);
	return r;
}

int bookmarks_find(struct dap *d, const char *text, char **ret)
{
	json_t *list CLEANUP(jsonx_unrefp) = NULL, *one;
	const char *found = NULL;
	size_t i;
	int r = bookmarks_list(d, &list);

	if (r < 0)
		return r;
	json_array_foreach(list, i, one) {
		const char *position = mi_str(one, "position");
		bool is_id = strcmp(mi_str(one, "id") ?: "", text) == 0;

		if (position && (is_id || strcmp(mi_str(one, "text") ?: "", text) == 0))
			found = position;
		if (position && is_id)
			break;
	}
	*ret = found ? os_strdup(found) : NULL;
	return !found ? -ENOENT : *ret ? 0 : -ENOMEM;
}

/* --- changes --- */

struct change {
	const struct note *from; /* to be added */
	const char *id;          /* to be removed: */
	bool found;
	json_t *body;
};

static int add_note(void *ctx, struct notes *notes)
{
	struct change *c = ctx;
	struct note *made;
	int r = notes_add(notes, c->from, &made);

	if (r >= 0)
		r = jsonx_set_str(c->body, "id", made->id);
	return r < 0 ? r : 1;
}

static int add_to_recording(struct dap *d, struct note *from, json_t *body)
{
	const char *user = getenv("USER");
	struct change c = { .from = from, .body = body };
	struct recorded *rec;
	int r = recorded_get(d, &rec);

	from->author = (char *)(uintptr_t)(user && strlen(user) <= NOTE_AUTHOR_MAX ? user : "");
	if (r >= 0)
		r = notes_update(rec->store, &rec->id, add_note, &c, &d->ei);
	if (r == -EINVAL && !d->ei.text[0])
		return errinfo_set(&d->ei, r, "a bookmark's text has at most %u bytes", NOTE_TEXT_MAX);
	return r < 0 ? r : 0;
}

/* The event that it is shown at: the one about to happen, else the last one that has. */
static uint64_t shown_at(const char *position, uint64_t events)
{
	return position[strlen(position) - 1] == '!' || !events ? events + 1 : events;
}

int bookmarks_add(struct dap *d, const char *text, json_t *body)
{
	json_t *j CLEANUP(jsonx_unrefp) = NULL;
	struct note from = { 0 };
	const char *position;
	int r;

	text += strspn(text, " \t");
	if (!*text || strpbrk(text, "\n\r"))
		return errinfo_set(&d->ei, -EINVAL, "a bookmark needs a text of one line");
	if (!d->recording) {
		r = mi_monitor(d->mi, &j, &d->ei, "bookmark %s", text);
		return r < 0 ? r : jsonx_set_str(body, "position", mi_str(j, "position") ?: "");
	}
	r = mi_monitor(d->mi, &j, &d->ei, "where");
	if (r < 0)
		return r;
	position = mi_str(j, "position");
	if (!position || !*position)
		return errinfo_set(&d->ei, ERR_PROTOCOL, "the server did not say where it stands");
	from.event = shown_at(position, (uint64_t)mi_int(j, "event", 0));
	from.position = (char *)(uintptr_t)position;
	from.text = (char *)(uintptr_t)text;
	r = jsonx_set_str(body, "position", position);
	if (r >= 0)
		r = jsonx_set_u64(body, "event", from.event);
	return r < 0 ? r : add_to_recording(d, &from, body);
}

static int remove_note(void *ctx, struct notes *notes)
{
	struct change *c = ctx;
	struct note *at = notes_find(notes, c->id);

	for (size_t i = notes->n; i-- > 0 && !at;)
		if (strcmp(notes->v[i].text, c->id) == 0)
			at = &notes->v[i];
	c->found = at;
	if (at)
		notes_remove(notes, at);
	return at ? 1 : 0;
}

int bookmarks_remove(struct dap *d, const char *id)
{
	struct change c = { .id = id };
	struct recorded *rec;
	int r = recorded_get(d, &rec);

	if (r >= 0)
		r = notes_update(rec->store, &rec->id, remove_note, &c, &d->ei);
	if (r >= 0 && !c.found)
		return errinfo_set(&d->ei, -ENOENT, "there is no bookmark '%.80s'", id);
	return r < 0 ? r : 0;
}

/* --- requests --- */

static int bookmarks(struct dap *d, const void *args, json_t *body)
{
	json_t *list = NULL;
	int r = bookmarks_list(d, &list);

	(void)args;
	return r < 0 ? r : jsonx_set_new(body, "bookmarks", list);
}
DAP_METHOD_PLAIN(bookmarks);

struct bookmark_args {
	const char *text;
};

static const struct arg add_table[] = {
	ARG(STR, struct bookmark_args, text, "text", .required = true),
	{ .name = NULL },
};

static int add_bookmark(struct dap *d, const void *args, json_t *body)
{
	const struct bookmark_args *a = args;

	return bookmarks_add(d, a->text, body);
}
DAP_METHOD(add_bookmark, add_table, struct bookmark_args);

static const struct arg remove_table[] = {
	ARG(STR, struct bookmark_args, text, "id", .required = true),
	{ .name = NULL },
};

static int remove_bookmark(struct dap *d, const void *args, json_t *body)
{
	const struct bookmark_args *a = args;

	(void)body;
	return bookmarks_remove(d, a->text);
}
DAP_METHOD(remove_bookmark, remove_table, struct bookmark_args);
