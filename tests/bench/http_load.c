/* Load on an HTTP server: so many clients, each with one connection, ask for a path again and again.
 *
 *     http_load HOST:PORT PATH CLIENTS SECONDS [HEADER]...      "200 clients, 10.0 s: 12345 requests, 1234 req/s, p50 1.2 p99 3.4 max 5.6 ms, 0 errors"
 *
 * One thread with epoll: it takes a part of the machine, as clients do. Answers need a Content-Length. */
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <arpa/inet.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define CLIENTS_MAX 4096
#define SAMPLES_MAX (4u << 20)
#define HEAD_MAX 8192

struct client {
	int fd;
	uint64_t begun_ns;
	char head[HEAD_MAX];
	size_t head_len;
	long long left; /* bytes of the body to come; -1 = still in the head */
};

struct load {
	struct sockaddr_in address;
	char request[16384];
	size_t request_len;
	int epoll;
	unsigned errors;
	size_t n_samples;
	uint32_t *sample_us;
	uint64_t bytes;
};

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

static int ask(struct load *l, struct client *c)
{
	c->head_len = 0;
	c->left = -1;
	c->begun_ns = now_ns();
	return send(c->fd, l->request, l->request_len, MSG_NOSIGNAL) == (ssize_t)l->request_len ? 0 : -1;
}

static int open_client(struct load *l, struct client *c)
{
	struct epoll_event e = { .events = EPOLLIN, .data.ptr = c };
	int on = 1;

	c->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (c->fd < 0 || connect(c->fd, (struct sockaddr *)&l->address, sizeof(l->address)) < 0)
		return -1;
	(void)setsockopt(c->fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
	return epoll_ctl(l->epoll, EPOLL_CTL_ADD, c->fd, &e) < 0 ? -1 : ask(l, c);
}

static void answered(struct load *l, struct client *c)
{
	if (strncmp(c->head, "HTTP/1.1 2", 10) != 0)
		l->errors++;
	if (l->n_samples < SAMPLES_MAX)
		l->sample_us[l->n_samples++] = (uint32_t)((now_ns() - c->begun_ns) / 1000);
}

/* Takes n bytes. 1 when the answer is whole, -1 when it makes no sense. */
static int take(struct client *c, const char *p, size_t n)
{
	while (n && c->left < 0) {
		char *length;

		if (c->head_len + 1 >= HEAD_MAX)
			return -1;
		c->head[c->head_len++] = *p++;
		c->head[c->head_len] = '\0';
		n--;
		if (c->head_len < 4 || memcmp(c->head + c->head_len - 4, "\r\n\r\n", 4) != 0)
			continue;
		length = strcasestr(c->head, "\r\nContent-Length:");
		if (!length)
			return -1;
		c->left = strtoll(length + 17, NULL, 10);
	}
	c->left -= c->left > 0 ? (long long)n : 0;
	return c->left == 0;
}

static void serve(struct load *l, struct client *c)
{
	static char piece[256 << 10];
	ssize_t n = recv(c->fd, piece, sizeof(piece), 0);
	int r = n > 0 ? take(c, piece, (size_t)n) : -1;

	if (n > 0)
		l->bytes += (uint64_t)n;
	if (r > 0) {
		answered(l, c);
		r = ask(l, c);
	}
	if (r < 0) {
		l->errors++;
		close(c->fd);
		if (open_client(l, c) < 0)
			exit(2);
	}
}

static int by_size(const void *a, const void *b)
{
	const uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return (x > y) - (x < y);
}

static void report(struct load *l, int clients, double seconds)
{
	const size_t n = l->n_samples;

	qsort(l->sample_us, n, sizeof(*l->sample_us), by_size);
	printf("%d clients, %.1f s: %zu requests, %.0f req/s, %.1f MB/s, p50 %.1f p99 %.1f max %.1f ms, %u errors\n", clients, seconds, n, (double)n / seconds,
	       (double)l->bytes / seconds / 1e6, n ? l->sample_us[n / 2] / 1e3 : 0, n ? l->sample_us[n * 99 / 100] / 1e3 : 0,
	       n ? l->sample_us[n - 1] / 1e3 : 0, l->errors);
}

int main(int argc, char **argv)
{
	static struct load l;
	static struct client clients[CLIENTS_MAX];
	struct epoll_event e[64];
	uint64_t begun, end;
	int n = argc > 4 ? (int)strtol(argv[3], NULL, 10) : 0, port = 0, r;
	char host[64];

	if (n < 1 || n > CLIENTS_MAX || sscanf(argv[1], "%63[^:]:%d", host, &port) != 2) {
		fprintf(stderr, "usage: http_load HOST:PORT PATH CLIENTS SECONDS [HEADER]...\n");
		return 2;
	}
	l.address = (struct sockaddr_in){ .sin_family = AF_INET, .sin_port = htons((uint16_t)port) };
	inet_pton(AF_INET, host, &l.address.sin_addr);
	l.sample_us = malloc(SAMPLES_MAX * sizeof(*l.sample_us));
	l.epoll = epoll_create1(EPOLL_CLOEXEC);
	r = snprintf(l.request, sizeof(l.request), "GET %s HTTP/1.1\r\nHost: %s\r\n", argv[2], argv[1]);
	for (int i = 5; i < argc; i++)
		r += snprintf(l.request + r, sizeof(l.request) - (size_t)r, "%s\r\n", argv[i]);
	l.request_len = (size_t)(r + snprintf(l.request + r, sizeof(l.request) - (size_t)r, "\r\n"));
	begun = now_ns();
	end = begun + (uint64_t)(strtod(argv[4], NULL) * 1e9);
	for (int i = 0; i < n; i++) {
		if (open_client(&l, &clients[i]) < 0) {
			perror("connect");
			return 1;
		}
	}
	while (now_ns() < end) {
		int k = epoll_wait(l.epoll, e, 64, 100);

		for (int i = 0; i < k; i++)
			serve(&l, e[i].data.ptr);
	}
	report(&l, n, (double)(now_ns() - begun) / 1e9);
	return l.errors != 0;
}
