/* See debug_gdb.h. */
#define LOG_AREA "cli.debug"
#include "cli/debug_gdb.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>
#include "base/log.h"
#include "base/os.h"
#include "base/proc.h"
#include "base/str.h"
#include "cli/ending.h"
#include "cli/fail.h"
#include "cli/term.h"
#include "gdbstub/gdbstub.h"

/* --- the server's process --- */

/* Signals that are for this process to act upon. */
static const int watched[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT };

struct pair {
	struct proc server, gdb;
	int ready;             /* readable when the server stands */
	int signals;           /* signalfd */
	sigset_t old_mask;
	char *dir;             /* owned temporary directory, NULL = none */
	const char *unix_path; /* of the socket, to be removed; NULL = none */
};

static void pair_init(struct pair *p)
{
	*p = (struct pair){ .server = PROC_NONE, .gdb = PROC_NONE, .ready = -1, .signals = -1 };
}

static void remove_dir(const char *dir)
{
	static const char *const names[] = { DEBUG_SOCKET_NAME, DEBUG_SCRIPT_NAME };

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		char *path CLEANUP(freep) = os_asprintf("%s/%s", dir, names[i]);
		int r = path ? os_unlink(path) : 0;

		if (r < 0 && r != -ENOENT)
			log_debug("remove %s: %s", path, err_str(r));
	}
	rmdir(dir);
}

static void pair_done(struct pair *p)
{
	proc_done(&p->gdb);
	proc_done(&p->server);
	if (p->unix_path && unlink(p->unix_path) < 0)
		log_debug("remove %s: %s", p->unix_path, strerror(errno));
	if (p->dir)
		remove_dir(p->dir);
	free(p->dir);
	closep(&p->ready);
	closep(&p->signals);
	sigprocmask(SIG_SETMASK, &p->old_mask, NULL);
}

static int watch_signals(struct pair *p)
{
	struct sigaction sa;
	sigset_t set;

	sigemptyset(&set);
	for (size_t i = 0; i < ARRAY_SIZE(watched); i++)
		/* nohup and shells' background jobs ignore them: so do we */
		if (sigaction(watched[i], NULL, &sa) == 0 && sa.sa_handler != SIG_IGN)
			sigaddset(&set, watched[i]);
	sigprocmask(SIG_BLOCK, &set, &p->old_mask);
	p->signals = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	return p->signals < 0 ? -errno : 0;
}

/* Not in the terminal's session: ^C is for gdb, which asks the server to stop in its own words. */
static NORETURN void run_server(const struct debug_job *job, struct pair *p, int listen_fd, int ready, pid_t parent)
{
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(EXIT_INTERNAL);
	setsid();
	sigprocmask(SIG_SETMASK, &p->old_mask, NULL);
	closep(&p->signals);
	if (null < 0 || dup2(null, STDIN_FILENO) < 0 || dup2(null, STDOUT_FILENO) < 0)
		_exit(EXIT_INTERNAL);
	exit(debug_serve(job, listen_fd, ready));
}

static int start_server(const struct debug_job *job, struct pair *p, int listen_fd)
{
	pid_t parent = getpid();
	int fds[2];

	if (pipe2(fds, O_CLOEXEC) < 0)
		return fail_r(-errno, NULL, "cannot start the replay");
	fflush(NULL);
	p->server.pid = fork();
	if (p->server.pid == 0) {
		close(fds[0]);
		run_server(job, p, listen_fd, fds[1], parent);
	}
	close(fds[1]);
	p->ready = fds[0];
	if (p->server.pid < 0) {
		p->server.pid = 0;
		return fail_r(-errno, NULL, "cannot start the replay");
	}
	p->server.pidfd = (int)syscall(SYS_pidfd_open, p->server.pid, 0);
	return p->server.pidfd < 0 ? fail_r(-errno, NULL, "cannot start the replay") : 0;
}

static int next_signal(const struct pair *p)
{
	struct signalfd_siginfo si;

	return os_read(p->signals, &si, sizeof(si)) == sizeof(si) ? (int)si.ssi_signo : 0;
}

/* The exit code that the server's end stands for; it has said why. */
static int server_code(struct pair *p)
{
	int status;

	if (proc_wait(&p->server, -1, &status) < 0)
		return EXIT_INTERNAL;
	if (WIFEXITED(status))
		return WEXITSTATUS(status);
	return fail(EXIT_INTERNAL, "the replay was killed by signal %d", WTERMSIG(status));
}

/* Until the session stands. 0; else the exit code; *ret_signo: a signal that asked to end. */
static int await_ready(struct pair *p, int *ret_signo)
{
	for (;;) {
		struct pollfd fds[] = { { .fd = p->ready, .events = POLLIN }, { .fd = p->signals, .events = POLLIN } };
		char byte;

		if (poll(fds, ARRAY_SIZE(fds), -1) < 0 && errno != EINTR)
			return fail_r(-errno, NULL, "cannot wait for the replay");
		if (fds[1].revents)
			*ret_signo = next_signal(p);
		if (*ret_signo)
			return EXIT_INTERNAL;
		if (!fds[0].revents)
			continue;
		return os_read(p->ready, &byte, 1) == 1 ? 0 : server_code(p);
	}
}

/* Starts the server behind the socket. 0, or an exit code; a signal ends this process here. */
static int bring_up(const struct debug_job *job, struct pair *p, int listen_fd)
{
	int signo = 0;
	int r = start_server(job, p, listen_fd);

	if (!r)
		r = await_ready(p, &signo);
	if (signo) {
		pair_done(p);
		term_die_by(signo);
	}
	return r;
}

/* --- with gdb --- */

/* A directory of our own whose name is short enough for sockets and plain enough for gdb's command line. */
static char *make_dir(void)
{
	const char *tops[] = { getenv("XDG_RUNTIME_DIR"), getenv("TMPDIR"), "/tmp" };

	for (size_t i = 0; i < ARRAY_SIZE(tops); i++) {
		const char *top = tops[i];
		char *dir;

		if (!top || top[0] != '/' || strlen(top) > sizeof(((struct sockaddr_un *)0)->sun_path) - 40 || strpbrk(top, " \t\n\r\\\"'"))
			continue;
		dir = os_asprintf("%s/hermit-gdb-XXXXXX", top);
		if (dir && mkdtemp(dir))
			return dir;
		free(dir);
	}
	return NULL;
}

static int write_script(const char *dir)
{
	const char *text = stub_gdb_script();
	char *path CLEANUP(freep) = os_asprintf("%s/" DEBUG_SCRIPT_NAME, dir);
	int fd CLEANUP(closep) = path ? os_open(path, O_WRONLY | O_CREAT | O_EXCL, 0600) : -ENOMEM;

	return fd < 0 ? fd : os_write_full(fd, text, strlen(text));
}

static int listen_in_dir(struct pair *p, int *ret_fd)
{
	char *path CLEANUP(freep) = NULL;
	struct errinfo ei = { 0 };
	int r;

	p->dir = make_dir();
	if (!p->dir) {
		fail(EXIT_INTERNAL, "cannot make a directory for the connection of gdb");
		fail_cause("%s: set TMPDIR to a place that can be written", strerror(errno));
		return EXIT_INTERNAL;
	}
	path = os_asprintf("%s/" DEBUG_SOCKET_NAME, p->dir);
	r = path ? write_script(p->dir) : -ENOMEM;
	if (r >= 0)
		r = stub_listen_unix(path, ret_fd, &ei);
	return r < 0 ? fail_r(r, &ei, "cannot prepare the connection of gdb") : 0;
}

static int start_gdb(const struct debug_gdb *g, struct pair *p)
{
	char **argv = NULL;
	int r = debug_gdb_argv(g, p->dir, &argv);

	if (r < 0)
		return fail_memory();
	r = proc_spawn(&(struct proc_options){ .argv = (const char *const *)argv }, &p->gdb);
	debug_free_argv(argv);
	return r < 0 ? fail_r(r, NULL, "cannot start %s", g->program) : 0;
}

/* ^C and ^\ are gdb's: it is in the foreground as well, and has them already. A request to end is passed on. */
static int await_gdb(struct pair *p, int *ret_status)
{
	for (;;) {
		struct pollfd fds[] = { { .fd = p->gdb.pidfd, .events = POLLIN }, { .fd = p->signals, .events = POLLIN } };
		int signo;

		if (poll(fds, ARRAY_SIZE(fds), -1) < 0 && errno != EINTR)
			return -errno;
		signo = fds[1].revents ? next_signal(p) : 0;
		if (signo == SIGTERM || signo == SIGHUP)
			proc_signal(&p->gdb, signo);
		if (fds[0].revents)
			return proc_wait(&p->gdb, -1, ret_status);
	}
}

int debug_run_gdb(const struct debug_job *job, const struct debug_gdb *g)
{
	int listen_fd CLEANUP(closep) = -1;
	struct pair p;
	int r, status = -1;

	pair_init(&p);
	r = watch_signals(&p);
	r = r < 0 ? fail_r(r, NULL, "cannot start the debugger") : listen_in_dir(&p, &listen_fd);
	if (!r)
		r = bring_up(job, &p, listen_fd);
	if (!r)
		r = start_gdb(g, &p);
	if (!r && await_gdb(&p, &status) < 0)
		r = fail(EXIT_INTERNAL, "lost the debugger");
	pair_done(&p);
	return r ? r : end_like(status);
}

/* --- without --- */

static int open_listener(const struct debug_listen *where, struct pair *p, int *ret_fd, uint16_t *ret_port)
{
	struct errinfo ei = { 0 };
	uint64_t port = 0;
	int r;

	*ret_port = 0;
	if (where->path) {
		r = stub_listen_unix(where->path, ret_fd, &ei);
		if (r >= 0)
			p->unix_path = where->path;
	} else if (!where->port || str_parse_u64(where->port, &port) == 0) {
		r = port > UINT16_MAX ? -EINVAL : stub_listen_port((uint16_t)port, ret_port, ret_fd, &ei);
	} else {
		r = stub_listen_host(where->port, ret_port, ret_fd, &ei);
	}
	if (r >= 0)
		return 0;
	fail(EXIT_INTERNAL, "cannot listen on %s", where->path ? where->path : where->port ? where->port : "127.0.0.1");
	fail_cause("%s", ei.text[0] ? ei.text : err_str(r));
	if (r == -EINVAL)
		fail_cause("a port of this machine is wanted (1234, localhost:1234): debuggers elsewhere come through ssh");
	return EXIT_INTERNAL;
}

static void tell(const struct debug_job *job, const struct debug_listen *where, uint16_t port)
{
	struct buf b CLEANUP(buf_done) = { 0 };

	if (where->path)
		buf_put_shell_quoted(&b, where->path);
	else
		buf_printf(&b, "127.0.0.1:%u", port);
	printf("Listening on %s\n", buf_cstr(&b));
	fflush(stdout);
	fprintf(stderr, "\nTo debug recording %s, run in another terminal:\n\n    gdb -iex 'set auto-load off' -ex 'set sysroot target:' -ex "
			"'target remote %s'\n\n",
		job->id.hex, where->path ? where->path : buf_cstr(&b));
}

static int await_end(struct pair *p)
{
	for (;;) {
		struct pollfd fds[] = { { .fd = p->server.pidfd, .events = POLLIN }, { .fd = p->signals, .events = POLLIN } };

		if (poll(fds, ARRAY_SIZE(fds), -1) < 0 && errno != EINTR)
			return fail_r(-errno, NULL, "cannot wait for the replay");
		if (fds[1].revents && next_signal(p))
			return 0;
		if (fds[0].revents)
			return server_code(p);
	}
}

int debug_run_server(const struct debug_job *job, const struct debug_listen *where)
{
	int listen_fd CLEANUP(closep) = -1;
	struct pair p;
	uint16_t port;
	int r;

	pair_init(&p);
	r = watch_signals(&p);
	r = r < 0 ? fail_r(r, NULL, "cannot start the replay") : open_listener(where, &p, &listen_fd, &port);
	if (!r)
		r = bring_up(job, &p, listen_fd);
	if (!r) {
		tell(job, where, port);
		r = await_end(&p);
	}
	pair_done(&p);
	return r;
}
