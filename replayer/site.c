/* Sites: see site_priv.h.
 *
 * Code that the guest itself may write (a JIT) must not change under our jump, and must not be overwritten by it:
 * its pages are write-protected while a site stands there. A write faults; then the code is put back, the write is
 * made, and the site planted again if there is code for it. */
#define LOG_AREA "replayer.site"
#include "replayer/site_priv.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/log.h"
#include "engine/patch.h"

#define PAGE 4096ull
/* A sum of a page takes some thousands of steps. */
#define BACK_STEPS_MAX 100000u

/* --- guards --- */

static int protect(struct rep_site *site, uint64_t page, uint32_t prot)
{
	int64_t result;
	int r = rep_remote_quiet(site->t, SYS_mprotect, (uint64_t[6]){ page, PAGE, prot }, &result);

	return r < 0 ? r : (int)result;
}

static int guard(struct rep_site *site, uint64_t page, uint32_t prot)
{
	int r;

	if (site->n_guards == REP_GUARDS_MAX)
		return ERR_LIMIT;
	r = protect(site, page, prot & ~(uint32_t)PROT_WRITE);
	if (r >= 0)
		site->guard[site->n_guards++] = (struct rep_guard){ page, prot };
	return r;
}

/* The code page at `page`, wherever this process can write it: there, or through another mapping of the same object. */
static int guard_page(struct rep_site *site, uint64_t page)
{
	const struct aspace *as = &site->t->t.mm->as;
	const struct mapping *code = aspace_find(as, page);
	int r = 0;

	if (!code)
		return 0;
	if (!code->object)
		return code->prot & PROT_WRITE ? guard(site, page, code->prot) : 0;
	for (size_t i = 0; i < as->n && r >= 0; i++) {
		const struct mapping *m = &as->m[i];
		uint64_t off = page - code->start + code->offset;

		if (m->object == code->object && m->prot & PROT_WRITE && off >= m->offset && off - m->offset < m->end - m->start)
			r = guard(site, m->start + (off - m->offset), m->prot);
	}
	return r;
}

static int guard_code(struct rep_site *site)
{
	uint64_t first = site->at & ~(PAGE - 1), last = (site->at + sizeof(site->plan.bytes)) & ~(PAGE - 1);
	int r = guard_page(site, first);

	return r >= 0 && last != first ? guard_page(site, last) : r;
}

static int unguard(struct rep_site *site)
{
	int r = 0;

	while (site->n_guards && r >= 0) {
		const struct rep_guard *g = &site->guard[--site->n_guards];

		r = protect(site, g->page, g->prot);
	}
	return r;
}

/* --- the jump --- */

static size_t jump_len(const struct rep_site *site)
{
	return site->jump ? CODE_JUMP_LEN : 1;
}

size_t rep_site_len(const struct rep_site *site)
{
	return site->planted ? jump_len(site) : 0;
}

/* Code of a shared mapping is reached through the object: the kernel lets nobody write there through a mapping
 * that is read-only. */
static int write_code(struct rep_site *site, const void *p, size_t n)
{
	const struct mapping *m = aspace_find(&site->t->t.mm->as, site->at);
	int fd;

	if (!m || !(m->flags & ASPACE_SHARED) || !m->object)
		return eng_write(&site->t->t, site->at, p, n);
	if (n > m->end - site->at)
		return -EFAULT; /* what is mapped behind it is another object */
	fd = rep_object_fd(site->s, m->object);
	if (fd < 0)
		return fd;
	return pwrite(fd, p, n, (off_t)(site->at - m->start + m->offset)) == (ssize_t)n ? 0 : -EFAULT;
}

/* How to stand there, from the best way to the worst: a jump, a breakpoint and a copy of the instruction, a
 * breakpoint that gives way. */
static bool make_plan(struct rep_site *site)
{
	struct sys_mem mem = eng_sys_mem(&site->t->t);
	uint64_t key = aspace_code_key(&site->t->t.mm->as, site->at);

	site->in_place = false;
	site->jump = site->want_jump && code_plan_cached(site->s->code, key, &mem, site->at, &site->plan);
	/* a debugger's breakpoint within the bytes of the jump would be lost */
	if (site->jump && eng_patch_overlaps(site->t->t.mm, site->at, site->plan.len))
		site->jump = false;
	if (site->jump || code_plan_breakpoint(&mem, site->at, &site->plan))
		return true;
	site->plan = (struct code_plan){ .at = site->at, .len = 1 };
	site->in_place = true;
	return eng_read(&site->t->t, site->at, site->plan.bytes, 1) >= 0;
}

int rep_site_to_origin(struct rep_site *site)
{
	struct user_regs_struct *r;
	struct eng_stop st;
	int rc = site->planted ? eng_regs(&site->t->t, &r) : 0;

	for (unsigned i = 0; site->planted && rc >= 0 && r->rip - site->room < REP_ROOM && i < BACK_STEPS_MAX; i++) {
		if (code_tramp_origin(&site->plan, &site->tramp, r->rip))
			break;
		rc = rep_step(site->t, &st);
		if (rc >= 0)
			rc = st.kind == ENG_STOP_SIGNAL && st.signo == SIGTRAP ? eng_regs(&site->t->t, &r) : ERR_GUEST;
	}
	return rc;
}

/* Our code goes away: the thread stands on its own. */
static int back_home(struct rep_site *site)
{
	struct user_regs_struct *r;
	uint64_t origin;
	int rc = rep_site_to_origin(site);

	if (rc >= 0)
		rc = eng_regs(&site->t->t, &r);
	if (rc < 0 || r->rip - site->room >= REP_ROOM)
		return rc;
	origin = code_tramp_origin(&site->plan, &site->tramp, r->rip);
	if (!origin)
		return ERR_GUEST;
	r->rip = origin;
	eng_regs_changed(&site->t->t);
	return 0;
}

static int clear(struct rep_site *site)
{
	int r;

	if (!site->planted)
		return 0;
	r = back_home(site);
	site->planted = false;
	return r < 0 ? r : write_code(site, site->plan.bytes, jump_len(site));
}

static void unlink_site(struct rep_site *site)
{
	struct rep_site **p = &site->t->sites;

	while (*p && *p != site)
		p = &(*p)->next;
	if (*p)
		*p = site->next;
}

int rep_site_open(struct rep_site *site, struct rep_session *s, struct rep_task *t, uint64_t at, bool jump)
{
	int r;

	*site = (struct rep_site){ .s = s, .t = t, .at = at, .want_jump = jump };
	if (!make_plan(site))
		return 0;
	site->next = t->sites;
	t->sites = site;
	r = rep_room_map(site);
	if (r == 0) {
		log_debug("no room for a trampoline near %#" PRIx64, at);
		site->jump = false;
		site->in_place = true;
	}
	if (r >= 0)
		r = guard_code(site);
	if (r < 0 && rep_site_close(site) < 0)
		log_debug("room near %#" PRIx64 " not given back", at);
	return r < 0 ? r : 1;
}

static int build(struct rep_site *site)
{
	int r;

	if (site->in_place)
		return 0;
	if (!site->room)
		return -ERANGE;
	r = code_tramp_build(&site->plan, site->entry - CODE_TRAMP_ENTRY, site->room + REP_ROOM_DATA, site->cond, site->jump ? site->n : 0, &site->tramp);
	return r < 0 ? r : eng_write(&site->t->t, site->tramp.code, site->tramp.bytes, site->tramp.n);
}

static int plant(struct rep_site *site, const struct code_cond *cond, unsigned n)
{
	int r = clear(site);

	site->cond = cond;
	site->n = n;
	if (r >= 0)
		r = build(site);
	if (r >= 0 && site->jump && !rep_room_fits(site)) /* the plan has become another one */
		r = -ERANGE;
	if (r == -ERANGE) { /* there is no room, or what the instruction refers to is too far from it */
		site->jump = false;
		site->in_place = true;
		r = 0;
	}
	if (r < 0)
		return r;
	if (site->jump) {
		code_jump(&site->plan, &site->tramp, site->bytes);
	} else {
		site->bytes[0] = 0xcc;
	}
	r = write_code(site, site->bytes, jump_len(site));
	site->planted = r >= 0;
	return r;
}

int rep_site_plant(struct rep_site *site, const struct code_cond *cond, unsigned n)
{
	int r = plant(site, cond, n);

	return r < 0 ? r : rep_site_go_on(site);
}

static int step_in_place(struct rep_site *site)
{
	struct eng_stop st;
	int r = write_code(site, site->plan.bytes, 1);

	if (r >= 0)
		r = rep_step(site->t, &st);
	if (r >= 0 && (st.kind != ENG_STOP_SIGNAL || st.signo != SIGTRAP))
		r = ERR_GUEST;
	return r < 0 ? r : write_code(site, site->bytes, 1);
}

int rep_site_go_on(struct rep_site *site)
{
	struct user_regs_struct *r;
	int rc = eng_regs(&site->t->t, &r);

	if (rc >= 0 && site->in_place)
		return r->rip == site->at ? step_in_place(site) : 0;
	for (unsigned i = 0; rc >= 0 && i < site->plan.n; i++)
		if (r->rip == site->at + site->plan.off[i]) {
			r->rip = site->tramp.copy[i];
			eng_regs_changed(&site->t->t);
			break;
		}
	return rc;
}

/* --- stops --- */

static bool hits_guard(struct rep_site *site, const struct eng_stop *st)
{
	siginfo_t si;

	if (st->kind != ENG_STOP_SIGNAL || st->signo != SIGSEGV || eng_siginfo(&site->t->t, &si) < 0)
		return false;
	for (unsigned i = 0; i < site->n_guards; i++)
		if ((uint64_t)si.si_addr - site->guard[i].page < PAGE)
			return true;
	return false;
}

/* Makes the write that hit a guard: 2, or 1 when that has brought the thread to the site. Anything else that comes
 * out of it is *st: 0. */
static int let_write(struct rep_site *site, struct eng_stop *st)
{
	struct user_regs_struct *regs;
	int r = clear(site);

	if (r >= 0)
		r = unguard(site);
	if (r >= 0)
		r = rep_step(site->t, st);
	if (r < 0 || st->kind != ENG_STOP_SIGNAL || st->signo != SIGTRAP)
		return MIN(r, 0);
	if (make_plan(site))
		r = plant(site, site->cond, site->n);
	if (r >= 0)
		r = guard_code(site);
	if (r >= 0)
		r = eng_regs(&site->t->t, &regs);
	if (r < 0)
		return r;
	if (site->planted && regs->rip == site->at)
		return 1;
	r = site->planted ? rep_site_go_on(site) : 0;
	return r < 0 ? r : 2;
}

/* Did it jump to an instruction that our jump covers? The byte that stands there is none (room.c): it goes on in the copy. */
static bool enters_middle(const struct rep_site *site, const struct eng_stop *st, uint64_t rip)
{
	if (!site->jump || st->kind != ENG_STOP_SIGNAL || st->signo != SIGILL)
		return false;
	for (unsigned i = 1; i < site->plan.n; i++)
		if (rip == site->at + site->plan.off[i] && site->plan.off[i] < CODE_JUMP_LEN)
			return true;
	return false;
}

int rep_site_stop(struct rep_site *site, struct eng_stop *st)
{
	uint64_t mark = site->jump ? site->tramp.match : site->at;
	struct user_regs_struct *r;
	int rc;

	if (hits_guard(site, st))
		return let_write(site, st);
	rc = eng_regs(&site->t->t, &r);
	if (rc < 0)
		return rc;
	if (site->planted && enters_middle(site, st, r->rip)) {
		rc = rep_site_go_on(site);
		return rc < 0 ? rc : 2;
	}
	if (!site->planted || st->kind != ENG_STOP_SIGNAL || st->signo != SIGTRAP || r->rip != mark + 1)
		return 0;
	r->rip = site->at;
	eng_regs_changed(&site->t->t);
	return 1;
}

/* Between two instructions of the guest's, or before the first. */
static bool is_between(const struct rep_site *site, uint64_t rip)
{
	for (unsigned i = 0; i < site->plan.n; i++)
		if (rip == site->tramp.copy[i])
			return true;
	return rip == site->tramp.back;
}

/* What was one instruction may be several in a copy: a call is. */
static int finish_copy(struct rep_site *site)
{
	struct user_regs_struct *regs;
	struct eng_stop st;
	int r = eng_regs(&site->t->t, &regs);

	while (r >= 0 && regs->rip - site->room < REP_ROOM && !is_between(site, regs->rip)) {
		r = rep_step(site->t, &st);
		if (r >= 0)
			r = st.kind == ENG_STOP_SIGNAL && st.signo == SIGTRAP ? eng_regs(&site->t->t, &regs) : ERR_GUEST;
	}
	return r;
}

int rep_site_settle(struct rep_task *t)
{
	struct user_regs_struct *regs;
	int r = eng_regs(&t->t, &regs);

	for (struct rep_site *site = t->sites; site && r >= 0; site = site->next) {
		uint64_t rip = regs->rip;

		if (!site->planted || !site->jump || rip - site->room >= REP_ROOM)
			continue;
		if (rip <= site->tramp.copy[0] || rip > site->tramp.back)
			return 0;
		r = finish_copy(site);
		break;
	}
	return r < 0 ? r : 1;
}

int rep_site_faulted(struct rep_task *t)
{
	struct user_regs_struct *regs;
	int r = t->sites ? eng_regs(&t->t, &regs) : 0;

	for (const struct rep_site *site = t->sites; site && r >= 0; site = site->next)
		if (site->planted && site->jump && code_tramp_faulted(&site->plan, &site->tramp, regs)) {
			eng_regs_changed(&t->t);
			break;
		}
	return r;
}

int rep_site_close(struct rep_site *site)
{
	int64_t result = 0;
	int r = clear(site);

	unlink_site(site);

	if (r >= 0)
		r = unguard(site);
	if (r >= 0 && site->room)
		r = rep_remote_quiet(site->t, SYS_munmap, (uint64_t[6]){ site->room, REP_ROOM }, &result);
	site->room = 0;
	return r < 0 ? r : (int)result;
}
