/* Which line of the program wrote the output: asks an inspector (inspector/inspector.h), a replay of its own beside the one that gdb sees. It may take as long as a replay
 * to the event; output.c decides how long it waits. */
#define LOG_AREA "dap.origin"
#include "dap/output_priv.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include "base/log.h"
#include "base/os.h"
#include "store/store.h"

#define FD_IN_CHILD 3
#define REPLY_MAX (16u << 20)
#define CHECKPOINT_MEMORY "32M"

struct origins {
	struct proc child;
	int fd;
	struct buf in;
};

void origins_free(struct origins *o)
{
	if (!o)
		return;
	closep(&o->fd);
	proc_done(&o->child);
	buf_done(&o->in);
	free(o);
}

static int start(struct dap *d, struct origins *o, int theirs, int nothing)
{
	char *dir CLEANUP(freep) = NULL;
	const struct proc_fd fds[] = { { nothing, 0 }, { nothing, 1 }, { nothing, 2 }, { theirs, FD_IN_CHILD } };
	int r = store_default_dir(d->opt.data_dir, &dir);
	const char *argv[] = { d->opt.hermit, "session", "inspect", "--data-dir", dir, "--fd", "3", "--checkpoint-memory", CHECKPOINT_MEMORY, d->recording, NULL };

	if (r < 0)
		return r;
	return proc_spawn(&(struct proc_options){ .argv = argv, .fds = fds, .n_fds = ARRAY_SIZE(fds), .new_group = true, .die_with_us = true }, &o->child);
}

int origins_new(struct dap *d, struct origins **ret)
{
	int nothing CLEANUP(closep) = os_open("/dev/null", O_RDWR, 0), theirs CLEANUP(closep) = -1, pair[2], r = nothing < 0 ? nothing : 0;
	struct origins *o = os_calloc(1, sizeof(*o));

	if (!o)
		return -ENOMEM;
	o->child = PROC_NONE;
	o->fd = -1;
	if (r >= 0 && socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0)
		r = -errno;
	if (r >= 0) {
		o->fd = pair[0];
		theirs = pair[1];
		r = start(d, o, theirs, nothing);
	}
	if (r < 0) {
		origins_free(o);
		return r;
	}
	*ret = o;
	return 0;
}

static int send_line(struct origins *o, json_t *msg)
{
	char *text CLEANUP(freep) = NULL;
	size_t n;
	int r = msg ? jsonx_dump(msg, JSON_COMPACT, &text, &n) : -ENOMEM;

	jsonx_unrefp(&msg);
	if (r < 0)
		return r;
	text[n++] = '\n'; /* in place of the NUL */
	/* a piece of a line would spoil all that follow: the child is of no use then */
	return send(o->fd, text, n, MSG_DONTWAIT | MSG_NOSIGNAL) == (ssize_t)n ? 0 : ERR_GUEST_GONE;
}

int origins_ask(struct origins *o, uint64_t event, uint32_t thread)
{
	return send_line(o, json_pack("{sI ss sI sI}", "id", (json_int_t)event, "op", "stack", "event", (json_int_t)event, "thread", (json_int_t)thread));
}

void origins_cancel(struct origins *o, uint64_t event)
{
	if (send_line(o, json_pack("{ss sI}", "op", "cancel", "request", (json_int_t)event)) < 0)
		log_debug("the inspector takes no cancelling");
}

static void take_line(const char *line, size_t n, void (*answer)(void *ctx, uint64_t event, const json_t *frames), void *ctx)
{
	json_t *msg CLEANUP(jsonx_unrefp) = NULL;
	uint64_t id;

	if (jsonx_parse(line, n, &msg, NULL) < 0 || jsonx_get_u64(msg, "id", &id) < 0 || json_object_get(msg, "progress"))
		return;
	answer(ctx, id, json_object_get(json_object_get(msg, "result"), "frames"));
}

int origins_read(struct origins *o, void (*answer)(void *ctx, uint64_t event, const json_t *frames), void *ctx)
{
	char chunk[16384];
	size_t done = 0;
	bool more;
	ssize_t n;

	while ((n = recv(o->fd, chunk, sizeof(chunk), MSG_DONTWAIT)) > 0 && o->in.len < REPLY_MAX)
		buf_put(&o->in, chunk, (size_t)n);
	more = n < 0 && (errno == EAGAIN || errno == EINTR);
	for (;;) {
		const char *begin = (const char *)o->in.data + done;
		const char *nl = o->in.len > done ? memchr(begin, '\n', o->in.len - done) : NULL;

		if (!nl)
			break;
		take_line(begin, (size_t)(nl - begin), answer, ctx);
		done += (size_t)(nl - begin) + 1;
	}
	if (done)
		memmove(o->in.data, o->in.data + done, o->in.len - done);
	o->in.len -= done;
	return more ? buf_error(&o->in) : ERR_GUEST_GONE;
}

const json_t *origins_choose(const json_t *frames, const char *program)
{
	const json_t *other = NULL, *f;
	size_t i;

	json_array_foreach((json_t *)(uintptr_t)frames, i, f) {
		const char *module = json_string_value(json_object_get(f, "module"));

		if (!json_is_string(json_object_get(f, "file")) || !json_is_integer(json_object_get(f, "line")))
			continue;
		if (module && program && strcmp(module, program) == 0)
			return f;
		if (!other && json_is_true(json_object_get(f, "source")))
			other = f;
	}
	return other;
}
