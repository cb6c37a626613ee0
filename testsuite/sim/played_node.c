/*
 * played_node.c - see played_node.h.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include <stdlib.h>
#include <string.h>

#include "played_node.h"
#include "src/libstorm/base/idset.h"

/* A step counts as starting for so long. */
#define EXEC (5 * STORM_SEC)
/* A held job's step runs so long for a signal, and for a debugger, which is tried
 * so often. */
#define HELD (100 * STORM_MS)
#define ATTACH (100 * STORM_MS)
#define AGAIN (200 * STORM_MS)
/* No gap of a shorter turn is filled. */
#define NAP (5 * STORM_MS)
/* In shorter turns nobody gives way. */
#define TICKS (50 * STORM_MS)
/* The agent calls a strobe late so early, at most. */
#define EARLY (20 * STORM_MS)

#define must_play(cond)                                          \
	do {                                                     \
		if (!(cond))                                     \
			played_wrong(__FILE__, __LINE__, #cond); \
	} while (0)

enum verdict { RUNS, STANDS, EITHER };

/* The first step that is there, after that one. */
static struct played_step *next_step(struct played_node *p,
				     struct played_step *s)
{
	for (s = s ? s + 1 : p->step; s < p->step + PLAYED_STEPS; s++)
		if (s->s && !s->leaves)
			return s;
	return NULL;
}

/* ----------------------------------------------------- who has to stand --- */

/* The job, if this node is one of its. */
static const struct gang_job *job_in(const struct played_node *p,
				     const struct played_map *m, uint32_t job)
{
	const struct gang_job *j = m ? gang_map_job(&m->map, job) : NULL;

	return j && storm_idset_has(&j->nodes, p->self) ? j : NULL;
}

/* This node's; NULL: it is in none. */
static const struct gang_zone *zone_of(const struct played_node *p,
				       const struct played_map *m)
{
	uint32_t zone = gang_map_zone(&m->map, p->self);

	return zone < m->map.nzones ? &m->map.zones[zone] : NULL;
}

static const struct played_map *meant(const struct played_node *p,
				      const struct gang_strobe *st)
{
	for (int i = 0; i < 2; i++)
		if (p->known[i] && p->known[i]->digest == st->digest &&
		    p->known[i]->map.version == st->version)
			return p->known[i];
	return NULL;
}

static bool is_held(const struct played_node *p, const struct played_step *s)
{
	const struct gang_job *j = job_in(p, p->by, s->is.job);

	return j && gang_job_held(j);
}

static bool has_slot(const struct played_node *p, const struct played_step *s)
{
	const struct gang_job *j = job_in(p, p->by, s->is.job);

	return j && storm_idset_has(&j->rows, p->slot);
}

static bool script_runs(struct played_node *p, const struct played_step *s)
{
	bool steps = false;

	for (struct played_step *o = NULL; (o = next_step(p, o));)
		steps |= o->is.job == s->is.job && !o->is.script;
	return s->srun || steps ||
	       zone_of(p, p->by)->quantum >= PLAYED_LONG_TURN;
}

/* Out of its turn it runs for this reason. */
static bool excused(struct played_node *p, struct played_step *s)
{
	if (s->granted || (s->traced && (s->attaching || !is_held(p, s))))
		return true;
	if (s->door == PLAYED_WAITS ||
	    (s->starting && p->now < s->began + EXEC))
		return true;
	return s->is.script && script_runs(p, s);
}

static enum verdict verdict(struct played_node *p, struct played_step *s)
{
	if (!p->by || !job_in(p, p->by, s->is.job) ||
	    !job_in(p, p->known[0], s->is.job))
		return RUNS;
	if (has_slot(p, s))
		return s->pays ? (excused(p, s) ? EITHER : STANDS) : RUNS;
	if (!excused(p, s))
		return STANDS;
	/* its job may owe turns */
	return p->bills ? EITHER : RUNS;
}

/* A grant ends as its turn begins, or in time if there is none. */
static void grants_end(struct played_node *p)
{
	for (struct played_step *s = NULL; (s = next_step(p, s));) {
		if (!p->by || !job_in(p, p->by, s->is.job) ||
		    !job_in(p, p->known[0], s->is.job))
			continue;
		if ((has_slot(p, s) && !s->pays) ||
		    (is_held(p, s) && p->now >= s->granted_until))
			s->granted = false;
	}
}

/* Somebody pays, so this turn is another's: of one that never shares a core with
 * those that have it. */
static bool may_have_spare(struct played_node *p, const struct played_step *s)
{
	const struct gang_job *x = job_in(p, p->by, s->is.job), *y;
	bool common;

	for (struct played_step *o = NULL; (o = next_step(p, o));) {
		if (!has_slot(p, o) || o->pays)
			continue;
		y = job_in(p, p->by, o->is.job);
		common = false;
		for (uint32_t i = 0; i < zone_of(p, p->by)->rows; i++)
			common |= storm_idset_has(&x->rows, i) &&
				  storm_idset_has(&y->rows, i);
		if (!common)
			return false;
	}
	return p->paid && !is_held(p, s);
}

/* Out of its turn it gives way, and is not stopped: all do so there, or its user wants
 * it where nobody fills gaps, and it can be billed. */
static bool yields(const struct played_node *p, const struct played_step *s)
{
	const struct gang_zone *z = p->by ? zone_of(p, p->by) : NULL;

	return z && s->is.can_fill && z->quantum >= TICKS && !is_held(p, s) &&
	       (z->policy == GANG_POLICY_YIELD ||
		(s->is.yields && s->is.measured &&
		 z->policy != GANG_POLICY_FLEXIBLE));
}

/* Those in turn sleep, or it owes. */
static bool may_fill(struct played_node *p, const struct played_step *s)
{
	const struct gang_zone *z = p->by ? zone_of(p, p->by) : NULL;

	if (!z || !s->is.can_fill)
		return false;
	/* a held job's script may run, so it may run idle */
	if (is_held(p, s))
		return p->bills && s->is.script && script_runs(p, s);
	if (p->bills || yields(p, s))
		return true;
	if (z->policy != GANG_POLICY_FLEXIBLE || z->quantum < NAP)
		return false;
	for (struct played_step *o = NULL; (o = next_step(p, o));)
		if (has_slot(p, o) &&
		    (o == s || !o->class.sleeps || !o->is.can_fill))
			return false;
	return true;
}

/* -------------------------------------------------------------- the kernel --- */

/* Before one begins its turn all others have been stopped. */
static void must_be_first(struct played_node *p, const struct played_step *s)
{
	for (struct played_step *o = NULL; (o = next_step(p, o));)
		must_play(o == s || verdict(p, o) != STANDS ||
			  !played_runs(o) || o->unstopped || o->refused ||
			  may_have_spare(p, o));
}

static void do_stop(struct played_node *p, struct played_step *s,
		    const struct turns_act *a)
{
	bool knows = !s->freed && !s->unstopped;

	must_play(a->again || !s->stands || !knows);
	must_play(!yields(p, s) || s->stands || !knows);
	s->refused = false;
	if (s->broken) {
		s->unstopped |= !s->stands;
		s->freed = false;
		return;
	}
	s->stands = true;
	s->fills = s->freed = s->unstopped = false;
}

/* Does another step of its job give way, and has each done what it was told? */
static bool fills_beside(struct played_node *p, const struct played_step *s,
			 bool *knows)
{
	bool yes = false;

	*knows = true;
	for (struct played_step *o = NULL; (o = next_step(p, o));) {
		if (o == s || o->is.job != s->is.job)
			continue;
		yes |= o->fills;
		*knows &= !o->freed && !o->unstopped && !o->broken &&
			  !o->refuses;
	}
	return yes;
}

static void do_continue(struct played_node *p, struct played_step *s,
			const struct turns_act *a)
{
	bool knows = !s->freed && !s->unstopped, all;
	bool beside = fills_beside(p, s, &all);

	must_play(!all || a->beside == beside);
	must_play(!knows || s->stands || s->fills);
	must_play(!knows || a->filled == s->fills);
	if (a->event.a == GANG_WHY_SLOT)
		must_be_first(p, s);
	if (s->broken) {
		p->failures++;
		s->unstopped |= s->freed;
		s->freed = false;
		if (!s->leaves)
			turns_failed(p->t, a);
		return;
	}
	p->continues++;
	s->stands = s->fills = s->freed = s->unstopped = false;
}

static void do_fill(struct played_node *p, struct played_step *s,
		    const struct turns_act *a)
{
	bool knows = !s->freed && !s->unstopped;

	/* what runs is not stopped for it, nor for long if it cannot */
	must_play(!knows || s->stands || (a->ran && yields(p, s)));
	must_play(!knows || a->ran == !s->stands);
	if (s->broken || s->refuses) {
		p->failures++;
		s->refused = a->ran;
		s->is.can_fill &= !a->ran;
		turns_failed(p->t, a);
		return;
	}
	p->fills++;
	p->yields += a->ran;
	s->fills = true;
	s->stands = s->freed = s->unstopped = false;
}

static void do_end(struct played_node *p, struct played_step *s,
		   const struct turns_act *a)
{
	uint64_t turn = a->over ? a->over - s->turn_at : 0;
	bool exact = s->exact && a->woke && a->stood;

	must_play(s->turn_at && a->over <= p->now);
	turns_slept(s->s, turn, turn * s->asleep / 100, exact);
	gang_class_turn(&s->class, turn, turn * s->asleep / 100, exact);
}

static void do_note(struct played_node *p, struct played_step *s,
		    const struct gang_event *e)
{
	if (e->what == GANG_PAYS) {
		must_play(s && p->bills && has_slot(p, s));
		s->pays = p->paid = true;
		p->pays++;
	} else if (e->what == GANG_SLOT) {
		must_play(e->slot == p->slot);
		p->began_number = e->sequence;
		p->slots++;
	} else if (e->what == GANG_OPEN && e->a == GANG_WHY_FREED) {
		must_play(p->guarded);
		p->guarded = false;
	} else if (e->what == GANG_OPEN) {
		must_play(!p->why || e->a == p->why);
	}
}

static void do_act(struct played_node *p, const struct turns_act *a)
{
	struct played_step *s = a->step ? turns_step_owner(a->step) : NULL;

	must_play(!s || s->s == a->step);
	must_play(s || a->verb == TURNS_NOTE);
	switch (a->verb) {
	case TURNS_NOTE:
		do_note(p, s, &a->event);
		break;
	case TURNS_STOP:
		p->stops += a->noted;
		do_stop(p, s, a);
		break;
	case TURNS_CONTINUE:
		do_continue(p, s, a);
		break;
	case TURNS_FILL:
		do_fill(p, s, a);
		break;
	case TURNS_START:
		must_play(s->door == PLAYED_MET);
		s->door = PLAYED_OPEN;
		break;
	case TURNS_USE:
		p->bills |= s->used > 0;
		turns_used(s->s, s->used, true);
		break;
	case TURNS_LOOK:
		must_play(s->starting);
		if (s->past_exec) {
			turns_started(s->s);
			s->starting = false;
		}
		break;
	case TURNS_BEGIN:
		s->turn_at = p->now;
		break;
	case TURNS_END:
		do_end(p, s, a);
		break;
	}
	if ((a->verb == TURNS_STOP || a->verb == TURNS_CONTINUE) &&
	    turns_cost_wanted(a)) {
		p->bills |= s->stop_cost > 100 * STORM_US;
		turns_cost(s->s, a->verb, s->stop_cost + 1);
	}
}

/* --------------------------------------------------------------- the verdict --- */

/* What the engine says is what the kernel has. */
static void must_be_true(struct played_node *p)
{
	uint64_t end = turns_late_at(p->t);
	uint32_t standing = 0;
	bool newest;

	for (struct played_step *s = NULL; (s = next_step(p, s));) {
		bool stands = turns_step_stands(s->s);
		bool fills = turns_step_fills(s->s);

		must_play(!stands || !fills);
		standing += stands || fills;
		/* a guard, or a failure that was told */
		if (s->freed || s->unstopped)
			must_play(stands || fills);
		else
			must_play(stands == s->stands && fills == s->fills);
	}
	must_play(turns_standing(p->t) == standing);
	must_play(turns_strobed(p->t, &newest) == !!p->by);
	must_play(!p->by || newest == (p->by == p->known[0]));
	must_play(turns_counted(p->t)->missed == p->missed);
	if (!standing)
		return;
	/* what stands does so for a time that has an end */
	must_play(end != STORM_NEVER);
	must_play(!p->by || end <= p->heard + p->silence);
	must_play(!p->by || turns_limit(p->t) < p->silence);
}

static void must_be_right(struct played_node *p, struct played_step *s)
{
	enum verdict v = verdict(p, s);

	must_play(!s->freed && !s->refused);
	must_play(!s->stands || !yields(p, s) || s->broken || s->refuses);
	must_play(v != STANDS || !played_runs(s) || s->unstopped ||
		  may_have_spare(p, s));
	must_play(!s->fills || s->broken || s->unstopped || may_fill(p, s));
	must_play(v != RUNS || played_runs(s) || s->broken);
	must_play(s->door != PLAYED_MET || v != RUNS);
}

/* One that cannot be continued is tried again. */
static void must_not_stick(struct played_node *p, struct played_step *s)
{
	if (played_runs(s) || verdict(p, s) != RUNS)
		s->stuck = 0;
	else if (s->broken || !s->stuck)
		s->stuck = p->now;
	else
		must_play(!p->patience || p->now < s->stuck + p->patience);
}

/* applied: the engine has just decided of all steps. */
static void done(struct played_node *p, bool applied)
{
	const struct turns_act *a;
	size_t n;

	do {
		a = turns_acts(p->t, &n);
		for (size_t i = 0; i < n; i++)
			do_act(p, &a[i]);
	} while (turns_more(p->t, p->now));
	must_be_true(p);
	if (applied && p->by) {
		must_play(!p->guarded);
		grants_end(p);
	}
	for (struct played_step *s = NULL; (s = next_step(p, s));) {
		if (applied)
			must_be_right(p, s);
		must_not_stick(p, s);
	}
}

/* Nobody has paid for what comes. */
static void nobody_pays(struct played_node *p)
{
	p->paid = false;
	for (struct played_step *s = NULL; (s = next_step(p, s));)
		s->pays = false;
}

/* Everything runs: that is said of each call that may have done so. */
static void opened(struct played_node *p)
{
	p->by = NULL;
	p->waits = p->plan = false;
	nobody_pays(p);
	done(p, false);
	for (struct played_step *s = NULL; (s = next_step(p, s));) {
		must_play(played_runs(s) || s->broken);
		must_play(s->door != PLAYED_MET);
	}
}

/* ------------------------------------------------------------------- steps --- */

void played_begin(struct played_node *p, uint32_t self, uint64_t now)
{
	memset(p, 0, sizeof(*p));
	p->self = self;
	p->now = now;
	p->t = turns_create(PLAYED_LONG_TURN);
	must_play(p->t);
}

void played_end(struct played_node *p)
{
	turns_destroy(p->t);
	p->t = NULL;
}

struct played_step *played_add(struct played_node *p, struct turns_step_info is)
{
	struct played_step *s = p->step;

	while (s < p->step + PLAYED_STEPS && s->s)
		s++;
	if (s == p->step + PLAYED_STEPS)
		return NULL;
	is.owner = s;
	*s = (struct played_step) { .is = is,
				    .began = p->now,
				    .starting = is.starting,
				    .srun = is.has_srun };
	s->s = turns_step_add(p->t, &is, p->now);
	must_play(s->s);
	done(p, false);
	must_play(played_runs(s));
	return s;
}

void played_gone(struct played_node *p, struct played_step *s)
{
	struct turns_step *was = s->s;

	turns_step_end(p->t, was, p->now);
	s->leaves = true;
	done(p, false);
	must_play(played_runs(s) || s->broken);
	turns_step_free(p->t, was);
	*s = (struct played_step) { 0 };
}

void played_door(struct played_node *p, struct played_step *s)
{
	(void) p;
	s->door = PLAYED_WAITS;
	turns_step_door(s->s);
}

void played_met(struct played_node *p, struct played_step *s)
{
	s->door = PLAYED_MET;
	s->starting = false;
	turns_step_met(p->t, s->s, p->now, p->now);
	done(p, p->by);
}

void played_door_gone(struct played_node *p, struct played_step *s)
{
	(void) p;
	s->door = PLAYED_NO_DOOR;
	turns_step_door_gone(s->s);
}

/* -------------------------------------------------------------- maps, strobes --- */

void played_map_pack(struct played_map *m)
{
	must_play(!gang_map_check(&m->map));
	must_play(!gang_map_pack(&m->map, &m->bytes, &m->len));
	m->digest = gang_map_digest(m->bytes, m->len);
}

void played_map_free(struct played_map *m)
{
	gang_map_clear(&m->map);
	free(m->bytes);
	m->bytes = NULL;
}

void played_map(struct played_node *p, const struct played_map *m)
{
	struct gang_map map;

	must_play(!gang_map_unpack(m->bytes, m->len, &map));
	if (p->by && p->by == p->known[1])
		p->by = NULL;
	p->known[1] = p->known[0];
	p->known[0] = m;
	turns_map(p->t, &map, m->digest, gang_map_zone(&m->map, p->self),
		  p->self, p->now);
	gang_map_clear(&map); /* the one that came back */
	if (p->by)
		done(p, true);
	else
		opened(p);
}

static void begin_slot(struct played_node *p, const struct played_map *k,
		       uint32_t slot)
{
	if (p->by != k || p->slot != slot)
		nobody_pays(p);
	p->by = k;
	p->slot = slot;
	done(p, true);
}

static void count_missed(struct played_node *p, uint64_t number)
{
	if ((p->by || p->away) && number >> 32 == p->number >> 32)
		p->missed += number - p->number - 1;
	p->number = number;
	p->away = false;
}

/* It is obeyed: what the node knows by it. */
static void hear(struct played_node *p, const struct gang_strobe *st,
		 const struct gang_zone *z)
{
	p->last = *st;
	p->heard = p->now;
	p->silence = gang_silence(z->quantum);
	p->plan = st->next_at;
}

bool played_strobe(struct played_node *p, uint64_t number,
		   const struct gang_strobe *st, uint64_t received, bool slurmd)
{
	const struct played_map *k = meant(p, st);
	const struct gang_zone *z = k ? zone_of(p, k) : NULL;
	uint64_t due;
	bool begins;

	count_missed(p, number);
	begins = turns_strobe(p->t, number, st, received, slurmd, p->now);
	if (!k) {
		must_play(!begins);
		opened(p);
		return false;
	}
	if (!z || z != &k->map.zones[st->zone] || !slurmd) {
		must_play(!begins);
		done(p, false);
		return false;
	}
	hear(p, st, z);
	if (st->slot >= z->rows) {
		must_play(!begins);
		opened(p);
		return true;
	}
	p->waits = !begins;
	if (begins) {
		begin_slot(p, k, st->slot);
		return true;
	}
	/* for no longer than it was sent ahead */
	due = gang_agreed_due(turns_agreed_time(p->t));
	must_play(due <= received + (st->at - st->sent));
	done(p, false);
	return true;
}

void played_agreed(struct played_node *p, bool slurmd)
{
	const struct played_map *k = meant(p, &p->last);
	bool by_plan = !p->waits, acts;
	uint32_t slot = by_plan ? p->last.next : p->last.slot;

	if (p->now < gang_agreed_due(turns_agreed_time(p->t))) {
		must_play(!turns_agreed(p->t, slurmd, p->now));
		done(p, false);
		return;
	}
	must_play(p->waits || p->plan); /* once for each strobe */
	if (by_plan)
		p->plan = false;
	p->waits = false;
	acts = turns_agreed(p->t, slurmd, p->now);
	if (!k || slot >= zone_of(p, k)->rows) {
		must_play(!acts);
		opened(p);
	} else if (!slurmd || (by_plan && (!p->by || k != p->known[0]))) {
		must_play(!acts);
		done(p, false);
	} else {
		must_play(acts);
		begin_slot(p, k, slot);
	}
}

uint64_t played_late(struct played_node *p, bool slurmd)
{
	uint64_t end = turns_late_at(p->t);
	uint64_t next = turns_late(p->t, slurmd, p->now);

	if (end == STORM_NEVER || (p->now < end && slurmd)) {
		must_play(next == end);
		must_play(!p->by || p->now < p->heard + p->silence);
		done(p, false);
	} else {
		/* what is stuck is tried again at any time */
		must_play(!slurmd || !p->by ||
			  p->now + EARLY >= p->heard + p->silence);
		p->why = p->now >= end ? GANG_WHY_SILENCE : GANG_WHY_NO_SLURMD;
		opened(p);
		p->why = 0;
	}
	return next;
}

void played_decide(struct played_node *p)
{
	turns_decide(p->t, p->now);
	done(p, p->by);
}

void played_open(struct played_node *p)
{
	turns_open(p->t, GANG_WHY_NO_SLURMD, p->now);
	opened(p);
}

void played_returned(struct played_node *p)
{
	p->away |= p->by != NULL;
	turns_returned(p->t, p->now);
	opened(p);
}

void played_close(struct played_node *p)
{
	turns_close(p->t, p->now);
	opened(p);
	p->known[0] = p->known[1] = NULL;
	p->number = 0;
	p->away = false;
}

/* -------------------------------------------------------------- what is seen --- */

void played_signal(struct played_node *p, struct played_step *s)
{
	if (turns_step_stands(s->s)) {
		s->granted = true;
		s->granted_until = p->now + HELD;
		p->bills |= !s->is.measured;
	}
	turns_saw_signal(p->t, s->s, p->now);
	done(p, false);
	must_play(!s->granted || !s->stands || s->broken);
}

/* A debugger that attaches to a step of a held job gets moments in which it runs. */
static void attach(struct played_node *p, struct played_step *s, bool wanted)
{
	bool attaches = turns_step_attaches(s->s);

	must_play(!attaches || wanted);
	if (s->attaching)
		must_play(!attaches || p->now <= s->attached + ATTACH);
	else if (attaches)
		must_play(p->now >= s->attached + AGAIN);
	else if (wanted)
		must_play(p->now <= s->attached + AGAIN);
	if (attaches && !s->attaching)
		s->attached = p->now;
	s->attaching = attaches;
}

void played_tracer(struct played_node *p, struct played_step *s, bool traced,
		   bool awaits, bool debug)
{
	bool held = is_held(p, s);

	s->traced = traced && (debug || held);
	turns_saw_tracer(p->t, s->s, traced, awaits, debug, p->now);
	attach(p, s, s->traced && held && awaits);
	done(p, false);
	must_play(turns_step_is_traced(s->s) == s->traced);
	must_play(!s->traced || (held && !s->attaching) || !s->stands ||
		  s->broken);
}

void played_srun(struct played_node *p, struct played_step *s, bool has)
{
	(void) p;
	s->srun = has;
	turns_saw_srun(s->s, has);
}

void played_doubt(struct played_node *p, struct played_step *s, bool others)
{
	turns_saw_doubt(p->t, s->s, others, p->now);
	done(p, false);
	if (!p->by)
		must_play(played_runs(s) || s->broken);
}

void played_threads(struct played_node *p, struct played_step *s, bool there,
		    bool anew)
{
	(void) p;
	if (!there)
		s->class = (struct gang_class) { 0 };
	turns_saw_threads(s->s, there, anew);
}

void played_waits(struct played_node *p, struct played_step *s, uint64_t waits,
		  uint64_t ns)
{
	(void) p;
	turns_saw_waits(s->s, waits, ns / 2, ns / 2, ns);
}

/* ------------------------------------------------------------------ the guards --- */

void played_guard(struct played_node *p)
{
	p->guarded = true;
	turns_freed(p->t);
	for (struct played_step *s = NULL; (s = next_step(p, s));) {
		if (played_runs(s) || s->broken)
			continue;
		s->stands = s->fills = false;
		s->freed = true;
	}
}

uint32_t played_standing(const struct played_node *p)
{
	uint32_t n = 0;

	for (const struct played_step *s = p->step; s < p->step + PLAYED_STEPS;
	     s++)
		n += s->s && !played_runs(s);
	return n;
}
