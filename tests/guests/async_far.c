/*
 * Threads whose loops leave registers, flags and stack the same in each pass, as an interpreter's do that spins for
 * another thread: what differs is behind pointers that are not in registers, on a page among so many written since the
 * last point that a recording has only its hash. `word`: one word differs from pass to pass. `words`: two of one page.
 * `pages`: one each of two pages. Output: sums, deterministic.
 */
#include "async.h"

#include <sys/mman.h>

enum { N = 3, PHASES = 4, PAGE_WORDS = 512, PAGES = 200, PASSES = 3000000, FAR = 1 << 30 };

static int second; /* words from the first counter to the second one */
static uint64_t result[N];

/* Counts up in *at[0] from -passes to 0, and writes the number to *at[1] too. The pointers are FAR less. */
static void count(uint64_t *const at[2])
{
	__asm__ volatile("1:\n\t"
			 ".rept 20\n\t"
			 "lea 0x12345678(,%[zero],4), %%rcx\n\t"
			 ".endr\n\t"
			 "mov (%[at]), %%rax\n\t"
			 "mov %c[far](%%rax), %%rcx\n\t"
			 "lea 1(%%rcx), %%rcx\n\t"
			 "mov %%rcx, %c[far](%%rax)\n\t"
			 "mov 8(%[at]), %%rax\n\t"
			 "mov %%rcx, %c[far](%%rax)\n\t"
			 "mov $0, %%eax\n\t"
			 "jrcxz 2f\n\t"
			 "mov $0, %%ecx\n\t"
			 "jmp 1b\n"
			 "2:"
			 :
			 : [at] "r"(at), [zero] "r"(0ul), [far] "i"(FAR)
			 : "rax", "rcx", "memory");
}

static void *body(void *arg)
{
	int me = (int)(intptr_t)arg;
	size_t size = (size_t)PAGES * PAGE_WORDS * 8;
	uint64_t *area = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), *far = area + (PAGES - 2) * PAGE_WORDS + 100, sum = (uint64_t)me;
	uint64_t *const at[2] = { far - FAR / 8, far + second - FAR / 8 };

	CHECK(area != MAP_FAILED);
	for (int phase = 0; phase < PHASES; phase++) {
		for (int i = 0; i < PAGES * PAGE_WORDS; i++)
			area[i] = mix(sum, (uint64_t)i);
		*far = -(uint64_t)PASSES;
		count(at);
		CHECK(far[second] == 0);
		for (int i = 0; i < PAGES * PAGE_WORDS; i++)
			sum = mix(sum, area[i]);
	}
	result[me] = sum;
	return NULL;
}

int main(int argc, char **argv)
{
	const char *mode = argc > 1 ? argv[1] : "word";

	second = !strcmp(mode, "words") ? 50 : !strcmp(mode, "pages") ? PAGE_WORDS : 0;
	in_threads(N, body);
	for (int i = 0; i < N; i++)
		say("%lx\n", (unsigned long)result[i]);
	done();
	return 0;
}
