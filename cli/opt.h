/* Command line options from tables: one row per option, stored into a command's options struct by offset.
 *
 * Accepted forms: --name VALUE, --name=VALUE, -n VALUE, -nVALUE, -n=VALUE, clusters of flags (-ab), "--" before arguments.
 * With OPT_GUEST everything from the first argument on belongs to the guest, options included.
 * The parser neither prints nor exits: faults come back as text. */
#ifndef CLI_OPT_H
#define CLI_OPT_H

#include <stdbool.h>
#include <stdio.h>
#include "base/err.h"

enum opt_kind {
	OPT_END_,    /* ends a table */
	OPT_FLAG,    /* bool */
	OPT_STRING,  /* const char *, borrowed from argv or the environment; NULL when not given */
	OPT_LIST,    /* struct opt_list: may be repeated */
	OPT_UINT,    /* uint64_t within min..max; `preset` when not given */
	OPT_UINT_IF, /* uint64_t: 0 when not given, `preset` for the bare option; a value only after '=' */
	OPT_ENUM,    /* int: index into choices; `preset` when not given */
};

struct opt {
	enum opt_kind kind;
	char letter;                /* 0 = none */
	bool hidden;                /* accepted, not in help and completion */
	const char *name;           /* without dashes */
	const char *arg;            /* what the value is called: "DIR" */
	const char *help;
	size_t offset;              /* in the options struct */
	const char *const *choices; /* OPT_ENUM: NULL-terminated */
	uint64_t min, max, preset;
	const char *env;            /* OPT_STRING: environment variable that gives the default */
	const char *needs;          /* name of an option that must be given as well */
	const char *conflicts;      /* name of an option that must not be given as well */
};

#define OPTS_MAX 32 /* rows of one table */

struct opt_list {
	const char **v; /* owned array of borrowed strings */
	size_t n;
};

enum opt_mode {
	OPT_MIXED, /* options and arguments in any order */
	OPT_GUEST, /* the first argument ends the options */
};

struct opt_args {
	char **v; /* arguments, NULL-terminated; owned array of borrowed strings */
	int n;
	bool dashes; /* they were introduced by "--" */
};

/* Why a command line was refused. tip: what was probably meant, "" for none. */
struct opt_fault {
	char text[512];
	char tip[256];
};

/* Parses argv[0..argc-1] (without the command's own name) into values, which must be zeroed, and the arguments into ret.
 * 0; 1 when -h or --help was met; -EINVAL with fault; -ENOMEM. opt_release() is due after any outcome. */
int opt_parse(const struct opt *table, enum opt_mode mode, int argc, char **argv, void *values, struct opt_args *ret,
	      struct opt_fault *fault) MUST_CHECK;
/* Frees what opt_parse() allocated. NULL-safe for args. */
void opt_release(const struct opt *table, void *values, struct opt_args *args);
/* Prints the table as help: "  -e, --env <NAME[=VALUE]>  text", wrapped at `width` columns. */
void opt_print_help(FILE *f, const struct opt *table, unsigned width);
/* Looks up a row by its long name; NULL. */
const struct opt *opt_find(const struct opt *table, const char *name);

/* --- "did you mean" --- */
struct nearest {
	const char *word;  /* what was typed */
	const char *found; /* best candidate so far, NULL when none is near */
	unsigned distance;
};
void nearest_init(struct nearest *n, const char *word);
/* Considers a candidate (borrowed). */
void nearest_try(struct nearest *n, const char *candidate);

#endif
