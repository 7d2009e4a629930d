/* `monitor hermit COMMAND`: takes the line apart, runs the command and shows what it says as text or as one line of JSON. */
#include "gdbstub/monitor_priv.h"

#include <errno.h>
#include <string.h>
#include "base/json.h"
#include "base/str.h"

#define LINE_MAX_BYTES 4096u
#define CHUNK 4000u /* of console output in one packet */

static int help(struct monitor *m);

static int leave(struct monitor *m)
{
	m->s->end = STUB_KILLED;
	return 0;
}

static const struct command {
	const char *name, *args, *what;
	unsigned min_words, max_words;
	int (*fn)(struct monitor *m);
} commands[] = {
	{ "help", "", "this text", 0, 0, help },
	{ "where", "[brief|TIME]", "position (brief: not; TIME: if found by then), time, thread, how the process ended", 0, 1, monitor_where },
	{ "goto", "POS", "move there (gdb does not notice by itself: see arm)", 1, 1, monitor_goto },
	{ "arm", "POS|last-write ADDR LEN|none", "the next step or continue of gdb goes there instead", 1, 3, monitor_arm },
	{ "events", "[A-B]", "recorded events, by default those around the position", 0, 1, monitor_events },
	{ "processes", "", "all processes of the recording", 0, 0, monitor_processes },
	{ "last-write", "ADDR LEN", "where memory was last changed before the position", 2, 2, monitor_last_write },
	{ "checkpoint", "", "bookmark with a number for a name", 0, 0, monitor_checkpoint },
	{ "bookmark", "TEXT", "name the position (one word), or leave a note there; it stays with the recording", 1, MONITOR_WORDS_MAX, monitor_bookmark },
	{ "bookmarks", "", "all bookmarks: of this session, and those left in the recording", 0, 0, monitor_bookmarks },
	{ "output", "", "what the program has written to stdout and stderr up to here", 0, 0, monitor_output },
	{ "exit", "", "end the session", 0, 0, leave },
};

static int help(struct monitor *m)
{
	json_t *list = m->json ? json_array() : NULL;

	for (size_t i = 0; i < ARRAY_SIZE(commands); i++) {
		const struct command *c = &commands[i];

		if (list)
			(void)json_array_append_new(list, json_pack("{ss ss ss}", "name", c->name, "arguments", c->args, "what", c->what));
		else
			buf_printf(m->out, "monitor hermit %s%s%s -- %s\n", c->name, *c->args ? " " : "", c->args, c->what);
	}
	if (m->json)
		return monitor_set(m, "commands", list);
	buf_printf(m->out, "POS is a position as `where` shows it, a number of events, a time like 1.5s, start, end, or a bookmark.\n"
			   "--json makes any answer one line of JSON.\n");
	return 0;
}

int monitor_set(struct monitor *m, const char *key, json_t *v)
{
	return jsonx_set_new(m->result, key, v);
}

int monitor_set_str(struct monitor *m, const char *key, const char *text)
{
	return jsonx_set_new(m->result, key, jsonx_string_lossy(text, strlen(text)));
}

void monitor_put_safe(struct buf *out, const char *text)
{
	buf_put_printable(out, text);
}

int monitor_reader(struct monitor *m, struct store_reader **ret)
{
	struct store_reader *r = dbg_reader(m->s->d);

	return store_reader_open(store_reader_store(r), &store_reader_manifest(r)->id, ret, &m->ei);
}

/* Words at blanks; --json anywhere is an option. ERR_LIMIT: too many. */
static int split(struct monitor *m, char *line, const char **ret_name)
{
	char *save = NULL;

	*ret_name = NULL;
	for (char *w = strtok_r(line, " \t\n", &save); w; w = strtok_r(NULL, " \t\n", &save)) {
		if (strcmp(w, "--json") == 0)
			m->json = true;
		else if (!*ret_name && !m->words && strcmp(w, "hermit") == 0)
			continue;
		else if (!*ret_name)
			*ret_name = w;
		else if (m->words == MONITOR_WORDS_MAX)
			return ERR_LIMIT;
		else
			m->word[m->words++] = w;
	}
	return 0;
}

static int run_command(struct monitor *m, const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(commands); i++) {
		const struct command *c = &commands[i];

		if (strcmp(c->name, name) != 0)
			continue;
		if (m->words < c->min_words || m->words > c->max_words)
			return errinfo_set(&m->ei, -EINVAL, "usage: monitor hermit %s %s", c->name, c->args);
		if (dbg_lost(m->s->d) && c->fn != leave && c->fn != help)
			return errinfo_set(&m->ei, ERR_GUEST_GONE, "the replay broke: this session can only be ended");
		return c->fn(m);
	}
	return errinfo_set(&m->ei, -EINVAL, "there is no command %.40s: try monitor hermit help", name);
}

static void put_json(struct monitor *m)
{
	char *text CLEANUP(freep) = NULL;
	size_t n;

	buf_clear(m->out);
	if (jsonx_dump(m->result, JSON_COMPACT, &text, &n) < 0)
		return;
	buf_put(m->out, text, n);
	buf_put_u8(m->out, '\n');
}

int stub_monitor(struct stub *s, char *line, struct buf *out)
{
	struct monitor m = { .s = s, .out = out };
	json_t *result CLEANUP(jsonx_unrefp) = m.result = json_object();
	const char *name;
	bool talking = s->talking;
	int r = split(&m, line, &name);

	s->talking = talking && !m.json; /* nothing but JSON is printed then, no progress */
	if (r >= 0)
		r = result ? run_command(&m, name ? name : "help") : -ENOMEM;
	if (r < 0) {
		const char *why = m.ei.text[0] ? m.ei.text : err_str(r);

		buf_clear(out);
		json_object_clear(result);
		if (!m.json)
			buf_printf(out, "error: %s\n", why);
		else if (monitor_set_str(&m, "error", why) < 0)
			buf_clear(out);
	}
	if (m.json)
		put_json(&m);
	s->talking = talking;
	return r;
}

int stub_rcmd(struct stub *s, struct view *v)
{
	struct buf line CLEANUP(buf_done) = { 0 };
	struct buf out CLEANUP(buf_done) = { 0 };
	int r;

	if (view_left(v) > 2 * LINE_MAX_BYTES)
		return ERR_LIMIT;
	r = rsp_get_bytes(v, &line);
	if (r < 0)
		return r;
	buf_cstr(&line);
	buf_put_u8(&line, 0);
	if (buf_error(&line))
		return buf_error(&line);
	stub_run_begin(s);
	r = stub_monitor(s, (char *)line.data, &out);
	for (size_t at = 0; at < out.len && !s->gone; at += CHUNK)
		stub_console(s, "%.*s", (int)MIN(out.len - at, (size_t)CHUNK), (const char *)out.data + at);
	stub_run_end(s);
	/* the text has been shown; an error ends gdb's scripts (hermit.gdb: no step when arm failed). gdb knows only numbers here. */
	stub_puts(s, r < 0 ? "E01" : "OK");
	return 0;
}
