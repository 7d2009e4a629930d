/* inotify: creation, writing, renaming with cookies, deletion, by this process and a child; removal of watches. Output: cookies differ. */
#include "guest.h"
#include <sys/inotify.h>

static void drain(int fd)
{
	char buf[4096] __attribute__((aligned(8)));
	ssize_t n = read(fd, buf, sizeof(buf));

	if (n < 0) {
		show("drained", n);
		return;
	}
	for (char *p = buf; p < buf + n;) {
		struct inotify_event *e = (struct inotify_event *)(void *)p;

		say("wd %d mask %#x cookie %u name %s\n", e->wd, e->mask, e->cookie, e->len ? e->name : "-");
		p += sizeof(*e) + e->len;
	}
}

int main(void)
{
	int fd, wd;

	scratch();
	fd = CK(inotify_init1(IN_NONBLOCK | IN_CLOEXEC));
	wd = CK(inotify_add_watch(fd, ".", IN_ALL_EVENTS));
	drain(fd);
	put_file("a", "text", 0600);
	drain(fd);
	CK(rename("a", "b"));
	CK(mkdir("d", 0700));
	drain(fd);
	if (xfork() == 0) {
		put_file("child's", "x", 0600);
		_exit(0);
	}
	CHECK(wait(NULL) > 0);
	drain(fd);
	CK(unlink("b"));
	CK(rmdir("d"));
	drain(fd);
	show("add again", inotify_add_watch(fd, ".", IN_CREATE));
	put_file("c", "", 0600);
	drain(fd);
	CK(inotify_rm_watch(fd, wd));
	drain(fd);
	show("remove again", inotify_rm_watch(fd, wd));
	show("not there", inotify_add_watch(fd, "nothing", IN_CREATE));
	show("not an inotify", inotify_add_watch(0, ".", IN_CREATE));
	done();
	return 0;
}
