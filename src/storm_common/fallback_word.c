/*
 * fallback_word.c - see fallback_word.h.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fallback_word.h"
#include "src/libstorm/storm.h"

static const struct {
	const char *word, *remedy;
} causes[FALLBACK_CAUSES] = {
	[FALLBACK_OPTION] = { "option",
			      "nothing is wrong: Slurm serves what STORM has not" },
	[FALLBACK_HOST] = { "host",
			    "run storm check on the host of that srun" },
	[FALLBACK_NO_AGENT] = { "no-agent",
				"storm status names nodes without an agent, and why" },
	[FALLBACK_SILENT] = { "no-answer",
			      "run storm check -w with these nodes" },
	[FALLBACK_VERSION] = { "version",
			       "install the same STORM there: storm status has the versions" },
	[FALLBACK_REFUSED] = { "refused",
			       "see that node's slurmd log: MUNGE, clocks and AllowUsers" },
	[FALLBACK_BUSY] = { "busy",
			    "a limit of storm.conf was reached there: see its slurmd log" },
	[FALLBACK_OTHER] = { "other", "srun -vv says more" },
};

const char *fallback_word(enum fallback_cause cause)
{
	return causes[cause].word;
}

const char *fallback_remedy(enum fallback_cause cause)
{
	return causes[cause].remedy;
}

enum fallback_cause fallback_of(int err)
{
	switch (err) {
	case STORM_OK:
		return FALLBACK_HOST;
	case STORM_ENOAGENT:
		return FALLBACK_NO_AGENT;
	case STORM_ETIME:
	case STORM_ELOST:
		return FALLBACK_SILENT;
	case STORM_EVERSION:
		return FALLBACK_VERSION;
	case STORM_EAUTH:
	case STORM_EACCES:
		return FALLBACK_REFUSED;
	case STORM_EBUSY:
		return FALLBACK_BUSY;
	default:
		return FALLBACK_OTHER;
	}
}

void fallback_write(const struct fallback_told *told, char *out, size_t size)
{
	snprintf(out, size, "%s %u %s", fallback_word(told->cause),
		 told->keeper, told->text);
}

bool fallback_find(const char *word, enum fallback_cause *out)
{
	for (unsigned int i = 0; i < FALLBACK_CAUSES; i++)
		if (!strcmp(word, causes[i].word)) {
			*out = i;
			return true;
		}
	return false;
}

bool fallback_read(const char *value, struct fallback_told *out)
{
	char word[16];
	int at = 0;

	if (sscanf(value, "%15s %9u %n", word, &out->keeper, &at) != 2 || !at ||
	    !fallback_find(word, &out->cause))
		return false;
	snprintf(out->text, sizeof(out->text), "%s", value + at);
	return true;
}

/* Digits alone, which fit. */
static bool fallback_number(const char **text, uint32_t *out)
{
	size_t len = strspn(*text, "0123456789");

	*out = (uint32_t) strtoul(*text, NULL, 10);
	*text += len;
	return len && len <= 9;
}

bool fallback_parse(const char *text, struct fallback_which *out)
{
	*out = (struct fallback_which) { .one = *text, .any_step = true };
	if (!*text)
		return true;
	if (!fallback_number(&text, &out->job))
		return false;
	if (!*text)
		return true;
	out->any_step = false;
	return *text++ == '.' && fallback_number(&text, &out->step) && !*text;
}
