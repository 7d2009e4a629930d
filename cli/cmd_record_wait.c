/* hermit record wait: until a recording has ended; ends as the program did. */
#include "cli/cmd.h"
#include "cli/follow.h"
#include "cli/stores.h"

struct values {
	const char *data_dir;
};

static int run(const struct cmd_call *call)
{
	const struct values *v = call->values;
	struct store *s CLEANUP(store_freep) = NULL;
	struct store_id id;
	int r = stores_open_resolve_live(v->data_dir, call->argv[0], &s, &id);

	if (!r)
		r = follow_run(&(struct follow){ .store = s, .id = id, .to_the_end = true });
	return r ? r : follow_end(s, &id);
}

static const struct opt opts[] = {
	OPT_DATA_DIR(struct values, data_dir),
	{ .kind = OPT_END_ },
};

const struct cmd cmd_record_wait = {
	.name = "record wait",
	.summary = "Wait until a recording has ended",
	.usage = "[OPTIONS] [ID]",
	.about = "Waits until the recording has ended and ends as its program did: with its exit code, or by the signal that killed it; with 125 when that is not "
		 "known because the recording was cut off. For one that has ended already it does so at once.",
	.example = "    hermit record start -d --name check -- make check > check.log 2>&1\n"
		   "    hermit record wait check\n",
	.opts = opts,
	.values_size = sizeof(struct values),
	.max_args = 1,
	.run = run,
};
