/* fexecve of a memfd that holds a copy of this program, close-on-exec and not. Output: the memfd's name only. Deterministic. */
#include "guest.h"
#include <sys/sendfile.h>

int main(int argc, char **argv)
{
	extern char **environ;
	char *args[] = { argv[0], (char *)(uintptr_t) "inner", NULL };
	char link[PATH_MAX];
	struct stat st;
	ssize_t n;
	int src, mem;

	if (argc > 1) {
		n = CK(readlink("/proc/self/exe", link, sizeof(link) - 1));
		link[n] = '\0';
		say("inner: exe %s\n", link);
		done();
		return 0;
	}
	src = CK(open("/proc/self/exe", O_RDONLY | O_CLOEXEC));
	CK(fstat(src, &st));
	mem = CK(memfd_create("program", MFD_CLOEXEC));
	for (off_t left = st.st_size; left > 0;)
		left -= CK(sendfile(mem, src, NULL, (size_t)left));
	fflush(stdout);
	fexecve(mem, args, environ);
	say("fexecve: %s\n", err_name(errno));
	return 1;
}
