/*
 * test_child_backoff.c - how long slurmd waits before it starts its agent again, and
 * slurmctld its strober.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include "src/storm_common/child_backoff.h"
#include "unit.h"

/* Each time twice as long, up to a minute. */
START_TEST(test_again_and_again)
{
	struct child_backoff b = { CHILD_BACKOFF_MIN };

	for (uint32_t ms = 100; ms < 60000; ms *= 2)
		must(child_backoff(&b, false, false) == ms);
	for (int i = 0; i < 3; i++)
		must(child_backoff(&b, false, false) == 60000);
	/* one that has lived well */
	must(child_backoff(&b, false, true) == 100);
	must(child_backoff(&b, false, false) == 200);
}
END_TEST

/* A configuration that was refused says nothing of a child that got past it. */
START_TEST(test_refused)
{
	struct child_backoff b = { CHILD_BACKOFF_MIN };

	must(child_backoff(&b, true, false) == 60000);
	must(child_backoff(&b, true, false) == 60000);
	must(child_backoff(&b, false, false) == 100);
	must(child_backoff(&b, false, false) == 200);
	/* however long it took until it was refused */
	must(child_backoff(&b, true, true) == 60000);
	must(child_backoff(&b, false, false) == 100);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("child_backoff");
	TCase *c = tcase_create("child_backoff");

	tcase_add_test(c, test_again_and_again);
	tcase_add_test(c, test_refused);
	suite_add_tcase(s, c);
	return unit_main(s);
}
