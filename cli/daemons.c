/* See daemons.h. Two commands that start hermitd at the same time are no trouble: one of the two gets the socket's lock, the other ends, and both
 * commands talk to the first. */
#define LOG_AREA "cli.daemons"
#include "cli/daemons.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>
#include "base/json.h"
#include "base/log.h"
#include "base/os.h"
#include "base/proc.h"
#include "cli/fail.h"
#include "cli/stores.h"
#include "daemon/config.h"
#include "daemon/ctl.h"

#define START_WAIT_NS 20000000000ull
#define LOOK_US 20000
#define ASK_TIMEOUT_MS 120000
#define LOG_TAIL 4096

static bool is_nobody(int r)
{
	return r == -ENOENT || r == -ECONNREFUSED;
}

/* hermitd beside this program; else PATH has to know it. Owned. */
static char *find_program(void)
{
	char self[4096];
	ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);
	char *slash, *path;

	self[MAX(n, (ssize_t)0)] = '\0';
	slash = strrchr(self, '/');
	if (!slash)
		return os_strdup("hermitd");
	*slash = '\0';
	path = os_asprintf("%s/hermitd", self);
	if (!path || access(path, X_OK) == 0)
		return path;
	freep(&path);
	return os_strdup("hermitd");
}

/* The last line that the new hermitd has logged says why it did not start. */
static void tell_last_line(const char *log)
{
	char text[LOG_TAIL + 1], *line;
	int fd CLEANUP(closep) = os_open(log, O_RDONLY | O_NOFOLLOW, 0);
	off_t end = fd < 0 ? 0 : lseek(fd, 0, SEEK_END);
	ssize_t n = fd < 0 ? -1 : os_pread(fd, text, LOG_TAIL, MAX(end - LOG_TAIL, (off_t)0));

	while (n > 0 && text[n - 1] == '\n')
		n--;
	if (n > 0) {
		text[n] = '\0';
		line = strrchr(text, '\n');
		line = line ? line + 1 : text;
		fail_cause("%s", line + strspn(line, " >"));
	}
	fail_cause("its log is %s", log);
}

static int spawn(const char *runtime_dir, struct store *s, const char *log, struct proc *ret)
{
	char *program CLEANUP(freep) = find_program(), *dir CLEANUP(freep) = stores_abs_dir(s);
	char *option CLEANUP(freep) = dir ? os_asprintf("--data-dir=%s", dir) : NULL;
	const char *const argv[] = { program, "--detached", option, NULL };
	int null CLEANUP(closep) = os_open("/dev/null", O_RDONLY, 0);
	int out CLEANUP(closep) = os_open(log, O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW, 0600);
	const struct proc_fd fds[] = { { null, 0 }, { out, 1 }, { out, 2 } };
	const struct proc_options opt = { .argv = argv, .cwd = "/", .fds = fds, .n_fds = ARRAY_SIZE(fds) };
	int r;

	if (!program || !option)
		return fail_memory();
	if (null < 0 || out < 0)
		return fail_r(null < 0 ? null : out, NULL, "cannot open %s", null < 0 ? "/dev/null" : log);
	r = proc_spawn(&opt, ret);
	if (r < 0)
		return fail_r(r, NULL, "cannot start hermitd (%s)", program);
	log_info("started hermitd, process %d, in %s", (int)ret->pid, runtime_dir);
	return 0;
}

/* Until it, or one that was started at the same time, answers. */
static int await(const char *runtime_dir, struct proc *p, int *ret_sock)
{
	uint64_t end = os_mono_ns() + START_WAIT_NS;
	int status, r;

	do {
		r = ctl_connect(runtime_dir, ret_sock, NULL);
		if (r == 0 || !is_nobody(r))
			break;
		/* the one that was faster is about to listen, if there is one */
		if (p->pid && proc_wait(p, 0, &status) == 0)
			end = MIN(end, os_mono_ns() + START_WAIT_NS / 10);
		usleep(LOOK_US);
	} while (os_mono_ns() < end);
	closep(&p->pidfd); /* it goes on */
	return r;
}

static int start(const char *runtime_dir, struct store *s, int *ret_sock)
{
	char *log CLEANUP(freep) = os_asprintf("%s/hermitd.log", runtime_dir);
	struct proc p = PROC_NONE;
	int r = log ? spawn(runtime_dir, s, log, &p) : fail_memory();

	if (r)
		return r;
	r = await(runtime_dir, &p, ret_sock);
	if (r == 0)
		return 0;
	fail(EXIT_INTERNAL, "hermitd was started but does not answer");
	tell_last_line(log);
	return EXIT_INTERNAL;
}

/* A hermitd that was just killed takes connections until the kernel has cleared it away: only one that answers is there. Nothing is begun yet, so
 * another try does no harm. */
static int connect_alive(const char *runtime_dir, int *ret_sock, struct errinfo *ei)
{
	json_t *ask CLEANUP(jsonx_unrefp) = json_pack("{ss}", "ask", "status");
	uint64_t end = os_mono_ns() + START_WAIT_NS;
	int r = ask ? 0 : -ENOMEM;

	while (r == 0) {
		json_t *reply CLEANUP(jsonx_unrefp) = NULL;
		int sock CLEANUP(closep) = -1;

		r = ctl_connect(runtime_dir, &sock, ei);
		if (r < 0)
			break;
		r = ctl_ask(sock, ask, NULL, 0, ASK_TIMEOUT_MS, &reply, ei);
		if (r == 0) {
			*ret_sock = TAKE_FD(sock);
			break;
		}
		if ((r == -ECONNRESET || r == -EPIPE || (r == ERR_PROTOCOL && !reply)) && os_mono_ns() < end)
			r = usleep(LOOK_US) < 0 ? -errno : 0;
	}
	return r;
}

int daemons_connect(struct store *s, int *ret_sock)
{
	struct daemon_config cfg CLEANUP(config_done);
	struct errinfo ei = { 0 };
	int r;

	config_init(&cfg);
	r = config_finish(&cfg, &ei); /* where its socket is */
	if (r < 0)
		return fail_r(r, &ei, "cannot tell where hermitd listens");
	r = connect_alive(cfg.runtime_dir, ret_sock, &ei);
	if (is_nobody(r))
		return start(cfg.runtime_dir, s, ret_sock);
	return r < 0 ? fail_r(r, &ei, "cannot talk to hermitd") : 0;
}

int daemons_ask(int sock, const json_t *request, const int *fds, size_t n_fds, const char *what, json_t **ret)
{
	json_t *reply CLEANUP(jsonx_unrefp) = NULL;
	struct errinfo ei = { 0 };
	int64_t code = EXIT_INTERNAL;
	int r = ctl_ask(sock, request, fds, n_fds, ASK_TIMEOUT_MS, &reply, &ei);

	if (r == 0) {
		*ret = TAKE(reply);
		return 0;
	}
	if (reply && (jsonx_get_i64(reply, "exit", &code) < 0 || code < 1 || code > 255))
		code = EXIT_INTERNAL;
	fail((enum exit_code)code, "%s", what);
	fail_cause("%s", ei.text[0] ? ei.text : err_str(r));
	return (int)code;
}
