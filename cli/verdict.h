/* The verdict of record --verify, and its JSON line (--verify-json). */
#ifndef CLI_VERDICT_H
#define CLI_VERDICT_H

#include <jansson.h>
#include <stdbool.h>
#include "base/err.h"

enum verdict_kind { VERDICT_NO_RESULT, VERDICT_MATCHED, VERDICT_DIVERGED, VERDICT_MAX_ };

struct verdict {
	enum verdict_kind kind;
	const char *no_result;    /* why there is none: "not_run", "run_failed" */
	char message[1024];       /* more about that, "" = none */
	bool strict;              /* memory and inputs were compared as well */
	int status;               /* wait status of the recorded program, -1 = not known */
	uint64_t recorded, replayed; /* events */
	uint64_t record;          /* first event that differs, 0 = not known */
	uint64_t syscall;         /* system calls completed before it */
	char left[1024], right[1024]; /* what was recorded, what the replay did; "" = not known */
};

void verdict_init(struct verdict *v, bool strict);
/* The object as documented for --verify-json; NULL when out of memory. New reference. */
json_t *verdict_json(const struct verdict *v);
/* Writes it atomically to path. */
int verdict_save(const struct verdict *v, const char *path) MUST_CHECK;

#endif
