/* Named limits of base/: every count that input can choose has one. */
#ifndef BASE_LIMITS_H
#define BASE_LIMITS_H

/* Largest struct buf. */
#define BUF_LEN_MAX (1ull << 30)
/* Entries of a log filter ("warn,engine:debug"). */
#define LOG_FILTERS_MAX 32
/* One log record; longer ones are cut. */
#define LOG_RECORD_MAX 4096
/* Events, and calls of other threads, that a loop takes at once before it looks for others. */
#define LOOP_ROUND_MAX 64
/* Nesting that os_mkdir_p() and path helpers accept. */
#define OS_PATH_MAX 4096
/* Descriptors that one proc_spawn() may place. */
#define PROC_FDS_MAX 32
/* Largest JSON text that jsonx_parse() takes. */
#define JSON_TEXT_MAX (256u << 20)
/* Arrays and objects in each other. */
#define JSON_DEPTH_MAX 100

#endif
