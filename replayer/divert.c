/* Diversions: the replayed tree runs code that it never ran, and is put back afterwards. One thread runs; system calls are answered here,
 * only those that change its own memory are made. */
#define LOG_AREA "replayer.divert"
#include "replayer/dbg_priv.h"

#include <errno.h>
#include <linux/futex.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <time.h>

#include "base/log.h"

/* --- calls --- */

typedef int (*call_fn)(struct rep_task *t, const uint64_t a[6], int64_t *ret);

static int nothing(struct rep_task *t UNUSED, const uint64_t a[6] UNUSED, int64_t *ret)
{
	*ret = 0;
	return 0;
}

/* Output goes nowhere, and all of it. */
static int swallow(struct rep_task *t UNUSED, const uint64_t a[6], int64_t *ret)
{
	*ret = (int64_t)MIN(a[2], (uint64_t)INT32_MAX);
	return 0;
}

static int swallow_vector(struct rep_task *t, const uint64_t a[6], int64_t *ret)
{
	struct iovec v;

	*ret = 0;
	for (uint64_t i = 0; i < MIN(a[2], (uint64_t)1024); i++) {
		if (eng_read(&t->t, a[1] + i * sizeof(v), &v, sizeof(v)) < 0) {
			*ret = -EFAULT;
			break;
		}
		*ret += (int64_t)MIN(v.iov_len, (size_t)INT32_MAX);
	}
	return 0;
}

static int process_id(struct rep_task *t, const uint64_t a[6] UNUSED, int64_t *ret)
{
	*ret = t->guest_pid;
	return 0;
}

static int thread_id(struct rep_task *t, const uint64_t a[6] UNUSED, int64_t *ret)
{
	*ret = t->guest_tid;
	return 0;
}

static int clock_now(struct rep_task *t, const uint64_t a[6], int64_t *ret)
{
	struct timespec now;

	*ret = clock_gettime((clockid_t)a[0], &now) < 0 ? -EINVAL : 0;
	if (*ret == 0 && eng_write(&t->t, a[1], &now, sizeof(now)) < 0)
		*ret = -EFAULT;
	return 0;
}

static int random_bytes(struct rep_task *t, const uint64_t a[6], int64_t *ret)
{
	uint8_t bytes[256];
	size_t n = MIN(a[1], (uint64_t)sizeof(bytes));

	*ret = getrandom(bytes, n, 0);
	if (*ret > 0 && eng_write(&t->t, a[0], bytes, (size_t)*ret) < 0)
		*ret = -EFAULT;
	return 0;
}

/* Nobody waits, since nobody else runs. */
static int wake(struct rep_task *t UNUSED, const uint64_t a[6], int64_t *ret)
{
	*ret = (a[1] & FUTEX_CMD_MASK) == FUTEX_WAKE ? 0 : -ENOSYS;
	return 0;
}

/* --- its memory --- */

static int make(struct rep_task *t, uint64_t nr, const uint64_t a[6], int64_t *ret)
{
	return rep_remote(t, nr, a, ret);
}

static int map(struct rep_task *t, const uint64_t a[6], int64_t *ret)
{
	struct mapping m = { .prot = (uint32_t)a[2] & 7, .flags = ASPACE_ANON };
	uint64_t args[6] = { a[0], a[1], a[2], a[3], UINT64_MAX, 0 };
	int r;

	*ret = -ENOSYS;
	if (!(a[3] & MAP_ANONYMOUS) || !(a[3] & MAP_PRIVATE) || rep_touches_gate(a[0], a[3] & MAP_FIXED ? a[1] : 0))
		return 0;
	r = make(t, SYS_mmap, args, ret);
	if (r < 0 || *ret < 0)
		return r;
	m.start = (uint64_t)*ret;
	m.end = m.start + ALIGN_UP(a[1], 4096ull);
	return aspace_map(&t->t.mm->as, &m);
}

static int unmap(struct rep_task *t, const uint64_t a[6], int64_t *ret)
{
	int r;

	*ret = -EINVAL;
	if (rep_touches_gate(a[0], a[1]))
		return 0;
	r = make(t, SYS_munmap, a, ret);
	return r < 0 || *ret < 0 ? r : aspace_unmap(&t->t.mm->as, a[0], a[0] + ALIGN_UP(a[1], 4096ull));
}

static int protect(struct rep_task *t, const uint64_t a[6], int64_t *ret)
{
	int r;

	*ret = -EINVAL;
	if (rep_touches_gate(a[0], a[1]))
		return 0;
	r = make(t, SYS_mprotect, a, ret);
	return r < 0 || *ret < 0 ? r : aspace_protect(&t->t.mm->as, a[0], a[0] + ALIGN_UP(a[1], 4096ull), (uint32_t)a[2] & 7);
}

/* The heap does not grow: allocators map memory instead. */
static int heap_end(struct rep_task *t, const uint64_t a[6] UNUSED, int64_t *ret)
{
	const struct aspace *as = &t->t.mm->as;

	*ret = (int64_t)t->t.mm->brk;
	for (size_t i = 0; i < as->n && !*ret; i++)
		if (as->m[i].flags & ASPACE_ANON && !(as->m[i].flags & ASPACE_GROWSDOWN))
			*ret = (int64_t)as->m[i].end;
	return 0;
}

static const struct {
	uint32_t nr;
	call_fn fn;
} calls[] = {
	{ SYS_write, swallow },
	{ SYS_writev, swallow_vector },
	{ SYS_getpid, process_id },
	{ SYS_gettid, thread_id },
	{ SYS_clock_gettime, clock_now },
	{ SYS_getrandom, random_bytes },
	{ SYS_futex, wake },
	{ SYS_mmap, map },
	{ SYS_munmap, unmap },
	{ SYS_mprotect, protect },
	{ SYS_brk, heap_end },
	{ SYS_madvise, nothing },
	{ SYS_sched_yield, nothing },
	{ SYS_nanosleep, nothing },
	{ SYS_clock_nanosleep, nothing },
	{ SYS_rt_sigprocmask, nothing },
	{ SYS_rt_sigaction, nothing },
	{ SYS_set_robust_list, nothing },
	{ SYS_fsync, nothing },
};

/* At the entry of a call: answers it. 1: the thread wants to end. */
static int answer(struct rep_task *t)
{
	struct user_regs_struct *r, entry;
	int64_t result = -ENOSYS;
	int rc = eng_regs(&t->t, &r);

	if (rc < 0)
		return rc;
	entry = *r;
	if (entry.orig_rax == SYS_exit || entry.orig_rax == SYS_exit_group)
		return 1;
	for (size_t i = 0; i < ARRAY_SIZE(calls) && rc >= 0; i++)
		if (calls[i].nr == entry.orig_rax)
			rc = calls[i].fn(t, (uint64_t[6]){ entry.rdi, entry.rsi, entry.rdx, entry.r10, entry.r8, entry.r9 }, &result);
	if (rc < 0)
		return rc;
	log_debug("call %llu in a diversion: %lld", entry.orig_rax, (long long)result);
	entry.rax = (unsigned long)result;
	entry.orig_rax = (unsigned long)-1;
	eng_regs_set(&t->t, &entry);
	return 0;
}

/* --- running --- */

/* A trapped instruction: 1 it is answered. */
static int trapped(struct dbg *d, struct rep_task *t)
{
	struct user_regs_struct *r;
	uint32_t v[4] = { 0 }, aux = 0;
	unsigned len;
	enum eng_insn insn = eng_trapped_insn(&t->t, &len);
	int rc = eng_regs(&t->t, &r);

	if (rc < 0 || insn == ENG_INSN_OTHER)
		return MIN(rc, 0);
	if (insn == ENG_INSN_CPUID) {
		eng_traps_cpuid(&d->s->traps, (uint32_t)r->rax, (uint32_t)r->rcx, v);
		r->rax = v[0];
		r->rbx = v[1];
		r->rcx = v[2];
		r->rdx = v[3];
	} else {
		uint64_t tsc = eng_traps_rdtscp(&d->s->traps, &aux);

		r->rax = (uint32_t)tsc;
		r->rdx = tsc >> 32;
		if (insn == ENG_INSN_RDTSCP)
			r->rcx = 0;
	}
	r->rip += len;
	eng_regs_changed(&t->t);
	return 1;
}

/* 1: d->stop says why it stops. */
static int run_on(struct dbg *d, struct rep_task *t)
{
	struct eng_stop st;
	int r = rep_run(t, &st, 0), guards = dbg_guard_off(d);

	if (guards < 0)
		return guards;
	if (r == ERR_STOPPED)
		return 1;
	if (r < 0)
		return r;
	d->stop = (struct dbg_stop){ .kind = DBG_STOP_SIGNAL, .tid = t->guest_tid, .signo = st.signo };
	if (st.kind == ENG_STOP_SECCOMP) {
		d->stop.signo = SIGKILL;
		r = answer(t);
		if (r == 0 && d->step_tid) {
			d->stop = (struct dbg_stop){ .kind = DBG_STOP_STEP, .tid = t->guest_tid };
			return 1;
		}
		return r;
	}
	r = st.signo == SIGSEGV ? trapped(d, t) : 0;
	return r < 0 ? r : !r;
}

int dbg_divert_resume(struct dbg *d, const struct dbg_resume *how, struct dbg_stop *ret, struct errinfo *ei)
{
	const struct dbg_goal g = { .events = DBG_FOREVER, .user = true };
	struct rep_task *t = dbg_task(d, how->tid ? how->tid : dbg_current(d));
	struct user_regs_struct *regs;
	int r;

	if (how->backwards)
		return errinfo_set(ei, -EINVAL, "a call of a function cannot be run backwards");
	if (!t)
		return errinfo_set(ei, ERR_NOT_FOUND, "no thread %d lives here", (int)how->tid);
	d->goal = &g;
	d->moves++;
	d->step_tid = how->how == DBG_CONTINUE ? 0 : t->guest_tid;
	r = dbg_breaks_sync(d);
	if (r >= 0)
		r = eng_regs(&t->t, &regs);
	if (r >= 0)
		t->over = regs->rip;
	while (r == 0 || (r == 1 && d->stop.kind == DBG_STOP_STEP && how->how == DBG_RANGE && eng_regs(&t->t, &regs) >= 0 &&
			  regs->rip >= how->low && regs->rip < how->high))
		r = run_on(d, t);
	d->goal = NULL;
	*ret = d->stop;
	return r < 0 ? errinfo_set_r(ei, r, "run the call") : 0;
}

/* --- beginning and end --- */

int dbg_divert(struct dbg *d, struct errinfo *ei)
{
	int r;

	if (d->diverted)
		return 0;
	r = !d->here.arrived && !d->here.computing ? dbg_checkpoint(d, ei) : 0;
	if (r >= 0)
		r = dbg_place_take(d, false, &d->home, ei);
	d->diverted = r >= 0;
	return r;
}

bool dbg_diverted(const struct dbg *d)
{
	return d->diverted;
}

int dbg_divert_end(struct dbg *d, struct errinfo *ei)
{
	struct dbg_stop stop = d->stop;
	int r;

	if (!d->diverted)
		return 0;
	d->diverted = false;
	d->here.computing = true; /* no way leads on from the copy */
	dbg_clock(true);
	r = dbg_place_return(d, &d->home, ei);
	dbg_clock(false);
	dbg_place_done(d, &d->home);
	d->stop = stop;
	d->stop_moves = d->moves;
	d->told = d->here.arrived;
	return MIN(r, 0);
}

int dbg_set_regs(struct dbg *d, pid_t tid, const struct user_regs_struct *r)
{
	struct rep_task *t = dbg_task(d, tid);
	struct user_regs_struct regs = *r;

	if (!d->diverted)
		return -EROFS;
	if (!t)
		return ERR_NOT_FOUND;
	t->in_call = false;
	regs.orig_rax = (unsigned long)-1;
	regs.cs = 0x33;
	regs.ss = 0x2b;
	eng_regs_set(&t->t, &regs);
	return 0;
}

int dbg_set_xstate(struct dbg *d, pid_t tid, const void *buf, size_t len)
{
	struct rep_task *t = dbg_task(d, tid);

	if (!d->diverted)
		return -EROFS;
	return t ? eng_xstate_set(&t->t, buf, len) : ERR_NOT_FOUND;
}

int dbg_write(struct dbg *d, uint64_t addr, const void *buf, size_t n)
{
	struct rep_task *t = dbg_any_task(d);

	if (!d->diverted)
		return -EROFS;
	return t ? eng_write(&t->t, addr, buf, n) : ERR_NOT_FOUND;
}
