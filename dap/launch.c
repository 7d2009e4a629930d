/* Requests launch, attach and configurationDone: which recording and process, the server for it, and a gdb that stands there. */
#define LOG_AREA "dap.launch"
#include "dap/parts_priv.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "base/log.h"
#include "base/os.h"
#include "base/str.h"
#include "store/manifest.h"

/* What calls itself gdb and is none may say nothing, or never end to talk. */
#define GDB_START_NS UINT64_C(15000000000)

/* gdb before it connects. A recording's files are a stranger's: nothing of theirs is executed. Files of the program come from the recording. A
 * search may take long. Calls of functions are diversions, which end with a crash. */
static const char *const settings[] = {
	"-gdb-set confirm off",
	"-gdb-set pagination off",
	"-gdb-set width 0",
	"-gdb-set height 0",
	"-gdb-set history save off",
	"-gdb-set style enabled off",
	"-gdb-set mi-async on",
	"-gdb-set non-stop off",
	"-gdb-set sysroot target:",
	"-gdb-set debuginfod enabled off",
	"-gdb-set breakpoint always-inserted on",
	"-gdb-set breakpoint pending on",
	"-gdb-set remotetimeout 3600",
	"-gdb-set tcp connect-timeout 5", /* so long it tries again: a server may be about to start */
	"-gdb-set unwindonsignal on",
	"-gdb-set print static-members on",
	"-enable-pretty-printing",
};

/* --- gdb --- */

static bool is_warning(const struct mi_record *rec)
{
	static const char prefix[] = "warning:";

	return rec->kind == MI_LOG && rec->text.len >= sizeof(prefix) - 1 && memcmp(rec->text.data, prefix, sizeof(prefix) - 1) == 0;
}

static void on_record(void *ctx, const struct mi_record *rec)
{
	struct dap *d = ctx;

	run_record(d, rec);
	sources_record(d, rec);
	if (breaks_record(d, rec))
		return;
	/* The server speaks to the user, and so do warnings. What else gdb prints by itself is for terminals: where it stops, what it reads. */
	if (d->state >= DAP_CONFIG && (rec->kind == MI_TARGET || is_warning(rec)))
		dap_event(d, "output",
			  json_pack("{ss so}", "category", "console", "output", jsonx_string_lossy((const char *)rec->text.data, rec->text.len)));
	else if (rec->kind == MI_LOG || rec->kind == MI_CONSOLE)
		log_debug("gdb: %.*s", (int)rec->text.len, (const char *)rec->text.data);
}

static int wait_gdb(void *ctx, int fd)
{
	struct dap *d = ctx;
	uint64_t now = dap_now_ns();
	int r = dap_wait_fd(d, fd, d->mi_until > now ? (int)((d->mi_until - now) / 1000000u) + 1 : -1);

	if (r >= 0 && d->mi_until && dap_now_ns() >= d->mi_until)
		return ERR_TIMEOUT;
	return r < 0 ? r : 0;
}

static int start_gdb(struct dap *d, const char *gdb)
{
	const char *env = getenv("HERMIT_GDB");
	const char *name = gdb ? gdb : d->opt.gdb ? d->opt.gdb : env && *env ? env : "gdb";
	const char *argv[] = { name, "-q", "-nx", "--interpreter=mi3", "-iex", "set auto-load off", NULL };
	struct mi_options mo = { .argv = argv, .record = on_record, .wait = wait_gdb, .ctx = d };
	int r = mi_start(&mo, &d->mi, &d->ei);

	if (r == -ENOENT || r == -EACCES) {
		d->ei = (struct errinfo){ 0 };
		return errinfo_set_r(&d->ei, r, "cannot start the debugger '%s' (install gdb 12 or newer, or name one with \"gdb\" or HERMIT_GDB)", name);
	}
	d->mi_until = dap_now_ns() + GDB_START_NS;
	for (size_t i = 0; i < ARRAY_SIZE(settings) && r >= 0; i++) {
		r = mi_command(d->mi, NULL, &d->ei, "%s", settings[i]);
		if (r == -EREMOTEIO) { /* an older gdb lacks some */
			log_debug("%s: %s", settings[i], d->ei.text);
			d->ei = (struct errinfo){ 0 };
			r = 0;
		}
	}
	d->mi_until = 0;
	if (r == ERR_TIMEOUT) {
		d->ei = (struct errinfo){ 0 };
		return errinfo_set(&d->ei, r, "the debugger '%.300s' does not answer: is it gdb?", name);
	}
	return r;
}

static int check_reverse(struct dap *d)
{
	json_t *res CLEANUP(jsonx_unrefp) = NULL, *list;
	int r = mi_command(d->mi, &res, &d->ei, "-list-target-features");

	if (r < 0)
		return r;
	list = json_object_get(res, "features");
	for (size_t i = 0; i < json_array_size(list); i++)
		if (strcmp(json_string_value(json_array_get(list, i)) ?: "", "reverse") == 0)
			return 0;
	dap_event(d, "capabilities", json_pack("{s{sb}}", "capabilities", "supportsStepBack", 0));
	return 0;
}

/* gdb takes what stands behind a bar for a command of this machine. */
static int check_target(struct dap *d, const char *target)
{
	const char *begin = target + strspn(target, " \t");

	if (*begin != '|' && *begin)
		return 0;
	return errinfo_set(&d->ei, -EINVAL,
			   "'%.80s' is no server: wanted is HOST:PORT or the path of a socket. One on another machine is reached through a tunnel "
			   "(ssh -L PORT:localhost:PORT MACHINE, then localhost:PORT); no command is run here",
			   target);
}

static int connect_gdb(struct dap *d, const char *target)
{
	json_t *where CLEANUP(jsonx_unrefp) = NULL;
	struct errinfo ignored = { 0 };
	/* a socket's name is of our working directory, which gdb has left: sources_setup() */
	char *socket CLEANUP(freep) = realpath(target, NULL);
	int r = mi_command(d->mi, NULL, &d->ei, "-target-select remote %s", socket ? socket : target);

	if (r < 0)
		return r;
	r = check_reverse(d);
	if (r < 0)
		return r;
	r = mi_monitor(d->mi, &where, &ignored, "where brief");
	if (r == -EREMOTEIO)
		return errinfo_set(&d->ei, -EPROTO, "%.200s is no replay of hermit: %.500s", target, ignored.text);
	if (r >= 0)
		d->pid = mi_int(where, "pid", 0);
	return r;
}

/* --- launch --- */

struct launch_args {
	const char *recording, *server, *gdb, *program, *processes, *output;
	json_t *process, *stop_at, *source_map;
	bool stop_on_entry;
};

static const struct arg launch_table[] = {
	ARG(STR, struct launch_args, recording, "recording"),
	ARG(ANY, struct launch_args, process, "process"),
	ARG(ANY, struct launch_args, stop_at, "stopAt"),
	ARG(STR, struct launch_args, server, "server"),
	ARG(ANY, struct launch_args, source_map, "sourceMap"),
	ARG(STR, struct launch_args, gdb, "gdb"),
	ARG(STR, struct launch_args, program, "program"),
	ARG(STR, struct launch_args, processes, "processes"),
	ARG(STR, struct launch_args, output, "output"),
	ARG(BOOL, struct launch_args, stop_on_entry, "stopOnEntry"),
	{ .name = NULL },
};

/* A string or a number as text: owned; NULL with 0 when absent. */
static int text_of(struct dap *d, const json_t *v, const char *name, char **ret)
{
	*ret = NULL;
	if (!v)
		return 0;
	if (json_is_string(v))
		*ret = os_strdup(json_string_value(v));
	else if (json_is_integer(v) && json_integer_value(v) >= 0)
		*ret = os_asprintf("%" JSON_INTEGER_FORMAT, json_integer_value(v));
	else
		return errinfo_set(&d->ei, -EINVAL, "\"%s\" has to be a text or a number", name);
	return *ret ? 0 : -ENOMEM;
}

static int resolve_recording(struct dap *d, const char *text, bool *ret_crashed)
{
	char *dir CLEANUP(freep) = NULL;
	struct store *s CLEANUP(store_freep) = NULL;
	struct manifest m CLEANUP(manifest_done) = { 0 };
	struct store_id id;
	struct errinfo why = { 0 };
	int r = store_default_dir(d->opt.data_dir, &dir);

	manifest_init(&m);
	if (r >= 0)
		r = store_open(dir, false, &s, &why);
	if (r == -ENOENT)
		return errinfo_set(&d->ei, r, "there are no recordings in %.300s: make one with 'hermit record', or set HERMIT_DATA_DIR", dir ? dir : "(no HOME)");
	if (r >= 0)
		r = store_resolve(s, text && *text ? text : NULL, &id, &why);
	if (r < 0)
		return errinfo_set(&d->ei, r, "cannot open recording '%.80s' of %.300s: %.300s", text && *text ? text : "(the last one)", dir ? dir : "?",
				   why.text[0] ? why.text : err_str(r));
	d->recording = os_strdup(id.hex);
	/* one that is still being made, or damaged: the server says what is wrong with it */
	*ret_crashed = manifest_load(s, &id, &m, NULL) >= 0 && manifest_crashed(&m);
	return d->recording ? 0 : -ENOMEM;
}

static int make_dir(struct dap *d)
{
	const char *run = getenv("XDG_RUNTIME_DIR"), *tmp = getenv("TMPDIR");
	const char *tops[] = { run && *run ? run : NULL, tmp && *tmp ? tmp : NULL, "/tmp" };

	for (size_t i = 0; i < ARRAY_SIZE(tops); i++) {
		char *dir = tops[i] ? os_asprintf("%s/hermit-dap-XXXXXX", tops[i]) : NULL;

		if (dir && strlen(dir) < 90 && mkdtemp(dir)) { /* a socket's path is short */
			d->dir = dir;
			return 0;
		}
		freep(&dir);
	}
	return errinfo_set_r(&d->ei, -errno, "cannot make a directory for the replay's socket in $XDG_RUNTIME_DIR, $TMPDIR or /tmp");
}

/* Once gdb is connected nobody needs the socket's name: an adapter that is killed leaves nothing behind. */
static void remove_dir(struct dap *d)
{
	char *socket CLEANUP(freep) = d->dir ? os_asprintf("%s/gdb", d->dir) : NULL;

	if (!d->dir)
		return;
	if (socket)
		(void)unlink(socket);
	(void)rmdir(d->dir);
	freep(&d->dir);
	d->dir = NULL;
}

/* A place that the server begins at by itself, as `hermit replay -g` does. */
static bool server_begins_at(const char *stop_at)
{
	if (strcmp(stop_at, "crash") == 0 || strcmp(stop_at, "end") == 0)
		return true;
	return *stop_at >= '0' && *stop_at <= '9' && !stop_at[strspn(stop_at, "0123456789abcdefx!+:*")];
}

/* What the session goes to when it has begun (run.c): a time, a bookmark; all places of a server that we do not start. What is none is an error of launch. */
static int check_place(struct dap *d, const char *stop_at, bool served)
{
	char *position CLEANUP(freep) = NULL;
	int r;

	if (strcmp(stop_at, "entry") == 0 || strcmp(stop_at, "main") == 0 || strcmp(stop_at, "crash") == 0 || (!served && server_begins_at(stop_at)))
		return 0;
	r = places_find(d, stop_at, &position);
	return r < 0 ? r : jsonx_set_bool(d->launch, "seeks", true);
}

/* Words for the server. The other places are reached by gdb. */
static int start_server(struct dap *d, const char *process, const char *stop_at)
{
	const char *words[8];
	size_t n = 0;
	int r = make_dir(d);

	if (r < 0)
		return r;
	if (process) {
		words[n++] = "-p";
		words[n++] = process;
	}
	if (server_begins_at(stop_at)) {
		words[n++] = "-g";
		words[n++] = stop_at;
	}
	words[n++] = "--";
	words[n++] = d->recording;
	return server_start(d, words, n);
}

/* What stopAt means where it is not given: the failure, if there is one. */
static int choose_stop(struct dap *d, const struct launch_args *a, bool crashed, char **ret)
{
	int r = text_of(d, a->stop_at, "stopAt", ret);

	if (r >= 0 && !*ret)
		*ret = os_strdup(a->stop_on_entry ? "entry" : crashed && !a->process ? "crash" : "main");
	if (r >= 0 && !*ret)
		r = -ENOMEM;
	return r >= 0 ? jsonx_set_str(d->launch, "stopAt", *ret) : r;
}

static void say_process(struct dap *d)
{
	const char *name = d->program ? d->program : "(recorded process)";

	dap_event(d, "process", json_pack("{so sb ss si}", "name", jsonx_text(name), "isLocalProcess", 0, "startMethod",
					d->recording ? "launch" : "attach", "pointerSize", 64));
}

/* gdb runs on a server that listens at target. */
static int enter(struct dap *d, const char *gdb, const char *program, const char *target)
{
	struct buf quoted CLEANUP(buf_done) = { 0 };
	int r = check_target(d, target);

	if (r >= 0)
		r = start_gdb(d, gdb);
	if (r >= 0 && program) {
		mi_quote(&quoted, program);
		r = mi_command(d->mi, NULL, &d->ei, "-file-exec-and-symbols %s", buf_cstr(&quoted));
	}
	if (r >= 0)
		r = sources_setup(d);
	if (r >= 0)
		stack_setup(d);
	if (r >= 0)
		r = python_setup(d);
	if (r >= 0)
		r = connect_gdb(d, target);
	remove_dir(d);
	if (r < 0)
		return r;
	d->state = DAP_CONFIG;
	run_connected(d);
	r = output_setup(d);
	if (r < 0)
		return r;
	say_process(d);
	dap_event(d, "initialized", json_object());
	return 0;
}

static void leave(struct dap *d)
{
	mi_freep(&d->mi);
	d->mi = NULL;
	server_stop(d);
	remove_dir(d);
}

/* A launch that failed can be tried again. */
static void undo(struct dap *d)
{
	struct errinfo why = d->ei;

	d->state = DAP_READY;
	leave(d);
	places_forget(d);
	jsonx_unrefp(&d->launch);
	freep(&d->recording);
	freep(&d->program);
	d->launch = NULL;
	d->recording = d->program = NULL;
	d->pid = 0;
	d->ei = why;
}

static int launch_from(struct dap *d, const struct launch_args *a)
{
	char *process CLEANUP(freep) = NULL, *stop_at CLEANUP(freep) = NULL, *socket CLEANUP(freep) = NULL;
	bool crashed;
	int r = resolve_recording(d, a->recording, &crashed);

	if (r >= 0)
		r = text_of(d, a->process, "process", &process);
	if (r >= 0)
		r = choose_stop(d, a, crashed, &stop_at);
	if (r >= 0)
		r = check_place(d, stop_at, a->server);
	if (r < 0)
		return r;
	if (a->server)
		return enter(d, a->gdb, a->program, a->server);
	r = start_server(d, process, stop_at);
	if (r < 0)
		return r;
	socket = os_asprintf("%s/gdb", d->dir);
	return socket ? enter(d, a->gdb, a->program, socket) : -ENOMEM;
}

/* Words that mean something there; NULL is one. */
static int check_words(struct dap *d, const struct launch_args *a)
{
	const char *o = a->output, *p = a->processes;

	if (o && strcmp(o, "process") && strcmp(o, "all") && strcmp(o, "none"))
		return errinfo_set(&d->ei, -EINVAL, "\"output\" is process, all or none, not '%.60s'", o);
	return p && strcmp(p, "all") ? errinfo_set(&d->ei, -EINVAL, "\"processes\" is all, or is left out; it is not '%.60s'", p) : 0;
}

static int launch(struct dap *d, const void *args, json_t *body)
{
	const struct launch_args *a = args;
	int r = check_words(d, a);

	(void)body;
	if (r < 0)
		return r;
	d->launch = json_object();
	if (!d->launch)
		return -ENOMEM;
	r = a->source_map ? json_object_set(d->launch, "sourceMap", a->source_map) : 0;
	if (r >= 0 && a->processes)
		r = jsonx_set_str(d->launch, "processes", a->processes);
	if (r >= 0 && a->output)
		r = jsonx_set_str(d->launch, "output", a->output);
	if (r >= 0 && a->gdb)
		r = jsonx_set_str(d->launch, "gdb", a->gdb);
	if (r >= 0)
		r = launch_from(d, a);
	if (r < 0)
		undo(d);
	return r;
}
DAP_METHOD(launch, launch_table, struct launch_args);

/* --- attach --- */

struct attach_args {
	const char *target, *program, *gdb;
	json_t *source_map;
};

static const struct arg attach_table[] = {
	ARG(STR, struct attach_args, target, "target", .required = true),
	ARG(STR, struct attach_args, program, "program"),
	ARG(STR, struct attach_args, gdb, "gdb"),
	ARG(ANY, struct attach_args, source_map, "sourceMap"),
	{ .name = NULL },
};

static int attach(struct dap *d, const void *args, json_t *body)
{
	const struct attach_args *a = args;
	int r;

	(void)body;
	d->launch = json_pack("{ss}", "stopAt", "here");
	if (!d->launch)
		return -ENOMEM;
	r = a->source_map ? json_object_set(d->launch, "sourceMap", a->source_map) : 0;
	if (r >= 0)
		r = enter(d, a->gdb, a->program, a->target);
	if (r < 0)
		undo(d);
	return r;
}
DAP_METHOD(attach, attach_table, struct attach_args);

static int configuration_done(struct dap *d, const void *args, json_t *body)
{
	(void)args;
	(void)body;
	d->state = DAP_STOPPED;
	run_want_entry(d);
	children_setup(d);
	return 0;
}
DAP_METHOD_PLAIN(configuration_done);

void dap_end(struct dap *d, const char *why)
{
	bool live = d->state >= DAP_CONFIG;

	dap_progress_end(d);
	if (live && why && *why)
		dap_say(d, "important", "hermit-dap: the session ends: %s\n", why);
	d->state = DAP_ENDED;
	leave(d);
	if (live)
		dap_event(d, "terminated", json_object());
}
