/*
 * run.c - see run.h: operations one after the other, faults at their times.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "run_private.h"
#include "src/libstorm/base/minmax.h"

/* The owner has lost its domain, or is about to leave it. */
static void run_lost(struct run *r)
{
	RECORD(&r->rec, .kind = HISTORY_LOST, .node = STORM_NO_NODE);
}

/* -------------------------------------------------------------------- faults --- */

static void fault_may_name(struct run *r, uint32_t node)
{
	/* a paused owner may report any node as lost */
	for (uint32_t i = 0; i < r->n; i++)
		if (node == STORM_NO_NODE || node == i)
			RECORD(&r->rec, .kind = HISTORY_DISTURBED, .node = i);
}

static void fault_calm_after(struct run *r, const struct fault *f)
{
	uint64_t end = storm_sim_now(r->sim) + ns_of(f->seconds);

	if (end > r->calm_at)
		r->calm_at = end;
}

static void fault_crash(struct run *r, const struct fault *f, uint32_t number)
{
	/* nothing that it sends now arrives */
	r->dying = f->node == STORM_NO_NODE;
	if (r->dying)
		run_lost(r);
	else
		RECORD(&r->rec, .kind = HISTORY_BROKEN, .node = f->node);
	storm_sim_crash(r->sim, f->node);
	if (r->dying) {
		r->owner = NULL;
		return;
	}
	storm_idset_add(&r->broken, f->node, f->node);
	if (f->seconds > 0)
		action_add(r, (struct action) { .at = storm_sim_now(r->sim) +
						      ns_of(f->seconds),
						.what = DO_RESTART,
						.number = number });
}

static void fault_cut(struct run *r, const struct fault *f)
{
	struct storm_idset one = { 0 }, others = { 0 };

	storm_idset_add(&one, f->node, f->node);
	if (f->node)
		storm_idset_add(&others, 0, f->node - 1);
	storm_idset_add(&others, f->node + 1, r->n); /* n: the owner */
	if (f->way != CUT_FROM)
		storm_sim_cut(r->sim, &others, &one, ns_of(f->seconds));
	if (f->way != CUT_TO)
		storm_sim_cut(r->sim, &one, &others, ns_of(f->seconds));
	storm_idset_clear(&one);
	storm_idset_clear(&others);
}

static void fault_make(struct run *r, uint32_t number)
{
	const struct fault *f = &r->s->fault[number];
	/* a shorter pause must have no effect */
	bool long_one = ns_of(f->seconds) >= r->s->set.dead_timeout / 4;

	r->faulted = true;
	switch ((enum fault_kind) f->kind) {
	case FAULT_CRASH:
		fault_crash(r, f, number);
		break;
	case FAULT_PAUSE:
		storm_sim_pause(r->sim, f->node, ns_of(f->seconds));
		fault_calm_after(r, f);
		if (long_one)
			fault_may_name(r, f->node);
		break;
	case FAULT_DISK:
		storm_sim_disk(r->sim, f->node, ENOSPC);
		fault_may_name(r, f->node);
		break;
	case FAULT_SLOW:
		storm_sim_slow(r->sim, f->node, ns_of(f->seconds));
		if (ns_of(f->seconds) >= r->s->set.op_timeout / 4)
			fault_may_name(r, f->node);
		break;
	case FAULT_LOSS:
		storm_sim_loss(r->sim, (uint32_t) (f->fraction * 1e6));
		if (f->seconds > 0)
			action_add(r, (struct action) {
					      .at = storm_sim_now(r->sim) +
						    ns_of(f->seconds),
					      .what = DO_CALM });
		if (f->fraction > 0.4)
			fault_may_name(r, STORM_NO_NODE);
		break;
	case FAULT_CUT:
		fault_cut(r, f);
		fault_calm_after(r, f);
		if (long_one)
			fault_may_name(r, f->node);
		break;
	case FAULT_VERSION:
		storm_sim_foreign(r->sim, f->node);
		fault_may_name(r, f->node);
		break;
	case FAULT_FORGE:
		storm_sim_forge(r->sim, f->node);
		break;
	case FAULT_HANG:
		storm_sim_hang(r->sim, f->node);
		fault_may_name(r, f->node);
		break;
	}
}

/* The processes that a launch started here have ended. */
static void run_report(struct run *r, uint32_t node, const struct issued *x)
{
	uint64_t s = storm_sim_session(r->sim, node);
	struct storm_range one = { node, node };
	struct storm_idset ids = { &one, 1, 1 };
	struct storm_nm *nm = storm_sim_nm(r->sim, node);

	if (!nm || !s)
		return;
	storm_nm_expect(nm, s, x->kind, 1);
	recorder_reported(&r->rec, node, x->kind, node);
	storm_nm_report(nm, s, x->kind, 0, &ids, storm_sim_now(r->sim));
	RECORD(&r->rec, .kind = HISTORY_OWN, .node = node,
	       .place = PLACE_OWN + STORM_VAR_TERMINATED,
	       .value = x->kind + 1U);
	storm_nm_own_set(nm, s, STORM_VAR_TERMINATED, x->kind + 1U);
	storm_sim_called(r->sim, node);
}

static void run_restart(struct run *r, uint32_t node)
{
	RECORD(&r->rec, .kind = HISTORY_RESTARTED, .node = node);
	storm_sim_restart(r->sim, node);
	recorder_restarted(&r->rec, node);
}

static void run_due(struct run *r)
{
	while (action_next(r) <= storm_sim_now(r->sim)) {
		struct action a = action_take(r);

		switch (a.what) {
		case DO_FAULT:
			fault_make(r, a.number);
			break;
		case DO_RESTART:
			run_restart(r, r->s->fault[a.number].node);
			break;
		case DO_CALM:
			storm_sim_loss(r->sim, (uint32_t) (r->s->loss * 1e6));
			break;
		case DO_REPORT:
			run_report(r, a.number, a.launch);
			break;
		}
	}
}

/* --------------------------------------------------------------------- owner --- */

static void run_named(struct run *r, uint32_t op, uint32_t node)
{
	RECORD(&r->rec, .kind = HISTORY_NAMED, .node = node, .op = op);
	if (node < r->n)
		storm_idset_add(&r->named, node, node);
}

/* op: of which operation, 0: the domain's opening. */
static void run_outcome(struct run *r, uint32_t op, struct storm_outcome *out)
{
	for (uint32_t i = 0; i < out->faults_kept; i++)
		run_named(r, op, out->faults[i].node);
	r->ended = true;
	storm_outcome_clear(&r->out);
	r->out = *out;
}

static void run_result(struct run *r, uint32_t op, int what)
{
	RECORD(&r->rec, .kind = HISTORY_RESULT, .node = STORM_NO_NODE, .op = op,
	       .what = what);
}

static void run_on_opened(void *arg, struct storm_outcome *out)
{
	struct run *r = arg;

	if (r->dying) {
		storm_outcome_clear(out);
		return;
	}
	r->opened = true;
	if (out->state == STORM_ABORTED && !out->nfaults)
		run_violated(r,
			     "the domain does not open, and no node is named");
	run_outcome(r, 0, out);
}

static void run_on_done(void *arg, void *token, struct storm_outcome *out)
{
	struct run *r = arg;
	struct issued *x = token;

	if (r->dying) {
		x->state = STORM_UNKNOWN;
		storm_outcome_clear(out);
		return;
	}
	recorder_owner(&r->rec);
	x->state = out->state;
	r->reported_at = storm_sim_now(r->sim);
	run_outcome(r, x->t.op, out);
	run_result(r, x->t.op, (int) x->state);
}

static void run_on_compared(void *arg, void *token, enum storm_compare result,
			    struct storm_outcome *out)
{
	struct run *r = arg;
	const struct issued *x = token;
	bool unknown = out->state == STORM_UNKNOWN;

	if (r->dying) {
		storm_outcome_clear(out);
		return;
	}
	recorder_owner(&r->rec);
	r->compare = result;
	run_outcome(r, x->t.op, out);
	run_result(r, x->t.op,
		   unknown		 ? (int) STORM_UNKNOWN :
		   result == STORM_TRUE	 ? HISTORY_TRUE :
		   result == STORM_FALSE ? HISTORY_FALSE :
					   HISTORY_FAILED);
}

static void run_on_report(void *arg, const struct storm_report *rep)
{
	struct run *r = arg;

	if (rep->code)
		run_violated(r, "a report of code %u, which no node made",
			     rep->code);
	recorder_heard(&r->rec, rep);
	for (uint32_t i = 0; i < r->nissued; i++)
		if (r->issued[i].launch && r->issued[i].kind == rep->kind)
			storm_idset_union(&r->issued[i].heard, &rep->ids);
}

static void run_on_fault(void *arg, const struct storm_fault *f)
{
	struct run *r = arg;

	recorder_owner(&r->rec);
	run_named(r, 0, f->node);
}

/* The processes that a launch starts end some time later. */
static void run_signalled(void *arg, uint32_t node, uint32_t op)
{
	struct run *r = arg;
	struct issued *x = &r->issued[op - 1];

	if (!x->launch)
		return;
	action_add(r,
		   (struct action) {
			   .at = storm_sim_now(r->sim) + ns_of(x->op->seconds) +
				 (x->op->jitter > 0 ?
					  run_draw(r) % ns_of(x->op->jitter) :
					  0),
			   .what = DO_REPORT,
			   .number = node,
			   .launch = x });
}

/* ---------------------------------------------------------------- operations --- */

static bool run_reports_heard(const struct run *r, const struct issued *x)
{
	struct storm_idset all = { 0 };
	bool yes = true;

	if (!x->launch || x->state != STORM_DONE)
		return true;
	if (storm_idset_size(&x->heard) == r->n)
		return true;
	storm_idset_union(&all, &x->heard);
	storm_idset_union(&all, &r->named);
	for (uint32_t i = 0; yes && i < r->n; i++)
		yes = !in_set(r, x->op, i) || storm_idset_has(&all, i);
	storm_idset_clear(&all);
	return yes;
}

static bool op_finished(const struct run *r)
{
	return r->bad || !r->owner ||
	       (r->ended && (!r->nissued ||
			     run_reports_heard(r, &r->issued[r->nissued - 1])));
}

/* Called before every event: it must be cheap until the end.  An event may have
 * added an action that comes before what is waited for. */
static bool run_waits_no_more(void *arg)
{
	const struct run *r = arg;

	return action_next(r) < r->until || op_finished(r);
}

static void run_until(struct run *r, uint64_t end)
{
	while (!r->bad && storm_sim_now(r->sim) < end) {
		r->until = storm_min(action_next(r), end);
		if (r->until > storm_sim_now(r->sim))
			storm_sim_run(r->sim, r->until - storm_sim_now(r->sim),
				      run_waits_no_more, r);
		if (action_next(r) > storm_sim_now(r->sim) && op_finished(r))
			return;
		run_due(r);
	}
}

static double op_within(const struct scenario *s, const struct op *o)
{
	double ns = (double) (o->kind == OP_OPEN ?
				      s->set.open_timeout :
				      2 * s->set.op_timeout +
					      2 * s->set.dead_timeout);

	return o->within > 0 ?
		       o->within :
		       ns / 1e9 + 5 + o->seconds + o->jitter + o->size / 1e6;
}

/* P; NULL: all nodes.  One range needs no memory of its own. */
static const struct storm_idset *op_set(const struct run *r, const struct op *o,
					struct storm_range *range,
					struct storm_idset *set)
{
	if (!o->first && o->last == UINT32_MAX)
		return NULL;
	*range =
		(struct storm_range) { o->first, storm_min(o->last, r->n - 1) };
	*set = (struct storm_idset) { range, 1, 1 };
	return set;
}

static struct issued *op_record(struct run *r, const struct op *o,
				struct history_op *h,
				const struct recorder_op *data)
{
	struct issued *x = &r->issued[r->nissued++];
	struct storm_range range;
	struct storm_idset set;

	if (op_set(r, o, &range, &set))
		storm_idset_union(&h->to, &set);
	x->op = o;
	x->t.op = recorder_op(&r->rec, h, data);
	RECORD(&r->rec, .kind = HISTORY_ISSUED, .node = STORM_NO_NODE,
	       .op = x->t.op);
	return x;
}

static uint8_t *op_data(struct run *r, uint64_t size)
{
	uint8_t *buf = malloc(size + 8);

	if (!buf)
		abort();
	for (uint64_t i = 0; i < size; i += 8) {
		uint64_t v = run_draw(r);

		memcpy(buf + i, &v, 8);
	}
	return buf;
}

static int op_issue_transfer(struct run *r, const struct op *o)
{
	bool launch = o->kind == OP_LAUNCH;
	bool file = !launch && o->target == STORM_TARGET_FILE;
	struct history_op h = { .event = true,
				.each = file && o->each,
				.others = ns_of(o->others) };
	struct recorder_op data = { .size = (uint64_t) o->size };
	struct storm_target to = { .kind = STORM_TARGET_MEMORY };
	struct storm_range range;
	struct storm_idset set;
	struct issued *x;

	data.data = op_data(r, data.size);
	if (file) {
		snprintf(data.path, sizeof(data.path), "/tmp/file-%u",
			 r->transfers);
		to = (struct storm_target) { .kind = STORM_TARGET_FILE,
					     .path = data.path,
					     .flags = o->each ?
							      STORM_FILE_EACH :
							      0,
					     .mode = 0755 };
		storm_sim_source(r->sim, data.data, data.size);
	}
	r->transfers++;
	x = op_record(r, o, &h, &data);
	x->buf = (uint8_t *) data.data;
	x->launch = launch;
	x->kind = launch ? (uint8_t) r->launches++ : 0;
	to.remote_event = x->t.op;
	return storm_owner_xfer(r->owner, op_set(r, o, &range, &set), &to,
				x->buf, data.size, x, storm_sim_now(r->sim));
}

/* The place of a variable in the history. */
static uint32_t op_place(uint32_t variable)
{
	return variable >= STORM_GLOBAL(0) ?
		       PLACE_GLOBAL + variable - STORM_GLOBAL(0) :
		       PLACE_OWN + variable;
}

static int op_issue_compare(struct run *r, const struct op *o)
{
	struct storm_assign w = { o->write_variable,
				  (uint64_t) o->write_value };
	struct history_op h = { .compare = true,
				.own = o->variable < STORM_GLOBAL(0),
				.place_r = op_place(o->variable),
				.rel = (enum storm_relation) o->relation,
				.operand = (uint64_t) o->value,
				.writes = o->write,
				.place = o->write ? op_place(w.var) : 0,
				.value = w.value };
	struct issued *x = op_record(r, o, &h, &(struct recorder_op) { 0 });
	struct storm_range range;
	struct storm_idset set;

	return storm_owner_compare(r->owner, op_set(r, o, &range, &set),
				   o->variable, h.rel, h.operand,
				   o->write ? &w : NULL, x,
				   storm_sim_now(r->sim));
}

static void op_set_own(struct run *r, const struct op *o)
{
	for (uint32_t i = 0; i < r->n; i++) {
		uint64_t s = storm_sim_session(r->sim, i);
		uint64_t v = (uint64_t) o->value;

		if (!in_set(r, o, i) || !storm_sim_nm(r->sim, i) || !s)
			continue;
		RECORD(&r->rec, .kind = HISTORY_OWN, .node = i,
		       .place = PLACE_OWN + o->variable, .value = v);
		storm_nm_own_set(storm_sim_nm(r->sim, i), s,
				 (enum storm_own_var) o->variable, v);
		storm_sim_called(r->sim, i);
	}
}

static void op_issue(struct run *r, const struct op *o)
{
	int err = STORM_OK;

	switch ((enum op_kind) o->kind) {
	case OP_OPEN:
		err = storm_owner_open(r->owner, storm_sim_now(r->sim));
		break;
	case OP_COMPARE:
		err = op_issue_compare(r, o);
		break;
	case OP_TRANSFER:
	case OP_LAUNCH:
		err = op_issue_transfer(r, o);
		break;
	case OP_SET:
		op_set_own(r, o);
		r->ended = true;
		break;
	case OP_WAIT:
		break;
	}
	if (err)
		run_violated(r, "the owner refuses \"%s\": %s",
			     op_name(o->kind), storm_strerror(err));
	if (r->owner) {
		recorder_owner(&r->rec);
		storm_sim_called(r->sim, STORM_NO_NODE);
		recorder_owner(&r->rec);
	}
}

static bool op_succeeded(const struct run *r, const struct op *o)
{
	return o->kind > OP_LAUNCH ||
	       (r->out.state == STORM_DONE &&
		(o->kind != OP_COMPARE || r->compare == STORM_TRUE));
}

static void op_run(struct run *r, const struct op *o)
{
	double limit = o->kind == OP_WAIT ? o->seconds : op_within(r->s, o);

	r->ended = false;
	r->reported_at = 0;
	storm_outcome_clear(&r->out);
	figures_begin(r);
	op_issue(r, o);
	run_until(r, r->op_start + ns_of(limit));
	if (!r->owner)
		return;
	if (o->kind != OP_WAIT && !op_finished(r))
		run_violated(r, "\"%s\" has not ended after %g s",
			     op_name(o->kind), limit);
	if (o->succeeds && !op_succeeded(r, o))
		run_violated(r, "\"%s\" does not succeed: %u nodes are named",
			     op_name(o->kind), r->out.nfaults);
	if (o->kind == OP_OPEN && r->out.state != STORM_DONE && !r->faulted)
		run_violated(r, "the domain does not open");
	figures_end(r, o);
}

/* --------------------------------------------------------------------- whole --- */

static const struct storm_owner_ops owner_ops = {
	.opened = run_on_opened,
	.xfer_done = run_on_done,
	.compare_done = run_on_compared,
	.report = run_on_report,
	.fault = run_on_fault,
};

static void run_start(struct run *r)
{
	const struct scenario *s = r->s;
	struct storm_sim_conf c = {
		.seed = s->seed,
		.nodes = s->nodes,
		.set = s->set,
		.net = s->net,
		.bus = s->bus,
		.bandwidth = s->bandwidth,
		.latency = ns_of(s->latency),
		.jitter = ns_of(s->jitter),
		.loss_ppm = (uint32_t) (s->loss * 1e6),
		.dup_ppm = (uint32_t) (s->duplicates * 1e6),
		.late_ppm = (uint32_t) (s->late_fraction * 1e6),
		.late = ns_of(s->late),
		.multicast = s->carries_multicast,
		.mtu = s->datagram,
		.frames = s->frames,
		.disk_jitter = ns_of(s->disk),
		.host = ns_of(s->host),
	};
	struct recorder_conf rec = { .kinds = SCENARIO_LAUNCHES,
				     .each = 1,
				     .signalled = run_signalled,
				     .arg = r };
	uint32_t issued = 1;

	r->n = s->nodes;
	r->random = s->seed * 7919 + 1;
	for (uint32_t i = 0; i < s->ops; i++)
		issued += s->op[i].repeat;
	r->issued = calloc(issued, sizeof(*r->issued));
	r->before = calloc(r->n + 1, sizeof(*r->before));
	r->ops = json_object_new_array();
	r->sim = storm_sim_create(&c, &owner_ops, r);
	if (!r->issued || !r->before || !r->ops || !r->sim)
		abort();
	recorder_init(&r->rec, r->sim, &rec);
	r->owner = storm_sim_owner(r->sim);
	r->start = storm_sim_now(r->sim);
	for (uint32_t i = 0; i < s->faults; i++)
		action_add(r, (struct action) { .at = r->start +
						      ns_of(s->fault[i].at),
						.what = DO_FAULT,
						.number = i });
	run_due(r);
}

/* ns until every lost node is detected, and every node has detected the loss of
 * its owner: one time-out for each node on the path between them. */
static uint64_t run_patience(const struct run *r)
{
	uint64_t now = storm_sim_now(r->sim);
	uint64_t calm = storm_max(r->calm_at, now);
	uint64_t height = 1;

	for (uint64_t n = r->s->set.radix; n < r->n; n *= r->s->set.radix)
		height++;
	return calm + (2 + height) * r->s->set.dead_timeout +
	       8 * r->s->set.heartbeat;
}

static void run_let_pass(struct run *r, uint64_t end,
			 bool (*done)(const struct run *r))
{
	while (!r->bad && storm_sim_now(r->sim) < end && !(done && done(r))) {
		storm_sim_run(r->sim, 50 * STORM_MS, NULL, NULL);
		run_due(r);
	}
}

/* All broken nodes are named, and all reports are acknowledged. */
static bool run_settled(const struct run *r)
{
	if (r->calm_at > storm_sim_now(r->sim))
		return false;
	for (uint32_t i = 0; i < r->n; i++)
		if (!storm_idset_has(&r->named, i) &&
		    (storm_idset_has(&r->broken, i) ||
		     !recorder_settled(&r->rec, i)))
			return false;
	return true;
}

static bool run_closed(const struct run *r)
{
	return recorder_closed(&r->rec);
}

/* End the run without the faults that are still to come.  True: the oracle
 * found no violation. */
static bool run_finish(struct run *r)
{
	struct oracle_limits limits = { .window = r->s->set.window,
					.dead = !r->owner || !r->opened };

	r->actions = 0;
	if (r->owner && r->opened && r->out.state == STORM_DONE)
		run_let_pass(r, run_patience(r), run_settled);
	else
		limits.dead = true;
	if (r->owner) {
		run_lost(r);
		storm_owner_close(r->owner, storm_sim_now(r->sim));
		storm_sim_called(r->sim, STORM_NO_NODE);
	}
	run_let_pass(r, run_patience(r), run_closed);
	recorder_end(&r->rec);
	return oracle_judge(&r->rec.h, &limits, r->why, r->room);
}

static void run_release(struct run *r)
{
	storm_sim_destroy(r->sim);
	recorder_free(&r->rec);
	for (uint32_t i = 0; i < r->nissued; i++) {
		free(r->issued[i].buf);
		storm_idset_clear(&r->issued[i].heard);
	}
	storm_outcome_clear(&r->out);
	storm_idset_clear(&r->broken);
	storm_idset_clear(&r->named);
	free(r->issued);
	free(r->before);
	free(r->action);
}

bool run_scenario(const struct scenario *s, json_object **figures, char *why,
		  size_t room)
{
	struct run run = { .s = s, .why = why, .room = room }, *r = &run;
	uint64_t began = storm_now();
	bool opened = true;

	*why = 0;
	run_start(r);
	for (uint32_t i = 0; i < s->ops && opened; i++)
		for (uint32_t k = 0; k < s->op[i].repeat; k++) {
			if (r->bad || !r->owner)
				break;
			op_run(r, &s->op[i]);
			if (s->op[i].kind == OP_OPEN)
				opened = r->out.state == STORM_DONE;
		}
	if (!r->bad) {
		if (opened) /* the last result does not count */
			r->out.state = STORM_DONE;
		r->bad = !run_finish(r);
	}
	*figures = figures_whole(r, (double) (storm_now() - began) / 1e9);
	run_release(r);
	return !r->bad;
}
