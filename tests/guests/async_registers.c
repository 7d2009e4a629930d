/*
 * A loop with a known value in every register (general, flags, vectors and masks as wide as the CPU has them, x87)
 * is interrupted by handlers that overwrite all of them; each round checks them. Output: where, which differs.
 */
#include "async.h"

enum { SIGNALS = 40, VECTOR = 64 };

static volatile int count;
static volatile unsigned long position;
static uint64_t where;
static uint8_t pattern[32][VECTOR], seen[32][VECTOR];

#define ALL_16 "0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15"
#define ALL_32 ALL_16 ",16,17,18,19,20,21,22,23,24,25,26,27,28,29,30,31"
#define LOOP "mov $3000, %%ecx\n1: dec %%ecx\n\tjnz 1b\n\t"
#define CLOBBERS                                                                                                       \
	"rcx", "cc", "memory", "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9", "xmm10",  \
		"xmm11", "xmm12", "xmm13", "xmm14", "xmm15"
#define CLOBBERS_512                                                                                                   \
	"xmm16", "xmm17", "xmm18", "xmm19", "xmm20", "xmm21", "xmm22", "xmm23", "xmm24", "xmm25", "xmm26", "xmm27",      \
		"xmm28", "xmm29", "xmm30", "xmm31", "k1", "k2", "k3", "k4", "k5", "k6", "k7"

/* Fill the registers from `from`, spend time, store them to `to`; the handler only does the first. */
#define VECTORS(move, kind, all, loop)                                                                                 \
	".irp n," all "\n\t" move " 64*\\n(%0), %%" kind "\\n\n\t.endr\n\t" loop ".irp n," all "\n\t" move " %%" kind   \
	"\\n, 64*\\n(%1)\n\t.endr\n\t"

static void use_sse(const void *from, void *to)
{
	__asm__ volatile(VECTORS("movups", "xmm", ALL_16, LOOP) : : "r"(from), "r"(to) : CLOBBERS);
}

__attribute__((target("avx"))) static void use_avx(const void *from, void *to)
{
	__asm__ volatile(VECTORS("vmovups", "ymm", ALL_16, LOOP) : : "r"(from), "r"(to) : CLOBBERS);
}

__attribute__((target("avx512f,avx512bw"))) static void use_avx512(const void *from, void *to)
{
	__asm__ volatile(".irp n,1,2,3,4,5,6,7\n\tkmovq 8*\\n(%0), %%k\\n\n\t.endr\n\t" VECTORS("vmovups", "zmm", ALL_32, LOOP)
			 ".irp n,1,2,3,4,5,6,7\n\tkmovq %%k\\n, 8*\\n(%1)\n\t.endr"
			 :
			 : "r"(from), "r"(to)
			 : CLOBBERS, CLOBBERS_512);
}

static void (*use)(const void *from, void *to) = use_sse;
static size_t width = 16, vectors = 16;

static void handler(int sig UNUSED, siginfo_t *si UNUSED, void *uc UNUSED)
{
	static uint8_t other[32][VECTOR], unused[32][VECTOR];

	where = mix(where, position);
	memset(other, 0x80 + count, sizeof(other));
	use(other, unused);
	__asm__ volatile("fninit\n\tfld1\n\tfldpi\n\tfld1" ::: "memory");
	count = count + 1;
}

static void check_vectors(void)
{
	memset(seen, 0, sizeof(seen));
	use(pattern, seen);
	for (size_t i = 0; i < vectors; i++)
		CHECK(memcmp(pattern[i], seen[i], width) == 0);
}

/* Each general register holds its own number times a constant, in the loop too; flags are carry, zero and sign in
 * turn. */
static void check_general(void)
{
	uint64_t bad = 0;

	__asm__ volatile("push %%rbp\n\t"
			 ".irp r,rax,rbx,rdx,rsi,rdi,rbp,r8,r9,r10,r11,r12,r13,r14\n\t"
			 "mov $0x0123456789abcdef, %%\\r\n\t"
			 ".endr\n\t"
			 "mov $3000, %%ecx\n\t"
			 "xor %%r15d, %%r15d\n"
			 "2: cmp $1, %%r15\n\t" /* carry set, for adc */
			 "mov $0, %%r15d\n\t"
			 "adc $0, %%r15\n\t"
			 "sub $1, %%r15\n\t" /* is zero, or it was lost */
			 "jnz 3f\n\t"
			 "lea -1(%%rcx), %%rcx\n\t"
			 "jrcxz 3f\n\t"
			 "jmp 2b\n"
			 "3:\n\t"
			 ".irp r,rbx,rdx,rsi,rdi,rbp,r8,r9,r10,r11,r12,r13,r14\n\t"
			 "xor %%rax, %%\\r\n\t"
			 "or %%\\r, %%r15\n\t"
			 ".endr\n\t"
			 "or %%rcx, %%r15\n\t"
			 "mov $0x0123456789abcdef, %%rbx\n\t"
			 "xor %%rbx, %%rax\n\t"
			 "or %%rax, %%r15\n\t"
			 "pop %%rbp\n\t"
			 "mov %%r15, %0"
			 : "=r"(bad)
			 :
			 : "rax", "rbx", "rcx", "rdx", "rsi", "rdi", "r8", "r9", "r10", "r11", "r12", "r13", "r14", "r15", "cc",
			   "memory");
	CHECK(bad == 0);
}

static void check_x87(void)
{
	long double a = 1.25L, b = -7.5L, c = 3.0e300L;
	long double x, y, z;

	__asm__ volatile("fldt %3\n\tfldt %4\n\tfldt %5\n\t" LOOP "nop\n\tfstpt %2\n\tfstpt %1\n\tfstpt %0"
			 : "=m"(x), "=m"(y), "=m"(z)
			 : "m"(a), "m"(b), "m"(c)
			 : "rcx", "cc", "memory");
	CHECK(x == a && y == b && z == c);
}

int main(void)
{
	__builtin_cpu_init();
	if (__builtin_cpu_supports("avx512bw")) {
		use = use_avx512;
		width = 64;
		vectors = 32;
	} else if (__builtin_cpu_supports("avx")) {
		use = use_avx;
		width = 32;
	}
	for (size_t i = 0; i < sizeof(pattern); i++)
		((uint8_t *)pattern)[i] = (uint8_t)(i * 37 + i / 64);
	on_signal(SIGALRM, handler, 0);
	set_timer(ITIMER_REAL, 1000);
	while (count < SIGNALS) {
		check_vectors();
		check_general();
		check_x87();
		position = position + 1;
	}
	set_timer(ITIMER_REAL, 0);
	say("%zu bytes wide, %lx at %lu\n", width, (unsigned long)where, position);
	done();
	return 0;
}
