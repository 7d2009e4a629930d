/* The event loop of daemons: epoll; descriptors, timers, signals, ends of children, and calls from other threads.
 *
 * A loop belongs to the thread that runs it. Only loop_call(), loop_post() and loop_quit() may be called from other threads. Callbacks run one at a time;
 * a source may be freed in any callback, its own too. A negative result of a callback is logged with the source's name and frees it. */
#ifndef BASE_LOOP_H
#define BASE_LOOP_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include "base/err.h"

struct loop;
struct loop_source;

int loop_new(struct loop **ret) MUST_CHECK;
void loop_free(struct loop *l); /* with all sources; NULL is fine */
void loop_freep(struct loop **l);
/* Runs until loop_quit(). 0, or the error of epoll. */
int loop_run(struct loop *l) MUST_CHECK;
/* One round: waits at most timeout_ms (-1: for ever), dispatches what is ready. Number of callbacks called. */
int loop_step(struct loop *l, int timeout_ms) MUST_CHECK;
void loop_quit(struct loop *l);

/* name: for logs, copied. fd is borrowed and must stay open while the source lives. events: EPOLLIN | EPOLLOUT ... */
typedef int (*loop_io_fn)(void *ctx, uint32_t events);
int loop_add_io(struct loop *l, const char *name, int fd, uint32_t events, loop_io_fn fn, void *ctx, struct loop_source **ret) MUST_CHECK;
int loop_io_set(struct loop_source *s, uint32_t events) MUST_CHECK;
/* First after first_ns (0: at once), then every every_ns (0: once, then the source is idle until loop_timer_set()). */
typedef int (*loop_fn)(void *ctx);
int loop_add_timer(struct loop *l, const char *name, uint64_t first_ns, uint64_t every_ns, loop_fn fn, void *ctx, struct loop_source **ret) MUST_CHECK;
int loop_timer_set(struct loop_source *s, uint64_t first_ns, uint64_t every_ns) MUST_CHECK; /* first_ns 0: off */
/* Blocks the signal in the calling thread (before other threads start) and takes it by signalfd. */
typedef int (*loop_signal_fn)(void *ctx, int signo);
int loop_add_signal(struct loop *l, int signo, loop_signal_fn fn, void *ctx, struct loop_source **ret) MUST_CHECK;
/* pidfd is readable when the child has ended: fn is called once, with nothing reaped. Borrowed. */
int loop_add_child(struct loop *l, const char *name, int pidfd, loop_fn fn, void *ctx, struct loop_source **ret) MUST_CHECK;
void loop_remove(struct loop_source *s); /* NULL is fine */

/* Runs fn(ctx) in the loop's thread and gives its result; in that thread itself: at once. ERR_INTERRUPTED when the loop has ended. */
int loop_call(struct loop *l, loop_fn fn, void *ctx) MUST_CHECK;
/* The same without waiting; ctx must live until then. -ENOMEM; ERR_INTERRUPTED. What a loop that ends has not come to is forgotten. */
int loop_post(struct loop *l, loop_fn fn, void *ctx) MUST_CHECK;

#endif
