/* Events for people and programs: see evprint.h.
 *
 * A call is decoded as it was made: what it read comes from the event's INPUT effects, what the kernel wrote from its MEM effects. A call
 * that was interrupted by other threads' events has its inputs in SYSCALL_ENTER (or BIRTH) and its result in SYSCALL_EXIT: the printer
 * keeps the former until the latter comes. What differs by kind is in the table `kinds`. */
#include "analysis/evprint.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include "base/json.h"
#include "base/os.h"
#include "base/str.h"
#include "engine/sysprint.h"
#include "store/event_json.h"

#define EFFECTS_SEARCHED 8192 /* more effects than this are not looked through for a call's memory */
#define PIECE_MAX 65536       /* bytes of one input that are kept for an open call */
#define DATA_SHOWN 256        /* bytes of an effect's data in JSON */
#define TEXT_DATA_SHOWN 32    /* ... in text */

struct piece {
	uint64_t addr;
	size_t len;
	uint8_t *data; /* owned */
};

struct evprint_call {
	struct evprint_call *next;
	uint32_t thread;
	uint64_t entry; /* number of its event */
	struct sys_call call;
	struct piece *piece;
	size_t n;
};

/* --- open calls --- */

static void call_free(struct evprint_call *c)
{
	for (size_t i = 0; i < c->n; i++)
		free(c->piece[i].data);
	free(c->piece);
	free(c);
}

static struct evprint_call **find_open(struct evprint *p, uint32_t thread)
{
	struct evprint_call **at = &p->open;

	while (*at && (*at)->thread != thread)
		at = &(*at)->next;
	return at;
}

static void forget_open(struct evprint *p, uint32_t thread)
{
	struct evprint_call **at = find_open(p, thread), *c = *at;

	if (c) {
		*at = c->next;
		call_free(c);
	}
}

/* Copies an effect's bytes, at most max. NULL when they cannot be had. */
static uint8_t *copy_data(struct evprint *p, const struct effect *e, size_t max, size_t *ret_len)
{
	size_t n = MIN(e->len, max);
	uint8_t *data = os_malloc(n ? n : 1);

	if (data && store_reader_data(p->reader, e, 0, data, n, NULL) < 0) {
		free(data);
		return NULL;
	}
	*ret_len = n;
	return data;
}

static void keep_input(struct evprint *p, struct evprint_call *c, const struct effect *e)
{
	struct piece *q = &c->piece[c->n];

	q->addr = e->addr;
	q->data = copy_data(p, e, PIECE_MAX, &q->len);
	c->n += q->data != NULL;
}

/* Keeps the call for its result. Without memory it is printed without its inputs later. */
static void keep_open(struct evprint *p, const struct event *ev)
{
	struct evprint_call *c = os_calloc(1, sizeof(*c));
	uint32_t n = MIN(ev->n_effects, (uint32_t)EFFECTS_SEARCHED);

	forget_open(p, ev->thread);
	if (!c)
		return;
	c->thread = ev->thread;
	c->entry = ev->number;
	c->call.nr = ev->sysno;
	memcpy(c->call.args, ev->args, sizeof(c->call.args));
	c->piece = os_calloc(n ? n : 1, sizeof(*c->piece));
	for (uint32_t i = 0; c->piece && i < n; i++)
		if (ev->effects[i].kind == EFFECT_INPUT)
			keep_input(p, c, &ev->effects[i]);
	c->next = p->open;
	p->open = c;
}

static void after_event(struct evprint *p, const struct event *ev)
{
	if (ev->kind == EVENT_SYSCALL_ENTER || ev->kind == EVENT_BIRTH)
		keep_open(p, ev);
	else if (ev->kind == EVENT_SYSCALL_EXIT || ev->kind == EVENT_EXIT || ev->kind == EVENT_EXEC)
		forget_open(p, ev->thread);
}

void evprint_init(struct evprint *p, struct store_reader *reader, uint32_t string_max)
{
	*p = (struct evprint){ .reader = reader, .string_max = string_max };
}

void evprint_done(struct evprint *p)
{
	while (p->open)
		forget_open(p, p->open->thread);
}

bool evprint_knows(const struct evprint *p, uint32_t thread, uint64_t entry)
{
	const struct evprint_call *c = *find_open((struct evprint *)p, thread);

	return c && c->entry == entry;
}

void evprint_skip(struct evprint *p, const struct event *ev)
{
	after_event(p, ev);
}

/* --- guest memory as the event shows it --- */

struct image {
	struct evprint *p;
	const struct event *ev;
	const struct evprint_call *open;
	bool outputs; /* as it was after the call */
};

/* Bytes got from the effect at addr, 0 when it does not hold that address. */
static size_t from_effect(const struct image *im, const struct effect *e, uint64_t addr, void *buf, size_t n)
{
	uint64_t off = addr - e->addr;

	if ((e->thread && e->thread != im->ev->thread) || addr < e->addr || off >= e->len)
		return 0;
	n = MIN(n, e->len - off);
	if (e->kind == EFFECT_ZERO) {
		memset(buf, 0, n);
		return n;
	}
	return store_reader_data(im->p->reader, e, off, buf, n, NULL) < 0 ? 0 : n;
}

static size_t from_effects(const struct image *im, bool outputs, uint64_t addr, void *buf, size_t n)
{
	size_t got;

	/* backwards: of two writes to a place the later one counts */
	for (uint32_t i = MIN(im->ev->n_effects, (uint32_t)EFFECTS_SEARCHED); i-- > 0;) {
		const struct effect *e = &im->ev->effects[i];
		bool output = e->kind == EFFECT_MEM || e->kind == EFFECT_ZERO;

		if (outputs ? !output : e->kind != EFFECT_INPUT)
			continue;
		got = from_effect(im, e, addr, buf, n);
		if (got)
			return got;
	}
	return 0;
}

static size_t from_open(const struct image *im, uint64_t addr, void *buf, size_t n)
{
	for (size_t i = 0; im->open && i < im->open->n; i++) {
		const struct piece *q = &im->open->piece[i];
		uint64_t off = addr - q->addr;

		if (addr < q->addr || off >= q->len)
			continue;
		n = MIN(n, q->len - off);
		memcpy(buf, q->data + off, n);
		return n;
	}
	return 0;
}

static int image_read(void *ctx, uint64_t addr, void *buf, size_t n)
{
	const struct image *im = ctx;
	uint8_t *to = buf;
	size_t got;

	for (; n; n -= got, to += got, addr += got) {
		got = im->outputs ? from_effects(im, true, addr, to, n) : 0;
		if (!got)
			got = from_effects(im, false, addr, to, n);
		if (!got)
			got = from_open(im, addr, to, n);
		if (!got)
			return -EFAULT;
	}
	return 0;
}

/* --- text, kind by kind --- */

/* Marks where the columns of a row lie in its line: the arguments begin, they end, the result begins. */
static void mark_args(struct evprint *p, const struct buf *out)
{
	if (p->parts)
		p->parts->args = p->parts->args_end = p->parts->result = out->len;
}

static void mark_args_end(struct evprint *p, const struct buf *out)
{
	if (p->parts)
		p->parts->args_end = p->parts->result = out->len;
}

static void mark_result(struct evprint *p, const struct buf *out)
{
	if (p->parts)
		p->parts->result = out->len;
}

static void put_decoded(struct evprint *p, const struct event *ev, const struct sys_call *call,
			const struct evprint_call *open, bool has_result, struct buf *out)
{
	struct image before = { .p = p, .ev = ev, .open = open };
	struct image after = { .p = p, .ev = ev, .open = open, .outputs = true };
	struct sys_mem entry = { image_read, &before }, exit = { image_read, &after };
	struct sysprint_options opt = { .string_max = p->string_max, .parts = p->parts };

	sysprint_call(out, call, has_result, ev->result, &entry, &exit, &opt);
}

static struct sys_call call_of(const struct event *ev)
{
	struct sys_call c = { .nr = ev->sysno };

	memcpy(c.args, ev->args, sizeof(c.args));
	return c;
}

static void put_call(struct evprint *p, const struct event *ev, struct buf *out)
{
	struct sys_call c = call_of(ev);

	put_decoded(p, ev, &c, NULL, true, out);
}

static void put_enter(struct evprint *p, const struct event *ev, struct buf *out)
{
	struct sys_call c = call_of(ev);

	put_decoded(p, ev, &c, NULL, false, out);
}

static void put_result(struct evprint *p, const struct event *ev, struct buf *out)
{
	const struct evprint_call *open = *find_open(p, ev->thread);
	char name[24];

	if (open && open->call.nr == ev->sysno) {
		buf_printf(out, "<... resumed> ");
		put_decoded(p, ev, &open->call, open, true, out);
		return;
	}
	buf_printf(out, "<... %s resumed> ", sys_name(ev->sysno, name));
	mark_args(p, out);
	if (p->parts)
		p->parts->result += 2; /* behind "= " */
	sysprint_result(out, sys_row(ev->sysno), ev->result);
}

static void put_birth(struct evprint *p, const struct event *ev, struct buf *out)
{
	put_enter(p, ev, out);
	buf_printf(out, "  new thread %u (pid %d, tid %d)", ev->child, ev->pid, ev->tid);
}

/* Calls fn for each of the NUL-terminated words in the blob. */
static void each_word(const struct event *ev, void (*fn)(void *ctx, const char *word, size_t len), void *ctx)
{
	const char *s = ev->blob, *end = s + ev->blob_len;

	while (s && s < end) {
		size_t n = strnlen(s, (size_t)(end - s));

		fn(ctx, s, n);
		s += n + 1;
	}
}

static void put_word(void *ctx, const char *word, size_t len)
{
	struct buf *out = ctx, quoted CLEANUP(buf_done) = { 0 };
	char *copy CLEANUP(freep) = strndup(word, len);

	buf_put_shell_quoted(&quoted, copy ? copy : "?");
	buf_printf(out, " ");
	buf_put_safe(out, buf_cstr(&quoted));
}

static void put_exec(struct evprint *p, const struct event *ev, struct buf *out)
{
	buf_printf(out, "exec ");
	mark_args(p, out);
	buf_put_safe(out, ev->text);
	buf_printf(out, ":");
	each_word(ev, put_word, out);
	mark_args_end(p, out);
	if (ev->child)
		buf_printf(out, "  (called by thread %u)", ev->child);
	if (ev->pid)
		buf_printf(out, "  (pid %d, tid %d)", ev->pid, ev->tid);
}

static void put_signal(struct evprint *p, const struct event *ev, struct buf *out)
{
	buf_printf(out, "--- ");
	mark_args(p, out);
	sysprint_siginfo(out, ev->siginfo);
	mark_args_end(p, out);
	buf_printf(out, " ---");
	if (p->parts)
		p->parts->result = out->len + 1;
	if (ev->flags & EVENT_F_HANDLER)
		buf_printf(out, " handler at 0x%" PRIx64, ev->rip);
	if (ev->flags & EVENT_F_FATAL)
		buf_printf(out, " kills the process");
	if (!(ev->flags & (EVENT_F_HANDLER | EVENT_F_FATAL)))
		buf_printf(out, " for its tracer");
}

static void put_exit(struct evprint *p, const struct event *ev, struct buf *out)
{
	int status = (int)ev->result;
	char name[24];

	buf_printf(out, "+++ ");
	mark_args(p, out);
	if (WIFSIGNALED(status))
		buf_printf(out, "killed by %s%s", sysprint_signal(WTERMSIG(status), name), WCOREDUMP(status) ? " (core dumped)" : "");
	else
		buf_printf(out, "exited with %d", WEXITSTATUS(status));
	mark_args_end(p, out);
	buf_printf(out, " +++");
	if (p->parts)
		p->parts->result = out->len + 1;
	if (ev->flags & EVENT_F_GROUP)
		buf_printf(out, " with its process");
}

static void put_tsc(struct evprint *p, const struct event *ev, struct buf *out)
{
	mark_args(p, out);
	buf_printf(out, ev->args[2] ? "rdtscp" : "rdtsc");
	mark_args_end(p, out);
	buf_printf(out, " = ");
	mark_result(p, out);
	buf_printf(out, "%" PRIu64, ev->args[0]);
	if (ev->args[2])
		buf_printf(out, ", aux %" PRIu64, ev->args[1]);
}

static void put_cpuid(struct evprint *p, const struct event *ev, struct buf *out)
{
	uint64_t ab = ev->args[2], cd = ev->args[3];

	buf_printf(out, "cpuid(");
	mark_args(p, out);
	buf_printf(out, "eax=0x%" PRIx64 ", ecx=0x%" PRIx64, ev->args[0], ev->args[1]);
	mark_args_end(p, out);
	buf_printf(out, ") = ");
	mark_result(p, out);
	buf_printf(out, "eax=0x%x, ebx=0x%x, ecx=0x%x, edx=0x%x", (uint32_t)ab, (uint32_t)(ab >> 32), (uint32_t)cd, (uint32_t)(cd >> 32));
}

static void put_checksum(struct evprint *p, const struct event *ev, struct buf *out)
{
	buf_printf(out, "memory checksum ");
	mark_args(p, out);
	buf_printf(out, "0x%016" PRIx64, ev->args[0]);
	mark_args_end(p, out);
}

static void put_note(struct evprint *p, const struct event *ev, struct buf *out)
{
	buf_printf(out, "note: ");
	mark_args(p, out);
	buf_put_safe(out, ev->text);
	mark_args_end(p, out);
}

static void put_end(struct evprint *p, const struct event *ev UNUSED, struct buf *out)
{
	mark_args(p, out);
	buf_printf(out, "end of the recording");
	mark_args_end(p, out);
}

static void put_restart(struct evprint *p, const struct event *ev, struct buf *out)
{
	char name[24];

	buf_printf(out, "%s is ", sys_name(ev->sysno, name));
	mark_args(p, out);
	buf_printf(out, "restarted by the kernel");
	mark_args_end(p, out);
}

static void put_other(struct evprint *p, const struct event *ev, struct buf *out)
{
	buf_printf(out, "%s", event_kind_name(ev->kind));
	mark_args(p, out);
}

static const struct {
	void (*put)(struct evprint *p, const struct event *ev, struct buf *out);
} kinds[EVENT_MAX_] = {
	[EVENT_EXEC] = { put_exec },
	[EVENT_SYSCALL] = { put_call },
	[EVENT_SYSCALL_ENTER] = { put_enter },
	[EVENT_SYSCALL_EXIT] = { put_result },
	[EVENT_SIGNAL] = { put_signal },
	[EVENT_TSC] = { put_tsc },
	[EVENT_CPUID] = { put_cpuid },
	[EVENT_BIRTH] = { put_birth },
	[EVENT_EXIT] = { put_exit },
	[EVENT_CHECKSUM] = { put_checksum },
	[EVENT_NOTE] = { put_note },
	[EVENT_END] = { put_end },
	[EVENT_RESTART] = { put_restart },
};

static void put_event(struct evprint *p, const struct event *ev, struct buf *out)
{
	if (ev->kind < EVENT_MAX_ && kinds[ev->kind].put)
		kinds[ev->kind].put(p, ev, out);
	else
		put_other(p, ev, out);
}

static void put_remarks(const struct event *ev, struct buf *out)
{
	if (ev->flags & EVENT_F_REFUSED)
		buf_printf(out, "  (refused by the recorder)");
	if (ev->flags & EVENT_F_UNKNOWN)
		buf_printf(out, "  (effects found by comparing memory)");
}

void evprint_look(struct evprint *p, const struct event *ev, struct buf *out)
{
	put_event(p, ev, out);
	put_remarks(ev, out);
}

void evprint_text(struct evprint *p, const struct event *ev, struct buf *out)
{
	evprint_look(p, ev, out);
	after_event(p, ev);
}

/* --- rows --- */

static bool is_call(enum event_kind k)
{
	return k == EVENT_SYSCALL || k == EVENT_SYSCALL_ENTER || k == EVENT_SYSCALL_EXIT || k == EVENT_BIRTH;
}

int evprint_errno(const struct event *ev)
{
	bool result = ev->kind == EVENT_SYSCALL || ev->kind == EVENT_SYSCALL_EXIT;

	/* what sigreturn gives back is whatever the register held */
	if (!result || ev->sysno == SYS_rt_sigreturn)
		return 0;
	/* umask() and the like have no errors */
	return ev->result < 0 && ev->result >= -4095 && sys_row(ev->sysno)->ret != SYS_ARG_UINT ? (int)-ev->result : 0;
}

static void row_call(const struct evprint *p, const struct event *ev, struct evprint_row *row)
{
	const struct evprint_call *open = ev->kind == EVENT_SYSCALL_EXIT ? *find_open((struct evprint *)p, ev->thread) : NULL;

	row->call = is_call(ev->kind) && (ev->kind != EVENT_SYSCALL_EXIT || (open && open->call.nr == ev->sysno));
	if (row->call)
		row->made = open ? open->call : call_of(ev);
}

static void row_name(const struct event *ev, char ret[32])
{
	char name[24];

	if (is_call(ev->kind) || ev->kind == EVENT_RESTART)
		snprintf(ret, 32, "%s", sys_name(ev->sysno, name));
	else if (ev->kind == EVENT_SIGNAL)
		snprintf(ret, 32, "%s", sysprint_signal((int)ev->signo, name));
	else
		snprintf(ret, 32, "%s", event_kind_name(ev->kind));
}

static void put_short_error(struct buf *out, int e)
{
	const char *name = sysprint_errno(e);

	if (name)
		buf_printf(out, "-1 %s", name);
	else
		buf_printf(out, "-1 errno %d", e);
}

int evprint_row(struct evprint *p, const struct event *ev, struct evprint_row *row)
{
	struct buf *line = &row->line;
	int e = evprint_errno(ev);

	buf_clear(line);
	buf_clear(&row->result);
	row->parts = (struct sysprint_parts){ 0 };
	row_call(p, ev, row);
	row_name(ev, row->name);
	p->parts = &row->parts;
	put_event(p, ev, line);
	p->parts = NULL;
	row->parts.args = MIN(row->parts.args, line->len);
	row->parts.args_end = MIN(row->parts.args_end, line->len);
	if (e)
		put_short_error(&row->result, e);
	else if (row->parts.result > row->parts.args_end && row->parts.result < line->len)
		buf_put(&row->result, line->data + row->parts.result, line->len - row->parts.result);
	put_remarks(ev, line);
	after_event(p, ev);
	return buf_error(line) ? buf_error(line) : buf_error(&row->result);
}

void evprint_row_done(struct evprint_row *row)
{
	buf_done(&row->line);
	buf_done(&row->result);
}

/* --- effects --- */

static bool has_data(enum effect_kind k)
{
	return k == EFFECT_MEM || k == EFFECT_INPUT || k == EFFECT_REGS || k == EFFECT_XSTATE || k == EFFECT_OUTPUT;
}

static void prot_text(uint32_t prot, char ret[4])
{
	ret[0] = prot & PROT_READ ? 'r' : '-';
	ret[1] = prot & PROT_WRITE ? 'w' : '-';
	ret[2] = prot & PROT_EXEC ? 'x' : '-';
	ret[3] = '\0';
}

static void put_data(struct evprint *p, const struct effect *e, struct buf *out)
{
	size_t n = 0;
	uint8_t *data CLEANUP(freep) = copy_data(p, e, p->string_max ? p->string_max : TEXT_DATA_SHOWN, &n);

	buf_printf(out, " ");
	for (size_t i = 0; data && i < n; i++)
		buf_printf(out, "%02x", data[i]);
	if (n < e->len)
		buf_printf(out, "...");
}

static void put_map(const struct effect *e, struct buf *out)
{
	static const char *const sources[MAP_SOURCE_MAX_] = { "anon", "blob", "shared" };
	char prot[4], hex[65];

	prot_text(e->prot, prot);
	buf_printf(out, " %s %s", prot, e->source < MAP_SOURCE_MAX_ ? sources[e->source] : "?");
	if (e->source == MAP_SOURCE_BLOB) {
		blob_id_hex(&e->blob, hex);
		buf_printf(out, " %.12s+0x%" PRIx64, hex, e->offset);
	} else if (e->source == MAP_SOURCE_SHARED) {
		buf_printf(out, " %" PRIu64 "+0x%" PRIx64, e->object, e->offset);
	}
	if (e->name && *e->name) {
		buf_printf(out, " ");
		buf_put_safe(out, e->name);
	}
}

void evprint_effects(struct evprint *p, const struct event *ev, struct buf *out)
{
	for (uint32_t i = 0; i < ev->n_effects; i++) {
		const struct effect *e = &ev->effects[i];

		buf_printf(out, "\n          %-7s 0x%" PRIx64 " %" PRIu64, effect_kind_name(e->kind), e->addr, e->len);
		if (e->thread && e->thread != ev->thread)
			buf_printf(out, " of thread %u", e->thread);
		if (e->kind == EFFECT_MAP)
			put_map(e, out);
		else if (e->kind == EFFECT_RESIZE)
			buf_printf(out, " object %" PRIu64, e->object);
		else if (has_data(e->kind))
			put_data(p, e, out);
	}
}

/* --- JSON --- */

/* Data that are not inside the event are fetched. */
static int add_data(struct evprint *p, const struct effect *e, size_t max, json_t *obj)
{
	struct buf hex CLEANUP(buf_done) = { 0 };
	uint8_t *data CLEANUP(freep) = NULL;
	size_t n = 0;

	if (!has_data(e->kind) || e->data)
		return 0;
	data = copy_data(p, e, max, &n);
	for (size_t i = 0; data && i < n; i++)
		buf_printf(&hex, "%02x", data[i]);
	return data ? jsonx_set_str(obj, "data", buf_cstr(&hex)) : 0;
}

static int add_names(const struct event *ev, json_t *obj)
{
	int e = evprint_errno(ev);
	const char *error = e ? sysprint_errno(e) : NULL;
	char name[24];
	int r = 0;

	if (json_object_get(obj, "sysno"))
		r = jsonx_set_str(obj, "syscall", sys_name(ev->sysno, name));
	if (r >= 0 && error)
		r = jsonx_set_str(obj, "errno", error);
	if (r >= 0 && ev->kind == EVENT_SIGNAL)
		r = jsonx_set_str(obj, "signal", sysprint_signal((int)ev->signo, name));
	return r;
}

/* The line of evprint_text(), which also keeps track of open calls. */
static int add_line(struct evprint *p, const struct event *ev, json_t *obj)
{
	struct buf line CLEANUP(buf_done) = { 0 };

	evprint_text(p, ev, &line);
	if (buf_error(&line))
		return buf_error(&line);
	return jsonx_set_new(obj, "line", jsonx_string_lossy((const char *)line.data, line.len));
}

int evprint_json(struct evprint *p, const struct event *ev, json_t **ret)
{
	size_t max = p->string_max ? p->string_max : DATA_SHOWN, i;
	json_t *obj CLEANUP(jsonx_unrefp) = NULL, *effect;
	int r = event_to_json(ev, max, &obj);

	if (r >= 0)
		r = add_names(ev, obj);
	if (r >= 0)
		r = add_line(p, ev, obj);
	if (r < 0)
		return r;
	json_array_foreach(json_object_get(obj, "effects"), i, effect) {
		r = add_data(p, &ev->effects[i], max, effect);
		if (r < 0)
			return r;
	}
	*ret = TAKE(obj);
	return 0;
}
