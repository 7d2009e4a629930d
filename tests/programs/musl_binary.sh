# Programs made by musl-gcc, dynamic and static: threads, malloc, stdio, fork, time. Pids, times and addresses differ.
set -eu
cat >t.c <<'EOT'
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static int n;
static void *body(void *a)
{
	for (int i = 0; i < 1000; i++) {
		pthread_mutex_lock(&m);
		n++;
		pthread_mutex_unlock(&m);
	}
	free(malloc(100000));
	return a;
}
int main(void)
{
	pthread_t t[8];
	struct timespec ts;
	int st;
	for (int i = 0; i < 8; i++)
		pthread_create(&t[i], 0, body, 0);
	for (int i = 0; i < 8; i++)
		pthread_join(t[i], 0);
	clock_gettime(CLOCK_REALTIME, &ts);
	printf("n %d, pid %d, time %ld.%09ld, heap %p\n", n, (int)getpid(), (long)ts.tv_sec, ts.tv_nsec, malloc(10));
	fflush(stdout);
	if (fork() == 0) {
		printf("child %d\n", (int)getpid());
		fflush(stdout);
		_exit(6);
	}
	wait(&st);
	printf("status %d\n", WEXITSTATUS(st));
	FILE *p = popen("echo from popen", "r");
	char line[100];
	while (fgets(line, sizeof(line), p))
		fputs(line, stdout);
	return pclose(p);
}
EOT
musl-gcc -O1 -o dynamic t.c
musl-gcc -O1 -static -o static t.c
./dynamic
./static
