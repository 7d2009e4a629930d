/* Runs that the client does not see, and what hit conditions need of each run: see breaks_priv.h. */
#define LOG_AREA "dap.breaks"
#include "dap/breaks_priv.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include "base/log.h"
#include "base/os.h"

/* --- runs without the client --- */

static bool contains(const json_t *numbers, int64_t number)
{
	for (size_t i = 0; i < json_array_size(numbers); i++)
		if (json_integer_value(json_array_get(numbers, i)) == number)
			return true;
	return false;
}

/* "-break-disable 1 2 3" and its like. */
static int for_numbers(struct dap *d, const char *command, const json_t *numbers)
{
	struct buf b CLEANUP(buf_done) = { 0 };

	if (!json_array_size(numbers))
		return 0;
	buf_printf(&b, "%s", command);
	for (size_t i = 0; i < json_array_size(numbers); i++)
		buf_printf(&b, " %" JSON_INTEGER_FORMAT, json_integer_value(json_array_get(numbers, i)));
	return mi_command(d->mi, NULL, &d->ei, "%s", buf_cstr(&b));
}

static int list_enabled(struct dap *d, const json_t *keep, json_t *numbers)
{
	json_t *j CLEANUP(jsonx_unrefp) = NULL;
	const json_t *rows;
	int r = mi_command(d->mi, &j, &d->ei, "-break-list");

	rows = json_object_get(json_object_get(j, "BreakpointTable"), "body");
	for (size_t i = 0; i < json_array_size(rows) && r >= 0; i++) {
		const json_t *row = json_array_get(rows, i);
		const char *enabled = mi_str(row, "enabled");
		int64_t number = mi_int(row, "number", 0);

		if (number > 0 && enabled && *enabled == 'y' && !contains(keep, number) && json_array_append_new(numbers, json_integer(number)) < 0)
			r = -ENOMEM;
	}
	return r;
}

int breaks_disable(struct dap *d, const json_t *keep, json_t **ret)
{
	json_t *numbers CLEANUP(jsonx_unrefp) = json_array();
	int r = numbers ? list_enabled(d, keep, numbers) : -ENOMEM;

	if (r >= 0)
		r = for_numbers(d, "-break-disable", numbers);
	if (r >= 0)
		*ret = TAKE(numbers);
	return r;
}

int breaks_enable(struct dap *d, const json_t *numbers)
{
	return for_numbers(d, "-break-enable", numbers);
}

int breaks_home(struct dap *d, char **ret)
{
	json_t *j CLEANUP(jsonx_unrefp) = NULL;
	const char *position;
	int r = mi_monitor(d->mi, &j, &d->ei, "where");

	if (r < 0)
		return r;
	position = mi_str(j, "position");
	if (!position)
		return errinfo_set(&d->ei, ERR_PROTOCOL, "the server does not tell where it stands");
	*ret = os_strdup(position);
	return *ret ? 0 : -ENOMEM;
}

int breaks_return(struct dap *d, const char *home, const json_t *disabled)
{
	int r = run_back_to(d, home), r2 = r == ERR_GUEST_GONE ? r : breaks_enable(d, disabled);

	points_tell(d); /* libraries came and went */
	return r < 0 ? r : r2;
}

static int at_end(struct dap *d, bool *ret)
{
	json_t *j CLEANUP(jsonx_unrefp) = NULL;
	int r = mi_monitor(d->mi, &j, &d->ei, "where brief");

	*ret = json_is_true(json_object_get(j, "at_end"));
	return r;
}

/* Signals and catchpoints stop on the way. */
int breaks_run_to_end(struct dap *d, const char *title, const bool *full)
{
	struct run_request rq = { .kind = RUN_CONTINUE, .command = "-exec-continue", .title = title };
	bool over = false;
	int r = 0;

	while (r >= 0 && !over && !(full && *full)) {
		r = run_quietly(d, &rq, NULL);
		if (r >= 0)
			r = at_end(d, &over);
	}
	return r;
}

/* --- hits: what the last run met --- */

static bool counts(const struct point *p)
{
	return p->number > 0 && p->hit.op != HIT_ALWAYS;
}

/* The program counter of the last stop's thread. */
static int program_counter(struct dap *d, uint64_t *ret)
{
	json_t *j CLEANUP(jsonx_unrefp) = NULL;
	int64_t thread = run_where(d)->thread_id;
	int r = thread > 0 ? mi_command(d->mi, &j, &d->ei, "-stack-list-frames --thread %" PRId64 " 0 0", thread)
			   : mi_command(d->mi, &j, &d->ei, "-stack-list-frames 0 0");

	if (r >= 0)
		*ret = mi_addr(json_array_get(json_object_get(j, "stack"), 0), "addr");
	return r;
}

bool point_stands_at(const struct point *p, uint64_t pc)
{
	const json_t *places = json_object_get(p->bkpt, "locations");

	for (size_t i = 0; i < json_array_size(places); i++)
		if (mi_addr(json_array_get(places, i), "addr") == pc)
			return true;
	return mi_addr(p->bkpt, "addr") == pc;
}

/* at as the last run has left it. */
static int settle(struct dap *d, struct point *p)
{
	uint64_t met = (uint64_t)MAX(p->times - p->base, 0), k, pc = 0;
	int r;

	p->base = p->times;
	if (!p->at || (!met && p->at % 2))
		return 0;
	r = program_counter(d, &pc);
	if (r < 0)
		return r;
	if (!met) { /* the hit was left, or the run was over before it began */
		p->at += point_stands_at(p, pc) ? 0 : d->breaks->reverse ? UINT64_MAX : 1;
		return 0;
	}
	k = hit_last(p->at, met, d->breaks->reverse);
	p->at = p->kind != POINT_DATA && point_stands_at(p, pc) ? 2 * k : d->breaks->reverse ? 2 * k - 1 : 2 * k + 1;
	return 0;
}

/* --- hits: where one stands among them --- */

static int set_ignore(struct dap *d, const struct point *p, uint64_t n)
{
	return mi_command(d->mi, NULL, &d->ei, "-break-after %" PRId64 " %" PRIu64, p->number, MIN(n, (uint64_t)INT32_MAX));
}

static json_t *unknown_numbers(struct dap *d)
{
	json_t *numbers = json_array();

	for (size_t i = 0; i < d->breaks->n && numbers; i++) {
		const struct point *p = d->breaks->points[i];

		if (counts(p) && !p->at && json_array_append_new(numbers, json_integer(p->number)) < 0) {
			json_decref(numbers);
			return NULL;
		}
	}
	return numbers;
}

static int ignore_all(struct dap *d, const json_t *numbers)
{
	int r = 0;

	for (size_t i = 0; i < json_array_size(numbers) && r >= 0; i++) {
		struct point *p = point_of_number(d, json_integer_value(json_array_get(numbers, i)));

		p->base = p->times;
		p->off = false;
		r = set_ignore(d, p, INT32_MAX);
	}
	return r;
}

/* Those behind here and those of the whole recording tell how many lie before. Backwards, each hit would have to be searched for. */
static int count_hits(struct dap *d, const char *home, const json_t *numbers)
{
	bool whole = true;
	uint64_t pc;
	int r = program_counter(d, &pc);

	for (size_t i = 0; i < json_array_size(numbers); i++)
		whole &= point_of_number(d, json_integer_value(json_array_get(numbers, i)))->total > 0;
	if (r >= 0 && !whole) {
		r = run_quietly_to(d, "start");
		if (r >= 0)
			r = ignore_all(d, numbers);
		if (r >= 0)
			r = breaks_run_to_end(d, "Counting the hits of breakpoints", NULL);
		for (size_t i = 0; i < json_array_size(numbers) && r >= 0; i++) {
			struct point *p = point_of_number(d, json_integer_value(json_array_get(numbers, i)));

			p->total = (uint64_t)(p->times - p->base) + 1;
		}
		if (r >= 0)
			r = run_quietly_to(d, home);
	}
	if (r >= 0)
		r = ignore_all(d, numbers);
	if (r >= 0)
		r = breaks_run_to_end(d, "Counting the hits of breakpoints", NULL);
	for (size_t i = 0; i < json_array_size(numbers) && r >= 0; i++) {
		struct point *p = point_of_number(d, json_integer_value(json_array_get(numbers, i)));
		uint64_t behind = (uint64_t)(p->times - p->base), all = p->total - 1, before = all > behind ? all - behind : 0;

		p->at = before && p->kind != POINT_DATA && point_stands_at(p, pc) ? 2 * before : 2 * before + 1;
	}
	return r;
}

/* Counts where it is not known. */
static int learn_places(struct dap *d)
{
	json_t *numbers CLEANUP(jsonx_unrefp) = unknown_numbers(d), *disabled CLEANUP(jsonx_unrefp) = NULL;
	char *home CLEANUP(freep) = NULL;
	int r = numbers ? 0 : -ENOMEM, r2;

	if (!json_array_size(numbers))
		return r;
	r = breaks_home(d, &home);
	if (r >= 0)
		r = breaks_disable(d, numbers, &disabled);
	if (r >= 0)
		r = breaks_enable(d, numbers);
	if (r < 0)
		return r;
	r = count_hits(d, home, numbers);
	if (r == ERR_GUEST_GONE)
		return r;
	r2 = breaks_return(d, home, disabled);
	dap_progress_end(d);
	return r < 0 ? r : r2;
}

static int is_at_start(struct dap *d, bool *ret)
{
	json_t *j CLEANUP(jsonx_unrefp) = NULL;
	int r = mi_monitor(d->mi, &j, &d->ei, "where brief");

	*ret = json_is_true(json_object_get(j, "at_start"));
	return r;
}

static int settle_all(struct dap *d)
{
	bool start = false;
	int r = is_at_start(d, &start);

	for (size_t i = 0; i < d->breaks->n && r >= 0 && d->breaks->ran; i++)
		if (counts(d->breaks->points[i]))
			r = settle(d, d->breaks->points[i]);
	d->breaks->ran = false;
	for (size_t i = 0; i < d->breaks->n && start; i++) {
		d->breaks->points[i]->at = HIT_AT_START;
		d->breaks->points[i]->at_least = false;
	}
	return r;
}

/* A breakpoint that is behind its last wanted hit, or knows that there is none on the way, needs no count of the others. */
static bool is_over(const struct point *p, bool reverse)
{
	return p->at_least && !reverse && hit_skip(&p->hit, p->at, reverse) == HIT_NEVER;
}

/* Tells gdb which hits to pass over. Where none is wanted, gdb need not stop at any; but a step meets few, and goes on to be counted. */
static int prepare_point(struct dap *d, struct point *p, bool step, bool reverse)
{
	uint64_t skip = p->at ? hit_skip(&p->hit, p->at, reverse) : 0;
	/* (a log point has the hits of a whole run told, and lines that are not wanted are dropped) */
	bool off = skip == HIT_NEVER && (!step || p->at_least);
	int r = 0;

	if (off != p->off)
		r = mi_command(d->mi, NULL, &d->ei, "-break-%s %" PRId64, off ? "disable" : "enable", p->number);
	p->off = off;
	p->base = p->times;
	if (r >= 0 && !off)
		r = set_ignore(d, p, p->logs ? 0 : skip);
	if (off && !reverse)
		p->at_least = true;
	else if (off)
		p->at = 0;
	return r;
}

/* --- a long way back --- */

/* Backwards each hit is searched for, which takes a second in a computation of many; forwards they are met one after the other. */
#define APPROACH_FROM 16u

/* From the start forwards to hit k. *ret_there: it is reached. */
static int run_to_hit(struct dap *d, const struct point *p, uint64_t k, bool *ret_there)
{
	struct run_request rq = { .kind = RUN_CONTINUE, .command = "-exec-continue", .title = "Looking for a hit from the start on" };
	bool over = false, there = false;
	int r = run_quietly_to(d, "start");

	if (r >= 0)
		r = set_ignore(d, p, k - 1);
	while (r >= 0 && !over && !there) {
		json_t *stop CLEANUP(jsonx_unrefp) = NULL;

		r = run_quietly(d, &rq, &stop);
		there = r >= 0 && mi_int(stop, "bkptno", 0) == p->number;
		if (r >= 0 && !there)
			r = at_end(d, &over);
	}
	*ret_there = there;
	return r;
}

/* Back to the hit, or the end, that approach() began at. */
static int go_home(struct dap *d, const struct point *p, bool from_end)
{
	bool cancelled = d->cancelled, there;
	int r;

	if (from_end)
		return run_back_to(d, "end");
	d->cancelled = false;
	r = run_to_hit(d, p, p->at / 2, &there);
	d->cancelled |= cancelled;
	return r;
}

/* Goes to the hit behind the one that is wanted, if nothing else can stop between there and here: no breakpoint, and no signal, which is an event. */
static int approach(struct dap *d, struct point *p)
{
	uint64_t wanted = (p->at - 1) / 2 - hit_skip(&p->hit, p->at, true), event = run_where(d)->event;
	json_t *keep CLEANUP(jsonx_unrefp) = json_pack("[I]", (json_int_t)p->number), *others CLEANUP(jsonx_unrefp) = json_array();
	json_t *place CLEANUP(jsonx_unrefp) = NULL;
	bool from_end = run_where(d)->at_end, there = false;
	int r = keep && others ? list_enabled(d, keep, others) : -ENOMEM, r2;

	if (r < 0 || json_array_size(others) || (p->at % 2 && !from_end))
		return r;
	r = run_to_hit(d, p, wanted + 1, &there);
	if (r >= 0 && there)
		r = mi_monitor(d->mi, &place, &d->ei, "where brief");
	if (r == ERR_GUEST_GONE)
		return r;
	if (r >= 0 && place && (uint64_t)mi_int(place, "event", 0) == event) {
		p->base = p->times;
		p->at = 2 * (wanted + 1);
		return set_ignore(d, p, 0);
	}
	r2 = go_home(d, p, from_end);
	p->base = p->times;
	if (r >= 0 && r2 >= 0)
		r = set_ignore(d, p, hit_skip(&p->hit, p->at, true));
	return r < 0 ? r : r2;
}

/* The one that a run backwards is about; NULL: there are several, or it is near. */
static struct point *far_point(struct dap *d)
{
	struct point *found = NULL;

	for (size_t i = 0; i < d->breaks->n; i++) {
		struct point *p = d->breaks->points[i];

		if (!counts(p) || p->off)
			continue;
		if (found || p->logs || p->kind == POINT_DATA || !p->at)
			return NULL;
		found = p;
	}
	if (!found || hit_skip(&found->hit, found->at, true) == HIT_NEVER)
		return NULL;
	return hit_skip(&found->hit, found->at, true) >= APPROACH_FROM ? found : NULL;
}

static int prepare(struct dap *d, bool step, bool reverse)
{
	struct dap_breaks *b = d->breaks;
	int r = settle_all(d);

	for (size_t i = 0; i < b->n; i++)
		if (counts(b->points[i]) && b->points[i]->at_least && !is_over(b->points[i], reverse)) {
			b->points[i]->at = 0;
			b->points[i]->at_least = false;
		}
	if (r >= 0)
		r = learn_places(d);
	for (size_t i = 0; i < b->n && r >= 0; i++)
		if (counts(b->points[i]))
			r = prepare_point(d, b->points[i], step, reverse);
	if (r >= 0 && reverse && !step) {
		struct point *far = far_point(d);

		r = far ? approach(d, far) : 0;
		dap_progress_end(d);
	}
	return r;
}

/* It goes elsewhere without passing over what lies between. */
static void forget_places(struct dap *d)
{
	for (size_t i = 0; i < d->breaks->n; i++)
		d->breaks->points[i]->at = 0;
}

/* The breakpoints with hit conditions, for a run that passes over hits. */
static int leave_counted(struct dap *d, enum run_kind kind, bool reverse)
{
	struct dap_breaks *b = d->breaks;
	bool any = false;
	int r;

	for (size_t i = 0; i < b->n; i++)
		any |= counts(b->points[i]);
	if (!any)
		return 0;
	if (kind == RUN_PLACE || kind == RUN_LAST_WRITE) {
		forget_places(d);
		return 0;
	}
	b->own = true;
	r = prepare(d, kind == RUN_STEP, reverse);
	b->own = false;
	return r;
}

int breaks_leaving(struct dap *d, enum run_kind kind, bool reverse)
{
	struct dap_breaks *b = d->breaks;
	int r;

	if (b->own)
		return 0;
	r = leave_counted(d, kind, reverse);
	b->reverse = reverse;
	b->ran = r >= 0;
	return r;
}
