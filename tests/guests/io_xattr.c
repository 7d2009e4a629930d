/* Extended attributes: set, get, list, sizes, remove, by path, link and descriptor. Deterministic where the file system has them. */
#include "guest.h"
#include <sys/xattr.h>

int main(void)
{
	char buf[256] = "";
	ssize_t n;
	int fd;

	scratch();
	put_file("f", "x", 0600);
	CK(symlink("f", "l"));
	fd = CK(open("f", O_RDWR));
	if (setxattr("f", "user.one", "value 1", 7, 0) < 0) {
		show("setxattr", -1);
		done();
		return 0;
	}
	show("fsetxattr", fsetxattr(fd, "user.two", "second value", 12, XATTR_CREATE));
	show("create again", fsetxattr(fd, "user.two", "", 0, XATTR_CREATE));
	show("replace missing", setxattr("f", "user.three", "", 0, XATTR_REPLACE));
	show("size", getxattr("f", "user.one", NULL, 0));
	show("get", getxattr("l", "user.one", buf, sizeof(buf)));
	say("%s\n", buf);
	show("get too small", fgetxattr(fd, "user.two", buf, 3));
	show("lget of a link", lgetxattr("l", "user.one", buf, 10));
	show("lset of a link", lsetxattr("l", "user.x", "", 0, 0));
	n = listxattr("f", buf, sizeof(buf));
	show("list has both", n >= 18);
	show("list size", flistxattr(fd, NULL, 0) == n);
	show("remove", removexattr("f", "user.one"));
	show("remove again", fremovexattr(fd, "user.one"));
	show("bad name space", setxattr("f", "nonsense.x", "", 0, 0));
	show("missing file", getxattr("missing", "user.one", buf, 10));
	done();
	return 0;
}
