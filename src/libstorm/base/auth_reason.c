/*
 * auth_reason.c - see auth_reason.h.  A byte has the direction in which clocks
 * differ, and by how much: the nearest minute below 40, or the nearest hour.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include <stdio.h>

#include "auth_reason.h"

#define BEHIND 64
#define STEPS 63 /* the last one: a day or more */
#define MINUTES 40
#define MINUTE 60
#define HOUR 3600

int storm_auth_clock(int64_t ahead)
{
	int behind = ahead < 0 ? BEHIND : 0;
	uint64_t s = ahead < 0 ? -(uint64_t) ahead : (uint64_t) ahead;
	uint64_t step;

	if (s < (MINUTES * MINUTE) - MINUTE / 2)
		step = (s + MINUTE / 2) / MINUTE;
	else if (s < (STEPS - MINUTES + 1) * HOUR - HOUR / 2)
		step = MINUTES - 1 + (s + HOUR / 2) / HOUR;
	else
		step = STEPS;
	return STORM_AUTH_CLOCK + behind + (int) step;
}

bool storm_auth_is_clock(int reason)
{
	return reason >= STORM_AUTH_CLOCK &&
	       reason < STORM_AUTH_CLOCK + 2 * BEHIND;
}

bool storm_auth_clock_off(int reason, char *buf, size_t size)
{
	int step = (reason - STORM_AUTH_CLOCK) & (BEHIND - 1);

	if (step < MINUTES)
		snprintf(buf, size, "%d min", step);
	else if (step < STEPS)
		snprintf(buf, size, "%d h", step - MINUTES + 1);
	else
		snprintf(buf, size, "a day or more");
	return (reason - STORM_AUTH_CLOCK) & BEHIND;
}

bool storm_auth_text(int reason, char *buf, size_t size)
{
	char off[24];
	bool behind;

	if (reason == STORM_AUTH_NO_MUNGED) {
		snprintf(buf, size,
			 "its munged gives no answer: restart munge there");
		return true;
	}
	if (!storm_auth_is_clock(reason))
		return false;
	behind = storm_auth_clock_off(reason, off, sizeof(off));
	snprintf(
		buf, size,
		behind ?
			"its clock is %s behind this host's, too much for MUNGE: run chrony or ntpd on both" :
			"its clock is %s ahead of this host's, too much for MUNGE: run chrony or ntpd on both",
		off);
	return true;
}
