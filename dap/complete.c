/* Request completions: of expressions and of the debug console's words, by gdb and by our tables. */
#include "dap/guard_priv.h"
#include "dap/stack_priv.h"
#include "dap/words_priv.h"

#include <ctype.h>
#include <errno.h>
#include <string.h>
#include "base/str.h"

#define EXPRESSION "print "

struct completions_args {
	const char *text;
	int64_t column, line, frame;
};

static const struct arg completions_table[] = {
	ARG(STR, struct completions_args, text, "text", .required = true),
	ARG(INT, struct completions_args, column, "column", .required = true),
	ARG(INT, struct completions_args, line, "line", .def = -1),
	ARG(INT, struct completions_args, frame, "frameId"),
	{ .name = NULL },
};

/* Columns of DAP are UTF-16 units. */
static size_t units(const char *s)
{
	unsigned n = str_utf8(s);

	return n == 4 ? 2 : 1;
}

static size_t next_character(const char *s)
{
	return MAX(str_utf8(s), 1u);
}

static size_t bytes_at(const char *s, int64_t column)
{
	size_t at = 0;

	for (int64_t c = 0; c < column && s[at] && s[at] != '\n';) {
		c += (int64_t)units(s + at);
		at += next_character(s + at);
	}
	return at;
}

static int64_t column_at(const char *s, size_t bytes)
{
	int64_t c = 0;

	for (size_t at = 0; at < bytes && s[at]; at += next_character(s + at))
		c += (int64_t)units(s + at);
	return c;
}

static const char *line_of(const struct dap *d, const struct completions_args *a)
{
	const char *p = a->text;

	for (int64_t line = d->client.lines_at_1 ? 1 : 0; line < a->line && strchr(p, '\n'); line++)
		p = strchr(p, '\n') + 1;
	return p;
}

/* Where the name begins that the prefix ends with. */
static size_t word_start(const char *prefix)
{
	size_t n = strlen(prefix);

	while (n > 0 && (isalnum((unsigned char)prefix[n - 1]) || strchr("_$", prefix[n - 1]) || (prefix[n - 1] & 0x80)))
		n--;
	return n;
}

struct completing {
	struct dap *d;
	const char *prefix;
	json_t *targets;
};

static int add(const struct completing *c, const char *label, size_t from, const char *type)
{
	json_t *item;

	for (size_t i = 0; i < json_array_size(c->targets); i++)
		if (strcmp(mi_str(json_array_get(c->targets, i), "label") ?: "", label) == 0)
			return 0;
	item = json_object();
	if (json_array_append_new(c->targets, item) < 0 || jsonx_set_new(item, "label", jsonx_text(label)) < 0 ||
	    jsonx_set_i64(item, "start", column_at(c->prefix, from) + (c->d->client.columns_at_1 ? 1 : 0)) < 0 ||
	    jsonx_set_i64(item, "length", column_at(c->prefix + from, strlen(c->prefix + from))) < 0)
		return -ENOMEM;
	return jsonx_set_str(item, "type", type);
}

/* A match is the whole line, with `lead` before what the client has. */
static int add_match(const struct completing *c, const char *match, const char *lead, bool command)
{
	size_t from = word_start(c->prefix), dash;

	if (command) /* words of commands have dashes */
		for (dash = from; dash > 0 && (c->prefix[dash - 1] == '-' || isalnum((unsigned char)c->prefix[dash - 1])); dash--)
			from = dash - 1;
	if (*match == '\0' || !str_has_prefix(match, lead) || strstr(match, "*** List may be truncated"))
		return 0;
	match += strlen(lead);
	if (strncmp(match, c->prefix, from) != 0)
		return 0;
	return add(c, match + from, from, command ? "keyword" : strchr(match + from, '(') ? "function" : "variable");
}

/* By the console: -complete does not escape the quotes in what it answers (gdb 13.1). */
static int add_gdb(const struct completing *c, int thread, int level, const char *lead, bool command)
{
	CLEANUP(buf_done) struct buf out = { 0 };
	struct errinfo why = { 0 };
	char *line, *rest;
	int r = mi_console_in(c->d->mi, thread, level, &out, &why, "complete %s%s", lead, c->prefix);

	if (r == -EREMOTEIO) /* nothing can be completed there */
		return 0;
	if (r < 0)
		return errinfo_set(&c->d->ei, r, "%s", why.text);
	(void)buf_cstr(&out);
	rest = (char *)out.data;
	for (line = strsep(&rest, "\n"); line && r >= 0; line = strsep(&rest, "\n"))
		r = add_match(c, line, lead, command);
	return r;
}

/* Ours come before gdb's of the same name. */
static bool is_ours(const char *name)
{
	for (size_t i = 0; words_at(i); i++)
		if (strcmp(words_at(i)->name, name) == 0)
			return true;
	return false;
}

/* Words that begin the line. */
static int add_words(const struct completing *c)
{
	int r = 0;

	if (*c->prefix == '\0' || strpbrk(c->prefix, " \t.$:>"))
		return 0;
	for (size_t i = 0; words_at(i) && r >= 0; i++)
		if (str_has_prefix(words_at(i)->name, c->prefix))
			r = add(c, words_at(i)->name, 0, "keyword");
	for (size_t i = 0; guard_word(i) && r >= 0; i++)
		if (str_has_prefix(guard_word(i), c->prefix) && !is_ours(guard_word(i)))
			r = add(c, guard_word(i), 0, "keyword");
	return r;
}

/* A command's word and a blank are there: gdb completes its arguments. Behind an operator it was none. */
static bool wants_command(const char *prefix)
{
	struct guard_verdict v = guard_command(prefix);
	const char *blank = strpbrk(prefix, " \t");

	return blank && v.kind == GUARD_COMMAND && (*v.args == '\0' || guard_only_command(prefix));
}

static int completions(struct dap *d, const void *args, json_t *body)
{
	const struct completions_args *a = args;
	const char *line = line_of(d, a);
	CLEANUP(buf_done) struct buf prefix = { 0 };
	struct completing c = { .d = d, .targets = json_array() };
	int thread, level, r = jsonx_set_new(body, "targets", c.targets);

	buf_put(&prefix, line, bytes_at(line, a->column - (d->client.columns_at_1 ? 1 : 0)));
	c.prefix = buf_cstr(&prefix);
	if (r >= 0)
		r = buf_error(&prefix) ? buf_error(&prefix) : stack_frame(d, a->frame, &thread, &level);
	if (r < 0)
		return r;
	if (strpbrk(c.prefix, "\r\n"))
		return 0;
	if (wants_command(c.prefix))
		return add_gdb(&c, thread, level, "", true);
	r = add_words(&c);
	/* all names there are would be no help; a word of the console with a dash is no subtraction */
	if (r >= 0 && *c.prefix && !(json_array_size(c.targets) && strchr(c.prefix, '-')))
		r = add_gdb(&c, thread, level, EXPRESSION, false);
	return r;
}
DAP_METHOD(completions, completions_table, struct completions_args);
