/* hermit help [COMMAND...]: the same as --help. */
#include "cli/cmd.h"

static int run(const struct cmd_call *call)
{
	struct nearest near;
	const struct cmd *c = NULL;
	int used;

	if (call->argc) {
		c = cmd_find(call->argc, call->argv, &used, &near);
		if (!c || used < call->argc)
			return cmd_usage(NULL, "there is no help about '%.200s'", call->argv[c ? used : 0]);
	}
	cmd_print_help(stdout, c);
	return 0;
}

const struct cmd cmd_help = {
	.name = "help",
	.summary = "Explain a command",
	.usage = "[COMMAND]...",
	.about = "Explains a command, as its --help does; without one, what there is.",
	.example = "    hermit help record show\n",
	.max_args = 2,
	.run = run,
};
