/*
 * fanout.c - one launch message for all nodes (paper section 2.3: the Machine
 * Manager multicasts the job's information).  It replaces the
 * slurm_send_recv_msgs() by which Slurm's launcher sends one to each node.
 *
 * The message is packed once, exactly as slurmd reads it from a socket, and
 * cast to the agents.  Each passes it to its slurmd and reports the answer.
 * Until the cast is decided no node has launched anything.  So nodes that STORM
 * does not reach may be left out, to which Slurm's message goes once the others
 * have theirs, or the whole step falls back to Slurm's own launch.  Afterwards a node without an
 * answer gets the same step credential again by TCP.  slurmd launches a
 * credential once, and replay.c knows what its refusal means.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include "config.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "src/common/slurm_xlator.h"

#include "src/common/env.h"
#include "src/common/forward.h"
#include "src/common/hostlist.h"
#include "src/common/list.h"
#include "src/common/log.h"
#include "src/common/macros.h"
#include "src/common/slurm_protocol_api.h"
#include "src/common/xmalloc.h"
#include "src/common/xstring.h"

#include "bcast.h"
#include "fanout.h"
#include "fanout_pack.h"
#include "launch_gone.h"
#include "replay.h"
#include "report.h"
#include "src/storm_common/step_protocol.h"
#include "step_fallback.h"
#include "step_launch.h"
#include "step_signal.h"

#define POLL_NS 100000000 /* how often to check for an abort */

/* The launch message with STORM's changes. */
struct launch {
	launch_tasks_request_msg_t req;
	slurm_msg_t msg;
	char **env; /* ours, if it had to change */
	uint16_t no_port;
};

/* Get a copy that may be changed. */
static void fanout_own_env(struct launch *l)
{
	if (!l->env)
		l->env = env_array_copy((const char **) l->req.env);
}

static void fanout_use_env(struct launch *l)
{
	l->req.env = l->env;
	l->req.envc = envcount(l->env);
}

static void fanout_launch_init(struct launch *l, struct storm_session *s,
			       const slurm_msg_t *msg)
{
	const char *path;
	char *value;

	l->req = *(launch_tasks_request_msg_t *) msg->data;
	l->msg = *msg;
	l->msg.data = &l->req;
	if (s->libdir) {
		/* slurmd does this only for libraries that it received. */
		fanout_own_env(l);
		value = xstrdup(s->libdir);
		if ((path = getenvp(l->env, "LD_LIBRARY_PATH")))
			xstrfmtcat(value, ":%s", path);
		env_array_overwrite(&l->env, "LD_LIBRARY_PATH", value);
		xfree(value);
		fanout_use_env(l);
	}
	if (s->no_stdio) {
		/* Slurm carries stdio to srun's own /dev/null.  With port 0
		 * slurmstepd opens no connection for it; without any port it
		 * connects to an address of zeroes. */
		l->req.ifname = l->req.ofname = l->req.efname = "/dev/null";
		l->req.num_io_port = 1;
		l->req.io_port = &l->no_port;
	}
}

static void fanout_launch_clear(struct launch *l)
{
	if (l->env)
		env_array_free(l->env);
}

/* The option that STORM does not support; NULL: it launches the step. */
static const char *fanout_not_served(const launch_tasks_request_msg_t *req)
{
	if (req->flags & LAUNCH_PTY)
		return "--pty";
	if (req->flags & LAUNCH_PARALLEL_DEBUG)
		return "a debugger";
	if (req->flags & LAUNCH_NO_ALLOC)
		return "--no-allocate";
	return NULL;
}

/* ------------------------------------------------------------- answers --- */

/* Every node failed: nothing was sent, and Fallback=never. */
static list_t *fanout_refuse_all(const char *nodelist)
{
	list_t *list = list_create(destroy_data_info);
	struct hostlist *hl = hostlist_create(nodelist);
	char *name;

	while (hl && (name = hostlist_shift(hl))) {
		storm_answer(list, name, SLURM_COMMUNICATIONS_CONNECTION_ERROR);
		free(name);
	}
	if (hl)
		hostlist_destroy(hl);
	return list;
}

/* Wait until all nodes have answered or are lost.  False: deadline passed, or
 * the user cancelled. */
static bool fanout_wait_answers(struct storm_session *s, uint64_t deadline)
{
	bool done;

	slurm_mutex_lock(&s->lock);
	while (s->pending && !storm_session_gave_up(s) &&
	       storm_now() < deadline) {
		uint64_t until = storm_now() + POLL_NS;
		const struct timespec ts = { .tv_sec = until / STORM_SEC,
					     .tv_nsec = until % STORM_SEC };

		pthread_cond_clockwait(&s->cond, &s->lock, CLOCK_MONOTONIC,
				       &ts);
	}
	done = !s->pending;
	slurm_mutex_unlock(&s->lock);
	return done;
}

/* Log why nodes get Slurm's own message, one line for all reasons. */
static void fanout_log_resend(struct storm_session *s, const char *nodes)
{
	struct storm_outcome out = { 0 };
	char *text;

	slurm_mutex_lock(&s->lock);
	out.faults = s->faults;
	out.faults_kept = out.nfaults = s->nfaults;
	text = step_domain_faults(s->domain, &out);
	slurm_mutex_unlock(&s->lock);
	info("warning: storm: no answer to the launch from %s%s%s%s; resending it by TCP",
	     nodes, text ? " (" : "", text ? text : "", text ? ")" : "");
	xfree(text);
}

/* The nodes' answers.  A node without one is asked again by TCP. */
static list_t *fanout_collect(struct storm_session *s, slurm_msg_t *msg,
			      int timeout)
{
	list_t *list = list_create(destroy_data_info), *more;
	struct hostlist *again = hostlist_create(NULL);
	ret_data_info_t *info;
	uint64_t until = storm_now() + (uint64_t) timeout * 1000000;
	list_itr_t *itr;
	char *nodes;
	uint32_t n;

	slurm_mutex_lock(&s->lock);
	for (n = 0; n < s->domain->count; n++) {
		if (s->answer[n] == ANSWER_CAME &&
		    !step_told_nothing(s->answer_rc[n]))
			storm_answer(list, s->domain->names[n],
				     s->answer_rc[n]);
		else
			hostlist_push_host(again, s->domain->names[n]);
	}
	slurm_mutex_unlock(&s->lock);
	launch_gone(s, again, list);
	if (!(s->rec.resent = hostlist_count(again)) ||
	    storm_session_gave_up(s))
		goto done;

	nodes = hostlist_ranged_string_xmalloc(again);
	fanout_log_resend(s, nodes);
	more = slurm_send_recv_msgs(nodes, msg, timeout);
	if (!more) {
		error("storm: slurm_send_recv_msgs: %m");
		more = fanout_refuse_all(nodes);
	}
	itr = list_iterator_create(more);
	while ((info = list_next(itr))) {
		return_code_msg_t *rc = info->data;

		if (info->type == RESPONSE_SLURM_RC && rc &&
		    launch_replay_is(s, info->node_name, rc->return_code,
				     until))
			rc->return_code = SLURM_SUCCESS;
	}
	list_iterator_destroy(itr);
	list_transfer(list, more);
	FREE_NULL_LIST(more);
	xfree(nodes);
done:
	hostlist_destroy(again);
	return list;
}

/* ------------------------------------------------------------- the cast --- */

/* Open the domain and start the cast.  NULL, or the reason (xfree). */
static char *fanout_send(struct storm_session *s, const char *nodelist,
			 struct launch *l, uint8_t **buf, size_t *len,
			 storm_event_t **event)
{
	const struct storm_target to = {
		.kind = STORM_TARGET_MEMORY,
		.remote_event = STEP_EVENT_LAUNCH,
	};
	struct step_domain_conf sdc;
	struct storm_addr self;
	slurm_msg_t msg;
	bool fresh;
	char *why;

	/* --bcast may have sent to more nodes than the step has. */
	if (s->domain && !step_domain_covers(s->domain, nodelist))
		storm_session_drop_domain(s);
	fresh = !s->domain;
	if (fresh) {
		task_reports_conf(s, &sdc);
		s->domain = step_domain_create(nodelist, &sdc, &why);
		if (!s->domain)
			return why;
	}
	storm_domain_self(s->domain->d, &self);
	msg = l->msg;
	if (!(*buf = fanout_pack(&msg, &self, STEP_LAUNCH_HEAD, len)))
		return xstrdup("cannot pack the launch message");
	storm_session_expect(s, s->domain->count);
	if (!s->reports && task_reports_start(s))
		return xstrdup("cannot start the thread for reports");
	*event = storm_xfer_and_signal(s->domain->d, NULL, &to, *buf, *len);
	why = fresh ? step_domain_open(s->domain) :
		      step_domain_await(s->domain);
	if (!why && !*event)
		why = xstrdup("cannot send the launch message");
	return why;
}

/* Wait for the cast's outcome.  NULL: every node gets the message, or
 * *given_up or *unknown is set.  Otherwise the reason why no node has it
 * (xfree). */
static char *fanout_wait_cast(struct storm_session *s, storm_event_t *event,
			      size_t len, bool *unknown, bool *given_up)
{
	struct storm_outcome out = { 0 };
	char *why = NULL;

	/* Bounded: an operation without progress ends after op_timeout. */
	while (!storm_test_event(event, true, storm_now() + POLL_NS, &out)) {
		step_timed_behind(s, event);
		if (storm_session_gave_up(s)) {
			*given_up = true;
			return NULL;
		}
	}
	switch (out.state) {
	case STORM_DONE:
		storm_record_transfer(&s->rec, NULL, len, s->domain->d);
		break;
	case STORM_ABORTED:
		step_domain_keep(s->domain, &out);
		why = step_domain_faults(s->domain, &out);
		if (why)
			(void) step_odd_leave(&s->odd, s->domain, &out, why);
		else
			why = xstrdup("the launch message was not delivered");
		break;
	default:
		/* Some nodes may have it: ask each by TCP. */
		*unknown = true;
	}
	storm_outcome_clear(&out);
	return why;
}

/* At -v: STORM launches it, and how. */
static void fanout_log_launch(const struct storm_session *s)
{
	struct storm_stats stats = { 0 };

	if (!s->domain)
		return;
	storm_domain_stats(s->domain->d, &stats);
	verbose("storm: launches %ps on %u nodes, %s", &s->step_id,
		s->domain->count,
		stats.multicast ? "by multicast" : "along the chain");
}

/* Cast the message to all nodes but the odd ones.  NULL, or the reason why no
 * node has it (xfree). */
static char *fanout_cast(struct storm_session *s, const char *nodelist,
			 struct launch *l, bool *unknown, bool *given_up)
{
	storm_event_t *event;
	uint8_t *buf;
	size_t len;
	char *why;

	do {
		s->odd.again = false;
		event = NULL;
		buf = NULL;
		len = 0;
		why = fanout_send(s, nodelist, l, &buf, &len, &event);
		if (!why)
			why = fanout_wait_cast(s, event, len, unknown,
					       given_up);
		storm_event_destroy(event);
		xfree(buf);
		if (*given_up || why)
			storm_session_drop_domain(s);
		if (s->odd.again)
			xfree(why);
	} while (s->odd.again);
	return why;
}

/* ------------------------------------------------------- the odd nodes --- */

/* Slurm's own messages to them, while STORM waits for the others. */
struct odd_launch {
	pthread_t thread;
	bool threaded;
	char *nodes; /* NULL: there are none */
	slurm_msg_t msg;
	int timeout;
	list_t *list;
};

static void *fanout_odd_send(void *arg)
{
	struct odd_launch *o = arg;

	o->list = slurm_send_recv_msgs(o->nodes, &o->msg, o->timeout);
	if (!o->list)
		error("storm: slurm_send_recv_msgs: %m");
	return NULL;
}

static void fanout_odd_begin(struct odd_launch *o,
			     const struct storm_session *s,
			     const char *nodelist, const struct launch *l,
			     int timeout)
{
	if (!(o->nodes = step_odd_served(&s->odd, nodelist)))
		return;
	o->msg = l->msg;
	o->timeout = timeout;
	o->threaded = !pthread_create(&o->thread, NULL, fanout_odd_send, o);
	if (!o->threaded)
		fanout_odd_send(o);
}

/* Add their answers to the list. */
static void fanout_odd_end(struct odd_launch *o, list_t *list)
{
	if (!o->nodes)
		return;
	if (o->threaded)
		pthread_join(o->thread, NULL);
	if (!o->list)
		o->list = fanout_refuse_all(o->nodes);
	list_transfer(list, o->list);
	FREE_NULL_LIST(o->list);
	xfree(o->nodes);
}

/* Slurm's own launch, but for nodes that have failed. */
static list_t *fanout_by_slurm(const struct storm_session *s,
			       const char *nodelist, struct launch *l,
			       int timeout)
{
	list_t *list;

	fanout_own_env(l);
	step_fallback_put(s, &l->env);
	fanout_use_env(l);
	list = storm_send_living(&s->odd, nodelist, &l->msg, timeout);

	if (s->odd.failed)
		storm_step_lost(s->sls, &s->step_id, s->odd.failed);
	return list;
}

/* Nodes have failed since launch_step_check(), and the step may not do without:
 * srun's shepherd ends it. */
static void fanout_stop(const struct storm_session *s)
{
	char *why = step_odd_no_launch(&s->odd);

	fatal("storm: %s", why);
}

static list_t *fanout_by_storm(struct storm_session *s, const char *nodelist,
			       struct launch *l, int timeout)
{
	uint64_t deadline = storm_now() + (uint64_t) timeout * 1000000;
	bool unknown = false, given_up = false;
	struct odd_launch odd = { 0 };
	list_t *list;
	char *why;

	why = fanout_cast(s, nodelist, l, &unknown, &given_up);
	if (why && s->odd.stop)
		fanout_stop(s);
	if (why) {
		if (storm_fall_back(s->conf->fallback, LAUNCH_OTHERWISE,
				    step_odd_why_all(&s->odd, why),
				    &s->fallback))
			list = fanout_by_slurm(s, nodelist, l, timeout);
		else
			list = fanout_refuse_all(nodelist);
	} else {
		s->rec.launched = true;
		fanout_log_launch(s);
		if (s->domain) {
			step_odd_tell(&s->odd);
			fanout_odd_begin(&odd, s, nodelist, l, timeout);
		}
		if (s->domain && !unknown)
			fanout_wait_answers(s, deadline);
		if (s->domain)
			step_told_open(s);
		list = s->domain ? fanout_collect(s, &l->msg, timeout) :
				   list_create(destroy_data_info);
		fanout_odd_end(&odd, list);
		if (s->odd.failed)
			storm_step_lost(s->sls, &s->step_id, s->odd.failed);
	}
	return list;
}

list_t *storm_send_recv_msgs(const char *nodelist, slurm_msg_t *msg,
			     int timeout)
{
	struct storm_session *s;
	struct launch l = { 0 };
	const char *why;
	list_t *list;

	if (msg->msg_type == REQUEST_SIGNAL_TASKS)
		return step_signals_send(nodelist, msg, timeout);
	if (msg->msg_type != REQUEST_LAUNCH_TASKS)
		return slurm_send_recv_msgs(nodelist, msg, timeout);
	launch_tasks_request_msg_t *req = msg->data;
	if (!(s = storm_session_find(&req->step_id)))
		return slurm_send_recv_msgs(nodelist, msg, timeout);

	if (!s->fallback && (why = fanout_not_served(req))) {
		verbose("storm: %s is not supported; " LAUNCH_OTHERWISE, why);
		s->fallback = xstrdup(why);
		s->not_served = true;
	}
	fanout_launch_init(&l, s, msg);
	if (s->fallback) {
		storm_session_drop_domain(s);
		list = fanout_by_slurm(s, nodelist, &l, timeout);
	} else {
		list = fanout_by_storm(s, nodelist, &l, timeout);
	}
	fanout_launch_clear(&l);
	return list;
}
