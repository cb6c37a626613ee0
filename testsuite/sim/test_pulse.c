/*
 * test_pulse.c - signs of life in the cluster domain: who is dead, stands or is cut
 * off is found within the time that owner_pulse.c promises, and nobody else is
 * suspected, where datagrams are lost, where all stand at once, and whatever the
 * tree.  In the end it measures what the signs cost.
 *
 * usage: test_pulse [SEED [SEEDS]]
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include <string.h>

#include "case_check.h"
#include "src/libstorm/base/chance.h"
#include "src/libstorm/base/clock.h"
#include "src/libstorm/base/idset.h"
#include "src/storm_sim/engine/sim.h"
#include "unheard.h"

#define PULSE (25 * STORM_MS)
/* Four signs and three questions after the last sign, and the network. */
#define FOUND (165 * STORM_MS)
#define SEEDS 12
#define LARGEST 16384

struct play {
	struct storm_sim *sim;
	uint32_t nodes;
	uint64_t chance;
	bool opened;
	uint32_t found[STORM_FINDING_END]; /* how often, in all */
	struct storm_finding last;
	uint64_t last_at;
	uint32_t *suspect; /* by node: what is found of it now; or 0 */
};

static void on_opened(void *arg, struct storm_outcome *out)
{
	((struct play *) arg)->opened = true;
	storm_outcome_clear(out);
}

static void on_finding(void *arg, const struct storm_finding *f)
{
	struct play *p = arg;

	if (getenv("STORM_VERBOSE"))
		fprintf(stderr, "%.1f ms: n%u: %d, silent for %.1f ms\n",
			(double) storm_sim_now(p->sim) / STORM_MS, f->node,
			(int) f->what, (double) f->silence / STORM_MS);
	p->found[f->what]++;
	p->suspect[f->node] = f->what == STORM_FINDING_BACK ? 0 : f->what;
	p->last = *f;
	p->last_at = storm_sim_now(p->sim);
}

static const struct storm_owner_ops ops = {
	.opened = on_opened,
	.xfer_done = unheard_done,
	.report = unheard_report,
	.fault = unheard_fault,
	.finding = on_finding,
};

static uint64_t any(struct play *p, uint64_t n)
{
	return storm_chance(&p->chance) % n;
}

static void go_on(struct play *p, uint64_t ns)
{
	storm_sim_run(p->sim, ns, NULL, NULL);
}

static struct storm_sim_conf usual(uint32_t nodes)
{
	struct storm_sim_conf c = { .nodes = nodes,
				    .seed = nodes,
				    .frames = nodes > 1024,
				    .multicast = true,
				    .mtu = 1472,
				    .latency = 50 * STORM_US,
				    .bandwidth = 1.25e9,
				    .cluster = 7 };

	storm_settings_default(&c.set);
	c.set.pulse = PULSE;
	return c;
}

static void play_begin(struct play *p, const struct storm_sim_conf *c,
		       uint64_t seed)
{
	memset(p, 0, sizeof(*p));
	p->nodes = c->nodes;
	p->chance = seed;
	p->suspect = calloc(c->nodes, sizeof(*p->suspect));
	p->sim = storm_sim_create(c, &ops, p);
	CHECK(!storm_owner_open(storm_sim_owner(p->sim), 0), "no OPEN");
	storm_sim_called(p->sim, STORM_NO_NODE);
	for (int k = 0; k < 10000 && !p->opened; k++)
		go_on(p, STORM_MS);
	CHECK(p->opened, "%u nodes do not open", p->nodes);
	go_on(p, 2 * STORM_SEC);
}

static void play_end(struct play *p)
{
	storm_sim_destroy(p->sim);
	free(p->suspect);
}

static uint32_t findings(const struct play *p)
{
	uint32_t n = 0;

	for (int k = 0; k < STORM_FINDING_END; k++)
		n += p->found[k];
	return n;
}

/* One that was heard at any time before dies. */
static void dies(uint32_t nodes, uint32_t node, uint64_t seed)
{
	struct storm_sim_conf c = usual(nodes);
	struct play p;
	uint64_t died;

	play_begin(&p, &c, seed);
	go_on(&p, any(&p, PULSE));
	died = storm_sim_now(p.sim);
	storm_sim_crash(p.sim, node);
	go_on(&p, STORM_SEC);
	CHECK(findings(&p) == 1 && p.found[STORM_FINDING_SILENT] == 1 &&
		      p.last.node == node,
	      "seed %llu: n%u of %u: %u findings, of n%u",
	      (unsigned long long) seed, node, nodes, findings(&p),
	      p.last.node);
	CHECK(p.last_at - died <= FOUND, "n%u of %u: after %.1f ms", node,
	      nodes, (double) (p.last_at - died) / STORM_MS);
	play_end(&p);
}

/* Those below it are watched by nobody else then. */
static void dies_above(uint64_t seed)
{
	struct storm_sim_conf c = usual(73);
	struct play p;
	uint64_t died;

	play_begin(&p, &c, seed);
	storm_sim_crash(p.sim, 2);
	go_on(&p, 300 * STORM_MS + any(&p, PULSE));
	died = storm_sim_now(p.sim);
	storm_sim_crash(p.sim, 2 * 8 + 8 + any(&p, 8));
	go_on(&p, 300 * STORM_MS);
	CHECK(findings(&p) == 2 && p.found[STORM_FINDING_SILENT] == 2,
	      "seed %llu: %u findings", (unsigned long long) seed,
	      findings(&p));
	CHECK(p.last_at - died <= FOUND, "after %.1f ms",
	      (double) (p.last_at - died) / STORM_MS);
	play_end(&p);
}

/* A host that stood for long is suspected, and back at once. */
static void stands(uint32_t node)
{
	struct storm_sim_conf c = usual(73);
	struct play p;

	play_begin(&p, &c, 1);
	storm_sim_pause(p.sim, node, 2 * STORM_SEC);
	go_on(&p, 300 * STORM_MS);
	CHECK(findings(&p) == 1 && p.last.what == STORM_FINDING_SILENT,
	      "n%u: %u findings", node, findings(&p));
	go_on(&p, 1701 * STORM_MS);
	CHECK(p.found[STORM_FINDING_BACK] == 1 && findings(&p) == 2 &&
		      !p.suspect[node],
	      "n%u: %u findings", node, findings(&p));
	go_on(&p, STORM_SEC);
	CHECK(findings(&p) == 2, "n%u: %u findings", node, findings(&p));
	play_end(&p);
}

/* The whole machine stands, as when a hypervisor does: nobody is suspected. */
static void all_stand(void)
{
	struct storm_sim_conf c = usual(73);
	struct play p;

	play_begin(&p, &c, 1);
	for (uint32_t i = 0; i < c.nodes; i++)
		storm_sim_pause(p.sim, i, STORM_SEC);
	storm_sim_pause(p.sim, STORM_NO_NODE, STORM_SEC);
	go_on(&p, 4 * STORM_SEC);
	CHECK(!findings(&p), "%u findings, of n%u", findings(&p), p.last.node);
	play_end(&p);
}

/* What a child sends to its parent alone is lost. */
static void path_is_cut(void)
{
	struct storm_sim_conf c = usual(73);
	struct storm_range child = { 30, 30 }, parent = { 2, 2 };
	struct storm_idset from = { &child, 1, 1 }, to = { &parent, 1, 1 };
	struct play p;

	play_begin(&p, &c, 1);
	storm_sim_cut(p.sim, &from, &to, 2 * STORM_SEC);
	go_on(&p, STORM_SEC);
	CHECK(findings(&p) == 1 && p.last.what == STORM_FINDING_PATH &&
		      p.last.node == 30,
	      "%u findings, %d of n%u", findings(&p), (int) p.last.what,
	      p.last.node);
	go_on(&p, 3 * STORM_SEC);
	CHECK(findings(&p) == 2 && p.last.what == STORM_FINDING_BACK,
	      "%u findings, %d of n%u", findings(&p), (int) p.last.what,
	      p.last.node);
	play_end(&p);
}

/* Nothing comes to a node, and what it sends arrives. */
static void is_deaf(uint32_t node)
{
	struct storm_sim_conf c = usual(73);
	struct storm_range all = { 0, c.nodes + STORM_SIM_OWNERS - 1 };
	struct storm_range one = { node, node };
	struct storm_idset from = { &all, 1, 1 }, to = { &one, 1, 1 };
	struct play p;

	play_begin(&p, &c, 1);
	/* longer than a question waits, shorter than the time-out of the dead */
	storm_sim_cut(p.sim, &from, &to, 4800 * STORM_MS);
	go_on(&p, 4700 * STORM_MS);
	CHECK(p.found[STORM_FINDING_DEAF] == 1 &&
		      p.suspect[node] == STORM_FINDING_DEAF &&
		      !p.found[STORM_FINDING_SILENT],
	      "n%u: %u findings, %u of silence", node, findings(&p),
	      p.found[STORM_FINDING_SILENT]);
	go_on(&p, 3 * STORM_SEC);
	CHECK(!p.suspect[node], "n%u is not back", node);
	play_end(&p);
}

/* One datagram in ten is lost: who lives is not suspected for long. */
static void loses(uint64_t seed)
{
	struct storm_sim_conf c = usual(64);
	struct play p;

	c.loss_ppm = 100000;
	c.seed = seed;
	c.jitter = 300 * STORM_US;
	play_begin(&p, &c, seed);
	go_on(&p, 20 * STORM_SEC);
	CHECK(!p.found[STORM_FINDING_SILENT], "seed %llu: %u suspects",
	      (unsigned long long) seed, p.found[STORM_FINDING_SILENT]);
	play_end(&p);
}

/* What a sign costs: at the owner, and at a node above others. */
static void cost(uint32_t nodes)
{
	struct storm_sim_conf c = usual(nodes);
	struct storm_sim_traffic was[3], is[3];
	const uint32_t at[3] = { STORM_NO_NODE, 0, nodes - 1 };
	static const char *const name[3] = { "owner", "inner node", "leaf" };
	struct play p;

	play_begin(&p, &c, 1);
	for (int k = 0; k < 3; k++)
		was[k] = *storm_sim_traffic(p.sim, at[k]);
	go_on(&p, STORM_SEC);
	for (int k = 0; k < 3; k++)
		is[k] = *storm_sim_traffic(p.sim, at[k]);
	printf("%5u nodes, a second:", nodes);
	for (int k = 0; k < 3; k++)
		printf(" %s: %llu datagrams and %llu bytes in, %llu out;",
		       name[k],
		       (unsigned long long) (is[k].rx_control.datagrams -
					     was[k].rx_control.datagrams),
		       (unsigned long long) (is[k].rx_control.bytes -
					     was[k].rx_control.bytes),
		       (unsigned long long) (is[k].tx_control.datagrams -
					     was[k].tx_control.datagrams));
	printf("\n");
	CHECK(is[0].rx_control.datagrams - was[0].rx_control.datagrams < 500,
	      "the owner's cost grows");
	storm_sim_crash(p.sim, nodes - 1);
	go_on(&p, 300 * STORM_MS);
	CHECK(findings(&p) == 1 && p.last.node == nodes - 1,
	      "%u findings, of n%u", findings(&p), p.last.node);
	play_end(&p);
}

static void quiet(enum storm_log_level level, const char *msg)
{
	(void) level;
	(void) msg;
}

int main(int argc, char **argv)
{
	uint64_t first = argc > 1 ? strtoull(argv[1], NULL, 10) : 1;
	uint64_t seeds = argc > 2 ? strtoull(argv[2], NULL, 10) :
			 argc > 1 ? 1 :
				    SEEDS;

	storm_log_set(quiet);
	for (uint64_t k = first; k < first + seeds; k++) {
		dies(73, (uint32_t) (k * 7 % 73), k);
		dies_above(k);
	}
	for (uint64_t k = first; k < first + (seeds + 9) / 10; k++)
		loses(k);
	if (argc > 1)
		return 0;
	stands(0);
	stands(40);
	all_stand();
	path_is_cut();
	is_deaf(40);
	is_deaf(2);
	cost(64);
	cost(getenv("SAN_FLAGS") && *getenv("SAN_FLAGS") ? 2048 : LARGEST);
	printf("%llu plays, no violation\n", (unsigned long long) seeds);
	return 0;
}
