/* Random bytes by getrandom, getentropy, arc4random-free means, AT_RANDOM, stack protector and address layout. Output: everything. */
#include "guest.h"
#include <sys/auxv.h>
#include <sys/random.h>

static void hex(const char *what, const void *p, size_t n)
{
	const unsigned char *b = p;

	say("%s ", what);
	for (size_t i = 0; i < n; i++)
		say("%02x", b[i]);
	say("\n");
}

int main(void)
{
	static char big[100000];
	unsigned char buf[32];
	uint64_t canary;
	int local;

	show("getrandom", getrandom(buf, sizeof(buf), 0));
	hex("bytes", buf, sizeof(buf));
	show("nonblock", getrandom(buf, 16, GRND_NONBLOCK | GRND_RANDOM));
	hex("bytes", buf, 16);
	show("big", getrandom(big, sizeof(big), 0));
	say("hash %016llx\n", (unsigned long long)hash(big, sizeof(big)));
	show("none", getrandom(buf, 0, 0));
	show("bad flags", getrandom(buf, 8, 0x100));
	show("getentropy", getentropy(buf, 16));
	hex("bytes", buf, 16);
	hex("AT_RANDOM", (void *)getauxval(AT_RANDOM), 16);
	__asm__("mov %%fs:0x28, %0" : "=r"(canary));
	say("canary %016llx\n", (unsigned long long)canary);
	say("main %p stack %p heap %p libc %p\n", (void *)(uintptr_t)main, (void *)&local, malloc(10),
	    (void *)(uintptr_t)printf);
	done();
	return 0;
}
