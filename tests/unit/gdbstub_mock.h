/* replayer/debug.h without a replay: a history of MOCK_N states that are functions of their number, of one process with two threads.
 *
 * State i stands at MOCK_CODE + 4 * (i % 16); eight states are an event. Thread MOCK_TID runs, but in states 40..47 the other one.
 * Instruction i (from state i to i+1) writes the byte i + 1 to MOCK_DATA + i % 32; instruction 20 is the call getpid, a signal comes before 30.
 * A "function" at MOCK_FUNC doubles rdi into rax, writes 0x77 to MOCK_DATA + 64 and returns: only diversions come there. */
#ifndef TESTS_UNIT_GDBSTUB_MOCK_H
#define TESTS_UNIT_GDBSTUB_MOCK_H

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include "base/str.h"
#include "gdbstub/stub_priv.h"

#define MOCK_N 64u
#define MOCK_PID 1000
#define MOCK_TID 1000
#define MOCK_TID2 1001
#define MOCK_CODE 0x1000u
#define MOCK_FUNC 0x2000u
#define MOCK_DATA 0x3000u
#define MOCK_STACK 0x8000u /* up to 0x9000 */
#define MOCK_BREAKS 64u
#define MOCK_CALL 20u
#define MOCK_SIGNAL 30u

struct mock_break {
	bool used;
	struct dbg_break b;
};

struct dbg {
	size_t at;
	uint64_t moves;
	struct mock_break breaks[MOCK_BREAKS];
	bool diverted, lost, forever; /* forever: running does not end but by tick */
	bool nowhere; /* positions cannot be told: that takes a while to find out */
	unsigned diversions, conds;
	struct user_regs_struct copy[2];
	uint8_t xcopy[2][1024];
	uint8_t mem[0x9000];
	struct aspace as;
	struct store_reader *reader;
	bool (*tick)(void *ctx, const struct dbg_progress *p);
	void *ctx;
	uint64_t low, high;
};

static const struct manifest_process mock_process = { .thread = 1, .pid = MOCK_PID, .status = 3 << 8, .exe = (char *)"/bin/mock" };

static inline pid_t mock_runs(size_t at)
{
	return at >= 40 && at < 48 ? MOCK_TID2 : MOCK_TID;
}

static inline void mock_build(struct dbg *d)
{
	memset(d->mem, 0, sizeof(d->mem));
	memset(d->mem + MOCK_CODE, 0x90, 64);
	for (size_t i = 0; i < d->at; i++)
		d->mem[MOCK_DATA + i % 32] = (uint8_t)(i + 1);
}

static inline void mock_at(struct dbg *d, size_t at)
{
	d->at = at;
	d->moves++;
	memset(d->mem + MOCK_DATA, 0, 32);
	for (size_t i = 0; i < at; i++)
		d->mem[MOCK_DATA + i % 32] = (uint8_t)(i + 1);
}

static inline void mock_init(struct dbg *d)
{
	*d = (struct dbg){ 0 };
	aspace_init(&d->as);
	if (aspace_map(&d->as, &(struct mapping){ .start = 0x1000, .end = 0x4000, .prot = PROT_READ | PROT_EXEC }) < 0 ||
	    aspace_map(&d->as, &(struct mapping){ .start = 0x8000, .end = 0x9000, .prot = PROT_READ | PROT_WRITE }) < 0)
		abort();
	mock_build(d);
}

static inline void mock_regs(size_t at, pid_t tid, struct user_regs_struct *u)
{
	*u = (struct user_regs_struct){ .rip = MOCK_CODE + 4 * (at % 16), .rsp = MOCK_STACK + 0x800, .rbp = 0x8900, .rax = at, .rdi = 7,
					.eflags = 0x246, .cs = 0x33, .ss = 0x2b, .orig_rax = UINT64_MAX, .fs_base = MOCK_DATA + 0x100 };
	if (mock_runs(at) != tid)
		u->rip = MOCK_CODE + 0x80;
}

/* --- the interface --- */

void dbg_pos_print(const struct dbg_pos *p, struct buf *out)
{
	buf_printf(out, "%llu", (unsigned long long)p->events);
	if (p->steps)
		buf_printf(out, "+%llu", (unsigned long long)p->steps);
}

int dbg_pos_parse(const char *text, struct dbg_pos *ret)
{
	struct dbg_pos p = { 0 };
	char *end;

	if (*text < '0' || *text > '9')
		return -EINVAL;
	p.events = strtoull(text, &end, 10);
	if (*end == '+' && end[1])
		p.steps = strtoull(end + 1, &end, 10);
	if (*end)
		return -EINVAL;
	*ret = p;
	return 0;
}

struct store_reader *dbg_reader(struct dbg *d)
{
	return d->reader;
}

const struct manifest_process *dbg_process(const struct dbg *d)
{
	(void)d;
	return &mock_process;
}

int dbg_where(struct dbg *d, struct dbg_pos *ret, struct errinfo *ei)
{
	for (int i = 0; d->nowhere && i < 300; i++) {
		if (d->tick && d->tick(d->ctx, NULL))
			return ERR_INTERRUPTED;
		usleep(1000);
	}
	if (d->nowhere)
		return errinfo_set(ei, -EIO, "the position was asked for");
	*ret = (struct dbg_pos){ .events = d->at / 8, .steps = d->at % 8 };
	return 0;
}

uint64_t dbg_events(const struct dbg *d)
{
	return d->at / 8;
}

uint64_t dbg_time_ns(const struct dbg *d)
{
	return d->at * 1000000;
}

bool dbg_at_begin(const struct dbg *d)
{
	return d->at == 0;
}

bool dbg_at_end(const struct dbg *d)
{
	return d->at == MOCK_N - 1;
}

bool dbg_lost(const struct dbg *d)
{
	return d->lost;
}

int dbg_exit_status(const struct dbg *d)
{
	return dbg_at_end(d) ? mock_process.status : -1;
}

int dbg_threads(struct dbg *d, const struct dbg_thread **ret, size_t *ret_n)
{
	static const struct dbg_thread t[] = { { MOCK_TID, 1, false, "main" }, { MOCK_TID2, 2, true, "wor<er" } };

	*ret = t;
	*ret_n = d->at >= 8 ? 2 : 1;
	return 0;
}

pid_t dbg_current(const struct dbg *d)
{
	return mock_runs(d->at);
}

int dbg_regs(struct dbg *d, pid_t tid, struct user_regs_struct *ret)
{
	if (tid != MOCK_TID && (tid != MOCK_TID2 || d->at < 8))
		return ERR_NOT_FOUND;
	if (d->diverted)
		*ret = d->copy[tid - MOCK_TID];
	else
		mock_regs(d->at, tid, ret);
	return 0;
}

int dbg_xstate(struct dbg *d, pid_t tid, void *buf, size_t cap, size_t *ret_len)
{
	uint8_t x[1024] = { 0x7f, 0x03 };
	uint64_t used = 7;

	if (tid != MOCK_TID && tid != MOCK_TID2)
		return ERR_NOT_FOUND;
	memcpy(x + 24, "\x80\x1f", 2);
	memcpy(x + 512, &used, 8);
	memset(x + 160, 0x11, 16);
	if (d->diverted)
		memcpy(x, d->xcopy[tid - MOCK_TID], sizeof(x));
	*ret_len = MIN(cap, sizeof(x));
	memcpy(buf, x, *ret_len);
	return 0;
}

int dbg_siginfo(struct dbg *d, pid_t tid, siginfo_t *ret)
{
	(void)tid;
	if (d->at < MOCK_SIGNAL)
		return ERR_NOT_FOUND;
	memset(ret, 0, sizeof(*ret));
	ret->si_signo = SIGUSR1;
	return 0;
}

size_t dbg_read(struct dbg *d, uint64_t addr, void *buf, size_t n)
{
	const struct mapping *m = aspace_find(&d->as, addr);

	if (!m)
		return 0;
	n = MIN(n, (size_t)(m->end - addr));
	memcpy(buf, d->mem + addr, n);
	return n;
}

const struct aspace *dbg_aspace(struct dbg *d)
{
	return &d->as;
}

uint64_t dbg_moves(const struct dbg *d)
{
	return d->moves;
}

int dbg_break_add(struct dbg *d, const struct dbg_break *b, unsigned *ret_id)
{
	for (unsigned i = 0; i < MOCK_BREAKS; i++) {
		if (d->breaks[i].used)
			continue;
		d->breaks[i] = (struct mock_break){ true, *b };
		*ret_id = i + 1;
		return 0;
	}
	return ERR_LIMIT;
}

int dbg_break_remove(struct dbg *d, unsigned id)
{
	if (!id || id > MOCK_BREAKS || !d->breaks[id - 1].used)
		return ERR_NOT_FOUND;
	d->breaks[id - 1].used = false;
	return 0;
}

static inline unsigned mock_breaks(const struct dbg *d)
{
	unsigned n = 0;

	for (unsigned i = 0; i < MOCK_BREAKS; i++)
		n += d->breaks[i].used;
	return n;
}

/* Does a breakpoint stop here, or a watchpoint at the write of this byte (0 = none)? */
static inline bool mock_hit(struct dbg *d, uint64_t written, struct dbg_stop *stop)
{
	struct user_regs_struct u;

	if (dbg_regs(d, stop->tid, &u) < 0)
		return false;
	for (unsigned i = 0; i < MOCK_BREAKS; i++) {
		const struct dbg_break *b = &d->breaks[i].b;
		bool hit = d->breaks[i].used && (b->kind == DBG_BREAK ? b->addr == u.rip : written >= b->addr && written < b->addr + b->len);

		if (hit && b->cond) {
			d->conds++;
			hit = b->cond(b->ctx, d, stop->tid) != 0;
		}
		if (!hit)
			continue;
		stop->kind = b->kind == DBG_BREAK ? DBG_STOP_BREAK : DBG_STOP_WATCH;
		stop->break_id = i + 1;
		stop->addr = b->kind == DBG_BREAK ? 0 : written;
		return true;
	}
	return false;
}

/* The copy: only the function runs. */
static inline int mock_run_copy(struct dbg *d, struct dbg_stop *stop)
{
	struct user_regs_struct *u = &d->copy[0];

	*stop = (struct dbg_stop){ .kind = DBG_STOP_END, .tid = MOCK_TID };
	if (u->rip != MOCK_FUNC || u->rsp < MOCK_STACK || u->rsp > MOCK_STACK + 0xff0)
		return 0;
	u->rax = u->rdi * 2;
	memcpy(&u->rip, d->mem + u->rsp, 8);
	u->rsp += 8;
	d->mem[MOCK_DATA + 64] = 0x77;
	if (mock_hit(d, 0, stop))
		return 0;
	stop->kind = DBG_STOP_END;
	return 0;
}

static inline bool mock_event_stop(struct dbg *d, const struct dbg_resume *how, struct dbg_stop *stop)
{
	if (d->at == MOCK_SIGNAL && how->stop_signals >> (SIGUSR1 - 1) & 1) {
		stop->kind = DBG_STOP_SIGNAL;
		stop->signo = SIGUSR1;
		return true;
	}
	if ((d->at == MOCK_CALL || d->at == MOCK_CALL + 1) && how->catch_calls && how->catch_calls[0] >> 39 & 1) {
		stop->kind = d->at == MOCK_CALL ? DBG_STOP_CALL_ENTRY : DBG_STOP_CALL_RETURN;
		stop->sysno = 39;
		return true;
	}
	return false;
}

int dbg_resume(struct dbg *d, const struct dbg_resume *how, struct dbg_stop *ret, struct errinfo *ei)
{
	struct dbg_progress p = { "running", 1, 2 };
	size_t limit = how->backwards ? 0 : MOCK_N - 1;

	(void)ei;
	if (d->diverted)
		return mock_run_copy(d, ret);
	for (;;) {
		uint64_t written;

		*ret = (struct dbg_stop){ .kind = how->backwards ? DBG_STOP_BEGIN : DBG_STOP_END, .tid = mock_runs(d->at) };
		if (d->tick && d->tick(d->ctx, &p)) {
			ret->kind = DBG_STOP_INTERRUPTED;
			return 0;
		}
		if (d->forever) {
			usleep(10000);
			continue;
		}
		if (d->at == limit)
			return 0;
		written = MOCK_DATA + (how->backwards ? d->at - 1 : d->at) % 32;
		mock_at(d, how->backwards ? d->at - 1 : d->at + 1);
		ret->tid = mock_runs(d->at);
		if (mock_hit(d, written, ret) || mock_event_stop(d, how, ret))
			return 0;
		ret->kind = DBG_STOP_STEP;
		if (how->how == DBG_STEP && ret->tid == how->tid)
			return 0;
		if (how->how == DBG_RANGE && (MOCK_CODE + 4 * (d->at % 16) < how->low || MOCK_CODE + 4 * (d->at % 16) >= how->high))
			return 0;
	}
}

static inline int mock_go(struct dbg *d, uint64_t at, struct dbg_stop *ret)
{
	if (at >= MOCK_N)
		return ERR_NOT_FOUND;
	mock_at(d, at);
	*ret = (struct dbg_stop){ .kind = DBG_STOP_SEEK, .tid = mock_runs(at) };
	return 0;
}

int dbg_seek(struct dbg *d, const struct dbg_pos *to, struct dbg_stop *ret, struct errinfo *ei)
{
	(void)ei;
	return to->events < MOCK_N && to->steps < MOCK_N ? mock_go(d, to->events * 8 + to->steps, ret) : ERR_NOT_FOUND;
}

int dbg_seek_begin(struct dbg *d, struct dbg_stop *ret, struct errinfo *ei)
{
	(void)ei;
	return mock_go(d, 0, ret);
}

int dbg_seek_end(struct dbg *d, struct dbg_stop *ret, struct errinfo *ei)
{
	(void)ei;
	return mock_go(d, MOCK_N - 1, ret);
}

int dbg_seek_time(struct dbg *d, uint64_t ns, struct dbg_stop *ret, struct errinfo *ei)
{
	(void)ei;
	return mock_go(d, MIN(ns / 1000000, (uint64_t)MOCK_N - 1), ret);
}

int dbg_last_write(struct dbg *d, uint64_t addr, uint64_t len, struct dbg_stop *ret, struct errinfo *ei)
{
	(void)ei;
	while (d->at) {
		uint64_t written = MOCK_DATA + (d->at - 1) % 32;

		mock_at(d, d->at - 1);
		*ret = (struct dbg_stop){ .kind = DBG_STOP_WATCH, .tid = mock_runs(d->at), .addr = written };
		if (written >= addr && written < addr + len)
			return 0;
	}
	*ret = (struct dbg_stop){ .kind = DBG_STOP_BEGIN, .tid = mock_runs(0) };
	return 0;
}

int dbg_divert(struct dbg *d, struct errinfo *ei)
{
	size_t n;

	(void)ei;
	for (unsigned i = 0; i < 2; i++) {
		mock_regs(d->at, MOCK_TID + (pid_t)i, &d->copy[i]);
		if (dbg_xstate(d, MOCK_TID + (pid_t)i, d->xcopy[i], sizeof(d->xcopy[i]), &n) < 0)
			abort();
	}
	d->diverted = true;
	d->diversions++;
	return 0;
}

bool dbg_diverted(const struct dbg *d)
{
	return d->diverted;
}

int dbg_divert_end(struct dbg *d, struct errinfo *ei)
{
	(void)ei;
	d->diverted = false;
	mock_build(d);
	return 0;
}

int dbg_set_regs(struct dbg *d, pid_t tid, const struct user_regs_struct *r)
{
	if (!d->diverted)
		return -EROFS;
	if (tid != MOCK_TID && tid != MOCK_TID2)
		return ERR_NOT_FOUND;
	d->copy[tid - MOCK_TID] = *r;
	return 0;
}

int dbg_set_xstate(struct dbg *d, pid_t tid, const void *buf, size_t len)
{
	if (!d->diverted)
		return -EROFS;
	memcpy(d->xcopy[tid - MOCK_TID], buf, MIN(len, sizeof(d->xcopy[0])));
	return 0;
}

int dbg_write(struct dbg *d, uint64_t addr, const void *buf, size_t n)
{
	const struct mapping *m = aspace_find(&d->as, addr);

	if (!d->diverted)
		return -EROFS;
	if (!m || n > m->end - addr)
		return -EFAULT;
	memcpy(d->mem + addr, buf, n);
	return 0;
}

int dbg_file_open(struct dbg *d, const char *path, int *ret_fd)
{
	char name[] = "/tmp/gdbstub-mock-XXXXXX";
	int fd;

	(void)d;
	if (strcmp(path, "/bin/mock") != 0)
		return ERR_NOT_FOUND;
	fd = mkostemp(name, O_CLOEXEC);
	if (fd < 0)
		return -errno;
	unlink(name);
	if (write(fd, "ELF}*#$", 7) != 7)
		abort();
	*ret_fd = fd;
	return 0;
}

int dbg_proc_file(struct dbg *d, const char *name, struct buf *out)
{
	(void)d;
	if (strcmp(name, "comm") == 0)
		buf_printf(out, "mock\n");
	else if (strcmp(name, "auxv") == 0)
		buf_put_u64(out, 0);
	else
		return ERR_NOT_FOUND;
	return 0;
}

const char *dbg_exe(struct dbg *d)
{
	(void)d;
	return "/bin/mock";
}

#endif
