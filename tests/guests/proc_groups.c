/* Process groups: setpgid, signals to and waits for groups, errors. Deterministic. */
#include "guest.h"

int main(void)
{
	pid_t p[4];
	int st;
	struct gate ready;

	gate_init(&ready);
	for (int i = 0; i < 4; i++) {
		p[i] = xfork();
		if (p[i] == 0) {
			gate_open(&ready);
			for (;;)
				pause();
		}
		CK(setpgid(p[i], i < 2 ? p[0] : p[2]));
	}
	for (int i = 0; i < 4; i++)
		gate_wait(&ready);
	say("groups: %d %d\n", getpgid(p[1]) == p[0], getpgid(p[3]) == p[2]);
	show("wait for my group", waitpid(0, &st, WNOHANG));
	CK(kill(-p[2], SIGTERM));
	for (int i = 0; i < 2; i++) {
		pid_t r = CK(waitpid(-p[2], &st, 0));

		CHECK(r == p[2] || r == p[3]);
		say("second group: %s\n", wait_str(st));
	}
	show("wait second group", waitpid(-p[2], &st, 0));
	show("kill second group", kill(-p[2], SIGTERM));
	CK(killpg(p[0], SIGUSR1));
	for (int i = 0; i < 2; i++) {
		CK(waitpid(-p[0], &st, 0));
		say("first group: %s\n", wait_str(st));
	}
	show("setpgid of a stranger", setpgid(1, 0));
	show("setpgid negative", setpgid(0, -5));
	show("getpgid of nobody", getpgid(0x7ffffffe));
	done();
	return 0;
}
