/*
 * report.h - carries the nodes' reports about a step's tasks from the domain's
 * thread to srun's handlers.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_TASK_REPORT_H
#define STORM_TASK_REPORT_H

#include "session.h"

/* Fill sdc for a domain that reports to this session. */
void task_reports_conf(struct storm_session *s, struct step_domain_conf *sdc);

/* Start the thread that calls srun's handlers; before the launch message is
 * given to libstorm.  SLURM_SUCCESS, or SLURM_ERROR; the reason was logged. */
int task_reports_start(struct storm_session *s);
/* Stop the thread, after the session's domain was destroyed.  Does nothing if
 * none was started. */
void task_reports_stop(struct storm_session *s);

/* Remove from an exit message, of Slurm's or of our reports, the tasks whose
 * end was handled, and those that are lost unless lost_too; mark the others.  False:
 * none is left.  Any thread. */
bool task_reports_filter(struct storm_session *s, task_exit_msg_t *msg,
			 bool lost_too);

#endif
