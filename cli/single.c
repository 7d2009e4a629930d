/* Programs that have options and no commands: see single.h. */
#include "cli/single.h"

#include <errno.h>
#include <locale.h>
#include <signal.h>
#include <stdio.h>
#include "cli/fail.h"
#include "cli/term.h"
#include "cli/text.h"
#include "cli/version.h"

static void print_help(const struct single *p)
{
	text_wrap(stdout, p->about, 0, term_help_width());
	printf("\nUsage: %s [OPTIONS]\n\nOptions:\n", p->name);
	opt_print_help(stdout, p->opts, term_help_width());
	printf("\n%s", p->example);
}

static int usage_error(const struct single *p, const struct opt_fault *fault)
{
	fprintf(stderr, "%serror:%s %s\n", term_style(TERM_ERR, TERM_RED), term_style(TERM_ERR, TERM_PLAIN), fault->text);
	if (fault->tip[0])
		fprintf(stderr, "\n  tip: %s\n", fault->tip);
	fprintf(stderr, "\nFor more information, try '%s --help'.\n", p->name);
	return EXIT_USAGE;
}

int single_main(const struct single *p, int argc, char **argv)
{
	struct opt_args args = { 0 };
	struct opt_fault fault = { 0 };
	int r;

	term_guard_fds();
	signal(SIGCHLD, SIG_DFL); /* ignored by who started us, it would reap our children */
	setlocale(LC_CTYPE, "");
	term_init();
	r = opt_parse(p->opts, OPT_MIXED, argc - 1, argv + 1, p->values, &args, &fault);
	if (r >= 0 && r != 1 && args.n) {
		snprintf(fault.text, sizeof(fault.text), "unexpected argument '%.200s'", args.v[0]);
		r = -EINVAL;
	}
	if (r == -EINVAL) {
		r = usage_error(p, &fault);
	} else if (r < 0) {
		r = fail_memory();
	} else if (r > 0) {
		print_help(p);
		r = 0;
	} else if (*p->version) {
		version_print(stdout);
	} else {
		r = p->run(p->values);
	}
	opt_release(p->opts, p->values, &args);
	return r;
}
