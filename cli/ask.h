/* An inspector of our own: a child that answers questions about one recording (inspector/inspector.h). */
#ifndef CLI_ASK_H
#define CLI_ASK_H

#include <jansson.h>
#include "base/buf.h"
#include "base/proc.h"
#include "inspector/inspector.h"

struct ask {
	struct proc child;
	int fd;
	struct buf input;
	uint64_t last_id;
};

/* Starts the child. s and opt are used there only. ask_done() is due in any case. */
int ask_start(struct ask *a, struct store *s, const struct inspector_options *opt) MUST_CHECK;
void ask_done(struct ask *a); /* for CLEANUP too */
/* Takes the request (an object without id; NULL: out of memory), waits, and shows progress. *ret: the result, new reference. What the
 * inspector refuses comes back as its own error with its text in ei; ERR_GUEST_GONE: it died. */
int ask_for(struct ask *a, json_t *request, json_t **ret, struct errinfo *ei) MUST_CHECK;

#endif
