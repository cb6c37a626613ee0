/*
 * test_detector.c - which nodes are overdue: regular and irregular nodes, silence,
 * edges.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include "src/libstorm/base/clock.h"
#include "src/libstorm/base/detector.h"
#include "unit.h"

#define DEAD (5 * STORM_SEC)
#define BEAT STORM_SEC
#define SIGN storm_sign_every(DEAD, BEAT, false)

static bool heard(struct storm_detector *d, uint64_t silence)
{
	return storm_detector_heard(d, silence, DEAD, BEAT);
}

static bool late(struct storm_detector *d, uint64_t silence)
{
	return storm_detector_check(d, silence, DEAD, BEAT);
}

static uint64_t patience(const struct storm_detector *d)
{
	return storm_detector_patience(d, DEAD, BEAT);
}

/* A sign, overdue, dead: whatever the settings are and the signs were. */
START_TEST(test_thresholds)
{
	struct rnd r = rnd_of(_i);
	uint64_t beat = (10 + below(&r, 60000)) * STORM_MS;
	uint64_t dead = 2 * beat + below(&r, 600000) * STORM_MS;
	uint64_t sign = storm_sign_every(dead, beat, false);
	uint64_t often = storm_sign_every(dead, beat, true);
	struct storm_detector d = { 0 };

	must(sign && 2 * sign <= beat && 10 * sign <= dead);
	must(often && often <= sign && 20 * often <= dead);
	for (int k = 0; k < 200; k++) {
		uint64_t p = storm_detector_patience(&d, dead, beat);

		must(p >= 4 * sign && p < dead);
		storm_detector_heard(&d, rnd64(&r) % (2 * dead), dead, beat);
	}
}
END_TEST

START_TEST(test_edges)
{
	struct storm_detector d = { 0 };

	for (int k = 0; k < 100; k++) {
		must(!late(&d, SIGN));
		must(!heard(&d, SIGN));
	}
	must(!late(&d, patience(&d) - 1));
	must(late(&d, patience(&d))); /* once */
	must(!late(&d, patience(&d)) && !late(&d, DEAD));
	must(heard(&d, DEAD)); /* once */
	must(!heard(&d, SIGN) && !late(&d, SIGN));
	must(late(&d, patience(&d))); /* and again */
}
END_TEST

/* A regular node is overdue after four signs, however long it was away before.
 * */
START_TEST(test_regular)
{
	struct storm_detector d = { 0 };

	for (int k = 0; k < 50; k++)
		heard(&d, SIGN - SIGN / 50 * (k % 2));
	ck_assert_uint_eq(patience(&d), 4 * SIGN);
	heard(&d, 100 * DEAD);
	must(patience(&d) <= DEAD / 4 * 3);
	for (int k = 0; k < 300; k++)
		heard(&d, SIGN);
	ck_assert_uint_eq(patience(&d), 4 * SIGN);
}
END_TEST

/* Of datagrams so many in a hundred are lost: with the four signs alone it would be
 * the fourth power of that. */
static uint32_t alarms(struct rnd *r, uint32_t percent, uint32_t signs)
{
	struct storm_detector d = { 0 };
	uint64_t silence = 0;
	uint32_t n = 0;

	while (signs--) {
		silence += SIGN;
		if (below(r, 100) >= percent) {
			heard(&d, silence);
			silence = 0;
		} else {
			n += late(&d, silence);
		}
	}
	return n;
}

START_TEST(test_lossy)
{
	struct rnd r = rnd_of(_i);

	ck_assert_uint_eq(alarms(&r, 0, 1000), 0);
	must(alarms(&r, 1, 100000) <= 5);
	must(alarms(&r, 10, 100000) <= 50);
	must(alarms(&r, 30, 100000) <= 150); /* in 7 hours */
}
END_TEST

/* It becomes slower bit by bit: that is how it is now. */
START_TEST(test_drift)
{
	struct storm_detector d = { 0 };
	uint64_t every = SIGN;

	while (every < DEAD / 2) {
		must(!late(&d, every - every / 100));
		for (int k = 0; k < 100; k++)
			heard(&d, every - every / 40 * (k % 3));
		every += every / 20;
	}
	must(patience(&d) > 4 * SIGN);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("detector");
	TCase *t = tcase_create("detector");

	tcase_add_loop_test(t, test_thresholds, 0, unit_runs(100));
	tcase_add_test(t, test_edges);
	tcase_add_test(t, test_regular);
	tcase_add_loop_test(t, test_lossy, 0, unit_runs(20));
	tcase_add_test(t, test_drift);
	suite_add_tcase(s, t);
	return unit_main(s);
}
