/*
 * test_failed_rules.c - what slurmctld does about a node that has failed:
 * failed_rules.h.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include "src/libstorm/base/clock.h"
#include "src/plugins/sched/storm/failed_rules.h"
#include "unit.h"

static struct failed_rule rule;
static struct failed_memory memory;
static struct failed_view view;

static void setup(void)
{
	rule = (struct failed_rule) { .policy = FAILED_DRAIN,
				      .act_after = 5 * STORM_SEC };
	memory = (struct failed_memory) { 0 };
	view = (struct failed_view) { 0 };
}

static unsigned int acts(void)
{
	return failed_acts(&rule, &view, &memory);
}

static unsigned int look(uint16_t state, uint16_t cause, uint64_t silent)
{
	view.state = state;
	view.cause = cause;
	view.silent = silent;
	return acts();
}

static unsigned int dead(void)
{
	return look(STROBER_FOUND, STROBER_UNREACHABLE, STORM_SEC);
}

/* A dead host: each act once. */
START_TEST(test_dead_host)
{
	must(look(STROBER_SUSPECT, 0, STORM_MS) == FAILED_SAY && !acts());
	must(dead() == (FAILED_SAY | FAILED_END | FAILED_TAKE_DRAIN));
	must(!acts());
	view.taken = view.ours = true;
	must(!acts());
	view.state = 0;
	must(acts() == (FAILED_SAY_BACK | FAILED_RESUME));
	view.taken = view.ours = false;
	must(!acts());
	must(dead() == (FAILED_SAY | FAILED_END | FAILED_TAKE_DRAIN));
}
END_TEST

START_TEST(test_policies)
{
	rule.policy = FAILED_REPORT;
	must(dead() == (FAILED_SAY | FAILED_END) && !acts());
	setup();
	rule.policy = FAILED_DOWN;
	must(dead() == (FAILED_SAY | FAILED_END | FAILED_TAKE_DOWN) && !acts());
	setup();
	/* an administrator's drain stays as it is */
	view.taken = true;
	must(dead() == (FAILED_SAY | FAILED_END) && !acts());
	view.state = 0;
	must(acts() == FAILED_SAY_BACK);
}
END_TEST

/* slurmctld still talks to it: nothing that cannot be taken back. */
START_TEST(test_slurmctld_talks)
{
	view.talks = true;
	must(dead() == FAILED_SAY && !acts());
	view.silent = 3600 * STORM_SEC;
	must(!acts());
}
END_TEST

/* The host lives: its tasks run on, and nobody ends them. */
START_TEST(test_slurmd_gone)
{
	rule.policy = FAILED_DOWN;
	/* it may be restarted just now */
	must(!look(STROBER_FOUND, STROBER_SLURMD_GONE, 4 * STORM_SEC));
	must(look(STROBER_FOUND, STROBER_SLURMD_GONE, 5 * STORM_SEC) ==
	     (FAILED_SAY | FAILED_TAKE_DRAIN));
	must(!acts());
}
END_TEST

START_TEST(test_slurmd_answers)
{
	uint64_t long_ = 3600 * STORM_SEC;

	rule.policy = FAILED_DOWN;
	must(!look(STROBER_FOUND, STROBER_AGENT, long_));
	must(!look(STROBER_FOUND, STROBER_SLURMD_HUNG, long_));
	must(!look(STROBER_FOUND, STROBER_RETURNING, long_));
	/* who was told that it is silent is told why; and if it dies after all */
	must(look(STROBER_SUSPECT, 0, STORM_SEC) == FAILED_SAY);
	must(look(STROBER_FOUND, STROBER_AGENT, STORM_SEC) == FAILED_SAY);
	must(!look(STROBER_SUSPECT, 0, STORM_SEC));
	must(dead() == (FAILED_SAY | FAILED_END | FAILED_TAKE_DOWN));
}
END_TEST

/* Without a witness time alone decides. */
START_TEST(test_act_after)
{
	must(look(STROBER_SUSPECT, 0, 4999 * STORM_MS) == FAILED_SAY);
	must(look(STROBER_SUSPECT, 0, 5000 * STORM_MS) ==
	     (FAILED_END | FAILED_TAKE_DRAIN));
	must(!acts());
}
END_TEST

START_TEST(test_many)
{
	rule.many = true;
	must(dead() == FAILED_SAY && !acts());
	view.silent = 60 * STORM_SEC;
	must(!acts());
	rule.many = false;
	must(acts() == (FAILED_END | FAILED_TAKE_DRAIN) && !acts());
}
END_TEST

/* What Slurm has done itself is no failure. */
START_TEST(test_excused)
{
	view.excused = true;
	must(!dead() && !failed_counts(&view));
	must(!failed_word(&rule, &view));
	view.ours = true;
	view.state = 0;
	must(acts() == FAILED_RESUME);
}
END_TEST

/* One that never was heard: a new slurmctld cannot tell since when. */
START_TEST(test_never)
{
	view.never = true;
	must(!dead() && !failed_counts(&view));
	ck_assert_str_eq(failed_word(&rule, &view), "host-unreachable");
	must(!look(STROBER_FOUND, STROBER_AGENT, 60 * STORM_SEC));
	must(!failed_word(&rule, &view));
}
END_TEST

START_TEST(test_words)
{
	view.state = STROBER_SUSPECT;
	ck_assert_str_eq(failed_word(&rule, &view), "silent");
	must(failed_counts(&view));
	view.state = STROBER_FOUND;
	view.cause = STROBER_AGENT;
	must(!failed_word(&rule, &view) && !failed_counts(&view));
	view.silent = 5 * STORM_SEC;
	ck_assert_str_eq(failed_word(&rule, &view), "agent-silent");
	view.cause = STROBER_SLURMD_GONE;
	ck_assert_str_eq(failed_word(&rule, &view), "slurmd-gone");
	must(failed_counts(&view));
	view.cause = STROBER_RETURNING;
	must(!failed_word(&rule, &view) && !failed_counts(&view));
	view.state = 0;
	must(!failed_word(&rule, &view));
}
END_TEST

START_TEST(test_limit)
{
	struct storm_gang_conf conf = { 0 };

	must(failed_limit(&conf, 8) == 3 && failed_limit(&conf, 60) == 3);
	must(failed_limit(&conf, 100) == 5);
	conf.failed_max = 1;
	must(failed_limit(&conf, 100) == 1);
	conf.failed_percent = true;
	conf.failed_max = 50;
	must(failed_limit(&conf, 9) == 4);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("failed_rules");
	TCase *t = tcase_create("failed_rules");

	tcase_add_checked_fixture(t, setup, NULL);
	tcase_add_test(t, test_dead_host);
	tcase_add_test(t, test_policies);
	tcase_add_test(t, test_slurmctld_talks);
	tcase_add_test(t, test_slurmd_gone);
	tcase_add_test(t, test_slurmd_answers);
	tcase_add_test(t, test_act_after);
	tcase_add_test(t, test_many);
	tcase_add_test(t, test_excused);
	tcase_add_test(t, test_never);
	tcase_add_test(t, test_words);
	tcase_add_test(t, test_limit);
	suite_add_tcase(s, t);
	return unit_main(s);
}
