/*
 * replay.h - tells whether slurmd refused a launch only because it was
 * delivered twice.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_REPLAY_H
#define STORM_REPLAY_H

#include "session.h"

/* slurmd of this node has answered rc to a credential that it may have taken
 * before.  True: it has, and the step was launched there.  May ask the node,
 * and wait for it until `until` (storm_now(), ns). */
bool launch_replay_is(struct storm_session *s, const char *node, uint32_t rc,
		      uint64_t until);

#endif
