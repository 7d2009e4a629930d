# AddressSanitizer, LeakSanitizer (stops its own threads by ptrace) and ThreadSanitizer find what they are made to find.
set -eu
cat >leak.c <<'EOT'
#include <stdio.h>
#include <stdlib.h>
static char *volatile p;
int main(int argc, char **argv)
{
	p = malloc(10);
	p[argc] = 'x';
	if (argc > 9)
		free(p);
	p = NULL;
	puts("leaking");
	return argv[0] == NULL;
}
EOT
cat >race.c <<'EOT'
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>
static int n;
static void *work(void *p)
{
	n++;
	return p;
}
int main(void)
{
	pthread_t a, b;

	pthread_create(&a, NULL, work, NULL);
	usleep(50000);
	pthread_create(&b, NULL, work, NULL);
	pthread_join(a, NULL);
	pthread_join(b, NULL);
	printf("n %d\n", n);
	return 0;
}
EOT
gcc -g -fsanitize=address -o overflow leak.c 2>/dev/null || { echo "skip: no sanitizers here"; exit 77; }
gcc -g -fsanitize=leak -o leak leak.c
gcc -g -fsanitize=thread -pthread -o race race.c
./leak 2>err || echo "leak: $?"
grep -o 'Direct leak of 10 byte' err
./overflow 2>err || echo "leak: $?"
grep -o 'Direct leak of 10 byte' err
./overflow 1 2 3 4 5 6 7 8 9 10 2>err || echo "overflow: $?"
grep -o 'heap-buffer-overflow on' err
./race 2>err || echo "race: $?"
grep -o 'data race' err | head -n 1
