/* SysV shared memory: attached twice here and once in a child, read-only, IPC_STAT, removal. Output: ids differ. */
#include "guest.h"
#include <sys/shm.h>

int main(void)
{
	struct shmid_ds ds;
	volatile char *a, *b;
	const volatile char *ro;
	pid_t c;
	int id;

	id = CK(shmget(IPC_PRIVATE, 10000, IPC_CREAT | 0600));
	a = shmat(id, NULL, 0);
	b = shmat(id, NULL, 0);
	ro = shmat(id, NULL, SHM_RDONLY);
	CHECK(a != (void *)-1 && b != (void *)-1 && ro != (void *)-1);
	a[9999] = 'k';
	say("id %d at %p: %c %c\n", id, (void *)(uintptr_t)a, b[9999], ro[9999]);
	c = xfork();
	if (c == 0) {
		volatile char *q = shmat(id, NULL, 0);

		CHECK(q != (void *)-1);
		q[0] = 'c';
		a[1] = 'd';
		CK(shmdt((void *)(uintptr_t)q));
		_exit(0);
	}
	say("%s: %c%c\n", wait_str(reap(c)), b[0], ro[1]);
	CK(shmctl(id, IPC_STAT, &ds));
	say("size %zu, attached %lu, creator here %d, last by child %d\n", ds.shm_segsz, (unsigned long)ds.shm_nattch,
	    ds.shm_cpid == getpid(), ds.shm_lpid == c);
	CK(shmctl(id, IPC_RMID, NULL));
	b[5] = 'r';
	say("after removal: %c\n", a[5]);
	CK(shmdt((void *)(uintptr_t)a));
	CK(shmdt((void *)(uintptr_t)b));
	CK(shmdt((void *)(uintptr_t)ro));
	show("detach again", shmdt((void *)(uintptr_t)a));
	show("attach removed", (long)shmat(id, NULL, 0));
	done();
	return 0;
}
