/*
 * test_missed.c - the counts of missed strobes are found by questions, and by no
 * more of them than it takes.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include "src/libstorm/base/idset.h"
#include "src/storm_strober/missed.h"
#include "unit.h"

#define NODES 1000

static uint64_t real[NODES], known[NODES];
static bool mute[NODES];
static unsigned int asked;
static uint32_t first;

static bool holds(uint64_t v, enum storm_relation rel, uint64_t value)
{
	return rel == STORM_GE ? v >= value :
	       rel == STORM_LT ? v < value :
	       rel == STORM_EQ ? v == value :
				 v != value;
}

/* As COMPARE-AND-WRITE: FAILED names the nodes that do not answer. */
static enum storm_compare ask(void *arg, const struct storm_idset *P,
			      enum storm_relation rel, uint64_t value,
			      struct storm_outcome *out)
{
	bool yes = true;

	must(arg == known && P->count);
	asked++;
	out->faults = calloc(NODES, sizeof(*out->faults));
	for (uint32_t i = 0; i < P->count; i++)
		for (uint32_t n = P->r[i].first; n <= P->r[i].last; n++) {
			if (mute[n])
				out->faults[out->nfaults++].node = n;
			yes &= holds(real[n], rel, value);
		}
	out->faults_kept = out->nfaults;
	return out->nfaults ? STORM_FAILED : yes ? STORM_TRUE : STORM_FALSE;
}

static unsigned int look(uint32_t nodes, unsigned int questions)
{
	unsigned int said, was = asked;
	struct storm_idset silent = { 0 };

	said = missed_round(known, nodes, &first, questions, ask, known,
			    &silent);
	must(said == asked - was && said <= questions);
	for (uint32_t i = 0; i < silent.count; i++)
		for (uint32_t n = silent.r[i].first; n <= silent.r[i].last; n++)
			must(mute[n]);
	must(said < 4 || mute[0] == storm_idset_has(&silent, 0));
	storm_idset_clear(&silent);
	return said;
}

static void begin(void)
{
	memset(real, 0, sizeof(real));
	memset(known, 0, sizeof(known));
	memset(mute, 0, sizeof(mute));
	first = 0;
}

static bool all_known(uint32_t nodes)
{
	for (uint32_t n = 0; n < nodes; n++)
		if (!mute[n] && known[n] != real[n])
			return false;
	return true;
}

START_TEST(test_nobody_misses)
{
	must(look(NODES, 100) == 1 && all_known(NODES));
	must(look(0, 100) == 0);
	must(look(1, 100) == 1);
	must(look(NODES, 0) == 0);
}
END_TEST

START_TEST(test_one)
{
	real[777] = 1;
	must(look(NODES, 100) <= 25 && all_known(NODES));
	must(look(NODES, 100) == 2); /* those with 0, that with 1 */
	real[777] = 1000000;
	must(look(NODES, 100) <= 45 && all_known(NODES));
	real[777] = 3; /* another agent */
	must(look(NODES, 100) <= 45 && all_known(NODES));
	real[777] = 0;
	must(look(NODES, 100) <= 10 && all_known(NODES));
}
END_TEST

START_TEST(test_all)
{
	for (uint32_t n = 0; n < NODES; n++)
		real[n] = 1;
	/* a few at a time, and never the same ones again */
	for (int i = 0; i < 40 && !all_known(NODES); i++)
		look(NODES, 200);
	must(all_known(NODES));
	must(look(NODES, 200) == 1);
}
END_TEST

START_TEST(test_mute)
{
	mute[0] = mute[500] = mute[999] = true;
	real[500] = real[501] = 5;
	must(look(NODES, 100) < 60 && all_known(NODES) && !known[500]);
	mute[500] = false;
	must(look(NODES, 100) < 60 && all_known(NODES) && known[500] == 5);
	memset(mute, true, sizeof(mute));
	must(look(NODES, 100) <= 3);
}
END_TEST

START_TEST(test_random)
{
	struct rnd r = rnd_of(_i);
	uint32_t nodes = 1 + below(&r, 40);

	for (int i = 0; i < 20; i++) {
		uint32_t n = below(&r, nodes);

		mute[below(&r, nodes)] = !below(&r, 8);
		real[n] = below(&r, 3) ? real[n] + below(&r, 50) : 0;
		for (int k = 0; k < 50; k++)
			look(nodes, 30);
		must(all_known(nodes));
	}
}
END_TEST

int main(void)
{
	Suite *s = suite_create("missed");
	TCase *t = tcase_create("missed");

	tcase_add_checked_fixture(t, begin, NULL);
	tcase_add_test(t, test_nobody_misses);
	tcase_add_test(t, test_one);
	tcase_add_test(t, test_all);
	tcase_add_test(t, test_mute);
	tcase_add_loop_test(t, test_random, 0, unit_runs(20));
	suite_add_tcase(s, t);
	return unit_main(s);
}
