/*
 * test_held.c - which nodes do not prove that held jobs stand, by few questions; and
 * the words by which a user holds a job and sees that it is held.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include "src/libstorm/base/idset.h"
#include "src/storm_common/held_word.h"
#include "src/storm_common/hold_word.h"
#include "src/storm_strober/held.h"
#include "unit.h"

#define NODES 1000

static uint64_t value[NODES];
static bool mute[NODES];
static unsigned int asked;

/* As COMPARE-AND-WRITE: FAILED names the nodes that do not answer. */
static enum storm_compare ask(void *arg, const struct storm_idset *P,
			      enum storm_relation rel, uint64_t number,
			      struct storm_outcome *out)
{
	bool yes = true;

	must(arg == value && P->count && rel == STORM_GE);
	asked++;
	out->faults = calloc(NODES, sizeof(*out->faults));
	for (uint32_t i = 0; i < P->count; i++)
		for (uint32_t n = P->r[i].first; n <= P->r[i].last; n++) {
			if (mute[n])
				out->faults[out->nfaults++].node = n;
			yes &= value[n] >= number;
		}
	out->faults_kept = out->nfaults;
	return out->nfaults ? STORM_FAILED : yes ? STORM_TRUE : STORM_FALSE;
}

/* How many of the first and the last 300 nodes are loose. */
static uint64_t round_of(unsigned int questions, struct storm_idset *loose)
{
	struct storm_idset P = { 0 };

	asked = 0;
	storm_idset_clear(loose);
	must(!storm_idset_add(&P, 0, 299) &&
	     !storm_idset_add(&P, NODES - 300, NODES - 1));
	must(!held_round(&P, 7, questions, ask, value, loose));
	must(asked <= questions && storm_idset_covers(&P, loose));
	storm_idset_clear(&P);
	return storm_idset_size(loose);
}

static void all_stand(void)
{
	for (uint32_t i = 0; i < NODES; i++) {
		value[i] = i % 3 ? 7 : 1000;
		mute[i] = false;
	}
}

START_TEST(test_rounds)
{
	struct storm_idset loose = { 0 };

	all_stand();
	must(!round_of(1, &loose) && asked == 1);
	value[500] = 0; /* nobody asks it */
	must(!round_of(1, &loose));
	value[5] = 6;
	value[999] = 0;
	must(round_of(200, &loose) == 2 && asked <= 50);
	must(storm_idset_has(&loose, 5) && storm_idset_has(&loose, 999));
	mute[7] = true;
	must(round_of(200, &loose) == 3 && storm_idset_has(&loose, 7));
	/* what is not known is not proven */
	must(round_of(1, &loose) == 600);
	must(round_of(0, &loose) == 600 && !asked);
	for (uint32_t i = 0; i < NODES; i++)
		value[i] = 6;
	must(round_of(20, &loose) == 600);
	for (uint32_t i = 0; i < NODES; i++)
		mute[i] = true;
	must(round_of(20, &loose) == 600 && asked == 1);
	storm_idset_clear(&loose);
}
END_TEST

/* Each node is loose or proven as it is. */
START_TEST(test_random)
{
	struct storm_idset loose = { 0 };
	struct rnd r = rnd_of(_i);

	all_stand();
	for (uint32_t i = below(&r, 20); i--;)
		value[below(&r, NODES)] = below(&r, 9);
	for (uint32_t i = below(&r, 4); i--;)
		mute[below(&r, NODES)] = true;
	round_of(1000, &loose);
	for (uint32_t i = 0; i < NODES; i++)
		must(storm_idset_has(&loose, i) ==
		     ((i < 300 || i >= NODES - 300) &&
		      (mute[i] || value[i] < 7)));
	storm_idset_clear(&loose);
}
END_TEST

START_TEST(test_nodes)
{
	struct gang_job j[3] = { { .job_id = 1 }, { .job_id = 2 }, { 0 } };
	struct gang_map m = { .jobs = j, .njobs = 3 };
	struct storm_idset P = { 0 };

	j[2].job_id = 3;
	must(!storm_idset_add(&j[0].nodes, 0, 3));
	must(!storm_idset_add(&j[1].nodes, 2, 5));
	must(!storm_idset_add(&j[2].nodes, 9, 9));
	must(!storm_idset_add(&j[0].rows, 0, 0));
	must(!held_nodes(&m, &P));
	must(storm_idset_size(&P) == 5 && storm_idset_has(&P, 9));
	must(!storm_idset_has(&P, 1));
	storm_idset_clear(&P);
	for (int i = 0; i < 3; i++) {
		storm_idset_clear(&j[i].nodes);
		storm_idset_clear(&j[i].rows);
	}
}
END_TEST

static void becomes(const char *text, bool hold, const char *then)
{
	char *got = hold_word_put(text, hold);

	must(got);
	ck_assert_str_eq(got, then);
	must(hold_word_in(got) == hold);
	free(got);
}

/* What others have in the Comment stays as it is. */
START_TEST(test_word)
{
	static const char *const none[] = { NULL,	    "",
					    "storm:holder", "xstorm:hold",
					    "storm: hold",  "storm:hold,x" };
	static const char *const some[] = { "storm:hold", " storm:hold",
					    "a storm:hold\tb",
					    "storm:holder storm:hold",
					    "a\nstorm:hold" };

	for (size_t i = 0; i < sizeof(none) / sizeof(*none); i++)
		must(!hold_word_in(none[i]));
	for (size_t i = 0; i < sizeof(some) / sizeof(*some); i++)
		must(hold_word_in(some[i]));
	becomes(NULL, true, "storm:hold");
	becomes("", true, "storm:hold");
	becomes("my  own", true, "my  own storm:hold");
	becomes("storm:hold my", true, "storm:hold my");
	becomes(NULL, false, "");
	becomes("storm:hold", false, "");
	becomes("storm:hold  my own ", false, " my own ");
	becomes("my storm:hold own", false, "my own");
	becomes("my  own storm:hold", false, "my  own");
	becomes("storm:hold a storm:hold storm:hold", false, "a");
	becomes("storm:holder", false, "storm:holder");
}
END_TEST

START_TEST(test_proof)
{
	struct held_word w;

	must(!held_word_read(NULL, &w) && !held_word_read("", &w));
	must(!held_word_read("storm:turns=1/2,quantum=10ms,had=1s", &w));
	must(!held_word_read("x,held=1/2 storm:turns=1/2", &w));
	must(!held_word_read("xstorm:turns=1/2,held=1/2", &w));
	must(held_word_read(
		"a storm:turns=0/1,missed=0,held=1/2,loose=n[2-3] b", &w));
	must(w.stands == 1 && w.nodes == 2);
	ck_assert_str_eq(w.loose, "n[2-3]");
	must(held_word_read("storm:turns=0/1,held=2/2", &w));
	must(w.stands == 2 && w.nodes == 2 && !*w.loose);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("held");
	TCase *t = tcase_create("held");

	tcase_add_test(t, test_rounds);
	tcase_add_loop_test(t, test_random, 0, unit_runs(40));
	tcase_add_test(t, test_nodes);
	tcase_add_test(t, test_word);
	tcase_add_test(t, test_proof);
	suite_add_tcase(s, t);
	return unit_main(s);
}
