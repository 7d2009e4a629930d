/* hermit session job: the child of hermitd that does one piece of long work. Tells its progress and result in lines of JSON on
 * descriptor 3 (daemon/jobs.c). */
#include <errno.h>
#include <linux/ioprio.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "base/json.h"
#include "base/os.h"
#include "cli/cmd.h"
#include "cli/fail.h"
#include "cli/stores.h"
#include "replayer/replayer.h"
#include "store/maintain.h"

#define FD_TELL 3
#define TELL_EVERY_NS 200000000ull

struct values {
	const char *data_dir;
	bool idle;
};

struct work {
	struct store *store;
	struct store_id id;
	uint64_t told_ns;
	json_t *result; /* an object */
};

/* Takes the reference. hermitd may be gone. */
static void tell(json_t *msg)
{
	char *text CLEANUP(freep) = NULL;
	size_t len;

	if (msg && jsonx_dump(msg, JSON_COMPACT, &text, &len) == 0) {
		text[len++] = '\n';
		(void)!os_write_full(FD_TELL, text, len);
	}
	json_decref(msg);
}

static int on_progress(void *ctx, uint64_t done, uint64_t total)
{
	struct work *w = ctx;
	uint64_t now = os_mono_ns();

	if (now - w->told_ns >= TELL_EVERY_NS) {
		w->told_ns = now;
		tell(json_pack("{s:I, s:I}", "done", (json_int_t)done, "total", (json_int_t)total));
	}
	return 0;
}

/* --- the kinds of work --- */

static int do_seal(struct work *w, struct errinfo *ei)
{
	uint64_t before = 0, after = 0, blobs;
	struct stores_patience patience = { 0 };
	int r;

	if (store_usage(w->store, &w->id, &before, &blobs) < 0)
		before = 0;
	/* hermit record start seals too */
	do {
		*ei = (struct errinfo){ 0 };
		r = store_seal(w->store, &w->id, on_progress, w, ei);
	} while (stores_retry(&patience, w->store, &w->id, r));
	if (r == 0)
		r = store_usage(w->store, &w->id, &after, &blobs);
	if (r == 0)
		r = jsonx_set_u64(w->result, "before", before);
	return r == 0 ? jsonx_set_u64(w->result, "after", after) : r;
}

static bool is_damage(int r)
{
	return r == ERR_CORRUPT || r == ERR_TRUNCATED || r == ERR_MISSING_BLOB;
}

/* The verdict stays with the recording, so that lists show it. */
static int do_verify(struct work *w, struct errinfo *ei)
{
	struct errinfo why = { 0 }, note = { 0 };
	int noted, r = store_verify(w->store, &w->id, on_progress, w, &why);

	if (r < 0 && ei)
		*ei = why;
	if (r < 0 && !is_damage(r))
		return r;
	noted = store_note_verified(w->store, &w->id, r < 0 ? (why.text[0] ? why.text : err_str(r)) : NULL, &note);
	if (r == 0 && noted < 0)
		return errinfo_set(ei, noted, "%s", note.text);
	return r;
}

static void on_event(void *ctx, uint64_t event, uint64_t total)
{
	(void)!on_progress(ctx, event, total);
}

static void put_report(struct work *w, struct rep_session *s)
{
	struct buf b CLEANUP(buf_done) = { 0 };

	rep_session_report(s, &b);
	if (jsonx_set_new(w->result, "report", jsonx_string_lossy(buf_cstr(&b), b.len)) < 0)
		json_object_clear(w->result);
}

static int do_replay(struct work *w, struct errinfo *ei)
{
	struct rep_options opt = { .stdout_fd = -1, .stderr_fd = -1, .check = true, .progress = on_event, .progress_ctx = w };
	struct rep_session *session = NULL;
	struct store_reader *reader CLEANUP(store_reader_freep) = NULL;
	struct rep_result res = { 0 };
	int r = store_reader_open(w->store, &w->id, &reader, ei);

	if (r >= 0)
		r = rep_session_new(reader, &opt, &session, ei);
	if (r >= 0)
		r = rep_session_run(session, &res, ei);
	if (r == ERR_DIVERGED && session)
		put_report(w, session);
	rep_session_free(session);
	if (r < 0)
		return r;
	r = jsonx_set_u64(w->result, "events", res.events);
	return r == 0 ? jsonx_set_bool(w->result, "truncated", res.truncated) : r;
}

static int do_gc(struct work *w, struct errinfo *ei)
{
	uint64_t freed = 0, young = 0;
	int r = store_gc(w->store, &freed, &young);

	if (r < 0)
		return errinfo_set_r(ei, r, "remove shared files that nothing needs");
	r = jsonx_set_u64(w->result, "freed", freed);
	return r == 0 ? jsonx_set_u64(w->result, "young", young) : r;
}

static const struct {
	const char *name;
	bool recording;
	int (*fn)(struct work *w, struct errinfo *ei);
} kinds[] = {
	{ "seal", true, do_seal },	     { "verify", true, do_verify }, { "scan", true, do_verify },
	{ "replay-check", true, do_replay }, { "gc", false, do_gc },
};

/* --- the command --- */

/* Best effort: where it is not allowed the work is done all the same. */
static void step_back(void)
{
	struct sched_param none = { 0 };

	(void)!nice(19);
	(void)sched_setscheduler(0, SCHED_IDLE, &none);
	(void)syscall(SYS_ioprio_set, IOPRIO_WHO_PROCESS, 0, IOPRIO_PRIO_VALUE(IOPRIO_CLASS_IDLE, 0));
}

static int finish(struct work *w, int r, const struct errinfo *ei)
{
	if (json_object_size(w->result))
		tell(json_pack("{s:O}", "result", w->result));
	if (r < 0)
		tell(json_pack("{s:o}", "error", jsonx_string_lossy(ei->text[0] ? ei->text : err_str(r), strlen(ei->text[0] ? ei->text : err_str(r)))));
	json_decref(w->result);
	return r < 0 ? EXIT_INTERNAL : 0;
}

static int run(const struct cmd_call *call)
{
	const struct values *v = call->values;
	struct store *s CLEANUP(store_freep) = NULL;
	struct work w = { 0 };
	struct errinfo ei = { 0 };
	size_t k = 0;
	int r;

	while (k < ARRAY_SIZE(kinds) && strcmp(kinds[k].name, call->argv[0]) != 0)
		k++;
	if (k == ARRAY_SIZE(kinds) || (call->argc == 2) != kinds[k].recording)
		return cmd_usage(call->cmd, "this is started by hermitd");
	if (v->idle)
		step_back();
	r = kinds[k].recording ? stores_open_resolve(v->data_dir, call->argv[1], &s, &w.id) : stores_open(v->data_dir, false, &s);
	if (r)
		return r;
	w.store = s;
	w.result = json_object();
	r = w.result ? kinds[k].fn(&w, &ei) : -ENOMEM;
	return finish(&w, r, &ei);
}

static const struct opt opts[] = {
	OPT_DATA_DIR(struct values, data_dir),
	{ .kind = OPT_FLAG, .name = "idle", .offset = offsetof(struct values, idle), .help = "At idle priority" },
	{ .kind = OPT_END_ },
};

const struct cmd cmd_session_job = {
	.name = "session job",
	.summary = "Do one piece of long work for hermitd",
	.usage = "[OPTIONS] KIND [ID]",
	.about = "Seals, verifies or replays a recording, or removes shared files that nothing needs; tells about it on descriptor 3.",
	.example = "    hermit session job --data-dir DIR seal ID\n",
	.opts = opts,
	.values_size = sizeof(struct values),
	.min_args = 1,
	.max_args = 2,
	.hidden = true,
	.run = run,
};
