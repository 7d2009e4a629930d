/* hermit complete WORD...: for completion/hermit.bash. Prints one candidate a line for what may follow the words, from the tables
 * that the parser itself uses, so that completion knows every option there is:
 *
 *     command NAME       a command, or a word of one
 *     option --NAME      an option; "option --NAME=" takes a value
 *     choice VALUE       the last word was an option with these values
 *     value file|dir|any the last word was an option with a value of that sort
 *     argument id|file|program   what the command's arguments are */
#include <assert.h>
#include <string.h>
#include "base/log.h"
#include "cli/cmd.h"
#include "engine/syscall.h"

/* Sorts of values by what help calls them. */
static const struct {
	const char *arg, *sort;
} sorts[] = {
	{ "FILE", "file" },
	{ "DIR", "dir" },
};

/* What the arguments of commands are; those with ids are the rule. */
static const struct {
	const struct cmd *cmd;
	const char *sort;
} arguments[] = {
	{ &cmd_record_start, "program" },
	{ &cmd_record_import, "file" },
	{ &cmd_help, "command" },
};

static void print_levels(void)
{
	static const char *const levels[] = { "off", "error", "warn", "info", "debug", "trace" };

	static_assert(ARRAY_SIZE(levels) == LOG_MAX_, "a name for each level");
	for (size_t i = 0; i < ARRAY_SIZE(levels); i++)
		printf("choice %s\n", levels[i]);
}

static void print_syscalls(void)
{
	for (uint32_t i = 0; i < SYS_TABLE_MAX; i++)
		if (sys_number(sys_row(i)->name) >= 0)
			printf("choice %s\n", sys_row(i)->name);
}

static void print_places(void)
{
	printf("choice end\nchoice crash\n");
}

/* Options with values that are known but not a fixed list of choices. */
static const struct {
	const char *name;
	void (*print)(void);
} values[] = {
	{ "goto", print_places },
	{ "log", print_levels },
	{ "syscall", print_syscalls },
};

static void print_value(const struct opt *o)
{
	const char *sort = "any";

	for (size_t i = 0; i < ARRAY_SIZE(values); i++) {
		if (strcmp(values[i].name, o->name) != 0)
			continue;
		values[i].print();
		return;
	}

	for (size_t i = 0; o->choices && o->choices[i]; i++)
		printf("choice %s\n", o->choices[i]);
	if (o->choices)
		return;
	for (size_t i = 0; i < ARRAY_SIZE(sorts); i++)
		if (!strcmp(sorts[i].arg, o->arg))
			sort = sorts[i].sort;
	printf("value %s\n", sort);
}

/* The option that the word is, if a value has to follow as the next word. */
static const struct opt *awaits_value(const struct opt *table, const char *word)
{
	for (const struct opt *o = table; o && o->kind; o++) {
		if (o->kind == OPT_FLAG || o->kind == OPT_UINT_IF)
			continue;
		if (!strncmp(word, "--", 2) ? !strcmp(word + 2, o->name) : word[0] == '-' && word[1] && word[1] == o->letter && !word[2])
			return o;
	}
	return NULL;
}

static void print_options(const struct opt *table)
{
	for (const struct opt *o = table; o && o->kind; o++)
		if (!o->hidden)
			printf("option --%s%s\n", o->name, o->kind == OPT_FLAG || o->kind == OPT_UINT_IF ? "" : "=");
	puts("option --help");
}

static void print_commands(const struct cmd *group)
{
	for (size_t i = 0; cmd_table[i]; i++) {
		const struct cmd *c = cmd_table[i];

		if (!c->hidden && (group ? cmd_within(c, group) : !strchr(c->name, ' ')))
			printf("command %s\n", cmd_word(c));
	}
}

static void print_arguments(const struct cmd *c)
{
	const char *sort = "id";

	if (!c->max_args)
		return;
	for (size_t i = 0; i < ARRAY_SIZE(arguments); i++)
		if (arguments[i].cmd == c)
			sort = arguments[i].sort;
	printf("argument %s\n", sort);
}

static int run(const struct cmd_call *call)
{
	struct nearest near;
	const struct cmd *c;
	const struct opt *table, *o;
	int used;

	c = cmd_find(call->argc, call->argv, &used, &near);
	table = c ? c->opts : cmd_global_opts;
	if (c == &cmd_record)
		table = cmd_record_start.opts;
	o = call->argc > used ? awaits_value(table, call->argv[call->argc - 1]) : NULL;
	if (o) {
		print_value(o);
		return 0;
	}
	if (!c || !c->run)
		print_commands(c);
	print_options(table);
	if (c)
		print_arguments(c);
	return 0;
}

const struct cmd cmd_complete = {
	.name = "complete",
	.summary = "Candidates for the completion of shells",
	.usage = "-- WORD...",
	.about = "Prints what may follow the words, one candidate a line, for the completion of shells.",
	.example = "    hermit complete -- record list\n",
	.mode = OPT_GUEST,
	.max_args = CMD_ARGS_ANY,
	.hidden = true,
	.run = run,
};
