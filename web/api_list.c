/* GET /recordings: the catalog's view, filtered, sorted and cut. */
#include "web/server_priv.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/wait.h>
#include "base/json.h"
#include "base/os.h"
#include "web/cursor_priv.h"
#include "web/json_priv.h"

#define LIMIT_DEFAULT 100
#define LIMIT_MAX 1000
#define WORDS_MAX 32

enum sort_key { SORT_STARTED, SORT_DURATION, SORT_BYTES, SORT_EVENTS, SORT_COMMAND, SORT_LABEL, SORT_STATE };
static const char *const sort_names[] = { "started", "duration", "bytes", "events", "command", "label", "state", NULL };
static const char *const order_names[] = { "asc", "desc", NULL };
static const char *const exit_names[] = { "ok", "failed", "signaled", NULL };
enum exit_filter { EXIT_OK, EXIT_FAILED, EXIT_SIGNALED, EXIT_ANY };

struct query {
	char *words; /* owned; the word[]s lie in it */
	const char *word[WORDS_MAX];
	size_t n_words;
	const char *state, *label;
	int exit, sort;
	bool descending;
	uint64_t limit;
	struct cursor cursor;
	bool has_cursor;
};

/* A page as text. */
struct page {
	struct buf text;
	char next[CURSOR_BYTES]; /* cursor of the next one, "" = none */
};

static void page_done(struct page *p)
{
	buf_done(&p->text);
}

static void query_done(struct query *f)
{
	free(f->words);
}

/* --- which --- */

static bool has_word(const struct catalog_entry *e, const char *w)
{
	return strcasestr(e->command, w) || strcasestr(e->label, w) || strcasestr(e->host, w) || strncasecmp(e->id.hex, w, strlen(w)) == 0;
}

static bool exit_fits(const struct catalog_entry *e, int want)
{
	const int s = e->status;

	if (want == EXIT_ANY)
		return true;
	if (s < 0 || e->live)
		return false;
	if (want == EXIT_SIGNALED)
		return WIFSIGNALED(s);
	return want == EXIT_OK ? s == 0 : s != 0;
}

static bool fits(const struct catalog_entry *e, const struct query *f)
{
	if (f->state && strcmp(f->state, web_entry_state(e)) != 0)
		return false;
	if (f->label && strcmp(f->label, e->label) != 0)
		return false;
	for (size_t i = 0; i < f->n_words; i++) {
		if (!has_word(e, f->word[i]))
			return false;
	}
	return exit_fits(e, f->exit);
}

/* --- in which order --- */

static int by_number(uint64_t a, uint64_t b)
{
	return (a > b) - (a < b);
}

static int by_key(const struct catalog_entry *a, const struct catalog_entry *b, int key)
{
	switch (key) {
	case SORT_DURATION: return by_number(a->duration_ns, b->duration_ns);
	case SORT_BYTES: return by_number(a->bytes, b->bytes);
	case SORT_EVENTS: return by_number(a->events, b->events);
	case SORT_COMMAND: return strcasecmp(a->command, b->command);
	case SORT_LABEL: return strcasecmp(a->label, b->label);
	case SORT_STATE: return strcmp(web_entry_state(a), web_entry_state(b));
	default: return by_number(a->start_wall_ns, b->start_wall_ns);
	}
}

/* Equal ones stay newest first, then by id: pages need one order. */
static int compare(const void *pa, const void *pb, void *ctx)
{
	const struct catalog_entry *a = *(const struct catalog_entry *const *)pa, *b = *(const struct catalog_entry *const *)pb;
	const struct query *f = ctx;
	int r;

	if (f->sort == SORT_STARTED && a->live != b->live)
		return a->live ? -1 : 1;
	r = by_key(a, b, f->sort);
	if (f->descending)
		r = -r;
	if (r == 0 && f->sort != SORT_STARTED)
		r = by_number(b->start_wall_ns, a->start_wall_ns);
	return r ? r : strcmp(a->id.hex, b->id.hex);
}

/* --- the request --- */

static int split_words(struct query *f, const char *text)
{
	char *save = NULL;

	f->words = os_strdup(text);
	if (!f->words)
		return -ENOMEM;
	for (char *w = strtok_r(f->words, " \t", &save); w && f->n_words < WORDS_MAX; w = strtok_r(NULL, " \t", &save))
		f->word[f->n_words++] = w;
	return 0;
}

static int parse_query(struct web_request *q, struct query *f)
{
	const char *text = web_query(q, "q"), *cursor = web_query(q, "cursor");
	int order;

	f->state = web_query(q, "state");
	f->label = web_query(q, "label");
	if (web_query_enum(q, "sort", sort_names, SORT_STARTED, &f->sort) < 0 || web_query_enum(q, "exit", exit_names, EXIT_ANY, &f->exit) < 0)
		return -EINVAL;
	/* texts begin with a, numbers with the largest */
	if (web_query_enum(q, "order", order_names, f->sort < SORT_COMMAND, &order) < 0 ||
	    web_query_u64(q, "limit", 1, LIMIT_MAX, LIMIT_DEFAULT, &f->limit) < 0)
		return -EINVAL;
	f->descending = order == 1;
	if (cursor) {
		f->has_cursor = cursor_parse(cursor, cursor_filter(&q->url), &f->cursor) == 0;
		if (!f->has_cursor) {
			q->error = web_problem(q, 400, "bad-request", "the cursor is not one of this list");
			return -EINVAL;
		}
	}
	return text ? split_words(f, text) : 0;
}

/* Where the page begins: behind the entry that ended the last one; if that has gone, at the same count. */
static size_t page_start(const struct catalog_entry *const *list, size_t n, const struct query *f)
{
	if (!f->has_cursor)
		return 0;
	for (size_t i = 0; i < n; i++) {
		if (strcmp(list[i]->id.hex, f->cursor.id) == 0)
			return i + 1;
	}
	return MIN((size_t)f->cursor.offset, n);
}

static void put_page(struct page *p, const struct web_request *q, const struct catalog_entry *const *list, size_t n, const struct query *f)
{
	const size_t first = page_start(list, n, f), end = MIN(first + (size_t)f->limit, n);

	buf_printf(&p->text, "{\"items\":[");
	for (size_t i = first; i < end; i++) {
		if (i > first)
			buf_put_u8(&p->text, ',');
		web_put_entry(&p->text, list[i]);
	}
	if (end < n) {
		struct cursor c = { .offset = end };

		memcpy(c.id, list[end - 1]->id.hex, sizeof(c.id));
		cursor_print(&c, cursor_filter(&q->url), p->next);
		buf_printf(&p->text, "],\"next_cursor\":\"%s\"", p->next);
	} else {
		buf_printf(&p->text, "],\"next_cursor\":null");
	}
	buf_printf(&p->text, ",\"total\":%zu}", n);
}

/* The page that q asks for in a view. */
static int make_page(const struct web_request *q, const struct catalog_view *v, struct query *f, struct page *p)
{
	const struct catalog_entry **list CLEANUP(freep) = os_malloc((v->n + 1) * sizeof(*list));
	size_t n = 0;

	if (!list)
		return -ENOMEM;
	for (size_t i = 0; i < v->n; i++) {
		if (fits(v->entry[i], f))
			list[n++] = v->entry[i];
	}
	qsort_r(list, n, sizeof(*list), compare, f);
	put_page(p, q, list, n, f);
	return buf_error(&p->text);
}

/* --- pages of lately --- */

struct kept {
	char *target;     /* path and query as sent; NULL = free */
	uint64_t version; /* of the view */
	uint64_t used_ns;
	struct page page;
};

/* Many look at the same list: while nothing has changed it is made once. */
struct web_pages {
	pthread_mutex_t lock;
	struct kept kept[WEB_PAGES_MAX];
};

static void kept_clear(struct kept *k)
{
	free(k->target);
	buf_done(&k->page.text);
	*k = (struct kept){ 0 };
}

int pages_new(struct web_pages **ret)
{
	struct web_pages *p = os_calloc(1, sizeof(*p));

	if (!p)
		return -ENOMEM;
	pthread_mutex_init(&p->lock, NULL);
	*ret = p;
	return 0;
}

void pages_free(struct web_pages *p)
{
	for (size_t i = 0; p && i < WEB_PAGES_MAX; i++)
		kept_clear(&p->kept[i]);
	if (p)
		pthread_mutex_destroy(&p->lock);
	free(p);
}

static bool page_get(struct web_pages *ps, const char *target, uint64_t version, struct page *ret)
{
	bool found = false;

	pthread_mutex_lock(&ps->lock);
	for (size_t i = 0; i < WEB_PAGES_MAX && !found; i++) {
		struct kept *k = &ps->kept[i];

		if (!k->target || k->version != version || strcmp(k->target, target) != 0)
			continue;
		k->used_ns = os_mono_ns();
		buf_put(&ret->text, k->page.text.data, k->page.text.len);
		memcpy(ret->next, k->page.next, sizeof(ret->next));
		found = buf_error(&ret->text) == 0;
	}
	pthread_mutex_unlock(&ps->lock);
	return found;
}

static void page_keep(struct web_pages *ps, const char *target, uint64_t version, const struct page *p)
{
	struct kept *k = &ps->kept[0];

	pthread_mutex_lock(&ps->lock);
	for (size_t i = 1; i < WEB_PAGES_MAX && k->target; i++) {
		if (!ps->kept[i].target || ps->kept[i].used_ns < k->used_ns)
			k = &ps->kept[i];
	}
	kept_clear(k);
	k->target = os_strdup(target);
	k->version = version;
	k->used_ns = os_mono_ns();
	buf_put(&k->page.text, p->text.data, p->text.len);
	memcpy(k->page.next, p->next, sizeof(p->next));
	if (!k->target || buf_error(&k->page.text))
		kept_clear(k);
	pthread_mutex_unlock(&ps->lock);
}

static int reply_page(struct web_request *q, struct page *p)
{
	char link[CURSOR_BYTES + 64];

	if (p->next[0]) {
		(void)snprintf(link, sizeof(link), "<?cursor=%s>; rel=\"next\"", p->next);
		web_set_header(q, "Link", link);
	}
	return web_reply_buf(q, 200, "application/json", &p->text);
}

static int reply_view(struct web_request *q, const struct catalog_view *v)
{
	struct query f CLEANUP(query_done) = { 0 };
	struct page p CLEANUP(page_done) = { 0 };
	int r = 0;

	if (!page_get(q->web->pages, q->url.target, v->version, &p)) {
		buf_clear(&p.text);
		r = parse_query(q, &f);
		if (r == 0)
			r = make_page(q, v, &f, &p);
		if (r == 0)
			page_keep(q->web->pages, q->url.target, v->version, &p);
	}
	if (r < 0)
		return q->replied ? 0 : r;
	return reply_page(q, &p);
}

int web_recordings_list(struct web_request *q)
{
	struct catalog *c = daemon_catalog(q->web->daemon);
	const struct catalog_view *v = catalog_get(c);
	int r;

	if (!v)
		return -ENOMEM;
	q->no_cache = true;
	web_etag(q, false, "list-%s-%llu", q->web->boot, (unsigned long long)v->version);
	r = web_not_modified(q) ? web_replied(q) : reply_view(q, v);
	catalog_put(c, v);
	return r;
}
