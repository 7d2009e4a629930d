/* The frame of programs that have options and no commands: hermitd, hermit-dap. */
#ifndef CLI_SINGLE_H
#define CLI_SINGLE_H

#include <stdbool.h>
#include <stddef.h>
#include "cli/opt.h"

struct single {
	const char *name;
	const struct opt *opts;  /* fill values */
	void *values;            /* zeroed */
	const bool *version;     /* in values: print it and nothing else */
	const char *about, *example; /* of --help: before and behind the options */
	int (*run)(void *values); /* exit code */
};

/* Parses the command line and runs. Exit code. */
int single_main(const struct single *p, int argc, char **argv);

#endif
