/* Names of constants, from the tables in flags/. */
#include "engine/sysnames_priv.h"

/* clang-format off */
#define TABLE(table) static const struct sys_name names_##table[] = {
#define V(cname, value) { #cname, (value), (value) },
#define M(cname, value, mask) { #cname, (value), (mask) },
#define END };
#include "engine/flags/error.def"
#include "engine/flags/file.def"
#include "engine/flags/ipc.def"
#include "engine/flags/mem.def"
#include "engine/flags/mount.def"
#include "engine/flags/net.def"
#include "engine/flags/poll.def"
#include "engine/flags/prctl.def"
#include "engine/flags/process.def"
#include "engine/flags/signal.def"
#include "engine/flags/time.def"
#undef TABLE
#undef V
#undef M
#undef END

static const struct sys_name_table tables[SYS_NAMES_MAX_] = {
#define NAMES(table) [SYS_NAMES_##table] = { names_##table, ARRAY_SIZE(names_##table) },
#include "engine/flags/tables.def"
#undef NAMES
};
/* clang-format on */

const struct sys_name_table *sys_name_table(enum sys_names table)
{
	return &tables[(unsigned int)table < SYS_NAMES_MAX_ ? table : SYS_NAMES_NONE];
}

const char *sys_name_of(enum sys_names table, uint64_t value)
{
	const struct sys_name_table *t = sys_name_table(table);

	for (size_t i = 0; i < t->n; i++)
		if (t->names[i].value == value)
			return t->names[i].name;
	return NULL;
}

void sys_names_put_flags(struct buf *out, enum sys_names table, uint64_t value)
{
	const struct sys_name_table *t = sys_name_table(table);
	const char *separator = "";
	uint64_t left = value, named = 0;

	for (size_t i = 0; i < t->n; i++) {
		const struct sys_name *e = &t->names[i];

		/* a zero field counts once; its bits cannot be named twice */
		if ((value & e->mask) != e->value || (named & e->mask) || (!e->mask && value))
			continue;
		buf_printf(out, "%s%s", separator, e->name);
		separator = "|";
		left &= ~e->mask;
		named |= e->mask;
	}
	if (left || !*separator)
		buf_printf(out, "%s%s%lx", separator, left ? "0x" : "", left);
}
