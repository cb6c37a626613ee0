/*
 * slurm_step_launch.c - Slurm's own src/api/step_launch.c, compiled unmodified
 * from the tree that configure was given, with its fan-out sent to fanout.c.
 *
 * In the same translation unit this file can call Slurm's handlers.  So the
 * nodes' reports (paper, Algorithms 8 and 9) reach srun by the code that
 * handles Slurm's messages.  A wrapper of srun's callback drops duplicates,
 * because a task's end may be reported twice.
 *
 * This file, fanout.c and report.c call one another by intent: Slurm's source
 * sends through fanout.c, which starts report.c, which calls the handlers here.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include "config.h"

#include "fanout.h"
#include "report.h"
#include "src/api/step_io.h"
#include "src/common/slurm_protocol_api.h"
#include "src/slurm/step_over.h"
#include "start_watch.h"
#include "step_launch.h"

#define slurm_send_recv_msgs storm_send_recv_msgs

static void step_on_nodes_lost(struct step_launch_state *sls, const int *nodes,
			       int count);

/* Slurm's handler of a node's failure has its launch state in a variable sls. */
#define client_io_handler_downnodes(io, nodes, count)          \
	do {                                                   \
		step_on_nodes_lost(sls, nodes, count);         \
		client_io_handler_downnodes(io, nodes, count); \
	} while (0)

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wextra"
#pragma GCC diagnostic ignored "-Wshadow"
#pragma GCC diagnostic ignored "-Wmissing-prototypes"
#pragma GCC diagnostic ignored "-Wsign-compare"
#pragma GCC diagnostic ignored "-Wunused-parameter"
#include "src/api/step_launch.c"
#pragma GCC diagnostic pop
#undef client_io_handler_downnodes

/* Called with sls->lock held. */
static void step_on_nodes_lost(struct step_launch_state *sls, const int *nodes,
			       int count)
{
	struct storm_session *s = storm_session_launching(sls);

	if (!s || !s->lost)
		return;
	slurm_mutex_lock(&s->lock);
	for (int n = 0; n < count; n++)
		for (uint32_t i = 0;
		     nodes[n] >= 0 && i < sls->layout->tasks[nodes[n]]; i++)
			if (sls->layout->tids[nodes[n]][i] < s->tasks)
				bit_set(s->lost,
					sls->layout->tids[nodes[n]][i]);
	slurm_mutex_unlock(&s->lock);
}

/*
 * A node also sends Slurm's own exit message if srun does not acknowledge its
 * reports in time.  _launch_handler() detects duplicates; _exit_handler() does
 * not, and srun would print the task's line again.
 */
static void step_on_task_finish(task_exit_msg_t *msg)
{
	struct storm_session *s = storm_session_find(&msg->step_id);

	if (!s)
		return;
	if (task_reports_filter(s, msg, false))
		s->callbacks.task_finish(msg);
	else
		debug("storm: duplicate task exit message, or of lost tasks");
}

static void step_on_task_start(launch_tasks_response_msg_t *msg)
{
	struct storm_session *s = storm_session_find(&msg->step_id);

	if (!s)
		return;
	slurm_mutex_lock(&s->lock);
	for (uint32_t i = 0; s->begun && i < msg->count_of_pids; i++)
		if (!msg->return_code && msg->task_ids[i] < s->tasks)
			bit_set(s->begun, msg->task_ids[i]);
	slurm_mutex_unlock(&s->lock);
	s->callbacks.task_start(msg);
}

static void step_on_complete(srun_job_complete_msg_t *msg)
{
	storm_session_await_starts(); /* scancel */
}

/* The callbacks of a step that STORM may launch. */
static slurm_step_launch_callbacks_t
step_wrap_callbacks(struct storm_session *s,
		    const slurm_step_launch_callbacks_t *callbacks)
{
	slurm_step_launch_callbacks_t wrapped = *callbacks;

	s->callbacks = *callbacks;
	if (wrapped.task_start)
		wrapped.task_start = step_on_task_start;
	if (wrapped.task_finish)
		wrapped.task_finish = step_on_task_finish;
	if (!wrapped.step_complete)
		wrapped.step_complete = step_on_complete;
	return wrapped;
}

int storm_step_launch(slurm_step_ctx_t *ctx,
		      const slurm_step_launch_params_t *params,
		      const slurm_step_launch_callbacks_t *callbacks)
{
	struct storm_session *s = storm_session_find(&ctx->step_req->step_id);
	slurm_step_launch_callbacks_t wrapped = *callbacks;
	int rc;

	if (s) {
		wrapped = step_wrap_callbacks(s, callbacks);
		s->sls = ctx->launch_state;
		s->rec.nodes = s->sls->layout->node_cnt;
		s->rec.tasks = s->sls->layout->task_cnt;
		/* also of a step that Slurm launches: see step_end_lost() */
		s->tasks = s->rec.tasks;
		if (params->het_job_task_offset != NO_VAL)
			s->first_task = params->het_job_task_offset;
		s->begun = bit_alloc(s->tasks);
		s->exited = bit_alloc(s->tasks);
		s->lost = bit_alloc(s->tasks);
		s->in_time = bit_alloc(s->tasks);
		s->may_lose = ctx->step_req->flags & SSF_NO_KILL;
		s->rec.phase[LAUNCH_PHASE_EXEC].start = storm_now();
		/* A signal came before Slurm's launcher knew the step. */
		if (s->abort)
			slurm_step_launch_abort(ctx);
	}
	rc = slurm_step_launch(ctx, params, &wrapped);
	if (s)
		s->launch_failed = rc != SLURM_SUCCESS;
	return rc;
}

int storm_step_launch_add(slurm_step_ctx_t *ctx, slurm_step_ctx_t *first,
			  const slurm_step_launch_params_t *params,
			  char *node_list)
{
	return slurm_step_launch_add(ctx, first, params, node_list);
}

int storm_step_launch_wait_start(slurm_step_ctx_t *ctx)
{
	struct storm_session *s = storm_session_find(&ctx->step_req->step_id);
	struct start_watch *watch;
	bool over;
	int rc;

	/* Slurm kills the step at once, and slurmd ignores a kill that arrives
	 * before the tasks exist. */
	if (ctx->launch_state->abort)
		storm_session_await_starts();
	watch = start_watch_begin(&ctx->step_req->step_id, ctx->launch_state);
	rc = slurm_step_launch_wait_start(ctx);
	over = start_watch_end(watch);
	if (s) {
		s->over = over;
		s->rec.phase[LAUNCH_PHASE_EXEC].end = storm_now();
		s->rec.phase[LAUNCH_PHASE_RUN].start =
			s->rec.phase[LAUNCH_PHASE_EXEC].end;
		if (rc == SLURM_SUCCESS && !over)
			step_timed_tell(s);
	}
	return rc;
}

/* Log the times of a step that has ended: -vv and STORM_TIMELINE. */
static void step_log_timeline(struct storm_session *s)
{
	struct storm_span *phase = s->rec.phase;
	uint64_t now = storm_now();
	char *line;

	slurm_mutex_lock(&s->lock);
	if (phase[LAUNCH_PHASE_RUN].start) {
		/* Slurm's own exit messages are not seen one by one. */
		phase[LAUNCH_PHASE_RUN].end =
			s->last_exit ? MAX(s->last_exit,
					   phase[LAUNCH_PHASE_RUN].start) :
				       now;
		phase[LAUNCH_PHASE_EXIT].start = phase[LAUNCH_PHASE_RUN].end;
		phase[LAUNCH_PHASE_EXIT].end = now;
	} else if (!phase[LAUNCH_PHASE_EXEC].end) {
		phase[LAUNCH_PHASE_EXEC].end = now;
	}
	slurm_mutex_unlock(&s->lock);
	xfree(s->rec.fallback);
	s->rec.fallback = s->few ? NULL : xstrdup(s->fallback);
	xfree(s->rec.odd);
	s->rec.odd = s->fallback ? NULL : xstrdup(s->odd.nodes);
	if (get_log_level() >= LOG_LEVEL_DEBUG &&
	    (line = storm_record_line(&s->rec))) {
		info("storm: %ps timeline: %s", &s->step_id, line);
		if (s->rec.any_domain)
			info("storm: %ps sent %" PRIu64 " bytes in %" PRIu64
			     " datagrams, %" PRIu64 " retransmitted, %s",
			     &s->step_id, s->rec.stats.tx_bytes,
			     s->rec.stats.tx_datagrams, s->rec.stats.tx_repair,
			     s->rec.stats.multicast ? "multicast" : "relay");
		xfree(line);
	}
	storm_record_write(&s->rec);
}

/*
 * Tasks that ran on a node when it lost power have no end that anybody can
 * report.  Slurm leaves them out: srun exited with 0, and the job was COMPLETED,
 * if the other tasks had ended by then.  So they end here as what they are, killed,
 * also in a step that Slurm launches.  Tasks that have not begun, and never will
 * because their step is over or their node has failed, end likewise.  Where --no-kill
 * lets a step go on, nothing is aborted, and its lost tasks do not count.  Nor do
 * those of a launch that failed: srun has said so, and none of them ran.
 */
static bool step_is_lost(const struct storm_session *s, bool aborted,
			 uint32_t task)
{
	if (task >= s->tasks || bit_test(s->exited, task))
		return false;
	return (aborted && (s->over || bit_test(s->begun, task))) ||
	       (!s->may_lose && !s->launch_failed && bit_test(s->lost, task));
}

static void step_end_lost(const slurm_step_ctx_t *ctx, struct storm_session *s)
{
	const struct step_launch_state *sls = ctx->launch_state;
	const slurm_step_layout_t *layout = sls->layout;
	task_exit_msg_t msg = { .return_code = SIGKILL,
				.step_id = ctx->step_req->step_id };

	if (!s->exited || !s->callbacks.task_finish)
		return;
	for (uint32_t n = 0; n < layout->node_cnt; n++) {
		msg.num_tasks = 0;
		msg.task_id_list =
			xcalloc(layout->tasks[n] + 1, sizeof(uint32_t));
		slurm_mutex_lock(&s->lock);
		for (uint32_t i = 0; i < layout->tasks[n]; i++)
			if (step_is_lost(s, sls->abort, layout->tids[n][i]))
				msg.task_id_list[msg.num_tasks++] =
					layout->tids[n][i];
		slurm_mutex_unlock(&s->lock);
		if (task_reports_filter(s, &msg, true))
			s->callbacks.task_finish(&msg);
		xfree(msg.task_id_list);
	}
}

void storm_step_lost(struct step_launch_state *sls,
		     const slurm_step_id_t *step_id, const char *nodes)
{
	const slurm_step_layout_t *layout = sls->layout;
	struct hostlist *hl = hostlist_create(nodes);
	char *name;

	while ((name = hostlist_shift(hl))) {
		int node = nodelist_find(layout->node_list, name);

		free(name);
		if (node < 0)
			continue;
		slurm_mutex_lock(&sls->lock);
		for (uint32_t i = 0; i < layout->tasks[node]; i++) {
			bit_set(sls->tasks_started, layout->tids[node][i]);
			bit_set(sls->tasks_exited, layout->tids[node][i]);
		}
		client_io_handler_downnodes(sls->io, &node, 1);
		slurm_cond_broadcast(&sls->cond);
		slurm_mutex_unlock(&sls->lock);
		/* slurmctld has no other word of its tasks */
		(void) step_over_tell(step_id, (uint32_t) node, (uint32_t) node,
				      SIGKILL, working_cluster_rec);
	}
	hostlist_destroy(hl);
}

/* Every step ends here.  It is the last place where the launch state exists in
 * any case. */
void storm_step_launch_wait_finish(slurm_step_ctx_t *ctx)
{
	struct storm_session *s = NULL;

	if (ctx && ctx->magic == STEP_CTX_MAGIC)
		s = storm_session_find(&ctx->step_req->step_id);
	slurm_step_launch_wait_finish(ctx);
	if (!s)
		return;
	storm_session_drop_domain(s); /* no more reports */
	step_end_lost(ctx, s);
	step_log_timeline(s);
	task_reports_stop(s);
	storm_session_close(s);
}

void storm_step_launch_abort(slurm_step_ctx_t *ctx)
{
	slurm_step_launch_abort(ctx);
}

void storm_step_launch_fwd_signal(slurm_step_ctx_t *ctx, int signo)
{
	slurm_step_launch_fwd_signal(ctx, signo);
}

void storm_step_started(struct step_launch_state *sls,
			launch_tasks_response_msg_t *msg)
{
	slurm_msg_t envelope = { .msg_type = RESPONSE_LAUNCH_TASKS,
				 .data = msg };

	_launch_handler(sls, &envelope);
}

void storm_step_exited(struct step_launch_state *sls, task_exit_msg_t *msg)
{
	slurm_msg_t envelope = { .msg_type = MESSAGE_TASK_EXIT, .data = msg };

	_exit_handler(sls, &envelope);
}
