/* Request evaluate: expressions of watches and hovers, which change nothing and call nothing, and the debug console, which also takes our words and those
 * of gdb's commands that tell something. See guard_priv.h for what is let pass. */
#include "dap/breaks_priv.h"
#include "dap/guard_priv.h"
#include "dap/stack_priv.h"

#include <errno.h>
#include <string.h>
#include "base/os.h"
#include "base/str.h"

#define SHOWN_MAX (64u << 10)
#define PRINTED_MAX (1u << 20)

struct evaluation {
	int thread, level;
	bool console; /* of the debug console: calls of functions, gdb's own variables */
	bool full;    /* for the clipboard */
	bool hex;
};

/* --- expressions --- */

/* What gdb says means something else to who asked. */
static int translate(struct dap *d, int r, const char *expr, const char *said)
{
	if (r != -EREMOTEIO)
		return errinfo_set(&d->ei, r, "%s", said);
	if (d->cancelled)
		return errinfo_set(&d->ei, ERR_INTERRUPTED, "cancelled");
	if (str_has_prefix(said, "The program being debugged was signaled"))
		return errinfo_set(&d->ei, r, "'%.200s' got a signal while it was called: the call was given up", expr);
	if (strstr(said, "may-call-functions"))
		return errinfo_set(&d->ei, -EPERM, "'%.200s' calls a function of the program: that is done in the debug console only", expr);
	if (strstr(said, "Could not write register") || strstr(said, "a recording cannot be changed"))
		return dap_refuse_write(d, "writing");
	return errinfo_set(&d->ei, r, "%s", said);
}

static int check(struct dap *d, const struct evaluation *e, const char *expr, unsigned found)
{
	if (found & GUARD_ESCAPES)
		return errinfo_set(&d->ei, -EPERM, "'%.200s' would run commands of this machine", expr);
	if (found & GUARD_WRITES)
		return dap_refuse_write(d, "an assignment");
	if ((found & GUARD_KEEPS) && !e->console)
		return errinfo_set(&d->ei, -EPERM, "'%.200s' changes a variable of gdb: that is done in the debug console only", expr);
	return 0;
}

/* The expression without its format, as gdb is asked. */
static void put_expression(struct buf *b, const char *expr, const struct guard_suffix *s)
{
	buf_printf(b, s->count ? "(%.*s)[0]@%u" : "%.*s", (int)s->len, expr, s->count);
	for (size_t i = 0; i < b->len; i++)
		if (b->data[i] == '\n' || b->data[i] == '\r')
			b->data[i] = ' ';
}

/* What must be evaluated once only (calls of functions, ++ of $variables) becomes a value of gdb's history: its name replaces the expression. */
static int evaluate_once(struct dap *d, const struct evaluation *e, struct buf *expr, struct errinfo *why)
{
	CLEANUP(buf_done) struct buf out = { 0 };
	CLEANUP(jsonx_unrefp) json_t *disabled = NULL;
	const char *text, *end;
	/* a function that is called runs through: a breakpoint in it would leave the call behind, unfinished */
	int r = breaks_disable(d, NULL, &disabled), r2;

	if (r < 0)
		return errinfo_set(why, r, "%s", d->ei.text);
	r = mi_console_in(d->mi, e->thread, e->level, &out, why, "print %s", buf_cstr(expr));
	r2 = r == ERR_GUEST_GONE ? r : breaks_enable(d, disabled);
	if (r < 0 || r2 < 0)
		return r < 0 ? r : errinfo_set(why, r2, "%s", d->ei.text);
	text = buf_cstr(&out);
	end = strstr(text, " = ");
	buf_clear(expr);
	if (*text != '$' || !end) /* it has no value */
		return 0;
	buf_put(expr, text, (size_t)(end - text));
	return buf_error(expr);
}

static int ask_value(struct dap *d, const struct evaluation *e, const char *expr, char format, struct buf *text, struct buf *type)
{
	struct errinfo why = { 0 };
	int r = ask_text(d, e->thread, e->level, expr, format, e->full, text, &why), t;

	if (r < 0 && !(r == -EREMOTEIO && value_too_large(why.text)))
		return translate(d, r, expr, why.text);
	t = ask_type(d, e->thread, e->level, expr, type, &why);
	if (t < 0)
		return translate(d, t, expr, why.text);
	if (r < 0)
		ask_large(d, e->thread, e->level, expr, buf_cstr(type), e->full, text);
	if (!e->full)
		value_cut(text, SHOWN_MAX);
	return buf_error(text);
}

static int put_value(struct dap *d, const struct evaluation *e, const char *expr, char format, json_t *body)
{
	struct ref in = { .kind = REF_VALUE, .thread = e->thread, .level = e->level };
	CLEANUP(buf_done) struct buf text = { 0 };
	CLEANUP(buf_done) struct buf type = { 0 };
	struct value v = { .expr = expr, .kind = "data" };
	int r = ask_value(d, e, expr, format, &text, &type);

	if (r < 0)
		return r;
	v.text = buf_cstr(&text);
	v.type = buf_cstr(&type);
	list_leads(d, &v);
	if (!v.memory && !e->full && *expr != '$')
		ask_addresses(d, e->thread, e->level, &expr, 1, &v.memory);
	if (!e->full)
		r = list_children(d, &in, &v, NULL, format == 'x');
	return r < 0 ? r : value_result(&v, body);
}

static int evaluate_expression(struct dap *d, const struct evaluation *e, const char *expr, json_t *body)
{
	struct guard_suffix suffix = guard_split(expr);
	CLEANUP(buf_done) struct buf asked = { 0 };
	struct errinfo why = { 0 };
	unsigned found;
	int r;

	if (expr[strspn(expr, " \t\r\n")] == '\0')
		return errinfo_set(&d->ei, -EINVAL, "there is no expression");
	put_expression(&asked, expr, &suffix);
	found = guard_expression(buf_cstr(&asked));
	r = buf_error(&asked) ? buf_error(&asked) : check(d, e, expr, found);
	if (r < 0)
		return r;
	if (e->console && (found & (GUARD_CALLS | GUARD_KEEPS))) {
		r = evaluate_once(d, e, &asked, &why);
		if (r < 0)
			return translate(d, r, expr, why.text);
	}
	if (asked.len == 0)
		return value_result(&(struct value){ .text = "void", .type = "void" }, body);
	if (!e->console)
		stack_quiet(d);
	r = put_value(d, e, buf_cstr(&asked), suffix.format ?: e->hex ? 'x' : 0, body);
	if (!e->console)
		stack_loud(d);
	return r;
}

/* --- the debug console --- */

static int deny(struct dap *d, const char *line, const struct guard_verdict *v)
{
	int n = (int)strcspn(line, " \t");

	if (strstr(v->target, "cannot be changed"))
		return errinfo_set(&d->ei, -EROFS, "recordings are read-only: '%.*s' is not possible, %s", MIN(n, 100), line, v->target);
	return errinfo_set(&d->ei, -EPERM, "'%.*s' is not for this console: %s", MIN(n, 100), line, v->target);
}

static int run_command(struct dap *d, const struct evaluation *e, const char *line, json_t *body)
{
	struct guard_verdict v = guard_command(line);
	CLEANUP(buf_done) struct buf command = { 0 };
	CLEANUP(buf_done) struct buf out = { 0 };
	struct errinfo why = { 0 };
	int r;

	if (v.kind == GUARD_DENIED)
		return deny(d, line, &v);
	if (v.kind == GUARD_UNKNOWN)
		return errinfo_set(&d->ei, -EINVAL, "'%.100s' is no command of this console: hermit-help lists those that are", line);
	if (strpbrk(line, "\r\n"))
		return errinfo_set(&d->ei, -EINVAL, "one command at a time");
	if (breaks_reaches(d, v.target, v.args))
		return errinfo_set(&d->ei, -EPERM, "'%.100s' is not for this console: it is a breakpoint of the editor, which would not know of the change", line);
	buf_printf(&command, "%s%s%s", v.target, *v.args && *v.args != '/' ? " " : "", v.args);
	r = ask_console(d, e->thread, e->level, buf_cstr(&command), &out, &why);
	if (r < 0)
		return translate(d, r, line, why.text);
	value_cut(&out, PRINTED_MAX);
	return value_result(&(struct value){ .text = buf_cstr(&out) }, body);
}

/* A line that gdb does not take for an expression may be a command; what it is not is told of the expression. */
static int evaluate_line(struct dap *d, const struct evaluation *e, int64_t frame_id, const char *line, json_t *body)
{
	int r;

	line += strspn(line, " \t\r\n");
	if (*line == '\0')
		return value_result(&(struct value){ .text = "" }, body);
	r = places_word(d, frame_id, line, body);
	if (r != 0)
		return r < 0 ? r : 0;
	if (str_has_prefix(line, "-exec "))
		return run_command(d, e, line + strlen("-exec "), body);
	if (guard_only_command(line))
		return run_command(d, e, line, body);
	if (guard_lone_word(line)) { /* "quit" and "kill" are names in every libc: only variables that are in sight come before commands */
		r = list_has(d, e->thread, e->level, line);
		if (r <= 0)
			return r < 0 ? r : run_command(d, e, line, body);
	}
	r = evaluate_expression(d, e, line, body);
	if (r != -EREMOTEIO || guard_command(line).kind == GUARD_UNKNOWN)
		return r;
	d->ei = (struct errinfo){ 0 };
	(void)json_object_clear(body);
	return run_command(d, e, line, body);
}

static int evaluate_in(struct dap *d, int64_t frame_id, const char *expr, const char *context, bool hex, json_t *body)
{
	struct evaluation e = { .console = context && strcmp(context, "repl") == 0, .full = context && strcmp(context, "clipboard") == 0, .hex = hex };
	int r = stack_frame(d, frame_id, &e.thread, &e.level);

	if (r < 0)
		return r;
	return e.console ? evaluate_line(d, &e, frame_id, expr, body) : evaluate_expression(d, &e, expr, body);
}

struct evaluate_args {
	const char *expression, *context;
	int64_t frame;
	json_t *format;
};

static const struct arg evaluate_table[] = {
	ARG(STR, struct evaluate_args, expression, "expression", .required = true),
	ARG(STR, struct evaluate_args, context, "context"),
	ARG(INT, struct evaluate_args, frame, "frameId"),
	ARG(OBJECT, struct evaluate_args, format, "format"),
	{ .name = NULL },
};

static int evaluate(struct dap *d, const void *args, json_t *body)
{
	const struct evaluate_args *a = args;

	return evaluate_in(d, a->frame, a->expression, a->context, json_is_true(json_object_get(a->format, "hex")), body);
}
DAP_METHOD(evaluate, evaluate_table, struct evaluate_args);
