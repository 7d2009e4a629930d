/* hermit record stop: ends a program that is being recorded, or its recording. Works with any recorder of the user. */
#include <errno.h>
#include <signal.h>
#include "base/os.h"
#include "cli/cmd.h"
#include "cli/fail.h"
#include "cli/follow.h"
#include "cli/stores.h"
#include "store/live.h"

#define WAIT_S 10

struct values {
	const char *data_dir;
	bool kill, cut;
};

static int is_late(void *ctx)
{
	const uint64_t *until = ctx;

	return os_mono_ns() > *until;
}

static int ask(struct store *s, const struct store_id *id, const struct values *v)
{
	if (v->cut)
		return store_ask(s, id, "cut ended by 'hermit record stop --cut'");
	return v->kill ? store_ask(s, id, "kill") : store_ask(s, id, "signal %d", SIGTERM);
}

static int run(const struct cmd_call *call)
{
	const struct values *v = call->values;
	struct store *s CLEANUP(store_freep) = NULL;
	uint64_t until = os_mono_ns() + WAIT_S * 1000000000ull;
	struct store_id id;
	int r = stores_open_resolve_live(v->data_dir, call->argv[0], &s, &id);

	if (r)
		return r;
	r = ask(s, &id, v);
	if (r == -ESRCH) {
		fail(EXIT_INTERNAL, "recording %s has ended already", id.hex);
		fail_cause("'hermit record list' shows what is being recorded");
		return EXIT_INTERNAL;
	}
	if (r < 0)
		return fail_r(r, NULL, "cannot ask the recorder of %s", id.hex);
	r = follow_run(&(struct follow){ .store = s, .id = id, .to_the_end = true, .idle = is_late, .ctx = &until });
	if (r >= 0)
		return r;
	fail(EXIT_INTERNAL, "recording %s goes on", id.hex);
	fail_cause(v->kill || v->cut ? "its recorder did not do as it was asked within %d seconds" :
				       "not all of the program's processes ended within %d seconds of SIGTERM; --kill does not ask them",
		   WAIT_S);
	return EXIT_INTERNAL;
}

/* clang-format off */
static const struct opt opts[] = {
	{ .kind = OPT_FLAG, .name = "kill", .offset = offsetof(struct values, kill), .conflicts = "cut",
	  .help = "Kill all processes of the program (SIGKILL) instead of asking the first one to end (SIGTERM)" },
	{ .kind = OPT_FLAG, .name = "cut", .offset = offsetof(struct values, cut),
	  .help = "End the recording where it is, and the program with it: it is kept as truncated" },
	OPT_DATA_DIR(struct values, data_dir),
	{ .kind = OPT_END_ },
};
/* clang-format on */

const struct cmd cmd_record_stop = {
	.name = "record stop",
	.summary = "End a program that is being recorded",
	.usage = "[OPTIONS] [ID]",
	.about = "Asks the program to end (SIGTERM to its first process) and waits up to ten seconds until the recording has ended. It makes no difference who records: "
		 "hermitd, or 'hermit record' in another terminal.",
	.example = "    hermit record stop server\n"
		   "    hermit record stop --kill 6ba7\n",
	.opts = opts,
	.values_size = sizeof(struct values),
	.max_args = 1,
	.run = run,
};
