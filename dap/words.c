/* Words of the debug console: see words.def. Editors without our extension have all of time travel by them. */
#include "dap/words_priv.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include "base/os.h"
#include "base/str.h"

#define AROUND 10u
#define LINE_MAX_BYTES 8192u

static int word_when(struct dap *d, const struct word_call *c, struct buf *out);
static int word_seek(struct dap *d, const struct word_call *c, struct buf *out);
static int word_start(struct dap *d, const struct word_call *c, struct buf *out);
static int word_end(struct dap *d, const struct word_call *c, struct buf *out);
static int word_last_write(struct dap *d, const struct word_call *c, struct buf *out);
static int word_back(struct dap *d, const struct word_call *c, struct buf *out);
static int word_forward(struct dap *d, const struct word_call *c, struct buf *out);
static int word_bookmark(struct dap *d, const struct word_call *c, struct buf *out);
static int word_bookmarks(struct dap *d, const struct word_call *c, struct buf *out);
static int word_delete_bookmark(struct dap *d, const struct word_call *c, struct buf *out);
static int word_log_all(struct dap *d, const struct word_call *c, struct buf *out);
static int word_events(struct dap *d, const struct word_call *c, struct buf *out);
static int word_output(struct dap *d, const struct word_call *c, struct buf *out);
static int word_processes(struct dap *d, const struct word_call *c, struct buf *out);
static int word_open_process(struct dap *d, const struct word_call *c, struct buf *out);
static int word_help(struct dap *d, const struct word_call *c, struct buf *out);
static int word_move(struct dap *d, const struct word_call *c, struct buf *out);

static const struct word words[] = {
#define WORD(name_, args_, what_, fn_) { .name = (name_), .args = (args_), .what = (what_), .fn = (fn_) },
#define SAME(name_, same_) { .name = (name_), .same = (same_) },
#define MOVE(name_, mi_, reverse_, args_, what_) { .name = (name_), .args = (args_), .what = (what_), .fn = word_move, .mi = (mi_), .reverse = (reverse_) },
#include "dap/words.def"
#undef WORD
#undef SAME
#undef MOVE
};

/* --- taking lines apart --- */

const struct word *words_at(size_t i)
{
	return i < ARRAY_SIZE(words) ? &words[i] : NULL;
}

static const struct word *find_name(const char *name, size_t n)
{
	for (size_t i = 0; i < ARRAY_SIZE(words); i++)
		if (strlen(words[i].name) == n && memcmp(words[i].name, name, n) == 0)
			return words[i].same ? find_name(words[i].same, strlen(words[i].same)) : &words[i];
	return NULL;
}

static size_t without_blanks(const char *s)
{
	size_t n = strlen(s);

	while (n && isspace((unsigned char)s[n - 1]))
		n--;
	return n;
}

int words_find(const char *line, const struct word **ret, char **ret_args)
{
	const struct word *w;
	const char *args;
	size_t n;

	line += strspn(line, " \t\r\n");
	n = strcspn(line, " \t\r\n");
	w = find_name(line, n);
	if (!w)
		return 0;
	args = line + n;
	args += strspn(args, " \t\r\n");
	*ret_args = strndup(args, without_blanks(args));
	if (!*ret_args)
		return -ENOMEM;
	*ret = w;
	return 1;
}

bool words_fits(const struct word *w, const char *args)
{
	if (!*args)
		return !*w->args || *w->args == '[';
	return *w->args && (strcmp(w->args, "[N]") != 0 || (strlen(args) < 8 && args[strspn(args, "0123456789")] == '\0'));
}

/* A blank and "if" and a blank, the last one outside of braces and quotes: texts have words like that as well. */
static char *find_if(char *s)
{
	char *found = NULL;
	bool quoted = false;
	int depth = 0;

	for (; *s; s++) {
		quoted ^= *s == '"';
		depth += *s == '{' ? 1 : *s == '}' ? -1 : 0;
		if (!quoted && depth == 0 && str_has_prefix(s, " if ") && s[4])
			found = s;
	}
	return found;
}

/* Without the quotes around all of it. */
static char *unquote(char *s)
{
	size_t n = strlen(s);

	if (n < 2 || s[0] != '"' || s[n - 1] != '"')
		return s;
	s[n - 1] = '\0';
	return s + 1;
}

bool words_log_all(char *s, const char **ret_location, const char **ret_text, const char **ret_condition)
{
	size_t n = strcspn(s, " \t");
	char *text = s + n, *cond;

	text += strspn(text, " \t");
	if (!n || !*text)
		return false;
	cond = find_if(text);
	s[n] = '\0';
	if (cond) {
		*cond = '\0';
		cond += 4;
	}
	*ret_location = s;
	*ret_condition = cond;
	*ret_text = unquote(text);
	return true;
}

bool words_range(const char *s, uint64_t here, uint64_t *ret_from, uint64_t *ret_to)
{
	const char *dash = strchr(s, '-');
	char first[32];

	if (!*s) {
		*ret_from = here > AROUND ? here - AROUND : 1;
		*ret_to = here + AROUND;
		return true;
	}
	snprintf(first, sizeof(first), "%.*s", dash ? (int)MIN(dash - s, (ptrdiff_t)31) : 31, s);
	if (str_parse_u64(first, ret_from) < 0 || !*ret_from)
		return false;
	*ret_to = dash ? UINT64_MAX : *ret_from;
	return !dash || !dash[1] || (str_parse_u64(dash + 1, ret_to) >= 0 && *ret_to >= *ret_from);
}

/* --- ours --- */

static int word_when(struct dap *d, const struct word_call *c, struct buf *out)
{
	(void)c;
	return mi_console(d->mi, out, &d->ei, "monitor hermit where");
}

static int word_seek(struct dap *d, const struct word_call *c, struct buf *out)
{
	(void)out;
	return places_seek(d, c->args);
}

static int word_start(struct dap *d, const struct word_call *c, struct buf *out)
{
	(void)c, (void)out;
	return places_seek(d, "start");
}

static int word_end(struct dap *d, const struct word_call *c, struct buf *out)
{
	(void)c, (void)out;
	return places_seek(d, "end");
}

static int word_last_write(struct dap *d, const struct word_call *c, struct buf *out)
{
	(void)out;
	return places_last_write(d, c->frame_id, c->args);
}

static int word_back(struct dap *d, const struct word_call *c, struct buf *out)
{
	(void)c, (void)out;
	return places_navigate(d, false);
}

static int word_forward(struct dap *d, const struct word_call *c, struct buf *out)
{
	(void)c, (void)out;
	return places_navigate(d, true);
}

static int word_bookmark(struct dap *d, const struct word_call *c, struct buf *out)
{
	json_t *made CLEANUP(jsonx_unrefp) = json_object();
	int r = made ? bookmarks_add(d, c->args, made) : -ENOMEM;

	if (r >= 0)
		buf_printf(out, "bookmark at position %s\n", mi_str(made, "position") ?: "?");
	return r;
}

static int word_bookmarks(struct dap *d, const struct word_call *c, struct buf *out)
{
	json_t *list CLEANUP(jsonx_unrefp) = NULL, *one;
	size_t i;
	int r = bookmarks_list(d, &list);

	(void)c;
	json_array_foreach(list, i, one) {
		const char *author = mi_str(one, "author");

		buf_put_safe(out, mi_str(one, "text") ?: "?");
		buf_printf(out, "  at %s", mi_str(one, "position") ?: "the whole recording");
		if (author && *author) {
			buf_printf(out, "  by ");
			buf_put_safe(out, author);
		}
		buf_put_u8(out, '\n');
	}
	if (r >= 0 && !json_array_size(list))
		buf_printf(out, "no bookmarks\n");
	return r;
}

static int word_delete_bookmark(struct dap *d, const struct word_call *c, struct buf *out)
{
	int r = bookmarks_remove(d, c->args);

	if (r >= 0)
		buf_printf(out, "removed\n");
	return r;
}

static void put_log(const json_t *found, struct buf *out)
{
	json_t *lines = json_object_get(found, "lines"), *one;
	size_t i;

	json_array_foreach(lines, i, one) {
		buf_printf(out, "%8" PRId64 "  ", mi_int(one, "event", 0));
		buf_put_safe(out, mi_str(one, "text") ?: "");
		buf_put_u8(out, '\n');
	}
	if (!json_array_size(lines))
		buf_printf(out, "the recording does not pass there\n");
	else if (!json_is_true(json_object_get(found, "complete")))
		buf_printf(out, "[there are more]\n");
}

static int word_log_all(struct dap *d, const struct word_call *c, struct buf *out)
{
	json_t *found CLEANUP(jsonx_unrefp) = json_object();
	char *args CLEANUP(freep) = os_strdup(c->args);
	const char *location, *text, *condition;
	int r;

	if (!args || !found)
		return -ENOMEM;
	if (!words_log_all(args, &location, &text, &condition))
		return errinfo_set(&d->ei, -EINVAL, "usage: log-all LOCATION TEXT [if COND]");
	r = breaks_log_all(d, location, condition, text, found);
	if (r >= 0)
		put_log(found, out);
	return r;
}

static int word_events(struct dap *d, const struct word_call *c, struct buf *out)
{
	uint64_t from, to;

	if (!words_range(c->args, run_where(d)->event, &from, &to))
		return errinfo_set(&d->ei, -EINVAL, "'%.40s' is no range of events", c->args);
	if (!d->recording)
		return mi_console(d->mi, out, &d->ei, "monitor hermit events %" PRIu64 "-%" PRIu64, from, to);
	return events_text(d, from, to, out);
}

static int word_output(struct dap *d, const struct word_call *c, struct buf *out)
{
	(void)c;
	return output_text(d, out);
}

static int word_processes(struct dap *d, const struct word_call *c, struct buf *out)
{
	json_t *list CLEANUP(jsonx_unrefp) = NULL, *one;
	size_t i;
	int r = children_list(d, &list);

	(void)c;
	json_array_foreach(list, i, one) {
		bool ended = json_is_true(json_object_get(one, "ended"));

		buf_printf(out, "%c %" PRId64 "  events %" PRId64 "-%" PRId64 "  ", json_is_true(json_object_get(one, "current")) ? '*' : ' ', mi_int(one, "pid", 0),
			   mi_int(one, "first", 0), mi_int(one, "last", 0));
		buf_put_safe(out, mi_str(one, "command") ?: "?");
		buf_printf(out, ended ? "\n" : "  (had not ended)\n");
	}
	return r;
}

static int word_open_process(struct dap *d, const struct word_call *c, struct buf *out)
{
	int64_t pid;
	bool opened;

	if (str_parse_i64(c->args, &pid) < 0)
		return errinfo_set(&d->ei, -EINVAL, "'%.40s' is no pid", c->args);
	return children_open(d, pid, &opened, out);
}

static void put_help(struct buf *out, const struct word *w)
{
	char head[64];

	snprintf(head, sizeof(head), "%s%s%s", w->name, *w->args ? " " : "", w->args);
	buf_printf(out, "%-32s %s", head, w->what);
	for (size_t i = 0; i < ARRAY_SIZE(words); i++)
		if (words[i].same && strcmp(words[i].same, w->name) == 0)
			buf_printf(out, " [%s]", words[i].name);
	buf_put_u8(out, '\n');
}

static int word_help(struct dap *d, const struct word_call *c, struct buf *out)
{
	(void)d, (void)c;
	for (size_t i = 0; i < ARRAY_SIZE(words); i++)
		if (!words[i].same)
			put_help(out, &words[i]);
	buf_printf(out, "Any other line is an expression or a command of gdb. A variable of one of these names: print NAME\n");
	return 0;
}

/* --- gdb's words for running --- */

/* The command for the thread and the frame that are looked at: options of MI come before those of the command. */
static int put_move(struct dap *d, const struct word_call *c, struct buf *b)
{
	const struct word *w = c->word;
	bool finish = strcmp(w->mi, "-exec-finish") == 0, step = finish || strstr(w->mi, "-step") || strstr(w->mi, "-next");
	int thread, level, r = stack_frame(d, c->frame_id, &thread, &level);
	struct buf line CLEANUP(buf_done) = { 0 };
	const char *space = strchr(w->mi, ' ');

	if (r < 0)
		return r;
	buf_printf(b, "%.*s", space ? (int)(space - w->mi) : (int)strlen(w->mi), w->mi);
	if (step && thread > 0)
		buf_printf(b, " --thread %d", thread);
	if (finish && thread > 0)
		buf_printf(b, " --frame %d", level);
	if (w->reverse)
		buf_printf(b, " --reverse");
	if (space) { /* a word that MI lacks */
		buf_printf(&line, "%s %s", w->name, c->args);
		buf_printf(b, "%s ", space);
		mi_quote(b, buf_cstr(&line));
	} else if (*c->args) {
		buf_put_u8(b, ' ');
		if (strcmp(w->args, "[N]") == 0)
			buf_printf(b, "%s", c->args);
		else
			mi_quote(b, c->args);
	}
	return buf_error(b);
}

static int word_move(struct dap *d, const struct word_call *c, struct buf *out)
{
	struct buf command CLEANUP(buf_done) = { 0 };
	int r = put_move(d, c, &command);
	struct run_request rq = { .reverse = c->word->reverse, .title = c->word->what };

	(void)out;
	if (r < 0)
		return r;
	rq.command = buf_cstr(&command);
	rq.kind = strcmp(c->word->mi, "-exec-continue") == 0 ? RUN_CONTINUE : RUN_STEP;
	return run_start(d, &rq);
}

/* --- the console --- */

static int set_result(json_t *body, struct buf *out)
{
	int r = buf_error(out);

	if (r >= 0)
		r = jsonx_set_new(body, "result", jsonx_string_lossy(buf_cstr(out), out->len));
	return r < 0 ? r : jsonx_set_i64(body, "variablesReference", 0);
}

int places_word(struct dap *d, int64_t frame_id, const char *line, json_t *body)
{
	struct word_call c = { .frame_id = frame_id };
	struct buf out CLEANUP(buf_done) = { 0 };
	char *args CLEANUP(freep) = NULL;
	int r;

	if (strlen(line) > LINE_MAX_BYTES)
		return 0;
	r = words_find(line, &c.word, &args);
	if (r <= 0)
		return r;
	c.args = args;
	if (!words_fits(c.word, args))
		return errinfo_set(&d->ei, -EINVAL, "usage: %s%s%s", c.word->name, *c.word->args ? " " : "", c.word->args);
	r = c.word->fn(d, &c, &out);
	if (r >= 0)
		r = set_result(body, &out);
	return r < 0 ? r : 1;
}
