/* Goes away: stands in for what is not written yet. */
#include "dap/parts_priv.h"

#include <errno.h>
#include "base/os.h"

static int todo(struct dap *d, const void *args, json_t *body)
{
	(void)args, (void)body;
	return errinfo_set(&d->ei, -ENOSYS, "not built yet");
}

const struct dap_method dap_method_where = { .fn = todo };
const struct dap_method dap_method_seek = { .fn = todo };
const struct dap_method dap_method_last_write = { .fn = todo };
const struct dap_method dap_method_navigate = { .fn = todo };
const struct dap_method dap_method_bookmarks = { .fn = todo };
const struct dap_method dap_method_add_bookmark = { .fn = todo };
const struct dap_method dap_method_remove_bookmark = { .fn = todo };
const struct dap_method dap_method_events = { .fn = todo };
const struct dap_method dap_method_timeline = { .fn = todo };
const struct dap_method dap_method_processes = { .fn = todo };
const struct dap_method dap_method_open_process = { .fn = todo };

int output_new(struct dap_output **ret)
{
	*ret = NULL;
	return 0;
}
void output_free(struct dap_output *o)
{
	(void)o;
}
int output_setup(struct dap *d)
{
	(void)d;
	return 0;
}
void output_upto(struct dap *d, uint64_t event)
{
	(void)d, (void)event;
}
int places_new(struct dap_places **ret)
{
	*ret = NULL;
	return 0;
}
void places_free(struct dap_places *p)
{
	(void)p;
}
void places_stopped(struct dap *d, enum run_kind kind)
{
	(void)d, (void)kind;
}
void places_leaving(struct dap *d, enum run_kind kind)
{
	(void)d, (void)kind;
}
int places_word(struct dap *d, int64_t frame_id, const char *line, json_t *body)
{
	(void)d, (void)frame_id, (void)line, (void)body;
	return 0;
}
