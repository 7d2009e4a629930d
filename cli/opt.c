/* Table-driven option parser. See opt.h for the forms it takes.
 *
 * One struct holds the walk over argv; each option found goes through take_value(), which knows the kinds. Relations between
 * options (needs, conflicts) are checked once at the end, so that their order on the line does not matter. */
#include "cli/opt.h"

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include "base/str.h"
#include "cli/text.h"

struct parser {
	const struct opt *table;
	int argc, at;
	char **argv;
	void *values;
	struct opt_args *args;
	struct opt_fault *fault;
	uint32_t given; /* bit per row */
};

static int refuse(struct parser *p, const char *fmt, ...) PRINTF_LIKE(2, 3);

static int refuse(struct parser *p, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(p->fault->text, sizeof(p->fault->text), fmt, ap);
	va_end(ap);
	return -EINVAL;
}

static void *slot(const struct parser *p, const struct opt *o)
{
	return (char *)p->values + o->offset;
}

static bool takes_value(const struct opt *o)
{
	return o->kind != OPT_FLAG && o->kind != OPT_UINT_IF;
}

static int list_add(struct opt_list *l, const char *s)
{
	const char **v = reallocarray(l->v, l->n + 1, sizeof(*v));

	if (!v)
		return -ENOMEM;
	v[l->n++] = s;
	l->v = v;
	return 0;
}

static int take_number(struct parser *p, const struct opt *o, const char *value)
{
	uint64_t v;

	if (str_parse_u64(value, &v) >= 0 && v >= o->min && v <= o->max) {
		*(uint64_t *)slot(p, o) = v;
		return 0;
	}
	if (o->max == UINT64_MAX)
		snprintf(p->fault->tip, sizeof(p->fault->tip), "a whole number from %llu on is needed",
			 (unsigned long long)o->min);
	else
		snprintf(p->fault->tip, sizeof(p->fault->tip), "a whole number from %llu to %llu is needed",
			 (unsigned long long)o->min, (unsigned long long)o->max);
	return refuse(p, "invalid value '%s' for '--%s <%s>'", value, o->name, o->arg);
}

static int take_choice(struct parser *p, const struct opt *o, const char *value)
{
	struct nearest near;
	size_t len;

	nearest_init(&near, value);
	for (int i = 0; o->choices[i]; i++) {
		if (!strcmp(o->choices[i], value)) {
			*(int *)slot(p, o) = i;
			return 0;
		}
		nearest_try(&near, o->choices[i]);
	}
	refuse(p, "invalid value '%s' for '--%s <%s>' [possible values: ", value, o->name, o->arg);
	for (int i = 0; o->choices[i]; i++) {
		len = strlen(p->fault->text);
		snprintf(p->fault->text + len, sizeof(p->fault->text) - len, "%s%s", o->choices[i],
			 o->choices[i + 1] ? ", " : "]");
	}
	if (near.found)
		snprintf(p->fault->tip, sizeof(p->fault->tip), "a similar value exists: '%s'", near.found);
	return -EINVAL;
}

/* Stores one option. value is NULL for those without one. */
static int take_value(struct parser *p, const struct opt *o, const char *value)
{
	uint32_t bit = 1u << (o - p->table);

	if ((p->given & bit) && o->kind != OPT_LIST)
		return refuse(p, "'--%s' was given more than once", o->name);
	p->given |= bit;
	switch (o->kind) {
	case OPT_FLAG:
		*(bool *)slot(p, o) = true;
		return 0;
	case OPT_STRING:
		*(const char **)slot(p, o) = value;
		return 0;
	case OPT_LIST:
		return list_add(slot(p, o), value);
	case OPT_UINT_IF:
		if (!value) {
			*(uint64_t *)slot(p, o) = o->preset;
			return 0;
		}
		return take_number(p, o, value);
	case OPT_UINT:
		return take_number(p, o, value);
	case OPT_ENUM:
		return take_choice(p, o, value);
	case OPT_END_:
		break;
	}
	must(!"option of unknown kind");
	return -EINVAL;
}

/* Value from the next word of the line. */
static int take_next(struct parser *p, const struct opt *o)
{
	if (p->at >= p->argc)
		return refuse(p, "'--%s <%s>' needs a value", o->name, o->arg);
	return take_value(p, o, p->argv[p->at++]);
}

static int unknown_long(struct parser *p, const char *name, size_t len)
{
	char word[64];
	struct nearest near;

	snprintf(word, sizeof(word), "%.*s", (int)MIN(len, sizeof(word) - 1), name);
	nearest_init(&near, word);
	for (const struct opt *o = p->table; o->kind; o++)
		if (!o->hidden)
			nearest_try(&near, o->name);
	if (near.found)
		snprintf(p->fault->tip, sizeof(p->fault->tip), "a similar option exists: '--%s'", near.found);
	return refuse(p, "unexpected option '--%.*s'", (int)MIN(len, 200u), name);
}

/* `arg` is what follows the two dashes. 1 = help. */
static int parse_long(struct parser *p, const char *arg)
{
	const char *eq = strchrnul(arg, '=');
	size_t len = (size_t)(eq - arg);
	const char *value = *eq ? eq + 1 : NULL;

	if (len == 4 && !strncmp(arg, "help", 4))
		return 1;
	for (const struct opt *o = p->table; o->kind; o++) {
		if (strlen(o->name) != len || strncmp(o->name, arg, len))
			continue;
		if (value && o->kind == OPT_FLAG)
			return refuse(p, "'--%s' takes no value, but '%s' was given", o->name, value);
		if (!value && takes_value(o))
			return take_next(p, o);
		return take_value(p, o, value);
	}
	return unknown_long(p, arg, len);
}

static const struct opt *find_letter(const struct opt *table, char c)
{
	for (const struct opt *o = table; o->kind; o++)
		if (o->letter == c)
			return o;
	return NULL;
}

/* A cluster: flags, then at most one option with a value that takes the rest of the word or the next word. */
static int parse_letters(struct parser *p, const char *s)
{
	int r;

	for (; *s; s++) {
		const struct opt *o = find_letter(p->table, *s);

		if (!o && *s == 'h')
			return 1;
		if (!o)
			return refuse(p, "unexpected option '-%c'", *s);
		if (takes_value(o)) {
			if (!s[1])
				return take_next(p, o);
			return take_value(p, o, s[1] == '=' ? s + 2 : s + 1);
		}
		r = take_value(p, o, NULL);
		if (r < 0)
			return r;
	}
	return 0;
}

/* All words from the current one on are arguments. */
static void take_rest(struct parser *p)
{
	while (p->at < p->argc)
		p->args->v[p->args->n++] = p->argv[p->at++];
}

static int parse_words(struct parser *p, enum opt_mode mode)
{
	int r = 0;

	while (!r && p->at < p->argc) {
		char *word = p->argv[p->at];

		if (!strcmp(word, "--")) {
			p->at++;
			p->args->dashes = true;
			take_rest(p);
		} else if (word[0] == '-' && word[1] == '-') {
			p->at++;
			r = parse_long(p, word + 2);
		} else if (word[0] == '-' && word[1]) {
			p->at++;
			r = parse_letters(p, word + 1);
		} else if (mode == OPT_GUEST) {
			take_rest(p);
		} else {
			p->args->v[p->args->n++] = word;
			p->at++;
		}
	}
	return r;
}

/* Values of options that were not given. */
static void take_defaults(struct parser *p)
{
	for (const struct opt *o = p->table; o->kind; o++) {
		if (p->given & (1u << (o - p->table)))
			continue;
		if (o->kind == OPT_UINT)
			*(uint64_t *)slot(p, o) = o->preset;
		else if (o->kind == OPT_ENUM)
			*(int *)slot(p, o) = (int)o->preset;
		else if (o->kind == OPT_STRING && o->env && getenv(o->env) && *getenv(o->env))
			*(const char **)slot(p, o) = getenv(o->env);
	}
}

static bool is_given(const struct parser *p, const char *name)
{
	const struct opt *o = opt_find(p->table, name);

	return o && (p->given & (1u << (o - p->table)));
}

static int check_relations(struct parser *p)
{
	for (const struct opt *o = p->table; o->kind; o++) {
		if (!(p->given & (1u << (o - p->table))))
			continue;
		if (o->needs && !is_given(p, o->needs))
			return refuse(p, "'--%s' needs '--%s' as well", o->name, o->needs);
		if (o->conflicts && is_given(p, o->conflicts))
			return refuse(p, "'--%s' cannot be used with '--%s'", o->name, o->conflicts);
	}
	return 0;
}

int opt_parse(const struct opt *table, enum opt_mode mode, int argc, char **argv, void *values, struct opt_args *ret,
	      struct opt_fault *fault)
{
	struct parser p = {
		.table = table, .argc = argc, .argv = argv, .values = values, .args = ret, .fault = fault,
	};
	int r;

	*fault = (struct opt_fault){ 0 };
	*ret = (struct opt_args){ .v = calloc((size_t)argc + 1, sizeof(char *)) };
	if (!ret->v)
		return -ENOMEM;
	r = parse_words(&p, mode);
	if (r)
		return r;
	take_defaults(&p);
	return check_relations(&p);
}

void opt_release(const struct opt *table, void *values, struct opt_args *args)
{
	for (const struct opt *o = table; values && o->kind; o++) {
		struct opt_list *l = (struct opt_list *)((char *)values + o->offset);

		if (o->kind == OPT_LIST) {
			free(l->v);
			*l = (struct opt_list){ 0 };
		}
	}
	if (args) {
		free(args->v);
		*args = (struct opt_args){ 0 };
	}
}

const struct opt *opt_find(const struct opt *table, const char *name)
{
	for (const struct opt *o = table; o->kind; o++)
		if (!strcmp(o->name, name))
			return o;
	return NULL;
}

/* --- help --- */

/* "  -e, --env <NAME[=VALUE]>" */
static int format_option(char *buf, size_t size, const struct opt *o)
{
	char letter[8] = "    ";

	if (o->letter)
		snprintf(letter, sizeof(letter), "-%c, ", o->letter);
	if (o->kind == OPT_FLAG)
		return snprintf(buf, size, "  %s--%s", letter, o->name);
	if (o->kind == OPT_UINT_IF)
		return snprintf(buf, size, "  %s--%s[=<%s>]", letter, o->name, o->arg);
	return snprintf(buf, size, "  %s--%s <%s>", letter, o->name, o->arg);
}

static void print_option(FILE *f, const struct opt *o, unsigned indent, unsigned width)
{
	char left[96];
	int n = format_option(left, sizeof(left), o);

	fputs(left, f);
	if (n > (int)indent - 2)
		fprintf(f, "\n%*s", (int)indent, "");
	else
		fprintf(f, "%*s", (int)indent - n, "");
	text_wrap(f, o->help, indent, width);
	if (o->choices) {
		fprintf(f, "%*s[", (int)indent, "");
		for (int i = 0; o->choices[i]; i++)
			fprintf(f, "%s%s%s", i ? ", " : "", o->choices[i],
				(uint64_t)i == o->preset ? " (default)" : "");
		fputs("]\n", f);
	}
	if (o->env)
		fprintf(f, "%*s[environment: %s]\n", (int)indent, "", o->env);
}

void opt_print_help(FILE *f, const struct opt *table, unsigned width)
{
	static const struct opt help = { .kind = OPT_FLAG, .letter = 'h', .name = "help", .help = "Print this help" };
	const unsigned indent = 30;

	for (const struct opt *o = table; o->kind; o++)
		if (!o->hidden)
			print_option(f, o, indent, width);
	print_option(f, &help, indent, width);
}

/* --- "did you mean" --- */

#define NEAREST_WORD_MAX 40

/* Edits (insert, delete, replace, swap of neighbours) between two short words. */
static unsigned distance(const char *a, const char *b)
{
	unsigned row[3][NEAREST_WORD_MAX + 1];
	size_t la = strlen(a), lb = strlen(b);

	if (la > NEAREST_WORD_MAX || lb > NEAREST_WORD_MAX)
		return UINT32_MAX;
	for (size_t j = 0; j <= lb; j++)
		row[0][j] = (unsigned)j;
	for (size_t i = 1; i <= la; i++) {
		unsigned *now = row[i % 3], *before = row[(i + 2) % 3], *before2 = row[(i + 1) % 3];

		now[0] = (unsigned)i;
		for (size_t j = 1; j <= lb; j++) {
			unsigned best = before[j - 1] + (a[i - 1] != b[j - 1]);

			best = MIN(best, before[j] + 1);
			best = MIN(best, now[j - 1] + 1);
			if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
				best = MIN(best, before2[j - 2] + 1);
			now[j] = best;
		}
	}
	return row[la % 3][lb];
}

void nearest_init(struct nearest *n, const char *word)
{
	*n = (struct nearest){ .word = word, .distance = UINT32_MAX };
}

void nearest_try(struct nearest *n, const char *candidate)
{
	size_t len = strlen(n->word);
	unsigned d = distance(n->word, candidate);
	unsigned limit = len < 3 ? 1 : len < 8 ? 2 : 3;

	/* A longer name that begins with what was typed is meant more often than a short one that looks alike. */
	if (len >= 3 && !strncmp(candidate, n->word, len))
		d = 1;
	if (d <= limit && d < n->distance) {
		n->distance = d;
		n->found = candidate;
	}
}
