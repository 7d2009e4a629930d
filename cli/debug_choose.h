/* What the words of 'hermit replay' mean for a recording: -p, -g, --gdbex. No side effects. */
#ifndef CLI_DEBUG_CHOOSE_H
#define CLI_DEBUG_CHOOSE_H

#include "base/buf.h"
#include "store/reader.h"

/* The process to look at. want: a pid, the path of a program or its last part; NULL: the one that crashed, else the first.
 * *ret is NULL when the manifest does not know its processes (cut off, or still being recorded) and that matters not: want is a
 * pid (*ret_pid) or NULL. ERR_NOT_FOUND; ERR_AMBIGUOUS: several; -ENODATA: the manifest would have to know them. */
int debug_choose_process(const struct manifest *m, const char *want, const struct manifest_process **ret, pid_t *ret_pid) MUST_CHECK;
/* Appends lines of pid, events, result and program; want as above, NULL = all. At most `max` of them, then how many more. */
void debug_put_processes(struct buf *out, const struct manifest *m, const char *want, unsigned max);
/* The event at which a fatal signal killed the process (NULL: any), the last one: ERR_NOT_FOUND, or errors of reading. Reads from the process's first
 * event on. A process that was killed without a signal being delivered (SIGKILL): its end. */
int debug_find_crash(struct store_reader *r, const struct manifest_process *p, uint64_t *ret_event, struct errinfo *ei) MUST_CHECK;
/* Appends the commands of a list "b main; c; printf \"a;b\"" to *v (owned array of owned strings, NULL-terminated). ';' in quotes or behind a backslash separates
 * not. -ENOMEM. */
int debug_split_commands(const char *text, char ***v, size_t *n) MUST_CHECK;

#endif
