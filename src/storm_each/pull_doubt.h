/*
 * pull_doubt.h - is a task's end its own, or that of all that runs here?  No I/O and no clock.
 *
 * Slurm ends a step by a signal to each of its processes, one after the other.  Tasks may get
 * it before their puller does.  If the puller tells of these ends, they count as the tasks'
 * own, and --resume leaves such tasks out.  So it tells of them a while later: if it has been
 * ended until then, the client takes its tasks as lost.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_PULL_DOUBT_H
#define STORM_PULL_DOUBT_H

#include "pull_wire.h"

/* ns.  A busy host has signalled all processes of a step by then.  A task that others have
 * killed keeps its slot so long. */
#define PULL_DOUBT (200 * 1000000ull)

/* When this end may be told, if it came now (ns); 0: at once. */
uint64_t pull_doubt(const struct pull_end *e, uint64_t now);

#endif
