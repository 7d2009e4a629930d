/* Recorded output: what the guest wrote to the recorder's stdout and stderr is written again, in order. */
#define LOG_AREA "replayer.output"
#include "replayer/rep_priv.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>

#include "base/log.h"
#include "base/os.h"

static int emit(struct rep_session *s, int fd, const void *p, size_t n)
{
	int r;

	if (fd < 0 || s->output_closed || !n)
		return 0;
	r = os_write_full(fd, p, n);
	if (r == -EPIPE) { /* the reader has seen enough: the replay goes on */
		s->output_closed = true;
		return 0;
	}
	return r;
}

static int add_memory(struct rep_task *t, struct buf *out, uint64_t addr, uint64_t n)
{
	size_t before = out->len;
	void *p = buf_extend(out, n);
	int r = p ? eng_read(&t->t, addr, p, n) : -ENOMEM;

	if (r < 0)
		out->len = before;
	return r;
}

static int add_iov(struct rep_task *t, struct buf *out, uint64_t addr, uint64_t count, uint64_t limit)
{
	struct iovec v;
	int r = 0;

	for (uint64_t i = 0; i < MIN(count, (uint64_t)IOV_MAX) && limit && r >= 0; i++) {
		uint64_t n;

		r = eng_read(&t->t, addr + i * sizeof(v), &v, sizeof(v));
		if (r < 0)
			break;
		n = MIN((uint64_t)v.iov_len, limit);
		r = add_memory(t, out, (uint64_t)v.iov_base, n);
		limit -= n;
	}
	return r;
}

/* The first `limit` bytes that the call in t hands to its descriptor. */
static int gather(struct rep_task *t, struct buf *out, uint64_t limit)
{
	const uint64_t *a = t->args;
	struct msghdr h;
	int r;

	switch (t->sysno) {
	case SYS_write:
	case SYS_pwrite64:
	case SYS_sendto:
		return add_memory(t, out, a[1], MIN(a[2], limit));
	case SYS_writev:
	case SYS_pwritev:
	case SYS_pwritev2:
	case SYS_vmsplice:
		return add_iov(t, out, a[1], a[2], limit);
	case SYS_sendmsg:
		r = eng_read(&t->t, a[1], &h, sizeof(h));
		return r < 0 ? r : add_iov(t, out, (uint64_t)h.msg_iov, h.msg_iovlen, limit);
	}
	return 0;
}

/* Bytes kept of a write that others could change while it sleeps. */
#define KEEP_MAX (1u << 20)

int rep_output_keep(struct rep_session *s, struct rep_task *t)
{
	t->have_written = false;
	if ((s->opt.stdout_fd < 0 && s->opt.stderr_fd < 0) || !(sys_row(t->sysno)->flags & SYS_F_WRITES))
		return 0;
	buf_clear(&t->written);
	/* Unreadable ends are the kernel's business; what was readable is kept. */
	if (gather(t, &t->written, KEEP_MAX) < 0)
		log_trace("thread %u: write buffer not readable to its end", t->num);
	t->have_written = true;
	return 0;
}

static int moved_output(struct rep_session *s, const struct event *ev, int fd)
{
	for (uint32_t i = 0; i < ev->n_effects; i++) {
		const struct effect *e = &ev->effects[i];
		CLEANUP(freep) void *p = NULL;
		int r;

		if (e->kind != EFFECT_OUTPUT)
			continue;
		p = malloc(e->len ? e->len : 1);
		if (!p)
			return -ENOMEM;
		r = store_reader_data(s->reader, e, 0, p, e->len, NULL);
		if (r >= 0)
			r = emit(s, fd, p, e->len);
		if (r < 0)
			return r;
	}
	return 0;
}

int rep_output(struct rep_session *s, struct rep_task *t, const struct event *ev)
{
	int fd = ev->flags & EVENT_F_STDOUT ? s->opt.stdout_fd : s->opt.stderr_fd;
	CLEANUP(buf_done) struct buf b;
	int r;

	buf_init(&b);
	if (!(ev->flags & (EVENT_F_STDOUT | EVENT_F_STDERR)) || ev->result <= 0)
		return 0;
	if (!(sys_row(t->sysno)->flags & SYS_F_WRITES) || t->sysno == SYS_sendfile || t->sysno == SYS_splice || t->sysno == SYS_copy_file_range ||
	    t->sysno == SYS_tee)
		return moved_output(s, ev, fd);
	if (t->have_written && t->written.len >= (uint64_t)ev->result)
		return emit(s, fd, t->written.data, (size_t)ev->result);
	r = gather(t, &b, (uint64_t)ev->result);
	return r < 0 ? r : emit(s, fd, b.data, b.len);
}
