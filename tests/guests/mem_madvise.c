/* madvise: DONTNEED zeroes, FREE may, REMOVE punches, COLD, WILLNEED, HUGEPAGE, POPULATE, DONTDUMP; errors. Output: FREE may keep pages. */
#include "guest.h"

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif

int main(void)
{
	enum { N = 64 * 4096 };
	char *p = mmap(NULL, N, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	char *s = mmap(NULL, N, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0), *f;
	static const int harmless[] = { MADV_NORMAL,   MADV_RANDOM,   MADV_SEQUENTIAL, MADV_WILLNEED, MADV_COLD,
					MADV_PAGEOUT,  MADV_HUGEPAGE, MADV_NOHUGEPAGE, MADV_DONTDUMP, MADV_DODUMP,
					MADV_MERGEABLE };
	int fd;

	CHECK(p != MAP_FAILED && s != MAP_FAILED);
	memset(p, 5, N);
	show("DONTNEED", madvise(p, N / 2, MADV_DONTNEED));
	say("%d %d\n", p[0], p[N / 2]);
	memset(p, 6, N);
	show("FREE", madvise(p, N, MADV_FREE));
	p[0] = 9;
	say("%d %d %d\n", p[0], p[1], p[N - 1]);
	memset(s, 7, N);
	show("REMOVE shared", madvise(s, 4096, MADV_REMOVE));
	say("%d %d\n", s[0], s[4096]);
	show("REMOVE private", madvise(p, 4096, MADV_REMOVE));
	show("POPULATE_WRITE", madvise(p, N, MADV_POPULATE_WRITE));
	for (size_t i = 0; i < N_ELEMENTS(harmless); i++) {
		memset(p, 8, N);
		say("advice %d: %s, %d\n", harmless[i], madvise(p, N, harmless[i]) ? err_name(errno) : "done", p[99]);
	}
	scratch();
	put_file("f", "file contents here", 0600);
	fd = CK(open("f", O_RDWR | O_CLOEXEC));
	f = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0);
	CHECK(f != MAP_FAILED);
	f[0] = 'F';
	show("DONTNEED file", madvise(f, 4096, MADV_DONTNEED));
	say("%.4s\n", f);
	show("bad advice", madvise(p, N, 12345));
	show("unaligned", madvise(p + 1, N, MADV_DONTNEED));
	show("hole", madvise((void *)4096, 4096, MADV_DONTNEED));
	show("guard", madvise(p, 4096, 102));
	show("unguard", madvise(p, 4096, 103));
	done();
	return 0;
}
