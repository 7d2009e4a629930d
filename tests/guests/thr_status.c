/* Threads as /proc shows them: task directory, names, Threads and TracerPid lines. Output: tids differ. */
#include "guest.h"
#include <dirent.h>
#include <pthread.h>

static struct gate hold, ready;

static void *body(void *arg)
{
	char name[16];

	snprintf(name, sizeof(name), "worker-%d", (int)(intptr_t)arg);
	CHECK(pthread_setname_np(pthread_self(), name) == 0);
	gate_open(&ready);
	gate_wait(&hold);
	return NULL;
}

static void show_task(const char *tid)
{
	char path[300], line[256];
	FILE *f;

	snprintf(path, sizeof(path), "/proc/self/task/%s/status", tid);
	f = fopen(path, "re");
	CHECK(f);
	while (fgets(line, sizeof(line), f))
		if (!strncmp(line, "Name:", 5) || !strncmp(line, "Pid:", 4) || !strncmp(line, "Tgid:", 5) ||
		    !strncmp(line, "TracerPid:", 10) || !strncmp(line, "Threads:", 8)) {
			say("%s", line);
			CHECK(strncmp(line, "TracerPid:", 10) != 0 || atoi(line + 10) == 0);
		}
	fclose(f);
}

int main(void)
{
	struct dirent *e;
	pthread_t t[3];
	DIR *d;

	gate_init(&hold);
	gate_init(&ready);
	for (int i = 0; i < 3; i++)
		CHECK(pthread_create(&t[i], NULL, body, (void *)(intptr_t)i) == 0);
	for (int i = 0; i < 3; i++)
		gate_wait(&ready);
	d = opendir("/proc/self/task");
	CHECK(d);
	while ((e = readdir(d)) != NULL)
		if (e->d_name[0] != '.')
			show_task(e->d_name);
	closedir(d);
	for (int i = 0; i < 3; i++)
		gate_open(&hold);
	for (int i = 0; i < 3; i++)
		CHECK(pthread_join(t[i], NULL) == 0);
	done();
	return 0;
}
