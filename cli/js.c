/* See js.h. */
#include "cli/js.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <sys/wait.h>
#include "base/json.h"
#include "engine/sysprint.h"

void js_init(struct js *j)
{
	*j = (struct js){ .obj = json_object() };
	j->failed = !j->obj;
}

void js_done(struct js *j)
{
	json_decref(j->obj);
	j->obj = NULL;
}

void js_take(struct js *j, const char *key, json_t *v)
{
	if (json_object_set_new(j->obj, key, v))
		j->failed = true;
}

void js_str(struct js *j, const char *key, const char *s)
{
	js_take(j, key, s ? jsonx_string_lossy(s, strlen(s)) : json_null());
}

void js_u64(struct js *j, const char *key, uint64_t v)
{
	js_take(j, key, json_sprintf("%" PRIu64, v));
}

void js_i64(struct js *j, const char *key, int64_t v)
{
	js_take(j, key, json_sprintf("%" PRId64, v));
}

void js_hex(struct js *j, const char *key, uint64_t v)
{
	js_take(j, key, json_sprintf("0x%" PRIx64, v));
}

void js_int(struct js *j, const char *key, int v)
{
	js_take(j, key, json_integer(v));
}

void js_bool(struct js *j, const char *key, bool v)
{
	js_take(j, key, json_boolean(v));
}

void js_null(struct js *j, const char *key)
{
	js_take(j, key, json_null());
}

void js_strv(struct js *j, const char *key, char *const *v)
{
	json_t *a = json_array();

	for (; a && v && *v; v++)
		if (json_array_append_new(a, jsonx_string_lossy(*v, strlen(*v))))
			j->failed = true;
	js_take(j, key, a);
}

void js_status(struct js *j, int status)
{
	char name[24];
	bool known = status != -1, killed = known && WIFSIGNALED(status);

	js_take(j, "exit_code", known && !killed ? json_integer(WEXITSTATUS(status)) : json_null());
	js_str(j, "signal", killed ? sysprint_signal(WTERMSIG(status), name) : NULL);
}

json_t *js_steal(struct js *j)
{
	json_t *v = TAKE(j->obj);

	if (j->failed) {
		json_decref(v);
		return NULL;
	}
	return v;
}

static bool is_listed(const char *name, const char *const *names)
{
	while (*names && strcmp(*names, name))
		names++;
	return *names;
}

int js_stringify(json_t *v, const char *const *names)
{
	json_t *member, *text;
	const char *key;
	size_t i;
	int r = 0;

	json_array_foreach(v, i, member) {
		r = js_stringify(member, names);
		if (r < 0)
			return r;
	}
	json_object_foreach(v, key, member) {
		if (json_is_integer(member) && is_listed(key, names)) {
			text = json_sprintf("%" JSON_INTEGER_FORMAT, json_integer_value(member));
			/* replacing the value of a key that is there does not disturb the iteration */
			r = json_object_set_new(v, key, text) ? -ENOMEM : 0;
		} else {
			r = js_stringify(member, names);
		}
		if (r < 0)
			return r;
	}
	return 0;
}

int js_print(FILE *f, const json_t *v)
{
	char *text CLEANUP(freep) = NULL;
	int r;

	if (!v)
		return -ENOMEM;
	r = jsonx_dump(v, JSON_COMPACT | JSON_ENCODE_ANY, &text, NULL);
	if (r < 0)
		return r;
	fprintf(f, "%s\n", text);
	return 0;
}
