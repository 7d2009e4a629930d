/*
 * The state in which a program starts: descriptors, signal dispositions, mask, alternate stack, timers, limits, umask,
 * personality, dumpable, no_new_privs-free facts. Deterministic.
 */
#include "guest.h"
#include <sys/personality.h>
#include <sys/resource.h>
#include <sys/time.h>

int main(void)
{
	static const int limits[] = { RLIMIT_AS, RLIMIT_CORE, RLIMIT_CPU, RLIMIT_DATA, RLIMIT_FSIZE, RLIMIT_LOCKS,
				      RLIMIT_MEMLOCK, RLIMIT_MSGQUEUE, RLIMIT_NICE, RLIMIT_NOFILE, RLIMIT_NPROC,
				      RLIMIT_RTPRIO, RLIMIT_SIGPENDING, RLIMIT_STACK };
	struct itimerval it;
	struct sigaction sa;
	struct rlimit rl;
	sigset_t set;
	stack_t ss;
	int v;

	say("descriptors:");
	for (int i = 0; i < 2000; i++)
		if (fcntl(i, F_GETFD) >= 0)
			say(" %d", i);
	say("\nnot default:");
	for (int s = 1; s < 65; s++)
		if (sigaction(s, NULL, &sa) == 0 && (sa.sa_handler != SIG_DFL || sa.sa_flags))
			say(" %s", sig_name(s));
	CK(sigprocmask(SIG_BLOCK, NULL, &set));
	say("\nblocked:");
	for (int s = 1; s < 65; s++)
		if (sigismember(&set, s) == 1)
			say(" %s", sig_name(s));
	CK(sigpending(&set));
	say("\npending: %d\n", !sigisemptyset(&set));
	CK(sigaltstack(NULL, &ss));
	say("alternate stack %d\n", ss.ss_flags);
	for (int i = 0; i < 3; i++) {
		CK(getitimer(i, &it));
		say("timer %d: %ld\n", i, (long)it.it_value.tv_usec);
	}
	for (size_t i = 0; i < N_ELEMENTS(limits); i++) {
		CK(getrlimit(limits[i], &rl));
		say("limit %d: %lu %lu\n", limits[i], (unsigned long)rl.rlim_cur, (unsigned long)rl.rlim_max);
	}
	v = (int)umask(0);
	say("umask %03o, personality %#x, nice %d, policy %d\n", (unsigned)v, (unsigned)personality(0xffffffff),
	    getpriority(PRIO_PROCESS, 0), sched_getscheduler(0));
	say("dumpable %d, keepcaps %d, subreaper %d, timer slack %d, thp %d\n", prctl(PR_GET_DUMPABLE),
	    prctl(PR_GET_KEEPCAPS), (prctl(PR_GET_CHILD_SUBREAPER, &v), v), prctl(PR_GET_TIMERSLACK),
	    prctl(PR_GET_THP_DISABLE, 0, 0, 0, 0));
	say("oom score readable %d\n", access("/proc/self/oom_score", R_OK));
	done();
	return 0;
}
