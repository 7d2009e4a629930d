/* See event_json.h. print_x() prints what put_x() of event.c writes: both come from store/events.def. */
#include "store/event_json.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include "base/json.h"
#include "base/os.h"
#include "store/store.h"

static const char *const flag_names[] = { "stdout", "stderr", "reexec", "refused", "fatal",
					  "handler", "async",  "group",	 "unknown", "at-call", "after" };
static const char *const map_flag_names[] = { "growsdown", "stack", "vdso", "heap", "exe", "interp", "noreserve", "private" };
static_assert(EVENT_F_ALL_ == (1 << ARRAY_SIZE(flag_names)) - 1, "each flag has a name");
static_assert(MAP_F_ALL_ == (1 << ARRAY_SIZE(map_flag_names)) - 1, "each flag has a name");
static const char *const source_names[MAP_SOURCE_MAX_] = { "anon", "blob", "shared" };

static json_t *names_of(uint32_t flags, const char *const *names, size_t n)
{
	json_t *a = json_array();

	for (size_t i = 0; a && i < n; i++)
		if (flags & 1u << i && json_array_append_new(a, json_string(names[i])) < 0) {
			json_decref(a);
			return NULL;
		}
	return a;
}

json_t *event_flags_to_json(uint32_t flags)
{
	return names_of(flags, flag_names, ARRAY_SIZE(flag_names));
}

static json_t *hex_number(uint64_t v)
{
	char text[32];

	(void)snprintf(text, sizeof(text), "0x%llx", (unsigned long long)v);
	return json_string(text);
}

static json_t *hex_bytes(const void *p, size_t n)
{
	static const char digits[] = "0123456789abcdef";
	char *text CLEANUP(freep) = os_malloc(2 * n + 1);

	if (!text)
		return NULL;
	for (size_t i = 0; i < n; i++) {
		text[2 * i] = digits[((const uint8_t *)p)[i] >> 4];
		text[2 * i + 1] = digits[((const uint8_t *)p)[i] & 15];
	}
	text[2 * n] = '\0';
	return json_string(text);
}

/* j, and the first failure. */
struct printer {
	json_t *j;
	size_t data_max;
	int error;
};

static void set(struct printer *p, const char *name, json_t *v)
{
	if (json_object_set_new(p->j, name, v) < 0)
		p->error = -ENOMEM;
}

static void print_args_n(struct printer *p, const struct event *ev, size_t n)
{
	json_t *a = json_array();

	for (size_t i = 0; i < n; i++)
		if (json_array_append_new(a, hex_number(ev->args[i])) < 0)
			p->error = -ENOMEM;
	set(p, "args", a);
}

/* clang-format off */
static void print_sysno(struct printer *p, const struct event *ev) { set(p, "sysno", json_integer(ev->sysno)); }
static void print_args(struct printer *p, const struct event *ev) { print_args_n(p, ev, 6); }
static void print_args1(struct printer *p, const struct event *ev) { print_args_n(p, ev, 1); }
static void print_args3(struct printer *p, const struct event *ev) { print_args_n(p, ev, 3); }
static void print_args4(struct printer *p, const struct event *ev) { print_args_n(p, ev, 4); }
static void print_result(struct printer *p, const struct event *ev) { set(p, "result", json_integer(ev->result)); }
static void print_rip(struct printer *p, const struct event *ev) { set(p, "rip", hex_number(ev->rip)); }
static void print_child(struct printer *p, const struct event *ev) { set(p, "child", json_integer(ev->child)); }
static void print_pid(struct printer *p, const struct event *ev) { set(p, "pid", json_integer(ev->pid)); }
static void print_tid(struct printer *p, const struct event *ev) { set(p, "tid", json_integer(ev->tid)); }
static void print_signo(struct printer *p, const struct event *ev) { set(p, "signo", json_integer(ev->signo)); }
static void print_siginfo(struct printer *p, const struct event *ev) { set(p, "siginfo", hex_bytes(ev->siginfo, sizeof(ev->siginfo))); }
static void print_text(struct printer *p, const struct event *ev) { set(p, "text", jsonx_string_lossy(ev->text, strlen(ev->text))); }
static void print_bytes(struct printer *p, const struct event *ev) { set(p, "bytes", hex_bytes(ev->blob, MIN(ev->blob_len, (uint64_t)p->data_max))); }
/* clang-format on */

static void print_argv(struct printer *p, const struct event *ev)
{
	const char *s = ev->blob, *end = s + ev->blob_len;
	json_t *a = json_array();

	while (s < end && !p->error) {
		size_t n = strnlen(s, (size_t)(end - s));

		if (json_array_append_new(a, jsonx_string_lossy(s, n)) < 0)
			p->error = -ENOMEM;
		s += n + 1;
	}
	set(p, "argv", a);
}

/* clang-format off */
static void print_effect_addr(struct printer *p, const struct effect *e) { set(p, "addr", hex_number(e->addr)); }
static void print_effect_len(struct printer *p, const struct effect *e) { set(p, "len", json_integer((json_int_t)e->len)); }
static void print_effect_hash(struct printer *p, const struct effect *e) { set(p, "hash", hex_number(e->hash)); }
static void print_effect_object(struct printer *p, const struct effect *e) { set(p, "object", json_integer((json_int_t)e->object)); }
static void print_effect_name(struct printer *p, const struct effect *e) { set(p, "name", jsonx_string_lossy(e->name, strlen(e->name))); }
/* clang-format on */

static void print_effect_data(struct printer *p, const struct effect *e)
{
	print_effect_len(p, e);
	if (e->data)
		set(p, "data", hex_bytes(e->data, MIN(e->len, (uint64_t)p->data_max)));
	else
		set(p, "data_offset", json_integer((json_int_t)e->data_off));
}

static void print_effect_map(struct printer *p, const struct effect *e)
{
	char prot[4] = { e->prot & PROT_READ ? 'r' : '-', e->prot & PROT_WRITE ? 'w' : '-', e->prot & PROT_EXEC ? 'x' : '-' };
	char hex[65];

	set(p, "prot", json_string(prot));
	set(p, "map_flags", names_of(e->flags, map_flag_names, ARRAY_SIZE(map_flag_names)));
	set(p, "source", json_string(source_names[e->source]));
	if (e->source == MAP_SOURCE_BLOB) {
		blob_id_hex(&e->blob, hex);
		set(p, "blob", json_string(hex));
	}
	if (e->source == MAP_SOURCE_SHARED)
		print_effect_object(p, e);
	if (e->source != MAP_SOURCE_ANON)
		set(p, "offset", hex_number(e->offset));
}

static json_t *effect_to_json(const struct effect *e, size_t data_max, int *error)
{
	struct printer p = { .j = json_object(), .data_max = data_max };

	set(&p, "kind", json_string(effect_kind_name(e->kind)));
	if (e->thread)
		set(&p, "thread", json_integer(e->thread));
	switch (e->kind) {
#define F(x) print_effect_##x(&p, e);
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
	if (p.error)
		*error = p.error;
	return p.j;
}

static void print_effects(struct printer *p, const struct event *ev)
{
	json_t *a = json_array();

	for (uint32_t i = 0; i < ev->n_effects && !p->error; i++)
		if (json_array_append_new(a, effect_to_json(&ev->effects[i], p->data_max, &p->error)) < 0)
			p->error = -ENOMEM;
	set(p, "effects", a);
}

static void print_fields(struct printer *p, const struct event *ev)
{
	switch (ev->kind) {
#define F(x) print_##x(p, ev);
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
		break;
	}
}

int event_to_json(const struct event *ev, size_t data_max, json_t **ret)
{
	struct printer p = { .j = json_object(), .data_max = data_max };

	set(&p, "number", json_integer((json_int_t)ev->number));
	set(&p, "kind", json_string(event_kind_name(ev->kind)));
	set(&p, "thread", json_integer(ev->thread));
	set(&p, "time_ns", json_integer((json_int_t)ev->time_ns));
	set(&p, "flags", event_flags_to_json(ev->flags));
	print_fields(&p, ev);
	if (ev->regs_hash)
		set(&p, "regs_hash", hex_number(ev->regs_hash));
	if (ev->n_effects)
		print_effects(&p, ev);
	if (p.error) {
		json_decref(p.j);
		return p.error;
	}
	*ret = p.j;
	return 0;
}
