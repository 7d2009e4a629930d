/* See debug_session.h. */
#define LOG_AREA "cli.debug"
#include "cli/debug_session.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "base/log.h"
#include "base/os.h"
#include "base/proc.h"
#include "cli/debug_choose.h"
#include "cli/fail.h"
#include "cli/term.h"
#include "gdbstub/gdbstub.h"
#include "replayer/replayer.h"
#include "store/notes.h"

/* Recorded output that is shown at once: as much as a debugger's console can be asked to bear. */
#define OUTPUT_MAX (16u << 20)

struct session {
	const struct debug_job *job;
	struct store_reader *reader;
	struct stub *stub;
	struct dbg *dbg;
	bool serving; /* a client sees what takes long */
};

/* --- the recorded output --- */

/* In a process of its own, since one session can be replayed at a time: gives the output of the first events to fd. */
static NORETURN void replay_output(const struct debug_job *job, uint64_t events, int fd)
{
	const struct rep_options opt = { .stdout_fd = fd, .stderr_fd = fd, .stop_at = events + 1 };
	struct store_reader *r;
	struct rep_session *s;
	struct rep_result result;
	int rc;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	rc = store_reader_open(job->store, &job->id, &r, NULL);
	if (rc >= 0)
		rc = rep_session_new(r, &opt, &s, NULL);
	if (rc >= 0) {
		rc = rep_session_run(s, &result, NULL);
		rep_session_free(s);
	}
	_exit(rc < 0);
}

static int read_output(int fd, struct buf *out)
{
	size_t start = out->len;

	while (out->len - start < OUTPUT_MAX) {
		uint8_t part[1 << 16];
		ssize_t n = os_read(fd, part, MIN(sizeof(part), OUTPUT_MAX - (out->len - start)));

		if (n <= 0)
			return (int)n;
		buf_put(out, part, (size_t)n);
		if (buf_error(out))
			return buf_error(out);
	}
	buf_printf(out, "\n[more output is not shown]\n");
	return 0;
}

static int output(void *ctx, uint64_t events, struct buf *out)
{
	const struct session *s = ctx;
	struct proc p CLEANUP(proc_done) = PROC_NONE;
	int from CLEANUP(closep) = -1;
	int fds[2], r;

	if (!events)
		return 0;
	if (pipe2(fds, O_CLOEXEC) < 0)
		return -errno;
	from = fds[0];
	p.pid = fork();
	if (p.pid == 0)
		replay_output(s->job, events, fds[1]);
	close(fds[1]);
	if (p.pid < 0) {
		p.pid = 0;
		return -errno;
	}
	p.pidfd = (int)syscall(SYS_pidfd_open, p.pid, 0);
	r = read_output(from, out);
	return r < 0 ? r : buf_error(out);
}

/* --- notes that are kept with the recording --- */

static int add_note(void *ctx, struct notes *notes)
{
	const struct stub_note *n = ctx;
	const char *user = getenv("USER");
	struct note from = { .event = n->event };
	int r;

	from.text = (char *)(uintptr_t)n->text;
	from.position = (char *)(uintptr_t)n->position;
	from.author = (char *)(uintptr_t)(user && strlen(user) <= NOTE_AUTHOR_MAX ? user : "");
	r = notes_add(notes, &from, NULL);
	return r < 0 ? r : 1;
}

static int leave_note(void *ctx, const struct stub_note *n, struct errinfo *ei)
{
	const struct session *s = ctx;
	int r = notes_update(s->job->store, &s->job->id, add_note, (void *)(uintptr_t)n, ei);

	return r < 0 ? r : 0;
}

static int show_notes(void *ctx, stub_note_fn fn, void *fn_ctx, struct errinfo *ei)
{
	const struct session *s = ctx;
	struct notes notes CLEANUP(notes_done) = { 0 };
	int r = notes_load(s->job->store, &s->job->id, &notes, ei);

	for (size_t i = 0; i < notes.n && r >= 0; i++)
		r = fn(fn_ctx, &(struct stub_note){ .event = notes.v[i].event, .position = notes.v[i].position, .text = notes.v[i].text });
	return r < 0 ? r : 0;
}

/* --- going to the place --- */

static bool tick(void *ctx, const struct dbg_progress *p)
{
	struct session *s = ctx;

	if (s->serving)
		return stub_tick(s->stub, p);
	/* signals end the process as it is, with all that it replays */
	return term_progress_count("events", p->event, p->total) < 0;
}

static int seek_crash(struct session *s, struct dbg_stop *stop, struct errinfo *ei)
{
	struct store_reader *r CLEANUP(store_reader_freep) = NULL;
	struct dbg_pos pos = { .arrived = true };
	uint64_t event;
	int rc = store_reader_open(s->job->store, &s->job->id, &r, ei);

	if (rc >= 0)
		rc = debug_find_crash(r, s->job->process, &event, ei);
	if (rc == ERR_NOT_FOUND)
		return errinfo_set(ei, rc, "no signal killed %s", s->job->process ? "this process" : "a process of this recording");
	if (rc < 0)
		return rc;
	pos.events = event - 1;
	term_progress_watch("replaying to the crash");
	return dbg_seek(s->dbg, &pos, stop, ei);
}

static int seek_position(struct session *s, struct dbg_stop *stop, struct errinfo *ei)
{
	struct dbg_pos pos;
	uint64_t n;
	int r = dbg_pos_parse(s->job->go, &pos);

	if (r < 0)
		return errinfo_set(ei, r, "it is no position");
	r = store_reader_count(s->reader, &n, ei);
	if (r >= 0 && pos.events > n)
		return errinfo_set(ei, ERR_NOT_FOUND, "the recording has %" PRIu64 " events", n);
	return r < 0 ? r : dbg_seek(s->dbg, &pos, stop, ei);
}

static int seek(struct session *s, struct errinfo *ei)
{
	const char *go = s->job->go;
	struct dbg_stop stop;
	int r;

	if (!go)
		return 0;
	term_progress_watch("replaying");
	if (!strcmp(go, "end"))
		r = dbg_seek_end(s->dbg, &stop, ei);
	else if (!strcmp(go, "crash"))
		r = seek_crash(s, &stop, ei);
	else
		r = seek_position(s, &stop, ei);
	term_progress_end();
	if (r == ERR_NOT_FOUND)
		errinfo_set(ei, r, "there is no such position in the history of this process");
	return r;
}

static int report(const struct session *s, int r, const struct errinfo *ei, const char *what)
{
	if (r != ERR_DIVERGED)
		return fail_r(r, ei, "cannot %s recording %s", what, s->job->id.hex);
	fail_diverged("the replay of %s diverged from the recording", s->job->id.hex);
	fail_causes(r, ei);
	return EXIT_INTERNAL;
}

static int open_session(struct session *s)
{
	struct dbg_options opt = { .pid = s->job->pid, .checkpoint_memory = s->job->checkpoint_memory, .tick = tick, .ctx = s };
	struct errinfo ei = { 0 };
	int r = store_reader_open(s->job->store, &s->job->id, &s->reader, &ei);

	if (r >= 0)
		r = stub_new(&(struct stub_options){ .output = output, .note = leave_note, .notes = show_notes, .ctx = s }, &s->stub);
	term_progress_watch("replaying");
	if (r >= 0)
		r = dbg_open(s->reader, &opt, &s->dbg, &ei);
	term_progress_end();
	if (r == ERR_NOT_FOUND) {
		fail(EXIT_INTERNAL, "cannot debug recording %s", s->job->id.hex);
		fail_cause("it has no process %d", s->job->pid);
		return EXIT_INTERNAL;
	}
	if (r < 0)
		return report(s, r, &ei, "debug");
	r = seek(s, &ei);
	if (r >= 0)
		return 0;
	if (r == ERR_DIVERGED)
		return report(s, r, &ei, "debug");
	fail(EXIT_INTERNAL, "cannot go to '%s' in recording %s", s->job->go, s->job->id.hex);
	fail_cause("%s", ei.text[0] ? ei.text : err_str(r));
	return EXIT_INTERNAL;
}

/* --- clients --- */

/* How the client ended, or an error. */
static int serve(struct session *s, int in, int out)
{
	struct errinfo ei = { 0 };
	int r;

	s->serving = true;
	r = stub_serve(s->stub, s->dbg, in, out, &ei);
	s->serving = false;
	if (r < 0)
		report(s, r, &ei, "go on debugging");
	return r;
}

static int serve_clients(struct session *s, int listen_fd)
{
	for (;;) {
		int fd CLEANUP(closep) = -1;
		int r = stub_accept(listen_fd, -1, &fd);

		if (r == -EINTR || r == ERR_INTERRUPTED || r == -ECONNABORTED)
			continue;
		if (r < 0)
			return fail_r(r, NULL, "cannot wait for a debugger");
		r = serve(s, fd, fd);
		if (r == STUB_KILLED)
			return 0;
		if (dbg_lost(s->dbg))
			return fail(EXIT_INTERNAL, "the replay of %s broke: no debugger can be served any more", s->job->id.hex);
	}
}

int debug_serve(const struct debug_job *job, int listen_fd, int ready_fd)
{
	struct session s = { .job = job };
	int r;

	signal(SIGPIPE, SIG_IGN);
	r = open_session(&s);
	if (!r && ready_fd >= 0 && os_write_full(ready_fd, "", 1) < 0)
		log_debug("nobody waits for the session");
	if (!r)
		r = listen_fd >= 0 ? serve_clients(&s, listen_fd) : serve(&s, STDIN_FILENO, STDOUT_FILENO) < 0 ? EXIT_INTERNAL : 0;
	dbg_free(s.dbg);
	stub_free(s.stub);
	store_reader_free(s.reader);
	return r;
}
