/* hermitd: the recorder daemon. Configuration, signals, and the order in which its parts begin and end; all else is in daemon/ and web/. */
#define LOG_AREA "hermitd"
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "base/build.h"
#include "base/log.h"
#include "base/os.h"
#include "cli/fail.h"
#include "cli/opt.h"
#include "cli/single.h"
#include "daemon/control.h"
#include "daemon/ctl.h"
#include "daemon/systemd.h"
#include "web/web.h"

#define WEB_GRACE_MS 2000

struct values {
	const char *config, *data_dir, *token_file, *log;
	struct opt_list listen;
	bool read_only, detached, version;
};

/* clang-format off */
#define ROW(kind_, letter_, name_, member, ...) \
	{ .kind = kind_, .letter = letter_, .name = name_, .offset = offsetof(struct values, member), __VA_ARGS__ }

static const struct opt opts[] = {
	ROW(OPT_STRING, 'c', "config", config, .arg = "FILE",
	    .help = "Settings, as hermitd.conf(5) explains; without it hermit/hermitd.conf in $XDG_CONFIG_HOME or ~/.config is read if it is there"),
	ROW(OPT_STRING, 0, "data-dir", data_dir, .arg = "DIR", .env = "HERMIT_DATA_DIR",
	    .help = "Directory of the recordings; without it $XDG_DATA_HOME/hermit or ~/.local/share/hermit"),
	ROW(OPT_LIST, 0, "listen", listen, .arg = "ADDRESS",
	    .help = "Where the page and the API are: ADDRESS:PORT or unix:PATH (127.0.0.1:7777); may be repeated"),
	ROW(OPT_STRING, 0, "token-file", token_file, .arg = "FILE",
	    .help = "The token that clients must show; made when it is not there"),
	ROW(OPT_FLAG, 0, "read-only", read_only,
	    .help = "Refuse what changes anything"),
	ROW(OPT_FLAG, 0, "detached", detached, .hidden = true,
	    .help = "Leave the terminal"),
	ROW(OPT_STRING, 'l', "log", log, .arg = "LEVEL", .env = "HERMIT_LOG",
	    .help = "What is told about the work: off, error, warn, info (default), debug or trace; also by area, as in info,daemon:debug"),
	ROW(OPT_FLAG, 'V', "version", version,
	    .help = "Print the version"),
	{ .kind = OPT_END_ },
};
/* clang-format on */

struct hermitd {
	struct daemon_config cfg;
	bool any_port; /* no address was asked for: if the usual port is taken, another one will do */
	struct systemd systemd;
	struct loop *loop;
	struct daemon *daemon;
	struct web *web;
	struct control *control;
	bool stopping;
};

/* --- configuration --- */

static int load_usual_file(struct daemon_config *cfg, struct errinfo *ei)
{
	const char *xdg = getenv("XDG_CONFIG_HOME"), *home = getenv("HOME");
	bool has_xdg = xdg && *xdg == '/';
	char *path CLEANUP(freep) = NULL;

	if (!has_xdg && !(home && *home == '/'))
		return 0;
	path = has_xdg ? os_asprintf("%s/hermit/hermitd.conf", xdg) : os_asprintf("%s/.config/hermit/hermitd.conf", home);
	if (!path)
		return -ENOMEM;
	return access(path, F_OK) < 0 ? 0 : config_load(cfg, path, ei);
}

static int set_if(struct daemon_config *cfg, const char *name, const char *value, struct errinfo *ei)
{
	return value ? config_set(cfg, name, value, ei) : 0;
}

static int configure(struct hermitd *h, const struct values *v, struct errinfo *ei)
{
	struct daemon_config *cfg = &h->cfg;
	int r = v->config ? config_load(cfg, v->config, ei) : load_usual_file(cfg, ei);

	if (r == 0)
		r = set_if(cfg, "data_dir", v->data_dir, ei);
	if (r == 0)
		r = set_if(cfg, "token_file", v->token_file, ei);
	if (r == 0)
		r = set_if(cfg, "read_only", v->read_only ? "yes" : NULL, ei);
	/* addresses of the command line are instead of those in the file */
	if (r == 0 && v->listen.n)
		r = config_set(cfg, "listen", "", ei);
	for (size_t i = 0; i < v->listen.n && r == 0; i++)
		r = config_set(cfg, "listen", v->listen.v[i], ei);
	h->any_port = !cfg->listen;
	return r == 0 ? config_finish(cfg, ei) : r;
}

/* --- running --- */

static int finished(void *ctx)
{
	struct hermitd *h = ctx;

	loop_quit(h->loop);
	return 0;
}

static void tell_manager(const struct hermitd *h, const char *text)
{
	int r = systemd_notify(&h->systemd, text);

	if (r < 0)
		log_warn("tell the service manager: %s", err_str(r));
}

static int on_watchdog(void *ctx)
{
	tell_manager(ctx, "WATCHDOG=1");
	return 0;
}

static int on_stop(void *ctx, int signo)
{
	struct hermitd *h = ctx;

	if (h->stopping) {
		log_warn("stopped by a second SIG%s; what was not finished ends by itself", sigabbrev_np(signo));
		_exit(128 + signo);
	}
	h->stopping = true;
	log_info("SIG%s: stopping", sigabbrev_np(signo));
	tell_manager(h, "STOPPING=1");
	daemon_drain(h->daemon, finished, h);
	return 0;
}

static int ignore_signal(void *ctx, int signo)
{
	(void)ctx;
	log_info("SIG%s: nothing to do", sigabbrev_np(signo));
	return 0;
}

static const struct {
	int signo;
	loop_signal_fn fn;
} signals[] = {
	{ SIGTERM, on_stop },
	{ SIGINT, on_stop },
	{ SIGHUP, ignore_signal },
};

/* Before any thread: they inherit the mask. */
static int take_signals(struct hermitd *h)
{
	struct loop_source *s;
	int r = signal(SIGPIPE, SIG_IGN) == SIG_ERR ? -errno : 0;

	for (size_t i = 0; i < ARRAY_SIZE(signals) && r == 0; i++)
		r = loop_add_signal(h->loop, signals[i].signo, signals[i].fn, h, &s);
	return r;
}

static int open_web(struct hermitd *h, struct errinfo *ei)
{
	struct errinfo first = { 0 };
	size_t n = h->systemd.n_fds;
	int r;

	h->systemd.n_fds = 0; /* they are web's now */
	r = web_new(h->daemon, n ? h->systemd.fds : NULL, n, &h->web, &first);
	if (r == -EADDRINUSE && h->any_port) {
		log_warn("%s; another port is used ('hermit open' knows it)", first.text);
		r = config_set(&h->cfg, "listen", "", ei);
		if (r == 0)
			r = config_set(&h->cfg, "listen", "127.0.0.1:0", ei);
		return r == 0 ? web_new(h->daemon, NULL, 0, &h->web, ei) : r;
	}
	if (r < 0 && !ei->text[0])
		*ei = first;
	return r;
}

static int tell_urls(struct hermitd *h)
{
	const char *url;
	int r = 0;

	for (size_t i = 0; r == 0 && (url = web_url(h->web, i)); i++) {
		log_info("the page and the API are at %s", url);
		r = control_add_url(h->control, url);
	}
	return r;
}

static int tell_ready(struct hermitd *h)
{
	const char *url = web_url(h->web, 0);
	char *text CLEANUP(freep) = os_asprintf("READY=1\nSTATUS=%s", url ? url : "ready");
	struct loop_source *s;
	uint64_t every = h->systemd.watchdog_ns / 2;

	tell_manager(h, text ? text : "READY=1");
	return every ? loop_add_timer(h->loop, "watchdog", every, every, on_watchdog, h, &s) : 0;
}

static int start(struct hermitd *h, struct errinfo *ei)
{
	int sock, lock;
	int r = loop_new(&h->loop);

	if (r == 0)
		r = take_signals(h);
	if (r < 0)
		return errinfo_set_r(ei, r, "start");
	r = ctl_listen(h->cfg.runtime_dir, &sock, &lock, ei);
	if (r < 0)
		return r;
	r = daemon_new(h->loop, &h->cfg, &h->daemon, ei);
	if (r < 0) {
		close(sock);
		close(lock);
		return r;
	}
	r = control_new(h->daemon, sock, lock, build_version(), &h->control);
	if (r < 0)
		return errinfo_set_r(ei, r, "control socket");
	r = open_web(h, ei);
	if (r == 0)
		r = tell_urls(h);
	return r == 0 ? tell_ready(h) : r;
}

static int run(struct hermitd *h, const struct values *v)
{
	struct errinfo ei = { 0 };
	int r = systemd_begin(&h->systemd, &ei);

	if (r < 0)
		return fail_r(r, &ei, "the service manager's environment makes no sense");
	r = configure(h, v, &ei);
	if (r < 0)
		return fail_r(r, &ei, "the configuration cannot be used");
	r = start(h, &ei);
	if (r < 0)
		return fail_r(r, &ei, "hermitd cannot start");
	log_info("hermitd %s keeps its recordings in %s", build_version(), h->cfg.data_dir);
	r = loop_run(h->loop);
	log_info("stopped");
	return r < 0 ? fail_r(r, NULL, "hermitd cannot go on") : 0;
}

static int serve(void *values)
{
	const struct values *v = values;
	struct hermitd h = { 0 };
	int r;

	log_set_program("hermitd: ");
	if (log_set_filter(v->log ? v->log : "info") < 0)
		return fail(EXIT_USAGE, "'%.200s' is no log level: off, error, warn, info, debug, trace; by area: info,daemon:debug", v->log);
	if (v->detached)
		setsid();
	umask(umask(0) & 077); /* whoever starts us may have a mask that keeps us from our own files */
	unsetenv("HERMIT_LOG_FILE"); /* children would empty it */
	config_init(&h.cfg);
	r = run(&h, v);
	systemd_done(&h.systemd);
	web_free(h.web, WEB_GRACE_MS);
	control_free(h.control);
	daemon_free(h.daemon);
	loop_free(h.loop);
	config_done(&h.cfg);
	return r;
}

int main(int argc, char **argv)
{
	struct values v = { 0 };
	const struct single p = {
		.name = "hermitd",
		.opts = opts,
		.values = &v,
		.version = &v.version,
		.about = "hermitd makes recordings for others, in the background or from a browser, and shows the recordings there are: a page and an HTTP API. "
			 "'hermit record start -d' starts it when it is needed.",
		.example = "Example:\n"
			   "    hermitd &\n"
			   "    hermit open                    # its page, in the browser\n",
		.run = serve,
	};

	return single_main(&p, argc, argv);
}
