/*
 * session.h - one step that srun launches by STORM.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_SESSION_H
#define STORM_SESSION_H

#include <pthread.h>

#include "src/api/step_launch.h"
#include "src/common/slurm_protocol_defs.h"

#include "step_domain.h"
#include "step_timed.h"
#include "step_told.h"
#include "timeline.h"

struct task_reports;

/*
 * Lives from the step's creation to the end of
 * slurm_step_launch_wait_finish(), which waits for those that hold it.  Only the
 * step's own thread of srun creates and closes it.  The lock protects what the
 * domain's thread and srun's message thread use.
 */
struct storm_session {
	slurm_step_id_t step_id;
	const struct storm_conf *conf;
	bool bcast;	   /* --bcast, cleared in srun's options */
	bool no_stdio;	   /* -i none -o none -e none */
	char *libdir;	   /* directory of --send-libs on the nodes */
	char *fallback;	   /* why Slurm launches it; NULL: STORM does */
	bool few;	   /* Slurm launches it as LaunchNodes says */
	bool not_served;   /* it has what STORM does not serve */
	bool abort;	   /* the user has cancelled */
	uint64_t abort_at; /* ns, storm_now() */
	struct storm_record rec;
	struct step_addrs addrs;
	struct step_odd odd; /* Slurm's messages go to these nodes */

	struct step_domain *domain;		 /* open, or NULL */
	struct step_launch_state *sls;		 /* NULL: no launch under way */
	slurm_step_launch_callbacks_t callbacks; /* srun's own */

	pthread_mutex_t lock;
	pthread_cond_t cond;	    /* an answer, a fault, or abort */
	struct storm_fault *faults; /* nodes that left the domain */
	uint32_t nfaults;
	/* The nodes' answers to the launch message, by node of the domain.
	 * NULL: it is not sent yet. */
	uint8_t *answer; /* enum storm_answer */
	uint32_t *answer_rc;
	uint32_t nanswers; /* size of both */
	uint32_t pending;  /* nodes with neither answer nor fault */

	uint32_t holders; /* see storm_session_hold(); lock: all sessions' */
	struct step_signals signals;
	struct step_timed timed;

	uint32_t tasks;
	uint32_t *task_node;  /* node of the step's layout, by task */
	uint32_t *task_place; /* among the node's tasks, by task */
	uint32_t first_task;  /* of a component among those of all, else 0 */
	bitstr_t *begun;      /* tasks whose start was reported as good */
	bool over; /* slurmctld's word, before all tasks have started */
	bool launch_failed; /* some of the nodes did not begin their tasks */
	bitstr_t *exited;   /* tasks whose end was reported */
	/* Tasks on nodes that have failed: srun does not hear them any more.  Whatever
	 * is reported of their ends later, they count as killed: but not where --no-kill
	 * lets the step go on. */
	bitstr_t *lost;
	bitstr_t *in_time;  /* tasks whose end was reported before that */
	bool may_lose;	    /* --no-kill */
	uint64_t last_exit; /* ns, storm_now(); the last of these */
	struct task_reports *reports;
};

enum storm_answer { ANSWER_NONE, ANSWER_CAME, ANSWER_LOST };

/* The process's storm.conf, loaded once.  If it cannot be used, the defaults
 * are returned, and *why, which stays the callee's, is the reason; else *why is
 * NULL.  Any thread. */
const struct storm_conf *storm_session_conf(const char **why);

/* find returns NULL if there is none; close takes NULL.  Call
 * task_reports_stop() before close. */
struct storm_session *storm_session_create(const slurm_step_id_t *step_id);
struct storm_session *storm_session_find(const slurm_step_id_t *step_id);
/* The one whose launch has this state. */
struct storm_session *
storm_session_launching(const struct step_launch_state *sls);
void storm_session_close(struct storm_session *s);

/* As find, for a thread that is not the step's own: the session stays until it
 * is released. */
struct storm_session *storm_session_hold(const slurm_step_id_t *step_id);
void storm_session_release(struct storm_session *s);

/* The user cancels: set abort in all sessions.  Any thread. */
void storm_session_abort_all(void);
/* Has the user cancelled, and does the launch hang?  True: stop waiting.  A
 * launch that makes progress is finished, and then Slurm's launcher kills the
 * tasks. */
bool storm_session_gave_up(const struct storm_session *s);

/*
 * Wait, at most 0.5 s, for the reports of starts that are under way, before
 * srun acts on a signal.  The effect of the signal, and srun's lines about the
 * tasks, depend on them, and they take a few milliseconds longer than Slurm's
 * own messages.  Waits for no step that STORM does not launch, or does not
 * launch yet.
 */
void storm_session_await_starts(void);

/* The domain's thread calls these.  Slurmds have answered the launch message,
 * as agents report. */
void storm_session_delivered(struct storm_session *s,
			     const struct storm_report *r);
/* On a node tasks have waited for their job's turn, as its agent reports. */
void storm_session_slot(struct storm_session *s, const struct storm_report *r);
/* A node is lost. */
void storm_session_fault(struct storm_session *s, const struct storm_fault *f);
/* Expect answers of so many nodes; before the launch message is given to
 * libstorm. */
void storm_session_expect(struct storm_session *s, uint32_t nodes);
/* Record the domain's counters, then destroy it, if there is one. */
void storm_session_drop_domain(struct storm_session *s);

#endif
