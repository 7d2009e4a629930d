/* hermit backtrace: the stack at an event, or at the crash, as text or JSON. An inspector of our own looks it up. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include "base/json.h"
#include "base/str.h"
#include "cli/ask.h"
#include "cli/cmd.h"
#include "cli/debug_choose.h"
#include "cli/fail.h"
#include "cli/js.h"
#include "cli/stores.h"
#include "cli/term.h"
#include "cli/text.h"
#include "engine/sysprint.h"
#include "store/reader.h"

struct values {
	const char *data_dir, *process, *debug_dirs, *source_map;
	uint64_t event, thread;
	bool crash, after, all, json, no_source, debuginfod;
};

/* What is shown. */
struct job {
	const struct values *v;
	struct store_id id;
	pid_t pid;          /* 0: that of the event */
	uint64_t event;
	struct ask ask;
};

/* --- which event --- */

static int no_process(const struct values *v, const struct store_id *id)
{
	fail(EXIT_INTERNAL, "cannot tell which process of recording %s '%s' is", id->hex, v->process ? v->process : "");
	fail_cause("'hermit record show %s' lists its processes: give a pid", id->hex);
	return EXIT_INTERNAL;
}

/* Where a signal killed it. */
static int crash_event(struct store *s, const struct store_id *id, const struct manifest_process *p, uint64_t *ret)
{
	struct store_reader *r CLEANUP(store_reader_freep) = NULL;
	struct errinfo ei = { 0 };
	int rc = store_reader_open(s, id, &r, &ei);

	if (rc >= 0)
		rc = debug_find_crash(r, p, ret, &ei);
	if (rc == ERR_NOT_FOUND) {
		fail(EXIT_INTERNAL, "cannot show the crash of recording %s", id->hex);
		fail_cause("no signal killed %s", p ? "this process" : "a process of it");
		return EXIT_INTERNAL;
	}
	return rc < 0 ? fail_r(rc, &ei, "cannot read recording %s", id->hex) : 0;
}

static int last_event(struct store *s, const struct store_id *id, uint64_t *ret)
{
	struct store_reader *r CLEANUP(store_reader_freep) = NULL;
	struct errinfo ei = { 0 };
	int rc = store_reader_open(s, id, &r, &ei);

	if (rc >= 0)
		rc = store_reader_count(r, ret, &ei);
	return rc < 0 ? fail_r(rc, &ei, "cannot read recording %s", id->hex) : 0;
}

static int choose(struct job *j, struct store *s, const struct manifest *m)
{
	const struct values *v = j->v;
	const struct manifest_process *p = NULL;
	int r;

	if (v->event) {
		j->event = v->event;
		if (!v->process)
			return 0;
	}
	r = debug_choose_process(m, v->process, &p, &j->pid);
	if (r < 0)
		return no_process(v, &j->id);
	if (v->event)
		return 0;
	if (v->crash || (p && p->status != -1 && WIFSIGNALED(p->status)))
		return crash_event(s, &j->id, p, &j->event);
	j->event = p ? p->last_event : 0;
	return j->event ? 0 : last_event(s, &j->id, &j->event);
}

/* --- asking --- */

static int get(struct job *j, json_t *request, json_t **ret)
{
	struct errinfo ei = { 0 };
	int r = ask_for(&j->ask, request, ret, &ei);

	if (r >= 0)
		return 0;
	fail(EXIT_INTERNAL, "cannot show the stack at event %" PRIu64 " of recording %s", j->event, j->id.hex);
	fail_cause("%s", ei.text[0] ? ei.text : err_str(r));
	return EXIT_INTERNAL;
}

static json_t *request(const struct job *j, const char *op, uint64_t thread)
{
	json_t *q = json_object();

	if (jsonx_set_str(q, "op", op) < 0 || jsonx_set_u64(q, "event", j->event) < 0 ||
	    jsonx_set_str(q, "when", j->v->after ? "after" : "before") < 0 || (j->pid && jsonx_set_i64(q, "pid", j->pid) < 0) ||
	    (thread && jsonx_set_u64(q, "thread", thread) < 0)) {
		json_decref(q);
		return NULL;
	}
	return q;
}

/* The stack of one thread (0: the one that it is about), or of all of the process. *ret: an array. */
static int get_stacks(struct job *j, json_t *stacks)
{
	json_t *threads CLEANUP(jsonx_unrefp) = NULL, *items, *t;
	size_t i;
	int r = 0;

	if (!j->v->all) {
		json_t *stack = NULL;

		r = get(j, request(j, "stack", j->v->thread), &stack);
		return r ? r : json_array_append_new(stacks, stack) < 0 ? fail_memory() : 0;
	}
	r = get(j, request(j, "threads", 0), &threads);
	if (r || jsonx_get_array(threads, "items", &items) < 0)
		return r;
	json_array_foreach(items, i, t) {
		json_t *stack = NULL;

		r = get(j, request(j, "stack", (uint64_t)json_integer_value(json_object_get(t, "number"))), &stack);
		if (r)
			return r;
		json_object_set(stack, "name", json_object_get(t, "name"));
		if (json_array_append_new(stacks, stack) < 0)
			return fail_memory();
	}
	return 0;
}

/* --- as text --- */

static const char *str(const json_t *j, const char *key)
{
	return json_string_value(json_object_get(j, key));
}

/* Strings of the recording. */
static void print_safe(const char *s)
{
	struct buf b CLEANUP(buf_done) = { 0 };

	text_safe(&b, s);
	fputs(buf_cstr(&b), stdout);
}

static void print_args(const json_t *args)
{
	const json_t *a;
	size_t i;

	printf(" (");
	json_array_foreach(args, i, a) {
		printf("%s", i ? ", " : "");
		print_safe(str(a, "name"));
		printf("=");
		print_safe(str(a, "value"));
	}
	printf(")");
}

static void print_line(struct job *j, const char *path, json_int_t line)
{
	json_t *q = json_pack("{s:s, s:s, s:I, s:i}", "op", "source", "path", path, "line", line, "context", 0);
	json_t *source CLEANUP(jsonx_unrefp) = NULL;
	struct errinfo ei = { 0 };
	const char *text;

	if (ask_for(&j->ask, q, &source, &ei) < 0)
		return; /* it is not here any more: the stack is what was asked for */
	text = json_string_value(json_array_get(json_object_get(source, "lines"), 0));
	if (!text)
		return;
	printf("    %s%" JSON_INTEGER_FORMAT "%s  ", term_style(TERM_OUT, TERM_DIM), line, term_style(TERM_OUT, TERM_PLAIN));
	print_safe(text + strspn(text, " \t"));
	printf("\n");
}

static void print_frame(struct job *j, const json_t *f)
{
	const char *function = str(f, "function"), *file = str(f, "file"), *module = str(f, "module");
	json_int_t line = json_integer_value(json_object_get(f, "line"));

	printf("#%-2" JSON_INTEGER_FORMAT " ", json_integer_value(json_object_get(f, "index")));
	if (json_is_true(json_object_get(f, "inlined")))
		printf("%18s    ", "");
	else
		printf("0x%016" PRIx64 " in ", (uint64_t)strtoull(str(f, "pc") ? str(f, "pc") : "0", NULL, 16));
	fputs(term_style(TERM_OUT, TERM_YELLOW), stdout);
	print_safe(json_is_true(json_object_get(f, "signal")) ? "<signal handler called>" : function ? function : "??");
	fputs(term_style(TERM_OUT, TERM_PLAIN), stdout);
	if (function && !json_is_true(json_object_get(f, "signal")))
		print_args(json_object_get(f, "args"));
	if (file) {
		printf(" at ");
		print_safe(file);
		if (line)
			printf(":%" JSON_INTEGER_FORMAT, line);
	} else if (module) {
		printf(" from ");
		print_safe(module);
	}
	printf("\n");
	if (!j->v->no_source && line && file && json_is_true(json_object_get(f, "source")))
		print_line(j, file, line);
}

static void print_stack(struct job *j, const json_t *stack)
{
	const char *note = str(stack, "note"), *name = str(stack, "name");
	const json_t *f;
	size_t i;

	printf("%sThread %" JSON_INTEGER_FORMAT " of process %" JSON_INTEGER_FORMAT "%s (tid %" JSON_INTEGER_FORMAT, term_style(TERM_OUT, TERM_BOLD),
	       json_integer_value(json_object_get(stack, "thread")), json_integer_value(json_object_get(stack, "pid")),
	       term_style(TERM_OUT, TERM_PLAIN), json_integer_value(json_object_get(stack, "tid")));
	if (name && *name) {
		printf(", ");
		print_safe(name);
	}
	printf("), %s event %" PRIu64 ":\n", j->v->after ? "after" : "at", j->event);
	json_array_foreach(json_object_get(stack, "frames"), i, f)
		print_frame(j, f);
	if (note) {
		printf("(");
		print_safe(note);
		printf(")\n");
	}
}

static int show(struct job *j)
{
	json_t *stacks CLEANUP(jsonx_unrefp) = json_array(), *all CLEANUP(jsonx_unrefp) = NULL, *s;
	int r = stacks ? get_stacks(j, stacks) : fail_memory();
	size_t i;

	if (r)
		return r;
	if (j->v->json) {
		all = json_pack("{s:s, s:O}", "recording", j->id.hex, "stacks", stacks);
		return all && js_print(stdout, all) >= 0 ? 0 : fail_memory();
	}
	json_array_foreach(stacks, i, s) {
		if (i)
			printf("\n");
		print_stack(j, s);
	}
	return 0;
}

static int run(const struct cmd_call *call)
{
	const struct values *v = call->values;
	struct inspector_options opt = { .debuginfod = v->debuginfod, .debug_dirs = v->debug_dirs, .source_map = v->source_map };
	struct manifest m CLEANUP(manifest_done);
	struct store *s CLEANUP(store_freep) = NULL;
	struct job j = { .v = v };
	struct errinfo ei = { 0 };
	int r;

	manifest_init(&m);
	if (v->source_map && !strchr(v->source_map, '='))
		return cmd_usage(call->cmd, "invalid value '%.200s' for '--source-map <FROM=TO>'", v->source_map);
	r = stores_open_resolve(v->data_dir, call->argv[0], &s, &j.id);
	if (r)
		return r;
	r = manifest_load(s, &j.id, &m, &ei);
	if (r < 0)
		return fail_r(r, &ei, "cannot read recording %s", j.id.hex);
	r = choose(&j, s, &m);
	if (r)
		return r;
	opt.recording = j.id;
	r = ask_start(&j.ask, s, &opt);
	r = r < 0 ? fail_r(r, NULL, "cannot start the inspector") : show(&j);
	ask_done(&j.ask);
	return r;
}

/* clang-format off */
static const struct opt opts[] = {
	{ .kind = OPT_UINT, .letter = 'e', .name = "event", .arg = "EVENT", .offset = offsetof(struct values, event), .min = 1, .max = INT64_MAX,
	  .help = "Where that event (a number as in 'hermit events') is about to happen; without it where a signal killed the process, else its end" },
	{ .kind = OPT_FLAG, .letter = 'c', .name = "crash", .offset = offsetof(struct values, crash), .conflicts = "event",
	  .help = "Where a signal killed the process; an error if none did" },
	{ .kind = OPT_FLAG, .name = "after", .offset = offsetof(struct values, after), .needs = "event",
	  .help = "Right after the event instead" },
	{ .kind = OPT_STRING, .letter = 'p', .name = "process", .arg = "PID|PROGRAM", .offset = offsetof(struct values, process),
	  .help = "Process to look at, by its recorded pid, or the path or name of its program; without it that of the event, or the one that crashed, "
		  "else the first" },
	{ .kind = OPT_UINT, .letter = 't', .name = "thread", .arg = "NUMBER", .offset = offsetof(struct values, thread), .min = 1, .max = UINT32_MAX,
	  .conflicts = "all", .help = "Thread to look at, by its number as in 'hermit events'; without it that of the event" },
	{ .kind = OPT_FLAG, .letter = 'a', .name = "all", .offset = offsetof(struct values, all), .help = "All threads of the process" },
	{ .kind = OPT_FLAG, .name = "json", .offset = offsetof(struct values, json), .help = "Print JSON: frames as in the HTTP API" },
	{ .kind = OPT_FLAG, .name = "no-source", .offset = offsetof(struct values, no_source), .help = "No lines of source files" },
	{ .kind = OPT_STRING, .name = "debug-dir", .arg = "DIRS", .offset = offsetof(struct values, debug_dirs), .env = "HERMIT_DEBUG_DIRS",
	  .help = "Directories with separate debugging information, separated by colons; /usr/lib/debug without it" },
	{ .kind = OPT_STRING, .name = "source-map", .arg = "FROM=TO", .offset = offsetof(struct values, source_map), .env = "HERMIT_SOURCE_MAP",
	  .help = "Read sources whose path begins with FROM from TO" },
	{ .kind = OPT_FLAG, .name = "debuginfod", .offset = offsetof(struct values, debuginfod),
	  .help = "Ask the servers of $DEBUGINFOD_URLS for debugging information" },
	OPT_DATA_DIR(struct values, data_dir),
	{ .kind = OPT_END_ },
};
/* clang-format on */

const struct cmd cmd_backtrace = {
	.name = "backtrace",
	.summary = "Show the stack at an event or at the crash of a recording",
	.usage = "[OPTIONS] [ID]",
	.about = "Replays a recording to the place and prints which functions were called, with arguments and lines of source.\n"
		 "Without --event that is where a signal killed the process, or where it ended. Programs and libraries come from the recording, "
		 "which need not be of this machine; separate debugging information is looked for by build-id, and sources where the compiler "
		 "found them (--source-map puts another directory in that place).\n"
		 "ID may be abbreviated or be a label; without it the newest recording is meant.",
	.example = "    hermit backtrace                   # of the newest recording's crash\n"
		   "    hermit backtrace --event 1200 --all 6ba7\n"
		   "    hermit backtrace --json | jq '.stacks[0].frames[].function'\n",
	.opts = opts,
	.values_size = sizeof(struct values),
	.max_args = 1,
	.run = run,
};
