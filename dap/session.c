/* The session: waits for the client, gdb and the server at once; takes requests in, one after the other. */
#define LOG_AREA "dap"
#include "dap/parts_priv.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>
#include "base/log.h"
#include "base/os.h"
#include "base/str.h"

#define READ_CHUNK 65536u
#define WRITE_CHUNK 4096u /* a pipe that is writable takes so much without blocking */
#define QUEUE_MAX 10000u

/* --- the client's messages --- */

static const char *command_of(const json_t *request)
{
	const char *s = json_string_value(json_object_get(request, "command"));

	return s ? s : "";
}

/* Something long goes on that the client wants ended. */
static void interrupt_work(struct dap *d)
{
	d->cancelled = true;
	if (d->state == DAP_RUNNING)
		run_pause(d);
	else if (d->current && d->mi)
		mi_interrupt(d->mi);
}

static bool is_end(const json_t *request)
{
	return strcmp(command_of(request), "disconnect") == 0 || strcmp(command_of(request), "terminate") == 0;
}

/* The request of the queue: new reference. */
static json_t *take_waiting(struct dap *d, size_t at)
{
	json_t *request = json_incref(json_array_get(d->queue, at));

	(void)json_array_remove(d->queue, at);
	if (d->ends && is_end(request))
		d->ends--;
	d->leaving = d->ends > 0 || d->ended;
	return request;
}

static void answer_cancelled(struct dap *d, size_t at)
{
	json_t *request = take_waiting(d, at);

	dap_respond(d, request, ERR_INTERRUPTED, NULL);
	jsonx_unrefp(&request);
}

struct cancel_args {
	int64_t request;
	const char *progress;
};

static const struct arg cancel_table[] = {
	ARG(INT, struct cancel_args, request, "requestId"),
	ARG(STR, struct cancel_args, progress, "progressId"),
	{ .name = NULL },
};

static int cancel(struct dap *d, const void *args, json_t *body)
{
	const struct cancel_args *a = args;

	(void)body;
	for (size_t i = 0; a->request && i < json_array_size(d->queue); i++)
		if (json_integer_value(json_object_get(json_array_get(d->queue, i), "seq")) == a->request) {
			answer_cancelled(d, i);
			return 0;
		}
	if ((a->request && a->request == d->current) || a->progress)
		interrupt_work(d);
	return 0;
}
DAP_METHOD(cancel, cancel_table, struct cancel_args);

/* Requests that act while another one is being answered. True: it is dealt with. */
static bool take_urgent(struct dap *d, const json_t *request)
{
	const char *command = command_of(request);
	struct cancel_args a = { 0 };

	if (strcmp(command, "cancel") == 0 && args_decode(cancel_table, json_object_get(request, "arguments"), &a, NULL) >= 0) {
		(void)cancel(d, &a, NULL);
		dap_respond(d, request, 0, NULL);
		return true;
	}
	if (strcmp(command, "pause") == 0 && d->state == DAP_RUNNING) {
		interrupt_work(d);
		dap_respond(d, request, 0, NULL);
		return true;
	}
	if (is_end(request)) {
		d->leaving = true;
		interrupt_work(d);
	}
	return false;
}

static void take_message(struct dap *d, json_t *msg)
{
	const char *type = json_string_value(json_object_get(msg, "type"));

	if (type && strcmp(type, "response") == 0) {
		log_debug("the client answered %s", command_of(msg));
		return;
	}
	if (!type || strcmp(type, "request") || !json_is_integer(json_object_get(msg, "seq")) || !json_is_string(json_object_get(msg, "command"))) {
		dap_say(d, "console", "hermit-dap: a message of the editor was no request and was passed over\n");
		return;
	}
	log_debug("request %s", command_of(msg));
	if (!d->idle && take_urgent(d, msg))
		return;
	if ((json_array_size(d->queue) >= QUEUE_MAX && !(d->leaving && is_end(msg))) || json_array_append(d->queue, msg) < 0) {
		(void)errinfo_set(&d->ei, ERR_LIMIT, "too many requests wait");
		dap_respond(d, msg, ERR_LIMIT, NULL);
		return;
	}
	d->ends += is_end(msg); /* nothing that comes before it may take long */
}

/* It sends no more; what it was told may still be on the way to it. */
static void client_ended(struct dap *d)
{
	d->ended = d->leaving = d->done = true;
	if (d->current)
		interrupt_work(d);
}

static void client_gone(struct dap *d)
{
	d->gone = true;
	client_ended(d);
}

static int read_client(struct dap *d)
{
	char chunk[READ_CHUNK];
	ssize_t n = os_read(d->opt.in, chunk, sizeof(chunk));
	int r = 0;

	if (n <= 0) {
		client_ended(d);
		return 0;
	}
	frame_put(&d->in, chunk, (size_t)n);
	for (;;) {
		struct errinfo ei = { 0 };
		json_t *msg CLEANUP(jsonx_unrefp) = NULL;

		r = frame_next(&d->in, &msg, &ei);
		if (r == 0)
			return 0;
		if (r == ERR_CORRUPT)
			dap_say(d, "console", "hermit-dap: a message of the editor was passed over: %s\n", ei.text);
		else if (r < 0)
			return errinfo_set(&d->ei, r, "%s", ei.text[0] ? ei.text : err_str(r));
		else
			take_message(d, msg);
	}
}

static void write_client(struct dap *d)
{
	ssize_t n = write(d->opt.out, d->out.data + d->out_sent, MIN(d->out.len - d->out_sent, (size_t)WRITE_CHUNK));

	if (n < 0 && errno != EINTR && errno != EAGAIN)
		client_gone(d);
	if (n > 0)
		d->out_sent += (size_t)n;
	if (d->out_sent == d->out.len || d->gone) {
		buf_clear(&d->out);
		d->out_sent = 0;
	}
}

/* --- waiting --- */

enum { FROM_CLIENT, TO_CLIENT, FROM_SERVER, FROM_OTHER, TO_STOP, N_FDS };

/* gdb does not notice while it waits for commands. */
static bool server_gone(const struct dap *d)
{
	return d->server.proc.pid && d->server.err_fd < 0 && d->state >= DAP_CONFIG && d->state < DAP_ENDED;
}

/* requests: returns 0 as soon as one waits, or the server has gone, too. */
static int wait_some(struct dap *d, int fd, int timeout_ms, bool requests)
{
	uint64_t until = dap_now_ns() + (uint64_t)MAX(timeout_ms, 0) * 1000000u;

	for (;;) {
		struct pollfd p[N_FDS] = {
			[FROM_CLIENT] = { .fd = d->ended ? -1 : d->opt.in, .events = POLLIN },
			[TO_CLIENT] = { .fd = d->out.len > d->out_sent && !d->gone ? d->opt.out : -1, .events = POLLOUT },
			[FROM_SERVER] = { .fd = d->server.err_fd, .events = POLLIN },
			[FROM_OTHER] = { .fd = fd, .events = POLLIN },
			[TO_STOP] = { .fd = d->ended ? -1 : d->opt.stop, .events = POLLIN },
		};
		uint64_t now = dap_now_ns();
		/* what ends the session may have been read in an earlier wait */
		int left = d->leaving ? 0 : timeout_ms < 0 ? -1 : now >= until ? 0 : (int)((until - now + 999999u) / 1000000u);
		int n = poll(p, N_FDS, left), r = 0;

		if (n < 0 && errno != EINTR)
			return -errno;
		if (n > 0 && p[TO_CLIENT].revents)
			write_client(d);
		if (n > 0 && p[FROM_SERVER].revents)
			server_read(d);
		if (n > 0 && p[FROM_CLIENT].revents)
			r = read_client(d);
		if (n > 0 && p[TO_STOP].revents)
			client_ended(d);
		if (r < 0)
			return r;
		if (d->leaving)
			return ERR_INTERRUPTED;
		if (n > 0 && p[FROM_OTHER].revents)
			return 1;
		if (requests && (json_array_size(d->queue) || d->cancelled || server_gone(d)))
			return 0;
		if (timeout_ms >= 0 && dap_now_ns() >= until)
			return 0;
	}
}

int dap_wait_fd(struct dap *d, int fd, int timeout_ms)
{
	return wait_some(d, fd, timeout_ms, false);
}

int dap_pump(struct dap *d, int timeout_ms)
{
	int r = wait_some(d, d->mi ? mi_fd(d->mi) : -1, timeout_ms, true);

	if (r == 1)
		return mi_read(d->mi, &d->ei);
	if (r == 0 && server_gone(d))
		return errinfo_set(&d->ei, ERR_GUEST_GONE, "%s", d->server.said.len ? buf_cstr(&d->server.said) : "the replay server has gone");
	return r;
}

static void flush(struct dap *d)
{
	uint64_t until = dap_now_ns() + 2000000000u;

	while (!d->gone && d->out.len > d->out_sent && dap_now_ns() < until) {
		struct pollfd p = { .fd = d->opt.out, .events = POLLOUT };

		if (poll(&p, 1, 100) > 0)
			write_client(d);
	}
}

/* --- requests --- */

struct initialize_args {
	const char *client, *paths;
	bool lines, columns, progress, start, memory;
};

static const struct arg initialize_table[] = {
	ARG(STR, struct initialize_args, client, "clientID"),
	ARG(STR, struct initialize_args, paths, "pathFormat"),
	ARG(BOOL, struct initialize_args, lines, "linesStartAt1", .def = 1),
	ARG(BOOL, struct initialize_args, columns, "columnsStartAt1", .def = 1),
	ARG(BOOL, struct initialize_args, progress, "supportsProgressReporting"),
	ARG(BOOL, struct initialize_args, start, "supportsStartDebuggingRequest"),
	ARG(BOOL, struct initialize_args, memory, "supportsMemoryEvent"),
	{ .name = NULL },
};

/* No capability says which clients show machine code where there is no source. */
static bool shows_machine_code(const char *client)
{
	static const char *const ids[] = { "vscode", "visualstudio", "theia" };

	for (size_t i = 0; client && i < ARRAY_SIZE(ids); i++)
		if (strcmp(client, ids[i]) == 0)
			return true;
	return false;
}

static int initialize(struct dap *d, const void *args, json_t *body)
{
	const struct initialize_args *a = args;
	int r = dap_capabilities(d, body);

	if (r < 0)
		return r;
	d->client = (struct dap_client){ .lines_at_1 = a->lines,
					 .columns_at_1 = a->columns,
					 .progress = a->progress,
					 .start_debugging = a->start,
					 .memory_event = a->memory,
					 .uris = a->paths && strcmp(a->paths, "uri") == 0,
					 .machine_code = shows_machine_code(a->client) };
	d->state = DAP_READY;
	return 0;
}
DAP_METHOD(initialize, initialize_table, struct initialize_args);

static int disconnect(struct dap *d, const void *args, json_t *body)
{
	(void)args;
	(void)body;
	if (d->state != DAP_ENDED)
		dap_end(d, NULL);
	d->done = true;
	return 0;
}
DAP_METHOD_PLAIN(disconnect);

static int terminate(struct dap *d, const void *args, json_t *body)
{
	(void)args;
	(void)body;
	if (d->state == DAP_NEW || d->state == DAP_READY)
		return errinfo_set(&d->ei, -EINVAL, "nothing is being debugged yet");
	if (d->state != DAP_ENDED)
		dap_end(d, NULL);
	return 0;
}
DAP_METHOD_PLAIN(terminate);

static int refuse_state(struct dap *d)
{
	static const char *const why[] = {
		[DAP_NEW] = "initialize has to be the first request",
		[DAP_READY] = "nothing is being debugged yet: launch or attach comes first",
		[DAP_CONFIG] = "this is possible only before a recording is opened, or after configurationDone",
		[DAP_STOPPED] = "this was possible only at the start of the session",
		[DAP_RUNNING] = "the recording is being replayed: pause it first",
		[DAP_ENDED] = "the session has ended",
	};

	return errinfo_set(&d->ei, d->state == DAP_RUNNING ? -EBUSY : -EINVAL, "%s", why[d->state]);
}

static int call_method(struct dap *d, const struct dap_request *rq, const json_t *args, json_t *body)
{
	uint64_t room[32] = { 0 };
	bool halt = rq->when == WHEN_HALTED && d->state == DAP_RUNNING;
	int r, r2 = 0;

	must(rq->method->args_size <= sizeof(room));
	r = rq->method->args ? args_decode(rq->method->args, args, room, &d->ei) : 0;
	if (r >= 0 && halt)
		r = run_halt(d);
	if (r < 0)
		return r;
	r = rq->method->fn(d, room, body);
	if (halt)
		r2 = run_resume(d);
	return r < 0 ? r : r2;
}

static void dispatch(struct dap *d)
{
	json_t *request CLEANUP(jsonx_unrefp) = take_waiting(d, 0);
	json_t *body CLEANUP(jsonx_unrefp) = json_object();
	const char *wire = command_of(request);
	const struct dap_request *rq = dap_request_find(wire);
	int r;

	d->ei = (struct errinfo){ 0 };
	d->cancelled = false;
	d->current = json_integer_value(json_object_get(request, "seq"));
	d->announce = str_has_prefix(wire, "hermit/") || strcmp(wire, "evaluate") == 0;
	if (!rq)
		r = errinfo_set(&d->ei, -ENOSYS, "hermit-dap knows no request '%.60s'", wire);
	else if (!(rq->when & 1u << d->state))
		r = refuse_state(d);
	else
		r = body ? call_method(d, rq, json_object_get(request, "arguments"), body) : -ENOMEM;
	if (d->state != DAP_RUNNING)
		dap_progress_end(d);
	dap_respond(d, request, r, body);
	d->current = 0;
	/* a launch that failed can be tried again */
	if (r == ERR_GUEST_GONE && d->state >= DAP_CONFIG && d->state != DAP_ENDED)
		dap_end(d, d->ei.text);
}

/* --- the loop --- */

/* Nothing else is to be done. */
static int idle(struct dap *d)
{
	int run = run_timeout(d), output = output_timeout(d);
	int r;

	d->idle = true;
	r = dap_pump(d, run < 0 ? output : output < 0 ? run : MIN(run, output));
	d->idle = false;
	if (r >= 0 && !json_array_size(d->queue) && !run_has_stop(d))
		output_tick(d);
	return r;
}

static int step_session(struct dap *d)
{
	int r = 0;

	if (run_has_stop(d) && d->state == DAP_RUNNING && !d->leaving)
		r = run_stopped(d);
	else if (json_array_size(d->queue))
		dispatch(d);
	else
		r = idle(d);
	d->cancelled = false;
	if (r >= 0)
		r = run_tick(d);
	if (r >= 0)
		r = run_tell_moved(d);
	if (d->state != DAP_RUNNING) /* whatever has become of what was shown */
		dap_progress_end(d);
	if (r == ERR_INTERRUPTED)
		return 0; /* whoever wanted it waits in the queue */
	if (r == ERR_GUEST_GONE && d->state != DAP_ENDED) {
		dap_end(d, d->ei.text);
		return 0;
	}
	return r;
}

static int new_parts(struct dap *d)
{
	int r = run_new(&d->run);

	if (r >= 0)
		r = stack_new(&d->stack);
	if (r >= 0)
		r = breaks_new(&d->breaks);
	if (r >= 0)
		r = except_new(&d->except);
	if (r >= 0)
		r = sources_new(&d->sources);
	if (r >= 0)
		r = output_new(&d->output);
	if (r >= 0)
		r = places_new(&d->places);
	d->queue = r >= 0 ? json_array() : NULL;
	return r >= 0 && !d->queue ? -ENOMEM : r;
}

static void session_done(struct dap *d)
{
	if (d->state != DAP_ENDED)
		dap_end(d, NULL);
	flush(d);
	places_free(d->places);
	output_free(d->output);
	sources_free(d->sources);
	except_free(d->except);
	breaks_free(d->breaks);
	stack_free(d->stack);
	run_free(d->run);
	jsonx_unrefp(&d->queue);
	jsonx_unrefp(&d->launch);
	freep(&d->recording);
	freep(&d->program);
	buf_done(&d->server.line);
	buf_done(&d->server.said);
	buf_done(&d->out);
	frame_in_done(&d->in);
}

int dap_serve(const struct dap_options *opt, struct errinfo *ei)
{
	struct dap d = { .opt = *opt, .server = { .proc = PROC_NONE, .err_fd = -1 } };
	int r = new_parts(&d);

	signal(SIGPIPE, SIG_IGN);
	while (r >= 0 && !d.done)
		r = step_session(&d);
	if (r < 0) {
		(void)errinfo_set(ei, r, "%s", d.ei.text[0] ? d.ei.text : err_str(r));
		dap_end(&d, ei->text);
	}
	session_done(&d);
	return r < 0 ? r : 0;
}
