/* An empty traced process for tests that need a real one: memory is mapped by remote calls, and a page of code touches it as a program would. */
#ifndef TESTS_UNIT_ENGINE_GUEST_H
#define TESTS_UNIT_ENGINE_GUEST_H

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include "engine/engine.h"
#include "tests/unit/test.h"

#define GUEST_CODE 0x10000000ull

struct guest {
	struct eng_task t;
};

static inline int64_t guest_call(struct guest *g, uint64_t nr, uint64_t a, uint64_t b, uint64_t c, uint64_t d, uint64_t e)
{
	int64_t result;

	ck_assert_int_eq(eng_remote(&g->t, nr, (uint64_t[6]){ a, b, c, d, e }, &result), 0);
	return result;
}

/* Maps it and tells the model. flags: MAP_*; fd -1 = anonymous. */
static inline void guest_map(struct guest *g, uint64_t addr, uint64_t len, uint32_t prot, uint32_t flags, int fd)
{
	struct mapping m = { .start = addr, .end = addr + len, .prot = prot };

	if (flags & MAP_ANONYMOUS)
		m.flags |= ASPACE_ANON;
	if (flags & MAP_SHARED)
		m.flags |= ASPACE_SHARED;
	if (flags & MAP_GROWSDOWN)
		m.flags |= ASPACE_GROWSDOWN;
	ck_assert_int_eq(guest_call(g, SYS_mmap, addr, len, prot, flags | MAP_FIXED_NOREPLACE, (uint64_t)fd), (int64_t)addr);
	ck_assert_int_eq(aspace_map(&g->t.mm->as, &m), 0);
}

static inline void guest_anon(struct guest *g, uint64_t addr, uint64_t len)
{
	guest_map(g, addr, len, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1);
}

/* Runs the code at GUEST_CODE + off with these registers up to its int3. */
static inline void guest_run(struct guest *g, uint64_t off, uint64_t rdi, uint64_t rsi)
{
	struct user_regs_struct *r;
	struct eng_stop st;

	ck_assert_int_eq(eng_regs(&g->t, &r), 0);
	r->rip = GUEST_CODE + off;
	r->rdi = rdi;
	r->rsi = rsi;
	r->orig_rax = UINT64_MAX;
	eng_regs_changed(&g->t);
	ck_assert_int_eq(eng_resume(&g->t, ENG_RUN, 0), 0);
	ck_assert_int_eq(eng_wait_task(&g->t, &st), 0);
	ck_assert_msg(st.kind == ENG_STOP_SIGNAL && st.signo == SIGTRAP, "%s, signal %d", eng_stop_name(st.kind), st.signo);
}

/* First bytes of the code page: */
#define GUEST_CODE_WRITE 0 /* adds 1 to the first byte of rsi pages from rdi on */
#define GUEST_CODE_READ 32 /* reads them */

static inline void guest_write(struct guest *g, uint64_t addr, uint64_t pages)
{
	guest_run(g, GUEST_CODE_WRITE, addr, pages);
}

static inline void guest_read(struct guest *g, uint64_t addr, uint64_t pages)
{
	guest_run(g, GUEST_CODE_READ, addr, pages);
}

static inline void guest_start(struct guest *g)
{
	static const uint8_t write_pages[] = "\xfe\x07\x48\x81\xc7\x00\x10\x00\x00\x48\xff\xce\x75\xf2\xcc";
	static const uint8_t read_pages[] = "\x80\x3f\x00\x48\x81\xc7\x00\x10\x00\x00\x48\xff\xce\x75\xf1\xcc";
	struct errinfo ei = { 0 };
	struct eng_mm *mm;
	pid_t tid;

	ck_assert_msg(eng_spawn_stub(false, &tid, &ei) == 0, "%s", ei.text);
	ck_assert_int_eq(eng_mm_new(tid, &mm), 0);
	mm->gate = ENG_STUB_GATE;
	eng_task_init(&g->t, tid, tid, mm);
	guest_map(g, GUEST_CODE, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1);
	ck_assert_int_eq(eng_write(&g->t, GUEST_CODE + GUEST_CODE_WRITE, write_pages, sizeof(write_pages) - 1), 0);
	ck_assert_int_eq(eng_write(&g->t, GUEST_CODE + GUEST_CODE_READ, read_pages, sizeof(read_pages) - 1), 0);
}

/* The child that a remote fork() makes. */
static inline void guest_fork(struct guest *g, struct guest *ret)
{
	pid_t tid = (pid_t)guest_call(g, SYS_fork, 0, 0, 0, 0, 0);
	struct eng_stop st;
	struct eng_mm *mm;

	ck_assert_int_gt(tid, 0);
	ck_assert_int_eq(eng_mm_fork(g->t.mm, tid, &mm), 0);
	eng_task_init(&ret->t, tid, tid, mm);
	ck_assert_int_eq(eng_wait_task(&ret->t, &st), 0);
	ck_assert_int_eq(st.kind, ENG_STOP_TRAP);
}

static inline void guest_end(struct guest *g)
{
	kill(g->t.tid, SIGKILL);
	while (waitpid(g->t.tid, NULL, __WALL) < 0 && errno == EINTR)
		;
	eng_task_done(&g->t);
}

static inline uint8_t guest_byte(struct guest *g, uint64_t addr)
{
	uint8_t b;

	ck_assert_int_eq(eng_read(&g->t, addr, &b, 1), 0);
	return b;
}

#endif
