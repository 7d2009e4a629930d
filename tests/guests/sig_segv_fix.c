/* A SIGSEGV handler that repairs the mapping (mprotect and mmap) and lets the access run again. Output: addresses differ. */
#include "guest.h"
#include <ucontext.h>

static char *area;
static int faults;

static void handler(int sig, siginfo_t *si, void *ucv)
{
	ucontext_t *uc = ucv;
	char *page = (char *)((uintptr_t)si->si_addr & ~4095ul);

	faults++;
	say("%s code %d offset %ld, %s, trap %lld\n", sig_name(sig), si->si_code, (long)((char *)si->si_addr - area),
	    uc->uc_mcontext.gregs[REG_ERR] & 2 ? "write" : "read", (long long)uc->uc_mcontext.gregs[REG_TRAPNO]);
	if (si->si_code == SEGV_ACCERR)
		CK(mprotect(page, 4096, PROT_READ | PROT_WRITE));
	else
		CHECK(mmap(page, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == page);
}

int main(void)
{
	struct sigaction sa = { .sa_sigaction = handler, .sa_flags = SA_SIGINFO };
	volatile char *a;

	area = mmap(NULL, 16 * 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	CHECK(area != MAP_FAILED);
	say("area at %p\n", (void *)area);
	CK(munmap(area + 8 * 4096, 4 * 4096));
	CK(sigaction(SIGSEGV, &sa, NULL));
	a = area;
	for (int i = 0; i < 16; i++) {
		if (i % 2)
			a[i * 4096 + i] = (char)i;
		else
			CHECK(a[i * 4096 + i] == 0);
	}
	say("%d faults\n", faults);
	CHECK(faults == 16);
	done();
	return 0;
}
