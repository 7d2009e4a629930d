/* The other processes of the recording: a session looks at one, so each is opened in a session of its own, which the client is asked to start. */
#include "dap/places_priv.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include "base/os.h"
#include "base/str.h"

#define LISTED_MAX 10000u
#define OPENED_MAX 32u /* sessions of "processes": "all" */

/* --- the list --- */

static int put_process(json_t *list, const struct dap *d, int64_t pid, int64_t parent, const char *exe, const char *command, int64_t status, uint64_t first, uint64_t last)
{
	json_t *j = json_pack("{sI sI so so sI sb sI sI sb}", "pid", (json_int_t)pid, "parent", (json_int_t)parent, "program", jsonx_text(exe ?: ""), "command",
			      jsonx_text(command ?: exe ?: ""), "status", (json_int_t)status, "ended", status >= 0, "first", (json_int_t)first, "last", (json_int_t)last,
			      "current", pid == d->pid);

	return json_array_append_new(list, j) < 0 ? -ENOMEM : 0;
}

static int64_t pid_of_thread(const struct manifest *m, uint32_t thread)
{
	for (uint64_t i = 0; thread && i < m->processes; i++)
		if (m->process[i].thread == thread)
			return m->process[i].pid;
	return 0;
}

static int list_of_manifest(const struct dap *d, const struct manifest *m, json_t *list)
{
	int r = 0;

	for (uint64_t i = 0; i < m->processes && i < LISTED_MAX && r >= 0; i++) {
		const struct manifest_process *p = &m->process[i];

		r = put_process(list, d, p->pid, pid_of_thread(m, p->parent), p->exe, p->command, p->status, p->first_event, p->last_event);
	}
	return r;
}

/* Of a recording that was cut off the manifest knows none. */
static int list_of_index(const struct dap *d, const struct evindex_view *v, json_t *list)
{
	int r = 0;

	for (uint32_t i = 0; i < v->n_threads && json_array_size(list) < LISTED_MAX && r >= 0; i++) {
		const struct evindex_thread *t = &v->thread[i], *parent = t->parent ? evindex_thread(v, t->parent) : NULL;

		if (t->number == t->process)
			r = put_process(list, d, t->pid, parent ? parent->pid : 0, evindex_name(v, t->name), NULL, t->ended ? t->status : -1, t->first, t->last);
	}
	return r;
}

static int list_of_server(struct dap *d, json_t *list)
{
	json_t *j CLEANUP(jsonx_unrefp) = NULL, *one;
	size_t i;
	int r = mi_monitor(d->mi, &j, &d->ei, "processes");

	json_array_foreach(json_object_get(j, "processes"), i, one)
		if (r >= 0)
			r = put_process(list, d, mi_int(one, "pid", 0), 0, mi_str(one, "exe"), mi_str(one, "command"), mi_int(one, "status", -1),
					(uint64_t)mi_int(one, "first_event", 0), (uint64_t)mi_int(one, "last_event", 0));
	return r;
}

static int list_of_recording(struct dap *d, json_t *list)
{
	struct evindex_view v CLEANUP(evindex_release) = { 0 };
	struct recorded *rec;
	int r = recorded_get(d, &rec);

	if (r < 0)
		return r;
	if (store_reader_manifest(rec->reader)->processes)
		return list_of_manifest(d, store_reader_manifest(rec->reader), list);
	r = recorded_index(d, rec, UINT64_MAX);
	if (r < 0)
		return r;
	evindex_view(rec->evindex, &v);
	return list_of_index(d, &v, list);
}

int children_list(struct dap *d, json_t **ret)
{
	json_t *list CLEANUP(jsonx_unrefp) = json_array();
	int r = list ? 0 : -ENOMEM;

	if (r >= 0 && d->recording)
		r = list_of_recording(d, list);
	else if (r >= 0)
		r = d->state == DAP_RUNNING ? errinfo_set(&d->ei, -EBUSY, "the server can be asked for processes when the session is paused") : list_of_server(d, list);
	if (r >= 0)
		*ret = TAKE(list);
	return r;
}

/* --- opening --- */

static const json_t *find(const json_t *list, int64_t pid)
{
	const json_t *one;
	size_t i;

	json_array_foreach((json_t *)(uintptr_t)list, i, one)
		if (mi_int(one, "pid", 0) == pid)
			return one;
	return NULL;
}

static json_t *configuration(const struct dap *d, const json_t *list, const json_t *process)
{
	static const char *const same[] = { "sourceMap", "gdb", "output" };
	const char *program = mi_str(process, "program") ?: "", *slash = strrchr(program, '/');
	const json_t *parent = find(list, mi_int(process, "parent", 0));
	/* one that only was forked never comes to main */
	bool forked = parent && strcmp(mi_str(parent, "program") ?: "", program) == 0;
	int64_t pid = mi_int(process, "pid", 0);
	char *name CLEANUP(freep) = os_asprintf("%s (%" PRId64 ")", slash ? slash + 1 : program, pid);
	json_t *j = json_pack("{ss ss so ss sI ss}", "type", "hermit", "request", "launch", "name", jsonx_text(name ? name : "?"), "recording", d->recording, "process",
			      (json_int_t)pid, "stopAt", forked ? "entry" : "main");

	for (size_t i = 0; i < ARRAY_SIZE(same) && j; i++) {
		json_t *v = json_object_get(d->launch, same[i]);

		if (v && json_object_set(j, same[i], v) < 0)
			jsonx_unrefp(&j);
	}
	return j;
}

static void ask_client(struct dap *d, const json_t *list, const json_t *process)
{
	json_t *c = configuration(d, list, process);

	dap_reverse_request(d, "startDebugging", c ? json_pack("{so ss}", "configuration", c, "request", "launch") : NULL);
}

int children_open(struct dap *d, int64_t pid, bool *ret, struct buf *out)
{
	json_t *list CLEANUP(jsonx_unrefp) = NULL;
	const json_t *process;
	int r = children_list(d, &list);

	if (r < 0)
		return r;
	process = find(list, pid);
	if (!process)
		return errinfo_set(&d->ei, -ENOENT, "the recording has no process %" PRId64 ": see processes", pid);
	if (pid == d->pid)
		return errinfo_set(&d->ei, -EINVAL, "process %" PRId64 " is the one of this session", pid);
	*ret = d->recording && d->client.start_debugging;
	if (*ret) {
		ask_client(d, list, process);
		buf_printf(out, "opening process %" PRId64 "\n", pid);
	} else if (d->recording) {
		buf_printf(out,
			   "this editor does not open sessions when asked to: launch one with \"type\": \"hermit\", \"request\": \"launch\", \"recording\": \"%s\", "
			   "\"process\": %" PRId64 "\n",
			   d->recording, pid);
	} else {
		buf_printf(out, "start another server for it, hermit replay --serve-only -p %" PRId64 ", and attach to that\n", pid);
	}
	return 0;
}

void children_setup(struct dap *d)
{
	const char *which = json_string_value(json_object_get(d->launch, "processes"));
	json_t *list CLEANUP(jsonx_unrefp) = NULL, *one;
	unsigned opened = 0;
	size_t i;

	if (!which || strcmp(which, "all") != 0 || !d->recording)
		return;
	if (children_list(d, &list) < 0) {
		dap_say(d, "console", "hermit-dap: the other processes cannot be opened: %s\n", d->ei.text);
		d->ei = (struct errinfo){ 0 };
		return;
	}
	if (!d->client.start_debugging && json_array_size(list) > 1) {
		dap_say(d, "console", "hermit-dap: this editor does not open sessions when asked to; \"open-process PID\" tells how to launch one, \"processes\" lists them\n");
		return;
	}
	json_array_foreach(list, i, one) {
		if (json_is_true(json_object_get(one, "current")))
			continue;
		if (opened++ == OPENED_MAX) {
			dap_say(d, "console", "hermit-dap: only %u of %zu processes are opened\n", OPENED_MAX, json_array_size(list) - 1);
			return;
		}
		ask_client(d, list, one);
	}
}

/* --- requests --- */

static int processes(struct dap *d, const void *args, json_t *body)
{
	json_t *list = NULL;
	int r = children_list(d, &list);

	(void)args;
	return r < 0 ? r : jsonx_set_new(body, "processes", list);
}
DAP_METHOD_PLAIN(processes);

struct open_args {
	int64_t pid, process; /* two names of one thing: launch has the second */
};

static const struct arg open_table[] = {
	ARG(INT, struct open_args, pid, "pid"),
	ARG(INT, struct open_args, process, "process"),
	{ .name = NULL },
};

static int open_process(struct dap *d, const void *args, json_t *body)
{
	const struct open_args *a = args;
	struct buf text CLEANUP(buf_done) = { 0 };
	bool opened;
	int r = a->pid || a->process ? children_open(d, a->pid ? a->pid : a->process, &opened, &text)
				     : errinfo_set(&d->ei, -EINVAL, "pid: the process is to be named");

	if (r >= 0)
		r = jsonx_set_bool(body, "opened", opened);
	if (r >= 0 && !opened)
		dap_say(d, "console", "%s", buf_cstr(&text));
	return r < 0 ? r : jsonx_set_str(body, "text", buf_cstr(&text));
}
DAP_METHOD(open_process, open_table, struct open_args);
