/* A small order service with a bug, for docs/FIVE-MINUTES.md. Build: cc -g -O2 -o orderd orderd.c; run: ./orderd [PORT]
 *
 *	curl 'http://127.0.0.1:8080/order?sku=tea&qty=2&note=no+rush'	takes an order, answers its number
 *	curl 'http://127.0.0.1:8080/report'				what all orders come to
 */
#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

struct product {
	const char *sku;
	unsigned cents;
};

struct order {
	unsigned quantity;
	char note[20];
	const struct product *product;
};

static const struct product catalog[] = {{"tea", 450}, {"coffee", 780}, {"cocoa", 620}};
static struct order orders[1000];
static size_t n_orders;

/* The value of a parameter of the request, or NULL; it ends at & or blank. */
static const char *parameter(const char *request, const char *name)
{
	const char *at = strstr(request, name);

	return at ? at + strlen(name) : NULL;
}

static void decode(char *to, const char *from)
{
	while (*from && *from != '&' && *from != ' ') {
		if (*from == '+') {
			*to++ = ' ';
			from++;
		} else {
			*to++ = *from++;
		}
	}
	*to = '\0';
}

static const struct product *find_product(const char *sku)
{
	for (size_t i = 0; i < sizeof(catalog) / sizeof(catalog[0]); i++)
		if (!strncmp(sku, catalog[i].sku, strlen(catalog[i].sku)))
			return &catalog[i];
	return NULL;
}

static int take_order(const char *request, char *answer, size_t size)
{
	const char *sku = parameter(request, "sku=");
	const char *quantity = parameter(request, "qty=");
	const char *note = parameter(request, "note=");
	const struct product *product = sku ? find_product(sku) : NULL;
	struct order *order = &orders[n_orders];

	if (!product || n_orders + 1 >= sizeof(orders) / sizeof(orders[0]))
		return 400;
	order->product = product;
	order->quantity = quantity ? (unsigned)atoi(quantity) : 1;
	if (note)
		decode(order->note, note);
	n_orders++;
	snprintf(answer, size, "order %zu\n", n_orders);
	return 200;
}

static unsigned long order_total(const struct order *order)
{
	return (unsigned long)order->quantity * order->product->cents;
}

static int report(char *answer, size_t size)
{
	unsigned long cents = 0;

	for (size_t i = 0; i < n_orders; i++)
		cents += order_total(&orders[i]);
	snprintf(answer, size, "%zu orders, %lu.%02lu\n", n_orders, cents / 100, cents % 100);
	return 200;
}

static void serve(int client)
{
	char request[2048], answer[256] = "", head[128];
	ssize_t n = read(client, request, sizeof(request) - 1);
	int status = 404;

	if (n <= 0)
		return;
	request[n] = '\0';
	if (!strncmp(request, "GET /order?", 11))
		status = take_order(request, answer, sizeof(answer));
	else if (!strncmp(request, "GET /report", 11))
		status = report(answer, sizeof(answer));
	printf("%d %.*s\n", status, (int)strcspn(request, "\r\n"), request);
	snprintf(head, sizeof(head), "HTTP/1.0 %d -\r\nContent-Length: %zu\r\n\r\n", status, strlen(answer));
	if (write(client, head, strlen(head)) < 0 || write(client, answer, strlen(answer)) < 0)
		perror("write");
}

int main(int argc, char **argv)
{
	struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	int one = 1;
	int listener = socket(AF_INET, SOCK_STREAM, 0);

	setvbuf(stdout, NULL, _IOLBF, 0);
	address.sin_port = htons((unsigned short)(argc > 1 ? atoi(argv[1]) : 8080));
	setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	if (bind(listener, (struct sockaddr *)&address, sizeof(address)) || listen(listener, 64)) {
		perror("orderd");
		return 1;
	}
	printf("orderd: listening on port %d\n", ntohs(address.sin_port));
	for (;;) {
		int client = accept(listener, NULL, NULL);

		if (client < 0)
			continue;
		serve(client);
		close(client);
	}
}
