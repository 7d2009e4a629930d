/* hermit record verify: checks every digest, frame and event of recordings. Exit 1 when one is damaged. */
#include <stdlib.h>
#include "base/str.h"
#include "cli/cmd.h"
#include "cli/fail.h"
#include "cli/stores.h"
#include "cli/term.h"
#include "store/maintain.h"

struct values {
	const char *data_dir;
	bool all;
};

/* Is r a verdict about the recording, not a failure to look at it? */
static bool is_damage(int r)
{
	return r == ERR_CORRUPT || r == ERR_TRUNCATED || r == ERR_MISSING_BLOB;
}

static int verify_one(struct store *s, const struct store_id *id)
{
	struct stores_patience patience = { 0 };
	struct errinfo ei;
	int r;

	do {
		ei = (struct errinfo){ 0 };
		term_progress_begin("verifying");
		r = store_verify(s, id, term_progress, NULL, &ei);
		term_progress_end();
	} while (stores_retry(&patience, s, id, r));
	if (r >= 0) {
		printf("%s %sok%s\n", id->hex, term_style(TERM_OUT, TERM_GREEN), term_style(TERM_OUT, TERM_PLAIN));
		return 0;
	}
	if (!is_damage(r))
		return fail_r(r, &ei, "cannot verify recording %s", id->hex);
	printf("%s %sdamaged%s: %s\n", id->hex, term_style(TERM_OUT, TERM_RED), term_style(TERM_OUT, TERM_PLAIN),
	       ei.text[0] ? ei.text : err_str(r));
	return EXIT_DIVERGED;
}

static int verify_all(struct store *s)
{
	struct store_id *ids CLEANUP(freep) = NULL;
	size_t n = 0;
	int worst = 0, r = store_list(s, &ids, &n);

	if (r < 0)
		return fail_r(r, NULL, "cannot list the recordings in %s", store_dir(s));
	for (size_t i = 0; i < n; i++) {
		r = verify_one(s, &ids[i]);
		worst = MAX(worst, r);
	}
	return worst;
}

static int run(const struct cmd_call *call)
{
	const struct values *v = call->values;
	struct store *s CLEANUP(store_freep) = NULL;
	struct store_id id;
	int r;

	if (v->all && call->argc)
		return cmd_usage(call->cmd, "'--all' cannot be used with an ID");
	if (v->all) {
		r = stores_open_if_there(v->data_dir, &s);
		return r || !s ? r : verify_all(s);
	}
	r = stores_open_resolve(v->data_dir, call->argv[0], &s, &id);
	return r ? r : verify_one(s, &id);
}

/* clang-format off */
static const struct opt opts[] = {
	{ .kind = OPT_FLAG, .letter = 'a', .name = "all", .offset = offsetof(struct values, all),
	  .help = "Check all recordings of the store" },
	OPT_DATA_DIR(struct values, data_dir),
	{ .kind = OPT_END_ },
};
/* clang-format on */

const struct cmd cmd_record_verify = {
	.name = "record verify",
	.summary = "Check that recordings are undamaged",
	.usage = "[OPTIONS] [ID]",
	.about = "Reads a recording whole and checks every digest, every frame, every event and every file it needs. Prints 'ok' or the "
		 "first damage, and exits with 1 if there is any. Without ID the newest recording is checked. A recording that was cut off "
		 "(truncated) is not damaged.",
	.example = "    hermit record verify\n"
		   "    hermit record verify --all && echo everything is fine\n",
	.opts = opts,
	.values_size = sizeof(struct values),
	.max_args = 1,
	.run = run,
};
