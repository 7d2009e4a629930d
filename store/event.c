/* The event codec. One row of store/events.def per kind; the functions put_x() and get_x() below code the fields in it.
 *
 * Encoding:  byte   kind | 0x40 when effects follow | 0x80 when regs_hash follows
 *            varint thread, svarint time - base, varint flags, then the row's fields,
 *            [8 bytes regs_hash] [varint n_effects, effects]
 *   effect:  byte   kind | 0x10 when a thread follows | 0x20 when the data are in the data stream; then the row's fields
 * There is exactly one encoding of each event: what decodes encodes to the same bytes.
 *
 * This runs once per system call of the guest. Room for all fixed-size fields is taken once, then bytes go through a bare pointer.
 */
#include "store/event.h"

#include <assert.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include "base/os.h"
#include "store/event_priv.h"
#include "store/limits_priv.h"

#define KIND_MASK 0x3fu
#define KIND_EFFECTS 0x40u
#define KIND_HASH 0x80u
#define EFFECT_KIND_MASK 0x0fu
#define EFFECT_THREAD 0x10u
#define EFFECT_STREAM 0x20u

/* No event without text, argv, bytes and effects is longer; nor an effect without name and inline data. */
#define FIXED_ROOM 320u
#define EFFECT_FIXED_ROOM 128u
#define VARINT_MAX 10u

static_assert(EVENT_MAX_ <= KIND_MASK && EFFECT_MAX_ <= EFFECT_KIND_MASK, "kinds share a byte with flags");

const char *event_kind_name(enum event_kind kind)
{
	static const char *const names[EVENT_MAX_] = {
#define EVENT(name, text, fields) [EVENT_##name] = text,
#define EFFECT(name, text, fields)
#include "store/events.def"
#undef EVENT
#undef EFFECT
	};

	return (unsigned)kind < EVENT_MAX_ && names[kind] ? names[kind] : "?";
}

const char *effect_kind_name(enum effect_kind kind)
{
	static const char *const names[EFFECT_MAX_] = {
#define EVENT(name, text, fields)
#define EFFECT(name, text, fields) [EFFECT_##name] = text,
#include "store/events.def"
#undef EVENT
#undef EFFECT
	};

	return (unsigned)kind < EFFECT_MAX_ && names[kind] ? names[kind] : "?";
}

/* --- encoding --- */

struct encoder {
	struct buf *out;
	uint8_t *p; /* next byte; room for the current step has been taken */
	size_t inline_max;
	event_put_data_fn put_data;
	void *ctx;
	int error; /* first failure */
};

/* Takes room for n bytes at p. */
static bool need(struct encoder *e, size_t n)
{
	uint8_t *p;

	if (e->error)
		return false;
	if (e->p)
		e->out->len = (size_t)(e->p - e->out->data);
	p = buf_extend(e->out, n);
	if (!p) {
		e->error = buf_error(e->out);
		return false;
	}
	e->p = p;
	return true;
}

static inline void put_u(struct encoder *e, uint64_t v)
{
	uint8_t *p = e->p;

	for (; v >= 0x80; v >>= 7)
		*p++ = (uint8_t)(v | 0x80);
	*p++ = (uint8_t)v;
	e->p = p;
}

static inline void put_s(struct encoder *e, int64_t v)
{
	put_u(e, (uint64_t)v << 1 ^ (uint64_t)(v >> 63));
}

static inline void put_raw(struct encoder *e, const void *p, size_t n)
{
	if (n)
		memcpy(e->p, p, n);
	e->p += n;
}

/* Length, bytes; then room for the fixed fields that may follow. */
static void put_block(struct encoder *e, const void *p, uint64_t n, uint64_t max, size_t room_after)
{
	if (n > max)
		e->error = e->error ? e->error : ERR_LIMIT;
	if (!need(e, n + VARINT_MAX + room_after))
		return;
	put_u(e, n);
	put_raw(e, p, n);
}

/* A string: length, bytes, NUL (so that readers can use it in place). */
static void put_string(struct encoder *e, const char *s, size_t room_after)
{
	put_block(e, s ? s : "", s ? strlen(s) : 0, TEXT_MAX, room_after + 1);
	if (!e->error)
		*e->p++ = 0;
}

static inline void put_args_n(struct encoder *e, const struct event *ev, unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		put_u(e, ev->args[i]);
}

/* One line per field of store/events.def. */
/* clang-format off */
static inline void put_sysno(struct encoder *e, const struct event *ev) { put_u(e, ev->sysno); }
static inline void put_args(struct encoder *e, const struct event *ev) { put_args_n(e, ev, 6); }
static inline void put_args1(struct encoder *e, const struct event *ev) { put_args_n(e, ev, 1); }
static inline void put_args3(struct encoder *e, const struct event *ev) { put_args_n(e, ev, 3); }
static inline void put_args4(struct encoder *e, const struct event *ev) { put_args_n(e, ev, 4); }
static inline void put_result(struct encoder *e, const struct event *ev) { put_s(e, ev->result); }
static inline void put_rip(struct encoder *e, const struct event *ev) { put_u(e, ev->rip); }
static inline void put_child(struct encoder *e, const struct event *ev) { put_u(e, ev->child); }
static inline void put_pid(struct encoder *e, const struct event *ev) { put_s(e, ev->pid); }
static inline void put_tid(struct encoder *e, const struct event *ev) { put_s(e, ev->tid); }
static inline void put_signo(struct encoder *e, const struct event *ev) { put_u(e, ev->signo); }
/* clang-format on */

/* Trailing zeros are left out: most siginfo use 48 of the 128 bytes. */
static void put_siginfo(struct encoder *e, const struct event *ev)
{
	size_t n = sizeof(ev->siginfo);

	while (n > 0 && ev->siginfo[n - 1] == 0)
		n--;
	put_u(e, n);
	put_raw(e, ev->siginfo, n);
}

static void put_text(struct encoder *e, const struct event *ev)
{
	put_string(e, ev->text, FIXED_ROOM);
}

static void put_bytes(struct encoder *e, const struct event *ev)
{
	put_block(e, ev->blob, ev->blob_len, ARGV_MAX, FIXED_ROOM);
}

static void put_argv(struct encoder *e, const struct event *ev)
{
	if (ev->blob_len > 0 && ((const char *)ev->blob)[ev->blob_len - 1] != 0)
		e->error = e->error ? e->error : -EINVAL;
	put_bytes(e, ev);
}

bool effect_has_data(enum effect_kind kind)
{
	return kind == EFFECT_MEM || kind == EFFECT_INPUT || kind == EFFECT_REGS || kind == EFFECT_XSTATE ||
	       kind == EFFECT_OUTPUT;
}

static uint64_t effect_data_max(enum effect_kind kind)
{
	return kind == EFFECT_XSTATE ? XSTATE_MAX : EFFECT_DATA_MAX;
}

static bool in_stream(const struct encoder *e, const struct effect *f)
{
	return e->put_data && f->len > e->inline_max && effect_has_data(f->kind);
}

/* clang-format off */
static inline void put_effect_addr(struct encoder *e, const struct effect *f) { put_u(e, f->addr); }
static inline void put_effect_len(struct encoder *e, const struct effect *f) { put_u(e, f->len); }
static inline void put_effect_hash(struct encoder *e, const struct effect *f) { put_raw(e, &f->hash, sizeof(f->hash)); }
static inline void put_effect_object(struct encoder *e, const struct effect *f) { put_u(e, f->object); }
static void put_effect_name(struct encoder *e, const struct effect *f) { put_string(e, f->name, 0); }
/* clang-format on */

static void put_effect_data(struct encoder *e, const struct effect *f)
{
	uint64_t off;
	int r;

	if (!in_stream(e, f)) {
		put_block(e, f->data, f->len, effect_data_max(f->kind), 0);
		return;
	}
	r = f->len > effect_data_max(f->kind) ? ERR_LIMIT : e->put_data(e->ctx, f->data, f->len, &off);
	if (r < 0) {
		e->error = e->error ? e->error : r;
		return;
	}
	put_u(e, f->len);
	put_u(e, off);
}

static void put_effect_map(struct encoder *e, const struct effect *f)
{
	put_u(e, f->prot);
	put_u(e, f->flags);
	put_u(e, f->source);
	if (f->source == MAP_SOURCE_BLOB)
		put_raw(e, f->blob.sha256, sizeof(f->blob.sha256));
	if (f->source == MAP_SOURCE_SHARED)
		put_u(e, f->object);
	if (f->source != MAP_SOURCE_ANON)
		put_u(e, f->offset);
}

/* What the decoder would refuse is refused here too, so that a recorder's bug shows where it is. */
static int effect_check(const struct effect *f)
{
	if (f->kind == EFFECT_INVALID || f->kind >= EFFECT_MAX_)
		return -EINVAL;
	if (f->kind == EFFECT_REGS && f->len != REGS_LEN)
		return -EINVAL;
	if (f->kind != EFFECT_RESIZE && f->len > UINT64_MAX - f->addr)
		return -EINVAL;
	if (f->kind == EFFECT_MAP && (f->source >= MAP_SOURCE_MAX_ || f->flags & ~(uint32_t)MAP_F_ALL_))
		return -EINVAL;
	return 0;
}

static void put_effect(struct encoder *e, const struct effect *f)
{
	int r = effect_check(f);

	if (effect_has_data(f->kind) && f->len > 0 && !f->data)
		r = -EINVAL;
	if (r < 0)
		e->error = e->error ? e->error : r;
	if (!need(e, EFFECT_FIXED_ROOM))
		return;
	*e->p++ = (uint8_t)(f->kind | (f->thread ? EFFECT_THREAD : 0) | (in_stream(e, f) ? EFFECT_STREAM : 0));
	if (f->thread)
		put_u(e, f->thread);
	switch (f->kind) {
#define F(x) put_effect_##x(e, f);
#define EVENT(name, text, fields)
#define EFFECT(name, text, fields) \
	case EFFECT_##name: \
		fields break;
#include "store/events.def"
#undef EVENT
#undef EFFECT
#undef F
	case EFFECT_INVALID:
	case EFFECT_MAX_:
		break;
	}
}

static void put_fields(struct encoder *e, const struct event *ev)
{
	switch (ev->kind) {
#define F(x) put_##x(e, ev);
#define EVENT(name, text, fields) \
	case EVENT_##name: \
		fields break;
#define EFFECT(name, text, fields)
#include "store/events.def"
#undef EVENT
#undef EFFECT
#undef F
	case EVENT_INVALID:
	case EVENT_MAX_:
		e->error = -EINVAL;
	}
}

int event_encode_at(const struct event *ev, uint64_t time_base, size_t inline_max, event_put_data_fn put_data, void *ctx,
		    struct buf *out)
{
	struct encoder e = { .out = out, .inline_max = inline_max, .put_data = put_data, .ctx = ctx };
	size_t start = out->len;

	if (ev->flags & ~(uint32_t)EVENT_F_ALL_)
		return -EINVAL;
	if (ev->n_effects > EVENT_EFFECTS_MAX)
		return ERR_LIMIT;
	if (!need(&e, FIXED_ROOM))
		return e.error;
	*e.p++ = (uint8_t)(ev->kind | (ev->n_effects ? KIND_EFFECTS : 0) | (ev->regs_hash ? KIND_HASH : 0));
	put_u(&e, ev->thread);
	put_s(&e, (int64_t)(ev->time_ns - time_base));
	put_u(&e, ev->flags);
	put_fields(&e, ev);
	if (ev->regs_hash && !e.error)
		put_raw(&e, &ev->regs_hash, sizeof(ev->regs_hash));
	if (ev->n_effects && !e.error)
		put_u(&e, ev->n_effects);
	for (uint32_t i = 0; i < ev->n_effects && !e.error; i++)
		put_effect(&e, &ev->effects[i]);
	out->len = e.error ? start : (size_t)(e.p - out->data);
	return e.error;
}

int event_encode(const struct event *ev, size_t inline_max, event_put_data_fn put_data, void *ctx, struct buf *out)
{
	return event_encode_at(ev, 0, inline_max, put_data, ctx, out);
}

/* --- decoding --- */

struct event_memory {
	struct effect *effects;
	size_t cap;
};

int event_memory_new(struct event_memory **ret)
{
	struct event_memory *m = os_calloc(1, sizeof(*m));

	if (!m)
		return -ENOMEM;
	*ret = m;
	return 0;
}

void event_memory_free(struct event_memory *m)
{
	if (m)
		free(m->effects);
	free(m);
}

static int memory_grow(struct event_memory *m)
{
	size_t cap = m->cap ? m->cap * 2 : 16;
	struct effect *p = os_malloc(cap * sizeof(*p));

	if (!p)
		return -ENOMEM;
	if (m->cap)
		memcpy(p, m->effects, m->cap * sizeof(*p));
	free(m->effects);
	m->effects = p;
	m->cap = cap;
	return 0;
}

struct decoder {
	const uint8_t *p, *end;
	int error; /* first failure; then p stays and everything reads as 0 */
};

static inline void fail(struct decoder *d, int r)
{
	if (!d->error)
		d->error = r;
	d->p = d->end;
}

static uint64_t get_u_long(struct decoder *d)
{
	uint64_t v = 0;

	for (unsigned shift = 0; d->p < d->end; shift += 7) {
		uint8_t b = *d->p++;

		/* the 10th byte holds the top bit only; a last byte of 0 means that a shorter form exists */
		if ((shift == 63 && b > 1) || (b == 0 && shift > 0))
			break;
		v |= (uint64_t)(b & 0x7f) << shift;
		if (!(b & 0x80))
			return v;
		if (shift == 63)
			break;
		if (d->p == d->end) {
			fail(d, ERR_TRUNCATED);
			return 0;
		}
	}
	fail(d, ERR_CORRUPT);
	return 0;
}

static inline uint64_t get_u(struct decoder *d)
{
	if (__builtin_expect(d->p == d->end, 0)) {
		fail(d, ERR_TRUNCATED);
		return 0;
	}
	if (!(*d->p & 0x80))
		return *d->p++;
	return get_u_long(d);
}

static inline uint64_t get_max(struct decoder *d, uint64_t max)
{
	uint64_t v = get_u(d);

	if (v > max) {
		fail(d, ERR_CORRUPT);
		return 0;
	}
	return v;
}

static inline uint32_t get_u32(struct decoder *d)
{
	return (uint32_t)get_max(d, UINT32_MAX);
}

static inline int64_t get_s(struct decoder *d)
{
	uint64_t v = get_u(d);

	return (int64_t)(v >> 1 ^ -(v & 1));
}

static inline int32_t get_s32(struct decoder *d)
{
	int64_t v = get_s(d);

	if (v != (int32_t)v) {
		fail(d, ERR_CORRUPT);
		return 0;
	}
	return (int32_t)v;
}

static const uint8_t *get_raw(struct decoder *d, uint64_t n)
{
	const uint8_t *p = d->p;

	if (n > (uint64_t)(d->end - d->p)) {
		fail(d, ERR_TRUNCATED);
		return NULL;
	}
	d->p += n;
	return p;
}

static const char *get_string(struct decoder *d)
{
	uint64_t n = get_max(d, TEXT_MAX);
	const uint8_t *p = get_raw(d, n + 1);

	if (!p)
		return "";
	if (p[n] != 0 || memchr(p, 0, n)) {
		fail(d, ERR_CORRUPT);
		return "";
	}
	return (const char *)p;
}

static inline void get_args_n(struct decoder *d, struct event *ev, unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		ev->args[i] = get_u(d);
}

/* clang-format off */
static inline void get_sysno(struct decoder *d, struct event *ev) { ev->sysno = get_u32(d); }
static inline void get_args(struct decoder *d, struct event *ev) { get_args_n(d, ev, 6); }
static inline void get_args1(struct decoder *d, struct event *ev) { get_args_n(d, ev, 1); }
static inline void get_args3(struct decoder *d, struct event *ev) { get_args_n(d, ev, 3); }
static inline void get_args4(struct decoder *d, struct event *ev) { get_args_n(d, ev, 4); }
static inline void get_result(struct decoder *d, struct event *ev) { ev->result = get_s(d); }
static inline void get_rip(struct decoder *d, struct event *ev) { ev->rip = get_u(d); }
static inline void get_child(struct decoder *d, struct event *ev) { ev->child = get_u32(d); }
static inline void get_pid(struct decoder *d, struct event *ev) { ev->pid = get_s32(d); }
static inline void get_tid(struct decoder *d, struct event *ev) { ev->tid = get_s32(d); }
static inline void get_signo(struct decoder *d, struct event *ev) { ev->signo = get_u32(d); }
static inline void get_text(struct decoder *d, struct event *ev) { ev->text = get_string(d); }
/* clang-format on */

static void get_siginfo(struct decoder *d, struct event *ev)
{
	uint64_t n = get_max(d, sizeof(ev->siginfo));
	const uint8_t *p = get_raw(d, n);

	if (!p || n == 0)
		return;
	if (p[n - 1] == 0)
		fail(d, ERR_CORRUPT);
	memcpy(ev->siginfo, p, n);
}

static void get_bytes(struct decoder *d, struct event *ev)
{
	ev->blob_len = get_max(d, ARGV_MAX);
	ev->blob = get_raw(d, ev->blob_len);
}

static void get_argv(struct decoder *d, struct event *ev)
{
	get_bytes(d, ev);
	if (ev->blob_len > 0 && !d->error && ((const char *)ev->blob)[ev->blob_len - 1] != 0)
		fail(d, ERR_CORRUPT);
}

/* `stream` is the bit of the effect's first byte. */
/* clang-format off */
static inline void get_effect_addr(struct decoder *d, struct effect *f, UNUSED bool stream) { f->addr = get_u(d); }
static inline void get_effect_len(struct decoder *d, struct effect *f, UNUSED bool stream) { f->len = get_u(d); }
static inline void get_effect_object(struct decoder *d, struct effect *f, UNUSED bool stream) { f->object = get_u(d); }
static inline void get_effect_name(struct decoder *d, struct effect *f, UNUSED bool stream) { f->name = get_string(d); }
/* clang-format on */

static void get_effect_data(struct decoder *d, struct effect *f, bool stream)
{
	f->len = get_max(d, effect_data_max(f->kind));
	if (!stream) {
		f->data = get_raw(d, f->len);
		return;
	}
	f->data_off = get_u(d);
	/* nothing has no place */
	if (f->len == 0 || f->data_off > UINT64_MAX - f->len)
		fail(d, ERR_CORRUPT);
}

static void get_effect_hash(struct decoder *d, struct effect *f, UNUSED bool stream)
{
	const uint8_t *hash = get_raw(d, sizeof(f->hash));

	if (hash)
		memcpy(&f->hash, hash, sizeof(f->hash));
}

static void get_effect_map(struct decoder *d, struct effect *f, UNUSED bool stream)
{
	const uint8_t *blob;

	f->prot = get_u32(d);
	f->flags = get_u32(d);
	f->source = (enum map_source)get_max(d, MAP_SOURCE_MAX_ - 1);
	if (f->source == MAP_SOURCE_BLOB) {
		blob = get_raw(d, sizeof(f->blob.sha256));
		if (blob)
			memcpy(f->blob.sha256, blob, sizeof(f->blob.sha256));
	}
	if (f->source == MAP_SOURCE_SHARED)
		f->object = get_u(d);
	if (f->source != MAP_SOURCE_ANON)
		f->offset = get_u(d);
}

static void get_effect(struct decoder *d, struct effect *f)
{
	const uint8_t *head = get_raw(d, 1);
	bool stream = head && *head & EFFECT_STREAM;

	*f = (struct effect){ .name = "" };
	if (!head)
		return;
	f->kind = (enum effect_kind)(*head & EFFECT_KIND_MASK);
	if (*head & ~(EFFECT_KIND_MASK | EFFECT_THREAD | EFFECT_STREAM))
		fail(d, ERR_CORRUPT);
	if (*head & EFFECT_THREAD) {
		f->thread = get_u32(d);
		if (f->thread == 0)
			fail(d, ERR_CORRUPT);
	}
	switch (f->kind) {
#define F(x) get_effect_##x(d, f, stream);
#define EVENT(name, text, fields)
#define EFFECT(name, text, fields) \
	case EFFECT_##name: \
		fields break;
#include "store/events.def"
#undef EVENT
#undef EFFECT
#undef F
	case EFFECT_INVALID:
	case EFFECT_MAX_:
	default:
		fail(d, ERR_CORRUPT);
	}
	if (effect_check(f) < 0 || (stream && !effect_has_data(f->kind)))
		fail(d, ERR_CORRUPT);
}

static void get_effects(struct decoder *d, struct event_memory *mem, struct event *ev)
{
	int r = 0;

	/* an effect has at least 2 bytes, and memory grows only as they are seen: a bad count costs nothing */
	ev->n_effects = (uint32_t)get_max(d, EVENT_EFFECTS_MAX);
	if (ev->n_effects == 0)
		fail(d, ERR_CORRUPT);
	for (uint32_t i = 0; i < ev->n_effects && !d->error; i++) {
		if (i == mem->cap)
			r = memory_grow(mem);
		if (r < 0)
			fail(d, r);
		else
			get_effect(d, &mem->effects[i]);
	}
	ev->effects = mem->effects;
}

static void get_fields(struct decoder *d, struct event *ev)
{
	switch (ev->kind) {
#define F(x) get_##x(d, ev);
#define EVENT(name, text, fields) \
	case EVENT_##name: \
		fields break;
#define EFFECT(name, text, fields)
#include "store/events.def"
#undef EVENT
#undef EFFECT
#undef F
	case EVENT_INVALID:
	case EVENT_MAX_:
	default:
		fail(d, ERR_CORRUPT);
	}
}

int event_decode_at(struct view *v, uint64_t time_base, struct event_memory *mem, struct event *ret_ev)
{
	struct decoder d = { .p = v->p, .end = v->end };
	struct event ev = { .text = "" };
	const uint8_t *p = get_raw(&d, 1);

	if (!p)
		return ERR_TRUNCATED;
	ev.kind = (enum event_kind)(*p & KIND_MASK);
	ev.thread = get_u32(&d);
	ev.time_ns = time_base + (uint64_t)get_s(&d);
	ev.flags = get_u32(&d);
	if (ev.flags & ~(uint32_t)EVENT_F_ALL_)
		fail(&d, ERR_CORRUPT);
	get_fields(&d, &ev);
	if (*p & KIND_HASH) {
		const uint8_t *hash = get_raw(&d, sizeof(ev.regs_hash));

		if (hash)
			memcpy(&ev.regs_hash, hash, sizeof(ev.regs_hash));
		if (ev.regs_hash == 0)
			fail(&d, ERR_CORRUPT);
	}
	if (*p & KIND_EFFECTS)
		get_effects(&d, mem, &ev);
	if (d.error)
		return d.error;
	v->p = d.p;
	*ret_ev = ev;
	return 0;
}

int event_decode(struct view *v, struct event_memory *mem, struct event *ret_ev)
{
	return event_decode_at(v, 0, mem, ret_ev);
}
