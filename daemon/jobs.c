/* Long work: a queue, and one child at a time (hermit session job) that does it at idle priority.
 *
 *     queued --> running --> done | failed | cancelled          the last JOBS_KEPT of those that are over are remembered
 *
 * What people ask for goes before housekeeping. The child tells its progress and its result in lines of JSON:
 *     {"done": n, "total": n}      {"result": {...}}      {"error": "..."}
 */
#include "daemon/jobs_priv.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include "base/json.h"
#include "base/os.h"
#include "base/str.h"
#include "daemon/child_priv.h"
#include "daemon/limits_priv.h"
#include "daemon/token.h"

#define LOG_AREA "daemon.jobs"
#include "base/log.h"

#define TELL_EVERY_NS 500000000ull
#define CHECK_EVERY_NS 1000000000ull
/* A child that was asked to end does so within this, or is killed. */
#define STOP_NS 5000000000ull
/* A child that tells nothing for so long hangs. Idle priority means that it may wait long for a busy machine. */
#define SILENCE_NS (3600 * 1000000000ull)
/* For so long somebody's work waits for housekeeping to come to its end: on a busy machine idle priority may mean never. */
#define HOLD_NS 1500000000ull

struct job {
	char id[17];
	enum job_kind kind;
	enum job_state state;
	bool has_recording, background, cancel;
	struct store_id recording;
	uint64_t done, total;
	uint64_t created_ns, finished_ns;
	char *error;
	json_t *result;
};

struct jobs {
	struct daemon *d;
	struct job **job; /* in the order they were made */
	size_t n, cap;
	struct job *running;
	struct child *child;
	bool idle;     /* the child runs at idle priority */
	bool put_back; /* it was asked to end so that somebody's work comes first */
	struct loop_source *timer;
	uint64_t told_ns, heard_ns; /* monotonic, as those: */
	uint64_t stop_ns; /* when it was asked to end, 0 = not */
	uint64_t held_ns; /* when it was seen to hold somebody up, 0 = it does not */
	bool draining;
	jobs_over_fn on_over;
	void *over_ctx;
};

static const struct {
	const char *name;
	bool recording;
} kinds[JOB_KIND_MAX_] = {
	[JOB_SEAL] = { "seal", true },
	[JOB_VERIFY] = { "verify", true },
	[JOB_REPLAY_CHECK] = { "replay-check", true },
	[JOB_GC] = { "gc", false },
	[JOB_SCAN] = { "scan", true },
};

static const char *const state_names[JOB_STATE_MAX_] = {
	[JOB_QUEUED] = "queued", [JOB_RUNNING] = "running", [JOB_DONE] = "done", [JOB_FAILED] = "failed", [JOB_CANCELLED] = "cancelled",
};

const char *job_kind_name(enum job_kind k)
{
	return kinds[k].name;
}

const char *job_state_name(enum job_state s)
{
	return state_names[s];
}

static bool is_over(const struct job *job)
{
	return job->state != JOB_QUEUED && job->state != JOB_RUNNING;
}

/* --- as JSON --- */

static json_t *job_json(const struct job *job)
{
	return json_pack("{s:s, s:s, s:o, s:s, s:I, s:I, s:o, s:o, s:o, s:O?}", "id", job->id, "kind", kinds[job->kind].name, "recording",
			 jsonx_text(job->has_recording ? job->recording.hex : NULL), "state", state_names[job->state], "done",
			 (json_int_t)MIN(job->done, (uint64_t)INT64_MAX), "total", (json_int_t)MIN(job->total, (uint64_t)INT64_MAX), "error",
			 jsonx_text(job->error), "created", jsonx_time(job->created_ns), "finished", jsonx_time(job->finished_ns), "result",
			 job->result);
}

static void tell(struct jobs *j, const struct job *job)
{
	j->told_ns = os_mono_ns();
	feed_publish(j->d->feed, "job", job_json(job));
}

/* --- the list --- */

static void job_free(struct job *job)
{
	if (!job)
		return;
	free(job->error);
	json_decref(job->result);
	free(job);
}

static void job_freep(struct job **job)
{
	job_free(*job);
}

static int append(struct jobs *j, struct job *job)
{
	size_t cap = j->cap ? j->cap * 2 : 64;
	struct job **v;

	if (j->n == j->cap) {
		v = j->n < JOBS_QUEUED_MAX ? os_malloc(cap * sizeof(*v)) : NULL;
		if (!v)
			return j->n < JOBS_QUEUED_MAX ? -ENOMEM : ERR_LIMIT;
		if (j->n)
			memcpy(v, j->job, j->n * sizeof(*v));
		free(j->job);
		j->job = v;
		j->cap = cap;
	}
	j->job[j->n++] = job;
	return 0;
}

/* Forgets the oldest of those that are over. */
static void forget_old(struct jobs *j)
{
	size_t over = 0, n = 0;

	for (size_t i = 0; i < j->n; i++)
		over += is_over(j->job[i]);
	for (size_t i = 0; i < j->n; i++) {
		if (is_over(j->job[i]) && over > JOBS_KEPT) {
			over--;
			job_free(j->job[i]);
		} else {
			j->job[n++] = j->job[i];
		}
	}
	j->n = n;
}

static struct job *find(const struct jobs *j, const char *id)
{
	for (size_t i = 0; i < j->n; i++)
		if (strcmp(j->job[i]->id, id) == 0)
			return j->job[i];
	return NULL;
}

static struct job *find_same(const struct jobs *j, enum job_kind kind, const struct store_id *recording)
{
	for (size_t i = 0; i < j->n; i++) {
		struct job *job = j->job[i];

		if (!is_over(job) && !job->cancel && job->kind == kind && job->has_recording == (recording != NULL) &&
		    (!recording || strcmp(job->recording.hex, recording->hex) == 0))
			return job;
	}
	return NULL;
}

/* Those that somebody waits for first. */
static struct job *next_job(const struct jobs *j)
{
	struct job *background = NULL;

	for (size_t i = 0; i < j->n; i++) {
		struct job *job = j->job[i];

		if (job->state != JOB_QUEUED)
			continue;
		if (!job->background)
			return job;
		if (!background)
			background = job;
	}
	return background;
}

/* --- running --- */

static void over(struct jobs *j, struct job *job, enum job_state state)
{
	job->state = state;
	job->finished_ns = os_wall_ns();
	tell(j, job);
	if (state == JOB_FAILED)
		log_warn("job %s: %s%s%s: %s", job->id, kinds[job->kind].name, job->has_recording ? " " : "",
			 job->has_recording ? job->recording.hex : "", job->error ? job->error : "?");
	else
		log_info("job %s: %s%s%s %s", job->id, kinds[job->kind].name, job->has_recording ? " " : "",
			 job->has_recording ? job->recording.hex : "", state_names[state]);
	if (j->on_over)
		j->on_over(j->over_ctx, job->kind, job->has_recording ? &job->recording : NULL, state);
}

static void set_error(struct job *job, const char *text)
{
	free(job->error);
	job->error = os_strdup(text);
}

static void on_line(void *ctx, const char *line)
{
	struct jobs *j = ctx;
	struct job *job = j->running;
	json_t *msg CLEANUP(jsonx_unrefp) = NULL;
	const char *error;
	json_t *result;

	j->heard_ns = os_mono_ns();
	if (jsonx_parse(line, strlen(line), &msg, NULL) < 0)
		return;
	if (jsonx_get_u64(msg, "done", &job->done) == 0 && jsonx_get_u64(msg, "total", &job->total) == 0 &&
	    j->heard_ns - j->told_ns >= TELL_EVERY_NS)
		tell(j, job);
	if (jsonx_get_object(msg, "result", &result) == 0) {
		json_decref(job->result);
		job->result = json_incref(result);
	}
	if (jsonx_get_str(msg, "error", &error) == 0)
		set_error(job, error);
}

static void start_next(struct jobs *j);

/* As if it had not been started. */
static void put_back(struct jobs *j, struct job *job)
{
	job->state = JOB_QUEUED;
	job->done = job->total = 0;
	free(TAKE(job->error));
	json_decref(TAKE(job->result));
	tell(j, job);
}

static void on_end(void *ctx, const char *error)
{
	struct jobs *j = ctx;
	struct job *job = j->running;

	j->running = NULL;
	j->child = NULL;
	if (error && !job->error)
		set_error(job, error);
	if (job->cancel) {
		free(TAKE(job->error));
		over(j, job, JOB_CANCELLED);
	} else if (j->put_back && error) {
		put_back(j, job);
	} else {
		over(j, job, job->error ? JOB_FAILED : JOB_DONE);
	}
	forget_old(j);
	start_next(j);
}

static int start(struct jobs *j, struct job *job)
{
	const struct daemon_config *cfg = j->d->cfg;
	const char *argv[9] = { cfg->session_binary, "session", "job", "--data-dir", cfg->data_dir, kinds[job->kind].name };
	size_t n = 6;
	char name[32];
	struct child_options opt = { .name = name, .argv = argv, .lines_fd = 3, .line = on_line, .ended = on_end, .ctx = j };
	int r;

	if (job->has_recording)
		argv[n++] = job->recording.hex;
	if (job->background)
		argv[n++] = "--idle";
	(void)snprintf(name, sizeof(name), "job %s", job->id);
	r = child_start(j->d->loop, &opt, &j->child);
	if (r < 0)
		return r;
	j->running = job;
	job->state = JOB_RUNNING;
	j->heard_ns = os_mono_ns();
	j->stop_ns = j->held_ns = 0;
	j->idle = job->background;
	j->put_back = false;
	tell(j, job);
	return 0;
}

static void start_next(struct jobs *j)
{
	struct job *job;
	int r;

	while (!j->running && !j->draining && (job = next_job(j))) {
		r = start(j, job);
		if (r < 0) {
			char *why CLEANUP(freep) = os_asprintf("cannot start %s: %s", j->d->cfg->session_binary, err_str(r));

			set_error(job, why ? why : "out of memory");
			over(j, job, JOB_FAILED);
		}
	}
}

static void ask_to_end(struct jobs *j)
{
	if (j->stop_ns == 0) {
		j->stop_ns = os_mono_ns();
		child_signal(j->child, SIGTERM);
	}
}

/* Does somebody wait for housekeeping, or for what runs as if it were? */
static bool holds_up(const struct jobs *j)
{
	const struct job *next = next_job(j);

	return j->idle && (!j->running->background || (next && !next->background));
}

static void make_way(struct jobs *j, uint64_t now)
{
	if (!holds_up(j)) {
		j->held_ns = 0;
	} else if (!j->held_ns) {
		j->held_ns = now;
	} else if (now - j->held_ns >= HOLD_NS) {
		j->put_back = true;
		ask_to_end(j);
	}
}

static int on_timer(void *ctx)
{
	struct jobs *j = ctx;
	uint64_t now = os_mono_ns();

	if (!j->child)
		return 0;
	if (j->stop_ns && now - j->stop_ns > STOP_NS) {
		child_signal(j->child, SIGKILL);
	} else if (!j->stop_ns && now - j->heard_ns > SILENCE_NS) {
		set_error(j->running, "it did nothing for an hour and was killed");
		child_signal(j->child, SIGKILL);
	} else {
		make_way(j, now);
	}
	return 0;
}

/* --- asking for one --- */

static int add(struct jobs *j, enum job_kind kind, const struct store_id *recording, bool background, struct job **ret)
{
	struct job *same = find_same(j, kind, recording), *job CLEANUP(job_freep) = NULL;
	char token[TOKEN_HEX_BYTES];
	int r;

	if (same) {
		same->background = same->background && background;
		*ret = same;
		return 0;
	}
	if (j->draining)
		return ERR_INTERRUPTED;
	job = os_calloc(1, sizeof(*job));
	r = job ? token_random(token) : -ENOMEM;
	if (r < 0)
		return r;
	memcpy(job->id, token, sizeof(job->id) - 1);
	job->kind = kind;
	job->background = background;
	job->created_ns = os_wall_ns();
	if (recording) {
		job->has_recording = true;
		job->recording = *recording;
	}
	r = append(j, job);
	if (r < 0)
		return r;
	*ret = job;
	job = NULL;
	tell(j, *ret);
	start_next(j);
	return 0;
}

int jobs_add(struct jobs *j, enum job_kind kind, const struct store_id *recording)
{
	struct job *job;

	return add(j, kind, recording, true, &job);
}

bool jobs_has(const struct jobs *j, enum job_kind kind, const struct store_id *recording)
{
	return find_same(j, kind, recording) != NULL;
}

void jobs_listen(struct jobs *j, jobs_over_fn fn, void *ctx)
{
	j->on_over = fn;
	j->over_ctx = ctx;
}

unsigned jobs_count(const struct jobs *j, enum job_state s)
{
	unsigned n = 0;

	for (size_t i = 0; i < j->n; i++)
		n += j->job[i]->state == s;
	return n;
}

static int cancel(struct jobs *j, struct job *job)
{
	if (is_over(job))
		return -EALREADY;
	if (job == j->running) {
		job->cancel = true;
		ask_to_end(j);
	} else {
		over(j, job, JOB_CANCELLED);
	}
	return 0;
}

/* --- life --- */

int jobs_new(struct daemon *d, struct jobs **ret)
{
	struct jobs *j = os_calloc(1, sizeof(*j));
	int r;

	if (!j)
		return -ENOMEM;
	j->d = d;
	r = loop_add_timer(d->loop, "jobs", CHECK_EVERY_NS, CHECK_EVERY_NS, on_timer, j, &j->timer);
	if (r < 0) {
		jobs_free(j);
		return r;
	}
	*ret = j;
	return 0;
}

void jobs_free(struct jobs *j)
{
	if (!j)
		return;
	loop_remove(j->timer);
	child_free(j->child);
	for (size_t i = 0; i < j->n; i++)
		job_free(j->job[i]);
	free(j->job);
	free(j);
}

void jobs_drain(struct jobs *j)
{
	j->draining = true;
	for (size_t i = 0; i < j->n; i++)
		if (!is_over(j->job[i]))
			(void)!cancel(j, j->job[i]);
}

bool jobs_busy(const struct jobs *j)
{
	return j->child != NULL;
}

/* --- from any thread --- */

struct request {
	struct daemon *d;
	enum job_kind kind;
	const struct store_id *recording;
	const char *id;
	json_t *json;
};

static int do_new(void *ctx)
{
	struct request *q = ctx;
	struct job *job;
	int r = add(q->d->jobs, q->kind, q->recording, false, &job);

	if (r < 0)
		return r;
	q->json = job_json(job);
	return q->json ? 0 : -ENOMEM;
}

static int do_list(void *ctx)
{
	struct request *q = ctx;
	const struct jobs *j = q->d->jobs;

	q->json = json_array();
	for (size_t i = j->n; q->json && i-- > 0;)
		if (json_array_append_new(q->json, job_json(j->job[i])) < 0) {
			json_decref(q->json);
			q->json = NULL;
		}
	return q->json ? 0 : -ENOMEM;
}

static int do_get(void *ctx)
{
	struct request *q = ctx;
	const struct job *job = find(q->d->jobs, q->id);

	if (!job)
		return ERR_NOT_FOUND;
	q->json = job_json(job);
	return q->json ? 0 : -ENOMEM;
}

static int do_cancel(void *ctx)
{
	struct request *q = ctx;
	struct job *job = find(q->d->jobs, q->id);

	return job ? cancel(q->d->jobs, job) : ERR_NOT_FOUND;
}

static int do_hurry(void *ctx)
{
	const struct request *q = ctx;
	struct job *job = q->d->jobs->running;

	if (job && job->has_recording && strcmp(job->recording.hex, q->recording->hex) == 0)
		job->background = false;
	return 0;
}

/* ERR_NOT_FOUND, or ERR_BUSY while it is recorded. */
static int check_recording(struct daemon *d, const char *kind, const struct store_id *id, struct errinfo *ei)
{
	const struct catalog_view *v = catalog_get(d->catalog);
	const struct catalog_entry *e = catalog_find(v, id);
	int r = !e ? errinfo_set(ei, ERR_NOT_FOUND, "there is no recording %s", id->hex) :
		e->live ? errinfo_set(ei, ERR_BUSY, "recording %s is still being made: %s can begin when it has ended", id->hex, kind) : 0;

	catalog_put(d->catalog, v);
	return r;
}

int daemon_job_new(struct daemon *d, const char *kind, const struct store_id *recording, json_t **ret, struct errinfo *ei)
{
	struct request q = { .d = d, .kind = JOB_KIND_MAX_, .recording = recording };
	int r;

	for (int k = 0; k < JOB_KIND_MAX_; k++)
		if (strcmp(kinds[k].name, kind) == 0)
			q.kind = (enum job_kind)k;
	if (q.kind == JOB_KIND_MAX_ || kinds[q.kind].recording != (recording != NULL))
		return errinfo_set(ei, -EINVAL, "there is no job \"%.40s\" %s a recording", kind, recording ? "of" : "without");
	r = recording ? check_recording(d, kind, recording, ei) : 0;
	if (r == 0) {
		r = loop_call(d->loop, do_new, &q);
		if (r < 0)
			(void)errinfo_set_r(ei, r, "add a job");
	}
	if (r < 0)
		return r;
	*ret = q.json;
	return 0;
}

int daemon_job_list(struct daemon *d, json_t **ret)
{
	struct request q = { .d = d };
	int r = loop_call(d->loop, do_list, &q);

	if (r == 0)
		*ret = q.json;
	return r;
}

int daemon_job_get(struct daemon *d, const char *jid, json_t **ret)
{
	struct request q = { .d = d, .id = jid };
	int r = loop_call(d->loop, do_get, &q);

	if (r == 0)
		*ret = q.json;
	return r;
}

int daemon_job_cancel(struct daemon *d, const char *jid)
{
	struct request q = { .d = d, .id = jid };

	return loop_call(d->loop, do_cancel, &q);
}

void daemon_job_hurry(struct daemon *d, const struct store_id *recording)
{
	struct request q = { .d = d, .recording = recording };

	if (loop_call(d->loop, do_hurry, &q) < 0)
		log_debug("nobody is told that %s is waited for", recording->hex);
}
