/* See json.h. */
#include "base/json.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "base/buf.h"
#include "base/limits.h"
#include "base/os.h"
#include "base/str.h"

#define EXACT_MAX ((UINT64_C(1) << 53) - 1)

void jsonx_unrefp(json_t **j)
{
	json_decref(*j);
}

/* Brackets that are open at once, at most, outside of strings. Text that is no JSON gives any number: the parser will say so. */
static size_t depth_of(const char *text, size_t len)
{
	size_t depth = 0, most = 0;
	bool in_string = false;

	for (size_t i = 0; i < len; i++) {
		if (in_string) {
			if (text[i] == '\\')
				i++;
			else if (text[i] == '"')
				in_string = false;
		} else if (text[i] == '"') {
			in_string = true;
		} else if (text[i] == '[' || text[i] == '{') {
			most = MAX(most, ++depth);
		} else if ((text[i] == ']' || text[i] == '}') && depth) {
			depth--;
		}
	}
	return most;
}

/* Parsing, copying and freeing go down as deep as the text does: jansson's own limit (2048) is more than the stack of a thread may hold. */
static int parse(const char *text, size_t len, size_t flags, json_t **ret, struct errinfo *ei)
{
	json_error_t error;
	json_t *j;

	if (len > JSON_TEXT_MAX)
		return errinfo_set_r(ei, ERR_LIMIT, "parse %zu bytes of JSON", len);
	if (depth_of(text, len) > JSON_DEPTH_MAX)
		return errinfo_set(ei, ERR_CORRUPT, "parse JSON: nested deeper than %d", JSON_DEPTH_MAX);
	j = json_loadb(text, len, JSON_REJECT_DUPLICATES | JSON_DECODE_ANY | flags, &error);
	if (!j)
		return errinfo_set(ei, ERR_CORRUPT, "parse JSON: line %d column %d: %s", error.line, error.column, error.text);
	*ret = j;
	return 0;
}

int jsonx_parse(const char *text, size_t len, json_t **ret, struct errinfo *ei)
{
	return parse(text, len, 0, ret, ei);
}

int jsonx_parse_nul(const char *text, size_t len, json_t **ret, struct errinfo *ei)
{
	return parse(text, len, JSON_ALLOW_NUL, ret, ei);
}

int jsonx_load_file(const char *path, size_t max, json_t **ret, struct errinfo *ei)
{
	CLEANUP(freep) char *text = NULL;
	struct errinfo cause = { 0 };
	size_t len;
	int r;

	r = os_read_regular(path, max, &text, &len);
	if (r < 0)
		return errinfo_set_r(ei, r, "read %s", path);
	r = jsonx_parse(text, len, ret, &cause);
	if (r < 0)
		return errinfo_set(ei, r, "read %s: %s", path, cause.text);
	return 0;
}

int jsonx_dump(const json_t *j, size_t flags, char **ret, size_t *ret_len)
{
	char *text = json_dumps(j, flags | JSON_ENCODE_ANY);

	if (!text)
		return -ENOMEM;
	if (ret_len)
		*ret_len = strlen(text);
	*ret = text;
	return 0;
}

/* The member if it has the type. */
static int get_typed(const json_t *obj, const char *key, json_type type, json_t **ret)
{
	json_t *v;

	if (!json_is_object(obj))
		return ERR_CORRUPT;
	v = json_object_get(obj, key);
	if (!v || json_is_null(v))
		return -ENOENT;
	if (json_typeof(v) != type)
		return ERR_CORRUPT;
	*ret = v;
	return 0;
}

int jsonx_get_str(const json_t *obj, const char *key, const char **ret)
{
	json_t *v;
	int r = get_typed(obj, key, JSON_STRING, &v);

	if (r < 0)
		return r;
	/* an embedded NUL would cut the string for us, not for others */
	if (strlen(json_string_value(v)) != json_string_length(v))
		return ERR_CORRUPT;
	*ret = json_string_value(v);
	return 0;
}

int jsonx_get_i64(const json_t *obj, const char *key, int64_t *ret)
{
	json_t *v;
	int r = get_typed(obj, key, JSON_INTEGER, &v);

	if (r == 0)
		*ret = json_integer_value(v);
	return r;
}

int jsonx_get_u64(const json_t *obj, const char *key, uint64_t *ret)
{
	int64_t v;
	int r = jsonx_get_i64(obj, key, &v);

	if (r < 0)
		return r;
	if (v < 0)
		return ERR_CORRUPT;
	*ret = (uint64_t)v;
	return 0;
}

int jsonx_get_bool(const json_t *obj, const char *key, bool *ret)
{
	json_t *v;
	int r = get_typed(obj, key, JSON_TRUE, &v);

	if (r == ERR_CORRUPT)
		r = get_typed(obj, key, JSON_FALSE, &v);
	if (r == 0)
		*ret = json_is_true(v);
	return r;
}

int jsonx_get_array(const json_t *obj, const char *key, json_t **ret)
{
	return get_typed(obj, key, JSON_ARRAY, ret);
}

int jsonx_get_object(const json_t *obj, const char *key, json_t **ret)
{
	return get_typed(obj, key, JSON_OBJECT, ret);
}

int jsonx_set_new(json_t *obj, const char *key, json_t *v)
{
	if (!v)
		return -ENOMEM;
	return json_object_set_new(obj, key, v) < 0 ? -ENOMEM : 0;
}

int jsonx_set_str(json_t *obj, const char *key, const char *s)
{
	json_t *v = json_string(s);

	/* NULL means no memory or no UTF-8: the lossy form tells them apart, it only fails for lack of memory */
	if (!v) {
		json_t *lossy = jsonx_string_lossy(s, strlen(s));

		json_decref(lossy);
		return lossy ? -EINVAL : -ENOMEM;
	}
	return jsonx_set_new(obj, key, v);
}

int jsonx_set_i64(json_t *obj, const char *key, int64_t v)
{
	return jsonx_set_new(obj, key, json_integer(v));
}

int jsonx_set_u64(json_t *obj, const char *key, uint64_t v)
{
	return v > INT64_MAX ? -EINVAL : jsonx_set_i64(obj, key, (int64_t)v);
}

int jsonx_set_bool(json_t *obj, const char *key, bool v)
{
	return jsonx_set_new(obj, key, json_boolean(v));
}

/* Length of the valid UTF-8 sequence at p (n bytes left), 0 if there is none. */
static size_t utf8_len(const unsigned char *p, size_t n)
{
	static const uint32_t least[] = { 0, 0, 0x80, 0x800, 0x10000 };
	uint32_t c;
	size_t len;

	if (p[0] < 0x80)
		return 1;
	len = p[0] >= 0xf0 && p[0] < 0xf8 ? 4 : p[0] >= 0xe0 && p[0] < 0xf0 ? 3 : p[0] >= 0xc0 && p[0] < 0xe0 ? 2 : 0;
	if (len == 0 || len > n)
		return 0;
	c = p[0] & (0x7fu >> len);
	for (size_t i = 1; i < len; i++) {
		if ((p[i] & 0xc0) != 0x80)
			return 0;
		c = c << 6 | (p[i] & 0x3f);
	}
	return c >= least[len] && c <= 0x10ffff && (c < 0xd800 || c > 0xdfff) ? len : 0;
}

json_t *jsonx_string_lossy(const char *s, size_t n)
{
	CLEANUP(buf_done) struct buf b = { 0 };

	for (size_t i = 0; i < n;) {
		size_t len = utf8_len((const unsigned char *)s + i, n - i);

		if (len)
			buf_put(&b, s + i, len);
		else
			buf_put(&b, "\xef\xbf\xbd", 3);
		i += len ? len : 1;
	}
	(void)buf_cstr(&b); /* so that data is not NULL for "" */
	return buf_error(&b) ? NULL : json_stringn((const char *)b.data, b.len);
}

/* --- strings of any bytes --- */

json_t *jsonx_text(const char *s)
{
	return s ? jsonx_string_lossy(s, strlen(s)) : json_null();
}

json_t *jsonx_count(uint64_t v)
{
	return json_integer((json_int_t)MIN(v, EXACT_MAX));
}

json_t *jsonx_time(uint64_t wall_ns)
{
	struct buf b CLEANUP(buf_done) = { 0 };

	if (!wall_ns)
		return json_null();
	buf_put_rfc3339(&b, wall_ns);
	return buf_error(&b) ? NULL : json_string(buf_cstr(&b));
}

json_t *jsonx_bytes(const char *s)
{
	static const char digits[] = "0123456789abcdef";
	json_t *j = json_string(s);
	size_t n = strlen(s);
	char *hex;

	if (j)
		return j;
	hex = os_malloc(2 * n + 1);
	if (!hex)
		return NULL;
	for (size_t i = 0; i < n; i++) {
		hex[2 * i] = digits[(uint8_t)s[i] >> 4];
		hex[2 * i + 1] = digits[(uint8_t)s[i] & 15];
	}
	hex[2 * n] = '\0';
	j = json_pack("{s:s}", "hex", hex);
	free(hex);
	return j;
}

static int hex_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static int bytes_from_hex(const char *hex, char **ret)
{
	size_t n = strlen(hex);
	char *s;

	if (n % 2)
		return ERR_CORRUPT;
	s = os_malloc(n / 2 + 1);
	if (!s)
		return -ENOMEM;
	for (size_t i = 0; i < n / 2; i++) {
		int hi = hex_digit(hex[2 * i]), lo = hex_digit(hex[2 * i + 1]);

		/* a NUL cannot be inside a C string */
		if (hi < 0 || lo < 0 || (hi | lo) == 0) {
			free(s);
			return ERR_CORRUPT;
		}
		s[i] = (char)(hi << 4 | lo);
	}
	s[n / 2] = '\0';
	*ret = s;
	return 0;
}

int jsonx_bytes_value(const json_t *j, char **ret)
{
	const char *s = json_string_value(j);

	if (s) {
		/* no early end through an escaped NUL (jansson refuses those unless asked, so this is a second lock) */
		if (strlen(s) != json_string_length(j))
			return ERR_CORRUPT;
		*ret = os_strdup(s);
		return *ret ? 0 : -ENOMEM;
	}
	s = json_string_value(json_object_get(j, "hex"));
	return s ? bytes_from_hex(s, ret) : ERR_CORRUPT;
}

json_t *jsonx_strings(char *const *v)
{
	json_t *a = json_array();

	for (size_t i = 0; a && v[i]; i++)
		if (json_array_append_new(a, jsonx_bytes(v[i])) < 0) {
			json_decref(a);
			return NULL;
		}
	return a;
}

void jsonx_strings_free(char **v)
{
	for (size_t i = 0; v && v[i]; i++)
		free(v[i]);
	free(v);
}

int jsonx_strings_value(const json_t *a, size_t max, char ***ret)
{
	size_t n = json_array_size(a);
	char **v;
	int r = 0;

	if (!json_is_array(a))
		return ERR_CORRUPT;
	if (n > max)
		return ERR_LIMIT;
	v = os_calloc(n + 1, sizeof(*v));
	if (!v)
		return -ENOMEM;
	for (size_t i = 0; i < n && r == 0; i++)
		r = jsonx_bytes_value(json_array_get(a, i), &v[i]);
	if (r < 0) {
		jsonx_strings_free(v);
		return r;
	}
	*ret = v;
	return 0;
}
