/* daemon/feed: order, waiting, what has been forgotten, closing. */
#include "daemon/feed.h"

#include <pthread.h>
#include <unistd.h>
#include "base/os.h"
#include "tests/unit/test.h"

static struct feed *new_feed(void)
{
	struct feed *f;

	ck_assert_int_eq(feed_new(&f), 0);
	return f;
}

static void expect(struct feed *f, uint64_t after, const char *type, const char *json)
{
	struct feed_message m = { 0 };

	ck_assert_int_eq(feed_wait(f, after, 0, &m), 1);
	ck_assert_uint_eq(m.id, after + 1);
	ck_assert_str_eq(m.type, type);
	ck_assert_str_eq(m.json, json);
	free(m.json);
}

START_TEST(in_order)
{
	struct feed *f = new_feed();
	struct feed_message m;
	uint64_t start = os_mono_ns();

	ck_assert_uint_eq(feed_last(f), 0);
	ck_assert_int_eq(feed_wait(f, 0, 30, &m), 0);
	ck_assert_uint_ge(os_mono_ns() - start, 30000000);
	feed_publish(f, "recording", json_pack("{ss}", "id", "a\nb"));
	feed_publish(f, "job", json_pack("{si}", "n", 2));
	feed_publish(f, "job", NULL);
	ck_assert_uint_eq(feed_last(f), 2);
	expect(f, 0, "recording", "{\"id\":\"a\\nb\"}");
	expect(f, 1, "job", "{\"n\":2}");
	ck_assert_int_eq(feed_wait(f, 2, 0, &m), 0);
	ck_assert_int_eq(feed_wait(f, 3, 0, &m), ERR_NOT_FOUND); /* an id of another hermitd */
	feed_free(f);
	feed_free(NULL);
}
END_TEST

START_TEST(forgotten)
{
	struct feed *f = new_feed();
	struct feed_message m;

	for (int i = 1; i <= FEED_KEEP + 5; i++)
		feed_publish(f, "job", json_pack("{si}", "n", i));
	ck_assert_int_eq(feed_wait(f, 0, 0, &m), ERR_NOT_FOUND);
	ck_assert_int_eq(feed_wait(f, 4, 0, &m), ERR_NOT_FOUND);
	expect(f, 5, "job", "{\"n\":6}");
	expect(f, FEED_KEEP + 4, "job", "{\"n\":1029}");
	feed_free(f);
}
END_TEST

struct waiter {
	struct feed *f;
	struct feed_message m;
	int r;
};

static void *wait_thread(void *ctx)
{
	struct waiter *w = ctx;

	w->r = feed_wait(w->f, 0, -1, &w->m);
	return NULL;
}

START_TEST(wakes)
{
	struct waiter w = { .f = new_feed() };
	pthread_t t;

	pthread_create(&t, NULL, wait_thread, &w);
	usleep(20000);
	feed_publish(w.f, "storage", json_object());
	pthread_join(t, NULL);
	ck_assert_int_eq(w.r, 1);
	ck_assert_str_eq(w.m.json, "{}");
	free(w.m.json);
	feed_free(w.f);
}
END_TEST

START_TEST(closes)
{
	struct waiter w = { .f = new_feed() };
	struct feed_message m;
	pthread_t t;

	pthread_create(&t, NULL, wait_thread, &w);
	usleep(20000);
	feed_close(w.f);
	pthread_join(t, NULL);
	ck_assert_int_eq(w.r, ERR_INTERRUPTED);
	feed_publish(w.f, "storage", json_object());
	ck_assert_int_eq(feed_wait(w.f, 0, -1, &m), ERR_INTERRUPTED); /* for good */
	feed_free(w.f);
}
END_TEST

TEST_MAIN("feed", in_order, forgotten, wakes, closes)
