/* analysis/evprint: every kind of event as text and JSON; calls in two halves; data outside of the event. */
#include "analysis/evprint.h"

#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include "store/writer.h"
#include "tests/unit/test.h"

static char dir[64];
static struct store *store;
static struct store_id id;

#define PATH_ADDR 0x1000
#define BUF_ADDR 0x2000
#define BIG 100000

static uint8_t big[BIG];

/* An event with its effects. */
struct sample {
	struct event ev;
	struct effect effect[2];
	const char *text; /* its line; NULL: only that there is one */
};

static struct sample samples[] = {
	{ .ev = { .kind = EVENT_EXEC, .thread = 1, .text = "/bin/x", .blob = "/bin/x\0a b\0\033", .blob_len = 13, .pid = 7, .tid = 7 },
	  .effect = { { .kind = EFFECT_MAP, .addr = 0x400000, .len = 8192, .prot = PROT_READ | PROT_EXEC, .flags = MAP_F_EXE, .name = "/bin/x" } },
	  .text = "exec /bin/x: /bin/x 'a b' '\\x1b'  (pid 7, tid 7)" },
	{ .ev = { .kind = EVENT_SYSCALL, .thread = 1, .sysno = 257, .args = { (uint64_t)-100, PATH_ADDR }, .result = -2 },
	  .effect = { { .kind = EFFECT_INPUT, .addr = PATH_ADDR, .len = 12, .data = "/etc/passwd" } },
	  .text = "openat(AT_FDCWD, \"/etc/passwd\", O_RDONLY) = -1 ENOENT (No such file or directory)" },
	{ .ev = { .kind = EVENT_SYSCALL, .thread = 1, .sysno = 0, .args = { 3, BUF_ADDR, BIG }, .result = BIG },
	  .effect = { { .kind = EFFECT_MEM, .addr = BUF_ADDR, .len = BIG, .data = big } },
	  .text = "read(3, \"xxxx\"..., 100000) = 100000" },
	{ .ev = { .kind = EVENT_SYSCALL_ENTER, .thread = 1, .sysno = 0, .args = { 4, BUF_ADDR, 10 } }, .text = "read(4, <unfinished ...>" },
	{ .ev = { .kind = EVENT_SYSCALL_ENTER, .thread = 2, .sysno = 1, .args = { 1, BUF_ADDR, 3 } },
	  .effect = { { .kind = EFFECT_INPUT, .addr = BUF_ADDR, .len = 3, .data = "abc" } },
	  .text = "write(1, \"abc\", 3 <unfinished ...>" },
	{ .ev = { .kind = EVENT_SYSCALL_EXIT, .thread = 2, .sysno = 1, .result = 3 }, .text = "<... resumed> write(1, \"abc\", 3) = 3" },
	{ .ev = { .kind = EVENT_SYSCALL_EXIT, .thread = 1, .sysno = 0, .result = 2 },
	  .effect = { { .kind = EFFECT_MEM, .addr = BUF_ADDR, .len = 2, .data = "hi" } },
	  .text = "<... resumed> read(4, \"hi\", 10) = 2" },
	{ .ev = { .kind = EVENT_SYSCALL_EXIT, .thread = 1, .sysno = 0, .result = 2 }, .text = "<... read resumed> = 2" },
	{ .ev = { .kind = EVENT_SYSCALL, .thread = 1, .sysno = 39, .result = -38, .flags = EVENT_F_REFUSED | EVENT_F_UNKNOWN },
	  .text = "getpid() = -1 ENOSYS (Function not implemented)  (refused by the recorder)  (effects found by comparing memory)" },
	{ .ev = { .kind = EVENT_BIRTH, .thread = 1, .sysno = 57, .child = 3, .pid = 8, .tid = 8 },
	  .text = "fork( <unfinished ...>  new thread 3 (pid 8, tid 8)" },
	{ .ev = { .kind = EVENT_TSC, .thread = 1, .args = { 123 } }, .text = "rdtsc = 123" },
	{ .ev = { .kind = EVENT_TSC, .thread = 1, .args = { 123, 5, 1 } }, .text = "rdtscp = 123, aux 5" },
	{ .ev = { .kind = EVENT_CPUID, .thread = 1, .args = { 7, 1, 0x0000000200000001, 0x0000000400000003 } },
	  .text = "cpuid(eax=0x7, ecx=0x1) = eax=0x1, ebx=0x2, ecx=0x3, edx=0x4" },
	{ .ev = { .kind = EVENT_SIGNAL, .thread = 1, .signo = 11, .flags = EVENT_F_FATAL } },
	{ .ev = { .kind = EVENT_CHECKSUM, .thread = 1, .args = { 0xabc } }, .text = "memory checksum 0x0000000000000abc" },
	{ .ev = { .kind = EVENT_RESTART, .thread = 1, .sysno = 0, .result = 219 }, .text = "read is restarted by the kernel" },
	{ .ev = { .kind = EVENT_NOTE, .text = "so\nso" }, .text = "note: so\\x0aso" },
	{ .ev = { .kind = EVENT_PATCH, .thread = 1 }, .text = "patch" },
	{ .ev = { .kind = EVENT_EXIT, .thread = 2, .result = 11 | 0x80 }, .text = "+++ killed by SIGSEGV (core dumped) +++" },
	{ .ev = { .kind = EVENT_EXIT, .thread = 1, .result = 3 << 8, .flags = EVENT_F_GROUP }, .text = "+++ exited with 3 +++ with its process" },
	{ .ev = { .kind = EVENT_END }, .text = "end of the recording" },
};

static void set_up(void)
{
	struct store_writer *w;
	struct manifest m;

	memset(big, 'x', sizeof(big));
	snprintf(dir, sizeof(dir), "/tmp/analysis_evprint_test.XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(dir));
	ck_assert_int_eq(store_open(dir, true, &store, NULL), 0);
	manifest_init(&m);
	m.status = -1;
	ck_assert_int_eq(store_writer_new(store, &m, &w, NULL), 0);
	id = *store_writer_id(w);
	for (size_t i = 0; i < ARRAY_SIZE(samples); i++) {
		struct event ev = samples[i].ev;

		ev.text = ev.text ? ev.text : "";
		ev.effects = samples[i].effect;
		while (ev.n_effects < 2 && samples[i].effect[ev.n_effects].kind) {
			if (!samples[i].effect[ev.n_effects].name)
				samples[i].effect[ev.n_effects].name = "";
			ev.n_effects++;
		}
		ck_assert_int_eq(store_writer_event(w, &ev), 0);
	}
	m.state = RECORDING_COMPLETE;
	ck_assert_int_eq(store_writer_commit(w, &m, NULL), 0);
	store_writer_free(w);
	manifest_done(&m);
}

static void tear_down(void)
{
	char command[100];

	store_free(store);
	snprintf(command, sizeof(command), "rm -rf %s", dir);
	ck_assert_int_eq(system(command), 0);
}

START_TEST(text)
{
	struct store_reader *r;
	struct evprint p;
	const struct event *ev;

	set_up();
	ck_assert_int_eq(store_reader_open(store, &id, &r, NULL), 0);
	evprint_init(&p, r, 4);
	for (size_t i = 0; i < ARRAY_SIZE(samples); i++) {
		CLEANUP(buf_done) struct buf b = { 0 };

		ck_assert_int_eq(store_reader_next(r, &ev, NULL), 1);
		evprint_text(&p, ev, &b);
		ck_assert_uint_gt(b.len, 0);
		/* strings are cut at 4 bytes here */
		if (samples[i].text && i != 1)
			ck_assert_str_eq(buf_cstr(&b), samples[i].text);
		evprint_effects(&p, ev, &b);
		ck_assert_int_eq(buf_error(&b), 0);
	}
	evprint_done(&p);
	store_reader_free(r);
	tear_down();
}
END_TEST

static const char *string_of(json_t *j, const char *name)
{
	const char *s = json_string_value(json_object_get(j, name));

	return s ? s : "(none)";
}

START_TEST(json)
{
	json_t *j[ARRAY_SIZE(samples)], *effect;
	struct store_reader *r;
	struct evprint p;
	const struct event *ev;

	set_up();
	ck_assert_int_eq(store_reader_open(store, &id, &r, NULL), 0);
	evprint_init(&p, r, 0);
	for (size_t i = 0; i < ARRAY_SIZE(samples); i++) {
		ck_assert_int_eq(store_reader_next(r, &ev, NULL), 1);
		ck_assert_int_eq(evprint_json(&p, ev, &j[i]), 0);
		ck_assert_str_eq(string_of(j[i], "kind"), event_kind_name(samples[i].ev.kind));
		ck_assert_int_eq(json_integer_value(json_object_get(j[i], "number")), (json_int_t)i + 1);
	}
	ck_assert_str_eq(string_of(j[1], "line"), samples[1].text);
	ck_assert_str_eq(string_of(j[1], "syscall"), "openat");
	ck_assert_str_eq(string_of(j[1], "errno"), "ENOENT");
	ck_assert_int_eq(json_integer_value(json_object_get(j[1], "result")), -2);
	/* larger than what stays inside an event: fetched, and cut */
	effect = json_array_get(json_object_get(j[2], "effects"), 0);
	ck_assert_int_eq(json_integer_value(json_object_get(effect, "len")), 100000);
	ck_assert_uint_eq(strlen(string_of(effect, "data")), 512);
	ck_assert_int_eq(strncmp(string_of(effect, "data"), "7878", 4), 0);
	ck_assert_str_eq(string_of(j[6], "line"), samples[6].text);
	ck_assert_str_eq(string_of(j[13], "signal"), "SIGSEGV");
	for (size_t i = 0; i < ARRAY_SIZE(samples); i++)
		json_decref(j[i]);
	evprint_done(&p);
	store_reader_free(r);
	tear_down();
}
END_TEST

/* Columns of the samples: number in samples, name, args, result. */
static const struct {
	size_t sample;
	const char *name, *args, *result;
} columns[] = {
	{ 0, "exec", "/bin/x: /bin/x 'a b' '\\x1b'", "" },
	{ 1, "openat", "AT_FDCWD, \"/etc/passwd\", O_RDONLY", "-1 ENOENT" },
	{ 3, "read", "4", "" },
	{ 5, "write", "1, \"abc\", 3", "3" },
	{ 6, "read", "4, \"hi\", 10", "2" },
	{ 7, "read", "", "2" },
	{ 8, "getpid", "", "-1 ENOSYS" },
	{ 9, "fork", "", "" },
	{ 11, "tsc", "rdtscp", "123, aux 5" },
	{ 12, "cpuid", "eax=0x7, ecx=0x1", "eax=0x1, ebx=0x2, ecx=0x3, edx=0x4" },
	{ 13, "SIGSEGV", NULL, "kills the process" },
	{ 15, "read", "restarted by the kernel", "" },
	{ 16, "note", "so\\x0aso", "" },
	{ 18, "exit", "killed by SIGSEGV (core dumped)", "" },
	{ 19, "exit", "exited with 3", "with its process" },
	{ 20, "end", "end of the recording", "" },
};

static void check_columns(size_t sample, const struct evprint_row *row)
{
	for (size_t i = 0; i < ARRAY_SIZE(columns); i++) {
		if (columns[i].sample != sample)
			continue;
		ck_assert_str_eq(row->name, columns[i].name);
		ck_assert_uint_eq(row->result.len, strlen(columns[i].result));
		if (row->result.len)
			ck_assert_int_eq(strncmp((const char *)row->result.data, columns[i].result, row->result.len), 0);
		if (!columns[i].args)
			continue;
		ck_assert_uint_eq(row->parts.args_end - row->parts.args, strlen(columns[i].args));
		ck_assert_int_eq(strncmp((const char *)row->line.data + row->parts.args, columns[i].args, strlen(columns[i].args)), 0);
	}
}

START_TEST(rows)
{
	struct evprint_row row CLEANUP(evprint_row_done) = { 0 };
	struct store_reader *r;
	struct evprint p;
	const struct event *ev;

	set_up();
	ck_assert_int_eq(store_reader_open(store, &id, &r, NULL), 0);
	evprint_init(&p, r, 0);
	for (size_t i = 0; i < ARRAY_SIZE(samples); i++) {
		ck_assert_int_eq(store_reader_next(r, &ev, NULL), 1);
		ck_assert_int_eq(evprint_row(&p, ev, &row), 0);
		if (samples[i].text && i != 2)
			ck_assert_str_eq(buf_cstr(&row.line), samples[i].text);
		check_columns(i, &row);
		if (i == 6) { /* the end of a call shows what its beginning had */
			ck_assert(row.call && row.made.args[0] == 4);
			ck_assert_int_eq(strncmp((char *)row.line.data + row.parts.arg[1].from, "\"hi\"", row.parts.arg[1].to - row.parts.arg[1].from), 0);
		}
	}
	evprint_done(&p);
	store_reader_free(r);
	tear_down();
}
END_TEST

TEST_MAIN("analysis_evprint", text, rows, json)
