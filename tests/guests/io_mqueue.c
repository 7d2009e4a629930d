/* POSIX message queues: priorities, blocking, time out, notify by signal, attributes. Output: the name holds the pid. */
#include "guest.h"
#include <mqueue.h>

static volatile sig_atomic_t notified;

static void handler(int sig UNUSED, siginfo_t *si, void *uc UNUSED)
{
	notified++;
	say("notified: code %d value %d\n", si->si_code, si->si_value.sival_int);
}

int main(void)
{
	struct sigaction sa = { .sa_sigaction = handler, .sa_flags = SA_SIGINFO | SA_RESTART };
	struct sigevent ev = { .sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGUSR1, .sigev_value.sival_int = 31 };
	struct mq_attr attr = { .mq_maxmsg = 4, .mq_msgsize = 32 };
	struct timespec past = { 1, 0 };
	char name[32], buf[32];
	unsigned prio;
	mqd_t q;
	pid_t p;

	CK(sigaction(SIGUSR1, &sa, NULL));
	snprintf(name, sizeof(name), "/hermit-mq-%d", (int)getpid());
	q = mq_open(name, O_RDWR | O_CREAT | O_EXCL, 0600, &attr);
	if (q == (mqd_t)-1) {
		show("mq_open", -1);
		done();
		return 0;
	}
	CK(mq_send(q, "low", 4, 1));
	CK(mq_send(q, "high", 5, 9));
	CK(mq_send(q, "low too", 8, 1));
	for (int i = 0; i < 3; i++) {
		ssize_t n = CK(mq_receive(q, buf, sizeof(buf), &prio));

		say("%ld bytes, priority %u: %s\n", (long)n, prio, buf);
	}
	show("time out", mq_timedreceive(q, buf, sizeof(buf), &prio, &past));
	CK(mq_notify(q, &ev));
	p = xfork();
	if (p == 0) {
		CK(mq_send(q, "wake", 5, 3));
		_exit(0);
	}
	say("%s\n", wait_str(reap(p)));
	while (!notified)
		pause();
	CK(mq_getattr(q, &attr));
	say("holds %ld of %ld\n", attr.mq_curmsgs, attr.mq_maxmsg);
	show("too small", mq_receive(q, buf, 5, &prio));
	show("receive", mq_receive(q, buf, sizeof(buf), NULL));
	CK(mq_close(q));
	CK(mq_unlink(name));
	show("open again", mq_open(name, O_RDWR) == (mqd_t)-1 ? -1 : 0);
	done();
	return 0;
}
