/* Zombies stay until waited for, whatever the order of exits; signals to them succeed. Output: pids differ. */
#include "guest.h"

int main(void)
{
	pid_t p[6];
	struct gate go;
	siginfo_t si;
	int st;

	gate_init(&go);
	for (int i = 0; i < 6; i++) {
		p[i] = xfork();
		if (p[i] == 0) {
			gate_wait(&go);
			_exit(i);
		}
	}
	for (int i = 0; i < 6; i++)
		gate_open(&go);
	/* All are dead before the first is collected. */
	for (int i = 0; i < 6; i++)
		CK(waitid(P_PID, (id_t)p[i], &si, WEXITED | WNOWAIT));
	for (int i = 0; i < 6; i++)
		show("kill zombie", kill(p[i], SIGKILL));
	for (int i = 5; i >= 0; i -= 2)
		say("waitpid(%d) = %d\n", (int)p[i], (int)waitpid(p[i], &st, 0));
	for (int i = 0; i < 3; i++) {
		pid_t r = CK(waitpid(-1, &st, WNOHANG));

		say("wait any: %d, %s\n", (int)r, wait_str(st));
	}
	show("wait none", waitpid(-1, &st, WNOHANG));
	show("kill gone", kill(p[0], 0));
	done();
	return 0;
}
