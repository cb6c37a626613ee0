/*
 * test_turns_cluster.c - the turns of a whole cluster: 1,024 nodes and more, each with
 * the engine that the agent runs (turns.h) around a kernel that is played
 * (played_node.c), and a clock of its own.  The strober is rota.c.  All of it is from a
 * seed, in virtual time:
 *
 *	strobes are lost and late, maps are late, strobers pause and are replaced
 *	clocks drift, and jump
 *	freezers fail; steps come, go, give way or cannot; signals, debuggers,
 *	scripts, doors
 *	agents stop, wake up late, are killed and come back
 *	slurmd stops: then only the third guard is left
 *
 * Calm seconds before and after show that all nodes are in the same slot, and that no
 * guard has had to do anything.  When the strober has ended, everything runs.  With
 * STORM_LONG=1 there are 16,384 nodes, too.
 *
 *	test_turns_cluster [--nodes N] [--lead US] [SEED...]
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "played_node.h"
#include "src/libstorm/base/chance.h"
#include "src/libstorm/base/idset.h"
#include "src/libstorm/base/minmax.h"
#include "src/libstorm/protocol/strobe.h"
#include "src/storm_strober/rota.h"
#include "way.h"

#define START (1000 * STORM_SEC)
#define CALM (START + 4 * STORM_SEC)	 /* clocks are known */
#define TROUBLE (CALM + STORM_SEC)	 /* begins */
#define PEACE (TROUBLE + 5 * STORM_SEC)	 /* it ends; what it did heals */
#define HEALED (PEACE + 4500 * STORM_MS) /* all is as it was */
#define SILENCE (HEALED + STORM_SEC)	 /* the strober ends */
#define END (SILENCE + 2500 * STORM_MS)
/* When clocks are by new samples alone, for the verdict. */
#define SETTLED (4 * STORM_SEC)

#define ZONES 3
#define JOBS 7 /* of a zone */
#define MESSAGES 30000
#define WAY (30 * STORM_US)
#define EDGE (60 * STORM_MS) /* more than a quantum */
#define WAYS (10 * STORM_US) /* by which they differ */
#define ERROR (5 * STORM_US) /* of the clocks' estimate */
#define ALIVE \
	(50 * STORM_MS) /* slurmd's sign of life; see agent_gang_turns.c */
#define ALIVE_AGAIN (25 * STORM_MS)
#define GUARD (40 * STORM_MS) /* the second guard looks so often */
#define THIRD STORM_SEC	      /* the third */
#define THIRD_LATE (800 * STORM_MS)
#define LOOK (250 * STORM_MS) /* the agent looks at steps so often */
#define PATIENCE (1500 * STORM_MS)

#define must(cond)                                               \
	do {                                                     \
		if (!(cond))                                     \
			played_wrong(__FILE__, __LINE__, #cond); \
	} while (0)

static struct {
	uint64_t seed, lead;
	uint32_t nodes, node; /* the one under way */
	uint64_t t;	      /* its true time */
} now;

_Noreturn void played_wrong(const char *file, int line, const char *what)
{
	fflush(stdout);
	fprintf(stderr,
		"%s:%d: does not hold: %s\nnode %u of %u, at %.6f s\nagain by: test_turns_cluster --nodes %u --lead %lu %lu\n",
		file, line, what, now.node, now.nodes, (now.t - START) / 1e9,
		now.nodes, (unsigned long) (now.lead / STORM_US),
		(unsigned long) now.seed);
	exit(EXIT_FAILURE);
}

struct rnd {
	uint64_t state;
};

static uint64_t below(struct rnd *r, uint64_t n)
{
	return storm_chance_below(&r->state, n);
}

/* ------------------------------------------------------------- the strober --- */

struct message {
	uint64_t sent;		/* true time */
	struct played_map *map; /* NULL: a strobe */
	uint64_t number;
	struct gang_strobe s;
};

static struct {
	struct message m[MESSAGES];
	uint32_t n;
	struct played_map map[512];
	uint32_t maps;
	struct rota *rota;
	uint64_t epoch, version;
	uint64_t apart; /* its clock less the true time */
	uint32_t strobes;
	bool paused;
} strober;

static struct message *message(uint64_t at)
{
	struct message *m = &strober.m[strober.n++];

	must(strober.n <= MESSAGES);
	*m = (struct message) { .sent = at };
	return m;
}

/* Nodes of a zone: the first half is zone 0, the next quarters are the others. */
static void zone_nodes(uint32_t zone, uint32_t *first, uint32_t *n)
{
	uint32_t part = now.nodes / 4;

	*n = zone ? part : now.nodes - (ZONES - 1) * part;
	*first = zone ? now.nodes - (ZONES - zone) * part : 0;
}

static uint32_t zone_of_node(uint32_t node)
{
	uint32_t zone = ZONES, first, n;

	do
		zone_nodes(--zone, &first, &n);
	while (node < first);
	return zone;
}

/* Where jobs give way, now and then not all do. */
static uint8_t zone_policy(struct rnd *r, uint32_t zone, bool calm)
{
	static const uint8_t policy[ZONES] = { GANG_POLICY_GANG,
					       GANG_POLICY_FLEXIBLE,
					       GANG_POLICY_YIELD };

	return zone < 2 || calm ? policy[zone] : policy[below(r, ZONES)];
}

/* Some are held, some have more than one row; many do not have all nodes. */
static void make_job(struct rnd *r, struct gang_job *j, uint32_t zone,
		     uint32_t rows, bool calm)
{
	uint32_t first, n, from = 0, to;

	zone_nodes(zone, &first, &n);
	j->zone = zone;
	to = n - 1;
	if (below(r, 2)) {
		from = below(r, n);
		to = from + below(r, n - from);
	}
	must(!storm_idset_add(&j->nodes, first + from, first + to));
	for (uint32_t i = 0; i < 2; i++) {
		uint32_t row = below(r, rows);

		if (!i || !below(r, 4))
			must(!storm_idset_add(&j->rows, row, row));
	}
	if (!calm && !below(r, 6))
		storm_idset_clear(&j->rows);
}

static struct played_map *make_map(struct rnd *r, bool calm)
{
	struct played_map *p = &strober.map[strober.maps++];
	struct gang_map *m = &p->map;

	must(strober.maps <= 512);
	memset(p, 0, sizeof(*p));
	m->version = ++strober.version;
	m->nodes = now.nodes;
	m->zones = calloc(ZONES, sizeof(*m->zones));
	m->jobs = calloc((size_t) ZONES * JOBS, sizeof(*m->jobs));
	must(m->zones && m->jobs);
	m->nzones = ZONES;
	for (uint32_t z = 0; z < ZONES; z++) {
		/* the last's strobes seldom come just after another's, which may
		 * be late */
		static const uint64_t quantum[ZONES] = { 10, 20, 53 };
		uint32_t first, n;

		zone_nodes(z, &first, &n);
		m->zones[z].rows = 2 + below(r, 3);
		m->zones[z].quantum = quantum[z] * STORM_MS;
		m->zones[z].policy = zone_policy(r, z, calm);
		must(!storm_idset_add(&m->zones[z].nodes, first,
				      first + n - 1));
		for (uint32_t i = 0; i < JOBS; i++) {
			struct gang_job *j = &m->jobs[m->njobs];

			if (!calm && !below(r, 5))
				continue;
			j->job_id = 1 + z * JOBS + i;
			m->njobs++;
			make_job(r, j, z, m->zones[z].rows, calm);
		}
	}
	played_map_pack(p);
	return p;
}

/* All nodes have the map some milliseconds before its first strobe, mostly. */
static void new_map(struct rnd *r, uint64_t at, bool calm, bool anew)
{
	struct played_map *p = make_map(r, calm);
	struct rota *next;
	struct gang_map m;

	message(at)->map = p;
	must(!gang_map_unpack(p->bytes, p->len, &m));
	next = rota_create(&m, p->digest, anew ? NULL : strober.rota,
			   at + 5 * STORM_MS + now.lead);
	must(next);
	rota_destroy(strober.rota);
	strober.rota = next;
}

/* Another strober, with another clock.  Returns when it begins. */
static uint64_t take_over(struct rnd *r, uint64_t at)
{
	strober.epoch++;
	strober.apart = below(r, 900 * STORM_SEC);
	strober.paused = false;
	/* it may not know the last map: then only the digests differ */
	strober.version -= below(r, 2);
	at += 30 * STORM_MS + below(r, 600 * STORM_MS);
	new_map(r, at, false, true);
	return at;
}

static uint64_t disturb(struct rnd *r, uint64_t at)
{
	switch (below(r, 12)) {
	case 0:
		return take_over(r, at);
	case 1:
		if (strober.paused)
			rota_continue(strober.rota, at + now.lead);
		else
			rota_pause(strober.rota, at + now.lead);
		strober.paused = !strober.paused;
		return at;
	case 2: /* it does not run for a while */
		return at + below(r, 300 * STORM_MS);
	default:
		new_map(r, at, false, false);
		return at + 5 * STORM_MS;
	}
}

/* The strobes that are due. */
static void strobe(uint64_t at)
{
	struct gang_strobe s;
	struct message *m;

	while (rota_next(strober.rota, at + now.lead, &s)) {
		if (!now.lead)
			s.at = s.next_at = s.next = 0;
		s.sent = at + strober.apart;
		s.at += s.at ? strober.apart : 0;
		s.next_at += s.next_at ? strober.apart : 0;
		m = message(at);
		m->s = s;
		m->number = (strober.epoch << 32) + ++strober.strobes;
	}
}

/* All that it sends. */
static void play_strober(struct rnd *r)
{
	uint64_t at = START, change = TROUBLE, due;

	memset(&strober, 0, sizeof(strober));
	strober.epoch = 3;
	new_map(r, at, true, true);
	while (at < SILENCE) {
		due = rota_due(strober.rota);
		due -= due == STORM_NEVER ? 0 : now.lead;
		if (change < due) {
			at = storm_max(at, change);
			if (at >= PEACE) {
				strober.paused = false;
				new_map(r, at, true, false);
				rota_continue(strober.rota, at + now.lead);
				at += 5 * STORM_MS;
				change = STORM_NEVER;
				continue;
			}
			at = disturb(r, at);
			change = at + below(r, 400 * STORM_MS);
			continue;
		}
		at = storm_max(at,
			       due + (below(r, 20) ? below(r, 5 * STORM_US) :
						     below(r, 300 * STORM_US)));
		strobe(at);
	}
	rota_destroy(strober.rota);
	strober.rota = NULL;
}

/* -------------------------------------------------------------- the verdict --- */

/* A slot that all nodes of a zone should begin at that time. */
struct slot {
	uint64_t at;
	uint32_t slot;
	uint64_t *began; /* by node; 0: it did not */
};

static struct {
	struct slot slot[512];
	uint32_t n;
	uint64_t from, to;
} window[2][ZONES];

static void watch(int w, uint64_t from, uint64_t to)
{
	for (uint32_t z = 0; z < ZONES; z++) {
		window[w][z].n = 0;
		window[w][z].from = from;
		window[w][z].to = to;
	}
	for (uint32_t i = 0; i < strober.n; i++) {
		const struct message *m = &strober.m[i];
		uint64_t at = m->sent + WAY;
		uint32_t z = m->s.zone, k;

		if (m->map || m->s.slot == GANG_SLOT_ALL ||
		    m->sent + EDGE < from || m->sent >= to + EDGE)
			continue;
		k = window[w][z].n;
		if (now.lead)
			at = m->s.at - m->s.sent + m->sent + WAY;
		/* a repetition begins nothing */
		if (k && (window[w][z].slot[k - 1].slot == m->s.slot ||
			  (now.lead && !m->s.at)))
			continue;
		must(k < 512);
		window[w][z].slot[k].at = at;
		window[w][z].slot[k].slot = m->s.slot;
		window[w][z].slot[k].began =
			calloc(now.nodes, sizeof(uint64_t));
		must(window[w][z].slot[k].began);
		window[w][z].n++;
	}
}

static void unwatch(void)
{
	for (int w = 0; w < 2; w++)
		for (uint32_t z = 0; z < ZONES; z++)
			for (uint32_t i = 0; i < window[w][z].n; i++)
				free(window[w][z].slot[i].began);
}

/* A node has begun that slot.  False: no strobe has ordered that. */
static bool note_began(uint32_t node, uint32_t slot, uint64_t t)
{
	uint32_t z = zone_of_node(node);

	for (int w = 0; w < 2; w++) {
		struct slot *near = NULL;

		if (t < window[w][z].from || t > window[w][z].to)
			continue;
		for (uint32_t i = 0; i < window[w][z].n; i++) {
			struct slot *s = &window[w][z].slot[i];

			/* or it was lost, and repeated half a turn later */
			if (s->at <= t + STORM_MS)
				near = s;
		}
		if (near && near->slot == slot)
			near->began[node] = t;
		return near && near->slot == slot;
	}
	return true;
}

static int compare(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *) a, y = *(const uint64_t *) b;

	return (x > y) - (x < y);
}

/* How far 90 of 100 nodes are apart at it; *n: how many began it. */
static uint64_t skew(const struct slot *s, uint32_t *n)
{
	uint64_t *t = calloc(now.nodes, sizeof(*t)), d;
	uint32_t k = 0;

	must(t);
	for (uint32_t i = 0; i < now.nodes; i++)
		if (s->began[i])
			t[k++] = s->began[i];
	must(k);
	qsort(t, k, sizeof(*t), compare);
	d = t[k * 95 / 100] - t[k * 5 / 100];
	free(t);
	*n = k;
	return d;
}

/* The median of all slots.  Nearly all nodes that began one began each. */
static uint64_t median_skew(int w, uint32_t zone)
{
	uint32_t n = 0, k, most = 0;
	uint64_t d[512], all = 0;

	for (uint32_t i = 0; i < window[w][zone].n; i++) {
		/* some nodes may have begun it outside */
		if (window[w][zone].slot[i].at < window[w][zone].from + EDGE ||
		    window[w][zone].slot[i].at + EDGE > window[w][zone].to)
			continue;
		d[n++] = skew(&window[w][zone].slot[i], &k);
		most = storm_max(most, k);
		all += k;
	}
	must(n > 10);
	must(all > (uint64_t) most * n * 97 / 100);
	qsort(d, n, sizeof(*d), compare);
	return d[n / 2];
}

/* ---------------------------------------------------------------- the nodes --- */

static struct {
	uint64_t events, strobes, lost, stops, failures, guards, thirds;
	uint64_t returns, deaths, jumps, planned, agreed, opened, pays, fills,
		yields;
	uint64_t late_maps, unknown, wrong;
} count;

struct node {
	struct played_node p;
	struct rnd r;
	uint64_t apart, jumped; /* own clock */
	double ppm;
	uint64_t way, came, read; /* the last message */
	uint32_t next;		  /* message */
	bool sleepy;		  /* reads no strobe while its slot is near */
	bool billed;		  /* its steps use time out of their turns */
	uint64_t wake, alarm;	  /* of the agent: true time, own clock */
	uint64_t look, guard, third, trouble; /* true times */
	uint64_t stopped, dead; /* the agent, until; 0: it is not */
	uint64_t slurmd_stopped;
	uint64_t disturbed; /* when last */
	uint64_t ran;	    /* the agent, when last */
	/* the page of the agent, in its own clock */
	uint64_t alive, watched, slurmd_at, freed_at;
	bool slurmd_stands;
	bool failed; /* the second guard could not continue all */
	uint64_t again;
	const struct played_map *newest;
	uint64_t slots;
};

static uint64_t own(const struct node *x, uint64_t t)
{
	return t + x->apart + x->jumped +
	       (uint64_t) (int64_t) ((double) (t - START) * x->ppm / 1e6);
}

/* When its clock shows that, if it does not jump. */
static uint64_t true_time(const struct node *x, uint64_t at)
{
	double ran = (double) (int64_t) (at - x->apart - x->jumped - START);

	return START + (uint64_t) (int64_t) (ran / (1 + x->ppm / 1e6)) + 1;
}

static bool troubled(uint64_t t)
{
	return t >= TROUBLE && t < PEACE;
}

static bool slurmd_there(struct node *x)
{
	if (x->p.now >= storm_max(x->watched + ALIVE, x->slurmd_at)) {
		x->slurmd_stands = x->slurmd_stopped > now.t;
		x->slurmd_at = x->p.now + ALIVE_AGAIN;
	} else if (x->p.now < x->watched + ALIVE) {
		x->slurmd_stands = false;
	}
	return !x->slurmd_stands;
}

static bool healthy(const struct node *x)
{
	return now.t > x->disturbed + SETTLED;
}

/* Before a call: the time.  After it: the sign of life, and what began. */
static void at(struct node *x)
{
	x->p.now = own(x, now.t);
}

static void called(struct node *x)
{
	bool calm = now.t < TROUBLE || now.t > HEALED;

	x->alive = x->p.now;
	x->ran = now.t;
	if (x->p.slots == x->slots)
		return;
	x->slots = x->p.slots;
	if (calm && healthy(x))
		count.wrong += !note_began(now.node, x->p.slot, now.t);
}

/* The loop of agent_strobe.c: act if it is time, and sleep until there is more. */
static void agent_loop(struct node *x)
{
	struct gang_agreed *g = turns_agreed_time(x->p.t);
	uint64_t next;

	at(x);
	if (x->p.now >= gang_agreed_due(g))
		played_agreed(&x->p, slurmd_there(x));
	next = turns_late_at(x->p.t);
	if (next != STORM_NEVER) {
		next = played_late(&x->p, slurmd_there(x));
		if (next != STORM_NEVER && turns_standing(x->p.t))
			next = storm_min(next, storm_max(x->watched + ALIVE,
							 x->slurmd_at));
	}
	called(x);
	x->alarm = storm_min(next, gang_agreed_due(g));
	if (x->alarm == STORM_NEVER) {
		x->wake = STORM_NEVER;
		return;
	}
	x->wake = storm_max(true_time(x, x->alarm), now.t) +
		  below(&x->r, 2 * STORM_US);
	if (troubled(now.t) && !below(&x->r, 3000)) {
		x->disturbed = now.t;
		x->wake += below(&x->r, 200 * STORM_MS);
	}
}

static void returned(struct node *x)
{
	x->disturbed = now.t;
	count.returns++;
	at(x);
	played_returned(&x->p);
	called(x);
}

/* ------------------------------------------------------------------- messages --- */

/* When the next message comes; lost ones are passed over. */
static void next_message(struct node *x)
{
	for (;; x->next++) {
		const struct message *m = &strober.m[x->next];

		if (x->next == strober.n) {
			x->came = x->read = STORM_NEVER;
			return;
		}
		x->came = storm_max(x->came,
				    m->sent + x->way + way_tail(&x->r.state));
		if (m->map && troubled(m->sent) && !below(&x->r, 20)) {
			x->came += below(&x->r, 30 * STORM_MS);
			count.late_maps++;
		}
		if (m->map ||
		    below(&x->r, 1000) >= (troubled(m->sent) ? 100 : 5))
			break;
		count.lost++;
	}
	x->read = x->came + below(&x->r, 5 * STORM_US);
}

/* Half of the nodes read no strobe while a slot of theirs is near. */
static void read_when(struct node *x)
{
	struct gang_agreed *g = turns_agreed_time(x->p.t);

	if (x->sleepy && x->wake != STORM_NEVER &&
	    gang_agreed_deaf(g, own(x, now.t)) &&
	    x->alarm == gang_agreed_due(g))
		x->read = storm_max(x->read, x->wake);
}

static void hear(struct node *x, bool obey)
{
	const struct message *m = &strober.m[x->next++];
	uint64_t came = x->came;

	if (m->map) {
		x->newest = m->map;
		if (!x->dead) {
			at(x);
			played_map(&x->p, m->map);
			called(x);
		}
	} else if (!x->dead && obey) {
		at(x);
		count.strobes++;
		count.unknown += !played_strobe(&x->p, m->number, &m->s,
						own(x, came), slurmd_there(x));
		called(x);
	}
	next_message(x);
}

/* ------------------------------------------------------------------- steps --- */

static void add_step(struct node *x)
{
	uint32_t zone = zone_of_node(now.node);
	struct turns_step_info is = {
		.job = 1 + zone * JOBS + below(&x->r, JOBS + 1),
		.script = !below(&x->r, 5),
		.can_fill = below(&x->r, 3),
		.measured = !x->billed || below(&x->r, 2),
		.yields = !below(&x->r, 3),
		.starting = troubled(now.t) && !below(&x->r, 3),
		.has_srun = !below(&x->r, 3),
	};
	struct played_step *s;

	s = played_add(&x->p, is);
	if (!s)
		return;
	s->asleep = below(&x->r, 2) ? 80 : 0;
	s->exact = below(&x->r, 4);
	s->past_exec = !is.starting;
	if (x->billed && !below(&x->r, 3))
		s->stop_cost = below(&x->r, 2000) * STORM_US;
	played_threads(&x->p, s, below(&x->r, 4), false);
	if (!is.script && is.starting && below(&x->r, 2))
		played_door(&x->p, s);
	played_decide(&x->p);
}

static void agent_begins(struct node *x)
{
	uint32_t steps = 3 + below(&x->r, 4);

	played_begin(&x->p, now.node, own(x, now.t));
	x->p.patience = PATIENCE;
	x->slots = 0;
	x->stopped = x->dead = 0;
	x->slurmd_at = 0;
	x->watched = x->p.now;
	x->disturbed = now.t;
	for (uint32_t i = 0; i < steps; i++)
		add_step(x);
	if (x->newest)
		played_map(&x->p, x->newest);
	called(x);
}

/* As the main loop looks at them (agent_gang_steps.c). */
static void look_at(struct node *x, struct played_step *s)
{
	if (s->is.script)
		played_srun(&x->p, s, s->srun);
	if (turns_step_stands(s->s)) {
		played_doubt(&x->p, s, false);
		played_tracer(&x->p, s, s->traced, s->awaits, true);
		/* a job that is held, and where new processes may run */
		played_doubt(&x->p, s,
			     s->unstopped ||
				     turns_step_must_stand(x->p.t, s->s));
	} else if (s->traced) {
		played_tracer(&x->p, s, true, s->awaits, true);
	}
}

static void look(struct node *x)
{
	struct played_step *s;

	at(x);
	for (s = x->p.step; s < x->p.step + PLAYED_STEPS; s++) {
		if (s->s)
			look_at(x, s);
		if (s->s && x->billed)
			s->used += below(&x->r, 30 * STORM_MS);
	}
	played_decide(&x->p);
	called(x);
}

/* The agent runs again, or another one does. */
static void comes_back(struct node *x)
{
	struct played_step *s;

	if (x->dead) {
		/* its guards saw it die, and nothing of it stands */
		agent_begins(x);
	} else {
		x->stopped = 0;
		/* it is tried again from now on */
		for (s = x->p.step; s < x->p.step + PLAYED_STEPS; s++)
			s->stuck = 0;
		returned(x);
		/* what waits in the socket is old */
		while (x->came <= now.t)
			hear(x, false);
	}
	agent_loop(x);
}

/* ------------------------------------------------------------------- trouble --- */

static struct played_step *any(struct node *x)
{
	struct played_step *s = &x->p.step[below(&x->r, PLAYED_STEPS)];

	return s->s ? s : NULL;
}

static void tease(struct node *x, struct played_step *s)
{
	switch (below(&x->r, 8)) {
	case 0:
		played_gone(&x->p, s);
		break;
	case 1:
		played_signal(&x->p, s);
		break;
	case 2:
		s->awaits = below(&x->r, 2);
		played_tracer(&x->p, s, below(&x->r, 2), s->awaits, true);
		break;
	case 3:
		if (s->is.script)
			played_srun(&x->p, s, !s->srun);
		break;
	case 4:
		if (s->door == PLAYED_WAITS)
			played_met(&x->p, s);
		s->past_exec = true;
		break;
	case 5:
		s->refuses = !s->refuses;
		break;
	default:
		s->broken = !s->broken;
	}
	played_decide(&x->p);
}

static void trouble(struct node *x)
{
	struct played_step *s = any(x);
	uint64_t jump;

	x->trouble = now.t + below(&x->r, 300 * STORM_MS);
	if (x->dead || x->stopped)
		return;
	at(x);
	switch (below(&x->r, 40)) {
	case 0: /* SIGSTOP; now and then slurmd has it, too */
		x->disturbed = now.t;
		x->stopped = now.t + below(&x->r, 3 * STORM_SEC);
		if (!below(&x->r, 3))
			x->slurmd_stopped = x->stopped;
		break;
	case 1: /* an agent has the freezers anew */
		x->disturbed = now.t;
		for (s = x->p.step; s < x->p.step + PLAYED_STEPS; s++)
			s->broken = false;
		x->dead = now.t + 2 * STORM_MS + below(&x->r, 900 * STORM_MS);
		count.deaths++;
		break;
	case 2:
		x->disturbed = now.t;
		x->slurmd_stopped = now.t + below(&x->r, 700 * STORM_MS);
		break;
	case 3: /* a host that stood still, or a clock that is set a bit */
		x->disturbed = now.t;
		jump = below(&x->r, 2) ? below(&x->r, STORM_MS) :
					 below(&x->r, 2 * STORM_SEC);
		x->jumped += jump;
		/* it has not stood for longer by that */
		for (s = x->p.step; s < x->p.step + PLAYED_STEPS; s++)
			s->stuck += s->stuck ? jump : 0;
		count.jumps++;
		if (x->wake != STORM_NEVER)
			x->wake = storm_max(now.t, true_time(x, x->alarm));
		break;
	case 4:
	case 5:
		add_step(x);
		break;
	default:
		if (s)
			tease(x, s);
	}
	if (!x->dead)
		called(x);
}

/* All is well from now on, but for clocks and who was replaced. */
static void peace(struct node *x)
{
	struct played_step *s;

	x->trouble = STORM_NEVER;
	x->slurmd_stopped = 0;
	if (x->dead)
		return;
	if (x->stopped)
		comes_back(x);
	at(x);
	for (s = x->p.step; s < x->p.step + PLAYED_STEPS; s++) {
		s->broken = false;
		s->past_exec = true;
		if (s->s && s->door == PLAYED_WAITS)
			played_met(&x->p, s);
		if (s->s)
			played_tracer(&x->p, s, false, false, true);
	}
	played_decide(&x->p);
	called(x);
}

/* -------------------------------------------------------------------- guards --- */

/* gang_page_late(): by the clock that has jumped, too. */
static bool page_late(const struct node *x, uint64_t limit)
{
	return turns_standing(x->p.t) && own(x, now.t) > x->alive + limit;
}

static void guards_free(struct node *x, uint64_t *counter)
{
	/* none has to do anything while strobes come to an agent that is well */
	must(now.t > TROUBLE);
	must(!x->p.by || !healthy(x) ||
	     own(x, now.t) > x->p.heard + turns_limit(x->p.t));
	++*counter;
	played_guard(&x->p);
}

static void second_guard(struct node *x)
{
	uint64_t own_now = own(x, now.t);

	x->guard = now.t + GUARD;
	if (x->slurmd_stopped > now.t) {
		x->guard = x->slurmd_stopped;
		return;
	}
	if (x->dead)
		return;
	x->watched = own_now;
	if (!page_late(x, turns_limit(x->p.t)) ||
	    (x->alive == x->freed_at && (!x->failed || now.t < x->again)))
		return;
	x->freed_at = x->alive;
	guards_free(x, &count.guards);
	x->failed = played_standing(&x->p);
	x->again = now.t + STORM_SEC;
}

static void third_guard(struct node *x)
{
	x->third = now.t + THIRD;
	if (!x->dead && page_late(x, THIRD_LATE))
		guards_free(x, &count.thirds);
}

/* Whichever process is stopped, no step stands for longer than the third guard needs. */
static void must_be_guarded(struct node *x)
{
	struct played_step *s;

	if (!x->stopped || now.t < x->ran + THIRD_LATE + THIRD + STORM_MS)
		return;
	for (s = x->p.step; s < x->p.step + PLAYED_STEPS; s++)
		must(!s->s || played_runs(s) || s->broken);
}

/* ------------------------------------------------------------------- a node --- */

static void wakes(struct node *x)
{
	bool late = own(x, now.t) > x->alarm + GANG_AWAY;

	if (late)
		returned(x);
	while (x->came <= now.t)
		hear(x, !late);
	agent_loop(x);
}

/* The death of an agent: its guards continue what it has stopped. */
static void dies(struct node *x)
{
	now.t += below(&x->r, 2 * STORM_MS);
	played_guard(&x->p);
	must(!played_standing(&x->p));
	count.stops += x->p.stops;
	count.failures += x->p.failures;
	count.pays += x->p.pays;
	count.fills += x->p.fills;
	count.yields += x->p.yields;
	count.planned += turns_counted(x->p.t)->planned;
	count.agreed += turns_counted(x->p.t)->agreed;
	count.opened += turns_counted(x->p.t)->opened;
	played_end(&x->p);
	x->wake = STORM_NEVER;
}

/* One event. */
static void step(struct node *x)
{
	uint64_t back = x->dead ? x->dead : x->stopped;
	bool runs = !back;
	uint64_t next;

	if (runs)
		read_when(x);
	next = storm_min(x->guard, storm_min(x->third, x->trouble));
	next = storm_min(next, runs ? storm_min(x->wake, x->read) : back);
	next = storm_min(next, runs ? x->look : back);
	now.t = storm_max(now.t, next);
	count.events++;
	if (!runs && next == back) {
		comes_back(x);
	} else if (next == x->guard) {
		second_guard(x);
	} else if (next == x->third) {
		third_guard(x);
	} else if (next == x->trouble) {
		if (now.t >= PEACE)
			peace(x);
		else
			trouble(x);
		if (x->dead && x->p.t)
			dies(x);
	} else if (next == x->wake) {
		wakes(x);
	} else if (next == x->read) {
		hear(x, true);
		agent_loop(x);
	} else {
		x->look = now.t + LOOK;
		look(x);
		agent_loop(x);
	}
	must_be_guarded(x);
}

static void play(uint32_t i, struct rnd *r)
{
	struct node x = { .r = { storm_chance(&r->state) } };

	now.node = i;
	now.t = START;
	x.apart = below(&x.r, 900 * STORM_SEC);
	x.ppm = (double) below(&x.r, 20001) / 100 - 100;
	x.way = WAY + below(&x.r, WAYS);
	x.sleepy = i / 16 % 2;
	x.billed = i % 4 == 3;
	x.guard = START + below(&x.r, GUARD);
	x.third = START + below(&x.r, THIRD);
	x.look = START + below(&x.r, LOOK);
	x.trouble = TROUBLE + below(&x.r, 300 * STORM_MS);
	next_message(&x);
	agent_begins(&x);
	agent_loop(&x);
	while (now.t < SILENCE) {
		step(&x);
		/* it has a slot again */
		must(now.t < HEALED || now.t > SILENCE || (x.p.t && x.p.by) ||
		     x.dead);
	}
	while (now.t < END)
		step(&x);
	must(!x.dead && !x.p.by && !played_standing(&x.p));
	dies(&x);
}

/* -------------------------------------------------------------------- the run --- */

static void judge(int w, uint64_t limit)
{
	for (uint32_t z = 0; z < ZONES; z++) {
		uint64_t d = median_skew(w, z);

		printf("  %s, zone %u: %u slots, 90 of 100 nodes within %.1f us\n",
		       w ? "after " : "before", z, window[w][z].n, d / 1e3);
		must(d <= limit);
	}
}

static void one(uint64_t seed, uint32_t nodes, uint64_t lead)
{
	struct rnd r = { seed * 1000003 + 1 };

	memset(&count, 0, sizeof(count));
	now.seed = seed;
	now.nodes = nodes;
	now.lead = lead;
	now.t = START;
	printf("seed %lu: %u nodes, lead %lu us\n", (unsigned long) seed, nodes,
	       (unsigned long) (lead / STORM_US));
	fflush(stdout);
	play_strober(&r);
	watch(0, CALM, TROUBLE);
	watch(1, HEALED, SILENCE);
	for (uint32_t i = 0; i < nodes; i++)
		play(i, &r);
	printf("  %lu events, %lu strobes (%lu lost, %lu not obeyed), %u maps (%lu late), %lu stops\n",
	       count.events, count.strobes, count.lost, count.unknown,
	       strober.maps, count.late_maps, count.stops);
	printf("  %lu agreed, %lu planned, %lu opened, %lu pays, %lu fills, %lu gave way, %lu failures\n",
	       count.agreed, count.planned, count.opened, count.pays,
	       count.fills, count.yields, count.failures);
	printf("  %lu returns, %lu deaths, %lu jumps; second guard %lu, third %lu\n",
	       count.returns, count.deaths, count.jumps, count.guards,
	       count.thirds);
	must(!count.wrong);
	judge(0, lead ? WAYS + ERROR + 4 * STORM_US : 100 * STORM_US);
	judge(1, lead ? WAYS + ERROR + 4 * STORM_US : 100 * STORM_US);
	unwatch();
	for (uint32_t i = 0; i < strober.maps; i++)
		played_map_free(&strober.map[i]);
	fflush(stdout);
}

int main(int argc, char **argv)
{
	bool longer = getenv("STORM_LONG");
	uint32_t nodes = 1024;
	uint64_t lead = 500;
	int i = 1;

	for (; i + 1 < argc && !strncmp(argv[i], "--", 2); i += 2) {
		if (!strcmp(argv[i], "--nodes"))
			nodes = (uint32_t) atoi(argv[i + 1]);
		else if (!strcmp(argv[i], "--lead"))
			lead = strtoull(argv[i + 1], NULL, 0);
		else
			break;
	}
	if (nodes < 8 || (i < argc && argv[i][0] == '-')) {
		fprintf(stderr, "usage: %s [--nodes N] [--lead US] [SEED...]\n",
			argv[0]);
		return 2;
	}
	if (i == argc) {
		for (uint64_t seed = 1; seed <= (longer ? 20 : 2); seed++)
			one(seed, nodes, seed % 2 ? lead * STORM_US : 0);
		one(3, 4 * nodes, lead * STORM_US);
	}
	if (i == argc && longer) {
		one(1, 16 * nodes, lead * STORM_US);
		one(2, 16 * nodes, 0);
	}
	for (; i < argc; i++)
		one(strtoull(argv[i], NULL, 0), nodes, lead * STORM_US);
	return 0;
}
