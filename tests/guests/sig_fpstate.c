/* x87, MXCSR and vector registers survive a handler that changes them; the handler sees a clean state. Deterministic. */
#include "guest.h"
#include <immintrin.h>

static void handler(int sig UNUSED)
{
	unsigned int csr = 0x5f80;
	unsigned short cw = 0x0c7f;

	say("  handler: mxcsr %#x\n", _mm_getcsr() & 0xffc0u);
	__asm__ volatile("ldmxcsr %0; fninit; fldcw %1; fldpi; fldpi" ::"m"(csr), "m"(cw));
	__asm__ volatile("pxor %%xmm0, %%xmm0; pxor %%xmm7, %%xmm7; pxor %%xmm15, %%xmm15" ::
				 : "xmm0", "xmm7", "xmm15");
	if (__builtin_cpu_supports("avx"))
		__asm__ volatile("vzeroall" ::
					 : "memory");
}

__attribute__((target("avx"))) static void with_avx(long pid)
{
	__attribute__((aligned(32))) unsigned char in[32], out[32];

	for (int i = 0; i < 32; i++)
		in[i] = (unsigned char)(i * 7 + 1);
	__asm__ volatile("vmovaps %1, %%ymm9\n\t"
			 "mov $62, %%eax\n\t"
			 "mov %2, %%rdi\n\t"
			 "mov $10, %%esi\n\t"
			 "syscall\n\t"
			 "vmovaps %%ymm9, %0"
			 : "=m"(out)
			 : "m"(in), "r"(pid)
			 : "rax", "rdi", "rsi", "rcx", "r11", "memory", "xmm9");
	say("ymm9 kept %d\n", !memcmp(in, out, 32));
}

int main(void)
{
	struct sigaction sa = { .sa_handler = handler };
	unsigned int csr = 0x7f80, csr2;
	unsigned short cw = 0x027f, cw2;
	double a = 3.25, b = 0;
	long pid = getpid();

	CK(sigaction(SIGUSR1, &sa, NULL));
	__asm__ volatile("ldmxcsr %4\n\t"
			 "fldcw %5\n\t"
			 "fldl %6\n\t"
			 "movsd %6, %%xmm7\n\t"
			 "mov $62, %%eax\n\t"
			 "mov %7, %%rdi\n\t"
			 "mov $10, %%esi\n\t"
			 "syscall\n\t"
			 "stmxcsr %0\n\t"
			 "fnstcw %1\n\t"
			 "fstpl %2\n\t"
			 "movsd %%xmm7, %3"
			 : "=m"(csr2), "=m"(cw2), "=m"(b), "=m"(a)
			 : "m"(csr), "m"(cw), "m"(a), "r"(pid)
			 : "rax", "rdi", "rsi", "rcx", "r11", "memory", "xmm7");
	_mm_setcsr(0x1f80);
	say("mxcsr %#x control %#x st %g xmm %g\n", csr2, cw2, b, a);
	CHECK(csr2 == csr && cw2 == cw && b == 3.25 && a == 3.25);
	if (__builtin_cpu_supports("avx"))
		with_avx(pid);
	else
		say("ymm9 kept 1\n");
	done();
	return 0;
}
