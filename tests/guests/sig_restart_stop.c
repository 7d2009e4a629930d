/* restart_syscall: SIGSTOP and SIGCONT during nanosleep, poll and futex let the call go on and end in time. Output: times differ. */
#include "guest.h"
#include <linux/futex.h>
#include <poll.h>

static long now_us(void)
{
	struct timespec ts;

	CK(clock_gettime(CLOCK_MONOTONIC, &ts));
	return ts.tv_sec * 1000000 + ts.tv_nsec / 1000;
}

int main(void)
{
	static uint32_t word;

	for (int how = 0; how < 4; how++) {
		struct timespec ts = { 0, 80000000 }, rem = { 0, 0 };
		pid_t p = xfork();
		int st;

		if (p == 0) {
			long t = now_us(), r;

			if (how == 0)
				r = nanosleep(&ts, &rem);
			else if (how == 1)
				r = poll(NULL, 0, 80);
			else if (how == 2)
				r = syscall(SYS_futex, &word, FUTEX_WAIT, 0, &ts, NULL, 0);
			else
				r = clock_nanosleep(CLOCK_REALTIME, 0, &ts, &rem);
			t = now_us() - t;
			say("way %d: result %ld %s after %ld us\n", how, r, r ? err_name(errno) : "", t);
			_exit(t >= 80000 ? 0 : 1);
		}
		for (int i = 0; i < 2; i++) {
			wait_state(p, 'S');
			CK(kill(p, SIGSTOP));
			CHECK(waitpid(p, &st, WUNTRACED) == p);
			say("way %d: %s\n", how, wait_str(st));
			CK(kill(p, SIGCONT));
			CHECK(waitpid(p, &st, WCONTINUED) == p);
			msleep(5);
		}
		st = reap(p);
		say("way %d: %s\n", how, wait_str(st));
		CHECK(WEXITSTATUS(st) == 0);
	}
	done();
	return 0;
}
