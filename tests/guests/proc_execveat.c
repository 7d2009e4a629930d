/* execveat: by directory and name, by AT_EMPTY_PATH, links not followed, errors. Deterministic. */
#include "guest.h"

static void run(const char *what, int dir, const char *path, int flags)
{
	char *argv[] = { (char *)(uintptr_t) "me", (char *)(uintptr_t)what, NULL };
	char *envp[] = { (char *)(uintptr_t) "ONLY=this", NULL };
	pid_t p = xfork();

	if (p == 0) {
		syscall(SYS_execveat, dir, path, argv, envp, flags);
		say("%s: %s\n", what, err_name(errno));
		_exit(1);
	}
	say("%s: %s\n", what, wait_str(reap(p)));
}

int main(int argc, char **argv)
{
	extern char **environ;
	char exe[PATH_MAX];
	ssize_t n;
	int dir, fd;

	if (argc > 1) {
		say("%s: running, environment %s\n", argv[1], environ[0]);
		return 0;
	}
	n = CK(readlink("/proc/self/exe", exe, sizeof(exe) - 1));
	exe[n] = '\0';
	scratch();
	CK(symlink(exe, "link"));
	put_file("data", "just text\n", 0644);
	dir = CK(open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
	fd = CK(open(exe, O_RDONLY | O_CLOEXEC));
	run("dir+name", dir, "link", 0);
	run("absolute", -1, exe, 0);
	run("cwd", AT_FDCWD, "link", 0);
	run("empty path", fd, "", AT_EMPTY_PATH);
	run("nofollow", dir, "link", AT_SYMLINK_NOFOLLOW);
	run("not there", dir, "nothing", 0);
	run("not executable", dir, "data", 0);
	run("bad fd", 99, "link", 0);
	run("bad flag", dir, "link", 0x40000000);
	done();
	return 0;
}
