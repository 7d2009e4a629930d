/* See verdict.h. Every member of the schema is always there: readers tell "null" from "forgotten". Numbers are plain here, as the schema
 * is older than the rule of strings. Compared are events: what the guest asked (thread, call, arguments, registers) and, strictly, memory. */
#include "cli/verdict.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include "base/json.h"
#include "base/os.h"
#include "cli/js.h"

static const char *const verdict_names[VERDICT_MAX_] = {
	[VERDICT_NO_RESULT] = "no_result", [VERDICT_MATCHED] = "matched", [VERDICT_DIVERGED] = "diverged",
};

void verdict_init(struct verdict *v, bool strict)
{
	*v = (struct verdict){ .no_result = "not_run", .strict = strict, .status = -1 };
}

static json_t *number_or_null(bool known, uint64_t n)
{
	return known ? json_integer((json_int_t)n) : json_null();
}

static json_t *text_or_null(const char *s)
{
	return *s ? jsonx_string_lossy(s, strlen(s)) : json_null();
}

static json_t *strings(const char *a, const char *b)
{
	return b ? json_pack("[s,s]", a, b) : json_pack("[s]", a);
}

static json_t *no_result_reason(const struct verdict *v)
{
	if (v->kind != VERDICT_NO_RESULT)
		return json_null();
	if (!v->message[0])
		return json_pack("{s:s}", "kind", v->no_result);
	return json_pack("{s:s,s:o}", "kind", v->no_result, "message", text_or_null(v->message));
}

static json_t *comparison(const struct verdict *v)
{
	struct js j CLEANUP(js_done) = { 0 };
	bool strict = v->strict;

	if (v->kind == VERDICT_NO_RESULT)
		return json_null();
	js_init(&j);
	js_str(&j, "strictness", strict ? "canonical" : "stripped");
	js_str(&j, "display_name", strict ? "events, memory and inputs" : "events");
	js_bool(&j, "compare_logs", true);
	js_bool(&j, "compare_io_buffers", strict);
	js_str(&j, "log_scope", strict ? "info" : "deterministic");
	js_str(&j, "record_envelope", "all_records_v1");
	js_bool(&j, "virtualize_time", false);
	js_bool(&j, "strip_lines", !strict);
	js_bool(&j, "canonicalize_addresses", strict);
	js_bool(&j, "full_trace", strict);
	js_bool(&j, "exact_remainder", strict);
	js_take(&j, "stripped_prefixes",
		strings("real-wall-clock-prefix/v1", strict ? NULL : "unsafe-numeric-address-and-path-normalization/v1"));
	js_take(&j, "canonicalizations", strict ? strings("host-address-to-first-appearance-ordinal/v1", NULL) : json_array());
	js_bool(&j, "ignore_lines", false);
	js_bool(&j, "skip_commit", false);
	js_bool(&j, "skip_detlog", false);
	return js_steal(&j);
}

static json_t *message_counts(const struct verdict *v)
{
	if (v->kind == VERDICT_NO_RESULT)
		return json_null();
	return json_pack("{s:I,s:I}", "left", (json_int_t)v->recorded, "right", (json_int_t)v->replayed);
}

json_t *verdict_json(const struct verdict *v)
{
	struct js j CLEANUP(js_done) = { 0 };
	bool matched = v->kind == VERDICT_MATCHED, known = v->status != -1;

	js_init(&j);
	js_bool(&j, "verified", matched);
	js_bool(&j, "bitwise_parity", matched && v->strict && v->recorded && v->replayed);
	js_str(&j, "verdict", verdict_names[v->kind]);
	js_take(&j, "no_result_reason", no_result_reason(v));
	js_null(&j, "infrastructure_error");
	js_take(&j, "comparison", comparison(v));
	js_take(&j, "compared_log_messages", message_counts(v));
	js_null(&j, "runtime");
	js_take(&j, "guest_exit_code", number_or_null(known && WIFEXITED(v->status), (uint64_t)WEXITSTATUS(v->status)));
	js_take(&j, "guest_signal", number_or_null(known && WIFSIGNALED(v->status), (uint64_t)WTERMSIG(v->status)));
	js_null(&j, "first_divergent_scheduler_turn");
	js_null(&j, "first_divergent_virtual_nanoseconds");
	js_take(&j, "first_divergent_record", number_or_null(v->record, v->record));
	js_take(&j, "first_divergent_syscall", number_or_null(v->record, v->syscall));
	js_take(&j, "first_divergent_left_message", text_or_null(v->left));
	js_take(&j, "first_divergent_right_message", text_or_null(v->right));
	return js_steal(&j);
}

int verdict_save(const struct verdict *v, const char *path)
{
	json_t *j CLEANUP(jsonx_unrefp) = verdict_json(v);
	char *text CLEANUP(freep) = NULL;
	size_t len;
	int r;

	if (!j)
		return -ENOMEM;
	r = jsonx_dump(j, JSON_COMPACT, &text, &len);
	if (r < 0)
		return r;
	text[len] = '\n'; /* in place of the NUL, which is not needed any more */
	return os_write_file_atomic(path, text, len + 1, 0666);
}
