/* See replays.h. */
#include "cli/replays.h"

#include <stdio.h>
#include <sys/stat.h>
#include "cli/fail.h"
#include "cli/term.h"

int replay_open(struct replay *p, struct store *s, const struct store_id *id, struct errinfo *ei)
{
	return store_reader_open(s, id, &p->reader, ei);
}

void replay_done(struct replay *p)
{
	rep_session_free(p->session);
	store_reader_free(p->reader);
	*p = (struct replay){ 0 };
}

static void show_progress(void *ctx UNUSED, uint64_t event, uint64_t total)
{
	/* cannot be interrupted in order: the signals are not noted here but end the process, and the replayed ones with it */
	int r = term_progress_count("events", event, total);

	must(r == 0);
}

/* A progress line amid the guest's own output would garble both. */
static bool shares_terminal(int fd)
{
	struct stat a, b;

	return fd >= 0 && !fstat(fd, &a) && !fstat(2, &b) && a.st_rdev == b.st_rdev && a.st_ino == b.st_ino;
}

int replay_run(struct replay *p, int stdout_fd, int stderr_fd, bool check, struct rep_result *ret, struct errinfo *ei)
{
	struct rep_options opt = { .stdout_fd = stdout_fd, .stderr_fd = stderr_fd, .check = check };
	int r;

	if (!shares_terminal(stdout_fd) && !shares_terminal(stderr_fd)) {
		opt.progress = show_progress;
		term_progress_watch("replaying");
	}
	r = rep_session_new(p->reader, &opt, &p->session, ei);
	if (r >= 0)
		r = rep_session_run(p->session, ret, ei);
	term_progress_end();
	return r;
}

int replay_report(struct replay *p, const struct store_id *id, int r, const struct errinfo *ei)
{
	struct buf report CLEANUP(buf_done) = { 0 };
	int code;

	fflush(stdout);
	if (r != ERR_DIVERGED)
		return fail_r(r, ei, "cannot replay recording %s", id->hex);
	code = fail_diverged("the replay of %s diverged from the recording", id->hex);
	fail_causes(r, ei);
	if (p->session)
		rep_session_report(p->session, &report);
	fprintf(stderr, "%s", buf_cstr(&report));
	return code;
}
