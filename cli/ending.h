/* Ends hermit the way the guest ended. */
#ifndef CLI_ENDING_H
#define CLI_ENDING_H

/* Exit code for a wait status; does not return when the guest was killed by a signal: then this process is killed by the same
 * one (without a core dump), so that a shell sees what it would have seen of the program itself. -1 (unknown) gives 0. */
int end_like(int status);

#endif
