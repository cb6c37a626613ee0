/*
 * agent_fallback.h - the steps that Slurm launched in STORM's place, as sruns have said:
 * how many, by cause, and the last ones.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_AGENT_FALLBACK_H
#define STORM_AGENT_FALLBACK_H

#include <stdint.h>
#include <time.h>

#include "src/storm_common/fallback_word.h"

struct agent_fallback {
	uint32_t uid, job, step, het;
	time_t at;
	enum fallback_cause cause;
	char text[FALLBACK_TEXT]; /* a user's */
};

/* All zeroes: there were none.  The agent's main thread. */
struct agent_fallbacks {
	uint64_t count[FALLBACK_CAUSES]; /* since the agent began */
	struct agent_fallback last[256]; /* the newest replaces the oldest */
	uint64_t added;
};

/* Keep it, and count it. */
void agent_fallback_add(struct agent_fallbacks *all,
			const struct agent_fallback *one);

/* Which of those that are kept an asker wants, and may have. */
struct agent_fallback_want {
	bool all_users;
	uint32_t uid; /* else this one's */
	struct fallback_which which;
};

/* Set out to those that are wanted, the newest first.  Returns how many they are, at
 * most max.  They are all's own. */
unsigned int agent_fallback_find(const struct agent_fallbacks *all,
				 const struct agent_fallback_want *want,
				 const struct agent_fallback **out,
				 unsigned int max);

#endif
