/* Goes away: stands in for what is not written yet. */
#include "dap/parts_priv.h"

#include <errno.h>
#include "base/os.h"

static int todo(struct dap *d, const void *args, json_t *body)
{
	(void)args, (void)body;
	return errinfo_set(&d->ei, -ENOSYS, "not built yet");
}

const struct dap_method dap_method_threads = { .fn = todo };
const struct dap_method dap_method_stack_trace = { .fn = todo };
const struct dap_method dap_method_scopes = { .fn = todo };
const struct dap_method dap_method_variables = { .fn = todo };
const struct dap_method dap_method_set_variable = { .fn = todo };
const struct dap_method dap_method_set_expression = { .fn = todo };
const struct dap_method dap_method_evaluate = { .fn = todo };
const struct dap_method dap_method_completions = { .fn = todo };

int stack_new(struct dap_stack **ret)
{
	*ret = NULL;
	return 0;
}
void stack_free(struct dap_stack *s)
{
	(void)s;
}
void stack_forget(struct dap *d)
{
	(void)d;
}
int stack_frame(struct dap *d, int64_t frame_id, int *ret_thread, int *ret_level)
{
	(void)frame_id;
	*ret_thread = (int)run_where(d)->thread_id;
	*ret_level = 0;
	return 0;
}
int stack_lvalue(struct dap *d, int64_t frame_id, const char *expr, uint64_t *ret_addr, uint64_t *ret_len)
{
	(void)frame_id, (void)expr, (void)ret_addr, (void)ret_len;
	return errinfo_set(&d->ei, -ENOSYS, "not built yet");
}
int stack_evaluate(struct dap *d, int64_t frame_id, const char *expr, const char *context, json_t *body)
{
	(void)frame_id, (void)expr, (void)context, (void)body;
	return errinfo_set(&d->ei, -ENOSYS, "not built yet");
}
