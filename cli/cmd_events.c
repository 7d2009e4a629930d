/* hermit events: what a recording says, event by event; as text like strace, as one JSON object a line, or as CSV. With --filter the index tells which events need not be read. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include "analysis/filter.h"
#include "analysis/row.h"
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
	const char *filter, *format;
	bool json, verbose;
};

enum format { FORMAT_TEXT, FORMAT_JSON, FORMAT_CSV };


struct listing {
	const struct values *v;
	enum format format;
	struct row_maker rows;   /* its printer is used for all formats */
	struct evindex *evindex;   /* with --filter and for CSV */
	struct evindex_view view;
	struct filter *filter;   /* NULL: none */
	struct filter_run *run;
	bool wanted[SYS_TABLE_MAX]; /* by --syscall; all when none was given */
	bool wanted_exec;           /* ... one of them starts programs: exec events as well */
	bool at_end;                /* all events were read */
	bool cut;                   /* ... and the last one is not that of a complete recording */
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
	return l->format == FORMAT_TEXT && !l->filter && !l->v->verbose && (ev->kind == EVENT_TSC || ev->kind == EVENT_CPUID);
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
	evprint_text(&l->rows.printer, ev, b);
	if (l->v->verbose)
		evprint_effects(&l->rows.printer, ev, b);
	buf_printf(b, "\n");
	fwrite(b->data, 1, b->len, stdout);
}

/* CSV has columns of the index: the row is made with what it knows of the event. */
static int print_csv(struct listing *l, const struct event *ev, struct buf *b)
{
	int r;

	l->rows.ev = ev;
	l->rows.rec = evindex_at(&l->view, ev->number);
	r = evprint_row(&l->rows.printer, ev, &l->rows.row);
	if (r < 0)
		return r;
	buf_clear(b);
	row_put_csv(&l->rows, b);
	fwrite(b->data, 1, b->len, stdout);
	return buf_error(b);
}

static int print_event(struct listing *l, const struct event *ev, struct buf *b)
{
	static const char *const large[] = { "number", "time_ns", "result", "len", "object", "data_offset", NULL };
	json_t *j CLEANUP(jsonx_unrefp) = NULL;
	int r;

	if (l->format == FORMAT_CSV)
		return print_csv(l, ev, b);
	if (l->format == FORMAT_TEXT) {
		print_text(l, ev, b);
		return buf_error(b);
	}
	r = evprint_json(&l->rows.printer, ev, &j);
	if (r >= 0)
		r = js_stringify(j, large);
	return r < 0 ? r : js_print(stdout, j);
}

static int show_event(struct listing *l, const struct event *ev, struct buf *b)
{
	if (!is_wanted(l, ev)) {
		evprint_skip(&l->rows.printer, ev);
		return 0;
	}
	if (is_noise(l, ev)) {
		evprint_skip(&l->rows.printer, ev);
		l->hidden++;
		return 0;
	}
	return print_event(l, ev, b);
}

static int list_all(struct listing *l, struct store_reader *reader, struct buf *b, struct errinfo *ei)
{
	const struct values *v = l->v;
	const struct event *ev;
	int r = v->from > LOOK_BACK ? store_reader_seek(reader, v->from - LOOK_BACK, ei) : 0;

	while (r >= 0 && !ferror(stdout)) {
		r = store_reader_next(reader, &ev, ei);
		l->at_end = r == 0;
		l->cut = store_reader_truncated(reader);
		if (r <= 0 || ev->number > v->to)
			break;
		r = show_event(l, ev, b);
	}
	return r;
}

/* --- with a filter --- */

/* Shows the event to the printer, and prints it when it passes. */
static int list_one(struct listing *l, struct store_reader *reader, uint64_t number, int verdict, struct buf *b, struct errinfo *ei)
{
	struct evprint *p = &l->rows.printer;
	const struct evindex_record *rec = evindex_at(&l->view, number);
	uint64_t entry = rec->kind == EVENT_SYSCALL_EXIT && rec->partner < number ? rec->partner : 0;
	struct buf line CLEANUP(buf_done) = { 0 };
	const struct event *ev;
	int r = 0;

	if (entry && !evprint_knows(p, rec->thread, entry)) {
		r = evindex_seek(&l->view, reader, entry, ei);
		if (r >= 0)
			r = store_reader_next(reader, &ev, ei);
		if (r > 0)
			evprint_skip(p, ev);
	}
	if (r >= 0)
		r = evindex_seek(&l->view, reader, number, ei);
	if (r >= 0)
		r = store_reader_next(reader, &ev, ei);
	if (r <= 0)
		return r < 0 ? r : ERR_TRUNCATED;
	if (verdict == FILTER_LINE) {
		evprint_look(p, ev, &line);
		if (!filter_line(l->run, &l->view, number, (const char *)line.data, line.len)) {
			evprint_skip(p, ev);
			return 0;
		}
	}
	return show_event(l, ev, b);
}

static int list_filtered(struct listing *l, struct store_reader *reader, struct buf *b, struct errinfo *ei)
{
	uint64_t last = MIN(l->v->to, l->view.n);
	int r = 0;

	for (uint64_t n = l->v->from; n <= last && r >= 0 && !ferror(stdout); n++) {
		r = filter_record(l->run, &l->view, n);
		if (r > FILTER_NO)
			r = list_one(l, reader, n, r, b, ei);
	}
	l->at_end = l->v->to >= l->view.n;
	l->cut = !l->view.n || l->view.record[l->view.n - 1].kind != EVENT_END;
	return r;
}

static int open_evindex(struct listing *l, struct store_reader *reader, struct errinfo *ei)
{
	const struct manifest *m = store_reader_manifest(reader);
	int r = evindex_open(store_dir(store_reader_store(reader)), &m->id, &l->evindex, ei);

	if (r >= 0)
		r = evindex_extend(l->evindex, UINT64_MAX, ei);
	if (r >= 0 && l->filter)
		r = filter_run_new(l->filter, &l->run);
	if (r >= 0)
		evindex_view(l->evindex, &l->view);
	return r;
}

static int list_events(struct listing *l, struct store_reader *reader, struct errinfo *ei)
{
	struct buf b CLEANUP(buf_done) = { 0 };
	uint64_t count;
	int r = store_reader_count(reader, &count, ei);

	if (r >= 0 && (l->filter || l->format == FORMAT_CSV))
		r = open_evindex(l, reader, ei);
	if (r >= 0 && l->format == FORMAT_CSV) {
		row_put_csv_head(&b);
		fwrite(b.data, 1, b.len, stdout);
	}
	if (r < 0 || l->v->from > count)
		return r;
	return l->filter ? list_filtered(l, reader, &b, ei) : list_all(l, reader, &b, ei);
}

/* A cut is no error, but must not be taken for the end. */
static void tell_cut(const struct listing *l, struct store_reader *reader, const struct store_id *id)
{
	const struct manifest *m = store_reader_manifest(reader);
	struct buf b CLEANUP(buf_done) = { 0 };

	if (!l->at_end || !l->cut || m->state == RECORDING_OPEN)
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
		row_init(&l->rows, reader, &l->view, (uint32_t)l->v->string_max);
		r = list_events(l, reader, &ei);
		row_done(&l->rows);
		evindex_release(&l->view);
		filter_run_free(l->run);
		evindex_unref(l->evindex);
	}
	if (r >= 0) {
		tell_hidden(l);
		tell_cut(l, reader, id);
		return 0;
	}
	fflush(stdout);
	return fail_r(r, &ei, "cannot read the events of recording %s", id->hex);
}

static int choose_format(struct listing *l, const struct cmd_call *call)
{
	static const char *const names[] = { [FORMAT_TEXT] = "text", [FORMAT_JSON] = "json", [FORMAT_CSV] = "csv" };
	const struct values *v = call->values;

	l->format = v->json ? FORMAT_JSON : FORMAT_TEXT;
	for (size_t i = 0; v->format && i < ARRAY_SIZE(names); i++)
		if (strcmp(v->format, names[i]) == 0) {
			l->format = (enum format)i;
			return 0;
		}
	return v->format ? cmd_usage(call->cmd, "'--format' is text, json or csv") : 0;
}

static int parse_filter(struct listing *l, const struct cmd_call *call)
{
	struct filter_error err = { 0 };
	struct buf b CLEANUP(buf_done) = { 0 };
	char word[64];
	int r = filter_parse(l->v->filter, &l->filter, &err);

	if (r != -EINVAL)
		return r < 0 ? fail_r(r, NULL, "cannot parse the filter") : 0;
	buf_put_safe(&b, err.text);
	snprintf(word, sizeof(word), "at character %zu of '--filter'", err.offset + 1);
	return cmd_usage_error(call->cmd, buf_cstr(&b), word);
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
	r = choose_format(&l, call);
	if (!r && v->filter)
		r = parse_filter(&l, call);
	for (size_t i = 0; i < v->syscalls.n && !r; i++)
		r = want_words(&l, call, v->syscalls.v[i]);
	if (!r)
		r = stores_open_resolve(v->data_dir, call->argv[0], &s, &id);
	if (!r)
		r = show(&l, s, &id);
	filter_free(l.filter);
	return r;
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
	ROW(OPT_STRING, 'f', "filter", filter, .arg = "EXPR",
	    .help = "Only events that the expression fits: words of the line, syscall:NAME, failed, errno:ENOENT, path:/etc/*, fd:3, pid:N, "
		    "signal:SIGSEGV, kind:exec, time:1s..2s, dur:>1ms, class:net, #10..#20; -TERM: not"),
	ROW(OPT_STRING, 0, "format", format, .arg = "FORMAT", .conflicts = "json", .help = "text, json (one object a line) or csv"),
	ROW(OPT_UINT, 's', "string-max", string_max, .arg = "BYTES", .min = 1, .max = 1 << 20,
	    .help = "Show so many bytes of strings and data (32; 256 in the effects of --json)"),
	ROW(OPT_FLAG, 'v', "verbose", verbose, .conflicts = "json",
	    .help = "Also show what each event did to memory, mappings and registers, and all cpuid and rdtsc instructions"),
	ROW(OPT_FLAG, 0, "json", json, .help = "Same as --format json: one object a line, with all fields and effects"),
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
		 "cpuid and rdtsc instructions are shown only with --verbose, --json and --filter.\n"
		 "ID may be abbreviated or be a label; without it the newest recording is listed.",
	.example = "    hermit events --syscall openat,execve\n"
		   "    hermit events --filter 'failed path:/etc/* -errno:ENOENT'\n"
		   "    hermit events 6ba7 --json | jq -r 'select(.errno == \"ENOENT\") .line'\n",
	.opts = opts,
	.values_size = sizeof(struct values),
	.max_args = 1,
	.run = run,
};
