/* record --verify: records into a temporary store, replays, compares status and output, and says whether they matched.
 *
 * The work is done in a child, so that whatever becomes of it (a signal, a crash of ours) the temporary store is removed and
 * the JSON file, which begins as "no result", never claims more than was seen. */
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include "analysis/evprint.h"
#include "base/os.h"
#include "cli/ending.h"
#include "cli/fail.h"
#include "cli/records.h"
#include "cli/replays.h"
#include "cli/term.h"
#include "cli/verdict.h"

/* Both sides write their output here; appending, as several processes of the guest share it. */
struct output {
	int fd[2]; /* stdout, stderr */
};

struct verify {
	struct record_job *job;
	struct store *store;
	struct verdict verdict;
	struct output recorded, replayed;
};

static int save(const struct verify *v)
{
	const char *path = v->job->v->verify_json;
	int r = path ? verdict_save(&v->verdict, path) : 0;

	return r < 0 ? fail_r(r, NULL, "cannot write %s", path) : 0;
}

static void say(enum term_style style, const char *text)
{
	fprintf(stderr, ":: %s%s%s\n", term_style(TERM_ERR, style), text, term_style(TERM_ERR, TERM_PLAIN));
}

static int output_open(struct output *o)
{
	for (int i = 0; i < 2; i++) {
		o->fd[i] = memfd_create("hermit-output", MFD_CLOEXEC);
		if (o->fd[i] < 0 || fcntl(o->fd[i], F_SETFL, O_RDWR | O_APPEND) < 0)
			return -errno;
	}
	return 0;
}

/* 1 when a and b hold the same bytes; 0 and the first byte that differs (or the shorter length). */
static int same_content(int a, int b, uint64_t *ret_at)
{
	uint8_t x[16384], y[sizeof(x)];
	off_t at = 0;

	for (;;) {
		ssize_t n = os_pread_full(a, x, sizeof(x), at), m = os_pread_full(b, y, sizeof(y), at);
		ssize_t i = 0;

		if (n < 0 || m < 0)
			return n < 0 ? (int)n : (int)m;
		while (i < n && i < m && x[i] == y[i])
			i++;
		*ret_at = (uint64_t)(at + i);
		if (i < n || i < m)
			return 0;
		if (!n)
			return 1;
		at += n;
	}
}

/* --- the verdict --- */

static int matched(struct verify *v)
{
	int r;

	v->verdict.kind = VERDICT_MATCHED;
	r = save(v);
	if (r)
		return r;
	say(TERM_GREEN, "Success: replay matched recording.");
	return 0;
}

static int diverged(struct verify *v, const char *why)
{
	int r;

	v->verdict.kind = VERDICT_DIVERGED;
	snprintf(v->verdict.right, sizeof(v->verdict.right), "%s", why);
	r = save(v);
	if (r)
		return r;
	say(TERM_RED, "Recording output did not match replay output!");
	fail_cause("%s", why);
	return EXIT_DIVERGED;
}

static int no_result(struct verify *v, int r, const struct errinfo *ei)
{
	v->verdict.no_result = "run_failed";
	snprintf(v->verdict.message, sizeof(v->verdict.message), "%s", ei->text[0] ? ei->text : err_str(r));
	return save(v);
}

/* Where a divergence lies: the recorded event, and how many calls were done before it. What cannot be read stays unknown. */
static void locate(struct verify *v, const struct store_id *id, uint64_t number)
{
	struct store_reader *reader CLEANUP(store_reader_freep) = NULL;
	struct evprint printer CLEANUP(evprint_done) = { 0 };
	struct buf text CLEANUP(buf_done) = { 0 };
	const struct event *ev;
	struct errinfo ei = { 0 };

	v->verdict.record = number;
	if (!number || store_reader_open(v->store, id, &reader, &ei) < 0)
		return;
	evprint_init(&printer, reader, 0);
	while (store_reader_next(reader, &ev, &ei) > 0) {
		if (ev->number < number) {
			v->verdict.syscall += ev->kind == EVENT_SYSCALL || ev->kind == EVENT_SYSCALL_EXIT;
			evprint_skip(&printer, ev);
			continue;
		}
		evprint_text(&printer, ev, &text);
		snprintf(v->verdict.left, sizeof(v->verdict.left), "%s", buf_cstr(&text));
		return;
	}
}

static int compare_outputs(struct verify *v, int replayed_status)
{
	static const char *const names[] = { "stdout", "stderr" };
	char why[256];
	uint64_t at = 0;

	if (replayed_status != v->verdict.status) {
		snprintf(why, sizeof(why), "wait status 0x%x was recorded, the replay ended with 0x%x", v->verdict.status,
			 replayed_status);
		return diverged(v, why);
	}
	for (int i = 0; i < 2; i++) {
		int r = same_content(v->recorded.fd[i], v->replayed.fd[i], &at);

		if (r < 0)
			return fail_r(r, NULL, "cannot compare the outputs");
		if (!r) {
			snprintf(why, sizeof(why), "%s differs from byte %llu on", names[i], (unsigned long long)at);
			return diverged(v, why);
		}
	}
	return matched(v);
}

/* --- the two runs --- */

static int replay_and_compare(struct verify *v, const struct rec_result *rec)
{
	struct replay p CLEANUP(replay_done) = { 0 };
	struct errinfo ei = { 0 };
	struct rep_result res = { .status = -1 };
	int r;

	say(TERM_YELLOW, "Replaying...");
	r = replay_open(&p, v->store, &rec->id, &ei);
	if (r >= 0)
		r = replay_run(&p, v->replayed.fd[0], v->replayed.fd[1], v->verdict.strict, &res, &ei);
	if (r == ERR_DIVERGED) {
		struct buf report CLEANUP(buf_done) = { 0 };

		locate(v, &rec->id, ei.event);
		v->verdict.replayed = ei.event ? ei.event - 1 : 0;
		r = diverged(v, ei.text);
		rep_session_report(p.session, &report);
		fputs(buf_cstr(&report), stderr);
		return r;
	}
	if (r < 0) {
		int saved = no_result(v, r, &ei);

		return saved ? saved : replay_report(&p, &rec->id, r, &ei);
	}
	v->verdict.replayed = res.events;
	return compare_outputs(v, res.status);
}

static int record_and_replay(struct verify *v)
{
	struct errinfo ei = { 0 };
	struct rec_result rec = { 0 };
	int r;

	say(TERM_YELLOW, "Recording...");
	r = record_job_run(v->job, v->store, &rec, &ei);
	if (r < 0) {
		int saved = no_result(v, r, &ei);

		return saved ? saved : record_job_report(v->job, r, &ei);
	}
	v->verdict.status = rec.status;
	v->verdict.recorded = rec.events;
	if (rec.truncated) {
		errinfo_set(&ei, ERR_TRUNCATED, "the recording was cut off: %s", rec.reason);
		r = no_result(v, ERR_TRUNCATED, &ei);
		return r ? r : fail_r(ERR_TRUNCATED, &ei, "cannot verify %s", v->job->argv[0]);
	}
	return replay_and_compare(v, &rec);
}

/* In the child: opens what both runs need. */
static int verify_in(struct record_job *job, const char *dir)
{
	struct verify v = { .job = job, .recorded = { { -1, -1 } }, .replayed = { { -1, -1 } } };
	struct errinfo ei = { 0 };
	int null CLEANUP(closep) = os_open("/dev/null", O_RDONLY, 0);
	int r;

	verdict_init(&v.verdict, job->v->verify_strict);
	r = store_open(dir, true, &v.store, &ei);
	if (r >= 0)
		r = output_open(&v.recorded);
	if (r >= 0)
		r = output_open(&v.replayed);
	if (r >= 0 && null < 0)
		r = null;
	if (r < 0) {
		r = fail_r(r, &ei, "cannot prepare the verification in %s", dir);
	} else {
		job->fds[0] = null;
		job->fds[1] = v.recorded.fd[0];
		job->fds[2] = v.recorded.fd[1];
		r = record_and_replay(&v);
	}
	store_free(v.store);
	for (int i = 0; i < 2; i++) {
		closep(&v.recorded.fd[i]);
		closep(&v.replayed.fd[i]);
	}
	return r;
}

/* --- the parent: a temporary directory, and signals passed on --- */

static volatile sig_atomic_t child_pid;

/* What a terminal sends reaches the child by itself. */
static void pass_on(int signo, siginfo_t *si, void *ctx UNUSED)
{
	if (si->si_code != SI_KERNEL && child_pid > 0)
		kill(child_pid, signo);
}

static void catch_signals(void)
{
	static const int signals[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT };
	struct sigaction sa = { .sa_sigaction = pass_on, .sa_flags = SA_SIGINFO | SA_RESTART };

	sigemptyset(&sa.sa_mask);
	for (size_t i = 0; i < ARRAY_SIZE(signals); i++)
		sigaction(signals[i], &sa, NULL);
}

static int remove_entry(const char *path, const struct stat *st UNUSED, int type UNUSED, struct FTW *ftw UNUSED)
{
	return remove(path);
}

static void remove_tree(const char *dir)
{
	if (nftw(dir, remove_entry, 16, FTW_DEPTH | FTW_PHYS | FTW_MOUNT))
		warn_user("the temporary recording in %s could not be removed: %s", dir, strerror(errno));
}

/* Wait status of the child that does the work. */
static int run_child(struct record_job *job, const char *dir)
{
	pid_t parent = getpid(), pid;
	int status;

	fflush(NULL);
	pid = fork();
	if (pid < 0)
		return -errno;
	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGTERM);
		if (getppid() != parent)
			_exit(EXIT_INTERNAL);
		status = verify_in(job, dir);
		fflush(NULL);
		_exit(status);
	}
	child_pid = pid;
	catch_signals();
	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			return -errno;
	child_pid = 0;
	return status;
}

int record_verify(struct record_job *job)
{
	const char *tmp = getenv("TMPDIR");
	char *dir CLEANUP(freep) = os_asprintf("%s/hermit-verify-XXXXXX", tmp && *tmp ? tmp : "/tmp");
	struct verify stamp = { .job = job };
	int r;

	if (!dir)
		return fail_memory();
	verdict_init(&stamp.verdict, job->v->verify_strict);
	r = save(&stamp);
	if (r)
		return r;
	if (!mkdtemp(dir))
		return fail_r(-errno, NULL, "cannot create %s", dir);
	r = run_child(job, dir);
	remove_tree(dir);
	return r < 0 ? fail_r(r, NULL, "cannot start the verification") : end_like(r);
}
