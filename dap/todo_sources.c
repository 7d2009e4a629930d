/* Goes away: stands in for what is not written yet. */
#include "dap/parts_priv.h"

#include <errno.h>
#include "base/os.h"

static int todo(struct dap *d, const void *args, json_t *body)
{
	(void)args, (void)body;
	return errinfo_set(&d->ei, -ENOSYS, "not built yet");
}

const struct dap_method dap_method_source = { .fn = todo };
const struct dap_method dap_method_loaded_sources = { .fn = todo };
const struct dap_method dap_method_modules = { .fn = todo };
const struct dap_method dap_method_breakpoint_locations = { .fn = todo };
const struct dap_method dap_method_locations = { .fn = todo };
const struct dap_method dap_method_read_memory = { .fn = todo };
const struct dap_method dap_method_write_memory = { .fn = todo };
const struct dap_method dap_method_disassemble = { .fn = todo };
const struct dap_method dap_method_go_to = { .fn = todo };
const struct dap_method dap_method_restart_frame = { .fn = todo };
const struct dap_method dap_method_terminate_threads = { .fn = todo };

int sources_new(struct dap_sources **ret)
{
	*ret = NULL;
	return 0;
}
void sources_free(struct dap_sources *s)
{
	(void)s;
}
int sources_setup(struct dap *d)
{
	(void)d;
	return 0;
}
json_t *sources_of(struct dap *d, const char *file, const char *fullname)
{
	(void)d;
	return fullname ? json_pack("{ss* ss}", "name", file, "path", fullname) : json_null();
}
int sources_to_gdb(struct dap *d, const json_t *source, char **ret)
{
	const char *path = json_string_value(json_object_get(source, "path"));

	if (!path)
		return errinfo_set(&d->ei, -ENOENT, "a source without a path");
	*ret = os_strdup(path);
	return *ret ? 0 : -ENOMEM;
}
int64_t sources_line_in(const struct dap *d, int64_t line)
{
	return d->client.lines_at_1 ? line : line + 1;
}
int64_t sources_line_out(const struct dap *d, int64_t line)
{
	return d->client.lines_at_1 ? line : line - 1;
}
