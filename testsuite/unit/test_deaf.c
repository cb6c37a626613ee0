/*
 * test_deaf.c - members that hear no strobe are found by two looks, and by one question
 * for a look while all hear them; and who hears them again is believed.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include "src/libstorm/base/idset.h"
#include "src/storm_strober/deaf.h"
#include "src/storm_strober/mute.h"
#include "src/storm_strober/outside.h"
#include "unit.h"

#define NODES 1000
#define EPOCH (7ull << 32)

static uint64_t heard[NODES], number;
static bool blocked[NODES], mute[NODES], waits;
static unsigned int asked;
static struct storm_idset in;
static struct deaf deaf;
static struct deaf_news news;

/* As COMPARE-AND-WRITE: FAILED names the nodes that do not answer. */
static enum storm_compare ask(void *arg, const struct storm_idset *P,
			      enum storm_relation rel, uint64_t value,
			      struct storm_outcome *out)
{
	bool yes = true;

	must(arg == heard && P->count);
	/* any number is as much as none: who does not answer? */
	must(value || (waits && !number && rel == STORM_GE));
	must(rel == STORM_GE || rel == STORM_LT);
	must(storm_idset_covers(&in, P));
	asked++;
	out->faults = calloc(NODES, sizeof(*out->faults));
	for (uint32_t i = 0; i < P->count; i++)
		for (uint32_t n = P->r[i].first; n <= P->r[i].last; n++) {
			if (mute[n])
				out->faults[out->nfaults++].node = n;
			yes &= (heard[n] >= value) == (rel == STORM_GE);
		}
	out->faults_kept = out->nfaults;
	return out->nfaults ? STORM_FAILED : yes ? STORM_TRUE : STORM_FALSE;
}

/* A look, and then strobes.  Returns how many questions it took. */
static unsigned int look(bool all)
{
	const struct deaf_view v = { .in = &in,
				     .number = number,
				     .all = all,
				     .waits = waits,
				     .ask = ask,
				     .arg = heard };
	unsigned int said;

	deaf_news_clear(&news);
	asked = 0;
	said = deaf_look(&deaf, &v, &news);
	must(said == asked);
	if (number)
		number += 20;
	for (uint32_t n = 0; n < NODES; n++)
		if (number && !blocked[n])
			heard[n] = number;
	return said;
}

static bool quiet(void)
{
	return !news.deaf.count && !news.back.count && !news.mute.count &&
	       !news.gone.count;
}

static bool only(const struct storm_idset *set, uint32_t node)
{
	return storm_idset_size(set) == 1 && storm_idset_has(set, node);
}

static void begin(void)
{
	deaf_clear(&deaf);
	memset(blocked, 0, sizeof(blocked));
	memset(mute, 0, sizeof(mute));
	memset(heard, 0, sizeof(heard));
	storm_idset_clear(&in);
	must(!storm_idset_add(&in, 0, NODES - 1));
	number = EPOCH + 1;
	waits = false;
	must(!look(true) && quiet()); /* nothing is old enough */
}

static void end(void)
{
	deaf_clear(&deaf);
	deaf_news_clear(&news);
	storm_idset_clear(&in);
}

START_TEST(test_all_hear)
{
	begin();
	for (int i = 0; i < 10; i++) {
		must(look(true) == 1 && quiet());
		must(!look(false) && quiet());
	}
	end();
}
END_TEST

START_TEST(test_one_is_deaf)
{
	begin();
	must(look(true) == 1);
	blocked[777] = true;
	/* not asked; and what is asked next was sent before */
	must(!look(false) && !look(false));
	must(look(true) <= 25 && quiet()); /* once is not enough */
	must(look(false) == 1 && only(&news.deaf, 777));
	must(!news.back.count && !news.mute.count);
	/* it alone is asked, and the others as before; and it is said again, as it
	 * may have joined anew */
	must(look(false) == 1 && only(&news.deaf, 777));
	must(look(true) == 2 && only(&news.deaf, 777));
	blocked[777] = false;
	must(look(false) == 1 && only(&news.deaf, 777)); /* that was before */
	must(look(false) == 1 && only(&news.back, 777));
	must(!look(false) && look(true) == 1 && quiet());
	end();
}
END_TEST

/* It was away for a moment, or has joined just now. */
START_TEST(test_a_moment)
{
	begin();
	look(false);
	blocked[5] = true;
	look(false);
	blocked[5] = false;
	look(true);
	must(quiet());
	look(false);
	must(quiet() || only(&news.back, 5));
	must(!news.deaf.count && !look(false));
	/* in another epoch no number of before counts */
	number = 2 * EPOCH;
	heard[9] = 0;
	must(!look(true) && quiet());
	must(look(true) == 1 && quiet());
	end();
}
END_TEST

START_TEST(test_no_answer)
{
	struct storm_idset one = { 0 };

	begin();
	look(false);
	mute[3] = blocked[3] = true;
	must(look(true) == 2 && quiet());
	must(look(false) == 1 && only(&news.mute, 3) && !news.deaf.count);
	must(only(&deaf.mute, 3) && only(&deaf.is, 3));
	must(look(false) == 1 && only(&news.mute, 3) && only(&deaf.mute, 3));
	/* it is excluded, and nobody asks it */
	storm_idset_clear(&in);
	must(!storm_idset_add(&in, 0, 2));
	must(!storm_idset_add(&in, 4, NODES - 1));
	must(look(true) == 1 && only(&news.gone, 3) && !news.mute.count);
	must(!look(false) && quiet() && !deaf.mute.count);
	/* another question showed it */
	mute[8] = true;
	must(!storm_idset_add(&one, 8, 8));
	deaf_suspect(&deaf, &one);
	must(look(true) == 2 && only(&news.mute, 8));
	storm_idset_clear(&one);
	must(!storm_idset_add(&one, 3, 3));
	deaf_suspect(&deaf, &one);
	must(look(false) == 1 && only(&news.mute, 8));
	/* it answers, and has strobes, or has none */
	mute[8] = false;
	must(look(false) == 1 && only(&news.back, 8) && !deaf.mute.count);
	mute[9] = blocked[9] = true;
	look(true);
	look(false);
	must(only(&news.mute, 9));
	mute[9] = false;
	must(look(false) == 1 && only(&news.deaf, 9) && !deaf.mute.count);
	must(only(&deaf.is, 9));
	storm_idset_clear(&one);
	end();
}
END_TEST

/* Then nothing is known; and what was said about it is not said again. */
START_TEST(test_no_strobes)
{
	uint64_t was;

	begin();
	look(false);
	blocked[1] = blocked[2] = true;
	look(false);
	look(false);
	look(true);
	look(false);
	must(storm_idset_size(&news.deaf) == 2);
	was = number;
	number = 0;
	must(!look(true) && storm_idset_size(&news.back) == 2);
	must(!look(true) && quiet());
	blocked[2] = false;
	number = was;
	must(!look(false) && quiet());
	must(look(false) && only(&news.deaf, 1) && only(&news.back, 2));
	end();
}
END_TEST

/* A firewall has closed while nothing was shared: the first map waits for those
 * behind it, and no strobe tells which they are. */
START_TEST(test_a_map_waits)
{
	uint64_t was;

	begin();
	look(false);
	was = number;
	number = 0;
	mute[4] = blocked[4] = true;
	must(!look(true) && !look(true) && quiet());
	waits = true;
	/* a map that waits for a moment costs two questions and no node its turns */
	must(look(false) == 2 && quiet() && !deaf.mute.count);
	mute[4] = false;
	must(look(false) == 1 && quiet() && !deaf.mute.count);
	mute[4] = true;
	must(look(false) == 2 && quiet());
	must(look(false) == 2 && only(&news.mute, 4) && only(&deaf.mute, 4));
	must(look(true) == 2 && only(&news.mute, 4) && only(&deaf.mute, 4));
	must(!news.deaf.count && !news.back.count);
	/* it is excluded */
	storm_idset_clear(&in);
	must(!storm_idset_add(&in, 0, 3) &&
	     !storm_idset_add(&in, 5, NODES - 1));
	must(look(false) == 1 && only(&news.gone, 4) && !deaf.mute.count);
	/* one more, which answers after all */
	mute[5] = true;
	must(look(false) == 2 && quiet());
	must(look(false) == 2 && only(&news.mute, 5));
	mute[5] = false;
	must(look(false) == 1 && only(&news.back, 5) && !deaf.mute.count);
	/* one is mute while the map arrives: strobes show that from now on */
	mute[6] = blocked[6] = true;
	look(false);
	look(false);
	must(only(&news.mute, 6));
	waits = false;
	number = was;
	must(!look(false) && quiet() && only(&deaf.is, 6));
	must(look(false) == 1 && only(&news.mute, 6) && only(&deaf.mute, 6));
	blocked[6] = mute[6] = false;
	look(false);
	must(look(false) == 1 && only(&news.back, 6) && !deaf.mute.count);
	/* no map and no strobe: nothing is claimed */
	mute[7] = blocked[7] = waits = true;
	number = 0;
	look(false);
	look(false);
	must(only(&news.mute, 7));
	waits = false;
	must(!look(true) && only(&news.back, 7) && !deaf.mute.count);
	end();
}
END_TEST

/* Each is found after a while, however many they are. */
START_TEST(test_random)
{
	struct rnd r = rnd_of(_i);
	struct storm_idset got = { 0 };
	uint32_t many = below(&r, 2) ? NODES : 20;

	begin();
	look(false);
	for (uint32_t i = below(&r, many); i--;)
		blocked[below(&r, NODES)] = true;
	for (int i = 0; i < 200; i++) {
		must(look(i % 3 == 0) <= 201);
		must(!news.mute.count);
		must(!storm_idset_union(&got, &news.deaf));
	}
	for (uint32_t n = 0; n < NODES; n++)
		must(storm_idset_has(&got, n) == blocked[n]);
	must(storm_idset_size(&deaf.is) == storm_idset_size(&got));
	memset(blocked, 0, sizeof(blocked));
	for (int i = 0; i < 60; i++)
		look(false);
	must(!deaf.is.count && !look(false));
	storm_idset_clear(&got);
	end();
}
END_TEST

/* All are, or a rack is: few questions. */
START_TEST(test_all_are_deaf)
{
	begin();
	look(false);
	memset(blocked, true, sizeof(blocked));
	look(false);
	look(false);
	must(look(true) <= 101);
	for (int i = 0; i < 3; i++)
		look(false);
	must(storm_idset_size(&deaf.is) == NODES && look(true) == 1);
	memset(blocked, 0, sizeof(blocked));
	look(false);
	for (int i = 0; i < 30 && deaf.is.count; i++)
		must(look(false) <= 100);
	must(!deaf.is.count && look(true) == 1);
	end();
}
END_TEST

/* What a look finds, to where slurmctld has it from. */
static void told(void)
{
	const struct storm_idset *sets[] = { &news.back, &news.gone, &news.deaf,
					     &news.mute };

	for (int k = 0; k < 4; k++)
		for (uint32_t n = 0; n < NODES; n++)
			if (storm_idset_has(sets[k], n))
				outside_deaf(n, k > 1, false);
}

static void look_and_tell(bool all)
{
	storm_idset_clear(&in);
	must(!outside_others(&in));
	look(all);
	told();
}

static bool shown(uint32_t node)
{
	static struct strober_outside out[NODES];
	uint32_t n = outside_get(out);

	return n == 1 && out[0].node == node && out[0].deaf;
}

static const char *name(uint32_t node)
{
	static const char *const names[] = { "a", "b", "c" };

	return node < 3 ? names[node] : "other";
}

static const char *other_name(uint32_t node)
{
	static const char *const names[] = { "c", "d", "a" };

	return names[node];
}

/* It was silent meanwhile, or has another agent, and hears strobes or does not: what
 * is shown is so. */
START_TEST(test_deaf_and_away)
{
	static struct strober_outside out[NODES];
	bool joins = _i & 1, heals = _i & 2;

	begin();
	must(!outside_begin(NODES, name));
	blocked[6] = true;
	for (int i = 0; i < 4; i++)
		look_and_tell(i == 2);
	must(shown(6));
	if (joins) { /* between two looks, with an epoch of its own */
		outside_excluded(6, 0, false);
		outside_joined(6);
		number = 2 * EPOCH;
		heard[6] = 0;
	} else {
		outside_overdue(6, false);
		look_and_tell(false);
		outside_overdue(6, true);
	}
	blocked[6] = !heals;
	for (int i = 0; i < 4; i++)
		look_and_tell(i == 2);
	must(heals ? !outside_get(out) : shown(6));
	end();
}
END_TEST

START_TEST(test_outside)
{
	struct strober_outside out[3];
	struct storm_idset others = { 0 };

	must(!outside_begin(3, name) && outside_changed() && !outside_get(out));
	must(outside_deaf(1, true, false) && outside_changed());
	must(outside_get(out) == 1 && out[0].node == 1 && out[0].deaf);
	must(out[0].since && !outside_deaf(1, true, false));
	must(!outside_changed());
	/* a deaf one is asked; a silent one is not */
	outside_overdue(2, false);
	must(!outside_others(&others) && storm_idset_size(&others) == 2);
	must(outside_get(out) == 2 && !out[1].deaf);
	storm_idset_clear(&others);
	/* not known any more, which is not worth a line; nor is the same again */
	must(!outside_deaf(1, false, true) && outside_changed());
	must(outside_get(out) == 1 && !outside_deaf(1, true, false));
	must(outside_get(out) == 2 && outside_deaf(1, false, false));
	/* excluded because it hears nothing, and then for another reason */
	must(outside_excluded(0, 0, true) && outside_get(out) == 2);
	must(out[0].deaf && !outside_excluded(0, 0, true));
	must(!outside_deaf(0, false, false));
	must(outside_excluded(0, 0, false) && outside_get(out) == 2);
	must(!outside_excluded(0, 0, true)); /* said before it joins */
	must(outside_excluded(0, 0, false));
	must(!out[0].deaf);
	outside_joined(0);
	must(outside_get(out) == 1 && outside_deaf(0, true, false));
	/* it is excluded therefore, as a map waits for it */
	must(!outside_excluded(0, 0, true));
	outside_joined(0);
	must(outside_excluded(0, 0, true));
}
END_TEST

/* One that was a member once is lost when it leaves; the others are not heard yet. */
START_TEST(test_not_heard_yet)
{
	struct strober_outside out[3];

	must(!outside_begin(3, name) && outside_excluded(1, 0, false) &&
	     outside_excluded(2, 0, false));
	outside_opened();
	must(outside_get(out) == 2 && out[0].unheard && out[1].unheard);
	outside_joined(2);
	must(outside_excluded(0, 0, false) && outside_excluded(2, 0, false));
	must(outside_get(out) == 3);
	must(!out[0].unheard && out[1].unheard && !out[2].unheard);
	/* another domain, also one that was not opened, and other numbers: b, which was
	 * never heard, has gone, a and c were heard, and d is new */
	for (int i = 0; i < 2; i++)
		must(!outside_begin(3, other_name));
	for (uint32_t i = 0; i < 3; i++)
		outside_excluded(i, 0, false);
	outside_opened();
	must(outside_get(out) == 3);
	must(!out[0].unheard && out[1].unheard && !out[2].unheard);
	must(!outside_begin(3, name) && outside_excluded(1, 0, false));
	must(outside_get(out) == 1 && out[0].unheard);
}
END_TEST

static bool cuts(const struct mute *m, bool relays, uint64_t at, uint32_t node)
{
	struct storm_idset got = { 0 };
	bool yes;

	mute_nodes_get(m, relays, at, &got);
	yes = storm_idset_has(&got, node);
	storm_idset_clear(&got);
	return yes;
}

static void found(struct mute *m, const struct storm_idset *set, uint64_t at)
{
	mute_look_begins(m);
	mute_look_ends(m, set, at);
}

/* A node is excluded by what is so now; a relay by two looks in a row that say so. */
START_TEST(test_whom_to_cut)
{
	struct storm_idset some = { 0 }, none = { 0 };
	uint64_t at = 1000 * STORM_SEC;
	struct mute m = { 0 };

	must(!storm_idset_add(&some, 3, 5));
	found(&m, &some, at);
	must(cuts(&m, false, at, 4) && !cuts(&m, true, at, 4));
	found(&m, &some, at);
	must(cuts(&m, false, at, 4) && cuts(&m, true, at, 4));
	found(&m, &none, at);
	must(!cuts(&m, false, at, 4) && !cuts(&m, true, at, 4));
	found(&m, &some, at);
	must(!cuts(&m, true, at, 4));
	mute_list_clear(&m);
	storm_idset_clear(&some);
}
END_TEST

/* It stood still, and it alone.  That it is back wakes the strober. */
START_TEST(test_back_is_not_cut)
{
	struct storm_idset some = { 0 };
	uint64_t at = 1000 * STORM_SEC;
	struct mute m = { 0 };

	must(!storm_idset_add(&some, 3, 5));
	found(&m, &some, at);
	found(&m, &some, at);
	mute_look_begins(&m);
	mute_node_moved(&m, 4);
	must(!cuts(&m, false, at, 4) && !cuts(&m, true, at, 4));
	must(cuts(&m, false, at, 3) && cuts(&m, true, at, 5));
	/* the look that was under way asked it before */
	mute_look_ends(&m, &some, at);
	must(!cuts(&m, false, at, 4) && cuts(&m, true, at, 3));
	found(&m, &some, at);
	must(cuts(&m, false, at, 4) && !cuts(&m, true, at, 4));
	mute_list_clear(&m);
	storm_idset_clear(&some);
}
END_TEST

/* Nodes have new places, which a look that began before does not know. */
START_TEST(test_a_look_in_two_epochs)
{
	struct storm_idset some = { 0 };
	uint64_t at = 1000 * STORM_SEC;
	struct mute m = { 0 };

	must(!storm_idset_add(&some, 3, 5));
	found(&m, &some, at);
	mute_look_begins(&m);
	mute_epoch_begins(&m);
	must(!cuts(&m, false, at, 3));
	mute_look_ends(&m, &some, at);
	must(!cuts(&m, false, at, 3) && !cuts(&m, true, at, 3));
	found(&m, &some, at);
	must(cuts(&m, false, at, 3) && !cuts(&m, true, at, 3));
	found(&m, &some, at);
	must(cuts(&m, true, at, 3));
	/* the strober itself stood still */
	must(cuts(&m, true, at + 5 * STORM_SEC, 3));
	must(!cuts(&m, true, at + 60 * STORM_SEC, 3));
	must(!cuts(&m, false, at + 60 * STORM_SEC, 3));
	mute_list_clear(&m);
	storm_idset_clear(&some);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("deaf");
	TCase *t = tcase_create("deaf");

	tcase_add_test(t, test_all_hear);
	tcase_add_test(t, test_one_is_deaf);
	tcase_add_test(t, test_a_moment);
	tcase_add_test(t, test_no_answer);
	tcase_add_test(t, test_no_strobes);
	tcase_add_test(t, test_a_map_waits);
	tcase_add_loop_test(t, test_random, 0, unit_runs(40));
	tcase_add_test(t, test_all_are_deaf);
	tcase_add_loop_test(t, test_deaf_and_away, 0, 4);
	tcase_add_test(t, test_outside);
	tcase_add_test(t, test_not_heard_yet);
	tcase_add_test(t, test_whom_to_cut);
	tcase_add_test(t, test_back_is_not_cut);
	tcase_add_test(t, test_a_look_in_two_epochs);
	suite_add_tcase(s, t);
	return unit_main(s);
}
