/* exec with a megabyte of arguments and environment: all arrive unchanged. Deterministic. */
#include "guest.h"

int main(int argc, char **argv)
{
	extern char **environ;
	enum { N = 500, LEN = 1000 };
	static char text[2 * N][LEN];
	static char *args[N + 2], *envs[N + 1];
	uint64_t h = 0;
	int i;

	if (argc > 1) {
		for (i = 1; i < argc; i++)
			h ^= hash(argv[i], strlen(argv[i])) * (uint64_t)i;
		say("%d arguments, hash %016llx\n", argc, (unsigned long long)h);
		for (i = 0; environ[i]; i++)
			h ^= hash(environ[i], strlen(environ[i])) * (uint64_t)i;
		say("%d variables, hash %016llx\n", i, (unsigned long long)h);
		done();
		return 0;
	}
	for (i = 0; i < 2 * N; i++) {
		snprintf(text[i], LEN, "V%d=", i);
		memset(text[i] + strlen(text[i]), 'a' + i % 26, (size_t)(LEN - 10 - i % 50));
	}
	args[0] = argv[0];
	for (i = 0; i < N; i++) {
		args[i + 1] = text[i];
		envs[i] = text[N + i];
	}
	execve("/proc/self/exe", args, envs);
	return 1;
}
