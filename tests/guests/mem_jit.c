/* Code made at run time: written, made executable, changed, run again; also through a double mapping. Deterministic. */
#include "guest.h"

static const unsigned char code[] = { 0xb8, 0, 0, 0, 0, 0xc3 }; /* mov $imm, %eax; ret */

static void emit(unsigned char *p, int v)
{
	memcpy(p, code, sizeof(code));
	memcpy(p + 1, &v, sizeof(v));
}

int main(void)
{
	unsigned char *p = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), *x, *w;
	int sum = 0, fd;

	CHECK(p != MAP_FAILED);
	for (int i = 0; i < 50; i++) {
		CK(mprotect(p, 4096, PROT_READ | PROT_WRITE));
		emit(p, i);
		CK(mprotect(p, 4096, PROT_READ | PROT_EXEC));
		sum += ((int (*)(void))(uintptr_t)p)();
	}
	say("sum %d\n", sum);
	p = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (p != MAP_FAILED) {
		for (int i = 0; i < 50; i++) {
			emit(p, i);
			sum += ((int (*)(void))(uintptr_t)p)();
		}
		say("sum %d\n", sum);
	}
	fd = CK(memfd_create("jit", MFD_CLOEXEC));
	CK(ftruncate(fd, 4096));
	w = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	x = mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_SHARED, fd, 0);
	CHECK(w != MAP_FAILED && x != MAP_FAILED);
	for (int i = 0; i < 50; i++) {
		emit(w, i);
		sum += ((int (*)(void))(uintptr_t)x)();
	}
	say("sum %d\n", sum);
	/* Code that makes a system call of its own. */
	memcpy(p, "\xb8\x6e\x00\x00\x00\x0f\x05\xc3", 8); /* mov $getppid, %eax; syscall; ret */
	CHECK(((int (*)(void))(uintptr_t)p)() == getppid());
	say("system call from generated code\n");
	done();
	return 0;
}
