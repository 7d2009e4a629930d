/* Structures of time. */
#include "engine/print_priv.h"

#define PUT(p, ...) buf_printf((p)->out, __VA_ARGS__)

void print_timespec(struct printer *p, struct data d)
{
	uint64_t ns = u64_at(d, 8);

	PUT(p, "{tv_sec=%ld, tv_nsec=", (int64_t)u64_at(d, 0));
	if (ns == 0x3fffffff)
		PUT(p, "UTIME_NOW}");
	else if (ns == 0x3ffffffe)
		PUT(p, "UTIME_OMIT}");
	else
		PUT(p, "%ld}", (int64_t)ns);
}

void print_timeval(struct printer *p, struct data d)
{
	PUT(p, "{tv_sec=%ld, tv_usec=%ld}", (int64_t)u64_at(d, 0), (int64_t)u64_at(d, 8));
}

void print_timezone(struct printer *p, struct data d)
{
	PUT(p, "{tz_minuteswest=%d, tz_dsttime=%d}", i32_at(d, 0), i32_at(d, 4));
}

void print_itimerval(struct printer *p, struct data d)
{
	PUT(p, "{it_interval=");
	print_timeval(p, d);
	PUT(p, ", it_value=");
	print_timeval(p, data_from(d, 16));
	PUT(p, "}");
}

void print_itimerspec(struct printer *p, struct data d)
{
	PUT(p, "{it_interval=");
	print_timespec(p, d);
	PUT(p, ", it_value=");
	print_timespec(p, data_from(d, 16));
	PUT(p, "}");
}

void print_utimbuf(struct printer *p, struct data d)
{
	PUT(p, "{actime=%ld, modtime=%ld}", (int64_t)u64_at(d, 0), (int64_t)u64_at(d, 8));
}

void print_timex(struct printer *p, struct data d)
{
	PUT(p, "{modes=");
	print_flags(p, SYS_NAMES_ADJ, u32_at(d, 0));
	PUT(p, ", offset=%ld, freq=%ld, maxerror=%ld, esterror=%ld, status=%#x, ...}", (int64_t)u64_at(d, 8), (int64_t)u64_at(d, 16),
	    (int64_t)u64_at(d, 24), (int64_t)u64_at(d, 32), u32_at(d, 40));
}

void print_tms(struct printer *p, struct data d)
{
	PUT(p, "{tms_utime=%ld, tms_stime=%ld, tms_cutime=%ld, tms_cstime=%ld}", (int64_t)u64_at(d, 0), (int64_t)u64_at(d, 8),
	    (int64_t)u64_at(d, 16), (int64_t)u64_at(d, 24));
}
