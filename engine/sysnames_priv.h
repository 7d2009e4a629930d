/* Names of constants, from the tables in flags/. */
#ifndef ENGINE_SYSNAMES_PRIV_H
#define ENGINE_SYSNAMES_PRIV_H

#include "engine/syscall_priv.h"

struct sys_name {
	const char *name;
	uint64_t value;
	uint64_t mask; /* bits that belong to it; 0 for zero values outside of bit fields */
};

struct sys_name_table {
	const struct sys_name *names;
	size_t n;
};

/* Never NULL; empty for SYS_NAMES_NONE and for numbers that are no table. */
const struct sys_name_table *sys_name_table(enum sys_names table);
/* The name of exactly this value; NULL when there is none. */
const char *sys_name_of(enum sys_names table, uint64_t value);
/* "A|B|0x100", "0". */
void sys_names_put_flags(struct buf *out, enum sys_names table, uint64_t value);

#endif
