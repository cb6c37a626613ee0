/*
 * verdict.c - see verdict.h.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include "verdict.h"

static bool verdict_lives(enum verdict_answer a)
{
	return a == ANSWER_CONNECTED || a == ANSWER_REFUSED;
}

/* A node that gives signs of life may only lack its slurmd. */
static uint16_t verdict_heard(const struct verdict_case *c, uint16_t *cause)
{
	if (c->state != STROBER_FOUND || c->slurmd == ANSWER_CONNECTED)
		return 0;
	*cause = c->slurmd == ANSWER_NONE ? STROBER_RETURNING :
					    STROBER_SLURMD_GONE;
	return STROBER_FOUND;
}

uint16_t verdict_of(const struct verdict_case *c, uint16_t *cause)
{
	*cause = STROBER_UNKNOWN;
	if (c->heard && !c->gone)
		return verdict_heard(c, cause);
	if (c->slurmd == ANSWER_CONNECTED)
		*cause = c->gone ? STROBER_SLURMD_HUNG : STROBER_AGENT;
	else if (verdict_lives(c->slurmd) || verdict_lives(c->agent) || c->gone)
		*cause = STROBER_SLURMD_GONE;
	else if (c->signs)
		*cause = STROBER_DEAF;
	else if (c->rounds >= VERDICT_ROUNDS)
		*cause = STROBER_UNREACHABLE;
	else
		return c->since < VERDICT_HOLD && !c->state && !c->never ?
			       0 :
			       STROBER_SUSPECT;
	return STROBER_FOUND;
}
