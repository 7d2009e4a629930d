/* 20000 system calls of several kinds in a row, with results summed. Output: the sum holds pids. */
#include "guest.h"

int main(void)
{
	int fd = CK(open("/dev/zero", O_RDONLY | O_CLOEXEC));
	struct timespec ts;
	uint64_t sum = 0;
	char buf[128];

	for (int i = 0; i < 4000; i++) {
		sum += (uint64_t)syscall(SYS_getppid);
		sum += (uint64_t)read(fd, buf, sizeof(buf));
		CK((int)syscall(SYS_clock_gettime, CLOCK_REALTIME, &ts));
		sum = sum * 31 + (uint64_t)ts.tv_nsec;
		sum += (uint64_t)lseek(fd, i, SEEK_SET);
		sum += (uint64_t)umask(022);
	}
	say("sum %llx\n", (unsigned long long)sum);
	done();
	return 0;
}
