/* dap/mi_parse: gdb's output lines, as 13.1 writes them. dap/mi: a gdb that answers, refuses, ends. Without gdb on this machine the live tests say so. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include "base/os.h"
#include "dap/mi_priv.h"
#include "tests/unit/test.h"

static bool have_gdb(void)
{
	if (access("/usr/bin/gdb", X_OK) == 0 || system("command -v gdb >/dev/null") == 0)
		return true;
	printf("skipped: there is no gdb\n");
	return false;
}

static const char *const gdb_argv[] = { "gdb", "-q", "-nx", "--interpreter=mi3", NULL };

static struct mi *start(const struct mi_options *opt)
{
	struct errinfo ei = { 0 };
	struct mi *m = NULL;

	ck_assert_msg(mi_start(opt, &m, &ei) == 0, "%s", ei.text);
	return m;
}

START_TEST(live_commands)
{
	struct mi_options opt = { .argv = gdb_argv };
	CLEANUP(buf_done) struct buf out = { 0 };
	CLEANUP(jsonx_unrefp) json_t *v = NULL;
	struct errinfo ei = { 0 };
	struct mi *m;

	if (!have_gdb())
		return;
	m = start(&opt);
	ck_assert_msg(mi_command(m, NULL, &ei, "-gdb-version") == 0, "%s", ei.text);
	ck_assert_int_eq(mi_command(m, &v, &ei, "-data-evaluate-expression %d*7", 6), 0);
	ck_assert_str_eq(mi_str(v, "value"), "42");
	ck_assert_int_eq(mi_console(m, &out, &ei, "print \"a\\tb\\\"%s\"", "c"), 0);
	ck_assert_str_eq(buf_cstr(&out), "$1 = \"a\\tb\\\"c\"\n");
	ck_assert_int_eq(mi_command(m, NULL, &ei, "-data-evaluate-expression nope"), -EREMOTEIO);
	ck_assert_str_eq(ei.text, "No symbol table is loaded.  Use the \"file\" command.");
	mi_free(m);
}
END_TEST

TEST_MAIN("dap_mi", live_commands)
