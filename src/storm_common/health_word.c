/*
 * health_word.c - see health_word.h.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include <stddef.h>
#include <string.h>

#include "health_word.h"

static const struct {
	const char *word, *text;
} health_causes[HEALTH_CAUSES] = {
	[HEALTH_WELL] = { NULL, "it is well" },
	[HEALTH_UNCHECKED] = { "unchecked",
			       "its checks do not come to an end" },
	[HEALTH_HUNG] = { "hung", "a file system does not answer" },
	[HEALTH_SPACE] = { "space", "there is little space for files" },
	[HEALTH_INODES] = { "inodes", "there are few inodes for files" },
	[HEALTH_MEMORY] = { "memory", "there is little memory" },
	[HEALTH_MUNGE] = { "munge", "MUNGE does not answer" },
	[HEALTH_SLURMD] = { "slurmd", "slurmd does not answer" },
	[HEALTH_CLOCK] = { "clock", "its clock has jumped" },
	[HEALTH_DESCRIPTORS] = { "descriptors",
				 "its descriptors are nearly used up" },
	[HEALTH_INOTIFY] = { "inotify", "its inotify watches are used up" },
	[HEALTH_PROGRAM] = { "program", "the site's own check has failed" },
};

const char *health_word(enum health_cause cause)
{
	/* one of a later version */
	if ((unsigned int) cause >= HEALTH_CAUSES || !health_causes[cause].text)
		return "unknown";
	return health_causes[cause].word;
}

bool health_find(const char *word, enum health_cause *out)
{
	for (unsigned int i = 0; i < HEALTH_CAUSES; i++)
		if (health_causes[i].word &&
		    !strcmp(word, health_causes[i].word)) {
			*out = i;
			return true;
		}
	return false;
}

const char *health_text(enum health_cause cause)
{
	if ((unsigned int) cause >= HEALTH_CAUSES || !health_causes[cause].text)
		return "it is not well";
	return health_causes[cause].text;
}
