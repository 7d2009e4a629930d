/* hermit record attach: as if the recorded program ran in the foreground: its output, its signals, its end. */
#include <errno.h>
#include <signal.h>
#include "base/log.h"
#include "cli/cmd.h"
#include "cli/follow.h"
#include "cli/stores.h"
#include "store/live.h"

struct values {
	const char *data_dir;
};

static const int passed_on[] = { SIGINT, SIGTERM, SIGQUIT, SIGHUP, SIGUSR1, SIGUSR2, SIGWINCH };
static volatile sig_atomic_t got[NSIG];

static void on_signal(int signo)
{
	got[signo] = 1;
}

static void take_signals(void)
{
	struct sigaction sa = { .sa_handler = on_signal, .sa_flags = SA_RESTART }, old;

	sigemptyset(&sa.sa_mask);
	for (size_t i = 0; i < ARRAY_SIZE(passed_on); i++)
		/* nohup and shells without job control ignore some: they stay ignored */
		if (sigaction(passed_on[i], NULL, &old) == 0 && old.sa_handler != SIG_IGN)
			sigaction(passed_on[i], &sa, NULL);
}

static int pass_on(void *ctx)
{
	const struct follow *f = ctx;

	for (size_t i = 0; i < ARRAY_SIZE(passed_on); i++) {
		int signo = passed_on[i], r;

		if (!got[signo])
			continue;
		got[signo] = 0;
		r = store_ask(f->store, &f->id, "signal %d", signo);
		if (r < 0)
			log_debug("signal %d: %s", signo, err_str(r));
	}
	return 0;
}

static int run(const struct cmd_call *call)
{
	const struct values *v = call->values;
	struct store *s CLEANUP(store_freep) = NULL;
	struct follow f = { .output = true, .to_the_end = true, .idle = pass_on, .ctx = &f };
	int r = stores_open_resolve_live(v->data_dir, call->argv[0], &s, &f.id);

	if (r)
		return r;
	f.store = s;
	take_signals();
	r = follow_run(&f);
	return r ? r : follow_end(s, &f.id);
}

static const struct opt opts[] = {
	OPT_DATA_DIR(struct values, data_dir),
	{ .kind = OPT_END_ },
};

const struct cmd cmd_record_attach = {
	.name = "record attach",
	.summary = "Follow a program that is being recorded, as if it ran here",
	.usage = "[OPTIONS] [ID]",
	.about = "Prints the output of the program from its start on, passes SIGINT, SIGTERM, SIGQUIT, SIGHUP, SIGUSR1, SIGUSR2 and SIGWINCH on to it, and ends as it "
		 "does. Ctrl-C therefore interrupts the program; to look without touching use 'hermit record logs -f'.",
	.example = "    hermit record attach server\n",
	.opts = opts,
	.values_size = sizeof(struct values),
	.max_args = 1,
	.run = run,
};
