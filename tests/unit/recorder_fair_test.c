/* Chaos lets everybody get on, and its points cost no more than they may: threads that are only numbers. */
#include "recorder/rec_priv.h"

#include "tests/unit/test.h"

#define MS 1000000ull
#define SEEDS 60
#define THREADS 4
/* For how much of its own CPU time one may be kept waiting: what it may lack, and the last slices of others that lack as much. */
#define GRACE (150 * MS)

struct fixture {
	struct rec_options opt;
	struct rec rec;
	struct rec_task t[THREADS];
	uint64_t had[THREADS]; /* CPU time */
	uint64_t total;
};

static void begin(struct fixture *f, uint64_t seed, unsigned threads)
{
	memset(f, 0, sizeof(*f));
	f->opt.chaos_seed = seed;
	f->rec.opt = &f->opt;
	ck_assert_int_eq(rec_chaos_new(&f->rec), 0);
	for (unsigned i = 0; i < threads; i++) {
		f->t[i] = (struct rec_task){ .rec = &f->rec, .next = f->rec.tasks, .state = REC_READY };
		f->rec.tasks = &f->t[i];
		rec_chaos_priority(&f->t[i]);
	}
}

static void end(struct fixture *f)
{
	rec_chaos_free(f->rec.chaos);
}

static void ran(struct fixture *f, struct rec_task *t, uint64_t ns)
{
	rec_fair_ran(t, ns);
	f->had[t - f->t] += ns;
	f->total += ns;
}

static void compute(struct fixture *f, struct rec_task *t)
{
	ran(f, t, rec_chaos_slice(&f->rec));
	rec_chaos_slice_ended(t);
}

/* One is stopped all the time, and put behind all others, which compute: they cannot use more than its part and what it may lack. */
START_TEST(stopped_all_the_time)
{
	enum { TURNS = 1000, TURN = 20000 };

	for (uint64_t seed = 1; seed <= SEEDS; seed++) {
		struct fixture f;

		begin(&f, seed, THREADS);
		for (unsigned turns = 0; turns < TURNS;) {
			struct rec_task *t = rec_chaos_pick(&f.rec);

			if (t != &f.t[1]) {
				compute(&f, t);
				continue;
			}
			ran(&f, t, TURN);
			t->priority = 0;
			turns++;
		}
		ck_assert_uint_lt(f.total, THREADS * (TURNS * TURN + GRACE));
		end(&f);
	}
}
END_TEST

/* It sleeps after each turn, and everybody computes until it is awake. */
START_TEST(sleeps_between)
{
	enum { TURNS = 200, TURN = 20000 };

	for (uint64_t seed = 1; seed <= SEEDS; seed++) {
		uint64_t waited = 0;
		struct fixture f;

		begin(&f, seed, THREADS);
		for (unsigned turns = 0; turns < TURNS;) {
			struct rec_task *t = rec_chaos_pick(&f.rec);
			uint64_t before = f.total;

			ck_assert_ptr_nonnull(t);
			if (t != &f.t[1]) {
				compute(&f, t);
				if (f.t[1].state == REC_READY)
					waited += f.total - before;
				f.t[1].state = REC_READY;
				continue;
			}
			ran(&f, t, TURN);
			t->state = REC_BLOCKED;
			turns++;
		}
		ck_assert_uint_lt(waited, THREADS * (TURNS * TURN + GRACE));
		end(&f);
	}
}
END_TEST

START_TEST(all_compute)
{
	for (uint64_t seed = 1; seed <= SEEDS; seed++) {
		struct fixture f;

		begin(&f, seed, THREADS);
		while (f.total < 5000 * MS)
			compute(&f, rec_chaos_pick(&f.rec));
		for (unsigned i = 0; i < THREADS; i++)
			ck_assert_uint_gt(f.had[i] + GRACE, f.total / THREADS);
		end(&f);
	}
}
END_TEST

/* Short races against the first one happen still: nobody comes first before others had much more. */
START_TEST(for_a_while)
{
	unsigned longest = 0;

	for (uint64_t seed = 1; seed <= SEEDS; seed++) {
		struct fixture f;

		begin(&f, seed, 2);
		while (rec_chaos_pick(&f.rec) != &f.t[0]) {
			compute(&f, &f.t[1]);
			ck_assert_uint_lt(f.total, 200 * MS);
		}
		longest = MAX(longest, (unsigned)(f.total / MS));
		end(&f);
	}
	ck_assert_uint_gt(longest, 20);
}
END_TEST

/* Nobody else could run: that is no debt. */
START_TEST(alone)
{
	struct fixture f;

	begin(&f, 1, 2);
	f.t[0].state = REC_BLOCKED;
	ran(&f, &f.t[1], 5000 * MS);
	f.t[0].state = REC_READY;
	ck_assert_ptr_null(rec_fair_starving(&f.rec));
	ck_assert_int_eq(f.t[0].behind, 0);
	ck_assert_int_eq(f.t[1].behind, 0);
	end(&f);
}
END_TEST

/* Each point costs more than a slice of chaos. */
START_TEST(costly_points)
{
	static const uint64_t costs[] = { MS / 10, 3 * MS, 30 * MS, 400 * MS };

	for (uint64_t seed = 1; seed <= 10; seed++)
		for (size_t i = 0; i < ARRAY_SIZE(costs); i++) {
			struct fixture f;

			begin(&f, seed, 2);
			while (f.total < 10000 * MS) {
				compute(&f, rec_chaos_pick(&f.rec));
				rec_fair_paid(&f.rec, costs[i]);
				ck_assert_uint_le(f.rec.fair.paid, 2000 * MS + 2 * f.total + 2 * costs[i]);
			}
			end(&f);
		}
}
END_TEST

/* What is short suffers all of it, and who has computed enough again. */
START_TEST(free_ones)
{
	struct fixture f;

	begin(&f, 1, 2);
	rec_fair_paid(&f.rec, 1900 * MS);
	ck_assert(rec_fair_affords(&f.rec));
	ck_assert_uint_eq(rec_fair_slice(&f.rec), 0);
	rec_fair_paid(&f.rec, 300 * MS);
	ck_assert(!rec_fair_affords(&f.rec));
	ck_assert_uint_eq(rec_fair_slice(&f.rec), 300 * MS);
	ck_assert_uint_ge(rec_chaos_slice(&f.rec), 300 * MS);
	ran(&f, &f.t[0], 150 * MS);
	ck_assert(rec_fair_affords(&f.rec));
	ck_assert_uint_lt(rec_chaos_slice(&f.rec), 100 * MS);
	end(&f);
}
END_TEST

TEST_MAIN("recorder_fair", stopped_all_the_time, sleeps_between, all_compute, for_a_while, alone, costly_points, free_ones)
