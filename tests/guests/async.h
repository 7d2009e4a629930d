/*
 * async.h - helpers of the async_*.c guests: threads and signals that meet computation, not system calls.
 *
 * Unlike other guests these do spin and compute without system calls, for some 100 ms, so that a recorder has to
 * preempt them and to deliver signals between any two instructions. A value that depends on where that happened is
 * printed, for a replay to print the same; whatever must not depend on it is checked or makes the row `native`.
 */
#ifndef ASYNC_H
#define ASYNC_H

#include "guest.h"
#include <pthread.h>
#include <stdatomic.h>
#include <sys/time.h>
#include <ucontext.h>

#define CPU_PAUSE() __builtin_ia32_pause()

enum { ASYNC_THREADS_MAX = 64 };

/* Runs fn in n threads, which get their number, and waits for them. */
static inline void in_threads(int n, void *(*fn)(void *))
{
	pthread_t t[ASYNC_THREADS_MAX];

	CHECK(n <= ASYNC_THREADS_MAX);
	for (int i = 0; i < n; i++)
		CHECK(pthread_create(&t[i], NULL, fn, (void *)(intptr_t)i) == 0);
	for (int i = 0; i < n; i++)
		CHECK(pthread_join(t[i], NULL) == 0);
}

/* The same in n processes, which end with what fn gives back and must give NULL. */
static inline void in_processes(int n, void *(*fn)(void *))
{
	pid_t p[ASYNC_THREADS_MAX];

	CHECK(n <= ASYNC_THREADS_MAX);
	for (int i = 0; i < n; i++) {
		p[i] = xfork();
		if (p[i] == 0)
			_exit(fn((void *)(intptr_t)i) != NULL);
	}
	for (int i = 0; i < n; i++)
		CHECK(reap(p[i]) == 0);
}

/* Memory that children share with their parent. */
static inline void *shared_memory(size_t size)
{
	void *p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	CHECK(p != MAP_FAILED);
	return p;
}

static inline uint64_t mix(uint64_t h, uint64_t v)
{
	h ^= v + 0x9e3779b97f4a7c15u + (h << 6) + (h >> 2);
	return h * 0xff51afd7ed558ccdu;
}

/* n rounds of arithmetic that the compiler can neither drop nor shorten; some 1.5 ns each. */
static inline uint64_t burn(uint64_t x, unsigned long n)
{
	while (n--) {
		x = x * 6364136223846793005u + 1442695040888963407u;
		__asm__ volatile("" : "+r"(x));
	}
	return x;
}

static inline void on_signal(int sig, void (*handler)(int, siginfo_t *, void *), int flags)
{
	struct sigaction sa = { .sa_sigaction = handler, .sa_flags = SA_SIGINFO | flags };

	CK(sigaction(sig, &sa, NULL));
}

/* ITIMER_*, first and every `us` microseconds; 0 stops it. */
static inline void set_timer(int which, long us)
{
	struct itimerval it = { { us / 1000000, us % 1000000 }, { us / 1000000, us % 1000000 } };

	CK(setitimer(which, &it, NULL));
}

#endif
