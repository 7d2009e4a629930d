/* Terminals: see term.h. The state is file-scope because streams and signals are the process's. */
#include "cli/term.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <langinfo.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>
#include "base/buf.h"
#include "base/os.h"
#include "base/str.h"

#define PROGRESS_FIRST_NS 1000000000ull /* shorter work shows nothing */
#define PROGRESS_EVERY_NS 200000000ull

static bool tty[TERM_STREAM_MAX_], colour[TERM_STREAM_MAX_];

static struct {
	const char *what; /* NULL: nothing going on */
	uint64_t began_ns, next_ns;
	bool shown, noting;
	struct sigaction old[3];
} progress;

static volatile sig_atomic_t interrupted;
static const int noted_signals[3] = { SIGINT, SIGTERM, SIGHUP };

static int fd_of(enum term_stream s)
{
	return s == TERM_OUT ? STDOUT_FILENO : STDERR_FILENO;
}

void term_guard_fds(void)
{
	int fd;

	do {
		fd = open("/dev/null", O_RDWR | O_CLOEXEC);
	} while (fd >= 0 && fd <= STDERR_FILENO);
	if (fd > STDERR_FILENO)
		close(fd);
}

void term_init(void)
{
	const char *name = getenv("TERM"), *no = getenv("NO_COLOR");

	for (int s = 0; s < TERM_STREAM_MAX_; s++) {
		tty[s] = isatty(fd_of((enum term_stream)s));
		colour[s] = tty[s] && !(no && *no) && !(name && !strcmp(name, "dumb"));
	}
}

bool term_is_tty(enum term_stream s)
{
	return tty[s];
}

const char *term_style(enum term_stream s, enum term_style style)
{
	static const char *const code[TERM_STYLE_MAX_] = {
		[TERM_PLAIN] = "\033[0m", [TERM_BOLD] = "\033[1m",    [TERM_DIM] = "\033[2m",   [TERM_RED] = "\033[31m",
		[TERM_GREEN] = "\033[32m", [TERM_YELLOW] = "\033[33m", [TERM_CYAN] = "\033[36m",
	};

	return colour[s] ? code[style] : "";
}

unsigned term_width(enum term_stream s)
{
	struct winsize ws;

	return tty[s] && !ioctl(fd_of(s), TIOCGWINSZ, &ws) ? ws.ws_col : 0;
}

unsigned term_help_width(void)
{
	unsigned w = term_width(TERM_OUT);

	return w ? MIN(MAX(w, 60u), 100u) : 80;
}

bool term_utf8(void)
{
	return !strcmp(nl_langinfo(CODESET), "UTF-8");
}

/* --- progress --- */

static void note_signal(int signo)
{
	interrupted = signo;
}

void term_progress_watch(const char *what)
{
	progress.what = what;
	progress.began_ns = os_mono_ns();
	progress.next_ns = progress.began_ns + PROGRESS_FIRST_NS;
	progress.shown = progress.noting = false;
	interrupted = 0;
}

void term_progress_begin(const char *what)
{
	struct sigaction sa = { .sa_handler = note_signal };

	term_progress_watch(what);
	progress.noting = true;
	sigemptyset(&sa.sa_mask);
	for (size_t i = 0; i < ARRAY_SIZE(noted_signals); i++) {
		sigaction(noted_signals[i], NULL, &progress.old[i]);
		/* nohup and shells' background jobs ignore them: so do we */
		if (progress.old[i].sa_handler != SIG_IGN)
			sigaction(noted_signals[i], &sa, NULL);
	}
}

static void put_amount(struct buf *out, const char *unit, uint64_t n)
{
	if (unit)
		buf_printf(out, "%" PRIu64 " %s", n, unit);
	else
		buf_put_size(out, n);
}

static void show_line(const char *unit, uint64_t done, uint64_t total)
{
	struct buf b CLEANUP(buf_done) = { 0 };
	uint64_t elapsed = os_mono_ns() - progress.began_ns;

	buf_printf(&b, "%s: ", progress.what);
	if (total)
		buf_printf(&b, "%3u%%  ", (unsigned)MIN(100.0, (double)done * 100 / (double)total));
	put_amount(&b, unit, done);
	if (total) {
		buf_printf(&b, " of ");
		put_amount(&b, unit, total);
	}
	buf_printf(&b, "  ");
	buf_put_duration(&b, elapsed);
	fprintf(stderr, "\r%s\033[K", buf_cstr(&b));
	fflush(stderr);
	progress.shown = true;
}

int term_progress_count(const char *unit, uint64_t done, uint64_t total)
{
	uint64_t now;

	if (interrupted)
		return ERR_INTERRUPTED;
	if (!progress.what || !tty[TERM_ERR])
		return 0;
	now = os_mono_ns();
	if (now < progress.next_ns)
		return 0;
	progress.next_ns = now + PROGRESS_EVERY_NS;
	show_line(unit, done, total);
	return 0;
}

int term_progress(void *ctx UNUSED, uint64_t done, uint64_t total)
{
	return term_progress_count(NULL, done, total);
}

void term_progress_clear(void)
{
	if (progress.shown)
		fputs("\r\033[K", stderr);
	progress.shown = false;
}

void term_progress_end(void)
{
	term_progress_clear();
	progress.what = NULL;
	if (!progress.noting)
		return;
	progress.noting = false;
	for (size_t i = 0; i < ARRAY_SIZE(noted_signals); i++)
		sigaction(noted_signals[i], &progress.old[i], NULL);
	if (interrupted)
		term_die_by(interrupted);
}

/* --- ending by signal --- */

void term_die_by(int signo)
{
	struct sigaction sa = { .sa_handler = SIG_DFL };
	struct rlimit none = { 0, 0 };
	sigset_t set;

	fflush(NULL);
	/* RLIMIT_CORE does not stop a core_pattern that is a pipe; not being dumpable does. */
	setrlimit(RLIMIT_CORE, &none);
	prctl(PR_SET_DUMPABLE, 0);
	sigemptyset(&sa.sa_mask);
	sigaction(signo, &sa, NULL);
	sigemptyset(&set);
	sigaddset(&set, signo);
	sigprocmask(SIG_UNBLOCK, &set, NULL);
	raise(signo);
	_exit(128 + signo);
}
