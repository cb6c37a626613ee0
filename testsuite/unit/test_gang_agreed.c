/*
 * test_gang_agreed.c - a strobe waits for its time, if the node knows that time,
 * and the next slot begins without one, once.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include "src/storm_agent/turns/gang_agreed.h"
#include "unit.h"

#define QUANTUM (10 * STORM_MS)
#define LEAD (500 * STORM_US)
#define DELAY (20 * STORM_US)
#define START (5000 * STORM_SEC)
#define EPOCH (7ull << 32)
#define ROWS 3

/* The node's clock less the strober's. */
#define APART (123 * STORM_SEC)

struct node {
	struct gang_agreed g;
	struct gang_strobe s;
	uint64_t number;
	uint64_t now; /* own clock */
};

static uint64_t own(uint64_t theirs)
{
	return theirs + APART + DELAY;
}

/* Slot n of all, sent `late` after it should have been. */
static struct gang_strobe slot_of(uint64_t n, uint64_t late)
{
	uint64_t at = START + n * QUANTUM;

	return (struct gang_strobe) { .slot = n % ROWS,
				      .version = 3,
				      .digest = 4,
				      .sent = at - LEAD + late,
				      .at = at,
				      .next = (n + 1) % ROWS,
				      .next_at = at + QUANTUM };
}

/* Its strobe comes `late` later than the delay.  True: it waits. */
static bool hear(struct node *x, uint64_t n, uint64_t late)
{
	x->s = slot_of(n, 0);
	x->number = EPOCH + n;
	x->now = own(x->s.sent) + late;
	gang_agreed_clock(&x->g, x->number, &x->s, x->now);
	return gang_agreed_hear(&x->g, x->number, &x->s, x->now, x->now);
}

/* True: slot n begins now, by plan or not. */
static bool begins(struct node *x, uint64_t n, bool by_plan)
{
	struct gang_strobe out;
	uint64_t number, due = gang_agreed_due(&x->g);
	bool planned;

	if (due == STORM_NEVER)
		return false;
	must(!gang_agreed_take(&x->g, due - 1, &out, &number, &planned));
	must(gang_agreed_take(&x->g, due, &out, &number, &planned));
	must(llabs((int64_t) (due - own(START + n * QUANTUM))) < 1000);
	must(number == EPOCH + n && planned == by_plan);
	must(out.slot == n % ROWS && out.version == 3 && out.digest == 4);
	x->now = due;
	return true;
}

/* Slots 0 to n - 1, by which it knows the clocks. */
static struct node ready(uint64_t n)
{
	struct node x = { .number = 0 };

	for (uint64_t i = 0; i < n; i++)
		if (hear(&x, i, 0))
			must(begins(&x, i, false));
	return x;
}

#define ENOUGH 200

START_TEST(test_waits_for_its_time)
{
	struct node x = { .number = 0 };

	must(!hear(&x, 0, 0)); /* clocks are unknown */
	must(gang_agreed_due(&x.g) == STORM_NEVER);
	x = ready(ENOUGH);
	must(hear(&x, ENOUGH, 0));
	must(begins(&x, ENOUGH, false));
	/* late, but not too late */
	must(hear(&x, ENOUGH + 1, LEAD / 2));
	must(begins(&x, ENOUGH + 1, false));
}
END_TEST

START_TEST(test_late_is_at_once)
{
	struct node x = ready(ENOUGH);

	must(!hear(&x, ENOUGH, LEAD + 10 * STORM_US));
	must(!hear(&x, ENOUGH + 1, QUANTUM / 2));
}
END_TEST

START_TEST(test_what_has_no_time)
{
	struct node x = ready(ENOUGH);

	x.s = slot_of(ENOUGH, 0);
	x.s.at = 0;
	must(!gang_agreed_hear(&x.g, EPOCH + ENOUGH, &x.s, x.now, x.now));
	/* a nonsensical one */
	x.s.at = x.s.sent + GANG_LEAD_MAX + 1;
	must(!gang_agreed_hear(&x.g, EPOCH + ENOUGH, &x.s, x.now, x.now));
	x.s.at = UINT64_MAX;
	must(!gang_agreed_hear(&x.g, EPOCH + ENOUGH, &x.s, x.now, x.now));
}
END_TEST

/* A clock that was set back makes it wait no longer than the lead. */
START_TEST(test_wrong_clock)
{
	struct node x = ready(ENOUGH);

	x.s = slot_of(ENOUGH, 0);
	x.now = own(x.s.sent) - 3 * STORM_SEC;
	must(gang_agreed_hear(&x.g, EPOCH + ENOUGH, &x.s, x.now, x.now));
	must(gang_agreed_due(&x.g) == x.now + LEAD);
	/* set forward: at once, and nothing is planned by it */
	x.now = own(x.s.sent) + 3 * STORM_SEC;
	must(!gang_agreed_hear(&x.g, EPOCH + ENOUGH, &x.s, x.now, x.now));
	must(gang_agreed_due(&x.g) == STORM_NEVER);
}
END_TEST

/* A strobe that counts at once cancels the one that waits. */
START_TEST(test_newer_one_counts)
{
	struct node x = ready(ENOUGH);
	struct gang_strobe all = { .slot = GANG_SLOT_ALL,
				   .version = 3,
				   .digest = 4 };

	must(hear(&x, ENOUGH, 0));
	all.sent = x.s.sent + LEAD / 2;
	must(!gang_agreed_hear(&x.g, EPOCH + ENOUGH + 1, &all, x.now + LEAD / 2,
			       x.now + LEAD / 2));
	must(gang_agreed_due(&x.g) == STORM_NEVER);
	/* and so does what lets all run */
	x = ready(ENOUGH);
	must(hear(&x, ENOUGH, 0));
	gang_agreed_cancel(&x.g);
	must(gang_agreed_due(&x.g) == STORM_NEVER);
}
END_TEST

START_TEST(test_goes_on_once)
{
	struct node x = ready(ENOUGH);

	must(begins(&x, ENOUGH, true));
	must(!begins(&x, ENOUGH + 1, true));
	/* the next one confirms it: the slot after */
	must(hear(&x, ENOUGH + 1, 0));
	must(begins(&x, ENOUGH + 1, false));
	must(begins(&x, ENOUGH + 2, true));
	/* it comes late, and changes nothing */
	must(!hear(&x, ENOUGH + 2, LEAD + STORM_MS / 2));
	must(begins(&x, ENOUGH + 3, true));
	must(gang_agreed_due(&x.g) == STORM_NEVER);
}
END_TEST

/* The strober did something else: obey, and go on only once it has kept to a
 * plan again. */
START_TEST(test_contradicted)
{
	struct node x = ready(ENOUGH);

	must(begins(&x, ENOUGH, true));
	x.s = slot_of(ENOUGH, 100 * STORM_US);
	x.s.slot = (ENOUGH + 2) % ROWS;
	x.s.next = (ENOUGH + 3) % ROWS;
	x.now = own(x.s.sent);
	must(gang_agreed_hear(&x.g, EPOCH + ENOUGH, &x.s, x.now, x.now));
	x.now = gang_agreed_due(&x.g);
	must(gang_agreed_take(&x.g, x.now, &x.s, &x.number, &(bool) { 0 }));
	must(x.s.slot == (ENOUGH + 2) % ROWS);
	must(gang_agreed_due(&x.g) == STORM_NEVER);
	x = ready(ENOUGH + 1);
	must(begins(&x, ENOUGH + 1, true));
}
END_TEST

/* After a strobe that was late by the clocks, nothing is planned. */
START_TEST(test_no_plan_of_a_late_one)
{
	struct node x = ready(ENOUGH);

	must(!hear(&x, ENOUGH, 3 * STORM_MS));
	must(gang_agreed_due(&x.g) == STORM_NEVER);
}
END_TEST

/* A new map, or another strober: nothing of before counts. */
START_TEST(test_new_map_and_strober)
{
	struct node x = ready(ENOUGH);

	x.s = slot_of(ENOUGH, 0);
	x.s.version++;
	x.now = own(x.s.sent);
	must(gang_agreed_hear(&x.g, EPOCH + ENOUGH, &x.s, x.now, x.now));
	must(gang_agreed_take(&x.g, gang_agreed_due(&x.g), &x.s, &x.number,
			      &(bool) { 0 }));
	must(gang_agreed_due(&x.g) == STORM_NEVER);

	x = ready(ENOUGH);
	x.s = slot_of(ENOUGH, 0);
	x.number = 8ull << 32;
	gang_agreed_clock(&x.g, x.number, &x.s, own(x.s.sent));
	must(gang_agreed_due(&x.g) == STORM_NEVER);
	must(!gang_agreed_hear(&x.g, x.number, &x.s, own(x.s.sent),
			       own(x.s.sent)));
}
END_TEST

/* As long before as most wake-ups take, and no longer. */
START_TEST(test_awake)
{
	struct node x = ready(ENOUGH);
	struct rnd r = rnd_of(1);
	uint64_t due = gang_agreed_due(&x.g);

	for (int i = 0; i < 2000; i++)
		gang_agreed_woke(&x.g, 5000 + below(&r, 2000), 40 * STORM_US);
	must(due - gang_agreed_awake(&x.g) > 6 * STORM_US);
	must(due - gang_agreed_awake(&x.g) < 10 * STORM_US);
	for (int i = 0; i < 2000; i++)
		gang_agreed_woke(&x.g, STORM_MS, 40 * STORM_US);
	must(due - gang_agreed_awake(&x.g) == 40 * STORM_US);
	for (int i = 0; i < 2000; i++)
		gang_agreed_woke(&x.g, below(&r, 1000), 40 * STORM_US);
	must(due - gang_agreed_awake(&x.g) < 4 * STORM_US);
	gang_agreed_cancel(&x.g);
	must(gang_agreed_awake(&x.g) == STORM_NEVER);
}
END_TEST

/* It came in time, so it is due, however late it is read.  Nobody listens shortly
 * before that. */
START_TEST(test_read_when_due)
{
	struct node x = ready(ENOUGH);
	uint64_t due = own(START + ENOUGH * QUANTUM), number;
	struct gang_strobe out;
	bool planned;

	x.s = slot_of(ENOUGH, 0);
	must(!gang_agreed_deaf(&x.g, due - QUANTUM / 2));
	must(gang_agreed_deaf(&x.g, due - STORM_MS));
	must(gang_agreed_hear(&x.g, EPOCH + ENOUGH, &x.s, own(x.s.sent),
			      due + 10 * STORM_US));
	must(gang_agreed_take(&x.g, due + 10 * STORM_US, &out, &number,
			      &planned));
	must(!planned && number == EPOCH + ENOUGH);
	gang_agreed_cancel(&x.g);
	must(!gang_agreed_deaf(&x.g, due));
}
END_TEST

int main(void)
{
	Suite *s = suite_create("gang_agreed");
	TCase *t = tcase_create("gang_agreed");

	tcase_add_test(t, test_waits_for_its_time);
	tcase_add_test(t, test_late_is_at_once);
	tcase_add_test(t, test_what_has_no_time);
	tcase_add_test(t, test_wrong_clock);
	tcase_add_test(t, test_newer_one_counts);
	tcase_add_test(t, test_goes_on_once);
	tcase_add_test(t, test_contradicted);
	tcase_add_test(t, test_no_plan_of_a_late_one);
	tcase_add_test(t, test_new_map_and_strober);
	tcase_add_test(t, test_awake);
	tcase_add_test(t, test_read_when_due);
	suite_add_tcase(s, t);
	return unit_main(s);
}
