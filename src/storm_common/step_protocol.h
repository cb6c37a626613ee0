/*
 * step_protocol.h - the events and reports of a step that the launcher
 * (launch_storm.so in srun, sbcast_storm) and the node agent exchange through
 * libstorm: their numbers and the layout of what they carry.  libstorm does not
 * interpret them.  An event comes with a XFER-AND-SIGNAL (paper section 2.3).
 * A report is a message of its own, as starts and ends differ between tasks.
 *
 * Integers are in network byte order.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_STEP_PROTOCOL_H
#define STORM_STEP_PROTOCOL_H

#include <stdint.h>

/*
 * OPEN's authority: {u16 Slurm protocol version, pack_sbcast_cred() with that
 * version}.  Without it a session may launch but send no file.
 *
 * If slurmctld has said with the job where nodes are, the version has the flag
 * STEP_AUTHORITY_ADDRS, and there follow {u32 length of the sbcast credential,
 * or 0; the credential; what slurmctld has signed}.  The latter is {u16
 * version;} and on Slurm 22.05 {u32 length of the step's credential without its
 * signature; slurm_cred_pack()}, on later releases {packstr() of the
 * "net_cred"}.
 *
 * job_id, step_id and step_het of the domain are those of the step's
 * REQUEST_LAUNCH_TASKS (launch_tasks_request_msg_t.step_id): slurmstepd finds
 * its session by them and by the user's id.
 */
#define STEP_AUTHORITY_HEAD 2
#define STEP_AUTHORITY_ADDRS 0x8000

/* The remote_event of a transfer to memory. */
enum step_event {
	/*
	 * {u16 reserved, 0; then the bytes that a client writes to slurmd's
	 * port, beginning with Slurm's 4 byte length}.  The agent hands the
	 * bytes to its own slurmd and reports DELIVERED.  Anything but one
	 * REQUEST_LAUNCH_TASKS of this release, with no node to forward to, is
	 * refused: SLURM_UNEXPECTED_MSG_ERROR.
	 */
	STEP_EVENT_LAUNCH = 1,
	/*
	 * {u32 order: 1, 2, ... of the domain; then the bytes, as with LAUNCH}.
	 * The agent hands them to its own slurmd, and reports SIGNALED.
	 * Anything but one REQUEST_SIGNAL_TASKS for the domain's step, without
	 * flags, is refused as above.  An order that is not greater than the
	 * last one is ignored.
	 */
	STEP_EVENT_SIGNAL = 2,
	/*
	 * To one node, when all tasks of the step run: how long its launch has
	 * taken (launch_record.h).  The agent keeps the first one of a session
	 * in which it launched the step and the step's slurmstepd has come.
	 * Others are ignored, as is one that is malformed: nothing is reported.
	 */
	STEP_EVENT_LAUNCHED = 3,
};
#define STEP_LAUNCH_HEAD 2
#define STEP_SIGNAL_HEAD 4

/* The kinds of reports. */
enum step_report {
	/* The launch message has arrived.  Code: slurmd's answer to it, or a
	 * SLURM_COMMUNICATIONS_*_ERROR if there was none.  Ids: node numbers of
	 * the domain. */
	STEP_REPORT_DELIVERED = 1,
	/* slurmstepd's RESPONSE_LAUNCH_TASKS.  Code: its return_code.  Ids: the
	 * step's task ids (task_ids), also those that failed to start. */
	STEP_REPORT_STARTED = 2,
	/* slurmstepd's MESSAGE_TASK_EXIT.  Code: its return_code, a wait
	 * status.  Ids: task ids of the step. */
	STEP_REPORT_EXITED = 3,
	/* The node's tasks have waited for their job's turn.  Code: how many
	 * ms, never 0.  Ids: node numbers of the domain. */
	STEP_REPORT_SLOT = 4,
	/* An order has come to slurmd.  Code: STEP_SIGNALED() of its number and
	 * of a code as in DELIVERED.  Ids: node numbers of the domain. */
	STEP_REPORT_SIGNALED = 5,
	/* Process ids of tasks that have started, for debuggers that attach to
	 * srun.  It comes no later than STARTED, and slurmstepd does not wait
	 * for it.  Code: the pid that the node's first task would have, if
	 * slurmstepd had forked nothing else: a task's pid is the code and its
	 * place among the node's tasks.  So tasks of a node, which are forked
	 * one after another, mostly have one code.  Ids: task ids of the step.
	 * It is libstorm's kind for values. */
	STEP_REPORT_PIDS = 6,
};

/* How many codes of PIDS a step may have, as a report's codes are limited
 * (STORM_REPORT_CODES).  Each node has an equal part of it.  Tasks beyond that
 * have no pid in srun. */
#define STEP_PID_CODES 2048

/* The lower 16 bits of each: Slurm's codes are smaller, but for SLURM_ERROR. */
#define STEP_SIGNALED(order, rc) \
	((uint32_t) (order) << 16 | ((uint32_t) (rc) &0xffff))

/* A path that ends in '/' is completed by the agent as Slurm's slurmd does:
 * slurm_bcast_<job>.<step>_<node>, which exec_task() builds again. */
#define STEP_BCAST_NAME_FMT "slurm_bcast_%u.%u_%s"

#endif
