/* An empty traced process for tests that need a real one: memory is mapped by remote calls, and a page of code
 * touches it as a program would. */
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

static inline int64_t guest_call(struct eng_task *t, uint64_t nr, uint64_t a, uint64_t b, uint64_t c, uint64_t d, uint64_t e)
{
	int64_t result;

	ck_assert_int_eq(eng_remote(t, nr, (uint64_t[6]){ a, b, c, d, e }, &result), 0);
	return result;
}

/* Maps it and tells the model. flags: MAP_*; fd -1 = anonymous. */
static inline void guest_map(struct eng_task *t, uint64_t addr, uint64_t len, uint32_t prot, uint32_t flags, int fd)
{
	struct mapping m = { .start = addr, .end = addr + len, .prot = prot };

	if (flags & MAP_ANONYMOUS)
		m.flags |= ASPACE_ANON;
	if (flags & MAP_SHARED)
		m.flags |= ASPACE_SHARED;
	if (flags & MAP_GROWSDOWN)
		m.flags |= ASPACE_GROWSDOWN;
	ck_assert_int_eq(guest_call(t, SYS_mmap, addr, len, prot, flags | MAP_FIXED_NOREPLACE, (uint64_t)fd), (int64_t)addr);
	ck_assert_int_eq(aspace_map(&t->mm->as, &m), 0);
}

static inline void guest_anon(struct eng_task *t, uint64_t addr, uint64_t len)
{
	guest_map(t, addr, len, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1);
}

/* Runs the code at GUEST_CODE + off with these registers up to its int3. */
static inline void guest_run(struct eng_task *t, uint64_t off, uint64_t rdi, uint64_t rsi)
{
	struct user_regs_struct *r;
	struct eng_stop st;

	ck_assert_int_eq(eng_regs(t, &r), 0);
	r->rip = GUEST_CODE + off;
	r->rdi = rdi;
	r->rsi = rsi;
	r->orig_rax = UINT64_MAX;
	eng_regs_changed(t);
	ck_assert_int_eq(eng_resume(t, ENG_RUN, 0), 0);
	ck_assert_int_eq(eng_wait_task(t, &st), 0);
	ck_assert_msg(st.kind == ENG_STOP_SIGNAL && st.signo == SIGTRAP, "%s, signal %d", eng_stop_name(st.kind), st.signo);
	ck_assert_int_eq(eng_regs(t, &r), 0);
	r->rdi = r->rsi = 0; /* point at nothing any more */
	eng_regs_changed(t);
}

/* First bytes of the code page: */
#define GUEST_CODE_WRITE 0 /* adds 1 to the first byte of rsi pages from rdi on */
#define GUEST_CODE_READ 32 /* reads them */

static inline void guest_write(struct eng_task *t, uint64_t addr, uint64_t pages)
{
	guest_run(t, GUEST_CODE_WRITE, addr, pages);
}

static inline void guest_read(struct eng_task *t, uint64_t addr, uint64_t pages)
{
	guest_run(t, GUEST_CODE_READ, addr, pages);
}

static inline void guest_start(struct eng_task *t)
{
	static const uint8_t write_pages[] = "\xfe\x07\x48\x81\xc7\x00\x10\x00\x00\x48\xff\xce\x75\xf2\xcc";
	static const uint8_t read_pages[] = "\x80\x3f\x00\x48\x81\xc7\x00\x10\x00\x00\x48\xff\xce\x75\xf1\xcc";
	struct errinfo ei = { 0 };
	struct eng_mm *mm;
	pid_t tid;

	ck_assert_msg(eng_spawn_stub(false, &tid, &ei) == 0, "%s", ei.text);
	ck_assert_int_eq(eng_mm_new(tid, &mm), 0);
	mm->gate = ENG_STUB_GATE;
	eng_task_init(t, tid, tid, mm);
	guest_map(t, GUEST_CODE, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1);
	ck_assert_int_eq(eng_write(t, GUEST_CODE + GUEST_CODE_WRITE, write_pages, sizeof(write_pages) - 1), 0);
	ck_assert_int_eq(eng_write(t, GUEST_CODE + GUEST_CODE_READ, read_pages, sizeof(read_pages) - 1), 0);
}

/* The child that a remote fork() makes. */
static inline void guest_fork(struct eng_task *t, struct eng_task *ret)
{
	pid_t tid = (pid_t)guest_call(t, SYS_fork, 0, 0, 0, 0, 0);
	struct eng_stop st;
	struct eng_mm *mm;

	ck_assert_int_gt(tid, 0);
	ck_assert_int_eq(eng_mm_fork(t->mm, tid, &mm), 0);
	eng_task_init(ret, tid, tid, mm);
	ck_assert_int_eq(eng_wait_task(ret, &st), 0);
	ck_assert_int_eq(st.kind, ENG_STOP_TRAP);
}

static inline void guest_end(struct eng_task *t)
{
	kill(t->tid, SIGKILL);
	while (waitpid(t->tid, NULL, __WALL) < 0 && errno == EINTR)
		;
	eng_task_done(t);
}

static inline uint8_t guest_byte(struct eng_task *t, uint64_t addr)
{
	uint8_t b;

	ck_assert_int_eq(eng_read(t, addr, &b, 1), 0);
	return b;
}

#endif
