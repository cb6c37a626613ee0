/*
 * test_failed_rules.c - what slurmctld does about a node that has failed:
 * failed_rules.h.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include <string.h>

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
	view.suspect = state == STROBER_SUSPECT ? silent : 0;
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
	     (FAILED_SAY | FAILED_END | FAILED_TAKE_DRAIN));
	ck_assert_str_eq(failed_outcome(&view, &memory, false),
			 "; what runs there is given up");
	must(!acts());
}
END_TEST

/* What was said to go on is said again when it is given up. */
START_TEST(test_many)
{
	rule.many = true;
	must(dead() == FAILED_SAY && !acts());
	must(strstr(failed_outcome(&view, &memory, true),
		    "nothing is given up yet"));
	view.silent = 60 * STORM_SEC;
	must(!acts());
	rule.many = false;
	must(acts() == (FAILED_SAY | FAILED_END | FAILED_TAKE_DRAIN));
	ck_assert_str_eq(failed_outcome(&view, &memory, false),
			 "; what runs there is given up");
	must(!acts());
	/* and stays so when others fail */
	rule.many = true;
	must(!acts());
	ck_assert_str_eq(failed_outcome(&view, &memory, true),
			 "; what runs there is given up");
	view.cause = STROBER_AGENT;
	ck_assert_str_eq(failed_outcome(&view, &memory, false),
			 "; what ran there was given up");
	memory.ended = false;
	ck_assert_str_eq(failed_outcome(&view, &memory, false),
			 "; what runs there goes on");
}
END_TEST

#define WALL (1000000 * INT64_C(1700000000))
#define US INT64_C(1000)
#define HOUR (3600 * INT64_C(1000000))

/* The strober's word, so many us after WALL: the node was heard, and found, so many us
 * before; -1: it never was. */
static void word(uint16_t state, uint16_t cause, int64_t at, int64_t heard,
		 int64_t found)
{
	uint64_t now = 1000 * STORM_SEC + (uint64_t) (at * US);
	struct strober_failed x = { .state = state, .cause = cause };

	x.heard = heard < 0 ? 0 : now - (uint64_t) (heard * US);
	x.found = now - (uint64_t) (found * US);
	failed_take_word(&view, &x, now, WALL + at);
}

/* A new strober does not know since when a node is silent, and slurmctld does. */
START_TEST(test_next_strober)
{
	word(STROBER_SUSPECT, 0, 1000, 700, 500);
	must(!view.never && view.heard == WALL + 300);
	must(view.silent == 700 * STORM_US && acts() == FAILED_SAY);
	/* its suspicion is none that can be acted on, however long */
	word(STROBER_SUSPECT, 0, HOUR, -1, HOUR / 2);
	must(view.never && view.heard == WALL + 300 && !acts());
	ck_assert_str_eq(failed_word(&rule, &view), "silent");
	/* what it finds is */
	word(STROBER_FOUND, STROBER_UNREACHABLE, HOUR + 5, -1, 5);
	must(!view.never && view.heard == WALL + 300);
	must(view.silent == 5 * STORM_US && failed_counts(&view));
	must(acts() == (FAILED_SAY | FAILED_END | FAILED_TAKE_DRAIN));
	/* the third one */
	word(STROBER_SUSPECT, 0, 2 * HOUR, -1, 5);
	must(view.never && view.heard == WALL + 300 && !acts());
	word(STROBER_FOUND, STROBER_UNREACHABLE, 2 * HOUR, -1, 6);
	must(!view.never && view.heard == WALL + 300 && !acts());
	/* back, and lost again */
	word(STROBER_FOUND, STROBER_RETURNING, 3 * HOUR, -1, 6);
	word(STROBER_SUSPECT, 0, 3 * HOUR + 9, -1, 5);
	must(view.never && !view.known && !failed_word(&rule, &view));
	failed_take_word(&view, NULL, 4, WALL);
	must(!view.state && !view.heard && !view.known);
}
END_TEST

/* One that an earlier strober has not found may be dead for days: that is shown, with
 * the time when it was found first. */
START_TEST(test_unknown)
{
	for (int i = 0; i < 3; i++) {
		word(STROBER_SUSPECT, 0, i * HOUR + 7, -1, 7);
		must(view.never && !view.known && view.heard == WALL);
		word(STROBER_FOUND, STROBER_UNREACHABLE, i * HOUR + 9, -1, 9);
		must(view.never && !view.known && view.heard == WALL);
		must(!acts());
		ck_assert_str_eq(failed_word(&rule, &view), "host-unreachable");
	}
}
END_TEST

/* slurmctld has heard of its slurmd since; but not in the future, as after the clock was
 * set back. */
START_TEST(test_last_response)
{
	int64_t now = WALL / 1000000;

	view.state = STROBER_SUSPECT;
	view.heard = WALL - HOUR;
	must(failed_talks(&view, now - 3598, WALL));
	must(!failed_talks(&view, now - 3599, WALL));
	must(failed_talks(&view, now + 1, WALL));
	must(!failed_talks(&view, now + 2, WALL));
	must(!failed_talks(&view, now + 3600, WALL));
	view.state = 0;
	must(!failed_talks(&view, now, WALL));
}
END_TEST

/* 22.05 makes them root's, when it is reconfigured. */
START_TEST(test_reasons)
{
	const char *ours =
		"storm: no heartbeat since 01:02:03, host unreachable";

	must(failed_is_our_reason(ours, 64030, 64030));
	must(failed_is_our_reason(ours, 0, 64030));
	must(failed_is_our_reason("storm: slurmd gone since 01:02:03, ...", 0,
				  64030));
	must(!failed_is_our_reason(ours, 1000, 64030));
	must(!failed_is_our_reason(NULL, 0, 64030));
	must(!failed_is_our_reason("fan", 64030, 64030));
	must(!failed_is_our_reason("a storm: no heartbeat since", 64030,
				   64030));
}
END_TEST

/* What was given up in a job's last run is not ended in the next one. */
START_TEST(test_requeued)
{
	must(failed_is_same_run(false, 0, 0) &&
	     failed_is_same_run(false, 3, 3));
	must(!failed_is_same_run(false, 1, 0));
	/* slurmctld has forgotten the job: nothing else has its number */
	must(failed_is_same_run(true, 0, 1));
}
END_TEST

/* The host has answered, and dies before the node is back: what has begun meanwhile is
 * given up, too. */
START_TEST(test_dies_again)
{
	int64_t second = 1000000, at = 3 * second;

	word(STROBER_FOUND, STROBER_UNREACHABLE, second, second, second);
	must(acts() == (FAILED_SAY | FAILED_END | FAILED_TAKE_DRAIN));
	word(STROBER_FOUND, STROBER_AGENT, at, at, at);
	must(acts() == FAILED_SAY);
	ck_assert_str_eq(failed_outcome(&view, &memory, false),
			 "; what ran there was given up");
	/* one round of silence proves nothing, however long no sign of life has come */
	at = 60 * second;
	word(STROBER_SUSPECT, 0, at, at, at);
	must(!acts());
	rule.many = true;
	at += second / 10;
	word(STROBER_FOUND, STROBER_UNREACHABLE, at, at, at);
	must(acts() == FAILED_SAY);
	must(strstr(failed_outcome(&view, &memory, true),
		    "nothing is given up yet"));
	rule.many = false;
	must(acts() == (FAILED_SAY | FAILED_END) && !acts());
	/* slurmctld has spoken with it, but before it was lost again */
	must(view.heard == WALL && view.lost == WALL + at - 600000);
	must(!failed_talks(&view, (WALL + at) / second - 2, WALL + at));
	must(failed_talks(&view, (WALL + at) / second + 1, WALL + at));
	word(STROBER_FOUND, STROBER_UNREACHABLE, 2 * at, 2 * at, 2 * at);
	must(view.lost == WALL + at - 600000 && !acts());
}
END_TEST

/* A suspect for so long, and not silent for so long: it may have answered till now. */
START_TEST(test_suspect_for)
{
	int64_t second = 1000000;

	word(STROBER_FOUND, STROBER_SLURMD_GONE, 60 * second, 60 * second,
	     60 * second);
	must(acts() == (FAILED_SAY | FAILED_TAKE_DRAIN));
	word(STROBER_SUSPECT, 0, 61 * second, 61 * second, 61 * second);
	must(!(acts() & FAILED_END));
	word(STROBER_SUSPECT, 0, 65 * second, 65 * second, 65 * second);
	must(!(acts() & FAILED_END));
	word(STROBER_SUSPECT, 0, 66 * second, 66 * second, 66 * second);
	must(acts() & FAILED_END);
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
	tcase_add_test(t, test_next_strober);
	tcase_add_test(t, test_unknown);
	tcase_add_test(t, test_last_response);
	tcase_add_test(t, test_reasons);
	tcase_add_test(t, test_requeued);
	tcase_add_test(t, test_dies_again);
	tcase_add_test(t, test_suspect_for);
	tcase_add_test(t, test_excused);
	tcase_add_test(t, test_never);
	tcase_add_test(t, test_words);
	tcase_add_test(t, test_limit);
	suite_add_tcase(s, t);
	return unit_main(s);
}
