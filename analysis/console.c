/* See console.h. */
#include "analysis/console.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include "analysis/limits.h"
#include "base/os.h"

struct console {
	uint64_t *word[2]; /* a bit for each event: wrote to stdout, to stderr */
	size_t n;          /* words */
	uint64_t last, bytes[2];
	bool incomplete;
};

int console_new(struct console **ret)
{
	*ret = os_calloc(1, sizeof(**ret));
	return *ret ? 0 : -ENOMEM;
}

void console_free(struct console *c)
{
	if (!c)
		return;
	free(c->word[0]);
	free(c->word[1]);
	free(c);
}

static bool reach(struct console *c, uint64_t event)
{
	size_t n = (size_t)(event / 64 + 1);

	if (event > CONSOLE_EVENTS_MAX)
		return false;
	if (n <= c->n)
		return true;
	n = MAX(n + 64, c->n * 2);
	for (int i = 0; i < 2; i++) {
		uint64_t *more = reallocarray(c->word[i], n, sizeof(*more));

		if (!more)
			return false;
		memset(more + c->n, 0, (n - c->n) * sizeof(*more));
		c->word[i] = more;
	}
	c->n = n;
	return true;
}

static bool writes(const struct event *ev)
{
	return (ev->flags & (EVENT_F_STDOUT | EVENT_F_STDERR)) && (ev->kind == EVENT_SYSCALL || ev->kind == EVENT_SYSCALL_EXIT) && ev->result > 0;
}

static int stream_of(const struct event *ev)
{
	return ev->flags & EVENT_F_STDOUT ? 0 : 1;
}

void console_see(struct console *c, const struct event *ev)
{
	int s = stream_of(ev);

	c->last = ev->number;
	if (!writes(ev))
		return;
	if (!reach(c, ev->number)) {
		c->incomplete = true;
		return;
	}
	c->word[s][ev->number / 64] |= UINT64_C(1) << ev->number % 64;
	c->bytes[s] += (uint64_t)ev->result;
}

uint64_t console_next(const struct console *c, uint64_t after, unsigned streams)
{
	uint64_t from = after + 1;

	if (!from)
		return 0;
	for (size_t w = from / 64; w < c->n; w++) {
		uint64_t bits = (streams & CONSOLE_OUT ? c->word[0][w] : 0) | (streams & CONSOLE_ERR ? c->word[1][w] : 0);

		if (w == from / 64)
			bits &= ~UINT64_C(0) << from % 64;
		if (bits)
			return w * 64 + (uint64_t)__builtin_ctzll(bits);
	}
	return 0;
}

uint64_t console_bytes(const struct console *c, enum console_stream s)
{
	return (s & CONSOLE_OUT ? c->bytes[0] : 0) + (s & CONSOLE_ERR ? c->bytes[1] : 0);
}

bool console_complete(const struct console *c)
{
	return !c->incomplete;
}

/* Bytes that a call writes from here on are an input of it, of which recorders keep the beginning. */
static bool plain_write(const struct event *ev)
{
	return ev->kind == EVENT_SYSCALL && (ev->sysno == SYS_write || ev->sysno == SYS_pwrite64 || ev->sysno == SYS_sendto);
}

/* Appends bytes of an effect from `skip` on; what is left of *skip and *max goes on to the next one. */
static int append(struct store_reader *r, const struct effect *e, uint64_t *skip, size_t *max, struct buf *out, struct errinfo *ei)
{
	uint64_t from = MIN(*skip, e->len), n = MIN(e->len - from, (uint64_t)*max);
	void *p;
	int err;

	*skip -= from;
	if (!n)
		return 0;
	p = buf_extend(out, n);
	if (!p)
		return buf_error(out);
	err = store_reader_data(r, e, from, p, n, ei);
	if (err < 0)
		out->len -= n;
	else
		*max -= n;
	return err < 0 ? err : 0;
}

static int append_all(struct store_reader *r, const struct event *ev, uint64_t skip, size_t max, struct buf *out, struct errinfo *ei)
{
	const struct effect *input = NULL;
	bool output = false;
	int err = 0;

	for (uint32_t i = 0; i < ev->n_effects && err >= 0; i++) {
		const struct effect *e = &ev->effects[i];

		if (e->kind == EFFECT_INPUT && !input && plain_write(ev) && e->addr == ev->args[1])
			input = e;
		if (e->kind != EFFECT_OUTPUT)
			continue;
		output = true;
		err = append(r, e, &skip, &max, out, ei);
	}
	if (err >= 0 && !output && input) { /* an older recording */
		max = MIN((uint64_t)max, (uint64_t)ev->result > skip ? (uint64_t)ev->result - skip : 0);
		err = append(r, input, &skip, &max, out, ei);
	}
	return err;
}

int console_read(struct store_reader *r, uint64_t n, uint64_t skip, size_t max, struct console_chunk *ret, struct buf *out, struct errinfo *ei)
{
	const struct event *ev;
	int err = store_reader_seek(r, n, ei);

	if (err >= 0)
		err = store_reader_next(r, &ev, ei);
	if (err <= 0)
		return err < 0 ? err : errinfo_set(ei, ERR_CORRUPT, "event %llu is missing", (unsigned long long)n);
	if (!writes(ev))
		return errinfo_set(ei, ERR_CORRUPT, "event %llu has no output", (unsigned long long)n);
	*ret = (struct console_chunk){ .event = n, .time_ns = ev->time_ns, .bytes = (uint64_t)ev->result, .thread = ev->thread,
				       .stream = stream_of(ev) ? CONSOLE_ERR : CONSOLE_OUT };
	return append_all(r, ev, skip, MIN(max, (size_t)CONSOLE_READ_MAX), out, ei);
}
