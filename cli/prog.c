/* Looks at a program before it is started: see prog.h. The checks follow what execve(2) does: the file itself, its #! line
 * (up to five scripts deep, as the kernel), the ELF header and the ELF interpreter. */
#include "cli/prog.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>
#include "base/os.h"
#include "base/str.h"
#include "cli/text.h"

#define HEAD_SIZE 4096       /* bytes of a file that are looked at */
#define SHEBANG_LINE_MAX 255 /* the kernel's BINPRM_BUF_SIZE - 1 */
#define SCRIPT_DEPTH_MAX 5

struct search {
	int dir; /* the guest's working directory */
	const char *name; /* as the user typed it */
	struct prog_fault *fault;
};

static int refuse(struct search *s, enum exit_code code, const char *advice, const char *fmt, ...) PRINTF_LIKE(4, 5);

static int refuse(struct search *s, enum exit_code code, const char *advice, const char *fmt, ...)
{
	struct buf safe CLEANUP(buf_done) = { 0 };
	char text[sizeof(s->fault->text)];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	text_safe(&safe, text); /* file contents may be in it */
	s->fault->code = code;
	snprintf(s->fault->text, sizeof(s->fault->text), "%s", buf_cstr(&safe));
	snprintf(s->fault->advice, sizeof(s->fault->advice), "%s", advice);
	return code == EXIT_NOT_FOUND ? -ENOENT : -ENOEXEC;
}

static int check_file(struct search *s, const char *path, unsigned depth);

static int check_mode(struct search *s, const char *path)
{
	struct buf quoted CLEANUP(buf_done) = { 0 };
	struct stat st;

	if (fstatat(s->dir, path, &st, 0))
		return refuse(s, EXIT_NOT_FOUND, "",
			      "Program '%s' does not exist or is not accessible: %s. Check the path", path, strerror(errno));
	if (S_ISDIR(st.st_mode))
		return refuse(s, EXIT_NOT_EXECUTABLE, "", "Program '%s' is a directory; an executable file is needed", path);
	if (!S_ISREG(st.st_mode))
		return refuse(s, EXIT_NOT_EXECUTABLE, "", "Program '%s' is no regular file; an executable file is needed", path);
	if (!faccessat(s->dir, path, X_OK, AT_EACCESS))
		return 0;
	if (st.st_mode & 0111)
		return refuse(s, EXIT_NOT_EXECUTABLE, "The file is executable for others only, or its file system is mounted noexec",
			      "Program '%s' is not executable for you: %s", path, strerror(errno));
	buf_put_shell_quoted(&quoted, path);
	return refuse(s, EXIT_NOT_EXECUTABLE, "", "Program '%s' is not executable; try: chmod +x %s", path, buf_cstr(&quoted));
}

/* A script: its interpreter must be there and executable. head is NUL-terminated. */
static int check_shebang(struct search *s, const char *path, char *head, unsigned depth)
{
	char *line = head + 2, *interp;
	size_t len;
	struct stat st;

	if (strlen(head) > SHEBANG_LINE_MAX)
		head[SHEBANG_LINE_MAX] = '\0';
	line[strcspn(line, "\n")] = '\0';
	interp = line + strspn(line, " \t");
	len = strcspn(interp, " \t");
	interp[len] = '\0';
	if (!len)
		return refuse(s, EXIT_NOT_EXECUTABLE, "Write the interpreter after the #!, as in #!/bin/sh",
			      "Script '%s' has an empty shebang interpreter", path);
	if (fstatat(s->dir, interp, &st, 0))
		return refuse(s, EXIT_NOT_EXECUTABLE,
			      interp[len - 1] == '\r' ? "The line ends in a carriage return: convert the file from DOS line ends" : "",
			      "Script '%s' uses shebang interpreter '%s', which does not exist. Correct its #! line", path,
			      interp);
	if (depth >= SCRIPT_DEPTH_MAX)
		return refuse(s, EXIT_NOT_EXECUTABLE, "", "Script '%s' is interpreted by a script that is interpreted by a script"
			      " and so on: the kernel follows %d", path, SCRIPT_DEPTH_MAX);
	if (S_ISDIR(st.st_mode) || faccessat(s->dir, interp, X_OK, AT_EACCESS))
		return refuse(s, EXIT_NOT_EXECUTABLE, "",
			      "Script '%s' uses shebang interpreter '%s', which is not executable. Correct its #! line", path, interp);
	return check_file(s, interp, depth + 1);
}

/* The loader that a dynamic program names must be there, else execve says only "No such file or directory". */
static int check_elf_interp(struct search *s, const char *path, int fd, const Elf64_Ehdr *eh)
{
	for (unsigned i = 0; i < eh->e_phnum && i < 128; i++) {
		char name[256] = "";
		Elf64_Phdr ph;
		struct stat st;

		if (os_pread_full(fd, &ph, sizeof(ph), (off_t)(eh->e_phoff + i * sizeof(ph))) != sizeof(ph))
			return 0;
		if (ph.p_type != PT_INTERP || ph.p_filesz >= sizeof(name))
			continue;
		if (os_pread_full(fd, name, ph.p_filesz, (off_t)ph.p_offset) != (ssize_t)ph.p_filesz)
			return 0;
		if (fstatat(s->dir, name, &st, 0))
			return refuse(s, EXIT_NOT_EXECUTABLE, "Install the C library that the program was linked with",
				      "Program '%s' needs the loader '%s', which does not exist", path, name);
	}
	return 0;
}

static int check_elf(struct search *s, const char *path, int fd, const void *head, size_t len)
{
	const Elf64_Ehdr *eh = head;

	if (len < sizeof(*eh) || eh->e_ident[EI_CLASS] != ELFCLASS64 || eh->e_machine != EM_X86_64)
		return refuse(s, EXIT_NOT_EXECUTABLE, "hermit records 64-bit x86-64 programs",
			      "Program '%s' is not made for x86-64 (ELF class %u, machine %u)", path, eh->e_ident[EI_CLASS],
			      len >= sizeof(*eh) ? eh->e_machine : 0);
	if (eh->e_phentsize != sizeof(Elf64_Phdr))
		return 0;
	return check_elf_interp(s, path, fd, eh);
}

static int check_file(struct search *s, const char *path, unsigned depth)
{
	_Alignas(Elf64_Ehdr) char head[HEAD_SIZE + 1];
	int fd CLEANUP(closep) = -1;
	ssize_t n;
	int r;

	r = check_mode(s, path);
	if (r < 0)
		return r;
	fd = os_openat(s->dir, path, O_RDONLY | O_NOCTTY, 0);
	if (fd < 0)
		return 0; /* executable without being readable */
	n = os_pread_full(fd, head, HEAD_SIZE, 0);
	if (n < 0)
		return 0;
	head[n] = '\0';
	if (n >= 2 && !memcmp(head, "#!", 2))
		return check_shebang(s, path, head, depth);
	if (n >= EI_NIDENT && !memcmp(head, ELFMAG, SELFMAG))
		return check_elf(s, path, fd, head, (size_t)n);
	return 0;
}

/* One directory of PATH: 1 = *ret_path is a program, 0 = not here. An unusable candidate is kept in `other`. */
static int try_directory(struct search *s, const char *dir, size_t len, char **ret_path, char **other)
{
	char *path CLEANUP(freep) = os_asprintf("%.*s/%s", len ? (int)len : 1, len ? dir : ".", s->name);
	struct stat st;

	if (!path)
		return -ENOMEM;
	if (fstatat(s->dir, path, &st, 0) || !S_ISREG(st.st_mode))
		return 0;
	if (faccessat(s->dir, path, X_OK, AT_EACCESS)) {
		if (!*other)
			*other = TAKE(path);
		return 0;
	}
	*ret_path = TAKE(path);
	return 1;
}

static int not_on_path(struct search *s, const char *path_var)
{
	struct stat st;
	char advice[400] = "Give the program's path, or set PATH with -e PATH=...";

	if (!fstatat(s->dir, s->name, &st, 0) && S_ISREG(st.st_mode))
		snprintf(advice, sizeof(advice), "A file of that name is in the working directory: try ./%.300s", s->name);
	return refuse(s, EXIT_NOT_FOUND, advice, "Could not resolve program '%.300s' in the guest PATH (%.500s)", s->name, path_var);
}

static int search_path(struct search *s, const char *path_var, char **ret_path)
{
	char *other CLEANUP(freep) = NULL;
	int r;

	for (const char *dir = path_var;;) {
		size_t len = strcspn(dir, ":");

		r = try_directory(s, dir, len, ret_path, &other);
		if (r)
			return r < 0 ? r : 0;
		if (!dir[len])
			break;
		dir += len + 1;
	}
	if (other)
		r = check_mode(s, other);
	return r ? r : not_on_path(s, path_var);
}

int prog_resolve(const char *name, const char *path, const char *workdir, char **ret_path, struct prog_fault *fault)
{
	int dir CLEANUP(closep) = -1;
	struct search s = { .dir = AT_FDCWD, .name = name, .fault = fault };
	char *found CLEANUP(freep) = NULL;
	int r;

	*fault = (struct prog_fault){ 0 };
	if (workdir) {
		dir = os_open(workdir, O_PATH | O_DIRECTORY, 0);
		if (dir < 0)
			return refuse(&s, EXIT_INTERNAL, "Choose another one with --workdir",
				      "cannot use the working directory '%s': %s", workdir, err_str(dir));
		s.dir = dir;
	}
	if (!*name)
		return refuse(&s, EXIT_NOT_FOUND, "", "The name of the program is empty");
	if (strchr(name, '/') || !strcmp(name, ".") || !strcmp(name, "..")) {
		found = os_strdup(name);
		r = found ? 0 : -ENOMEM;
	} else {
		r = search_path(&s, path && *path ? path : "/bin:/usr/bin", &found);
	}
	if (!r)
		r = check_file(&s, found, 0);
	if (r < 0)
		return r;
	*ret_path = TAKE(found);
	return 0;
}
