/* Counters of the server for /metrics. */
#include "web/server_priv.h"

#include <assert.h>

/* Upper bounds of the histogram in milliseconds; the last is everything. */
static const unsigned bounds_ms[] = { 1, 5, 20, 100, 500, 2000, 10000 };

static_assert(ARRAY_SIZE(bounds_ms) + 1 == ARRAY_SIZE(((struct web_counters *)0)->bucket), "a bucket for each bound and one more");

void counters_request(struct web *w, unsigned status, uint64_t duration_ns)
{
	struct web_counters *c = &w->counters;
	size_t i = 0;

	while (i < ARRAY_SIZE(bounds_ms) && duration_ns > bounds_ms[i] * UINT64_C(1000000))
		i++;
	c->bucket[i]++;
	c->time_ns += duration_ns;
	if (status / 100 < ARRAY_SIZE(c->requests))
		c->requests[status / 100]++;
}

static void print_value(struct buf *b, const char *name, const char *type, const char *help, uint64_t v)
{
	buf_printf(b, "# HELP %s %s\n# TYPE %s %s\n%s %llu\n", name, help, name, type, name, (unsigned long long)v);
}

void counters_print(struct web *w, struct buf *b)
{
	struct web_counters *c = &w->counters;
	uint64_t sum = 0;

	buf_printf(b, "# HELP hermit_http_requests_total Requests answered, by the first digit of the status.\n# TYPE hermit_http_requests_total counter\n");
	for (size_t i = 1; i < ARRAY_SIZE(c->requests); i++)
		buf_printf(b, "hermit_http_requests_total{status=\"%zuxx\"} %llu\n", i, (unsigned long long)c->requests[i]);
	buf_printf(b, "# HELP hermit_http_request_seconds Time until a reply began.\n# TYPE hermit_http_request_seconds histogram\n");
	for (size_t i = 0; i < ARRAY_SIZE(c->bucket); i++) {
		sum += c->bucket[i];
		if (i < ARRAY_SIZE(bounds_ms))
			buf_printf(b, "hermit_http_request_seconds_bucket{le=\"%g\"} %llu\n", bounds_ms[i] / 1e3, (unsigned long long)sum);
		else
			buf_printf(b, "hermit_http_request_seconds_bucket{le=\"+Inf\"} %llu\n", (unsigned long long)sum);
	}
	buf_printf(b, "hermit_http_request_seconds_sum %.6f\nhermit_http_request_seconds_count %llu\n", (double)c->time_ns / 1e9,
		   (unsigned long long)sum);
	print_value(b, "hermit_http_connections", "gauge", "Open connections.", w->conns.n);
	print_value(b, "hermit_http_active_requests", "gauge", "Requests being read or answered.", c->active);
	print_value(b, "hermit_http_streams", "gauge", "Open streams.", c->streams);
	print_value(b, "hermit_http_refused_total", "counter", "Requests refused before they were looked at.", c->refused);
	print_value(b, "hermit_http_timeouts_total", "counter", "Connections cut because they took too long.", c->timeouts);
	print_value(b, "hermit_http_sent_bytes_total", "counter", "Bytes of replies.", c->bytes_out);
	print_value(b, "hermit_http_received_bytes_total", "counter", "Bytes of bodies.", c->bytes_in);
}
