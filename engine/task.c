/* Tasks and address spaces: creation, resuming, registers, memory. */
#include "engine/engine.h"

#include <elf.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "engine/mem_priv.h"
#include "engine/ptrace_priv.h"

/* --- address spaces --- */

static struct eng_mm *mm_alloc(void)
{
	struct eng_mm *mm = calloc(1, sizeof(*mm));

	if (!mm)
		return NULL;
	mm->refs = 1;
	mm->mem_fd = -1;
	aspace_init(&mm->as);
	return mm;
}

static int open_memory(pid_t tid)
{
	char path[32];
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/mem", tid);
	fd = open(path, O_RDWR | O_CLOEXEC);
	return fd >= 0 ? fd : errno == ENOENT || errno == ESRCH ? ERR_GUEST_GONE : -errno;
}

int eng_mm_new(pid_t tid, struct eng_mm **ret)
{
	struct eng_mm *mm = mm_alloc();
	int fd;

	if (!mm)
		return -ENOMEM;
	fd = open_memory(tid);
	if (fd < 0) {
		eng_mm_unref(mm);
		return fd;
	}
	mm->mem_fd = fd;
	*ret = mm;
	return 0;
}

int eng_mm_fork(const struct eng_mm *mm, pid_t tid, struct eng_mm **ret)
{
	struct eng_mm *copy = mm_alloc();
	int r;

	if (!copy)
		return -ENOMEM;
	r = open_memory(tid);
	if (r >= 0)
		copy->mem_fd = r;
	if (r >= 0 || r == ERR_GUEST_GONE)
		r = aspace_copy(&mm->as, &copy->as);
	if (r >= 0)
		r = eng_patches_copy(&mm->patches, &copy->patches);
	if (r < 0) {
		eng_mm_unref(copy);
		return r;
	}
	copy->gate = mm->gate;
	copy->brk = mm->brk;
	*ret = copy;
	return 0;
}

struct eng_mm *eng_mm_ref(struct eng_mm *mm)
{
	mm->refs++;
	return mm;
}

void eng_mm_unref(struct eng_mm *mm)
{
	if (!mm || --mm->refs > 0)
		return;
	if (mm->owner)
		mm->owner_free(mm->owner);
	if (mm->mem_fd >= 0)
		close(mm->mem_fd);
	aspace_done(&mm->as);
	eng_patches_done(&mm->patches);
	free(mm);
}

/* --- tasks --- */

void eng_task_init(struct eng_task *t, pid_t tid, pid_t tgid, struct eng_mm *mm)
{
	*t = (struct eng_task){ .tid = tid, .tgid = tgid, .mm = mm };
}

void eng_task_done(struct eng_task *t)
{
	eng_mm_unref(t->mm);
	t->mm = NULL;
}

int eng_resume(struct eng_task *t, enum eng_resume how, int signo)
{
	static const enum __ptrace_request requests[] = {
		[ENG_RUN] = PTRACE_CONT,
		[ENG_TO_EXIT] = PTRACE_SYSCALL,
		[ENG_STEP] = PTRACE_SINGLESTEP,
		[ENG_LISTEN] = PTRACE_LISTEN,
	};
	int r;

	if (t->regs_dirty) {
		r = ptrace_call(PTRACE_SETREGS, t->tid, NULL, &t->regs);
		if (r < 0)
			return r;
	}
	r = ptrace_call(requests[how], t->tid, NULL, (void *)(long)signo);
	if (r < 0)
		return r;
	t->regs_valid = t->regs_dirty = false;
	t->running = true;
	return 0;
}

int eng_interrupt(struct eng_task *t)
{
	return ptrace_call(PTRACE_INTERRUPT, t->tid, NULL, NULL);
}

int eng_message(struct eng_task *t, unsigned long *ret)
{
	return ptrace_call(PTRACE_GETEVENTMSG, t->tid, NULL, ret);
}

int eng_siginfo(struct eng_task *t, siginfo_t *ret)
{
	return ptrace_call(PTRACE_GETSIGINFO, t->tid, NULL, ret);
}

int eng_set_siginfo(struct eng_task *t, const siginfo_t *si)
{
	return ptrace_call(PTRACE_SETSIGINFO, t->tid, NULL, (void *)si);
}

int eng_sigmask(struct eng_task *t, uint64_t *ret)
{
	return ptrace_call(PTRACE_GETSIGMASK, t->tid, (void *)sizeof(*ret), ret);
}

int eng_set_sigmask(struct eng_task *t, uint64_t mask)
{
	return ptrace_call(PTRACE_SETSIGMASK, t->tid, (void *)sizeof(mask), &mask);
}

int eng_unblock(struct eng_task *t, int signo)
{
	uint64_t mask;
	int r = eng_sigmask(t, &mask);

	if (r < 0 || !(mask >> (signo - 1) & 1))
		return r;
	return eng_set_sigmask(t, mask & ~(1ull << (signo - 1)));
}

int eng_request(struct eng_task *t, unsigned request, uint64_t addr, void *data)
{
	long r = t->regs_dirty ? ptrace_call(PTRACE_SETREGS, t->tid, NULL, &t->regs) : 0;

	if (r < 0)
		return (int)r;
	t->regs_valid = t->regs_dirty = false;
	r = syscall(SYS_ptrace, request, t->tid, addr, data);
	return r >= 0 ? (int)r : errno == ESRCH ? ERR_GUEST_GONE : -errno;
}

int eng_sigsets(struct eng_task *t, struct eng_sigsets *ret)
{
	static const struct {
		const char *field;
		size_t at;
	} fields[] = {
		{ "\nSigPnd:", offsetof(struct eng_sigsets, pending) },  { "\nShdPnd:", offsetof(struct eng_sigsets, pending) },
		{ "\nSigBlk:", offsetof(struct eng_sigsets, blocked) },  { "\nSigIgn:", offsetof(struct eng_sigsets, ignored) },
		{ "\nSigCgt:", offsetof(struct eng_sigsets, caught) },
	};
	char path[32], text[8192];
	ssize_t n;
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/status", t->tid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return errno == ENOENT ? ERR_GUEST_GONE : -errno;
	n = read(fd, text, sizeof(text) - 1);
	close(fd);
	if (n <= 0)
		return ERR_GUEST_GONE;
	text[n] = '\0';
	*ret = (struct eng_sigsets){ 0 };
	for (size_t i = 0; i < ARRAY_SIZE(fields); i++) {
		const char *p = strstr(text, fields[i].field);

		if (!p)
			return -EPROTO;
		*(uint64_t *)((char *)ret + fields[i].at) |= strtoull(p + strlen(fields[i].field), NULL, 16);
	}
	return 0;
}

/* --- registers --- */

int eng_regs(struct eng_task *t, struct user_regs_struct **ret)
{
	if (!t->regs_valid) {
		int r = ptrace_call(PTRACE_GETREGS, t->tid, NULL, &t->regs);

		if (r < 0)
			return r;
		t->regs_valid = true;
	}
	*ret = &t->regs;
	return 0;
}

void eng_regs_changed(struct eng_task *t)
{
	must(t->regs_valid);
	t->regs_dirty = true;
}

void eng_regs_set(struct eng_task *t, const struct user_regs_struct *r)
{
	t->regs = *r;
	t->regs_valid = t->regs_dirty = true;
}

int eng_result(struct eng_task *t, int64_t *ret)
{
	long v;

	if (t->regs_valid) {
		*ret = (int64_t)t->regs.rax;
		return 0;
	}
	errno = 0;
	v = ptrace(PTRACE_PEEKUSER, t->tid, (void *)offsetof(struct user_regs_struct, rax), NULL);
	if (v == -1 && errno)
		return errno == ESRCH ? ERR_GUEST_GONE : -errno;
	*ret = v;
	return 0;
}

int eng_xstate(struct eng_task *t, void *buf, size_t cap, size_t *ret_len)
{
	struct iovec iov = { .iov_base = buf, .iov_len = cap };
	int r = ptrace_call(PTRACE_GETREGSET, t->tid, (void *)NT_X86_XSTATE, &iov);

	if (r < 0)
		return r;
	*ret_len = iov.iov_len;
	return 0;
}

int eng_xstate_set(struct eng_task *t, const void *buf, size_t len)
{
	struct iovec iov = { .iov_base = (void *)buf, .iov_len = len };

	return ptrace_call(PTRACE_SETREGSET, t->tid, (void *)NT_X86_XSTATE, &iov);
}

uint64_t eng_regs_hash(const struct user_regs_struct *r)
{
	const uint64_t v[] = { r->orig_rax, r->rbx, r->rcx, r->rdx, r->rsi, r->rdi, r->rbp, r->rsp, r->r8, r->r9,
			       r->r10, r->r12, r->r13, r->r14, r->r15, r->rip, r->fs_base, r->gs_base };
	uint64_t h = 0x9e3779b97f4a7c15ULL;

	for (size_t i = 0; i < ARRAY_SIZE(v); i++) {
		h = (h ^ v[i]) * 0xff51afd7ed558ccdULL;
		h ^= h >> 32;
	}
	return h ? h : 1;
}

/* --- memory --- */

static ssize_t mem_error(void)
{
	return errno == EIO || errno == EINVAL ? -EFAULT : -errno;
}

ssize_t mem_read_raw(const struct eng_mm *mm, uint64_t addr, void *buf, size_t n)
{
	ssize_t r = pread(mm->mem_fd, buf, n, (off_t)addr);

	return r < 0 ? mem_error() : r;
}

ssize_t mem_write_raw(const struct eng_mm *mm, uint64_t addr, const void *buf, size_t n)
{
	ssize_t r = pwrite(mm->mem_fd, buf, n, (off_t)addr);

	return r < 0 ? mem_error() : r;
}

ssize_t eng_read_some(struct eng_task *t, uint64_t addr, void *buf, size_t n)
{
	ssize_t r = mem_read_raw(t->mm, addr, buf, n);

	if (r > 0)
		eng_patch_hide(t->mm, addr, buf, (size_t)r);
	return r;
}

int eng_read(struct eng_task *t, uint64_t addr, void *buf, size_t n)
{
	size_t done = 0;

	while (done < n) {
		ssize_t r = eng_read_some(t, addr + done, (char *)buf + done, n - done);

		if (r <= 0)
			return r < 0 ? (int)r : ERR_GUEST_GONE; /* 0: the address space is gone */
		done += (size_t)r;
	}
	return 0;
}

int eng_write(struct eng_task *t, uint64_t addr, const void *buf, size_t n)
{
	size_t done = 0;

	while (done < n) {
		bool plain = !eng_patch_overlaps(t->mm, addr + done, n - done);
		const char *from = (const char *)buf + done;
		ssize_t r = plain ? mem_write_raw(t->mm, addr + done, from, n - done) : patch_write(t->mm, addr + done, from, n - done);

		if (r <= 0)
			return r < 0 ? (int)r : ERR_GUEST_GONE;
		done += (size_t)r;
	}
	return 0;
}

/* One process_vm_readv() for as many pages as it takes; returns how many it read from the front on. */
static size_t read_pages_ahead(struct eng_task *t, const uint64_t *addr, size_t n, uint8_t *buf)
{
	struct iovec remote[64], local = { .iov_base = buf };
	size_t runs = 0;
	ssize_t got;

	for (size_t i = 0; i < n; i++) {
		if (runs && addr[i] == (uint64_t)(uintptr_t)remote[runs - 1].iov_base + remote[runs - 1].iov_len) {
			remote[runs - 1].iov_len += ENG_PAGE;
		} else {
			if (runs == ARRAY_SIZE(remote))
				break;
			remote[runs++] = (struct iovec){ (void *)(uintptr_t)addr[i], ENG_PAGE };
		}
		local.iov_len += ENG_PAGE;
	}
	got = process_vm_readv(t->tid, &local, 1, remote, runs, 0);
	return got > 0 ? (size_t)got / ENG_PAGE : 0;
}

void eng_read_pages(struct eng_task *t, const uint64_t *addr, size_t n, uint8_t *buf, bool *ret_ok)
{
	for (size_t i = 0; i < n;) {
		size_t got = read_pages_ahead(t, addr + i, n - i, buf + i * ENG_PAGE);

		for (; got; got--, i++) {
			ret_ok[i] = true;
			eng_patch_hide(t->mm, addr[i], buf + i * ENG_PAGE, ENG_PAGE);
		}
		/* It stops at a page that only a debugger may read, or nobody. */
		if (i < n) {
			ret_ok[i] = eng_read(t, addr[i], buf + i * ENG_PAGE, ENG_PAGE) >= 0;
			i++;
		}
	}
}

static uint64_t hash_step(uint64_t h, uint64_t w)
{
	h = (h ^ w) * 0x9fb21c651e98df25ULL;
	return h ^ h >> 29;
}

/* Four lanes, since a multiplication waits for the one before it in its lane. */
struct hash_lanes {
	uint64_t a, b, c, d;
};

static inline uint64_t word_at(const uint8_t *p)
{
	uint64_t w;

	memcpy(&w, p, sizeof(w));
	return w;
}

static inline struct hash_lanes hash_block(struct hash_lanes l, const uint8_t *at)
{
	return (struct hash_lanes){ hash_step(l.a, word_at(at)), hash_step(l.b, word_at(at + 8)), hash_step(l.c, word_at(at + 16)),
				    hash_step(l.d, word_at(at + 24)) };
}

uint64_t eng_hash(const void *p, size_t n)
{
	enum { BLOCK = 32 };
	const uint64_t k = 0x9e3779b97f4a7c15ULL;
	struct hash_lanes l = { k, 2 * k, 3 * k, 4 * k };
	const uint8_t *at = p, *end = at + n / BLOCK * BLOCK;
	uint8_t last[BLOCK] = { 0 };

	for (; at < end; at += BLOCK)
		l = hash_block(l, at);
	if (n % BLOCK) {
		memcpy(last, at, n % BLOCK);
		l = hash_block(l, last);
	}
	return hash_step(hash_step(hash_step(hash_step(n, l.a), l.b), l.c), l.d);
}

/* Four words at a time: each multiplication waits for the one before it. */
uint64_t eng_sum(const void *p, size_t n)
{
	enum { F = ENG_SUM_FACTOR, BLOCK = 32 };
	const uint8_t *at = p, *end = at + n / 8 * 8;
	uint64_t a = 0, b = 0, c = 0, d = 0, sum;

	for (; end - at >= BLOCK; at += BLOCK) {
		a = a * (F * F * F * F) + word_at(at);
		b = b * (F * F * F * F) + word_at(at + 8);
		c = c * (F * F * F * F) + word_at(at + 16);
		d = d * (F * F * F * F) + word_at(at + 24);
	}
	sum = ((a * F + b) * F + c) * F + d;
	for (; at < end; at += 8)
		sum = sum * F + word_at(at);
	return sum;
}

static uint64_t hash_words(uint64_t h, const uint64_t *w, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		h = (h ^ w[i]) * 0x9fb21c651e98df25ULL;
		h ^= h >> 29;
	}
	return h;
}

int eng_memory_hash(struct eng_task *t, uint64_t *ret)
{
	static const size_t chunk = 1 << 18;
	uint64_t *words = malloc(chunk), h = 1;
	const struct aspace *as = &t->mm->as;

	if (!words)
		return -ENOMEM;
	for (size_t i = 0; i < as->n; i++) {
		const struct mapping *m = &as->m[i];

		if (!(m->prot & 2) || (m->flags & (ASPACE_VDSO | ASPACE_HERMIT | ASPACE_GROWSDOWN)))
			continue;
		for (uint64_t at = m->start; at < m->end;) {
			size_t want = MIN(m->end - at, (uint64_t)chunk);
			ssize_t n = eng_read_some(t, at, words, want);

			if (n < (ssize_t)sizeof(*words)) { /* beyond the end of a file */
				at += 4096;
				h = hash_words(h, &at, 1);
				continue;
			}
			h = hash_words(h, words, (size_t)n / sizeof(*words));
			at += (uint64_t)n;
		}
	}
	free(words);
	*ret = h;
	return 0;
}

static int sys_mem_read(void *ctx, uint64_t addr, void *buf, size_t n)
{
	return eng_read(ctx, addr, buf, n);
}

struct sys_mem eng_sys_mem(struct eng_task *t)
{
	return (struct sys_mem){ .read = sys_mem_read, .ctx = t };
}

/* --- instructions that trap --- */

enum eng_insn eng_trapped_insn(struct eng_task *t, unsigned *ret_len)
{
	struct user_regs_struct *r;
	uint8_t b[3] = { 0 };

	if (eng_regs(t, &r) < 0 || eng_read_some(t, r->rip, b, sizeof(b)) < 2 || b[0] != 0x0f)
		return ENG_INSN_OTHER;
	*ret_len = 2;
	if (b[1] == 0x31)
		return ENG_INSN_RDTSC;
	if (b[1] == 0xa2)
		return ENG_INSN_CPUID;
	if (b[1] == 0x01 && b[2] == 0xf9) {
		*ret_len = 3;
		return ENG_INSN_RDTSCP;
	}
	return ENG_INSN_OTHER;
}
