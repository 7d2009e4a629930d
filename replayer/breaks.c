/* Breakpoints and watchpoints of a debugging session: int3s that no reader sees (engine/patch.h), debug registers, and the effects
 * of events. */
#define LOG_AREA "replayer.breaks"
#include "replayer/dbg_priv.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/log.h"
#include "engine/patch.h"

#define POINTS_MAX 65536u

/* --- the client's --- */

static bool is_watch(const struct dbg_point *p)
{
	return p->b.kind != DBG_BREAK;
}

/* Debug registers for watchpoints, guarded pages where they are not enough. */
static void assign_registers(struct dbg *d)
{
	d->n_watch = 0;
	d->watch_guards = false;
	for (size_t i = 0; i < d->n_points; i++) {
		struct dbg_point *p = &d->points[i];
		int n;

		if (!is_watch(p))
			continue;
		n = eng_watch_split(p->b.addr, p->b.len, d->watch + d->n_watch, ENG_WATCH_MAX - d->n_watch);
		p->guarded = n < 0;
		d->watch_guards |= p->guarded;
		for (int k = 0; k < n; k++) {
			d->watch[d->n_watch].writes_only = p->b.kind == DBG_WATCH_WRITE;
			d->watch_point[d->n_watch++] = p->id;
		}
	}
}

int dbg_break_add(struct dbg *d, const struct dbg_break *b, unsigned *ret_id)
{
	struct dbg_point *v;

	if (d->n_points == POINTS_MAX)
		return ERR_LIMIT;
	if (b->kind != DBG_BREAK && (!b->len || b->addr + b->len < b->addr))
		return -EINVAL;
	v = reallocarray(d->points, d->n_points + 1, sizeof(*v));
	if (!v)
		return -ENOMEM;
	d->points = v;
	v[d->n_points] = (struct dbg_point){ .id = ++d->last_id, .b = *b };
	dbg_cond_compile(&v[d->n_points++], b);
	*ret_id = d->last_id;
	d->generation++;
	assign_registers(d);
	return 0;
}

int dbg_break_remove(struct dbg *d, unsigned id)
{
	for (size_t i = 0; i < d->n_points; i++)
		if (d->points[i].id == id) {
			free(d->points[i].old);
			dbg_cond_done(&d->points[i]);
			memmove(d->points + i, d->points + i + 1, (d->n_points - i - 1) * sizeof(*d->points));
			d->n_points--;
			d->generation++;
			assign_registers(d);
			return 0;
		}
	return ERR_NOT_FOUND;
}

void dbg_breaks_free(struct dbg *d)
{
	for (size_t i = 0; i < d->n_points; i++) {
		free(d->points[i].old);
		dbg_cond_done(&d->points[i]);
	}
	free(d->points);
}

/* --- planting --- */

/* In memory that cannot be executed it would only spoil data. Debuggers do put breakpoints on the stack, where calls of functions return
 * to, and leave them there when these calls never return. */
static bool is_data(const struct rep_task *t, uint64_t addr)
{
	const struct mapping *m = aspace_next(&t->t.mm->as, addr);

	return m && (m->start <= addr || m->flags & ASPACE_GROWSDOWN) && !(m->prot & PROT_EXEC);
}

int dbg_breaks_patch(struct dbg *d, struct rep_task *t, uint64_t addr)
{
	int r;

	if (is_data(t, addr)) {
		d->waits = true;
		return 0;
	}
	r = eng_patch_set(&t->t, addr);
	if (r == -EBUSY) {
		log_debug("no breakpoint at %#lx: others share the memory there", (unsigned long)addr);
		r = 0;
	}
	return MIN(r, 0);
}

static int plant(struct dbg *d, struct rep_task *t, bool user)
{
	int r = dbg_cond_close(d);

	if (r >= 0)
		r = eng_patch_clear_all(&t->t);
	d->waits = false;
	for (size_t i = 0; i < d->n_points && r >= 0 && user; i++)
		if (!is_watch(&d->points[i]))
			r = dbg_breaks_patch(d, t, d->points[i].b.addr);
	return r;
}

/* What is searched may lie in a computation of another process: that has been interrupted there. */
static int plant_own(struct dbg *d)
{
	struct rep_task *t = d->own[0] || d->own[1] ? dbg_next_task(d) : NULL;
	int r = 0;

	for (size_t i = 0; t && i < ARRAY_SIZE(d->own) && r >= 0; i++)
		if (d->own[i])
			r = dbg_breaks_patch(d, t, d->own[i]);
	return r;
}

/* Children of the process come with its breakpoints in their memory. */
static int clear_others(struct dbg *d, const struct eng_mm *mm)
{
	int r = 0;

	for (uint32_t i = 0; i < d->s->cap_tasks && r >= 0; i++) {
		struct rep_task *t = d->s->tasks[i];

		if (!t || t->t.mm == mm || !t->t.mm->patches.n)
			continue;
		r = dbg_cond_forked(d, t);
		if (r >= 0)
			r = eng_patch_clear_all(&t->t);
	}
	return r;
}

int dbg_breaks_sync(struct dbg *d)
{
	struct rep_task *t = dbg_any_task(d);
	bool user = d->goal && d->goal->user; /* searches of ours are quicker without the client's */
	int r = clear_others(d, t ? t->t.mm : NULL);

	if (r < 0)
		return r;
	if (t && t->t.mm == d->patched && d->patched_generation == d->generation && d->patched_user == user &&
	    !(d->waits && d->patched_changes != t->t.mm->as.changes))
		return eng_patch_sync(&t->t);
	r = t ? plant(d, t, user) : 0;
	if (r >= 0)
		r = plant_own(d);
	if (!t)
		return r;
	d->patched_user = user;
	d->patched = t->t.mm;
	d->patched_generation = d->generation;
	d->patched_changes = t->t.mm->as.changes;
	return r;
}

int dbg_breaks_own(struct dbg *d, uint64_t a, uint64_t b)
{
	if (a == d->own[0] && b == d->own[1])
		return 0;
	d->own[0] = a;
	d->own[1] = b;
	d->patched = NULL;
	return dbg_breaks_sync(d);
}

int dbg_breaks_watch(struct dbg *d, struct rep_task *t)
{
	/* searches of ours need none, and each trap costs */
	uint64_t wanted = d->n_watch && d->goal && d->goal->user ? d->generation : 0;
	int r;

	if (t->watch_generation == wanted)
		return 0;
	r = eng_watch(&t->t, d->watch, wanted ? d->n_watch : 0);
	t->watch_generation = wanted;
	if (r == ERR_GUEST_GONE)
		return r;
	if (r < 0)
		log_debug("no watchpoint: %s", err_str(r)); /* an address of the kernel's */
	return 0;
}

/* --- hits --- */

static int asks(struct dbg *d, struct rep_task *t, const struct dbg_point *p)
{
	return p->b.cond ? p->b.cond(p->b.ctx, d, t->guest_tid) : 1;
}

/* Does it stop anybody at present? */
static bool is_on(const struct dbg *d, const struct dbg_point *p)
{
	return !d->muted && (!d->only || d->only == p->id);
}

static void report(struct dbg *d, struct rep_task *t, const struct dbg_point *p, uint64_t addr)
{
	d->stop = (struct dbg_stop){ .kind = is_watch(p) ? DBG_STOP_WATCH : DBG_STOP_BREAK, .tid = t->guest_tid, .break_id = p->id, .addr = addr };
}

int dbg_breaks_hit(struct dbg *d, struct rep_task *t, uint64_t addr)
{
	if (!dbg_is_target(d, t))
		return 0;
	for (size_t i = 0; i < d->n_points; i++) {
		const struct dbg_point *p = &d->points[i];

		if (is_watch(p) || p->b.addr != addr || !is_on(d, p) || !asks(d, t, p))
			continue;
		report(d, t, p, addr);
		return 1;
	}
	return 0;
}

static struct dbg_point *point_of(const struct dbg *d, unsigned id)
{
	for (size_t i = 0; i < d->n_points; i++)
		if (d->points[i].id == id)
			return &d->points[i];
	return NULL;
}

/* --- guarded memory --- */

/* Of what is longer than this only the beginning is compared: behind it each write counts. */
#define GUARD_WATCH_MAX (1u << 20)

static size_t watched_len(const struct dbg_point *p)
{
	return MIN(p->b.len, (uint64_t)GUARD_WATCH_MAX);
}

/* Registers and pages tell reading from writing only by what has changed: writing what was there already counts as reading. */
static bool is_compared(const struct dbg_point *p)
{
	return p->guarded || p->b.kind == DBG_WATCH_READ;
}

void dbg_read_all(struct dbg *d, uint64_t addr, uint8_t *buf, size_t n)
{
	size_t have = dbg_read(d, addr, buf, n);

	memset(buf + have, 0, n - have);
}

void dbg_breaks_note(struct dbg *d)
{
	for (size_t i = 0; i < d->n_points; i++) {
		struct dbg_point *p = &d->points[i];

		if (!is_compared(p))
			continue;
		if (!p->old)
			p->old = calloc(1, watched_len(p));
		if (p->old)
			dbg_read_all(d, p->b.addr, p->old, watched_len(p));
	}
}

/* Are the bytes others than before? They are the ones before from now on. */
static bool is_changed(struct dbg *d, struct dbg_point *p)
{
	uint8_t *now = p->old ? calloc(1, watched_len(p)) : NULL;
	bool changed;

	if (!now)
		return true;
	dbg_read_all(d, p->b.addr, now, watched_len(p));
	changed = memcmp(now, p->old, watched_len(p)) != 0;
	free(p->old);
	p->old = now;
	return changed;
}

static bool is_met(const struct dbg_point *p, bool touched, bool changed)
{
	switch (p->b.kind) {
	case DBG_WATCH_WRITE:
		return changed;
	case DBG_WATCH_READ:
		return touched && !changed;
	default:
		return changed || touched;
	}
}

int dbg_breaks_guarded(struct dbg *d, struct rep_task *t)
{
	bool stops = false;

	for (size_t i = 0; i < d->n_points; i++) {
		struct dbg_point *p = &d->points[i];
		bool touched = p->guarded && d->fault_at - p->b.addr < p->b.len, changed;

		if (!p->guarded)
			continue;
		changed = is_changed(d, p) || (touched && d->fault_at - p->b.addr >= watched_len(p));
		if (!is_met(p, touched, changed))
			continue;
		if (!stops && is_on(d, p) && dbg_is_target(d, t) && asks(d, t, p)) {
			report(d, t, p, touched ? d->fault_at : p->b.addr);
			stops = true;
		}
	}
	return stops;
}

bool dbg_breaks_watched(struct dbg *d, struct rep_task *t, unsigned mask)
{
	if (!dbg_is_target(d, t))
		return false;
	for (unsigned i = 0; i < d->n_watch; i++) {
		struct dbg_point *p = mask >> i & 1 ? point_of(d, d->watch_point[i]) : NULL;
		bool written = p && p->b.kind == DBG_WATCH_READ && is_changed(d, p);

		if (!p || written || !is_on(d, p) || !asks(d, t, p))
			continue;
		report(d, t, p, MAX(p->b.addr, d->watch[i].addr));
		return true;
	}
	return false;
}

static bool is_within(const struct dbg_point *p, const struct effect *e)
{
	return e->addr < p->b.addr + p->b.len && p->b.addr < e->addr + e->len;
}

static bool writes(const struct effect *e)
{
	return e->kind == EFFECT_MEM || e->kind == EFFECT_ZERO || e->kind == EFFECT_MAP;
}

static bool touches(const struct dbg_point *p, const struct effect *e)
{
	bool read = e->kind == EFFECT_INPUT;

	if (!(writes(e) && p->b.kind != DBG_WATCH_READ) && !(read && p->b.kind != DBG_WATCH_WRITE))
		return false;
	return is_within(p, e);
}

/* What the kernel has written there is not the doing of the next instruction that comes by. */
static void note_effects(struct dbg *d, struct dbg_point *p, const struct event *ev)
{
	for (uint32_t k = 0; k < ev->n_effects && is_compared(p); k++)
		if (writes(&ev->effects[k]) && is_within(p, &ev->effects[k])) {
			(void)is_changed(d, p);
			return;
		}
}

int dbg_breaks_effects(struct dbg *d, struct rep_task *t, const struct event *ev)
{
	for (size_t i = 0; i < d->n_points; i++) {
		struct dbg_point *p = &d->points[i];

		note_effects(d, p, ev);
		if (!is_watch(p) || !is_on(d, p))
			continue;
		for (uint32_t k = 0; k < ev->n_effects; k++) {
			const struct effect *e = &ev->effects[k];
			struct rep_task *of = e->thread ? rep_task(d->s, e->thread) : t;

			if (!of || !dbg_is_target(d, of) || !touches(p, e) || !asks(d, of, p))
				continue;
			report(d, of, p, MAX(p->b.addr, e->addr));
			return 1;
		}
	}
	return 0;
}
