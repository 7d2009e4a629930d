/* Following a recording while it is made: its output, and its end. Reads the store alone. Functions that give an int return 0, or the exit code after the
 * failure was printed. */
#ifndef CLI_FOLLOW_H
#define CLI_FOLLOW_H

#include "store/store.h"

struct follow {
	struct store *store;
	struct store_id id;
	bool output;       /* print it: stdout and stderr of the program to ours */
	bool to_the_end;   /* wait until it has ended, else what there is */
	/* Called some times a second while it waits; a positive result ends that. NULL: nothing is done. */
	int (*idle)(void *ctx);
	void *ctx;
};

/* 0 when all is printed, and it has ended if that was asked for; -1: idle() wanted an end. */
int follow_run(const struct follow *f) MUST_CHECK;
/* The exit code that tells how the program ended; ends as it did. When it is not known (the recording was cut off) that is said. */
int follow_end(struct store *s, const struct store_id *id);

#endif
