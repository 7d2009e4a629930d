/* SysV message queues and semaphores: types, blocking, undo at exit, control calls. Output: ids and times differ. */
#include "guest.h"
#include <sys/ipc.h>
#include <sys/msg.h>
#include <sys/sem.h>

struct message {
	long type;
	char text[32];
};

union semun_ {
	int val;
	struct semid_ds *buf;
	unsigned short *array;
};

int main(void)
{
	struct sembuf down = { 0, -1, SEM_UNDO }, up = { 0, 1, 0 }, nowait = { 1, -1, IPC_NOWAIT };
	unsigned short vals[2] = { 1, 0 };
	struct timespec ts = { 0, 3000000 };
	struct gate taken;
	struct message m = { 0, "" };
	struct msqid_ds qs;
	int q, s;
	pid_t p;

	gate_init(&taken);
	q = CK(msgget(IPC_PRIVATE, 0600));
	say("queue %d\n", q);
	for (long i = 1; i <= 3; i++) {
		m.type = i;
		snprintf(m.text, sizeof(m.text), "message %ld", i);
		CK(msgsnd(q, &m, sizeof(m.text), 0));
	}
	show("type 2", msgrcv(q, &m, sizeof(m.text), 2, 0));
	say("%ld %s\n", m.type, m.text);
	show("up to 5, lowest", msgrcv(q, &m, sizeof(m.text), -5, 0));
	say("%ld %s\n", m.type, m.text);
	show("too long", msgrcv(q, &m, 3, 0, 0));
	show("too long, cut", msgrcv(q, &m, 3, 0, MSG_NOERROR));
	show("empty", msgrcv(q, &m, 3, 0, IPC_NOWAIT));
	p = xfork();
	if (p == 0) {
		wait_state(getppid(), 'S');
		m.type = 9;
		strcpy(m.text, "from the child");
		CK(msgsnd(q, &m, sizeof(m.text), 0));
		_exit(0);
	}
	show("waits", msgrcv(q, &m, sizeof(m.text), 9, 0));
	say("%s, %s\n", m.text, wait_str(reap(p)));
	CK(msgctl(q, IPC_STAT, &qs));
	say("queue holds %lu, sent by child %d, time %ld\n", (unsigned long)qs.msg_qnum, qs.msg_lspid == p,
	    (long)qs.msg_stime);
	CK(msgctl(q, IPC_RMID, NULL));
	show("removed", msgrcv(q, &m, 3, 0, 0));

	s = CK(semget(IPC_PRIVATE, 2, 0600));
	CK(semctl(s, 0, SETALL, (union semun_){ .array = vals }));
	p = xfork();
	if (p == 0) {
		CK(semop(s, &down, 1));
		gate_open(&taken);
		wait_state(getppid(), 'S');
		_exit(0); /* undone here */
	}
	gate_wait(&taken);
	show("waits for the undo", semop(s, &down, 1));
	say("%s, last by me %d\n", wait_str(reap(p)), semctl(s, 0, GETPID) == getpid());
	show("time out", semtimedop(s, &down, 1, &ts));
	show("nowait", semop(s, &nowait, 1));
	show("up", semop(s, &up, 1));
	CK(semctl(s, 0, GETALL, (union semun_){ .array = vals }));
	say("values %d %d\n", vals[0], vals[1]);
	CK(semctl(s, 0, IPC_RMID));
	show("removed", semop(s, &up, 1));
	done();
	return 0;
}
