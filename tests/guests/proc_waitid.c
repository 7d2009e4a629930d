/* waitid: P_PID, P_PGID, P_ALL, P_PIDFD with WNOWAIT, WNOHANG, WSTOPPED, WCONTINUED; the siginfo and rusage. Deterministic. */
#include "guest.h"
#include <sys/resource.h>

static void look(const char *what, idtype_t t, id_t id, int options, pid_t child)
{
	siginfo_t si;
	int r;

	memset(&si, 0, sizeof(si));
	r = waitid(t, id, &si, options);
	if (r < 0)
		say("%s: %s\n", what, err_name(errno));
	else
		say("%s: signo %d code %d child %d uid ok %d status %d\n", what, si.si_signo, si.si_code,
		    si.si_pid == child, si.si_pid == 0 || si.si_uid == getuid(), si.si_status);
}

int main(void)
{
	struct rusage ru;
	pid_t p = xfork(), q;
	siginfo_t si;
	int st;

	if (p == 0)
		for (;;)
			pause();
	look("nothing yet", P_PID, (id_t)p, WEXITED | WNOHANG, p);
	CK(kill(p, SIGSTOP));
	look("stopped, kept", P_PID, (id_t)p, WSTOPPED | WNOWAIT, p);
	look("stopped", P_PID, (id_t)p, WSTOPPED, p);
	look("stopped again", P_PID, (id_t)p, WSTOPPED | WNOHANG, p);
	CK(kill(p, SIGCONT));
	look("continued", P_ALL, 0, WCONTINUED, p);
	CK(kill(p, SIGTERM));
	look("killed, kept", P_PGID, 0, WEXITED | WNOWAIT, p);
	look("killed", P_PGID, 0, WEXITED, p);
	look("no child", P_ALL, 0, WEXITED, p);
	look("bad options", P_ALL, 0, 0, p);
	look("bad type", (idtype_t)77, 0, WEXITED, p);
	q = xfork();
	if (q == 0)
		_exit(300 & 0xff);
	/* The raw call also gives a rusage. */
	CK(syscall(SYS_waitid, P_PID, q, &si, WEXITED | WNOWAIT, &ru));
	say("raw: status %d, rusage filled %d\n", si.si_status, ru.ru_maxrss > 0);
	CHECK(wait4(q, &st, 0, &ru) == q);
	say("wait4: %s, rusage filled %d\n", wait_str(st), ru.ru_maxrss > 0);
	show("wait4 bad option", wait4(-1, &st, 0x40, NULL));
	done();
	return 0;
}
