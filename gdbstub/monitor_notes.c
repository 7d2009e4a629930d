/* Monitor commands about bookmarks. One has a name (a word), by which `goto` finds it while the session lasts; it is also left in the recording as a note with
 * its position, which the web page and later sessions show. A text of several words is a note only. Notes are a stranger's: what is shown is made harmless. */
#include "gdbstub/monitor_priv.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include "base/json.h"
#include "base/str.h"

#define TEXT_SHOWN 200u

static struct stub_bookmark *find_bookmark(struct stub *s, const char *name)
{
	for (size_t i = 0; i < s->n_bookmarks; i++)
		if (strcmp(s->bookmarks[i].name, name) == 0)
			return &s->bookmarks[i];
	return NULL;
}

/* Where a note is: its position, or right before its event. */
static int note_position(const struct stub_note *n, struct dbg_pos *ret)
{
	if (n->position && dbg_pos_parse(n->position, ret) >= 0)
		return 0;
	*ret = (struct dbg_pos){ .events = n->event - 1, .arrived = true };
	return n->event ? 0 : -ENOENT;
}

struct search {
	const char *text;
	struct dbg_pos pos;
	bool found;
};

/* Of several with that text the last one counts. */
static int look(void *ctx, const struct stub_note *n)
{
	struct search *s = ctx;

	if (strcmp(n->text, s->text) == 0)
		s->found |= note_position(n, &s->pos) >= 0;
	return 0;
}

bool monitor_find_bookmark(struct monitor *m, const char *name, struct dbg_pos *ret)
{
	const struct stub_options *opt = &m->s->opt;
	const struct stub_bookmark *b = find_bookmark(m->s, name);
	struct search s = { .text = name };

	if (!b && opt->notes && opt->notes(opt->ctx, look, &s, NULL) < 0)
		return false;
	if (b || s.found)
		*ret = b ? b->pos : s.pos;
	return b || s.found;
}

static int remember(struct monitor *m, const char *name, const struct dbg_pos *p)
{
	struct stub *s = m->s;
	struct stub_bookmark *b = find_bookmark(s, name), *more;

	if (!b) {
		if (s->n_bookmarks == STUB_BOOKMARKS_MAX)
			return errinfo_set(&m->ei, ERR_LIMIT, "there are %u bookmarks already", STUB_BOOKMARKS_MAX);
		more = reallocarray(s->bookmarks, s->n_bookmarks + 1, sizeof(struct stub_bookmark));
		if (!more)
			return -ENOMEM;
		s->bookmarks = more;
		b = &more[s->n_bookmarks++];
		*b = (struct stub_bookmark){ 0 };
		memcpy(b->name, name, strlen(name));
	}
	b->pos = *p;
	return 0;
}

/* The event it is shown at: the one about to happen, else the last one that has. */
static int leave_note(struct monitor *m, const char *text, const struct dbg_pos *p)
{
	const struct stub_options *opt = &m->s->opt;
	struct buf position CLEANUP(buf_done) = { 0 };
	struct stub_note n = { .text = text };

	dbg_pos_print(p, &position);
	n.position = buf_cstr(&position);
	n.event = p->arrived || !p->events ? p->events + 1 : p->events;
	return opt->note(opt->ctx, &n, &m->ei);
}

static int say(struct monitor *m, const char *name, const struct dbg_pos *p)
{
	struct buf text CLEANUP(buf_done) = { 0 };

	dbg_pos_print(p, &text);
	if (m->json)
		return monitor_set_str(m, "position", buf_cstr(&text));
	if (name)
		buf_printf(m->out, "%s is position %s\n", name, buf_cstr(&text));
	else
		buf_printf(m->out, "noted at position %s\n", buf_cstr(&text));
	return 0;
}

/* Names must not look like positions or times, nor drive a terminal. */
static bool is_name(const char *s)
{
	static const char *const taken[] = { "start", "end", "none", "last-write" };

	if (!isalpha((unsigned char)*s) || strlen(s) > STUB_BOOKMARK_NAME_MAX)
		return false;
	for (size_t i = 0; i < ARRAY_SIZE(taken); i++)
		if (strcmp(s, taken[i]) == 0)
			return false;
	return s[strspn(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.")] == '\0';
}

int monitor_bookmark(struct monitor *m)
{
	struct buf text CLEANUP(buf_done) = { 0 };
	const char *name = m->words == 1 && is_name(m->word[0]) ? m->word[0] : NULL;
	struct dbg_pos p;
	int r;

	if (!name && (m->words == 1 || !m->s->opt.note))
		return errinfo_set(&m->ei, -EINVAL, "a bookmark's name is a letter and up to %u letters, digits, - _ .", STUB_BOOKMARK_NAME_MAX - 1);
	for (unsigned i = 0; i < m->words; i++)
		buf_printf(&text, "%s%s", i ? " " : "", m->word[i]);
	r = dbg_where(m->s->d, &p, &m->ei);
	if (r >= 0 && name)
		r = remember(m, name, &p);
	if (r >= 0 && m->s->opt.note)
		r = leave_note(m, buf_cstr(&text), &p);
	return r < 0 ? r : say(m, name, &p);
}

/* These are of the session alone: a client makes them by the hundred. */
int monitor_checkpoint(struct monitor *m)
{
	char name[STUB_BOOKMARK_NAME_MAX];
	struct dbg_pos p;
	int r = dbg_where(m->s->d, &p, &m->ei);

	snprintf(name, sizeof(name), "checkpoint-%u", ++m->s->n_checkpoints);
	if (r >= 0)
		r = remember(m, name, &p);
	return r < 0 ? r : say(m, name, &p);
}

/* --- the list --- */

struct list {
	struct monitor *m;
	json_t *json;
	size_t n;
};

static void put_line(struct list *l, const char *name, const struct dbg_pos *p, bool known)
{
	struct buf position CLEANUP(buf_done) = { 0 };
	struct buf *out = l->m->out;
	size_t before = out->len;
	char *cut CLEANUP(freep) = strndup(name, TEXT_SHOWN);

	dbg_pos_print(p, &position);
	monitor_put_safe(out, cut ? cut : "?");
	buf_printf(out, "%*s %s\n", before + 20 > out->len ? (int)(before + 20 - out->len) : 0, "", known ? buf_cstr(&position) : "the whole recording");
}

static int put_note(void *ctx, const struct stub_note *n)
{
	struct list *l = ctx;
	struct dbg_pos p = { 0 };
	bool known = note_position(n, &p) >= 0;
	const struct stub_bookmark *b = find_bookmark(l->m->s, n->text);
	struct buf position CLEANUP(buf_done) = { 0 };

	if (known && b && memcmp(&b->pos, &p, sizeof(p)) == 0) /* shown with those of the session */
		return 0;
	l->n++;
	if (!l->json) {
		put_line(l, n->text, &p, known);
		return 0;
	}
	dbg_pos_print(&p, &position);
	return json_array_append_new(l->json, json_pack("{so ss? sI}", "name", jsonx_string_lossy(n->text, strlen(n->text)), "position",
							known ? buf_cstr(&position) : NULL, "event", (json_int_t)n->event)) < 0
		       ? -ENOMEM
		       : 0;
}

int monitor_bookmarks(struct monitor *m)
{
	const struct stub_options *opt = &m->s->opt;
	struct list l = { .m = m, .json = m->json ? json_array() : NULL, .n = m->s->n_bookmarks };
	int r = 0;

	for (size_t i = 0; i < m->s->n_bookmarks; i++) {
		const struct stub_bookmark *b = &m->s->bookmarks[i];
		struct buf position CLEANUP(buf_done) = { 0 };

		dbg_pos_print(&b->pos, &position);
		if (l.json)
			(void)json_array_append_new(l.json, json_pack("{ss ss}", "name", b->name, "position", buf_cstr(&position)));
		else
			put_line(&l, b->name, &b->pos, true);
	}
	if (opt->notes)
		r = opt->notes(opt->ctx, put_note, &l, &m->ei);
	if (r < 0) {
		json_decref(l.json);
		return r;
	}
	if (!m->json && !l.n)
		buf_printf(m->out, "no bookmarks\n");
	return m->json ? monitor_set(m, "bookmarks", l.json) : 0;
}
