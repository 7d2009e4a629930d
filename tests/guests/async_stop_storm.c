/* flags: -O2 -pthread
 * Threads compute while somebody outside stops and continues the process all the time (tests/programs/stop_storm.outside.sh). */
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <unistd.h>

#define THREADS 4

static volatile sig_atomic_t continued;

static void on_signal(int signo)
{
	(void)signo;
	continued++;
}

static void *work(void *arg)
{
	uint64_t x = (uintptr_t)arg;

	for (int i = 0; i < 50000000; i++) {
		x = x * 6364136223846793005u + 1442695040888963407u;
		x ^= x >> 29;
	}
	return (void *)(uintptr_t)x;
}

int main(void)
{
	struct sigaction sa = { .sa_handler = on_signal, .sa_flags = SA_RESTART };
	pthread_t t[THREADS];
	uint64_t sum = 0;
	FILE *f;

	sigaction(SIGCONT, &sa, NULL);
	f = fopen("pid", "w");
	if (!f)
		return 1;
	fprintf(f, "%d\n", getpid());
	fclose(f);
	for (uintptr_t i = 0; i < THREADS; i++)
		pthread_create(&t[i], NULL, work, (void *)i);
	for (int i = 0; i < THREADS; i++) {
		void *x;

		pthread_join(t[i], &x);
		sum ^= (uintptr_t)x;
	}
	printf("ok %llx, continued %d times\n", (unsigned long long)sum, (int)continued);
	return 0;
}
