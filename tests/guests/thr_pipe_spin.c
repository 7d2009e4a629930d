/*
 * Threads block in read of pipes while another yields over and over and looks at the buffers: the kernel's write into a
 * waiting thread's buffer must be seen at the same place again. Output: counts differ.
 */
#include "guest.h"
#include <pthread.h>

enum { N = 4, MESSAGES = 30 };

static int fd[N][2];
static volatile char buf[N][64];
static volatile int stop, got[N];

static void *reader(void *arg)
{
	int i = (int)(intptr_t)arg;

	for (int k = 0; k < MESSAGES; k++) {
		CHECK(read(fd[i][0], (char *)(uintptr_t)buf[i], sizeof(buf[i])) == sizeof(buf[i]));
		got[i]++;
	}
	return NULL;
}

static void *looker(void *arg UNUSED)
{
	unsigned long rounds = 0, changes = 0, mix = 0;
	char last[N] = { 0 };

	while (!stop) {
		for (int i = 0; i < N; i++) {
			char c = buf[i][17];

			if (c != last[i]) {
				changes++;
				mix = mix * 31 + (unsigned long)c + rounds;
				last[i] = c;
			}
		}
		rounds++;
		sched_yield();
	}
	say("looked %lu times, saw %lu changes, mix %lx\n", rounds, changes, mix);
	return NULL;
}

int main(void)
{
	pthread_t t[N], l;
	char msg[64];

	for (int i = 0; i < N; i++) {
		CK(pipe(fd[i]));
		CHECK(pthread_create(&t[i], NULL, reader, (void *)(intptr_t)i) == 0);
	}
	CHECK(pthread_create(&l, NULL, looker, NULL) == 0);
	for (int k = 0; k < MESSAGES; k++) {
		for (int i = 0; i < N; i++) {
			memset(msg, k + i + 1, sizeof(msg));
			CHECK(write(fd[i][1], msg, sizeof(msg)) == sizeof(msg));
		}
		msleep(1);
	}
	for (int i = 0; i < N; i++)
		CHECK(pthread_join(t[i], NULL) == 0);
	stop = 1;
	CHECK(pthread_join(l, NULL) == 0);
	say("got %d %d %d %d\n", got[0], got[1], got[2], got[3]);
	done();
	return 0;
}
