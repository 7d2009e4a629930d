/* See calls.h. */
#include "analysis/calls.h"

#include <stdlib.h>
#include <string.h>
#include "analysis/grow_priv.h"
#include "analysis/limits.h"
#include "base/os.h"
#include "base/str.h"

#define EFFECTS_SEARCHED 8192u /* more effects than this are not looked through */

void calls_done(struct calls *c)
{
	free(c->thread);
	*c = (struct calls){ 0 };
}

static struct open_call *slot(struct calls *c, uint32_t thread)
{
	struct open_call *more;

	if (thread < c->n)
		return &c->thread[thread];
	if (thread > ANALYSIS_THREADS_MAX) {
		c->incomplete = true;
		return NULL;
	}
	more = grow(c->thread, &c->n, thread, sizeof(*more));
	if (!more) {
		c->incomplete = true;
		return NULL;
	}
	c->thread = more;
	return &more[thread];
}

static void begin(struct open_call *o, const struct event *ev, struct call_step *ret)
{
	o->open = true;
	o->sysno = ev->sysno;
	o->event = ev->number;
	o->time_ns = ev->time_ns;
	memcpy(o->args, ev->args, sizeof(o->args));
	*ret = (struct call_step){ .begins = true, .sysno = ev->sysno, .entry = ev->number };
	memcpy(ret->args, ev->args, sizeof(ret->args));
}

static void end(struct open_call *o, const struct event *ev, bool returned, struct call_step *ret)
{
	*ret = (struct call_step){ .ends = true, .returned = returned, .sysno = ev->sysno, .entry = o->event, .result = ev->result };
	ret->blocked_ns = ev->time_ns > o->time_ns ? ev->time_ns - o->time_ns : 0;
	if (!returned || o->sysno == ev->sysno)
		memcpy(ret->args, o->args, sizeof(ret->args));
	if (!returned)
		ret->sysno = o->sysno;
	o->open = false;
}

static void whole(const struct event *ev, bool returned, struct call_step *ret)
{
	*ret = (struct call_step){ .begins = true, .ends = true, .returned = returned, .sysno = ev->sysno, .entry = ev->number,
				   .result = ev->result };
	if (returned)
		memcpy(ret->args, ev->args, sizeof(ret->args));
}

bool calls_see(struct calls *c, const struct event *ev, struct call_step *ret)
{
	struct open_call *o = slot(c, ev->thread), *child;
	bool known;

	if (!o)
		return false;
	known = o->known;
	o->known = true;
	switch (ev->kind) {
	case EVENT_SYSCALL:
		o->open = false;
		whole(ev, true, ret);
		return true;
	case EVENT_BIRTH:
		child = slot(c, ev->child);
		if (child)
			child->known = true;
		o = &c->thread[ev->thread]; /* slot() may have moved them */
		if (o->open && o->sysno == ev->sysno) /* its entry was logged before */
			return false;
		begin(o, ev, ret);
		return true;
	case EVENT_SYSCALL_ENTER:
		begin(o, ev, ret);
		return true;
	case EVENT_SYSCALL_EXIT:
		if (!o->open)
			return false;
		end(o, ev, true, ret);
		return true;
	case EVENT_EXEC:
	case EVENT_EXIT:
		if (o->open) {
			end(o, ev, false, ret);
			return true;
		}
		/* the first program was started by the recorder: nobody called execve */
		if (ev->kind == EVENT_EXIT || !known)
			return false;
		whole(ev, false, ret);
		return true;
	default:
		return false;
	}
}

static size_t from_effect(struct store_reader *r, const struct effect *e, uint64_t addr, void *buf, size_t n)
{
	uint64_t off = addr - e->addr;

	if (addr < e->addr || off >= e->len)
		return 0;
	n = MIN((uint64_t)n, e->len - off);
	return store_reader_data(r, e, off, buf, n, NULL) < 0 ? 0 : n;
}

size_t calls_memory(struct store_reader *r, const struct event *ev, enum effect_kind kind, uint64_t addr, void *buf, size_t n)
{
	size_t got = 0;

	while (got < n) {
		size_t more = 0;

		for (uint32_t i = MIN(ev->n_effects, EFFECTS_SEARCHED); i-- > 0 && !more;)
			if (ev->effects[i].kind == kind && (!ev->effects[i].thread || ev->effects[i].thread == ev->thread))
				more = from_effect(r, &ev->effects[i], addr + got, (uint8_t *)buf + got, n - got);
		if (!more)
			break;
		got += more;
	}
	return got;
}

char *calls_command(const struct event *ev)
{
	struct buf b CLEANUP(buf_done) = { 0 };
	const char *s = ev->blob, *end = s + ev->blob_len;

	while (s && s < end && b.len < ANALYSIS_TEXT_MAX) {
		size_t n = strnlen(s, (size_t)(end - s));
		char *word CLEANUP(freep) = strndup(s, MIN(n, (size_t)ANALYSIS_TEXT_MAX));

		if (b.len)
			buf_put(&b, " ", 1);
		buf_put_shell_quoted(&b, word ? word : "?");
		s += n + 1;
	}
	return strndup(buf_cstr(&b), ANALYSIS_TEXT_MAX);
}
