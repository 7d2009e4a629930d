/* /proc/self/status and stat: TracerPid is 0, the rest is the process's own. Output: sizes and ids differ. */
#include "guest.h"

int main(void)
{
	char line[1024];
	FILE *f = fopen("/proc/self/status", "re");
	long pid, ppid;
	char comm[64], st;

	CHECK(f);
	while (fgets(line, sizeof(line), f)) {
		say("%s", line);
		if (!strncmp(line, "TracerPid:", 10))
			CHECK(atoi(line + 10) == 0);
		if (!strncmp(line, "Pid:", 4))
			CHECK(atoi(line + 4) == getpid());
		if (!strncmp(line, "PPid:", 5))
			CHECK(atoi(line + 5) == getppid());
	}
	fclose(f);
	f = fopen("/proc/self/stat", "re");
	CHECK(f && fgets(line, sizeof(line), f));
	CHECK(sscanf(line, "%ld %63s %c %ld", &pid, comm, &st, &ppid) == 4);
	say("%s", line);
	CHECK(pid == getpid() && ppid == getppid());
	fclose(f);
	done();
	return 0;
}
