/* Every way in which execve fails, from a process that goes on afterwards. Deterministic. */
#include "guest.h"
#include <sys/resource.h>

static char *argv0[] = { (char *)(uintptr_t) "x", NULL };
static char *env0[] = { NULL };

static void try(const char *what, const char *path, char **argv, char **envp)
{
	long r = syscall(SYS_execve, path, argv, envp);

	show(what, r);
}

int main(void)
{
	static char *many[3000];
	static char arg[100000], longname[5000];
	int fd;

	scratch();
	put_file("text", "no magic here", 0755);
	put_file("elf", "\177ELF\002\001\001garbage that is no program at all, but long enough to be looked at .....", 0755);
	put_file("null", "", 0755);
	put_file("plain", "x", 0644);
	CK(mkdir("dir", 0755));
	CK(symlink("loop", "loop"));
	memset(longname, 'n', sizeof(longname) - 1);
	memset(arg, 'a', sizeof(arg) - 1);
	for (size_t i = 0; i < N_ELEMENTS(many) - 1; i++)
		many[i] = arg;
	try("ENOENT", "nothing", argv0, env0);
	try("ENOENT empty", "", argv0, env0);
	try("EACCES mode", "plain", argv0, env0);
	try("EACCES dir", "dir", argv0, env0);
	try("ENOTDIR", "plain/x", argv0, env0);
	try("ENOEXEC text", "text", argv0, env0);
	try("ENOEXEC elf", "elf", argv0, env0);
	try("ENOEXEC empty", "null", argv0, env0);
	try("ELOOP", "loop", argv0, env0);
	try("ENAMETOOLONG", longname, argv0, env0);
	try("EFAULT path", (const char *)16, argv0, env0);
	try("EFAULT argv", "/bin/true", (char **)16, env0);
	try("EFAULT envp", "/bin/true", argv0, (char **)16);
	try("E2BIG", "/bin/true", many, env0);
	try("ENOENT with NULL argv", "nothing", NULL, NULL);
	fd = CK(open("text", O_WRONLY));
	try("ETXTBSY", "text", argv0, env0);
	close(fd);
	done();
	return 0;
}
