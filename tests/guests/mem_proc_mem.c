/* /proc/self/mem: read, write, seek; a child's memory through /proc/PID/mem. Output: may be refused for the child. */
#include "guest.h"

static char area[32] = "original";

int main(void)
{
	struct gate ready, go;
	char buf[16] = "", path[32];
	int fd;
	pid_t p;

	gate_init(&ready);
	gate_init(&go);
	fd = CK(open("/proc/self/mem", O_RDWR | O_CLOEXEC));
	show("pread", pread(fd, buf, 8, (off_t)(uintptr_t)area));
	say("%s\n", buf);
	show("pwrite", pwrite(fd, "WRIT", 4, (off_t)(uintptr_t)area));
	say("%s\n", area);
	show("pread nothing there", pread(fd, buf, 8, 8));
	p = xfork();
	if (p == 0) {
		gate_open(&ready);
		gate_wait(&go);
		say("child: %s\n", area);
		_exit(0);
	}
	gate_wait(&ready);
	snprintf(path, sizeof(path), "/proc/%d/mem", (int)p);
	fd = open(path, O_RDWR | O_CLOEXEC);
	show("open the child's", fd >= 0 ? 0 : -1);
	if (fd >= 0)
		show("pwrite", pwrite(fd, "CHLD", 4, (off_t)(uintptr_t)area));
	gate_open(&go);
	say("%s\n", wait_str(reap(p)));
	done();
	return 0;
}
