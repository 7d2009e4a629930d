/* Names and lines of addresses, from debugging information, or from the tables of symbols where there is none. Addresses are the file's. */
#include "inspector/inspect_priv.h"

#include <dwarf.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include "base/os.h"

/* --- units --- */

static int compare_ranges(const void *a, const void *b)
{
	const struct unit_range *x = a, *y = b;

	return x->start < y->start ? -1 : x->start > y->start;
}

static bool add_range(struct symfile *f, size_t *cap, const struct unit_range *r)
{
	if (f->n_units == INSPECT_RANGES_MAX)
		return false;
	if (f->n_units == *cap) {
		size_t more = *cap * 2 + 64;
		struct unit_range *v = reallocarray(f->units, more, sizeof(*v));

		if (!v)
			return false;
		f->units = v;
		*cap = more;
	}
	f->units[f->n_units++] = *r;
	return true;
}

/* Not every compiler makes .debug_aranges. */
static void scan_units(struct symfile *f, Dwarf *dw)
{
	Dwarf_CU *cu = NULL;
	Dwarf_Die die;
	uint8_t type;
	size_t cap = 0;

	f->scanned = true;
	for (unsigned n = 0; n < INSPECT_CUS_MAX && dwarf_get_units(dw, cu, &cu, NULL, &type, &die, NULL) == 0; n++) {
		Dwarf_Addr base, start, end;
		ptrdiff_t at = 0;

		while ((at = dwarf_ranges(&die, at, &base, &start, &end)) > 0) {
			const struct unit_range r = { .start = start, .end = end, .die = dwarf_dieoffset(&die) };

			if (start < end && !add_range(f, &cap, &r))
				return;
		}
	}
	if (f->n_units)
		qsort(f->units, f->n_units, sizeof(f->units[0]), compare_ranges);
}

static bool scanned_unit(struct symfile *f, Dwarf *dw, uint64_t addr, Dwarf_Die *ret)
{
	size_t lo = 0, hi;

	if (!f->scanned)
		scan_units(f, dw);
	hi = f->n_units;
	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (f->units[mid].start <= addr)
			lo = mid + 1;
		else
			hi = mid;
	}
	/* ranges should not overlap: a few before are looked at in case they do */
	for (size_t i = lo; i > 0 && lo - i < 8; i--)
		if (addr < f->units[i - 1].end)
			return dwarf_offdie(dw, f->units[i - 1].die, ret) != NULL;
	return false;
}

static bool find_unit(struct symfile *f, uint64_t addr, Dwarf_Die *ret)
{
	Dwarf *dw = symfile_dwarf(f);
	Dwarf_Addr bias;
	Dwarf_Die *die = dw ? dwfl_module_addrdie(f->mod, addr, &bias) : NULL;

	/* what .debug_aranges says may be too much: of the code between two functions */
	if (die && dwarf_haspc(die, addr) == 0)
		die = NULL;
	if (die)
		*ret = *die;
	return die || (dw && scanned_unit(f, dw, addr, ret));
}

/* --- scopes --- */

/* deep: into functions that the address is not in, for functions within functions. */
static bool walk(struct scope_chain *c, Dwarf_Die *parent, uint64_t addr, unsigned depth, bool deep)
{
	Dwarf_Die die;
	int r = depth < INSPECT_DEPTH_MAX ? dwarf_child(parent, &die) : 1;

	for (; r == 0; r = dwarf_siblingof(&die, &die)) {
		switch (dwarf_tag(&die)) {
		case DW_TAG_subprogram:
		case DW_TAG_inlined_subroutine:
		case DW_TAG_lexical_block:
		case DW_TAG_try_block:
		case DW_TAG_catch_block:
			if (dwarf_haspc(&die, addr) > 0) {
				c->scope[c->n++] = die;
				walk(c, &die, addr, depth + 1, deep);
				return true;
			}
			if (deep && dwarf_haschildren(&die) > 0 && walk(c, &die, addr, depth + 1, deep))
				return true;
			break;
		case DW_TAG_namespace:
		case DW_TAG_module:
		case DW_TAG_class_type:
		case DW_TAG_structure_type:
		case DW_TAG_union_type:
			if ((!c->n || deep) && walk(c, &die, addr, depth + 1, deep))
				return true;
			break;
		}
	}
	return false;
}

/* The unit that a skeleton stands for, when its file is there. */
static void find_split(struct scope_chain *c)
{
	Dwarf_Half version;
	Dwarf_Die cu, split;
	uint8_t type;

	if (dwarf_cu_info(c->cu.cu, &version, &type, &cu, NULL, NULL, NULL, NULL) < 0 || type != DW_UT_skeleton || !debuginfo_split_safe(&c->cu))
		return;
	if (dwarf_cu_info(c->cu.cu, &version, &type, &cu, &split, NULL, NULL, NULL) == 0 && dwarf_tag(&split) != DW_TAG_invalid)
		c->unit = split;
}

bool symbols_scopes(struct symfile *f, uint64_t addr, struct scope_chain *ret)
{
	ret->n = 0;
	if (!find_unit(f, addr, &ret->cu))
		return false;
	ret->unit = ret->cu;
	find_split(ret);
	if (!walk(ret, &ret->unit, addr, 0, false)) {
		ret->n = 0;
		walk(ret, &ret->unit, addr, 0, true);
	}
	return true;
}

/* --- names --- */

char *symbols_die_name(Dwarf_Die *die, char **ret_linkage)
{
	Dwarf_Attribute a;
	const char *linkage = dwarf_formstring(dwarf_attr_integrate(die, DW_AT_linkage_name, &a));
	const char *name = dwarf_formstring(dwarf_attr_integrate(die, DW_AT_name, &a));
	char *found;

	if (!linkage)
		linkage = dwarf_formstring(dwarf_attr_integrate(die, DW_AT_MIPS_linkage_name, &a));
	found = linkage ? demangle_name(linkage) : NULL;
	if (!found && (name || linkage))
		found = os_asprintf("%.*s", (int)INSPECT_NAME_MAX, name ? name : linkage);
	if (ret_linkage && (linkage || name))
		*ret_linkage = os_asprintf("%.*s", (int)INSPECT_NAME_MAX, linkage ? linkage : name);
	return found;
}

char *symbols_text(struct inspector *in, uint64_t addr)
{
	const struct module *m = modules_find(in, addr);
	char *name CLEANUP(freep) = NULL;
	struct symbol s;

	if (!m)
		return NULL;
	symbols_lookup(m->file, addr - m->bias, &s);
	if (!s.name)
		return NULL;
	name = demangle_name(s.name);
	if (!s.offset)
		return os_asprintf("%.*s", (int)INSPECT_NAME_MAX, name ? name : s.name);
	return os_asprintf("%.*s+%" PRIu64, (int)INSPECT_NAME_MAX, name ? name : s.name, s.offset);
}

/* --- lines --- */

void line_info_done(struct line_info *l)
{
	free(l->file);
}

char *symbols_source_path(Dwarf_Die *cu, const char *name)
{
	Dwarf_Attribute a;
	const char *dir = !name || name[0] == '/' ? NULL : dwarf_formstring(dwarf_attr(cu, DW_AT_comp_dir, &a));
	char *path = dir ? os_asprintf("%s/%s", dir, name) : name ? os_strdup(name) : NULL, *at;

	while (path && (at = strstr(path, "/./")))
		memmove(at, at + 2, strlen(at + 2) + 1);
	return path;
}

void symbols_line(struct scope_chain *c, uint64_t addr, struct line_info *ret)
{
	Dwarf_Line *line = dwarf_getsrc_die(&c->cu, addr);
	const char *name = line ? dwarf_linesrc(line, NULL, NULL) : NULL;

	*ret = (struct line_info){ 0 };
	if (!name)
		return;
	ret->file = symbols_source_path(&c->cu, name);
	if (dwarf_lineno(line, &ret->line) < 0 || ret->line < 0)
		ret->line = 0;
	if (dwarf_linecol(line, &ret->column) < 0 || ret->column < 0)
		ret->column = 0;
}

static int number_of(Dwarf_Die *die, unsigned attribute)
{
	Dwarf_Attribute a;
	Dwarf_Word v;

	return dwarf_formudata(dwarf_attr(die, attribute, &a), &v) == 0 && v <= INT32_MAX ? (int)v : 0;
}

void symbols_call_line(struct scope_chain *c, Dwarf_Die *inlined, struct line_info *ret)
{
	const char *name = NULL;
	Dwarf_Files *files;
	size_t n;

	*ret = (struct line_info){ .line = number_of(inlined, DW_AT_call_line), .column = number_of(inlined, DW_AT_call_column) };
	if (dwarf_getsrcfiles(&c->unit, &files, &n) == 0 || dwarf_getsrcfiles(&c->cu, &files, &n) == 0)
		name = dwarf_filesrc(files, (size_t)number_of(inlined, DW_AT_call_file), NULL, NULL);
	if (name)
		ret->file = symbols_source_path(&c->cu, name);
}

bool symbols_each_source(struct symfile *f, bool (*fn)(void *ctx, Dwarf_Die *cu, const char *path), void *ctx)
{
	Dwarf *dw = symfile_dwarf(f);
	Dwarf_CU *cu = NULL;
	Dwarf_Die die;
	uint8_t type;

	for (unsigned u = 0; dw && u < INSPECT_CUS_MAX && dwarf_get_units(dw, cu, &cu, NULL, &type, &die, NULL) == 0; u++) {
		Dwarf_Files *files;
		size_t n;

		if (dwarf_getsrcfiles(&die, &files, &n) != 0)
			continue;
		for (size_t i = 0; i < n; i++) {
			const char *name = dwarf_filesrc(files, i, NULL, NULL);
			char *path CLEANUP(freep) = symbols_source_path(&die, name);

			if (path && fn(ctx, &die, path))
				return true;
		}
	}
	return false;
}
