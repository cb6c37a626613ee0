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

struct storm_report_queue;

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
	struct storm_report_queue *reports;
};

enum storm_answer { ANSWER_NONE, ANSWER_CAME, ANSWER_LOST };

/* The process's storm.conf; NULL and *why (not owned) if it is unusable. */
const struct storm_conf *storm_session_conf(const char **why);

/* NULL is an answer that find gives; close takes it too. */
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

/* Fill a step_domain_conf that reports to this session. */
void storm_session_domain_conf(struct storm_session *s,
			       struct step_domain_conf *sdc);
/* Before the launch message is given to libstorm. */
void storm_session_expect(struct storm_session *s, uint32_t nodes);
/* Count the domain, close and forget it. */
void storm_session_drop_domain(struct storm_session *s);

/* report.c: starts and exits, from the domain's thread to srun's handlers. */
int storm_reports_begin(struct storm_session *s);
void storm_reports_push(struct storm_session *s, const struct storm_report *r);
void storm_reports_end(struct storm_session *s);
/* An exit message that came by Slurm's own way: leave in it the tasks whose
 * end was not told yet, and count them as told.  False: none is left. */
bool storm_reports_filter(struct storm_session *s, task_exit_msg_t *msg);

/* fanout.c: stands in for slurm_send_recv_msgs() in step_launch.c. */
List storm_send_recv_msgs(const char *nodelist, slurm_msg_t *msg, int timeout);

/* slurm_step_launch.c: Slurm's step_launch.c and its handlers. */
int storm_step_launch(slurm_step_ctx_t *ctx,
		      const slurm_step_launch_params_t *params,
		      const slurm_step_launch_callbacks_t *callbacks);
int storm_step_launch_add(slurm_step_ctx_t *ctx, slurm_step_ctx_t *first,
			  const slurm_step_launch_params_t *params,
			  char *node_list);
int storm_step_launch_wait_start(slurm_step_ctx_t *ctx);
void storm_step_launch_wait_finish(slurm_step_ctx_t *ctx);
void storm_step_launch_abort(slurm_step_ctx_t *ctx);
void storm_step_launch_fwd_signal(slurm_step_ctx_t *ctx, int signo);
void storm_step_launch_params_init(slurm_step_launch_params_t *params);
void storm_step_started(struct step_launch_state *sls,
			launch_tasks_response_msg_t *msg);
void storm_step_exited(struct step_launch_state *sls, task_exit_msg_t *msg);
/* Are there tasks of whose start nothing was heard? */
bool storm_step_is_starting(struct step_launch_state *sls);

#endif
