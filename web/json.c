/* See json_priv.h. */
#include "web/json_priv.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/wait.h>
#include <time.h>
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

json_t *web_json_time(uint64_t wall_ns)
{
	time_t s = (time_t)(wall_ns / 1000000000);
	char text[40], whole[32];
	struct tm tm;

	if (!wall_ns || !gmtime_r(&s, &tm) || strftime(whole, sizeof(whole), "%Y-%m-%dT%H:%M:%S", &tm) == 0)
		return json_null();
	(void)snprintf(text, sizeof(text), "%s.%03uZ", whole, (unsigned)(wall_ns / 1000000 % 1000));
	return json_string(text);
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

json_t *web_json_entry(const struct catalog_entry *e)
{
	return json_pack("{s:s,s:o,s:b,s:s,s:o,s:o,s:b,s:o,s:o,s:o,s:o,s:o,s:o,s:I,s:I,s:I,s:I,s:o,s:o,s:o,s:I}", "id", e->id.hex, "label",
			 web_json_str(e->label), "keep", (int)e->keep, "state", web_entry_state(e), "reason", web_json_str(e->reason), "error",
			 web_json_str(e->error), "live", (int)e->live, "command", jsonx_string_lossy(e->command, strlen(e->command)), "program",
			 jsonx_string_lossy(e->program, strlen(e->program)), "started", web_json_time(e->start_wall_ns), "started_ns",
			 web_json_ns(e->start_wall_ns), "duration_ns", e->broken ? json_null() : web_json_ns(e->duration_ns), "exit",
			 web_json_exit(e->status, e->live), "events", (json_int_t)e->events, "processes", (json_int_t)e->processes, "threads",
			 (json_int_t)e->threads, "bytes", (json_int_t)e->bytes, "host", jsonx_string_lossy(e->host, strlen(e->host)), "user",
			 jsonx_string_lossy(e->user, strlen(e->user)), "source", web_json_str(e->source), "bookmarks", (json_int_t)e->bookmarks);
}
