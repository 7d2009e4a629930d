/* rdtsc, rdtscp, and rdpid where there is one: the values are the recorded ones, also within loops of calls. Output: everything. */
#include "guest.h"
#include <x86intrin.h>

int main(void)
{
	unsigned long long last = 0, sum = 0;
	unsigned aux = 0;

	for (int i = 0; i < 2000; i++) {
		unsigned long long t = i % 2 ? __rdtsc() : __rdtscp(&aux);

		CHECK(t > last);
		sum = sum * 31 + (t - last);
		last = t;
	}
	say("last %llu, mix %llx, aux %x\n", last, sum, aux);
	for (int i = 0; i < 5; i++) {
		unsigned long long t = __rdtsc();

		getppid();
		say("a call took %llu ticks\n", __rdtsc() - t);
	}
	done();
	return 0;
}
