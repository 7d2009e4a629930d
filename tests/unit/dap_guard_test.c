/* dap/guard: what expressions and lines of the debug console would do. dap/values: what is shown of values, and the expressions of their children. */
#include <stdio.h>
#include <string.h>
#include "dap/guard_priv.h"
#include "dap/stack_priv.h"
#include "tests/unit/test.h"

START_TEST(expressions)
{
	static const struct {
		const char *expr;
		unsigned found;
	} cases[] = {
		{ "a", 0 },
		{ "a == b", 0 },
		{ "a <= b && c >= d || e != f", 0 },
		{ "a = b", GUARD_WRITES },
		{ "a=b", GUARD_WRITES },
		{ "a += 1", GUARD_WRITES },
		{ "a <<= 1", GUARD_WRITES },
		{ "a >>= 1", GUARD_WRITES },
		{ "a[i] = 3", GUARD_WRITES },
		{ "p->x = 3", GUARD_WRITES },
		{ "*p = 3", GUARD_WRITES },
		{ "x := 3", GUARD_WRITES },
		{ "a++", GUARD_WRITES },
		{ "--a", GUARD_WRITES },
		{ "a - -b", 0 },
		{ "a + +b", 0 },
		{ "a++ + $i", GUARD_WRITES },
		{ "$i++", GUARD_KEEPS },
		{ "++$i", GUARD_KEEPS },
		{ "$i = 3", GUARD_KEEPS },
		{ "$i += a", GUARD_KEEPS },
		{ "$i = a = 3", GUARD_KEEPS | GUARD_WRITES },
		{ "*$i = 3", GUARD_WRITES },
		{ "$p->x = 3", GUARD_WRITES },
		{ "a, $i = 3", GUARD_KEEPS },
		{ "\"a = b\"", 0 },
		{ "\"a\\\" = b\"", 0 },
		{ "'='", 0 },
		{ "'\\'' == c", 0 },
		{ "\"unfinished = ", 0 },
		{ "'file.c'::x", 0 },
		{ "'file.c'::x = 3", GUARD_WRITES },
		{ "f(3)", GUARD_CALLS },
		{ "f (3)", GUARD_CALLS },
		{ "s.size()", GUARD_CALLS },
		{ "ns::f(a)", GUARD_CALLS },
		{ "t[3](a)", GUARD_CALLS },
		{ "(fp)(a)", GUARD_CALLS },
		{ "f(a = 3)", GUARD_CALLS | GUARD_WRITES },
		{ "sizeof(a)", 0 },
		{ "(int)(a)", 0 },
		{ "(struct foo *)(a)", 0 },
		{ "(unsigned int) a", 0 },
		{ "(a + b) * c", 0 },
		{ "a * (b + c)", 0 },
		{ "a[(b)]", 0 },
		{ "&A::operator=", 0 },
		{ "$_shell(\"ls\")", GUARD_CALLS | GUARD_ESCAPES },
		{ "1 + $_shell (\"ls\")", GUARD_CALLS | GUARD_ESCAPES },
		{ "\"$_shell\"", 0 },
		{ "arr[0]@10", 0 },
		{ "", 0 },
		{ "=", GUARD_WRITES },
		{ "++", GUARD_WRITES },
		{ "\xc3\xa4 = 1", GUARD_WRITES },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		ck_assert_msg(guard_expression(cases[i].expr) == cases[i].found, "%s: %#x", cases[i].expr, guard_expression(cases[i].expr));
}
END_TEST

START_TEST(suffixes)
{
	static const struct {
		const char *expr, *core;
		char format;
		unsigned count;
	} cases[] = {
		{ "a", "a", 0, 0 },
		{ "a,x", "a", 'x', 0 },
		{ "a, x ", "a", 'x', 0 },
		{ "p,10", "p", 0, 10 },
		{ "a,b", "a,b", 0, 0 },
		{ "f(a,x)", "f(a,x)", 0, 0 },
		{ "f(a,b),d", "f(a,b)", 'd', 0 },
		{ "a[b,x]", "a[b,x]", 0, 0 },
		{ "a,x,d", "a,x", 'd', 0 },
		{ "\"a,x\"", "\"a,x\"", 0, 0 },
		{ "p,0", "p,0", 0, 0 },
		{ "p,99999999999", "p,99999999999", 0, 0 },
		{ ",x", ",x", 0, 0 },
		{ "a,x + 1", "a,x + 1", 0, 0 },
		{ "a,", "a,", 0, 0 },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct guard_suffix s = guard_split(cases[i].expr);

		ck_assert_msg(s.len == strlen(cases[i].core) && s.format == cases[i].format && s.count == cases[i].count, "%s: %zu %c %u", cases[i].expr, s.len,
			      s.format ? s.format : '-', s.count);
	}
}
END_TEST

static void check_command(const char *line, enum guard_kind kind, const char *target)
{
	struct guard_verdict v = guard_command(line);

	ck_assert_msg(v.kind == kind, "%s: %d", line, v.kind);
	if (target)
		ck_assert_msg(strcmp(v.target, target) == 0, "%s: %s", line, v.target);
}

START_TEST(commands)
{
	static const char *const denied[] = {
		"shell ls", "!ls", "! ls", "|cat", "pipe info locals | cat", "python print(1)", "py 1", "source x", "dump memory f 0 1", "target exec x", "detach",
		"file x", "she", "set var x=3", "set x = 3", "set confirm off", "set auto-load on", "jump 3", "return", "kill", "run", "monitor exit", "monitor hermit arm 3",
		"frame apply all shell ls", "thread apply all !ls", "delete", "print x = 3", "p x++", "output x = 3", "x/4x a = 3", "call x = 3", "print $_shell(\"ls\")",
		"printf \"%d\", $_shell(\"ls\")", "set $x = $_shell(\"ls\")", "break f if $_shell(\"ls\")", "break f if x = 3", "define foo", "alias a=b", "with print x",
		"interpreter-exec mi x", "maintenance info sections", "gcore", "generate-core-file", "break main", "b 3", "br main", "rbreak .", "enable", "disable",
		"disable breakpoints", "condition x", "tbreak f if x = 3",
	};

	for (size_t i = 0; i < ARRAY_SIZE(denied); i++)
		check_command(denied[i], GUARD_DENIED, NULL);
	check_command("info locals", GUARD_COMMAND, "info");
	check_command("inf locals", GUARD_COMMAND, "info");
	check_command("bt", GUARD_COMMAND, "backtrace");
	check_command("p x == 3", GUARD_COMMAND, "print");
	check_command("x/4x $sp", GUARD_COMMAND, "x");
	check_command("set print pretty on", GUARD_COMMAND, "set");
	check_command("set $x = 3", GUARD_COMMAND, "set");
	check_command("frame 2", GUARD_COMMAND, "frame");
	check_command("frame", GUARD_COMMAND, "frame");
	check_command("delete 3", GUARD_COMMAND, "delete");
	check_command("condition 3 x == 1", GUARD_COMMAND, "condition");
	check_command("tbreak main", GUARD_COMMAND, "tbreak");
	check_command("monitor hermit where", GUARD_COMMAND, "monitor");
	check_command("help set", GUARD_COMMAND, "help");
	check_command("foo", GUARD_UNKNOWN, NULL);
	check_command("", GUARD_UNKNOWN, NULL);
	check_command("dis", GUARD_UNKNOWN, NULL); /* disable, disassemble, disconnect */
	ck_assert_str_eq(guard_command("  print/x  foo").args, "/x  foo");
	ck_assert_str_eq(guard_command("info  locals").args, "locals");
}
END_TEST

START_TEST(only_commands)
{
	ck_assert(guard_only_command("x/4x $sp"));
	ck_assert(guard_only_command("info locals"));
	ck_assert(guard_only_command("p x"));
	ck_assert(guard_only_command("!ls"));
	ck_assert(guard_only_command("set var x = 3"));
	ck_assert(!guard_only_command("x"));
	ck_assert(!guard_only_command("x = 3"));
	ck_assert(!guard_only_command("x / 4"));
	ck_assert(!guard_only_command("x/4"));
	ck_assert(!guard_only_command("p->next"));
	ck_assert(!guard_only_command("list"));
	ck_assert(!guard_only_command("list[3]"));
	ck_assert(guard_lone_word("quit") && guard_lone_word("x") && guard_lone_word("python-interactive"));
	ck_assert(!guard_lone_word("quit ") && !guard_lone_word("qui") && !guard_lone_word("") && !guard_lone_word("x/4x"));
	for (size_t i = 0; guard_word(i); i++)
		ck_assert_int_ne(guard_command(guard_word(i)).kind, GUARD_UNKNOWN);
}
END_TEST

START_TEST(expansion)
{
	ck_assert(value_expands("foo", NULL));
	ck_assert(value_expands("foo", "{a = 1}"));
	ck_assert(value_expands("foo &", "@0x7ffe: {a = 1}"));
	ck_assert(value_expands("int [10]", "[10]"));
	ck_assert(value_expands("char [4]", "\"abc\""));
	ck_assert(value_expands("foo *", "0x7ffe"));
	ck_assert(value_expands("foo *const", "0x7ffe"));
	ck_assert(value_expands("foo *", "(foo *) 0x7ffe"));
	ck_assert(value_expands("char **", "0x7ffe"));
	ck_assert(value_expands("*mut i32", "0x7ffe"));
	ck_assert(value_expands("(i32, &str)", "(1, \"two\")"));
	ck_assert(value_expands("core::option::Option<i32>", "core::option::Option<i32>::Some(4)"));
	ck_assert(!value_expands("foo *", "0x0"));
	ck_assert(!value_expands("void *", "0x7ffe"));
	ck_assert(!value_expands("const char *", "0x7ffe \"a}\""));
	ck_assert(!value_expands("int (*)(int)", "0x7ffe <f>"));
	ck_assert(!value_expands("int (int)", "{int (int)} 0x7ffe <f>"));
	ck_assert(!value_expands("int", "3"));
	ck_assert(!value_expands("int &", "@0x7ffe: 3"));
	ck_assert(!value_expands("foo", "<optimized out>"));
	ck_assert(!value_expands("foo", "<error: Cannot access memory at address 0x8>"));
	ck_assert(!value_expands("foo", "{<No data fields>}"));
	ck_assert(value_expands("foo", "<error: value requires 3145728 bytes, which is more than max-value-size>"));
	ck_assert_int_eq(value_elements("int [3][4]", NULL), 3);
	ck_assert_int_eq(value_elements("[i32; 5]", NULL), 5);
	ck_assert_int_eq(value_elements("[5]int", NULL), 5);
	ck_assert_int_eq(value_elements("int *[7]", NULL), 7);
	ck_assert_int_eq(value_elements("int", "3"), -1);
	ck_assert_int_eq(value_elements("std::vector<int>", "std::vector of length 3, capacity 4 = {1, 2, 3}"), 3);
	ck_assert_int_eq(value_elements("std::map<int, int>", "std::map with 1 element = {[1] = 2}"), 1);
	ck_assert_int_eq(value_elements("alloc::vec::Vec<i32>", "Vec(size=3) = {1, 2, 3}"), 3);
	ck_assert_int_eq(value_elements("foo", "{s = \"std::vector of length 3\"}"), -1);
	ck_assert_int_eq(value_elements("std::vector<int>", "std::vector of length -5, capacity 4"), -1);
	ck_assert_uint_eq(value_pointer("foo *", "0x7ffe"), 0x7ffe);
	ck_assert_uint_eq(value_pointer("foo *", "(bar *) 0x7ffe <baz>"), 0x7ffe);
	ck_assert_uint_eq(value_pointer("foo &", "@0x7ffe: {}"), 0x7ffe);
	ck_assert_uint_eq(value_pointer("int", "0x7ffe"), 0);
	ck_assert_uint_eq(value_function("int (*)(int)", "0x7ffe <f>"), 0x7ffe);
	ck_assert_uint_eq(value_function("int (*const)(int)", "(int (*)(int)) 0x7ffe <f>"), 0x7ffe);
	ck_assert_uint_eq(value_function("int (**)(int)", "0x7ffe"), 0);
	ck_assert_uint_eq(value_function("int (*)(int)", "<optimized out>"), 0);
	ck_assert_uint_eq(value_function("int (*[2])(int)", "{0x7ffe <f>, 0x0}"), 0);
	ck_assert_uint_eq(value_function("char *", "0x7ffe"), 0);
	ck_assert_uint_eq(value_function(NULL, NULL), 0);
}
END_TEST

static void check_child(const char *parent, const char *type, const char *name, const char *child_type, const char *expected)
{
	CLEANUP(buf_done) struct buf b = { 0 };
	bool has = value_child_expr(&b, parent, type, name, child_type);

	ck_assert_msg(has == (expected != NULL), "%s of %s: %s", name, parent, buf_cstr(&b));
	if (expected)
		ck_assert_str_eq(buf_cstr(&b), expected);
}

START_TEST(child_expressions)
{
	check_child("s", "foo", "a", "int", "s.a");
	check_child("s", "foo &", "a", "int", "s.a");
	check_child("p", "foo *", "a", "int", "p->a");
	check_child("p->q", "foo *const", "a", "int", "p->q->a");
	check_child("*p", "foo", "a", "int", "(*p).a");
	check_child("a + b", "foo *", "a", "int", "(a + b)->a");
	check_child("p", "int *", "*p", "int", "*p");
	check_child("v", "int [3]", "2", "int", "v[2]");
	check_child("d", "Derived", "Base", "Base", "*(Base *)(Derived *)&d");
	check_child("p", "Derived *", "Base", "Base", "*(Base *)(Derived *)p");
	check_child("r", "Derived &", "ns::Base<int>", "ns::Base<int>", "*(ns::Base<int> *)(Derived *)&r");
	check_child("s", "foo", "<anonymous union>", "union {...}", "s");
	check_child("p", "*mut foo", "a", "i32", "(*p).a");
	check_child("t", "main.T *", "S", "string", "t.S");
	check_child("t", "(i32, &str)", "__1", "&str", "t.1");
	check_child("s", "foo", "odd name", "int", NULL);
	check_child(NULL, "foo", "a", "int", NULL);
	check_child("s", "foo", "", "int", NULL);
}
END_TEST

START_TEST(cutting)
{
	CLEANUP(buf_done) struct buf b = { 0 };

	buf_printf(&b, "ab\xc3\xa4z");
	value_cut(&b, 10);
	ck_assert_str_eq(buf_cstr(&b), "ab\xc3\xa4z");
	value_cut(&b, 3);
	ck_assert_str_eq(buf_cstr(&b), "ab...");
}
END_TEST

TEST_MAIN("dap_guard", expressions, suffixes, commands, only_commands, expansion, child_expressions, cutting)
