/* See summary.h. */
#include "analysis/summary.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include "analysis/limits.h"
#include "base/os.h"

int summary_new(struct summary **ret)
{
	*ret = os_calloc(1, sizeof(**ret));
	return *ret ? 0 : -ENOMEM;
}

void summary_free(struct summary *s)
{
	if (!s)
		return;
	for (uint32_t i = 0; i <= SYS_TABLE_MAX; i++)
		free(s->call[i].errnos.v);
	for (uint32_t i = 0; i < s->n_execs; i++) {
		free(s->exec[i].path);
		free(s->exec[i].command);
	}
	for (uint32_t i = 0; i < s->n_notes; i++)
		free(s->note[i].text);
	free(s->exec);
	free(s->note);
	calls_done(&s->open);
	free(s);
}

bool errno_counts_add(struct errno_counts *c, uint32_t error, uint32_t max)
{
	struct errno_count *more;
	uint32_t i = 0;

	while (i < c->n && c->v[i].error < error)
		i++;
	if (i < c->n && c->v[i].error == error) {
		c->v[i].n++;
		return true;
	}
	more = c->n < max ? reallocarray(c->v, c->n + 1, sizeof(*more)) : NULL;
	if (!more)
		return false;
	c->v = more;
	memmove(&more[i + 1], &more[i], (c->n - i) * sizeof(*more));
	more[i] = (struct errno_count){ error, 1 };
	c->n++;
	return true;
}

static void failed(struct summary *s, struct call_count *c, uint32_t error)
{
	c->errors++;
	if (!errno_counts_add(&c->errnos, error, SUMMARY_ERRNOS_MAX))
		s->incomplete = true;
}

static void call(struct summary *s, const struct event *ev, const struct call_step *step)
{
	struct call_count *c = &s->call[MIN(step->sysno, (uint32_t)SYS_TABLE_MAX)];

	if (step->begins) {
		s->calls++;
		c->calls++;
		c->open++;
		c->first_event = c->first_event ? c->first_event : ev->number;
	}
	if (!step->ends || ev->kind == EVENT_EXIT) /* an exit is no end: the call has not returned */
		return;
	if (c->open)
		c->open--;
	if (!(ev->flags & EVENT_F_REFUSED))
		c->executed++;
	else if (step->result < 0)
		c->refused++;
	else
		c->answered++;
	c->blocked_ns += step->blocked_ns;
	/* what sigreturn gives back is whatever the register held: as evprint_errno() */
	if (step->returned && step->result < 0 && step->result > -4096 && step->sysno != SYS_rt_sigreturn)
		failed(s, c, (uint32_t)-step->result);
}

static char *text_of(const char *text)
{
	return strndup(text, ANALYSIS_TEXT_MAX);
}

static void program(struct summary *s, const struct event *ev)
{
	struct exec_info *more = s->n_execs < SUMMARY_EXECS_MAX ? reallocarray(s->exec, s->n_execs + 1, sizeof(*more)) : NULL;
	struct exec_info e = { .event = ev->number, .thread = ev->thread };

	s->exec = more ? more : s->exec;
	e.path = more ? text_of(ev->text) : NULL;
	e.command = more ? calls_command(ev) : NULL;
	if (!e.path || !e.command) {
		free(e.path);
		free(e.command);
		s->incomplete = true;
		return;
	}
	s->exec[s->n_execs++] = e;
}

static void note(struct summary *s, const struct event *ev)
{
	struct note_info *more;
	char *text;

	if (!*ev->text) /* only effects */
		return;
	more = s->n_notes < SUMMARY_NOTES_MAX ? reallocarray(s->note, s->n_notes + 1, sizeof(*more)) : NULL;
	s->note = more ? more : s->note;
	text = more ? text_of(ev->text) : NULL;
	if (text)
		s->note[s->n_notes++] = (struct note_info){ ev->number, text };
	else
		s->incomplete = true;
}

static void signal_event(struct summary *s, const struct event *ev)
{
	struct signal_count *c = &s->signal[ev->signo < SUMMARY_SIGNALS ? ev->signo : 0];

	c->n++;
	c->handled += (ev->flags & EVENT_F_HANDLER) != 0;
	c->fatal += (ev->flags & EVENT_F_FATAL) != 0;
	c->first_event = c->first_event ? c->first_event : ev->number;
}

void summary_see(struct summary *s, const struct event *ev)
{
	struct call_step step;

	s->events++;
	s->last_event = ev->number;
	s->last_ns = ev->time_ns;
	if (ev->kind < EVENT_MAX_)
		s->kinds[ev->kind]++;
	if (calls_see(&s->open, ev, &step))
		call(s, ev, &step);
	if (ev->kind == EVENT_EXEC)
		program(s, ev);
	else if (ev->kind == EVENT_NOTE)
		note(s, ev);
	else if (ev->kind == EVENT_SIGNAL)
		signal_event(s, ev);
	else if (ev->kind == EVENT_BIRTH && ev->pid == ev->tid)
		s->children++;
	s->incomplete |= s->open.incomplete;
}
