/*
 * step_door.h - where a step's tasks wait, just before exec, until their job's
 * turn begins (paper section 2.2: Node Managers launch a job "when its time
 * slot arrives").  Without it a task's first instructions could fall into the
 * turn of another job, because a process that is still slurmstepd is not
 * stopped.
 *
 * The door is a pair of sockets.  All tasks inherit one end, and the agent
 * alone has the other (LOCAL_DOOR).  The last task to come sends a byte.  From
 * then on the agent may stop the step, like any other.  It opens the door, by
 * closing its end, when the job's turn begins, or at once if there are no
 * turns.  So the agent's death opens the door, too.  After STEP_DOOR_LIMIT
 * tasks go on in any case.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_STEP_DOOR_H
#define STORM_STEP_DOOR_H

#include <stdint.h>

#include "src/libstorm/base/clock.h"
#include "step_give.h"

/* Far longer than the agent takes to see that all tasks are there.  The turn
 * itself may be later: until then the step is stopped, and no time counts. */
#define STEP_DOOR_LIMIT STORM_SEC

/* Make a door at which so many tasks will wait.  As root, in slurmstepd,
 * before tasks are forked.  rundir NULL: STORM_RUNDIR.  0, or an errno: no
 * task waits. */
int step_door_make(const char *rundir, const char *node,
		   const struct step_owner *o, uint32_t tasks);
/* Wait at the door, if there is one.  In a task, just before exec. */
void step_door_wait(void);
/* Open the door, if there is one: no task need wait any more. */
void step_door_open(void);
/* Close slurmstepd's end.  In slurmstepd, when all tasks are forked and have
 * it. */
void step_door_leave(void);

#endif
