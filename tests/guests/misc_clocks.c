/* All clocks by call and by library, their resolutions, gettimeofday, time, times, clock; sleeps of each kind. Output: everything. */
#include "guest.h"
#include <sys/resource.h>
#include <sys/time.h>
#include <sys/times.h>
#include <sys/timex.h>

int main(void)
{
	struct timespec ts, last = { 0, 0 };
	struct timex tx = { .modes = 0 };
	struct timezone tz;
	struct timeval tv;
	struct rusage ru;
	struct tms t;
	clockid_t id;

	for (int c = 0; c < 16; c++) {
		if (clock_gettime(c, &ts) == 0)
			say("clock %d: %ld.%09ld", c, (long)ts.tv_sec, ts.tv_nsec);
		else
			say("clock %d: %s", c, err_name(errno));
		if (clock_getres(c, &ts) == 0)
			say(", resolution %ld\n", ts.tv_nsec);
		else
			say(", %s\n", err_name(errno));
	}
	CHECK(clock_getcpuclockid(0, &id) == 0);
	CK(clock_gettime(id, &ts));
	say("own cpu clock %ld.%09ld\n", (long)ts.tv_sec, ts.tv_nsec);
	CK(gettimeofday(&tv, &tz));
	say("gettimeofday %ld.%06ld zone %d\n", (long)tv.tv_sec, (long)tv.tv_usec, tz.tz_minuteswest);
	say("time %ld raw %ld\n", (long)time(NULL), syscall(SYS_time, NULL));
	say("times %ld user %ld\n", (long)times(&t), (long)t.tms_utime);
	say("clock %ld\n", (long)clock());
	CK(getrusage(RUSAGE_SELF, &ru));
	say("rusage %ld.%06ld max %ld faults %ld switches %ld\n", (long)ru.ru_utime.tv_sec, (long)ru.ru_utime.tv_usec,
	    ru.ru_maxrss, ru.ru_minflt, ru.ru_nvcsw);
	show("adjtimex", adjtimex(&tx));
	say("tick %ld freq %ld\n", tx.tick, tx.freq);
	for (int i = 0; i < 1000; i++) {
		CK(clock_gettime(CLOCK_MONOTONIC, &ts));
		CHECK(ts.tv_sec > last.tv_sec || (ts.tv_sec == last.tv_sec && ts.tv_nsec >= last.tv_nsec));
		last = ts;
	}
	say("last %ld.%09ld\n", (long)last.tv_sec, last.tv_nsec);
	ts = (struct timespec){ 0, 1000000 };
	show("clock_nanosleep", clock_nanosleep(CLOCK_MONOTONIC, 0, &ts, NULL));
	show("absolute", clock_nanosleep(CLOCK_REALTIME, TIMER_ABSTIME, &last, NULL));
	show("thread cpu clock", clock_nanosleep(CLOCK_THREAD_CPUTIME_ID, 0, &ts, NULL));
	show("usleep", usleep(100));
	done();
	return 0;
}
