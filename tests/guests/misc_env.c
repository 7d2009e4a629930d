/* The environment as it was given: no variable of hermit, argc and argv intact. Deterministic. */
#include "guest.h"

int main(int argc, char **argv)
{
	extern char **environ;

	say("%d arguments\n", argc);
	for (int i = 1; i < argc; i++)
		say("argument %s\n", argv[i]);
	for (char **e = environ; *e; e++) {
		say("%s\n", *e);
		CHECK(!strstr(*e, "HERMIT") && strncmp(*e, "LD_", 3) != 0);
	}
	done();
	return 0;
}
