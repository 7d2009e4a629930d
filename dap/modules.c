/* The program and its libraries: the request `modules`, and events when they come and go. Where they lie is told by the mappings, which build they are by
 * the notes that are mapped with them: no file of this machine is asked. */
#include "dap/sources_priv.h"

#include <elf.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include "base/os.h"
#include "base/str.h"

#define PHDRS_MAX 64u
#define NOTES_MAX 8192u
#define BUILD_ID_MAX 64u

struct module {
	char *path;            /* owned; as gdb names it, without "target:" */
	const char *symbols;   /* what gdb has of them; NULL = not known */
	uint64_t code;         /* some address in it; 0 = not known */
	uint64_t start, end;   /* 0 = not known */
};

struct modules {
	struct module *v; /* owned */
	size_t n;
};

static void modules_done(struct modules *m)
{
	for (size_t i = 0; i < m->n; i++)
		free(m->v[i].path);
	free(m->v);
}

static const char *plain(const char *name)
{
	return name + (str_has_prefix(name, "target:") ? strlen("target:") : 0);
}

static int add_module(struct modules *m, const char *path, uint64_t code, const char *symbols)
{
	struct module *v = m->n < MODULES_MAX ? reallocarray(m->v, m->n + 1, sizeof(*v)) : NULL;

	if (!v)
		return m->n < MODULES_MAX ? -ENOMEM : 0;
	m->v = v;
	v[m->n] = (struct module){ .path = os_strdup(path), .code = code, .symbols = symbols };
	if (!v[m->n].path)
		return -ENOMEM;
	m->n++;
	return 0;
}

/* --- which there are --- */

static const char with_lines[] = "Symbols and lines", only_names[] = "No debugging information", no_symbols[] = "No symbols";

/* gdb says of libraries in its table "Yes", "Yes (*)", "No"; of the program its list of files with symbols. */
static const char *state_in_table(char *text, const char *path)
{
	char *save = NULL;

	for (char *line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
		const char *name = strstr(line, path);
		const char *yes = strstr(line, "Yes ");

		if (name && !strcmp(name, path) && (name[-1] == ' ' || name[-1] == ':'))
			return !yes || yes > name ? no_symbols : str_has_prefix(yes, "Yes (*)") ? only_names : with_lines;
	}
	return NULL;
}

static const char *library_state(const struct buf *table, const char *path)
{
	char *text CLEANUP(freep) = os_asprintf("%.*s", (int)table->len, (const char *)table->data);

	return text && path[0] ? state_in_table(text, path) : NULL;
}

static int add_libraries(struct dap *d, struct modules *m)
{
	struct buf table CLEANUP(buf_done) = { 0 };
	json_t *values CLEANUP(jsonx_unrefp) = NULL;
	const json_t *lib;
	size_t i;
	int r = mi_command(d->mi, &values, &d->ei, "-file-list-shared-libraries");

	if (r == 0)
		r = mi_console(d->mi, &table, &d->ei, "info sharedlibrary");
	if (r < 0)
		return r;
	json_array_foreach(json_object_get(values, "shared-libraries"), i, lib) {
		const char *path = mi_str(lib, "target-name");
		const json_t *range = json_array_get(json_object_get(lib, "ranges"), 0);

		if (path && (r = add_module(m, plain(path), mi_addr(range, "from"), library_state(&table, plain(path)))) < 0)
			return r;
	}
	return 0;
}

/* What gdb keeps of a file, in words for its maintainers. True: it has debugging information of its own. */
static bool has_index(struct dap *d, const char *path)
{
	static const char *const signs[] = { "Cooked index in use", "Psymtabs", "Symtabs:" };
	struct buf command CLEANUP(buf_done) = { 0 }, text CLEANUP(buf_done) = { 0 };
	struct errinfo ei = { 0 };

	buf_printf(&command, "maintenance print objfiles ");
	sources_put_regex(&command, path);
	if (buf_error(&command) || mi_console(d->mi, &text, &ei, "%s", buf_cstr(&command)) < 0)
		return false;
	for (size_t i = 0; i < ARRAY_SIZE(signs); i++)
		if (strstr(buf_cstr(&text), signs[i]))
			return true;
	return false;
}

/* The sure way, which takes a second in large programs. "^$" matches no name of a source: only the files with symbols are listed. */
static const char *listed_state(struct dap *d, const char *path)
{
	json_t *values CLEANUP(jsonx_unrefp) = NULL;
	struct errinfo ei = { 0 };
	const json_t *file;
	size_t i;

	if (mi_command(d->mi, &values, &ei, "-file-list-exec-source-files --group-by-objfile --basename -- ^$") < 0)
		return NULL;
	json_array_foreach(json_object_get(values, "files"), i, file) {
		const char *name = mi_str(file, "filename"), *info = mi_str(file, "debug-info");

		if (name && info && !strcmp(plain(name), path))
			return strcmp(info, "none") ? with_lines : only_names;
	}
	return NULL;
}

static int add_program(struct dap *d, struct modules *m)
{
	json_t *values CLEANUP(jsonx_unrefp) = NULL;
	const char *path;
	int r = mi_command(d->mi, &values, &d->ei, "-list-thread-groups");

	if (r < 0)
		return r;
	path = mi_str(json_array_get(json_object_get(values, "groups"), 0), "executable");
	if (!path)
		return 0;
	return add_module(m, plain(path), 0, has_index(d, plain(path)) ? with_lines : listed_state(d, plain(path)));
}

/* --- where they lie --- */

static bool is_of(const struct module *m, const struct mapping *map)
{
	if (!map->path[0] || map->path[0] == '[')
		return false;
	return m->code ? m->code >= map->start && m->code < map->end : !strcmp(m->path, map->path);
}

struct extents {
	struct modules *m;
	char path[PATH_BYTES_MAX]; /* of the mappings that lie one after the other */
	uint64_t start;
	struct module *owner;
};

/* Mappings of one file that follow each other, the first one from its beginning, are one module. */
static int see_mapping(void *ctx, const struct mapping *map)
{
	struct extents *e = ctx;

	if (!map->path[0])
		return 0;
	if (strcmp(e->path, map->path) != 0 || map->offset == 0) {
		snprintf(e->path, sizeof(e->path), "%s", map->path);
		e->start = map->start;
		e->owner = NULL;
	}
	for (size_t i = 0; !e->owner && i < e->m->n; i++)
		if (!e->m->v[i].end && is_of(&e->m->v[i], map)) {
			e->owner = &e->m->v[i];
			e->owner->start = e->start;
		}
	if (e->owner)
		e->owner->end = map->end;
	return 0;
}

static int find_extents(struct dap *d, struct modules *m)
{
	struct extents e = { .m = m };

	return memory_each_mapping(d, see_mapping, &e);
}

/* --- which build --- */

static bool find_build_id(struct view notes, char hex[2 * BUILD_ID_MAX + 1])
{
	Elf64_Nhdr h;

	while (view_get(&notes, &h, sizeof(h)) == 0) {
		struct view name, desc;

		if (view_take(&notes, ALIGN_UP((size_t)h.n_namesz, (size_t)4), &name) < 0 ||
		    view_take(&notes, ALIGN_UP((size_t)h.n_descsz, (size_t)4), &desc) < 0)
			return false;
		if (h.n_type != NT_GNU_BUILD_ID || h.n_namesz != 4 || memcmp(name.p, "GNU", 4) || h.n_descsz > BUILD_ID_MAX)
			continue;
		for (size_t i = 0; i < h.n_descsz; i++)
			snprintf(hex + 2 * i, 3, "%02x", desc.p[i]);
		return h.n_descsz > 0;
	}
	return false;
}

/* The mapped file begins at m->start, so the note lies at its offset from there: all of one file's first mapping is in one piece. */
static int read_build_id(struct dap *d, const struct module *m, char hex[2 * BUILD_ID_MAX + 1])
{
	struct buf head CLEANUP(buf_done) = { 0 };
	Elf64_Phdr ph[PHDRS_MAX];
	Elf64_Ehdr eh;
	size_t n;
	int r = memory_read(d, m->start, 4096, &head);

	if (r < 0 || head.len < sizeof(eh))
		return r;
	memcpy(&eh, head.data, sizeof(eh));
	n = MIN((size_t)eh.e_phnum, (size_t)PHDRS_MAX);
	if (memcmp(eh.e_ident, ELFMAG, SELFMAG) || eh.e_phentsize != sizeof(*ph) || eh.e_phoff > head.len || n * sizeof(*ph) > head.len - eh.e_phoff)
		return 0;
	memcpy(ph, head.data + eh.e_phoff, n * sizeof(*ph));
	for (size_t i = 0; r == 0 && i < n && !hex[0]; i++) {
		struct buf notes CLEANUP(buf_done) = { 0 };

		if (ph[i].p_type != PT_NOTE || ph[i].p_offset > m->end - m->start)
			continue;
		r = memory_read(d, m->start + ph[i].p_offset, MIN(ph[i].p_filesz, (uint64_t)NOTES_MAX), &notes);
		if (r == 0)
			find_build_id(view_of(notes.data, notes.len), hex);
	}
	return r;
}

/* --- the request --- */

static json_t *module_base(const char *path, const char *symbols)
{
	json_t *j CLEANUP(jsonx_unrefp) = json_object();

	if (!j || jsonx_set_new(j, "id", jsonx_text(path)) < 0 || jsonx_set_new(j, "name", jsonx_text(path_base(path))) < 0 ||
	    jsonx_set_new(j, "path", jsonx_text(path)) < 0 || (symbols && jsonx_set_str(j, "symbolStatus", symbols) < 0))
		return NULL;
	return TAKE(j);
}

static int set_range(json_t *j, uint64_t start, uint64_t end)
{
	char text[48];

	if (!end)
		return 0;
	snprintf(text, sizeof(text), "0x%" PRIx64 "-0x%" PRIx64, start, end);
	return jsonx_set_str(j, "addressRange", text);
}

static int put_module(struct dap *d, const struct module *m, json_t *list)
{
	json_t *j CLEANUP(jsonx_unrefp) = module_base(m->path, m->symbols);
	char hex[2 * BUILD_ID_MAX + 1] = "";
	char *version CLEANUP(freep) = NULL;
	int r = j ? set_range(j, m->start, m->end) : -ENOMEM;

	if (r == 0 && m->end)
		r = read_build_id(d, m, hex);
	if (r == 0 && hex[0]) {
		version = os_asprintf("build %s", hex);
		r = jsonx_set_new(j, "version", version ? jsonx_text(version) : NULL);
	}
	return r < 0 ? r : json_array_append_new(list, TAKE(j)) < 0 ? -ENOMEM : 0;
}

struct modules_args {
	int64_t start, count;
};

static const struct arg modules_table[] = {
	ARG(INT, struct modules_args, start, "startModule"),
	ARG(INT, struct modules_args, count, "moduleCount"),
	{ 0 },
};

static int modules(struct dap *d, const void *args, json_t *body)
{
	const struct modules_args *a = args;
	struct modules m CLEANUP(modules_done) = { 0 };
	json_t *list = json_array();
	int r = jsonx_set_new(body, "modules", list);

	if (r == 0 && (a->start < 0 || a->count < 0))
		r = errinfo_set(&d->ei, -EINVAL, "startModule and moduleCount must not be negative");
	if (r == 0)
		r = add_program(d, &m);
	if (r == 0)
		r = add_libraries(d, &m);
	if (r == 0)
		r = find_extents(d, &m);
	for (size_t i = (size_t)a->start; r == 0 && i < m.n && (!a->count || i - (size_t)a->start < (size_t)a->count); i++)
		r = put_module(d, &m.v[i], list);
	return r < 0 ? r : jsonx_set_u64(body, "totalModules", m.n);
}

DAP_METHOD(modules, modules_table, struct modules_args);

/* --- events --- */

/* What is known without asking gdb, which cannot be done now. */
static json_t *module_of_record(const struct mi_record *rec, bool loaded)
{
	const json_t *range = json_array_get(json_object_get(rec->values, "ranges"), 0);
	const char *path = mi_str(rec->values, "target-name");
	json_t *j CLEANUP(jsonx_unrefp) = path ? module_base(plain(path), NULL) : NULL;

	if (!j || (loaded && set_range(j, mi_addr(range, "from"), mi_addr(range, "to")) < 0))
		return NULL;
	return TAKE(j);
}

void modules_record(struct dap *d, const struct mi_record *rec)
{
	struct dap_sources *s = d->sources;
	bool loaded = !strcmp(rec->name, "library-loaded");
	json_t *module = module_of_record(rec, loaded);

	if (!module)
		return;
	if (loaded && s->listed) {
		s->fresh = s->fresh ? s->fresh : json_array();
		/* one that is not told of is still in the next answer */
		(void)json_array_append(s->fresh, json_object_get(module, "id"));
	}
	dap_event(d, "module", json_pack("{ssso}", "reason", loaded ? "new" : "removed", "module", module));
}
