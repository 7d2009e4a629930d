/* The list of shared libraries, from the dynamic linker's own list in the guest's memory: program headers (auxv) -> PT_DYNAMIC -> DT_DEBUG ->
 * r_debug -> link maps. All of it is the guest's and may be nonsense: every walk is bounded. */
#include "gdbstub/stub_priv.h"

#include <elf.h>
#include <errno.h>
#include <inttypes.h>
#include <link.h>
#include <string.h>

#define PHDRS_MAX 256u
#define DYNAMIC_MAX 1024u

static bool get(struct stub *s, uint64_t addr, void *ret, size_t n)
{
	return dbg_read(s->d, addr, ret, n) == n;
}

struct phdrs {
	uint64_t at, count;
};

static int find_phdrs(struct stub *s, struct phdrs *ret)
{
	struct buf auxv CLEANUP(buf_done) = { 0 };
	int r = dbg_proc_file(s->d, "auxv", &auxv);

	*ret = (struct phdrs){ 0 };
	for (size_t i = 0; r >= 0 && i + sizeof(Elf64_auxv_t) <= auxv.len; i += sizeof(Elf64_auxv_t)) {
		Elf64_auxv_t a;

		memcpy(&a, auxv.data + i, sizeof(a));
		if (a.a_type == AT_PHDR)
			ret->at = a.a_un.a_val;
		else if (a.a_type == AT_PHNUM)
			ret->count = MIN(a.a_un.a_val, (uint64_t)PHDRS_MAX);
	}
	return r < 0 ? r : ret->at ? 0 : -ENOENT;
}

/* Address of r_debug, 0: the linker has not come that far. -ENOENT: that program has no place for it. */
static int find_r_debug(struct stub *s, uint64_t *ret)
{
	uint64_t bias = 0, dynamic = 0;
	struct phdrs ph;
	int r = find_phdrs(s, &ph);

	if (r < 0)
		return r;
	for (uint64_t i = 0; i < ph.count; i++) {
		Elf64_Phdr p;

		if (!get(s, ph.at + i * sizeof(p), &p, sizeof(p)))
			return -ENOENT;
		if (p.p_type == PT_PHDR)
			bias = ph.at - p.p_vaddr;
		else if (p.p_type == PT_DYNAMIC)
			dynamic = p.p_vaddr;
	}
	for (unsigned i = 0; dynamic && i < DYNAMIC_MAX; i++) {
		Elf64_Dyn d;

		if (!get(s, dynamic + bias + i * sizeof(d), &d, sizeof(d)) || d.d_tag == DT_NULL)
			break;
		if (d.d_tag != DT_DEBUG)
			continue;
		*ret = d.d_un.d_val;
		return 0;
	}
	return -ENOENT;
}

static void get_string(struct stub *s, uint64_t addr, char *ret, size_t cap)
{
	size_t n = addr ? dbg_read(s->d, addr, ret, cap - 1) : 0;

	ret[n] = '\0';
}

/* Entries are <library>; the first of the whole list is the program itself and no library. */
static void put_list(struct stub *s, uint64_t lm, uint64_t prev, struct buf *list, uint64_t *ret_main)
{
	for (unsigned i = 0; lm && i < STUB_LIBRARIES_MAX; i++) {
		char name[STUB_PATH_MAX];
		struct link_map m;

		if (!get(s, lm, &m, sizeof(m)) || (uint64_t)m.l_prev != prev)
			return; /* the linker is at work on it */
		get_string(s, (uint64_t)m.l_name, name, sizeof(name));
		if (!prev) {
			*ret_main = lm;
		} else if (name[0]) {
			buf_printf(list, "<library name=\"");
			stub_put_xml(list, name);
			buf_printf(list, "\" lm=\"0x%" PRIx64 "\" l_addr=\"0x%" PRIx64 "\" l_ld=\"0x%" PRIx64 "\" lmid=\"0x0\"/>", lm,
				   (uint64_t)m.l_addr, (uint64_t)m.l_ld);
		}
		prev = lm;
		lm = (uint64_t)m.l_next;
	}
}

int stub_svr4(struct stub *s, uint64_t start, uint64_t prev, struct buf *out)
{
	struct buf list CLEANUP(buf_done) = { 0 };
	uint64_t addr, main_lm = 0;
	struct r_debug debug;
	int r = find_r_debug(s, &addr);

	/* a program that the linker was told to run: gdb finds it where we cannot, but does not look when it gets a list */
	if (r < 0 && !start)
		return r;
	if (start)
		put_list(s, start, prev, &list, &main_lm);
	else if (addr && get(s, addr, &debug, sizeof(debug)) && debug.r_version > 0)
		put_list(s, (uint64_t)debug.r_map, 0, &list, &main_lm);
	buf_printf(out, "<library-list-svr4 version=\"1.0\"");
	if (main_lm)
		buf_printf(out, " main-lm=\"0x%" PRIx64 "\"", main_lm);
	buf_printf(out, ">");
	buf_put(out, list.data, list.len);
	buf_printf(out, "</library-list-svr4>");
	return buf_error(&list) < 0 ? buf_error(&list) : buf_error(out);
}
