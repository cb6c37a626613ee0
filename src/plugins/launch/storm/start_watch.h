/*
 * start_watch.h - srun waits for the starts of all tasks, for ten minutes.  A
 * slurmstepd that cannot connect to srun gives up after some 20 s, and tells slurmctld
 * alone; then the step is over, and nobody tells srun.  So a thread asks slurmctld.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_START_WATCH_H
#define STORM_START_WATCH_H

#include <stdbool.h>

#include "slurm/slurm.h"

struct start_watch;
struct step_launch_state;

/* Until start_watch_end(): if the step is over before all of its tasks have started,
 * say so and abort its launch.  NULL: it is not watched, as under Slurm's stepmgr,
 * which has the steps in slurmctld's place. */
struct start_watch *start_watch_begin(const slurm_step_id_t *id,
				      struct step_launch_state *sls);
/* Wait for the thread.  True: it has aborted the launch.  w NULL is fine. */
bool start_watch_end(struct start_watch *w);

#endif
