/* Non-blocking connect and accept with poll, SO_ERROR, many clients served by epoll in one process. Output: ports differ. */
#include "guest.h"
#include <arpa/inet.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/socket.h>

int main(void)
{
	enum { CLIENTS = 10 };
	struct sockaddr_in a = { .sin_family = AF_INET };
	socklen_t len = sizeof(a);
	struct epoll_event ev[16], e;
	int s, c[CLIENTS], ep, err, served = 0;
	struct pollfd pf;
	char buf[32];

	a.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	s = CK(socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0));
	CK(bind(s, (struct sockaddr *)&a, sizeof(a)));
	CK(getsockname(s, (struct sockaddr *)&a, &len));
	CK(listen(s, CLIENTS));
	show("nobody yet", accept(s, NULL, NULL));
	ep = CK(epoll_create1(0));
	e = (struct epoll_event){ .events = EPOLLIN, .data.fd = s };
	CK(epoll_ctl(ep, EPOLL_CTL_ADD, s, &e));
	for (int i = 0; i < CLIENTS; i++) {
		c[i] = CK(socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0));
		if (connect(c[i], (struct sockaddr *)&a, sizeof(a)) < 0)
			CHECK(errno == EINPROGRESS);
		pf = (struct pollfd){ c[i], POLLOUT, 0 };
		CHECK(poll(&pf, 1, -1) == 1);
		len = sizeof(err);
		CK(getsockopt(c[i], SOL_SOCKET, SO_ERROR, &err, &len));
		CHECK(err == 0);
		snprintf(buf, sizeof(buf), "client %d", i);
		write_all(c[i], buf, strlen(buf));
	}
	while (served < CLIENTS) {
		int n = CK(epoll_wait(ep, ev, 16, -1));

		for (int i = 0; i < n; i++) {
			ssize_t r;

			if (ev[i].data.fd == s) {
				int a2 = accept4(s, NULL, NULL, SOCK_NONBLOCK);

				CHECK(a2 >= 0);
				e = (struct epoll_event){ .events = EPOLLIN | EPOLLET, .data.fd = a2 };
				CK(epoll_ctl(ep, EPOLL_CTL_ADD, a2, &e));
				continue;
			}
			r = CK(read(ev[i].data.fd, buf, sizeof(buf)));
			say("%.*s on %d\n", (int)r, buf, ev[i].data.fd);
			close(ev[i].data.fd);
			served++;
		}
	}
	for (int i = 0; i < CLIENTS; i++) {
		pf = (struct pollfd){ c[i], POLLIN, 0 };
		CHECK(poll(&pf, 1, -1) == 1);
		CHECK(read(c[i], buf, 1) == 0);
	}
	done();
	return 0;
}
