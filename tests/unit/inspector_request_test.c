/* inspector/request, inspector/demangle: what requests say, and what names become. */
#include "inspector/inspect_priv.h"

#include <errno.h>
#include <string.h>
#include "tests/unit/test.h"

static int parse(const char *text, struct request *q, struct errinfo *ei)
{
	*ei = (struct errinfo){ 0 };
	return request_parse(text, strlen(text), q, ei);
}

START_TEST(places)
{
	struct errinfo ei;
	struct request q;

	ck_assert_int_eq(parse("{\"id\":7,\"op\":\"stack\",\"event\":12}", &q, &ei), 0);
	ck_assert_uint_eq(q.id, 7);
	ck_assert_int_eq(q.op, OP_STACK);
	ck_assert_uint_eq(q.event, 12);
	ck_assert(!q.after && !q.thread && !q.pid);
	ck_assert_int_eq(parse("{\"op\":\"threads\",\"event\":1,\"when\":\"after\",\"thread\":3,\"pid\":99}", &q, &ei), 0);
	ck_assert(q.after);
	ck_assert_uint_eq(q.thread, 3);
	ck_assert_int_eq(q.pid, 99);
}
END_TEST

START_TEST(memory_and_sources)
{
	struct errinfo ei;
	struct request q;

	ck_assert_int_eq(parse("{\"op\":\"memory\",\"event\":1,\"addr\":\"0xffffffffffffffff\",\"len\":65536}", &q, &ei), 0);
	ck_assert_uint_eq(q.addr, UINT64_MAX);
	ck_assert_uint_eq(q.len, 65536);
	ck_assert_int_eq(parse("{\"op\":\"source\",\"path\":\"/a/b.c\",\"line\":5,\"context\":2}", &q, &ei), 0);
	ck_assert_str_eq(q.path, "/a/b.c");
	ck_assert_uint_eq(q.line, 5);
	ck_assert_uint_eq(q.context, 2);
	ck_assert_int_eq(parse("{\"op\":\"cancel\"}", &q, &ei), 0);
	ck_assert(!q.has_target);
	ck_assert_int_eq(parse("{\"op\":\"cancel\",\"request\":4}", &q, &ei), 0);
	ck_assert(q.has_target);
	ck_assert_uint_eq(q.target, 4);
}
END_TEST

START_TEST(refused)
{
	/* text, and a word of the reason */
	static const char *const bad[][2] = {
		{ "{\"id\":3}", "op" },
		{ "{\"id\":3,\"op\":7}", "op" },
		{ "{\"id\":3,\"op\":\"stacks\"}", "stacks" },
		{ "{\"id\":3,\"op\":\"stack\"}", "event" },
		{ "{\"id\":3,\"op\":\"stack\",\"event\":0}", "event" },
		{ "{\"id\":3,\"op\":\"stack\",\"event\":\"1\"}", "event" },
		{ "{\"id\":3,\"op\":\"stack\",\"event\":1,\"when\":\"then\"}", "when" },
		{ "{\"id\":3,\"op\":\"stack\",\"event\":1,\"thread\":4294967296}", "thread" },
		{ "{\"id\":3,\"op\":\"stack\",\"event\":1,\"pid\":-1}", "pid" },
		{ "{\"id\":3,\"op\":\"memory\",\"event\":1,\"len\":1}", "addr" },
		{ "{\"id\":3,\"op\":\"memory\",\"event\":1,\"addr\":\"0x1\"}", "len" },
		{ "{\"id\":3,\"op\":\"memory\",\"event\":1,\"addr\":\"0x1\",\"len\":65537}", "len" },
		{ "{\"id\":3,\"op\":\"memory\",\"event\":1,\"addr\":\"-1\",\"len\":1}", "addr" },
		{ "{\"id\":3,\"op\":\"source\",\"path\":\"\"}", "source" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		struct errinfo ei;
		struct request q;

		ck_assert_msg(parse(bad[i][0], &q, &ei) == -EINVAL, "%s", bad[i][0]);
		ck_assert_msg(strstr(ei.text, bad[i][1]), "%s: %s", bad[i][0], ei.text);
		ck_assert_uint_eq(q.id, 3); /* the answer can name it */
	}
}
END_TEST

START_TEST(no_requests)
{
	static const char *const bad[] = { "", "[]", "7", "{", "{} {}", "{\"op\":\"stack\",\"op\":\"maps\"}" };
	static char big[INSPECT_LINE_MAX + 2];
	struct errinfo ei = { 0 };
	struct request q;

	for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
		ck_assert_msg(parse(bad[i], &q, &ei) < 0, "%s", bad[i]);
	memset(big, ' ', sizeof(big));
	ck_assert_int_eq(request_parse(big, sizeof(big), &q, &ei), ERR_LIMIT);
}
END_TEST

START_TEST(names)
{
	static const char *const good[][2] = {
		{ "_ZN6shapes4manyIdLi9EEET_RKNS_3BoxIS1_EE", "shapes::many<double, 9>" },
		{ "_ZNKSt6vectorIiSaIiEE4sizeEv", "std::vector<int, std::allocator<int> >::size" },
		{ "_ZN4core3fmt5write17h0123456789abcdefE", "core::fmt::write" },
		{ "_RNvCs1234_7mycrate3foo", "mycrate::foo" },
	};
	static const char *const plain[] = { "main", "main.main", "runtime.goexit.abi0", "_start", "_Z", "_ZZZZ", "", "java.lang.Object", "_R", "pkg__proc" };

	for (size_t i = 0; i < ARRAY_SIZE(good); i++) {
		char *name CLEANUP(freep) = demangle_name(good[i][0]);

		ck_assert_ptr_nonnull(name);
		ck_assert_msg(!strncmp(name, good[i][1], strlen(good[i][1])), "%s: %s", good[i][0], name);
		ck_assert_ptr_null(strstr(name, "17h"));
	}
	for (size_t i = 0; i < ARRAY_SIZE(plain); i++)
		ck_assert_msg(!demangle_name(plain[i]), "%s", plain[i]);
}
END_TEST

START_TEST(long_names)
{
	static char name[2 * INSPECT_NAME_MAX];

	memset(name, 'P', sizeof(name) - 1);
	memcpy(name, "_Z1f", 4);
	ck_assert_ptr_null(demangle_name(name));
	/* deep, but not too long: an answer or none */
	name[INSPECT_NAME_MAX - 1] = '\0';
	free(demangle_name(name));
}
END_TEST

TEST_MAIN("inspector request", places, memory_and_sources, refused, no_requests, names, long_names)
