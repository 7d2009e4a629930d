/* 300 children alive at the same time, released together; they are collected in the order of their ends. Output: order and pids differ. */
#include "guest.h"

int main(void)
{
	enum { N = 300 };
	struct gate go;
	static pid_t p[N];
	int st, sum = 0;

	gate_init(&go);
	for (int i = 0; i < N; i++) {
		p[i] = xfork();
		if (p[i] == 0) {
			gate_wait(&go);
			_exit(i % 100);
		}
	}
	for (int i = 0; i < N; i++)
		gate_open(&go);
	for (int i = 0; i < N; i++) {
		pid_t r = CK(wait(&st));

		sum += WEXITSTATUS(st);
		if (i % 20 == 0)
			say("collected %d: %s\n", (int)r, wait_str(st));
	}
	say("sum %d\n", sum);
	CHECK(sum == 3 * 4950);
	done();
	return 0;
}
