/* See debug_choose.h. */
#include "cli/debug_choose.h"

#include <errno.h>
#include <inttypes.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include "base/os.h"
#include "base/str.h"
#include "cli/term.h"
#include "cli/text.h"

/* Threads of one process that are followed while its crash is looked for. */
#define THREADS_MAX (1u << 20)

/* --- processes --- */

static const char *last_part(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

/* The first word of a shell-quoted command line is one name when it needs no quotes. */
static bool is_command(const char *command, const char *want)
{
	size_t n = strcspn(command, " ");
	const char *begin = command;

	for (const char *p = command; p < command + n; p++)
		if (*p == '/')
			begin = p + 1;
	return (strlen(want) == n && !strncmp(command, want, n)) ||
	       (strlen(want) == (size_t)(command + n - begin) && !strncmp(begin, want, strlen(want)));
}

static bool fits(const struct manifest_process *p, const char *want)
{
	uint64_t pid;

	if (str_parse_u64(want, &pid) == 0)
		return p->pid > 0 && (uint64_t)p->pid == pid;
	if (!*want)
		return false;
	return (p->exe && (!strcmp(p->exe, want) || !strcmp(last_part(p->exe), want))) || (p->command && is_command(p->command, want));
}

/* Without a list of processes only a number can be taken at its word. */
static int choose_unknown(const char *want, pid_t *ret_pid)
{
	uint64_t pid = 0;

	if (want && (str_parse_u64(want, &pid) < 0 || pid > INT32_MAX))
		return -ENODATA;
	*ret_pid = (pid_t)pid;
	return 0;
}

int debug_choose_process(const struct manifest *m, const char *want, const struct manifest_process **ret, pid_t *ret_pid)
{
	const struct manifest_process *found = NULL;

	*ret = NULL;
	if (!m->processes)
		return choose_unknown(want, ret_pid);
	if (!want) {
		found = manifest_crashed(m);
		found = found ? found : &m->process[0];
	}
	for (uint64_t i = 0; want && i < m->processes; i++) {
		if (!fits(&m->process[i], want) || (found && found->pid == m->process[i].pid))
			continue; /* a pid that was used again stands for its first process */
		if (found)
			return ERR_AMBIGUOUS;
		found = &m->process[i];
	}
	if (!found)
		return ERR_NOT_FOUND;
	*ret = found;
	*ret_pid = found->pid;
	return 0;
}

static void put_process(struct buf *out, const struct manifest_process *p)
{
	struct buf status CLEANUP(buf_done) = { 0 };

	if (p->status == -1)
		buf_printf(&status, "running");
	else
		text_status(&status, p->status);
	buf_printf(out, "%9d  %8" PRIu64 "-%-8" PRIu64 "  %-8s  ", p->pid, p->first_event, p->last_event, buf_cstr(&status));
	text_safe(out, p->command ? p->command : p->exe ? p->exe : "?");
	buf_printf(out, "\n");
}

void debug_put_processes(struct buf *out, const struct manifest *m, const char *want, unsigned max)
{
	uint64_t more = 0;
	unsigned shown = 0;

	buf_printf(out, "%9s  %17s  %-8s  %s\n", "pid", "events     ", "result", "program");
	for (uint64_t i = 0; i < m->processes; i++) {
		if (want && !fits(&m->process[i], want))
			continue;
		if (shown++ < max)
			put_process(out, &m->process[i]);
		else
			more++;
	}
	if (more)
		buf_printf(out, "          ... and %" PRIu64 " more\n", more);
}

/* --- the crash --- */

/* Threads of the process, ascending: they are numbered in order of birth. */
struct members {
	uint32_t *v; /* owned */
	size_t n, cap;
};

static bool is_member(const struct members *m, uint32_t thread)
{
	size_t lo = 0, hi = m->n;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (m->v[mid] < thread)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo < m->n && m->v[lo] == thread;
}

static int add_member(struct members *m, uint32_t thread)
{
	if (m->n && m->v[m->n - 1] >= thread)
		return 0; /* of a damaged recording */
	if (m->n == m->cap) {
		size_t cap = m->cap * 2 + 16;
		uint32_t *v = m->n < THREADS_MAX ? reallocarray(m->v, cap, sizeof(*v)) : NULL;

		if (!v)
			return m->n < THREADS_MAX ? -ENOMEM : ERR_LIMIT;
		m->v = v;
		m->cap = cap;
	}
	m->v[m->n++] = thread;
	return 0;
}

static bool makes_thread(const struct event *ev)
{
	if (ev->kind != EVENT_BIRTH)
		return false;
	return (ev->sysno == SYS_clone && ev->args[0] & CLONE_THREAD) || (ev->sysno == SYS_clone3 && ev->args[2] & CLONE_THREAD);
}

static int walk(struct store_reader *r, const struct manifest_process *p, struct members *m, uint64_t *ret_event, struct errinfo *ei)
{
	uint64_t last = p ? p->last_event : UINT64_MAX;
	const struct event *ev;
	int rc;

	while ((rc = store_reader_next(r, &ev, ei)) > 0 && ev->number <= last) {
		bool ours = !p || is_member(m, ev->thread);

		if (ours && p && makes_thread(ev))
			rc = add_member(m, ev->child);
		if (rc >= 0 && ev->number % 4096 == 0)
			rc = term_progress_count("events", ev->number, store_reader_manifest(r)->events);
		if (rc < 0)
			return rc;
		if (ours && ev->kind == EVENT_SIGNAL && ev->flags & EVENT_F_FATAL)
			*ret_event = ev->number;
	}
	return rc < 0 ? rc : 0;
}

int debug_find_crash(struct store_reader *r, const struct manifest_process *p, uint64_t *ret_event, struct errinfo *ei)
{
	struct members m = { 0 };
	uint64_t found = 0;
	int rc = store_reader_seek(r, p && p->first_event ? p->first_event : 1, ei);

	if (rc >= 0 && p)
		rc = add_member(&m, p->thread);
	term_progress_watch("looking for the crash");
	if (rc >= 0)
		rc = walk(r, p, &m, &found, ei);
	term_progress_end();
	free(m.v);
	if (rc < 0)
		return rc;
	if (!found && p && p->status != -1 && WIFSIGNALED(p->status))
		found = p->last_event; /* SIGKILL is never delivered: its end */
	if (!found)
		return ERR_NOT_FOUND;
	*ret_event = found;
	return 0;
}

/* --- commands --- */

static int add_command(const char *p, size_t n, char ***v, size_t *count)
{
	char **more;

	while (n && strchr(" \t\n", *p)) {
		p++;
		n--;
	}
	while (n && strchr(" \t\n", p[n - 1]))
		n--;
	if (!n)
		return 0;
	more = reallocarray(*v, *count + 2, sizeof(*more));
	if (!more)
		return -ENOMEM;
	*v = more;
	more[*count] = os_asprintf("%.*s", (int)n, p);
	if (!more[*count])
		return -ENOMEM;
	more[++*count] = NULL;
	return 0;
}

int debug_split_commands(const char *text, char ***v, size_t *n)
{
	const char *begin = text;
	char quote = 0;

	for (const char *p = text;; p++) {
		if (*p == '\\' && p[1]) {
			p++;
		} else if (quote) {
			quote = *p == quote ? 0 : quote;
		} else if (*p == '"' || *p == '\'') {
			quote = *p; /* one that is never closed goes to the end */
		} else if (*p == ';') {
			int r = add_command(begin, (size_t)(p - begin), v, n);

			if (r < 0)
				return r;
			begin = p + 1;
		}
		if (!*p)
			return add_command(begin, strlen(begin), v, n);
	}
}
