/* Synchronous signals: SIGFPE, SIGILL, SIGTRAP, SIGBUS, SIGSEGV with codes; the handler steps over the instruction. Deterministic. */
#include "guest.h"
#include <setjmp.h>
#include <ucontext.h>

static sigjmp_buf back;
static void *expected;

static void handler(int sig, siginfo_t *si, void *ucv)
{
	ucontext_t *uc = ucv;

	say("%s code %d, address as expected %d, trap %lld\n", sig_name(sig), si->si_code, si->si_addr == expected,
	    (long long)uc->uc_mcontext.gregs[REG_TRAPNO]);
	siglongjmp(back, 1);
}

int main(void)
{
	static const int sigs[] = { SIGFPE, SIGILL, SIGTRAP, SIGBUS, SIGSEGV };
	struct sigaction sa = { .sa_sigaction = handler, .sa_flags = SA_SIGINFO };
	volatile int zero = 0, one = 1;
	char *p;
	int fd;

	for (size_t i = 0; i < N_ELEMENTS(sigs); i++)
		CK(sigaction(sigs[i], &sa, NULL));
	say("divide\n");
	if (!sigsetjmp(back, 1))
		one = one / zero;
	say("ud2\n");
	expected = &&ud;
	if (!sigsetjmp(back, 1)) {
	ud:
		__asm__ volatile("ud2");
	}
	say("int3\n");
	expected = NULL;
	if (!sigsetjmp(back, 1))
		__asm__ volatile("int3");
	say("icebp\n");
	if (!sigsetjmp(back, 1))
		__asm__ volatile("push %%rax; .byte 0xf1; pop %%rax" ::: "memory");
	say("past the end of a file\n");
	scratch();
	fd = CK(open("f", O_RDWR | O_CREAT | O_CLOEXEC, 0600));
	p = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	CHECK(p != MAP_FAILED);
	expected = p + 4096;
	if (!sigsetjmp(back, 1))
		p[4096] = 1;
	say("null pointer\n");
	expected = (void *)8;
	if (!sigsetjmp(back, 1))
		*(volatile int *)expected = 1;
	say("not canonical\n");
	expected = NULL;
	if (!sigsetjmp(back, 1))
		one = *(volatile int *)0x8000000000000000ul;
	say("privileged\n");
	if (!sigsetjmp(back, 1))
		__asm__ volatile("hlt");
	say("jump to nowhere\n");
	expected = (void *)4096;
	if (!sigsetjmp(back, 1))
		((void (*)(void))4096)();
	done();
	return 0;
}
