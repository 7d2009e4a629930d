/* Protection keys where the CPU has them: alloc, protect, rights, fault code, free. Output: depends on the CPU. */
#include "guest.h"
#include <setjmp.h>

static sigjmp_buf back;

static void handler(int sig UNUSED, siginfo_t *si, void *uc UNUSED)
{
	say("fault: code %d key %d\n", si->si_code, (int)si->si_pkey);
	siglongjmp(back, 1);
}

int main(void)
{
	struct sigaction sa = { .sa_sigaction = handler, .sa_flags = SA_SIGINFO };
	volatile char *p = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	int key = pkey_alloc(0, 0);

	CHECK(p != MAP_FAILED);
	if (key < 0) {
		show("pkey_alloc", key);
		show("pkey_mprotect without key", pkey_mprotect((void *)(uintptr_t)p, 4096, PROT_READ, -1));
		show("pkey_free", pkey_free(3));
		done();
		return 0;
	}
	CK(sigaction(SIGSEGV, &sa, NULL));
	p[0] = 1;
	say("key %d\n", key);
	CK(pkey_mprotect((void *)(uintptr_t)p, 4096, PROT_READ | PROT_WRITE, key));
	CK(pkey_set(key, PKEY_DISABLE_WRITE));
	say("read %d\n", p[0]);
	if (sigsetjmp(back, 1) == 0)
		p[0] = 2;
	CK(pkey_set(key, PKEY_DISABLE_ACCESS));
	if (sigsetjmp(back, 1) == 0)
		p[0] = p[0] + 1;
	CK(pkey_set(key, 0));
	say("read %d, rights %d\n", p[0], pkey_get(key));
	CK(pkey_free(key));
	show("free again", pkey_free(key));
	done();
	return 0;
}
