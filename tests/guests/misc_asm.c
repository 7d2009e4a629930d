/* No C library: _start looks at its registers and stack, prints argv[0]'s length and the auxv by system calls alone. Output: addresses differ.
 * flags: -nostdlib -static -ffreestanding -fno-stack-protector -fno-pie -no-pie
 */
static long call(long n, long a, long b, long c)
{
	long r;

	__asm__ volatile("syscall" : "=a"(r) : "a"(n), "D"(a), "S"(b), "d"(c) : "rcx", "r11", "memory");
	return r;
}

static void print(const char *what, unsigned long v)
{
	char buf[64];
	long n = 0;

	while (*what)
		buf[n++] = *what++;
	for (int i = 60; i >= 0; i -= 4)
		buf[n++] = "0123456789abcdef"[v >> i & 15];
	buf[n++] = '\n';
	call(1, 1, (long)buf, n);
}

__attribute__((noreturn, used)) void start_c(unsigned long *sp, unsigned long *regs);

void start_c(unsigned long *sp, unsigned long *regs)
{
	unsigned long argc = sp[0], n = 0, *p;
	static const char names[] = "rax rbx rcx rdx rsi rdi rbp r8  r9  r10 r11 r12 r13 r14 r15 flg ";

	/* The registers at the first instruction (the kernel clears all but rsp). */
	for (int i = 0; i < 16; i++) {
		char name[5] = { names[i * 4], names[i * 4 + 1], names[i * 4 + 2], ' ', 0 };

		print(name, regs[15 - i]);
	}
	print("argc ", argc);
	while (((char *)sp[1])[n])
		n++;
	print("length of argv[0] ", n);
	p = sp + argc + 2;
	for (n = 0; *p++;)
		n++;
	print("environment ", n);
	for (; p[0]; p += 2) {
		print("auxv ", p[0]);
		print("  = ", p[1]);
	}
	print("stack alignment ", (unsigned long)sp & 15);
	call(1, 1, (long)"ok\n", 3);
	call(60, 0, 0, 0);
	__builtin_unreachable();
}

__asm__(".globl _start\n"
	"_start:\n\t"
	"mov %rsp, -136(%rsp)\n\t"
	"push %rax; push %rbx; push %rcx; push %rdx; push %rsi; push %rdi; push %rbp; push %r8\n\t"
	"push %r9; push %r10; push %r11; push %r12; push %r13; push %r14; push %r15; pushfq\n\t"
	"mov %rsp, %rsi\n\t"
	"lea 128(%rsp), %rdi\n\t"
	"and $-16, %rsp\n\t"
	"call start_c\n");
