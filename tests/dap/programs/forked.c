/* A server that forks for each connection; its clients are forks as well. */
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

static int served;

static void ask(const struct sockaddr_un *where, socklen_t n, int number)
{
	char text[64];
	int s = socket(AF_UNIX, SOCK_STREAM, 0);
	ssize_t got;

	if (connect(s, (const struct sockaddr *)where, n) < 0)
		_exit(2);
	snprintf(text, sizeof(text), "question %d", number);
	if (write(s, text, strlen(text)) < 0)
		_exit(3);
	got = read(s, text, sizeof(text) - 1);
	_exit(got > 0 ? 0 : 4);
}

static int answer(const char *question, char *text, size_t size)
{
	int number = 0;

	sscanf(question, "question %d", &number);
	served += number; /* in answer */
	return snprintf(text, size, "answer %d", number * 2);
}

static void serve(int s)
{
	char question[64] = "", text[64];
	ssize_t n = read(s, question, sizeof(question) - 1);
	int length;

	if (n <= 0)
		_exit(1);
	length = answer(question, text, sizeof(text)); /* in serve */
	if (write(s, text, (size_t)length) < 0)
		_exit(1);
	_exit(0);
}

int main(void)
{
	struct sockaddr_un where = { .sun_family = AF_UNIX };
	int listener = socket(AF_UNIX, SOCK_STREAM, 0), status, failed = 0;
	socklen_t n;

	n = (socklen_t)(sizeof(sa_family_t) + 1 + (size_t)snprintf(where.sun_path + 1, 60, "hermit-forked-%d", getpid()));
	if (bind(listener, (struct sockaddr *)&where, n) < 0 || listen(listener, 5) < 0)
		return 1;
	for (int i = 1; i <= 3; i++) {
		int s;

		if (fork() == 0)
			ask(&where, n, i);
		s = accept(listener, NULL, NULL);
		if (fork() == 0)
			serve(s);
		close(s);
		served++; /* one more */
	}
	while (wait(&status) > 0)
		failed += status != 0;
	printf("%d served, %d failed\n", served, failed);
	return failed;
}
