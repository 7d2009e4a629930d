/* Files of /proc and /sys that change with each look, read in pieces and by seek. Output: everything. */
#include "guest.h"

int main(void)
{
	static const char *const files[] = { "/proc/uptime",
					     "/proc/loadavg",
					     "/proc/stat",
					     "/proc/meminfo",
					     "/proc/version",
					     "/proc/cpuinfo",
					     "/proc/interrupts",
					     "/proc/self/schedstat",
					     "/proc/self/io",
					     "/proc/self/mountinfo",
					     "/proc/self/cgroup",
					     "/proc/self/wchan",
					     "/proc/self/syscall",
					     "/proc/sys/kernel/random/uuid",
					     "/proc/sys/kernel/pid_max",
					     "/sys/devices/system/cpu/possible",
					     "/proc/self/environ",
					     "/proc/self/auxv",
					     "/proc/self/cmdline",
					     "/proc/net/unix" };
	static char buf[20000];

	for (size_t i = 0; i < N_ELEMENTS(files); i++) {
		int fd = open(files[i], O_RDONLY | O_CLOEXEC);
		size_t total = 0;
		ssize_t n = 0;

		if (fd < 0) {
			say("%s: %s\n", files[i], err_name(errno));
			continue;
		}
		while (total < sizeof(buf) - 100 && (n = read(fd, buf + total, 100)) > 0)
			total += (size_t)n;
		say("%s: %zu bytes, hash %016llx, %s\n", files[i], total, (unsigned long long)hash(buf, total),
		    n < 0 ? err_name(errno) : "");
		say("%.*s\n", (int)strcspn(buf, "\n"), buf);
		if (lseek(fd, 0, SEEK_SET) == 0 && (n = read(fd, buf, 50)) > 0)
			say("again %.*s\n", (int)strcspn(buf, "\n"), buf);
		close(fd);
	}
	done();
	return 0;
}
