/* rlimits set and felt: open files, file size with SIGXFSZ, stack, address space; umask, cwd, chdir into a removed directory. Deterministic. */
#include "guest.h"
#include <sys/resource.h>

static void handler(int sig)
{
	say("%s\n", sig_name(sig));
}

int main(void)
{
	struct rlimit rl = { 20, 30 }, old;
	char cwd[PATH_MAX];
	struct stat st;
	int fd;

	scratch();
	CHECK(signal(SIGXFSZ, handler) != SIG_ERR);
	CK(prlimit(0, RLIMIT_NOFILE, &rl, &old));
	while ((fd = dup(0)) >= 0)
		continue;
	show("too many files", fd);
	show("fd 25", dup2(0, 25));
	rl.rlim_max = 40;
	show("raise the hard limit", geteuid() ? setrlimit(RLIMIT_NOFILE, &rl) : -1);
	closefrom(3);
	rl = (struct rlimit){ 1000, 1000 };
	CK(setrlimit(RLIMIT_FSIZE, &rl));
	fd = CK(open("f", O_RDWR | O_CREAT, 0666));
	CK(lseek(fd, 990, SEEK_SET));
	show("up to the limit", write(fd, "0123456789abcdef", 16));
	show("beyond", write(fd, "x", 1));
	rl = (struct rlimit){ 1ul << 30, 1ul << 30 };
	CK(setrlimit(RLIMIT_AS, &rl));
	show("address space", (long)mmap(NULL, 2ul << 30, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
	umask(027);
	fd = CK(open("g", O_RDWR | O_CREAT, 0666));
	CK(fstat(fd, &st));
	say("mode %o\n", st.st_mode & 0777);
	CK(mkdir("d", 0777));
	CK(chdir("d"));
	CK(rmdir("../d"));
	show("cwd is gone", getcwd(cwd, sizeof(cwd)) ? 0 : -1);
	show("create there", open("x", O_CREAT | O_WRONLY, 0600));
	show("unknown limit", getrlimit((__rlimit_resource_t)99, &rl));
	CK(chdir(scratch_path));
	done();
	return 0;
}
