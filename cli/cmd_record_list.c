/* hermit record list: one row per recording, oldest first, so that the newest stands above the prompt.
 *
 * Rows are plain and complete when stdout is no terminal (full id, no header); on a terminal ids are shortened and commands
 * cut to its width. A recording whose manifest cannot be read has a row as well: it must not hide the others. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include "base/os.h"
#include "base/str.h"
#include "cli/cmd.h"
#include "cli/fail.h"
#include "cli/js.h"
#include "cli/stores.h"
#include "cli/term.h"
#include "cli/text.h"

#define SHORT_ID 12

struct values {
	const char *data_dir;
	bool json;
};

enum column { COL_ID, COL_WHEN, COL_DURATION, COL_SIZE, COL_EXIT, COL_COMMAND, COL_MAX_ };

static const struct {
	const char *title;
	bool right;
} columns[COL_MAX_] = {
	[COL_ID] = { "ID", false },	[COL_WHEN] = { "WHEN", false }, [COL_DURATION] = { "DURATION", true },
	[COL_SIZE] = { "SIZE", true },	[COL_EXIT] = { "EXIT", false }, [COL_COMMAND] = { "COMMAND", false },
};

struct row {
	char *cell[COL_MAX_];
	bool bad; /* not a clean exit 0 */
};

static char *steal(struct buf *b)
{
	char *s = buf_error(b) ? NULL : os_strdup(buf_cstr(b));

	buf_clear(b);
	return s;
}

static void put_exit(struct buf *b, const struct manifest *m)
{
	if (m->state == RECORDING_OPEN || m->state == RECORDING_TRUNCATED)
		buf_printf(b, "%s", recording_state_name(m->state));
	else
		text_status(b, m->status);
}

static void put_command(struct buf *b, const struct manifest *m)
{
	if (m->label) {
		buf_printf(b, "[");
		text_safe(b, m->label);
		buf_printf(b, "] ");
	}
	text_command(b, m->argv);
}

static int fill_row(struct store *s, const struct store_id *id, struct row *row)
{
	struct buf b CLEANUP(buf_done) = { 0 };
	struct manifest m CLEANUP(manifest_done);
	struct errinfo ei = { 0 };
	uint64_t own = 0, blobs = 0;
	int r;

	manifest_init(&m);
	r = manifest_load(s, id, &m, &ei);
	if (store_usage(s, id, &own, &blobs) < 0)
		own = 0;
	row->bad = r < 0 || m.state == RECORDING_TRUNCATED || (m.state != RECORDING_OPEN && m.status);
	buf_printf(&b, "%.*s", term_is_tty(TERM_OUT) ? SHORT_ID : STORE_ID_LEN, id->hex);
	row->cell[COL_ID] = steal(&b);
	text_when(&b, r < 0 ? 0 : m.start_wall_ns);
	row->cell[COL_WHEN] = steal(&b);
	if (r < 0 || m.state == RECORDING_OPEN)
		buf_printf(&b, "-");
	else
		buf_put_duration(&b, m.duration_ns);
	row->cell[COL_DURATION] = steal(&b);
	buf_put_size(&b, own);
	row->cell[COL_SIZE] = steal(&b);
	if (r < 0)
		buf_printf(&b, "?");
	else
		put_exit(&b, &m);
	row->cell[COL_EXIT] = steal(&b);
	if (r < 0) {
		buf_printf(&b, "(unreadable: ");
		text_safe(&b, ei.text[0] ? ei.text : err_str(r));
		buf_printf(&b, ")");
	} else {
		put_command(&b, &m);
	}
	row->cell[COL_COMMAND] = steal(&b);
	for (int c = 0; c < COL_MAX_; c++)
		if (!row->cell[c])
			return -ENOMEM;
	return 0;
}

/* Bytes of s that take at most `columns_left` columns, counting characters (wide ones are rare in commands). */
static int cut(const char *s, unsigned columns_left)
{
	const char *p = s;

	while (*p && columns_left--)
		p += MAX(str_utf8(p), 1u);
	return (int)(p - s);
}

static void print_row(char *const cell[], const unsigned width[], const char *style)
{
	unsigned line = term_width(TERM_OUT), used = 0;
	const char *plain = *style ? term_style(TERM_OUT, TERM_PLAIN) : "";

	for (int c = 0; c < COL_COMMAND; c++) {
		bool is_exit = c == COL_EXIT;

		printf("%s%*s%s  ", is_exit ? style : "", columns[c].right ? (int)width[c] : -(int)width[c], cell[c],
		       is_exit ? plain : "");
		used += width[c] + 2;
	}
	if (line > used + 8)
		printf("%.*s\n", cut(cell[COL_COMMAND], line - used), cell[COL_COMMAND]);
	else
		printf("%s\n", cell[COL_COMMAND]);
}

static void print_rows(struct row *rows, size_t n)
{
	unsigned width[COL_MAX_] = { 0 };
	char *titles[COL_MAX_];

	for (int c = 0; c < COL_MAX_; c++) {
		titles[c] = (char *)(uintptr_t)columns[c].title;
		if (term_is_tty(TERM_OUT))
			width[c] = (unsigned)strlen(columns[c].title);
		for (size_t i = 0; i < n; i++)
			width[c] = MAX(width[c], (unsigned)strlen(rows[i].cell[c]));
	}
	if (term_is_tty(TERM_OUT))
		print_row(titles, width, "");
	for (size_t i = 0; i < n && !ferror(stdout); i++)
		print_row(rows[i].cell, width, rows[i].bad ? term_style(TERM_OUT, TERM_RED) : "");
}

static int list_text(struct store *s, const struct store_id *ids, size_t n)
{
	struct row *rows = os_calloc(n ? n : 1, sizeof(*rows));
	int r = rows ? 0 : -ENOMEM;

	for (size_t i = 0; i < n && !r; i++)
		r = fill_row(s, &ids[i], &rows[i]);
	if (!r)
		print_rows(rows, n);
	for (size_t i = 0; rows && i < n; i++)
		for (int c = 0; c < COL_MAX_; c++)
			free(rows[i].cell[c]);
	free(rows);
	return r < 0 ? fail_memory() : 0;
}

static void describe(struct js *j, const struct manifest *m)
{
	struct buf b CLEANUP(buf_done) = { 0 };

	js_str(j, "label", m->label);
	js_str(j, "state", recording_state_name(m->state));
	js_str(j, "program", m->argv && m->argv[0] ? m->argv[0] : "");
	js_strv(j, "args", m->argv && m->argv[0] ? m->argv + 1 : NULL);
	text_command(&b, m->argv);
	js_str(j, "command", buf_cstr(&b));
	js_str(j, "cwd", m->cwd);
	js_str(j, "hostname", m->hostname);
	buf_clear(&b);
	text_when_utc(&b, m->start_wall_ns);
	js_str(j, "start", buf_cstr(&b));
	js_u64(j, "start_ns", m->start_wall_ns);
	js_u64(j, "duration_ns", m->duration_ns);
	js_status(j, m->state == RECORDING_OPEN ? -1 : m->status);
	js_u64(j, "events", m->events);
	js_u64(j, "processes", m->processes);
	js_u64(j, "threads", m->threads);
	js_bool(j, "compressed", m->compressed);
}

static json_t *json_row(struct store *s, const struct store_id *id)
{
	struct manifest m CLEANUP(manifest_done);
	struct js j CLEANUP(js_done) = { 0 };
	struct errinfo ei = { 0 };
	uint64_t own, blobs;
	int r;

	manifest_init(&m);
	js_init(&j);
	js_str(&j, "id", id->hex);
	r = manifest_load(s, id, &m, &ei);
	if (r < 0)
		js_str(&j, "error", ei.text[0] ? ei.text : err_str(r));
	else
		describe(&j, &m);
	if (store_usage(s, id, &own, &blobs) >= 0) {
		js_u64(&j, "bytes", own);
		js_u64(&j, "blob_bytes", blobs);
	}
	return js_steal(&j);
}

static int list_json(struct store *s, const struct store_id *ids, size_t n)
{
	json_t *a = json_array();
	int r = a ? 0 : -ENOMEM;

	for (size_t i = 0; i < n && !r; i++)
		if (json_array_append_new(a, json_row(s, &ids[i])))
			r = -ENOMEM;
	if (!r)
		r = js_print(stdout, a);
	json_decref(a);
	return r < 0 ? fail_memory() : 0;
}

static void tell_none(const char *data_dir)
{
	char *dir CLEANUP(freep) = NULL;

	if (store_default_dir(data_dir, &dir) >= 0)
		fprintf(stderr, "no recordings in %s%s\n", dir, term_is_tty(TERM_ERR) ? "; make one: hermit record -- PROGRAM" : "");
}

static int run(const struct cmd_call *call)
{
	const struct values *v = call->values;
	struct store *s CLEANUP(store_freep) = NULL;
	struct store_id *ids CLEANUP(freep) = NULL;
	size_t n = 0;
	int r = stores_open_if_there(v->data_dir, &s);

	if (r)
		return r;
	r = s ? store_list(s, &ids, &n) : 0;
	if (r < 0)
		return fail_r(r, NULL, "cannot list the recordings in %s", store_dir(s));
	if (v->json)
		return list_json(s, ids, n);
	if (!n && (!s || term_is_tty(TERM_OUT)))
		tell_none(v->data_dir);
	return list_text(s, ids, n);
}

/* clang-format off */
static const struct opt opts[] = {
	{ .kind = OPT_FLAG, .name = "json", .offset = offsetof(struct values, json),
	  .help = "Print one JSON array; 64-bit numbers in it are strings" },
	OPT_DATA_DIR(struct values, data_dir),
	{ .kind = OPT_END_ },
};
/* clang-format on */

const struct cmd cmd_record_list = {
	.name = "record list",
	.alias = "ls",
	.summary = "List the recordings, the newest last",
	.usage = "[OPTIONS]",
	.about = "Lists all recordings: id, when it was made, how long it ran, its size on disk (without the programs and libraries that "
		 "recordings share), how the program ended, and the command. 'truncated' means that the recorder was stopped "
		 "before the end: such a recording replays up to there.",
	.example = "    hermit record list\n"
		   "    hermit record list --json | jq -r '.[-1].id'     # the newest\n",
	.opts = opts,
	.values_size = sizeof(struct values),
	.run = run,
};
