/* The system call table and how a call becomes the row that describes it. Outputs and inputs of a call: outs.c. */
#include "engine/syscall.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include "engine/commands_priv.h"

/* clang-format off */
static const struct sys_row rows[SYS_TABLE_MAX] = {
#define SYS(cname, nr, cls, flags, ret, ...) [nr] = SYS_ROW_(#cname, cls, flags, ret, __VA_ARGS__),
#include "engine/syscalls.def"
#undef SYS
};

/* Never used: a number that has two rows is a duplicate enumerator here, and so is a name. */
enum {
#define SYS(cname, nr, ...) SYS_ROW_OF_NUMBER_##nr, SYS_ROW_OF_NAME_##cname,
#include "engine/syscalls.def"
#undef SYS
};
/* clang-format on */

/* Holes and numbers above the table: six arguments of which nothing is known. */
static const struct sys_row unknown_row = SYS_ROW_("?", REFUSE, 0, INT, A_HEX("arg1"), A_HEX("arg2"), A_HEX("arg3"), A_HEX("arg4"),
						   A_HEX("arg5"), A_HEX("arg6"));

const struct sys_row *sys_row(uint32_t nr)
{
	return nr < SYS_TABLE_MAX && rows[nr].name ? &rows[nr] : &unknown_row;
}

const char *sys_name(uint32_t nr, char buf[24])
{
	const struct sys_row *row = sys_row(nr);

	if (row != &unknown_row)
		return row->name;
	snprintf(buf, 24, "syscall_%u", nr);
	return buf;
}

int sys_number(const char *name)
{
	for (int nr = 0; nr < SYS_TABLE_MAX; nr++)
		if (rows[nr].name && !strcmp(rows[nr].name, name))
			return nr;
	return -ENOENT;
}

static void resolve_command(const struct sys_call *c, struct sys_resolved *ret)
{
	const struct sys_command *cmd = sys_command_find(c);

	if (cmd) {
		ret->row = &cmd->row;
		ret->command = cmd->name;
		ret->unknown = cmd->row.flags & SYS_F_UNKNOWN;
	} else if (c->nr == 16) {
		sys_ioctl_guess((uint32_t)c->args[1], ret);
	} else if (!sys_is_sockopt(c->nr)) {
		ret->unknown = true;
	}
}

void sys_resolve(const struct sys_call *c, struct sys_resolved *ret)
{
	ret->row = sys_row(c->nr);
	ret->command = "";
	ret->unknown = false;
	if (ret->row->flags & SYS_F_VARIES)
		resolve_command(c, ret);
}
