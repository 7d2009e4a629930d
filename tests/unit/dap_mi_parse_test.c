/* dap/mi_parse: lines as gdb 13.1 writes them, what breaks the grammar, and the way back through quotes. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include "base/os.h"
#include "dap/mi_priv.h"
#include "tests/unit/test.h"

#define FRAME "addr=\"0x0000555555555149\",func=\"f\",args=[{name=\"s\",value=\"0x555555556004 \\\"h\\303\\244 \\\\377 \\\\033[1m\\\"\"}],file=\"t.c\",line=\"4\""
#define FRAME_JSON \
	"{\"addr\":\"0x0000555555555149\",\"func\":\"f\",\"args\":[{\"name\":\"s\",\"value\":\"0x555555556004 \\\"h\xc3\xa4 \\\\377 \\\\033[1m\\\"\"}]," \
	"\"file\":\"t.c\",\"line\":\"4\"}"

static const struct {
	const char *line;
	enum mi_kind kind;
	uint64_t token;
	const char *name, *json;
} rows[] = {
	/* gdb 13.1 --interpreter=mi3 */
	{ "=thread-group-added,id=\"i1\"", MI_NOTIFY, 0, "thread-group-added", "{\"id\":\"i1\"}" },
	{ "(gdb) ", MI_PROMPT, 0, NULL, NULL },
	{ "(gdb)", MI_PROMPT, 0, NULL, NULL },
	{ "1^done", MI_RESULT, 1, "done", "{}" },
	{ "^running", MI_RESULT, 0, "running", "{}" },
	{ "^exit", MI_RESULT, 0, "exit", "{}" },
	{ "*running,thread-id=\"all\"", MI_EXEC, 0, "running", "{\"thread-id\":\"all\"}" },
	{ "99^error,msg=\"The program is not being run.\"", MI_RESULT, 99, "error", "{\"msg\":\"The program is not being run.\"}" },
	{ "^error,msg=\"No symbol \\\"nope\\\" in current context.\"", MI_RESULT, 0, "error", "{\"msg\":\"No symbol \\\"nope\\\" in current context.\"}" },
	{ "^error,msg=\"Undefined MI command: nonsense\",code=\"undefined-command\"", MI_RESULT, 0, "error",
	  "{\"msg\":\"Undefined MI command: nonsense\",\"code\":\"undefined-command\"}" },
	{ "^done,stack-args=[frame={level=\"0\",args=[]},frame={level=\"1\",args=[{name=\"argc\",value=\"1\"}]}]", MI_RESULT, 0, "done",
	  "{\"stack-args\":[{\"level\":\"0\",\"args\":[]},{\"level\":\"1\",\"args\":[{\"name\":\"argc\",\"value\":\"1\"}]}]}" },
	{ "^done,bkpt={number=\"2\",thread-groups=[\"i1\"],times=\"0\",script={\"printf \\\"x=%d \\\\\\\"q\\\\\\\"\\\\n\\\",p->x\"},original-location=\"f\"}", MI_RESULT, 0,
	  "done",
	  "{\"bkpt\":{\"number\":\"2\",\"thread-groups\":[\"i1\"],\"times\":\"0\",\"script\":[\"printf \\\"x=%d \\\\\\\"q\\\\\\\"\\\\n\\\",p->x\"],\"original-location\":\"f\"}}" },
	{ "^done,bkpt={number=\"1\",script={\"print argc\",\"info locals\"},original-location=\"main\"}", MI_RESULT, 0, "done",
	  "{\"bkpt\":{\"number\":\"1\",\"script\":[\"print argc\",\"info locals\"],\"original-location\":\"main\"}}" },
	{ "^done,bkpt={number=\"1\",addr=\"<MULTIPLE>\",locations=[{number=\"1.1\",func=\"S<int>::get(int)\"},{number=\"1.2\",thread-groups=[\"i1\"]}]}", MI_RESULT, 0, "done",
	  "{\"bkpt\":{\"number\":\"1\",\"addr\":\"<MULTIPLE>\",\"locations\":[{\"number\":\"1.1\",\"func\":\"S<int>::get(int)\"},{\"number\":\"1.2\",\"thread-groups\":[\"i1\"]}]}}" },
	{ "*stopped,reason=\"breakpoint-hit\",bkptno=\"1\",locno=\"1\",frame={" FRAME "},thread-id=\"1\",stopped-threads=\"all\",core=\"1\"", MI_EXEC, 0, "stopped",
	  "{\"reason\":\"breakpoint-hit\",\"bkptno\":\"1\",\"locno\":\"1\",\"frame\":" FRAME_JSON ",\"thread-id\":\"1\",\"stopped-threads\":\"all\",\"core\":\"1\"}" },
	{ "^done,numchild=\"2\",children=[child={name=\"v.x\",exp=\"x\",numchild=\"0\"},child={name=\"v.y\"}],has_more=\"0\"", MI_RESULT, 0, "done",
	  "{\"numchild\":\"2\",\"children\":[{\"name\":\"v.x\",\"exp\":\"x\",\"numchild\":\"0\"},{\"name\":\"v.y\"}],\"has_more\":\"0\"}" },
	{ "^done,register-names=[\"rax\",\"\",\"\",\"pkru\"]", MI_RESULT, 0, "done", "{\"register-names\":[\"rax\",\"\",\"\",\"pkru\"]}" },
	{ "^done,memory=[{begin=\"0x00007fffffffe690\",offset=\"0x0000000000000000\",end=\"0x00007fffffffe698\",contents=\"0200000000000000\"}]", MI_RESULT, 0, "done",
	  "{\"memory\":[{\"begin\":\"0x00007fffffffe690\",\"offset\":\"0x0000000000000000\",\"end\":\"0x00007fffffffe698\",\"contents\":\"0200000000000000\"}]}" },
	{ "^done,asm_insns=[src_and_asm_line={line=\"5\",line_asm_insn=[{offset=\"0\",opcodes=\"55\",inst=\"push   %rbp\"}]}]", MI_RESULT, 0, "done",
	  "{\"asm_insns\":[{\"line\":\"5\",\"line_asm_insn\":[{\"offset\":\"0\",\"opcodes\":\"55\",\"inst\":\"push   %rbp\"}]}]}" },
	{ "^done,symbols={debug=[{filename=\"a.c\",symbols=[{line=\"5\",name=\"main\"}]}]}", MI_RESULT, 0, "done",
	  "{\"symbols\":{\"debug\":[{\"filename\":\"a.c\",\"symbols\":[{\"line\":\"5\",\"name\":\"main\"}]}]}}" },
	{ "^done,matches=[],max_completions_reached=\"0\"", MI_RESULT, 0, "done", "{\"matches\":[],\"max_completions_reached\":\"0\"}" },
	/* the manual's: a tuple without a name */
	{ "+download,{section=\".text\",section-size=\"6668\",total-size=\"9880\"}", MI_STATUS, 0, "download",
	  "{\"section\":\".text\",\"section-size\":\"6668\",\"total-size\":\"9880\"}" },
	{ "5+download,{section=\".text\"},section=\"later\"", MI_STATUS, 5, "download", "{\"section\":\".text\"}" },
	/* corners of the grammar */
	{ "^done,a={},b=[],c=\"\"", MI_RESULT, 0, "done", "{\"a\":{},\"b\":[],\"c\":\"\"}" },
	{ "^done,a=\"1\",a=\"2\",b={c=\"3\",c={d=\"4\"}}", MI_RESULT, 0, "done", "{\"a\":\"1\",\"b\":{\"c\":\"3\"}}" },
	{ "^done,a=[[\"1\"],{b=\"2\"},\"3\",c=\"4\"]", MI_RESULT, 0, "done", "{\"a\":[[\"1\"],{\"b\":\"2\"},\"3\",\"4\"]}" },
	{ "^done,a=\"\\xff\"", MI_RESULT, 0, "done", "{\"a\":\"xff\"}" },
	{ "^done,a=\"\\377\\303\"", MI_RESULT, 0, "done", "{\"a\":\"\xef\xbf\xbd\xef\xbf\xbd\"}" },
	{ "^done,a=\"\xff\"", MI_RESULT, 0, "done", "{\"a\":\"\xef\xbf\xbd\"}" },
	{ "^done,a=\"x\\000y\"", MI_RESULT, 0, "done", "{\"a\":\"x\\u0000y\"}" },
	{ "^done,a=\"\\a\\b\\e\\f\\n\\r\\t\\v\\\\\\\"\\1\\12\\1234\"", MI_RESULT, 0, "done",
	  "{\"a\":\"\\u0007\\b\\u001b\\f\\n\\r\\t\\u000b\\\\\\\"\\u0001\\nS4\"}" },
	{ "18446744073709551615^done", MI_RESULT, UINT64_MAX, "done", "{}" },
};

static int parse(const char *line, struct mi_record *ret)
{
	return mi_parse(line, strlen(line), ret);
}

START_TEST(records)
{
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		CLEANUP(mi_record_done) struct mi_record rec = { 0 };
		CLEANUP(jsonx_unrefp) json_t *want = rows[i].json ? json_loads(rows[i].json, JSON_ALLOW_NUL, NULL) : NULL;
		CLEANUP(freep) char *got = NULL;

		ck_assert_msg(!rows[i].json || want, "row %zu", i);
		ck_assert_msg(parse(rows[i].line, &rec) == 0, "%s", rows[i].line);
		ck_assert_int_eq(rec.kind, rows[i].kind);
		ck_assert_uint_eq(rec.token, rows[i].token);
		ck_assert_pstr_eq(rec.name, rows[i].name);
		got = rec.values ? json_dumps(rec.values, 0) : NULL;
		ck_assert_msg(want ? json_equal(rec.values, want) : !rec.values, "%s: got %s", rows[i].line, got ? got : "nothing");
		ck_assert_uint_eq(rec.text.len, 0);
	}
}
END_TEST

START_TEST(streams)
{
	static const struct {
		const char *line;
		enum mi_kind kind;
		const char *text;
		size_t n;
	} texts[] = {
		{ "~\"GNU gdb (Debian 13.1-3) 13.1\\n\"", MI_CONSOLE, "GNU gdb (Debian 13.1-3) 13.1\n", 29 },
		{ "~\"\"", MI_CONSOLE, "", 0 },
		{ "@\"{\\\"event\\\":1}\\n\"", MI_TARGET, "{\"event\":1}\n", 12 },
		{ "&\"Undefined command: \\\"nope\\\".  Try \\\"help\\\".\\n\"", MI_LOG, "Undefined command: \"nope\".  Try \"help\".\n", 40 },
		{ "~\"$3 = \\\"\\\\033x\\\\tq\\\"\\n\"", MI_CONSOLE, "$3 = \"\\033x\\tq\"\n", 16 },
		{ "~\"h\\303\\244\\033[1m\\000\\377\"", MI_CONSOLE, "h\xc3\xa4\033[1m\0\xff", 9 },
	};

	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		CLEANUP(mi_record_done) struct mi_record rec = { 0 };

		ck_assert_msg(parse(texts[i].line, &rec) == 0, "%s", texts[i].line);
		ck_assert_int_eq(rec.kind, texts[i].kind);
		ck_assert_uint_eq(rec.text.len, texts[i].n);
		ck_assert(texts[i].n == 0 || memcmp(rec.text.data, texts[i].text, texts[i].n) == 0);
		ck_assert(!rec.name && !rec.values);
	}
}
END_TEST

static const char *const broken[] = {
	"", " ", "(gd", "(gdb)x", "hello", "1", "^", "=", "*,a=\"1\"", "^done,", "^done,a", "^done,a=", "^done,a=1", "^done,a=\"", "^done,a=\"\\",
	"^done,a=\"\\\"", "^done,a={", "^done,a={b", "^done,a={b=", "^done,a={b=\"1\"", "^done,a={b=\"1\",", "^done,a={b=\"1\",}", "^done,a=[", "^done,a=[\"1\",]",
	"^done,a=[\"1\"}", "^done,a={b=\"1\"]", "^done,a=\"1\" ", "^done,a=\"1\"b=\"2\"", "^done,\"1\"", "^done,[\"1\"]", "^done,{\"1\"}", "^done,a={b=\"1\",\"2\"}", "^done,=\"1\"",
	"^done a=\"1\"", "^do{ne", "~", "~\"", "~\"x", "~x", "~\"x\"y", "&\"\\", "18446744073709551616^done", "99999999999999999999999^done", "1 ^done", "-1^done", "1(gdb)",
};

START_TEST(no_mi)
{
	for (size_t i = 0; i < ARRAY_SIZE(broken); i++) {
		struct mi_record rec = { .token = 77 };

		ck_assert_msg(parse(broken[i], &rec) == ERR_PROTOCOL, "%s", broken[i]);
		ck_assert(rec.token == 77 && !rec.name && !rec.values && !rec.text.data); /* untouched */
	}
}
END_TEST

/* No beginning of a record is a record, but where it ends at a comma's place: nothing is made up for what is missing. */
START_TEST(cut_anywhere)
{
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		for (size_t n = 0; n < strlen(rows[i].line); n++) {
			CLEANUP(mi_record_done) struct mi_record rec = { 0 };
			CLEANUP(freep) char *exact = os_malloc(n + 1); /* so that sanitizers see a byte too many */
			int r;

			memcpy(exact, rows[i].line, n);
			r = mi_parse(exact, n, &rec);
			if (r == 0 && rec.values && json_object_size(rec.values))
				ck_assert_msg(rows[i].line[n] == ',', "%.*s", (int)n, rows[i].line);
			else
				ck_assert(r == 0 || r == ERR_PROTOCOL);
		}
}
END_TEST

static int parse_nested(unsigned int depth, char open, char close)
{
	CLEANUP(mi_record_done) struct mi_record rec = { 0 };
	CLEANUP(buf_done) struct buf b = { 0 };

	buf_printf(&b, "^done,a=");
	for (unsigned int i = 0; i < depth; i++)
		buf_printf(&b, "%c%s", open, open == '{' && i + 1 < depth ? "a=" : "");
	for (unsigned int i = 0; i < depth; i++)
		buf_put_u8(&b, (uint8_t)close);
	return parse(buf_cstr(&b), &rec);
}

START_TEST(depth)
{
	ck_assert_int_eq(parse_nested(64, '[', ']'), 0);
	ck_assert_int_eq(parse_nested(65, '[', ']'), ERR_LIMIT);
	ck_assert_int_eq(parse_nested(64, '{', '}'), 0);
	ck_assert_int_eq(parse_nested(65, '{', '}'), ERR_LIMIT);
	ck_assert_int_eq(parse_nested(1000000, '[', ']'), ERR_LIMIT);
}
END_TEST

/* What is quoted for gdb is read back by our own reader of gdb's strings: all bytes but NUL. */
START_TEST(quotes)
{
	CLEANUP(mi_record_done) struct mi_record rec = { 0 };
	CLEANUP(buf_done) struct buf b = { 0 };
	char all[256];

	for (int i = 1; i < 256; i++)
		all[i - 1] = (char)i;
	all[255] = '\0';
	buf_put_u8(&b, '~');
	mi_quote(&b, all);
	ck_assert_ptr_null(memchr(b.data, '\n', b.len));
	ck_assert_int_eq(parse(buf_cstr(&b), &rec), 0);
	ck_assert_uint_eq(rec.text.len, 255);
	ck_assert_mem_eq(rec.text.data, all, 255);
	buf_clear(&b);
	mi_quote(&b, "a \"b\" \\n\n\t7\x7f");
	ck_assert_str_eq(buf_cstr(&b), "\"a \\\"b\\\" \\\\n\\012\\0117\\177\"");
}
END_TEST

START_TEST(members)
{
	CLEANUP(mi_record_done) struct mi_record rec = { 0 };
	CLEANUP(jsonx_unrefp) json_t *ours = json_pack("{sI}", "n", (json_int_t)12);

	ck_assert_int_eq(parse("^done,s=\"x\",n=\"-12\",h=\"0x1f\",big=\"0xffffffffffffffff\",bad=\"12x\",p=\"<PENDING>\",e=\"\",l=[]", &rec), 0);
	ck_assert_str_eq(mi_str(rec.values, "s"), "x");
	ck_assert_ptr_null(mi_str(rec.values, "l"));
	ck_assert_ptr_null(mi_str(rec.values, "none"));
	ck_assert_ptr_null(mi_str(NULL, "s"));
	ck_assert_int_eq(mi_int(rec.values, "n", 0), -12);
	ck_assert_int_eq(mi_int(rec.values, "h", 0), 31);
	ck_assert_int_eq(mi_int(rec.values, "big", -3), -3);
	ck_assert_int_eq(mi_int(rec.values, "bad", -3), -3);
	ck_assert_int_eq(mi_int(rec.values, "e", -3), -3);
	ck_assert_int_eq(mi_int(rec.values, "l", -3), -3);
	ck_assert_int_eq(mi_int(rec.values, "none", -3), -3);
	ck_assert_int_eq(mi_int(ours, "n", 0), 12);
	ck_assert(mi_addr(rec.values, "big") == UINT64_MAX);
	ck_assert(mi_addr(rec.values, "h") == 31);
	ck_assert(mi_addr(rec.values, "p") == 0 && mi_addr(rec.values, "none") == 0 && mi_addr(rec.values, "n") == 0);
}
END_TEST

TEST_MAIN("dap_mi_parse", records, streams, no_mi, cut_anywhere, depth, quotes, members)
