/*
 * step_signal.c - signals that srun forwards (ctrl-C, USR1 and so on) go to all
 * nodes of the step by one XFER-AND-SIGNAL, in the place of Slurm's tree of
 * messages.
 *
 * What is cast are the bytes that Slurm would send, with the user's own MUNGE
 * credential.  Each agent passes them to its slurmd, which checks and does what
 * it always does.  So the agents need no right to signal anybody.
 *
 * A signal must not be lost, and must not come twice.  Until the cast is decided
 * no node has it, and it can be called back: then Slurm sends it to all.  After
 * that each node passes it on once, as orders are numbered.  Slurm sends it to
 * those that are lost.  A slurmd that does not answer in time has it, and may yet
 * pass it on: srun says so, as it does with Slurm's own message.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include "config.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "src/common/slurm_xlator.h"

#include "src/common/forward.h"
#include "src/common/hostlist.h"
#include "src/common/log.h"
#include "src/common/macros.h"
#include "src/common/read_config.h"
#include "src/common/slurm_protocol_api.h"
#include "src/common/xmalloc.h"
#include "src/common/xstring.h"

#include "bcast.h"
#include "fanout_pack.h"
#include "session.h"
#include "src/libstorm/base/clock.h"
#include "src/libstorm/base/idset.h"
#include "src/storm_common/step_protocol.h"
#include "step_signal.h"

/* How long a node that does not take part delays the others: a cast takes some
 * milliseconds. */
#define DECIDE_WAIT (500 * STORM_MS)
/* How long to wait for a node that was told, if the signal may come twice: Slurm
 * sends it to that node then, too. */
#define ANSWER_WAIT_TWICE (500 * STORM_MS)

/* One signal, on its way. */
struct step_order {
	struct storm_session *s;
	struct hostlist *others; /* to whom Slurm sends it */
	struct storm_idset nodes;
	uint32_t number;
	uint16_t signal;
	uint8_t *buf;
	size_t len;
};

/* Divide the nodes into those that the cast can reach, and others.  Called with
 * the lock held. */
static void order_divide(struct step_order *o, const char *nodelist)
{
	struct step_domain *sd = o->s->domain;
	struct step_signals *g = &o->s->signals;
	struct hostlist *all = hostlist_create(nodelist);
	uint32_t n = 0;
	char *name;

	while (all && (name = hostlist_shift(all))) {
		/* they come in the domain's order */
		while (n < sd->count && xstrcmp(sd->names[n], name))
			n++;
		if (n == sd->count)
			n = step_domain_find(sd, name);
		if (n < g->nodes && g->told[n] != TOLD_LOST &&
		    !storm_idset_add(&o->nodes, n, n)) {
			g->told[n] = TOLD_AWAITS;
			g->pending++;
		} else {
			hostlist_push_host(o->others, name);
			n = 0;
		}
		free(name);
	}
	if (all)
		hostlist_destroy(all);
}

/* Take a number, and the domain.  False: it cannot be used. */
static bool order_begin(struct step_order *o, const char *nodelist)
{
	struct step_signals *g = &o->s->signals;
	bool open;

	slurm_mutex_lock(&o->s->lock);
	if (g->stuck && storm_test_event(g->stuck, false, 0, NULL))
		step_told_unstick(g);
	open = g->open && !g->stuck;
	if (open) {
		g->casting = true;
		o->number = ++g->order;
		g->pending = 0;
		for (uint32_t i = 0; i < g->nodes; i++)
			if (g->told[i] != TOLD_LOST)
				g->told[i] = TOLD_NOT;
		order_divide(o, nodelist);
	}
	slurm_mutex_unlock(&o->s->lock);
	return open;
}

/* Let go of the domain. */
static void order_end(struct step_order *o)
{
	slurm_mutex_lock(&o->s->lock);
	o->s->signals.casting = false;
	slurm_cond_broadcast(&o->s->cond);
	slurm_mutex_unlock(&o->s->lock);
}

static storm_event_t *order_cast(struct step_order *o, const slurm_msg_t *msg)
{
	const struct storm_target to = {
		.kind = STORM_TARGET_MEMORY,
		.remote_event = STEP_EVENT_SIGNAL,
	};
	const struct storm_idset *P = &o->nodes;
	slurm_msg_t once = *msg;
	struct storm_addr self;
	uint32_t number = htonl(o->number);

	if (!o->nodes.count)
		return NULL;
	/* a node that has no tasks left answers so */
	if (P->count > STORM_SET_RANGES)
		P = NULL;
	storm_domain_self(o->s->domain->d, &self);
	o->buf = fanout_pack(&once, &self, STEP_SIGNAL_HEAD, &o->len);
	if (!o->buf)
		return NULL;
	memcpy(o->buf, &number, sizeof(number));
	return storm_xfer_and_signal(o->s->domain->d, P, &to, o->buf, o->len);
}

static bool order_is_open(struct step_order *o)
{
	bool open;

	slurm_mutex_lock(&o->s->lock);
	open = o->s->signals.open;
	slurm_mutex_unlock(&o->s->lock);
	return open;
}

/* Wait for the cast's decision, and free the event.  False: no node has the
 * signal, or will have it. */
static bool order_decide(struct step_order *o, storm_event_t *event)
{
	struct step_signals *g = &o->s->signals;
	uint64_t end = storm_now() + DECIDE_WAIT;
	struct storm_outcome out = { 0 };
	uint64_t now;
	bool told;

	while (!storm_test_event(event, true, storm_now() + 20 * STORM_MS,
				 &out)) {
		now = storm_now();
		if ((now < end && order_is_open(o)) ||
		    !storm_event_cancel(event)) {
			if (now < end + ANSWER_WAIT_TWICE)
				continue;
			/* decided, and a node has not said that it knows */
			storm_event_destroy(event);
			return true;
		}
		debug("storm: signal %u: not all nodes have it in time, Slurm sends it",
		      o->signal);
		g->stuck = event;
		g->stuck_buf = o->buf;
		o->buf = NULL;
		return false;
	}
	told = out.state != STORM_ABORTED;
	storm_outcome_clear(&out);
	storm_event_destroy(event);
	return told;
}

/* Does it matter to a task how often it comes? */
static bool order_may_repeat(const struct step_order *o)
{
	return o->signal == SIGKILL || o->signal == SIGSTOP ||
	       o->signal == SIGCONT;
}

/* Wait for the answers of nodes that were told. */
static void order_await(struct step_order *o)
{
	struct storm_session *s = o->s;
	struct step_signals *g = &s->signals;
	uint64_t end =
		storm_now() + (order_may_repeat(o) ?
				       ANSWER_WAIT_TWICE :
				       slurm_conf.msg_timeout * STORM_SEC);
	const struct timespec ts = { .tv_sec = end / STORM_SEC,
				     .tv_nsec = end % STORM_SEC };

	slurm_mutex_lock(&s->lock);
	while (g->pending && g->open && storm_now() < end)
		pthread_cond_clockwait(&s->cond, &s->lock, CLOCK_MONOTONIC,
				       &ts);
	slurm_mutex_unlock(&s->lock);
}

/* What the nodes have answered.  Others are for Slurm to ask, unless the step has
 * ended. */
static list_t *order_collect(struct step_order *o, bool told)
{
	struct storm_session *s = o->s;
	struct step_signals *g = &s->signals;
	list_t *list = list_create(destroy_data_info);

	slurm_mutex_lock(&s->lock);
	for (uint32_t i = 0; i < o->nodes.count; i++) {
		for (uint32_t n = o->nodes.r[i].first; n <= o->nodes.r[i].last;
		     n++) {
			uint32_t rc = g->rc[n];

			if (told && g->told[n] == TOLD_ANSWERED &&
			    !step_told_nothing(rc))
				storm_answer(list, s->domain->names[n],
					     rc == 0xffff ? SLURM_ERROR :
							    (int) rc);
			else if (!g->open)
				storm_answer(list, s->domain->names[n],
					     ESLURM_INVALID_JOB_ID);
			else if (told && g->told[n] == TOLD_AWAITS &&
				 !order_may_repeat(o))
				storm_answer(
					list, s->domain->names[n],
					SLURM_PROTOCOL_SOCKET_IMPL_TIMEOUT);
			else
				hostlist_push_host(o->others,
						   s->domain->names[n]);
		}
	}
	slurm_mutex_unlock(&s->lock);
	return list;
}

/* Cast it, if the domain can be used.  NULL: it cannot.  Otherwise the answers;
 * o->others has the nodes for Slurm. */
static list_t *order_by_storm(struct step_order *o, const char *nodelist,
			      const slurm_msg_t *msg)
{
	storm_event_t *event;
	list_t *list = NULL;
	bool told = false;

	slurm_mutex_lock(&o->s->signals.one);
	if (order_begin(o, nodelist)) {
		if ((event = order_cast(o, msg)))
			told = order_decide(o, event);
		if (told)
			order_await(o);
		list = order_collect(o, told);
		order_end(o);
	}
	slurm_mutex_unlock(&o->s->signals.one);
	xfree(o->buf);
	storm_idset_clear(&o->nodes);
	return list;
}

/* Slurm sends it to the others, and adds their answers. */
static list_t *order_by_slurm(struct step_order *o, list_t *list,
			      slurm_msg_t *msg, int timeout)
{
	char *names = hostlist_ranged_string_xmalloc(o->others);
	list_t *more;

	debug("storm: signal %u to %s is Slurm's", o->signal, names);
	more = slurm_send_recv_msgs(names, msg, timeout);
	xfree(names);
	if (more)
		list_transfer(list, more);
	FREE_NULL_LIST(more);
	return list;
}

list_t *step_signals_send(const char *nodelist, slurm_msg_t *msg, int timeout)
{
	const signal_tasks_msg_t *req = msg->data;
	struct step_order o = { .signal = req->signal };
	list_t *list = NULL;

	if ((o.s = storm_session_hold(&req->step_id))) {
		o.others = hostlist_create(NULL);
		list = order_by_storm(&o, nodelist, msg);
		storm_session_release(o.s);
		if (list && hostlist_count(o.others))
			list = order_by_slurm(&o, list, msg, timeout);
		hostlist_destroy(o.others);
	}
	return list ? list : slurm_send_recv_msgs(nodelist, msg, timeout);
}
