/* Large pages and big zero-filled areas: MAP_HUGETLB (mostly refused), transparent ones, MAP_POPULATE, MAP_LOCKED. Output: depends on the machine. */
#include "guest.h"

int main(void)
{
	const size_t n = 8 << 20;
	char *p = mmap(NULL, 2 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_HUGETLB, -1, 0);
	uint64_t sum = 0;

	show("hugetlb", p == MAP_FAILED ? -1 : 0);
	p = mmap(NULL, n, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	CHECK(p != MAP_FAILED);
	show("hugepage", madvise(p, n, MADV_HUGEPAGE));
	for (size_t i = 0; i < n; i += 4096)
		p[i] = (char)(i >> 12);
	show("collapse", madvise(p, n, 25));
	for (size_t i = 0; i < n; i += 4096)
		sum += (unsigned char)p[i];
	say("sum %llu\n", (unsigned long long)sum);
	p = mmap(NULL, 1 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
	CHECK(p != MAP_FAILED && p[12345] == 0);
	p = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_LOCKED | MAP_STACK, -1, 0);
	show("locked", p == MAP_FAILED ? -1 : 0);
	show("32-bit", (uintptr_t)mmap(NULL, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_32BIT, -1, 0) < 1ul << 32);
	done();
	return 0;
}
