/* hermit session: the group of commands that hermitd executes as its children. */
#include "cli/cmd.h"

const struct cmd cmd_session = {
	.name = "session",
	.summary = "Children of hermitd",
	.usage = "COMMAND ...",
	.about = "What hermitd executes; not for people.",
	.example = "    hermit session inspect\n",
	.hidden = true,
};
