/* hermit coverage: which system calls recordings made and how hermit handled them; as text, JSON, CSV or a page. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "analysis/coverage.h"
#include "base/json.h"
#include "base/os.h"
#include "cli/cmd.h"
#include "cli/coverage_page.h"
#include "cli/fail.h"
#include "cli/js.h"
#include "cli/stores.h"
#include "cli/term.h"
#include "cli/text.h"

struct values {
	const char *data_dir, *html;
	bool all, json, csv;
};

/* --- which recordings --- */

static int add(struct coverage *c, struct store *s, const struct store_id *id)
{
	int r = coverage_add(c, NULL, s, id);

	return r < 0 ? fail_r(r, NULL, "cannot count the calls of recording %s", id->hex) : 0;
}

static int add_all(struct coverage *c, struct store *s)
{
	struct store_id *ids CLEANUP(freep) = NULL;
	size_t n = 0;
	int r = store_list(s, &ids, &n);

	if (r < 0)
		return fail_r(r, NULL, "cannot list the recordings in %s", store_dir(s));
	for (size_t i = 0; i < n; i++) {
		r = coverage_add(c, NULL, s, &ids[i]);
		if (r < 0 && r != ERR_NOT_FOUND) /* removed meanwhile */
			return fail_r(r, NULL, "cannot count the calls of recording %s", ids[i].hex);
	}
	return 0;
}

/* One recording may be named twice, by its id and its label. */
static bool has(const struct coverage *c, const struct store_id *id)
{
	for (uint32_t i = 0; i < c->n; i++)
		if (!strcmp(c->recording[i].id.hex, id->hex))
			return true;
	return false;
}

static int gather(const struct cmd_call *call, struct coverage *c)
{
	const struct values *v = call->values;
	struct store *s CLEANUP(store_freep) = NULL;
	struct store_id id;
	int r;

	if (v->all) {
		r = stores_open_if_there(v->data_dir, &s);
		return r || !s ? r : add_all(c, s);
	}
	r = stores_open(v->data_dir, false, &s);
	for (int i = 0; i < MAX(call->argc, 1) && !r; i++) {
		r = stores_resolve(s, call->argc ? call->argv[i] : NULL, &id);
		if (!r && !has(c, &id))
			r = add(c, s, &id);
	}
	return r;
}

/* --- text --- */

static int by_calls(const void *pa, const void *pb, void *ctx)
{
	const struct coverage *c = ctx;
	uint32_t a = *(const uint32_t *)pa, b = *(const uint32_t *)pb;

	if (c->row[a].calls != c->row[b].calls)
		return c->row[a].calls < c->row[b].calls ? 1 : -1;
	return (a > b) - (a < b);
}

static void print_row(const char *name, const struct coverage_row *row)
{
	printf("%-24s %10" PRIu64, name, row->calls);
	for (int h = 0; h < COVERAGE_HOW_MAX_; h++)
		printf(" %10" PRIu64, row->how[h]);
	printf("%s\n", row->bad ? "  (did not add up in a recording that is not counted)" : "");
}

static void print_rows(const struct coverage *c)
{
	struct coverage_row total = { 0 };
	uint32_t nr[SYS_TABLE_MAX + 1], n = 0;
	char name[24];

	for (uint32_t i = 0; i <= SYS_TABLE_MAX; i++)
		if (c->row[i].calls || c->row[i].bad)
			nr[n++] = i;
	qsort_r(nr, n, sizeof(*nr), by_calls, (void *)(uintptr_t)c);
	printf("%s%-24s %10s %10s %10s %10s %10s %10s%s\n", term_style(TERM_OUT, TERM_BOLD), "system call", "calls", "buffered", "executed", "answered", "refused",
	       "no return", term_style(TERM_OUT, TERM_PLAIN));
	for (uint32_t i = 0; i < n; i++) {
		const struct coverage_row *row = &c->row[nr[i]];

		print_row(nr[i] < SYS_TABLE_MAX ? sys_name(nr[i], name) : "(beyond the table)", row);
		total.calls += row->calls;
		for (int h = 0; h < COVERAGE_HOW_MAX_; h++)
			total.how[h] += row->how[h];
	}
	print_row("in all", &total);
}

static void print_never(const struct coverage *c)
{
	struct buf b CLEANUP(buf_done) = { 0 };
	unsigned n = 0, all = 0;
	char name[24];

	for (uint32_t nr = 0; nr < SYS_TABLE_MAX; nr++) {
		all += coverage_exists(nr);
		if (!coverage_exists(nr) || c->row[nr].calls)
			continue;
		buf_printf(&b, "%s%s", n ? " " : "", sys_name(nr, name));
		n++;
	}
	printf("\n%sNever exercised: %u of %u%s\n  ", term_style(TERM_OUT, TERM_BOLD), n, all, term_style(TERM_OUT, TERM_PLAIN));
	text_wrap(stdout, buf_cstr(&b), 2, term_help_width());
}

static void print_recordings(const struct coverage *c)
{
	printf("%u of %u recording%s counted\n", c->counted, c->n, c->n == 1 ? "" : "s");
	for (uint32_t i = 0; i < c->n; i++) {
		struct buf b CLEANUP(buf_done) = { 0 };

		if (!c->recording[i].why)
			continue;
		text_safe(&b, c->recording[i].command);
		buf_printf(&b, ": ");
		text_safe(&b, c->recording[i].why);
		printf("  not counted: %.8s %s\n", c->recording[i].id.hex, buf_cstr(&b));
	}
	printf("\n");
}

/* --- files --- */

static int print_buf(const struct buf *b)
{
	return fwrite(b->data, 1, b->len, stdout) == b->len ? 0 : fail(EXIT_INTERNAL, "cannot write the table");
}

static int write_page(const struct coverage *c, const char *file)
{
	struct buf b CLEANUP(buf_done) = { 0 };
	int fd CLEANUP(closep) = -1;
	int r = coverage_page(c, &b);

	if (r < 0)
		return fail_memory();
	if (!strcmp(file, "-"))
		return print_buf(&b);
	fd = os_open(file, O_WRONLY | O_CREAT | O_TRUNC | O_NOCTTY, 0666);
	r = fd < 0 ? fd : os_write_full(fd, b.data, b.len);
	return r < 0 ? fail_r(r, NULL, "cannot write %s", file) : 0;
}

static int print_json(const struct coverage *c)
{
	json_t *j CLEANUP(jsonx_unrefp) = NULL;

	return coverage_json(c, &j) < 0 || js_print(stdout, j) < 0 ? fail_memory() : 0;
}

static int run(const struct cmd_call *call)
{
	const struct values *v = call->values;
	struct coverage *c CLEANUP(coverage_freep) = NULL;
	struct buf b CLEANUP(buf_done) = { 0 };
	int r;

	if (v->all && call->argc)
		return cmd_usage(call->cmd, "--all counts all recordings: name none");
	if (coverage_new(&c) < 0)
		return fail_memory();
	r = gather(call, c);
	if (r)
		return r;
	if (v->html)
		return write_page(c, v->html);
	if (v->json)
		return print_json(c);
	if (v->csv)
		return coverage_csv(c, &b) < 0 ? fail_memory() : print_buf(&b);
	print_recordings(c);
	print_rows(c);
	print_never(c);
	return 0;
}

/* clang-format off */
#define ROW(kind_, letter_, name_, member, ...) \
	{ .kind = kind_, .letter = letter_, .name = name_, .offset = offsetof(struct values, member), __VA_ARGS__ }

static const struct opt opts[] = {
	ROW(OPT_FLAG, 'a', "all", all, .help = "Count all recordings"),
	ROW(OPT_FLAG, 0, "json", json, .conflicts = "csv", .help = "Print one JSON object, as GET /api/v1/coverage of hermitd gives it"),
	ROW(OPT_FLAG, 0, "csv", csv, .conflicts = "html", .help = "Print a table for spreadsheets: all system calls, also those never made"),
	ROW(OPT_STRING, 0, "html", html, .arg = "FILE", .conflicts = "json", .help = "Write a page that needs nothing else; - is stdout"),
	OPT_DATA_DIR(struct values, data_dir),
	{ .kind = OPT_END_ },
};
/* clang-format on */

const struct cmd cmd_coverage = {
	.name = "coverage",
	.summary = "Show which system calls were made and how they were handled",
	.usage = "[OPTIONS] [ID]...",
	.about = "Counts the system calls of recordings: buffered in the guest, executed by the kernel, answered by the recorder, refused because they cannot be "
		 "recorded, or without return (exit, killed inside, cut off). A recording whose numbers do not add up is not counted.\n"
		 "IDs may be abbreviated or be labels; without any the newest recording is counted.",
	.example = "    hermit coverage --all --html coverage.html\n"
		   "    hermit coverage 6ba7 --json | jq '.never[].name'\n",
	.opts = opts,
	.values_size = sizeof(struct values),
	.max_args = CMD_ARGS_ANY,
	.run = run,
};
