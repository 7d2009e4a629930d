/* Draws the processes of a recording as a tree. */
#ifndef CLI_PROCTREE_H
#define CLI_PROCTREE_H

#include "base/buf.h"
#include "store/manifest.h"

/* Appends one line per process: tree lines, pid, command, how it ended, events. lines: with box-drawing characters, else ASCII.
 * The array comes from a manifest and is not trusted: cycles and unknown parents are shown as roots. -ENOMEM. */
int proctree_put(struct buf *out, const struct manifest_process *p, size_t n, bool lines) MUST_CHECK;

#endif
