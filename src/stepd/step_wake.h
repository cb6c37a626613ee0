/*
 * step_wake.h - wakes slurmstepd when it sleeps before it tells slurmctld again
 * that its step has ended.
 *
 * slurmstepd tries for ever, but sleeps for a minute after each try that failed.
 * One failed answer is enough: slurmctld is killed, or is replaced by a
 * reconfigure, while it reads the message.  So long slurmctld counts the step as
 * running: its context is not free, nor are its processors in the job.  Here the
 * next try comes after a second, the one after it after 2 s, and so on: never
 * later than slurmctld was away, twice.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_STEP_WAKE_H
#define STORM_STEP_WAKE_H

/*
 * In slurmstepd's thread that runs the step, when no process of the step is
 * left; once.  From then on a thread looks each second at the caller, to its
 * process's end.  A sleep() or nanosleep() of the caller that is seen so often in
 * a row is ended by SIGURG, which nobody else uses: after 1, 2, 4 ... 32 s.  No
 * other system call is interrupted.  An error is logged, and then nothing is
 * done.
 */
void step_wake_start(void);

#endif
