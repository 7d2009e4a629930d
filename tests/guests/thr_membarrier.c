/* membarrier and scheduler calls: policies, priorities, sched_getattr, getpriority of a thread. Output: depends on the kernel. */
#include "guest.h"
#include <linux/membarrier.h>
#include <pthread.h>

int main(void)
{
	struct sched_param sp = { 0 };
	struct timespec ts;
	struct {
		uint32_t size, policy;
		uint64_t flags;
		int32_t nice;
		uint32_t priority;
		uint64_t runtime, deadline, period;
		uint32_t util_min, util_max;
	} attr;

	say("membarrier query %#lx\n", syscall(SYS_membarrier, MEMBARRIER_CMD_QUERY, 0, 0));
	show("register", syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, 0, 0));
	show("barrier", syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0));
	show("bad command", syscall(SYS_membarrier, 1 << 30, 0, 0));
	show("policy", sched_getscheduler(0));
	show("getparam", sched_getparam(0, &sp));
	say("priority %d, range %d..%d\n", sp.sched_priority, sched_get_priority_min(SCHED_FIFO),
	    sched_get_priority_max(SCHED_FIFO));
	show("interval", sched_rr_get_interval(0, &ts));
	say("interval %ld.%09ld\n", (long)ts.tv_sec, ts.tv_nsec);
	show("batch", sched_setscheduler(0, SCHED_BATCH, &sp));
	show("policy", sched_getscheduler(0));
	show("getattr", syscall(SYS_sched_getattr, 0, &attr, sizeof(attr), 0));
	say("attr: size %u policy %u nice %d\n", attr.size, attr.policy, attr.nice);
	show("no such thread", sched_getscheduler(0x7ffffffe));
	show("yield", sched_yield());
	done();
	return 0;
}
