/* See notes.h. The file is replaced atomically inside of the open directory, under its lock (annotate_priv.h). */
#include "store/notes.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "base/json.h"
#include "base/os.h"
#include "store/annotate_priv.h"
#include "store/fs_priv.h"
#include "store/notes_priv.h"

static void note_done(struct note *at)
{
	free(at->position);
	free(at->text);
	free(at->author);
}

void notes_done(struct notes *n)
{
	for (size_t i = 0; i < n->n; i++)
		note_done(&n->v[i]);
	free(n->v);
	*n = (struct notes){ 0 };
}

/* --- members --- */

static bool fits(const char *s, size_t max)
{
	json_t *j CLEANUP(jsonx_unrefp) = json_string(s); /* NULL: not UTF-8 */

	return j && strlen(s) <= max;
}

static int copy_text(char **ret, const char *s, size_t max)
{
	if (!fits(s, max))
		return -EINVAL;
	*ret = os_strdup(s);
	return *ret ? 0 : -ENOMEM;
}

/* Copies the strings of `from` into at, which has none yet. */
static int copy_texts(struct note *at, const struct note *from)
{
	int r = copy_text(&at->text, from->text, NOTE_TEXT_MAX);

	if (r >= 0)
		r = copy_text(&at->author, from->author, NOTE_AUTHOR_MAX);
	if (r >= 0 && from->position)
		r = copy_text(&at->position, from->position, NOTE_POSITION_MAX);
	return r;
}

/* Puts it behind all of its event and of those before. */
static int insert(struct notes *n, struct note *at, struct note **ret)
{
	struct note *more;
	size_t i = n->n;

	if (n->n >= NOTES_MAX)
		return ERR_LIMIT;
	more = reallocarray(n->v, n->n + 1, sizeof(*more));
	if (!more)
		return -ENOMEM;
	n->v = more;
	while (i > 0 && more[i - 1].event > at->event)
		i--;
	memmove(&more[i + 1], &more[i], (n->n - i) * sizeof(*more));
	more[i] = *at;
	n->n++;
	if (ret)
		*ret = &more[i];
	return 0;
}

int notes_add(struct notes *n, const struct note *from, struct note **ret)
{
	struct note at = { .event = from->event, .thread = from->thread, .created_ns = os_wall_ns(), .revision = 1 };
	uint64_t random;
	int r = copy_texts(&at, from);

	at.changed_ns = at.created_ns;
	do {
		if (r >= 0)
			r = fs_random(&random, sizeof(random));
		(void)snprintf(at.id, sizeof(at.id), "%016llx", r >= 0 ? (unsigned long long)random : 0ull);
	} while (r >= 0 && notes_find(n, at.id));
	if (r >= 0)
		r = insert(n, &at, ret);
	if (r < 0)
		note_done(&at);
	return r;
}

struct note *notes_find(const struct notes *n, const char *id)
{
	for (size_t i = 0; i < n->n; i++)
		if (!strcmp(n->v[i].id, id))
			return &n->v[i];
	return NULL;
}

void notes_remove(struct notes *n, struct note *at)
{
	size_t i = (size_t)(at - n->v);

	note_done(at);
	memmove(at, at + 1, (n->n - i - 1) * sizeof(*at));
	n->n--;
}

int note_set_text(struct note *at, const char *text)
{
	char *copy;
	int r;

	if (!text)
		return 0;
	r = copy_text(&copy, text, NOTE_TEXT_MAX);
	if (r < 0)
		return r;
	free(at->text);
	at->text = copy;
	at->changed_ns = os_wall_ns();
	at->revision++;
	return 0;
}

/* --- JSON --- */

/* Members that may be missing: -ENOENT is fine, the default stays. */
static int optional(int r)
{
	return r == -ENOENT ? 0 : r;
}

static int read_note(const json_t *j, struct note *at)
{
	const char *id = "", *text = "", *author = "", *position = NULL;
	uint64_t thread = 0;
	struct note from;
	int r = jsonx_get_str(j, "id", &id);

	if (r >= 0 && (strlen(id) != NOTE_ID_LEN || id[strspn(id, "0123456789abcdef")]))
		r = ERR_CORRUPT;
	if (r >= 0)
		r = jsonx_get_u64(j, "event", &at->event);
	if (r >= 0)
		r = jsonx_get_str(j, "text", &text);
	if (r >= 0)
		r = optional(jsonx_get_str(j, "author", &author));
	if (r >= 0)
		r = optional(jsonx_get_str(j, "position", &position));
	if (r >= 0)
		r = optional(jsonx_get_u64(j, "thread", &thread));
	if (r >= 0)
		r = optional(jsonx_get_u64(j, "created_ns", &at->created_ns));
	if (r >= 0)
		r = optional(jsonx_get_u64(j, "changed_ns", &at->changed_ns));
	at->revision = 1;
	if (r >= 0)
		r = optional(jsonx_get_u64(j, "revision", &at->revision));
	if (r < 0)
		return ERR_CORRUPT;
	if (thread > UINT32_MAX || at->event > INT64_MAX)
		return ERR_CORRUPT;
	at->thread = (uint32_t)thread;
	memcpy(at->id, id, sizeof(at->id));
	from = (struct note){ .text = (char *)(uintptr_t)text, .author = (char *)(uintptr_t)author, .position = (char *)(uintptr_t)position };
	r = copy_texts(at, &from);
	return r == -EINVAL ? ERR_CORRUPT : r;
}

int notes_from_json(const json_t *items, struct notes *ret, struct errinfo *ei)
{
	struct notes n CLEANUP(notes_done) = { 0 };
	size_t i;
	json_t *j;

	if (!json_is_array(items))
		return errinfo_set(ei, ERR_CORRUPT, "notes are no array");
	json_array_foreach(items, i, j) {
		struct note at = { 0 };
		int r = read_note(j, &at);

		if (r >= 0 && notes_find(&n, at.id))
			r = ERR_CORRUPT;
		if (r >= 0)
			r = insert(&n, &at, NULL);
		if (r < 0) {
			note_done(&at);
			return errinfo_set_r(ei, r, "note %zu", i + 1);
		}
	}
	*ret = n;
	n = (struct notes){ 0 };
	return 0;
}

static json_t *note_json(const struct note *at)
{
	return json_pack("{s:s, s:I, s:s?, s:I, s:s, s:s, s:I, s:I, s:I}", "id", at->id, "event", (json_int_t)at->event, "position", at->position, "thread",
			 (json_int_t)at->thread, "text", at->text, "author", at->author, "created_ns", (json_int_t)at->created_ns, "changed_ns",
			 (json_int_t)at->changed_ns, "revision", (json_int_t)at->revision);
}

int notes_to_json(const struct notes *n, json_t **ret)
{
	json_t *items CLEANUP(jsonx_unrefp) = json_array();

	for (size_t i = 0; items && i < n->n; i++)
		if (json_array_append_new(items, note_json(&n->v[i])) < 0)
			return -ENOMEM;
	if (!items)
		return -ENOMEM;
	*ret = TAKE(items);
	return 0;
}

/* --- files --- */

int notes_load_at(const char *dir, struct notes *ret, struct errinfo *ei)
{
	json_t *j CLEANUP(jsonx_unrefp) = NULL;
	int r = annotation_load(dir, NAME_NOTES, NOTES_BYTES_MAX, &j, ei);

	if (r == -ENOENT) {
		*ret = (struct notes){ 0 };
		return 0;
	}
	return r < 0 ? r : notes_from_json(json_object_get(j, "items"), ret, ei);
}

int notes_save_at(const char *dir, const struct notes *n)
{
	json_t *j CLEANUP(jsonx_unrefp) = json_object(), *items = NULL;
	int r = j ? notes_to_json(n, &items) : -ENOMEM;

	if (r >= 0)
		r = jsonx_set_new(j, "items", items);
	return r < 0 ? r : annotation_save(dir, NAME_NOTES, j, NOTES_BYTES_MAX);
}

struct work {
	struct notes *ret; /* load */
	notes_fn fn;       /* update */
	void *ctx;
	struct errinfo *ei;
};

static int load_in(void *ctx, const char *dir)
{
	struct work *w = ctx;

	return notes_load_at(dir, w->ret, w->ei);
}

int notes_load(struct store *s, const struct store_id *id, struct notes *ret, struct errinfo *ei)
{
	struct work w = { .ret = ret, .ei = ei };
	int r = recording_in_dir(s, id, false, load_in, &w);

	return r < 0 ? errinfo_set_r(ei, r, "read the notes of recording %s", id->hex) : 0;
}

static int update_in(void *ctx, const char *dir)
{
	struct work *w = ctx;
	struct notes n CLEANUP(notes_done) = { 0 };
	int r = notes_load_at(dir, &n, w->ei);

	if (r >= 0)
		r = w->fn(w->ctx, &n);
	return r > 0 ? notes_save_at(dir, &n) : r;
}

int notes_update(struct store *s, const struct store_id *id, notes_fn fn, void *ctx, struct errinfo *ei)
{
	struct work w = { .fn = fn, .ctx = ctx, .ei = ei };
	int r = recording_in_dir(s, id, true, update_in, &w);

	return r < 0 ? errinfo_set_r(ei, r, "change the notes of recording %s", id->hex) : r;
}
