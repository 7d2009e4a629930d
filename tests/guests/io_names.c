/* Names: link, symlink, readlink, rename, renameat2, mkdirat, unlinkat, mknod, chmod, chown, utimensat, access, openat2. Deterministic. */
#include "guest.h"
#include <linux/openat2.h>
#include <sys/time.h>

int main(void)
{
	struct timespec ts[2] = { { 1000, 5 }, { 2000, 6 } };
	struct open_how how = { .flags = O_RDONLY, .resolve = RESOLVE_BENEATH };
	struct timeval tv[2] = { { 10, 0 }, { 20, 0 } };
	struct stat st;
	char buf[64] = "";
	int dir;

	scratch();
	umask(022);
	put_file("f", "contents", 0644);
	show("link", link("f", "hard"));
	show("symlink", symlink("f", "soft"));
	show("readlink", readlink("soft", buf, sizeof(buf)));
	show("readlink short", readlink("soft", buf, 0));
	show("readlink of a file", readlink("f", buf, 10));
	show("mkdir", mkdir("d", 0777));
	dir = CK(open("d", O_RDONLY | O_DIRECTORY));
	show("mkdirat", mkdirat(dir, "sub", 0700));
	show("symlinkat", symlinkat("../f", dir, "up"));
	show("linkat", linkat(AT_FDCWD, "f", dir, "g", 0));
	show("renameat", renameat(dir, "g", AT_FDCWD, "moved"));
	show("renameat2 noreplace", renameat2(AT_FDCWD, "f", AT_FDCWD, "moved", RENAME_NOREPLACE));
	show("renameat2 exchange", renameat2(AT_FDCWD, "f", AT_FDCWD, "soft", RENAME_EXCHANGE));
	show("rename dir over file", rename("d", "hard"));
	show("mkfifo", mkfifo("fifo", 0600));
	show("mknodat file", mknod("node", S_IFREG | 0600, 0));
	show("chmod", chmod("hard", 0751));
	show("fchmodat", fchmodat(dir, "sub", 0711, 0));
	show("chown same", chown("hard", getuid(), getgid()));
	show("lchown same", lchown("f", getuid(), getgid()));
	show("utimensat", utimensat(AT_FDCWD, "hard", ts, 0));
	CK(stat("hard", &st));
	say("mode %o links %lu size %ld atime %ld.%ld mtime %ld.%ld\n", st.st_mode, (unsigned long)st.st_nlink,
	    (long)st.st_size, (long)st.st_atim.tv_sec, st.st_atim.tv_nsec, (long)st.st_mtim.tv_sec, st.st_mtim.tv_nsec);
	show("utimes", utimes("hard", tv));
	show("futimens", futimens(dir, ts));
	show("access", access("hard", R_OK));
	show("faccessat", faccessat(dir, "sub", X_OK, AT_EACCESS));
	show("access missing", access("missing", F_OK));
	show("openat2", syscall(SYS_openat2, dir, "sub", &how, sizeof(how)) >= 0);
	show("openat2 above", syscall(SYS_openat2, dir, "../f", &how, sizeof(how)));
	show("openat2 bad size", syscall(SYS_openat2, dir, "sub", &how, 3));
	show("unlinkat dir", unlinkat(dir, "sub", AT_REMOVEDIR));
	show("rmdir not empty", rmdir("d"));
	show("unlink dir", unlink("d"));
	show("chdir", chdir("d"));
	show("fchdir", fchdir(dir));
	say("cwd ends with %s\n", strrchr(getcwd(buf, sizeof(buf)) ? buf : scratch_path, '/') ? "name" : "?");
	show("long name", open("0123456789012345678901234567890123456789012345678901234567890123456789012345678901234567"
			       "8901234567890123456789012345678901234567890123456789012345678901234567890123456789012345"
			       "678901234567890123456789012345678901234567890123456789012345678901234567890123456789012345",
			       O_RDONLY));
	done();
	return 0;
}
