/*
 * report.h - what the nodes report of a step's tasks, from the domain's thread to
 * srun's handlers.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_TASK_REPORT_H
#define STORM_TASK_REPORT_H

#include "session.h"

/* Fill a step_domain_conf whose domain reports to this session. */
void task_reports_conf(struct storm_session *s, struct step_domain_conf *sdc);

/* Before the launch message is given to libstorm: a thread for srun's handlers.
 * SLURM_SUCCESS, or SLURM_ERROR, which was logged. */
int task_reports_start(struct storm_session *s);
/* The session has no domain any more.  Nothing, where none was started. */
void task_reports_stop(struct storm_session *s);

/* An exit message that came by Slurm's own way: leave in it the tasks whose
 * end was not reported yet, and count them as reported.  False: none is left. */
bool task_reports_filter(struct storm_session *s, task_exit_msg_t *msg);

#endif
