/* web/answers: what was kept comes back, what was used last stays when there is too much. */
#include "web/answers_priv.h"

#include "tests/unit/store_help.h"

static void put(struct answers *p, unsigned key, size_t len)
{
	struct buf b CLEANUP(buf_done) = { 0 };
	char name[16];

	snprintf(name, sizeof(name), "key %u", key);
	memset(buf_extend(&b, len), (int)('a' + key % 26), len);
	answers_put(p, name, &b);
}

static bool has(struct answers *p, unsigned key, size_t len)
{
	struct buf b CLEANUP(buf_done) = { 0 };
	char name[16];

	snprintf(name, sizeof(name), "key %u", key);
	if (!answers_get(p, name, &b))
		return false;
	ck_assert(b.len == len && b.data[0] == 'a' + key % 26 && b.data[len - 1] == 'a' + key % 26);
	return true;
}

START_TEST(kept)
{
	struct answers *p;

	OK(answers_new(&p));
	ck_assert(!has(p, 1, 10));
	put(p, 1, 10);
	put(p, 2, ANSWER_BYTES_MAX);
	put(p, 3, ANSWER_BYTES_MAX + 1);
	ck_assert(has(p, 1, 10) && has(p, 2, ANSWER_BYTES_MAX) && !has(p, 3, ANSWER_BYTES_MAX + 1));
	/* the first one counts: answers are final */
	put(p, 1, 20);
	ck_assert(has(p, 1, 10));
	answers_free(p);
}
END_TEST

START_TEST(many)
{
	struct answers *p;

	OK(answers_new(&p));
	for (unsigned i = 0; i < ANSWERS_MAX + 10; i++) {
		put(p, i, 100);
		ck_assert(has(p, 0, 100));
	}
	ck_assert(!has(p, 1, 100) && !has(p, 5, 100) && has(p, ANSWERS_MAX, 100));
	answers_free(p);
}
END_TEST

START_TEST(large)
{
	const unsigned most = ANSWERS_BYTES_MAX / ANSWER_BYTES_MAX;
	struct answers *p;

	OK(answers_new(&p));
	for (unsigned i = 0; i < most + 3; i++)
		put(p, i, ANSWER_BYTES_MAX);
	ck_assert(!has(p, 2, ANSWER_BYTES_MAX) && has(p, 3, ANSWER_BYTES_MAX) && has(p, most + 2, ANSWER_BYTES_MAX));
	answers_free(p);
}
END_TEST

HELP_MAIN("web_answers", { kept, 0 }, { many, 0 }, { large, 0 })
