/* Mappings, threads, registers and memory at a position, as JSON (docs/HTTP.md). */
#include "inspector/inspect_priv.h"

#include <errno.h>
#include <inttypes.h>
#include <nettle/base64.h>
#include <stdlib.h>
#include <string.h>
#include "base/json.h"
#include "base/os.h"

static int set_hex(json_t *j, const char *key, uint64_t v)
{
	char text[24];

	snprintf(text, sizeof(text), "0x%" PRIx64, v);
	return jsonx_set_str(j, key, text);
}

/* Goes there; what all answers begin with. */
static int begin(struct inspector *in, const struct request *q, struct place *p, json_t *result, struct errinfo *ei)
{
	int r = result ? position_go(in, q, p, ei) : -ENOMEM;

	return r < 0 ? r : position_put(p, result);
}

int answer_registers(struct inspector *in, const struct request *q, json_t **ret, struct errinfo *ei)
{
	enum { XSTATE_MAX = 64 << 10 };
	json_t *result CLEANUP(jsonx_unrefp) = json_object();
	void *xstate CLEANUP(freep) = os_malloc(XSTATE_MAX);
	struct user_regs_struct u;
	struct place p;
	size_t len = 0;
	int r = xstate ? begin(in, q, &p, result, ei) : -ENOMEM;

	if (r >= 0)
		r = dbg_regs(in->dbg, p.tid, &u);
	if (r >= 0 && dbg_xstate(in->dbg, p.tid, xstate, XSTATE_MAX, &len) < 0)
		len = 0; /* general ones alone */
	if (r < 0)
		return r;
	guard_begin(in);
	r = modules_update(in);
	if (r >= 0)
		r = jsonx_set_new(result, "registers", regs_list(in, &u, xstate, len, store_reader_manifest(in->reader)->cpu));
	guard_end();
	if (r >= 0)
		*ret = TAKE(result);
	return MIN(r, 0);
}

/* --- maps --- */

/* "start-end perm offset dev inode   name" */
static json_t *map_json(const char *line)
{
	json_t *j CLEANUP(jsonx_unrefp) = json_object();
	uint64_t start, end, offset;
	char prot[8];
	int at = 0;
	bool ok;

	if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %7s %" SCNx64 " %*s %*u%n", &start, &end, prot, &offset, &at) != 4 || !at)
		return NULL;
	line += at;
	line += strspn(line, " ");
	ok = set_hex(j, "start", start) >= 0 && set_hex(j, "end", end) >= 0 && jsonx_set_str(j, "prot", prot) >= 0;
	ok = ok && set_hex(j, "offset", offset) >= 0 && jsonx_set_new(j, "name", jsonx_string_lossy(line, strlen(line))) >= 0;
	ok = ok && jsonx_set_u64(j, "size", end - start) >= 0;
	return ok ? TAKE(j) : NULL;
}

int answer_maps(struct inspector *in, const struct request *q, json_t **ret, struct errinfo *ei)
{
	json_t *result CLEANUP(jsonx_unrefp) = json_object(), *items = json_array();
	struct buf maps CLEANUP(buf_done) = { 0 };
	char *save = NULL;
	struct place p;
	int r = jsonx_set_new(result, "items", items);

	if (r >= 0)
		r = begin(in, q, &p, result, ei);
	if (r >= 0)
		r = dbg_proc_file(in->dbg, "maps", &maps);
	if (r == ERR_NOT_FOUND)
		errinfo_set(ei, r, "the process has no mappings there");
	buf_cstr(&maps);
	if (r >= 0)
		r = buf_error(&maps);
	if (r < 0)
		return r;
	for (char *line = strtok_r((char *)maps.data, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
		if (json_array_size(items) == INSPECT_MAPS_MAX)
			break;
		if (json_array_append_new(items, map_json(line)) < 0)
			return -ENOMEM;
	}
	*ret = TAKE(result);
	return 0;
}

/* --- threads --- */

static json_t *thread_json(struct inspector *in, const struct dbg_thread *t, pid_t current)
{
	json_t *j CLEANUP(jsonx_unrefp) = json_object();
	char *function CLEANUP(freep) = NULL;
	struct user_regs_struct u;
	bool ok;

	if (dbg_regs(in->dbg, t->tid, &u) < 0)
		u.rip = 0;
	function = symbols_text(in, u.rip);
	ok = jsonx_set_u64(j, "number", t->number) >= 0 && jsonx_set_i64(j, "tid", t->tid) >= 0;
	ok = ok && jsonx_set_new(j, "name", jsonx_string_lossy(t->name, strnlen(t->name, sizeof(t->name)))) >= 0;
	ok = ok && jsonx_set_bool(j, "in_call", t->in_call) >= 0 && jsonx_set_bool(j, "current", t->tid == current) >= 0;
	ok = ok && set_hex(j, "pc", u.rip) >= 0;
	ok = ok && jsonx_set_new(j, "function", function ? jsonx_string_lossy(function, strlen(function)) : json_null()) >= 0;
	return ok ? TAKE(j) : NULL;
}

int answer_threads(struct inspector *in, const struct request *q, json_t **ret, struct errinfo *ei)
{
	json_t *result CLEANUP(jsonx_unrefp) = json_object(), *items = json_array();
	struct dbg_thread *copy CLEANUP(freep) = NULL;
	const struct dbg_thread *t;
	struct place p;
	size_t n = 0;
	int r = jsonx_set_new(result, "items", items);

	if (r >= 0)
		r = begin(in, q, &p, result, ei);
	if (r >= 0)
		r = dbg_threads(in->dbg, &t, &n);
	n = MIN(n, (size_t)INSPECT_THREADS_MAX);
	copy = r >= 0 ? os_calloc(n + 1, sizeof(*copy)) : NULL;
	if (!copy)
		return r < 0 ? r : -ENOMEM;
	memcpy(copy, t, n * sizeof(*copy));
	guard_begin(in);
	r = modules_update(in);
	for (size_t i = 0; r >= 0 && i < n; i++)
		if (json_array_append_new(items, thread_json(in, &copy[i], p.tid)) < 0)
			r = -ENOMEM;
	guard_end();
	if (r >= 0)
		*ret = TAKE(result);
	return MIN(r, 0);
}

/* --- memory --- */

int answer_memory(struct inspector *in, const struct request *q, json_t **ret, struct errinfo *ei)
{
	json_t *result CLEANUP(jsonx_unrefp) = json_object();
	void *data CLEANUP(freep) = os_malloc(q->len);
	char *text CLEANUP(freep) = os_malloc(BASE64_ENCODE_RAW_LENGTH(q->len) + 1);
	struct place p;
	size_t n;
	int r = data && text ? begin(in, q, &p, result, ei) : -ENOMEM;

	if (r < 0)
		return r;
	n = dbg_read(in->dbg, q->addr, data, q->len);
	base64_encode_raw(text, n, data);
	text[BASE64_ENCODE_RAW_LENGTH(n)] = '\0';
	if (set_hex(result, "addr", q->addr) < 0 || jsonx_set_u64(result, "len", q->len) < 0 || jsonx_set_u64(result, "read", n) < 0 ||
	    jsonx_set_str(result, "data", text) < 0)
		return -ENOMEM;
	*ret = TAKE(result);
	return 0;
}
