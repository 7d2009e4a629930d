/* Separate debugging information: files of this machine, the only ones besides sources that the inspector opens. One is taken only when its
 * build-id is that of the recorded file or, for files without one, the checksum that .gnu_debuglink has for it fits. What a recording names is opened
 * only when it is a regular file: opening others can have effects. */
#include "inspector/inspect_priv.h"

#include <dwarf.h>
#include <elfutils/libdwelf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/os.h"

#define DEBUG_DIRS "/usr/lib/debug"
#define BUILD_ID_MAX 64

bool debuginfo_regular(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 && S_ISREG(st.st_mode);
}

/* -ENOENT: there is no such regular file. */
static int open_regular(const char *path)
{
	int fd CLEANUP(closep) = -1;
	struct stat st;

	if (!debuginfo_regular(path))
		return -ENOENT;
	fd = os_open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY, 0);
	if (fd < 0)
		return fd;
	if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) || (uint64_t)st.st_size > INSPECT_DEBUG_FILE_MAX)
		return -ENOENT;
	return TAKE_FD(fd);
}

/* What the file has to be. */
struct wanted {
	const unsigned char *id;
	size_t id_len;
	uint32_t crc;
	bool has_crc;
};

static bool same_id(int fd, const struct wanted *w)
{
	Elf *elf = elf_begin(fd, ELF_C_READ_MMAP, NULL);
	const void *id;
	ssize_t n = elf ? dwelf_elf_gnu_build_id(elf, &id) : -1;
	bool same = n > 0 && (size_t)n == w->id_len && !memcmp(id, w->id, w->id_len);

	elf_end(elf);
	return same;
}

static uint32_t crc_table_entry(uint32_t n)
{
	for (unsigned bit = 0; bit < 8; bit++)
		n = n & 1 ? n >> 1 ^ 0xedb88320u : n >> 1;
	return n;
}

static bool same_crc(int fd, uint32_t want)
{
	uint32_t table[256], crc = UINT32_MAX;
	uint8_t part[1 << 15];
	off_t at = 0;
	ssize_t n;

	for (uint32_t i = 0; i < 256; i++)
		table[i] = crc_table_entry(i);
	while ((n = os_pread(fd, part, sizeof(part), at)) > 0) {
		for (ssize_t i = 0; i < n; i++)
			crc = table[(crc ^ part[i]) & 0xff] ^ crc >> 8;
		at += n;
	}
	return n == 0 && ~crc == want;
}

static int try_file(const char *path, const struct wanted *w)
{
	int fd = path ? open_regular(path) : -ENOMEM;

	if (fd < 0)
		return fd;
	if (w->id_len ? same_id(fd, w) : w->has_crc && same_crc(fd, w->crc))
		return fd;
	close(fd);
	return -ENOENT;
}

static int try_build_id(const char *dir, const struct wanted *w, char **ret)
{
	char hex[2 * BUILD_ID_MAX + 1], *path CLEANUP(freep) = NULL;
	int fd;

	if (w->id_len < 2 || w->id_len > BUILD_ID_MAX)
		return -ENOENT;
	for (size_t i = 0; i < w->id_len; i++)
		snprintf(hex + 2 * i, 3, "%02x", w->id[i]);
	path = os_asprintf("%s/.build-id/%.2s/%s.debug", dir, hex, hex + 2);
	fd = try_file(path, w);
	if (fd >= 0)
		*ret = TAKE(path);
	return fd;
}

/* As gdb: beside the program, in .debug there, under the directory for debugging information. */
static int try_link(const char *dir, const char *file, const char *link, const struct wanted *w, char **ret)
{
	const char *slash = strrchr(file, '/');
	int n = slash ? (int)(slash - file) : 0;
	char *paths[] = {
		os_asprintf("%.*s/%s", n, file, link), os_asprintf("%.*s/.debug/%s", n, file, link), os_asprintf("%s%.*s/%s", dir, n, file, link),
		os_asprintf("%s/%s", dir, link),
	};
	int fd = -ENOENT;

	for (size_t i = 0; i < ARRAY_SIZE(paths); i++) {
		if (fd < 0)
			fd = try_file(paths[i], w);
		if (fd >= 0 && !*ret)
			*ret = TAKE(paths[i]);
		free(paths[i]);
	}
	return fd;
}

/* With a build-id the name may be a path (of a file that several share): the id decides. */
static int try_dir(const char *dir, const char *file, const char *link, const struct wanted *w, char **ret)
{
	int fd = try_build_id(dir, w, ret);

	if (fd >= 0 || !link || !*link || strlen(link) > 1024)
		return fd;
	if (!strchr(link, '/'))
		return try_link(dir, file, link, w, ret);
	if (!w->id_len || link[0] != '/')
		return -ENOENT;
	fd = try_file(link, w);
	if (fd >= 0)
		*ret = os_strdup(link);
	return fd;
}

int debuginfo_find(Dwfl_Module *mod, void **userdata, const char *name, Dwarf_Addr base, const char *file, const char *link, GElf_Word crc, char **ret)
{
	struct symfile *f = *userdata;
	struct wanted w = { .crc = crc, .has_crc = crc != 0 };
	const char *dirs = f->in->opt->debug_dirs ? f->in->opt->debug_dirs : DEBUG_DIRS;
	GElf_Addr at;
	int n = dwfl_module_build_id(mod, &w.id, &at);

	w.id_len = n > 0 ? (size_t)n : 0;
	for (const char *p = dirs; *p;) {
		size_t len = strcspn(p, ":");
		char *dir CLEANUP(freep) = os_asprintf("%.*s", (int)len, p);
		int fd = dir && dir[0] == '/' ? try_dir(dir, f->path, link, &w, ret) : -ENOENT;

		if (fd >= 0)
			return fd;
		p += len + (p[len] == ':');
	}
	/* libdwfl's own callback asks the servers; its search of paths is cut off */
	if (f->in->opt->debuginfod && w.id_len)
		return dwfl_build_id_find_debuginfo(mod, userdata, name, base, file, link, crc, ret);
	return -1;
}

bool debuginfo_safe(Dwarf *dw)
{
	const char *name;
	const void *id;

	if (dwelf_dwarf_gnu_debugaltlink(dw, &name, &id) <= 0 || name[0] != '/')
		return true;
	return debuginfo_regular(name) || access(name, F_OK) < 0;
}

static bool split_path_safe(const char *dir, const char *name)
{
	char *path CLEANUP(freep) = name[0] == '/' || !dir ? os_strdup(name) : os_asprintf("%s/%s", dir, name);

	return path && debuginfo_regular(path);
}

bool debuginfo_split_safe(Dwarf_Die *skeleton)
{
	Dwarf_Attribute a;
	const char *dir = dwarf_formstring(dwarf_attr(skeleton, DW_AT_comp_dir, &a));
	const char *name = dwarf_formstring(dwarf_attr(skeleton, DW_AT_dwo_name, &a));

	name = name ? name : dwarf_formstring(dwarf_attr(skeleton, DW_AT_GNU_dwo_name, &a));
	return name && split_path_safe(dir, name);
}
