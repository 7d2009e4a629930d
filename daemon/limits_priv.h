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

#endif
