/* base/loop: each kind of source, removal in callbacks, calls from other threads, the end. */
#include "base/loop.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include "base/log.h"
#include "base/os.h"
#include "base/proc.h"
#include "tests/unit/test.h"

#define MS 1000000ull

struct fix {
	struct loop *l;
	struct loop_source *s, *other;
	int calls, signo, result;
	uint32_t events;
};

static void set_up(struct fix *f)
{
	*f = (struct fix){ 0 };
	ck_assert_int_eq(loop_new(&f->l), 0);
}

static int on_io(void *ctx, uint32_t events)
{
	struct fix *f = ctx;

	f->calls++;
	f->events = events;
	return f->result;
}

static int on_plain(void *ctx)
{
	struct fix *f = ctx;

	f->calls++;
	return f->result;
}

START_TEST(io)
{
	struct fix f;
	int p[2];

	set_up(&f);
	ck_assert_int_eq(pipe(p), 0);
	ck_assert_int_eq(loop_add_io(f.l, "pipe", p[0], EPOLLIN, on_io, &f, &f.s), 0);
	ck_assert_int_eq(loop_step(f.l, 0), 0);
	ck_assert_int_eq(write(p[1], "x", 1), 1);
	ck_assert_int_eq(loop_step(f.l, 1000), 1);
	ck_assert_uint_eq(f.events, EPOLLIN);
	ck_assert_int_eq(loop_step(f.l, 1000), 1); /* still not read */
	ck_assert_int_eq(loop_io_set(f.s, 0), 0);
	ck_assert_int_eq(loop_step(f.l, 0), 0);
	ck_assert_int_eq(loop_io_set(f.s, EPOLLIN), 0);
	loop_remove(f.s);
	ck_assert_int_eq(loop_step(f.l, 0), 0);
	ck_assert_int_eq(f.calls, 2);
	loop_remove(NULL);
	loop_free(f.l);
	close(p[0]);
	close(p[1]);
}
END_TEST

/* A file that epoll does not take, a descriptor that is none. */
START_TEST(io_refused)
{
	struct fix f;
	int fd = open("/proc/self/exe", O_RDONLY);

	set_up(&f);
	ck_assert_int_eq(loop_add_io(f.l, "file", fd, EPOLLIN, on_io, &f, &f.s), -EPERM);
	ck_assert_int_eq(loop_add_io(f.l, "none", 999, EPOLLIN, on_io, &f, &f.s), -EBADF);
	ck_assert_ptr_null(f.s);
	loop_free(f.l);
	close(fd);
}
END_TEST

START_TEST(negative_result_frees)
{
	struct fix f;
	int p[2];

	set_up(&f);
	ck_assert_int_eq(log_set_filter("off"), 0);
	ck_assert_int_eq(pipe(p), 0);
	ck_assert_int_eq(write(p[1], "x", 1), 1);
	f.result = -EIO;
	ck_assert_int_eq(loop_add_io(f.l, "pipe", p[0], EPOLLIN, on_io, &f, &f.s), 0);
	ck_assert_int_eq(loop_step(f.l, 1000), 1);
	ck_assert_int_eq(loop_step(f.l, 0), 0);
	ck_assert_int_eq(f.calls, 1);
	loop_free(f.l);
	close(p[0]);
	close(p[1]);
}
END_TEST

/* Both are ready in one round; whichever comes first removes both, itself too. */
static int remove_both(void *ctx, uint32_t events)
{
	struct fix *f = ctx;

	(void)events;
	f->calls++;
	loop_remove(f->s);
	loop_remove(f->other);
	return -EIO; /* of a source that is gone: no second removal */
}

START_TEST(removal_within_a_round)
{
	struct fix f;
	int a[2], b[2];

	set_up(&f);
	ck_assert_int_eq(pipe(a), 0);
	ck_assert_int_eq(pipe(b), 0);
	ck_assert_int_eq(write(a[1], "x", 1), 1);
	ck_assert_int_eq(write(b[1], "x", 1), 1);
	ck_assert_int_eq(loop_add_io(f.l, "a", a[0], EPOLLIN, remove_both, &f, &f.s), 0);
	ck_assert_int_eq(loop_add_io(f.l, "b", b[0], EPOLLIN, remove_both, &f, &f.other), 0);
	ck_assert_int_eq(loop_step(f.l, 1000), 1);
	ck_assert_int_eq(loop_step(f.l, 0), 0);
	ck_assert_int_eq(f.calls, 1);
	loop_free(f.l);
}
END_TEST

START_TEST(timers)
{
	struct fix f;
	uint64_t start = os_mono_ns();

	set_up(&f);
	ck_assert_int_eq(loop_add_timer(f.l, "timer", 20 * MS, 0, on_plain, &f, &f.s), 0);
	ck_assert_int_eq(loop_step(f.l, 5000), 1);
	ck_assert_uint_ge(os_mono_ns() - start, 20 * MS);
	ck_assert_int_eq(loop_step(f.l, 30), 0); /* once */
	ck_assert_int_eq(loop_timer_set(f.s, 1, 2 * MS), 0);
	for (int i = 0; i < 5; i++)
		ck_assert_int_eq(loop_step(f.l, 5000), 1);
	ck_assert_int_eq(f.calls, 6);
	ck_assert_int_eq(loop_timer_set(f.s, 0, 2 * MS), 0);
	ck_assert_int_eq(loop_step(f.l, 20), 0);
	loop_remove(f.s);
	ck_assert_int_eq(loop_add_timer(f.l, "at once", 0, 0, on_plain, &f, &f.s), 0);
	ck_assert_int_eq(loop_step(f.l, 5000), 1);
	loop_free(f.l);
}
END_TEST

static int on_signal(void *ctx, int signo)
{
	struct fix *f = ctx;

	f->calls++;
	f->signo = signo;
	return 0;
}

START_TEST(signals)
{
	struct fix f;

	set_up(&f);
	ck_assert_int_eq(loop_add_signal(f.l, SIGUSR1, on_signal, &f, &f.s), 0);
	ck_assert_int_eq(loop_add_signal(f.l, SIGTERM, on_signal, &f, &f.other), 0);
	ck_assert_int_eq(loop_add_signal(f.l, 12345, on_signal, &f, &f.other), -EINVAL);
	kill(getpid(), SIGTERM);
	ck_assert_int_eq(loop_step(f.l, 5000), 1);
	ck_assert_int_eq(f.signo, SIGTERM);
	kill(getpid(), SIGUSR1);
	ck_assert_int_eq(loop_step(f.l, 5000), 1);
	ck_assert_int_eq(f.signo, SIGUSR1);
	loop_free(f.l);
}
END_TEST

START_TEST(children)
{
	const char *const argv[] = { "sh", "-c", "exit 3", NULL };
	struct proc p;
	struct fix f;
	int status;

	set_up(&f);
	ck_assert_int_eq(proc_spawn(&(struct proc_options){ .argv = argv }, &p), 0);
	ck_assert_int_eq(loop_add_child(f.l, "child", p.pidfd, on_plain, &f, &f.s), 0);
	ck_assert_int_eq(loop_step(f.l, 10000), 1);
	ck_assert_int_eq(loop_step(f.l, 20), 0); /* once, though nobody has reaped it */
	ck_assert_int_eq(proc_wait(&p, 0, &status), 0);
	ck_assert_int_eq(WEXITSTATUS(status), 3);
	loop_free(f.l);
}
END_TEST

/* --- other threads --- */

struct ask {
	struct fix *f;
	pthread_t ran_in;
	int result, wanted;
};

static int answer(void *ctx)
{
	struct ask *a = ctx;

	a->ran_in = pthread_self();
	a->f->calls++;
	return a->wanted;
}

static void *ask_thread(void *ctx)
{
	struct ask *a = ctx;

	for (int i = 0; i < 1000; i++) {
		a->result = loop_call(a->f->l, answer, a);
		if (a->result != a->wanted)
			break;
	}
	return NULL;
}

static int quit(void *ctx)
{
	struct fix *f = ctx;

	loop_quit(f->l);
	return 0;
}

static void *quit_when_done(void *ctx)
{
	struct ask *a = ctx;
	pthread_t t[3];

	for (int i = 0; i < 3; i++)
		pthread_create(&t[i], NULL, ask_thread, &a[i]);
	for (int i = 0; i < 3; i++)
		pthread_join(t[i], NULL);
	if (loop_post(a[0].f->l, quit, a[0].f) < 0)
		loop_quit(a[0].f->l);
	return NULL;
}

START_TEST(calls)
{
	struct fix f;
	struct ask a[3];
	pthread_t t;

	set_up(&f);
	for (int i = 0; i < 3; i++)
		a[i] = (struct ask){ .f = &f, .wanted = 7 + i };
	pthread_create(&t, NULL, quit_when_done, a);
	ck_assert_int_eq(loop_run(f.l), 0);
	pthread_join(t, NULL);
	ck_assert_int_eq(f.calls, 3000);
	for (int i = 0; i < 3; i++) {
		ck_assert_int_eq(a[i].result, a[i].wanted);
		ck_assert(pthread_equal(a[i].ran_in, pthread_self()));
	}
	/* in the loop's own thread: at once, even when it does not run */
	ck_assert_int_eq(loop_call(f.l, answer, &a[0]), 7);
	loop_free(f.l);
}
END_TEST

static void *ask_once(void *ctx)
{
	struct ask *a = ctx;

	a->result = loop_call(a->f->l, answer, a);
	return NULL;
}

/* Who asks while the loop ends, or later, is not left waiting. */
START_TEST(calls_at_the_end)
{
	struct fix f;
	struct ask a = { .f = &f, .wanted = 1 };
	pthread_t t;

	set_up(&f);
	loop_quit(f.l);
	ck_assert_int_eq(loop_run(f.l), 0);
	pthread_create(&t, NULL, ask_once, &a);
	pthread_join(t, NULL);
	ck_assert_int_eq(a.result, ERR_INTERRUPTED);
	ck_assert_int_eq(f.calls, 0);
	ck_assert_int_eq(loop_post(f.l, answer, &a), ERR_INTERRUPTED);
	loop_free(f.l);

	set_up(&f);
	a.result = 0;
	pthread_create(&t, NULL, ask_once, &a);
	usleep(50000); /* waits by now, and nobody runs the loop */
	ck_assert_int_eq(loop_post(f.l, answer, &a), 0);
	loop_quit(f.l);
	ck_assert_int_eq(loop_run(f.l), 0);
	pthread_join(t, NULL);
	ck_assert_int_eq(a.result, ERR_INTERRUPTED);
	loop_free(f.l);
}
END_TEST

TEST_MAIN("loop", io, io_refused, negative_result_frees, removal_within_a_round, timers, signals, children, calls, calls_at_the_end)
