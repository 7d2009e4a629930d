/* hermit record seal: compresses a finished recording. 'record start' runs it in the background by itself (seal.c). */
#include "base/str.h"
#include "cli/cmd.h"
#include "cli/fail.h"
#include "cli/stores.h"
#include "cli/term.h"
#include "store/maintain.h"

struct values {
	const char *data_dir;
	bool quiet;
};

static int seal_one(struct store *s, const struct store_id *id, bool quiet)
{
	struct buf b CLEANUP(buf_done) = { 0 };
	struct stores_patience patience = { 0 };
	struct errinfo ei;
	uint64_t before = 0, after = 0, blobs;
	int r;

	if (store_usage(s, id, &before, &blobs) < 0)
		before = 0;
	do {
		ei = (struct errinfo){ 0 };
		term_progress_begin("sealing");
		r = store_seal(s, id, term_progress, NULL, &ei);
		term_progress_end();
	} while (stores_retry(&patience, s, id, r));
	if (r < 0)
		return fail_r(r, &ei, "cannot seal recording %s", id->hex);
	if (quiet || store_usage(s, id, &after, &blobs) < 0)
		return 0;
	buf_put_size(&b, before);
	buf_printf(&b, " -> ");
	buf_put_size(&b, after);
	printf("%s sealed, %s\n", id->hex, buf_cstr(&b));
	return 0;
}

static int run(const struct cmd_call *call)
{
	const struct values *v = call->values;
	struct store *s CLEANUP(store_freep) = NULL;
	struct store_id id;
	int r = stores_open_resolve(v->data_dir, call->argv[0], &s, &id);

	return r ? r : seal_one(s, &id, v->quiet);
}

/* clang-format off */
static const struct opt opts[] = {
	{ .kind = OPT_FLAG, .letter = 'q', .name = "quiet", .offset = offsetof(struct values, quiet),
	  .help = "Print nothing when it went well" },
	OPT_DATA_DIR(struct values, data_dir),
	{ .kind = OPT_END_ },
};
/* clang-format on */

const struct cmd cmd_record_seal = {
	.name = "record seal",
	.summary = "Compress a finished recording",
	.usage = "[OPTIONS] [ID]",
	.about = "Compresses the streams of a recording into .xz files that can still be read at any place. 'hermit record' starts this by "
		 "itself, in the background, when a recording ends; by hand it is only needed after --no-seal or when the machine was "
		 "switched off in between. It may be interrupted and repeated at any time.",
	.example = "    hermit record seal 6ba7\n",
	.opts = opts,
	.values_size = sizeof(struct values),
	.max_args = 1,
	.run = run,
};
