/*
 * test_alone.c - a node that loses slurmd leaves after a while, and a slurmd that is only
 * started again, or an agent that stood still itself, costs the cluster nothing.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include "src/storm_agent/turns/alone.h"
#include "unit.h"

static struct alone al;

static void begin(void)
{
	memset(&al, 0, sizeof(al));
	alone_begin(&al);
}

/* None of so many looks lets it leave. */
static void stays(bool there, int looks)
{
	while (looks--)
		must(!alone_look(&al, there));
}

/* It leaves after so many seconds without slurmd, and not before. */
static void leaves_after(int seconds)
{
	stays(false, seconds);
	must(alone_look(&al, false));
	must(alone_look(&al, false));
	alone_left(&al);
}

/* systemctl restart, with GPUs to find, on a busy node. */
START_TEST(test_a_restart)
{
	for (int restarts = 0; restarts < 100; restarts++) {
		stays(false, 14);
		stays(true, 1);
	}
	leaves_after(15);
}
END_TEST

/* It crashes, and is started again after each end. */
START_TEST(test_again_and_again)
{
	leaves_after(15);
	stays(true, 1);
	leaves_after(30);
	stays(true, 300);
	leaves_after(60);
	for (int i = 0; i < 3; i++) {
		stays(true, 1);
		leaves_after(120);
	}
	/* ten minutes, with a gap and without */
	stays(true, 599);
	stays(false, 1);
	stays(true, 599);
	leaves_after(120);
	stays(true, 600);
	leaves_after(15);
}
END_TEST

/* Meanwhile the node was no member, and slurmd has come and gone again, perhaps. */
START_TEST(test_another_session)
{
	stays(false, 14);
	alone_begin(&al);
	leaves_after(15);
	/* such a break is no calm */
	alone_begin(&al);
	leaves_after(30);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("alone");
	TCase *t = tcase_create("alone");

	tcase_add_checked_fixture(t, begin, NULL);
	tcase_add_test(t, test_a_restart);
	tcase_add_test(t, test_again_and_again);
	tcase_add_test(t, test_another_session);
	suite_add_tcase(s, t);
	return unit_main(s);
}
