/* time() and gettimeofday() through the fixed vsyscall page, where it is emulated. Output: times; a fault where there is none. */
#include "guest.h"
#include <setjmp.h>
#include <sys/time.h>

static sigjmp_buf back;

static void handler(int sig UNUSED)
{
	siglongjmp(back, 1);
}

int main(void)
{
	struct sigaction sa = { .sa_handler = handler };
	long (*vtime)(long *) = (long (*)(long *))0xffffffffff600400;
	long (*vgtod)(struct timeval *, void *) = (long (*)(struct timeval *, void *))0xffffffffff600000;
	struct timeval tv = { 0, 0 };

	CK(sigaction(SIGSEGV, &sa, NULL));
	if (sigsetjmp(back, 1)) {
		say("no vsyscall page\n");
		done();
		return 0;
	}
	say("time %ld\n", vtime(NULL));
	say("gettimeofday %ld", vgtod(&tv, NULL));
	say(" %ld.%06ld\n", (long)tv.tv_sec, (long)tv.tv_usec);
	done();
	return 0;
}
