/* See recorded_priv.h. */
#include "dap/recorded_priv.h"

#include <errno.h>
#include "base/os.h"
#include "dap/places_priv.h"

#define STEP_NS UINT64_C(20000000)

void recorded_free(struct recorded *r)
{
	if (!r)
		return;
	evindex_unref(r->evindex);
	store_reader_free(r->reader);
	store_free(r->store);
	free(r);
}

static void freep_recorded(struct recorded **r)
{
	recorded_free(*r);
}

int recorded_get(struct dap *d, struct recorded **ret)
{
	struct recorded *r CLEANUP(freep_recorded) = NULL;
	char *dir CLEANUP(freep) = NULL;
	int err;

	if (d->places->recorded) {
		*ret = d->places->recorded;
		return 0;
	}
	if (!d->recording)
		return errinfo_set(&d->ei, ERR_NOT_FOUND, "this session was attached to a server: which recording that replays is not known here");
	r = os_calloc(1, sizeof(*r));
	err = r ? store_default_dir(d->opt.data_dir, &dir) : -ENOMEM;
	if (err >= 0)
		err = store_open(dir, false, &r->store, &d->ei);
	if (err >= 0)
		err = store_resolve(r->store, d->recording, &r->id, &d->ei);
	if (err >= 0)
		err = store_reader_open(r->store, &r->id, &r->reader, &d->ei);
	if (err >= 0)
		err = evindex_open(store_dir(r->store), &r->id, &r->evindex, &d->ei);
	if (err < 0)
		return err;
	*ret = d->places->recorded = TAKE(r);
	return 0;
}

static bool has(const struct recorded *r, uint64_t upto)
{
	struct evindex_view v CLEANUP(evindex_release) = { 0 };

	evindex_view(r->evindex, &v);
	return v.n >= upto;
}

int recorded_extend(struct recorded *r, uint64_t upto, uint64_t deadline_ns, struct errinfo *ei)
{
	while (!r->complete && !has(r, upto)) {
		uint64_t now = os_mono_ns();
		int err;

		if (now >= deadline_ns)
			return 0;
		err = evindex_extend(r->evindex, MIN(deadline_ns, now + STEP_NS), ei);
		if (err < 0)
			return err;
		r->complete = err == 1;
	}
	return 0;
}

int recorded_index(struct dap *d, struct recorded *r, uint64_t upto)
{
	int err;

	for (;;) {
		err = recorded_extend(r, upto, os_mono_ns() + STEP_NS, &d->ei);
		if (err < 0 || r->complete || has(r, upto))
			return err;
		dap_progress(d, "Reading the recording");
		err = dap_pump(d, 0);
		if (err < 0 || d->cancelled)
			return err < 0 ? err : ERR_INTERRUPTED;
	}
}

bool recorded_ours(const struct dap *d, const struct evindex_view *v, uint32_t thread)
{
	const struct evindex_thread *t = thread ? evindex_thread(v, thread) : NULL;

	return t && t->pid == d->pid;
}
