/* See sources_priv.h, parts_priv.h. */
#include "dap/sources_priv.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include "base/os.h"
#include "base/str.h"
#include "store/manifest.h"

/* --- life --- */

int sources_new(struct dap_sources **ret)
{
	struct dap_sources *s = os_calloc(1, sizeof(*s));

	if (!s)
		return -ENOMEM;
	s->first_location = 1;
	*ret = s;
	return 0;
}

void sources_free(struct dap_sources *s)
{
	if (!s)
		return;
	path_map_done(&s->map);
	path_map_done(&s->spelt);
	names_done(&s->shown);
	names_done(&s->known);
	free(s->known_of);
	free(s->location);
	for (size_t i = 0; i < LINE_TABLES_MAX; i++) {
		free(s->table[i].path);
		free(s->table[i].line);
	}
	listings_free(s);
	json_decref(s->fresh);
	memory_forget(s);
	free(s);
}

/* --- setup --- */

/* One word of a command of gdb's that splits its arguments as a shell does. */
static void put_word(struct buf *b, const char *s)
{
	buf_put_u8(b, '"');
	for (; *s; s++) {
		if (*s == '"' || *s == '\\')
			buf_put_u8(b, '\\');
		buf_put_u8(b, (uint8_t)*s);
	}
	buf_put_u8(b, '"');
}

static int substitute(struct dap *d, const char *from, const char *to)
{
	struct buf b CLEANUP(buf_done) = { 0 };

	buf_printf(&b, "set substitute-path ");
	put_word(&b, from);
	buf_put_u8(&b, ' ');
	put_word(&b, to);
	return buf_error(&b) ? -ENOMEM : mi_console(d->mi, NULL, &d->ei, "%s", buf_cstr(&b));
}

/* gdb takes the first rule that fits, so the longest come first. It puts "./" before relative names of units whose folder is "." (Go with -trimpath). */
static int tell_map(struct dap *d, const struct path_map *m)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < m->n; i++) {
		const struct path_rule *rule = &m->v[i];
		char *dotted CLEANUP(freep) = rule->from[0] == '/' || rule->from[0] == '.' ? NULL : os_asprintf("./%s", rule->from);

		r = substitute(d, rule->from, rule->to);
		if (r == 0 && dotted)
			r = substitute(d, dotted, rule->to);
	}
	return r;
}

/* Local folders that are links: gdb tells the real names, the user wants those of the configuration. */
static int note_links(struct dap_sources *s)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < s->map.n; i++) {
		char *real CLEANUP(freep) = realpath(s->map.v[i].to, NULL);

		if (real && strcmp(real, s->map.v[i].to) != 0)
			r = path_map_add(&s->spelt, real, s->map.v[i].to);
	}
	return r;
}

/* When the recording was made; not knowing it does no harm. */
static void note_time(struct dap *d)
{
	struct store *store CLEANUP(store_freep) = NULL;
	struct manifest m CLEANUP(manifest_done);
	struct errinfo ei = { 0 };
	struct store_id id;
	char *dir CLEANUP(freep) = NULL;

	manifest_init(&m);
	if (!d->recording || store_default_dir(d->opt.data_dir, &dir) < 0 || store_open(dir, false, &store, &ei) < 0)
		return;
	if (store_resolve(store, d->recording, &id, &ei) == 0 && manifest_load(store, &id, &m, &ei) == 0)
		d->sources->recorded_ns = m.start_wall_ns;
}

int sources_setup(struct dap *d)
{
	struct dap_sources *s = d->sources;
	int r;

	/* of a launch that failed */
	path_map_done(&s->map);
	r = path_map_parse(json_object_get(d->launch, "sourceMap"), &s->map, &d->ei);
	if (r == 0)
		r = note_links(s);
	if (r == 0)
		r = tell_map(d, &s->map);
	/* else gdb takes any file of the same name in the working directory for a source that it does not find */
	if (r == 0)
		r = mi_command(d->mi, NULL, &d->ei, "-environment-cd /");
	note_time(d);
	return r;
}

/* --- lines --- */

int64_t sources_line_in(const struct dap *d, int64_t line)
{
	return d->client.lines_at_1 ? line : line + 1;
}

int64_t sources_line_out(const struct dap *d, int64_t line)
{
	return d->client.lines_at_1 || line <= 0 ? line : line - 1;
}

/* --- to the client --- */

/* As the client spells it, as a URI if it wants those. New reference, NULL = no memory. */
static json_t *path_out(const struct dap *d, const char *path)
{
	char *spelt CLEANUP(freep) = path_map_apply(&d->sources->spelt, path);
	char *uri CLEANUP(freep) = d->client.uris ? path_to_uri(spelt ? spelt : path) : NULL;

	if (d->client.uris && !uri)
		return NULL;
	return jsonx_text(uri ? uri : spelt ? spelt : path);
}

json_t *sources_served(const char *name, int64_t reference, const char *hint, const char *origin)
{
	json_t *j CLEANUP(jsonx_unrefp) = json_object();

	if (!j || jsonx_set_new(j, "name", jsonx_text(name)) < 0 || jsonx_set_i64(j, "sourceReference", reference) < 0 ||
	    (hint && jsonx_set_str(j, "presentationHint", hint) < 0) || (origin && jsonx_set_str(j, "origin", origin) < 0))
		return NULL;
	return TAKE(j);
}

const char *sources_known(const struct dap *d, int64_t reference)
{
	const struct dap_sources *s = d->sources;

	if (reference <= 0 || reference % 2 || reference / 2 > s->shown.n)
		return NULL;
	return names_get(&s->known, s->known_of[reference / 2 - 1]);
}

/* The number of a file that is not here, with gdb's name of it. 0: too many. */
static uint32_t note_missing(struct dap_sources *s, const char *shown, const char *known)
{
	uint32_t n = s->shown.n, number;

	if (n == s->known_cap) {
		uint32_t *v = reallocarray(s->known_of, 2 * (size_t)n + 64, sizeof(*v));

		if (!v)
			return 0;
		s->known_of = v;
		s->known_cap = 2 * n + 64;
	}
	number = names_add(&s->shown, shown, strlen(shown));
	/* the first name is as good as any: "a/./b.c" and "a/b.c" of two units are one to the client */
	if (number > n)
		s->known_of[n] = names_add(&s->known, known, strlen(known));
	return number;
}

static json_t *missing(struct dap *d, const char *known)
{
	char *shown CLEANUP(freep) = path_normalise(known);
	uint32_t number = shown ? note_missing(d->sources, shown, known) : 0;
	json_t *j CLEANUP(jsonx_unrefp) = sources_served(path_base(known), 2 * (int64_t)number, "deemphasize", "not on this machine");

	if (!shown || !j || jsonx_set_new(j, "path", path_out(d, shown)) < 0)
		return NULL;
	return TAKE(j);
}

static uint64_t mtime_ns(const struct stat *st)
{
	return (uint64_t)st->st_mtim.tv_sec * 1000000000ull + (uint64_t)st->st_mtim.tv_nsec;
}

static json_t *present(struct dap *d, const char *path, const struct stat *st)
{
	json_t *j CLEANUP(jsonx_unrefp) = json_object();
	uint64_t recorded = d->sources->recorded_ns;
	bool changed = recorded && mtime_ns(st) > recorded;

	if (!j || jsonx_set_new(j, "name", jsonx_text(path_base(path))) < 0 || jsonx_set_new(j, "path", path_out(d, path)) < 0)
		return NULL;
	if (changed && (jsonx_set_str(j, "presentationHint", "deemphasize") < 0 ||
			jsonx_set_str(j, "origin", "changed since it was recorded: lines may differ") < 0))
		return NULL;
	return TAKE(j);
}

json_t *sources_of(struct dap *d, const char *file, const char *fullname)
{
	const char *path = fullname && *fullname ? fullname : file;
	struct stat st;

	if (!path || !*path)
		return json_null();
	if (path[0] == '/' && stat(path, &st) == 0 && S_ISREG(st.st_mode))
		return present(d, path, &st);
	return missing(d, path);
}

/* --- from the client --- */

/* The client names links on the way to a file: from now on files in that folder are spelt so. */
static int learn_spelling(struct dap *d, const char *real, const char *given)
{
	char *from CLEANUP(freep) = NULL, *to CLEANUP(freep) = NULL;
	/* with ".." in it the folders' names do not tell where they are */
	char *clean CLEANUP(freep) = strstr(given, "/../") ? NULL : path_normalise(given);
	int r = 0;

	if (clean && !strcmp(clean, real))
		path_map_remove(&d->sources->spelt, real);
	if (clean && path_alias(real, clean, &from, &to))
		r = path_map_add(&d->sources->spelt, from, to);
	return r == ERR_LIMIT ? 0 : r;
}

static int known_of_path(struct dap *d, const char *path, char **ret)
{
	struct dap_sources *s = d->sources;
	char *clean CLEANUP(freep) = NULL, *real CLEANUP(freep) = path[0] == '/' ? realpath(path, NULL) : NULL;
	const char *known = NULL;
	uint32_t number;
	int r;

	if (real) {
		r = learn_spelling(d, real, path);
		if (r == 0)
			*ret = TAKE(real);
		return r;
	}
	clean = path_normalise(path);
	if (!clean)
		return -ENOMEM;
	number = names_find(&s->shown, clean, strlen(clean));
	if (number)
		known = names_get(&s->known, s->known_of[number - 1]);
	*ret = known ? os_strdup(known) : TAKE(clean);
	return *ret ? 0 : -ENOMEM;
}

int sources_to_gdb(struct dap *d, const json_t *source, char **ret)
{
	int64_t reference = json_integer_value(json_object_get(source, "sourceReference"));
	const char *path = json_string_value(json_object_get(source, "path"));
	const char *known = sources_known(d, reference);
	char *local CLEANUP(freep) = NULL;

	if (known) {
		*ret = os_strdup(known);
		return *ret ? 0 : -ENOMEM;
	}
	if (sources_is_code(source))
		return errinfo_set(&d->ei, -ENOENT, "this is a listing of machine code: it has no lines of a source file");
	if (!path || !*path)
		return errinfo_set(&d->ei, -ENOENT, "source: neither a path nor a sourceReference of this session");
	if (path_is_uri(path)) {
		local = path_from_uri(path);
		if (!local)
			return errinfo_set(&d->ei, -ENOENT, "source: %.200s is no file of this machine", path);
	}
	return known_of_path(d, local ? local : path, ret);
}

/* --- places for `locations` --- */

void sources_forget(struct dap *d)
{
	d->sources->first_location += (int64_t)d->sources->n_locations;
	d->sources->n_locations = 0;
}

int64_t sources_location_of_addr(struct dap *d, uint64_t addr)
{
	struct dap_sources *s = d->sources;

	if (!addr || s->n_locations == LOCATIONS_MAX)
		return 0;
	if (s->n_locations == s->locations_cap) {
		size_t cap = s->locations_cap ? 2 * s->locations_cap : 64;
		uint64_t *v = reallocarray(s->location, cap, sizeof(*v));

		if (!v)
			return 0;
		s->location = v;
		s->locations_cap = cap;
	}
	s->location[s->n_locations] = addr;
	return s->first_location + (int64_t)s->n_locations++;
}

/* --- libraries --- */

void sources_record(struct dap *d, const struct mi_record *rec)
{
	if (rec->kind != MI_NOTIFY || !rec->name || !str_has_prefix(rec->name, "library-"))
		return;
	d->sources->generation++;
	modules_record(d, rec);
}

void sources_stopped(struct dap *d)
{
	struct errinfo kept = d->ei;

	/* the client did not ask for it: without it nothing is wrong */
	if (d->sources->fresh && sources_tell_fresh(d) < 0)
		d->ei = kept;
	memory_tell(d);
}
