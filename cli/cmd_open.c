/* hermit open: the page of hermitd, logged in. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include "base/json.h"
#include "base/log.h"
#include "base/os.h"
#include "base/proc.h"
#include "cli/cmd.h"
#include "cli/daemons.h"
#include "cli/fail.h"
#include "cli/stores.h"

struct values {
	const char *data_dir;
	bool print;
};

static bool has_desktop(void)
{
	const char *x = getenv("DISPLAY"), *wayland = getenv("WAYLAND_DISPLAY");

	return (x && *x) || (wayland && *wayland);
}

/* The browser lives on; whoever starts it here need not wait. */
static void show(const char *url)
{
	const char *const argv[] = { "xdg-open", url, NULL };
	int null CLEANUP(closep) = os_open("/dev/null", O_RDWR, 0);
	const struct proc_fd fds[] = { { null, 0 }, { null, 1 }, { null, 2 } };
	struct proc p = PROC_NONE;
	int r = null < 0 ? null : proc_spawn(&(struct proc_options){ .argv = argv, .fds = fds, .n_fds = ARRAY_SIZE(fds), .new_group = true }, &p);

	if (r < 0)
		log_debug("xdg-open: %s", err_str(r));
	closep(&p.pidfd);
}

static int run(const struct cmd_call *call)
{
	const struct values *v = call->values;
	json_t *ask CLEANUP(jsonx_unrefp) = json_pack("{ss}", "ask", "login"), *reply CLEANUP(jsonx_unrefp) = NULL;
	struct store *s CLEANUP(store_freep) = NULL;
	char *place CLEANUP(freep) = NULL;
	int sock CLEANUP(closep) = -1;
	struct store_id id;
	const char *url;
	int r = stores_open(v->data_dir, true, &s);

	if (!r && call->argc)
		r = stores_resolve(s, call->argv[0], &id);
	if (!r)
		r = daemons_connect(s, &sock);
	if (!r)
		r = ask ? daemons_ask(sock, ask, NULL, 0, "there is no page to open", &reply) : fail_memory();
	if (r)
		return r;
	if (jsonx_get_str(reply, "url", &url) < 0)
		return fail_r(ERR_PROTOCOL, NULL, "hermitd gave no answer that makes sense");
	place = call->argc ? os_asprintf("%s#/r/%s", url, id.hex) : os_strdup(url);
	if (!place)
		return fail_memory();
	printf("%s\n", place);
	if (!v->print && has_desktop())
		show(place);
	return 0;
}

static const struct opt opts[] = {
	{ .kind = OPT_FLAG, .letter = 'p', .name = "print", .offset = offsetof(struct values, print),
	  .help = "Only print the link" },
	OPT_DATA_DIR(struct values, data_dir),
	{ .kind = OPT_END_ },
};

const struct cmd cmd_open = {
	.name = "open",
	.summary = "Open the page of hermitd in a browser",
	.usage = "[OPTIONS] [ID]",
	.about = "Prints a link that logs a browser in to the page of this user's hermitd, which is started if there is none, and opens it where there is a desktop. The link works "
		 "once, within a minute. With ID it leads to that recording.",
	.example = "    hermit open\n"
		   "    hermit open last\n",
	.opts = opts,
	.values_size = sizeof(struct values),
	.max_args = 1,
	.run = run,
};
