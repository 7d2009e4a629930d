/* The finders that commands.c makes from commands/NAME.def: row of a command value, or NULL. */
#ifndef ENGINE_COMMANDS_PRIV_H
#define ENGINE_COMMANDS_PRIV_H

#include "engine/syscall_priv.h"

/* setsockopt and getsockopt have commands only for their few odd options: all others are as the plain row says. */
static inline bool sys_is_sockopt(uint32_t nr)
{
	return nr == 54 || nr == 55;
}

const struct sys_command *sys_fcntl_find(uint32_t value);
const struct sys_command *sys_futex_find(uint32_t value);
const struct sys_command *sys_prctl_find(uint32_t value);
const struct sys_command *sys_arch_prctl_find(uint32_t value);
const struct sys_command *sys_seccomp_find(uint32_t value);
const struct sys_command *sys_shmctl_find(uint32_t value);
const struct sys_command *sys_semctl_find(uint32_t value);
const struct sys_command *sys_msgctl_find(uint32_t value);
const struct sys_command *sys_ptrace_find(uint32_t value);
const struct sys_command *sys_sysfs_find(uint32_t value);
const struct sys_command *sys_modify_ldt_find(uint32_t value);
const struct sys_command *sys_quotactl_find(uint32_t value);
const struct sys_command *sys_quotactl_fd_find(uint32_t value);
const struct sys_command *sys_keyctl_find(uint32_t value);
const struct sys_command *sys_bpf_find(uint32_t value);
const struct sys_command *sys_setsockopt_find(uint32_t value);
const struct sys_command *sys_getsockopt_find(uint32_t value);

#endif
