/* What guests write to hermit's stdout and stderr, kept with the event (OUTPUT effects): replay prints it from guest memory, but whoever looks at a recording
 * without replaying it has nothing else.
 *
 * The bytes are taken when the call ends, as many as it wrote. If it slept, others may have changed the buffer meanwhile: then those of its entry count,
 * as on replay. */
#define LOG_AREA "recorder.output"
#include "recorder/rec_priv.h"

#include <limits.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>

/* Bytes kept of a write that others could change while it sleeps. */
#define ENTRY_MAX (1u << 20)
/* Bytes kept in one recording: a program that writes a disk image to its stdout does not get a recording of that size. */
#define TOTAL_MAX (256ull << 20)

typedef void (*range_fn)(struct rec_task *t, uint64_t addr, uint64_t len);

static void each_vector(struct rec_task *t, uint64_t addr, uint64_t count, uint64_t limit, range_fn fn)
{
	struct iovec v;

	for (uint64_t i = 0; i < MIN(count, (uint64_t)IOV_MAX) && limit; i++) {
		uint64_t n;

		if (eng_read(&t->t, addr + i * sizeof(v), &v, sizeof(v)) < 0)
			return;
		n = MIN((uint64_t)v.iov_len, limit);
		if (n)
			fn(t, (uint64_t)v.iov_base, n);
		limit -= n;
	}
}

/* Calls fn for the places that hold the first `limit` bytes which the call hands to its descriptor. */
static void each_range(struct rec_task *t, uint64_t limit, range_fn fn)
{
	const uint64_t *a = t->outs.call.args;
	struct msghdr h;

	switch (t->outs.call.nr) {
	case SYS_write:
	case SYS_pwrite64:
	case SYS_sendto:
		fn(t, a[1], MIN(a[2], limit));
		break;
	case SYS_writev:
	case SYS_pwritev:
	case SYS_pwritev2:
	case SYS_vmsplice:
		each_vector(t, a[1], a[2], limit, fn);
		break;
	case SYS_sendmsg:
		if (eng_read(&t->t, a[1], &h, sizeof(h)) >= 0)
			each_vector(t, (uint64_t)h.msg_iov, h.msg_iovlen, limit, fn);
		break;
	}
}

static void keep_range(struct rec_task *t, uint64_t addr, uint64_t len)
{
	size_t before = t->written.len, n = before < ENTRY_MAX ? MIN(len, (uint64_t)(ENTRY_MAX - before)) : 0;
	void *p = n ? buf_extend(&t->written, n) : NULL;

	if (p && eng_read(&t->t, addr, p, n) < 0)
		t->written.len = before;
}

void rec_output_keep(struct rec_task *t)
{
	buf_clear(&t->written);
	each_range(t, ENTRY_MAX, keep_range);
}

static void add_range(struct rec_task *t, uint64_t addr, uint64_t len)
{
	uint32_t first = t->rec->fx.n;

	fx_memory(&t->rec->fx, &t->t, EFFECT_OUTPUT, addr, len);
	for (uint32_t i = first; i < t->rec->fx.n; i++)
		t->rec->fx.e[i].addr = 0;
}

void rec_output(struct rec_task *t, uint64_t n)
{
	struct rec *rec = t->rec;

	if (n > TOTAL_MAX - rec->output_bytes) {
		if (rec->output_bytes < TOTAL_MAX)
			rec_warn(rec, "the program writes very much: of its further output the recording keeps the beginning of each write only (replay prints all)");
		rec->output_bytes = TOTAL_MAX;
		return;
	}
	rec->output_bytes += n;
	if (t->entered && t->written.len >= n)
		fx_bytes(&rec->fx, EFFECT_OUTPUT, 0, t->written.data, n);
	else
		each_range(t, n, add_range);
}
