/* hermit-dap: the debug adapter. Options, and for --port and --socket a child for each client; all else is in dap/. */
#define LOG_AREA "hermit-dap"
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>
#include "base/log.h"
#include "base/os.h"
#include "base/proc.h"
#include "base/str.h"
#include "cli/fail.h"
#include "cli/opt.h"
#include "cli/single.h"
#include "dap/dap.h"
#include "gdbstub/gdbstub.h"

#define CLIENTS_MAX 64u
#define CLIENT_END_MS 5000

struct values {
	const char *port, *path, *data_dir, *gdb, *log, *log_file;
	bool stdio, version;
};

/* clang-format off */
#define ROW(kind_, letter_, name_, member, ...) \
	{ .kind = kind_, .letter = letter_, .name = name_, .offset = offsetof(struct values, member), __VA_ARGS__ }

static const struct opt opts[] = {
	ROW(OPT_FLAG, 0, "stdio", stdio,
	    .help = "Serve one editor on stdin and stdout (what it does without options)"),
	ROW(OPT_STRING, 0, "port", port, .arg = "PORT", .conflicts = "stdio",
	    .help = "Serve any number of editors on this port of 127.0.0.1; 0 takes a free one. It is printed"),
	ROW(OPT_STRING, 0, "socket", path, .arg = "FILE", .conflicts = "port",
	    .help = "The same on a unix socket, which only you can use"),
	ROW(OPT_STRING, 0, "data-dir", data_dir, .arg = "DIR", .env = "HERMIT_DATA_DIR",
	    .help = "Directory of the recordings; without it $XDG_DATA_HOME/hermit or ~/.local/share/hermit"),
	ROW(OPT_STRING, 0, "gdb", gdb, .arg = "FILE", .env = "HERMIT_GDB",
	    .help = "The debugger (gdb in PATH), 12 or newer"),
	ROW(OPT_STRING, 'l', "log", log, .arg = "LEVEL", .env = "HERMIT_LOG",
	    .help = "What is told about the work on stderr: off, error, warn (default), info, debug or trace; also by area, as in warn,dap:debug"),
	ROW(OPT_STRING, 0, "log-file", log_file, .arg = "FILE",
	    .help = "Tell it there instead"),
	ROW(OPT_FLAG, 'V', "version", version,
	    .help = "Print the version"),
	{ .kind = OPT_END_ },
};
/* clang-format on */

/* hermit beside us, else the one in PATH. Owned. */
static char *find_hermit(void)
{
	char self[4096];
	ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);
	char *slash, *path;

	if (n <= 0)
		return os_strdup("hermit");
	self[n] = 0;
	slash = strrchr(self, '/');
	*slash = 0;
	path = os_asprintf("%s/hermit", self);
	if (path && access(path, X_OK) == 0)
		return path;
	freep(&path);
	return os_strdup("hermit");
}

/* A descriptor for the signals that end us, and one more; negative errno. */
static int take_signals(int one_more)
{
	sigset_t set;
	int fd;

	sigemptyset(&set);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGHUP);
	if (one_more)
		sigaddset(&set, one_more);
	sigprocmask(SIG_BLOCK, &set, NULL);
	fd = signalfd(-1, &set, SFD_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

static int serve_stdio(const struct values *v)
{
	char *hermit CLEANUP(freep) = find_hermit();
	struct errinfo ei = { 0 };
	int in CLEANUP(closep) = -1, out CLEANUP(closep) = -1, stop CLEANUP(closep) = take_signals(0);
	int r;

	if (!hermit)
		return fail_memory();
	if (isatty(STDIN_FILENO))
		fprintf(stderr, "hermit-dap waits for an editor on stdin; see hermit-dap --help\n");
	/* nothing else of ours may write into the protocol */
	in = dup(STDIN_FILENO);
	out = dup(STDOUT_FILENO);
	if (in < 0 || out < 0 || dup2(STDERR_FILENO, STDOUT_FILENO) < 0)
		return fail_r(-errno, NULL, "cannot use stdin and stdout");
	r = dap_serve(&(struct dap_options){ .in = in, .out = out, .stop = stop, .hermit = hermit, .gdb = v->gdb, .data_dir = v->data_dir }, &ei);
	return r < 0 ? fail_r(r, &ei, "the session broke off") : 0;
}

/* --- several clients --- */

struct listener {
	const struct values *v;
	int fd, signals;
	struct proc client[CLIENTS_MAX];
};

static void start_client(struct listener *l, int fd)
{
	const char *argv[] = { "/proc/self/exe", "--stdio", "--log", l->v->log ? l->v->log : "warn", [10] = NULL };
	struct proc_fd fds[] = { { fd, 0 }, { fd, 1 } };
	struct proc_options po = { .argv = argv, .fds = fds, .n_fds = ARRAY_SIZE(fds), .new_group = true, .die_with_us = true };
	size_t at = 4;
	int r = -EAGAIN;

	if (l->v->data_dir) {
		argv[at++] = "--data-dir";
		argv[at++] = l->v->data_dir;
	}
	if (l->v->gdb) {
		argv[at++] = "--gdb";
		argv[at++] = l->v->gdb;
	}
	if (l->v->log_file) {
		argv[at++] = "--log-file";
		argv[at++] = l->v->log_file;
	}
	for (size_t i = 0; i < CLIENTS_MAX; i++)
		if (!l->client[i].pid) {
			r = proc_spawn(&po, &l->client[i]);
			break;
		}
	if (r < 0)
		(void)log_error_r(r, "cannot serve one more editor");
}

static void reap_clients(struct listener *l)
{
	int status;

	for (size_t i = 0; i < CLIENTS_MAX; i++)
		if (l->client[i].pid && proc_wait(&l->client[i], 0, &status) >= 0)
			proc_done(&l->client[i]);
}

/* Each removes what it has made. */
static void end_clients(struct listener *l)
{
	int status;

	for (size_t i = 0; i < CLIENTS_MAX; i++)
		if (l->client[i].pid)
			(void)!proc_signal(&l->client[i], SIGTERM);
	for (size_t i = 0; i < CLIENTS_MAX; i++) {
		if (l->client[i].pid)
			(void)!proc_wait(&l->client[i], CLIENT_END_MS, &status);
		proc_done(&l->client[i]);
	}
}

/* Until SIGINT, SIGTERM or SIGHUP. */
static int accept_clients(struct listener *l)
{
	for (;;) {
		struct pollfd p[] = { { .fd = l->fd, .events = POLLIN }, { .fd = l->signals, .events = POLLIN } };
		struct signalfd_siginfo si;
		int fd = -1;

		if (poll(p, ARRAY_SIZE(p), -1) < 0 && errno != EINTR)
			return fail_r(-errno, NULL, "cannot wait for editors");
		if (p[1].revents && read(l->signals, &si, sizeof(si)) == sizeof(si) && si.ssi_signo != SIGCHLD)
			return 0;
		reap_clients(l);
		if (p[0].revents && stub_accept(l->fd, 0, &fd) >= 0)
			start_client(l, fd);
		closep(&fd);
	}
}

static int open_listener(const struct values *v, int *ret_fd, uint16_t *ret_port)
{
	struct errinfo ei = { 0 };
	uint64_t port = 0;
	int r = v->path ? stub_listen_unix(v->path, ret_fd, &ei) : str_parse_u64(v->port, &port);

	if (!v->path && (r < 0 || port > UINT16_MAX))
		return fail(EXIT_USAGE, "'%.200s' is no port: a number up to 65535 is wanted, 0 takes a free one", v->port);
	if (!v->path)
		r = stub_listen_port((uint16_t)port, ret_port, ret_fd, &ei);
	return r < 0 ? fail_r(r, &ei, "cannot listen on %s%.200s", v->path ? "" : "port ", v->path ? v->path : v->port) : 0;
}

static int serve_many(const struct values *v)
{
	struct listener l = { .v = v, .fd = -1, .signals = -1 };
	uint16_t port = 0;
	int r;

	l.signals = take_signals(SIGCHLD);
	if (l.signals < 0)
		return fail_r(l.signals, NULL, "cannot wait for signals");
	r = open_listener(v, &l.fd, &port);
	if (r)
		return r;
	if (v->path)
		printf("Listening on %s\n", v->path);
	else
		printf("Listening on 127.0.0.1:%u\n", port);
	fflush(stdout);
	r = accept_clients(&l);
	end_clients(&l);
	if (v->path)
		unlink(v->path);
	closep(&l.fd);
	closep(&l.signals);
	return r;
}

static int serve(void *values)
{
	const struct values *v = values;
	log_set_program("hermit-dap: ");
	if (v->log && log_set_filter(v->log) < 0)
		return fail(EXIT_USAGE, "'%.200s' is no log level: off, error, warn, info, debug, trace; by area: warn,dap:debug", v->log);
	if (v->log_file) {
		int fd = os_open(v->log_file, O_WRONLY | O_CREAT | O_APPEND, 0600);

		if (fd < 0)
			return fail_r(fd, NULL, "cannot write the log to %.200s", v->log_file);
		log_set_fd(fd);
	}
	return v->port || v->path ? serve_many(v) : serve_stdio(v);
}

int main(int argc, char **argv)
{
	struct values v = { 0 };
	const struct single p = {
		.name = "hermit-dap",
		.opts = opts,
		.values = &v,
		.version = &v.version,
		.about = "hermit-dap shows recordings to editors that speak the Debug Adapter Protocol (VS Code, Neovim, Emacs, Helix, ...), forwards and "
			 "backwards. Editors start it; hermit-dap(1) tells how to set them up.",
		.example = "Example of what an editor sends in launch:\n"
			   "    { \"recording\": \"6ba7\", \"stopAt\": \"crash\" }\n",
		.run = serve,
	};

	return single_main(&p, argc, argv);
}
