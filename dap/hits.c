/* Hit conditions: see breaks_priv.h. Pure. */
#include "dap/breaks_priv.h"

#include <ctype.h>
#include <errno.h>
#include <string.h>
#include "base/str.h"

/* Longer signs first. */
static const struct {
	const char *sign;
	enum hit_op op;
} signs[] = {
	{ "===", HIT_EQ }, { "==", HIT_EQ }, { "!=", HIT_NE }, { ">=", HIT_GE }, { "<=", HIT_LE },
	{ ">", HIT_GT },   { "<", HIT_LT },  { "=", HIT_EQ },  { "%", HIT_EVERY }, { "", HIT_EQ },
};

static const char *skip_blanks(const char *s)
{
	while (isspace((unsigned char)*s))
		s++;
	return s;
}

/* Without blanks at the end, in room of size bytes. */
static int number_of(const char *s, uint64_t *ret)
{
	char text[24];
	size_t n = strlen(s);

	while (n && isspace((unsigned char)s[n - 1]))
		n--;
	if (n >= sizeof(text))
		return -ERANGE;
	memcpy(text, s, n);
	text[n] = 0;
	return str_parse_u64(text, ret);
}

int hit_parse(const char *text, struct hit_cond *ret, struct errinfo *ei)
{
	const char *s = skip_blanks(text ? text : "");
	struct hit_cond c = { HIT_ALWAYS, 0 };

	if (!*s) {
		*ret = c;
		return 0;
	}
	for (size_t i = 0; i < ARRAY_SIZE(signs); i++) {
		if (!str_has_prefix(s, signs[i].sign))
			continue;
		c.op = signs[i].op;
		s = skip_blanks(s + strlen(signs[i].sign));
		break;
	}
	if (number_of(s, &c.n) < 0 || c.n > INT32_MAX)
		return errinfo_set(ei, -EINVAL, "hit condition '%.60s': wanted is a number, or >= > <= < == != %% and a number", text);
	if (c.n == 0 && c.op != HIT_NE && c.op != HIT_GE && c.op != HIT_GT)
		return errinfo_set(ei, -EINVAL, "hit condition '%.60s' is never true: hits are counted from 1", text);
	*ret = c;
	return 0;
}

bool hit_matches(const struct hit_cond *c, uint64_t k)
{
	const bool is[] = {
		[HIT_ALWAYS] = true,     [HIT_EQ] = k == c->n, [HIT_NE] = k != c->n, [HIT_GE] = k >= c->n,
		[HIT_GT] = k > c->n,     [HIT_LE] = k <= c->n, [HIT_LT] = k < c->n,  [HIT_EVERY] = c->n && k % c->n == 0,
	};

	return is[c->op];
}

/* Number of the hit that comes first; 0: none does. */
static uint64_t first_hit(uint64_t at, bool reverse)
{
	return reverse ? (at - 1) / 2 : at / 2 + 1;
}

/* From hit k on, forwards. */
static uint64_t skip_forwards(const struct hit_cond *c, uint64_t k)
{
	switch (c->op) {
	case HIT_EQ:
		return k <= c->n ? c->n - k : HIT_NEVER;
	case HIT_GE:
		return k < c->n ? c->n - k : 0;
	case HIT_GT:
		return k <= c->n ? c->n + 1 - k : 0;
	case HIT_EVERY:
		return (c->n - k % c->n) % c->n;
	default:
		return hit_matches(c, k) ? 0 : c->op == HIT_NE ? 1 : HIT_NEVER;
	}
}

/* From hit k on, backwards: k, k-1, ... 1. */
static uint64_t skip_backwards(const struct hit_cond *c, uint64_t k)
{
	uint64_t to = hit_matches(c, k) ? k : 0;

	if (!to && c->op == HIT_NE)
		to = k - 1;
	else if (!to && (c->op == HIT_EQ || c->op == HIT_LE))
		to = MIN(k, c->n) == c->n ? c->n : 0;
	else if (!to && c->op == HIT_LT)
		to = c->n - 1;
	else if (!to && c->op == HIT_EVERY)
		to = k - k % c->n;
	return to ? k - to : HIT_NEVER;
}

uint64_t hit_skip(const struct hit_cond *c, uint64_t at, bool reverse)
{
	uint64_t k = first_hit(at, reverse);

	if (!k)
		return HIT_NEVER;
	return reverse ? skip_backwards(c, k) : skip_forwards(c, k);
}

uint64_t hit_last(uint64_t at, uint64_t met, bool reverse)
{
	uint64_t k = first_hit(at, reverse);

	if (!reverse)
		return k + met - 1;
	return k > met ? k - met + 1 : 1;
}
