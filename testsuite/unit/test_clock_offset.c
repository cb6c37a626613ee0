/*
 * test_clock_offset.c - clocks that are apart, drift and step, seen through
 * delays that are made up: the estimate follows.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include "src/libstorm/base/clock_offset.h"
#include "unit.h"

#define QUANTUM (2 * STORM_MS)
#define DELAY (20 * STORM_US)
#define START (100000 * STORM_SEC)

/* A sender with the true time and a receiver whose clock is its own. */
struct pair {
	struct clock_offset o;
	struct rnd r;
	uint64_t now; /* true */
	int64_t apart;
	double ppm;
	uint64_t delay; /* the least */
	bool busy;	/* no message has the least one */
};

static uint64_t own_clock(const struct pair *p, uint64_t t)
{
	return t + (uint64_t) p->apart +
	       (uint64_t) (int64_t) ((double) (t - START) * p->ppm / 1e6);
}

/* Most come within some us, some take ms. */
static uint64_t tail(struct rnd *r)
{
	switch (below(r, 10)) {
	case 0:
		return below(r, 5 * STORM_MS);
	case 1:
	case 2:
		return below(r, 100 * STORM_US);
	}
	return below(r, 10 * STORM_US);
}

static void play(struct pair *p, uint64_t quantum, uint64_t time)
{
	for (uint64_t end = p->now + time; p->now < end; p->now += quantum) {
		uint64_t late = tail(&p->r);

		if (p->busy)
			late += 2 * STORM_MS;
		storm_clock_offset_add(&p->o, p->now,
				       own_clock(p, p->now + p->delay + late));
	}
}

/* How far the estimate is from the clock and the least delay, in ns. */
static int64_t wrong(const struct pair *p)
{
	uint64_t now = own_clock(p, p->now), own;

	must(storm_clock_offset_own(&p->o, p->now, now, &own));
	return (int64_t) (own - own_clock(p, p->now) - p->delay);
}

static void near(const struct pair *p, int64_t ns)
{
	if (llabs(wrong(p)) > ns)
		ck_abort_msg("the estimate is %lld ns from the truth",
			     (long long) wrong(p));
}

static struct pair pair_of(int seed)
{
	struct pair p = { .r = rnd_of(seed), .now = START, .delay = DELAY };

	p.apart = (int64_t) (rnd64(&p.r) % (20000 * STORM_SEC)) -
		  10000 * (int64_t) STORM_SEC;
	p.ppm = below(&p.r, 201) - 100.0;
	return p;
}

START_TEST(test_not_before_it_is_ready)
{
	struct pair p = pair_of(_i);
	uint64_t own;

	for (uint64_t t = 0; t < CLOCK_OFFSET_READY * CLOCK_OFFSET_WINDOW;
	     t += QUANTUM) {
		must(!storm_clock_offset_own(&p.o, p.now, p.now, &own));
		play(&p, QUANTUM, QUANTUM);
	}
	play(&p, QUANTUM, 20 * QUANTUM);
	near(&p, 20 * STORM_US);
}
END_TEST

START_TEST(test_offset_and_drift)
{
	static const uint64_t quanta[] = { 300 * STORM_US, QUANTUM,
					   10 * STORM_MS };
	struct pair p = pair_of(_i);

	play(&p, quanta[_i % 3], 6 * STORM_SEC);
	for (int i = 0; i < 100; i++) {
		play(&p, quanta[_i % 3], 100 * STORM_MS);
		near(&p, 3 * STORM_US);
	}
	must(!p.o.stepped);
}
END_TEST

/* Few strobes are enough for quanta that are long. */
START_TEST(test_long_quanta)
{
	struct pair p = pair_of(_i);

	play(&p, 50 * STORM_MS, 30 * STORM_SEC);
	near(&p, 20 * STORM_US);
}
END_TEST

/* The clock is set back, or the sender's forward: seen at once. */
START_TEST(test_step_back)
{
	struct pair p = pair_of(_i);

	play(&p, QUANTUM, 6 * STORM_SEC);
	p.apart -= below(&p.r, 2) ? 5 * (int64_t) STORM_MS :
				    3 * (int64_t) STORM_SEC;
	play(&p, QUANTUM, 20 * QUANTUM);
	must(p.o.stepped);
	near(&p, 50 * STORM_US);
	play(&p, QUANTUM, 6 * STORM_SEC);
	near(&p, 3 * STORM_US);
}
END_TEST

/* Forward: seen once a whole window has nothing from before. */
START_TEST(test_step_forward)
{
	struct pair p = pair_of(_i);

	play(&p, QUANTUM, 6 * STORM_SEC);
	p.apart += (int64_t) (below(&p.r, 2) ? 5 * STORM_MS : 3 * STORM_SEC);
	play(&p, QUANTUM, 2 * CLOCK_OFFSET_WINDOW + 20 * QUANTUM);
	must(p.o.stepped == 1);
	near(&p, 20 * STORM_US);
	play(&p, QUANTUM, 6 * STORM_SEC);
	near(&p, 3 * STORM_US);
}
END_TEST

/* A busy second, in which nothing comes in time, does no lasting harm. */
START_TEST(test_busy_second)
{
	struct pair p = pair_of(_i);

	play(&p, QUANTUM, 6 * STORM_SEC);
	p.busy = true;
	play(&p, QUANTUM, STORM_SEC);
	p.busy = false;
	play(&p, QUANTUM, 20 * QUANTUM);
	near(&p, 50 * STORM_US);
	play(&p, QUANTUM, 6 * STORM_SEC);
	near(&p, 3 * STORM_US);
}
END_TEST

/* What all nodes have in common, a longer way there than back, does not keep
 * them from agreeing. */
START_TEST(test_common_delay)
{
	struct pair a = pair_of(_i), b = pair_of(_i + 1000);

	a.delay = b.delay = 800 * STORM_US;
	play(&a, QUANTUM, 6 * STORM_SEC);
	play(&b, QUANTUM, 6 * STORM_SEC);
	must(llabs(wrong(&a) - wrong(&b)) < 6 * (int64_t) STORM_US);
}
END_TEST

/* After a long time without strobes it begins anew. */
START_TEST(test_gap)
{
	struct pair p = pair_of(_i);
	uint64_t own;

	play(&p, QUANTUM, 6 * STORM_SEC);
	p.now += 2 * CLOCK_OFFSET_GAP;
	play(&p, QUANTUM, QUANTUM);
	must(!storm_clock_offset_own(&p.o, p.now, p.now, &own));
	play(&p, QUANTUM, 6 * STORM_SEC);
	near(&p, 3 * STORM_US);
}
END_TEST

/* Any numbers do no harm. */
START_TEST(test_any_numbers)
{
	struct clock_offset o = { 0 };
	struct rnd r = rnd_of(_i);
	uint64_t now = rnd64(&r), own;

	for (int i = 0; i < 20000; i++) {
		now += below(&r, 100 * STORM_MS);
		storm_clock_offset_add(
			&o,
			below(&r, 9) ? now - below(&r, STORM_SEC) : rnd64(&r),
			below(&r, 99) ? now : rnd64(&r));
		storm_clock_offset_own(&o, rnd64(&r), now, &own);
	}
}
END_TEST

int main(void)
{
	Suite *s = suite_create("clock_offset");
	TCase *t = tcase_create("clock_offset");

	tcase_add_loop_test(t, test_not_before_it_is_ready, 0, unit_runs(20));
	tcase_add_loop_test(t, test_offset_and_drift, 0, unit_runs(30));
	tcase_add_loop_test(t, test_long_quanta, 0, unit_runs(20));
	tcase_add_loop_test(t, test_step_back, 0, unit_runs(20));
	tcase_add_loop_test(t, test_step_forward, 0, unit_runs(20));
	tcase_add_loop_test(t, test_busy_second, 0, unit_runs(20));
	tcase_add_loop_test(t, test_common_delay, 0, unit_runs(20));
	tcase_add_loop_test(t, test_gap, 0, unit_runs(5));
	tcase_add_loop_test(t, test_any_numbers, 0, unit_runs(20));
	suite_add_tcase(s, t);
	return unit_main(s);
}
