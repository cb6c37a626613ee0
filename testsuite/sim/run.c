/*
 * run.c - see schedule.h: a schedule is run, and given to the judges.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "linear.h"
#include "schedule.h"
#include "src/libstorm/base/clock.h"
#include "src/libstorm/base/idset.h"
#include "src/libstorm/protocol/owner/owner_private.h"

#define TASKS 2	      /* per node; their ids are reported */
#define TASK_EXITED 3 /* the kind of report */
#define OPEN_BOUND (20 * STORM_SEC)
#define END_BOUND (40 * STORM_SEC) /* of one operation, in quiet */
#define LAST_TRIES 3
#define OWNER 100 /* the first one's process, to the black box */
#define STEP_BOUND (4 * STORM_SEC) /* ... and of each before it */

struct mine {			 /* an operation's token */
	struct recorder_token t; /* first */
	struct run *run;
	bool ended;
	int what;	/* how */
	uint32_t owner; /* whose it is */
	uint8_t *data;
};

struct by { /* the reporter */
	struct run *run;
	uint32_t owner;
	struct storm_idset overdue; /* as reported */
};

struct run {
	struct schedule *s;
	struct storm_sim *sim;
	struct recorder rec;
	uint64_t began;	  /* the faults' clock */
	uint64_t turn_at; /* 0: the turn is past, or there is none */
	bool (*done)(void *arg);
	bool faults_on, opened, open_ok, multicast, lost, dying;
	uint32_t owner; /* which one, from 0 */
	struct by by[STORM_SIM_OWNERS];
	struct mine *mine;
	uint32_t pending;
	uint32_t last; /* the newest operation's index in mine */
	bool reported;
	struct linear_op small[LINEAR_OPS]; /* for the black box */
	uint32_t smalls;
	uint64_t owner_sent; /* datagrams, before an operation */
	uint64_t *node_sent;
	char *why;
};

static bool fail(struct run *r, const char *what, uint32_t node)
{
	if (!r->why[0])
		snprintf(r->why, ORACLE_WHY, "n%u %s", node + 1, what);
	return false;
}

/* ----------------------------------------------------------------- reports --- */

static void lose(struct run *r)
{
	if (!r->lost)
		RECORD(&r->rec, .kind = HISTORY_LOST, .node = STORM_NO_NODE,
		       .peer = r->owner);
	r->lost = true;
}

static void note_lost(struct run *r)
{
	const struct storm_owner *o = storm_sim_owner(r->sim);

	recorder_owner(&r->rec);
	if (!r->lost && o && !o->tree.members)
		lose(r);
}

static void name_all(struct run *r, uint32_t op,
		     const struct storm_outcome *out)
{
	for (uint32_t i = 0; i < out->faults_kept; i++)
		RECORD(&r->rec, .kind = HISTORY_NAMED,
		       .node = out->faults[i].node, .op = op,
		       .what = (int) out->faults[i].why);
}

/* The OPEN goes down the tree: nodes below a failed one did not receive it. (Or
 * the node failed after it received it: then it is not named itself.) */
static bool below_another(const struct run *r, const struct storm_outcome *out,
			  uint32_t node)
{
	const struct storm_tree *t = &storm_sim_owner(r->sim)->tree;

	for (uint32_t i = 0; i < out->faults_kept; i++)
		if (out->faults[i].node != node &&
		    storm_tree_above(t, out->faults[i].node, node))
			return true;
	for (uint32_t i = 0; i < r->s->conf.nodes; i++)
		if (i != node && r->rec.node[i].broken &&
		    storm_tree_above(t, i, node))
			return true;
	return false;
}

static void on_opened(void *arg, struct storm_outcome *out)
{
	const struct by *by = arg;
	struct run *r = by->run;

	if (by->owner != r->owner) { /* too late: there is another one */
		storm_outcome_clear(out);
		return;
	}
	r->opened = true;
	r->open_ok = out->state == STORM_DONE;
	for (uint32_t i = 0; i < out->faults_kept; i++)
		if (!below_another(r, out, out->faults[i].node))
			RECORD(&r->rec, .kind = HISTORY_NAMED,
			       .node = out->faults[i].node,
			       .what = (int) out->faults[i].why);
	if (!r->open_ok) /* what was queued ends with it */
		lose(r);
	storm_outcome_clear(out);
}

static void ended(struct mine *m, int what, struct storm_outcome *out)
{
	struct run *r = m->run;

	if (r->dying) {
		storm_outcome_clear(out);
		return;
	}
	note_lost(r);
	name_all(r, m->t.op, out);
	RECORD(&r->rec, .kind = HISTORY_RESULT, .node = STORM_NO_NODE,
	       .op = m->t.op, .what = what);
	m->ended = true;
	m->what = what;
	r->pending -= m->owner == r->owner;
	storm_outcome_clear(out);
}

static void on_done(void *arg, void *token, struct storm_outcome *out)
{
	(void) arg;
	ended(token, (int) out->state, out);
}

static void on_compared(void *arg, void *token, enum storm_compare result,
			struct storm_outcome *out)
{
	(void) arg;
	ended(token,
	      out->state == STORM_UNKNOWN ? (int) STORM_UNKNOWN :
	      result == STORM_TRUE	  ? HISTORY_TRUE :
	      result == STORM_FALSE	  ? HISTORY_FALSE :
					    HISTORY_FAILED,
	      out);
}

static void on_report(void *arg, const struct storm_report *rep)
{
	struct run *r = ((const struct by *) arg)->run;

	recorder_heard(&r->rec, rep);
}

static void no_longer_overdue(struct by *by, uint32_t node)
{
	struct storm_range r = { node, node };
	const struct storm_idset one = { &r, 1, 1 };
	struct storm_idset rest = { 0 };

	if (storm_idset_minus(&by->overdue, &one, &rest))
		abort();
	storm_idset_clear(&by->overdue);
	by->overdue = rest;
}

static void on_fault(void *arg, const struct storm_fault *f)
{
	struct by *by = arg;
	struct run *r = by->run;

	no_longer_overdue(by, f->node); /* lost */
	note_lost(r);
	RECORD(&r->rec, .kind = HISTORY_NAMED, .node = f->node,
	       .what = (int) f->why);
}

/* Once, and once that it is back; and of a member. */
static void on_overdue(void *arg, uint32_t node, bool back)
{
	struct by *by = arg;
	const struct storm_owner *o = storm_sim_owner(by->run->sim);

	if (storm_idset_has(&by->overdue, node) != back)
		fail(by->run,
		     back ? "is back, and was not overdue" : "is overdue twice",
		     node);
	if (o && by->owner == by->run->owner &&
	    !storm_tree_member(&o->tree, node))
		fail(by->run, "is lost, and something else is told of it",
		     node);
	if (back)
		no_longer_overdue(by, node);
	else if (storm_idset_add(&by->overdue, node, node))
		abort();
}

static const struct storm_owner_ops ops = {
	.opened = on_opened,
	.xfer_done = on_done,
	.compare_done = on_compared,
	.report = on_report,
	.fault = on_fault,
	.overdue = on_overdue,
};

/* ---------------------------------------------------------------------- time --- */

static bool never(void *arg)
{
	(void) arg;
	return false;
}

/* ... or there is no node to open it. */
static bool is_opened(void *arg)
{
	const struct run *r = arg;

	return r->opened || !storm_sim_owner(r->sim);
}

/* There is a process that can start an operation. */
static bool has_owner(void *arg)
{
	const struct run *r = arg;
	const struct storm_owner *o = storm_sim_owner(r->sim);

	return o && o->phase == OWNER_OPEN;
}

/* What the owner before has begun is its own to end, if it lives. */
static void succeed(struct run *r)
{
	/* a node not yet admitted by the last owner is outside */
	for (uint32_t i = 0; !r->opened && i < r->s->conf.nodes; i++)
		RECORD(&r->rec, .kind = HISTORY_DISTURBED, .node = i);
	lose(r);
	if (r->owner + 1 == STORM_SIM_OWNERS ||
	    !storm_sim_succeed(r->sim, &r->by[r->owner + 1]))
		return;
	r->owner++;
	r->pending = 0;
	r->lost = r->opened = false;
	storm_owner_open(storm_sim_owner(r->sim), storm_sim_now(r->sim));
	recorder_owner(&r->rec);
	storm_sim_called(r->sim, STORM_NO_NODE);
}
/* What was forgotten takes its time to go, or to be shown. */
static bool is_quiet(void *arg)
{
	const struct run *r = arg;
	const struct storm_owner *o = storm_sim_owner(r->sim);

	return !r->pending && (!o || !o->operations.first);
}

/* The owner's process ends: nothing more is reported. */
static void die(struct run *r)
{
	lose(r);
	r->dying = true;
	r->pending = 0;
}

static void fault_comes(struct run *r)
{
	struct faults *f = &r->s->faults;
	const struct fault *one = &f->f[f->next];

	if (one->kind == FAULT_RESTART && storm_sim_nm(r->sim, one->node)) {
		f->next++; /* it runs */
		return;
	}
	if (one->kind == FAULT_OWNER_CRASH)
		die(r);
	faults_do(f, r->sim, &r->rec.h);
	r->dying = false;
	if (one->kind == FAULT_SUCCEED)
		succeed(r);
	if (one->kind == FAULT_CRASH)
		r->rec.node[one->node].broken = true;
	if (one->kind == FAULT_RESTART)
		recorder_restarted(&r->rec, one->node);
}

/* What a turn was waited for has come, or it is that turn. */
static bool done_or_turn(void *arg)
{
	struct run *r = arg;

	return (r->done && r->done(r)) ||
	       (r->turn_at && r->rec.turns >= r->turn_at);
}

static bool run_for(struct run *r, uint64_t ns, bool (*done)(void *arg))
{
	uint64_t end = storm_sim_now(r->sim) + ns;
	bool is;

	r->done = done;
	is = storm_sim_run(r->sim, ns, done_or_turn, r);
	if (!is || !r->turn_at || r->rec.turns < r->turn_at)
		return is;
	r->turn_at = r->s->turns = 0;
	r->s->at_turn.at = storm_sim_now(r->sim) - r->began;
	faults_add(&r->s->faults, &r->s->at_turn);
	fault_comes(r);
	return storm_sim_run(r->sim, end - storm_sim_now(r->sim), done, r);
}

/* Time passes, and faults come in their turn. */
static bool pass(struct run *r, uint64_t ns, bool (*done)(void *arg))
{
	uint64_t end = storm_sim_now(r->sim) + ns;
	struct faults *f = &r->s->faults;

	while (r->faults_on && faults_due(f) != STORM_NEVER &&
	       r->began + faults_due(f) <= end) {
		uint64_t due = r->began + faults_due(f);
		uint64_t now = storm_sim_now(r->sim);

		if (run_for(r, due > now ? due - now : 0, done))
			return true;
		fault_comes(r);
	}
	return run_for(r, end - storm_sim_now(r->sim), done);
}

/* ---------------------------------------------------------------- operations --- */

static uint8_t *make_data(struct run *r, uint64_t size)
{
	uint8_t *p = malloc(size + 8);

	if (!p)
		abort();
	for (uint64_t i = 0; i < size; i += 8) {
		uint64_t word = storm_chance(&r->s->chance);

		memcpy(p + i, &word, 8);
	}
	return p;
}

/* The owner was called: what did it begin? */
static void called(struct run *r)
{
	recorder_owner(&r->rec);
	storm_sim_called(r->sim, STORM_NO_NODE);
	recorder_owner(&r->rec);
}

static struct mine *new_op(struct run *r, const struct step *t,
			   struct history_op *o, struct recorder_op *data)
{
	struct mine *m = &r->mine[r->last++];

	storm_idset_union(&o->to, &t->to);
	m->run = r;
	m->owner = r->owner;
	m->t.op = recorder_op(&r->rec, o, data);
	m->data = (uint8_t *) data->data;
	r->pending++;
	RECORD(&r->rec, .kind = HISTORY_ISSUED, .node = STORM_NO_NODE,
	       .peer = r->owner, .op = m->t.op);
	return m;
}

static const struct storm_idset *set_of(const struct step *t)
{
	return t->to.count ? &t->to : NULL;
}

static void black_box(struct run *r, const struct linear_op *o)
{
	if (r->s->small && r->smalls < LINEAR_OPS)
		r->small[r->smalls++] = *o;
}

static uint32_t bits_of(const struct run *r, const struct step *t)
{
	uint32_t bits = 0;

	if (!r->s->small)
		return 0;

	for (uint32_t i = 0; i < r->s->conf.nodes; i++)
		if (!t->to.count || storm_idset_has(&t->to, i))
			bits |= 1u << i;
	return bits;
}

static void forget(struct run *r, struct mine *m, const struct step *t)
{
	pass(r, t->forget_after, never);
	if (m->ended || m->owner != r->owner || !has_owner(r))
		return;
	RECORD(&r->rec, .kind = HISTORY_FORGOTTEN, .node = STORM_NO_NODE,
	       .op = m->t.op);
	storm_owner_forget(storm_sim_owner(r->sim), m, storm_sim_now(r->sim));
	storm_sim_called(r->sim, STORM_NO_NODE);
	m->ended = true;
	r->pending--;
}

static void transfer(struct run *r, const struct step *t)
{
	uint32_t id = r->rec.h.ops + 1;
	struct storm_target to = { .kind = STORM_TARGET_MEMORY,
				   .remote_event = id };
	struct history_op o = { .event = true };
	struct recorder_op data = { .size = t->size,
				    .data = make_data(r, t->size) };
	struct mine *m;

	if (t->kind == STEP_FILE) {
		snprintf(data.path, sizeof(data.path), "/f%u", id);
		to.kind = STORM_TARGET_FILE;
		to.path = data.path;
	} else if (t->kind == STEP_SEGMENT) {
		to.kind = STORM_TARGET_SEGMENT;
		to.segment = t->target;
		o.writes = true;
		o.place = PLACE_SEGMENT + t->target;
	}
	m = new_op(r, t, &o, &data);
	black_box(r,
		  &(struct linear_op) { .process = OWNER + r->owner,
					.result = LINEAR_MAYBE,
					.kind = LINEAR_WRITE,
					.nodes = bits_of(r, t),
					.place = 2,
					.value = r->rec.h.op[m->t.op - 1].value,
					.value_w = m->t.op });
	if (storm_owner_xfer(storm_sim_owner(r->sim), set_of(t), &to, data.data,
			     t->size, m, storm_sim_now(r->sim)))
		fail(r, "owner takes no transfer", STORM_NO_NODE);
	called(r);
	if (t->forget)
		forget(r, m, t);
}

static void compare(struct run *r, const struct step *t)
{
	uint32_t id = r->rec.h.ops + 1;
	bool own = t->kind != STEP_COMPARE;
	struct storm_assign write = { STORM_GLOBAL(t->target), id };
	struct history_op o = {
		.compare = true,
		.own = own,
		.writes = t->writes,
		.place = PLACE_GLOBAL + t->target,
		.value = id,
		.place_r = own ? PLACE_OWN : PLACE_GLOBAL + t->var,
		.rel = t->rel,
		.operand = t->operand,
	};
	struct mine *m = new_op(r, t, &o, &(struct recorder_op) { 0 });

	black_box(r, &(struct linear_op) { .process = OWNER + r->owner,
					   .result = LINEAR_MAYBE,
					   .kind = LINEAR_COMPARE,
					   .nodes = bits_of(r, t),
					   .place = t->var,
					   .rel = t->rel,
					   .value = t->operand,
					   .writes = t->writes,
					   .place_w = t->target,
					   .value_w = id });
	if (storm_owner_compare(storm_sim_owner(r->sim), set_of(t),
				own ? (uint32_t) STORM_VAR_USER :
				      STORM_GLOBAL(t->var),
				t->rel, t->operand, t->writes ? &write : NULL,
				m, storm_sim_now(r->sim)))
		fail(r, "owner takes no comparison", STORM_NO_NODE);
	called(r);
}

static void raise_own(struct run *r)
{
	for (uint32_t i = 0; i < r->s->conf.nodes; i++) {
		uint64_t session = storm_sim_session(r->sim, i);
		uint64_t v = storm_chance_below(&r->s->chance, 10);

		if (!session || !recorder_member(&r->rec, i))
			continue;
		RECORD(&r->rec, .kind = HISTORY_OWN, .node = i,
		       .place = PLACE_OWN, .value = v);
		storm_nm_own_set(storm_sim_nm(r->sim, i), session,
				 STORM_VAR_USER, v);
	}
}

static void report(struct run *r)
{
	for (uint32_t i = 0; i < r->s->conf.nodes; i++) {
		uint64_t session = storm_sim_session(r->sim, i);
		struct storm_idset ids = { 0 };
		uint32_t first = i * TASKS, last = first + TASKS - 1;

		if (!session || storm_nm_report(storm_sim_nm(r->sim, i),
						session, TASK_EXITED, 0, &ids,
						storm_sim_now(r->sim)))
			continue;
		storm_idset_add(&ids, first, last);
		for (uint32_t k = first; k <= last; k++)
			recorder_reported(&r->rec, i, TASK_EXITED, k);
		storm_nm_report(storm_sim_nm(r->sim, i), session, TASK_EXITED,
				i % 3 == 0, &ids, storm_sim_now(r->sim));
		storm_sim_called(r->sim, i);
		storm_idset_clear(&ids);
		pass(r, storm_chance_below(&r->s->chance, STORM_MS / 2), never);
	}
}

static void read_some(struct run *r)
{
	for (int k = r->s->small ? 1 : 3; k; k--) {
		uint32_t i = (uint32_t) storm_chance_below(&r->s->chance,
							   r->s->conf.nodes);
		uint32_t place = (uint32_t) storm_chance_below(
			&r->s->chance, SCHEDULE_GLOBALS + RECORDER_SEGMENTS);
		uint32_t globals = r->s->small ? 2 : SCHEDULE_GLOBALS;
		uint64_t value;

		if (r->s->small)
			place = (uint32_t) storm_chance_below(&r->s->chance, 3);
		if (!recorder_member(&r->rec, i))
			continue;
		value = recorder_read(&r->rec, i,
				      place < globals ?
					      PLACE_GLOBAL + place :
					      PLACE_SEGMENT + place - globals);
		black_box(r, &(struct linear_op) {
				     .process = i,
				     .kind = LINEAR_READ,
				     .nodes = r->s->small ? 1u << i : 0,
				     .place = place,
				     .value = value });
	}
}

static void take_step(struct run *r, const struct step *t)
{
	switch (t->kind) {
	case STEP_FILE:
	case STEP_MESSAGE:
	case STEP_SEGMENT:
		transfer(r, t);
		break;
	case STEP_COMPARE:
	case STEP_COMPARE_OWN:
	case STEP_OWN_TO_GLOBAL:
		compare(r, t);
		break;
	case STEP_RAISE:
		raise_own(r);
		break;
	case STEP_REPORT:
		if (!r->reported)
			report(r);
		r->reported = true;
		break;
	case STEP_READ:
		read_some(r);
		break;
	case STEP_KINDS:
		break;
	}
}

/* ------------------------------------------------------------------ messages --- */

static uint64_t sent(const struct run *r, uint32_t node)
{
	const struct storm_sim_traffic *t = storm_sim_traffic(r->sim, node);

	return t->tx_control.datagrams + t->tx_bulk.datagrams;
}

static bool counts(const struct run *r, const struct step *t)
{
	return !r->s->faults.count && !r->turn_at && !r->s->conf.loss_ppm &&
	       !r->s->conf.late_ppm && !r->s->conf.dup_ppm && !r->reported &&
	       !r->pending && !t->forget && t->kind < STEP_RAISE &&
	       t->size < 1000 &&
	       /* data that come before their BEGIN are as good as lost */
	       (t->kind >= STEP_COMPARE || !r->s->conf.jitter);
}

/* A small operation that runs alone, on a network that loses nothing. */
static void count_messages(struct run *r, const struct step *t)
{
	uint32_t n = r->s->conf.nodes;

	r->owner_sent = sent(r, STORM_NO_NODE);
	for (uint32_t i = 0; i < n; i++)
		r->node_sent[i] = sent(r, i);
	take_step(r, t);
	pass(r, 5 * STORM_SEC, is_quiet);
	RECORD(&r->rec, .kind = HISTORY_COST, .node = STORM_NO_NODE,
	       .value = sent(r, STORM_NO_NODE) - r->owner_sent);
	for (uint32_t i = 0; i < n; i++)
		RECORD(&r->rec, .kind = HISTORY_COST, .node = i,
		       .value = sent(r, i) - r->node_sent[i]);
}

/* ---------------------------------------------------------------------- parts --- */

static bool open_domain(struct run *r)
{
	struct schedule *s = r->s;
	struct storm_owner *o = storm_sim_owner(r->sim);

	r->faults_on = s->early;
	if (s->rides && s->step[0].kind <= STEP_MESSAGE)
		take_step(r, &s->step[0]);
	if (storm_owner_open(o, storm_sim_now(r->sim)))
		return fail(r, "owner cannot open", STORM_NO_NODE);
	called(r);
	/* the cluster's domain continues in rounds without nodes that do not
	 * answer */
	if (!pass(r, s->conf.cluster ? 10 * OPEN_BOUND : OPEN_BOUND, is_opened))
		return fail(r, "OPEN never ended", STORM_NO_NODE);
	if (!r->open_ok && !s->early)
		return fail(r, "OPEN failed without a fault", STORM_NO_NODE);
	o = storm_sim_owner(r->sim);
	r->multicast = o && o->send.multicast;
	r->open_ok |= !o && s->conf.cluster; /* by another, later */
	return true;
}

static void take_steps(struct run *r)
{
	struct schedule *s = r->s;

	for (uint32_t i = 0; i < s->steps; i++) {
		const struct step *t = &s->step[i];

		if (!i && s->rides && t->kind <= STEP_MESSAGE)
			continue;
		pass(r, t->after, never);
		if (t->wait)
			pass(r, 60 * STORM_SEC, is_quiet);
		if (!has_owner(r) && !pass(r, 20 * STORM_SEC, has_owner))
			continue;
		if (counts(r, t))
			count_messages(r, t);
		else
			take_step(r, t);
	}
}

/* No more faults: all that was begun comes to an end. */
static void calm_down(struct run *r)
{
	struct faults *f = &r->s->faults;
	uint64_t now = storm_sim_now(r->sim), last = 0;

	for (uint32_t i = 0; i < f->count; i++)
		if (f->f[i].at + f->f[i].ns > last)
			last = f->f[i].at + f->f[i].ns;
	if (r->began + last > now)
		pass(r, r->began + last - now, never);
	storm_sim_heal(r->sim);
	if (r->s->conf.cluster && !storm_sim_owner(r->sim))
		succeed(r);
	if (storm_chance_percent(&r->s->chance, 50))
		storm_sim_loss(r->sim, 0);
	RECORD(&r->rec, .kind = HISTORY_CALM);
	pass(r, 3 * OPEN_BOUND, has_owner);
	pass(r, END_BOUND + r->s->steps * STEP_BOUND, is_quiet);
}

/* Every node that runs is a member, again, and those that do not are none? */
static bool all_joined(const struct run *r)
{
	const struct storm_idset *out;

	storm_sim_saved(r->sim, &out);
	for (uint32_t i = 0; i < r->s->conf.nodes; i++)
		if (storm_sim_nm(r->sim, i) ?
			    storm_idset_has(out, i) ||
				    !recorder_member(&r->rec, i) :
			    !storm_idset_has(out, i))
			return false;
	return true;
}

/* Every node that is there has its reports acknowledged, and those that are
 * not have been named? */
static bool settled(const struct run *r)
{
	if (r->s->conf.cluster)
		return all_joined(r);
	for (uint32_t i = 0; i < r->s->conf.nodes; i++)
		if (!recorder_settled(&r->rec, i))
			return false;
	return true;
}

static void settle(struct run *r)
{
	/* with a third of all datagrams lost, and a tall tree, it takes long */
	for (int more = 0; more < 2000 && !settled(r); more++)
		pass(r, 50 * STORM_MS, never);
	if (r->s->conf.cluster && has_owner(r) && !settled(r))
		fail(r, "(or another) never came back", 0);
}

/* A loss that is reported is acted on a little later, and until then what names the
 * node fails at once. */
static bool is_acted_on(void *arg)
{
	const struct run *r = arg;
	const struct storm_owner *o = storm_sim_owner(r->sim);

	return !o || storm_sim_now(r->sim) > o->members.lost_at;
}

/* After all that, the domain is as good as new: if not at once, because some
 * were missed just now, then when they are back. */
static void goes_on(struct run *r)
{
	const struct step last = { .kind = STEP_MESSAGE, .size = 100 };

	r->turn_at = 0;
	for (int n = 0; n < LAST_TRIES; n++) {
		const struct mine *m = &r->mine[r->last];

		settle(r);
		pass(r, r->s->conf.set.dead_timeout, is_acted_on);
		if (!has_owner(r) || r->lost)
			return;
		transfer(r, &last);
		pass(r, END_BOUND, is_quiet);
		if (m->ended && m->what == STORM_DONE)
			return;
	}
	fail(r, "(the owner): the domain does not go on", STORM_NO_NODE);
}

/* The end reaches all, or they find their owner silent.  (Nodes of the cluster
 * domain wait for the next one.) */
static void close_domain(struct run *r)
{
	if (storm_sim_owner(r->sim)) {
		lose(r);
		storm_owner_close(storm_sim_owner(r->sim),
				  storm_sim_now(r->sim));
		storm_sim_called(r->sim, STORM_NO_NODE);
	}
	for (int more = 0; more < 2000 && !recorder_closed(&r->rec); more++)
		pass(r, 50 * STORM_MS, never);
	recorder_end(&r->rec);
}

/* -------------------------------------------------------------------- judges --- */

static void take_result(struct run *r, const struct history_entry *e)
{
	for (uint32_t i = 0; i < r->smalls; i++) {
		struct linear_op *o = &r->small[i];

		if (o->kind == LINEAR_READ || o->value_w != e->op)
			continue;
		switch (e->what) {
		case STORM_DONE:
		case HISTORY_TRUE:
			o->result = LINEAR_YES;
			break;
		case HISTORY_FALSE:
			o->result = LINEAR_NO;
			break;
		case STORM_UNKNOWN:
			o->result = LINEAR_MAYBE;
			break;
		default:
			o->result = LINEAR_NOTHING;
		}
	}
}

/* For domains without lost nodes: the model there has no members. */
static bool judge_black(struct run *r)
{
	for (uint32_t i = 0; i < r->s->conf.nodes; i++)
		if (r->rec.node[i].out || r->rec.node[i].broken ||
		    r->rec.node[i].lost)
			return true;
	for (size_t i = 0; i < r->rec.h.count; i++)
		if (r->rec.h.e[i].kind == HISTORY_RESULT)
			take_result(r, &r->rec.h.e[i]);
	if (linear_consistent(r->small, r->smalls))
		return true;
	snprintf(r->why, ORACLE_WHY,
		 "no order of these %u operations gives their results",
		 r->smalls);
	return false;
}

static bool judge(struct run *r)
{
	const struct storm_sim_conf *c = &r->s->conf;
	struct oracle_limits lim = {
		.bound = END_BOUND + r->s->steps * STEP_BOUND,
		.window = c->room && c->room < c->set.window ? c->room :
							       c->set.window,
		.owner_cost = r->multicast ? 40 : 24 + 8 * c->set.radix,
		.node_cost = 24 + 8 * c->set.radix,
		.dead = !r->open_ok || !storm_sim_owner(r->sim),
	};

	if (r->why[0])
		return false;
	return oracle_judge(&r->rec.h, &lim, r->why, ORACLE_WHY) &&
	       judge_black(r);
}

bool schedule_run(struct schedule *s, bool verbose, char why[ORACLE_WHY])
{
	static const struct recorder_conf conf = {
		.segments = true, .kind = TASK_EXITED, .kinds = 1, .each = TASKS
	};
	struct run run = { .s = s, .why = why }, *r = &run;
	bool ok;

	why[0] = '\0';
	for (uint32_t i = 0; i < STORM_SIM_OWNERS; i++)
		r->by[i] = (struct by) { .run = r, .owner = i };
	r->sim = storm_sim_create(&s->conf, &ops, &r->by[0]);
	r->mine = calloc(s->steps + LAST_TRIES, sizeof(*r->mine));
	r->node_sent = calloc(s->conf.nodes, sizeof(*r->node_sent));
	if (!r->sim || !r->mine || !r->node_sent)
		abort();
	recorder_init(&r->rec, r->sim, &conf);
	r->began = storm_sim_now(r->sim);
	if (open_domain(r) && r->open_ok) {
		if (!s->early)
			r->began = storm_sim_now(r->sim);
		r->faults_on = true;
		if (s->turns)
			r->turn_at = r->rec.turns + s->turns;
		take_steps(r);
		calm_down(r);
		goes_on(r);
	}
	close_domain(r);
	ok = judge(r);
	if (verbose)
		history_print(&r->rec.h, SIZE_MAX);
	storm_sim_destroy(r->sim);
	for (uint32_t i = 0; i < STORM_SIM_OWNERS; i++)
		storm_idset_clear(&r->by[i].overdue);
	recorder_free(&r->rec);
	for (uint32_t i = 0; i < r->last; i++)
		free(r->mine[i].data);
	free(r->mine);
	free(r->node_sent);
	return ok;
}
