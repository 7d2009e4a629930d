/* One recording: what it is, its label, its end. */
#include "web/server_priv.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include "analysis/search.h"
#include "base/json.h"
#include "base/os.h"
#include "base/str.h"
#include "store/maintain.h"
#include "web/exports_priv.h"
#include "web/json_priv.h"
#include "web/recording_priv.h"

/* How far before the end of a process the signal is looked for that ended it. */
#define CRASH_WINDOW 512u
/* The store waits two seconds for whoever works with a recording that is to go. */
#define REMOVE_TRIES 3

/* --- the catalog --- */

int recording_entry(struct web_request *q, const struct store_id *id, const struct catalog_view **ret_view, const struct catalog_entry **ret)
{
	struct catalog *c = daemon_catalog(q->web->daemon);

	for (int tries = 0; tries < 2; tries++) {
		const struct catalog_view *v = catalog_get(c);

		*ret = v ? catalog_find(v, id) : NULL;
		if (*ret) {
			*ret_view = v;
			return 0;
		}
		catalog_put(c, v);
		if (tries == 0)
			daemon_refresh(q->web->daemon);
	}
	return ERR_NOT_FOUND;
}

/* The entity that people edit. Of a live recording that is not all that is shown: what runs on must not be in the way of editing. */
static void set_etag(struct web_request *q, const struct catalog_entry *e)
{
	uint64_t h = str_hash(STR_HASH, e->label, strlen(e->label));

	q->no_cache = !e->live;
	web_etag(q, false, "%.8s-%016llx-%d-%s-%llu-%llu", e->id.hex, (unsigned long long)h, e->keep, web_entry_state(e),
		 (unsigned long long)e->bookmarks, e->live ? 0ull : (unsigned long long)e->verified_ns);
}

/* --- GET --- */

static json_t *words(char *const *list)
{
	json_t *j = json_array();

	for (size_t i = 0; list && list[i]; i++) {
		if (json_array_append_new(j, jsonx_string_lossy(list[i], strlen(list[i]))) < 0) {
			json_decref(j);
			return NULL;
		}
	}
	return j;
}

static json_t *stream_json(const char *name, const struct manifest_stream *s)
{
	return json_pack("{s:s,s:I,s:I,s:o}", "name", name, "raw_bytes", (json_int_t)s->raw_bytes, "stored_bytes", (json_int_t)s->stored_bytes,
			 "sha256", web_json_str(s->sha256));
}

/* The last signal of that number before the end of the process. */
static uint64_t fatal_event(struct web_request *q, const struct store_id *id, const struct manifest_process *p)
{
	const uint64_t first = p->last_event > CRASH_WINDOW ? p->last_event - CRASH_WINDOW : 1;
	const struct event *ev;
	struct store_reader *rd;
	uint64_t found = p->last_event;
	struct errinfo why = { 0 };

	if (web_reader(q, id, &rd) < 0) {
		q->ei = (struct errinfo){ 0 };
		return found;
	}
	if (store_reader_seek(rd, first, &why) == 0) {
		while (store_reader_next(rd, &ev, &why) > 0 && ev->number <= p->last_event) {
			if (ev->kind == EVENT_SIGNAL && ev->signo == (uint32_t)WTERMSIG(p->status))
				found = ev->number;
		}
	}
	web_reader_put(q, rd);
	return found;
}

static json_t *crash_json(struct web_request *q, const struct manifest *m)
{
	const struct manifest_process *p = manifest_crashed(m);
	char name[16];

	if (!p)
		return json_null();
	web_signal_name(WTERMSIG(p->status), name);
	return json_pack("{s:I,s:I,s:i,s:s}", "event", (json_int_t)fatal_event(q, &m->id, p), "thread", (json_int_t)p->thread, "pid", p->pid, "signal",
			 name);
}

static uint64_t blob_bytes(struct web_request *q, const struct store_id *id)
{
	uint64_t own, blobs = 0;

	return web_store(q) && store_usage(web_store(q), id, &own, &blobs) == 0 ? blobs : 0;
}

static int add_details(struct web_request *q, json_t *j, const struct manifest *m)
{
	json_t *more CLEANUP(jsonx_unrefp) = json_pack(
		"{s:o,s:o,s:o,s:o,s:o,s:o,s:o,s:o,s:o,s:o,s:[o,o],s:{s:I,s:I},s:{s:i,s:i},s:o}", "argv", words(m->argv), "env", words(m->envp), "cwd",
		web_json_str(m->cwd), "hermit_version", web_json_str(m->hermit_version), "kernel", web_json_str(m->kernel), "cpu_model",
		web_json_str(m->cpu_model), "cpu", m->cpu ? json_incref(m->cpu) : json_object(), "status", m->status < 0 ? json_null() : json_integer(m->status),
		"warnings", m->warnings ? json_incref(m->warnings) : json_array(), "options", m->options ? json_incref(m->options) : json_object(), "streams",
		stream_json("events", &m->event_stream), stream_json("data", &m->data_stream), "blobs", "count", (json_int_t)m->n_blobs, "bytes",
		(json_int_t)blob_bytes(q, &m->id), "format", "major", m->major, "minor", m->minor, "crash", crash_json(q, m));

	return more && json_object_update(j, more) == 0 ? 0 : -ENOMEM;
}

/* What cannot be said of a broken recording is there all the same, empty. */
static int add_nothing(json_t *j)
{
	json_t *more CLEANUP(jsonx_unrefp) =
		json_pack("{s:[],s:[],s:n,s:n,s:n,s:n,s:{},s:n,s:[],s:{},s:[],s:{s:i,s:i},s:{s:i,s:i},s:n}", "argv", "env", "cwd", "hermit_version", "kernel",
			  "cpu_model", "cpu", "status", "warnings", "options", "streams", "blobs", "count", 0, "bytes", 0, "format", "major", 0, "minor", 0,
			  "crash");

	return more && json_object_update(j, more) == 0 ? 0 : -ENOMEM;
}

/* Whole recording. status: of the reply. */
int recording_reply(struct web_request *q, unsigned status, const struct store_id *id)
{
	struct manifest m CLEANUP(manifest_done);
	const struct catalog_view *v = NULL;
	const struct catalog_entry *e;
	json_t *j CLEANUP(jsonx_unrefp) = NULL;
	bool loaded;
	int r = recording_entry(q, id, &v, &e);

	manifest_init(&m);
	if (r < 0)
		return r;
	set_etag(q, e);
	if (web_method(q)[0] == 'G' && !e->live && web_not_modified(q)) {
		catalog_put(daemon_catalog(q->web->daemon), v);
		return web_replied(q);
	}
	j = web_json_entry(e);
	catalog_put(daemon_catalog(q->web->daemon), v);
	loaded = web_store(q) && manifest_load(web_store(q), id, &m, &q->ei) == 0;
	if (!j)
		return -ENOMEM;
	r = loaded ? add_details(q, j, &m) : add_nothing(j);
	return r < 0 ? r : web_reply_json(q, status, TAKE(j));
}

int web_recording_get(struct web_request *q)
{
	struct store_id id;

	return web_recording(q, &id) < 0 ? web_replied(q) : recording_reply(q, 200, &id);
}

/* --- PATCH, DELETE --- */

/* Answers 412 or 428, or says true. w->edit is held. */
static bool may_edit(struct web_request *q, const struct store_id *id, int *ret)
{
	const struct catalog_view *v = NULL;
	const struct catalog_entry *e;
	bool ok;

	*ret = recording_entry(q, id, &v, &e);
	if (*ret < 0)
		return false;
	set_etag(q, e);
	catalog_put(daemon_catalog(q->web->daemon), v);
	ok = web_if_match(q);
	if (!ok)
		*ret = web_replied(q);
	return ok;
}

static int parse_patch(struct web_request *q, const char **ret_label, int *ret_keep)
{
	json_t *body = NULL, *value;
	const char *key;

	*ret_label = NULL;
	*ret_keep = -1;
	if (web_body_json(q, &body) < 0)
		return -EINVAL;
	json_object_foreach (body, key, value) {
		if (strcmp(key, "label") == 0 && (json_is_string(value) || json_is_null(value))) {
			*ret_label = json_is_string(value) ? json_string_value(value) : "";
		} else if (strcmp(key, "keep") == 0 && json_is_boolean(value)) {
			*ret_keep = json_is_true(value);
		} else {
			q->error = web_problem(q, 400, "bad-request", "label (text or null) and keep (true or false) can be changed, not %s like that", key);
			return -EINVAL;
		}
	}
	if (*ret_label && **ret_label && !store_label_valid(*ret_label)) {
		q->error = web_problem(q, 400, "bad-request", "a label has 1 to 100 bytes, no slash and no control characters");
		return -EINVAL;
	}
	return 0;
}

static int annotate(struct web_request *q, const struct store_id *id, const char *label, int keep)
{
	int r;

	pthread_mutex_lock(&q->web->edit);
	if (may_edit(q, id, &r)) {
		r = web_store(q) ? store_annotate(web_store(q), id, label, keep, &q->ei) : -ENOMEM;
		daemon_refresh(q->web->daemon); /* the next one compares with what is now */
	}
	pthread_mutex_unlock(&q->web->edit);
	return r;
}

int web_recording_patch(struct web_request *q)
{
	struct store_id id;
	const char *label;
	int keep, r;

	if (web_recording(q, &id) < 0 || parse_patch(q, &label, &keep) < 0)
		return web_replied(q);
	r = annotate(q, &id, label, keep);
	return r < 0 || q->replied ? r : recording_reply(q, 200, &id);
}

static int remove_seen(struct web_request *q, const struct store_id *id)
{
	int r;

	pthread_mutex_lock(&q->web->edit);
	if (may_edit(q, id, &r))
		r = web_store(q) ? store_remove(web_store(q), id, &q->ei) : -ENOMEM;
	pthread_mutex_unlock(&q->web->edit);
	return r;
}

/* A sealer at idle priority may not even get the CPU time to let go of it. */
static int remove_patiently(struct web_request *q, const struct store_id *id)
{
	int r = remove_seen(q, id);

	for (unsigned i = 1; i < REMOVE_TRIES && r == ERR_BUSY && !q->replied; i++) {
		daemon_job_hurry(q->web->daemon, id);
		r = remove_seen(q, id);
	}
	return r;
}

int web_recording_delete(struct web_request *q)
{
	struct store_id id;
	int r;

	if (web_recording(q, &id) < 0)
		return web_replied(q);
	r = remove_patiently(q, &id);
	if (r < 0 || q->replied)
		return r;
	readers_forget(q->web->readers, &id);
	exports_forget(q->web->exports, &id);
	searches_forget(q->web->searches, &id);
	daemon_refresh(q->web->daemon);
	q->etag[0] = '\0';
	return web_reply_empty(q, 204);
}

/* --- a recording that runs --- */

static int conflict_unless_live(struct web_request *q, const struct store_id *id)
{
	const struct catalog_view *v = NULL;
	const struct catalog_entry *e;
	bool live;
	int r;

	daemon_refresh(q->web->daemon);
	r = recording_entry(q, id, &v, &e);
	if (r < 0)
		return r;
	live = e->live;
	catalog_put(daemon_catalog(q->web->daemon), v);
	if (!live)
		q->error = web_problem(q, 409, "conflict", "the recording has ended already");
	return live ? 0 : -EALREADY;
}

int web_recording_stop(struct web_request *q)
{
	static const char *const modes[] = { [DAEMON_STOP_TERM] = "term", [DAEMON_STOP_KILL] = "kill", [DAEMON_STOP_CUT] = "cut" };
	const char *mode = "term";
	json_t *body = NULL;
	struct store_id id;
	size_t how = 0;
	int r;

	if (web_recording(q, &id) < 0 || (q->body.len && web_body_json(q, &body) < 0))
		return web_replied(q);
	r = body ? jsonx_get_str(body, "mode", &mode) : 0;
	while (how < ARRAY_SIZE(modes) && strcmp(modes[how], mode) != 0)
		how++;
	if ((r < 0 && r != -ENOENT) || how == ARRAY_SIZE(modes))
		return web_problem(q, 400, "bad-request", "mode is one of term, kill, cut");
	r = conflict_unless_live(q, &id);
	if (r < 0)
		return q->replied ? 0 : r;
	r = daemon_record_stop(q->web->daemon, &id, (enum daemon_stop)how, "stopped on request", &q->ei);
	return r < 0 ? r : web_reply_json(q, 202, json_pack("{s:s,s:s}", "id", id.hex, "mode", mode));
}

int web_recording_signal(struct web_request *q)
{
	const char *name = NULL;
	json_t *body = NULL;
	struct store_id id;
	int signo, r;

	if (web_recording(q, &id) < 0 || web_body_json(q, &body) < 0)
		return web_replied(q);
	signo = jsonx_get_str(body, "signal", &name) == 0 ? web_signal_number(name) : 0;
	if (signo <= 0)
		return web_problem(q, 400, "bad-request", "signal must be the name of a signal, as in {\"signal\": \"SIGINT\"}");
	r = conflict_unless_live(q, &id);
	if (r < 0)
		return q->replied ? 0 : r;
	r = daemon_record_signal(q->web->daemon, &id, signo, &q->ei);
	return r < 0 ? r : web_reply_json(q, 202, json_pack("{s:s,s:s}", "id", id.hex, "signal", name));
}
