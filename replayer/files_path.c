/* Paths as text: nothing here looks at this machine's files, except for the interpreter's name in a file of the store. */
#include "replayer/files_index_priv.h"

#include <elf.h>
#include <stdlib.h>
#include <string.h>
#include "base/os.h"
#include "base/str.h"

#define PROGRAM_HEADERS_MAX 256

bool files_path_clean(const char *cwd, const char *path, char ret[FILES_PATH_MAX])
{
	const char *parts[] = { path[0] == '/' ? "" : cwd, path };
	size_t n = 0;

	if (!parts[0] || !path[0])
		return false;
	for (size_t i = 0; i < ARRAY_SIZE(parts); i++)
		for (const char *p = parts[i]; *p;) {
			size_t len = strcspn(p, "/");

			if (len == 2 && !memcmp(p, "..", 2)) {
				while (n && ret[--n] != '/')
					;
			} else if (len && !(len == 1 && *p == '.')) {
				if (n + len + 2 > FILES_PATH_MAX)
					return false;
				ret[n++] = '/';
				memcpy(ret + n, p, len);
				n += len;
			}
			p += len;
			p += *p == '/';
		}
	if (!n)
		ret[n++] = '/';
	ret[n] = '\0';
	return true;
}

bool files_path_interp(int fd, char ret[FILES_PATH_MAX])
{
	Elf64_Ehdr eh;
	Elf64_Phdr ph;

	if (os_pread_full(fd, &eh, sizeof(eh), 0) != sizeof(eh) || memcmp(eh.e_ident, ELFMAG, SELFMAG) || eh.e_phentsize != sizeof(ph))
		return false;
	for (unsigned i = 0; i < MIN((unsigned)eh.e_phnum, (unsigned)PROGRAM_HEADERS_MAX); i++) {
		uint64_t at = eh.e_phoff + i * sizeof(ph);

		if (at > INT64_MAX || os_pread_full(fd, &ph, sizeof(ph), (off_t)at) != sizeof(ph))
			return false;
		if (ph.p_type != PT_INTERP)
			continue;
		if (!ph.p_filesz || ph.p_filesz > FILES_PATH_MAX || ph.p_offset > INT64_MAX ||
		    os_pread_full(fd, ret, ph.p_filesz, (off_t)ph.p_offset) != (ssize_t)ph.p_filesz)
			return false;
		return ret[ph.p_filesz - 1] == '\0';
	}
	return false;
}

/* Behind "NUMBER/"; NULL: there is none. */
static const char *number(const char *p, uint64_t *ret)
{
	uint64_t v = 0;
	const char *q = p;

	for (; *q >= '0' && *q <= '9' && q - p < 10; q++)
		v = v * 10 + (uint64_t)(*q - '0');
	if (q == p || *q != '/')
		return NULL;
	*ret = v;
	return q + 1;
}

const char *files_path_proc(const char *path, uint64_t *ret_pid)
{
	static const char *const selves[] = { "self/", "thread-self/" };
	const char *p, *task;
	uint64_t tid;

	if (!str_has_prefix(path, "/proc/"))
		return NULL;
	p = number(path + 6, ret_pid);
	for (size_t i = 0; !p && i < ARRAY_SIZE(selves); i++)
		if (str_has_prefix(path + 6, selves[i])) {
			p = path + 6 + strlen(selves[i]);
			*ret_pid = 0;
		}
	task = p && str_has_prefix(p, "task/") ? number(p + 5, &tid) : NULL;
	return task ? task : p;
}

bool files_path_comm(const char *path, uint64_t *ret_tid)
{
	const char *p, *slash = strrchr(path, '/');
	uint64_t pid = 0;

	if (!slash || strcmp(slash, "/comm"))
		return false;
	p = files_path_proc(path, &pid);
	if (!p || strcmp(p, "comm"))
		return false;
	/* /proc/TID/comm is a thread's too: its own number tells whose */
	*ret_tid = pid;
	slash = strstr(path, "/task/");
	return !slash || number(slash + 6, ret_tid);
}
