/* Named limits of analysis/: recordings come from strangers, so every count in memory has one. Where one was hit the answer says "complete: false". */
#ifndef ANALYSIS_LIMITS_H
#define ANALYSIS_LIMITS_H

/* Threads and processes of one recording, and the largest thread number that is looked at. */
#define ANALYSIS_THREADS_MAX (1u << 20)
/* Bytes kept of a command line, a path, a note. */
#define ANALYSIS_TEXT_MAX 4096u
/* Bytes of all command lines of one recording. */
#define ANALYSIS_COMMANDS_MAX (32u << 20)
/* Events up to which output is looked for (2 bits each). */
#define CONSOLE_EVENTS_MAX (UINT64_C(1) << 28)
/* Bytes of output that one call of console_read() gives. */
#define CONSOLE_READ_MAX (1u << 20)
/* Different errors counted for one system call or path; programs and notes listed. */
#define SUMMARY_ERRNOS_MAX 64u
#define SUMMARY_EXECS_MAX 4096u
#define SUMMARY_NOTES_MAX 1024u
/* Paths and sockets of one recording, and bytes of all their names. */
#define TOUCHED_FILES_MAX 65536u
#define TOUCHED_SOCKETS_MAX 65536u
#define TOUCHED_ERRNOS_MAX 16u
/* Recordings whose digests are kept. */
#define DIGESTS_MAX 16u

#endif
