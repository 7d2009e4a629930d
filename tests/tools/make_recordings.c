/* Writes recordings that nobody has recorded: valid for every reader of the store, of any size, the same bytes each time (but for their random ids).
 * For tests of load and of browsers. They cannot be replayed.
 *
 *     make_recordings STORE big [EVENTS [THREADS]]   one recording, labelled "big": default 1000000 events, 8 threads in 4 processes
 *     make_recordings STORE small [COUNT]            COUNT (2000) short ones, of all kinds and ends
 *     make_recordings STORE live EVENTS DELAY_MS     one that is written in pieces of 100 events with pauses, then committed
 *
 * Prints the ids, one a line (of a live one at its start).
 *
 * A thread is a small machine: it runs a burst of events, then another one does; a call in which it sleeps is entered, and ended when its turn comes
 * again. Descriptors are kept per process, so that what is read has been opened before. */
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "base/os.h"
#include "base/str.h"
#include "engine/syscall.h"
#include "store/writer.h"

#define THREADS_MAX 64
#define FDS_MAX 48
#define PATH_ADDR 0x7ffc00001000u
#define DATA_ADDR 0x7ffc00002000u
#define STRUCT_ADDR 0x7ffc00004000u
#define START_WALL_NS 1796078093347123456u
#define FIRST_PID 4200

#define TRY(expr) \
	do { \
		int try_r_ = (int)(expr); \
		if (try_r_ < 0) { \
			fprintf(stderr, "make_recordings: %s: %s\n", #expr, err_str(try_r_)); \
			exit(1); \
		} \
	} while (0)

enum fd_use { FD_FREE, FD_FILE, FD_SOCKET, FD_EPOLL, FD_TERMINAL };

struct process {
	uint32_t first_thread, parent;
	int32_t pid;
	uint64_t first_event, last_event;
	uint32_t threads;
	enum fd_use fd[FDS_MAX];
	int status;
};

struct thread {
	struct process *process;
	int32_t tid;
	bool alive, in_call;
	uint32_t sysno;   /* in_call */
	int64_t result;   /* ... what it will give */
};

struct maker {
	struct store *store;
	struct store_writer *w;
	struct manifest m;
	struct event ev;
	struct effect effect[4];
	uint64_t rng, time, target, delay_ms;
	struct thread thread[THREADS_MAX + 1];
	struct process process[THREADS_MAX + 1];
	uint32_t n_threads, n_processes, want_threads, want_processes;
	uint32_t line;
	uint64_t calls[SYS_TABLE_MAX], refused[SYS_TABLE_MAX];
	uint8_t regs[216], data[4096];
	char path[256], text[256], argv[512];
};

static uint64_t rnd(struct maker *m, uint64_t n)
{
	m->rng ^= m->rng << 13;
	m->rng ^= m->rng >> 7;
	m->rng ^= m->rng << 17;
	return (m->rng >> 11) % n;
}

/* --- one event --- */

static struct event *begin(struct maker *m, uint32_t thread, enum event_kind kind)
{
	m->ev = (struct event){ .kind = kind, .thread = thread, .rip = 0x401000 + rnd(m, 4096) * 4, .text = "", .effects = m->effect };
	return &m->ev;
}

static void add_effect(struct maker *m, enum effect_kind kind, uint64_t addr, const void *p, size_t n)
{
	must(m->ev.n_effects < ARRAY_SIZE(m->effect));
	m->effect[m->ev.n_effects++] = (struct effect){ .kind = kind, .addr = addr, .len = n, .data = p, .name = "" };
}

static void write_event(struct maker *m)
{
	struct process *p = m->ev.thread ? m->thread[m->ev.thread].process : NULL;

	m->time += 400 + rnd(m, 12000) + (rnd(m, 5000) == 0 ? 40000000 : 0);
	m->ev.time_ns = m->time;
	m->ev.regs_hash = m->ev.thread ? m->rng : 0;
	if ((m->ev.kind == EVENT_SYSCALL || m->ev.kind == EVENT_SYSCALL_ENTER || m->ev.kind == EVENT_BIRTH) && m->ev.sysno < SYS_TABLE_MAX) {
		m->calls[m->ev.sysno]++;
		m->refused[m->ev.sysno] += (m->ev.flags & EVENT_F_REFUSED) != 0;
	}
	TRY(store_writer_event(m->w, &m->ev));
	if (p && !p->first_event)
		p->first_event = m->ev.number;
	if (p)
		p->last_event = m->ev.number;
	if (m->delay_ms && m->ev.number % 100 == 0) {
		TRY(store_writer_flush(m->w));
		(void)usleep((useconds_t)m->delay_ms * 1000);
	}
}

static void call(struct maker *m, uint32_t thread, uint32_t nr, int64_t result, uint64_t a0, uint64_t a1, uint64_t a2, uint64_t a3)
{
	struct event *ev = begin(m, thread, EVENT_SYSCALL);

	ev->sysno = nr;
	ev->result = result;
	ev->args[0] = a0;
	ev->args[1] = a1;
	ev->args[2] = a2;
	ev->args[3] = a3;
}

/* A call that sleeps: entered now, ended at the thread's next turn. */
static void call_sleep(struct maker *m, uint32_t thread, uint32_t nr, int64_t result, uint64_t a0, uint64_t a1, uint64_t a2, uint64_t a3)
{
	call(m, thread, nr, 0, a0, a1, a2, a3);
	m->ev.kind = EVENT_SYSCALL_ENTER;
	m->thread[thread].in_call = true;
	m->thread[thread].sysno = nr;
	m->thread[thread].result = result;
}

static void end_call(struct maker *m, uint32_t thread)
{
	struct thread *t = &m->thread[thread];
	struct event *ev = begin(m, thread, EVENT_SYSCALL_EXIT);

	ev->sysno = t->sysno;
	ev->result = t->result;
	if (t->sysno == SYS_recvfrom && t->result > 0)
		add_effect(m, EFFECT_MEM, DATA_ADDR, m->data, (size_t)t->result);
	t->in_call = false;
	write_event(m);
}

/* --- what threads do --- */

static int free_fd(struct process *p, enum fd_use use)
{
	for (int i = 3; i < FDS_MAX; i++)
		if (p->fd[i] == FD_FREE) {
			p->fd[i] = use;
			return i;
		}
	return -EMFILE;
}

static int some_fd(struct maker *m, struct process *p, enum fd_use use)
{
	int from = (int)rnd(m, FDS_MAX);

	for (int i = 0; i < FDS_MAX; i++)
		if (p->fd[(from + i) % FDS_MAX] == use)
			return (from + i) % FDS_MAX;
	return -1;
}

static void path_effect(struct maker *m, const char *fmt, ...) PRINTF_LIKE(2, 3);
static void path_effect(struct maker *m, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(m->path, sizeof(m->path), fmt, ap);
	va_end(ap);
	add_effect(m, EFFECT_INPUT, PATH_ADDR, m->path, strlen(m->path) + 1);
}

static void do_open(struct maker *m, uint32_t t)
{
	static const char *const dirs[] = { "/etc", "/usr/lib/x86_64-linux-gnu", "/home/u/src", "/tmp/work dir", "/proc/self" };
	int fd = free_fd(m->thread[t].process, FD_FILE);

	call(m, t, SYS_openat, fd, (uint64_t)-100, PATH_ADDR, 0x80000, 0);
	path_effect(m, "%s/file%" PRIu64 ".txt", dirs[rnd(m, ARRAY_SIZE(dirs))], rnd(m, 300));
}

static void do_open_missing(struct maker *m, uint32_t t)
{
	static const int errors[] = { ENOENT, ENOENT, ENOENT, EACCES, ENOTDIR };

	call(m, t, SYS_openat, -errors[rnd(m, ARRAY_SIZE(errors))], (uint64_t)-100, PATH_ADDR, 0x80000, 0);
	path_effect(m, "/usr/local/share/missing/%" PRIu64 "/lib.so", rnd(m, 1000));
}

static void do_stat(struct maker *m, uint32_t t)
{
	bool found = rnd(m, 4) != 0;

	call(m, t, SYS_newfstatat, found ? 0 : -ENOENT, (uint64_t)-100, PATH_ADDR, STRUCT_ADDR, 0);
	path_effect(m, "/home/u/src/dir%" PRIu64 "/a.c", rnd(m, 90));
	if (found)
		add_effect(m, EFFECT_MEM, STRUCT_ADDR, m->data, 144);
}

static void do_read(struct maker *m, uint32_t t)
{
	int fd = some_fd(m, m->thread[t].process, FD_FILE);
	size_t n = rnd(m, 20) == 0 ? sizeof(m->data) : rnd(m, 120);

	call(m, t, SYS_read, fd < 0 ? -EBADF : (int64_t)n, (uint64_t)(fd < 0 ? 99 : fd), DATA_ADDR, sizeof(m->data), 0);
	if (fd >= 0 && n)
		add_effect(m, EFFECT_MEM, DATA_ADDR, m->data + (n < 4000 ? rnd(m, 64) : 0), n);
}

static void do_write(struct maker *m, uint32_t t)
{
	int fd = some_fd(m, m->thread[t].process, FD_FILE);
	size_t n = 1 + rnd(m, 60);

	call(m, t, SYS_write, fd < 0 ? -EBADF : (int64_t)n, (uint64_t)(fd < 0 ? 77 : fd), DATA_ADDR, n, 0);
	add_effect(m, EFFECT_INPUT, DATA_ADDR, m->data + rnd(m, 64), n);
}

static void do_close(struct maker *m, uint32_t t)
{
	struct process *p = m->thread[t].process;
	int fd = some_fd(m, p, rnd(m, 5) ? FD_FILE : FD_SOCKET);

	call(m, t, SYS_close, fd < 0 ? -EBADF : 0, (uint64_t)(fd < 0 ? 98 : fd), 0, 0, 0);
	if (fd >= 3)
		p->fd[fd] = FD_FREE;
}

static void do_lseek(struct maker *m, uint32_t t)
{
	int fd = some_fd(m, m->thread[t].process, FD_FILE);

	call(m, t, SYS_lseek, fd < 0 ? -ESPIPE : (int64_t)rnd(m, 100000), (uint64_t)(fd < 0 ? 0 : fd), rnd(m, 100000), 0, 0);
}

static void do_mmap(struct maker *m, uint32_t t)
{
	uint64_t at = 0x7f0000000000u + rnd(m, 1 << 20) * 4096;

	call(m, t, SYS_mmap, (int64_t)at, 0, 65536, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS);
	m->ev.args[4] = (uint64_t)-1;
	m->ev.flags = EVENT_F_REEXEC;
	add_effect(m, EFFECT_MAP, at, NULL, 65536);
	m->effect[0].prot = PROT_READ | PROT_WRITE;
}

static void do_munmap(struct maker *m, uint32_t t)
{
	uint64_t at = 0x7f0000000000u + rnd(m, 1 << 20) * 4096;

	call(m, t, SYS_munmap, 0, at, 65536, 0, 0);
	m->ev.flags = EVENT_F_REEXEC;
	add_effect(m, EFFECT_UNMAP, at, NULL, 65536);
}

static void do_getpid(struct maker *m, uint32_t t)
{
	call(m, t, rnd(m, 2) ? SYS_getpid : SYS_gettid, m->thread[t].tid, 0, 0, 0, 0);
}

static void do_clock(struct maker *m, uint32_t t)
{
	uint64_t ts[2] = { 1796078093 + m->time / 1000000000, m->time % 1000000000 };

	memcpy(m->text, ts, sizeof(ts));
	call(m, t, SYS_clock_gettime, 0, rnd(m, 2), STRUCT_ADDR, 0, 0);
	add_effect(m, EFFECT_MEM, STRUCT_ADDR, m->text, sizeof(ts));
}

static void do_futex_wait(struct maker *m, uint32_t t)
{
	call_sleep(m, t, SYS_futex, rnd(m, 6) ? 0 : -ETIMEDOUT, 0x603000, 128, rnd(m, 100), 0);
}

static void do_futex_wake(struct maker *m, uint32_t t)
{
	call(m, t, SYS_futex, (int64_t)rnd(m, 2), 0x603000, 129, 1, 0);
}

static void do_nanosleep(struct maker *m, uint32_t t)
{
	uint64_t ts[2] = { 0, 1000000 + rnd(m, 50000000) };

	memcpy(m->text, ts, sizeof(ts));
	call_sleep(m, t, SYS_nanosleep, rnd(m, 9) ? 0 : -EINTR, STRUCT_ADDR, 0, 0, 0);
	add_effect(m, EFFECT_INPUT, STRUCT_ADDR, m->text, sizeof(ts));
}

static void do_socket(struct maker *m, uint32_t t)
{
	call(m, t, SYS_socket, free_fd(m->thread[t].process, FD_SOCKET), 2, 1, 0, 0);
}

static void do_connect(struct maker *m, uint32_t t)
{
	int fd = some_fd(m, m->thread[t].process, FD_SOCKET);
	static const uint8_t local[16] = { 2, 0, 0x1f, 0x90, 127, 0, 0, 1 };

	call(m, t, SYS_connect, rnd(m, 4) ? 0 : -ECONNREFUSED, (uint64_t)(fd < 0 ? 97 : fd), STRUCT_ADDR, 16, 0);
	add_effect(m, EFFECT_INPUT, STRUCT_ADDR, local, sizeof(local));
}

static void do_send(struct maker *m, uint32_t t)
{
	int fd = some_fd(m, m->thread[t].process, FD_SOCKET);
	int n = snprintf(m->text, sizeof(m->text), "GET /item/%" PRIu64 " HTTP/1.1\r\n", rnd(m, 5000));

	call(m, t, SYS_sendto, fd < 0 ? -EBADF : n, (uint64_t)(fd < 0 ? 97 : fd), DATA_ADDR, (uint64_t)n, 0x4000);
	add_effect(m, EFFECT_INPUT, DATA_ADDR, m->text, (size_t)n);
}

static void do_recv(struct maker *m, uint32_t t)
{
	int fd = some_fd(m, m->thread[t].process, FD_SOCKET);

	call_sleep(m, t, SYS_recvfrom, fd < 0 ? -EBADF : (int64_t)rnd(m, 900), (uint64_t)(fd < 0 ? 97 : fd), DATA_ADDR, 4096, 0);
}

static void do_console(struct maker *m, uint32_t t)
{
	bool err = rnd(m, 6) == 0;
	int n = snprintf(m->text, sizeof(m->text), err ? "warning: item %u is late\n" : "processed item %u\n", ++m->line);

	call(m, t, SYS_write, n, err ? 2 : 1, DATA_ADDR, (uint64_t)n, 0);
	m->ev.flags = err ? EVENT_F_STDERR : EVENT_F_STDOUT;
	add_effect(m, EFFECT_INPUT, DATA_ADDR, m->text, (size_t)n);
}

static void do_signal(struct maker *m, uint32_t t)
{
	static const int signals[] = { SIGCHLD, SIGALRM, SIGUSR1, SIGPIPE, SIGUSR1 };
	struct event *ev = begin(m, t, EVENT_SIGNAL);
	int32_t head[6] = { signals[rnd(m, ARRAY_SIZE(signals))], 0, 0, 0, FIRST_PID, 1000 };

	ev->signo = (uint32_t)head[0];
	ev->flags = EVENT_F_HANDLER | EVENT_F_ASYNC | EVENT_F_AFTER;
	memcpy(ev->siginfo, head, sizeof(head));
	add_effect(m, EFFECT_MEM, STRUCT_ADDR, m->data, 200);
	add_effect(m, EFFECT_REGS, 0, m->regs, sizeof(m->regs));
}

static void do_refused(struct maker *m, uint32_t t)
{
	call(m, t, SYS_io_uring_setup, -ENOSYS, 8, STRUCT_ADDR, 0, 0);
	m->ev.flags = EVENT_F_REFUSED;
}

static void do_tsc(struct maker *m, uint32_t t)
{
	begin(m, t, EVENT_TSC)->args[0] = m->time * 3;
}

static void do_point(struct maker *m, uint32_t t)
{
	struct event *ev = begin(m, t, EVENT_ASYNC_POINT);

	ev->args[EVENT_POINT_PROVED] = 1;
	ev->args[EVENT_POINT_CPU] = 50000;
	add_effect(m, EFFECT_REGS, 0, m->regs, sizeof(m->regs));
}

static const struct {
	void (*make)(struct maker *m, uint32_t t);
	unsigned weight;
} actions[] = {
	{ do_open, 60 },	{ do_open_missing, 30 }, { do_stat, 60 },   { do_read, 200 },	   { do_write, 60 },	  { do_close, 70 },
	{ do_lseek, 40 },	{ do_mmap, 15 },	 { do_munmap, 15 }, { do_getpid, 40 },	   { do_clock, 60 },	  { do_futex_wait, 50 },
	{ do_futex_wake, 40 },	{ do_nanosleep, 12 },	 { do_socket, 12 }, { do_connect, 12 },	   { do_send, 50 },	  { do_recv, 50 },
	{ do_console, 25 },	{ do_signal, 6 },	 { do_refused, 1 }, { do_tsc, 5 },	   { do_point, 8 },
};

static void act(struct maker *m, uint32_t t)
{
	unsigned sum = 0;
	uint64_t at;

	if (m->thread[t].in_call) {
		end_call(m, t);
		return;
	}
	for (size_t i = 0; i < ARRAY_SIZE(actions); i++)
		sum += actions[i].weight;
	at = rnd(m, sum);
	for (size_t i = 0; i < ARRAY_SIZE(actions); i++) {
		if (at < actions[i].weight) {
			actions[i].make(m, t);
			write_event(m);
			return;
		}
		at -= actions[i].weight;
	}
}

/* --- birth and end --- */

static void exec_event(struct maker *m, uint32_t t, const char *path, const char *words, bool first)
{
	struct event *ev = begin(m, t, EVENT_EXEC);

	ev->sysno = SYS_execve;
	ev->text = path;
	snprintf(m->argv, sizeof(m->argv), "%s", words);
	ev->blob_len = strlen(m->argv) + 1;
	for (char *s = m->argv; *s; s++)
		*s = *s == ' ' ? '\0' : *s;
	ev->blob = m->argv;
	if (first)
		ev->pid = ev->tid = m->thread[t].tid;
	add_effect(m, EFFECT_MAP, 0x400000, NULL, 0x10000);
	m->effect[0].prot = PROT_READ | PROT_EXEC;
	m->effect[0].flags = MAP_F_EXE;
	m->effect[0].name = path;
	add_effect(m, EFFECT_MAP, 0x7ffc00000000u, NULL, 0x21000);
	m->effect[1].prot = PROT_READ | PROT_WRITE;
	m->effect[1].flags = MAP_F_STACK | MAP_F_GROWSDOWN;
	m->effect[1].name = "[stack]";
	add_effect(m, EFFECT_REGS, 0, m->regs, sizeof(m->regs));
	write_event(m);
}

static uint32_t add_thread(struct maker *m, struct process *p)
{
	uint32_t n = ++m->n_threads;

	must(n <= THREADS_MAX);
	m->thread[n] = (struct thread){ .process = p, .tid = FIRST_PID + (int32_t)n - 1, .alive = true };
	p->threads++;
	return n;
}

static struct process *add_process(struct maker *m, uint32_t parent)
{
	struct process *p = &m->process[m->n_processes++];

	*p = (struct process){ .first_thread = m->n_threads + 1, .parent = parent, .pid = FIRST_PID + (int32_t)m->n_threads, .status = -1 };
	for (int i = 0; i < 3; i++)
		p->fd[i] = FD_TERMINAL;
	return p;
}

/* A new process, or a new thread of the parent's. */
static void birth(struct maker *m, uint32_t parent, bool process)
{
	struct process *p = process ? add_process(m, m->thread[parent].process->first_thread) : m->thread[parent].process;
	uint32_t t = add_thread(m, p);
	struct event *ev = begin(m, parent, EVENT_BIRTH);

	if (process)
		memcpy(p->fd, m->thread[parent].process->fd, sizeof(p->fd));
	ev->sysno = process ? SYS_fork : SYS_clone;
	ev->args[0] = process ? 0 : 0x3d0f00;
	ev->args[1] = process ? 0 : 0x7f0011110000;
	ev->child = t;
	ev->pid = p->pid;
	ev->tid = m->thread[t].tid;
	write_event(m);
	ev = begin(m, parent, EVENT_SYSCALL_EXIT);
	ev->sysno = process ? SYS_fork : SYS_clone;
	ev->result = m->thread[t].tid;
	write_event(m);
	if (process && t % 2 == 0)
		exec_event(m, t, "/usr/bin/worker", "worker --index 2 <b>x</b>", false);
}

static void end_thread(struct maker *m, uint32_t t, int status, bool group)
{
	struct event *ev;

	if (group && !(status & 0x7f)) {
		call(m, t, SYS_exit_group, 0, (uint64_t)(status >> 8), 0, 0, 0);
		m->ev.kind = EVENT_SYSCALL_ENTER;
		write_event(m);
	} else if (group) {
		int32_t head[4] = { status & 0x7f, 0, 1, 0 };

		ev = begin(m, t, EVENT_SIGNAL);
		ev->signo = (uint32_t)status & 0x7f;
		ev->flags = EVENT_F_FATAL;
		memcpy(ev->siginfo, head, sizeof(head));
		ev->siginfo[16] = 0x10;
		write_event(m);
	}
	ev = begin(m, t, EVENT_EXIT);
	ev->result = status;
	ev->flags = group ? EVENT_F_GROUP : 0;
	write_event(m);
	m->thread[t].alive = m->thread[t].in_call = false;
}

static void end_process(struct maker *m, struct process *p, int status)
{
	for (uint32_t t = m->n_threads; t > p->first_thread; t--)
		if (m->thread[t].process == p && m->thread[t].alive)
			end_thread(m, t, status, false);
	end_thread(m, p->first_thread, status, true);
	p->status = status;
}

static void note(struct maker *m, const char *text)
{
	begin(m, 0, EVENT_NOTE)->text = text;
	m->ev.rip = 0;
	write_event(m);
}

/* --- a whole recording --- */

static uint32_t some_thread(struct maker *m)
{
	for (;;) {
		uint32_t t = 1 + (uint32_t)rnd(m, m->n_threads);

		if (m->thread[t].alive)
			return t;
	}
}

/* Births are spread over the first tenth. */
static void births_due(struct maker *m)
{
	uint64_t done = store_writer_count(m->w);
	bool process = m->n_processes < m->want_processes;
	uint32_t parent = process ? 1 : m->process[m->n_threads % m->n_processes].first_thread;

	if (m->n_threads < m->want_threads && done >= (m->target / 10) * m->n_threads / m->want_threads && !m->thread[parent].in_call)
		birth(m, parent, process);
}

static void run(struct maker *m, const char *path, const char *words, int status)
{
	uint64_t ending = 4 * m->want_threads + 2;

	add_thread(m, add_process(m, 0));
	exec_event(m, 1, path, words, true);
	note(m, "rdpid is not trapped on this machine");
	while (store_writer_count(m->w) + ending < m->target) {
		uint32_t t = some_thread(m);
		uint64_t burst = 1 + rnd(m, rnd(m, 4) ? 8 : 60);

		births_due(m);
		do
			act(m, t);
		while (--burst && !m->thread[t].in_call && store_writer_count(m->w) + ending < m->target);
	}
	for (uint32_t i = m->n_processes; i-- > 1;)
		end_process(m, &m->process[i], i == 1 ? SIGSEGV | 0x80 : 0);
	end_process(m, &m->process[0], status);
	begin(m, 0, EVENT_END)->rip = 0;
	write_event(m);
}

static char *dup_or_die(const char *s)
{
	char *copy = strdup(s);

	must(copy);
	return copy;
}

static char **split(const char *words)
{
	char **v = calloc(strlen(words) / 2 + 2, sizeof(*v)), *copy = dup_or_die(words), *save = NULL;
	size_t n = 0;

	must(v);
	for (char *s = strtok_r(copy, " ", &save); s; s = strtok_r(NULL, " ", &save))
		v[n++] = dup_or_die(s);
	free(copy);
	return v;
}

static void fill_manifest(struct maker *m, const char *words, uint64_t start)
{
	manifest_init(&m->m);
	m->m.argv = split(words);
	m->m.envp = split("PATH=/usr/bin:/bin HOME=/home/u LANG=C.UTF-8");
	m->m.cwd = dup_or_die("/home/u/src");
	m->m.hermit_version = dup_or_die(HERMIT_VERSION);
	m->m.hostname = dup_or_die("synthetic");
	m->m.kernel = dup_or_die("6.18.0");
	m->m.cpu_model = dup_or_die("Synthetic CPU");
	m->m.user = dup_or_die("u");
	m->m.start_wall_ns = start;
	m->m.status = -1;
	m->m.state = RECORDING_OPEN;
}

static void fill_processes(struct maker *m, const char *path, const char *words)
{
	m->m.process = calloc(m->n_processes, sizeof(*m->m.process));
	must(m->m.process);
	m->m.processes = m->n_processes;
	m->m.threads = m->n_threads;
	for (uint32_t i = 0; i < m->n_processes; i++) {
		const struct process *p = &m->process[i];
		bool worker = i > 0 && p->first_thread % 2 == 0;

		m->m.process[i] = (struct manifest_process){
			.thread = p->first_thread, .parent = p->parent, .pid = p->pid, .status = p->status, .threads = p->threads,
			.first_event = p->first_event, .last_event = p->last_event,
			.command = dup_or_die(worker ? "worker --index 2 '<b>x</b>'" : words), .exe = dup_or_die(worker ? "/usr/bin/worker" : path),
		};
	}
}

static void fill_syscalls(struct maker *m)
{
	json_t *all = json_object();

	for (uint32_t nr = 0; nr < SYS_TABLE_MAX; nr++) {
		char name[24];

		if (m->calls[nr])
			json_object_set_new(all, sys_name(nr, name), json_pack("{s:I,s:I}", "count", (json_int_t)m->calls[nr], "refused",
									      (json_int_t)m->refused[nr]));
	}
	json_decref(m->m.syscalls);
	m->m.syscalls = all;
}

struct plan {
	const char *path, *words, *label, *reason;
	uint64_t events, delay_ms, seed, start_ns;
	uint32_t threads, processes;
	int status;
};

static void make(struct store *s, const struct plan *plan)
{
	struct maker *m = calloc(1, sizeof(*m));

	must(m);
	m->store = s;
	m->rng = plan->seed * 0x9e3779b97f4a7c15u | 1;
	m->target = plan->events;
	m->delay_ms = plan->delay_ms;
	m->want_threads = plan->threads;
	m->want_processes = plan->processes;
	for (size_t i = 0; i < sizeof(m->data); i++)
		m->data[i] = (uint8_t)"The quick brown fox, <script>alert(1)</script> & \"more\".\n"[i % 58];
	fill_manifest(m, plan->words, plan->start_ns);
	if (plan->label)
		m->m.label = dup_or_die(plan->label);
	TRY(store_writer_new(s, &m->m, &m->w, NULL));
	printf("%s\n", store_writer_id(m->w)->hex);
	fflush(stdout);
	run(m, plan->path, plan->words, plan->status);
	fill_processes(m, plan->path, plan->words);
	fill_syscalls(m);
	m->m.status = plan->status;
	m->m.duration_ns = m->time;
	m->m.state = plan->reason ? RECORDING_TRUNCATED : RECORDING_COMPLETE;
	if (plan->reason)
		m->m.reason = dup_or_die(plan->reason);
	TRY(store_writer_commit(m->w, &m->m, NULL));
	store_writer_free(m->w);
	manifest_done(&m->m);
	free(m);
}

static void make_small(struct store *s, uint64_t count)
{
	static const struct {
		const char *path, *words, *label;
	} programs[] = {
		{ "/usr/bin/make", "make -j2 all", NULL },	     { "/usr/bin/python3", "python3 -c print(1)", "script" },
		{ "/home/u/src/server", "./server --port 8080", "server" }, { "/usr/bin/gcc", "gcc -O2 -c a.c", NULL },
		{ "/bin/sh", "sh -c <img/src=x/onerror=alert(1)>", "<b>markup</b>" },
		{ "/usr/bin/git", "git status --short", NULL },
	};

	for (uint64_t i = 0; i < count; i++) {
		size_t k = i % ARRAY_SIZE(programs);
		struct plan p = { .path = programs[k].path, .words = programs[k].words, .label = programs[k].label, .events = 40 + i % 90,
				  .seed = i + 7, .start_ns = START_WALL_NS - i * 61 * 1000000000u, .threads = 1 + (uint32_t)i % 4,
				  .processes = 1 + (uint32_t)i % 2, .status = i % 5 == 0 ? 1 << 8 : i % 11 == 0 ? SIGABRT : 0 };

		if (i % 13 == 0)
			p.reason = "its recorder was stopped";
		if (p.processes > p.threads)
			p.processes = p.threads;
		make(s, &p);
	}
}

static uint64_t number(char **argv, int argc, int i, uint64_t preset)
{
	uint64_t v = preset;

	if (i < argc)
		TRY(str_parse_u64(argv[i], &v));
	return v;
}

int main(int argc, char **argv)
{
	struct plan p = { .path = "/home/u/src/server", .words = "./server --port 8080 --workers 4", .label = "big", .seed = 1,
			  .start_ns = START_WALL_NS + 3600000000000u, .threads = 8, .processes = 4 };
	struct store *s CLEANUP(store_freep) = NULL;

	if (argc < 3) {
		fprintf(stderr, "usage: make_recordings STORE big [EVENTS [THREADS]] | small [COUNT] | live EVENTS DELAY_MS\n");
		return 2;
	}
	TRY(store_open(argv[1], true, &s, NULL));
	if (strcmp(argv[2], "small") == 0) {
		make_small(s, number(argv, argc, 3, 2000));
		return 0;
	}
	p.events = number(argv, argc, 3, 1000000);
	if (strcmp(argv[2], "live") == 0) {
		p.label = "live";
		p.delay_ms = number(argv, argc, 4, 50);
	} else {
		p.threads = (uint32_t)MIN(MAX(number(argv, argc, 4, 8), (uint64_t)1), (uint64_t)THREADS_MAX);
		p.processes = MIN(p.processes, p.threads);
	}
	make(s, &p);
	return 0;
}
