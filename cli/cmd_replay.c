/* hermit replay: gives the recorded execution back. The work is the replayer's; here are output, progress and the report of a divergence. */
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>
#include "base/buf.h"
#include "base/os.h"
#include "cli/cmd.h"
#include "cli/ending.h"
#include "cli/fail.h"
#include "cli/replays.h"
#include "cli/stores.h"
#include "cli/term.h"
#include "cli/text.h"

struct values {
	const char *data_dir;
	bool autopilot, check;
};

static int no_debugger(const struct cmd_call *call)
{
	fail(EXIT_INTERNAL, "interactive replay is not there yet: it comes with the debugger");
	fail_cause("to see the recorded execution again, run: hermit replay --autopilot%s%s", call->argc ? " " : "",
		   call->argc ? call->argv[0] : "");
	return EXIT_INTERNAL;
}

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

static int run(const struct cmd_call *call)
{
	const struct values *v = call->values;
	struct replay p CLEANUP(replay_done) = { 0 };
	struct store *s CLEANUP(store_freep) = NULL;
	struct errinfo ei = { 0 };
	struct rep_result res;
	struct store_id id;
	bool live;
	int r;

	if (!v->autopilot)
		return no_debugger(call);
	r = stores_open_resolve(v->data_dir, call->argv[0], &s, &id);
	if (r)
		return r;
	r = replay_open(&p, s, &id, &ei);
	live = r >= 0 && store_reader_manifest(p.reader)->state == RECORDING_OPEN && stores_is_recording(s, &id);
	if (r >= 0)
		r = replay_run(&p, STDOUT_FILENO, STDERR_FILENO, v->check, &res, &ei);
	if (r < 0)
		return replay_report(&p, &id, r, &ei);
	return finish(&p, &id, &res, live);
}

/* clang-format off */
static const struct opt opts[] = {
	{ .kind = OPT_FLAG, .letter = 'a', .name = "autopilot", .offset = offsetof(struct values, autopilot),
	  .help = "Run to the end: print the recorded output and end as the program did" },
	{ .kind = OPT_FLAG, .name = "check", .offset = offsetof(struct values, check),
	  .help = "Also compare the memory checksums of 'record --checksum' and what system calls read; slower" },
	OPT_DATA_DIR(struct values, data_dir),
	{ .kind = OPT_END_ },
};
/* clang-format on */

const struct cmd cmd_replay = {
	.name = "replay",
	.summary = "Give a recorded execution back",
	.usage = "--autopilot [OPTIONS] [ID]",
	.about = "Replays a recording. --autopilot (-a) is needed until the debugger is there.\n"
		 "Its processes run again and get the recorded result of every system call, so they compute the same. "
		 "Nothing outside is touched, and nothing of the recorded machine is needed. With --autopilot the recorded output "
		 "appears as it was written, and hermit ends as the program did: with its exit code, or killed by the same signal. "
		 "If the replay comes to differ from the recording, hermit says where and exits with 125.\n"
		 "ID may be abbreviated or be a label; without it the newest recording is replayed.",
	.example = "    hermit replay --autopilot\n"
		   "    hermit replay --autopilot --check 6ba7\n",
	.opts = opts,
	.values_size = sizeof(struct values),
	.max_args = 1,
	.run = run,
};
