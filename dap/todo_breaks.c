/* Goes away: stands in for what is not written yet. */
#include "dap/parts_priv.h"

#include <errno.h>
#include "base/os.h"

static int todo(struct dap *d, const void *args, json_t *body)
{
	(void)args, (void)body;
	return errinfo_set(&d->ei, -ENOSYS, "not built yet");
}

const struct dap_method dap_method_set_breakpoints = { .fn = todo };
const struct dap_method dap_method_set_function_breakpoints = { .fn = todo };
const struct dap_method dap_method_set_instruction_breakpoints = { .fn = todo };
const struct dap_method dap_method_log_all = { .fn = todo };
const struct dap_method dap_method_data_breakpoint_info = { .fn = todo };
const struct dap_method dap_method_set_data_breakpoints = { .fn = todo };
const struct dap_method dap_method_set_exception_breakpoints = { .fn = todo };
const struct dap_method dap_method_exception_info = { .fn = todo };

int breaks_new(struct dap_breaks **ret)
{
	*ret = NULL;
	return 0;
}
void breaks_free(struct dap_breaks *b)
{
	(void)b;
}
int breaks_judge(struct dap *d, struct run_stop *s)
{
	(void)d, (void)s;
	return 0;
}
bool breaks_record(struct dap *d, const struct mi_record *rec)
{
	(void)d, (void)rec;
	return false;
}
int except_new(struct dap_except **ret)
{
	*ret = NULL;
	return 0;
}
void except_free(struct dap_except *e)
{
	(void)e;
}
int except_judge(struct dap *d, struct run_stop *s)
{
	(void)d, (void)s;
	return 0;
}
json_t *except_filters(void)
{
	return json_array();
}
int breaks_log_all(struct dap *d, const char *location, const char *condition, const char *text, json_t *body)
{
	(void)location, (void)condition, (void)text, (void)body;
	return errinfo_set(&d->ei, -ENOSYS, "not built yet");
}
