/* cli/cmd: which words name which command; the tables are sound. */
#include "cli/cmd.h"

#include <stdio.h>
#include <string.h>
#include "tests/unit/test.h"

static const struct cmd *find(int *ret_used, const char *const words[])
{
	static char *argv[8];
	struct nearest near;
	int n = 0;

	for (; words[n]; n++)
		argv[n] = (char *)(uintptr_t)words[n];
	return cmd_find(n, argv, ret_used, &near);
}

#define FIND(...) find(&used, (const char *const[]){ __VA_ARGS__, NULL })

START_TEST(finding)
{
	int used;

	ck_assert_ptr_eq(FIND("replay", "x"), &cmd_replay);
	ck_assert_int_eq(used, 1);
	ck_assert_ptr_eq(FIND("record", "list"), &cmd_record_list);
	ck_assert_int_eq(used, 2);
	ck_assert_ptr_eq(FIND("record", "ls", "--json"), &cmd_record_list);
	ck_assert_ptr_eq(FIND("record", "remove", "x"), &cmd_record_rm);
	ck_assert_ptr_eq(FIND("record", "start", "--", "ls"), &cmd_record_start);
	ck_assert_int_eq(used, 2);
	ck_assert_ptr_eq(FIND("record", "--", "list"), &cmd_record_start);
	ck_assert_int_eq(used, 1);
	ck_assert_ptr_eq(FIND("record", "--data-dir=x", "ls"), &cmd_record_start);
	ck_assert_ptr_eq(FIND("record", "/bin/ls"), &cmd_record_start);
	ck_assert_ptr_eq(FIND("record", "--help"), &cmd_record);
	ck_assert_ptr_eq(FIND("record"), &cmd_record);
	ck_assert_ptr_null(FIND("recording"));
	ck_assert_int_eq(used, 0);
	ck_assert_ptr_null(FIND("record list"));
}
END_TEST

/* What the parser and the help take for granted. */
static void check_table(const struct cmd *c, const struct opt *o)
{
	unsigned n = 0;

	for (; o && o->kind; o++) {
		n++;
		ck_assert_msg(o->name && o->help, "%s: option without name or help", c->name);
		ck_assert_msg(o->kind == OPT_FLAG || o->arg, "%s --%s: no word for its value", c->name, o->name);
		ck_assert_msg(o->offset < c->values_size, "%s --%s: stored outside of the values", c->name, o->name);
		ck_assert_msg(o->kind != OPT_ENUM || o->choices, "%s --%s: no choices", c->name, o->name);
		ck_assert_msg(!o->needs || opt_find(c->opts, o->needs), "%s --%s needs an unknown option", c->name, o->name);
		ck_assert_msg(!o->conflicts || opt_find(c->opts, o->conflicts), "%s --%s: unknown conflict", c->name, o->name);
		for (const struct opt *p = c->opts; p < o; p++) {
			ck_assert_msg(strcmp(p->name, o->name) != 0, "%s --%s twice", c->name, o->name);
			ck_assert_msg(!o->letter || p->letter != o->letter, "%s -%c twice", c->name, o->letter);
		}
	}
	ck_assert_uint_le(n, OPTS_MAX);
}

START_TEST(tables)
{
	for (size_t i = 0; cmd_table[i]; i++) {
		const struct cmd *c = cmd_table[i];

		ck_assert_msg(c->summary && c->usage && c->about && c->example, "%s lacks a text", c->name);
		ck_assert_int_le(c->min_args, c->max_args);
		ck_assert_msg(!strncmp(c->example, "    hermit ", 11), "%s: example is no command", c->name);
		check_table(c, c->opts);
	}
}
END_TEST

TEST_MAIN("cli_cmd", finding, tables)
