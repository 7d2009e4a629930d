/* inspector/unwind, symbols, modules, guard: this process looks at itself. What stands here for replayer/debug.h reads its own memory and maps. */
#include "inspector/inspect_priv.h"

#include <dwarf.h>
#include <errno.h>
#include <execinfo.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>
#include "base/os.h"
#include "tests/unit/test.h"

#define FRAMES 64

/* --- the session --- */

static struct aspace as;
static uint64_t moves;

size_t dbg_read(struct dbg *d UNUSED, uint64_t addr, void *buf, size_t n)
{
	struct iovec to = { buf, n }, from = { (void *)(uintptr_t)addr, n };
	ssize_t r = process_vm_readv(getpid(), &to, 1, &from, 1, 0);

	return r < 0 ? 0 : (size_t)r;
}

static int add_line(void *ctx, const struct maps_line *line)
{
	return aspace_map(ctx, &line->map);
}

const struct aspace *dbg_aspace(struct dbg *d UNUSED)
{
	aspace_clear(&as);
	ck_assert_int_eq(maps_read(getpid(), add_line, &as), 0);
	return &as;
}

uint64_t dbg_moves(const struct dbg *d UNUSED)
{
	return moves;
}

int dbg_proc_file(struct dbg *d UNUSED, const char *name, struct buf *out)
{
	int fd CLEANUP(closep) = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
	char part[4096];
	ssize_t n;

	ck_assert_str_eq(name, "maps");
	while ((n = read(fd, part, sizeof(part))) > 0)
		buf_put(out, part, (size_t)n);
	return 0;
}

int dbg_file_open(struct dbg *d UNUSED, const char *path, int *ret_fd)
{
	*ret_fd = open(path, O_RDONLY | O_CLOEXEC);
	return *ret_fd < 0 ? ERR_NOT_FOUND : 0;
}

static const struct inspector_options options;
static struct inspector in = { .opt = &options };

static void regs_of(const ucontext_t *uc, struct user_regs_struct *u)
{
	const greg_t *g = uc->uc_mcontext.gregs;

	*u = (struct user_regs_struct){ .rip = (uint64_t)g[REG_RIP], .rsp = (uint64_t)g[REG_RSP], .rbp = (uint64_t)g[REG_RBP], .rbx = (uint64_t)g[REG_RBX],
					.r12 = (uint64_t)g[REG_R12], .r13 = (uint64_t)g[REG_R13], .r14 = (uint64_t)g[REG_R14],
					.r15 = (uint64_t)g[REG_R15] };
}

struct stack {
	uint64_t pc[FRAMES];
	bool signal[FRAMES];
	int n;
	const char *note;
};

static void unwind(const struct user_regs_struct *u, struct stack *ret)
{
	struct unwind_frame f, next;
	int more = 1;

	ck_assert_int_eq(modules_update(&in), 0);
	*ret = (struct stack){ .n = 0 };
	unwind_first(u, &f);
	while (more > 0 && ret->n < FRAMES) {
		more = unwind_next(&in, &f, &next, &ret->note);
		ck_assert_int_ge(more, 0);
		ret->pc[ret->n] = f.pc;
		ret->signal[ret->n++] = f.signal;
		f = next;
	}
}

/* --- stacks --- */

static struct stack ours;
static void *theirs[FRAMES];
static int n_theirs;

static __attribute__((noinline)) int inner(int n)
{
	struct user_regs_struct u;
	ucontext_t uc;

	n_theirs = backtrace(theirs, FRAMES);
	getcontext(&uc);
	regs_of(&uc, &u);
	unwind(&u, &ours);
	return n + 1;
}

static __attribute__((noinline)) int outer(int n)
{
	volatile char room[100];

	room[n] = 1;
	return (n ? outer(n - 1) : inner(n)) + room[n];
}

/* The same as glibc's from the caller on (sanitizers put a frame of theirs before it). */
static void compare(void)
{
	int skip = 1;

	while (skip < 3 && ours.pc[1] != (uint64_t)(uintptr_t)theirs[skip])
		skip++;
	ck_assert_int_gt(n_theirs, 4);
	ck_assert_int_ge(ours.n, n_theirs - skip + 1);
	for (int i = 1; i + skip - 1 < n_theirs; i++)
		ck_assert_msg(ours.pc[i] == (uint64_t)(uintptr_t)theirs[i + skip - 1], "frame %d: %#lx and %p", i, (unsigned long)ours.pc[i],
			      theirs[i + skip - 1]);
	ck_assert_ptr_null(ours.note);
}

START_TEST(own_stack)
{
	ck_assert_int_eq(outer(3), 5);
	compare();
	modules_done(&in);
}
END_TEST

static void on_signal(int signo UNUSED, siginfo_t *si UNUSED, void *uc UNUSED)
{
	ck_assert_int_eq(outer(1), 3);
}

START_TEST(through_a_signal)
{
	struct sigaction sa = { .sa_sigaction = on_signal, .sa_flags = SA_SIGINFO };
	int at = 0;

	sigaction(SIGUSR1, &sa, NULL);
	raise(SIGUSR1);
	compare();
	while (at < ours.n && !ours.signal[at])
		at++;
	ck_assert_int_lt(at, ours.n - 4); /* the kernel's frame, and what was interrupted */
	ck_assert_int_eq(at, 4);          /* inner, outer, outer, on_signal */
	modules_done(&in);
}
END_TEST

START_TEST(nonsense)
{
	struct user_regs_struct u = { .rip = 0x10, .rsp = 0x20, .rbp = 0x30 };
	struct stack s;
	uint64_t loop[4];

	unwind(&u, &s);
	ck_assert_int_eq(s.n, 1);
	ck_assert_ptr_nonnull(s.note);
	/* a chain of frame pointers that leads to itself, from code that nothing is known of */
	loop[0] = (uint64_t)(uintptr_t)loop;
	loop[1] = 0x10;
	u = (struct user_regs_struct){ .rip = 0x10, .rsp = (uint64_t)(uintptr_t)loop, .rbp = (uint64_t)(uintptr_t)loop };
	unwind(&u, &s);
	ck_assert_int_lt(s.n, FRAMES);
	ck_assert_ptr_nonnull(s.note);
	modules_done(&in);
}
END_TEST

START_TEST(jump_to_nothing)
{
	/* a call through a bad pointer: the caller's address is on top of the stack */
	struct user_regs_struct u;
	uint64_t stack[8] = { 0 };
	struct stack s;

	ck_assert_int_eq(inner(0), 1);
	stack[0] = ours.pc[1];
	u = (struct user_regs_struct){ .rip = 0, .rsp = (uint64_t)(uintptr_t)stack };
	unwind(&u, &s);
	ck_assert_int_ge(s.n, 2);
	ck_assert_uint_eq(s.pc[1], ours.pc[1]);
	modules_done(&in);
}
END_TEST

/* --- names and lines --- */

START_TEST(names_and_lines)
{
	const uint64_t addr = (uint64_t)(uintptr_t)inner;
	char *text CLEANUP(freep) = NULL, *name CLEANUP(freep) = NULL;
	struct line_info line CLEANUP(line_info_done) = { 0 };
	const struct module *m;
	struct scope_chain c;
	struct symbol s;

	ck_assert_int_eq(modules_update(&in), 0);
	m = modules_find(&in, addr);
	ck_assert_ptr_nonnull(m);
	ck_assert(m->code);
	ck_assert(modules_executable(&in, addr));
	ck_assert_ptr_null(modules_find(&in, 0x10));
	symbols_lookup(m->file, addr - m->bias, &s);
	ck_assert_str_eq(s.name, "inner");
	ck_assert(s.function);
	ck_assert_uint_eq(s.offset, 0);
	text = symbols_text(&in, addr + 3);
	ck_assert_str_eq(text, "inner+3");
	if (symfile_dwarf(m->file)) { /* built with -g */
		ck_assert(symbols_scopes(m->file, addr - m->bias, &c));
		ck_assert_uint_ge(c.n, 1);
		ck_assert_int_eq(dwarf_tag(&c.scope[0]), DW_TAG_subprogram);
		name = symbols_die_name(&c.scope[0], NULL);
		ck_assert_str_eq(name, "inner");
		symbols_line(&c, addr - m->bias, &line);
		ck_assert_ptr_nonnull(strstr(line.file, "inspector_unwind_test.c"));
		ck_assert_int_gt(line.line, 100);
	}
	modules_done(&in);
}
END_TEST

START_TEST(no_elf_file)
{
	struct symfile *f;
	struct symbol s;

	ck_assert_int_eq(symfile_new(&in, "/x", -1, &f), 0);
	symbols_lookup(f, 5, &s);
	ck_assert_ptr_null(s.name);
	ck_assert_ptr_null(symfile_dwarf(f));
	symfile_free(f);
	ck_assert_int_eq(symfile_new(&in, "/y", open("/proc/self/maps", O_RDONLY), &f), 0);
	ck_assert_ptr_null(symfile_dwarf(f));
	symfile_free(f);
	symfile_free(NULL);
}
END_TEST

/* --- guard --- */

/* What a process that goes wrong in `how` says last. */
static void last_word(void (*how)(void), char *ret, size_t cap)
{
	int fds[2], status;
	ssize_t n;
	pid_t pid;

	ck_assert_int_eq(pipe(fds), 0);
	pid = fork();
	if (pid == 0) {
		in.request_fd = fds[1];
		in.request_id = 77;
		in.busy_with = "/lib/\"x\n\\";
		guard_begin(&in);
		how();
		_exit(9);
	}
	close(fds[1]);
	n = read(fds[0], ret, cap - 1);
	ck_assert_int_ge(n, 0);
	ret[n] = '\0';
	close(fds[0]);
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert(WIFEXITED(status) && WEXITSTATUS(status) == 1);
}

static void crash(void)
{
	raise(SIGSEGV);
}

static void take_long(void)
{
	raise(SIGPROF);
}

static int eat_stack(volatile char *p)
{
	volatile char more[4096];

	more[0] = p ? p[0] : 0;
	return in.request_id ? eat_stack(more) + more[1] : 0; /* it is 77 for ever */
}

static void recurse(void)
{
	eat_stack(NULL);
}

START_TEST(last_words)
{
	char text[2048];

	last_word(crash, text, sizeof(text));
	ck_assert_ptr_nonnull(strstr(text, "{\"id\":77,\"error\":{\"code\":"));
	ck_assert_ptr_nonnull(strstr(text, "GUEST_GONE"));
	ck_assert_ptr_nonnull(strstr(text, "/lib/?x??"));
	ck_assert_int_eq(text[strlen(text) - 1], '\n');
	last_word(take_long, text, sizeof(text));
	ck_assert_ptr_nonnull(strstr(text, "TIMEOUT"));
	last_word(recurse, text, sizeof(text));
	ck_assert_ptr_nonnull(strstr(text, "crashed"));
}
END_TEST

START_TEST(afterwards_all_is_as_before)
{
	struct sigaction sa;

	guard_begin(&in);
	guard_end();
	sigaction(SIGSEGV, NULL, &sa);
	ck_assert(sa.sa_handler == SIG_DFL);
}
END_TEST

TEST_MAIN("inspector unwind", own_stack, through_a_signal, nonsense, jump_to_nothing, names_and_lines, no_elf_file, last_words,
	  afterwards_all_is_as_before)
