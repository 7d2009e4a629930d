/* Calls whose arguments depend on a command (fcntl, futex, prctl, ...): from a call to the row that describes it.
 * The families are in commands/NAME.def; ioctl has a file of its own. */
#include "engine/syscall_priv.h"

#include "engine/commands_priv.h"

/* Where the command is, and how it becomes the number in the .def file. */
struct family {
	uint16_t nr;
	uint8_t arg;
	uint8_t shift;
	uint32_t mask;
	const struct sys_command *(*find)(uint32_t value);
};

#define IPC_64 0x100u
#define FUTEX_OPTIONS 0x180u /* FUTEX_PRIVATE_FLAG | FUTEX_CLOCK_REALTIME */

static const struct family families[] = {
	{ 16, 1, 0, ~0u, sys_ioctl_find },
	{ 202, 1, 0, ~FUTEX_OPTIONS, sys_futex_find },
	{ 72, 1, 0, ~0u, sys_fcntl_find },
	{ 157, 0, 0, ~0u, sys_prctl_find },
	{ 158, 0, 0, ~0u, sys_arch_prctl_find },
	{ 317, 0, 0, ~0u, sys_seccomp_find },
	{ 31, 1, 0, ~IPC_64, sys_shmctl_find },
	{ 66, 2, 0, ~IPC_64, sys_semctl_find },
	{ 71, 1, 0, ~IPC_64, sys_msgctl_find },
	{ 101, 0, 0, ~0u, sys_ptrace_find },
	{ 139, 0, 0, ~0u, sys_sysfs_find },
	{ 154, 0, 0, ~0u, sys_modify_ldt_find },
	{ 179, 0, 8, ~0u, sys_quotactl_find },
	{ 443, 1, 8, ~0u, sys_quotactl_fd_find },
	{ 250, 0, 0, ~0u, sys_keyctl_find },
	{ 321, 0, 0, ~0u, sys_bpf_find },
};

static const struct sys_command *sockopt_find(const struct sys_call *c)
{
	uint32_t level = (uint32_t)c->args[1], option = (uint32_t)c->args[2];

	if (level > UINT16_MAX || option > UINT16_MAX)
		return NULL;
	return c->nr == 54 ? sys_setsockopt_find(level << 16 | option) : sys_getsockopt_find(level << 16 | option);
}

const struct sys_command *sys_command_find(const struct sys_call *c)
{
	if (sys_is_sockopt(c->nr))
		return sockopt_find(c);
	for (size_t i = 0; i < ARRAY_SIZE(families); i++)
		if (families[i].nr == c->nr)
			return families[i].find(((uint32_t)c->args[families[i].arg] >> families[i].shift) & families[i].mask);
	return NULL;
}

#define FAMILY sys_fcntl_find
#define FAMILY_CALL "fcntl"
#define FAMILY_FLAGS SYS_F_DESC
#define FAMILY_DEF "engine/commands/fcntl.def"
#define HEAD A_FD("fd"), A_COMMAND("cmd")
#include "engine/family.def"

#define FAMILY sys_futex_find
#define FAMILY_CALL "futex"
#define FAMILY_FLAGS SYS_F_IPC
#define FAMILY_DEF "engine/commands/futex.def"
#define HEAD A_COMMAND("futex_op")
#include "engine/family.def"

#define FAMILY sys_prctl_find
#define FAMILY_CALL "prctl"
#define FAMILY_FLAGS SYS_F_PROC
#define FAMILY_DEF "engine/commands/prctl.def"
#define HEAD A_COMMAND("option")
#include "engine/family.def"

#define FAMILY sys_arch_prctl_find
#define FAMILY_CALL "arch_prctl"
#define FAMILY_FLAGS SYS_F_MEM
#define FAMILY_DEF "engine/commands/arch_prctl.def"
#define HEAD A_COMMAND("option")
#include "engine/family.def"

#define FAMILY sys_seccomp_find
#define FAMILY_CALL "seccomp"
#define FAMILY_FLAGS SYS_F_PROC
#define FAMILY_DEF "engine/commands/seccomp.def"
#define HEAD A_COMMAND("operation")
#include "engine/family.def"

#define FAMILY sys_shmctl_find
#define FAMILY_CALL "shmctl"
#define FAMILY_FLAGS SYS_F_IPC
#define FAMILY_DEF "engine/commands/shmctl.def"
#define HEAD A_INT("shmid"), A_COMMAND("cmd")
#include "engine/family.def"

#define FAMILY sys_semctl_find
#define FAMILY_CALL "semctl"
#define FAMILY_FLAGS SYS_F_IPC
#define FAMILY_DEF "engine/commands/semctl.def"
#define HEAD A_INT("semid"), A_INT("semnum"), A_COMMAND("cmd")
#include "engine/family.def"

#define FAMILY sys_msgctl_find
#define FAMILY_CALL "msgctl"
#define FAMILY_FLAGS SYS_F_IPC
#define FAMILY_DEF "engine/commands/msgctl.def"
#define HEAD A_INT("msqid"), A_COMMAND("cmd")
#include "engine/family.def"

#define FAMILY sys_ptrace_find
#define FAMILY_CALL "ptrace"
#define FAMILY_FLAGS SYS_F_PROC
#define FAMILY_DEF "engine/commands/ptrace.def"
#define HEAD A_COMMAND("op"), A_PID("pid")
#include "engine/family.def"

#define FAMILY sys_sysfs_find
#define FAMILY_CALL "sysfs"
#define FAMILY_FLAGS 0
#define FAMILY_DEF "engine/commands/sysfs.def"
#define HEAD A_COMMAND("option")
#include "engine/family.def"

#define FAMILY sys_modify_ldt_find
#define FAMILY_CALL "modify_ldt"
#define FAMILY_FLAGS SYS_F_MEM
#define FAMILY_DEF "engine/commands/modify_ldt.def"
#define HEAD A_COMMAND("func")
#include "engine/family.def"

#define FAMILY sys_quotactl_find
#define FAMILY_CALL "quotactl"
#define FAMILY_FLAGS SYS_F_FILE
#define FAMILY_DEF "engine/commands/quotactl.def"
#define HEAD A_COMMAND("op"), A_PATH("special"), A_UID("id")
#include "engine/family.def"

#define FAMILY sys_quotactl_fd_find
#define FAMILY_CALL "quotactl_fd"
#define FAMILY_FLAGS SYS_F_DESC
#define FAMILY_DEF "engine/commands/quotactl.def"
#define HEAD A_FD("fd"), A_COMMAND("cmd"), A_UID("id")
#include "engine/family.def"

#define FAMILY sys_keyctl_find
#define FAMILY_CALL "keyctl"
#define FAMILY_FLAGS 0
#define FAMILY_DEF "engine/commands/keyctl.def"
#define HEAD A_COMMAND("op")
#include "engine/family.def"

#define ATTR Z_INOUT_E("attr", BPF_ATTR, 2), A_LEN("size")
#define FAMILY sys_bpf_find
#define FAMILY_CALL "bpf"
#define FAMILY_FLAGS 0
#define FAMILY_DEF "engine/commands/bpf.def"
#define HEAD A_COMMAND("cmd")
#include "engine/family.def"

#define FAMILY sys_setsockopt_find
#define FAMILY_CALL "setsockopt"
#define FAMILY_FLAGS (SYS_F_DESC | SYS_F_NET)
#define FAMILY_DEF "engine/commands/setsockopt.def"
#define HEAD A_FD("sockfd"), A_ENUM("level", SOCK_LEVEL), A_COMMAND("optname")
#include "engine/family.def"

#define FAMILY sys_getsockopt_find
#define FAMILY_CALL "getsockopt"
#define FAMILY_FLAGS (SYS_F_DESC | SYS_F_NET)
#define FAMILY_DEF "engine/commands/getsockopt.def"
#define HEAD A_FD("sockfd"), A_ENUM("level", SOCK_LEVEL), A_COMMAND("optname")
#include "engine/family.def"
