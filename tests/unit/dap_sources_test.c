/* Names of source files: maps, spellings, URIs. */
#include "dap/paths_priv.h"

#include <errno.h>
#include <string.h>
#include "tests/unit/test.h"

static void is(char *got, const char *want)
{
	if (want)
		ck_assert_str_eq(got ? got : "(null)", want);
	else
		ck_assert_ptr_null(got);
	free(got);
}

static int parse(const char *text, struct path_map *m, struct errinfo *ei)
{
	json_error_t e;
	json_t *j CLEANUP(jsonx_unrefp) = json_loads(text, JSON_DECODE_ANY, &e);

	ck_assert_ptr_nonnull(j);
	return path_map_parse(j, m, ei);
}

static struct path_map map_of(const char *text)
{
	struct path_map m = { 0 };
	struct errinfo ei = { 0 };
	int r = parse(text, &m, &ei);

	ck_assert_msg(r == 0, "%s: %s", text, ei.text);
	return m;
}

START_TEST(longest_prefix_wins)
{
	struct path_map m CLEANUP(path_map_done) = map_of("{\"/b\": \"/x\", \"/b/long\": \"/y/\", \"/b/lo\": \"/z\", \".\": \"/here\", \"/\": \"/root\"}");

	is(path_map_apply(&m, "/b/long/f.c"), "/y/f.c");
	is(path_map_apply(&m, "/b/lo/f.c"), "/z/f.c");
	is(path_map_apply(&m, "/b/longer/f.c"), "/x/longer/f.c");
	is(path_map_apply(&m, "/b"), "/x");
	is(path_map_apply(&m, "/bb/f.c"), "/root/bb/f.c");
	is(path_map_apply(&m, "./sub/f.c"), "/here/sub/f.c");
	is(path_map_apply(&m, "../f.c"), NULL);
	is(path_map_apply(&m, "sub/f.c"), NULL);
}
END_TEST

START_TEST(slashes_at_ends)
{
	struct path_map m CLEANUP(path_map_done) = map_of("{\"/b///\": \"/\", \"/c/\": \"/d//\"}");

	is(path_map_apply(&m, "/b//f.c"), "/f.c");
	is(path_map_apply(&m, "/c"), "/d");
	is(path_map_apply(&m, "/c/"), "/d");
}
END_TEST

START_TEST(lists)
{
	struct path_map m CLEANUP(path_map_done) = map_of("[[\"/a\", \"/1\"], {\"from\": \"/a/b\", \"to\": \"/2\"}, [\"/a\", \"/3\"]]");

	ck_assert_uint_eq(m.n, 2);
	is(path_map_apply(&m, "/a/b/c"), "/2/c");
	is(path_map_apply(&m, "/a/c"), "/3/c");
}
END_TEST

START_TEST(no_map)
{
	struct path_map m CLEANUP(path_map_done) = { 0 };

	ck_assert_int_eq(path_map_parse(NULL, &m, NULL), 0);
	ck_assert_int_eq(parse("null", &m, NULL), 0);
	ck_assert_int_eq(parse("{}", &m, NULL), 0);
	is(path_map_apply(&m, "/a"), NULL);
}
END_TEST

START_TEST(bad_maps)
{
	static const char *const bad[] = { "3", "\"/a=/b\"", "{\"/a\": 1}", "{\"/a\": null}", "{\"\": \"/b\"}", "{\"/a\": \"\"}", "[[\"/a\"]]", "[\"/a\"]",
					   "[{\"from\": \"/a\"}]", "{\"/a\\n\": \"/b\"}" };

	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		struct path_map m = { 0 };
		struct errinfo ei = { 0 };

		ck_assert_msg(parse(bad[i], &m, &ei) == -EINVAL, "%s", bad[i]);
		ck_assert_ptr_nonnull(strstr(ei.text, "sourceMap"));
		ck_assert_ptr_null(m.v);
	}
}
END_TEST

START_TEST(too_many_rules)
{
	struct path_map m CLEANUP(path_map_done) = { 0 };
	char from[32];

	for (unsigned i = 0; i < PATH_RULES_MAX; i++) {
		snprintf(from, sizeof(from), "/f%u", i);
		ck_assert_int_eq(path_map_add(&m, from, "/x"), 0);
	}
	ck_assert_int_eq(path_map_add(&m, "/f0", "/y"), 0);
	ck_assert_int_eq(path_map_add(&m, "/one-more", "/x"), ERR_LIMIT);
	is(path_map_apply(&m, "/f0/a"), "/y/a");
}
END_TEST

START_TEST(removes)
{
	struct path_map m CLEANUP(path_map_done) = map_of("{\"/a\": \"/1\", \"/a/b\": \"/2\"}");

	path_map_remove(&m, "/a/b/c");
	is(path_map_apply(&m, "/a/b/c"), "/1/b/c");
	path_map_remove(&m, "/b");
	ck_assert_uint_eq(m.n, 1);
	path_map_remove(&m, "/a");
	ck_assert_uint_eq(m.n, 0);
}
END_TEST

START_TEST(relative_local_prefix)
{
	struct path_map m CLEANUP(path_map_done) = map_of("{\"/a\": \"src\"}");
	char *got = path_map_apply(&m, "/a/f.c");

	ck_assert_ptr_nonnull(got);
	ck_assert_int_eq(got[0], '/');
	ck_assert_ptr_nonnull(strstr(got, "/src/f.c"));
	free(got);
}
END_TEST

START_TEST(normalise)
{
	static const char *const t[][2] = {
		{ "/a/./b//c", "/a/b/c" }, { "/a/b/../c", "/a/c" }, { "/../a", "/a" },	       { "/a/../..", "/" },    { "././main.c", "main.c" },
		{ "../../a.c", "../../a.c" }, { "a/../../b", "../b" }, { "a/..", "." },	       { "", "." },	       { "/", "/" },
		{ "..", ".." },		      { "/a/b/", "/a/b" },     { "/a/..b/c", "/a/..b/c" }, { "a/b/../../c", "c" }, { "/usr/x/../../y", "/y" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(t); i++)
		is(path_normalise(t[i][0]), t[i][1]);
}
END_TEST

static void alias_is(const char *real, const char *alias, const char *from, const char *to)
{
	char *f = NULL, *t = NULL;

	ck_assert_msg(path_alias(real, alias, &f, &t) == (from != NULL), "%s %s", real, alias);
	is(f, from);
	is(t, to);
}

START_TEST(aliases)
{
	alias_is("/disk/src/a.c", "/link/src/a.c", "/disk", "/link");
	alias_is("/disk/x/src/a.c", "/home/me/p/src/a.c", "/disk/x", "/home/me/p");
	alias_is("/disk/nosrc/a.c", "/link/src/a.c", "/disk/nosrc", "/link/src");
	alias_is("/a/b.c", "/a/b.c", NULL, NULL);
	alias_is("/a/real.c", "/a/link.c", NULL, NULL);
	alias_is("/a/b.c", "/b.c", NULL, NULL);
	alias_is("/b.c", "/a/b.c", NULL, NULL);
}
END_TEST

START_TEST(uris)
{
	ck_assert(path_is_uri("file:///a"));
	ck_assert(path_is_uri("vscode-remote://x/a"));
	ck_assert(!path_is_uri("/a:/b"));
	ck_assert(!path_is_uri("C:/b"));
	ck_assert(!path_is_uri("main.c"));
	ck_assert(!path_is_uri(""));
	is(path_from_uri("file:///a%20b/%C3%A4.c"), "/a b/\xc3\xa4.c");
	is(path_from_uri("FILE://localhost/a#frag"), "/a");
	is(path_from_uri("file:/a"), "/a");
	is(path_from_uri("file://host/a"), NULL);
	is(path_from_uri("http:///a"), NULL);
	is(path_from_uri("file:///a%2"), NULL);
	is(path_from_uri("file:///a%zz"), NULL);
	is(path_from_uri("file:///a%00b"), NULL);
	is(path_from_uri("file://"), NULL);
	is(path_to_uri("/a b/\xc3\xa4#.c"), "file:///a%20b/%C3%A4%23.c");
}
END_TEST

START_TEST(bases)
{
	ck_assert_str_eq(path_base("/a/b.c"), "b.c");
	ck_assert_str_eq(path_base("b.c"), "b.c");
	ck_assert_str_eq(path_base("/a/"), "");
}
END_TEST

TEST_MAIN("dap_sources", longest_prefix_wins, slashes_at_ends, lists, no_map, bad_maps, too_many_rules, removes, relative_local_prefix, normalise, aliases, uris, bases)
