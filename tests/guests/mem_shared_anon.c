/* Anonymous shared memory between parent and children that hand a turn round by yields and futexes. Output: counts differ. */
#include "guest.h"
#include <linux/futex.h>
#include <stdatomic.h>

struct shared {
	_Atomic uint32_t turn, word;
	_Atomic int yields[3];
	int log[64], n;
};

int main(void)
{
	struct shared *s = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	pid_t p[3];

	CHECK(s != MAP_FAILED);
	for (unsigned i = 0; i < 3; i++) {
		p[i] = xfork();
		if (p[i] == 0) {
			for (int k = 0; k < 10; k++) {
				while (atomic_load(&s->turn) % 3 != i) {
					s->yields[i]++;
					sched_yield();
				}
				s->log[s->n++] = (int)i;
				atomic_fetch_add(&s->turn, 1);
			}
			while (atomic_load(&s->word) == 0)
				syscall(SYS_futex, &s->word, FUTEX_WAIT, 0, NULL, NULL, 0);
			_exit((int)i);
		}
	}
	while (atomic_load(&s->turn) < 30)
		sched_yield();
	atomic_store(&s->word, 1);
	CK(syscall(SYS_futex, &s->word, FUTEX_WAKE, 100, NULL, NULL, 0));
	for (int i = 0; i < 3; i++)
		say("child %d: %s, %d yields\n", i, wait_str(reap(p[i])), s->yields[i]);
	for (int i = 0; i < s->n; i++)
		CHECK(s->log[i] == i % 3);
	say("%d turns in order\n", s->n);
	done();
	return 0;
}
