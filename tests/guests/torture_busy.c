/*
 * The guest of tests/torture/record_kill.py: busy processes and threads that print numbered lines, write files and fork
 * all the time, for about ROUNDS ms. Each process writes "PID STARTTIME" to the file named first. usage: torture_busy FILE ROUNDS
 */
#include "guest.h"
#include <pthread.h>

static int pids;
static int rounds;

static void tell_pid(void)
{
	char line[512], out[64];
	int fd = CK(open("/proc/self/stat", O_RDONLY | O_CLOEXEC));
	ssize_t n = CK(read(fd, line, sizeof(line) - 1));
	char *p;

	close(fd);
	line[n] = '\0';
	p = strrchr(line, ')');
	for (int field = 2; p && field < 22; field++)
		p = strchr(p + 1, ' ');
	CHECK(p);
	n = snprintf(out, sizeof(out), "%d %lu\n", (int)getpid(), strtoul(p, NULL, 10));
	write_all(pids, out, (size_t)n);
}

static void *thread(void *arg)
{
	char page[8192];

	for (int i = 0; i < rounds; i++) {
		int fd = CK(open("/dev/urandom", O_RDONLY | O_CLOEXEC));

		CHECK(read(fd, page, sizeof(page)) == sizeof(page));
		close(fd);
		if (i % 4 == 0)
			say("%d thread %d round %d %02x\n", (int)getpid(), (int)(intptr_t)arg, i, page[77] & 0xff);
		msleep(1);
	}
	return NULL;
}

static int worker(int id)
{
	char name[32];
	pthread_t t[2];

	tell_pid();
	for (int i = 0; i < 2; i++)
		CHECK(pthread_create(&t[i], NULL, thread, (void *)(intptr_t)i) == 0);
	for (int i = 0; i < rounds; i += 4) {
		pid_t p = xfork();

		if (p == 0) {
			tell_pid();
			snprintf(name, sizeof(name), "torture-%d-%d", id, i);
			put_file(name, "contents", 0600);
			CK(unlink(name));
			if (i % 8 == 0)
				execl("/bin/sh", "sh", "-c", "echo shell $$", (char *)NULL);
			_exit(i & 63);
		}
		say("%d worker %d round %d: %s\n", (int)getpid(), id, i, wait_str(reap(p)));
	}
	for (int i = 0; i < 2; i++)
		CHECK(pthread_join(t[i], NULL) == 0);
	return id;
}

int main(int argc, char **argv)
{
	pid_t p[3];

	if (argc != 3)
		return 2;
	pids = CK(open(argv[1], O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600));
	rounds = atoi(argv[2]);
	tell_pid();
	for (int i = 0; i < 3; i++) {
		p[i] = xfork();
		if (p[i] == 0)
			_exit(worker(i));
	}
	for (int i = 0; i < 3; i++)
		say("worker %d: %s\n", i, wait_str(reap(p[i])));
	done();
	return 5;
}
