/* See follow.h. The output is in the effects of the events that wrote it. That a recorder lives is looked up before its events are read: so
 * none is missed that came before its end. */
#include "cli/follow.h"

#include <errno.h>
#include <signal.h>
#include <unistd.h>
#include "base/os.h"
#include "cli/ending.h"
#include "cli/fail.h"
#include "store/live.h"
#include "store/reader.h"

#define LOOK_US 40000

static int print_effect(struct store_reader *r, const struct effect *e, int fd, struct errinfo *ei)
{
	char part[1 << 16];
	int rc = 0;

	for (uint64_t off = 0; off < e->len && rc >= 0;) {
		size_t n = (size_t)MIN(e->len - off, (uint64_t)sizeof(part));

		rc = store_reader_data(r, e, off, part, n, ei);
		if (rc >= 0)
			rc = os_write_full(fd, part, n);
		off += n;
	}
	return rc;
}

static int print_event(struct store_reader *r, const struct event *ev, struct errinfo *ei)
{
	int fd = ev->flags & EVENT_F_STDERR ? STDERR_FILENO : STDOUT_FILENO, rc = 0;

	if (!(ev->flags & (EVENT_F_STDOUT | EVENT_F_STDERR)))
		return 0;
	for (uint32_t i = 0; i < ev->n_effects && rc >= 0; i++)
		if (ev->effects[i].kind == EFFECT_OUTPUT)
			rc = print_effect(r, &ev->effects[i], fd, ei);
	return rc;
}

/* All events there are now. */
static int print_events(const struct follow *f, struct store_reader *r, struct errinfo *ei)
{
	const struct event *ev;
	int rc = 1;

	while (f->output && (rc = store_reader_next(r, &ev, ei)) > 0) {
		rc = print_event(r, ev, ei);
		if (rc < 0)
			break;
	}
	return rc < 0 ? rc : 0;
}

/* What a recorder that has died left, as other commands do it. */
static int mend(const struct follow *f, struct errinfo *ei)
{
	int r = store_recover_one(f->store, &f->id, NULL);

	return r < 0 ? errinfo_set_r(ei, r, "recover the recording") : 0;
}

static int follow(const struct follow *f, struct store_reader *r, struct errinfo *ei)
{
	for (;;) {
		bool live = store_is_live(f->store, &f->id);
		int rc = print_events(f, r, ei);

		if (rc < 0)
			return rc;
		if (!live && f->to_the_end)
			return mend(f, ei);
		if (!f->to_the_end)
			return 0;
		if (f->idle && f->idle(f->ctx) > 0)
			return 1;
		usleep(LOOK_US);
	}
}

int follow_run(const struct follow *f)
{
	struct store_reader *r CLEANUP(store_reader_freep) = NULL;
	struct errinfo ei = { 0 };
	int rc = f->output ? store_reader_open(f->store, &f->id, &r, &ei) : 0;

	if (rc >= 0)
		rc = follow(f, r, &ei);
	if (rc == -EPIPE) /* nobody reads any more */
		return EXIT_SIGNALED + SIGPIPE;
	if (rc < 0)
		return fail_r(rc, &ei, "cannot read recording %s", f->id.hex);
	return rc > 0 ? -1 : 0;
}

int follow_end(struct store *s, const struct store_id *id)
{
	struct manifest m CLEANUP(manifest_done);
	struct errinfo ei = { 0 };
	int r;

	manifest_init(&m);
	r = manifest_load(s, id, &m, &ei);
	if (r == -ENOENT || r == ERR_NOT_FOUND)
		return fail(EXIT_INTERNAL, "recording %s was not kept: its time limit was over, or somebody removed it", id->hex);
	if (r < 0)
		return fail_r(r, &ei, "cannot read recording %s", id->hex);
	if (m.status != -1)
		return end_like(m.status);
	warn_user("how the program ended is not known: the recording was cut off: %s", m.reason ? m.reason : "no reason is known");
	return EXIT_INTERNAL;
}
