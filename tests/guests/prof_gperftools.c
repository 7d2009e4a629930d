/*
 * The CPU profiler of gperftools: SIGPROF at 1 kHz, handlers that walk the stack, a profile written at the end.
 * Output: its size and hash, which differ.
 * flags: -lprofiler
 */
#include "async.h"
#include <gperftools/profiler.h>

__attribute__((noinline, noclone)) static uint64_t inner(uint64_t x)
{
	return burn(x, 100000);
}

__attribute__((noinline, noclone)) static uint64_t outer(uint64_t x, int depth)
{
	return depth == 0 ? inner(x) : outer(x, depth - 1) + 1;
}

static void *body(void *arg)
{
	uint64_t x = (uint64_t)(intptr_t)arg;

	ProfilerRegisterThread();
	for (int i = 0; i < 800; i++)
		x = outer(x, i % 10);
	return x == 12345 ? NULL : arg;
}

int main(void)
{
	struct ProfilerState state;
	char buf[1 << 16];
	ssize_t n, total = 0;
	uint64_t h = 0;
	int fd;

	scratch();
	CK(setenv("CPUPROFILE_FREQUENCY", "1000", 1));
	CHECK(ProfilerStart("profile") != 0);
	in_threads(2, body);
	ProfilerGetCurrentState(&state);
	ProfilerStop();
	CHECK(state.samples_gathered > 5);
	fd = CK(open("profile", O_RDONLY | O_CLOEXEC));
	while ((n = CK(read(fd, buf, sizeof(buf)))) > 0) {
		h = mix(h, hash(buf, (size_t)n));
		total += n;
	}
	say("%d samples, %zd bytes, %lx\n", state.samples_gathered, total, (unsigned long)h);
	done();
	return 0;
}
