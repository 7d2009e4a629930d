/* /proc/self/fd lists exactly the descriptors this program has: no extra ones. Deterministic when started with 0, 1, 2 only. */
#include "guest.h"
#include <dirent.h>

static void list(const char *dir)
{
	DIR *d = opendir(dir);
	struct dirent *e;
	int seen[64] = { 0 };

	CHECK(d);
	while ((e = readdir(d)) != NULL)
		if (e->d_name[0] != '.' && atoi(e->d_name) < 64)
			seen[atoi(e->d_name)] = 1;
	say("%s:", dir);
	for (int i = 0; i < 64; i++)
		if (seen[i])
			say(" %d%s", i, i == dirfd(d) ? "(dir)" : "");
	say("\n");
	closedir(d);
}

int main(void)
{
	char path[64];
	int fd[2];

	list("/proc/self/fd");
	CK(pipe2(fd, O_CLOEXEC));
	CK(dup2(fd[0], 40));
	list("/proc/self/fd");
	list("/proc/self/fdinfo");
	list("/proc/thread-self/fd");
	snprintf(path, sizeof(path), "/proc/%d/fd", (int)getpid());
	close(40);
	CK(chdir("/proc/self"));
	list("fd");
	show("first free", CK(dup(0)));
	done();
	return 0;
}
