/* Writes that a mapping must follow although neither position nor descriptor says where they go: truncate by path, pwrite with O_APPEND,
 * pwritev2 at the file's position. And one segment attached twice in a row: detaching it leaves its neighbour. */
#include "guest.h"
#include <sys/shm.h>
#include <sys/uio.h>

static volatile char *shared;
static const volatile char *private;

static void show_both(const char *what)
{
	say("%s:", what);
	for (int i = 0; i < 16; i++)
		say(" %d/%d", shared[i], private[i]);
	say("\n");
}

static void detach_one(void)
{
	int id = CK(shmget(IPC_PRIVATE, 8192, IPC_CREAT | 0600));
	char *a = shmat(id, NULL, 0), *b = shmat(id, NULL, 0);
	char *low = a < b ? a : b, *high = a < b ? b : a;

	CHECK(a != (void *)-1 && b != (void *)-1);
	strcpy(low, "segment");
	CK(shmdt(low));
	high[0] = 'S';
	say("left: %s\n", high);
	CK(shmdt(high));
	CK(shmctl(id, IPC_RMID, NULL));
}

int main(void)
{
	int fd = CK(open("odd_writes", O_RDWR | O_CREAT | O_TRUNC, 0600)), append;
	struct iovec v = { (char *)"vec", 3 };

	CHECK(write(fd, "abcdefghij", 10) == 10);
	shared = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	private = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE, fd, 0);
	CHECK(shared != MAP_FAILED && private != MAP_FAILED);
	show_both("at first");
	CK(truncate("odd_writes", 4));
	show_both("truncated");
	append = CK(open("odd_writes", O_WRONLY | O_APPEND));
	CHECK(pwrite(append, "end", 3, 0) == 3);
	show_both("appended");
	CK(lseek(fd, 1, SEEK_SET));
	CHECK(pwritev2(fd, &v, 1, -1, 0) == 3);
	show_both("at the position");
	CK(unlink("odd_writes"));
	detach_one();
	done();
	return 0;
}
