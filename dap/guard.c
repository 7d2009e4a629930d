/* See guard_priv.h. Expressions are cut into tokens as in C; the other languages of gdb are like it in what matters here. */
#include "dap/guard_priv.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include "base/macros.h"
#include "base/str.h"

/* --- tokens --- */

enum token_kind { TOKEN_END, TOKEN_NAME, TOKEN_NUMBER, TOKEN_TEXT, TOKEN_OP };

struct token {
	enum token_kind kind;
	const char *p;
	size_t n;
};

/* Operators of more than one character; the longest first. */
static const char *const operators[] = {
	">>=", "<<=", "...", "->*", "==", "!=", "<=", ">=", "&&", "||", "<<", ">>", "+=", "-=", "*=", "/=", "%=", "&=", "|=", "^=", "++", "--", "->", "::", ":=",
};

static bool name_char(char c)
{
	return isalnum((unsigned char)c) || c == '_' || c == '$' || (c & 0x80);
}

/* p: at the opening quote. The end of the text is the end of an unfinished one. */
static size_t quoted_len(const char *p)
{
	size_t n = 1;

	while (p[n] && p[n] != *p)
		n += p[n] == '\\' && p[n + 1] ? 2 : 1;
	return n + (p[n] != '\0');
}

static size_t operator_len(const char *p)
{
	for (size_t i = 0; i < ARRAY_SIZE(operators); i++)
		if (str_has_prefix(p, operators[i]))
			return strlen(operators[i]);
	return 1;
}

static struct token next_token(const char **at)
{
	const char *p = *at + strspn(*at, " \t\r\n\f\v");
	struct token t = { .p = p };

	if (*p == '"' || *p == '\'') {
		t.kind = TOKEN_TEXT;
		t.n = quoted_len(p);
	} else if (isdigit((unsigned char)*p)) {
		t.kind = TOKEN_NUMBER;
		while (name_char(p[t.n]) || p[t.n] == '.')
			t.n++;
	} else if (name_char(*p)) {
		t.kind = TOKEN_NAME;
		while (name_char(p[t.n]))
			t.n++;
	} else if (*p) {
		t.kind = TOKEN_OP;
		t.n = operator_len(p);
	}
	*at = p + t.n;
	return t;
}

static bool is(const struct token *t, const char *text)
{
	return t->n == strlen(text) && memcmp(t->p, text, t->n) == 0;
}

/* --- expressions --- */

static bool assigns(const struct token *t)
{
	static const char *const others[] = { "==", "!=", "<=", ">=" };

	if (t->kind != TOKEN_OP || t->p[t->n - 1] != '=')
		return false;
	for (size_t i = 0; i < ARRAY_SIZE(others); i++)
		if (is(t, others[i]))
			return false;
	return true;
}

static bool own_variable(const struct token *t)
{
	return t->kind == TOKEN_NAME && *t->p == '$';
}

/* Words before a parenthesis that make no call of it. */
static bool takes_type(const struct token *t)
{
	static const char *const words[] = {
		"sizeof", "alignof", "_Alignof", "typeof", "decltype", "typeid", "unsigned", "signed", "int", "long", "short", "char", "double", "float", "bool",
		"static_cast", "reinterpret_cast", "const_cast", "dynamic_cast", "if", "and", "or", "not", "as",
	};

	for (size_t i = 0; i < ARRAY_SIZE(words); i++)
		if (is(t, words[i]))
			return true;
	return false;
}

/* The token can end an operand. */
static bool ends_operand(const struct token *t)
{
	return t->kind == TOKEN_NAME || t->kind == TOKEN_NUMBER || t->kind == TOKEN_TEXT || is(t, ")") || is(t, "]");
}

/* "(f)(x)" is a call, "(T *)(x)" and "(unsigned int)(x)" are none: open is the token before the closing parenthesis. */
static bool may_call(const struct token *before, const struct token *inner)
{
	if (before->kind == TOKEN_NAME)
		return !takes_type(before);
	if (is(before, ")"))
		return !is(inner, "*") && !is(inner, "&") && !takes_type(inner);
	return is(before, "]") || is(before, ">");
}

/* prev2 is the token before prev: whether an assignment to prev is one to a whole variable of gdb's. */
static unsigned writes_to(const struct token *prev, const struct token *prev2)
{
	bool whole = own_variable(prev) && (prev2->kind == TOKEN_END || is(prev2, "(") || is(prev2, ",") || assigns(prev2));

	return whole ? GUARD_KEEPS : GUARD_WRITES;
}

unsigned guard_expression(const char *expr)
{
	struct token prev2 = { .p = "" }, prev = { .p = "" }, t;
	const char *at = expr;
	unsigned ret = 0;

	for (t = next_token(&at); t.kind != TOKEN_END; prev2 = prev, prev = t, t = next_token(&at)) {
		const char *ahead = at;
		struct token after = next_token(&ahead);

		if (is(&prev, "operator")) /* the name of a function */
			continue;
		if (assigns(&t))
			ret |= writes_to(&prev, &prev2);
		else if (is(&t, "++") || is(&t, "--"))
			ret |= own_variable(ends_operand(&prev) ? &prev : &after) ? GUARD_KEEPS : GUARD_WRITES;
		else if (is(&t, "(") && may_call(&prev, &prev2))
			ret |= GUARD_CALLS;
		else if (is(&t, "$_shell"))
			ret |= GUARD_ESCAPES;
	}
	return ret;
}

/* --- formats --- */

static bool parse_suffix(const struct token *t, struct guard_suffix *s)
{
	uint64_t n;
	char digits[8];

	if (t->kind == TOKEN_NAME && t->n == 1 && strchr("xduotcafsz", *t->p)) {
		s->format = *t->p;
		return true;
	}
	if (t->kind != TOKEN_NUMBER || t->n >= sizeof(digits))
		return false;
	memcpy(digits, t->p, t->n);
	digits[t->n] = '\0';
	if (str_parse_u64(digits, &n) < 0 || n == 0)
		return false;
	s->count = (unsigned)n;
	return true;
}

struct guard_suffix guard_split(const char *expr)
{
	struct guard_suffix none = { .len = strlen(expr) }, found;
	const char *at = expr;
	int depth = 0;

	for (struct token t = next_token(&at); t.kind != TOKEN_END; t = next_token(&at)) {
		const char *ahead = at;
		struct token what, end;

		depth += is(&t, "(") || is(&t, "[") || is(&t, "{");
		depth -= is(&t, ")") || is(&t, "]") || is(&t, "}");
		if (depth != 0 || !is(&t, ",") || t.p == expr)
			continue;
		what = next_token(&ahead);
		end = next_token(&ahead);
		found = (struct guard_suffix){ .len = (size_t)(t.p - expr) };
		if (end.kind == TOKEN_END && parse_suffix(&what, &found))
			return found;
	}
	return none;
}

/* --- commands --- */

struct command {
	const char *word;
	enum guard_kind kind;
	const char *target; /* NULL = word */
};

#define WRITES "what happened cannot be changed"
#define ONE_RUN "there is but the recorded run; 'seek start' goes to its beginning"
#define OUTSIDE "it would leave the recording and act on this machine"
#define ATTACHED "the session stays with the recording"
#define EDITOR "the editor does that"
#define UNKNOWN_TO_EDITOR "the editor would not know of it: set it there (here: tbreak, watch, catch, log-all)"
#define NUMBERS "name the numbers of breakpoints"

/* clang-format off */
#define SHORT(word_, target_) { .word = (word_), .kind = GUARD_COMMAND, .target = (target_) }
#define SAME(word_) SHORT(word_, NULL)
#define NONE(word_, why_) { .word = (word_), .kind = GUARD_DENIED, .target = (why_) }

static const struct command commands[] = {
	SAME("backtrace"), SHORT("bt", "backtrace"), SHORT("where", "backtrace"),
	SAME("print"), SHORT("p", "print"), SHORT("call", "print"), SHORT("inspect", "print"), SAME("print-object"), SHORT("output", "print"),
	SAME("printf"), SAME("x"), NONE("display", "use a watch expression of the editor"),
	SAME("info"), SHORT("i", "info"), SHORT("inf", "info"), SAME("show"), SAME("help"), SHORT("h", "help"),
	SAME("apropos"), SAME("list"), SHORT("l", "list"), SAME("disassemble"), SAME("ptype"),
	SAME("whatis"), SAME("search"), SAME("forward-search"), SAME("reverse-search"),
	SAME("frame"), SHORT("f", "frame"), SAME("up"), SAME("down"), SAME("thread"),
	SAME("find"), SAME("macro"), SAME("directory"), SAME("set"), SAME("monitor"),
	NONE("break", UNKNOWN_TO_EDITOR), NONE("b", UNKNOWN_TO_EDITOR), NONE("rbreak", UNKNOWN_TO_EDITOR), SAME("tbreak"), SAME("watch"),
	SAME("rwatch"), SAME("awatch"), SAME("catch"), SAME("tcatch"), SAME("condition"),
	SAME("ignore"), SAME("enable"), SAME("disable"), SAME("delete"),

	NONE("jump", WRITES), NONE("j", WRITES), NONE("return", WRITES), NONE("kill", WRITES), NONE("k", WRITES),
	NONE("signal", WRITES), NONE("queue-signal", WRITES), NONE("restore", WRITES), NONE("load", WRITES),
	NONE("compile", WRITES), NONE("expression", WRITES), NONE("checkpoint", "use 'bookmark'"),
	NONE("record", "it is recorded already"), NONE("run", ONE_RUN), NONE("r", ONE_RUN), NONE("start", ONE_RUN),
	NONE("starti", ONE_RUN), NONE("handle", "signals are passed as they were recorded"),
	NONE("shell", OUTSIDE), NONE("make", OUTSIDE), NONE("pipe", OUTSIDE), NONE("python", OUTSIDE),
	NONE("py", OUTSIDE), NONE("python-interactive", OUTSIDE), NONE("pi", OUTSIDE), NONE("guile", OUTSIDE),
	NONE("gu", OUTSIDE), NONE("gr", OUTSIDE), NONE("guile-repl", OUTSIDE),
	NONE("source", OUTSIDE), NONE("dump", OUTSIDE), NONE("append", OUTSIDE), NONE("save", OUTSIDE),
	NONE("generate-core-file", OUTSIDE), NONE("gcore", OUTSIDE), NONE("edit", OUTSIDE), NONE("cd", OUTSIDE),
	NONE("remote", OUTSIDE), NONE("maintenance", OUTSIDE), NONE("define", OUTSIDE), NONE("document", OUTSIDE),
	NONE("commands", OUTSIDE), NONE("alias", OUTSIDE), NONE("interpreter-exec", OUTSIDE), NONE("with", OUTSIDE),
	NONE("target", ATTACHED), NONE("attach", ATTACHED), NONE("detach", ATTACHED), NONE("disconnect", ATTACHED),
	NONE("file", ATTACHED), NONE("exec-file", ATTACHED), NONE("symbol-file", ATTACHED),
	NONE("add-symbol-file", ATTACHED), NONE("core-file", ATTACHED), NONE("inferior", ATTACHED),
	NONE("add-inferior", ATTACHED), NONE("clone-inferior", ATTACHED), NONE("quit", EDITOR " (disconnect)"),
	NONE("q", EDITOR " (disconnect)"), NONE("exit", EDITOR " (disconnect)"), NONE("interrupt", EDITOR " (pause)"),
	NONE("tui", EDITOR), NONE("layout", EDITOR), NONE("focus", EDITOR),
};
/* clang-format on */

static const char *const numbers[] = { "0", "1", "2", "3", "4", "5", "6", "7", "8", "9", NULL };

/* Commands that pass with arguments of these beginnings only. */
static const struct {
	const char *word;
	bool bare; /* passes without an argument too */
	const char *const *args;
	const char *why;
} limited[] = {
	{ "set", false, (const char *const[]){ "print ", "p ", "listsize ", "language ", "radix ", "output-radix ", "input-radix ", "disassembly-flavor ", "max-value-size ",
		"disassemble-next-line ", "case-sensitive ", "substitute-path ", "unwind", "$", NULL }, WRITES " (settings that can be changed: print, listsize, language, "
		"radix, disassembly-flavor, max-value-size, substitute-path)" },
	{ "monitor", false, (const char *const[]){ "hermit help", "hermit where", "hermit when", "hermit events", "hermit bookmarks", "hermit recorded-output", NULL },
		"use the words of this console: when, seek, last-write, bookmark" },
	{ "delete", false, numbers, NUMBERS },
	{ "enable", false, numbers, NUMBERS },
	{ "disable", false, numbers, NUMBERS },
	{ "condition", false, numbers, NUMBERS },
	{ "ignore", false, numbers, NUMBERS },
	{ "thread", true, numbers, "with a number, or nothing" },
	{ "frame", true, numbers, "with a number, or nothing" },
};

static size_t word_len(const char *line)
{
	size_t n = 0;

	while (isalnum((unsigned char)line[n]) || line[n] == '_' || (line[n] == '-' && isalpha((unsigned char)line[n + 1])))
		n++;
	return n;
}

/* The row whose word it is; else the one row that it begins, or several of one meaning. */
static const struct command *find(const char *word, size_t n)
{
	const struct command *found = NULL;
	bool several = false;

	for (size_t i = 0; i < ARRAY_SIZE(commands) && n; i++) {
		if (strncmp(commands[i].word, word, n))
			continue;
		if (commands[i].word[n] == '\0')
			return &commands[i];
		several |= found != NULL;
		found = &commands[i];
	}
	return several ? NULL : found;
}

static const char *limit(const char *word, const char *args)
{
	for (size_t i = 0; i < ARRAY_SIZE(limited); i++) {
		if (strcmp(limited[i].word, word))
			continue;
		if (limited[i].bare && *args == '\0')
			return NULL;
		for (const char *const *a = limited[i].args; *a; a++)
			if (str_has_prefix(args, *a))
				return NULL;
		return limited[i].why;
	}
	return NULL;
}

/* Commands whose arguments are expressions. */
static const char *limit_expression(const struct command *c, const char *args)
{
	unsigned found = guard_expression(args);
	bool text = strcmp(c->word, "info") == 0 || strcmp(c->word, "help") == 0 || strcmp(c->word, "show") == 0;

	if (found & GUARD_ESCAPES)
		return OUTSIDE;
	return (found & GUARD_WRITES) && !text && strcmp(c->word, "set") ? WRITES : NULL;
}

struct guard_verdict guard_command(const char *line)
{
	const char *p = line + strspn(line, " \t");
	size_t n = word_len(p);
	const struct command *c = find(p, n);
	struct guard_verdict v = { .args = p + n + strspn(p + n, " \t") };
	const char *why;

	if (*p == '!' || *p == '|')
		return (struct guard_verdict){ .kind = GUARD_DENIED, .target = OUTSIDE, .args = p + 1 };
	if (!c)
		return v;
	v.kind = c->kind;
	v.target = c->target ? c->target : c->word;
	if (v.kind == GUARD_DENIED)
		return v;
	why = limit(v.target, v.args);
	if (!why)
		why = limit_expression(c, v.args);
	if (why) {
		v.kind = GUARD_DENIED;
		v.target = why;
	}
	return v;
}

/* The row of exactly that word. */
static bool is_word(const char *word, size_t n)
{
	for (size_t i = 0; i < ARRAY_SIZE(commands) && n; i++)
		if (strncmp(commands[i].word, word, n) == 0 && commands[i].word[n] == '\0')
			return true;
	return false;
}

bool guard_lone_word(const char *line)
{
	return line[word_len(line)] == '\0' && is_word(line, word_len(line));
}

bool guard_only_command(const char *line)
{
	const char *p = line + strspn(line, " \t");
	size_t n = word_len(p);

	if (*p == '!' || *p == '|')
		return p[1] != '\0' && p[1] != '=';
	if (!is_word(p, n))
		return false;
	if (p[n] == '/' && isalnum((unsigned char)p[n + 1]) && strpbrk(p + n, " \t")) /* x/4x $sp */
		return true;
	p += n;
	if (*p != ' ' && *p != '\t')
		return false;
	p += strspn(p, " \t");
	return name_char(*p) || *p == '"' || *p == '\'';
}

const char *guard_word(size_t i)
{
	for (size_t k = 0; k < ARRAY_SIZE(commands); k++)
		if (commands[k].kind != GUARD_DENIED && i-- == 0)
			return commands[k].word;
	return NULL;
}
