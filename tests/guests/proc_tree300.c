/* A tree of 300 processes, each forking its children and summing their results through pipes. Deterministic. */
#include "guest.h"

#define TOTAL 300

static int node(int id)
{
	int sum = id, pipefd[2], v, st;
	pid_t p;

	for (int k = 1; k <= 3; k++) {
		int child = id * 3 + k;

		if (child >= TOTAL)
			break;
		CK(pipe(pipefd));
		p = xfork();
		if (p == 0) {
			close(pipefd[0]);
			v = node(child);
			CHECK(write(pipefd[1], &v, sizeof(v)) == sizeof(v));
			_exit(child & 0x7f);
		}
		close(pipefd[1]);
		CHECK(read(pipefd[0], &v, sizeof(v)) == sizeof(v));
		close(pipefd[0]);
		st = reap(p);
		CHECK(WIFEXITED(st) && WEXITSTATUS(st) == (child & 0x7f));
		sum += v;
	}
	return sum;
}

int main(void)
{
	int sum = node(0);

	say("sum %d of %d processes\n", sum, TOTAL);
	CHECK(sum == TOTAL * (TOTAL - 1) / 2);
	done();
	return 0;
}
