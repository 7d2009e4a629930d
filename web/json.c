/* See json_priv.h. */
#include "web/json_priv.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include "base/json.h"
#include "engine/sysprint.h"

#define EXACT_MAX ((UINT64_C(1) << 53) - 1)

json_t *json_count(uint64_t v)
{
	return json_integer((json_int_t)MIN(v, EXACT_MAX));
}

json_t *json_ns(uint64_t v)
{
	char text[24];

	(void)snprintf(text, sizeof(text), "%" PRIu64, v);
	return json_string(text);
}

json_t *json_text(const char *s)
{
	return s ? jsonx_string_lossy(s, strlen(s)) : json_null();
}

json_t *json_exit(int status, bool live)
{
	char name[24];

	if (status == -1)
		return json_pack("{s:s}", "kind", live ? "running" : "unknown");
	if (WIFSIGNALED(status))
		return json_pack("{s:s, s:s}", "kind", "signaled", "signal", sysprint_signal(WTERMSIG(status), name));
	return json_pack("{s:s, s:i}", "kind", "exited", "code", WEXITSTATUS(status));
}

bool json_put(json_t *obj, const char *key, json_t *v)
{
	return json_object_set_new(obj, key, v) == 0;
}
