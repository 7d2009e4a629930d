/* What a stop has to do with the client's breakpoints: their ids, the number of the hit, what a data breakpoint saw. */
#define LOG_AREA "dap.breaks"
#include "dap/breaks_priv.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include "base/os.h"

static const char *const reason_of_kind[] = {
	[POINT_LINE] = "breakpoint",
	[POINT_FUNCTION] = "function breakpoint",
	[POINT_ADDRESS] = "instruction breakpoint",
	[POINT_DATA] = "data breakpoint",
};

static int add_hit(struct run_stop *s, const struct point *p)
{
	if (!s->hits)
		s->hits = json_array();
	return s->hits && json_array_append_new(s->hits, json_integer(p->id)) == 0 ? 0 : -ENOMEM;
}

/* gdb names the first of several that were hit at one place. */
static int add_others(struct dap *d, struct run_stop *s, const struct point *first)
{
	uint64_t pc = mi_addr(json_object_get(s->mi, "frame"), "addr");
	int r = 0;

	for (size_t i = 0; i < d->breaks->n && r >= 0; i++) {
		struct point *p = d->breaks->points[i];

		if (p != first && p->number && !p->logs && p->hit.op == HIT_ALWAYS && !json_object_get(p->spec, "condition") && p->kind != POINT_DATA &&
		    point_stands_at(p, pc))
			r = add_hit(s, p);
	}
	return r;
}

/* " (hit 3)" of one with a hit condition. */
static void put_hit(struct dap *d, const struct point *p, struct buf *b)
{
	uint64_t met = (uint64_t)MAX(p->times - p->base, 0);

	if (p->hit.op == HIT_ALWAYS)
		return;
	if (p->at && met)
		buf_printf(b, " (hit %" PRIu64 ")", hit_last(p->at, met, d->breaks->reverse));
	else
		buf_printf(b, " (its hits are not counted yet)");
}

/* What the memory held before and behind the write. gdb tells what it saw first and then: backwards that is the later value. */
static void put_values(const struct run_stop *s, struct buf *b)
{
	const json_t *value = json_object_get(s->mi, "value");
	const char *old = mi_str(value, "old"), *new = mi_str(value, "new"), *now = mi_str(value, "value");

	if (old && new && strchr("'\"{", *old)) /* as bytes, which say little */
		buf_printf(b, ": %s", s->reverse ? "this changes it" : "has changed");
	else if (old && new && s->reverse)
		buf_printf(b, ": was %.200s, this makes it %.200s", new, old);
	else if (old && new)
		buf_printf(b, ": was %.200s, has become %.200s", old, new);
	else if (now || new)
		buf_printf(b, ": is %.200s", now ? now : new);
}

static void put_name(const struct point *p, struct buf *b)
{
	const char *name = mi_str(p->spec, "name");

	if (p->kind == POINT_DATA)
		buf_printf(b, "%.100s", name ? name : "Data breakpoint");
	else
		buf_printf(b, "Breakpoint %" PRId64, p->id);
}

static int name_hit(struct dap *d, struct run_stop *s, const struct point *p)
{
	struct buf b CLEANUP(buf_done) = { 0 };
	const char *reason = s->kind == RUN_STEP && strcmp(s->reason, "step") == 0 ? "step" : reason_of_kind[p->kind];

	put_name(p, &b);
	if (p->kind == POINT_DATA)
		put_values(s, &b);
	put_hit(d, p, &b);
	return run_stop_name(s, reason, buf_cstr(&b));
}

/* gdb nests what a watchpoint is under "wpt", "hw-rwpt" or "hw-awpt". */
static int64_t number_of_stop(const json_t *mi)
{
	static const char *const nests[] = { "wpt", "hw-rwpt", "hw-awpt" };
	int64_t number = mi_int(mi, "bkptno", mi_int(mi, "wpnum", 0));

	for (size_t i = 0; i < ARRAY_SIZE(nests) && !number; i++)
		number = mi_int(json_object_get(mi, nests[i]), "number", 0);
	return number;
}

int breaks_judge(struct dap *d, struct run_stop *s)
{
	struct point *p = point_of_number(d, number_of_stop(s->mi));
	int r;

	if (!p)
		return 0;
	r = add_hit(s, p);
	if (r >= 0 && p->kind != POINT_DATA)
		r = add_others(d, s, p);
	return r >= 0 ? name_hit(d, s, p) : r;
}
