/* hermit: one program, many commands. Global options, logging, then the command's row of cmd_table does the rest. */
#include <errno.h>
#include <fcntl.h>
#include <locale.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "base/log.h"
#include "base/os.h"
#include "cli/cmd.h"
#include "cli/fail.h"
#include "cli/term.h"
#include "cli/version.h"

/* The descriptor stays open to the end of the process. */
static int open_log_file(const char *path)
{
	int fd = os_open(path, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW, 0666);

	if (fd < 0) {
		fail(EXIT_INTERNAL, "cannot write the log file %s", path);
		fail_cause("%s", fd == -ELOOP ? "it is a symbolic link, which is not followed" : err_str(fd));
		return EXIT_INTERNAL;
	}
	log_set_fd(fd);
	return 0;
}

static int set_up_log(const struct cmd_globals *g)
{
	if (log_set_filter(g->log) < 0) {
		char text[300];

		snprintf(text, sizeof(text), "invalid value '%.200s' for '--log <LEVEL>'", g->log);
		return cmd_usage_error(NULL, text,
				       "levels are off, error, warn, info, debug, trace; by area: warn,engine:debug");
	}
	return g->log_file ? open_log_file(g->log_file) : 0;
}

/* Is stdout a pipe that nobody reads any more? */
static bool nobody_reads(void)
{
	struct pollfd p = { .fd = STDOUT_FILENO, .events = POLLOUT };

	return poll(&p, 1, 0) > 0 && (p.revents & POLLERR);
}

/* What was printed has to have arrived; nobody listening any more is not worth a word. */
static int finish_output(int code)
{
	int error = 0;

	if (fflush(stdout))
		error = errno;
	else if (ferror(stdout)) /* an earlier write failed; stdio has forgotten why */
		error = nobody_reads() ? EPIPE : EIO;
	if (!error)
		return code;
	if (error == EPIPE)
		return EXIT_SIGNALED + SIGPIPE;
	fail(EXIT_INTERNAL, "cannot write to standard output");
	fail_cause("%s", strerror(error));
	return EXIT_INTERNAL;
}

static int check_args(const struct cmd_call *call)
{
	const struct cmd *c = call->cmd;

	if (call->argc > c->max_args)
		return cmd_usage(c, "unexpected argument '%.200s'", call->argv[c->max_args]);
	if (call->argc >= c->min_args)
		return 0;
	if (c->mode == OPT_GUEST)
		return cmd_usage_error(c, "no program to record was given", "write it after '--': hermit record -- ls -l");
	return cmd_usage(c, "an argument is missing");
}

/* A global option in the wrong place is a frequent slip: say where it belongs. */
static void explain_global(struct opt_fault *fault, int argc, char **argv)
{
	for (int i = 0; i < argc && strcmp(argv[i], "--"); i++) {
		for (const struct opt *o = cmd_global_opts; o->kind; o++) {
			size_t n = strlen(o->name);

			if (!strncmp(argv[i], "--", 2) && !strncmp(argv[i] + 2, o->name, n) &&
			    strchr("=", argv[i][2 + n]) && strstr(fault->text, o->name))
				snprintf(fault->tip, sizeof(fault->tip),
					 "'--%s' is a global option and must come before the command: hermit --%s ...",
					 o->name, o->name);
		}
	}
}

static int run_command(const struct cmd *c, bool implied, int argc, char **argv)
{
	static const struct opt none[] = { { .kind = OPT_END_ } };
	const struct opt *table = c->opts ? c->opts : none;
	void *values = calloc(1, c->values_size ? c->values_size : 1);
	struct opt_args args = { 0 };
	struct opt_fault fault;
	int r;

	if (!values)
		return fail_memory();
	r = opt_parse(table, c->mode, argc, argv, values, &args, &fault);
	if (r > 0) {
		cmd_print_help(stdout, c);
		r = 0;
	} else if (r == -EINVAL) {
		explain_global(&fault, argc, argv);
		r = cmd_usage_error(c, fault.text, fault.tip);
	} else if (r < 0) {
		r = fail_memory();
	} else {
		struct cmd_call call = { .cmd = c, .values = values, .argc = args.n, .argv = args.v,
					 .dashes = args.dashes, .implied = implied };

		r = check_args(&call);
		r = r ? r : c->run(&call);
	}
	opt_release(table, values, &args);
	free(values);
	return r;
}

static int unknown_command(const char *word, const struct nearest *near)
{
	char text[256], tip[128] = "";

	snprintf(text, sizeof(text), "unknown command '%.200s'", word);
	if (near->found)
		snprintf(tip, sizeof(tip), "a similar command exists: '%s'", near->found);
	return cmd_usage_error(NULL, text, tip);
}

/* argv begins with the command's name. */
static int dispatch(int argc, char **argv)
{
	struct nearest near;
	const struct cmd *c;
	int used;

	if (!argc) {
		cmd_print_help(stderr, NULL);
		return EXIT_USAGE;
	}
	c = cmd_find(argc, argv, &used, &near);
	if (!c)
		return unknown_command(argv[0], &near);
	if (!c->run) {
		cmd_print_help(argc > 1 ? stdout : stderr, c);
		return argc > 1 ? 0 : EXIT_USAGE;
	}
	return run_command(c, used == 1 && strchr(c->name, ' '), argc - used, argv + used);
}

int main(int argc, char **argv)
{
	struct cmd_globals globals = { 0 };
	struct opt_args args = { 0 };
	struct opt_fault fault;
	int r;

	term_guard_fds();
	setlocale(LC_CTYPE, "");
	term_init();
	r = opt_parse(cmd_global_opts, OPT_GUEST, argc - 1, argv + 1, &globals, &args, &fault);
	if (r == -EINVAL) {
		r = cmd_usage_error(NULL, fault.text, fault.tip);
	} else if (r < 0) {
		r = fail_memory();
	} else if (r > 0) {
		cmd_print_help(stdout, NULL);
		r = 0;
	} else if (globals.version) {
		version_print(stdout);
	} else {
		r = set_up_log(&globals);
		r = r ? r : dispatch(args.n, args.v);
	}
	opt_release(cmd_global_opts, &globals, &args);
	return finish_output(r);
}
