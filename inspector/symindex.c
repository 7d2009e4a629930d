/* The symbols of a file by address. libdwfl goes through all of them for each question; here they are sorted once. */
#include "inspector/inspect_priv.h"

#include <stdlib.h>
#include <string.h>

/* How far back a symbol is looked for that reaches up to the address. */
#define BACK_MAX 512

struct sym_entry {
	uint64_t start, end;
	const char *name; /* borrowed from the file */
	uint8_t rank;     /* which of several at one address is shown: the greatest */
	bool function, sized;
};

static int compare(const void *a, const void *b)
{
	const struct sym_entry *x = a, *y = b;

	if (x->start != y->start)
		return x->start < y->start ? -1 : 1;
	return (int)x->rank - (int)y->rank;
}

/* Where the section of a symbol without a size ends: it stands for all up to there. */
static uint64_t section_end(Elf *elf, GElf_Word shndx, uint64_t shift)
{
	Elf_Scn *scn = elf && shndx ? elf_getscn(elf, shndx) : NULL;
	GElf_Shdr h;

	return scn && gelf_getshdr(scn, &h) ? h.sh_addr + h.sh_size + shift : 0;
}

static bool take(Dwfl_Module *mod, int i, struct sym_entry *ret)
{
	GElf_Word shndx = SHN_UNDEF;
	Dwarf_Addr bias = 0;
	Elf *elf = NULL;
	GElf_Addr addr;
	GElf_Sym sym;
	const char *name = dwfl_module_getsym_info(mod, i, &sym, &addr, &shndx, &elf, &bias);
	unsigned type, bind;

	if (!name || !*name || shndx == SHN_UNDEF || shndx == SHN_ABS)
		return false;
	type = GELF_ST_TYPE(sym.st_info);
	bind = GELF_ST_BIND(sym.st_info);
	if (type == STT_SECTION || type == STT_FILE || type == STT_TLS)
		return false;
	*ret = (struct sym_entry){ .start = addr, .name = name, .sized = sym.st_size > 0,
				   .function = type == STT_FUNC || type == STT_GNU_IFUNC };
	ret->end = ret->sized ? addr + sym.st_size : section_end(elf, shndx, bias);
	ret->rank = (uint8_t)(4 * ret->sized + (type != STT_NOTYPE) + (bind == STB_GLOBAL ? 2 : bind == STB_WEAK));
	return ret->end > addr;
}

static void build(struct symfile *f)
{
	int n = dwfl_module_getsymtab(f->mod);

	f->sym_built = true;
	if (n <= 0 || n > (int)INSPECT_SYMBOLS_MAX)
		return;
	f->syms = calloc((size_t)n, sizeof(*f->syms));
	for (int i = 0; f->syms && i < n; i++)
		if (take(f->mod, i, &f->syms[f->n_syms]))
			f->n_syms++;
	if (f->n_syms)
		qsort(f->syms, f->n_syms, sizeof(*f->syms), compare);
}

void symbols_lookup(struct symfile *f, uint64_t addr, struct symbol *ret)
{
	const struct sym_entry *found = NULL;
	size_t lo = 0, hi;

	*ret = (struct symbol){ 0 };
	f->in->busy_with = f->path;
	if (f->mod && !f->sym_built)
		build(f);
	hi = f->n_syms;
	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (f->syms[mid].start <= addr)
			lo = mid + 1;
		else
			hi = mid;
	}
	for (size_t i = lo; i > 0 && lo - i < BACK_MAX; i--) {
		const struct sym_entry *s = &f->syms[i - 1];

		if (addr >= s->end)
			continue;
		if (s->sized) {
			found = s;
			break;
		}
		found = found ? found : s;
	}
	if (found)
		*ret = (struct symbol){ .name = found->name, .offset = addr - found->start, .function = found->function };
}
