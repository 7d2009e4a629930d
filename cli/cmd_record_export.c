/* hermit record export and import: a recording as one file, or through a pipe.
 *
 * A regular FILE appears complete or not at all: it is written beside its place and renamed. Pipes and devices are written directly. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/os.h"
#include "base/str.h"
#include "cli/cmd.h"
#include "cli/fail.h"
#include "cli/stores.h"
#include "cli/term.h"
#include "store/maintain.h"

struct values {
	const char *data_dir;
};

static bool is_pipe_name(const char *file)
{
	return !strcmp(file, "-");
}

/* Can the file be replaced by renaming? Not when it is a pipe, a device or a link to elsewhere. */
static bool can_replace(const char *file)
{
	struct stat st;

	return lstat(file, &st) || S_ISREG(st.st_mode);
}

static int export_to(struct store *s, const struct store_id *id, int fd, struct errinfo *ei)
{
	term_progress_begin("exporting");
	return store_export(s, id, fd, term_progress, NULL, ei);
}

static int export_direct(struct store *s, const struct store_id *id, const char *file, struct errinfo *ei)
{
	int fd CLEANUP(closep) = -1;

	if (is_pipe_name(file))
		return export_to(s, id, STDOUT_FILENO, ei);
	fd = os_open(file, O_WRONLY | O_TRUNC | O_NOCTTY, 0666);
	return fd < 0 ? errinfo_set_r(ei, fd, "open %s", file) : export_to(s, id, fd, ei);
}

static int export_beside(struct store *s, const struct store_id *id, const char *file, struct errinfo *ei)
{
	char *part CLEANUP(freep) = os_asprintf("%s.part-%d", file, (int)getpid());
	int fd CLEANUP(closep) = -1;
	int r;

	if (!part)
		return -ENOMEM;
	/* for its owner alone, as the store: it holds everything the program has read */
	fd = os_open(part, O_WRONLY | O_CREAT | O_EXCL, 0600);
	if (fd < 0)
		return errinfo_set_r(ei, fd, "create %s", part);
	r = export_to(s, id, fd, ei);
	if (r >= 0)
		r = os_fsync(fd);
	if (r >= 0)
		r = os_rename(part, file);
	if (r < 0) {
		unlink(part);
		errinfo_set_r(ei, r, "write %s", file);
	}
	return r;
}

static int run_export(const struct cmd_call *call)
{
	const struct values *v = call->values;
	const char *file = call->argv[1];
	struct store *s CLEANUP(store_freep) = NULL;
	struct errinfo ei = { 0 };
	struct store_id id;
	int r;

	if (is_pipe_name(file) && term_is_tty(TERM_OUT))
		return cmd_usage(call->cmd, "a recording is not written to a terminal; redirect the output or name a file");
	r = stores_open_resolve(v->data_dir, call->argv[0], &s, &id);
	if (r)
		return r;
	r = is_pipe_name(file) || !can_replace(file) ? export_direct(s, &id, file, &ei) : export_beside(s, &id, file, &ei);
	term_progress_end();
	/* a reader that has seen enough, as in `| tar t | head`, is no failure worth a word */
	if (r == -EPIPE)
		term_die_by(SIGPIPE);
	return r < 0 ? fail_r(r, &ei, "cannot export recording %s to %s", id.hex, file) : 0;
}

static int run_import(const struct cmd_call *call)
{
	const struct values *v = call->values;
	const char *file = call->argv[0];
	struct store *s CLEANUP(store_freep) = NULL;
	int fd CLEANUP(closep) = -1;
	struct errinfo ei = { 0 };
	struct store_id id;
	int r;

	if (is_pipe_name(file) && isatty(STDIN_FILENO))
		return cmd_usage(call->cmd, "a recording is not read from a terminal; redirect the input or name a file");
	if (!is_pipe_name(file)) {
		fd = os_open(file, O_RDONLY | O_NOCTTY, 0);
		if (fd < 0)
			return fail_r(fd, NULL, "cannot open %s", file);
	}
	r = stores_open(v->data_dir, true, &s);
	if (r)
		return r;
	term_progress_begin("importing");
	r = store_import(s, fd < 0 ? STDIN_FILENO : fd, &id, term_progress, NULL, &ei);
	term_progress_end();
	if (r < 0 && !strcmp(ei.text, IMPORT_NO_EXPORT)) {
		fail(EXIT_INTERNAL, "cannot import %s", is_pipe_name(file) ? "standard input" : file);
		fail_cause("%s", ei.text); /* nothing is damaged: no advice about that */
		return EXIT_INTERNAL;
	}
	if (r < 0)
		return fail_r(r, &ei, "cannot import %s", is_pipe_name(file) ? "standard input" : file);
	printf("%s\n", id.hex);
	return 0;
}

static const struct opt opts[] = {
	OPT_DATA_DIR(struct values, data_dir),
	{ .kind = OPT_END_ },
};

const struct cmd cmd_record_export = {
	.name = "record export",
	.summary = "Write a recording to one file, to take it elsewhere",
	.usage = "[OPTIONS] ID FILE",
	.about = "Writes the recording with all the files it needs into one file (a tar archive), or to standard output for '-'. "
		 "'hermit record import' takes it in on another machine. ID may be abbreviated, a label, or 'last'.\n"
		 "Mind that a recording holds everything its program has read: keys and passwords too.",
	.example = "    hermit record export last bug-1234.hermit\n"
		   "    hermit record export 6ba7 - | ssh desk hermit record import -\n",
	.opts = opts,
	.values_size = sizeof(struct values),
	.min_args = 2,
	.max_args = 2,
	.run = run_export,
};

const struct cmd cmd_record_import = {
	.name = "record import",
	.summary = "Take in a recording that 'record export' wrote",
	.usage = "[OPTIONS] FILE",
	.about = "Adds a recording from a file, or from standard input for '-', and prints its id. Everything in the file is checked while it "
		 "is read; a damaged or incomplete one leaves nothing behind. Replaying a recording of somebody else is safe: the replayed "
		 "processes cannot reach files, network or other processes.",
	.example = "    hermit record import bug-1234.hermit\n",
	.opts = opts,
	.values_size = sizeof(struct values),
	.min_args = 1,
	.max_args = 1,
	.run = run_import,
};
