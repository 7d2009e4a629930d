/*
 * Threads move large areas by rep movsb, movsq, stosb, forward and backward, repe cmpsb and repne scasb, where each
 * iteration is a place to stop; another one looks how far they are. Output: what it saw, which differs.
 *
 * async_rep signals: one thread fills and moves larger areas, by bytes and by words, both ways, while a timer interrupts
 * it. Its handlers print how far the instruction is, and have to find it in the middle. A page of each area is only made
 * writable when the instruction faults there.
 */
#include "async.h"

enum { SIZE = 3 << 20, ROUNDS = 12 };

static unsigned char *area[2];
static volatile int stop;

static void rep_movsb(void *to, const void *from, size_t n)
{
	__asm__ volatile("rep movsb" : "+D"(to), "+S"(from), "+c"(n) : : "memory");
}

static void rep_movsq_down(void *to, const void *from, size_t n)
{
	to = (char *)to + n - 8;
	from = (const char *)from + n - 8;
	n /= 8;
	__asm__ volatile("std; rep movsq; cld" : "+D"(to), "+S"(from), "+c"(n) : : "memory");
}

static void rep_stosb(void *to, int c, size_t n)
{
	__asm__ volatile("rep stosb" : "+D"(to), "+c"(n) : "a"(c) : "memory");
}

static size_t repe_cmpsb(const void *a, const void *b, size_t n)
{
	__asm__ volatile("repe cmpsb" : "+D"(a), "+S"(b), "+c"(n) : : "memory", "cc");
	return n;
}

static size_t repne_scasb(const void *p, int c, size_t n)
{
	__asm__ volatile("repne scasb" : "+D"(p), "+c"(n) : "a"(c) : "memory", "cc");
	return n;
}

static void *mover(void *arg UNUSED)
{
	for (int i = 1; i <= ROUNDS; i++) {
		rep_stosb(area[0], i, SIZE - 1);
		rep_movsb(area[1], area[0], SIZE);
		CHECK(repne_scasb(area[1], 0xff, SIZE / 8) == 0);
		rep_movsq_down(area[1] + 8, area[1], SIZE - 8);
		CHECK(repe_cmpsb(area[0], area[1], SIZE / 8) == 0);
		memset(area[0], 128 + i, SIZE - 1);
		memcpy(area[1], area[0], SIZE);
	}
	stop = 1;
	return NULL;
}

/* How far the area is filled with what it begins with, by halving. */
static size_t filled(const volatile unsigned char *p)
{
	unsigned char c = p[0];
	size_t low = 0, high = SIZE - 2;

	while (low < high) {
		size_t at = (low + high + 1) / 2;

		if (p[at] == c)
			low = at;
		else
			high = at - 1;
	}
	return low;
}

static uint64_t seen, looks, parts;

static void *looker(void *arg UNUSED)
{
	while (!stop) {
		for (int k = 0; k < 2; k++) {
			size_t n = filled(area[k]);

			seen = mix(seen, n);
			parts += n < SIZE - 2;
		}
		looks++;
	}
	return NULL;
}

static void *body(void *arg)
{
	return arg == NULL ? mover(NULL) : looker(NULL);
}

/* --- signals --- */

enum { LARGE = 64 << 20, ROUNDS_MAX = 20, INSIDE_WANTED = 12, PERIOD_US = 1500 };

static volatile unsigned signals, faults, inside;
static char *closed; /* the page */

static void on_tick(int sig UNUSED, siginfo_t *si UNUSED, void *uc)
{
	const greg_t *r = ((ucontext_t *)uc)->uc_mcontext.gregs;
	const unsigned char *code = (const unsigned char *)(uintptr_t)r[REG_RIP];

	signals++;
	if (code[0] != 0xf3 || r[REG_RCX] <= 0 || r[REG_RCX] >= LARGE)
		return;
	inside++;
	seen = mix(mix(mix(seen, (uint64_t)r[REG_RCX]), (uint64_t)r[REG_RDI]), (uint64_t)r[REG_RSI]);
}

static void on_fault(int sig UNUSED, siginfo_t *si, void *uc UNUSED)
{
	CHECK((uintptr_t)si->si_addr - (uintptr_t)closed < 4096);
	faults++;
	CK(mprotect(closed, 4096, PROT_READ | PROT_WRITE));
}

#define STRING(name, insn)                                                                                                       \
	static void name(void *to, const void *from, size_t n, uint64_t value)                                                  \
	{                                                                                                                       \
		__asm__ volatile(insn : "+D"(to), "+S"(from), "+c"(n) : "a"(value) : "memory");                                \
	}

STRING(movsb_up, "rep movsb")
STRING(movsq_up, "rep movsq")
STRING(stosb_up, "rep stosb")
STRING(stosq_up, "rep stosq")
STRING(movsb_down, "std; rep movsb; cld")
STRING(movsq_down, "std; rep movsq; cld")
STRING(stosb_down, "std; rep stosb; cld")
STRING(stosq_down, "std; rep stosq; cld")

static const struct {
	void (*fn)(void *to, const void *from, size_t n, uint64_t value);
	bool fills, down;
	size_t size;
} strings[] = {
	{ stosb_up, true, false, 1 },   { movsb_up, false, false, 1 }, { stosq_up, true, false, 8 },   { movsq_up, false, false, 8 },
	{ stosb_down, true, true, 1 },  { movsb_down, false, true, 1 }, { stosq_down, true, true, 8 }, { movsq_down, false, true, 8 },
};

/* Fills area 0, or moves it to area 1: each byte is to be `value` then. */
static void run_string(size_t i, unsigned char value)
{
	unsigned char *to = area[!strings[i].fills], *from = area[0];
	size_t first = strings[i].down ? LARGE - strings[i].size : 0;

	closed = (char *)(((uintptr_t)to + LARGE / 3 * 2) & ~(uintptr_t)4095);
	CK(mprotect(closed, 4096, PROT_READ));
	strings[i].fn(to + first, from + first, LARGE / strings[i].size, value * 0x0101010101010101u);
	for (size_t k = 0; k < LARGE; k += 4093)
		CHECK(to[k] == value);
	CHECK(to[LARGE - 1] == value);
}

static void interrupted(void)
{
	unsigned runs = 0;

	for (int i = 0; i < 2; i++)
		CHECK((area[i] = calloc(1, LARGE)) != NULL);
	on_signal(SIGALRM, on_tick, SA_RESTART);
	on_signal(SIGSEGV, on_fault, SA_RESTART);
	set_timer(ITIMER_REAL, PERIOD_US);
	for (int round = 0; round < ROUNDS_MAX && (round < 1 || inside < INSIDE_WANTED); round++)
		for (size_t i = 0; i < sizeof(strings) / sizeof(strings[0]); i++, runs++)
			run_string(i, (unsigned char)(1 + round * 8 + i / 2));
	set_timer(ITIMER_REAL, 0);
	CHECK(inside >= INSIDE_WANTED);
	CHECK(faults == runs);
	say("%u signals, %u inside of string instructions: %lx\n", signals, inside, (unsigned long)seen);
	done();
}

int main(int argc, char **argv)
{
	if (argc > 1 && strcmp(argv[1], "signals") == 0) {
		interrupted();
		return 0;
	}
	for (int i = 0; i < 2; i++)
		CHECK((area[i] = calloc(1, SIZE)) != NULL);
	in_threads(2, body);
	say("looked %lu times, %lu in the middle: %lx\n", (unsigned long)looks, (unsigned long)parts, (unsigned long)seen);
	done();
	return 0;
}
