/* close_range (plain, CLOEXEC, UNSHARE) and closefrom. Deterministic. */
#include "guest.h"

static void open_ones(const char *when)
{
	say("%s:", when);
	for (int i = 0; i < 40; i++)
		if (fcntl(i, F_GETFD) >= 0)
			say(" %d%s", i, fcntl(i, F_GETFD) ? "c" : "");
	say("\n");
}

int main(void)
{
	for (int i = 10; i < 30; i++)
		CK(dup2(0, i));
	show("middle", close_range(15, 19, 0));
	open_ones("closed");
	show("cloexec", close_range(20, 24, CLOSE_RANGE_CLOEXEC));
	open_ones("marked");
	show("backwards", close_range(20, 10, 0));
	show("bad flags", close_range(20, 30, 0x70));
	show("unshare", close_range(28, ~0u, CLOSE_RANGE_UNSHARE));
	open_ones("unshared");
	closefrom(12);
	open_ones("closefrom");
	done();
	return 0;
}
