/* Exports as files: made once, so that ranges of them can be asked for. */
#ifndef WEB_EXPORTS_PRIV_H
#define WEB_EXPORTS_PRIV_H

#include "web/http_priv.h"

struct web_exports;

int exports_new(struct web_exports **ret) MUST_CHECK;
void exports_free(struct web_exports *x);
/* Closes what nobody has asked for lately; all: whatever is not in use. */
void exports_trim(struct web_exports *x, bool all);
void exports_forget(struct web_exports *x, const struct store_id *id);

#endif
