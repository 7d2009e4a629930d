/* A command of hermit: one row of data and one function, each in its own file cli/cmd_*.c.
 *
 * main.c finds the command, parses its options by its table and calls run(). To add one: write the file, list it in
 * cmd_table.c and in Makemodule.am; help, "did you mean" and bash completion follow from the table. */
#ifndef CLI_CMD_H
#define CLI_CMD_H

#include "cli/opt.h"

#define CMD_ARGS_ANY INT32_MAX

/* What run() gets. */
struct cmd_call {
	const struct cmd *cmd;
	const void *values; /* the command's options struct */
	int argc;           /* arguments without options */
	char **argv;        /* NULL-terminated */
	bool dashes;        /* arguments were introduced by "--" */
	bool implied;       /* the command's last word was left out (hermit record PROGRAM) */
};

struct cmd {
	const char *name;        /* words after "hermit": "record start" */
	const char *alias;       /* another last word: "ls"; NULL */
	const char *summary;     /* one line for the list of commands */
	const char *usage;       /* what follows the name: "[OPTIONS] -- PROGRAM [ARGS]..." */
	const char *about;       /* some sentences for --help */
	const char *example;     /* shell lines, each indented by four blanks */
	const struct opt *opts;  /* NULL: none */
	size_t values_size;      /* of the options struct */
	enum opt_mode mode;
	int min_args, max_args;
	bool hidden;
	bool is_default;         /* stands for its group when the last word is none of the group: record PROGRAM */
	int (*run)(const struct cmd_call *call); /* exit code, or the end of the process; NULL for a mere group ("record") */
};

extern const struct cmd
	cmd_backtrace,
	cmd_complete,
	cmd_coverage,
	cmd_doctor,
	cmd_events,
	cmd_help,
	cmd_open,
	cmd_record,
	cmd_record_attach,
	cmd_record_clean,
	cmd_record_export,
	cmd_record_import,
	cmd_record_list,
	cmd_record_logs,
	cmd_record_rm,
	cmd_record_seal,
	cmd_record_show,
	cmd_record_start,
	cmd_record_stop,
	cmd_record_verify,
	cmd_record_wait,
	cmd_replay,
	cmd_session,
	cmd_session_inspect, cmd_session_job,
	cmd_session_record,
	cmd_version;

/* All commands, in the order of help; NULL-terminated. */
extern const struct cmd *const cmd_table[];
/* Options before the command. */
struct cmd_globals {
	const char *log, *log_file;
	bool version;
};
extern const struct opt cmd_global_opts[];

/* Finds the command that the words name (argc of them, the options behind included); *ret_used words belong to its name.
 * A group is found only when no command of it fits and it has no default one. NULL: unknown; near is what was probably meant. */
const struct cmd *cmd_find(int argc, char **argv, int *ret_used, struct nearest *near);
/* Is c within the group ("record start" is within "record")? */
bool cmd_within(const struct cmd *c, const struct cmd *group);
/* The last word of its name. */
const char *cmd_word(const struct cmd *c);
/* Prints the help of a command or group to stdout; NULL = of hermit. */
void cmd_print_help(FILE *f, const struct cmd *c);
/* Reports a usage error on stderr: text, tip (may be ""), usage, where help is. Returns EXIT_USAGE. */
int cmd_usage_error(const struct cmd *c, const char *text, const char *tip);
/* The same with a formatted text and no tip. */
int cmd_usage(const struct cmd *c, const char *fmt, ...) PRINTF_LIKE(2, 3);

#endif
