/*
 * session.h - one step that srun launches by storm.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_SESSION_H
#define STORM_SESSION_H

#include <pthread.h>

#include "src/api/step_launch.h"
#include "src/common/slurm_protocol_defs.h"

#include "step_domain.h"
#include "timeline.h"

struct task_reports;

/*
 * From launch_p_create_job_step() to the end of slurm_step_launch_wait_finish().
 * Only the step's own thread of srun opens and closes it; what the domain's
 * thread and srun's message thread touch is under the lock.
 */
struct storm_session {
	slurm_step_id_t step_id;
	const struct storm_conf *conf;
	bool bcast;		/* --bcast, which we took from srun */
	bool no_stdio;		/* -i none -o none -e none */
	char *libdir;		/* what --send-libs filled on the nodes */
	char *fallback;		/* why Slurm launches it; NULL: storm does */
	bool abort;		/* the user gave up */
	uint64_t abort_at;
	struct storm_record rec;

	struct step_domain *domain;	/* open, or NULL */
	struct step_launch_state *sls;	/* NULL: no launch under way */

	pthread_mutex_t lock;
	pthread_cond_t cond;	/* an answer or a fault came, or abort */
	struct storm_fault *faults;	/* nodes that left the domain */
	uint32_t nfaults;
	/* By node of the domain: the launch message.  NULL: not sent yet. */
	uint8_t *answer;	/* enum storm_answer */
	uint32_t *answer_rc;
	uint32_t nanswers;	/* size of both */
	uint32_t pending;	/* nodes with neither answer nor fault */

	uint32_t tasks;
	uint32_t *task_node;	/* node of the step's layout, by task */
	bitstr_t *exited;	/* tasks whose end was told */
	uint64_t last_exit;	/* when the last one was */
	struct task_reports *reports;
};

enum storm_answer { ANSWER_NONE, ANSWER_CAME, ANSWER_LOST };

/* The process's storm.conf; NULL and *why (not owned) if it is unusable. */
const struct storm_conf *storm_session_conf(const char **why);

/* NULL is an answer that find gives; close takes it too.  Reports have ended
 * before it (report.h). */
struct storm_session *storm_session_create(const slurm_step_id_t *step_id);
struct storm_session *storm_session_find(const slurm_step_id_t *step_id);
struct storm_session *storm_session_find_sls(const void *sls);
void storm_session_close(struct storm_session *s);

/* The user gives up, in all sessions. */
void storm_session_abort_all(void);

/*
 * Before srun acts on a signal: wait a little for the starts that are on their
 * way.  They take a few milliseconds more than Slurm's own messages, and what
 * becomes of a signal that comes between, and what is said of the tasks,
 * depends on them.  No wait for what storm does not launch, or not yet.
 */
void storm_session_await_starts(void);

/* Of the domain's thread: slurmd's answers to the launch message, as the agents
 * report them; a node is lost. */
void storm_session_delivered(struct storm_session *s,
			     const struct storm_report *r);
void storm_session_fault(struct storm_session *s, const struct storm_fault *f);
/* Before the launch message is given to libstorm. */
void storm_session_expect(struct storm_session *s, uint32_t nodes);
/* Count the domain, close and forget it. */
void storm_session_drop_domain(struct storm_session *s);

#endif
