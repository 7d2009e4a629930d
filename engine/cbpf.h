/* Classic BPF as seccomp uses it: checks and runs filters that guests want to install.
 *
 * A filter in the kernel would hide refused calls from the recorder (ERRNO and KILL outrank TRACE), so guests' filters are run here instead.
 * Kernel interface: seccomp(2), linux/filter.h. */
#ifndef ENGINE_CBPF_H
#define ENGINE_CBPF_H

#include <linux/filter.h>
#include <linux/seccomp.h>
#include "base/err.h"

/* Whether the kernel would take the program: known opcodes, jumps inside, aligned loads inside struct seccomp_data, ends in a return. -EINVAL. */
int cbpf_check(const struct sock_filter *code, unsigned n) MUST_CHECK;
/* Runs a checked program; gives its return value (SECCOMP_RET_* | data). */
uint32_t cbpf_run(const struct sock_filter *code, const struct seccomp_data *data);

#endif
