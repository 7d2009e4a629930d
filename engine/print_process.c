/* Structures of processes, their resources and the machine; terminals, IPC. */
#include "engine/print_priv.h"

#define PUT(p, ...) buf_printf((p)->out, __VA_ARGS__)

void print_wait_status(struct printer *p, struct data d)
{
	uint32_t s = u32_at(d, 0);

	if (s == 0xffff) {
		PUT(p, "[{WIFCONTINUED(s)}]");
	} else if ((s & 0xff) == 0x7f) {
		PUT(p, "[{WIFSTOPPED(s) && WSTOPSIG(s) == ");
		print_signal(p, s >> 8 & 0xff);
		PUT(p, s >> 16 ? "} | %u << 16]" : "}]", s >> 16);
	} else if (s & 0x7f) {
		PUT(p, "[{WIFSIGNALED(s) && WTERMSIG(s) == ");
		print_signal(p, s & 0x7f);
		PUT(p, s & 0x80 ? " && WCOREDUMP(s)}]" : "}]");
	} else {
		PUT(p, "[{WIFEXITED(s) && WEXITSTATUS(s) == %u}]", s >> 8 & 0xff);
	}
}

static void print_limit(struct printer *p, uint64_t v)
{
	if (v == UINT64_MAX)
		PUT(p, "RLIM64_INFINITY");
	else if (v > 1024 && v % 1024 == 0)
		PUT(p, "%lu*1024", v / 1024);
	else
		PUT(p, "%lu", v);
}

void print_rlimit(struct printer *p, struct data d)
{
	PUT(p, "{rlim_cur=");
	print_limit(p, u64_at(d, 0));
	PUT(p, ", rlim_max=");
	print_limit(p, u64_at(d, 8));
	PUT(p, "}");
}

void print_rusage(struct printer *p, struct data d)
{
	PUT(p, "{ru_utime=");
	print_timeval(p, d);
	PUT(p, ", ru_stime=");
	print_timeval(p, data_from(d, 16));
	PUT(p, ", ...}");
}

void print_sched_attr(struct printer *p, struct data d)
{
	PUT(p, "{size=%u, sched_policy=", u32_at(d, 0));
	print_flags(p, SYS_NAMES_SCHED_POLICY, u32_at(d, 4));
	PUT(p, ", sched_flags=");
	print_flags(p, SYS_NAMES_SCHED_FLAGS, u64_at(d, 8));
	PUT(p, ", sched_nice=%d, sched_priority=%u, sched_runtime=%lu, sched_deadline=%lu, sched_period=%lu}", i32_at(d, 16), u32_at(d, 20),
	    u64_at(d, 24), u64_at(d, 32), u64_at(d, 40));
}

/* The set's members, at most n of them. */
static void print_bits(struct printer *p, struct data d, uint64_t n)
{
	uint64_t shown = 0;

	PUT(p, "[");
	for (uint64_t i = 0; i < MIN(n, d.n * 8ull); i++) {
		if (!(d.p[i / 8] >> i % 8 & 1))
			continue;
		PUT(p, shown ? " " : "");
		if (shown++ == p->array_max) {
			PUT(p, "...");
			break;
		}
		PUT(p, "%lu", i);
	}
	PUT(p, "]");
}

void print_cpuset(struct printer *p, struct data d)
{
	print_bits(p, d, UINT64_MAX);
}

void print_fd_set(struct printer *p, struct data d)
{
	print_bits(p, d, sys_count_arg(p->call, p->row, 0));
}

void print_clone_args(struct printer *p, struct data d)
{
	static const struct {
		const char *name;
		uint8_t at;
	} addresses[] = { { "pidfd", 8 }, { "child_tid", 16 }, { "parent_tid", 24 } };

	PUT(p, "{flags=");
	print_flags(p, SYS_NAMES_CLONE, u64_at(d, 0));
	for (size_t i = 0; i < ARRAY_SIZE(addresses); i++)
		if (u64_at(d, addresses[i].at))
			PUT(p, ", %s=%#lx", addresses[i].name, u64_at(d, addresses[i].at));
	PUT(p, ", exit_signal=");
	print_signal(p, i32_at(d, 32));
	PUT(p, ", stack=");
	print_addr(p, u64_at(d, 40));
	PUT(p, ", stack_size=%#lx", u64_at(d, 48));
	if (u64_at(d, 56))
		PUT(p, ", tls=%#lx", u64_at(d, 56));
	if (u64_at(d, 72))
		PUT(p, ", set_tid=%#lx, set_tid_size=%lu", u64_at(d, 64), u64_at(d, 72));
	if (u64_at(d, 0) & 0x200000000) /* CLONE_INTO_CGROUP */
		PUT(p, ", cgroup=%lu", u64_at(d, 80));
	PUT(p, "}");
}

void print_cap_header(struct printer *p, struct data d)
{
	uint32_t version = u32_at(d, 0);
	int number = version == 0x19980330 ? 1 : version == 0x20071026 ? 2 : version == 0x20080522 ? 3 : 0;

	if (number)
		PUT(p, "{version=_LINUX_CAPABILITY_VERSION_%d, pid=%d}", number, i32_at(d, 4));
	else
		PUT(p, "{version=%#x, pid=%d}", version, i32_at(d, 4));
}

static void print_caps(struct printer *p, const char *name, uint64_t set)
{
	const char *separator = "";

	PUT(p, "%s=", name);
	if (!set || set == (1ull << 41) - 1) {
		print_hex(p, set);
		return;
	}
	for (unsigned int i = 0; i < 64; i++) {
		const char *cap = sys_name_of(SYS_NAMES_CAPABILITY, i);

		if (!(set >> i & 1))
			continue;
		if (cap)
			PUT(p, "%s1<<%s", separator, cap);
		else
			PUT(p, "%s1<<%u", separator, i);
		separator = "|";
	}
}

/* Version 3 has the upper 32 bits of the three sets after the lower ones. */
void print_cap_data(struct printer *p, struct data d)
{
	static const char *const names[] = { "{effective", ", permitted", ", inheritable" };

	for (unsigned int i = 0; i < ARRAY_SIZE(names); i++)
		print_caps(p, names[i], u32_at(d, i * 4) | (uint64_t)u32_at(d, 12 + i * 4) << 32);
	PUT(p, "}");
}

void print_sock_fprog(struct printer *p, struct data d)
{
	PUT(p, "{len=%u, filter=%#lx}", u16_at(d, 0), u64_at(d, 8));
}

void print_utsname(struct printer *p, struct data d)
{
	static const char *const names[] = { "{sysname=", ", nodename=", ", release=", ", version=", ", machine=", ", domainname=" };

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		struct data field = data_from(d, i * 65);

		PUT(p, "%s", names[i]);
		print_text(p, field.p, MIN(field.n, (size_t)65));
	}
	PUT(p, "}");
}

void print_sysinfo(struct printer *p, struct data d)
{
	PUT(p, "{uptime=%ld, loads=[%lu, %lu, %lu], totalram=%lu, freeram=%lu, sharedram=%lu, bufferram=%lu", (int64_t)u64_at(d, 0), u64_at(d, 8),
	    u64_at(d, 16), u64_at(d, 24), u64_at(d, 32), u64_at(d, 40), u64_at(d, 48), u64_at(d, 56));
	PUT(p, ", totalswap=%lu, freeswap=%lu, procs=%u, totalhigh=%lu, freehigh=%lu, mem_unit=%u}", u64_at(d, 64), u64_at(d, 72), u16_at(d, 80),
	    u64_at(d, 88), u64_at(d, 96), u32_at(d, 104));
}

void print_pollfd(struct printer *p, struct data d)
{
	PUT(p, "{fd=%d", i32_at(d, 0));
	if (i32_at(d, 0) >= 0 && !p->at_exit) {
		PUT(p, ", events=");
		print_flags(p, SYS_NAMES_POLL, u16_at(d, 4));
	}
	if (p->at_exit) {
		PUT(p, ", revents=");
		print_flags(p, SYS_NAMES_POLL, u16_at(d, 6));
	}
	PUT(p, "}");
}

void print_epoll_event(struct printer *p, struct data d)
{
	PUT(p, "{events=");
	print_flags(p, SYS_NAMES_EPOLL, u32_at(d, 0));
	PUT(p, ", data={u32=%u, u64=%lu}}", u32_at(d, 4), u64_at(d, 4));
}

void print_futex_waitv(struct printer *p, struct data d)
{
	PUT(p, "{val=%#lx, uaddr=%#lx, flags=", u64_at(d, 0), u64_at(d, 8));
	print_flags(p, SYS_NAMES_FUTEX2, u32_at(d, 16));
	PUT(p, "}");
}

/* A word of the line that stands for one bit, as stty says it. */
static void print_bit_name(struct printer *p, uint32_t flags, uint32_t bit, const char *name)
{
	PUT(p, " %s%s", flags & bit ? "" : "-", name);
}

void print_termios(struct printer *p, struct data d)
{
	static const uint16_t speeds[] = { 0, 50, 75, 110, 134, 150, 200, 300, 600, 1200, 1800, 2400, 4800, 9600, 19200, 38400 };
	static const char *const fast[] = { "?",       "57600",   "115200",  "230400",  "460800",  "500000",  "576000",  "921600",
					    "1000000", "1152000", "1500000", "2000000", "2500000", "3000000", "3500000", "4000000" };
	uint32_t speed = u32_at(d, 8) & 010017;

	if (speed & 010000)
		PUT(p, "{B%s", fast[speed & 017]);
	else
		PUT(p, "{B%u", speeds[speed]);
	print_bit_name(p, u32_at(d, 4), 1, "opost");
	print_bit_name(p, u32_at(d, 12), 1, "isig");
	print_bit_name(p, u32_at(d, 12), 2, "icanon");
	print_bit_name(p, u32_at(d, 12), 010, "echo");
	PUT(p, " ...}");
}

void print_winsize(struct printer *p, struct data d)
{
	PUT(p, "{ws_row=%u, ws_col=%u, ws_xpixel=%u, ws_ypixel=%u}", u16_at(d, 0), u16_at(d, 2), u16_at(d, 4), u16_at(d, 6));
}

void print_sembuf(struct printer *p, struct data d)
{
	PUT(p, "{sem_num=%u, sem_op=%d, sem_flg=", u16_at(d, 0), (int16_t)u16_at(d, 2));
	print_flags(p, SYS_NAMES_SEM_OP, u16_at(d, 4));
	PUT(p, "}");
}

void print_mq_attr(struct printer *p, struct data d)
{
	PUT(p, "{mq_flags=");
	if (u64_at(d, 0) == 04000)
		PUT(p, "O_NONBLOCK");
	else
		print_hex(p, u64_at(d, 0));
	PUT(p, ", mq_maxmsg=%ld, mq_msgsize=%ld, mq_curmsgs=%ld}", (int64_t)u64_at(d, 8), (int64_t)u64_at(d, 16), (int64_t)u64_at(d, 24));
}
