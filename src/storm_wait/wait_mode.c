/*
 * wait_mode.c - read --storm-wait=MODE.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include "wait_mode.h"

#include <stdlib.h>
#include <string.h>

#define LONGEST_US 1000000 /* a second */

static const struct {
	const char *name;
	unsigned int first, second; /* us */
} wait_modes[] = {
	[WAIT_SPIN] = { "spin", 0, 0 },
	/* An allreduce of ranks that have all come takes up to 100 us over TCP.
	 * A nap of less is mostly the sleeping itself. */
	[WAIT_BLOCK] = { "block", 150, 50 },
	[WAIT_SLICE] = { "slice", 500, 60 },
};

/* A number behind a colon, if there is one. */
static bool wait_mode_number(const char **at, uint64_t *ns)
{
	unsigned long us;
	char *end;

	if (**at != ':')
		return true;
	if ((*at)[1] < '0' || (*at)[1] > '9')
		return false;
	us = strtoul(*at + 1, &end, 10);
	*at = end;
	*ns = us * 1000;
	return us > 0 && us <= LONGEST_US;
}

bool wait_mode_parse(const char *text, struct wait_mode *m)
{
	size_t kinds = sizeof(wait_modes) / sizeof(*wait_modes), i, length;

	if (!text)
		return false;
	length = strcspn(text, ":");
	for (i = 0; i < kinds; i++)
		if (length == strlen(wait_modes[i].name) &&
		    !strncmp(text, wait_modes[i].name, length))
			break;
	if (i == kinds)
		return false;
	m->kind = i;
	m->first = wait_modes[i].first * 1000;
	m->second = wait_modes[i].second * 1000;
	text += length;
	if (m->kind == WAIT_SPIN)
		return !*text;
	return wait_mode_number(&text, &m->first) &&
	       wait_mode_number(&text, &m->second) && !*text &&
	       (m->kind != WAIT_SLICE || m->second < m->first);
}

const char *wait_mode_name(enum wait_kind kind)
{
	return wait_modes[kind].name;
}
