/*
 * test_suspects.c - what is known of nodes that are silent, and what it means:
 * suspects.h, verdict.h.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include <errno.h>

#include "src/storm_common/no_gang.h"
#include "src/storm_strober/suspects.h"
#include "unit.h"

#define NODES 4
#define START (100 * STORM_SEC)

static struct suspects s;
static struct strober_failed list[NODES];
static uint64_t now;

static void setup(void)
{
	memset(&s, 0, sizeof(s));
	must(!suspects_begin(&s, NODES));
	now = START;
}

static void teardown(void)
{
	suspects_clear(&s);
}

/* One that was heard a second ago. */
static void find(uint32_t node, enum suspects_kind kind)
{
	suspects_find(&s, node, kind, now - STORM_SEC, now);
}

/* The only one. */
static void is(uint16_t state, uint16_t cause)
{
	suspects_look(&s, now);
	must(suspects_get(&s, list) == 1);
	must(list[0].state == state && list[0].cause == cause);
}

static bool good(void)
{
	suspects_look(&s, now);
	return !suspects_get(&s, list);
}

/* A round in which the ports answer so; NONE: not at all. */
static void answer(uint32_t node, enum verdict_answer slurmd,
		   enum verdict_answer agent)
{
	must(suspects_ask(&s, now) == node);
	if (slurmd != ANSWER_NONE)
		suspects_answer(&s, node, true, slurmd, now);
	if (agent != ANSWER_NONE)
		suspects_answer(&s, node, false, agent, now);
	suspects_round(&s, node, false, now);
}

static void silence(uint32_t node)
{
	must(suspects_ask(&s, now) == node);
	now += VERDICT_PATIENCE;
	suspects_answer(&s, node, true, ANSWER_SILENT, now);
	suspects_answer(&s, node, false, ANSWER_SILENT, now);
	suspects_round(&s, node, false, now);
}

/* Nothing answers: suspect after 20 ms, unreachable after three rounds. */
START_TEST(test_dead_host)
{
	find(2, SUSPECTS_SILENT);
	must(good() && suspects_next(&s) == now);
	must(suspects_ask(&s, now) == 2 && suspects_ask(&s, now) == NODES);
	must(suspects_next(&s) == START + VERDICT_HOLD);
	now += VERDICT_HOLD;
	suspects_changed(&s);
	is(STROBER_SUSPECT, STROBER_UNKNOWN);
	must(suspects_changed(&s) && !suspects_changed(&s));
	must(list[0].node == 2 && list[0].heard == START - STORM_SEC);
	now = START + VERDICT_PATIENCE;
	suspects_answer(&s, 2, true, ANSWER_SILENT, now);
	suspects_answer(&s, 2, false, ANSWER_SILENT, now);
	suspects_round(&s, 2, false, now);
	silence(2);
	is(STROBER_SUSPECT, STROBER_UNKNOWN);
	silence(2);
	is(STROBER_FOUND, STROBER_UNREACHABLE);
	must(now == START + VERDICT_ROUNDS * VERDICT_PATIENCE);
	must(suspects_changed(&s));
	/* then less and less often */
	must(suspects_ask(&s, now) == NODES);
	must(suspects_next(&s) == now + STORM_SEC);
	now += STORM_SEC;
	silence(2);
	must(suspects_next(&s) == now + 2 * STORM_SEC);
	must(!suspects_changed(&s));
}
END_TEST

/* A round in which this process did not run proves nothing. */
START_TEST(test_own_stall)
{
	find(0, SUSPECTS_SILENT);
	for (int i = 0; i < 10; i++) {
		must(suspects_ask(&s, now) == 0);
		now += 10 * STORM_SEC;
		suspects_round(&s, 0, true, now);
		is(STROBER_SUSPECT, STROBER_UNKNOWN);
	}
	silence(0);
	silence(0);
	is(STROBER_SUSPECT, STROBER_UNKNOWN);
}
END_TEST

START_TEST(test_table)
{
	static const struct {
		enum verdict_answer slurmd, agent;
		bool gone;
		uint16_t cause;
	} row[] = {
		{ ANSWER_CONNECTED, ANSWER_NONE, false, STROBER_AGENT },
		{ ANSWER_CONNECTED, ANSWER_REFUSED, false, STROBER_AGENT },
		{ ANSWER_CONNECTED, ANSWER_SILENT, false, STROBER_AGENT },
		{ ANSWER_CONNECTED, ANSWER_CONNECTED, true,
		  STROBER_SLURMD_HUNG },
		{ ANSWER_REFUSED, ANSWER_CONNECTED, false,
		  STROBER_SLURMD_GONE },
		{ ANSWER_REFUSED, ANSWER_REFUSED, false, STROBER_SLURMD_GONE },
		{ ANSWER_REFUSED, ANSWER_SILENT, false, STROBER_SLURMD_GONE },
		{ ANSWER_SILENT, ANSWER_CONNECTED, false, STROBER_SLURMD_GONE },
		{ ANSWER_SILENT, ANSWER_REFUSED, false, STROBER_SLURMD_GONE },
		{ ANSWER_REFUSED, ANSWER_CONNECTED, true, STROBER_SLURMD_GONE },
		{ ANSWER_SILENT, ANSWER_SILENT, true, STROBER_SLURMD_GONE },
	};

	for (size_t i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
		struct verdict_case c = {
			.slurmd = row[i].slurmd,
			.agent = row[i].agent,
			.gone = row[i].gone,
			.rounds = VERDICT_ROUNDS,
		};
		uint16_t cause;

		must(verdict_of(&c, &cause) == STROBER_FOUND);
		must(cause == row[i].cause);
		/* who is heard is no suspect; one that was found is so until
		 * its slurmd is there */
		c.heard = true;
		c.gone = false;
		must(!verdict_of(&c, &cause));
		c.state = STROBER_FOUND;
		must(!verdict_of(&c, &cause) == (c.slurmd == ANSWER_CONNECTED));
	}
}
END_TEST

/* Nothing reaches it, and it is heard: it is not dead. Later it is. */
START_TEST(test_signs_without_answers)
{
	find(0, SUSPECTS_CUT);
	is(STROBER_FOUND, STROBER_DEAF);
	for (int i = 0; i < 2 * VERDICT_ROUNDS; i++) {
		now += 60 * STORM_SEC;
		silence(0);
		is(STROBER_FOUND, STROBER_DEAF);
	}
	find(0, SUSPECTS_SILENT);
	is(STROBER_SUSPECT, STROBER_UNKNOWN);
	for (int i = 0; i < VERDICT_ROUNDS; i++)
		silence(0);
	is(STROBER_FOUND, STROBER_UNREACHABLE);
}
END_TEST

/* A host that answers in time was never suspect. */
START_TEST(test_living_host)
{
	find(1, SUSPECTS_SILENT);
	answer(1, ANSWER_CONNECTED, ANSWER_NONE);
	is(STROBER_FOUND, STROBER_AGENT);
	find(1, SUSPECTS_BACK);
	is(STROBER_FOUND, STROBER_RETURNING);
	answer(1, ANSWER_CONNECTED, ANSWER_NONE);
	must(good() && suspects_next(&s) == STORM_NEVER);
}
END_TEST

/* What was asked before the node came back does not count. */
START_TEST(test_stale)
{
	find(1, SUSPECTS_SILENT);
	for (int i = 0; i < VERDICT_ROUNDS; i++)
		silence(1);
	now += STORM_SEC;
	must(suspects_ask(&s, now) == 1);
	find(1, SUSPECTS_BACK);
	suspects_answer(&s, 1, true, ANSWER_SILENT, now);
	suspects_answer(&s, 1, false, ANSWER_SILENT, now);
	suspects_round(&s, 1, false, now);
	is(STROBER_FOUND, STROBER_RETURNING);
	/* its slurmd is not there yet */
	answer(1, ANSWER_REFUSED, ANSWER_CONNECTED);
	is(STROBER_FOUND, STROBER_SLURMD_GONE);
	must(suspects_next(&s) == now + STORM_SEC);
	for (int i = 0; i < 20; i++) {
		now = suspects_next(&s);
		answer(1, ANSWER_REFUSED, ANSWER_CONNECTED);
		must(suspects_next(&s) <= now + 5 * STORM_SEC);
	}
	now = suspects_next(&s);
	answer(1, ANSWER_CONNECTED, ANSWER_NONE);
	must(good());
}
END_TEST

/* It is heard before anybody was told: nothing has been. */
START_TEST(test_late_sign)
{
	find(3, SUSPECTS_SILENT);
	must(suspects_ask(&s, now) == 3);
	find(3, SUSPECTS_BACK);
	must(good());
	/* silent again, while it is still being asked for the first time */
	find(3, SUSPECTS_SILENT);
	must(suspects_ask(&s, now) == NODES);
	suspects_answer(&s, 3, true, ANSWER_CONNECTED, now);
	suspects_round(&s, 3, false, now);
	must(good() && suspects_ask(&s, now) == 3);
}
END_TEST

/* An agent hangs, and then its host dies: it is asked at once, though its slurmd had
 * answered for long. */
START_TEST(test_hung_then_dead)
{
	find(0, SUSPECTS_HUNG);
	for (int i = 0; i < 10; i++) {
		answer(0, ANSWER_CONNECTED, ANSWER_NONE);
		now = suspects_next(&s);
	}
	now -= STORM_SEC;
	must(suspects_ask(&s, now) == NODES);
	find(0, SUSPECTS_SILENT);
	is(STROBER_FOUND, STROBER_AGENT);
	must(list[0].heard == now - STORM_SEC);
	silence(0);
	/* other words for it */
	find(0, SUSPECTS_SILENT);
	must(list[0].heard < now - STORM_SEC);
	silence(0);
	silence(0);
	is(STROBER_FOUND, STROBER_UNREACHABLE);
}
END_TEST

/* The slurmd that had answered goes, too: first suspect, then unreachable. */
START_TEST(test_agent_then_host)
{
	find(0, SUSPECTS_SILENT);
	answer(0, ANSWER_CONNECTED, ANSWER_NONE);
	now = suspects_next(&s);
	silence(0);
	is(STROBER_SUSPECT, STROBER_UNKNOWN);
	silence(0);
	silence(0);
	is(STROBER_FOUND, STROBER_UNREACHABLE);
	find(0, SUSPECTS_SLURMD_GONE);
	is(STROBER_FOUND, STROBER_SLURMD_GONE);
}
END_TEST

/* One that was never heard has time to start: nobody is asked, or told.  But a new
 * strober's first word has it: it is not good. */
START_TEST(test_never)
{
	suspects_find(&s, 0, SUSPECTS_SILENT, 0, now);
	must(suspects_get(&s, list) == 1 && list[0].state == STROBER_SUSPECT);
	must(suspects_ask(&s, now + 4 * STORM_SEC) == NODES);
	find(0, SUSPECTS_BACK);
	must(good());
	suspects_find(&s, 0, SUSPECTS_SILENT, 0, now);
	now += 5 * STORM_SEC;
	silence(0);
	is(STROBER_SUSPECT, STROBER_UNKNOWN);
	must(!list[0].heard);
	/* when it was heard, it is as all others */
	find(0, SUSPECTS_BACK);
	must(good());
	find(0, SUSPECTS_SILENT);
	must(good());
	now += VERDICT_HOLD;
	is(STROBER_SUSPECT, STROBER_UNKNOWN);
}
END_TEST

/* A node that is dead at a new strober's opening is in its first word, whichever way it was
 * missed.  One that is lost later was heard, and has its 20 ms. */
START_TEST(test_opening)
{
	static const struct {
		struct storm_fault f;
		bool opening, found, heard, at_once;
	} row[] = {
		{ { 0, STORM_ELOST, ETIMEDOUT }, true, true, false, true },
		{ { 0, STORM_ELOST, 0 }, true, true, false, true },
		{ { 0, STORM_ETIME, 0 }, true, true, false, true },
		{ { 0, STORM_ENOAGENT, 0 }, true, true, false, true },
		{ { 0, STORM_ENOAGENT, 0 }, false, true, false, true },
		{ { 0, STORM_ELOST, ETIMEDOUT }, false, true, true, false },
		/* these live, and nobody waits to say so */
		{ { 0, STORM_ELOST, ENOLINK }, true, true, true, true },
		{ { 0, STORM_EBUSY, NO_GANG_SLURMD }, true, true, true, true },
		{ { 0, STORM_EBUSY, 0 }, true, false, true, false },
		{ { 0, STORM_EVERSION, 7 }, true, false, true, false },
	};

	for (size_t i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
		enum suspects_kind kind;
		uint64_t heard;

		suspects_begin(&s, NODES);
		must(suspects_fault(&row[i].f, row[i].opening, now, &kind,
				    &heard) == row[i].found);
		if (row[i].found) {
			must(heard == (row[i].heard ? now : 0));
			suspects_find(&s, 0, kind, heard, now);
		}
		must(suspects_get(&s, list) == row[i].at_once);
	}
}
END_TEST

/* The one that has waited longest is asked first, and each is asked once. */
START_TEST(test_order)
{
	for (uint32_t i = NODES; i-- > 0; now++)
		find(i, SUSPECTS_SILENT);
	for (uint32_t i = NODES; i-- > 0;)
		must(suspects_ask(&s, now) == i);
	must(suspects_ask(&s, now) == NODES);
	find(NODES, SUSPECTS_SILENT); /* there is none */
	now += VERDICT_HOLD;
	suspects_look(&s, now);
	must(suspects_get(&s, list) == NODES);
	for (uint32_t i = 0; i < NODES; i++)
		must(list[i].node == i);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("suspects");
	TCase *t = tcase_create("suspects");

	tcase_add_checked_fixture(t, setup, teardown);
	tcase_add_test(t, test_dead_host);
	tcase_add_test(t, test_own_stall);
	tcase_add_test(t, test_table);
	tcase_add_test(t, test_signs_without_answers);
	tcase_add_test(t, test_living_host);
	tcase_add_test(t, test_stale);
	tcase_add_test(t, test_late_sign);
	tcase_add_test(t, test_hung_then_dead);
	tcase_add_test(t, test_agent_then_host);
	tcase_add_test(t, test_never);
	tcase_add_test(t, test_opening);
	tcase_add_test(t, test_order);
	suite_add_tcase(suite, t);
	return unit_main(suite);
}
