/* hermit session inspect: the child of hermitd that answers questions about the state at an event (inspector/inspector.h). */
#include <errno.h>
#include <fcntl.h>
#include "base/str.h"
#include "cli/cmd.h"
#include "cli/fail.h"
#include "cli/stores.h"
#include "inspector/inspector.h"

struct values {
	const char *data_dir, *debug_dirs, *source_map, *memory;
	uint64_t fd;
	bool debuginfod;
};

static int run(const struct cmd_call *call)
{
	const struct values *v = call->values;
	struct inspector_options opt = { .debuginfod = v->debuginfod, .debug_dirs = v->debug_dirs, .source_map = v->source_map };
	struct store *s CLEANUP(store_freep) = NULL;
	struct errinfo ei = { 0 };
	int r;

	if (v->memory && (str_parse_size(v->memory, &opt.checkpoint_memory) < 0 || !opt.checkpoint_memory))
		return cmd_usage(call->cmd, "invalid value '%.200s' for '--checkpoint-memory <SIZE>'", v->memory);
	/* what is replayed must not have it */
	if (fcntl((int)v->fd, F_SETFD, FD_CLOEXEC) < 0)
		return fail_r(-errno, NULL, "cannot serve descriptor %u", (unsigned)v->fd);
	r = stores_open_resolve(v->data_dir, call->argv[0], &s, &opt.recording);
	if (r)
		return r;
	r = inspector_serve(s, &opt, (int)v->fd, &ei);
	return r < 0 ? fail_r(r, &ei, "cannot inspect recording %s", opt.recording.hex) : 0;
}

/* clang-format off */
static const struct opt opts[] = {
	{ .kind = OPT_UINT, .name = "fd", .arg = "N", .offset = offsetof(struct values, fd), .min = 0, .max = 65535, .preset = 3,
	  .help = "Socket on which requests come (3 without it)" },
	{ .kind = OPT_STRING, .name = "checkpoint-memory", .arg = "SIZE", .offset = offsetof(struct values, memory),
	  .help = "Memory that checkpoints may take" },
	{ .kind = OPT_STRING, .name = "debug-dir", .arg = "DIRS", .offset = offsetof(struct values, debug_dirs), .env = "HERMIT_DEBUG_DIRS",
	  .help = "Directories with debugging information, separated by colons (/usr/lib/debug without it)" },
	{ .kind = OPT_STRING, .name = "source-map", .arg = "FROM=TO", .offset = offsetof(struct values, source_map), .env = "HERMIT_SOURCE_MAP",
	  .help = "Read sources whose path begins with FROM from TO" },
	{ .kind = OPT_FLAG, .name = "debuginfod", .offset = offsetof(struct values, debuginfod),
	  .help = "Ask the servers of $DEBUGINFOD_URLS for debugging information" },
	OPT_DATA_DIR(struct values, data_dir),
	{ .kind = OPT_END_ },
};
/* clang-format on */

const struct cmd cmd_session_inspect = {
	.name = "session inspect",
	.summary = "Answer questions about a recording for hermitd",
	.usage = "[OPTIONS] ID",
	.about = "Holds the recording open and answers requests for stacks, registers, memory and sources.",
	.example = "    hermit session inspect\n",
	.opts = opts,
	.values_size = sizeof(struct values),
	.min_args = 1,
	.max_args = 1,
	.hidden = true,
	.run = run,
};
