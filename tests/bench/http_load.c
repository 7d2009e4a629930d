/* Load on an HTTP server: clients with a connection each, which ask for one thing of a plan, read the answer, think, and ask again; and listeners, which hold an
 * event stream open. tests/bench/server.py makes plans and shows what this prints.
 *
 *     http_load HOST:PORT PLAN CLIENTS LISTENERS SECONDS THINK_MS [HEADER]...
 *
 * PLAN has lines "KIND WEIGHT PATH": a kind is drawn by its weight (of its first line), then one of its paths. The kind `stream` is what listeners ask for.
 * THINK_MS is the mean of an exponential distribution; 0: the next request follows at once. Prints a line for each kind,
 *
 *     KIND count errors p50 p99 max bytes          times in microseconds, from the request to the last byte of its answer
 *
 * then "driver cpu_us MICROSECONDS late_us P99", late: how much later than planned requests were sent. One thread with epoll, at a higher priority where that is allowed, since
 * a client's own waiting for the processor is no latency of the server. Answers need a Content-Length. */
#include <arpa/inet.h>
#include <errno.h>
#include <math.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define CLIENTS_MAX 4096
#define KINDS_MAX 32
#define HEAD_MAX 8192
#define REQUEST_MAX 16384
#define SHOWN_ERRORS 8
#define DRIVER_NICE (-10)

struct samples {
	uint32_t *us;
	size_t n, cap;
};

struct kind {
	char name[32];
	double weight;
	char **path;
	size_t n_paths;
	struct samples took;
	uint64_t errors, bytes;
};

struct client {
	int fd; /* -1: thinks without a connection */
	bool listens, waits; /* waits: for an answer */
	struct kind *kind;
	const char *path;
	uint64_t next_ns, begun_ns;
	char head[HEAD_MAX];
	size_t head_len;
	long long left; /* bytes of the body to come; -1 = still in the head */
};

struct load {
	struct sockaddr_in address;
	const char *host;
	char headers[4096];
	int epoll;
	double think_ns, weights;
	size_t n_kinds;
	struct kind kind[KINDS_MAX], *stream;
	struct samples late;
	unsigned shown;
};

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

static void add_sample(struct samples *s, uint64_t ns)
{
	if (s->n == s->cap) {
		s->cap = s->cap ? 2 * s->cap : 4096;
		s->us = realloc(s->us, s->cap * sizeof(*s->us));
		if (!s->us)
			abort();
	}
	s->us[s->n++] = (uint32_t)(ns / 1000);
}

static void failed(struct load *l, struct client *c, const char *why)
{
	c->kind->errors++;
	if (l->shown++ < SHOWN_ERRORS)
		fprintf(stderr, "http_load: %s %s: %.100s\n", c->kind->name, c->path, why);
}

/* --- plan --- */

static struct kind *find_kind(struct load *l, const char *name, double weight)
{
	struct kind *k;

	for (size_t i = 0; i < l->n_kinds; i++) {
		if (strcmp(l->kind[i].name, name) == 0)
			return &l->kind[i];
	}
	if (l->n_kinds == KINDS_MAX) {
		fprintf(stderr, "http_load: too many kinds\n");
		exit(2);
	}
	k = &l->kind[l->n_kinds++];
	snprintf(k->name, sizeof(k->name), "%s", name);
	if (strcmp(name, "stream") == 0)
		l->stream = k;
	else
		l->weights += k->weight = weight;
	return k;
}

static void read_plan(struct load *l, const char *file)
{
	char name[32], path[4096];
	FILE *f = fopen(file, "r");
	double weight;

	if (!f) {
		perror(file);
		exit(2);
	}
	while (fscanf(f, "%31s %lf %4095s", name, &weight, path) == 3) {
		struct kind *k = find_kind(l, name, weight);

		k->path = realloc(k->path, (k->n_paths + 1) * sizeof(*k->path));
		k->path[k->n_paths++] = strdup(path);
	}
	fclose(f);
}

static void draw(struct load *l, struct client *c)
{
	double at = drand48() * l->weights;
	size_t i = 0;

	c->kind = l->stream;
	if (!c->listens) {
		while (i + 1 < l->n_kinds && (at -= l->kind[i].weight) >= 0)
			i++;
		c->kind = &l->kind[i];
	}
	c->path = c->kind->path[(size_t)(drand48() * (double)c->kind->n_paths)];
}

/* --- clients --- */

static void think(struct load *l, struct client *c)
{
	c->waits = false;
	c->next_ns = now_ns() + (uint64_t)(l->think_ns > 0 ? -log(1 - drand48()) * l->think_ns : 0);
}

static void hang_up(struct client *c)
{
	if (c->fd >= 0)
		close(c->fd);
	c->fd = -1;
}

static int dial(struct load *l, struct client *c)
{
	struct epoll_event e = { .events = EPOLLIN, .data.ptr = c };
	int on = 1;

	if (c->fd >= 0)
		return 0;
	c->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (c->fd < 0 || connect(c->fd, (struct sockaddr *)&l->address, sizeof(l->address)) < 0)
		return -1;
	(void)setsockopt(c->fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
	return epoll_ctl(l->epoll, EPOLL_CTL_ADD, c->fd, &e);
}

static void ask(struct load *l, struct client *c)
{
	char request[REQUEST_MAX];
	int n;

	draw(l, c);
	n = snprintf(request, sizeof(request), "GET %s HTTP/1.1\r\nHost: %s\r\n%s\r\n", c->path, l->host, l->headers);
	c->head_len = 0;
	c->left = -1;
	c->waits = true;
	c->begun_ns = now_ns();
	if (l->think_ns > 0)
		add_sample(&l->late, c->begun_ns - c->next_ns);
	if (dial(l, c) == 0 && send(c->fd, request, (size_t)n, MSG_NOSIGNAL) == n)
		return;
	failed(l, c, strerror(errno));
	hang_up(c);
	think(l, c);
}

/* The head is there: status and length. */
static const char *read_head(struct client *c)
{
	const char *length = strcasestr(c->head, "\r\nContent-Length:");

	if (strncmp(c->head, "HTTP/1.1 2", 10) != 0)
		return c->head;
	if (c->listens)
		return NULL;
	if (!length)
		return "no length";
	c->left = strtoll(length + 17, NULL, 10);
	return NULL;
}

/* Takes n bytes. 1 when the answer is whole, -1 when it makes no sense. */
static int take(struct load *l, struct client *c, const char *p, size_t n)
{
	while (n && c->left < 0) {
		const char *bad;

		if (c->head_len + 1 >= HEAD_MAX) {
			failed(l, c, "endless head");
			return -1;
		}
		c->head[c->head_len++] = *p++;
		c->head[c->head_len] = '\0';
		n--;
		if (c->head_len < 4 || memcmp(c->head + c->head_len - 4, "\r\n\r\n", 4) != 0)
			continue;
		bad = read_head(c);
		if (bad) {
			failed(l, c, bad);
			return -1;
		}
		if (c->listens) {
			add_sample(&c->kind->took, now_ns() - c->begun_ns);
			c->left = INT64_MAX;
		}
	}
	if (c->listens || c->left < 0)
		return 0;
	c->left -= (long long)n;
	return c->left == 0;
}

static void serve(struct load *l, struct client *c)
{
	static char piece[256 << 10];
	ssize_t n = recv(c->fd, piece, sizeof(piece), 0);
	int r = n > 0 ? take(l, c, piece, (size_t)n) : -1;

	if (n > 0 && c->kind)
		c->kind->bytes += (uint64_t)n;
	/* a connection that nobody used may be closed, as browsers know */
	if (n <= 0 && c->waits)
		failed(l, c, n < 0 ? strerror(errno) : "closed before the answer was whole");
	if (r < 0)
		hang_up(c);
	if (r > 0)
		add_sample(&c->kind->took, now_ns() - c->begun_ns);
	if (r)
		think(l, c);
}

/* Those whose time has come ask. Milliseconds until the next one. */
static int ask_all(struct load *l, struct client *c, int n)
{
	uint64_t now = now_ns(), first = now + 100000000;

	for (int i = 0; i < n; i++) {
		if (c[i].waits)
			continue;
		if (c[i].next_ns <= now)
			ask(l, &c[i]);
		else if (c[i].next_ns < first)
			first = c[i].next_ns;
	}
	return (int)((first - now) / 1000000);
}

/* --- what it was --- */

static int by_size(const void *a, const void *b)
{
	const uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return (x > y) - (x < y);
}

static uint32_t share(struct samples *s, unsigned permille)
{
	return s->n ? s->us[s->n * permille / 1000 - (permille == 1000)] : 0;
}

static int report(struct load *l)
{
	struct rusage u;
	uint64_t errors = 0;

	for (size_t i = 0; i < l->n_kinds; i++) {
		struct kind *k = &l->kind[i];

		qsort(k->took.us, k->took.n, sizeof(*k->took.us), by_size);
		errors += k->errors;
		printf("%s %zu %llu %u %u %u %llu\n", k->name, k->took.n, (unsigned long long)k->errors, share(&k->took, 500), share(&k->took, 990),
		       share(&k->took, 1000), (unsigned long long)k->bytes);
	}
	qsort(l->late.us, l->late.n, sizeof(*l->late.us), by_size);
	getrusage(RUSAGE_SELF, &u);
	printf("driver cpu_us %lld late_us %u\n", (long long)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) * 1000000 + u.ru_utime.tv_usec + u.ru_stime.tv_usec,
	       share(&l->late, 990));
	return errors != 0;
}

static void setup(struct load *l, int argc, char **argv)
{
	size_t at = 0;
	char host[64];
	int port;

	if (sscanf(argv[1], "%63[^:]:%d", host, &port) != 2)
		exit(2);
	l->host = argv[1];
	l->address = (struct sockaddr_in){ .sin_family = AF_INET, .sin_port = htons((uint16_t)port) };
	inet_pton(AF_INET, host, &l->address.sin_addr);
	for (int i = 7; i < argc && at < sizeof(l->headers); i++)
		at += (size_t)snprintf(l->headers + at, sizeof(l->headers) - at, "%s\r\n", argv[i]);
	l->think_ns = strtod(argv[6], NULL) * 1e6;
	l->epoll = epoll_create1(EPOLL_CLOEXEC);
	read_plan(l, argv[2]);
	if (setpriority(PRIO_PROCESS, 0, DRIVER_NICE) < 0)
		fprintf(stderr, "http_load: at usual priority: latencies include the driver's own waiting\n");
}

int main(int argc, char **argv)
{
	static struct load l;
	static struct client clients[CLIENTS_MAX];
	struct epoll_event e[64];
	int n = argc > 6 ? (int)(strtol(argv[3], NULL, 10) + strtol(argv[4], NULL, 10)) : 0;
	uint64_t end;

	if (n < 1 || n > CLIENTS_MAX) {
		fprintf(stderr, "usage: http_load HOST:PORT PLAN CLIENTS LISTENERS SECONDS THINK_MS [HEADER]...\n");
		return 2;
	}
	setup(&l, argc, argv);
	for (int i = 0; i < n; i++) {
		clients[i].fd = -1;
		clients[i].listens = i >= strtol(argv[3], NULL, 10);
		think(&l, &clients[i]);
	}
	end = now_ns() + (uint64_t)(strtod(argv[5], NULL) * 1e9);
	while (now_ns() < end) {
		int k = epoll_wait(l.epoll, e, 64, ask_all(&l, clients, n));

		for (int i = 0; i < k; i++)
			serve(&l, e[i].data.ptr);
	}
	return report(&l);
}
