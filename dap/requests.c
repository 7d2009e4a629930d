/* The table of requests, and the capabilities that follow from it. */
#include "dap/parts_priv.h"

#include <errno.h>
#include <string.h>

static const struct dap_request requests[] = {
#define REQUEST(name_, wire_, when_, capability_) { wire_, capability_, when_, &dap_method_##name_ },
#include "dap/requests.def"
#undef REQUEST
};

const struct dap_request *dap_request_find(const char *wire)
{
	for (size_t i = 0; i < ARRAY_SIZE(requests); i++)
		if (strcmp(requests[i].wire, wire) == 0)
			return &requests[i];
	return NULL;
}

/* What is a trait of requests in the table, not a request of its own. */
static const char *const traits[] = {
	"supportsHitConditionalBreakpoints",
	"supportsLogPoints",
	"supportsValueFormattingOptions",
	"supportsClipboardContext",
	"supportsANSIStyling", /* of what the recorded program prints */
};

int dap_capabilities(struct dap *d, json_t *ret)
{
	int r = jsonx_set_new(ret, "exceptionBreakpointFilters", except_filters());

	(void)d;
	for (size_t i = 0; i < ARRAY_SIZE(requests) && r >= 0; i++)
		if (requests[i].capability)
			r = jsonx_set_bool(ret, requests[i].capability, true);
	for (size_t i = 0; i < ARRAY_SIZE(traits) && r >= 0; i++)
		r = jsonx_set_bool(ret, traits[i], true);
	if (r >= 0)
		r = jsonx_set_new(ret, "completionTriggerCharacters", json_pack("[ssss]", ".", ">", ":", "-"));
	return r;
}

int dap_refuse_write(struct dap *d, const char *what)
{
	return errinfo_set(&d->ei, -EROFS, "recordings are read-only: %s is not possible, what happened cannot be changed", what);
}
