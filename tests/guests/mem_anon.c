/* Anonymous mappings: many sizes, partial unmapping, protection changes, zero filling. Output: addresses differ. */
#include "guest.h"

int main(void)
{
	unsigned char *p[40];
	uint64_t h = 0;

	for (int i = 0; i < 40; i++) {
		size_t n = (size_t)(i + 1) * 4096;

		p[i] = mmap(NULL, n, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		CHECK(p[i] != MAP_FAILED);
		CHECK(p[i][n - 1] == 0);
		memset(p[i], i + 1, n);
		if (i % 8 == 0)
			say("map %d at %p\n", i, (void *)p[i]);
	}
	for (int i = 4; i < 40; i += 4) {
		CK(munmap(p[i] + 4096, 4096));
		CK(mprotect(p[i] + 2 * 4096, 4096, PROT_READ));
	}
	for (int i = 0; i < 40; i++)
		h = h * 31 + hash(p[i], 4096);
	say("hash %016llx\n", (unsigned long long)h);
	show("no length", munmap(p[0], 0));
	show("unaligned", munmap(p[0] + 1, 4096));
	show("mmap nothing", (long)mmap(NULL, 0, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
	show("mmap too much", (long)mmap(NULL, 1ul << 60, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
	show("mmap no kind", (long)mmap(NULL, 4096, PROT_READ, MAP_ANONYMOUS, -1, 0));
	show("mmap bad fd", (long)mmap(NULL, 4096, PROT_READ, MAP_PRIVATE, 99, 0));
	show("mprotect hole", mprotect(p[8], 9 * 4096, PROT_READ));
	show("MAP_FIXED_NOREPLACE on used",
	     (long)mmap(p[0], 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0));
	done();
	return 0;
}
