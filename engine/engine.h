/* The tracing engine: tasks, address spaces, registers, memory, stops. No policy: recorder/ and replayer/ decide.
 *
 * A task is one traced thread. Exactly one may run user code at a time; that is the policies' duty. Every wait is in engine/wait.c.
 * Results are negative errors (base/err.h); a task that vanished (SIGKILL) gives ERR_GUEST_GONE everywhere.
 * Kernel interface: ptrace(2) with PTRACE_SEIZE, proc(5).
 */
#ifndef ENGINE_ENGINE_H
#define ENGINE_ENGINE_H

#include <stdbool.h>
#include <signal.h>
#include <sys/types.h>
#include <sys/user.h>
#include "base/err.h"
#include "engine/aspace.h"
#include "engine/patch.h"
#include "engine/syscall.h"

/* What a task reported. */
enum eng_stop_kind {
	ENG_STOP_NONE,
	ENG_STOP_SECCOMP,   /* entry of a system call */
	ENG_STOP_SYSCALL,   /* exit of a system call that was resumed with ENG_TO_EXIT */
	ENG_STOP_SIGNAL,    /* signal-delivery-stop: .signo */
	ENG_STOP_GROUP,     /* group-stop by .signo (SIGSTOP, ...) */
	ENG_STOP_TRAP,      /* PTRACE_EVENT_STOP that is no group-stop: first stop of a new task, end of a group-stop */
	ENG_STOP_BIRTH,     /* fork, vfork or clone event: .message = new tid */
	ENG_STOP_EXEC,      /* .message = former tid */
	ENG_STOP_EXITING,   /* PTRACE_EVENT_EXIT: .message = exit status */
	ENG_STOP_GONE,      /* the task was reaped: .status = wait status */
	ENG_STOP_MAX_
};

struct eng_stop {
	enum eng_stop_kind kind;
	int status; /* raw wait status */
	int signo;
};

enum eng_resume {
	ENG_RUN,     /* to the next system call entry or signal */
	ENG_TO_EXIT, /* to the exit of the system call it is in */
	ENG_STEP,    /* one instruction; with a signal: to the first instruction of its handler */
	ENG_LISTEN,  /* stay in group-stop, report its end */
};

/* An address space, shared by the threads (and vfork children) that live in it. */
struct eng_mm {
	int refs;
	int mem_fd;          /* /proc/PID/mem */
	struct aspace as;
	uint64_t gate;       /* address of a `syscall` instruction usable for remote calls, 0 = none */
	uint64_t brk;        /* end of the heap, 0 = not known yet */
	uint64_t spare[16];  /* scratch areas of threads that have ended */
	unsigned n_spare;
	struct eng_patches patches; /* breakpoints */
	void *owner;         /* what a policy keeps about it; a copy made by fork has none */
	void (*owner_free)(void *owner); /* called with it at the end of the address space, unless owner is NULL */
};

struct eng_task {
	pid_t tid, tgid;
	struct eng_mm *mm;
	struct user_regs_struct regs; /* valid when regs_valid; written back on resume when regs_dirty */
	bool regs_valid, regs_dirty;
	bool gone;           /* reaped */
	struct eng_stop stop; /* last stop */
	bool running;        /* resumed and no stop seen since */
	bool remoted;        /* a remote call was made since: the kernel has forgotten .stop, no signal can be injected there */
};

/* --- address spaces --- */
/* New address space of the task (opens /proc/TID/mem). */
int eng_mm_new(pid_t tid, struct eng_mm **ret) MUST_CHECK;
/* A copy as fork makes it, for the child tid. One that was killed already has a model, but no memory: reading fails. */
int eng_mm_fork(const struct eng_mm *mm, pid_t tid, struct eng_mm **ret) MUST_CHECK;
struct eng_mm *eng_mm_ref(struct eng_mm *mm);
void eng_mm_unref(struct eng_mm *mm);

/* --- tasks --- */
void eng_task_init(struct eng_task *t, pid_t tid, pid_t tgid, struct eng_mm *mm); /* takes the mm reference */
void eng_task_done(struct eng_task *t);
/* Resumes a stopped task, first writing back changed registers. signo 0 = none. */
int eng_resume(struct eng_task *t, enum eng_resume how, int signo) MUST_CHECK;
/* Asks a running task to stop (PTRACE_INTERRUPT): it reports a TRAP stop, after any other stop that was on its way. */
int eng_interrupt(struct eng_task *t) MUST_CHECK;
/* PTRACE_GETEVENTMSG. */
int eng_message(struct eng_task *t, unsigned long *ret) MUST_CHECK;
int eng_siginfo(struct eng_task *t, siginfo_t *ret) MUST_CHECK;
int eng_set_siginfo(struct eng_task *t, const siginfo_t *si) MUST_CHECK;
/* Blocked signals of the thread (bit signo-1). */
int eng_sigmask(struct eng_task *t, uint64_t *ret) MUST_CHECK;
int eng_set_sigmask(struct eng_task *t, uint64_t mask) MUST_CHECK;
/* Takes one signal out of the mask. */
int eng_unblock(struct eng_task *t, int signo) MUST_CHECK;
/* Any other request to the stopped task, as the kernel has it (PEEK stores at data). Changed registers are written
 * before; cached ones are forgotten. The kernel's result. */
int eng_request(struct eng_task *t, unsigned request, uint64_t addr, void *data) MUST_CHECK;
/* Signal sets of /proc/TID/status (bit signo-1); pending: of the thread and of its process. */
struct eng_sigsets {
	uint64_t pending, blocked, ignored, caught;
};
int eng_sigsets(struct eng_task *t, struct eng_sigsets *ret) MUST_CHECK;
/* The fields of /proc/TID/stat from the third (the state) on, in text; NULL when the task is gone. */
const char *eng_stat(pid_t tid, char *text, size_t cap);
/* State letter of /proc/TID/stat ('R', 'S', 'D', 't', 'T', 'Z', ...), 0 when gone. */
char eng_state(pid_t tid);

/* --- registers --- */
int eng_regs(struct eng_task *t, struct user_regs_struct **ret) MUST_CHECK; /* loads when needed; for reading */
void eng_regs_changed(struct eng_task *t); /* after writing through the pointer */
void eng_regs_set(struct eng_task *t, const struct user_regs_struct *r);
int eng_result(struct eng_task *t, int64_t *ret) MUST_CHECK; /* rax, cheaply */
#define ENG_XSTATE_MAX 16384
int eng_xstate(struct eng_task *t, void *buf, size_t cap, size_t *ret_len) MUST_CHECK;
int eng_xstate_set(struct eng_task *t, const void *buf, size_t len) MUST_CHECK;
/* Hash of what must be equal at an event: general registers, rsp, rip, fs and gs base; not flags and r11 (undefined flag bits differ between
 * CPU models), never 0. */
uint64_t eng_regs_hash(const struct user_regs_struct *r);

/* --- memory --- */
/* All of it is what the guest has: the int3s of engine/patch.h do not show, and are not written over.
 * Whole n bytes or an error (-EFAULT). Reading ignores protections; writing too (private pages are copied first). */
int eng_read(struct eng_task *t, uint64_t addr, void *buf, size_t n) MUST_CHECK;
int eng_write(struct eng_task *t, uint64_t addr, const void *buf, size_t n) MUST_CHECK;
/* As many bytes as are there. */
ssize_t eng_read_some(struct eng_task *t, uint64_t addr, void *buf, size_t n) MUST_CHECK;
/* Whole pages at ascending addresses, one behind the other into buf, faster than eng_read(). ret_ok[i] says
 * whether page i could be read. */
#define ENG_PAGE 4096u
void eng_read_pages(struct eng_task *t, const uint64_t *addr, size_t n, uint8_t *buf, bool *ret_ok);
/* The hash of HASH effects: part of the format (docs/FORMAT.md has the definition), the same for ever. Several GB/s. */
uint64_t eng_hash(const void *p, size_t n);
/* The sum of asynchronous points, part of the format too: what code without flags can compute (engine/tramp.c). It begins
 * with 0; for each word of 8 bytes it becomes itself times the factor, plus the word. n is a multiple of 8. */
#define ENG_SUM_FACTOR 9
#define ENG_SUM_INVERSE 0x8e38e38e38e38e39ull /* factor times inverse is 1 */
uint64_t eng_sum(const void *p, size_t n);
/* Hash of all memory in writable mappings of the model (not ours, not the vDSO's; what cannot be read counts as zero). Growing stacks are left out,
 * since how far they have grown is not in the model. */
int eng_memory_hash(struct eng_task *t, uint64_t *ret) MUST_CHECK;
/* For the table functions. */
struct sys_mem eng_sys_mem(struct eng_task *t);

/* --- watchpoints: engine/watch.c --- */
#define ENG_WATCH_MAX 4
struct eng_watch {
	uint64_t addr;
	uint8_t len;      /* 1, 2, 4 or 8; addr is a multiple of it */
	bool writes_only; /* else reads too: the processor has nothing that only reads */
};
/* From now on t stops (signal SIGTRAP, si_code TRAP_HWBKPT) behind each instruction that touches one of these n. In a repeated string
 * instruction: behind a repetition. 0: none. -EINVAL: of another length or place, -ERANGE: too many (nothing has changed then); another error
 * where machine or kernel do not offer it. What system calls do to them is not seen. Belongs to this thread alone: threads and processes
 * that it makes have none, and an exec takes them away. */
int eng_watch(struct eng_task *t, const struct eng_watch *w, unsigned n) MUST_CHECK;
/* Bit i of *ret_mask: the i-th of them was met, since the last call. */
int eng_watch_hits(struct eng_task *t, unsigned *ret_mask) MUST_CHECK;
/* Pieces that cover exactly these bytes: how many, -ERANGE: more than max, or no such range. writes_only is false in them. */
int eng_watch_split(uint64_t addr, uint64_t len, struct eng_watch *ret, unsigned max) MUST_CHECK;

/* --- remote system calls --- */
/* Runs a call in the task through mm->gate; the task must be stopped outside a system call (exit stop, signal stop, first stop). Registers are as before afterwards.
 * *ret_result is the raw result. */
int eng_remote(struct eng_task *t, uint64_t nr, const uint64_t args[6], int64_t *ret_result) MUST_CHECK;
/* At a SECCOMP stop: this call runs in place of the guest's, up to its exit stop. Argument registers, rax and orig_rax are not put back. */
int eng_call_instead(struct eng_task *t, uint64_t nr, const uint64_t args[6], int64_t *ret_result) MUST_CHECK;
/* As eng_remote() at a SECCOMP stop: the guest's call is put off, ours runs instead, and the task is brought to the SECCOMP stop of its own call again. */
int eng_remote_at_entry(struct eng_task *t, uint64_t nr, const uint64_t args[6], int64_t *ret_result) MUST_CHECK;
/* Finds a usable syscall instruction in the vDSO found in as; sets mm->gate. */
int eng_find_gate(struct eng_task *t) MUST_CHECK;

/* --- waiting: engine/wait.c --- */
/* Waits for a stop of this very task. ERR_INTERRUPTED when a signal handler ran. */
int eng_wait_task(struct eng_task *t, struct eng_stop *ret) MUST_CHECK;
/* Any stop of any tracee: 1 and tid+stop, 0 when nobody has one (only without block), -ECHILD without tracees, ERR_INTERRUPTED. */
int eng_wait_any(bool block, pid_t *ret_tid, struct eng_stop *ret) MUST_CHECK;
/* Same-CPU check after a resume into a call that may sleep: 1 = stopped (in *ret), 0 = it sleeps in the kernel. Waits as long as it computes
 * there, and 20 ms for a disk. */
int eng_wait_brief(struct eng_task *t, struct eng_stop *ret) MUST_CHECK;
/* Classifies a wait status. */
void eng_stop_classify(int status, struct eng_stop *ret);
const char *eng_stop_name(enum eng_stop_kind kind);

/* --- starting --- */
struct eng_spawn {
	const char *path;
	char *const *argv, *const *envp;
	const char *workdir; /* NULL = same */
	int fds[3];
};
/* Forks, seizes, and lets the child run up to the SECCOMP stop of its execve (rdtsc traps from then on). */
int eng_spawn(const struct eng_spawn *sp, pid_t *ret_tid, struct errinfo *ei) MUST_CHECK;
/* Forks an empty process for replay: shares our descriptors, nothing mapped but one gate page at ENG_STUB_GATE, every call trapped;
 * stopped, ready for eng_remote. */
#define ENG_STUB_GATE 0x1f0000ULL /* below all link addresses in use, above mmap_min_addr, where no kernel puts a mapping by itself */
int eng_spawn_stub(bool trap_cpuid, pid_t *ret_tid, struct errinfo *ei) MUST_CHECK;

/* --- CPU --- */
/* Pins the calling thread; *ret_old (may be NULL) gets the mask before (cpu_set_t of 1024 bits). cpu -1 = where it runs now. Returns the CPU. */
int eng_pin(int cpu, void *ret_old, size_t n) MUST_CHECK;

/* --- the tracer's own rdtsc and cpuid: engine/traps.c --- */
struct eng_cpuid {
	uint32_t leaf, sub, v[4];
};
struct eng_traps {
	bool joined, cpuid;
	struct sigaction old;
	struct eng_cpuid known[256];
	unsigned n_known;
};
/* Does the CPU (and hypervisor) let cpuid trap? */
bool eng_traps_have_cpuid(void);
/* Traps them for the calling thread too, so that switching to guests is cheap; leave undoes it. *tr may be all zero. */
void eng_traps_join(struct eng_traps *tr, bool cpuid);
void eng_traps_leave(struct eng_traps *tr);
/* Asks what programs ask at their start, while it is cheap: before joining. */
void eng_traps_prefetch(struct eng_traps *tr);
/* The instructions themselves, joined or not. */
uint64_t eng_traps_rdtscp(const struct eng_traps *tr, uint32_t *ret_aux);
void eng_traps_cpuid(struct eng_traps *tr, uint32_t leaf, uint32_t sub, uint32_t ret[4]);

/* Instruction at rip that traps: */
enum eng_insn { ENG_INSN_OTHER, ENG_INSN_RDTSC, ENG_INSN_RDTSCP, ENG_INSN_CPUID };
/* Which one is at the task's rip (prefixes are not expected), its length in *ret_len. */
enum eng_insn eng_trapped_insn(struct eng_task *t, unsigned *ret_len);

#endif
