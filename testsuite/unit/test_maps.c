/*
 * test_maps.c - the map that is sent to the nodes next: maps.h.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include "src/storm_strober/maps.h"
#include "unit.h"

static struct maps m;

static void take(char name)
{
	char *buf = malloc(1);

	must(buf);
	*buf = name;
	maps_take(&m, buf, 1);
}

/* '-': none */
static char begin(void)
{
	const struct map_bytes *b = maps_begin(&m);

	must(!b || (b->len == 1 && !maps_due(&m)));
	return b ? *(char *) b->buf : '-';
}

static void setup(void)
{
	memset(&m, 0, sizeof(m));
}

static void teardown(void)
{
	maps_clear(&m);
	must(!maps_due(&m) && begin() == '-');
}

START_TEST(test_newest)
{
	must(begin() == '-');
	take('a');
	take('b');
	must(maps_due(&m) && begin() == 'b');
	take('c');
	must(!maps_due(&m) && begin() == '-'); /* one at a time */
	take('d');
	maps_done(&m);
	must(begin() == 'd');
	maps_refused(&m);
	must(begin() == 'd');
	take('e');
	maps_refused(&m);
	must(begin() == 'e');
	maps_done(&m);
	must(begin() == '-');
}
END_TEST

/* A node that joins gets the current map; an older one never follows a newer.
 * */
START_TEST(test_join)
{
	maps_join(&m);
	must(!maps_due(&m)); /* no node has one */
	take('a');
	must(begin() == 'a'); /* it goes to the new node, too */
	maps_done(&m);
	must(!maps_due(&m));
	maps_join(&m);
	must(begin() == 'a');
	maps_done(&m);
	/* while a newer one is on its way */
	take('b');
	must(begin() == 'b');
	maps_join(&m);
	must(!maps_due(&m));
	maps_done(&m);
	must(begin() == 'b');
	/* ... and that is refused */
	maps_join(&m);
	maps_refused(&m);
	must(begin() == 'b');
	maps_done(&m);
	must(begin() == '-');
	/* a newer one is waiting */
	take('c');
	maps_join(&m);
	must(begin() == 'c');
	maps_done(&m);
	must(begin() == '-');
}
END_TEST

/* Nothing is shared any more: nodes that join get no map. */
START_TEST(test_unneeded)
{
	take('a');
	must(begin() == 'a');
	maps_done(&m);
	take('b');
	must(begin() == 'b');
	maps_unneeded(&m);
	maps_join(&m);
	must(begin() == '-');
}
END_TEST

int main(void)
{
	Suite *s = suite_create("maps");
	TCase *t = tcase_create("maps");

	tcase_add_checked_fixture(t, setup, teardown);
	tcase_add_test(t, test_newest);
	tcase_add_test(t, test_join);
	tcase_add_test(t, test_unneeded);
	suite_add_tcase(s, t);
	return unit_main(s);
}
