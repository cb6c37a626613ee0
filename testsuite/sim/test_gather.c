/*
 * test_gather.c - storm_gather() in the simulator, from 1 to 16,384 nodes, by
 * multicast and along the tree: what is gathered is what the nodes have, of all that
 * live and of no other, each once, where datagrams are lost, nodes stand or are dead,
 * and the tree changes meanwhile.  It prints what a gather costs the asker.
 *
 * usage: test_gather [SEED [SEEDS]]
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include <string.h>

#include "case_check.h"
#include "src/libstorm/base/chance.h"
#include "src/libstorm/base/clock.h"
#include "src/libstorm/base/idset.h"
#include "src/libstorm/wire/wire.h"
#include "src/storm_sim/engine/sim.h"
#include "unheard.h"

#define SEEDS 8
#define LIMIT (10 * STORM_SEC)
#define KINDS 3 /* of versions */

struct play {
	struct storm_sim *sim;
	uint32_t nodes;
	uint64_t seed, chance;
	bool opened, done;
	struct storm_gathered table;
	struct storm_outcome out;
	uint64_t asked_at, took;
	struct storm_sim_count rx, tx; /* at the asker */
	uint32_t *asked;	       /* by node: how often it was */
	struct storm_idset dead;
	struct storm_idset of; /* the nodes of the gather */
};

static void on_opened(void *arg, struct storm_outcome *out)
{
	((struct play *) arg)->opened = out->state == STORM_DONE;
	storm_outcome_clear(out);
}

static void on_gathered(void *arg, void *token, struct storm_gathered *table,
			struct storm_outcome *out)
{
	struct play *p = token;

	CHECK(arg == p && !p->done, "seed %lu: it ends twice",
	      (unsigned long) p->seed);
	p->done = true;
	p->table = *table;
	p->out = *out;
	p->took = storm_sim_now(p->sim) - p->asked_at;
}

static const struct storm_owner_ops ops = {
	.opened = on_opened,
	.xfer_done = unheard_done,
	.report = unheard_report,
	.fault = unheard_fault,
	.gathered = on_gathered,
};

/* -------------------------------------------------------------- what nodes have --- */

/* Nodes of one version are often neighbours, and a few are odd ones. */
static uint32_t version_of(const struct play *p, uint32_t node)
{
	return node % 1000 == 77 ? KINDS - 1 :
				   (uint32_t) ((uint64_t) node * 2 / p->nodes);
}

static uint64_t launches_of(uint32_t node)
{
	return node * 7 % 1001;
}

static void on_gather(void *arg, uint32_t node, const void *query, size_t len,
		      storm_gather_t *g)
{
	struct play *p = arg;
	char text[32];

	CHECK(len == 4 && !memcmp(query, "what", 4), "another question");
	p->asked[node]++;
	snprintf(text, sizeof(text), "1.%u", version_of(p, node));
	CHECK(!storm_gather_value(g, "version", 7, text, strlen(text)) &&
		      !storm_gather_count(g, "launches", 8, launches_of(node)),
	      "no room");
}

/* ----------------------------------------------------------------------- a play --- */

static uint64_t any(struct play *p, uint64_t n)
{
	return storm_chance(&p->chance) % n;
}

static struct storm_sim_conf usual(uint32_t nodes)
{
	struct storm_sim_conf c = { .nodes = nodes,
				    .frames = nodes > 1024,
				    .multicast = true,
				    .mtu = 1472,
				    .latency = 50 * STORM_US,
				    .jitter = 10 * STORM_US,
				    .bandwidth = 1.25e9 };

	storm_settings_default(&c.set);
	return c;
}

static void play_begin(struct play *p, struct storm_sim_conf *c, uint64_t seed)
{
	const struct storm_sim_watch watch = { .gather = on_gather, .arg = p };

	memset(p, 0, sizeof(*p));
	p->nodes = c->nodes;
	p->seed = p->chance = c->seed = seed;
	p->asked = calloc(c->nodes, sizeof(*p->asked));
	p->sim = storm_sim_create(c, &ops, p);
	storm_sim_watch(p->sim, &watch);
	CHECK(!storm_owner_open(storm_sim_owner(p->sim), 0), "no OPEN");
	storm_sim_called(p->sim, STORM_NO_NODE);
	for (int k = 0; k < 10000 && !p->opened; k++)
		storm_sim_run(p->sim, STORM_MS, NULL, NULL);
	CHECK(p->opened, "%u nodes do not open", p->nodes);
	storm_sim_run(p->sim, STORM_SEC, NULL, NULL);
}

static void play_forget(struct play *p)
{
	storm_gathered_clear(&p->table);
	storm_outcome_clear(&p->out);
	p->done = false;
}

static void play_end(struct play *p)
{
	play_forget(p);
	storm_idset_clear(&p->dead);
	storm_idset_clear(&p->of);
	storm_sim_destroy(p->sim);
	free(p->asked);
}

static bool is_done(void *arg)
{
	return ((struct play *) arg)->done;
}

static void ask(struct play *p, const struct storm_idset *P, uint64_t limit)
{
	const struct storm_sim_traffic *t =
		storm_sim_traffic(p->sim, STORM_NO_NODE);
	struct storm_sim_traffic was = *t;

	storm_idset_clear(&p->of);
	CHECK(!storm_owner_nodes(storm_sim_owner(p->sim), P, &p->of),
	      "no nodes");
	p->asked_at = storm_sim_now(p->sim);
	CHECK(!storm_owner_gather(storm_sim_owner(p->sim), P, "what", 4, limit,
				  p, p->asked_at),
	      "it is not taken");
	storm_sim_called(p->sim, STORM_NO_NODE);
	CHECK(storm_sim_run(p->sim, limit + STORM_SEC, is_done, p),
	      "seed %lu: no end", (unsigned long) p->seed);
	CHECK(p->took <= limit + STORM_MS, "seed %lu: it takes %.3f s",
	      (unsigned long) p->seed, (double) p->took / STORM_SEC);
	p->rx = (struct storm_sim_count) {
		t->rx_control.datagrams - was.rx_control.datagrams,
		t->rx_control.bytes - was.rx_control.bytes
	};
	p->tx = (struct storm_sim_count) {
		t->tx_control.datagrams - was.tx_control.datagrams,
		t->tx_control.bytes - was.tx_control.bytes
	};
}

/* The table is exactly that of the nodes asked that are not missing. */
static void is_right(const struct play *p)
{
	const struct storm_gathered *t = &p->table;
	uint64_t sum = 0, n = 0, max = 0, valued = 0;

	CHECK(p->out.state == STORM_DONE, "seed %lu: state %d",
	      (unsigned long) p->seed, (int) p->out.state);
	CHECK(p->out.nfaults == storm_idset_size(&t->missing),
	      "faults, and the nodes that are missing");
	for (uint32_t i = 0; i < p->nodes; i++) {
		if (!storm_idset_has(&p->of, i) ||
		    storm_idset_has(&t->missing, i))
			continue;
		sum += launches_of(i);
		max = launches_of(i) > max ? launches_of(i) : max;
		n++;
	}
	for (uint32_t k = 0; k < t->count; k++) {
		const struct storm_gather_entry *e = &t->entry[k];

		CHECK(e->kind != STORM_GATHER_REST, "there is room");
		if (e->kind == STORM_GATHER_COUNTER) {
			CHECK(e->sum == sum && e->count == n && e->max == max &&
				      launches_of(e->max_node) == max,
			      "seed %lu: %lu of %lu nodes, sum %lu of %lu",
			      (unsigned long) p->seed, (unsigned long) e->count,
			      (unsigned long) n, (unsigned long) e->sum,
			      (unsigned long) sum);
			continue;
		}
		valued += storm_idset_size(&e->nodes);
		for (uint32_t r = 0; r < e->nodes.count; r++)
			for (uint32_t i = e->nodes.r[r].first;
			     i <= e->nodes.r[r].last; i++)
				CHECK(e->value[2] == '0' + (char) version_of(
								   p, i) &&
					      !storm_idset_has(&t->missing,
							       i) &&
					      storm_idset_has(&p->of, i),
				      "seed %lu: node %u has version %.3s",
				      (unsigned long) p->seed, i,
				      (const char *) e->value);
	}
	CHECK(valued == n, "seed %lu: %lu of %lu nodes have a version",
	      (unsigned long) p->seed, (unsigned long) valued,
	      (unsigned long) n);
}

/* Nobody is missing but these. */
static void missing_are(const struct play *p, const struct storm_idset *s)
{
	const struct storm_idset *m = &p->table.missing;

	CHECK(storm_idset_covers(s, m) && storm_idset_covers(m, s),
	      "seed %lu, %u nodes: %lu are missing, not %lu",
	      (unsigned long) p->seed, p->nodes,
	      (unsigned long) storm_idset_size(m),
	      (unsigned long) storm_idset_size(s));
}

/* ------------------------------------------------------------------------ stories --- */

static void story_sets(uint64_t seed)
{
	struct storm_sim_conf c = usual(1 + (uint32_t) (seed * 37 % 200));
	struct storm_idset P = { 0 }, none = { 0 };
	struct play p;

	c.multicast = seed % 2;
	c.set.multicast = seed % 2;
	c.set.radix = 2 + seed % 7;
	c.loss_ppm = seed % 3 ? 100000 : 0;
	c.dup_ppm = seed % 3 ? 30000 : 0;
	c.late_ppm = seed % 3 ? 30000 : 0;
	c.late = 30 * STORM_MS;
	c.cluster = seed % 5 ? 0 : 7;
	play_begin(&p, &c, seed);
	for (int k = 0; k < 4; k++) {
		uint32_t first = (uint32_t) any(&p, p.nodes);
		uint32_t last = first + (uint32_t) any(&p, p.nodes - first);

		storm_idset_add(&P, first, last);
		ask(&p, k ? &P : NULL, LIMIT);
		is_right(&p);
		missing_are(&p, &none);
		play_forget(&p);
	}
	storm_idset_clear(&P);
	play_end(&p);
}

/* One that stands, or knows no gather, at any place, keeps nobody else's answer
 * back. */
static void story_stopped(uint64_t seed)
{
	struct storm_sim_conf c = usual(150);
	struct storm_idset stands = { 0 }, P = { 0 };
	struct play p;

	c.multicast = c.set.multicast = seed % 2;
	c.set.radix = 3;
	c.loss_ppm = seed % 4 ? 0 : 50000;
	c.set.dead_timeout = 30 * STORM_SEC;
	play_begin(&p, &c, seed);
	for (uint64_t k = 0; k <= seed % 3; k++) {
		uint32_t node = (uint32_t) any(&p, k ? 150 : 12);

		storm_idset_add(&stands, node, node);
		if (seed % 4 < 2)
			storm_sim_pause(p.sim, node, 20 * STORM_SEC);
		else
			storm_sim_older(p.sim, node, STORM_MSG_GATHER);
	}
	ask(&p, NULL, LIMIT);
	is_right(&p);
	missing_are(&p, &stands);
	CHECK(p.out.faults[0].why == STORM_ETIME, "it does not answer");
	play_forget(&p);
	/* not asked, it is in the way all the same */
	storm_idset_add(&P, 100, 149);
	storm_idset_drop(&P, &stands);
	ask(&p, &P, LIMIT);
	is_right(&p);
	CHECK(!p.table.missing.count, "seed %lu: %lu below one that stands",
	      (unsigned long) seed,
	      (unsigned long) storm_idset_size(&p.table.missing));
	storm_idset_clear(&P);
	storm_idset_clear(&stands);
	play_end(&p);
}

static void kill_tenth(struct play *p)
{
	for (uint32_t k = 0; k < p->nodes / 10; k++) {
		uint32_t node = (uint32_t) any(p, p->nodes);

		if (!storm_idset_has(&p->dead, node))
			storm_sim_crash(p->sim, node);
		storm_idset_add(&p->dead, node, node);
	}
}

/* They die, are missed and excluded while the gathers run: new epochs. */
static void story_dying(uint64_t seed)
{
	struct storm_sim_conf c = usual(200);
	struct play p;

	c.multicast = c.set.multicast = seed % 2;
	c.set.dead_timeout = 400 * STORM_MS;
	c.set.heartbeat = 100 * STORM_MS;
	play_begin(&p, &c, seed);
	kill_tenth(&p);
	for (int k = 0; k < 8; k++) {
		ask(&p, NULL, 300 * STORM_MS);
		is_right(&p);
		play_forget(&p);
		storm_sim_run(p.sim, any(&p, 200 * STORM_MS), NULL, NULL);
	}
	storm_sim_run(p.sim, 5 * STORM_SEC, NULL, NULL);
	ask(&p, NULL, LIMIT);
	is_right(&p);
	CHECK(!p.table.missing.count, "members are missing");
	play_end(&p);
}

/* A node that ends its part never counts twice, and the asker hears of its end. */
static void story_closed(void)
{
	struct storm_sim_conf c = usual(20);
	struct play p;

	play_begin(&p, &c, 1);
	CHECK(!storm_owner_gather(storm_sim_owner(p.sim), NULL, "what", 4,
				  LIMIT, &p, storm_sim_now(p.sim)),
	      "it is not taken");
	storm_owner_close(storm_sim_owner(p.sim), storm_sim_now(p.sim));
	CHECK(p.done && p.out.state == STORM_ABORTED && !p.table.count,
	      "it is not ended with the domain");
	CHECK(storm_owner_gather(storm_sim_owner(p.sim), NULL, "what", 4, LIMIT,
				 &p, 0) == STORM_ECLOSED,
	      "a closed domain takes a gather");
	play_end(&p);
}

/* ----------------------------------------------------------------------- the cost --- */

static void figures(const struct play *p, const char *what)
{
	printf("%6u nodes, %-22s %8.1f ms; at the asker %4lu datagrams in, %5lu bytes; %4lu out; missing %lu\n",
	       p->nodes, what, (double) p->took / STORM_MS,
	       (unsigned long) p->rx.datagrams, (unsigned long) p->rx.bytes,
	       (unsigned long) p->tx.datagrams,
	       (unsigned long) storm_idset_size(&p->table.missing));
	fflush(stdout);
}

static struct storm_sim_count cost(uint32_t nodes, uint32_t loss, bool dead)
{
	struct storm_sim_conf c = usual(nodes);
	struct storm_idset none = { 0 };
	struct storm_sim_count rx;
	char what[32];
	struct play p;

	c.cluster = 7;
	play_begin(&p, &c, 1);
	storm_sim_loss(p.sim, loss);
	if (dead) {
		kill_tenth(&p);
		ask(&p, NULL, LIMIT);
		figures(&p, "a tenth just died");
		is_right(&p);
		play_forget(&p);
		storm_sim_run(p.sim, 40 * STORM_SEC, NULL, NULL);
	}
	ask(&p, NULL, LIMIT);
	snprintf(what, sizeof(what), "%s",
		 dead ? "a tenth is outside" :
		 loss ? "a tenth is lost" :
			"nothing is lost");
	figures(&p, what);
	is_right(&p);
	missing_are(&p, &none);
	rx = p.rx;
	play_end(&p);
	return rx;
}

/* In the same ms there may be a STATUS of each child, too.  That a tenth of thousands
 * dies is long to play. */
static void costs(uint32_t loss, bool dead, uint64_t most)
{
	static const uint32_t nodes[] = { 64, 1024, 16384 };
	int n = dead && !getenv("STORM_LONG") ? 2 : 3;

	for (int k = 0; k < n; k++) {
		struct storm_sim_count rx = cost(nodes[k], loss, dead);

		CHECK(rx.datagrams <= most, "%u nodes: %lu datagrams", nodes[k],
		      (unsigned long) rx.datagrams);
	}
}

int main(int argc, char **argv)
{
	uint64_t seed = argc > 1 ? strtoull(argv[1], NULL, 0) : 1;
	uint64_t seeds = argc > 2 ? strtoull(argv[2], NULL, 0) : SEEDS;

	if (argc < 3 && getenv("STORM_LONG"))
		seeds = 50 * SEEDS;
	for (uint64_t k = seed; k < seed + seeds; k++) {
		story_sets(k);
		story_stopped(k);
		story_dying(k);
	}
	story_closed();
	if (argc > 1)
		return 0;
	costs(0, false, 16);
	costs(100000, false, 100);
	costs(0, true, 100);
	return 0;
}
