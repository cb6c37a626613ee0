/*
 * test_gang_class.c - who sleeps in its turns, by made-up turns.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include "src/libstorm/base/clock.h"
#include "src/storm_agent/turns/gang_class.h"
#include "unit.h"

#define TURN (10 * STORM_MS)

/* So many turns, asleep for so many percent of each. */
static void turns(struct gang_class *c, int n, unsigned int percent)
{
	while (n--)
		gang_class_turn(c, TURN, TURN / 100 * percent, true);
}

START_TEST(test_spinning)
{
	struct gang_class c = { 0 };

	turns(&c, 1000, 0);
	must(!c.sleeps);
	turns(&c, 1000, 9);
	must(!c.sleeps);
}
END_TEST

START_TEST(test_a_tenth)
{
	struct gang_class c = { 0 };

	turns(&c, 3, 10);
	must(!c.sleeps);
	turns(&c, 1, 10);
	must(c.sleeps);
	/* once it does, less is enough */
	turns(&c, 1000, 5);
	must(c.sleeps);
	turns(&c, 8, 4);
	must(!c.sleeps);
	turns(&c, 1000, 9);
	must(!c.sleeps);
}
END_TEST

/* In four turns, whichever of them. */
START_TEST(test_now_and_then)
{
	struct gang_class c = { 0 };

	for (int i = 0; i < 10 && !c.sleeps; i++) {
		turns(&c, 3, 0);
		turns(&c, 1, 40);
	}
	must(c.sleeps);
	for (int i = 0; i < 10; i++) {
		turns(&c, 7, 0);
		turns(&c, 1, 45);
		must(c.sleeps);
	}
}
END_TEST

/* Of bursts of two to five turns in a row, and asleep else: one turn shows it, and
 * the bursts do not hide it. */
START_TEST(test_notebook)
{
	struct gang_class c = { 0 };

	turns(&c, 100, 0);
	turns(&c, 1, 100);
	must(c.sleeps);
	for (int i = 0; i < 100; i++) {
		turns(&c, 2 + i % 4, 0);
		must(c.sleeps);
		turns(&c, 20, 100);
		must(c.sleeps);
	}
	turns(&c, 8, 0);
	must(!c.sleeps);
}
END_TEST

/* Inexact figures, as of a step that waits for a CPU under foreign load: one that
 * never sleeps must be probed, and does not become a sleeper. */
START_TEST(test_probes)
{
	struct gang_class c = { 0 };

	for (int i = 0; i < 100; i++) {
		gang_class_turn(&c, TURN, TURN / 2, false);
		must(!c.sleeps && c.probe);
		turns(&c, 1, 0);
		must(!c.sleeps && !c.probe);
	}
	/* that it is awake needs no proof */
	for (int i = 0; i < 100; i++) {
		gang_class_turn(&c, TURN, TURN / 100, false);
		must(!c.sleeps && !c.probe);
	}
	/* a sleeper is probed now and then, and until there is no doubt */
	turns(&c, 1, 60);
	for (int i = 1; i < 16; i++) {
		gang_class_turn(&c, TURN, TURN / 2, false);
		must(c.sleeps && !c.probe);
	}
	gang_class_turn(&c, TURN, TURN / 2, false);
	must(c.sleeps && c.probe);
	turns(&c, 1, 40);
	must(c.sleeps && !c.probe);
	for (int i = 0; i < 16; i++)
		gang_class_turn(&c, TURN, TURN / 2, false);
	for (int i = 0; i < 8 && c.sleeps; i++) {
		must(c.probe);
		turns(&c, 1, 0);
	}
	must(c.sleeps);
	for (int i = 0; i < 8 && c.sleeps; i++)
		turns(&c, 1, 0);
	must(!c.sleeps && !c.probe);
}
END_TEST

/* Clocks that are read at slightly different times, and turns of other lengths. */
START_TEST(test_odd_values)
{
	struct gang_class c = { 0 };

	gang_class_turn(&c, 0, 0, true);
	must(!c.sleeps && !c.turns);
	gang_class_turn(&c, 1, UINT64_MAX, true);
	must(c.sleeps);
	for (int i = 0; i < 7; i++)
		gang_class_turn(&c, TURN, 0, true);
	gang_class_turn(&c, 600 * STORM_SEC, 40 * STORM_SEC, true);
	must(c.sleeps);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("gang_class");
	TCase *t = tcase_create("gang_class");

	tcase_add_test(t, test_spinning);
	tcase_add_test(t, test_a_tenth);
	tcase_add_test(t, test_now_and_then);
	tcase_add_test(t, test_notebook);
	tcase_add_test(t, test_probes);
	tcase_add_test(t, test_odd_values);
	suite_add_tcase(s, t);
	return unit_main(s);
}
