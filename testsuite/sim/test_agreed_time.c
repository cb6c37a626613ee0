/*
 * test_agreed_time.c - hundreds of nodes that act at an agreed time, each by a
 * clock of its own: offsets of hours, drift up to 100 ppm, a clock that is set
 * in the run, ways that differ in length, delays with a heavy tail, and losses.
 * The strober's side is rota.c, run ahead by the lead as strobe_clock.c does; a
 * node is gang_agreed.c.  All of it is from a seed, in virtual time.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include "src/libstorm/base/minmax.h"
#include "src/storm_agent/turns/gang_agreed.h"
#include "src/storm_strober/rota.h"
#include "testsuite/unit/unit.h"
#include "way.h"

#define NODES 300
#define QUANTUM (2 * STORM_MS)
#define LEAD (500 * STORM_US)
#define START (1000 * STORM_SEC)
#define LENGTH (20 * STORM_SEC)
#define SETTLED (6 * STORM_SEC) /* from here on the clocks are known */
#define STEP_AT (9 * STORM_SEC)
/* When all of the windows are from after the step. */
#define HEALED (STEP_AT + 6 * STORM_SEC)
#define WAY (30 * STORM_US)  /* the shortest */
#define WAYS (10 * STORM_US) /* by which they differ */
#define SLOTS (LENGTH / QUANTUM)
#define EPOCH (3ull << 32)

/* What the estimate may add to the difference of the ways. */
#define ERROR (5 * STORM_US)

struct sent {
	struct gang_strobe s;
	uint64_t number;
};

struct node {
	struct gang_agreed g;
	struct rnd r;
	int64_t apart; /* own clock less the true time, at START */
	int64_t step;  /* by which it is set */
	double ppm;
	uint64_t way;
	uint32_t slot;
	uint64_t heard; /* true time of the last strobe */
	bool by_plan; /* the present slot began so, and no strobe came since */
	unsigned int planned, at_once, waited;
};

static struct node nodes[NODES];
static struct sent strobes[SLOTS * 3];
static uint32_t count;
/* When each node began each slot, in true time; 0: it did not. */
static uint64_t began[SLOTS][NODES];

/* ------------------------------------------------------------- the strober --- */

static void map_of(struct gang_map *m, uint64_t version, uint32_t rows)
{
	memset(m, 0, sizeof(*m));
	m->version = version;
	m->nodes = NODES;
	m->zones = calloc(1, sizeof(*m->zones));
	m->jobs = calloc(rows, sizeof(*m->jobs));
	must(m->zones && m->jobs);
	m->nzones = 1;
	m->njobs = rows;
	m->zones[0].rows = rows;
	m->zones[0].quantum = QUANTUM;
	must(!storm_idset_add(&m->zones[0].nodes, 0, NODES - 1));
	for (uint32_t i = 0; i < rows; i++) {
		m->jobs[i].job_id = i + 1;
		must(!storm_idset_add(&m->jobs[i].rows, i, i));
		must(!storm_idset_add(&m->jobs[i].nodes, 0, NODES - 1));
	}
	must(!gang_map_check(m));
}

/* Another map, or everything runs for a while. */
static struct rota *disturb(struct rota *rota, struct rnd *r, uint64_t *version,
			    bool *paused, uint64_t now)
{
	struct rota *next;
	struct gang_map m;

	if (!*paused && below(r, 3)) {
		map_of(&m, ++*version, 2 + below(r, 5));
		next = rota_create(&m, *version, rota, now);
		must(next);
		rota_destroy(rota);
		return next;
	}
	if (*paused)
		rota_continue(rota, now);
	else
		rota_pause(rota, now);
	*paused = !*paused;
	return rota;
}

/* All strobes of a run.  restless: maps change, and now and then everything
 * runs. */
static void strober(struct rnd *r, uint64_t lead, bool restless)
{
	uint64_t version = 1, now = START, due;
	uint64_t change = restless ? START + 3 * STORM_SEC : STORM_NEVER;
	struct rota *rota;
	struct gang_map m;
	bool paused = false;

	map_of(&m, version, 3);
	rota = rota_create(&m, version, NULL, now + lead);
	must(rota);
	for (count = 0; now < START + LENGTH;) {
		struct sent *t = &strobes[count];

		due = rota_due(rota);
		due = due == STORM_NEVER ? due : due - lead;
		if (change < due) {
			now = storm_max(now, change);
			change = now + below(r, 300 * STORM_MS);
			rota = disturb(rota, r, &version, &paused, now + lead);
			continue;
		}
		/* the strober is late itself */
		now = storm_max(now, due + (below(r, 20) ?
						    below(r, 5 * STORM_US) :
						    below(r, 300 * STORM_US)));
		if (!rota_next(rota, now + lead, &t->s))
			continue;
		if (!lead)
			t->s.at = t->s.next_at = t->s.next = 0;
		t->s.sent = now;
		t->number = EPOCH + ++count;
		must(count < sizeof(strobes) / sizeof(strobes[0]));
	}
	rota_destroy(rota);
}

/* --------------------------------------------------------------- the nodes --- */

static uint64_t own_clock(const struct node *x, uint64_t t)
{
	return t + (uint64_t) x->apart +
	       (uint64_t) (int64_t) ((double) (t - START) * x->ppm / 1e6) +
	       (uint64_t) (t >= START + STEP_AT ? x->step : 0);
}

/* When its clock has run so far. */
static uint64_t true_time_of(const struct node *x, uint64_t ran)
{
	double since = (double) (int64_t) (ran - (uint64_t) x->apart - START);

	return START + (uint64_t) (int64_t) (since / (1 + x->ppm / 1e6));
}

/* When its clock first shows that or more, from then on. */
static uint64_t true_time(const struct node *x, uint64_t own, uint64_t from)
{
	uint64_t t = true_time_of(x, own);

	if (from >= START + STEP_AT || t >= START + STEP_AT)
		t = storm_max(true_time_of(x, own - (uint64_t) x->step),
			      START + STEP_AT);
	return storm_max(t, from);
}

static void begin(struct node *x, uint64_t number, uint32_t slot, uint64_t t)
{
	uint64_t n = number - EPOCH - 1;

	x->slot = slot;
	if (n < SLOTS && !began[n][x - nodes])
		began[n][x - nodes] = t;
}

/* What its clock makes it do until then. */
static void act_until(struct node *x, uint64_t until)
{
	struct gang_strobe s;
	uint64_t number, due, t;
	bool by_plan;

	while ((due = gang_agreed_due(&x->g)) != STORM_NEVER) {
		t = true_time(x, due, x->heard);
		if (t > until)
			return;
		must(gang_agreed_take(&x->g, storm_max(due, own_clock(x, t)),
				      &s, &number, &by_plan));
		/* while everything runs, nothing begins without a strobe */
		must(x->slot != GANG_SLOT_ALL || !by_plan);
		must(s.slot < GANG_ROWS_MAX);
		if (by_plan) {
			must(!x->by_plan);
			x->by_plan = true;
			x->planned++;
		} else {
			/* a strobe waits no longer than it was ahead */
			must(t <= x->heard + LEAD + WAY);
			x->waited++;
		}
		begin(x, number, s.slot, t + below(&x->r, 2 * STORM_US));
	}
}

static void hear(struct node *x, const struct sent *t, uint64_t came,
		 uint64_t read)
{
	uint64_t received = own_clock(x, came), now = own_clock(x, read);

	x->heard = read;
	x->by_plan = false;
	gang_agreed_clock(&x->g, t->number, &t->s, received);
	if (gang_agreed_hear(&x->g, t->number, &t->s, received, now))
		return;
	x->at_once++;
	begin(x, t->number, t->s.slot, read);
}

/* Half of the nodes, of each kind of clock, read no strobe while their next slot is
 * near. */
static uint64_t read_when(struct node *x, uint64_t came)
{
	uint64_t due = gang_agreed_due(&x->g);

	if ((x - nodes) / 16 % 2 ||
	    !gang_agreed_deaf(&x->g, own_clock(x, came)))
		return came + (below(&x->r, 50) ? below(&x->r, 20 * STORM_US) :
						  below(&x->r, STORM_MS));
	return storm_max(came, true_time(x, due, x->heard));
}

static void play(struct node *x, unsigned int loss)
{
	uint64_t came = START, read = START;

	for (uint32_t i = 0; i < count; i++) {
		const struct sent *t = &strobes[i];

		came = storm_max(came,
				 t->s.sent + x->way + way_tail(&x->r.state));
		if (below(&x->r, 1000) < loss)
			continue;
		/* it reads one after the other, and before it acts */
		read = storm_max(read, read_when(x, came));
		act_until(x, read - 1);
		hear(x, t, came, read);
	}
	act_until(x, START + LENGTH + STORM_SEC);
	/* what it has heard last, or what that has planned */
	must(x->slot == x->g.last.slot ||
	     (x->by_plan && x->slot == x->g.last.next));
}

static void make_nodes(struct rnd *r)
{
	memset(nodes, 0, sizeof(nodes));
	memset(began, 0, sizeof(began));
	for (uint32_t i = 0; i < NODES; i++) {
		struct node *x = &nodes[i];

		x->r.state = rnd64(r);
		x->apart = (int64_t) (rnd64(r) % (900 * STORM_SEC)) -
			   450 * (int64_t) STORM_SEC;
		x->ppm = below(r, 20001) / 100.0 - 100;
		x->way = WAY + below(r, WAYS);
		x->slot = GANG_SLOT_ALL;
		if (i % 4 == 1) /* such a node's clock is set */
			x->step = i % 8 == 1 ? 2 * (int64_t) STORM_SEC :
					       -2 * (int64_t) STORM_SEC;
		if (i % 16 == 1) /* or by less than a lead */
			x->step = 300 * (int64_t) STORM_US;
	}
}

/* -------------------------------------------------------------- the verdict --- */

static int compare(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *) a, y = *(const uint64_t *) b;

	return (x > y) - (x < y);
}

/* How far 90 of 100 nodes are apart at slot n. */
static uint64_t apart(uint64_t n)
{
	uint64_t t[NODES];
	uint32_t k = 0;

	for (uint32_t i = 0; i < NODES; i++)
		if (began[n][i])
			t[k++] = began[n][i];
	must(k > NODES / 2);
	qsort(t, k, sizeof(*t), compare);
	return t[k * 95 / 100] - t[k * 5 / 100];
}

static uint64_t median_apart(uint64_t from, uint64_t to)
{
	uint64_t d[SLOTS], k = 0;

	for (uint64_t n = from / QUANTUM; n < to / QUANTUM; n++)
		d[k++] = apart(n);
	qsort(d, k, sizeof(*d), compare);
	return d[k / 2];
}

/* The part of slots that node i began when all should, within the error. */
static double part_in_time(uint32_t i, uint64_t from, uint64_t to)
{
	uint64_t good = 0, n;

	for (n = from / QUANTUM; n < to / QUANTUM; n++) {
		uint64_t at = strobes[n].s.at + WAY;

		good += began[n][i] + ERROR >= at &&
			began[n][i] <= at + WAYS + 2 * STORM_US + ERROR;
	}
	return (double) good / (double) (n - from / QUANTUM);
}

START_TEST(test_act_together)
{
	struct rnd r = rnd_of(_i);
	unsigned int planned = 0;

	make_nodes(&r);
	strober(&r, LEAD, false);
	for (uint32_t i = 0; i < NODES; i++) {
		play(&nodes[i], 10);
		planned += nodes[i].planned;
	}
	/* the rest of the slots: two strobes lost, or one late by the lead */
	for (uint32_t i = 0; i < NODES; i++) {
		must(part_in_time(i, SETTLED, STEP_AT - STORM_SEC) > 0.9);
		must(part_in_time(i, HEALED, LENGTH - STORM_SEC) > 0.9);
	}
	must(median_apart(SETTLED, STEP_AT - STORM_SEC) <
	     WAYS + 2 * STORM_US + ERROR);
	must(median_apart(HEALED, LENGTH - STORM_SEC) <
	     WAYS + 2 * STORM_US + ERROR);
	/* nearly all that were lost */
	must(planned > NODES * (SLOTS - SETTLED / QUANTUM) / 100 / 2);
}
END_TEST

/* The same clocks, ways and losses, as it is without: this is what it is worth,
 * and that the test above can fail. */
START_TEST(test_without_lead)
{
	struct rnd r = rnd_of(_i);

	make_nodes(&r);
	strober(&r, 0, false);
	for (uint32_t i = 0; i < NODES; i++) {
		play(&nodes[i], 10);
		must(!nodes[i].planned && !nodes[i].waited);
	}
	must(median_apart(SETTLED, LENGTH - STORM_SEC) > 2 * (WAYS + ERROR));
}
END_TEST

/* Maps change at any time, everything runs now and then, many strobes are lost:
 * play() and act_until() check what must hold in any case. */
START_TEST(test_restless)
{
	struct rnd r = rnd_of(_i);
	unsigned int planned = 0, waited = 0;

	make_nodes(&r);
	strober(&r, LEAD, true);
	for (uint32_t i = 0; i < NODES; i++) {
		play(&nodes[i], 200);
		planned += nodes[i].planned;
		waited += nodes[i].waited;
	}
	must(planned && waited);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("agreed_time");
	TCase *t = tcase_create("agreed_time");

	tcase_set_timeout(t, 600);
	tcase_add_loop_test(t, test_act_together, 0, unit_runs(3));
	tcase_add_loop_test(t, test_without_lead, 0, unit_runs(3));
	tcase_add_loop_test(t, test_restless, 0, unit_runs(6));
	suite_add_tcase(s, t);
	return unit_main(s);
}
