/* x87, MXCSR and vector contents survive system calls, forks and threads; a new thread starts with the creator's control words. Deterministic. */
#include "guest.h"
#include <immintrin.h>
#include <pthread.h>

static unsigned short control(void)
{
	unsigned short cw;

	__asm__ volatile("fnstcw %0" : "=m"(cw));
	return cw;
}

static void *body(void *arg)
{
	say("thread: control %#x mxcsr %#x\n", control(), _mm_getcsr());
	return arg;
}

__attribute__((target("avx512f"))) static void zmm(void)
{
	__attribute__((aligned(64))) unsigned char in[64], out[64];
	long r;

	for (int i = 0; i < 64; i++)
		in[i] = (unsigned char)(i * 3 + 1);
	__asm__ volatile("vmovaps %2, %%zmm20\n\t"
			 "mov $0x55, %%ecx\n\tkmovw %%ecx, %%k3\n\t"
			 "mov $24, %%eax\n\tsyscall\n\t"
			 "vmovaps %%zmm20, %0\n\t"
			 "kmovw %%k3, %%ecx\n\tmov %%rcx, %1"
			 : "=m"(out), "=r"(r)
			 : "m"(in)
			 : "rax", "rcx", "r11", "memory", "xmm20");
	say("zmm20 kept %d, k3 %lx\n", !memcmp(in, out, 64), r);
}

int main(void)
{
	unsigned short cw = 0x0e7f;
	pthread_t t;
	double d = 0;
	pid_t p;

	say("start: control %#x mxcsr %#x\n", control(), _mm_getcsr());
	__asm__ volatile("fldcw %0; fldpi; fldl2e" ::"m"(cw));
	_mm_setcsr(0x7fc0);
	msleep(2);
	say("after a call: control %#x mxcsr %#x\n", control(), _mm_getcsr());
	p = xfork();
	if (p == 0) {
		__asm__ volatile("fstpl %0" : "=m"(d));
		say("child: control %#x mxcsr %#x st %.0f\n", control(), _mm_getcsr(), d * 1000);
		_exit(0);
	}
	reap(p);
	CHECK(pthread_create(&t, NULL, body, NULL) == 0 && pthread_join(t, NULL) == 0);
	__asm__ volatile("fstpl %0" : "=m"(d));
	__asm__ volatile("fninit");
	_mm_setcsr(0x1f80);
	say("st %.0f\n", d * 1000);
	if (__builtin_cpu_supports("avx512f"))
		zmm();
	done();
	return 0;
}
