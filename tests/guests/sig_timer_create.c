/* POSIX timers: signal with value, thread id, none; overruns; gettime; deletion. Output: times and overruns differ. */
#include "guest.h"

static void handler(int sig, siginfo_t *si, void *uc UNUSED)
{
	say("%s: code %d value %d overrun %d\n", sig_name(sig), si->si_code, si->si_value.sival_int, si->si_overrun);
}

int main(void)
{
	struct sigaction sa = { .sa_sigaction = handler, .sa_flags = SA_SIGINFO };
	struct sigevent ev = { .sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGRTMIN, .sigev_value.sival_int = 99 };
	struct itimerspec it = { { 0, 2000000 }, { 0, 5000000 } }, left;
	timer_t t, u;

	CK(sigaction(SIGRTMIN, &sa, NULL));
	CK(sigaction(SIGRTMIN + 1, &sa, NULL));
	CK(timer_create(CLOCK_MONOTONIC, &ev, &t));
	CK(timer_settime(t, 0, &it, NULL));
	for (int i = 0; i < 4; i++)
		pause();
	CK(timer_gettime(t, &left));
	say("left %ld ns, interval %ld, overrun %d\n", left.it_value.tv_nsec, left.it_interval.tv_nsec,
	    timer_getoverrun(t));
	CK(timer_delete(t));
	ev.sigev_notify = SIGEV_THREAD_ID;
	ev.sigev_signo = SIGRTMIN + 1;
	ev._sigev_un._tid = gettid();
	CK(timer_create(CLOCK_REALTIME, &ev, &u));
	CK(clock_gettime(CLOCK_REALTIME, &it.it_value));
	memset(&it.it_interval, 0, sizeof(it.it_interval));
	CK(timer_settime(u, TIMER_ABSTIME, &it, NULL));
	msleep(5);
	CK(timer_delete(u));
	show("delete again", timer_delete(u));
	ev.sigev_notify = SIGEV_NONE;
	CK(timer_create(CLOCK_BOOTTIME, &ev, &u));
	it.it_value.tv_sec = 100;
	it.it_value.tv_nsec = 0;
	CK(timer_settime(u, 0, &it, NULL));
	CK(timer_gettime(u, &left));
	say("left %ld s\n", (long)left.it_value.tv_sec);
	show("no such clock", timer_create(77, &ev, &u));
	done();
	return 0;
}
