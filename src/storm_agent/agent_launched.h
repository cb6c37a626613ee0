/*
 * agent_launched.h - the last steps that STORM launched, with their times, as sruns have
 * said: one for a step.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_AGENT_LAUNCHED_H
#define STORM_AGENT_LAUNCHED_H

#include <stdint.h>
#include <time.h>

#include "src/storm_common/fallback_word.h"
#include "src/storm_common/launch_record.h"
#include "src/storm_common/launch_took.h"

struct agent_launched {
	uint32_t uid, job, step, het;
	time_t at;
	uint8_t len;
	uint8_t record[LAUNCH_RECORD]; /* good ones of a user's */
};

#define AGENT_LAUNCHED 256

/* All zeroes: there were none.  The agent's main thread. */
struct agent_launches {
	struct agent_launched last[AGENT_LAUNCHED]; /* a ring */
	uint64_t added;
	/* of all that were added */
	uint64_t took[LAUNCH_TOOKS], took_us;
};

/* Keep it as the newest, and forget the step's own one, such as of a job that began anew,
 * or the oldest one.  took: its time, us, which counts once for a step. */
void agent_launched_add(struct agent_launches *all,
			const struct agent_launched *one, uint32_t took);

/* Which of those that are kept an asker wants, and may have. */
struct agent_launched_want {
	bool all_users;
	uint32_t uid; /* else this one's */
	struct fallback_which which;
};

/* Set out to those that are wanted, the newest first.  Returns how many they are, at
 * most max.  They are all's own. */
unsigned int agent_launched_find(const struct agent_launches *all,
				 const struct agent_launched_want *want,
				 const struct agent_launched **out,
				 unsigned int max);

#endif
