/*
 * Code made at run time runs loops in threads: in a private page that stays writable ("rwx"), in pages that mprotect
 * turns from writable into executable ("wx"), through two views of one file ("views"); it is made anew meanwhile.
 * Output: deterministic.
 */
#include "async.h"

enum { N = 3, GENERATIONS = 200, SLOT = 4096, PAGES = 2 };

/* mov $ROUNDS, %ecx; xor %eax, %eax; 1: imul $MULT, %rax, %rax; add $ADD, %rax; dec %ecx; jnz 1b; ret */
static const unsigned char code[] = { 0xb9, 0, 0, 0, 0, 0x31, 0xc0, 0x48, 0x69, 0xc0, 0, 0, 0, 0,
				      0x48, 0x05, 0, 0, 0, 0, 0xff, 0xc9, 0x75, 0xef, 0xc3 };

static enum { RWX, WX, VIEWS } how;

struct buffer {
	unsigned char *write, *run;
};

static struct buffer make_buffer(void)
{
	struct buffer b;
	int fd, prot = PROT_READ | PROT_WRITE | (how == RWX ? PROT_EXEC : 0);

	if (how != VIEWS) {
		b.write = mmap(NULL, PAGES * SLOT, prot, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		if (b.write == MAP_FAILED)
			skip("no memory may be writable and executable here");
		b.run = b.write;
		return b;
	}
	fd = CK(memfd_create("jit", MFD_CLOEXEC));
	CK(ftruncate(fd, PAGES * SLOT));
	b.write = mmap(NULL, PAGES * SLOT, prot, MAP_SHARED, fd, 0);
	b.run = mmap(NULL, PAGES * SLOT, PROT_READ | PROT_EXEC, MAP_SHARED, fd, 0);
	CHECK(b.write != MAP_FAILED && b.run != MAP_FAILED);
	close(fd);
	return b;
}

static void emit(struct buffer *b, size_t at, int rounds, int mult, int add)
{
	if (how == WX)
		CK(mprotect(b->write, PAGES * SLOT, PROT_READ | PROT_WRITE));
	memcpy(b->write + at, code, sizeof(code));
	memcpy(b->write + at + 1, &rounds, 4);
	memcpy(b->write + at + 10, &mult, 4);
	memcpy(b->write + at + 16, &add, 4);
	if (how == WX)
		CK(mprotect(b->write, PAGES * SLOT, PROT_READ | PROT_EXEC));
}

static uint64_t expected(int rounds, int mult, int add)
{
	uint64_t x = 0;

	while (rounds--)
		x = x * (uint64_t)(int64_t)mult + (uint64_t)(int64_t)add;
	return x;
}

static uint64_t sum[N];

static void *body(void *arg)
{
	int me = (int)(intptr_t)arg;
	struct buffer b = make_buffer();

	for (int g = 0; g < GENERATIONS; g++) {
		/* often over the old code, sometimes across the border of pages */
		size_t at = g % 3 == 0 ? SLOT - 9 : (size_t)(g % 7) * 32;
		int rounds = 20000 + g * 100 + me, mult = 5 + 8 * g, add = 3 + 2 * me;
		uint64_t r;

		emit(&b, at, rounds, mult, add);
		r = ((uint64_t(*)(void))(uintptr_t)(b.run + at))();
		CHECK(r == expected(rounds, mult, add));
		sum[me] = mix(sum[me], r);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	CHECK(argc > 1);
	how = !strcmp(argv[1], "rwx") ? RWX : !strcmp(argv[1], "wx") ? WX : VIEWS;
	in_threads(N, body);
	for (int i = 0; i < N; i++)
		say("%d: %lx\n", i, (unsigned long)sum[i]);
	done();
	return 0;
}
