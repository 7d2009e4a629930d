/*
 * A set-id program: run natively as root it becomes another user, in a recording it keeps its ids (and hermit says so).
 * Output: ids before and after. Needs root to make the set-id file; else only shows that nothing is gained.
 */
#include "guest.h"
#include <sys/auxv.h>
#include <sys/sendfile.h>

int main(int argc, char **argv)
{
	uid_t r, e, s;
	struct stat st;
	int src, dst;
	pid_t p;

	CK(getresuid(&r, &e, &s));
	say("%s: uid %d %d %d, secure %lu\n", argc > 1 ? "set-id" : "start", (int)r, (int)e, (int)s,
	    getauxval(AT_SECURE));
	if (argc > 1)
		return 0;
	scratch();
	CK(chmod(".", 0755));
	src = CK(open("/proc/self/exe", O_RDONLY | O_CLOEXEC));
	CK(fstat(src, &st));
	dst = CK(open("copy", O_WRONLY | O_CREAT | O_CLOEXEC, 0700));
	CHECK(sendfile(dst, src, NULL, (size_t)st.st_size) == st.st_size);
	if (r == 0)
		CK(fchown(dst, 65534, 65534));
	CK(fchmod(dst, 06755));
	close(dst);
	p = xfork();
	if (p == 0) {
		execl("./copy", argv[0], "x", (char *)NULL);
		_exit(1);
	}
	say("%s\n", wait_str(reap(p)));
	done();
	return 0;
}
