/* What the handlers of recordings share. */
#ifndef WEB_RECORDING_PRIV_H
#define WEB_RECORDING_PRIV_H

#include "web/http_priv.h"

/* The entry; *ret_view is to be given back to the catalog. Looks at the disk when it is not known yet. ERR_NOT_FOUND. */
int recording_entry(struct web_request *q, const struct store_id *id, const struct catalog_view **ret_view, const struct catalog_entry **ret) MUST_CHECK;
/* Answers with the whole recording and its ETag. */
int recording_reply(struct web_request *q, unsigned status, const struct store_id *id) MUST_CHECK;

#endif
