/* The store as a directory: opening, finding, listing, moving and removing recordings. See store.h.
 *
 * A recording is where its directory is: tmp/ID while a recorder holds tmp/ID/lock, ID/ once it is committed or recovered. All changes of place are
 * single renames. Directories in tmp/ that begin with new., rm. or import. are unfinished work of somebody; when that
 * somebody is gone store_recover() clears them away.
 */
#include "store/store.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include "base/json.h"
#include "base/os.h"
#include "base/str.h"
#include "store/blob_cache_priv.h"
#include "store/blocks.h"
#include "store/limits_priv.h"
#include "store/manifest_priv.h"
#include "store/progress_priv.h"
#include "store/store_priv.h"

/* How often a lock is tried, and how long a removal waits for a sealer to notice it. */
#define LOCK_POLL_MS 10
#define REMOVE_WAIT_MS 2000

int store_default_dir(const char *dir, char **ret)
{
	const char *env = getenv("HERMIT_DATA_DIR");
	const char *xdg = getenv("XDG_DATA_HOME");
	const char *home = getenv("HOME");
	char *p;

	if (dir || (env && *env))
		p = os_strdup(dir ? dir : env);
	else if (xdg && *xdg == '/')
		p = os_asprintf("%s/hermit", xdg);
	else if (home && *home)
		p = os_asprintf("%s/.local/share/hermit", home);
	else
		return -ENOENT;
	if (!p)
		return -ENOMEM;
	*ret = p;
	return 0;
}

static int make_dirs(const char *dir)
{
	static const char *const subs[] = { "blobs", "tmp" };
	int r = os_mkdir_p(dir, 0700);

	for (size_t i = 0; i < ARRAY_SIZE(subs) && r == 0; i++) {
		char *p CLEANUP(freep) = os_asprintf("%s/%s", dir, subs[i]);

		r = p ? os_mkdir(p, 0700) : -ENOMEM;
		if (r == -EEXIST)
			r = 0;
	}
	return r;
}

int store_open(const char *dir, bool create, struct store **ret, struct errinfo *ei)
{
	struct store *s;
	struct stat st;
	int r = create ? make_dirs(dir) : 0;

	if (r == 0)
		r = fs_stat(dir, &st);
	if (r == 0 && !S_ISDIR(st.st_mode))
		r = -ENOTDIR;
	if (r < 0)
		return errinfo_set_r(ei, r, "open store %s", dir);
	s = os_calloc(1, sizeof(*s));
	if (s)
		s->dir = os_strdup(dir);
	if (!s || !s->dir) {
		free(s);
		return errinfo_set_r(ei, -ENOMEM, "open store %s", dir);
	}
	s->blobs_lock = -1;
	*ret = s;
	return 0;
}

void store_free(struct store *s)
{
	if (!s)
		return;
	blob_cache_free(s->cache);
	store_blocks_unref(s->blocks);
	closep(&s->blobs_lock);
	free(s->dir);
	free(s);
}

void store_freep(struct store **s)
{
	store_free(*s);
}

const char *store_dir(const struct store *s)
{
	return s->dir;
}

void store_share_blocks(struct store *s, struct store_blocks *b)
{
	store_blocks_ref(b);
	store_blocks_unref(s->blocks);
	s->blocks = b;
}

/* --- ids and paths --- */

static bool is_hex(char c)
{
	return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
}

bool store_id_valid(const char *hex)
{
	size_t n = 0;

	while (n < STORE_ID_LEN && is_hex(hex[n]))
		n++;
	return n == STORE_ID_LEN && hex[n] == '\0';
}

int store_id_random(struct store_id *ret)
{
	static const char digits[] = "0123456789abcdef";
	uint8_t b[STORE_ID_LEN / 2];
	int r = fs_random(b, sizeof(b));

	if (r < 0)
		return r;
	for (size_t i = 0; i < sizeof(b); i++) {
		ret->hex[2 * i] = digits[b[i] >> 4];
		ret->hex[2 * i + 1] = digits[b[i] & 15];
	}
	ret->hex[STORE_ID_LEN] = '\0';
	return 0;
}

char *store_done_path(const struct store *s, const struct store_id *id)
{
	return os_asprintf("%s/%s", s->dir, id->hex);
}

char *store_tmp_path(const struct store *s, const struct store_id *id)
{
	return os_asprintf("%s/tmp/%s", s->dir, id->hex);
}

int store_path(struct store *s, const struct store_id *id, char **ret)
{
	char *done CLEANUP(freep) = store_done_path(s, id);
	char *tmp CLEANUP(freep) = store_tmp_path(s, id);

	if (!done || !tmp)
		return -ENOMEM;
	/* done is asked twice: the recording may be moved there between the questions */
	if (fs_is_dir(done) || (!fs_is_dir(tmp) && fs_is_dir(done)))
		*ret = TAKE(done);
	else if (fs_is_dir(tmp))
		*ret = TAKE(tmp);
	else
		return ERR_NOT_FOUND;
	return 0;
}

/* --- last --- */

static int read_last(const struct store *s, struct store_id *ret)
{
	char *path CLEANUP(freep) = os_asprintf("%s/last", s->dir);
	char *text CLEANUP(freep) = NULL;
	size_t len;
	int r = path ? os_read_regular(path, 4096, &text, &len) : -ENOMEM;

	if (r < 0)
		return r;
	text[strcspn(text, "\n")] = '\0';
	if (!store_id_valid(text))
		return ERR_CORRUPT;
	memcpy(ret->hex, text, sizeof(ret->hex));
	return 0;
}

static int write_last(const struct store *s, const struct store_id *id)
{
	char *path CLEANUP(freep) = os_asprintf("%s/last", s->dir);
	char *tmp CLEANUP(freep) = os_asprintf("%s/tmp/" PREFIX_LAST "%s", s->dir, id->hex);
	int fd, r;

	if (!path || !tmp)
		return -ENOMEM;
	fd = os_open(tmp, O_WRONLY | O_CREAT | O_TRUNC, 0600);
	if (fd < 0)
		return fd;
	r = os_write_full(fd, id->hex, STORE_ID_LEN);
	os_close(fd);
	if (r == 0)
		r = os_rename(tmp, path);
	if (r < 0)
		(void)!fs_unlink_quiet(tmp);
	return r;
}

/* When the recording began, without reading more of its manifest into shape. */
static int start_time(struct store *s, const struct store_id *id, uint64_t *ret)
{
	json_t *j CLEANUP(jsonx_unrefp) = NULL;
	char *dir CLEANUP(freep) = NULL;
	char *path CLEANUP(freep) = NULL;
	int r = store_path(s, id, &dir);

	if (r < 0)
		return r;
	path = os_asprintf("%s/" NAME_MANIFEST, dir);
	r = path ? jsonx_load_file(path, MANIFEST_BYTES_MAX, &j, NULL) : -ENOMEM;
	return r < 0 ? r : jsonx_get_u64(j, "start_wall_ns", ret);
}

void store_set_last(struct store *s, const struct store_id *id, bool only_if_newer)
{
	char *path CLEANUP(freep) = NULL;
	uint64_t mine, theirs;
	struct store_id last;

	if (only_if_newer && read_last(s, &last) == 0 && start_time(s, &last, &theirs) == 0 && start_time(s, id, &mine) == 0 &&
	    theirs > mine)
		return;
	if (write_last(s, id) == 0)
		return;
	/* without the file the newest recording is searched, which is the right answer too */
	path = os_asprintf("%s/last", s->dir);
	if (path)
		(void)!fs_unlink_quiet(path);
}

int recording_lock(struct store *s, const char *dir, bool exclusive, unsigned wait_ms, struct progress *p, int *ret_fd)
{
	char *tmp CLEANUP(freep) = os_asprintf("%s/tmp/", s->dir);
	int r;

	if (!tmp)
		return -ENOMEM;
	for (unsigned ms = 0;; ms += LOCK_POLL_MS) {
		r = fs_lock_file(dir, NAME_LOCK, exclusive, ret_fd);
		if (r != ERR_BUSY || str_has_prefix(dir, tmp))
			return r;
		if (p && p->fn)
			r = p->fn(p->ctx, 0, MAX(p->total, (uint64_t)1));
		else if (ms >= wait_ms)
			return ERR_BUSY;
		if (r < 0 && r != ERR_BUSY)
			return r;
		usleep(LOCK_POLL_MS * 1000);
	}
}

int store_publish(struct store *s, const char *tmp_path, const struct store_id *id)
{
	char *to CLEANUP(freep) = store_done_path(s, id);
	int r;

	if (!to)
		return -ENOMEM;
	r = os_rename(tmp_path, to);
	return r == -ENOTEMPTY ? -EEXIST : r;
}

/* --- listing --- */

struct found {
	struct store_id id;
	uint64_t start;
};

struct listing {
	struct found *v;
	size_t n, cap;
};

int store_list_room(void **v, size_t *cap, size_t n, size_t each)
{
	size_t more = *cap ? *cap * 2 : 256;
	void *grown;

	if (n < *cap)
		return 0;
	if (n >= RECORDINGS_MAX)
		return ERR_LIMIT;
	grown = os_malloc(more * each);
	if (!grown)
		return -ENOMEM;
	if (n)
		memcpy(grown, *v, n * each);
	free(*v);
	*v = grown;
	*cap = more;
	return 0;
}

static int add_found(void *ctx, const char *name)
{
	struct listing *l = ctx;
	int r;

	if (!store_id_valid(name))
		return 0;
	r = store_list_room((void **)&l->v, &l->cap, l->n, sizeof(*l->v));
	if (r < 0)
		return r;
	l->v[l->n] = (struct found){ 0 };
	memcpy(l->v[l->n++].id.hex, name, STORE_ID_LEN + 1);
	return 0;
}

static int by_id(const void *a, const void *b)
{
	const struct found *x = a, *y = b;

	return strcmp(x->id.hex, y->id.hex);
}

static int by_start(const void *a, const void *b)
{
	const struct found *x = a, *y = b;

	return x->start != y->start ? (x->start < y->start ? -1 : 1) : by_id(a, b);
}

/* All ids, sorted, each once: tmp/ is read first, so a recording that is committed meanwhile is not missed but may be met twice. */
static int find_all(struct store *s, struct listing *l)
{
	char *tmp CLEANUP(freep) = os_asprintf("%s/tmp", s->dir);
	size_t n = 0;
	int r = tmp ? fs_each_name(tmp, add_found, l) : -ENOMEM;

	if (r == 0 || r == -ENOENT)
		r = fs_each_name(s->dir, add_found, l);
	if (r < 0)
		return r;
	if (l->n)
		qsort(l->v, l->n, sizeof(*l->v), by_id);
	for (size_t i = 0; i < l->n; i++)
		if (n == 0 || by_id(&l->v[n - 1], &l->v[i]) != 0)
			l->v[n++] = l->v[i];
	l->n = n;
	return 0;
}

int store_list(struct store *s, struct store_id **ret, size_t *ret_n)
{
	struct listing l = { 0 };
	struct store_id *ids;
	int r = find_all(s, &l);

	/* a recording whose manifest cannot be read is listed first, where it is noticed */
	for (size_t i = 0; i < l.n && r == 0; i++)
		if (start_time(s, &l.v[i].id, &l.v[i].start) < 0)
			l.v[i].start = 0;
	ids = r == 0 ? os_malloc((l.n + 1) * sizeof(*ids)) : NULL;
	if (r == 0 && !ids)
		r = -ENOMEM;
	if (r < 0) {
		free(l.v);
		return r;
	}
	if (l.n)
		qsort(l.v, l.n, sizeof(*l.v), by_start);
	for (size_t i = 0; i < l.n; i++)
		ids[i] = l.v[i].id;
	free(l.v);
	*ret = ids;
	*ret_n = l.n;
	return 0;
}

/* --- resolving --- */

static int newest(struct store *s, struct store_id *ret, struct errinfo *ei)
{
	char *done CLEANUP(freep) = NULL;
	struct store_id *ids CLEANUP(freep) = NULL;
	size_t n;
	int r = read_last(s, ret);

	if (r == 0)
		done = store_done_path(s, ret);
	if (done && fs_exists(done))
		return 0;
	r = store_list(s, &ids, &n);
	if (r < 0)
		return errinfo_set_r(ei, r, "list store %s", s->dir);
	if (n == 0)
		return errinfo_set(ei, ERR_NOT_FOUND, "there are no recordings in %s", s->dir);
	*ret = ids[n - 1];
	return 0;
}

/* Lower case, without dashes; false if it cannot be (the start of) an id. */
static bool normalise(const char *text, char hex[STORE_ID_LEN + 1])
{
	size_t n = 0;

	for (; *text; text++) {
		char c = *text >= 'A' && *text <= 'F' ? (char)(*text + 32) : *text;

		if (c == '-')
			continue;
		if (!is_hex(c) || n == STORE_ID_LEN)
			return false;
		hex[n++] = c;
	}
	hex[n] = '\0';
	return n >= 4;
}

/* The newest recording with this label. */
static int find_label(struct store *s, const struct listing *l, const char *text, struct store_id *ret)
{
	struct found best = { 0 };

	for (size_t i = 0; i < l->n; i++) {
		struct manifest m CLEANUP(manifest_done);
		struct found f = l->v[i];

		manifest_init(&m);
		if (manifest_load(s, &f.id, &m, NULL) < 0 || !m.label || strcmp(m.label, text) != 0)
			continue;
		f.start = m.start_wall_ns;
		if (!best.id.hex[0] || by_start(&f, &best) > 0)
			best = f;
	}
	if (!best.id.hex[0])
		return ERR_NOT_FOUND;
	*ret = best.id;
	return 0;
}

/* Appends a candidate to the explanation of an ambiguous name. */
static void add_candidate(struct errinfo *ei, const struct store_id *id)
{
	size_t n = ei ? strlen(ei->text) : 0;

	if (ei && n + STORE_ID_LEN + 2 < sizeof(ei->text)) {
		ei->text[n] = ' ';
		memcpy(ei->text + n + 1, id->hex, STORE_ID_LEN + 1);
	}
}

static int pick(const struct listing *l, const bool *fits, const char *text, struct store_id *ret, struct errinfo *ei)
{
	size_t count = 0, which = 0;

	for (size_t i = 0; i < l->n; i++)
		if (fits[i]) {
			count++;
			which = i;
		}
	if (count == 0)
		return ERR_NOT_FOUND;
	if (count == 1) {
		*ret = l->v[which].id;
		return 0;
	}
	(void)errinfo_set(ei, ERR_AMBIGUOUS, "%s fits %zu recordings:", text, count);
	for (size_t i = 0; i < l->n; i++)
		if (fits[i])
			add_candidate(ei, &l->v[i].id);
	return ERR_AMBIGUOUS;
}

static int resolve_in(struct store *s, const struct listing *l, const char *text, struct store_id *ret, struct errinfo *ei)
{
	bool *fits CLEANUP(freep) = os_calloc(l->n + 1, sizeof(*fits));
	char hex[STORE_ID_LEN + 1];
	int r = ERR_NOT_FOUND;

	if (!fits)
		return -ENOMEM;
	if (normalise(text, hex)) {
		for (size_t i = 0; i < l->n; i++)
			fits[i] = strncmp(l->v[i].id.hex, hex, strlen(hex)) == 0;
		r = pick(l, fits, text, ret, ei);
	}
	if (r == ERR_NOT_FOUND)
		r = find_label(s, l, text, ret);
	return r == ERR_NOT_FOUND ? errinfo_set(ei, r, "no recording %s in %s", text, s->dir) : r;
}

int store_resolve(struct store *s, const char *text, struct store_id *ret, struct errinfo *ei)
{
	struct listing l = { 0 };
	int r;

	if (!text)
		return newest(s, ret, ei);
	r = find_all(s, &l);
	r = r < 0 ? errinfo_set_r(ei, r, "read store %s", s->dir) : resolve_in(s, &l, text, ret, ei);
	free(l.v);
	/* it may be a label; else it is the word for where a name cannot be left out */
	if (r == ERR_NOT_FOUND && strcmp(text, "last") == 0) {
		if (ei)
			*ei = (struct errinfo){ 0 };
		return newest(s, ret, ei);
	}
	return r;
}

/* --- removing --- */

/* `last` named a recording that is gone now. */
static int repair_last(struct store *s, const struct store_id *gone)
{
	char *path CLEANUP(freep) = os_asprintf("%s/last", s->dir);
	struct store_id *ids CLEANUP(freep) = NULL;
	struct store_id last;
	size_t n;
	int r = path ? read_last(s, &last) : -ENOMEM;

	if (r == -ENOENT || (r == 0 && strcmp(last.hex, gone->hex) != 0))
		return 0;
	r = store_list(s, &ids, &n);
	if (r < 0)
		return r;
	return n ? write_last(s, &ids[n - 1]) : fs_unlink_quiet(path);
}

/* Locks a recording that is to go; a sealer that is at it is asked to stop. */
static int lock_to_remove(struct store *s, const char *dir, int *ret_fd)
{
	char *stop CLEANUP(freep) = os_asprintf("%s/" NAME_STOP, dir);
	int fd, r = stop ? fs_lock_file(dir, NAME_LOCK, true, ret_fd) : -ENOMEM;

	if (r != ERR_BUSY)
		return r;
	fd = os_open(stop, O_WRONLY | O_CREAT, 0600);
	if (fd >= 0)
		os_close(fd);
	r = recording_lock(s, dir, true, REMOVE_WAIT_MS, NULL, ret_fd);
	if (r < 0)
		(void)!fs_unlink_quiet(stop);
	return r;
}

/* What analysis/evindex keeps of it. Not being able to matters nothing: it is swept away later. */
static void remove_cached(struct store *s, const struct store_id *id)
{
	char *path CLEANUP(freep) = os_asprintf("%s/cache/%s.events", s->dir, id->hex);
	int r UNUSED = path ? fs_unlink_quiet(path) : 0;
}

int store_remove(struct store *s, const struct store_id *id, struct errinfo *ei)
{
	char *rm CLEANUP(freep) = os_asprintf("%s/tmp/" PREFIX_REMOVE "%s", s->dir, id->hex);
	char *dir CLEANUP(freep) = NULL;
	int lock CLEANUP(closep) = -1;
	int r = rm ? store_path(s, id, &dir) : -ENOMEM;

	if (r == 0)
		r = lock_to_remove(s, dir, &lock);
	if (r == 0)
		r = os_rename(dir, rm);
	if (r == 0)
		r = fs_remove_dir(rm);
	if (r == 0)
		remove_cached(s, id);
	if (r == 0)
		r = repair_last(s, id);
	return r < 0 ? errinfo_set_r(ei, r, "remove recording %s", id->hex) : 0;
}
