/* What pages show of a whole recording: processes, summary, files, sockets. All from one digest (analysis/digest.h), which is kept and read on. */
#define LOG_AREA "web.summary"
#include "web/server_priv.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include "analysis/coverage.h"
#include "analysis/digest.h"
#include "base/json.h"
#include "base/str.h"
#include "engine/sysprint.h"
#include "web/json_priv.h"

/* How long an answer waits until a long recording has been read; then it says what there is, and "complete": false. */
#define BUDGET_MS 2000u
#define LONG_EVENTS 50000u /* so many are not read in the time of other requests */
/* Part of etags: changes when the same recording gives another answer than before. */
#define ANSWER_VERSION 1

static const char *const json_or_csv[] = { "application/json", "text/csv", NULL };

struct view_of_recording {
	struct store_id id;
	struct store_reader *reader;
	struct digest *d;
	bool live;
};

/* Finds the recording and its digest, to be given back. ret: 0, or what the handler returns. *ret_ready: false, it is answered. */
static int begin(struct web_request *q, const char *what, int type, struct view_of_recording *v, bool *ret_ready)
{
	unsigned budget_ms = BUDGET_MS;
	int r = web_recording(q, &v->id);

	*ret_ready = false;
	if (r < 0)
		return web_replied(q);
	r = web_reader(q, &v->id, &v->reader);
	if (r < 0)
		return r;
	/* when many long ones are read already, what there is so far is the answer */
	if (store_reader_manifest(v->reader)->events > LONG_EVENTS && !readers_long(q))
		budget_ms = 0;
	r = digests_get(q->web->digests, v->reader, budget_ms, &v->d, web_errinfo(q));
	if (r < 0)
		return r;
	v->live = store_reader_manifest(v->reader)->state == RECORDING_OPEN;
	if (!v->live && v->d->at_end) {
		web_etag(q, true, "%s-%s-%d-%d", v->id.hex, what, type, ANSWER_VERSION);
		if (web_not_modified(q)) {
			digests_put(q->web->digests, v->d);
			return 0;
		}
	}
	*ret_ready = true;
	return 0;
}

static void done(struct web_request *q, struct view_of_recording *v)
{
	digests_put(q->web->digests, v->d);
}

static int reply(struct web_request *q, bool ok, json_t *j)
{
	if (ok)
		return web_reply_json(q, 200, j);
	json_decref(j);
	return -ENOMEM;
}

/* --- processes --- */

static bool put_span(json_t *obj, uint64_t first, uint64_t last, uint64_t start_ns, uint64_t end_ns, bool ended)
{
	return web_json_put(obj, "first_event", jsonx_count(first)) && web_json_put(obj, "last_event", jsonx_count(last)) &&
	       web_json_put(obj, "start_ns", web_json_ns(start_ns)) && web_json_put(obj, "end_ns", ended ? web_json_ns(end_ns) : json_null());
}

static bool put_threads(const struct processes *p, const struct process_info *q, json_t *list)
{
	for (uint32_t i = q->first; i != PROCESSES_NONE; i = processes_thread_at(p, i)->next) {
		const struct thread_info *t = processes_thread_at(p, i);
		json_t *obj = json_object();

		if (json_array_append_new(list, obj) < 0 || !web_json_put(obj, "number", jsonx_count(t->number)) ||
		    !web_json_put(obj, "tid", json_integer(t->tid)) || !web_json_put(obj, "name", jsonx_string_lossy(t->name, strnlen(t->name, sizeof(t->name)))) ||
		    !put_span(obj, t->first_event, t->last_event, t->start_ns, t->end_ns, t->ended))
			return false;
	}
	return true;
}

static bool put_process(const struct processes *p, const struct process_info *q, bool live, json_t *list)
{
	json_t *obj = json_object(), *threads = json_array();

	return json_array_append_new(list, obj) == 0 && web_json_put(obj, "threads", threads) && web_json_put(obj, "thread", jsonx_count(q->thread)) &&
	       web_json_put(obj, "parent", jsonx_count(q->parent)) && web_json_put(obj, "pid", json_integer(q->pid)) && web_json_put(obj, "exe", jsonx_text(q->exe)) &&
	       web_json_put(obj, "command", jsonx_text(q->command)) && web_json_put(obj, "exit", web_json_exit(q->ended ? q->status : -1, live && !q->ended)) &&
	       put_span(obj, q->first_event, q->last_event, q->start_ns, q->end_ns, q->ended) && put_threads(p, q, threads);
}

int web_processes_get(struct web_request *q)
{
	struct view_of_recording v;
	json_t *j, *items;
	bool ready, ok = true;
	int r = begin(q, "processes", 0, &v, &ready);

	if (!ready)
		return r;
	items = json_array();
	j = json_pack("{s:o, s:b}", "items", items, "complete", v.d->at_end && processes_complete(v.d->processes));
	for (uint32_t i = 0; j && ok && i < processes_count(v.d->processes); i++)
		ok = put_process(v.d->processes, processes_at(v.d->processes, i), v.live, items);
	done(q, &v);
	return reply(q, ok && j, j);
}

/* --- summary --- */

static json_t *errnos(const struct errno_counts *e)
{
	json_t *obj = json_object();
	char number[16];

	for (uint32_t i = 0; obj && i < e->n; i++) {
		const char *name = sysprint_errno((int)e->v[i].error);

		(void)snprintf(number, sizeof(number), "%u", e->v[i].error);
		if (!web_json_put(obj, name ? name : number, jsonx_count(e->v[i].n))) {
			json_decref(obj);
			return NULL;
		}
	}
	return obj;
}

static bool put_calls(const struct summary *s, json_t *list)
{
	char name[24];

	for (uint32_t nr = 0; nr <= SYS_TABLE_MAX; nr++) {
		const struct call_count *c = &s->call[nr];
		json_t *obj;

		if (!c->calls)
			continue;
		obj = json_pack("{s:I, s:s, s:s}", "number", (json_int_t)nr, "name", nr < SYS_TABLE_MAX ? sys_name(nr, name) : "?", "class", coverage_class(nr));
		if (json_array_append_new(list, obj) < 0 || !web_json_put(obj, "calls", jsonx_count(c->calls)) ||
		    !web_json_put(obj, "errors", jsonx_count(c->errors)) || !web_json_put(obj, "refused", jsonx_count(c->refused)) ||
		    !web_json_put(obj, "blocked_ns", web_json_ns(c->blocked_ns)) || !web_json_put(obj, "errnos", errnos(&c->errnos)) ||
		    !web_json_put(obj, "first_event", jsonx_count(c->first_event)))
			return false;
	}
	return true;
}

static bool put_signals(const struct summary *s, json_t *list)
{
	char name[24];

	for (uint32_t i = 0; i < SUMMARY_SIGNALS; i++) {
		const struct signal_count *c = &s->signal[i];
		json_t *obj;

		if (!c->n)
			continue;
		obj = json_object();
		if (json_array_append_new(list, obj) < 0 || !web_json_put(obj, "signal", json_string(i ? sysprint_signal((int)i, name) : "?")) ||
		    !web_json_put(obj, "count", jsonx_count(c->n)) || !web_json_put(obj, "handled", jsonx_count(c->handled)) ||
		    !web_json_put(obj, "fatal", jsonx_count(c->fatal)) || !web_json_put(obj, "first_event", jsonx_count(c->first_event)))
			return false;
	}
	return true;
}

static bool put_texts(const struct digest *d, json_t *execs, json_t *notes)
{
	const struct summary *s = d->summary;

	for (uint32_t i = 0; i < s->n_execs; i++) {
		json_t *obj = json_pack("{s:o, s:o}", "event", jsonx_count(s->exec[i].event), "path", jsonx_text(s->exec[i].path));

		if (json_array_append_new(execs, obj) < 0 || !web_json_put(obj, "command", jsonx_text(s->exec[i].command)) ||
		    !web_json_put(obj, "pid", json_integer(processes_pid(d->processes, s->exec[i].thread))))
			return false;
	}
	for (uint32_t i = 0; i < s->n_notes; i++)
		if (json_array_append_new(notes, json_pack("{s:o, s:o}", "event", jsonx_count(s->note[i].event), "text", jsonx_text(s->note[i].text))) < 0)
			return false;
	return true;
}

static bool put_kinds(const struct summary *s, json_t *obj)
{
	for (int k = 1; k < EVENT_MAX_; k++)
		if (s->kinds[k] && !web_json_put(obj, event_kind_name((enum event_kind)k), jsonx_count(s->kinds[k])))
			return false;
	return true;
}

static json_t *summary_json(const struct digest *d)
{
	const struct summary *s = d->summary;
	json_t *kinds = json_object(), *calls = json_array(), *signals = json_array(), *execs = json_array(), *notes = json_array();
	json_t *j = json_pack("{s:o, s:o, s:o, s:o, s:o, s:b}", "kinds", kinds, "syscalls", calls, "signals", signals, "execs", execs, "notes", notes,
			      "complete", d->at_end && !s->incomplete);

	if (j && web_json_put(j, "events", jsonx_count(s->events)) && web_json_put(j, "calls", jsonx_count(s->calls)) &&
	    web_json_put(j, "children", jsonx_count(s->children)) && put_kinds(s, kinds) && put_calls(s, calls) && put_signals(s, signals) &&
	    put_texts(d, execs, notes))
		return j;
	json_decref(j);
	return NULL;
}

static void summary_csv(const struct summary *s, struct buf *b)
{
	char name[24];

	buf_printf(b, "number,name,class,calls,errors,refused,blocked_ns,first_event\r\n");
	for (uint32_t nr = 0; nr <= SYS_TABLE_MAX; nr++) {
		const struct call_count *c = &s->call[nr];

		if (c->calls)
			buf_printf(b, "%u,%s,%s,%llu,%llu,%llu,%llu,%llu\r\n", nr, nr < SYS_TABLE_MAX ? sys_name(nr, name) : "?", coverage_class(nr),
				   (unsigned long long)c->calls, (unsigned long long)c->errors, (unsigned long long)c->refused,
				   (unsigned long long)c->blocked_ns, (unsigned long long)c->first_event);
	}
}

static int reply_csv(struct web_request *q, struct buf *b)
{
	return buf_error(b) < 0 ? buf_error(b) : web_reply_buf(q, 200, "text/csv; charset=utf-8", b);
}

int web_summary_get(struct web_request *q)
{
	struct buf b CLEANUP(buf_done) = { 0 };
	struct view_of_recording v;
	json_t *j = NULL;
	bool ready;
	int type, r = web_accept(q, json_or_csv, &type);

	if (r < 0)
		return web_replied(q);
	r = begin(q, "summary", type, &v, &ready);
	if (!ready)
		return r;
	if (type)
		summary_csv(v.d->summary, &b);
	else
		j = summary_json(v.d);
	done(q, &v);
	return type ? reply_csv(q, &b) : reply(q, j, j);
}

/* --- files and sockets --- */

static bool put_file(const struct names *names, const struct touched_file *f, json_t *list)
{
	const struct {
		const char *name;
		uint64_t v;
	} counts[] = {
		{ "opens", f->opens }, { "failed", f->failed }, { "stats", f->stats }, { "reads", f->reads }, { "writes", f->writes },
		{ "bytes_read", f->bytes_read }, { "bytes_written", f->bytes_written }, { "mapped", f->mapped }, { "first_event", f->first_event },
		{ "last_event", f->last_event },
	};
	json_t *obj = json_object();

	if (json_array_append_new(list, obj) < 0 || !web_json_put(obj, "path", jsonx_text(names_get(names, f->name))))
		return false;
	for (size_t i = 0; i < ARRAY_SIZE(counts); i++)
		if (!web_json_put(obj, counts[i].name, jsonx_count(counts[i].v)))
			return false;
	return web_json_put(obj, "errors", errnos(&f->errors));
}

static void put_text(struct buf *b, const char *s)
{
	if (s)
		buf_put_csv(b, s, strlen(s));
}

static void file_csv(const struct names *names, const struct touched_file *f, struct buf *b)
{
	put_text(b, names_get(names, f->name));
	buf_printf(b, ",%llu,%llu,%llu,%llu,%llu,%llu,%llu,%llu,%llu,%llu\r\n", (unsigned long long)f->opens, (unsigned long long)f->failed,
		   (unsigned long long)f->stats, (unsigned long long)f->reads, (unsigned long long)f->writes, (unsigned long long)f->bytes_read,
		   (unsigned long long)f->bytes_written, (unsigned long long)f->mapped, (unsigned long long)f->first_event, (unsigned long long)f->last_event);
}

int web_files_get(struct web_request *q)
{
	struct buf b CLEANUP(buf_done) = { 0 };
	struct view_of_recording v;
	json_t *j, *items;
	bool ready, ok = true;
	int type, r = web_accept(q, json_or_csv, &type);

	if (r < 0)
		return web_replied(q);
	r = begin(q, "files", type, &v, &ready);
	if (!ready)
		return r;
	items = json_array();
	j = json_pack("{s:o, s:b}", "items", items, "complete", v.d->at_end && touched_complete(v.d->touched));
	buf_printf(&b, "path,opens,failed,stats,reads,writes,bytes_read,bytes_written,mapped,first_event,last_event\r\n");
	for (uint32_t i = 0; j && ok && i < touched_files(v.d->touched); i++) {
		if (type)
			file_csv(&v.d->names, touched_file(v.d->touched, i), &b);
		else
			ok = put_file(&v.d->names, touched_file(v.d->touched, i), items);
	}
	done(q, &v);
	if (!type)
		return reply(q, ok && j, j);
	json_decref(j);
	return reply_csv(q, &b);
}

static json_t *family_json(int v, const char *(*name)(int, char[16]))
{
	char buf[16];

	return v < 0 ? json_null() : json_string(name(v, buf));
}

static bool put_socket(const struct digest *d, const struct touched_socket *s, json_t *list)
{
	uint64_t errors = 0;
	json_t *obj = json_object();

	for (uint32_t i = 0; i < s->errors.n; i++)
		errors += s->errors.v[i].n;
	return json_array_append_new(list, obj) == 0 && web_json_put(obj, "id", jsonx_count(s->object)) &&
	       web_json_put(obj, "family", family_json(s->family, touched_family)) && web_json_put(obj, "type", family_json(s->type, touched_type)) &&
	       web_json_put(obj, "local", jsonx_text(s->local)) && web_json_put(obj, "peer", jsonx_text(s->peer)) &&
	       web_json_put(obj, "how", json_string(touched_how_name(s->how))) && web_json_put(obj, "sends", jsonx_count(s->sends)) &&
	       web_json_put(obj, "receives", jsonx_count(s->receives)) && web_json_put(obj, "bytes_sent", jsonx_count(s->bytes_sent)) &&
	       web_json_put(obj, "bytes_received", jsonx_count(s->bytes_received)) && web_json_put(obj, "errors", jsonx_count(errors)) &&
	       web_json_put(obj, "first_event", jsonx_count(s->first_event)) && web_json_put(obj, "last_event", jsonx_count(s->last_event)) &&
	       web_json_put(obj, "pid", json_integer(processes_pid(d->processes, s->thread))) && web_json_put(obj, "fd", json_integer(s->fd));
}

static void socket_csv(const struct digest *d, const struct touched_socket *s, struct buf *b)
{
	char family[16], type[16];

	buf_printf(b, "%llu,%s,%s,", (unsigned long long)s->object, s->family < 0 ? "" : touched_family(s->family, family),
		   s->type < 0 ? "" : touched_type(s->type, type));
	put_text(b, s->local);
	buf_printf(b, ",");
	put_text(b, s->peer);
	buf_printf(b, ",%s,%llu,%llu,%llu,%llu,%llu,%llu,%d,%d\r\n", touched_how_name(s->how), (unsigned long long)s->sends,
		   (unsigned long long)s->receives, (unsigned long long)s->bytes_sent, (unsigned long long)s->bytes_received,
		   (unsigned long long)s->first_event, (unsigned long long)s->last_event, processes_pid(d->processes, s->thread), s->fd);
}

int web_sockets_get(struct web_request *q)
{
	struct buf b CLEANUP(buf_done) = { 0 };
	struct view_of_recording v;
	json_t *j, *items;
	bool ready, ok = true;
	int type, r = web_accept(q, json_or_csv, &type);

	if (r < 0)
		return web_replied(q);
	r = begin(q, "sockets", type, &v, &ready);
	if (!ready)
		return r;
	items = json_array();
	j = json_pack("{s:o, s:b}", "items", items, "complete", v.d->at_end && touched_complete(v.d->touched));
	buf_printf(&b, "id,family,type,local,peer,how,sends,receives,bytes_sent,bytes_received,first_event,last_event,pid,fd\r\n");
	for (uint32_t i = 0; j && ok && i < touched_sockets(v.d->touched); i++) {
		if (type)
			socket_csv(v.d, touched_socket(v.d->touched, i), &b);
		else
			ok = put_socket(v.d, touched_socket(v.d->touched, i), items);
	}
	done(q, &v);
	if (!type)
		return reply(q, ok && j, j);
	json_decref(j);
	return reply_csv(q, &b);
}
