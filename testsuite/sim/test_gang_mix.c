/*
 * test_gang_mix.c - a cluster of a thousand nodes whose jobs take turns, in
 * virtual time and from a seed: arrivals, ends, cancels, suspends, resumes, holds,
 * releases, resizes, nodes that fail and come back, another quantum.  Plan, matrix, map in
 * bytes and rota are the product's; select, slurmctld and the nodes are played.
 *
 *   test_gang_mix [--nodes N] [--jobs N] [--policy WORD] [SEED...]
 *
 * The policy (src/gang/policy.h) is gang, unless one is named.  Without a SEED a small
 * mix is played by each of them, too.
 * The same seed gives the same mix, to the last strobe.  Each run prints a checksum
 * of its trace at the end.
 *
 * After every change, before time goes on:
 *   - at most one job runs on a core in a slot, and no core is idle in a slot in
 *     which a job could have all of its cores (alternate scheduling);
 *   - a job that is held has no slot, and is in the map;
 *   - every other job runs in each round of its group, which in every other seed is longer
 *     by weights (test_matrix.c has what these give);
 *   - rows are no more than the multiprogramming level, unless select itself needs
 *     more, as Slurm has resumed jobs beyond it;
 *   - the map, unpacked from its bytes, equals the matrix for each node;
 * and while time goes on:
 *   - at each strobe nodes run by their map what the matrix has in that slot;
 *   - no job waits for more turns than STARVED, however often maps change;
 *   - the strober's account of what each job has had is right;
 *   - each job gets its work done, and in the end nothing is left: no job, no row,
 *     no strobe, nothing that stands still.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "config.h"
#include "slurm/slurm.h"
#include "src/common/xmalloc.h"
#include "src/common/xstring.h"

#include "src/libstorm/base/chance.h"
#include "src/libstorm/base/idset.h"
#include "src/libstorm/base/minmax.h"
#include "src/plugins/sched/storm/plan.h"
#include "src/storm_strober/rota.h"

#define ZONES 2
#define ROWS 64 /* of a zone, with those that were resumed */

enum state { WAITING, RUNNING, SUSPENDED, DONE };

struct job {
	uint32_t id;
	enum state state;
	uint64_t arrives;
	uint32_t zone, want, cores;	   /* nodes, and cores of each */
	uint64_t left;			   /* ns that it still has to run */
	struct storm_idset nodes, columns; /* of the cluster, of the zone */
	uint64_t had;	 /* ns with its slots, as rota counts */
	uint64_t stood;	 /* ns out of them, the same */
	uint64_t waited; /* since its last turn, quanta x 1000 */
	uint32_t row;	 /* select's */
	uint32_t weight;
	bool mapped; /* takes turns, as nodes know it */
	bool on;     /* runs at the moment */
	bool held;
	bool requeued;
};

struct node {
	uint64_t back; /* 0: it is there */
	uint8_t *load; /* jobs on each core */
};

static struct {
	uint64_t seed;
	uint64_t c;
	uint32_t nodes, cores, zones, mpl, njobs;
	enum matrix_packing packing;
	enum gang_policy policy;
	uint64_t quantum[ZONES];
	uint64_t now;
	struct node *node;
	struct job *job;
	uint32_t arrived, done;
	/* what runs or is suspended */
	struct job **live;
	uint32_t nlive;
	struct plan plan;
	bool anew;
	uint64_t version;
	struct gang_map map; /* as all nodes have unpacked it */
	struct rota *rota;
	uint32_t slot[ZONES]; /* the last strobe's */
	bool frozen[ZONES];   /* ... and it was not "everything runs" */
	/* of a check */
	uint64_t **busy;
	/* what is reported */
	uint64_t changes, strobes, cancels, suspends, failures, resizes, holds;
	uint64_t trace;	       /* a sum over all maps and strobes */
	uint64_t turns_waited; /* the longest, in quanta x 1000 */
	uint64_t most_at_once;
	uint32_t rows_most, round_most;
	uint64_t controller, controller_most, strober, strober_most;
} w;

#define must(cond)                                                                            \
	do {                                                                                  \
		if (!(cond)) {                                                                \
			printf("seed %lu, %lu ms, change %lu: does not hold: %s (line %d)\n", \
			       (unsigned long) w.seed,                                        \
			       (unsigned long) (w.now / STORM_MS),                            \
			       (unsigned long) w.changes, #cond, __LINE__);                   \
			exit(EXIT_FAILURE);                                                   \
		}                                                                             \
	} while (0)

static uint64_t below(uint64_t n)
{
	return storm_chance_below(&w.c, n);
}

static void *fresh(size_t n, size_t size)
{
	void *p = calloc(n + 1, size);

	must(p);
	return p;
}

static uint64_t cpu_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &ts);
	return (uint64_t) ts.tv_sec * STORM_SEC + (uint64_t) ts.tv_nsec;
}

/* What has happened now (FNV-1a). */
static void trace(const void *buf, size_t len)
{
	const uint8_t *p = buf;

	for (int i = 0; i < 8; i++)
		w.trace = (w.trace ^ (w.now >> 8 * i & 255)) * 0x100000001b3ULL;
	while (len--)
		w.trace = (w.trace ^ *p++) * 0x100000001b3ULL;
}

/* ----------------------------------------------------------- the cluster --- */

static uint32_t zone_first(uint32_t zone)
{
	return zone * (w.nodes / w.zones);
}

static uint32_t zone_end(uint32_t zone)
{
	return zone + 1 == w.zones ? w.nodes : zone_first(zone + 1);
}

static uint32_t columns_of_zone(uint32_t zone)
{
	return (zone_end(zone) - zone_first(zone)) * w.cores;
}

/* ------------------------------------------------------------------ select --- */

static void occupy(const struct job *j, int by)
{
	for (uint32_t i = 0; i < j->columns.count; i++)
		for (uint32_t c = j->columns.r[i].first;
		     c <= j->columns.r[i].last; c++)
			w.node[zone_first(j->zone) + c / w.cores]
				.load[c % w.cores] += by;
}

static bool in_row(const uint64_t *row, uint32_t column)
{
	return row[column / 64] >> column % 64 & 1;
}

static void set_row(const struct job *j, uint64_t *row)
{
	for (uint32_t i = 0; i < j->columns.count; i++)
		for (uint32_t c = j->columns.r[i].first;
		     c <= j->columns.r[i].last; c++)
			row[c / 64] |= 1ULL << c % 64;
}

static bool fits_row(const struct job *j, const uint64_t *row)
{
	for (uint32_t i = 0; i < j->columns.count; i++)
		for (uint32_t c = j->columns.r[i].first;
		     c <= j->columns.r[i].last; c++)
			if (in_row(row, c))
				return false;
	return true;
}

/*
 * Slurm's select looks for room in one row of the partition after the other; so
 * do we, with rows of our own: to pack all jobs into MPL rows is then possible,
 * and the matrix has to find out how.
 */
static uint64_t *select_rows(uint32_t zone)
{
	size_t words = columns_of_zone(zone) / 64 + 1;
	uint64_t *rows = fresh(words * ROWS, sizeof(*rows));

	for (uint32_t i = 0; i < w.nlive; i++)
		if (w.live[i]->zone == zone && w.live[i]->state == RUNNING)
			set_row(w.live[i], rows + w.live[i]->row * words);
	return rows;
}

/* What is resumed is where it is, beyond MPL if need be. */
static uint32_t row_of_resumed(const struct job *j)
{
	size_t words = columns_of_zone(j->zone) / 64 + 1;
	uint64_t *rows = select_rows(j->zone);
	uint32_t r = 0;

	while (!fits_row(j, rows + r * words)) {
		r++;
		must(r < ROWS);
	}
	free(rows);
	return r;
}

/* So many of the node's cores that are free in the row, the first ones; false:
 * there are not so many. */
static bool take_cores(struct job *j, uint32_t node, const uint64_t *row)
{
	uint32_t first = (node - zone_first(j->zone)) * w.cores, n = 0;

	for (uint32_t c = 0; c < w.cores && n < j->cores; c++)
		n += !in_row(row, first + c);
	if (n < j->cores)
		return false;
	for (uint32_t c = 0; c < w.cores && n; c++) {
		if (in_row(row, first + c))
			continue;
		must(!storm_idset_add(&j->columns, first + c, first + c));
		n--;
	}
	must(!storm_idset_add(&j->nodes, node, node));
	return true;
}

static bool place(struct job *j)
{
	size_t words = columns_of_zone(j->zone) / 64 + 1;
	uint64_t *rows = select_rows(j->zone);
	uint32_t n = 0;

	for (uint32_t r = 0; r < w.mpl && n < j->want; r++) {
		n = 0;
		for (uint32_t i = zone_first(j->zone);
		     i < zone_end(j->zone) && n < j->want; i++)
			n += !w.node[i].back &&
			     take_cores(j, i, rows + r * words);
		j->row = r;
		if (n == j->want)
			break;
		storm_idset_clear(&j->nodes);
		storm_idset_clear(&j->columns);
	}
	free(rows);
	return n == j->want;
}

/* ------------------------------------------------------------ what happens --- */

static void start(struct job *j)
{
	j->state = RUNNING;
	j->waited = 0;
	j->had = j->stood = 0;
	j->mapped = false;
	/* some are held before they start */
	j->held = !j->requeued && !below(50);
	w.holds += j->held;
	occupy(j, 1);
	w.live[w.nlive++] = j;
	if (w.nlive > w.most_at_once)
		w.most_at_once = w.nlive;
}

static void forget(struct job *j)
{
	uint32_t i = 0;

	while (w.live[i] != j)
		i++;
	w.nlive--;
	memmove(w.live + i, w.live + i + 1, (w.nlive - i) * sizeof(*w.live));
	if (j->state == RUNNING)
		occupy(j, -1);
	storm_idset_clear(&j->nodes);
	storm_idset_clear(&j->columns);
	j->on = false;
}

static void end(struct job *j)
{
	forget(j);
	j->state = DONE;
	w.done++;
}

/* Backfill without reservations: each job that fits starts. */
static bool schedule(void)
{
	uint32_t tried = 0;
	bool any = false;

	for (uint32_t i = 0; i < w.arrived && tried < 20; i++) {
		struct job *j = &w.job[i];

		if (j->state != WAITING || j->arrives > w.now)
			continue;
		if (place(j)) {
			start(j);
			any = true;
		} else {
			tried++;
		}
	}
	return any;
}

static void hold(struct job *j)
{
	j->held = !j->held;
	j->waited = 0;
	w.holds += j->held;
}

static struct job *any_live(enum state state)
{
	uint32_t n = 0, k;

	for (uint32_t i = 0; i < w.nlive; i++)
		n += w.live[i]->state == state;
	if (!n)
		return NULL;
	k = (uint32_t) below(n);
	for (uint32_t i = 0;; i++)
		if (w.live[i]->state == state && !k--)
			return w.live[i];
}

static void suspend(struct job *j)
{
	occupy(j, -1);
	j->state = SUSPENDED;
	j->on = j->mapped = false;
	w.suspends++;
}

static void resume(struct job *j)
{
	j->row = row_of_resumed(j);
	j->state = RUNNING;
	occupy(j, 1);
	j->waited = 0;
	j->had = j->stood = 0;
}

/* What scontrol update NumNodes does: the last ones are given back. */
static void shrink(struct job *j)
{
	uint32_t keep = 1 + (uint32_t) below(j->want), n = 0, last = 0;
	struct storm_idset nodes = { 0 }, columns = { 0 };

	occupy(j, -1);
	for (uint32_t i = 0; i < j->columns.count; i++)
		for (uint32_t c = j->columns.r[i].first;
		     c <= j->columns.r[i].last; c++) {
			uint32_t node = zone_first(j->zone) + c / w.cores;

			n += !n || node != last;
			last = node;
			if (n > keep)
				continue;
			must(!storm_idset_add(&nodes, node, node));
			must(!storm_idset_add(&columns, c, c));
		}
	storm_idset_clear(&j->nodes);
	storm_idset_clear(&j->columns);
	j->nodes = nodes;
	j->columns = columns;
	j->want = (uint32_t) storm_idset_size(&nodes);
	/* for the matrix it is another one */
	occupy(j, 1);
	w.resizes++;
}

static void fail(uint32_t node)
{
	if (w.node[node].back)
		return;
	w.node[node].back = w.now + STORM_SEC + below(5 * STORM_SEC);
	w.failures++;
	for (uint32_t i = w.nlive; i--;) {
		struct job *j = w.live[i];

		if (!storm_idset_has(&j->nodes, node))
			continue;
		if (j->requeued || below(2)) {
			end(j);
			continue;
		}
		forget(j);
		j->state = WAITING;
		j->requeued = true;
		/* its old self has to end first */
		j->arrives = w.now + 1;
	}
}

static bool nodes_come_back(void)
{
	bool any = false;

	for (uint32_t i = 0; i < w.nodes; i++) {
		if (!w.node[i].back || w.node[i].back > w.now)
			continue;
		w.node[i].back = 0;
		any = true;
	}
	return any;
}

/* An unplanned event. */
static void mishap(void)
{
	struct job *j = any_live(RUNNING);
	uint32_t what = (uint32_t) below(100);

	if (what < 20 && j) {
		end(j);
		w.cancels++;
	} else if (what < 30 && j) {
		hold(j);
	} else if (what < 60 && j) {
		suspend(j);
	} else if (what < 80) {
		j = any_live(SUSPENDED);
		if (j)
			resume(j);
	} else if (what < 90 && j) {
		shrink(j);
	} else if (what < 97) {
		fail((uint32_t) below(w.nodes));
	} else {
		w.quantum[below(w.zones)] = STORM_MS * (1 + below(50));
	}
}

/* ---------------------------------------------- slurmctld's part: the map --- */

static void take_job(struct snapshot_job *s, const struct job *j)
{
	s->job_id = j->id;
	s->gang = j->id;
	s->zone = j->zone;
	s->weight = j->weight;
	s->held = j->held;
	must(!storm_idset_union(&s->columns, &j->columns));
	must(!storm_idset_union(&s->nodes, &j->nodes));
}

static int by_id(const void *a, const void *b)
{
	const struct snapshot_job *x = a, *y = b;

	return x->job_id < y->job_id ? -1 : x->job_id > y->job_id;
}

static void take_snapshot(struct snapshot *s)
{
	memset(s, 0, sizeof(*s));
	s->nzones = w.zones;
	s->zones = xcalloc(w.zones, sizeof(*s->zones));
	s->nodes = xcalloc(w.nodes, sizeof(*s->nodes));
	s->jobs = xcalloc(w.nlive + 1, sizeof(*s->jobs));
	s->nnodes = w.nodes;
	for (uint32_t z = 0; z < w.zones; z++) {
		s->zones[z].quantum = w.quantum[z];
		s->zones[z].policy = w.policy;
		s->zones[z].columns = columns_of_zone(z);
		must(!storm_idset_add(&s->zones[z].nodes, zone_first(z),
				      zone_end(z) - 1));
	}
	for (uint32_t i = 0; i < w.nlive; i++)
		if (w.live[i]->state == RUNNING)
			take_job(&s->jobs[s->njobs++], w.live[i]);
	qsort(s->jobs, s->njobs, sizeof(*s->jobs), by_id);
}

/* As gang.c does it, and the strober: to bytes and back. */
static void map_begins(const void *buf, size_t len)
{
	struct gang_map m;
	struct rota *r;
	uint64_t begun;

	gang_map_clear(&w.map);
	must(!gang_map_unpack(buf, len, &w.map));
	begun = cpu_ns();
	must(!gang_map_unpack(buf, len, &m));
	r = rota_create(&m, gang_map_digest(buf, len), w.rota, w.now);
	must(r);
	rota_destroy(w.rota);
	w.rota = r;
	begun = cpu_ns() - begun;
	w.strober += begun;
	if (begun > w.strober_most)
		w.strober_most = begun;
}

static void look(void)
{
	struct snapshot s;
	struct gang_map m;
	uint64_t begun;
	void *buf;
	size_t len;

	take_snapshot(&s);
	begun = cpu_ns();
	must(plan_update(&w.plan, &s, w.anew, w.packing));
	must(plan_map(&w.plan, &m));
	m.version = ++w.version;
	must(!gang_map_pack(&m, &buf, &len));
	begun = cpu_ns() - begun;
	w.controller += begun;
	if (begun > w.controller_most)
		w.controller_most = begun;
	w.anew = false;
	w.changes++;
	trace(buf, len);
	gang_map_clear(&m);
	map_begins(buf, len);
	free(buf);
}

/* ------------------------------------------------------------------ checks --- */

static const struct storm_idset *slots_of(const struct job *j)
{
	return matrix_slots(w.plan.matrix[j->zone], j->id);
}

static bool any_busy(const struct job *j, const uint64_t *busy)
{
	for (uint32_t i = 0; i < j->columns.count; i++)
		for (uint32_t c = j->columns.r[i].first;
		     c <= j->columns.r[i].last; c++)
			if (busy[c / 64] >> c % 64 & 1)
				return true;
	return false;
}

static void make_busy(const struct job *j, uint64_t *busy)
{
	for (uint32_t i = 0; i < j->columns.count; i++)
		for (uint32_t c = j->columns.r[i].first;
		     c <= j->columns.r[i].last; c++) {
			must(!(busy[c / 64] >> c % 64 & 1));
			busy[c / 64] |= 1ULL << c % 64;
		}
}

/* One gang per core per slot, and no core idle that a job could use. */
static void check_slot(uint32_t zone, uint32_t slot)
{
	uint64_t *busy = w.busy[0];

	memset(busy, 0, (columns_of_zone(zone) / 64 + 1) * sizeof(*busy));
	for (uint32_t i = 0; i < w.nlive; i++) {
		const struct job *j = w.live[i];

		if (j->zone == zone && j->state == RUNNING && !j->held &&
		    storm_idset_has(slots_of(j), slot))
			make_busy(j, busy);
	}
	for (uint32_t i = 0; i < w.nlive; i++) {
		const struct job *j = w.live[i];

		if (j->zone == zone && j->state == RUNNING && !j->held &&
		    !storm_idset_has(slots_of(j), slot))
			must(any_busy(j, busy));
	}
}

/* In each round of its group, hence at most a round apart. */
static void check_rounds(const struct job *j)
{
	const struct matrix *m = w.plan.matrix[j->zone];
	const struct storm_idset *s = slots_of(j);
	uint32_t round = matrix_round(m, j->id), last = 0;

	must(s && round && round <= matrix_cycle(m));
	for (uint32_t i = 0; i < s->count; i++) {
		must(s->r[i].first < last + round);
		last = s->r[i].last + 1;
	}
	must(matrix_cycle(m) < last + round);
	if (round > w.round_most)
		w.round_most = round;
}

static uint32_t most_load(uint32_t zone)
{
	uint32_t most = 0;

	for (uint32_t i = zone_first(zone); i < zone_end(zone); i++)
		for (uint32_t c = 0; c < w.cores; c++)
			if (w.node[i].load[c] > most)
				most = w.node[i].load[c];
	return most;
}

/* The most jobs that take turns on a core. */
static uint32_t most_turns(uint32_t zone)
{
	uint32_t most;

	for (uint32_t i = 0; i < w.nlive; i++)
		if (w.live[i]->held && w.live[i]->state == RUNNING)
			occupy(w.live[i], -1);
	most = most_load(zone);
	for (uint32_t i = 0; i < w.nlive; i++)
		if (w.live[i]->held && w.live[i]->state == RUNNING)
			occupy(w.live[i], 1);
	return most;
}

static uint32_t select_needs(uint32_t zone)
{
	uint32_t rows = 0;

	for (uint32_t i = 0; i < w.nlive; i++)
		if (w.live[i]->zone == zone && w.live[i]->state == RUNNING &&
		    w.live[i]->row >= rows)
			rows = w.live[i]->row + 1;
	return rows;
}

static void check_rows(uint32_t zone)
{
	const struct matrix *m = w.plan.matrix[zone];

	must(matrix_rows(m) >= most_turns(zone));
	if (matrix_rows(m) > w.rows_most)
		w.rows_most = matrix_rows(m);
	must(matrix_rows(m) <= w.mpl || select_needs(zone) > w.mpl);
}

static bool same_set(const struct storm_idset *a, const struct storm_idset *b)
{
	return a->count == b->count &&
	       !memcmp(a->r, b->r, a->count * sizeof(*a->r));
}

static bool any_held(uint32_t zone)
{
	for (uint32_t i = 0; i < w.nlive; i++)
		if (w.live[i]->zone == zone && w.live[i]->held &&
		    w.live[i]->state == RUNNING)
			return true;
	return false;
}

/* The nodes' unpacked maps equal the matrix. */
static void check_map(void)
{
	uint32_t n = 0;

	must(w.map.nodes == w.nodes && w.map.nzones == w.zones);
	for (uint32_t z = 0; z < w.zones; z++) {
		const struct matrix *m = w.plan.matrix[z];

		must(w.map.zones[z].quantum == w.quantum[z]);
		must(w.map.zones[z].policy == w.policy);
		must(w.map.zones[z].rows == (matrix_shared(m) ?
						     matrix_cycle(m) :
					     any_held(z) ? 2 :
							   1));
	}
	for (uint32_t i = 0; i < w.nlive; i++) {
		struct job *j = w.live[i];
		const struct gang_job *g = gang_map_job(&w.map, j->id);
		const struct storm_idset *slots = slots_of(j);

		if (j->state != RUNNING) {
			must(!g && !slots);
			continue;
		}
		if (j->held) {
			must(!slots && g && gang_job_held(g));
			must(g->zone == j->zone);
			must(same_set(&g->nodes, &j->nodes));
			n++;
			continue;
		}
		must(!g == (matrix_round(w.plan.matrix[j->zone], j->id) <= 1));
		if (g) {
			must(g->zone == j->zone && same_set(&g->rows, slots));
			must(same_set(&g->nodes, &j->nodes));
			n++;
		}
	}
	must(n == w.map.njobs);
}

/* As an agent looks at it: on one node, in one slot, one job on a core. */
static void check_node(uint32_t node, uint32_t slot)
{
	uint32_t zone = gang_map_zone(&w.map, node), cores = 0;

	must(node >= zone_first(zone) && node < zone_end(zone));
	slot %= w.map.zones[zone].rows;
	for (uint32_t i = 0; i < w.map.njobs; i++) {
		const struct gang_job *g = &w.map.jobs[i];

		if (!storm_idset_has(&g->nodes, node))
			continue;
		must(g->zone == zone);
		if (storm_idset_has(&g->rows, slot))
			cores += w.job[g->job_id - 1].cores;
	}
	must(cores <= w.cores);
}

static void check(void)
{
	for (uint32_t z = 0; z < w.zones; z++) {
		uint32_t cycle = matrix_cycle(w.plan.matrix[z]);

		for (uint32_t t = 0; t < cycle; t++)
			check_slot(z, t);
		check_rows(z);
	}
	for (uint32_t i = 0; i < w.nlive; i++)
		if (w.live[i]->state == RUNNING && !w.live[i]->held)
			check_rounds(w.live[i]);
	check_map();
	for (int i = 0; i < 4; i++)
		check_node((uint32_t) below(w.nodes), (uint32_t) below(60));
}

/* -------------------------------------------------------------- time goes on --- */

/* Each of those that have waited longer has at most one turn before. */
#define STARVED ((uint64_t) 3 * (w.round_most + 2) * 1000)

/* The jobs that run from now on. */
static void switch_jobs(void)
{
	for (uint32_t i = 0; i < w.nlive; i++) {
		struct job *j = w.live[i];
		const struct gang_job *g = gang_map_job(&w.map, j->id);

		if (j->state != RUNNING)
			continue;
		if (!g && j->mapped)
			j->had = j->stood = 0;
		j->mapped = g;
		j->on = !g || !w.frozen[j->zone] ||
			storm_idset_has(&g->rows, w.slot[j->zone]);
	}
}

static void job_goes(struct job *j, uint64_t ns)
{
	if (!j->on) {
		j->stood += ns;
		if (j->held)
			return;
		j->waited += ns * 1000 / w.quantum[j->zone];
		if (j->waited > w.turns_waited)
			w.turns_waited = j->waited;
		must(j->waited <= STARVED);
		return;
	}
	must(j->left >= ns && !j->held);
	j->left -= ns;
	j->waited = 0;
	if (j->mapped)
		j->had += ns;
}

static void time_goes(uint64_t until)
{
	for (uint32_t i = 0; i < w.nlive; i++)
		if (w.live[i]->state == RUNNING)
			job_goes(w.live[i], until - w.now);
	w.now = until;
}

/* rota's account beside ours. */
static void check_accounts(void)
{
	for (uint32_t i = 0; i < w.map.njobs; i++) {
		const struct job *j = &w.job[w.map.jobs[i].job_id - 1];

		must(rota_given(w.rota, i, w.now) == j->had);
		must(rota_waited(w.rota, i, w.now) == j->stood);
	}
}

static void strobe(void)
{
	struct gang_strobe g;

	while (rota_next(w.rota, w.now, &g)) {
		uint8_t bytes[GANG_STROBE_LEN];
		struct gang_strobe got;

		gang_strobe_pack(&g, bytes);
		trace(bytes, sizeof(bytes));
		must(!gang_strobe_unpack(&got, bytes, sizeof(bytes)));
		must(got.version == w.map.version && got.zone < w.zones);
		w.frozen[got.zone] = got.slot != GANG_SLOT_ALL;
		w.slot[got.zone] = got.slot;
		must(!w.frozen[got.zone] ||
		     got.slot < w.map.zones[got.zone].rows);
		w.strobes++;
	}
	switch_jobs();
}

/* When the first of those that run is through. */
static uint64_t next_end(void)
{
	uint64_t least = STORM_NEVER;

	for (uint32_t i = 0; i < w.nlive; i++)
		if (w.live[i]->state == RUNNING && w.live[i]->on &&
		    w.now + w.live[i]->left < least)
			least = w.now + w.live[i]->left;
	return least;
}

static bool ends(void)
{
	bool any = false;

	for (uint32_t i = w.nlive; i--;)
		if (w.live[i]->state == RUNNING && !w.live[i]->left) {
			end(w.live[i]);
			any = true;
		}
	return any;
}

static bool arrivals(void)
{
	bool any = false;

	while (w.arrived < w.njobs && w.job[w.arrived].arrives <= w.now) {
		w.arrived++;
		any = true;
	}
	return any;
}

/* Nodes come back and jobs are resumed, so that all of them can end. */
static void be_kind(void)
{
	struct job *j = any_live(SUSPENDED);

	for (uint32_t i = 0; i < w.nodes; i++)
		w.node[i].back = 0;
	if (j)
		resume(j);
	for (uint32_t i = 0; i < w.nlive; i++)
		if (w.live[i]->held)
			hold(w.live[i]);
}

static void run(void)
{
	uint64_t mishap_at = STORM_SEC, stop = 0;

	while (w.done < w.njobs) {
		uint64_t next = storm_min(rota_due(w.rota), next_end());
		bool changed;

		if (w.arrived < w.njobs)
			next = storm_min(next, w.job[w.arrived].arrives);
		else if (!stop)
			stop = w.now + 60 * STORM_SEC;
		next = storm_min(next, mishap_at);
		time_goes(storm_max(next, w.now));
		changed = ends();
		changed |= arrivals();
		changed |= nodes_come_back();
		if (w.now >= mishap_at) {
			if (stop && w.now > stop)
				be_kind();
			else
				mishap();
			mishap_at = w.now + below(200 * STORM_MS);
			changed = true;
		}
		if (changed) {
			schedule();
			look();
			check();
		}
		strobe();
		if (changed)
			check_accounts();
	}
}

/* ------------------------------------------------------------- begin and end --- */

/* Mostly small and short ones, some that take everything. */
static void make_job(struct job *j, uint32_t i, uint64_t at)
{
	uint32_t nodes, log = 0;

	j->id = i + 1;
	j->arrives = at;
	j->zone = (uint32_t) below(w.zones);
	nodes = zone_end(j->zone) - zone_first(j->zone);
	while (1u << log < nodes)
		log++;
	j->want = 1u << below(below(4) ? log / 2 + 1 : log + 1);
	if (below(3) == 0)
		j->want = 1 + (uint32_t) below(2 * j->want);
	if (j->want > nodes)
		j->want = nodes;
	j->cores = below(2) ? w.cores : 1 + (uint32_t) below(w.cores);
	j->weight = w.seed % 2 ? 1 : 1 + i * 7 % 11 % 4;
	j->left = STORM_MS + below(500 * STORM_MS) +
		  (below(5) ? 0 : below(10 * STORM_SEC));
}

static void begin(uint64_t seed, uint32_t nodes, uint32_t njobs,
		  enum gang_policy policy)
{
	uint64_t at = 0;

	memset(&w, 0, sizeof(w));
	w.seed = w.c = seed;
	w.nodes = nodes;
	w.njobs = njobs;
	w.policy = policy;
	w.cores = 1u << below(3);
	w.zones = 1 + (uint32_t) below(ZONES);
	w.mpl = 2 + (uint32_t) below(5);
	w.packing = below(2) ? MATRIX_BUDDY : MATRIX_FIRST_FIT;
	w.node = fresh(nodes, sizeof(*w.node));
	w.job = fresh(njobs, sizeof(*w.job));
	w.live = fresh(njobs, sizeof(*w.live));
	w.busy = fresh(1, sizeof(*w.busy));
	w.busy[0] = fresh(nodes * w.cores / 64 + 1, sizeof(uint64_t));
	for (uint32_t i = 0; i < nodes; i++)
		w.node[i].load = fresh(w.cores, 1);
	for (uint32_t z = 0; z < ZONES; z++)
		w.quantum[z] = STORM_MS * (1 + below(20));
	for (uint32_t i = 0; i < njobs; i++) {
		at += below(20 * STORM_MS);
		make_job(&w.job[i], i, at);
	}
	w.anew = true;
	look();
}

/* Nothing is left; the farewell is sent, and then there are no strobes. */
static void finish(void)
{
	must(!w.nlive && !w.map.njobs);
	for (uint32_t z = 0; z < w.zones; z++)
		must(!matrix_jobs(w.plan.matrix[z]) && !most_load(z));
	while (rota_due(w.rota) != STORM_NEVER) {
		w.now = rota_due(w.rota);
		strobe();
	}
	for (uint32_t z = 0; z < w.zones; z++)
		must(!w.frozen[z]);
	rota_destroy(w.rota);
	gang_map_clear(&w.map);
	plan_clear(&w.plan);
	for (uint32_t i = 0; i < w.nodes; i++)
		free(w.node[i].load);
	free(w.busy[0]);
	free(w.busy);
	free(w.live);
	free(w.job);
	free(w.node);
}

/* The trace's sum. */
static uint64_t one(uint64_t seed, uint32_t nodes, uint32_t njobs,
		    enum gang_policy policy)
{
	begin(seed, nodes, njobs, policy);
	printf("seed %lu: %u nodes, %u cores each, %u zones, MPL %u, %s, policy %s\n",
	       (unsigned long) seed, w.nodes, w.cores, w.zones, w.mpl,
	       w.packing == MATRIX_BUDDY ? "buddy" : "first fit",
	       gang_policy_name(policy));
	fflush(stdout);
	run();
	finish();
	printf("  %u jobs in %.1f s, %lu at once: %lu changes, %lu strobes, %lu cancels, %lu suspends, %lu holds, %lu resizes, %lu nodes failed; most rows %u, longest wait %.1f quanta; trace %016lx\n",
	       w.njobs, w.now / 1e9, w.most_at_once, w.changes, w.strobes,
	       w.cancels, w.suspends, w.holds, w.resizes, w.failures,
	       w.rows_most, w.turns_waited / 1e3, w.trace);
	printf("  a change takes slurmctld %.0f us (at most %.0f), the strober %.0f us (at most %.0f)\n",
	       w.controller / 1e3 / w.changes, w.controller_most / 1e3,
	       w.strober / 1e3 / w.changes, w.strober_most / 1e3);
	fflush(stdout);
	return w.trace;
}

/* Another seed is another mix. */
static void same_again(enum gang_policy policy)
{
	uint64_t first = one(4, 64, 60, policy);

	must(one(4, 64, 60, policy) == first);
	must(one(5, 64, 60, policy) != first);
}

int main(int argc, char **argv)
{
	bool by_valgrind = getenv("STORM_VALGRIND");
	bool longer = getenv("STORM_LONG");
	uint32_t nodes = 1024, njobs = longer ? 5000 : by_valgrind ? 20 : 500;
	enum gang_policy policy = GANG_POLICY_GANG;
	int i = 1;

	for (; i < argc && !strncmp(argv[i], "--", 2); i++) {
		if (!strcmp(argv[i], "--nodes") && i + 1 < argc)
			nodes = (uint32_t) atoi(argv[++i]);
		else if (!strcmp(argv[i], "--jobs") && i + 1 < argc)
			njobs = (uint32_t) atoi(argv[++i]);
		else if (!strcmp(argv[i], "--policy") && i + 1 < argc)
			policy = gang_policy_find(argv[++i]);
		else
			break;
	}
	if (nodes < ZONES || policy == GANG_POLICIES ||
	    (i < argc && argv[i][0] == '-')) {
		fprintf(stderr,
			"usage: %s [--nodes N] [--jobs N] [--policy WORD] [SEED...]\n",
			argv[0]);
		return 2;
	}
	for (unsigned int p = 0; i == argc && p < GANG_POLICIES; p++)
		same_again((enum gang_policy) p);
	if (i == argc)
		for (uint64_t seed = 1; seed <= (longer ? 20 : 3); seed++)
			one(seed, nodes, njobs, policy);
	for (; i < argc; i++)
		one(strtoull(argv[i], NULL, 0), nodes, njobs, policy);
	return 0;
}
