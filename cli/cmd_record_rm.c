/* hermit record rm and clean: remove recordings, then the blobs that nothing needs any more. */
#include <stdlib.h>
#include "base/str.h"
#include "cli/cmd.h"
#include "cli/fail.h"
#include "cli/stores.h"

struct values {
	const char *data_dir;
};

/* Files of removed recordings; those younger than an hour stay, a recorder may be about to name them. own: what the removed
 * recordings had for themselves; later: what takes the young files away one day. */
static void collect_blobs(struct store *s, uint64_t own, const char *later)
{
	struct buf b CLEANUP(buf_done) = { 0 };
	uint64_t freed = 0, young = 0;
	int r = store_gc(s, &freed, &young);

	if (r < 0) {
		warn_user("files that no recording needs any more could not be removed from %s: %s", store_dir(s), err_str(r));
		return;
	}
	if (own || freed) {
		buf_put_size(&b, own + freed);
		if (freed) {
			buf_printf(&b, ", of that shared files that no recording needs any more: ");
			buf_put_size(&b, freed);
		}
		printf("Freed %s\n", buf_cstr(&b));
	}
	if (young) {
		buf_clear(&b);
		buf_put_size(&b, young);
		printf("%s of shared files stay until they are an hour old; %s\n", buf_cstr(&b), later);
	}
}

/* Adds what it had for itself to *own. */
static int remove_one(struct store *s, const struct store_id *id, uint64_t *own)
{
	struct stores_patience patience = { 0 };
	uint64_t bytes, blobs;
	struct errinfo ei;
	int r;

	if (store_usage(s, id, &bytes, &blobs) < 0)
		bytes = 0; /* as when its manifest cannot be read */
	do {
		ei = (struct errinfo){ 0 };
		r = store_remove(s, id, &ei);
	} while (stores_retry(&patience, s, id, r));
	*own += r < 0 ? 0 : bytes;
	return r < 0 ? fail_r(r, &ei, "cannot remove recording %s", id->hex) : 0;
}

/* Each argument on its own: one that fails does not keep the others from being removed. All are resolved first, so that an
 * abbreviation means what it meant when the command was typed. */
static int run_rm(const struct cmd_call *call)
{
	const struct values *v = call->values;
	struct store *s CLEANUP(store_freep) = NULL;
	struct store_id *ids CLEANUP(freep) = NULL;
	uint64_t own = 0;
	int r, worst = 0, n = 0;

	r = stores_open(v->data_dir, false, &s);
	if (r)
		return r;
	ids = calloc((size_t)call->argc, sizeof(*ids));
	if (!ids)
		return fail_memory();
	for (int i = 0; i < call->argc; i++) {
		r = stores_resolve(s, call->argv[i], &ids[n]);
		worst = r ? r : worst;
		n += !r;
	}
	for (int i = 0; i < n; i++) {
		r = remove_one(s, &ids[i], &own);
		worst = r ? r : worst;
	}
	if (n)
		collect_blobs(s, own, "the next 'hermit record rm' takes them away"); /* clean would take all recordings */
	return worst;
}

static int run_clean(const struct cmd_call *call)
{
	const struct values *v = call->values;
	struct store *s CLEANUP(store_freep) = NULL;
	struct store_id *ids CLEANUP(freep) = NULL;
	uint64_t own = 0;
	size_t n = 0;
	int r, worst = 0;

	r = stores_open_if_there(v->data_dir, &s);
	if (r || !s)
		return r;
	r = store_list(s, &ids, &n);
	if (r < 0)
		return fail_r(r, NULL, "cannot list the recordings in %s", store_dir(s));
	for (size_t i = 0; i < n; i++) {
		printf("Deleting %s ...\n", ids[i].hex);
		r = remove_one(s, &ids[i], &own);
		worst = r ? r : worst;
	}
	/* with nothing to remove too: there may be files that were too young last time */
	collect_blobs(s, own, "run `hermit record clean` again");
	return worst;
}

static const struct opt opts[] = {
	OPT_DATA_DIR(struct values, data_dir),
	{ .kind = OPT_END_ },
};

const struct cmd cmd_record_rm = {
	.name = "record rm",
	.alias = "remove",
	.summary = "Remove recordings",
	.usage = "[OPTIONS] ID...",
	.about = "Removes the recordings, and the programs and libraries in the store that no other recording uses. IDs may be "
		 "abbreviated or be labels. A recording that is still being made is not removed.\n"
		 "Of such files those stay that are not an hour old, as a recorder at work may be about to use them: the next rm takes them away, "
		 "or 'hermit record clean' together with all recordings.",
	.example = "    hermit record rm 6ba7 nightly\n",
	.opts = opts,
	.values_size = sizeof(struct values),
	.min_args = 1,
	.max_args = CMD_ARGS_ANY,
	.run = run_rm,
};

const struct cmd cmd_record_clean = {
	.name = "record clean",
	.summary = "Remove all recordings",
	.usage = "[OPTIONS]",
	.about = "Removes all recordings of the store without asking. Recordings that are still being made stay. "
		 "Shared files (programs and libraries) stay until they are an hour old; run `hermit record clean` again then.",
	.example = "    hermit record clean\n",
	.opts = opts,
	.values_size = sizeof(struct values),
	.run = run_clean,
};
