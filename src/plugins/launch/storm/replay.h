/*
 * replay.h - slurmd refuses a launch that was delivered again.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_REPLAY_H
#define STORM_REPLAY_H

#include "session.h"

/* slurmd of this node answers rc to a credential that it may have taken
 * before.  True: it has, and the step was launched there.  May ask the node
 * until then (ns, storm_now()). */
bool launch_replay_is(struct storm_session *s, const char *node, uint32_t rc,
		      uint64_t until);

#endif
