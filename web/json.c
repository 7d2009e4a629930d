/* See json_priv.h. */
#include "web/json_priv.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/wait.h>
#include "base/json.h"
#include "base/str.h"

json_t *web_json_str(const char *s)
{
	return s && *s ? jsonx_string_lossy(s, strlen(s)) : json_null();
}

json_t *web_json_ns(uint64_t ns)
{
	char text[24];

	(void)snprintf(text, sizeof(text), "%llu", (unsigned long long)ns);
	return json_string(text);
}

bool web_json_put(json_t *obj, const char *key, json_t *v)
{
	return json_object_set_new(obj, key, v) == 0;
}

void web_signal_name(int signo, char ret[16])
{
	const char *name = signo > 0 && signo < _NSIG ? sigabbrev_np(signo) : NULL;

	if (name)
		(void)snprintf(ret, 16, "SIG%s", name);
	else if (signo >= 34 && signo <= 64) /* as the kernel counts: glibc keeps two for itself */
		(void)snprintf(ret, 16, "SIGRTMIN+%d", signo - 34);
	else
		(void)snprintf(ret, 16, "%d", signo);
}

int web_signal_number(const char *name)
{
	const char *s = strncasecmp(name, "SIG", 3) == 0 ? name + 3 : name;
	uint64_t n;

	if (str_parse_u64(name, &n) == 0)
		return n <= 64 ? (int)n : 0;
	if (strncasecmp(s, "RTMIN+", 6) == 0)
		return str_parse_u64(s + 6, &n) == 0 && n <= 30 ? 34 + (int)n : 0;
	for (int i = 1; i < 34; i++) {
		const char *abbrev = sigabbrev_np(i);

		if (abbrev && strcasecmp(abbrev, s) == 0)
			return i;
	}
	return 0;
}

json_t *web_json_exit(int status, bool running)
{
	char name[16];

	if (running)
		return json_pack("{s:s}", "kind", "running");
	if (status >= 0 && WIFEXITED(status))
		return json_pack("{s:s,s:i}", "kind", "exited", "code", WEXITSTATUS(status));
	if (status >= 0 && WIFSIGNALED(status)) {
		web_signal_name(WTERMSIG(status), name);
		return json_pack("{s:s,s:s}", "kind", "signaled", "signal", name);
	}
	return json_pack("{s:s}", "kind", "unknown");
}

const char *web_entry_state(const struct catalog_entry *e)
{
	return e->broken ? "broken" : recording_state_name(e->state);
}

/* What needs no escapes is most of it. */
static bool plain(const char *s)
{
	for (; *s; s++) {
		if (*s < ' ' || *s > '~' || *s == '"' || *s == '\\')
			return false;
	}
	return true;
}

static void put_text(struct buf *b, const char *s)
{
	json_t *j CLEANUP(jsonx_unrefp) = NULL;
	char *text CLEANUP(freep) = NULL;

	if (plain(s)) {
		buf_put_u8(b, '"');
		buf_put(b, s, strlen(s));
		buf_put_u8(b, '"');
		return;
	}
	j = jsonx_string_lossy(s, strlen(s));
	if (j)
		text = json_dumps(j, JSON_ENCODE_ANY);
	if (text)
		buf_put(b, text, strlen(text));
	else
		b->error = b->error ? b->error : -ENOMEM;
}

static void put_member(struct buf *b, const char *name, const char *s, bool null_if_empty)
{
	buf_printf(b, ",\"%s\":", name);
	if (null_if_empty && !*s)
		buf_put(b, "null", 4);
	else
		put_text(b, s);
}

static void put_json(struct buf *b, const char *name, json_t *value)
{
	char *text CLEANUP(freep) = value ? json_dumps(value, JSON_ENCODE_ANY | JSON_COMPACT) : NULL;

	json_decref(value);
	buf_printf(b, ",\"%s\":%s", name, text ? text : "null");
	if (!text)
		b->error = b->error ? b->error : -ENOMEM;
}

/* Written by hand: lists have hundreds of them, and trees of objects take ten times as long. */
void web_put_entry(struct buf *b, const struct catalog_entry *e)
{
	buf_printf(b, "{\"id\":\"%s\",\"keep\":%s,\"state\":\"%s\",\"live\":%s", e->id.hex, e->keep ? "true" : "false", web_entry_state(e),
		   e->live ? "true" : "false");
	put_member(b, "label", e->label, true);
	put_member(b, "reason", e->reason, true);
	put_member(b, "error", e->error, true);
	put_member(b, "command", e->command, false);
	put_member(b, "program", e->program, false);
	put_json(b, "started", jsonx_time(e->start_wall_ns));
	buf_printf(b, ",\"started_ns\":\"%llu\"", (unsigned long long)e->start_wall_ns);
	if (e->broken)
		buf_printf(b, ",\"duration_ns\":null");
	else
		buf_printf(b, ",\"duration_ns\":\"%llu\"", (unsigned long long)e->duration_ns);
	put_json(b, "exit", web_json_exit(e->status, e->live));
	buf_printf(b, ",\"events\":%llu,\"processes\":%llu,\"threads\":%llu,\"bytes\":%llu,\"bookmarks\":%llu", (unsigned long long)e->events,
		   (unsigned long long)e->processes, (unsigned long long)e->threads, (unsigned long long)e->bytes, (unsigned long long)e->bookmarks);
	put_member(b, "host", e->host, false);
	put_member(b, "user", e->user, false);
	put_member(b, "source", e->source, true);
	buf_put_u8(b, '}');
}

json_t *web_json_entry(const struct catalog_entry *e)
{
	struct buf b CLEANUP(buf_done) = { 0 };
	json_t *j = NULL;

	web_put_entry(&b, e);
	return buf_error(&b) == 0 && jsonx_parse((const char *)b.data, b.len, &j, NULL) == 0 ? j : NULL;
}
