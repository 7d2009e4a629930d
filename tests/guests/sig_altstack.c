/* sigaltstack: handlers run on it, nest on it, see it as busy; overflow of the normal stack is survived. Output: addresses differ. */
#include "guest.h"
#include <setjmp.h>

static char *alt;
static const size_t alt_size = 64 * 1024;
static sigjmp_buf back;

static bool on_alt(void)
{
	volatile char here;
	uintptr_t p = (uintptr_t)&here;

	return p >= (uintptr_t)alt && p < (uintptr_t)alt + alt_size;
}

static void handler(int sig)
{
	stack_t ss;

	CK(sigaltstack(NULL, &ss));
	say("%s: on alternate stack %d, flags %d\n", sig_name(sig), on_alt(), ss.ss_flags);
	if (sig == SIGUSR1) {
		show("change it now", sigaltstack(&(stack_t){ .ss_flags = SS_DISABLE }, NULL));
		raise(SIGUSR2);
	}
	if (sig == SIGSEGV)
		siglongjmp(back, 1);
}

static int __attribute__((noinline)) deep(volatile char *up, long level)
{
	volatile char page[16384];

	page[0] = *up;
	page[5000] = page[0];
	return level ? deep(page, level - 1) + page[5000] : 0;
}

int main(void)
{
	struct sigaction sa = { .sa_handler = handler, .sa_flags = SA_ONSTACK };
	stack_t ss = { .ss_size = alt_size }, old;
	volatile char c = 1;

	alt = malloc(alt_size);
	CHECK(alt);
	ss.ss_sp = alt;
	CK(sigaltstack(&ss, &old));
	say("before: flags %d; now at %p\n", old.ss_flags, (void *)alt);
	CK(sigaction(SIGUSR1, &sa, NULL));
	CK(sigaction(SIGUSR2, &sa, NULL));
	CK(sigaction(SIGSEGV, &sa, NULL));
	raise(SIGUSR1);
	sa.sa_flags = 0;
	CK(sigaction(SIGUSR2, &sa, NULL));
	raise(SIGUSR2);
	if (sigsetjmp(back, 1) == 0)
		deep(&c, 1L << 40);
	else
		say("stack overflow survived\n");
	show("too small", sigaltstack(&(stack_t){ .ss_sp = alt, .ss_size = 100 }, NULL));
	show("bad flags", sigaltstack(&(stack_t){ .ss_sp = alt, .ss_size = alt_size, .ss_flags = 99 }, NULL));
	done();
	return 0;
}
