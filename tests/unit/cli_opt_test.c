/* cli/opt: every form of option, where the guest's words begin, and what is said about faults. */
#include "cli/opt.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include "tests/unit/test.h"

struct values {
	const char *dir, *from_env;
	struct opt_list env;
	uint64_t timeout, checksum;
	int base;
	bool verify, json, strict;
};

static const char *const bases[] = { "host", "minimal", "empty", NULL };

#define ROW(k, l, n, m, ...) { .kind = k, .letter = l, .name = n, .offset = offsetof(struct values, m), __VA_ARGS__ }
static const struct opt table[] = {
	ROW(OPT_STRING, 'd', "data-dir", dir, .arg = "DIR", .help = "x"),
	ROW(OPT_STRING, 0, "from-env", from_env, .arg = "X", .env = "CLI_OPT_TEST", .help = "x"),
	ROW(OPT_LIST, 'e', "env", env, .arg = "NAME[=VALUE]", .help = "x"),
	ROW(OPT_UINT, 0, "record-timeout", timeout, .arg = "S", .min = 1, .max = 1000, .preset = 7, .help = "x"),
	ROW(OPT_UINT_IF, 0, "checksum", checksum, .arg = "K", .min = 1, .max = UINT64_MAX, .preset = 99, .help = "x"),
	ROW(OPT_ENUM, 0, "base-env", base, .arg = "WHAT", .choices = bases, .help = "x"),
	ROW(OPT_FLAG, 'v', "verify", verify, .help = "x"),
	ROW(OPT_FLAG, 'j', "json", json, .help = "x", .needs = "verify"),
	ROW(OPT_FLAG, 0, "strict", strict, .help = "x", .conflicts = "json"),
	{ .kind = OPT_END_ },
};

/* One parse of up to 8 words. */
struct parse {
	struct values v;
	struct opt_args args;
	struct opt_fault fault;
	int r;
};

static struct parse parse(enum opt_mode mode, const char *const words[])
{
	static char *argv[16];
	struct parse p = { 0 };
	int n = 0;

	for (; words[n]; n++)
		argv[n] = (char *)(uintptr_t)words[n];
	argv[n] = NULL;
	p.r = opt_parse(table, mode, n, argv, &p.v, &p.args, &p.fault);
	return p;
}

static void done(struct parse *p)
{
	opt_release(table, &p->v, &p->args);
}

#define PARSE(mode, ...) parse(mode, (const char *const[]){ __VA_ARGS__, NULL })

START_TEST(forms)
{
	struct parse p = PARSE(OPT_MIXED, "--data-dir=/a=b", "-eA=1", "-e", "B", "--env", "C=", "-e=D=2", "--record-timeout", "12",
			       "-vj");

	ck_assert_int_eq(p.r, 0);
	ck_assert_str_eq(p.v.dir, "/a=b");
	ck_assert_uint_eq(p.v.env.n, 4);
	ck_assert_str_eq(p.v.env.v[0], "A=1");
	ck_assert_str_eq(p.v.env.v[1], "B");
	ck_assert_str_eq(p.v.env.v[2], "C=");
	ck_assert_str_eq(p.v.env.v[3], "D=2");
	ck_assert_uint_eq(p.v.timeout, 12);
	ck_assert(p.v.verify && p.v.json);
	ck_assert_int_eq(p.args.n, 0);
	done(&p);
	p = PARSE(OPT_MIXED, "-vd/x");
	ck_assert_int_eq(p.r, 0);
	ck_assert_str_eq(p.v.dir, "/x");
	done(&p);
}
END_TEST

START_TEST(presets)
{
	struct parse p = PARSE(OPT_MIXED, "--verify");

	ck_assert_uint_eq(p.v.timeout, 7);
	ck_assert_uint_eq(p.v.checksum, 0);
	ck_assert_int_eq(p.v.base, 0);
	ck_assert_ptr_null(p.v.from_env);
	done(&p);
	setenv("CLI_OPT_TEST", "env", 1);
	p = PARSE(OPT_MIXED, "--checksum", "--base-env=empty");
	ck_assert_int_eq(p.r, 0);
	ck_assert_uint_eq(p.v.checksum, 99);
	ck_assert_int_eq(p.v.base, 2);
	ck_assert_str_eq(p.v.from_env, "env");
	done(&p);
	p = PARSE(OPT_MIXED, "--from-env=line", "--checksum=5");
	ck_assert_str_eq(p.v.from_env, "line");
	ck_assert_uint_eq(p.v.checksum, 5);
	done(&p);
}
END_TEST

START_TEST(mixed_arguments)
{
	struct parse p = PARSE(OPT_MIXED, "one", "-v", "-", "--", "--data-dir", "two");

	ck_assert_int_eq(p.r, 0);
	ck_assert(p.v.verify && p.args.dashes);
	ck_assert_int_eq(p.args.n, 4);
	ck_assert_str_eq(p.args.v[0], "one");
	ck_assert_str_eq(p.args.v[1], "-");
	ck_assert_str_eq(p.args.v[2], "--data-dir");
	ck_assert_str_eq(p.args.v[3], "two");
	ck_assert_ptr_null(p.args.v[4]);
	done(&p);
}
END_TEST

START_TEST(guest_arguments)
{
	struct parse p = PARSE(OPT_GUEST, "-v", "ls", "-l", "--help", "--", "x");

	ck_assert_int_eq(p.r, 0);
	ck_assert(!p.args.dashes);
	ck_assert_int_eq(p.args.n, 5);
	ck_assert_str_eq(p.args.v[0], "ls");
	ck_assert_str_eq(p.args.v[3], "--");
	done(&p);
	p = PARSE(OPT_GUEST, "--", "-weird", "--verify");
	ck_assert_int_eq(p.r, 0);
	ck_assert(p.args.dashes && !p.v.verify);
	ck_assert_str_eq(p.args.v[0], "-weird");
	done(&p);
}
END_TEST

START_TEST(help_is_told)
{
	struct parse p = PARSE(OPT_GUEST, "-v", "--help", "--nonsense");

	ck_assert_int_eq(p.r, 1);
	done(&p);
	p = PARSE(OPT_MIXED, "-vh");
	ck_assert_int_eq(p.r, 1);
	done(&p);
}
END_TEST

START_TEST(faults)
{
	static const struct {
		const char *words[4], *text, *tip;
	} cases[] = {
		{ { "--verfy" }, "unexpected option '--verfy'", "'--verify'" },
		{ { "--qqqqqq" }, "unexpected option '--qqqqqq'", "" },
		{ { "-x" }, "unexpected option '-x'", "" },
		{ { "--data-dir" }, "'--data-dir <DIR>' needs a value", "" },
		{ { "-d" }, "'--data-dir <DIR>' needs a value", "" },
		{ { "--verify=1" }, "'--verify' takes no value", "" },
		{ { "--record-timeout=0" }, "invalid value '0' for '--record-timeout <S>'", "from 1 to 1000" },
		{ { "--record-timeout=1001" }, "invalid value '1001'", "from 1 to 1000" },
		{ { "--record-timeout", "-5" }, "invalid value '-5'", "from 1" },
		{ { "--record-timeout=" }, "invalid value ''", "" },
		{ { "--record-timeout=99999999999999999999999" }, "invalid value", "" },
		{ { "--checksum=x" }, "invalid value 'x'", "from 1 on" },
		{ { "--base-env", "minmal" }, "[possible values: host, minimal, empty]", "'minimal'" },
		{ { "-v", "-v" }, "'--verify' was given more than once", "" },
		{ { "-d", "a", "-db" }, "'--data-dir' was given more than once", "" },
		{ { "--json" }, "'--json' needs '--verify'", "" },
		{ { "--strict", "-j", "-v" }, "'--strict' cannot be used with '--json'", "" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct parse p = parse(OPT_GUEST, cases[i].words);

		ck_assert_int_eq(p.r, -EINVAL);
		ck_assert_msg(strstr(p.fault.text, cases[i].text), "%s: %s", cases[i].words[0], p.fault.text);
		ck_assert_msg(strstr(p.fault.tip, cases[i].tip), "%s: tip %s", cases[i].words[0], p.fault.tip);
		done(&p);
	}
}
END_TEST

START_TEST(long_words_are_cut)
{
	static char word[2000] = "--";
	struct parse p;

	memset(word + 2, 'x', sizeof(word) - 3);
	p = PARSE(OPT_MIXED, word);
	ck_assert_int_eq(p.r, -EINVAL);
	ck_assert_uint_lt(strlen(p.fault.text), sizeof(p.fault.text));
	done(&p);
}
END_TEST

static const char *nearest_of(const char *word, const char *const *candidates)
{
	struct nearest n;

	nearest_init(&n, word);
	for (; *candidates; candidates++)
		nearest_try(&n, *candidates);
	return n.found ? n.found : "";
}

START_TEST(nearest)
{
	static const char *const words[] = { "record", "replay", "events", "doctor", "version", NULL };

	ck_assert_str_eq(nearest_of("recrod", words), "record");
	ck_assert_str_eq(nearest_of("reply", words), "replay");
	ck_assert_str_eq(nearest_of("rec", words), "record");
	ck_assert_str_eq(nearest_of("vers", words), "version");
	ck_assert_str_eq(nearest_of("banana", words), "");
	ck_assert_str_eq(nearest_of("", words), "");
}
END_TEST

START_TEST(help_text)
{
	char *text = NULL;
	size_t n;
	FILE *f = open_memstream(&text, &n);

	ck_assert_ptr_nonnull(f);
	opt_print_help(f, table, 80);
	fclose(f);
	ck_assert_ptr_nonnull(strstr(text, "  -e, --env <NAME[=VALUE]>"));
	ck_assert_ptr_nonnull(strstr(text, "--checksum[=<K>]"));
	ck_assert_ptr_nonnull(strstr(text, "[host (default), minimal, empty]"));
	ck_assert_ptr_nonnull(strstr(text, "  -h, --help"));
	free(text);
}
END_TEST

TEST_MAIN("cli_opt", forms, presets, mixed_arguments, guest_arguments, help_is_told, faults, long_words_are_cut, nearest, help_text)
