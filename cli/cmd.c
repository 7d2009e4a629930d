/* The table of commands, finding one in it, and all help texts. Nothing here knows what a command does. */
#include "cli/cmd.h"

#include <stdarg.h>
#include <string.h>
#include "cli/fail.h"
#include "cli/term.h"
#include "cli/text.h"

/* clang-format off */
const struct cmd *const cmd_table[] = {
	&cmd_record,
	&cmd_record_start,
	&cmd_record_list,
	&cmd_record_show,
	&cmd_record_rm,
	&cmd_record_clean,
	&cmd_record_attach,
	&cmd_record_logs,
	&cmd_record_stop,
	&cmd_record_wait,
	&cmd_record_verify,
	&cmd_record_seal,
	&cmd_record_export,
	&cmd_record_import,
	&cmd_replay,
	&cmd_backtrace,
	&cmd_events,
	&cmd_open,
	&cmd_coverage,
	&cmd_doctor,
	&cmd_version,
	&cmd_help,
	&cmd_complete,
	&cmd_session,
	&cmd_session_record,
	&cmd_session_job,
	&cmd_session_inspect,
	NULL,
};

const struct opt cmd_global_opts[] = {
	{ .kind = OPT_STRING, .letter = 'l', .name = "log", .arg = "LEVEL", .env = "HERMIT_LOG",
	  .offset = offsetof(struct cmd_globals, log),
	  .help = "What hermit tells about its own work: off, error, warn (default), info, debug or trace;"
		  " also by area, as in warn,engine:debug" },
	{ .kind = OPT_STRING, .name = "log-file", .arg = "FILE", .env = "HERMIT_LOG_FILE",
	  .offset = offsetof(struct cmd_globals, log_file),
	  .help = "Write that to FILE, which is emptied first, instead of stderr" },
	{ .kind = OPT_FLAG, .letter = 'V', .name = "version",
	  .offset = offsetof(struct cmd_globals, version),
	  .help = "Print the version" },
	{ .kind = OPT_END_ },
};
/* clang-format on */

static const struct opt no_opts[] = { { .kind = OPT_END_ } };

/* --- finding --- */

const char *cmd_word(const struct cmd *c)
{
	const char *space = strrchr(c->name, ' ');

	return space ? space + 1 : c->name;
}

bool cmd_within(const struct cmd *c, const struct cmd *group)
{
	size_t n = strlen(group->name);

	return !strncmp(c->name, group->name, n) && c->name[n] == ' ';
}

static bool is_top(const struct cmd *c)
{
	return !strchr(c->name, ' ');
}

static const struct cmd *find_top(const char *word, struct nearest *near)
{
	for (size_t i = 0; cmd_table[i]; i++) {
		const struct cmd *c = cmd_table[i];

		if (!is_top(c))
			continue;
		if (!strcmp(c->name, word))
			return c;
		if (!c->hidden)
			nearest_try(near, c->name);
	}
	return NULL;
}

static const struct cmd *find_within(const struct cmd *group, const char *word)
{
	for (size_t i = 0; cmd_table[i]; i++) {
		const struct cmd *c = cmd_table[i];

		if (cmd_within(c, group) && (!strcmp(cmd_word(c), word) || (c->alias && !strcmp(c->alias, word))))
			return c;
	}
	return NULL;
}

static const struct cmd *find_default(const struct cmd *group)
{
	for (size_t i = 0; cmd_table[i]; i++)
		if (cmd_within(cmd_table[i], group) && cmd_table[i]->is_default)
			return cmd_table[i];
	return NULL;
}

const struct cmd *cmd_find(int argc, char **argv, int *ret_used, struct nearest *near)
{
	const struct cmd *c, *sub;

	nearest_init(near, argc ? argv[0] : "");
	c = argc ? find_top(argv[0], near) : NULL;
	*ret_used = c ? 1 : 0;
	/* "hermit record" alone and "hermit record --help" mean the group, all else one of its commands */
	if (!c || c->run || argc < 2 || !strcmp(argv[1], "--help") || !strcmp(argv[1], "-h"))
		return c;
	sub = find_within(c, argv[1]);
	if (sub)
		*ret_used = 2;
	return sub ? sub : find_default(c);
}

/* --- help --- */

static const char *bold(FILE *f)
{
	return term_style(f == stdout ? TERM_OUT : TERM_ERR, TERM_BOLD);
}

static const char *plain(FILE *f)
{
	return term_style(f == stdout ? TERM_OUT : TERM_ERR, TERM_PLAIN);
}

static void print_heading(FILE *f, const char *text)
{
	fprintf(f, "\n%s%s:%s\n", bold(f), text, plain(f));
}

/* Commands below a group; NULL = all that can be run. */
static void print_commands(FILE *f, const struct cmd *group)
{
	const unsigned indent = 18;

	print_heading(f, "Commands");
	for (size_t i = 0; cmd_table[i]; i++) {
		const struct cmd *c = cmd_table[i];

		if (c->hidden || !c->run || (group && !cmd_within(c, group)))
			continue;
		fprintf(f, "  %-*s", (int)indent - 2, c->name);
		text_wrap(f, c->summary, indent, term_help_width());
	}
}

static void print_usage(FILE *f, const struct cmd *c)
{
	fprintf(f, "%sUsage:%s hermit%s%s %s\n", bold(f), plain(f), c ? " " : "", c ? c->name : "",
		c ? c->usage : "[OPTIONS] COMMAND [ARGS]...");
}

static void print_hermit_help(FILE *f)
{
	text_wrap(f,
		  "hermit records a program while it runs, with all processes it starts, and gives the same execution back as often "
		  "as wanted: same output, same results of every system call, without touching files or network again.",
		  0, term_help_width());
	fputc('\n', f);
	print_usage(f, NULL);
	print_commands(f, NULL);
	print_heading(f, "Options");
	opt_print_help(f, cmd_global_opts, term_help_width());
	print_heading(f, "Example");
	fputs("    hermit record -- ls -l         # runs 'ls -l' and records it\n"
	      "    hermit replay                  # gdb on it, forwards and backwards\n"
	      "    hermit replay --autopilot      # the same output, from the recording\n"
	      "    hermit record list             # what there is\n",
	      f);
	fputs("\n'hermit COMMAND --help' explains a command, 'hermit doctor' what this machine offers.\n", f);
}

void cmd_print_help(FILE *f, const struct cmd *c)
{
	const struct cmd *def = c ? find_default(c) : NULL;

	if (!c) {
		print_hermit_help(f);
		return;
	}
	text_wrap(f, c->about, 0, term_help_width());
	fputc('\n', f);
	print_usage(f, c);
	if (c->alias)
		fprintf(f, "       (or: hermit %.*s%s)\n", (int)(cmd_word(c) - c->name), c->name, c->alias);
	if (!c->run)
		print_commands(f, c);
	print_heading(f, "Options");
	opt_print_help(f, def ? def->opts : c->opts ? c->opts : no_opts, term_help_width());
	print_heading(f, "Example");
	fputs(c->example, f);
}

int cmd_usage_error(const struct cmd *c, const char *text, const char *tip)
{
	fprintf(stderr, "%serror:%s %s\n", term_style(TERM_ERR, TERM_RED), plain(stderr), text);
	if (tip[0])
		fprintf(stderr, "\n  tip: %s\n", tip);
	fputc('\n', stderr);
	print_usage(stderr, c);
	fprintf(stderr, "\nFor more information, try 'hermit%s%s --help'.\n", c ? " " : "", c ? c->name : "");
	return EXIT_USAGE;
}

int cmd_usage(const struct cmd *c, const char *fmt, ...)
{
	char text[1024];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	return cmd_usage_error(c, text, "");
}
