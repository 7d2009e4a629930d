/* A program whose file is deleted while it runs, and exec of /proc/self/exe of it. Output: temporary names differ. */
#include "guest.h"
#include <sys/sendfile.h>

static void show_exe(const char *when)
{
	char link[PATH_MAX];
	ssize_t n = CK(readlink("/proc/self/exe", link, sizeof(link) - 1));

	link[n] = '\0';
	say("%s: %s\n", when, link);
}

int main(int argc, char **argv)
{
	struct stat st;
	int src, dst;
	pid_t p;

	if (argc == 3) {
		show_exe("third");
		return 0;
	}
	if (argc == 2) {
		CK(unlink("copy"));
		show_exe("second");
		execl("/proc/self/exe", argv[0], "a", "b", (char *)NULL);
		return 2;
	}
	scratch();
	src = CK(open("/proc/self/exe", O_RDONLY | O_CLOEXEC));
	CK(fstat(src, &st));
	dst = CK(open("copy", O_WRONLY | O_CREAT | O_CLOEXEC, 0755));
	CHECK(sendfile(dst, src, NULL, (size_t)st.st_size) == st.st_size);
	close(dst);
	p = xfork();
	if (p == 0) {
		execl("./copy", "copy", "a", (char *)NULL);
		say("exec: %s\n", err_name(errno));
		_exit(1);
	}
	say("%s\n", wait_str(reap(p)));
	done();
	return 0;
}
