/* Checksums of source files: DWARF 5 has room for them in the heads of line tables (clang and Go's and Rust's compilers put them there), libdw
 * passes over them. A head is read again here, as far as the table of files. */
#include "inspector/inspect_priv.h"

#include <dwarf.h>
#include <stdlib.h>
#include <string.h>

#define FORMATS_MAX 16u

struct format {
	uint64_t content, form;
};

struct head {
	struct view v;
	unsigned offset_size; /* of references to strings: 4 or 8 */
};

static bool debug_line(Dwarf *dw, struct view *ret)
{
	Elf *elf = dwarf_getelf(dw);
	Elf_Scn *scn = NULL;
	size_t names;

	if (!elf || elf_getshdrstrndx(elf, &names) < 0)
		return false;
	while ((scn = elf_nextscn(elf, scn))) {
		GElf_Shdr h;
		const char *name = gelf_getshdr(scn, &h) ? elf_strptr(elf, names, h.sh_name) : NULL;
		Elf_Data *data;

		if (!name || strcmp(name, ".debug_line") != 0)
			continue;
		data = elf_getdata(scn, NULL); /* libdw has decompressed it */
		if (!data || !data->d_buf || h.sh_flags & SHF_COMPRESSED)
			return false;
		*ret = view_of(data->d_buf, data->d_size);
		return true;
	}
	return false;
}

static bool skip(struct view *v, uint64_t n)
{
	struct view part;

	return n <= view_left(v) && view_take(v, (size_t)n, &part) == 0;
}

static bool get_offset(struct head *h, uint64_t *ret)
{
	uint32_t word;
	int r;

	if (h->offset_size == 8)
		return view_get_u64(&h->v, ret) == 0;
	r = view_get_u32(&h->v, &word);
	*ret = r < 0 ? 0 : word;
	return r == 0;
}

/* Up to the tables of directories and files; false for other versions than 5. */
static bool begin(struct head *h)
{
	uint32_t length;
	uint64_t word;
	uint16_t version;
	uint8_t opcodes;

	h->offset_size = 4;
	if (view_get_u32(&h->v, &length) < 0)
		return false;
	if (length == UINT32_MAX) {
		h->offset_size = 8;
		if (view_get_u64(&h->v, &word) < 0)
			return false;
	}
	if (view_get_u16(&h->v, &version) < 0 || version != 5)
		return false;
	/* sizes of addresses and segments, length of the head, five numbers about instructions */
	return skip(&h->v, 2) && get_offset(h, &word) && skip(&h->v, 5) && view_get_u8(&h->v, &opcodes) == 0 && opcodes && skip(&h->v, opcodes - 1u);
}

static bool skip_value(struct head *h, uint64_t form)
{
	uint64_t n = 0;
	uint8_t c, small;
	uint16_t medium;
	uint32_t large;

	switch (form) {
	case DW_FORM_string:
		do {
			if (view_get_u8(&h->v, &c) < 0)
				return false;
		} while (c);
		return true;
	case DW_FORM_line_strp:
	case DW_FORM_strp:
		return get_offset(h, &n);
	case DW_FORM_udata:
		return view_get_varint(&h->v, &n) == 0;
	case DW_FORM_data1:
		return skip(&h->v, 1);
	case DW_FORM_data2:
		return skip(&h->v, 2);
	case DW_FORM_data4:
		return skip(&h->v, 4);
	case DW_FORM_data8:
		return skip(&h->v, 8);
	case DW_FORM_data16:
		return skip(&h->v, 16);
	case DW_FORM_block:
		return view_get_varint(&h->v, &n) == 0 && skip(&h->v, n);
	case DW_FORM_block1:
		return view_get_u8(&h->v, &small) == 0 && skip(&h->v, small);
	case DW_FORM_block2:
		return view_get_u16(&h->v, &medium) == 0 && skip(&h->v, medium);
	case DW_FORM_block4:
		return view_get_u32(&h->v, &large) == 0 && skip(&h->v, large);
	}
	return false;
}

/* What entries of a table consist of, and how many there are. */
static bool get_formats(struct head *h, struct format f[FORMATS_MAX], uint8_t *n, uint64_t *count)
{
	if (view_get_u8(&h->v, n) < 0 || *n > FORMATS_MAX)
		return false;
	for (unsigned i = 0; i < *n; i++)
		if (view_get_varint(&h->v, &f[i].content) < 0 || view_get_varint(&h->v, &f[i].form) < 0)
			return false;
	/* entries of nothing could be any number */
	return view_get_varint(&h->v, count) == 0 && (*n || !*count);
}

/* One entry; its checksum, if it has one. */
static bool get_entry(struct head *h, const struct format *f, unsigned n, uint8_t md5[16], bool *has)
{
	*has = false;
	for (unsigned i = 0; i < n; i++) {
		if (f[i].content == DW_LNCT_MD5 && f[i].form == DW_FORM_data16) {
			if (view_get(&h->v, md5, 16) < 0)
				return false;
			*has = true;
		} else if (!skip_value(h, f[i].form)) {
			return false;
		}
	}
	return true;
}

static bool find_sum(struct head *h, size_t index, uint8_t md5[16])
{
	struct format f[FORMATS_MAX];
	uint64_t count;
	uint8_t n;
	bool has;

	if (!begin(h) || !get_formats(h, f, &n, &count))
		return false;
	for (uint64_t i = 0; i < count; i++)
		if (!get_entry(h, f, n, md5, &has))
			return false;
	if (!get_formats(h, f, &n, &count) || index >= count)
		return false;
	for (uint64_t i = 0; i <= index; i++)
		if (!get_entry(h, f, n, md5, &has))
			return false;
	return has;
}

bool symbols_source_md5(Dwarf_Die *cu, const char *path, uint8_t md5[16])
{
	Dwarf_Attribute a;
	Dwarf_Files *files;
	Dwarf_Word at;
	struct head h;
	size_t n;

	if (dwarf_formudata(dwarf_attr(cu, DW_AT_stmt_list, &a), &at) < 0 || dwarf_getsrcfiles(cu, &files, &n) != 0)
		return false;
	for (size_t i = 0; i < n; i++) {
		char *name CLEANUP(freep) = symbols_source_path(cu, dwarf_filesrc(files, i, NULL, NULL));

		if (!name || strcmp(name, path) != 0)
			continue;
		/* the first two can be the same file */
		return debug_line(dwarf_cu_getdwarf(cu->cu), &h.v) && skip(&h.v, at) && find_sum(&h, i, md5);
	}
	return false;
}
