/* See catalog.h.
 *
 *     items, sorted by id: what is known and by which stat data it was known       refresh_lock (one refresh at a time, may wait for disks)
 *        | each refers to its newest entry; entries never change
 *     view: the entries in order --> readers hold it as long as they like          lock (short)
 *
 * Files beside and inside of a recording are replaced atomically, which changes its directory: while that and the manifest have their
 * stat data, nothing is read. Stat data that are younger than the clock of file systems is coarse are not trusted yet.
 */
#include "store/catalog.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "base/json.h"
#include "base/os.h"
#include "base/str.h"
#include "store/annotate_priv.h"
#include "store/manifest_priv.h"
#include "store/notes_priv.h"
#include "store/store_priv.h"
#include "store/stream_priv.h"

#define SETTLED_NS 2000000000ull
#define COMMAND_BYTES_MAX 4096

struct signature {
	dev_t dev;
	ino_t ino;
	off_t size;
	uint64_t mtime_ns, ctime_ns;
};

struct shared {
	struct catalog_entry e;
	unsigned refs; /* atomic */
};

struct item {
	struct store_id id;
	bool tmp;     /* it lies in tmp/ */
	bool settled;
	struct signature dir, manifest, events;
	struct stream *live; /* heads of events.journal as far as they are known; NULL = not open */
	struct shared *shared;
};

struct full_view {
	struct catalog_view v;
	unsigned refs; /* under the catalog's lock */
	const struct catalog_entry **by_start, **by_id;
};

struct catalog {
	char *dir, *tmp;
	pthread_mutex_t refresh_lock;
	struct item *item;
	size_t n;
	uint64_t version;
	pthread_mutex_t lock;
	struct full_view *view;
};

/* --- entries --- */

static void entry_done(struct catalog_entry *e)
{
	free(e->error);
	free(e->label);
	free(e->reason);
	free(e->command);
	free(e->program);
	free(e->host);
	free(e->user);
	free(e->source);
}

static struct shared *shared_ref(struct shared *s)
{
	__atomic_add_fetch(&s->refs, 1, __ATOMIC_RELAXED);
	return s;
}

static void shared_unref(struct shared *s)
{
	if (!s || __atomic_sub_fetch(&s->refs, 1, __ATOMIC_ACQ_REL) > 0)
		return;
	entry_done(&s->e);
	free(s);
}

static void shared_unrefp(struct shared **s)
{
	shared_unref(*s);
}

static bool same_entry(const struct catalog_entry *a, const struct catalog_entry *b)
{
	return a->state == b->state && a->live == b->live && a->broken == b->broken && a->keep == b->keep &&
	       a->compressed == b->compressed &&
	       strcmp(a->error, b->error) == 0 && strcmp(a->label, b->label) == 0 && strcmp(a->reason, b->reason) == 0 &&
	       strcmp(a->command, b->command) == 0 && strcmp(a->program, b->program) == 0 && strcmp(a->host, b->host) == 0 &&
	       strcmp(a->user, b->user) == 0 && strcmp(a->source, b->source) == 0 && a->start_wall_ns == b->start_wall_ns &&
	       a->duration_ns == b->duration_ns && a->status == b->status && a->events == b->events && a->processes == b->processes &&
	       a->threads == b->threads && a->bytes == b->bytes && a->bookmarks == b->bookmarks && a->verified_ns == b->verified_ns;
}

static char *text_or(const char *s, const char *none)
{
	return os_strdup(s ? s : none);
}

static char *command_of(const struct manifest *m)
{
	struct buf b CLEANUP(buf_done);
	char *s;

	buf_init(&b);
	if (m->argv)
		buf_put_shell_argv(&b, (const char *const *)m->argv);
	s = os_strdup(buf_cstr(&b));
	if (s && strlen(s) > COMMAND_BYTES_MAX) {
		size_t n = COMMAND_BYTES_MAX;

		while (n > 0 && ((unsigned char)s[n] & 0xc0) == 0x80)
			n--;
		s[n] = '\0';
	}
	return s;
}

static char *program_of(const struct manifest *m)
{
	const char *arg0 = m->argv && m->argv[0] ? m->argv[0] : "";
	const char *slash = strrchr(arg0, '/');

	return os_strdup(slash && slash[1] ? slash + 1 : arg0);
}

/* "http" is a way to ask the daemon */
static const char *source_of(const struct manifest *m)
{
	if (!m->source)
		return "local";
	return strcmp(m->source, "http") == 0 ? "daemon" : m->source;
}

static void entry_numbers(struct catalog_entry *e, const struct manifest *m)
{
	e->state = m->state;
	e->keep = m->keep;
	e->compressed = m->compressed;
	e->start_wall_ns = m->start_wall_ns;
	e->duration_ns = m->duration_ns;
	e->status = m->status;
	e->events = m->events;
	e->processes = m->processes;
	e->threads = m->threads;
	e->bytes = m->event_stream.stored_bytes + m->data_stream.stored_bytes;
}

static int entry_texts(struct catalog_entry *e, const struct manifest *m)
{
	e->label = text_or(m->label, "");
	e->reason = text_or(m->reason, "");
	e->command = command_of(m);
	e->program = program_of(m);
	e->host = text_or(m->hostname, "");
	e->user = text_or(m->user, "");
	e->source = os_strdup(source_of(m));
	return e->label && e->reason && e->command && e->program && e->host && e->user && e->source ? 0 : -ENOMEM;
}

/* --- stat data --- */

static uint64_t timespec_ns(const struct timespec *t)
{
	return (uint64_t)t->tv_sec * 1000000000 + (uint64_t)t->tv_nsec;
}

/* Zeroes: not there. */
static void look_at(const char *dir, const char *name, struct signature *ret, mode_t *ret_mode)
{
	char *path CLEANUP(freep) = name ? os_asprintf("%s/%s", dir, name) : NULL;
	struct stat st;

	*ret = (struct signature){ 0 };
	*ret_mode = 0;
	if ((name && !path) || fs_lstat(name ? path : dir, &st) < 0)
		return;
	*ret_mode = st.st_mode;
	*ret = (struct signature){ .dev = st.st_dev, .ino = st.st_ino, .size = st.st_size, .mtime_ns = timespec_ns(&st.st_mtim),
				   .ctime_ns = timespec_ns(&st.st_ctim) };
}

static bool same_signature(const struct signature *a, const struct signature *b)
{
	return a->dev == b->dev && a->ino == b->ino && a->size == b->size && a->mtime_ns == b->mtime_ns && a->ctime_ns == b->ctime_ns;
}

/* --- recordings in progress --- */

static void live_close(struct item *it)
{
	if (it->live)
		stream_done(it->live);
	free(TAKE(it->live));
	it->events = (struct signature){ 0 };
}

static void live_open(struct item *it, const char *dir)
{
	char *path CLEANUP(freep) = os_asprintf("%s/" NAME_EVENTS, dir);
	struct source *src = NULL;
	int r = path ? os_open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK, 0) : -ENOMEM;

	if (r >= 0)
		r = source_file(r, &src);
	it->live = r < 0 ? NULL : os_calloc(1, sizeof(*it->live));
	if (!it->live) {
		source_free(src);
		return;
	}
	/* its head may not be there yet */
	if (stream_init(it->live, STREAM_EVENTS, path, src, &it->id, NULL) < 0)
		free(TAKE(it->live));
}

static bool is_held(const char *dir)
{
	char *path CLEANUP(freep) = os_asprintf("%s/" NAME_LOCK, dir);
	int fd CLEANUP(closep) = path ? os_open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK, 0) : -1;

	return fd >= 0 && fs_lock(fd, false, false) == ERR_BUSY;
}

/* Heads of frames that have come since the last time are read, and the newest frame. */
static void entry_live(struct item *it, const char *dir, struct catalog_entry *e)
{
	const struct catalog_entry *before = it->shared ? &it->shared->e : NULL;
	struct signature events, data;
	uint64_t end, now = os_wall_ns();
	mode_t mode;

	e->live = is_held(dir);
	look_at(dir, NAME_EVENTS, &events, &mode);
	look_at(dir, NAME_DATA, &data, &mode);
	e->bytes = (uint64_t)events.size + (uint64_t)data.size;
	if (!it->live)
		live_open(it, dir);
	if (it->live && !same_signature(&events, &it->events) && stream_count(it->live, &end, NULL) == 0) {
		e->events = end - 1;
		it->events = events;
	} else if (before) {
		e->events = before->events;
	}
	e->processes = MAX(e->processes, (uint64_t)1);
	e->threads = MAX(e->threads, (uint64_t)1);
	if (before && before->bytes == e->bytes)
		e->duration_ns = before->duration_ns;
	else if (e->live && now > e->start_wall_ns)
		e->duration_ns = now - e->start_wall_ns;
}

/* --- reading one recording --- */

static uint64_t count_bookmarks(const char *dir)
{
	struct notes n CLEANUP(notes_done) = { 0 };

	return notes_load_at(dir, &n, NULL) < 0 ? 0 : n.n;
}

static int set_error(struct catalog_entry *e, const char *text)
{
	e->broken = true;
	e->error = os_strdup(text);
	return e->error ? 0 : -ENOMEM;
}

static int load_manifest(const char *dir, mode_t mode, struct manifest *m, struct errinfo *ei)
{
	if (mode && !S_ISREG(mode))
		return errinfo_set(ei, ERR_CORRUPT, "%s/" NAME_MANIFEST " is no regular file", dir);
	return manifest_load_at(dir, m, ei);
}

static int load_entry(struct item *it, const char *dir, mode_t mode, struct catalog_entry *e)
{
	struct manifest m CLEANUP(manifest_done);
	char *fault CLEANUP(freep) = NULL;
	struct errinfo ei = { 0 };
	int r;

	manifest_init(&m);
	r = load_manifest(dir, mode, &m, &ei);
	if (r == 0 && strcmp(m.id.hex, it->id.hex) != 0) {
		manifest_done(&m);
		r = errinfo_set(&ei, ERR_CORRUPT, "%s/" NAME_MANIFEST " is of another recording", dir);
	}
	if (r == -ENOMEM)
		return r;
	entry_numbers(e, &m);
	if (r < 0) {
		e->start_wall_ns = it->dir.mtime_ns;
		r = set_error(e, ei.text[0] ? ei.text : err_str(r));
	} else {
		r = verified_load(dir, &e->verified_ns, &fault);
		r = fault ? set_error(e, fault) : r == -ENOMEM ? r : 0;
	}
	if (!e->error)
		e->error = os_strdup("");
	e->bookmarks = count_bookmarks(dir);
	return r == 0 && e->error ? entry_texts(e, &m) : -ENOMEM;
}

/* 1: it->shared is a new one; 0: nothing has changed; -ENOENT: it is no recording (any more). */
static int look(struct catalog *c, struct item *it)
{
	char *dir CLEANUP(freep) = os_asprintf("%s/%s", it->tmp ? c->tmp : c->dir, it->id.hex);
	struct shared *fresh CLEANUP(shared_unrefp) = NULL;
	struct signature sd, sm;
	mode_t dir_mode, mode;
	int r;

	if (!dir)
		return -ENOMEM;
	look_at(dir, NULL, &sd, &dir_mode);
	if (!S_ISDIR(dir_mode))
		return -ENOENT;
	look_at(dir, NAME_MANIFEST, &sm, &mode);
	if (it->shared && it->settled && !it->tmp && same_signature(&sd, &it->dir) && same_signature(&sm, &it->manifest))
		return 0;
	it->dir = sd;
	it->manifest = sm;
	it->settled = MAX(sd.ctime_ns, sm.ctime_ns) + SETTLED_NS < os_wall_ns();
	fresh = os_calloc(1, sizeof(*fresh));
	if (!fresh)
		return -ENOMEM;
	fresh->refs = 1;
	fresh->e.id = it->id;
	r = load_entry(it, dir, mode, &fresh->e);
	if (r < 0)
		return r;
	if (it->tmp)
		entry_live(it, dir, &fresh->e);
	else
		live_close(it);
	if (it->shared && same_entry(&it->shared->e, &fresh->e))
		return 0;
	shared_unref(it->shared);
	it->shared = TAKE(fresh);
	return 1;
}

/* --- the whole --- */

static void item_done(struct item *it)
{
	live_close(it);
	shared_unref(it->shared);
	it->shared = NULL;
}

struct names {
	struct item *v;
	size_t n, cap;
	bool tmp;
};

static int add_name(void *ctx, const char *name)
{
	struct names *l = ctx;
	int r;

	if (!store_id_valid(name))
		return 0;
	r = store_list_room((void **)&l->v, &l->cap, l->n, sizeof(*l->v));
	if (r < 0)
		return r;
	l->v[l->n] = (struct item){ .tmp = l->tmp };
	memcpy(l->v[l->n++].id.hex, name, STORE_ID_LEN + 1);
	return 0;
}

static int by_id(const void *a, const void *b)
{
	return strcmp(((const struct item *)a)->id.hex, ((const struct item *)b)->id.hex);
}

/* Of one that was committed between the two readings the later one counts. */
static int by_id_done_first(const void *a, const void *b)
{
	const struct item *x = a, *y = b;
	int r = by_id(a, b);

	return r ? r : x->tmp - y->tmp;
}

static int read_names(struct catalog *c, struct names *l)
{
	size_t n = 0;
	int r;

	l->tmp = true;
	r = fs_each_name(c->tmp, add_name, l);
	l->tmp = false;
	if (r == 0 || r == -ENOENT)
		r = fs_each_name(c->dir, add_name, l);
	if (r < 0)
		return r;
	if (l->n)
		qsort(l->v, l->n, sizeof(*l->v), by_id_done_first);
	for (size_t i = 0; i < l->n; i++)
		if (n == 0 || by_id(&l->v[n - 1], &l->v[i]) != 0)
			l->v[n++] = l->v[i];
	l->n = n;
	return 0;
}

/* What is known of the items that were there before moves over. */
static void take_over(struct catalog *c, struct names *l)
{
	size_t k = 0;

	for (size_t i = 0; i < l->n; i++) {
		struct item *it = &l->v[i];
		bool tmp = it->tmp;

		while (k < c->n && by_id(&c->item[k], it) < 0)
			k++;
		if (k == c->n || by_id(&c->item[k], it) != 0)
			continue;
		*it = c->item[k];
		it->settled = it->settled && it->tmp == tmp;
		it->tmp = tmp;
		c->item[k].shared = NULL;
		c->item[k].live = NULL;
	}
}

struct change {
	enum catalog_change what;
	struct shared *shared;
};

struct changes {
	struct change *v; /* room for all items before and after */
	size_t n;
};

static void note(struct changes *ch, enum catalog_change what, struct shared *s)
{
	ch->v[ch->n++] = (struct change){ what, shared_ref(s) };
}

/* The names become the items. One that cannot be looked at for want of memory stays as it was. */
static void look_at_all(struct catalog *c, struct names *l, struct changes *ch)
{
	size_t n = 0;

	for (size_t i = 0; i < c->n; i++)
		if (c->item[i].shared) {
			note(ch, CATALOG_REMOVED, c->item[i].shared);
			item_done(&c->item[i]);
		}
	for (size_t i = 0; i < l->n; i++) {
		struct item *it = &l->v[i];
		bool known = it->shared;
		int r = look(c, it);

		if (r == 1)
			it->shared->e.version = ++c->version;
		if (r == 1)
			note(ch, known ? CATALOG_CHANGED : CATALOG_ADDED, it->shared);
		if (r == -ENOENT && known)
			note(ch, CATALOG_REMOVED, it->shared);
		if (r == -ENOENT || !it->shared)
			item_done(it);
		else
			l->v[n++] = *it;
	}
	free(c->item);
	c->item = TAKE(l->v);
	c->n = n;
}

static int newest_first(const void *a, const void *b)
{
	const struct catalog_entry *x = *(const struct catalog_entry *const *)a, *y = *(const struct catalog_entry *const *)b;

	if (x->start_wall_ns != y->start_wall_ns)
		return x->start_wall_ns > y->start_wall_ns ? -1 : 1;
	return strcmp(x->id.hex, y->id.hex);
}

static void view_free(struct full_view *v)
{
	for (size_t i = 0; v && v->by_id && i < v->v.n; i++)
		shared_unref(CONTAINER_OF((struct catalog_entry *)v->by_id[i], struct shared, e));
	if (v) {
		free(v->by_id);
		free(v->by_start);
	}
	free(v);
}

static int view_new(const struct catalog *c, struct full_view **ret)
{
	struct full_view *v = os_calloc(1, sizeof(*v));

	if (v) {
		v->by_id = os_calloc(c->n + 1, sizeof(*v->by_id));
		v->by_start = os_calloc(c->n + 1, sizeof(*v->by_start));
	}
	if (!v || !v->by_id || !v->by_start) {
		view_free(v);
		return -ENOMEM;
	}
	for (size_t i = 0; i < c->n; i++)
		v->by_id[i] = v->by_start[i] = &shared_ref(c->item[i].shared)->e;
	if (c->n)
		qsort(v->by_start, c->n, sizeof(*v->by_start), newest_first);
	v->v = (struct catalog_view){ .n = c->n, .entry = v->by_start, .version = c->version };
	v->refs = 1;
	*ret = v;
	return 0;
}

static void view_put(struct catalog *c, struct full_view *v)
{
	bool last;

	pthread_mutex_lock(&c->lock);
	last = --v->refs == 0;
	pthread_mutex_unlock(&c->lock);
	if (last)
		view_free(v);
}

static int publish(struct catalog *c)
{
	struct full_view *fresh, *old;
	int r = view_new(c, &fresh);

	if (r < 0)
		return r;
	pthread_mutex_lock(&c->lock);
	old = c->view;
	c->view = fresh;
	pthread_mutex_unlock(&c->lock);
	view_put(c, old);
	return 0;
}

static int refresh(struct catalog *c, struct changes *ch)
{
	struct names l = { 0 };
	int r = read_names(c, &l);

	if (r == 0) {
		ch->v = os_calloc(c->n + l.n + 1, sizeof(*ch->v));
		r = ch->v ? 0 : -ENOMEM;
	}
	if (r < 0) {
		free(l.v);
		return r;
	}
	take_over(c, &l);
	look_at_all(c, &l, ch);
	if (ch->n == 0 && c->view->v.version == c->version)
		return 0;
	c->version++;
	return publish(c);
}

int catalog_refresh(struct catalog *c, catalog_fn changed, void *ctx)
{
	struct changes ch = { 0 };
	int r;

	pthread_mutex_lock(&c->refresh_lock);
	r = refresh(c, &ch);
	for (size_t i = 0; i < ch.n; i++) {
		if (changed)
			changed(ctx, ch.v[i].what, &ch.v[i].shared->e);
		shared_unref(ch.v[i].shared);
	}
	pthread_mutex_unlock(&c->refresh_lock);
	free(ch.v);
	return r;
}

int catalog_new(const char *dir, struct catalog **ret, struct errinfo *ei)
{
	struct catalog *c = os_calloc(1, sizeof(*c));
	int r;

	if (!c)
		return errinfo_set_r(ei, -ENOMEM, "catalog of %s", dir);
	pthread_mutex_init(&c->refresh_lock, NULL);
	pthread_mutex_init(&c->lock, NULL);
	/* versions go on growing over restarts: they are in clients' ETags */
	c->version = os_wall_ns() / 1000;
	c->dir = os_strdup(dir);
	c->tmp = os_asprintf("%s/tmp", dir);
	r = c->dir && c->tmp ? view_new(c, &c->view) : -ENOMEM;
	if (r == 0)
		r = catalog_refresh(c, NULL, NULL);
	if (r < 0) {
		catalog_free(c);
		return errinfo_set_r(ei, r, "read store %s", dir);
	}
	*ret = c;
	return 0;
}

void catalog_free(struct catalog *c)
{
	if (!c)
		return;
	for (size_t i = 0; i < c->n; i++)
		item_done(&c->item[i]);
	free(c->item);
	view_free(c->view);
	pthread_mutex_destroy(&c->refresh_lock);
	pthread_mutex_destroy(&c->lock);
	free(c->dir);
	free(c->tmp);
	free(c);
}

const struct catalog_view *catalog_get(struct catalog *c)
{
	struct full_view *v;

	pthread_mutex_lock(&c->lock);
	v = c->view;
	v->refs++;
	pthread_mutex_unlock(&c->lock);
	return &v->v;
}

void catalog_put(struct catalog *c, const struct catalog_view *v)
{
	if (v)
		view_put(c, CONTAINER_OF((struct catalog_view *)v, struct full_view, v));
}

const struct catalog_entry *catalog_find(const struct catalog_view *v, const struct store_id *id)
{
	const struct full_view *full = CONTAINER_OF((struct catalog_view *)v, struct full_view, v);
	size_t lo = 0, hi = v->n;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;
		int r = strcmp(full->by_id[mid]->id.hex, id->hex);

		if (r == 0)
			return full->by_id[mid];
		if (r < 0)
			lo = mid + 1;
		else
			hi = mid;
	}
	return NULL;
}
