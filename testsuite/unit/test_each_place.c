/*
 * test_each_place.c - storm each -n: what the head says of a run, and what follows from it.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include <string.h>

#include "src/storm_each/each_place.h"
#include "unit.h"

/* A frame with up to two numbers of a byte, or with a text. */
static enum each_place_event hear(struct each_place *p, enum run_kind kind,
				  int a, int b)
{
	const uint8_t buf[] = { (uint8_t) a, (uint8_t) b };
	struct storm_in body = { buf, buf + sizeof(buf), false };

	return each_place_hear(p, kind, &body);
}

static enum each_place_event said(struct each_place *p, enum run_kind kind,
				  const char *text)
{
	const uint8_t *at = (const uint8_t *) text;
	struct storm_in body = { at, at + strlen(text), false };

	return each_place_hear(p, kind, &body);
}

static struct each_place asked(void)
{
	struct each_place p = { 0 };

	each_place_ask(&p);
	must(p.state == PLACE_ASKED &&
	     each_place_closed(&(struct each_place) { .state = PLACE_IDLE }) ==
		     PLACE_NOTHING);
	return p;
}

/* One that has begun. */
static struct each_place begun(void)
{
	struct each_place p = asked();

	must(hear(&p, RUN_QUEUED, 0, 0) == PLACE_NOTHING && !p.waits);
	must(hear(&p, RUN_QUEUED, 1, 0) == PLACE_NOTHING && p.waits);
	must(said(&p, RUN_BEGAN, "n[1-2]") == PLACE_BEGINS && p.len == 6 &&
	     !memcmp(p.text, "n[1-2]", 6));
	must(p.state == PLACE_BEGUN && !p.waits);
	return p;
}

START_TEST(test_run)
{
	struct each_place p = begun();

	/* only once */
	must(said(&p, RUN_BEGAN, "n1") == PLACE_NOTHING);
	must(hear(&p, RUN_QUEUED, 1, 0) == PLACE_NOTHING && !p.waits);
	must(said(&p, RUN_OUTPUT, "\1abc") == PLACE_WRITES && p.fd == 1 &&
	     p.len == 3 && !memcmp(p.text, "abc", 3));
	must(said(&p, RUN_OUTPUT, "\3abc") == PLACE_NOTHING);
	must(said(&p, RUN_OUTPUT, "") == PLACE_NOTHING);
	must(said(&p, RUN_SAY, "error") == PLACE_SAYS && p.len == 5);
	must(said(&p, RUN_ROOM, "x") == PLACE_NOTHING);
	must(hear(&p, RUN_END, 7, RUN_END_OWN) == PLACE_ENDS && p.status == 7 &&
	     p.state == PLACE_IDLE);
	must(each_place_is_free(PLACE_ENDS) && !each_place_is_free(PLACE_SAYS));
}
END_TEST

START_TEST(test_ends)
{
	struct each_place p = begun();

	must(hear(&p, RUN_END, 1, RUN_END_NODE_LOST) == PLACE_LOST);
	p = begun();
	must(hear(&p, RUN_END, 143, RUN_END_STOPPED) == PLACE_STOPPED);
	p = begun();
	must(hear(&p, RUN_END, 1, RUN_ENDS) == PLACE_STOPPED);
	p = begun(); /* the head has died */
	must(each_place_closed(&p) == PLACE_STOPPED && p.state == PLACE_IDLE);
	p = asked();
	hear(&p, RUN_QUEUED, 1, 0);
	must(each_place_closed(&p) == PLACE_STOPPED);
	p = asked();
	must(said(&p, RUN_OUTPUT, "\1early") == PLACE_NOTHING);
	must(said(&p, RUN_PARENT, "1 has") == PLACE_WAITS_FOR && p.len == 5);
	must(said(&p, RUN_REFUSED, "too much") == PLACE_REFUSED && p.len == 8);
	/* of a run that has not begun: the launchers were stopped */
	p = asked();
	hear(&p, RUN_QUEUED, 1, 0);
	must(hear(&p, RUN_END, 1, RUN_END_OWN) == PLACE_STOPPED);
}
END_TEST

START_TEST(test_recalled)
{
	struct each_place p = asked();

	hear(&p, RUN_QUEUED, 1, 0);
	p.recalled = true;
	must(hear(&p, RUN_END, 143, RUN_END_OWN) == PLACE_BACK);
	/* too late: it has begun, and goes on */
	p = begun();
	p.recalled = true;
	must(hear(&p, RUN_END, 0, RUN_END_OWN) == PLACE_ENDS);
	/* the head ends meanwhile */
	p = asked();
	p.recalled = true;
	must(hear(&p, RUN_AGAIN, 0, 0) == PLACE_BACK && p.state == PLACE_IDLE);
	p = asked();
	p.recalled = true;
	must(each_place_closed(&p) == PLACE_BACK);
	/* the next one is not */
	each_place_ask(&p);
	must(!p.recalled);
}
END_TEST

START_TEST(test_heads)
{
	struct each_place p = asked();

	hear(&p, RUN_QUEUED, 1, 0);
	must(hear(&p, RUN_AGAIN, 0, 0) == PLACE_IS_AWAY && !p.waits);
	must(p.state == PLACE_AWAY &&
	     hear(&p, RUN_AGAIN, 0, 0) == PLACE_NOTHING);
	must(each_place_closed(&p) == PLACE_ASKS_AGAIN);
	/* those that end without a word are counted, */
	for (int k = 0; k < EACH_HEADS; k++) {
		each_place_ask(&p);
		must(each_place_closed(&p) == PLACE_ASKS_AGAIN);
	}
	each_place_ask(&p);
	must(each_place_closed(&p) == PLACE_STOPPED);
	/* until one takes it */
	each_place_ask(&p);
	hear(&p, RUN_QUEUED, 0, 0);
	must(hear(&p, RUN_AGAIN, 0, 0) == PLACE_IS_AWAY);
	must(each_place_closed(&p) == PLACE_ASKS_AGAIN);
	each_place_ask(&p);
	must(each_place_closed(&p) == PLACE_ASKS_AGAIN);
}
END_TEST

START_TEST(test_places)
{
	must(each_places(0, false, 100) == EACH_RUNS_AHEAD);
	must(each_places(10, false, 100) == 10 + EACH_RUNS_AHEAD);
	must(each_places(10, true, 100) == 11);
	must(each_places(99, false, 100) == 100);
	must(each_places(100, true, 100) == 100 &&
	     each_places(0, true, 1) == 1);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("each_place");
	TCase *tc = tcase_create("place");

	tcase_add_test(tc, test_run);
	tcase_add_test(tc, test_ends);
	tcase_add_test(tc, test_recalled);
	tcase_add_test(tc, test_heads);
	tcase_add_test(tc, test_places);
	suite_add_tcase(s, tc);
	return unit_main(s);
}
