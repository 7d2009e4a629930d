/* Reads of memory that the process never wrote: fresh stack, BSS, heap and padding, hashed. Output: leftovers of the loader differ. */
#include "guest.h"

static char bss[100000];

static uint64_t __attribute__((noinline)) below_stack(void)
{
	volatile char frame[60000];
	uint64_t h = 0;

	/* Whatever lies there since the loader ran is part of the recorded state. */
	for (size_t i = 0; i < sizeof(frame); i++)
		__asm__ volatile("movzbl (%1), %%eax; add %%rax, %0" : "+r"(h) : "r"(frame + i) : "rax");
	return h;
}

int main(void)
{
	extern char **environ;
	char *end = environ[0];

	say("stack %llx\n", (unsigned long long)below_stack());
	say("bss %llx\n", (unsigned long long)hash(bss, sizeof(bss)));
	for (char **e = environ; *e; e++)
		end = *e;
	say("above the environment %016llx\n", (unsigned long long)hash(end, strlen(end) + 12));
	done();
	return 0;
}
