/* See args_priv.h. What a kind accepts and where it goes is one row of a table. */
#include "dap/args_priv.h"

#include <errno.h>
#include <string.h>

/* Beyond that a real number cannot tell two integers apart. */
#define EXACT_MAX 9007199254740992.0

static bool put_str(const json_t *v, void *to)
{
	/* a NUL inside would cut the text for us only */
	if (!json_is_string(v) || strlen(json_string_value(v)) != json_string_length(v))
		return false;
	*(const char **)to = json_string_value(v);
	return true;
}

/* Some clients know no integers: 1.0 is 1. */
static bool put_int(const json_t *v, void *to)
{
	double real = json_number_value(v);

	if (json_is_integer(v))
		*(int64_t *)to = json_integer_value(v);
	else if (json_is_real(v) && real >= -EXACT_MAX && real <= EXACT_MAX && real == (double)(int64_t)real)
		*(int64_t *)to = (int64_t)real;
	else
		return false;
	return true;
}

static bool put_bool(const json_t *v, void *to)
{
	*(bool *)to = json_is_true(v);
	return json_is_boolean(v);
}

static bool put_array(const json_t *v, void *to)
{
	*(const json_t **)to = v;
	return json_is_array(v);
}

static bool put_object(const json_t *v, void *to)
{
	*(const json_t **)to = v;
	return json_is_object(v);
}

static bool put_any(const json_t *v, void *to)
{
	*(const json_t **)to = v;
	return true;
}

static const struct kind {
	const char *name; /* in "not ..." */
	bool (*put)(const json_t *v, void *to);
} kinds[] = {
	[ARG_STR] = { "a string", put_str },
	[ARG_INT] = { "an integer", put_int },
	[ARG_BOOL] = { "true or false", put_bool },
	[ARG_ARRAY] = { "an array", put_array },
	[ARG_OBJECT] = { "an object", put_object },
	[ARG_ANY] = { "a value", put_any },
};

static void put_default(const struct arg *a, void *to)
{
	if (a->kind == ARG_INT)
		*(int64_t *)to = a->def;
	else if (a->kind == ARG_BOOL)
		*(bool *)to = a->def != 0;
}

int args_decode(const struct arg *table, const json_t *args, void *ret, struct errinfo *ei)
{
	if (args && !json_is_null(args) && !json_is_object(args))
		return errinfo_set(ei, -EINVAL, "arguments: not an object");
	for (const struct arg *a = table; a->name; a++) {
		const json_t *v = json_object_get(args, a->name);
		void *to = (char *)ret + a->offset;

		if (v && !json_is_null(v)) {
			if (!kinds[a->kind].put(v, to))
				return errinfo_set(ei, -EINVAL, "%s: not %s", a->name, kinds[a->kind].name);
		} else if (a->required) {
			return errinfo_set(ei, -EINVAL, "%s: missing", a->name);
		} else {
			put_default(a, to);
		}
	}
	return 0;
}
