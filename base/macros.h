/* Compiler helpers used by every folder: ownership, checked results, assertions.
 *
 * must() states what only a bug of ours can break: it is always compiled in and aborts.
 * Bytes that come from strangers (store files, guests, sockets) never reach a must().
 */
#ifndef BASE_MACROS_H
#define BASE_MACROS_H

#include <stddef.h>
#include <stdint.h>

#define MUST_CHECK __attribute__((warn_unused_result))
#define PRINTF_LIKE(f, a) __attribute__((format(printf, f, a)))
#define NORETURN __attribute__((noreturn))
#define UNUSED __attribute__((unused))
/* Runs fn(&variable) when the variable leaves its scope. */
#define CLEANUP(fn) __attribute__((cleanup(fn)))
/* Hands an owned pointer out of a CLEANUP variable. */
#define TAKE(p) ({ typeof(p) *take_p_ = &(p); typeof(p) take_v_ = *take_p_; *take_p_ = NULL; take_v_; })
/* Hands an owned descriptor out of a CLEANUP(closep) variable. */
#define TAKE_FD(fd) ({ int *take_p_ = &(fd); int take_v_ = *take_p_; *take_p_ = -1; take_v_; })

#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))
#define CONTAINER_OF(p, type, member) ((type *)((char *)(p) - offsetof(type, member)))
#define MIN(a, b) ({ typeof(a) min_a_ = (a); typeof(b) min_b_ = (b); min_a_ < min_b_ ? min_a_ : min_b_; })
#define MAX(a, b) ({ typeof(a) max_a_ = (a); typeof(b) max_b_ = (b); max_a_ > max_b_ ? max_a_ : max_b_; })
#define ALIGN_UP(x, a) (((x) + ((a) - 1)) & ~(typeof(x))((a) - 1))
#define ALIGN_DOWN(x, a) ((x) & ~(typeof(x))((a) - 1))

/* Aborts with file, line and the broken condition. */
NORETURN void must_failed(const char *cond, const char *file, int line, const char *func);
#define must(cond) \
	do { \
		if (__builtin_expect(!(cond), 0)) \
			must_failed(#cond, __FILE__, __LINE__, __func__); \
	} while (0)

/* A guest address: cannot be dereferenced or mixed up with ours. */
struct gaddr {
	uint64_t v;
};

/* For CLEANUP: free(), close() and fclose() of what the variable holds (NULL and -1 are fine). */
void freep(void *pp);
void closep(int *fd);

#endif
