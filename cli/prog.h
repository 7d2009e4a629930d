/* Finds the program to record the way a shell does, and says clearly why it cannot be run before anything is recorded. */
#ifndef CLI_PROG_H
#define CLI_PROG_H

#include "base/err.h"
#include "cli/fail.h"

struct prog_fault {
	enum exit_code code; /* EXIT_NOT_FOUND, EXIT_NOT_EXECUTABLE; EXIT_INTERNAL when the working directory is the trouble */
	char text[1024];
	char advice[512];    /* "" = none */
};

/* Resolves name: with a slash it is a path (relative to workdir), else it is searched in the guest's PATH (NULL: the system's default).
 * workdir NULL = current directory. *ret_path (owned) is what to hand to execve() in workdir: scripts see it as their name.
 * -ENOEXEC or -ENOENT with the fault filled, -ENOMEM. What the kernel alone can tell (binfmt_misc, mount options) is left to it. */
int prog_resolve(const char *name, const char *path, const char *workdir, char **ret_path, struct prog_fault *fault) MUST_CHECK;

#endif
