/*
 * test_unwell.c - which nodes are not well, by few questions.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include "src/libstorm/base/idset.h"
#include "src/storm_common/health_word.h"
#include "src/storm_strober/unwell.h"
#include "unit.h"

#define NODES 4096

static uint64_t there[NODES], known[NODES];
static bool mute[NODES];
static unsigned int asked;

static bool holds(uint64_t a, enum storm_relation rel, uint64_t b)
{
	return rel == STORM_GE ? a >= b : a == b;
}

/* As COMPARE-AND-WRITE: FAILED names the nodes that do not answer. */
static enum storm_compare ask(void *arg, const struct storm_idset *P,
			      enum storm_relation rel, uint64_t number,
			      struct storm_outcome *out)
{
	bool yes = true;

	must(arg == there && P->count && P->count <= STORM_SET_RANGES &&
	     (rel == STORM_EQ || rel == STORM_GE));
	asked++;
	out->faults = calloc(NODES, sizeof(*out->faults));
	for (uint32_t i = 0; i < P->count; i++)
		for (uint32_t n = P->r[i].first; n <= P->r[i].last; n++) {
			if (mute[n])
				out->faults[out->nfaults++].node = n;
			yes &= holds(there[n], rel, number);
		}
	out->faults_kept = out->nfaults;
	return out->nfaults ? STORM_FAILED : yes ? STORM_TRUE : STORM_FALSE;
}

/* Returns how many questions it took. */
static unsigned int round_of(unsigned int questions)
{
	struct storm_idset in = { 0 };
	unsigned int n;

	asked = 0;
	must(!storm_idset_add(&in, 0, NODES - 1));
	n = unwell_round(known, NODES, &in, questions, ask, there);
	must(n == asked && n <= questions);
	storm_idset_clear(&in);
	return n;
}

static void all_well(void)
{
	memset(there, 0, sizeof(there));
	memset(known, 0, sizeof(known));
	memset(mute, 0, sizeof(mute));
}

static bool all_known(void)
{
	return !memcmp(there, known, sizeof(there));
}

static void changes(uint32_t node, enum health_cause cause)
{
	there[node] +=
		HEALTH_CAUSES + (uint64_t) cause - health_cause_of(there[node]);
}

START_TEST(test_few)
{
	all_well();
	must(round_of(200) == 1);
	changes(77, HEALTH_SPACE);
	must(round_of(200) <= 60 && all_known());
	must(round_of(200) == 2); /* a question for each value */
	changes(77, HEALTH_WELL);
	must(round_of(200) <= 60 && all_known());
	must(health_cause_of(known[77]) == HEALTH_WELL);
	/* its agent is a new one */
	there[77] = 0;
	must(round_of(200) <= 60 && all_known() && round_of(200) == 1);
}
END_TEST

/* A file server hangs: all of them, or every other half, have the same. */
START_TEST(test_all)
{
	all_well();
	for (uint32_t n = 0; n < NODES; n++)
		changes(n, HEALTH_HUNG);
	must(round_of(200) <= 60 && all_known() && round_of(200) == 1);
	for (uint32_t n = 1000; n < 3000; n++)
		changes(n, HEALTH_WELL);
	must(round_of(200) <= 100 && all_known() && round_of(200) == 2);
}
END_TEST

/* What does not answer stays as it was; what there is no question for is found later. */
START_TEST(test_mute_and_many)
{
	all_well();
	changes(5, HEALTH_MUNGE);
	mute[5] = true;
	must(round_of(200) <= 3 && !known[5]);
	mute[5] = false;
	for (uint32_t n = 0; n < NODES; n += 100)
		changes(n, HEALTH_SPACE);
	must(round_of(50) == 50 && !all_known());
	for (int i = 0; i < 20 && !all_known(); i++)
		round_of(200);
	must(all_known());
}
END_TEST

START_TEST(test_random)
{
	struct rnd r = rnd_of(_i);

	all_well();
	for (int i = 0; i < 10; i++) {
		for (uint32_t k = below(&r, 30); k--;)
			changes(below(&r, NODES),
				(enum health_cause) below(&r, 12));
		if (!below(&r, 3))
			there[below(&r, NODES)] = 0;
		must(round_of(100000) && all_known());
	}
}
END_TEST

int main(void)
{
	Suite *s = suite_create("unwell");
	TCase *tc = tcase_create("unwell");

	tcase_add_test(tc, test_few);
	tcase_add_test(tc, test_all);
	tcase_add_test(tc, test_mute_and_many);
	tcase_add_loop_test(tc, test_random, 0, unit_runs(20));
	suite_add_tcase(s, tc);
	return unit_main(s);
}
