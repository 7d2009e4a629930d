/* The stub's life and its wire: receives, acknowledges, sends, and looks at the client while guests run.
 *
 * Reading never blocks a running guest: stub_tick() takes what has come, as far as the buffer goes, and looks for an interrupt at its front.
 * A client that is gone shows as s->gone; everything unwinds from there. */
#define LOG_AREA "gdbstub"
#include "gdbstub/stub_priv.h"

#include <errno.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include "base/log.h"
#include "base/os.h"

#define READ_CHUNK 4096u
#define INPUT_MAX (2u * STUB_PACKET_MAX)
/* When a search begins to tell how far it is, and how often. */
#define TELL_AFTER_NS 2000000000ull
#define TELL_EVERY_NS 1000000000ull
/* A client that goes on within that time was not asked to by its user. */
#define LATE_NS 200000000ull
#define CONSOLE_MAX 8192u

int stub_new(const struct stub_options *opt, struct stub **ret)
{
	struct stub *s = calloc(1, sizeof(*s));

	if (!s)
		return -ENOMEM;
	if (opt)
		s->opt = *opt;
	s->in_fd = s->out_fd = -1;
	*ret = s;
	return 0;
}

void stub_free(struct stub *s)
{
	struct buf *bufs[] = { &s->in, &s->request, &s->reply, &s->sent, &s->cache, &s->xstate, &s->divert_xstate };

	if (!s)
		return;
	for (size_t i = 0; i < ARRAY_SIZE(bufs); i++)
		buf_done(bufs[i]);
	free(s->breaks);
	free(s->bookmarks);
	free(s);
}

void stub_freep(struct stub **s)
{
	stub_free(*s);
}

/* --- sending --- */

/* Without blocking on a client that went away: poll() tells of that while the pipe is full. */
static int put_bytes(int fd, const uint8_t *p, size_t n)
{
	struct pollfd pfd = { .fd = fd, .events = POLLOUT };
	ssize_t r = send(fd, p, n, MSG_NOSIGNAL | MSG_DONTWAIT);

	if (r < 0 && errno == ENOTSOCK)
		r = write(fd, p, MIN(n, (size_t)READ_CHUNK));
	if (r >= 0)
		return (int)r;
	if (errno == EINTR)
		return 0;
	if (errno != EAGAIN)
		return -errno;
	if (poll(&pfd, 1, -1) < 0 && errno != EINTR)
		return -errno;
	return pfd.revents & (POLLERR | POLLHUP | POLLNVAL) ? -EPIPE : 0;
}

static void put_wire(struct stub *s, const void *p, size_t n)
{
	for (size_t at = 0; at < n && !s->gone;) {
		int r = put_bytes(s->out_fd, (const uint8_t *)p + at, n - at);

		if (r < 0)
			s->gone = true;
		else
			at += (size_t)r;
	}
}

void stub_send(struct stub *s, const void *body, size_t n)
{
	buf_clear(&s->sent);
	rsp_put_packet(&s->sent, body, n);
	if (buf_error(&s->sent)) {
		s->gone = true;
		return;
	}
	log_trace("> %.200s", buf_cstr(&s->sent));
	put_wire(s, s->sent.data, s->sent.len);
}

void stub_console(struct stub *s, const char *fmt, ...)
{
	char text[CONSOLE_MAX];
	struct buf body CLEANUP(buf_done) = { 0 };
	va_list ap;
	int n;

	if (!s->talking)
		return;
	va_start(ap, fmt);
	n = vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	if (n <= 0)
		return;
	buf_put_u8(&body, 'O');
	rsp_put_hex(&body, text, MIN((size_t)n, sizeof(text) - 1));
	stub_send(s, body.data, body.len);
}

/* --- receiving --- */

/* Takes what is there. timeout_ms as for poll(). */
static void fill(struct stub *s, int timeout_ms)
{
	struct pollfd pfd = { .fd = s->in_fd, .events = POLLIN | POLLRDHUP };
	uint8_t chunk[READ_CHUNK];
	ssize_t n;

	if (s->in.len >= INPUT_MAX)
		pfd.events = POLLRDHUP; /* a client that floods us waits; that it went away is still seen */
	if (poll(&pfd, 1, timeout_ms) <= 0)
		return;
	if (!(pfd.revents & POLLIN)) {
		s->gone = s->gone || (pfd.revents & (POLLHUP | POLLERR | POLLNVAL | POLLRDHUP)) != 0;
		return;
	}
	n = read(s->in_fd, chunk, sizeof(chunk));
	if (n > 0)
		buf_put(&s->in, chunk, (size_t)n);
	else if (n == 0 || (errno != EINTR && errno != EAGAIN))
		s->gone = true;
	if (buf_error(&s->in))
		s->gone = true;
}

static void drop(struct stub *s, size_t n)
{
	s->in.len -= n;
	if (n && s->in.len)
		memmove(s->in.data, s->in.data + n, s->in.len);
}

/* Interrupts at the front of what has come. Acknowledgements of console output lie before them. */
static void look_for_interrupt(struct stub *s)
{
	struct rsp_frame f;

	for (;;) {
		rsp_scan(s->in.data, s->in.len, STUB_PACKET_MAX, &f);
		if (f.kind != RSP_ACK && f.kind != RSP_NAK && f.kind != RSP_INTERRUPT)
			return;
		s->interrupted = s->interrupted || f.kind == RSP_INTERRUPT;
		drop(s, f.taken);
	}
}

void stub_run_begin(struct stub *s)
{
	s->talking = true;
	s->interrupted = false;
	s->run_since_ns = s->told_ns = os_mono_ns();
	look_for_interrupt(s);
}

/* A client that evaluates a condition, or prints, and goes on by itself: what its user wants stopped is all of that, of which single runs are the least part. */
bool stub_run_unwanted(struct stub *s)
{
	bool late = s->late_ns && os_mono_ns() - s->late_ns < LATE_NS;

	s->late_ns = 0;
	return s->interrupted || late;
}

void stub_run_end(struct stub *s)
{
	s->talking = false;
}

static void tell(struct stub *s, const struct dbg_progress *p)
{
	uint64_t now = os_mono_ns();

	if (!p || now - s->run_since_ns < TELL_AFTER_NS || now - s->told_ns < TELL_EVERY_NS)
		return;
	s->told_ns = now;
	stub_console(s, "[%s: event %llu of %llu]\n", p->what ? p->what : "running", (unsigned long long)p->event, (unsigned long long)p->total);
}

bool stub_tick(void *stub, const struct dbg_progress *p)
{
	struct stub *s = stub;

	if (s->in_fd < 0)
		return false;
	fill(s, 0);
	look_for_interrupt(s);
	if (s->talking && !s->gone)
		tell(s, p);
	return s->gone || s->interrupted || (s->give_up_ns && os_mono_ns() >= s->give_up_ns);
}

/* --- serving --- */

static void answer(struct stub *s, const struct rsp_frame *f)
{
	int r;

	if (!s->c.no_ack)
		put_wire(s, "+", 1);
	buf_clear(&s->request);
	buf_clear(&s->reply);
	s->no_reply = s->interrupted = false;
	r = rsp_unescape(&f->body, &s->request);
	drop(s, f->taken);
	if (r < 0) {
		stub_refuse(s, r, "a packet ends in the middle of an escape");
	} else {
		log_trace("< %.200s", buf_cstr(&s->request));
		stub_packet(s);
	}
	if (buf_error(&s->reply) || s->reply.len > STUB_PACKET_MAX) {
		buf_clear(&s->reply);
		stub_refuse(s, ERR_LIMIT, "the answer is too long");
	}
	if (!s->no_reply && !s->gone)
		stub_send(s, s->reply.data, s->reply.len);
}

/* A client that had to wait for its turn has said its first packet again and again meanwhile: it wants one answer. */
static void skip_repeats(struct stub *s, size_t n)
{
	while (!s->sent.len && s->in.len >= 2 * n && memcmp(s->in.data, s->in.data + n, n) == 0)
		drop(s, n);
}

static void serve_frame(struct stub *s)
{
	struct rsp_frame f;

	rsp_scan(s->in.data, s->in.len, STUB_PACKET_MAX, &f);
	switch (f.kind) {
	case RSP_PACKET:
		skip_repeats(s, f.taken);
		answer(s, &f);
		return;
	case RSP_MORE:
		drop(s, f.taken);
		fill(s, -1);
		return;
	case RSP_BAD:
	case RSP_TOO_LONG:
		if (!s->c.no_ack)
			put_wire(s, "-", 1);
		break;
	case RSP_NAK:
		if (!s->c.no_ack)
			put_wire(s, s->sent.data, s->sent.len);
		break;
	case RSP_ACK:
		break;
	case RSP_INTERRUPT: /* nothing runs: the client's wish is fulfilled, if it does not go on at once */
		s->late_ns = os_mono_ns();
		break;
	}
	drop(s, f.taken);
}

static void client_begin(struct stub *s, struct dbg *d, int in_fd, int out_fd)
{
	const struct manifest_process *p = dbg_process(d);
	const struct manifest *m = dbg_reader(d) ? store_reader_manifest(dbg_reader(d)) : NULL;

	s->d = d;
	s->in_fd = in_fd;
	s->out_fd = out_fd;
	s->pid = p && p->pid > 0 ? p->pid : 1;
	s->c = (struct stub_client){ 0 };
	s->gone = s->interrupted = s->talking = false;
	s->end = -1;
	s->divert = DIVERT_NONE;
	s->divert_calls = 0;
	s->armed = (struct stub_place){ 0 };
	s->cache_name[0] = '\0';
	s->last_tid = 0;
	s->last = (struct dbg_stop){ .kind = DBG_STOP_SEEK, .tid = stub_current(s) };
	buf_clear(&s->in);
	buf_clear(&s->sent);
	regs_layout_init(&s->layout, m ? m->cpu : NULL);
}

static void client_end(struct stub *s)
{
	stub_divert_drop(s, NULL);
	stub_breaks_clear(s);
	stub_files_clear(s);
	s->in_fd = s->out_fd = -1;
	s->d = NULL;
}

int stub_serve(struct stub *s, struct dbg *d, int in_fd, int out_fd, struct errinfo *ei)
{
	int end;

	if (s->in_fd >= 0)
		return errinfo_set(ei, ERR_BUSY, "a client is being served already");
	client_begin(s, d, in_fd, out_fd);
	while (!s->gone && s->end < 0)
		serve_frame(s);
	end = s->end < 0 ? STUB_GONE : s->end;
	log_debug("client is gone: %d", end);
	client_end(s);
	return end;
}
