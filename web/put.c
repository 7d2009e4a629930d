/* See put_priv.h. */
#include "web/put_priv.h"

#include <string.h>
#include "base/json.h"

#define EXACT_MAX ((UINT64_C(1) << 53) - 1)

json_t *json_count(uint64_t v)
{
	return json_integer((json_int_t)MIN(v, EXACT_MAX));
}

json_t *json_text(const char *s)
{
	return s ? jsonx_string_lossy(s, strlen(s)) : json_null();
}

bool json_put(json_t *obj, const char *key, json_t *v)
{
	return json_object_set_new(obj, key, v) == 0;
}
