/* mremap: grow in place or moved, shrink, fixed target, MREMAP_DONTUNMAP, duplicate of a shared mapping, errors. Output: addresses differ. */
#include "guest.h"

static char *map(size_t n, int flags)
{
	char *p = mmap(NULL, n, PROT_READ | PROT_WRITE, flags | MAP_ANONYMOUS, -1, 0);

	CHECK(p != MAP_FAILED);
	for (size_t i = 0; i < n; i += 4096)
		p[i] = (char)('a' + i / 4096);
	return p;
}

int main(void)
{
	char *p = map(4 * 4096, MAP_PRIVATE), *q, *r, *hole;

	q = mremap(p, 4 * 4096, 64 * 4096, MREMAP_MAYMOVE);
	CHECK(q != MAP_FAILED);
	say("grown %p -> %p: %c%c%c%c %d\n", (void *)p, (void *)q, q[0], q[4096], q[8192], q[12288], q[16384]);
	CHECK(mremap(q, 64 * 4096, 2 * 4096, 0) == q);
	say("shrunk: %c%c\n", q[0], q[4096]);
	hole = map(16 * 4096, MAP_PRIVATE);
	r = mremap(q, 2 * 4096, 3 * 4096, MREMAP_MAYMOVE | MREMAP_FIXED, hole + 4096);
	CHECK(r == hole + 4096);
	say("fixed: %c %c%c%d %c\n", hole[0], r[0], r[4096], r[8192], hole[4 * 4096]);
	p = map(2 * 4096, MAP_PRIVATE);
	q = mremap(p, 2 * 4096, 2 * 4096, MREMAP_MAYMOVE | MREMAP_DONTUNMAP);
	if (q == MAP_FAILED)
		show("dontunmap", -1);
	else
		say("dontunmap: old %d%d new %c%c\n", p[0], p[4096], q[0], q[4096]);
	p = map(4096, MAP_SHARED);
	q = mremap(p, 0, 4096, MREMAP_MAYMOVE);
	CHECK(q != MAP_FAILED);
	q[7] = 's';
	say("shared duplicate: %c %c\n", p[0], p[7]);
	show("not mapped", (long)mremap((void *)4096, 4096, 8192, MREMAP_MAYMOVE));
	show("unaligned", (long)mremap(p + 1, 4096, 8192, MREMAP_MAYMOVE));
	show("fixed without maymove", (long)mremap(p, 4096, 4096, MREMAP_FIXED, hole));
	show("cannot grow in place", (long)mremap(hole, 4096, 5 * 4096, 0));
	done();
	return 0;
}
