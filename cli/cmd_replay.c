/* hermit replay: opens a debugger on a recording, or serves one, or gives the recorded output back (--autopilot). The work is the replayer's
 * and cli/debug_*.c's; here are the options, which process is meant, and the report of a divergence. */
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include "base/buf.h"
#include "base/os.h"
#include "base/str.h"
#include "cli/cmd.h"
#include "cli/debug_choose.h"
#include "cli/debug_gdb.h"
#include "cli/ending.h"
#include "cli/fail.h"
#include "cli/replays.h"
#include "cli/stores.h"
#include "cli/term.h"
#include "cli/text.h"
#include "engine/sysprint.h"
#include "gdbstub/gdbstub.h"
#include "store/live.h"

/* Lines of the list of processes that nobody asked for, and that an unclear choice is answered with. */
#define PROCESSES_SHOWN 10
#define PROCESSES_LISTED 200

struct values {
	const char *data_dir, *process, *go, *gdb, *port, *path, *memory;
	struct opt_list gdbex;
	bool autopilot, check, serve_only, stdio, print_script;
};

/* What is left to say after the recorded output. live: it was being recorded when the replay began. */
static int finish(struct replay *p, const struct store_id *id, const struct rep_result *res, bool live)
{
	const struct manifest *m = store_reader_manifest(p->reader);
	struct buf why CLEANUP(buf_done) = { 0 };

	if (!res->truncated)
		return end_like(res->status);
	if (live) {
		warn_user("recording %s is still being recorded: replayed its first %llu events", id->hex,
			  (unsigned long long)res->events);
		return end_like(res->status);
	}
	text_safe(&why, m->reason ? m->reason : "its recorder was stopped");
	warn_user("recording %s is truncated (%s): replayed its %llu events, up to the cut", id->hex, buf_cstr(&why),
		  (unsigned long long)res->events);
	return end_like(res->status);
}

static int autopilot(const struct values *v, struct store *s, const struct store_id *id)
{
	struct replay p CLEANUP(replay_done) = { 0 };
	struct errinfo ei = { 0 };
	struct rep_result res;
	bool live;
	int r = replay_open(&p, s, id, &ei);

	live = r >= 0 && store_reader_manifest(p.reader)->state == RECORDING_OPEN && store_is_live(s, id);
	if (r >= 0)
		r = replay_run(&p, STDOUT_FILENO, STDERR_FILENO, v->check, &res, &ei);
	if (r < 0)
		return replay_report(&p, id, r, &ei);
	return finish(&p, id, &res, live);
}

/* --- the process to debug --- */

static void print_processes(const struct manifest *m, const char *want, unsigned max)
{
	struct buf b CLEANUP(buf_done) = { 0 };

	debug_put_processes(&b, m, want, max);
	fprintf(stderr, "\n%s\n", buf_cstr(&b));
}

static int no_process(const struct manifest *m, const char *want, int r)
{
	struct buf name CLEANUP(buf_done) = { 0 };

	text_safe(&name, want);
	if (r == -ENODATA) {
		fail(EXIT_INTERNAL, "cannot tell which process '%s' is", buf_cstr(&name));
		fail_cause("the recording was cut off, or is still being made: its programs are not listed");
		fail_cause("give a pid, as in the lines of 'hermit events %s'", m->id.hex);
		return EXIT_INTERNAL;
	}
	if (r == ERR_AMBIGUOUS)
		fail(EXIT_INTERNAL, "several processes of the recording are '%s': choose one by its pid, -p PID", buf_cstr(&name));
	else
		fail(EXIT_INTERNAL, "no process of the recording is '%s': choose one of these by its pid or program, -p PID|PROGRAM",
		     buf_cstr(&name));
	print_processes(m, r == ERR_AMBIGUOUS ? want : NULL, PROCESSES_LISTED);
	return EXIT_INTERNAL;
}

/* Which of several it is, and how to get another: on stderr, where it is in nobody's way. */
static void tell_process(const struct manifest *m, const struct manifest_process *p)
{
	struct buf b CLEANUP(buf_done) = { 0 };

	if (m->processes < 2)
		return;
	text_safe(&b, p->command ? p->command : p->exe ? p->exe : "?");
	if (b.len > 60) {
		for (b.len = 60; b.len && (b.data[b.len] & 0xc0) == 0x80;) /* whole characters */
			b.len--;
		buf_printf(&b, "...");
	}
	fprintf(stderr, "hermit: this is process %d (%s), %s %" PRIu64 " of the recording; -p PID|PROGRAM takes another\n", p->pid, buf_cstr(&b),
		p == &m->process[0] ? "the first of" : "one of", m->processes);
	if (m->processes <= PROCESSES_SHOWN)
		print_processes(m, NULL, PROCESSES_SHOWN);
	else
		fprintf(stderr, "hermit: 'hermit record show %s' lists them\n", m->id.hex);
}

static int choose(const struct manifest *m, const struct values *v, struct debug_job *job)
{
	int r = debug_choose_process(m, v->process, &job->process, &job->pid);

	if (r < 0)
		return no_process(m, v->process, r);
	if (job->process && !v->process && !v->stdio)
		tell_process(m, job->process);
	return 0;
}

/* What gdb says when it is connected to a program that did not end well. Numbers and names of signals only: a program's name could be made to say more. */
static char *make_note(const struct manifest_process *p, bool went)
{
	char name[24];

	if (!p || p->status == -1 || !WIFSIGNALED(p->status) || went)
		return NULL;
	return os_asprintf("Process %d was killed by %s in the end: 'goto-end' goes there, reverse-continue leads back from there.", p->pid,
			   sysprint_signal(WTERMSIG(p->status), name));
}

/* --- the debugger --- */

static int start_gdb(const struct values *v, const struct manifest *m, struct debug_job *job)
{
	struct debug_gdb g = { .commands = &v->gdbex };
	char *program CLEANUP(freep) = NULL, *note CLEANUP(freep) = NULL;
	int r = debug_find_gdb(v->gdb, m->id.hex, &program);

	if (!r)
		r = choose(m, v, job);
	if (r)
		return r;
	note = make_note(job->process, v->go);
	g.program = program;
	g.note = note;
	return debug_run_gdb(job, &g);
}

static int debug(const struct values *v, struct store *s, const struct store_id *id, uint64_t memory)
{
	struct debug_job job = { .store = s, .id = *id, .go = v->go, .checkpoint_memory = memory };
	struct manifest m CLEANUP(manifest_done);
	struct errinfo ei = { 0 };
	int r;

	manifest_init(&m);
	r = manifest_load(s, id, &m, &ei);
	if (r < 0)
		return fail_r(r, &ei, "cannot debug recording %s", id->hex);
	if (!v->stdio && !v->serve_only && !v->port && !v->path)
		return start_gdb(v, &m, &job);
	r = choose(&m, v, &job);
	if (r)
		return r;
	return v->stdio ? debug_serve(&job, -1, -1) : debug_run_server(&job, &(struct debug_listen){ .port = v->port, .path = v->path });
}

/* --- the options --- */

static bool is_place(const char *text)
{
	struct dbg_pos pos;

	return !strcmp(text, "end") || !strcmp(text, "crash") || dbg_pos_parse(text, &pos) == 0;
}

static int check(const struct cmd_call *call, const struct values *v, uint64_t *ret_memory)
{
	bool serves = v->serve_only || v->port || v->path;

	*ret_memory = 0;
	if (v->path && v->autopilot)
		return cmd_usage(call->cmd, "'--gdbserver-socket' cannot be used with '--autopilot'");
	if (serves && v->stdio)
		return cmd_usage(call->cmd, "'--stdio' serves no socket: it cannot be used with '--serve-only', '--gdbserver-port' or "
					    "'--gdbserver-socket'");
	if ((serves || v->stdio) && (v->gdb || v->gdbex.n))
		return cmd_usage(call->cmd, "'--gdb' and '--gdbex' are about the gdb that hermit starts: here it starts none");
	if (v->go && !is_place(v->go))
		return cmd_usage(call->cmd, "invalid value '%.200s' for '--goto <EVENT|end|crash>'", v->go);
	if (v->process && !*v->process)
		return cmd_usage(call->cmd, "'--process' names no process");
	if (v->memory && (str_parse_size(v->memory, ret_memory) < 0 || !*ret_memory))
		return cmd_usage(call->cmd, "invalid value '%.200s' for '--checkpoint-memory <SIZE>': sizes are written 512M or 4G", v->memory);
	return 0;
}

static int run(const struct cmd_call *call)
{
	const struct values *v = call->values;
	struct store *s CLEANUP(store_freep) = NULL;
	struct store_id id;
	uint64_t memory;
	int r = check(call, v, &memory);

	if (r)
		return r;
	if (v->print_script) {
		fputs(stub_gdb_script(), stdout);
		return 0;
	}
	r = stores_open_resolve(v->data_dir, call->argv[0], &s, &id);
	if (r)
		return r;
	return v->autopilot ? autopilot(v, s, &id) : debug(v, s, &id, memory);
}

/* clang-format off */
static const struct opt opts[] = {
	{ .kind = OPT_STRING, .letter = 'p', .name = "process", .arg = "PID|PROGRAM", .offset = offsetof(struct values, process), .conflicts = "autopilot",
	  .help = "Process to debug, by its recorded pid, or the path or name of its program; without it the one that crashed, else the first" },
	{ .kind = OPT_STRING, .letter = 'g', .name = "goto", .arg = "EVENT|end|crash", .offset = offsetof(struct values, go), .conflicts = "autopilot",
	  .help = "Begin there: behind an event (numbers as in 'hermit events'), at the process's end, or where a signal killed it" },
	{ .kind = OPT_STRING, .name = "gdb", .arg = "FILE", .offset = offsetof(struct values, gdb), .conflicts = "autopilot",
	  .help = "The gdb to start; without it $HERMIT_GDB, else the one in PATH" },
	{ .kind = OPT_LIST, .name = "gdbex", .arg = "COMMANDS", .offset = offsetof(struct values, gdbex), .conflicts = "autopilot",
	  .help = "Commands for gdb to execute at the start, separated by ';'; may be repeated" },
	{ .kind = OPT_FLAG, .name = "serve-only", .offset = offsetof(struct values, serve_only), .conflicts = "autopilot",
	  .help = "Start no gdb: wait on a free port of 127.0.0.1 for debuggers, one after the other, until one says kill or ^C is typed" },
	{ .kind = OPT_STRING, .name = "gdbserver-port", .arg = "PORT", .offset = offsetof(struct values, port), .conflicts = "autopilot",
	  .help = "The same on this port" },
	{ .kind = OPT_STRING, .name = "gdbserver-socket", .arg = "FILE", .offset = offsetof(struct values, path), .conflicts = "gdbserver-port",
	  .help = "The same on this unix socket" },
	{ .kind = OPT_FLAG, .name = "stdio", .offset = offsetof(struct values, stdio), .conflicts = "autopilot",
	  .help = "Serve one debugger on stdin and stdout: (gdb) target remote | hermit replay --stdio" },
	{ .kind = OPT_STRING, .name = "checkpoint-memory", .arg = "SIZE", .offset = offsetof(struct values, memory), .conflicts = "autopilot",
	  .help = "Memory that checkpoints may take, which make going backwards fast (512M, 4G)" },
	{ .kind = OPT_FLAG, .name = "print-gdb-script", .offset = offsetof(struct values, print_script),
	  .help = "Only print the commands that hermit adds to gdb (when, goto-event, last-write, ...), for a gdb that was not started by it" },
	{ .kind = OPT_FLAG, .letter = 'a', .name = "autopilot", .offset = offsetof(struct values, autopilot),
	  .help = "No debugger: run to the end, print the recorded output and end as the program did" },
	{ .kind = OPT_FLAG, .name = "check", .offset = offsetof(struct values, check), .needs = "autopilot",
	  .help = "Also compare the memory checksums of 'record --checksum' and what system calls read; slower" },
	OPT_DATA_DIR(struct values, data_dir),
	{ .kind = OPT_END_ },
};
/* clang-format on */

const struct cmd cmd_replay = {
	.name = "replay",
	.summary = "Debug a recorded execution, forwards and backwards",
	.usage = "[OPTIONS] [ID]",
	.about = "Replays a recording in gdb, at the first instruction of its program.\n"
		 "All commands of gdb work, the backward ones too: reverse-continue, reverse-step, reverse-finish, watchpoints. The recorded "
		 "processes run again and get the recorded result of every system call, so they compute the same each time. "
		 "Nothing outside is touched, and nothing of the recorded machine is needed: gdb gets programs and libraries from the recording. "
		 "With --autopilot the recorded output appears as it was written, and hermit ends as the program did: with its exit code, or "
		 "killed by the same signal. If the replay comes to differ from the recording, hermit says where and exits with 125.\n"
		 "ID may be abbreviated or be a label; without it the newest recording is replayed.",
	.example = "    hermit replay                      # break main, continue, reverse-step\n"
		   "    hermit replay -p cc1 -g crash 6ba7\n"
		   "    hermit replay --gdbex 'goto-end; backtrace; quit'\n"
		   "    hermit replay --serve-only         # for: target remote 127.0.0.1:PORT\n"
		   "    hermit replay --autopilot --check 6ba7\n",
	.opts = opts,
	.values_size = sizeof(struct values),
	.max_args = 1,
	.run = run,
};
