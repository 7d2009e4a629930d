/* The text of filters: see filter.h. What values mean is in filter_value.c. */
#include "analysis/filter.h"

#include <ctype.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "analysis/filter_priv.h"
#include "base/os.h"

const char *const filter_key_names[FILTER_KEY_MAX_] = {
	[FILTER_TEXT] = "",	    [FILTER_SYSCALL] = "syscall", [FILTER_THREAD] = "thread", [FILTER_PID] = "pid",	  [FILTER_TID] = "tid",
	[FILTER_FD] = "fd",	    [FILTER_PATH] = "path",	  [FILTER_ERRNO] = "errno",   [FILTER_FAILED] = "failed", [FILTER_SIGNAL] = "signal",
	[FILTER_KIND] = "kind",	    [FILTER_TIME] = "time",	  [FILTER_NUMBER] = "#",      [FILTER_DUR] = "dur",	  [FILTER_CLASS] = "class",
};

static void term_done(struct filter_term *t)
{
	free(t->value);
	free(t->lower);
	free(t->range);
}

void filter_free(struct filter *f)
{
	if (!f)
		return;
	for (size_t i = 0; i < f->n; i++)
		term_done(&f->term[i]);
	free(f->term);
	free(f);
}

void filter_freep(struct filter **f)
{
	filter_free(*f);
}

static int fault(struct filter_error *err, size_t offset, size_t length, const char *fmt, ...) PRINTF_LIKE(4, 5);
static int fault(struct filter_error *err, size_t offset, size_t length, const char *fmt, ...)
{
	va_list ap;

	if (!err)
		return -EINVAL;
	err->offset = offset;
	err->length = length;
	va_start(ap, fmt);
	vsnprintf(err->text, sizeof(err->text), fmt, ap);
	va_end(ap);
	return -EINVAL;
}

/* Takes over what t owns. */
static int append(struct filter *f, struct filter_term *t)
{
	struct filter_term *more;

	if (f->n % 8 == 0) {
		more = reallocarray(f->term, f->n + 8, sizeof(*more));
		if (!more) {
			term_done(t);
			return -ENOMEM;
		}
		f->term = more;
	}
	f->term[f->n++] = *t;
	return 0;
}

/* --- words --- */

/* One word of the text, taken apart. */
struct word {
	const char *text;  /* the whole text */
	size_t at, end;    /* of the word in it */
	bool negated;
	char key[16];      /* "" when there is none */
	size_t value_at;
	struct buf value;  /* without quotes */
	bool quoted;       /* it begins with a quote */
};

/* Copies the value from `at` up to the next blank outside of quotes. */
static int take_value(struct word *w, size_t at, struct filter_error *err)
{
	const char *s = w->text;
	bool quotes = false;

	w->value_at = at;
	w->quoted = s[at] == '"';
	for (; s[at] && (quotes || !isspace((unsigned char)s[at])); at++) {
		if (s[at] == '"') {
			quotes = !quotes;
			continue;
		}
		if (quotes && s[at] == '\\' && (s[at + 1] == '"' || s[at + 1] == '\\'))
			at++;
		buf_put_u8(&w->value, (uint8_t)s[at]);
	}
	w->end = at;
	if (quotes)
		return fault(err, w->at, at - w->at, "the quote is not closed");
	return buf_error(&w->value);
}

/* "syscall" of "syscall:read": letters up to a colon that has something behind it. */
static size_t key_length(const char *s)
{
	size_t n = 0;

	while (islower((unsigned char)s[n]))
		n++;
	return s[n] == ':' && n > 0 && n < 16 && !(s[n + 1] == '/' && s[n + 2] == '/') ? n : 0;
}

static int take_word(struct word *w, struct filter_error *err)
{
	const char *s = w->text;
	size_t at = w->at, n;

	if (s[at] == '-') {
		w->negated = true;
		at++;
	}
	n = key_length(s + at);
	if (n) {
		memcpy(w->key, s + at, n);
		at += n + 1;
	}
	return take_value(w, at, err);
}

static int find_key(const char *name)
{
	for (int i = 1; i < FILTER_KEY_MAX_; i++)
		if (strcmp(filter_key_names[i], name) == 0)
			return i;
	return -1;
}

static int word_key(const struct word *w, struct filter_error *err)
{
	const char *value = (const char *)w->value.data;
	int key;

	if (*w->key) {
		key = find_key(w->key);
		return key >= 0 ? key : fault(err, w->at + w->negated, strlen(w->key), "there is no key '%s'; put quotes around text that has a colon", w->key);
	}
	if (!w->quoted && w->value.len > 1 && value[0] == '#' && (isdigit((unsigned char)value[1]) || value[1] == '.'))
		return FILTER_NUMBER;
	if (!w->quoted && w->value.len == 6 && strncmp(value, "failed", 6) == 0)
		return FILTER_FAILED;
	return FILTER_TEXT;
}

static int make_term(struct filter *f, const struct word *w, int key, const char *value, struct filter_error *err)
{
	struct filter_term t = { .key = (enum filter_key)key, .negated = w->negated, .offset = w->at, .length = w->end - w->at };
	char why[160] = "";
	int r;

	if (f->n >= FILTER_TERMS_MAX)
		return fault(err, w->at, w->end - w->at, "more than %u terms", FILTER_TERMS_MAX);
	t.value = os_strdup(value);
	r = t.value ? filter_value(&t, why) : -ENOMEM;
	if (r < 0) {
		term_done(&t);
		return r == -EINVAL ? fault(err, w->value_at, w->end - w->value_at, "%s", why) : r;
	}
	return append(f, &t);
}

static int parse_word(struct filter *f, const char *text, size_t *at, struct filter_error *err)
{
	struct word w = { .text = text, .at = *at, .end = *at + 1 };
	int r = take_word(&w, err), key;

	if (r >= 0 && !w.value.len && !*w.key && !w.quoted)
		r = fault(err, w.at, w.end - w.at, "'-' needs a term behind it");
	if (r >= 0) {
		key = word_key(&w, err);
		r = key < 0 ? key : make_term(f, &w, key, buf_cstr(&w.value), err);
	}
	*at = w.end;
	buf_done(&w.value);
	return r;
}

int filter_parse(const char *text, struct filter **ret, struct filter_error *err)
{
	struct filter *f CLEANUP(filter_freep) = os_calloc(1, sizeof(*f));
	size_t at = 0;
	int r = 0;

	if (!f)
		return -ENOMEM;
	if (strnlen(text, FILTER_TEXT_MAX + 1) > FILTER_TEXT_MAX)
		return fault(err, FILTER_TEXT_MAX, 0, "longer than %u bytes", FILTER_TEXT_MAX);
	while (r >= 0) {
		while (isspace((unsigned char)text[at]))
			at++;
		if (!text[at])
			break;
		r = parse_word(f, text, &at, err);
	}
	if (r < 0)
		return r;
	*ret = TAKE(f);
	return 0;
}

int filter_add(struct filter *f, const char *key, const char *value, struct filter_error *err)
{
	struct word w = { 0 };
	int k = key ? find_key(key) : FILTER_TEXT;

	if (k < 0)
		return fault(err, 0, 0, "there is no key '%.40s'", key);
	if (strnlen(value, FILTER_TEXT_MAX + 1) > FILTER_TEXT_MAX)
		return fault(err, 0, 0, "longer than %u bytes", FILTER_TEXT_MAX);
	return make_term(f, &w, k, value, err);
}

static int add_range(struct filter *f, enum filter_key key, const char *value, uint64_t lo, uint64_t hi)
{
	struct filter_term t = { .key = key, .n_ranges = 1, .range = os_malloc(sizeof(*t.range)), .value = os_strdup(value) };

	if (!t.range || !t.value || f->n >= FILTER_TERMS_MAX) {
		term_done(&t);
		return f->n >= FILTER_TERMS_MAX ? -EINVAL : -ENOMEM;
	}
	*t.range = (struct filter_range){ lo, hi };
	return append(f, &t);
}

int filter_add_times(struct filter *f, uint64_t lo, uint64_t hi)
{
	char value[64];

	snprintf(value, sizeof(value), "%lluns..%lluns", (unsigned long long)lo, (unsigned long long)hi);
	return add_range(f, FILTER_TIME, value, lo, hi);
}

int filter_add_numbers(struct filter *f, uint64_t lo, uint64_t hi)
{
	char value[64];

	snprintf(value, sizeof(value), "%llu..%llu", (unsigned long long)lo, (unsigned long long)hi);
	return add_range(f, FILTER_NUMBER, value, lo, hi);
}

static int term_copy(const struct filter_term *t, struct filter_term *ret)
{
	*ret = *t;
	ret->value = os_strdup(t->value);
	ret->lower = t->lower ? os_strdup(t->lower) : NULL;
	ret->range = t->n_ranges ? os_malloc(t->n_ranges * sizeof(*t->range)) : NULL;
	if (!ret->value || (t->lower && !ret->lower) || (t->n_ranges && !ret->range)) {
		term_done(ret);
		return -ENOMEM;
	}
	if (t->n_ranges)
		memcpy(ret->range, t->range, t->n_ranges * sizeof(*t->range));
	return 0;
}

int filter_copy(const struct filter *f, struct filter **ret)
{
	struct filter *copy CLEANUP(filter_freep) = os_calloc(1, sizeof(*copy));
	struct filter_term t;
	int r = copy ? 0 : -ENOMEM;

	for (size_t i = 0; i < f->n && r >= 0; i++) {
		r = term_copy(&f->term[i], &t);
		if (r >= 0)
			r = append(copy, &t);
	}
	if (r < 0)
		return r;
	*ret = TAKE(copy);
	return 0;
}

/* --- what was understood --- */

size_t filter_terms(const struct filter *f)
{
	return f->n;
}

bool filter_chip(const struct filter *f, size_t i, struct filter_chip *ret)
{
	const struct filter_term *t = i < f->n ? &f->term[i] : NULL;

	if (!t)
		return false;
	*ret = (struct filter_chip){ t->offset, t->length, filter_key_names[t->key], t->value, t->negated };
	return true;
}

void filter_put_key(const struct filter *f, struct buf *out)
{
	for (size_t i = 0; i < f->n; i++) {
		const struct filter_term *t = &f->term[i];

		buf_printf(out, "%c%d:", t->negated ? '-' : '+', (int)t->key);
		buf_printf(out, "%zu:%s", strlen(t->value), t->lower ? t->lower : t->value);
	}
}

bool filter_wants_lines(const struct filter *f)
{
	for (size_t i = 0; i < f->n; i++)
		if (f->term[i].key == FILTER_TEXT)
			return true;
	return false;
}
