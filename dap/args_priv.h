/* Arguments of requests as structs, by tables. Pure. */
#ifndef DAP_ARGS_PRIV_H
#define DAP_ARGS_PRIV_H

#include <stdbool.h>
#include <stddef.h>
#include "base/json.h"

enum arg_kind {
	ARG_STR,    /* const char *; absent: NULL */
	ARG_INT,    /* int64_t; absent: .def */
	ARG_BOOL,   /* bool */
	ARG_ARRAY,  /* json_t *; absent: NULL */
	ARG_OBJECT, /* json_t *; absent: NULL */
	ARG_ANY,    /* json_t *; absent: NULL */
};

struct arg {
	const char *name; /* NULL ends the table */
	enum arg_kind kind;
	size_t offset;
	bool required;
	int64_t def; /* of ARG_INT and ARG_BOOL */
};

/* One row: ARG(INT, struct continue_args, thread_id, "threadId", .required = true) */
#define ARG(kind_, type, member, name_, ...) { .name = (name_), .kind = ARG_##kind_, .offset = offsetof(type, member), __VA_ARGS__ }

/* Fills the struct at ret (all of it was zeroed); strings and JSON are borrowed from args, which may be NULL (no arguments). Unknown members are passed over, null
 * is absent. -EINVAL with "NAME: what is wrong" in ei. */
int args_decode(const struct arg *table, const json_t *args, void *ret, struct errinfo *ei) MUST_CHECK;

#endif
