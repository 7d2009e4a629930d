/* uname, ids, groups, capabilities, sysinfo, getcpu, loadavg, host name, page sizes. Output: depends on machine and user. */
#include "guest.h"
#include <grp.h>
#include <linux/capability.h>
#include <pwd.h>
#include <sys/sysinfo.h>
#include <sys/utsname.h>

int main(void)
{
	struct __user_cap_header_struct h = { _LINUX_CAPABILITY_VERSION_3, 0 };
	struct __user_cap_data_struct d[2] = { { 0 } };
	gid_t groups[100];
	struct passwd *pw;
	struct sysinfo si;
	struct utsname u;
	unsigned cpu, node;
	char host[65];
	double load[3];
	int n;

	CK(uname(&u));
	say("%s %s %s %s %s\n", u.sysname, u.nodename, u.release, u.version, u.machine);
	CK(gethostname(host, sizeof(host)));
	say("host %s\n", host);
	say("uid %d %d gid %d %d pid %d ppid %d tid %d\n", (int)getuid(), (int)geteuid(), (int)getgid(), (int)getegid(),
	    (int)getpid(), (int)getppid(), (int)gettid());
	n = CK(getgroups(100, groups));
	say("%d groups\n", n);
	pw = getpwuid(getuid());
	say("user %s\n", pw ? pw->pw_name : "-");
	CK((int)syscall(SYS_capget, &h, d));
	say("capabilities %x %x %x\n", d[0].effective, d[0].permitted, d[1].effective);
	CK(sysinfo(&si));
	say("uptime %ld, memory %lu free %lu, processes %d\n", si.uptime, si.totalram, si.freeram, si.procs);
	CK(getcpu(&cpu, &node));
	say("cpu %u node %u, sched_getcpu %d\n", cpu, node, sched_getcpu());
	say("load %d\n", getloadavg(load, 3));
	say("page %ld, ticks %ld, processors %ld %ld, memory %ld\n", sysconf(_SC_PAGESIZE), sysconf(_SC_CLK_TCK),
	    sysconf(_SC_NPROCESSORS_CONF), sysconf(_SC_NPROCESSORS_ONLN), sysconf(_SC_PHYS_PAGES));
	show("setuid same", setuid(getuid()));
	show("setgroups", geteuid() ? setgroups(0, NULL) : -1);
	show("personality", syscall(SYS_personality, 0xffffffff));
	show("ioprio", syscall(SYS_ioprio_get, 1, 0));
	show("capget bad version", (h.version = 1, syscall(SYS_capget, &h, NULL)));
	done();
	return 0;
}
