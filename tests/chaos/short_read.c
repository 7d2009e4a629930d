/*
 * A message is written in two parts and read at once, long after, by one read that takes what comes first for all of
 * it. Which it is when the writer is late, or when the kernel gives less than asked for.
 */
#include "chaos.h"
#include <sys/socket.h>

enum { HEADER = 16, BODY = 240, MESSAGES = 5 };

static int fds[2];

static void *writer(void *arg UNUSED)
{
	char part[BODY];

	for (int i = 0; i < MESSAGES; i++) {
		memset(part, i + 1, sizeof(part));
		write_all(fds[1], part, HEADER);
		work(500);
		write_all(fds[1], part, BODY);
		usleep(2000);
	}
	return NULL;
}

int main(void)
{
	pthread_t t;

	CK(socketpair(AF_UNIX, SOCK_STREAM, 0, fds));
	CHECK(pthread_create(&t, NULL, writer, NULL) == 0);
	usleep(500);
	for (int i = 0; i < MESSAGES; i++) {
		char message[HEADER + BODY];
		ssize_t n;

		usleep(2000);
		n = read(fds[0], message, sizeof(message));
		if (n != sizeof(message))
			bug("message %d has %zd bytes", i, n);
	}
	CHECK(pthread_join(t, NULL) == 0);
	return 0;
}
