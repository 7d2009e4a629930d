/* hermit record show: everything the manifest tells about one recording, for people or as JSON. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include "base/json.h"
#include "base/str.h"
#include "cli/cmd.h"
#include "cli/fail.h"
#include "cli/js.h"
#include "cli/proctree.h"
#include "cli/stores.h"
#include "cli/term.h"
#include "cli/text.h"

struct values {
	const char *data_dir;
	bool json;
};

static void print_key(const char *key)
{
	printf("%s%-10s%s ", term_style(TERM_OUT, TERM_BOLD), key, term_style(TERM_OUT, TERM_PLAIN));
}

/* A line of key and text; none for an empty text. Clears b. */
static void print_line(const char *key, struct buf *b)
{
	if (b->len) {
		print_key(key);
		printf("%s\n", buf_cstr(b));
	}
	buf_clear(b);
}

/* The same for a string from the manifest, which may be NULL. */
static void print_text(const char *key, const char *text)
{
	struct buf b CLEANUP(buf_done) = { 0 };

	if (text)
		text_safe(&b, text);
	print_line(key, &b);
}

static void put_state(struct buf *b, const struct manifest *m)
{
	buf_printf(b, "%s", recording_state_name(m->state));
	if (m->reason) {
		buf_printf(b, ": ");
		text_safe(b, m->reason);
	}
	if (m->compressed) {
		buf_printf(b, ", compressed from ");
		buf_put_size(b, m->event_stream.raw_bytes + m->data_stream.raw_bytes);
		buf_printf(b, " to ");
		buf_put_size(b, m->event_stream.stored_bytes + m->data_stream.stored_bytes);
	}
}

static void put_size(struct buf *b, struct store *s, const struct manifest *m)
{
	uint64_t own, blobs;

	if (store_usage(s, &m->id, &own, &blobs) < 0)
		return;
	buf_put_size(b, own);
	buf_printf(b, " and ");
	buf_put_size(b, blobs);
	buf_printf(b, " of %zu files, shared with other recordings", m->n_blobs);
}

/* A recorder that dies leaves no counts, and none is there before the end; recovery counts only the events. */
static void put_events(struct buf *b, const struct manifest *m)
{
	if (m->state == RECORDING_OPEN)
		buf_printf(b, "not counted yet: it is still being recorded");
	else if (!m->processes && m->events)
		buf_printf(b, "%" PRIu64 " (processes, threads and system calls not counted: the recording was cut off)", m->events);
	else
		buf_printf(b, "%" PRIu64 " in %" PRIu64 " process%s, %" PRIu64 " thread%s", m->events, m->processes,
			   m->processes == 1 ? "" : "es", m->threads, m->threads == 1 ? "" : "s");
}

static void put_host(struct buf *b, const struct manifest *m)
{
	const char *part[] = { m->hostname, m->kernel, m->cpu_model };

	for (size_t i = 0; i < ARRAY_SIZE(part); i++) {
		if (!part[i] || !*part[i])
			continue;
		if (b->len)
			buf_printf(b, ", ");
		text_safe(b, part[i]);
	}
}

static void print_summary(struct store *s, const struct manifest *m)
{
	struct buf b CLEANUP(buf_done) = { 0 };

	print_text("recording", m->id.hex);
	print_text("label", m->label);
	text_command(&b, m->argv);
	print_line("command", &b);
	print_text("directory", m->cwd);
	text_when(&b, m->start_wall_ns);
	buf_printf(&b, ", took ");
	buf_put_duration(&b, m->duration_ns);
	print_line("when", &b);
	text_status(&b, m->state == RECORDING_OPEN ? -1 : m->status);
	print_line("result", &b);
	put_state(&b, m);
	print_line("state", &b);
	put_size(&b, s, m);
	print_line("size", &b);
	put_events(&b, m);
	print_line("events", &b);
	put_host(&b, m);
	print_line("machine", &b);
	if (m->hermit_version)
		buf_printf(&b, "hermit ");
	text_safe(&b, m->hermit_version ? m->hermit_version : "");
	if (m->user) {
		buf_printf(&b, ", for ");
		text_safe(&b, m->user);
	}
	print_line("made by", &b);
}

static void print_title(const char *text)
{
	printf("\n%s%s%s\n", term_style(TERM_OUT, TERM_BOLD), text, term_style(TERM_OUT, TERM_PLAIN));
}

/* --- objects of the manifest: options and the like, as "name: value" --- */

static void print_object(const char *title, const json_t *obj)
{
	const char *key;
	json_t *v;

	if (!json_object_size(obj))
		return;
	print_title(title);
	json_object_foreach((json_t *)(uintptr_t)obj, key, v) {
		char *text CLEANUP(freep) = NULL;

		if (json_is_object(v) || json_is_array(v) || jsonx_dump(v, JSON_ENCODE_ANY, &text, NULL) < 0)
			continue; /* tables for machines: --json */
		printf("  ");
		print_text(key, json_is_string(v) ? json_string_value(v) : text);
	}
}

/* --- system calls --- */

struct call_count {
	const char *name;
	uint64_t count, refused;
};

static int by_count(const void *pa, const void *pb)
{
	const struct call_count *a = pa, *b = pb;

	if (a->count != b->count)
		return a->count < b->count ? 1 : -1;
	return strcmp(a->name, b->name);
}

static void print_calls(const struct call_count *c, size_t n)
{
	uint64_t total = 0;

	for (size_t i = 0; i < n; i++)
		total += c[i].count;
	print_title("System calls");
	for (size_t i = 0; i < n; i++) {
		struct buf b CLEANUP(buf_done) = { 0 };

		text_safe(&b, c[i].name);
		printf("  %10" PRIu64 "  %5.1f %%  %s", c[i].count, total ? (double)c[i].count * 100 / (double)total : 0,
		       buf_cstr(&b));
		if (c[i].refused)
			printf("  (%" PRIu64 " refused)", c[i].refused);
		putchar('\n');
	}
	printf("  %10" PRIu64 "  in all\n", total);
}

static int show_calls(const json_t *syscalls)
{
	size_t n = 0;
	struct call_count *c;
	const char *key;
	json_t *v;

	if (!json_object_size(syscalls))
		return 0;
	c = calloc(json_object_size(syscalls), sizeof(*c));
	if (!c)
		return -ENOMEM;
	json_object_foreach((json_t *)(uintptr_t)syscalls, key, v) {
		c[n].name = key;
		/* members that are missing count as 0 */
		if (jsonx_get_u64(v, "count", &c[n].count) < 0)
			c[n].count = 0;
		if (jsonx_get_u64(v, "refused", &c[n].refused) < 0)
			c[n].refused = 0;
		n++;
	}
	qsort(c, n, sizeof(*c), by_count);
	print_calls(c, n);
	free(c);
	return 0;
}

/* --- */

static void print_warnings(const json_t *warnings)
{
	struct buf b CLEANUP(buf_done) = { 0 };
	size_t i;
	json_t *v;

	if (!json_array_size(warnings))
		return;
	print_title("Warnings");
	json_array_foreach(warnings, i, v) {
		buf_clear(&b);
		text_safe(&b, json_is_string(v) ? json_string_value(v) : "?");
		printf("  %s%s%s\n", term_style(TERM_OUT, TERM_YELLOW), buf_cstr(&b), term_style(TERM_OUT, TERM_PLAIN));
	}
}

static int show_text(struct store *s, const struct manifest *m)
{
	struct buf tree CLEANUP(buf_done) = { 0 };
	int r;

	print_summary(s, m);
	if (m->process) {
		r = proctree_put(&tree, m->process, m->processes, term_utf8());
		if (r < 0)
			return r;
		print_title("Processes");
		fputs(buf_cstr(&tree), stdout);
	}
	r = show_calls(m->syscalls);
	if (r < 0)
		return r;
	print_object("Options", m->options);
	print_object("CPU", m->cpu);
	print_warnings(m->warnings);
	return 0;
}

static int show_json(struct store *s, const struct manifest *m)
{
	static const char *const large[] = { "start_wall_ns", "duration_ns", "events", "raw_bytes", "stored_bytes", "bytes",
					     "blob_bytes", "first_event", "last_event", "count", "refused", NULL };
	json_t *j CLEANUP(jsonx_unrefp) = NULL;
	char *path CLEANUP(freep) = NULL;
	uint64_t own, blobs;
	int r = manifest_to_json(m, &j);

	if (r >= 0)
		r = store_path(s, &m->id, &path);
	if (r >= 0)
		r = jsonx_set_str(j, "path", path);
	if (r >= 0 && store_usage(s, &m->id, &own, &blobs) >= 0) {
		r = jsonx_set_u64(j, "bytes", own);
		if (r >= 0)
			r = jsonx_set_u64(j, "blob_bytes", blobs);
	}
	if (r >= 0)
		r = js_stringify(j, large);
	return r < 0 ? r : js_print(stdout, j);
}

static int run(const struct cmd_call *call)
{
	const struct values *v = call->values;
	struct store *s CLEANUP(store_freep) = NULL;
	struct manifest m CLEANUP(manifest_done);
	struct errinfo ei = { 0 };
	struct store_id id;
	int r;

	manifest_init(&m);
	r = stores_open_resolve(v->data_dir, call->argv[0], &s, &id);
	if (r)
		return r;
	r = manifest_load(s, &id, &m, &ei);
	if (r >= 0)
		r = v->json ? show_json(s, &m) : show_text(s, &m);
	return r < 0 ? fail_r(r, &ei, "cannot show recording %s", id.hex) : 0;
}

/* clang-format off */
static const struct opt opts[] = {
	{ .kind = OPT_FLAG, .name = "json", .offset = offsetof(struct values, json),
	  .help = "Print the manifest as one line of JSON; 64-bit numbers in it are strings" },
	OPT_DATA_DIR(struct values, data_dir),
	{ .kind = OPT_END_ },
};
/* clang-format on */

const struct cmd cmd_record_show = {
	.name = "record show",
	.summary = "Show one recording: command, result, processes, system calls, warnings",
	.usage = "[OPTIONS] [ID]",
	.about = "Shows what is known about a recording, without replaying it: command and environment of the recording, how it ended, "
		 "its processes as a tree, how often each system call was made, and what could not be recorded faithfully. "
		 "ID may be abbreviated or be a label; without it the newest recording is shown.",
	.example = "    hermit record show\n"
		   "    hermit record show 6ba7 --json | jq .argv\n",
	.opts = opts,
	.values_size = sizeof(struct values),
	.max_args = 1,
	.run = run,
};
