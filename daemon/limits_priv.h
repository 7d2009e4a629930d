/* Limits of the daemon: every count that a file, a client or a child can choose has one. */
#ifndef DAEMON_LIMITS_PRIV_H
#define DAEMON_LIMITS_PRIV_H

/* hermitd.conf, and the words of one of its lists. */
#define CONFIG_BYTES_MAX (1u << 20)
#define CONFIG_LIST_MAX 64
/* A path that the system tells us. */
#define OS_PATH_BYTES 4096

/* One-time tokens that wait to be used; the oldest goes when there are more. */
#define LOGINS_MAX 64
#define LOGIN_LIFE_NS (60ull * 1000000000)
/* A token file: long enough for any token that people make themselves. */
#define TOKEN_BYTES_MIN 16
#define TOKEN_BYTES_MAX 1024

/* A line that a child tells (a result of a job), and what is kept of its stderr: the end. */
#define CHILD_TOLD_MAX (256u << 10)
#define CHILD_STDERR_KEPT 2000

/* A request to an inspector and its answer; how much memory its checkpoints take. */
#define INSPECT_REQUEST_MAX (32u << 10)
#define INSPECT_REPLY_MAX (64u << 20)
#define INSPECT_CHECKPOINT_MEMORY "256M"
/* One that nobody asks ends after this; one that does not react to being cancelled after that (it looks up from debugging information at the latest
 * after 30 s of processor time). */
#define INSPECT_IDLE_NS (300 * 1000000000ull)
#define INSPECT_CANCEL_NS (45 * 1000000000ull)

/* Recordings that could not be sealed and are not tried again. */
#define HOUSE_FAILED_MAX 1000

/* Debug sessions that are over; text of a place to go to. */
#define SESSIONS_KEPT 50
#define SESSION_GOTO_MAX 200
/* To go to a place far behind takes its time. One that was asked to end and does not is killed. */
#define SESSION_START_NS (900 * 1000000000ull)
#define SESSION_STOP_NS (5 * 1000000000ull)

/* Jobs that are over, and jobs that wait. */
#define JOBS_KEPT 200
#define JOBS_QUEUED_MAX 10000

/* A specification of a recording; words of its command, variables of its environment. */
#define SPEC_BYTES_MAX (16u << 20)
#define SPEC_STRINGS_MAX (1u << 17)
/* Text of one line that a child logs. */
#define CHILD_LINE_MAX 4000
/* Time to end in, for one that was asked to. */
#define RECORDER_END_NS (30ull * 1000000000)

/* Connections to the control socket at once. */
#define CONTROL_CONNS_MAX 128

#endif
