/* hermit record logs: what the recorded program has printed, also while it runs. */
#include <string.h>
#include "cli/cmd.h"
#include "cli/follow.h"
#include "cli/stores.h"

struct values {
	const char *data_dir;
	bool follow;
};

static int run(const struct cmd_call *call)
{
	const struct values *v = call->values;
	struct store *s CLEANUP(store_freep) = NULL;
	struct store_id id;
	int r = stores_open_resolve_live(v->data_dir, call->argv[0], &s, &id);

	return r ? r : follow_run(&(struct follow){ .store = s, .id = id, .output = true, .to_the_end = v->follow });
}

static const struct opt opts[] = {
	{ .kind = OPT_FLAG, .letter = 'f', .name = "follow", .offset = offsetof(struct values, follow),
	  .help = "Wait for more until the recording ends" },
	OPT_DATA_DIR(struct values, data_dir),
	{ .kind = OPT_END_ },
};

const struct cmd cmd_record_logs = {
	.name = "record logs",
	.summary = "Print what a recorded program has printed",
	.usage = "[OPTIONS] [ID]",
	.about = "Prints what the program wrote to its standard output and error, from the recording, without replaying it; of one that is being recorded, what "
		 "it has written so far. Recordings of before format 1.2 hold no output: replay them with --autopilot.",
	.example = "    hermit record logs -f server\n",
	.opts = opts,
	.values_size = sizeof(struct values),
	.max_args = 1,
	.run = run,
};
