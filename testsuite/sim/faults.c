/*
 * faults.c - see faults.h.
 *
 * Which nodes may be named, and for which fault?  A node may be named if it is
 * silent, in total, for a quarter of the time after which silence counts as
 * death.  Where three datagrams in ten are lost, chance does not take the other
 * fifteen signs of life.  Without multicast, the nodes that depend on a silent
 * node hear nothing of the owner meanwhile.  These nodes, too, may be named
 * once the silence lasts as long as that.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "faults.h"
#include "src/libstorm/base/clock.h"
#include "src/libstorm/base/idset.h"

void faults_add(struct faults *f, const struct fault *one)
{
	uint32_t i;

	if (f->count == f->room) {
		f->room = f->room ? 2 * f->room : 16;
		f->f = realloc(f->f, f->room * sizeof(*f->f));
		if (!f->f)
			abort();
	}
	for (i = f->count++; i && f->f[i - 1].at > one->at; i--)
		f->f[i] = f->f[i - 1];
	f->f[i] = *one;
}

void faults_free(struct faults *f)
{
	for (uint32_t i = 0; i < f->count; i++) {
		storm_idset_clear(&f->f[i].from);
		storm_idset_clear(&f->f[i].to);
	}
	free(f->f);
	memset(f, 0, sizeof(*f));
}

uint64_t faults_due(const struct faults *f)
{
	return f->next < f->count ? f->f[f->next].at : STORM_NEVER;
}

/* ------------------------------------------------------------------- making --- */

/* Mostly short, seldom long. */
static uint64_t span(uint64_t *c, uint64_t longest)
{
	longest >>= storm_chance_below(c, 8);
	return storm_chance_below(c, longest) + STORM_MS;
}

static uint32_t any_node(uint64_t *c, uint32_t nodes)
{
	/* those that have children are near the top */
	uint32_t n = storm_chance_percent(c, 50) ? nodes : nodes / 8 + 1;

	return (uint32_t) storm_chance_below(c, n);
}

static void side(uint64_t *c, uint32_t nodes, struct storm_idset *s)
{
	uint32_t percent = (uint32_t) storm_chance_below(c, 60) + 1;

	if (storm_chance_percent(c, 30))
		storm_idset_add(s, nodes, nodes); /* the owner */
	for (uint32_t i = 0; i < nodes; i++)
		if (storm_chance_percent(c, percent))
			storm_idset_add(s, i, i);
	if (!s->count) {
		uint32_t one = (uint32_t) storm_chance_below(c, nodes + 1);

		storm_idset_add(s, one, one);
	}
}

struct maker {
	struct faults *f;
	uint64_t *c;
	const struct storm_sim_conf *conf;
	uint64_t ns;
	uint32_t crashes;
};

static void make_crash(struct maker *m, struct fault *one)
{
	struct fault back = { .kind = FAULT_RESTART, .node = one->node };

	/* at least one node is left */
	if (++m->crashes > (m->conf->nodes + 2) / 3 ||
	    m->crashes >= m->conf->nodes)
		return;
	faults_add(m->f, one);
	if (!storm_chance_percent(m->c, 50))
		return;
	back.at = one->at + (storm_chance_percent(m->c, 30) ?
				     0 :
				     span(m->c, 2 * m->conf->set.dead_timeout));
	faults_add(m->f, &back);
}

static void make(struct maker *m, enum fault_kind kind)
{
	uint64_t *c = m->c;
	uint32_t nodes = m->conf->nodes;
	uint64_t dead = m->conf->set.dead_timeout;
	struct fault one = { .kind = kind,
			     .at = storm_chance_below(c, m->ns),
			     .node = any_node(c, nodes) };

	switch (kind) {
	case FAULT_LOSS: /* for a while: it gets worse, or better */
		one.ppm = (uint32_t) storm_chance_below(c, 300001);
		break;
	case FAULT_BURST:
		one.ns = span(c, 60 * STORM_MS);
		break;
	case FAULT_PAUSE:
		one.ns = span(c, storm_chance_percent(c, 80) ? dead / 2 :
							       3 * dead / 2);
		/* the owner's own absence is no node's fault, but it ends
		 * the step if it is long */
		if (one.ns < dead / 2 && storm_chance_percent(c, 20))
			one.node = STORM_NO_NODE;
		break;
	case FAULT_CUT:
		one.node = STORM_NO_NODE;
		one.ns = span(c, storm_chance_percent(c, 80) ? dead / 2 :
							       3 * dead);
		side(c, nodes, &one.from);
		side(c, nodes, &one.to);
		break;
	case FAULT_SLOW:
		one.ns = span(c, 400 * STORM_MS);
		break;
	case FAULT_DISK:
		one.sys = storm_chance_percent(c, 50) ? ENOSPC : EIO;
		break;
	case FAULT_CRASH:
		make_crash(m, &one);
		return;
	case FAULT_FORGE:
		one.count = 1 + (uint32_t) storm_chance_below(c, 20);
		if (storm_chance_percent(c, 30))
			one.node = STORM_NO_NODE;
		break;
	case FAULT_OWNER_CRASH:
		if (!m->conf->cluster && !storm_chance_percent(c, 10))
			return;
		break;
	case FAULT_SUCCEED: /* the one before may be alive, and not know */
		if (!m->conf->cluster)
			return;
		break;
	default:
		return;
	}
	faults_add(m->f, &one);
}

/* How long is each node silent in all? */
static void who_may_be_named(struct faults *f,
			     const struct storm_sim_conf *conf)
{
	uint64_t dead = conf->set.dead_timeout, silence = 0;
	uint32_t crashes = 0;

	for (uint32_t i = 0; i < f->count; i++) {
		struct fault *one = &f->f[i];

		if (one->kind == FAULT_PAUSE || one->kind == FAULT_CUT ||
		    one->kind == FAULT_BURST)
			silence += one->ns;
		crashes += one->kind == FAULT_CRASH;
	}
	for (uint32_t i = 0; i < f->count; i++) {
		struct fault *one = &f->f[i];

		if (one->kind != FAULT_PAUSE && one->kind != FAULT_CUT &&
		    one->kind != FAULT_BURST)
			continue;
		one->disturbs = silence >= dead / 4;
		/* a dead node on the way counts as silence too */
		one->disturbs_all = one->disturbs &&
				    silence + crashes * dead >= dead / 2;
	}
}

void faults_make(struct faults *f, uint64_t *c, struct storm_sim_conf *conf,
		 uint64_t ns)
{
	struct maker m = { .f = f, .c = c, .conf = conf, .ns = ns };

	memset(f, 0, sizeof(*f));
	if (storm_chance_percent(c, 60))
		conf->loss_ppm = (uint32_t) storm_chance_below(
			c, storm_chance_percent(c, 50) ? 50000 : 300001);
	if (storm_chance_percent(c, 30))
		conf->dup_ppm = (uint32_t) storm_chance_below(c, 100000);
	if (storm_chance_percent(c, 30)) {
		conf->late_ppm = (uint32_t) storm_chance_below(c, 100000);
		conf->late = span(c, 200 * STORM_MS);
	}
	for (int k = 0; k < FAULT_KINDS; k++)
		for (uint32_t more = 25; storm_chance_percent(c, more);
		     more = 40)
			make(&m, (enum fault_kind) k);
	who_may_be_named(f, conf);
}

/* -------------------------------------------------------------------- doing --- */

static void note(struct storm_sim *sim, struct history *h,
		 enum history_kind kind, uint32_t node)
{
	history_add(h, (struct history_entry) { .at = storm_sim_now(sim),
						.kind = kind,
						.node = node });
}

static void disturbed(struct storm_sim *sim, struct history *h,
		      const struct fault *one)
{
	for (uint32_t i = 0; i < h->nodes; i++)
		if (one->disturbs_all ||
		    (one->disturbs &&
		     (i == one->node || storm_idset_has(&one->from, i) ||
		      storm_idset_has(&one->to, i))))
			note(sim, h, HISTORY_DISTURBED, i);
}

static void burst(struct storm_sim *sim, const struct fault *one,
		  uint32_t nodes)
{
	struct storm_idset all = { 0 }, to = { 0 };

	storm_idset_add(&all, 0, nodes);
	storm_idset_add(&to, one->node, one->node);
	storm_sim_cut(sim, &all, &to, one->ns);
	storm_idset_clear(&all);
	storm_idset_clear(&to);
}

void faults_do(struct faults *f, struct storm_sim *sim, struct history *h)
{
	struct fault *one = &f->f[f->next++];

	if (one->kind == FAULT_PAUSE || one->kind == FAULT_CUT ||
	    one->kind == FAULT_BURST)
		disturbed(sim, h, one);
	switch (one->kind) {
	case FAULT_LOSS:
		storm_sim_loss(sim, one->ppm);
		break;
	case FAULT_BURST:
		burst(sim, one, h->nodes);
		break;
	case FAULT_PAUSE:
		storm_sim_pause(sim, one->node, one->ns);
		break;
	case FAULT_CUT:
		storm_sim_cut(sim, &one->from, &one->to, one->ns);
		break;
	case FAULT_SLOW:
		storm_sim_slow(sim, one->node, one->ns);
		break;
	case FAULT_DISK:
		note(sim, h, HISTORY_DISTURBED, one->node);
		storm_sim_disk(sim, one->node, one->sys);
		break;
	case FAULT_CRASH:
		note(sim, h, HISTORY_BROKEN, one->node);
		storm_sim_crash(sim, one->node);
		break;
	case FAULT_RESTART:
		note(sim, h, HISTORY_RESTARTED, one->node);
		storm_sim_restart(sim, one->node);
		break;
	case FAULT_FORGE:
		for (uint32_t i = 0; i < one->count; i++)
			storm_sim_forge(sim, one->node);
		break;
	case FAULT_OWNER_CRASH:
		storm_sim_crash(sim, STORM_NO_NODE);
		break;
	case FAULT_SUCCEED:
	case FAULT_KINDS:
		break;
	}
}

void faults_print(const struct faults *f)
{
	static const char *const name[] = {
		"loss",	     "burst",	    "pause",   "cut",
		"slow disk", "bad disk",    "crash",   "restart",
		"forge",     "owner crash", "succeed",
	};

	for (uint32_t i = 0; i < f->count; i++) {
		const struct fault *one = &f->f[i];

		fprintf(stderr,
			"%12.6f fault %-10s node %d ns %llu ppm %u%s%s\n",
			(double) (one->at + STORM_SEC) / 1e9, name[one->kind],
			(int) one->node + 1, (unsigned long long) one->ns,
			one->ppm, one->disturbs ? " disturbs" : "",
			one->disturbs_all ? " all" : "");
	}
}
