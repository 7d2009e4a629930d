/* Lines that have code, sources that are loaded, places by number. */
#include "dap/sources_priv.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include "base/os.h"
#include "base/str.h"

/* --- breakpointLocations --- */

static int compare_lines(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

	return x < y ? -1 : x > y;
}

static int add_table_line(struct line_table *t, size_t *cap, int64_t line)
{
	if (t->n == *cap) {
		size_t n = *cap ? 2 * *cap : 256;
		int64_t *v = reallocarray(t->line, n, sizeof(*v));

		if (!v)
			return -ENOMEM;
		t->line = v;
		*cap = n;
	}
	t->line[t->n++] = line;
	return 0;
}

static void sort_table(struct line_table *t)
{
	size_t n = t->n;

	if (n)
		qsort(t->line, n, sizeof(*t->line), compare_lines);
	t->n = 0;
	for (size_t i = 0; i < n; i++)
		if (!t->n || t->line[t->n - 1] != t->line[i])
			t->line[t->n++] = t->line[i];
}

/* "symtab: /src/a.c ((struct symtab *) 0x...)": is it the wanted one? */
static bool is_symtab(const char *line, const char *wanted)
{
	const char *end = strstr(line, " ((struct symtab");
	char *name CLEANUP(freep) = end ? os_asprintf("%.*s", (int)(end - line), line) : NULL;
	char *clean CLEANUP(freep) = name ? path_normalise(name) : NULL;

	return clean && !strcmp(clean, wanted);
}

/* What gdb prints of the tables of all files of that name. Entries where a statement begins have a Y: "12     34     0x... Y"; "END" ends a sequence. */
static int parse_tables(char *text, const char *wanted, struct line_table *t)
{
	static const char head[] = "symtab: ";
	bool ours = false;
	char *save = NULL;
	size_t cap = 0;
	int r = 0;

	for (char *p = strtok_r(text, "\n", &save); p && r == 0; p = strtok_r(NULL, "\n", &save)) {
		int64_t line;
		char stmt;

		if (str_has_prefix(p, head))
			ours = is_symtab(p + strlen(head), wanted);
		else if (ours && sscanf(p, "%*u %" SCNd64 " 0x%*x %c", &line, &stmt) == 2 && stmt == 'Y' && line > 0)
			r = add_table_line(t, &cap, line);
	}
	sort_table(t);
	return r;
}

static void clear_table(struct line_table *t)
{
	free(t->path);
	free(t->line);
	*t = (struct line_table){ 0 };
}

int sources_expand(struct dap *d, const char *path)
{
	struct buf q CLEANUP(buf_done) = { 0 };
	struct errinfo ei = { 0 };
	int r;

	mi_quote(&q, path);
	r = buf_error(&q) ? -ENOMEM : mi_console(d->mi, NULL, &ei, "info line -source %s -line 1", buf_cstr(&q));
	return r == -EREMOTEIO ? -ENOENT : r;
}

void sources_put_regex(struct buf *b, const char *end)
{
	for (; *end; end++) {
		if (strchr(".[]*^$\\+?", *end))
			buf_put_u8(b, '\\');
		buf_put_u8(b, (uint8_t)*end);
	}
	buf_put_u8(b, '$');
}

/* -symbol-list-lines gives the lines of one unit only: headers, and files of Rust, are part of many. */
static int read_table(struct dap *d, const char *path, struct line_table *t)
{
	struct buf command CLEANUP(buf_done) = { 0 }, text CLEANUP(buf_done) = { 0 };
	char *wanted CLEANUP(freep) = path_normalise(path);
	int r = sources_expand(d, path);

	if (r < 0)
		return r;
	buf_printf(&command, "maintenance info line-table ");
	sources_put_regex(&command, path_base(path));
	r = !wanted || buf_error(&command) ? -ENOMEM : mi_console(d->mi, &text, &d->ei, "%s", buf_cstr(&command));
	buf_put_u8(&text, 0);
	if (r == 0)
		r = buf_error(&text);
	return r < 0 ? r : parse_tables((char *)text.data, wanted, t);
}

/* A file that gdb does not know has no lines: that is no error. */
static int make_table(struct dap *d, const char *path, struct line_table *t)
{
	int r;

	clear_table(t);
	r = read_table(d, path, t);
	if (r < 0 && r != -ENOENT)
		return r;
	t->generation = d->sources->generation;
	t->path = os_strdup(path);
	return t->path ? 0 : -ENOMEM;
}

static int table_of(struct dap *d, const char *path, const struct line_table **ret)
{
	struct dap_sources *s = d->sources;
	struct line_table *t;
	int r;

	for (size_t i = 0; i < LINE_TABLES_MAX; i++)
		if (s->table[i].path && s->table[i].generation == s->generation && !strcmp(s->table[i].path, path)) {
			*ret = &s->table[i];
			return 0;
		}
	t = &s->table[s->next_table++ % LINE_TABLES_MAX];
	r = make_table(d, path, t);
	*ret = t;
	return r;
}

struct lines_args {
	json_t *source;
	int64_t line, end_line;
};

static const struct arg lines_table[] = {
	ARG(OBJECT, struct lines_args, source, "source", .required = true),
	ARG(INT, struct lines_args, line, "line", .required = true),
	ARG(INT, struct lines_args, end_line, "endLine", .def = -1),
	{ 0 },
};

static int add_line(struct dap *d, json_t *list, int64_t line)
{
	return json_array_append_new(list, json_pack("{sI}", "line", (json_int_t)sources_line_out(d, line))) < 0 ? -ENOMEM : 0;
}

/* A listing has an instruction in nearly every line. */
static int listing_lines(struct dap *d, const struct lines_args *a, int64_t last, json_t *list)
{
	int r = 0;

	for (int64_t line = a->line; r == 0 && line <= last && line - a->line < DISASM_COUNT_MAX; line++)
		if (sources_code_addr(d, a->source, line))
			r = add_line(d, list, sources_line_in(d, line));
	return r;
}

static int source_lines(struct dap *d, const struct lines_args *a, int64_t last, json_t *list)
{
	int64_t from = sources_line_in(d, a->line), to = sources_line_in(d, last);
	char *path CLEANUP(freep) = NULL;
	const struct line_table *t;
	int r = sources_to_gdb(d, a->source, &path);

	if (r == 0)
		r = table_of(d, path, &t);
	for (size_t i = 0; r == 0 && i < t->n; i++)
		if (t->line[i] >= from && t->line[i] <= to)
			r = add_line(d, list, t->line[i]);
	return r;
}

static int breakpoint_locations(struct dap *d, const void *args, json_t *body)
{
	const struct lines_args *a = args;
	int64_t last = a->end_line < 0 ? a->line : a->end_line;
	json_t *list = json_array();
	const struct listing *l;
	int r = jsonx_set_new(body, "breakpoints", list);

	if (r == 0)
		r = listing_get(d, json_integer_value(json_object_get(a->source, "sourceReference")), &l);
	if (r < 0)
		return r;
	return l ? listing_lines(d, a, last, list) : source_lines(d, a, last, list);
}

DAP_METHOD(breakpoint_locations, lines_table, struct lines_args);

/* --- loadedSources --- */

struct gather {
	struct dap *d;
	struct names seen;
	json_t *list;
	uint32_t max;
	bool full;
};

/* Each once, whichever units name it, however they spell it. */
static int gather_file(struct gather *g, const json_t *e)
{
	const char *name = mi_str(e, "fullname");
	char *clean CLEANUP(freep) = NULL;
	uint32_t n = g->seen.n;

	name = name ? name : mi_str(e, "file");
	if (!name || !*name || name[0] == '<')
		return 0;
	clean = path_normalise(name);
	if (!clean)
		return -ENOMEM;
	if (names_add(&g->seen, clean, strlen(clean)) <= n)
		return 0;
	g->full = n == g->max;
	if (g->full)
		return 1;
	return json_array_append_new(g->list, sources_of(g->d, mi_str(e, "file"), mi_str(e, "fullname"))) < 0 ? -ENOMEM : 0;
}

static bool is_among(const json_t *list, const char *filename)
{
	const json_t *e;
	size_t i;

	filename = path_plain(filename);
	json_array_foreach(list, i, e)
		if (!strcmp(json_string_value(e), filename))
			return true;
	return false;
}

/* only: of these files with symbols; NULL: of all. */
static int gather_sources(struct gather *g, const json_t *only)
{
	json_t *values CLEANUP(jsonx_unrefp) = NULL;
	const json_t *file, *e;
	size_t i, k;
	int r = mi_command(g->d->mi, &values, &g->d->ei, "-file-list-exec-source-files --group-by-objfile");

	if (r < 0)
		return r;
	json_array_foreach(json_object_get(values, "files"), i, file) {
		const char *name = mi_str(file, "filename");

		if (only && (!name || !is_among(only, name)))
			continue;
		json_array_foreach(json_object_get(file, "sources"), k, e) {
			r = gather_file(g, e);
			if (r != 0)
				return MIN(r, 0);
		}
	}
	return 0;
}

static int loaded_sources(struct dap *d, const void *args, json_t *body)
{
	struct gather g = { .d = d, .list = json_array(), .max = LOADED_SOURCES_MAX };
	int r = jsonx_set_new(body, "sources", g.list);

	(void)args;
	if (r == 0)
		r = gather_sources(&g, NULL);
	names_done(&g.seen);
	if (r < 0)
		return r;
	if (g.full)
		dap_say(d, "console", "only the first %u source files are listed\n", LOADED_SOURCES_MAX);
	d->sources->listed = true;
	return 0;
}

DAP_METHOD_PLAIN(loaded_sources);

int sources_tell_fresh(struct dap *d)
{
	json_t *fresh CLEANUP(jsonx_unrefp) = TAKE(d->sources->fresh);
	json_t *list CLEANUP(jsonx_unrefp) = json_array(), *e;
	struct gather g = { .d = d, .list = list, .max = LOADED_EVENTS_MAX };
	size_t i;
	int r = list ? gather_sources(&g, fresh) : -ENOMEM;

	names_done(&g.seen);
	if (r < 0)
		return r;
	json_array_foreach(list, i, e)
		dap_event(d, "loadedSource", json_pack("{sssO}", "reason", "new", "source", e));
	return 0;
}

/* --- locations --- */

/* Source and line of an address, by gdb's line table. 1; 0: it has none. */
static int source_at(struct dap *d, uint64_t addr, json_t **ret_source, int64_t *ret_line)
{
	json_t *values CLEANUP(jsonx_unrefp) = NULL;
	struct errinfo ei = { 0 };
	const json_t *group;
	int r = mi_command(d->mi, &values, &ei, "-data-disassemble -s 0x%" PRIx64 " -e 0x%" PRIx64 " -- 5", addr, addr + 1);

	if (r == -EREMOTEIO)
		return 0;
	if (r < 0)
		return r;
	group = json_array_get(json_object_get(values, "asm_insns"), 0);
	if (!mi_str(group, "fullname") && !mi_str(group, "file"))
		return 0;
	*ret_source = sources_of(d, mi_str(group, "file"), mi_str(group, "fullname"));
	*ret_line = sources_line_out(d, mi_int(group, "line", 1));
	return *ret_source ? 1 : -ENOMEM;
}

static json_t *listing_source(struct dap *d, const struct listing *l, int64_t *line)
{
	*line = sources_line_out(d, *line);
	return sources_served(l->name, listing_reference(l), NULL, "machine code");
}

json_t *sources_of_code(struct dap *d, const json_t *frame, int64_t *ret_line)
{
	uint64_t addr = mi_addr(frame, "addr");
	struct errinfo kept = d->ei;
	const struct listing *l;
	json_t *j = NULL;
	int r = -ENOENT;

	if (!d->client.machine_code)
		r = mi_int(frame, "level", 0) ? listing_later(d, addr, mi_str(frame, "func"), &l, ret_line) : listing_of(d, addr, &l, ret_line);
	if (r == 0)
		j = listing_source(d, l, ret_line);
	d->ei = kept;
	return j ? j : json_null();
}

bool sources_is_code(const json_t *source)
{
	int64_t reference = json_integer_value(json_object_get(source, "sourceReference"));

	return reference > 0 && reference % 2;
}

uint64_t sources_code_addr(struct dap *d, const json_t *source, int64_t line)
{
	int64_t at = sources_line_in(d, line) - 1;
	const struct listing *l;

	if (listing_get(d, json_integer_value(json_object_get(source, "sourceReference")), &l) < 0 || !l)
		return 0;
	return at >= 0 && (uint64_t)at < l->n ? l->addr[at] : 0;
}

/* Of an address: its source, else its machine code. */
static int locate(struct dap *d, uint64_t addr, json_t **ret_source, int64_t *ret_line)
{
	const struct listing *l;
	int r = source_at(d, addr, ret_source, ret_line);

	if (r != 0)
		return MIN(r, 0);
	r = listing_of(d, addr, &l, ret_line);
	if (r < 0)
		return r == -ENOENT ? errinfo_set(&d->ei, r, "0x%" PRIx64 ": there is no code", addr) : r;
	*ret_source = listing_source(d, l, ret_line);
	return *ret_source ? 0 : -ENOMEM;
}

struct locations_args {
	int64_t reference;
};

static const struct arg locations_table[] = {
	ARG(INT, struct locations_args, reference, "locationReference", .required = true),
	{ 0 },
};

static int locations(struct dap *d, const void *args, json_t *body)
{
	const struct dap_sources *s = d->sources;
	int64_t i = ((const struct locations_args *)args)->reference - s->first_location;
	json_t *source;
	int64_t line;
	int r;

	if (i < 0 || (uint64_t)i >= s->n_locations)
		return errinfo_set(&d->ei, -ENOENT, "that place is from before the last run");
	r = locate(d, s->location[i], &source, &line);
	if (r == 0)
		r = jsonx_set_new(body, "source", source);
	return r < 0 ? r : jsonx_set_i64(body, "line", line);
}

DAP_METHOD(locations, locations_table, struct locations_args);
