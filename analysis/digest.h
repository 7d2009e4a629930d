/* What pages show of a recording, gathered in one pass over its events and kept: processes, summary, files and sockets, console.
 *
 * A pool of them is shared by threads. A recording is read as far as it goes, or as far as the time allows, and from there on the next time: pages of
 * long recordings come at once and tell more when asked again, live ones follow. */
#ifndef ANALYSIS_DIGEST_H
#define ANALYSIS_DIGEST_H

#include "analysis/console.h"
#include "analysis/names.h"
#include "analysis/processes.h"
#include "analysis/summary.h"
#include "analysis/touched.h"

struct digest {
	struct processes *processes;
	struct summary *summary;
	struct touched *touched;
	struct console *console;
	struct names names;
	uint64_t scanned; /* events seen */
	bool at_end;      /* there were no more the last time somebody looked */
};

/* Alone, for one thread. */
int digest_new(const struct manifest *m, struct digest **ret) MUST_CHECK;
void digest_free(struct digest *d);
void digest_freep(struct digest **d);
/* Reads on, for about that long (UINT_MAX = to the end). */
int digest_scan(struct digest *d, struct store_reader *r, unsigned budget_ms, struct errinfo *ei) MUST_CHECK;

struct digests;

int digests_new(struct digests **ret) MUST_CHECK;
void digests_free(struct digests *p);
/* The digest of r's recording, read on for about that long (waiting for others included) and locked: nobody else changes it until it is given back. Blocks while others have it. */
int digests_get(struct digests *p, struct store_reader *r, unsigned budget_ms, struct digest **ret, struct errinfo *ei) MUST_CHECK;
void digests_put(struct digests *p, struct digest *d);

#endif
