/* poll: ready, time out, hang-up, error, invalid descriptors, blocking until a child writes. Deterministic. */
#include "guest.h"
#include <poll.h>

static void show_poll(const char *what, struct pollfd *p, nfds_t n, int timeout)
{
	int r = poll(p, n, timeout);

	show(what, r);
	for (nfds_t i = 0; i < n; i++)
		say("  %d: %#x\n", (int)i, (unsigned)p[i].revents);
}

int main(void)
{
	struct timespec ts = { 0, 3000000 };
	int a[2], b[2], c[2];
	struct pollfd p[4];
	pid_t child;

	CK(pipe(a));
	CK(pipe(b));
	CK(pipe(c));
	p[0] = (struct pollfd){ a[0], POLLIN, 0x55 };
	p[1] = (struct pollfd){ b[1], POLLOUT, 0x55 };
	p[2] = (struct pollfd){ -1, POLLIN, 0x55 };
	p[3] = (struct pollfd){ 99, POLLIN, 0x55 };
	show_poll("mixed", p, 4, 0);
	show_poll("time out", p, 1, 5);
	child = xfork();
	if (child == 0) {
		wait_state(getppid(), 'S');
		CHECK(write(a[1], "x", 1) == 1);
		_exit(0);
	}
	show_poll("blocks", p, 1, -1);
	reap(child);
	close(c[1]);
	close(b[0]);
	p[2].fd = c[0];
	show_poll("hung up", p, 3, -1);
	show("nothing, time out", poll(NULL, 0, 3));
	show("ppoll", ppoll(p, 1, &ts, NULL));
	show("bad address", poll(bad_address, 1, 0));
	show("too many", poll(p, (1u << 30) + (unsigned)opaque_zero, 0));
	done();
	return 0;
}
