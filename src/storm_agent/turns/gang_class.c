/*
 * gang_class.c - see gang_class.h.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include "gang_class.h"

#define PROBE 16 /* turns that are not exact, in a row, of a sleeper */
#define SOON 2	 /* asleep for 1/2 of one turn */
#define BEGIN_TURNS 4
#define BEGIN 10 /* asleep for 1/10 of BEGIN_TURNS */
#define END_TURNS 8
#define END 20 /* asleep for less than 1/20 of END_TURNS */

static void gang_class_judge(struct gang_class *c, bool sleeps)
{
	*c = (struct gang_class) { .sleeps = sleeps };
}

/* Would this figure make or keep it a sleeper? */
static bool gang_class_is_asleep(const struct gang_class *c, uint64_t time,
				 uint64_t asleep)
{
	return asleep >= time / (c->sleeps ? END : BEGIN);
}

static void gang_class_count(struct gang_class *c, uint64_t time,
			     uint64_t asleep)
{
	c->turns++;
	c->time += time;
	c->asleep += asleep;
	if (asleep >= time / SOON)
		gang_class_judge(c, true);
	else if (!c->sleeps && c->turns == BEGIN_TURNS)
		gang_class_judge(c, c->asleep >= c->time / BEGIN);
	else if (c->sleeps && c->turns == END_TURNS)
		gang_class_judge(c, c->asleep >= c->time / END);
}

/* A doubt about a sleeper is settled in some turns in a row. */
void gang_class_turn(struct gang_class *c, uint64_t time, uint64_t asleep,
		     bool exact)
{
	bool seems;

	if (!time)
		return;
	if (asleep > time)
		asleep = time;
	seems = gang_class_is_asleep(c, time, asleep);
	if (seems && !exact) {
		c->probe = !c->sleeps || ++c->vague >= PROBE;
		return;
	}
	c->vague = 0;
	gang_class_count(c, time, asleep);
	c->probe = c->sleeps && !seems;
}
