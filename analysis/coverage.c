/* See coverage.h. */
#include "analysis/coverage.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include "analysis/limits.h"
#include "analysis/summary.h"
#include "base/json.h"
#include "base/os.h"
#include "base/str.h"

/* What one recording has: the rows that are not zero. */
struct counts {
	struct store_id id;
	char *command, *why;
	uint32_t n;
	struct counts_row {
		uint32_t nr;
		struct coverage_row row;
	} *row; /* owned */
};

struct coverage_cache {
	pthread_mutex_t lock;
	struct counts *slot[COVERAGE_CACHE_MAX]; /* by hash of the id; a newer one takes the place */
};

int coverage_new(struct coverage **ret)
{
	*ret = os_calloc(1, sizeof(**ret));
	return *ret ? 0 : -ENOMEM;
}

void coverage_free(struct coverage *c)
{
	if (!c)
		return;
	for (uint32_t i = 0; i < c->n; i++) {
		free(c->recording[i].command);
		free(c->recording[i].why);
	}
	free(c->recording);
	free(c);
}

void coverage_freep(struct coverage **c)
{
	coverage_free(*c);
}

static void counts_free(struct counts *k)
{
	if (!k)
		return;
	free(k->command);
	free(k->why);
	free(k->row);
	free(k);
}

static void counts_freep(struct counts **k)
{
	counts_free(*k);
}

/* --- from the manifest --- */

const char *coverage_how_name(enum coverage_how h)
{
	static const char *const names[COVERAGE_HOW_MAX_] = { "buffered", "executed", "answered", "refused", "did_not_return" };

	return names[h];
}

/* The call of that name: its row; -ENOENT when no call is called so. */
static int row_number(const char *name)
{
	uint64_t n;
	int nr = sys_number(name);

	if (nr >= 0)
		return MIN(nr, SYS_TABLE_MAX);
	if (!str_has_prefix(name, "syscall_") || str_parse_u64(name + strlen("syscall_"), &n) < 0 || n > UINT32_MAX)
		return -ENOENT;
	return (int)MIN(n, (uint64_t)SYS_TABLE_MAX);
}

static bool adds_up(const struct coverage_row *row)
{
	uint64_t sum = 0;

	for (int i = 0; i < COVERAGE_HOW_MAX_; i++)
		if (__builtin_add_overflow(sum, row->how[i], &sum))
			return false;
	return sum == row->calls;
}

/* Members that are missing are 0. */
static int get_count(const json_t *obj, const char *name, uint64_t *ret)
{
	int r = jsonx_get_u64(obj, name, ret);

	return r == -ENOENT ? 0 : r;
}

static int read_row(const json_t *obj, struct coverage_row *row)
{
	int r = get_count(obj, "count", &row->calls);

	for (int i = 0; i < COVERAGE_HOW_MAX_ && r >= 0; i++)
		r = get_count(obj, coverage_how_name((enum coverage_how)i), &row->how[i]);
	return r;
}

static void say(struct counts *k, char *why)
{
	free(k->why);
	k->why = why;
}

/* Does the manifest tell how each call was handled? Before format 1.2 it had two numbers only. */
static bool manifest_tells(const struct manifest *m)
{
	const char *name;
	json_t *obj;

	if (!m->syscalls || !json_object_size(m->syscalls))
		return false;
	json_object_foreach(m->syscalls, name, obj)
		if (!json_object_get(obj, "executed"))
			return false;
	return true;
}

static int from_manifest(const struct manifest *m, struct counts *k)
{
	const char *name;
	json_t *obj;

	k->row = os_calloc(json_object_size(m->syscalls), sizeof(*k->row));
	if (!k->row)
		return -ENOMEM;
	json_object_foreach(m->syscalls, name, obj) {
		struct counts_row *at = &k->row[k->n];
		int nr = row_number(name);

		if (nr < 0 || read_row(obj, &at->row) < 0) {
			say(k, os_asprintf("its manifest has no sensible count of \"%.40s\"", name));
			continue;
		}
		at->nr = (uint32_t)nr;
		at->row.bad = !adds_up(&at->row);
		if (at->row.bad)
			say(k, os_asprintf("its calls of %s do not add up", name));
		k->n++;
	}
	return 0;
}

/* --- from the events --- */

static int scan(struct store_reader *r, struct summary *s, struct errinfo *ei)
{
	const struct event *ev;
	uint64_t n = 0;
	int err;

	while ((err = store_reader_next(r, &ev, ei)) > 0) {
		if (++n > COVERAGE_EVENTS_MAX)
			return errinfo_set(ei, ERR_LIMIT, "it has too many events to count them again");
		summary_see(s, ev);
	}
	return err;
}

static int fill(const struct summary *s, struct counts *k)
{
	k->row = os_calloc(SYS_TABLE_MAX + 1, sizeof(*k->row));
	if (!k->row)
		return -ENOMEM;
	for (uint32_t nr = 0; nr <= SYS_TABLE_MAX; nr++) {
		const struct call_count *c = &s->call[nr];
		struct counts_row *at = &k->row[k->n];

		if (!c->calls)
			continue;
		at->nr = nr;
		at->row = (struct coverage_row){ .calls = c->calls };
		at->row.how[COVERAGE_EXECUTED] = c->executed;
		at->row.how[COVERAGE_ANSWERED] = c->answered;
		at->row.how[COVERAGE_REFUSED] = c->refused;
		at->row.how[COVERAGE_DID_NOT_RETURN] = c->open;
		at->row.bad = !adds_up(&at->row);
		if (at->row.bad)
			say(k, os_strdup("its calls do not add up"));
		k->n++;
	}
	return 0;
}

static int from_events(struct store *s, struct counts *k)
{
	struct errinfo ei = { 0 };
	struct store_reader *r CLEANUP(store_reader_freep) = NULL;
	struct summary *sum;
	int err = store_reader_open(s, &k->id, &r, &ei);

	if (err < 0)
		goto broken;
	err = summary_new(&sum);
	if (err < 0)
		return err;
	err = scan(r, sum, &ei);
	if (err >= 0)
		err = fill(sum, k);
	summary_free(sum);
	if (err >= 0 || err == -ENOMEM)
		return err;
broken:
	say(k, os_strdup(ei.text[0] ? ei.text : err_str(err)));
	return k->why ? 0 : -ENOMEM;
}

static char *command_of(const struct manifest *m)
{
	struct buf b CLEANUP(buf_done) = { 0 };

	if (m->argv)
		buf_put_shell_argv(&b, (const char *const *)m->argv);
	return strndup(buf_cstr(&b), ANALYSIS_TEXT_MAX);
}

/* *ret_final: the recording has ended, its numbers will not change. */
static int count(struct store *s, const struct store_id *id, struct counts **ret, bool *ret_final)
{
	struct counts *k CLEANUP(counts_freep) = os_calloc(1, sizeof(*k));
	struct manifest m CLEANUP(manifest_done);
	struct errinfo ei = { 0 };
	int r;

	manifest_init(&m);
	if (!k)
		return -ENOMEM;
	k->id = *id;
	r = manifest_load(s, id, &m, &ei);
	if (r == ERR_NOT_FOUND || r == -ENOMEM)
		return r;
	k->command = command_of(&m);
	if (!k->command)
		return -ENOMEM;
	*ret_final = r >= 0 && m.state != RECORDING_OPEN;
	if (r < 0) {
		say(k, os_strdup(ei.text[0] ? ei.text : err_str(r)));
		r = k->why ? 0 : -ENOMEM;
	} else {
		r = manifest_tells(&m) ? from_manifest(&m, k) : from_events(s, k);
	}
	if (r >= 0)
		*ret = TAKE(k);
	return r;
}

/* --- the table --- */

/* Would adding it overflow? Numbers come from strangers. */
static bool too_large(const struct coverage *c, const struct counts *k)
{
	for (uint32_t i = 0; i < k->n; i++)
		if (c->row[k->row[i].nr].calls > INT64_MAX / 4 - MIN(k->row[i].row.calls, (uint64_t)INT64_MAX / 4))
			return true;
	return false;
}

static int add(struct coverage *c, const struct counts *k)
{
	struct coverage_recording *more = reallocarray(c->recording, c->n + 1, sizeof(*more)), *at;
	const char *why = k->why;

	if (!more)
		return -ENOMEM;
	c->recording = more;
	at = &more[c->n];
	if (!why && too_large(c, k))
		why = "its numbers are too large";
	*at = (struct coverage_recording){ .id = k->id, .command = os_strdup(k->command), .why = why ? os_strdup(why) : NULL };
	if (!at->command || (why && !at->why)) {
		free(at->command);
		free(at->why);
		return -ENOMEM;
	}
	c->n++;
	c->counted += !why;
	for (uint32_t i = 0; i < k->n; i++) {
		struct coverage_row *row = &c->row[k->row[i].nr];

		row->bad |= k->row[i].row.bad;
		if (why)
			continue;
		row->calls += k->row[i].row.calls;
		row->recordings += k->row[i].row.calls > 0;
		for (int h = 0; h < COVERAGE_HOW_MAX_; h++)
			row->how[h] += k->row[i].row.how[h];
	}
	return 0;
}

static uint32_t slot_of(const struct store_id *id)
{
	char head[9];

	memcpy(head, id->hex, 8);
	head[8] = '\0';
	return (uint32_t)strtoul(head, NULL, 16) % COVERAGE_CACHE_MAX;
}

int coverage_add(struct coverage *c, struct coverage_cache *cache, struct store *s, const struct store_id *id)
{
	struct counts **slot = cache ? &cache->slot[slot_of(id)] : NULL, *k = NULL;
	char *path CLEANUP(freep) = NULL;
	bool final = false;
	int r;

	if (c->n >= COVERAGE_RECORDINGS_MAX)
		return ERR_LIMIT;
	r = store_path(s, id, &path); /* is it still there? */
	if (r < 0)
		return r;
	if (cache) {
		pthread_mutex_lock(&cache->lock);
		r = *slot && !strcmp((*slot)->id.hex, id->hex) ? add(c, *slot) : 1;
		pthread_mutex_unlock(&cache->lock);
		if (r <= 0)
			return r;
	}
	r = count(s, id, &k, &final);
	if (r >= 0)
		r = add(c, k);
	if (r >= 0 && cache && final) {
		struct counts *old;

		pthread_mutex_lock(&cache->lock);
		old = *slot;
		*slot = k;
		k = old;
		pthread_mutex_unlock(&cache->lock);
	}
	counts_free(k);
	return r;
}

int coverage_cache_new(struct coverage_cache **ret)
{
	struct coverage_cache *cache = os_calloc(1, sizeof(*cache));

	if (!cache)
		return -ENOMEM;
	pthread_mutex_init(&cache->lock, NULL);
	*ret = cache;
	return 0;
}

void coverage_cache_free(struct coverage_cache *cache)
{
	if (!cache)
		return;
	for (uint32_t i = 0; i < COVERAGE_CACHE_MAX; i++)
		counts_free(cache->slot[i]);
	pthread_mutex_destroy(&cache->lock);
	free(cache);
}

/* --- shown --- */

const char *coverage_class(uint32_t nr)
{
	static const char *const names[SYS_CLASS_MAX_] = { "emulate", "reexec", "special", "refuse" };

	return names[sys_row(nr)->cls];
}

bool coverage_exists(uint32_t nr)
{
	return nr < SYS_TABLE_MAX && *sys_row(nr)->name != '?';
}

static int set_counts(json_t *obj, const struct coverage_row *row)
{
	int r = jsonx_set_u64(obj, "calls", row->calls);

	for (int h = 0; h < COVERAGE_HOW_MAX_ && r >= 0; h++)
		r = jsonx_set_u64(obj, coverage_how_name((enum coverage_how)h), row->how[h]);
	return r;
}

/* "read"; "?" for those beyond the table. */
static json_t *head_of(uint32_t nr)
{
	char buf[24];

	return json_pack("{s:I, s:s, s:s}", "number", (json_int_t)nr, "name", nr < SYS_TABLE_MAX ? sys_name(nr, buf) : "?", "class", coverage_class(nr));
}

static int put_rows(const struct coverage *c, json_t *rows, json_t *never)
{
	int r = 0;

	for (uint32_t nr = 0; nr <= SYS_TABLE_MAX && r >= 0; nr++) {
		const struct coverage_row *row = &c->row[nr];
		json_t *obj;

		if (!row->calls && !row->bad && !coverage_exists(nr))
			continue;
		obj = head_of(nr);
		if (!obj)
			return -ENOMEM;
		if (!row->calls && !row->bad) {
			r = json_array_append_new(never, obj) < 0 ? -ENOMEM : 0;
			continue;
		}
		r = set_counts(obj, row);
		if (r >= 0)
			r = jsonx_set_bool(obj, "adds_up", !row->bad);
		if (r >= 0)
			r = jsonx_set_u64(obj, "recordings", row->recordings);
		if (json_array_append_new(rows, obj) < 0)
			r = -ENOMEM;
	}
	return r;
}

static int put_recordings(const struct coverage *c, json_t *list, json_t *not_counted, json_t *reasons)
{
	for (uint32_t i = 0; i < c->n; i++) {
		const struct coverage_recording *at = &c->recording[i];
		json_t *obj = json_pack("{s:s, s:o}", "id", at->id.hex, "command", jsonx_string_lossy(at->command, strlen(at->command)));

		if (!obj || json_array_append_new(list, obj) < 0)
			return -ENOMEM;
		if (at->why && (json_array_append_new(not_counted, json_string(at->id.hex)) < 0 ||
				json_object_set_new(reasons, at->id.hex, jsonx_string_lossy(at->why, strlen(at->why))) < 0))
			return -ENOMEM;
	}
	return 0;
}

int coverage_json(const struct coverage *c, json_t **ret)
{
	json_t *j CLEANUP(jsonx_unrefp) = json_pack("{s:[], s:I, s:[], s:{}, s:{}, s:[], s:[]}", "recordings", "counted", (json_int_t)c->counted, "not_counted",
						    "reasons", "totals", "syscalls", "never");
	struct coverage_row totals = { 0 };
	int r;

	if (!j)
		return -ENOMEM;
	for (uint32_t nr = 0; nr <= SYS_TABLE_MAX; nr++) {
		totals.calls += c->row[nr].calls;
		for (int h = 0; h < COVERAGE_HOW_MAX_; h++)
			totals.how[h] += c->row[nr].how[h];
	}
	r = set_counts(json_object_get(j, "totals"), &totals);
	if (r >= 0)
		r = put_recordings(c, json_object_get(j, "recordings"), json_object_get(j, "not_counted"), json_object_get(j, "reasons"));
	if (r >= 0)
		r = put_rows(c, json_object_get(j, "syscalls"), json_object_get(j, "never"));
	if (r >= 0)
		*ret = TAKE(j);
	return r;
}

int coverage_csv(const struct coverage *c, struct buf *out)
{
	char buf[24];

	buf_printf(out, "number,name,class,calls");
	for (int h = 0; h < COVERAGE_HOW_MAX_; h++)
		buf_printf(out, ",%s", coverage_how_name((enum coverage_how)h));
	buf_printf(out, ",adds_up,recordings\r\n");
	for (uint32_t nr = 0; nr <= SYS_TABLE_MAX; nr++) {
		const struct coverage_row *row = &c->row[nr];

		if (!row->calls && !row->bad && !coverage_exists(nr))
			continue;
		buf_printf(out, "%u,%s,%s,%llu", nr, nr < SYS_TABLE_MAX ? sys_name(nr, buf) : "?", coverage_class(nr), (unsigned long long)row->calls);
		for (int h = 0; h < COVERAGE_HOW_MAX_; h++)
			buf_printf(out, ",%llu", (unsigned long long)row->how[h]);
		buf_printf(out, ",%s,%u\r\n", row->bad ? "no" : "yes", row->recordings);
	}
	return buf_error(out);
}
