/* manifest.json <-> struct manifest. Plain members are rows of tables; the rest has a reader and a writer each.
 *
 * JSON text is UTF-8 but paths, arguments and environments are any bytes: what is not UTF-8 is written as {"hex": "..."}.
 * Members that no table names are kept in `extra` and written back, so that an older hermit does not lose what a newer one noted.
 */
#include "store/manifest.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include "base/json.h"
#include "base/os.h"
#include "store/annotate_priv.h"
#include "store/limits_priv.h"
#include "store/manifest_priv.h"
#include "store/store_priv.h"

struct text_member {
	const char *name;
	size_t off;
};

static const struct text_member text_members[] = {
	{ "label", offsetof(struct manifest, label) },
	{ "reason", offsetof(struct manifest, reason) },
	{ "cwd", offsetof(struct manifest, cwd) },
	{ "hermit_version", offsetof(struct manifest, hermit_version) },
	{ "hostname", offsetof(struct manifest, hostname) },
	{ "kernel", offsetof(struct manifest, kernel) },
	{ "cpu_model", offsetof(struct manifest, cpu_model) },
	{ "user", offsetof(struct manifest, user) },
};

static const struct text_member u64_members[] = {
	{ "start_wall_ns", offsetof(struct manifest, start_wall_ns) },
	{ "duration_ns", offsetof(struct manifest, duration_ns) },
	{ "events", offsetof(struct manifest, events) },
	{ "threads", offsetof(struct manifest, threads) },
	{ "processes", offsetof(struct manifest, processes) },
};

struct json_member {
	const char *name;
	size_t off;
	json_type type;
};

static const struct json_member json_members[] = {
	{ "cpu", offsetof(struct manifest, cpu), JSON_OBJECT },
	{ "syscalls", offsetof(struct manifest, syscalls), JSON_OBJECT },
	{ "warnings", offsetof(struct manifest, warnings), JSON_ARRAY },
	{ "options", offsetof(struct manifest, options), JSON_OBJECT },
};

/* Members with code of their own, for telling unknown ones. */
static const char *const other_members[] = { "format", "id",      "state", "compressed", "argv",
					     "envp",   "streams", "blobs", "status",     "process_tree" };

static const char *const state_names[RECORDING_STATE_MAX_] = {
	[RECORDING_OPEN] = "recording",
	[RECORDING_COMPLETE] = "complete",
	[RECORDING_TRUNCATED] = "truncated",
	[RECORDING_SEALED] = "sealed",
};

#define MEMBER(m, off, type) ((type *)((char *)(m) + (off)))
#define MEMBER_CONST(m, off, type) ((type const *)((const char *)(m) + (off)))

const char *recording_state_name(enum recording_state s)
{
	return (unsigned)s < RECORDING_STATE_MAX_ ? state_names[s] : "?";
}

void manifest_init(struct manifest *m)
{
	*m = (struct manifest){ .major = MANIFEST_FORMAT_MAJOR, .minor = MANIFEST_FORMAT_MINOR, .status = -1 };
}

void manifest_done(struct manifest *m)
{
	for (size_t i = 0; i < ARRAY_SIZE(text_members); i++)
		free(*MEMBER(m, text_members[i].off, char *));
	for (size_t i = 0; i < ARRAY_SIZE(json_members); i++)
		json_decref(*MEMBER(m, json_members[i].off, json_t *));
	json_decref(m->extra);
	free(m->source);
	jsonx_strings_free(m->argv);
	jsonx_strings_free(m->envp);
	for (size_t i = 0; m->process && i < m->processes; i++) {
		free(m->process[i].command);
		free(m->process[i].exe);
	}
	free(m->process);
	free(m->blobs);
	manifest_init(m);
}

/* --- to JSON --- */

static json_t *stream_to_json(const struct manifest_stream *s)
{
	return json_pack("{s:I, s:I, s:s}", "raw_bytes", (json_int_t)s->raw_bytes, "stored_bytes",
			 (json_int_t)s->stored_bytes, "sha256", s->sha256);
}

static json_t *process_to_json(const struct manifest_process *p)
{
	json_t *j = json_pack("{s:I, s:I, s:i, s:i, s:I, s:I, s:I}", "thread", (json_int_t)p->thread, "parent",
			      (json_int_t)p->parent, "pid", (int)p->pid, "status", p->status, "first_event",
			      (json_int_t)p->first_event, "last_event", (json_int_t)p->last_event, "threads",
			      (json_int_t)p->threads);

	if (j && ((p->command && json_object_set_new(j, "command", jsonx_bytes(p->command)) < 0) ||
		  (p->exe && json_object_set_new(j, "exe", jsonx_bytes(p->exe)) < 0))) {
		json_decref(j);
		return NULL;
	}
	return j;
}

static json_t *processes_to_json(const struct manifest *m)
{
	json_t *a = json_array();

	for (size_t i = 0; a && i < m->processes; i++)
		if (json_array_append_new(a, process_to_json(&m->process[i])) < 0) {
			json_decref(a);
			return NULL;
		}
	return a;
}

static json_t *blobs_to_json(const struct manifest *m)
{
	json_t *a = json_array();
	char hex[65];

	for (size_t i = 0; a && i < m->n_blobs; i++) {
		blob_id_hex(&m->blobs[i], hex);
		if (json_array_append_new(a, json_string(hex)) < 0) {
			json_decref(a);
			return NULL;
		}
	}
	return a;
}

static int tables_to_json(const struct manifest *m, json_t *j)
{
	int r = 0;

	for (size_t i = 0; i < ARRAY_SIZE(text_members) && r == 0; i++) {
		const char *s = *MEMBER_CONST(m, text_members[i].off, char *);

		if (s)
			r = jsonx_set_new(j, text_members[i].name, jsonx_bytes(s));
	}
	for (size_t i = 0; i < ARRAY_SIZE(u64_members) && r == 0; i++)
		r = jsonx_set_u64(j, u64_members[i].name, *MEMBER_CONST(m, u64_members[i].off, uint64_t));
	for (size_t i = 0; i < ARRAY_SIZE(json_members) && r == 0; i++) {
		json_t *v = *MEMBER_CONST(m, json_members[i].off, json_t *);

		if (v)
			r = jsonx_set_new(j, json_members[i].name, json_incref(v));
	}
	return r;
}

static int lists_to_json(const struct manifest *m, json_t *j)
{
	int r = 0;

	if (m->argv)
		r = jsonx_set_new(j, "argv", jsonx_strings(m->argv));
	if (r == 0 && m->envp)
		r = jsonx_set_new(j, "envp", jsonx_strings(m->envp));
	if (r == 0 && m->process)
		r = jsonx_set_new(j, "process_tree", processes_to_json(m));
	if (r == 0)
		r = jsonx_set_new(j, "streams",
				  json_pack("{s:o, s:o}", "events", stream_to_json(&m->event_stream), "data",
					    stream_to_json(&m->data_stream)));
	if (r == 0)
		r = jsonx_set_new(j, "blobs", blobs_to_json(m));
	return r;
}

int manifest_to_json(const struct manifest *m, json_t **ret)
{
	json_t *j CLEANUP(jsonx_unrefp) = json_pack(
		"{s:{s:i, s:i}, s:s, s:s, s:b, s:i}", "format", "major", MANIFEST_FORMAT_MAJOR, "minor", MANIFEST_FORMAT_MINOR,
		"id", m->id.hex, "state", recording_state_name(m->state), "compressed", m->compressed, "status", m->status);
	int r = j ? tables_to_json(m, j) : -ENOMEM;

	if (r == 0)
		r = lists_to_json(m, j);
	if (r == 0 && m->extra && json_object_update_missing(j, m->extra) < 0)
		r = -ENOMEM;
	if (r < 0)
		return r;
	*ret = TAKE(j);
	return 0;
}

/* --- from JSON --- */

static int bad_member(struct errinfo *ei, int r, const char *name)
{
	return errinfo_set_r(ei, r, "manifest member %s", name);
}

/* An integer member that must be there and within 0..max. */
static int get_uint(const json_t *j, const char *name, uint64_t max, uint64_t *ret)
{
	int r = jsonx_get_u64(j, name, ret);

	if (r == -ENOENT || (r == 0 && *ret > max))
		return ERR_CORRUPT;
	return r;
}

static int get_int(const json_t *j, const char *name, int *ret)
{
	int64_t v;
	int r = jsonx_get_i64(j, name, &v);

	if (r < 0 || v != (int)v)
		return r < 0 && r != -ENOENT ? r : ERR_CORRUPT;
	*ret = (int)v;
	return 0;
}

static int get_format(const json_t *j, struct manifest *m, struct errinfo *ei)
{
	const json_t *f = json_object_get(j, "format");
	int r = get_int(f, "major", &m->major);

	if (r == 0)
		r = get_int(f, "minor", &m->minor);
	if (r < 0 || m->major < 1 || m->minor < 0)
		return bad_member(ei, ERR_CORRUPT, "format");
	if (m->major > MANIFEST_FORMAT_MAJOR)
		return errinfo_set(ei, ERR_NEWER_FORMAT, "recording has format %d.%d, this hermit reads up to %d.x", m->major,
				   m->minor, MANIFEST_FORMAT_MAJOR);
	return 0;
}

static int get_identity(const json_t *j, struct manifest *m, struct errinfo *ei)
{
	const char *s = json_string_value(json_object_get(j, "id"));
	int state = 0;

	if (!s || !store_id_valid(s))
		return bad_member(ei, ERR_CORRUPT, "id");
	memcpy(m->id.hex, s, sizeof(m->id.hex));
	s = json_string_value(json_object_get(j, "state"));
	while (s && state < RECORDING_STATE_MAX_ && strcmp(s, state_names[state]) != 0)
		state++;
	if (!s || state == RECORDING_STATE_MAX_)
		return bad_member(ei, ERR_CORRUPT, "state");
	m->state = (enum recording_state)state;
	if (jsonx_get_bool(j, "compressed", &m->compressed) < 0 ||
	    (m->compressed && (m->state == RECORDING_OPEN || m->state == RECORDING_COMPLETE)) ||
	    (!m->compressed && m->state == RECORDING_SEALED))
		return bad_member(ei, ERR_CORRUPT, "compressed");
	if (get_int(j, "status", &m->status) < 0)
		return bad_member(ei, ERR_CORRUPT, "status");
	return 0;
}

static int get_tables(const json_t *j, struct manifest *m, struct errinfo *ei)
{
	for (size_t i = 0; i < ARRAY_SIZE(text_members); i++) {
		const json_t *v = json_object_get(j, text_members[i].name);
		int r = v ? jsonx_bytes_value(v, MEMBER(m, text_members[i].off, char *)) : 0;

		if (r < 0)
			return bad_member(ei, r, text_members[i].name);
	}
	for (size_t i = 0; i < ARRAY_SIZE(u64_members); i++) {
		int r = get_uint(j, u64_members[i].name, INT64_MAX, MEMBER(m, u64_members[i].off, uint64_t));

		if (r < 0)
			return bad_member(ei, r, u64_members[i].name);
	}
	for (size_t i = 0; i < ARRAY_SIZE(json_members); i++) {
		json_t *v = json_object_get(j, json_members[i].name);

		if (v && json_typeof(v) != json_members[i].type)
			return bad_member(ei, ERR_CORRUPT, json_members[i].name);
		*MEMBER(m, json_members[i].off, json_t *) = json_incref(v);
	}
	return 0;
}

static int stream_from_json(const json_t *j, struct manifest_stream *s, bool open)
{
	const char *sha = json_string_value(json_object_get(j, "sha256"));
	struct blob_id id;
	int r = get_uint(j, "raw_bytes", INT64_MAX, &s->raw_bytes);

	if (r == 0)
		r = get_uint(j, "stored_bytes", INT64_MAX, &s->stored_bytes);
	if (r < 0)
		return r;
	if (!sha || (blob_id_parse(sha, &id) < 0 && !(open && sha[0] == '\0')))
		return ERR_CORRUPT;
	memcpy(s->sha256, sha, strlen(sha) + 1);
	return 0;
}

static int get_streams(const json_t *j, struct manifest *m, struct errinfo *ei)
{
	const json_t *s = json_object_get(j, "streams");
	int r = stream_from_json(json_object_get(s, "events"), &m->event_stream, m->state == RECORDING_OPEN);

	if (r < 0)
		return bad_member(ei, r, "streams.events");
	r = stream_from_json(json_object_get(s, "data"), &m->data_stream, m->state == RECORDING_OPEN);
	return r < 0 ? bad_member(ei, r, "streams.data") : 0;
}

static int process_from_json(const json_t *j, struct manifest_process *p)
{
	const json_t *command = json_object_get(j, "command"), *exe = json_object_get(j, "exe");
	uint64_t thread, parent, threads;
	int r = get_uint(j, "thread", UINT32_MAX, &thread);

	if (r == 0)
		r = get_uint(j, "parent", UINT32_MAX, &parent);
	if (r == 0)
		r = get_uint(j, "threads", UINT32_MAX, &threads);
	if (r == 0)
		r = get_uint(j, "first_event", INT64_MAX, &p->first_event);
	if (r == 0)
		r = get_uint(j, "last_event", INT64_MAX, &p->last_event);
	if (r == 0)
		r = get_int(j, "pid", &p->pid);
	if (r == 0)
		r = get_int(j, "status", &p->status);
	if (r == 0 && command)
		r = jsonx_bytes_value(command, &p->command);
	if (r == 0 && exe)
		r = jsonx_bytes_value(exe, &p->exe);
	if (r < 0)
		return r;
	p->thread = (uint32_t)thread;
	p->parent = (uint32_t)parent;
	p->threads = (uint32_t)threads;
	return 0;
}

/* The tree may be missing (an open recording); if it is there it has as many rows as "processes" says. */
static int get_processes(const json_t *j, struct manifest *m, struct errinfo *ei)
{
	const json_t *a = json_object_get(j, "process_tree");
	int r = 0;

	if (!a)
		return 0;
	if (!json_is_array(a) || json_array_size(a) != m->processes)
		return bad_member(ei, ERR_CORRUPT, "process_tree");
	if (m->processes > MANIFEST_PROCESSES_MAX)
		return bad_member(ei, ERR_LIMIT, "process_tree");
	m->process = os_calloc(m->processes + 1, sizeof(*m->process));
	if (!m->process)
		return -ENOMEM;
	for (size_t i = 0; i < m->processes && r == 0; i++)
		r = process_from_json(json_array_get(a, i), &m->process[i]);
	return r < 0 ? bad_member(ei, r, "process_tree") : 0;
}

static int get_blobs(const json_t *j, struct manifest *m, struct errinfo *ei)
{
	const json_t *a = json_object_get(j, "blobs");
	size_t n = json_array_size(a);

	if (!json_is_array(a))
		return bad_member(ei, ERR_CORRUPT, "blobs");
	if (n > MANIFEST_BLOBS_MAX)
		return bad_member(ei, ERR_LIMIT, "blobs");
	m->blobs = os_calloc(n + 1, sizeof(*m->blobs));
	if (!m->blobs)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++) {
		const char *hex = json_string_value(json_array_get(a, i));

		if (!hex || blob_id_parse(hex, &m->blobs[i]) < 0)
			return bad_member(ei, ERR_CORRUPT, "blobs");
	}
	m->n_blobs = n;
	return 0;
}

static int get_strings(const json_t *j, const char *name, char ***ret, struct errinfo *ei)
{
	const json_t *a = json_object_get(j, name);
	int r = a ? jsonx_strings_value(a, MANIFEST_STRINGS_MAX, ret) : 0;

	return r < 0 ? bad_member(ei, r, name) : 0;
}

static bool is_known(const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(text_members); i++)
		if (strcmp(name, text_members[i].name) == 0)
			return true;
	for (size_t i = 0; i < ARRAY_SIZE(u64_members); i++)
		if (strcmp(name, u64_members[i].name) == 0)
			return true;
	for (size_t i = 0; i < ARRAY_SIZE(json_members); i++)
		if (strcmp(name, json_members[i].name) == 0)
			return true;
	for (size_t i = 0; i < ARRAY_SIZE(other_members); i++)
		if (strcmp(name, other_members[i]) == 0)
			return true;
	return false;
}

static int get_extra(const json_t *j, struct manifest *m)
{
	const char *name;
	json_t *value;

	json_object_foreach ((json_t *)j, name, value) {
		if (is_known(name))
			continue;
		if (!m->extra)
			m->extra = json_object();
		if (!m->extra || json_object_set(m->extra, name, value) < 0)
			return -ENOMEM;
	}
	return 0;
}

int manifest_from_json(const json_t *j, struct manifest *ret, struct errinfo *ei)
{
	struct manifest m CLEANUP(manifest_done);
	int r;

	manifest_init(&m);
	if (!json_is_object(j))
		return errinfo_set(ei, ERR_CORRUPT, "manifest is no JSON object");
	r = get_format(j, &m, ei);
	if (r == 0)
		r = get_identity(j, &m, ei);
	if (r == 0)
		r = get_tables(j, &m, ei);
	if (r == 0)
		r = get_strings(j, "argv", &m.argv, ei);
	if (r == 0)
		r = get_strings(j, "envp", &m.envp, ei);
	if (r == 0)
		r = get_streams(j, &m, ei);
	if (r == 0)
		r = get_processes(j, &m, ei);
	if (r == 0)
		r = get_blobs(j, &m, ei);
	if (r == 0)
		r = get_extra(j, &m);
	if (r < 0)
		return r;
	*ret = m;
	manifest_init(&m);
	return 0;
}

/* --- files --- */

int manifest_load_at(const char *dir, struct manifest *ret, struct errinfo *ei)
{
	char *path CLEANUP(freep) = os_asprintf("%s/" NAME_MANIFEST, dir);
	json_t *j CLEANUP(jsonx_unrefp) = NULL;
	struct errinfo why = { 0 };
	int r = path ? jsonx_load_file(path, MANIFEST_BYTES_MAX, &j, ei) : -ENOMEM;

	if (r < 0)
		return r;
	r = manifest_from_json(j, ret, &why);
	if (r == 0) {
		r = annotations_apply(dir, ret);
		if (r < 0)
			manifest_done(ret);
	}
	return r < 0 ? errinfo_set(ei, r, "%s: %s", path, why.text[0] ? why.text : err_str(r)) : 0;
}

int manifest_save_at(const char *dir, const struct manifest *m, bool durable)
{
	char *path CLEANUP(freep) = os_asprintf("%s/" NAME_MANIFEST, dir);
	json_t *j CLEANUP(jsonx_unrefp) = NULL;
	char *text CLEANUP(freep) = NULL;
	size_t len;
	int r = path ? manifest_to_json(m, &j) : -ENOMEM;

	if (r == 0)
		r = jsonx_dump(j, JSON_INDENT(1), &text, &len);
	if (r == 0)
		r = durable ? os_write_file_atomic(path, text, len, 0600) : fs_replace_file(path, text, len);
	return r;
}

int manifest_load(struct store *s, const struct store_id *id, struct manifest *ret, struct errinfo *ei)
{
	for (int tries = 0;; tries++) {
		char *dir CLEANUP(freep) = NULL;
		struct errinfo why = { 0 };
		int r = store_path(s, id, &dir);

		if (r < 0)
			return errinfo_set_r(ei, r, "recording %s", id->hex);
		r = manifest_load_at(dir, ret, &why);
		/* committed (moved out of tmp/) between the two steps: look again */
		if (r == -ENOENT && tries < 3)
			continue;
		if (r == 0 && strcmp(ret->id.hex, id->hex) != 0) {
			manifest_done(ret);
			r = errinfo_set(&why, ERR_CORRUPT, "%s/" NAME_MANIFEST " is of another recording", dir);
		}
		return r < 0 ? errinfo_set(ei, r, "%s", why.text) : r;
	}
}

int manifest_save(struct store *s, const struct manifest *m)
{
	char *dir CLEANUP(freep) = NULL;
	int r = store_path(s, &m->id, &dir);

	return r < 0 ? r : manifest_save_at(dir, m, true);
}

static bool is_crash(int status)
{
	if (status == -1 || !WIFSIGNALED(status))
		return false;
	switch (WTERMSIG(status)) {
	case SIGSEGV:
	case SIGBUS:
	case SIGILL:
	case SIGFPE:
	case SIGABRT:
	case SIGTRAP:
	case SIGSYS:
	case SIGQUIT:
		return true;
	}
	return false;
}

const struct manifest_process *manifest_crashed(const struct manifest *m)
{
	const struct manifest_process *found = NULL;

	if (!m->process)
		return NULL;
	if (m->processes && m->process[0].status != -1 && WIFSIGNALED(m->process[0].status))
		return &m->process[0];
	for (uint64_t i = 0; i < m->processes; i++)
		if (is_crash(m->process[i].status) && (!found || m->process[i].last_event > found->last_event))
			found = &m->process[i];
	return found;
}
