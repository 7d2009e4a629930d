/* hermit events: what a recording says, event by event; as text like strace, or as one JSON object a line. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include "analysis/evprint.h"
#include "base/json.h"
#include "base/str.h"
#include "cli/cmd.h"
#include "cli/fail.h"
#include "cli/js.h"
#include "cli/stores.h"
#include "cli/term.h"
#include "cli/text.h"
#include "engine/syscall.h"

/* So many events before --from are looked at, to know the arguments of calls that end after it. */
#define LOOK_BACK 2000

struct values {
	const char *data_dir;
	uint64_t from, to, thread, string_max;
	struct opt_list syscalls;
	bool json, verbose;
};

struct listing {
	const struct values *v;
	struct evprint printer;
	bool wanted[SYS_TABLE_MAX]; /* by --syscall; all when none was given */
	bool wanted_exec;           /* ... one of them starts programs: exec events as well */
	bool at_end;                /* all events were read */
	uint64_t hidden;            /* events left out for being of little interest */
};

static bool has_sysno(enum event_kind k)
{
	return k == EVENT_SYSCALL || k == EVENT_SYSCALL_ENTER || k == EVENT_SYSCALL_EXIT || k == EVENT_BIRTH || k == EVENT_RESTART;
}

static bool is_wanted(const struct listing *l, const struct event *ev)
{
	const struct values *v = l->v;

	if (ev->number < v->from || (v->thread && ev->thread != v->thread))
		return false;
	if (!v->syscalls.n)
		return true;
	if (ev->kind == EVENT_EXEC) /* what a call that succeeded has become */
		return l->wanted_exec;
	return has_sysno(ev->kind) && ev->sysno < SYS_TABLE_MAX && l->wanted[ev->sysno];
}

/* Instructions that programs make by the hundred when they start. */
static bool is_noise(const struct listing *l, const struct event *ev)
{
	return !l->v->json && !l->v->verbose && (ev->kind == EVENT_TSC || ev->kind == EVENT_CPUID);
}

/* "read" or "read,write" */
static int want_words(struct listing *l, const struct cmd_call *call, const char *words)
{
	struct nearest near;
	char name[64];
	int nr;

	for (const char *s = words;; s++) {
		size_t n = strcspn(s, ",");

		snprintf(name, sizeof(name), "%.*s", (int)MIN(n, sizeof(name) - 1), s);
		nr = sys_number(name);
		if (nr < 0 || nr >= SYS_TABLE_MAX) {
			char text[128], tip[128] = "";

			nearest_init(&near, name);
			for (uint32_t i = 0; i < SYS_TABLE_MAX; i++)
				nearest_try(&near, sys_row(i)->name);
			snprintf(text, sizeof(text), "there is no system call '%s'", name);
			if (near.found)
				snprintf(tip, sizeof(tip), "a similar one exists: '%s'", near.found);
			return cmd_usage_error(call->cmd, text, tip);
		}
		l->wanted[nr] = true;
		l->wanted_exec = l->wanted_exec || nr == SYS_execve || nr == SYS_execveat;
		s += n;
		if (!*s)
			return 0;
	}
}

static void print_text(struct listing *l, const struct event *ev, struct buf *b)
{
	uint64_t us = ev->time_ns / 1000;

	buf_clear(b);
	buf_printf(b, "%s%7" PRIu64 "%s %4" PRIu64 ".%06" PRIu64 " ", term_style(TERM_OUT, TERM_DIM), ev->number,
		   term_style(TERM_OUT, TERM_PLAIN), us / 1000000, us % 1000000);
	if (ev->thread)
		buf_printf(b, "T%-3u ", ev->thread);
	else
		buf_printf(b, "     ");
	evprint_text(&l->printer, ev, b);
	if (l->v->verbose)
		evprint_effects(&l->printer, ev, b);
	buf_printf(b, "\n");
	fwrite(b->data, 1, b->len, stdout);
}

static int print_event(struct listing *l, const struct event *ev, struct buf *b)
{
	static const char *const large[] = { "number", "time_ns", "result", "len", "object", "data_offset", NULL };
	json_t *j CLEANUP(jsonx_unrefp) = NULL;
	int r;

	if (!l->v->json) {
		print_text(l, ev, b);
		return buf_error(b);
	}
	r = evprint_json(&l->printer, ev, &j);
	if (r >= 0)
		r = js_stringify(j, large);
	return r < 0 ? r : js_print(stdout, j);
}

static int list_events(struct listing *l, struct store_reader *reader, struct errinfo *ei)
{
	const struct values *v = l->v;
	struct buf b CLEANUP(buf_done) = { 0 };
	const struct event *ev;
	uint64_t count;
	int r = store_reader_count(reader, &count, ei);

	if (r < 0)
		return r;
	if (v->from > count)
		return 0;
	r = v->from > LOOK_BACK ? store_reader_seek(reader, v->from - LOOK_BACK, ei) : 0;
	while (r >= 0 && !ferror(stdout)) {
		r = store_reader_next(reader, &ev, ei);
		l->at_end = r == 0;
		if (r <= 0 || ev->number > v->to)
			break;
		if (!is_wanted(l, ev)) {
			evprint_skip(&l->printer, ev);
		} else if (is_noise(l, ev)) {
			evprint_skip(&l->printer, ev);
			l->hidden++;
		} else {
			r = print_event(l, ev, &b);
		}
	}
	return r;
}

/* A cut is no error, but must not be taken for the end. */
static void tell_cut(const struct listing *l, struct store_reader *reader, const struct store_id *id)
{
	const struct manifest *m = store_reader_manifest(reader);
	struct buf b CLEANUP(buf_done) = { 0 };

	if (!l->at_end || !store_reader_truncated(reader) || m->state == RECORDING_OPEN)
		return;
	fflush(stdout);
	text_safe(&b, m->reason ? m->reason : "its recorder was stopped");
	warn_user("recording %s is truncated here (%s)", id->hex, buf_cstr(&b));
}

static void tell_hidden(const struct listing *l)
{
	if (!l->hidden || !term_is_tty(TERM_ERR))
		return;
	fflush(stdout);
	fprintf(stderr, "%" PRIu64 " cpuid and rdtsc event%s not shown; -v shows all\n", l->hidden, l->hidden == 1 ? "" : "s");
}

static int show(struct listing *l, struct store *s, const struct store_id *id)
{
	struct store_reader *reader CLEANUP(store_reader_freep) = NULL;
	struct errinfo ei = { 0 };
	int r = store_reader_open(s, id, &reader, &ei);

	if (r >= 0) {
		evprint_init(&l->printer, reader, (uint32_t)l->v->string_max);
		r = list_events(l, reader, &ei);
		evprint_done(&l->printer);
	}
	if (r >= 0) {
		tell_hidden(l);
		tell_cut(l, reader, id);
		return 0;
	}
	fflush(stdout);
	return fail_r(r, &ei, "cannot read the events of recording %s", id->hex);
}

static int run(const struct cmd_call *call)
{
	const struct values *v = call->values;
	struct store *s CLEANUP(store_freep) = NULL;
	struct listing l = { .v = v };
	struct store_id id;
	int r = 0;

	if (v->to < v->from)
		return cmd_usage(call->cmd, "'--to' lies before '--from'");
	for (size_t i = 0; i < v->syscalls.n && !r; i++)
		r = want_words(&l, call, v->syscalls.v[i]);
	if (!r)
		r = stores_open_resolve(v->data_dir, call->argv[0], &s, &id);
	return r ? r : show(&l, s, &id);
}

/* clang-format off */
#define ROW(kind_, letter_, name_, member, ...) \
	{ .kind = kind_, .letter = letter_, .name = name_, .offset = offsetof(struct values, member), __VA_ARGS__ }

static const struct opt opts[] = {
	ROW(OPT_UINT, 0, "from", from, .arg = "N", .min = 1, .max = UINT64_MAX, .preset = 1, .help = "First event to show"),
	ROW(OPT_UINT, 0, "to", to, .arg = "N", .min = 1, .max = UINT64_MAX, .preset = UINT64_MAX, .help = "Last event to show"),
	ROW(OPT_UINT, 't', "thread", thread, .arg = "T", .min = 1, .max = UINT32_MAX,
	    .help = "Only events of this thread (the number after T in the listing)"),
	ROW(OPT_LIST, 'c', "syscall", syscalls, .arg = "NAME",
	    .help = "Only this system call; may be repeated, or be a list with commas. execve: exec events too"),
	ROW(OPT_UINT, 's', "string-max", string_max, .arg = "BYTES", .min = 1, .max = 1 << 20,
	    .help = "Show so many bytes of strings and data (32; 256 in the effects of --json)"),
	ROW(OPT_FLAG, 'v', "verbose", verbose, .conflicts = "json",
	    .help = "Also show what each event did to memory, mappings and registers, and all cpuid and rdtsc instructions"),
	ROW(OPT_FLAG, 0, "json", json, .help = "Print one JSON object a line, with all fields and effects"),
	OPT_DATA_DIR(struct values, data_dir),
	{ .kind = OPT_END_ },
};
/* clang-format on */

const struct cmd cmd_events = {
	.name = "events",
	.summary = "List the events of a recording, like strace",
	.usage = "[OPTIONS] [ID]",
	.about = "Lists what was recorded: number, seconds since the start, thread, and the event. System calls are decoded with "
		 "names, flags, buffers and errors. '<unfinished ...>' is a call during which other threads ran; '<... resumed>' is its end. "
		 "cpuid and rdtsc instructions are shown only with --verbose and --json.\n"
		 "ID may be abbreviated or be a label; without it the newest recording is listed.",
	.example = "    hermit events --syscall openat,execve\n"
		   "    hermit events 6ba7 --json | jq -r 'select(.errno == \"ENOENT\") .line'\n",
	.opts = opts,
	.values_size = sizeof(struct values),
	.max_args = 1,
	.run = run,
};
