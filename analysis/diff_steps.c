/* The steps of a recording, with hashes that do not depend on what differs from run to run: ids of processes and threads count by their place in the tree of
 * births, addresses, times and random bytes not at all. */
#include "analysis/diff_priv.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include "analysis/calls.h"
#include "analysis/grow_priv.h"
#include "analysis/limits.h"
#include "base/os.h"

#define MIX UINT64_C(0x9fb21c651e98df25)
#define FNV UINT64_C(0x100000001b3)
#define EFFECTS_HASHED 256u    /* of one event */
#define BYTES_HASHED 65536u    /* of one effect */
#define PROGRESS_EVERY 4096u
/* Integers that are user addresses though the table does not say so (values of ioctl, clone's tls ...). */
#define ADDRESS_MIN (UINT64_C(1) << 32)
#define ADDRESS_MAX (UINT64_C(1) << 47)

struct id {
	int32_t id; /* 0 = free */
	uint64_t place;
};

struct reading {
	struct store_reader *r;
	struct diff_side *side;
	struct diff_threads *threads;
	struct calls calls;
	struct id *ids; /* hash table of pids and tids; owned */
	uint32_t n_ids, n_slots;
	uint8_t *bytes; /* BYTES_HASHED */
	uint64_t *inputs; /* by thread: hash of what its open call read */
	uint32_t n_inputs;
};

static uint64_t mix(uint64_t h, uint64_t v)
{
	h = (h ^ v) * MIX;
	return h ^ h >> 29;
}

static uint64_t hash_bytes(uint64_t h, const void *p, size_t n)
{
	for (size_t i = 0; i < n; i++)
		h = (h ^ ((const uint8_t *)p)[i]) * FNV;
	return h;
}

void diff_threads_done(struct diff_threads *t)
{
	for (uint32_t i = 0; i < t->n; i++)
		free(t->v[i].step);
	free(t->v);
	*t = (struct diff_threads){ 0 };
}

/* --- threads and ids --- */

static struct diff_thread *thread_of(struct reading *g, uint32_t number)
{
	struct diff_threads *t = g->threads;
	struct diff_thread *more;
	uint32_t n;

	if (number < t->n)
		return &t->v[number];
	if (number > ANALYSIS_THREADS_MAX)
		return NULL;
	n = MAX(number + 16, t->n * 2);
	more = reallocarray(t->v, n, sizeof(*more));
	if (!more)
		return NULL;
	memset(more + t->n, 0, (n - t->n) * sizeof(*more));
	for (uint32_t i = t->n; i < n; i++)
		more[i].place = mix(3, i); /* until its birth is seen: the first one has none */
	t->v = more;
	t->n = n;
	return &more[number];
}

static struct id *slot_of(struct id *ids, uint32_t n_slots, int32_t id)
{
	uint32_t i = (uint32_t)mix(1, (uint32_t)id) & (n_slots - 1);

	while (ids[i].id && ids[i].id != id)
		i = (i + 1) & (n_slots - 1);
	return &ids[i];
}

static int know_id(struct reading *g, int32_t id, uint64_t place)
{
	struct id *at;

	if (id <= 0)
		return 0;
	if (g->n_ids * 2 >= g->n_slots) {
		uint32_t n = g->n_slots ? g->n_slots * 2 : 256;
		struct id *more = os_calloc(n, sizeof(*more));

		if (!more)
			return -ENOMEM;
		for (uint32_t i = 0; i < g->n_slots; i++)
			if (g->ids[i].id)
				*slot_of(more, n, g->ids[i].id) = g->ids[i];
		free(g->ids);
		g->ids = more;
		g->n_slots = n;
	}
	at = slot_of(g->ids, g->n_slots, id);
	g->n_ids += !at->id;
	*at = (struct id){ id, place };
	return 0;
}

static int born(struct reading *g, const struct event *ev)
{
	struct diff_thread *parent = thread_of(g, ev->thread), *child;
	uint64_t place;
	int r;

	if (!parent)
		return ERR_LIMIT;
	place = mix(parent->place + 1, ++parent->children);
	child = thread_of(g, ev->child); /* may move the parent */
	if (!child)
		return ERR_LIMIT;
	child->place = place;
	r = know_id(g, ev->pid == ev->tid ? ev->pid : ev->tid, place);
	return r;
}

/* --- hashes --- */

/* Ids of this recording by the place of their owner; those of others all alike. */
static uint64_t id_value(const struct reading *g, int64_t v)
{
	const struct id *at;

	if (v <= 0 || v > INT32_MAX)
		return (uint64_t)v;
	at = g->n_slots ? slot_of(g->ids, g->n_slots, (int32_t)v) : NULL;
	return at && at->id ? at->place : MIX;
}

static bool is_address(uint64_t v)
{
	return v >= ADDRESS_MIN && v < ADDRESS_MAX;
}

static uint64_t plain_value(uint64_t v)
{
	return is_address(v) ? MIX : v;
}

/* A path, in which numbers that are ids count as those (/proc/123/stat). */
static uint64_t hash_text(const struct reading *g, uint64_t h, const char *s, size_t n)
{
	for (size_t i = 0; i < n;) {
		size_t end = i;
		int64_t v = 0;

		while (end < n && end < i + 9 && s[end] >= '0' && s[end] <= '9')
			v = v * 10 + (s[end++] - '0');
		if (end > i && v > 1 && id_value(g, v) != MIX) {
			h = mix(h, id_value(g, v));
			i = end;
		} else {
			end = MAX(end, i + 1);
			h = hash_bytes(h, s + i, end - i);
			i = end;
		}
	}
	return h;
}

static uint64_t hash_effect(const struct reading *g, uint64_t h, const struct effect *e, bool text)
{
	size_t n = MIN(e->len, (uint64_t)BYTES_HASHED);

	if (store_reader_data(g->r, e, 0, g->bytes, n, NULL) < 0)
		return h;
	if (text)
		return hash_text(g, h, (const char *)g->bytes, strnlen((const char *)g->bytes, n));
	return hash_bytes(mix(h, e->len), g->bytes, n);
}

/* The effects of that kind at addr. */
static uint64_t hash_at(const struct reading *g, uint64_t h, const struct event *ev, enum effect_kind kind, uint64_t addr, bool text)
{
	for (uint32_t i = 0; addr && i < MIN(ev->n_effects, EFFECTS_HASHED); i++)
		if (ev->effects[i].kind == kind && ev->effects[i].addr == addr)
			return hash_effect(g, h, &ev->effects[i], text);
	return h;
}

static bool by_value(enum sys_arg_kind k)
{
	return k == SYS_ARG_UINT || k == SYS_ARG_INT || k == SYS_ARG_HEX || k == SYS_ARG_LEN || k == SYS_ARG_OFF || k == SYS_ARG_FD || k == SYS_ARG_DIRFD ||
	       k == SYS_ARG_UID || k == SYS_ARG_MODE || k == SYS_ARG_SIGNO || k == SYS_ARG_FLAGS || k == SYS_ARG_ENUM || k == SYS_ARG_COMMAND;
}

/* What a call asks: its arguments by value, strings and written bytes by content. Of other pointers only whether there is one. */
static uint64_t hash_request(const struct reading *g, const struct event *ev)
{
	struct sys_call c = { .nr = ev->sysno };
	struct sys_resolved res;
	uint64_t h = mix(1, ev->sysno);

	memcpy(c.args, ev->args, sizeof(c.args));
	sys_resolve(&c, &res);
	for (unsigned i = 0; i < res.row->nargs && i < 6; i++) {
		const struct sys_arg *a = &res.row->arg[i];

		if (a->kind == SYS_ARG_PID)
			h = mix(h, id_value(g, (int32_t)c.args[i]));
		else if (by_value((enum sys_arg_kind)a->kind))
			h = mix(h, plain_value(c.args[i]));
		else if (a->kind == SYS_ARG_PATH || a->kind == SYS_ARG_STR)
			h = hash_at(g, mix(h, c.args[i] != 0), ev, EFFECT_INPUT, c.args[i], true);
		else if (a->kind == SYS_ARG_BUF && a->dir == SYS_IN)
			h = hash_at(g, mix(h, c.args[i] != 0), ev, EFFECT_INPUT, c.args[i], false);
		else
			h = mix(h, c.args[i] != 0);
	}
	return h;
}

/* What it gets: the result, and bytes that were read. */
static uint64_t hash_answer(const struct reading *g, uint64_t h, const struct event *ev, const struct call_step *step)
{
	struct sys_call c = { .nr = step->sysno };
	struct sys_resolved res;
	bool failed = ev->result < 0 && ev->result > -4096;

	memcpy(c.args, step->args, sizeof(c.args));
	sys_resolve(&c, &res);
	if (step->sysno == SYS_rt_sigreturn)
		return h;
	if (failed)
		return mix(h, (uint64_t)ev->result);
	if (res.row->ret == SYS_ARG_PID)
		h = mix(h, id_value(g, ev->result));
	else if (res.row->ret != SYS_ARG_ADDR && !(res.row->flags & SYS_F_TIME) && step->sysno != SYS_brk)
		h = mix(h, plain_value((uint64_t)ev->result));
	if ((res.row->flags & SYS_F_TIME) || step->sysno == SYS_getrandom)
		return h;
	for (unsigned i = 0; i < res.row->nargs && i < 6; i++)
		if (res.row->arg[i].kind == SYS_ARG_BUF && res.row->arg[i].dir == SYS_OUT && res.row->arg[i].table == 0)
			h = hash_at(g, h, ev, EFFECT_MEM, c.args[i], false);
	return h;
}

static void add_output(struct reading *g, const struct event *ev)
{
	int s = ev->flags & EVENT_F_STDOUT ? 0 : 1;

	if (!(ev->flags & (EVENT_F_STDOUT | EVENT_F_STDERR)) || ev->result <= 0)
		return;
	g->side->output_bytes[s] += (uint64_t)ev->result;
	for (uint32_t i = 0; i < ev->n_effects; i++) {
		const struct effect *e = &ev->effects[i];

		for (uint64_t off = 0; e->kind == EFFECT_OUTPUT && off < e->len; off += BYTES_HASHED) {
			size_t n = MIN(e->len - off, (uint64_t)BYTES_HASHED);

			if (store_reader_data(g->r, e, off, g->bytes, n, NULL) < 0)
				return;
			g->side->output_hash[s] = hash_bytes(g->side->output_hash[s], g->bytes, n);
		}
	}
}

/* --- steps --- */

static int add_step(struct reading *g, uint32_t thread, uint64_t number, uint64_t entry, uint32_t shape, uint64_t asked, uint64_t hash)
{
	struct diff_side *side = g->side;
	struct diff_thread *t = thread_of(g, thread);
	struct diff_step *more;
	uint32_t *step;

	if (!t || side->n >= DIFF_STEPS_MAX || number > UINT32_MAX)
		return ERR_LIMIT;
	if (side->n == side->cap) {
		more = reallocarray(side->step, side->cap * 2 + 1024, sizeof(*more));
		if (!more)
			return -ENOMEM;
		side->step = more;
		side->cap = side->cap * 2 + 1024;
	}
	if (t->n == t->cap) {
		step = reallocarray(t->step, t->cap * 2 + 64, sizeof(*step));
		if (!step)
			return -ENOMEM;
		t->step = step;
		t->cap = t->cap * 2 + 64;
	}
	t->step[t->n++] = side->n;
	side->step[side->n++] = (struct diff_step){ .hash = hash, .asked = asked, .number = (uint32_t)number, .entry = (uint32_t)entry, .shape = shape, .thread = thread };
	return 0;
}

static uint64_t *input_of(struct reading *g, uint32_t thread)
{
	uint64_t *more = thread <= ANALYSIS_THREADS_MAX ? grow(g->inputs, &g->n_inputs, thread, sizeof(*more)) : NULL;

	if (!more)
		return NULL;
	g->inputs = more;
	return &more[thread];
}

static uint32_t shape_of(enum event_kind kind, uint32_t what)
{
	return (uint32_t)kind << 16 | MIN(what, 0xffffu);
}

static int call_step(struct reading *g, const struct event *ev, const struct call_step *step)
{
	uint64_t *asked = input_of(g, ev->thread);

	if (!asked)
		return ERR_LIMIT;
	if (step->begins)
		g->side->calls[MIN(step->sysno, (uint32_t)SYS_TABLE_MAX)]++;
	if (step->begins && (ev->kind == EVENT_SYSCALL || ev->kind == EVENT_SYSCALL_ENTER || ev->kind == EVENT_BIRTH))
		*asked = hash_request(g, ev);
	if (!step->ends || ev->kind == EVENT_EXEC) /* an exec is a step of its own */
		return 0;
	if (ev->kind == EVENT_EXIT) /* made, and never came back */
		return add_step(g, ev->thread, step->entry, step->entry, shape_of(EVENT_SYSCALL, step->sysno), *asked, *asked);
	return add_step(g, ev->thread, ev->number, step->entry, shape_of(EVENT_SYSCALL, step->sysno), *asked, hash_answer(g, *asked, ev, step));
}

/* Events that are steps beside calls: their hash. Others are passed over: how a run was cut into pieces means nothing. */
static bool other_step(const struct reading *g, const struct event *ev, uint32_t *ret_what, uint64_t *ret_hash)
{
	uint64_t h = mix(2, ev->kind);

	*ret_what = 0;
	if (ev->kind == EVENT_EXEC) {
		h = hash_text(g, h, ev->text, strlen(ev->text));
		h = hash_bytes(h, ev->blob, ev->blob_len);
	} else if (ev->kind == EVENT_SIGNAL) {
		*ret_what = ev->signo;
		h = mix(h, ev->signo | (uint64_t)(ev->flags & (EVENT_F_FATAL | EVENT_F_HANDLER)) << 32);
	} else if (ev->kind == EVENT_EXIT) {
		h = mix(h, (uint64_t)ev->result);
	} else {
		return false;
	}
	*ret_hash = h;
	return true;
}

static int see(struct reading *g, const struct event *ev)
{
	struct call_step step;
	struct diff_thread *t;
	uint32_t what;
	uint64_t hash;
	int r = 0;

	if (ev->kind == EVENT_BIRTH)
		r = born(g, ev);
	if (ev->kind == EVENT_EXEC && ev->pid) {
		t = thread_of(g, ev->thread);
		r = t ? know_id(g, ev->pid, t->place) : ERR_LIMIT;
	}
	if (r >= 0 && calls_see(&g->calls, ev, &step))
		r = call_step(g, ev, &step);
	if (r >= 0 && ev->thread && other_step(g, ev, &what, &hash))
		r = add_step(g, ev->thread, ev->number, ev->number, shape_of(ev->kind, what), 0, hash);
	if (ev->kind == EVENT_SYSCALL || ev->kind == EVENT_SYSCALL_EXIT)
		add_output(g, ev);
	return r;
}

/* Calls that were open at the end. */
static int add_open(struct reading *g)
{
	int r = 0;

	for (uint32_t i = 0; i < g->calls.n && r >= 0; i++) {
		const struct open_call *o = &g->calls.thread[i];

		uint64_t asked = i < g->n_inputs ? g->inputs[i] : 0;

		if (o->open)
			r = add_step(g, i, o->event, o->event, shape_of(EVENT_SYSCALL, o->sysno), asked, asked);
	}
	return r;
}

static int read_all(struct reading *g, diff_progress_fn fn, void *ctx, unsigned base, unsigned span, struct errinfo *ei)
{
	const struct event *ev;
	uint64_t count;
	int r = store_reader_count(g->r, &count, ei);

	if (r >= 0)
		r = store_reader_seek(g->r, 1, ei);
	for (uint64_t i = 1; r >= 0 && i <= count; i++) {
		r = store_reader_next(g->r, &ev, ei);
		if (r <= 0)
			break;
		r = see(g, ev);
		if (r >= 0 && fn && i % PROGRESS_EVERY == 0)
			r = fn(ctx, base + (unsigned)(i * span / count));
	}
	return r < 0 ? r : add_open(g);
}

int diff_read(struct store_reader *r, struct diff_side *side, struct diff_threads *threads, diff_progress_fn fn, void *ctx, unsigned base, unsigned span,
	      struct errinfo *ei)
{
	struct reading g = { .r = r, .side = side, .threads = threads, .bytes = os_malloc(BYTES_HASHED) };
	int err = g.bytes ? read_all(&g, fn, ctx, base, span, ei) : -ENOMEM;

	calls_done(&g.calls);
	free(g.ids);
	free(g.bytes);
	free(g.inputs);
	return err == ERR_LIMIT ? errinfo_set(ei, err, "recording %s is too long to be compared", store_reader_manifest(r)->id.hex) : err;
}
