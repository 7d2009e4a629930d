/* Which files of the recording are mapped where. Files are opened from the recording (dbg_file_open()), once each, whatever is
 * moved around them: what was learnt of their debugging information stays good. */
#define LOG_AREA "inspector.modules"
#include "inspector/inspect_priv.h"

#include <dwarf.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include "base/log.h"
#include "base/os.h"

#define PAGE 4096ull

/* --- files --- */

static int find_elf(Dwfl_Module *mod UNUSED, void **userdata UNUSED, const char *name UNUSED, Dwarf_Addr base UNUSED, char **file UNUSED, Elf **elf UNUSED)
{
	return -1; /* nothing is looked for by name */
}

static const Dwfl_Callbacks callbacks = { .find_elf = find_elf, .find_debuginfo = debuginfo_find, .section_address = dwfl_offline_section_address };

void symfile_free(struct symfile *f)
{
	if (!f)
		return;
	if (f->dwfl)
		dwfl_end(f->dwfl);
	free(f->units);
	free(f->syms);
	free(f->path);
	free(f);
}

static bool is_ours(int fd)
{
	Elf64_Ehdr h;

	return os_pread_full(fd, &h, sizeof(h), 0) == sizeof(h) && !memcmp(h.e_ident, ELFMAG, SELFMAG) && h.e_ident[EI_CLASS] == ELFCLASS64 &&
	       h.e_machine == EM_X86_64 && (h.e_type == ET_EXEC || h.e_type == ET_DYN);
}

/* Takes the descriptor. */
static void load(struct symfile *f, int fd)
{
	void **userdata;

	if (fd >= 0 && is_ours(fd))
		f->dwfl = dwfl_begin(&callbacks);
	if (f->dwfl) {
		dwfl_report_begin(f->dwfl);
		f->mod = dwfl_report_elf(f->dwfl, "file", f->path, fd, 0, true);
		dwfl_report_end(f->dwfl, NULL, NULL);
	}
	if (!f->mod) {
		if (fd >= 0)
			close(fd);
		if (f->dwfl)
			log_debug("%s: %s", f->path, dwfl_errmsg(-1));
		return;
	}
	dwfl_module_info(f->mod, &userdata, NULL, NULL, NULL, NULL, NULL, NULL);
	*userdata = f;
}

int symfile_new(struct inspector *in, const char *path, int fd, struct symfile **ret)
{
	struct symfile *f = os_calloc(1, sizeof(*f));

	if (f)
		f->path = os_strdup(path);
	if (!f || !f->path) {
		closep(&fd);
		free(f);
		return -ENOMEM;
	}
	f->in = in;
	in->busy_with = f->path;
	load(f, fd);
	*ret = f;
	return 0;
}

static bool mapped_now(const struct inspector *in, const struct symfile *f)
{
	for (size_t i = 0; i < in->n_modules; i++)
		if (in->modules[i].file == f)
			return true;
	return false;
}

/* Room for one more: the one that was not used for longest goes. */
static int make_room(struct inspector *in)
{
	size_t oldest = SIZE_MAX;
	struct symfile **v;

	if (in->n_files < INSPECT_FILES_MAX) {
		v = reallocarray(in->files, in->n_files + 1, sizeof(struct symfile *));
		if (!v)
			return -ENOMEM;
		in->files = v;
		return 0;
	}
	for (size_t i = 0; i < in->n_files; i++)
		if (!mapped_now(in, in->files[i]) && (oldest == SIZE_MAX || in->files[i]->used < in->files[oldest]->used))
			oldest = i;
	if (oldest == SIZE_MAX)
		return ERR_LIMIT;
	symfile_free(in->files[oldest]);
	in->files[oldest] = in->files[--in->n_files];
	return 0;
}

static int find_file(struct inspector *in, const struct mapping *m, const char *path, struct symfile **ret)
{
	struct symfile *f;
	int fd = -1, r;

	for (size_t i = 0; i < in->n_files; i++) {
		f = in->files[i];
		if (f->dev != m->dev || f->ino != m->ino || f->object != m->object || strcmp(f->path, path) != 0)
			continue;
		*ret = f;
		return 0;
	}
	r = make_room(in);
	if (r < 0)
		return r;
	r = dbg_file_open(in->dbg, path, &fd);
	r = symfile_new(in, path, r < 0 ? -1 : fd, &f);
	if (r < 0)
		return r;
	f->dev = m->dev;
	f->ino = m->ino;
	f->object = m->object;
	in->files[in->n_files++] = f;
	*ret = f;
	return 0;
}

/* --- mappings --- */

/* The segment that a mapping of the file is of. Code and data can share a page of the file: then protections decide. */
static bool find_bias(Elf *elf, const struct mapping *m, uint64_t *ret)
{
	bool found = false;
	size_t n;

	if (elf_getphdrnum(elf, &n) < 0)
		return false;
	for (size_t i = 0; i < n && i < 256; i++) {
		GElf_Phdr p;
		uint64_t first;

		if (!gelf_getphdr(elf, (int)i, &p) || p.p_type != PT_LOAD)
			continue;
		first = ALIGN_DOWN(p.p_offset, PAGE);
		if (m->offset < first || m->offset >= ALIGN_UP(p.p_offset + p.p_filesz, PAGE))
			continue;
		if (found && !(m->prot & PROT_EXEC) != !(p.p_flags & PF_X))
			continue;
		found = true;
		*ret = m->start - (ALIGN_DOWN(p.p_vaddr, PAGE) + (m->offset - first));
		if (!(m->prot & PROT_EXEC) == !(p.p_flags & PF_X) && !(m->prot & PROT_WRITE) == !(p.p_flags & PF_W))
			break;
	}
	return found;
}

static int add_module(struct inspector *in, const struct mapping *m, struct symfile *f)
{
	struct module *v = reallocarray(in->modules, in->n_modules + 1, sizeof(*v));
	struct module new = { .start = m->start, .end = m->end, .path = f->path, .file = f, .code = m->prot & PROT_EXEC };
	Dwarf_Addr bias;
	Elf *elf;

	if (!v)
		return -ENOMEM;
	in->modules = v;
	f->used = ++in->uses;
	elf = f->mod ? dwfl_module_getelf(f->mod, &bias) : NULL;
	new.bias = m->start - m->offset;
	if (elf && !find_bias(elf, m, &new.bias))
		return 0;
	in->modules[in->n_modules++] = new;
	return 0;
}

/* The name in a line of maps, with what stands for line ends put back. */
static void unescape(char *name)
{
	char *to = name;

	for (const char *p = name; *p;) {
		bool end = !strncmp(p, "\\012", 4);

		*to++ = end ? '\n' : *p;
		p += end ? 4 : 1;
	}
	*to = '\0';
}

static int add_line(struct inspector *in, const struct aspace *as, char *line)
{
	const struct mapping *m;
	struct symfile *f;
	int at = 0, r;
	uint64_t start;

	if (sscanf(line, "%" SCNx64 "-%*x %*s %*x %*s %*u %n", &start, &at) != 1 || !at || line[at] != '/')
		return 0;
	m = aspace_find(as, start);
	if (!m || m->start != start || m->flags & ASPACE_ANON)
		return 0;
	unescape(line + at);
	r = find_file(in, m, line + at, &f);
	if (r == ERR_LIMIT)
		return 0; /* more files than we keep: they have no names then */
	return r < 0 ? r : add_module(in, m, f);
}

int modules_update(struct inspector *in)
{
	struct buf maps CLEANUP(buf_done) = { 0 };
	const struct aspace *as;
	char *save = NULL;
	int r;

	if (in->modules_valid && in->modules_moves == dbg_moves(in->dbg))
		return 0;
	in->n_modules = 0;
	in->modules_valid = false;
	r = dbg_proc_file(in->dbg, "maps", &maps);
	as = dbg_aspace(in->dbg);
	if (r < 0 || !as)
		return r < 0 ? r : ERR_NOT_FOUND;
	buf_cstr(&maps);
	if (buf_error(&maps) < 0)
		return buf_error(&maps);
	for (char *line = strtok_r((char *)maps.data, "\n", &save); line && r >= 0; line = strtok_r(NULL, "\n", &save))
		r = add_line(in, as, line);
	in->modules_valid = r >= 0;
	in->modules_moves = dbg_moves(in->dbg);
	return MIN(r, 0);
}

void modules_done(struct inspector *in)
{
	for (size_t i = 0; i < in->n_files; i++)
		symfile_free(in->files[i]);
	free(in->files);
	free(in->modules);
}

const struct module *modules_find(struct inspector *in, uint64_t addr)
{
	size_t lo = 0, hi = in->n_modules;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (in->modules[mid].end <= addr)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo < in->n_modules && in->modules[lo].start <= addr ? &in->modules[lo] : NULL;
}

bool modules_executable(struct inspector *in, uint64_t addr)
{
	const struct mapping *m = aspace_find(dbg_aspace(in->dbg), addr);

	return m && m->prot & PROT_EXEC && !(m->flags & ASPACE_HERMIT);
}

Dwarf *symfile_dwarf(struct symfile *f)
{
	Dwarf_Addr bias = 0;
	Dwarf *dw;

	if (!f->mod || f->bad)
		return NULL;
	f->in->busy_with = f->path;
	dw = dwfl_module_getdwarf(f->mod, &bias);
	/* files are loaded at 0: another bias would mean that its separate information was laid out otherwise (prelink) */
	if (dw && !f->checked) {
		f->checked = true;
		f->bad = bias != 0 || !debuginfo_safe(dw);
	}
	return f->bad ? NULL : dw;
}
