/* Debugging information comes from strangers, and libdw is big. While it is read, processor time and memory are bounded; a crash or the end of the
 * time ends the process, with an error as the last word to who waits. Guests are never started meanwhile, so nothing of this is inherited. */
#include "inspector/inspect_priv.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <ucontext.h>
#include <unistd.h>
#include "base/json.h"

/* SIGSEGV is the first: see on_fault(). */
static const int signals[] = { SIGSEGV, SIGBUS, SIGABRT, SIGFPE, SIGILL, SIGPROF };

/* For the handlers alone. */
static struct {
	int fd;
	uint64_t id;
	const char *volatile *busy;
	struct sigaction old[ARRAY_SIZE(signals)]; /* what guard_end() puts back */
	uint64_t stack[4096]; /* of the handler: the reason may be that the other one is used up */
} guard_now;

static void put(char **at, const char *end, const char *text)
{
	for (; *text && *at < end; text++) {
		/* as JSON wants it */
		bool plain = (unsigned char)*text >= 0x20 && (unsigned char)*text < 0x7f && *text != '"' && *text != '\\';

		*(*at)++ = plain ? *text : '?';
	}
}

static void put_raw(char **at, const char *end, const char *text)
{
	while (*text && *at < end)
		*(*at)++ = *text++;
}

static void put_number(char **at, const char *end, uint64_t v)
{
	char digits[24];
	size_t n = sizeof(digits);

	digits[--n] = '\0';
	do {
		digits[--n] = (char)('0' + v % 10);
		v /= 10;
	} while (v);
	put_raw(at, end, digits + n);
}

/* Only what a signal handler may do. */
static void last_word(int signo)
{
	char text[1024], *at = text;
	const char *end = text + sizeof(text) - 8;

	put_raw(&at, end, "{\"id\":");
	put_number(&at, end, guard_now.id);
	put_raw(&at, end, ",\"error\":{\"code\":-");
	put_number(&at, end, (uint64_t)-(signo == SIGPROF ? ERR_TIMEOUT : ERR_GUEST_GONE));
	put_raw(&at, end, signo == SIGPROF ? ",\"name\":\"TIMEOUT\",\"text\":\"reading the debugging information of " :
					      ",\"name\":\"GUEST_GONE\",\"text\":\"the inspector crashed on the debugging information of ");
	put(&at, end - 64, *guard_now.busy ? *guard_now.busy : "a program");
	put_raw(&at, end, signo == SIGPROF ? " took too long\"}}" : "\"}}");
	*at++ = '\n';
	if (write(guard_now.fd, text, (size_t)(at - text)) < 0)
		_exit(1);
	_exit(1);
}

/* The engine has rdtsc and cpuid of this process trapped while guests live (engine/traps.c): its handler deals with them. */
static bool is_trapped_instruction(const siginfo_t *si, const void *ctx)
{
	const ucontext_t *uc = ctx;
	const uint8_t *insn = (const uint8_t *)uc->uc_mcontext.gregs[REG_RIP];

	if (si->si_code != SI_KERNEL) /* where it jumped to may be no memory */
		return false;
	return insn[0] == 0x0f && (insn[1] == 0x31 || insn[1] == 0xa2 || (insn[1] == 0x01 && insn[2] == 0xf9));
}

static void on_fault(int signo, siginfo_t *si, void *ctx)
{
	const struct sigaction *old = &guard_now.old[0];

	if (signo == signals[0] && (old->sa_flags & SA_SIGINFO) && is_trapped_instruction(si, ctx))
		old->sa_sigaction(signo, si, ctx);
	else
		last_word(signo);
}

/* The address sanitizer takes memory as it likes. */
#ifdef __SANITIZE_ADDRESS__
enum { MEMORY_BOUNDED = 0 };
#else
enum { MEMORY_BOUNDED = 1 };
#endif

static void set_memory(rlim_t soft)
{
	struct rlimit l;

	if (!MEMORY_BOUNDED || getrlimit(RLIMIT_DATA, &l) < 0)
		return;
	l.rlim_cur = MIN(soft, l.rlim_max);
	setrlimit(RLIMIT_DATA, &l);
}

void guard_begin(struct inspector *in)
{
	const struct itimerval t = { .it_value.tv_sec = INSPECT_CPU_S };
	const stack_t stack = { .ss_sp = guard_now.stack, .ss_size = sizeof(guard_now.stack) };
	struct sigaction sa = { .sa_sigaction = on_fault, .sa_flags = SA_ONSTACK | SA_SIGINFO };

	guard_now.fd = in->request_fd;
	guard_now.id = in->request_id;
	guard_now.busy = (const char *volatile *)&in->busy_with;
	sigaltstack(&stack, NULL);
	for (size_t i = 0; i < ARRAY_SIZE(signals); i++)
		sigaction(signals[i], &sa, &guard_now.old[i]);
	set_memory(INSPECT_DATA_BYTES);
	setitimer(ITIMER_PROF, &t, NULL);
}

void guard_end(void)
{
	const struct itimerval off = { 0 };

	setitimer(ITIMER_PROF, &off, NULL);
	set_memory(RLIM_INFINITY);
	for (size_t i = 0; i < ARRAY_SIZE(signals); i++)
		sigaction(signals[i], &guard_now.old[i], NULL);
}
