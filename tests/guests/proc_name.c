/* Thread names by prctl and by /proc, command line and exe links. Deterministic. */
#include "guest.h"

static void show_file(const char *path)
{
	char buf[256];
	int fd = CK(open(path, O_RDONLY | O_CLOEXEC));
	ssize_t n = CK(read(fd, buf, sizeof(buf) - 1));

	close(fd);
	for (ssize_t i = 0; i < n; i++)
		if (buf[i] == '\0' || buf[i] == '\n')
			buf[i] = '|';
	buf[n] = '\0';
	say("%s: %s\n", path, buf);
}

int main(void)
{
	char name[17] = "";
	int fd;

	show_file("/proc/self/comm");
	CK(prctl(PR_SET_NAME, "a name longer than fifteen", 0, 0, 0));
	CK(prctl(PR_GET_NAME, name, 0, 0, 0));
	say("name: %s\n", name);
	fd = CK(open("/proc/self/comm", O_WRONLY | O_CLOEXEC));
	write_all(fd, "by proc", 7);
	close(fd);
	show_file("/proc/self/comm");
	CK(prctl(PR_GET_NAME, name, 0, 0, 0));
	say("name: %s\n", name);
	show("name at a bad address", prctl(PR_GET_NAME, 8, 0, 0, 0));
	done();
	return 0;
}
