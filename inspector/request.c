/* Requests as JSON, made into a struct: everything is checked here. */
#include "inspector/inspect_priv.h"

#include <errno.h>
#include <string.h>
#include "base/json.h"
#include "base/str.h"

/* clang-format off */
static const char *const names[OP_MAX_] = {
	[OP_STACK] = "stack", [OP_REGISTERS] = "registers", [OP_MAPS] = "maps", [OP_THREADS] = "threads", [OP_MEMORY] = "memory",
	[OP_SOURCE] = "source", [OP_CANCEL] = "cancel",
};
/* clang-format on */

static int parse_op(const json_t *j, enum request_op *ret, struct errinfo *ei)
{
	const char *name;

	if (jsonx_get_str(j, "op", &name) < 0)
		return errinfo_set(ei, -EINVAL, "the request has no op");
	for (unsigned i = 0; i < OP_MAX_; i++) {
		if (strcmp(names[i], name) != 0)
			continue;
		*ret = (enum request_op)i;
		return 0;
	}
	return errinfo_set(ei, -EINVAL, "unknown op '%.40s'", name);
}

/* A number that may be missing. */
static int get_number(const json_t *j, const char *key, uint64_t max, uint64_t *ret, bool *has, struct errinfo *ei)
{
	uint64_t v;
	int r = jsonx_get_u64(j, key, &v);

	if (has)
		*has = r >= 0;
	if (r == -ENOENT)
		return 0;
	if (r < 0 || v > max)
		return errinfo_set(ei, -EINVAL, "%s is not a number up to %llu", key, (unsigned long long)max);
	*ret = v;
	return 0;
}

static int parse_when(const json_t *j, bool *after, struct errinfo *ei)
{
	const char *when;
	int r = jsonx_get_str(j, "when", &when);

	if (r == -ENOENT)
		return 0;
	if (r < 0 || (strcmp(when, "before") != 0 && strcmp(when, "after") != 0))
		return errinfo_set(ei, -EINVAL, "when is neither before nor after");
	*after = !strcmp(when, "after");
	return 0;
}

static int parse_place(const json_t *j, struct request *q, struct errinfo *ei)
{
	uint64_t thread = 0, pid = 0;
	int r = get_number(j, "event", INT64_MAX, &q->event, NULL, ei);

	if (r >= 0)
		r = parse_when(j, &q->after, ei);
	if (r >= 0)
		r = get_number(j, "thread", UINT32_MAX, &thread, NULL, ei);
	if (r >= 0)
		r = get_number(j, "pid", INT32_MAX, &pid, NULL, ei);
	q->thread = (uint32_t)thread;
	q->pid = (pid_t)pid;
	if (r >= 0 && !q->event && q->op < OP_SOURCE)
		r = errinfo_set(ei, -EINVAL, "the request names no event");
	return r;
}

static int parse_memory(const json_t *j, struct request *q, struct errinfo *ei)
{
	const char *addr;
	int r;

	if (jsonx_get_str(j, "addr", &addr) < 0 || str_parse_u64(addr, &q->addr) < 0)
		return errinfo_set(ei, -EINVAL, "addr is no address");
	r = get_number(j, "len", INSPECT_MEMORY_MAX, &q->len, NULL, ei);
	if (r >= 0 && !q->len)
		r = errinfo_set(ei, -EINVAL, "len is not a number of bytes from 1 to %u", INSPECT_MEMORY_MAX);
	return r;
}

static int parse_source(const json_t *j, struct request *q, struct errinfo *ei)
{
	const char *path;
	int r;

	if (jsonx_get_str(j, "path", &path) < 0 || !*path || strlen(path) >= sizeof(q->path))
		return errinfo_set(ei, -EINVAL, "the request names no source file");
	memcpy(q->path, path, strlen(path) + 1);
	q->context = INSPECT_SOURCE_LINES_MAX;
	r = get_number(j, "line", INT32_MAX, &q->line, NULL, ei);
	return r < 0 ? r : get_number(j, "context", INSPECT_SOURCE_LINES_MAX, &q->context, NULL, ei);
}

int request_parse(const char *line, size_t len, struct request *ret, struct errinfo *ei)
{
	json_t *j CLEANUP(jsonx_unrefp) = NULL;
	int r;

	*ret = (struct request){ 0 };
	if (len > INSPECT_LINE_MAX)
		return errinfo_set(ei, ERR_LIMIT, "a request is longer than %u bytes", INSPECT_LINE_MAX);
	r = jsonx_parse(line, len, &j, ei);
	if (r >= 0 && !json_is_object(j))
		r = errinfo_set(ei, -EINVAL, "a request is no object");
	if (r >= 0)
		r = get_number(j, "id", INT64_MAX, &ret->id, NULL, ei);
	if (r >= 0)
		r = parse_op(j, &ret->op, ei);
	if (r >= 0 && ret->op == OP_CANCEL)
		return get_number(j, "request", INT64_MAX, &ret->target, &ret->has_target, ei);
	if (r >= 0)
		r = parse_place(j, ret, ei);
	if (r >= 0 && ret->op == OP_MEMORY)
		r = parse_memory(j, ret, ei);
	if (r >= 0 && ret->op == OP_SOURCE)
		r = parse_source(j, ret, ei);
	return r;
}
