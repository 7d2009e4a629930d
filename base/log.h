/* Logging to stderr or a file by area and level.
 *
 * Each .c file defines LOG_AREA ("engine.wait") before including this header. The filter is a list:
 * "warn,engine:debug,store:trace" (HERMIT_LOG or --log). Libraries log at debug and trace only; programs log errors once.
 */
#ifndef BASE_LOG_H
#define BASE_LOG_H

#include "base/err.h"

enum log_level { LOG_OFF, LOG_ERROR, LOG_WARN, LOG_INFO, LOG_DEBUG, LOG_TRACE, LOG_MAX_ };

#ifndef LOG_AREA
#define LOG_AREA "hermit"
#endif

/* Sets the filter; returns -EINVAL for text that is no filter (nothing changes). NULL = default "warn". */
int log_set_filter(const char *spec) MUST_CHECK;
/* Sends records to this descriptor (borrowed) instead of 2. */
void log_set_fd(int fd);
/* Prefix put before warnings and errors, default "hermit: ". Borrowed. */
void log_set_program(const char *prefix);
int log_enabled(enum log_level level, const char *area);
void log_write(enum log_level level, const char *area, const char *file, int line, const char *func,
	       const char *fmt, ...) PRINTF_LIKE(6, 7);

#define log_at_(level, ...) \
	do { \
		if (__builtin_expect(log_enabled(level, LOG_AREA), 0)) \
			log_write(level, LOG_AREA, __FILE__, __LINE__, __func__, __VA_ARGS__); \
	} while (0)
#define log_error(...) log_at_(LOG_ERROR, __VA_ARGS__)
#define log_warn(...) log_at_(LOG_WARN, __VA_ARGS__)
#define log_info(...) log_at_(LOG_INFO, __VA_ARGS__)
#define log_debug(...) log_at_(LOG_DEBUG, __VA_ARGS__)
#define log_trace(...) log_at_(LOG_TRACE, __VA_ARGS__)
/* Logs "text: err_str(r)" as an error and gives r back. */
#define log_error_r(r, fmt, ...) \
	({ \
		int log_r_ = (r); \
		log_error(fmt ": %s", ##__VA_ARGS__, err_str(log_r_)); \
		log_r_; \
	})

#endif
