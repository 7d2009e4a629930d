/* See processes.h. Threads and processes are arrays in order of birth; `index` finds a thread by its number. */
#include "analysis/processes.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include "analysis/calls.h"
#include "analysis/grow_priv.h"
#include "analysis/limits.h"
#include "base/os.h"

struct processes {
	struct process_info *process;
	struct thread_info *thread;
	uint32_t *index; /* by number: index + 1, 0 = none */
	uint32_t n_processes, cap_processes, n_threads, cap_threads, n_index;
	uint64_t command_bytes;
	bool incomplete;
};

int processes_new(struct processes **ret)
{
	*ret = os_calloc(1, sizeof(**ret));
	return *ret ? 0 : -ENOMEM;
}

void processes_free(struct processes *p)
{
	for (uint32_t i = 0; p && i < p->n_processes; i++) {
		free(p->process[i].exe);
		free(p->process[i].command);
	}
	if (p) {
		free(p->process);
		free(p->thread);
		free(p->index);
	}
	free(p);
}

static struct thread_info *find(const struct processes *p, uint32_t number)
{
	return number < p->n_index && p->index[number] ? &p->thread[p->index[number] - 1] : NULL;
}

static bool keep_text(struct processes *p, char **at, const char *s)
{
	size_t n = strnlen(s, ANALYSIS_TEXT_MAX);
	char *copy;

	if (p->command_bytes + n > ANALYSIS_COMMANDS_MAX) {
		p->incomplete = true;
		n = 0;
	}
	copy = strndup(s, n);
	if (!copy)
		return false;
	p->command_bytes += n;
	if (*at)
		p->command_bytes -= strlen(*at);
	free(*at);
	*at = copy;
	return true;
}

/* Adds a process: its index, or PROCESSES_NONE. */
static uint32_t add_process(struct processes *p, const struct event *ev, uint32_t thread, int32_t pid, uint32_t parent)
{
	const struct process_info *from;
	struct process_info *q;
	void *more = p->n_processes < ANALYSIS_THREADS_MAX ? grow(p->process, &p->cap_processes, p->n_processes, sizeof(*q)) : NULL;

	if (!more)
		return PROCESSES_NONE;
	p->process = more;
	from = parent == PROCESSES_NONE ? NULL : &p->process[parent];
	q = &p->process[p->n_processes];
	*q = (struct process_info){ .thread = thread, .parent = from ? from->thread : 0, .pid = pid, .status = -1, .first_event = ev->number,
				    .last_event = ev->number, .start_ns = ev->time_ns, .end_ns = ev->time_ns, .first = PROCESSES_NONE,
				    .last = PROCESSES_NONE };
	if (!keep_text(p, &q->exe, from ? from->exe : "") || !keep_text(p, &q->command, from ? from->command : "")) {
		free(q->exe);
		free(q->command);
		return PROCESSES_NONE;
	}
	return p->n_processes++;
}

static void add_thread(struct processes *p, const struct event *ev, uint32_t number, int32_t tid, uint32_t process, const char *name)
{
	struct process_info *q;
	struct thread_info *t;
	void *threads, *index;

	threads = number <= ANALYSIS_THREADS_MAX && p->n_threads < ANALYSIS_THREADS_MAX ? grow(p->thread, &p->cap_threads, p->n_threads, sizeof(*t)) : NULL;
	p->thread = threads ? threads : p->thread;
	index = threads ? grow(p->index, &p->n_index, number, sizeof(*p->index)) : NULL;
	p->index = index ? index : p->index;
	if (process == PROCESSES_NONE || !index || p->index[number]) {
		p->incomplete = true;
		return;
	}
	t = &p->thread[p->n_threads];
	*t = (struct thread_info){ .number = number, .process = process, .next = PROCESSES_NONE, .tid = tid, .first_event = ev->number,
				   .last_event = ev->number, .start_ns = ev->time_ns, .end_ns = ev->time_ns };
	memcpy(t->name, name, sizeof(t->name));
	q = &p->process[process];
	if (q->last == PROCESSES_NONE)
		q->first = p->n_threads;
	else
		p->thread[q->last].next = p->n_threads;
	q->last = p->n_threads;
	q->alive++;
	q->ended = false;
	p->index[number] = ++p->n_threads;
}

/* --- programs --- */

static void put_name(char name[16], const char *s, size_t n)
{
	const char *slash = memrchr(s, '/', n);

	if (slash) {
		n -= (size_t)(slash + 1 - s);
		s = slash + 1;
	}
	memset(name, 0, 16);
	memcpy(name, s, MIN(n, (size_t)15));
}

static void end_thread(struct processes *p, struct thread_info *t, const struct event *ev)
{
	struct process_info *q = &p->process[t->process];

	if (t->ended)
		return;
	t->ended = true;
	t->last_event = ev->number;
	t->end_ns = ev->time_ns;
	if (q->alive)
		q->alive--;
}

static void exec(struct processes *p, const struct event *ev)
{
	struct thread_info *t = find(p, ev->thread);
	struct process_info *q;
	char *command CLEANUP(freep) = NULL;
	const char *argv0 = ev->blob;
	size_t n = argv0 ? strnlen(argv0, ev->blob_len) : 0;

	if (!t) {
		add_thread(p, ev, ev->thread, ev->tid, add_process(p, ev, ev->thread, ev->pid, PROCESSES_NONE), (char[16]){ 0 });
		t = find(p, ev->thread);
		if (!t)
			return;
	}
	q = &p->process[t->process];
	for (uint32_t i = q->first; i != PROCESSES_NONE; i = p->thread[i].next)
		if (&p->thread[i] != t)
			end_thread(p, &p->thread[i], ev);
	if (!keep_text(p, &q->exe, ev->text))
		p->incomplete = true;
	command = calls_command(ev);
	if (!command || !keep_text(p, &q->command, command))
		p->incomplete = true;
	if (n && *argv0 == '-') { /* a login shell */
		argv0++;
		n--;
	}
	put_name(t->name, n ? argv0 : ev->text, n ? n : strlen(ev->text));
}

static void birth(struct processes *p, const struct event *ev)
{
	const struct thread_info *t = find(p, ev->thread);
	uint32_t process;
	char name[16];

	if (!t) {
		p->incomplete = true;
		return;
	}
	memcpy(name, t->name, sizeof(name));
	process = ev->pid == p->process[t->process].pid ? t->process : add_process(p, ev, ev->child, ev->pid, t->process);
	add_thread(p, ev, ev->child, ev->tid, process, name);
}

static void exited(struct processes *p, struct thread_info *t, const struct event *ev)
{
	struct process_info *q = &p->process[t->process];

	end_thread(p, t, ev);
	if (!q->group)
		q->status = (int)ev->result;
	q->group |= (ev->flags & EVENT_F_GROUP) != 0;
	q->ended = !q->alive;
}

/* prctl(PR_SET_NAME, "name") */
static void renamed(struct thread_info *t, struct store_reader *r, const struct event *ev)
{
	char name[16] = { 0 };
	size_t n;

	if (ev->sysno != SYS_prctl || ev->args[0] != PR_SET_NAME || (ev->kind == EVENT_SYSCALL && ev->result < 0))
		return;
	n = calls_memory(r, ev, EFFECT_INPUT, ev->args[1], name, sizeof(name) - 1);
	if (n)
		memcpy(t->name, name, sizeof(name));
}

static void touch(struct processes *p, struct thread_info *t, const struct event *ev)
{
	struct process_info *q = &p->process[t->process];

	q->last_event = ev->number;
	q->end_ns = ev->time_ns;
	if (t->ended)
		return;
	t->last_event = ev->number;
	t->end_ns = ev->time_ns;
}

void processes_see(struct processes *p, struct store_reader *r, const struct event *ev)
{
	struct thread_info *t;

	if (ev->kind == EVENT_EXEC)
		exec(p, ev);
	else if (ev->kind == EVENT_BIRTH)
		birth(p, ev);
	t = find(p, ev->thread);
	if (!t)
		return;
	if (ev->kind != EVENT_NOTE)
		touch(p, t, ev);
	if (ev->kind == EVENT_EXIT)
		exited(p, t, ev);
	else if (ev->kind == EVENT_SYSCALL || ev->kind == EVENT_SYSCALL_ENTER)
		renamed(t, r, ev);
}

uint32_t processes_count(const struct processes *p)
{
	return p->n_processes;
}

uint32_t processes_threads(const struct processes *p)
{
	return p->n_threads;
}

const struct process_info *processes_at(const struct processes *p, uint32_t i)
{
	return &p->process[i];
}

const struct thread_info *processes_thread_at(const struct processes *p, uint32_t i)
{
	return &p->thread[i];
}

const struct thread_info *processes_thread(const struct processes *p, uint32_t number)
{
	return find(p, number);
}

int32_t processes_pid(const struct processes *p, uint32_t thread)
{
	const struct thread_info *t = find(p, thread);

	return t ? p->process[t->process].pid : 0;
}

bool processes_complete(const struct processes *p)
{
	return !p->incomplete;
}
