/*
 * test_turns.c - whose turn it is on a node, by turns.h alone.  The steps are played:
 * what an act does to one is noted, and compared with what turns.h says that it is.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include "src/libstorm/base/units.h"
#include "src/storm_agent/turns/turns.h"
#include "unit.h"

#define QUANTUM (10 * STORM_MS)
#define EPOCH (3ull << 32)
#define SELF 1
#define STEPS 12

/* A step as the freezers would have it. */
struct played {
	struct turns_step *s;
	uint32_t job;
	bool stands, fills, exec;
	bool breaks; /* it cannot be continued, nor fill */
	uint64_t used;
	uint32_t stops, agains, starts, looks, begins, ends;
	bool failed; /* it was to run, and could not */
	uint64_t began;
	bool starting;	 /* what a look finds */
	uint64_t asleep; /* what the end of a turn finds, of 100 */
	bool exact;
};

static struct turns *t;
static struct played step[STEPS];
static bool idle[STEPS]; /* the group of each job, as Slurm has them: all of its
			    steps give way */
static bool refused;	 /* an act was */
static uint64_t now, number, version;
static enum gang_what noted[4096];
static size_t nnoted;
static bool unmeasured; /* nobody can tell what the next steps use */

static void do_act(const struct turns_act *a)
{
	struct played *p = a->step ? turns_step_owner(a->step) : NULL;
	uint64_t turn;

	switch (a->verb) {
	case TURNS_NOTE:
		break;
	case TURNS_STOP:
		must(a->again || !p->stands);
		p->stops += a->noted;
		p->agains += a->again;
		p->stands = true;
		p->fills = false;
		break;
	case TURNS_CONTINUE:
		must(p->stands || p->fills);
		must(a->filled == p->fills);
		p->failed = p->breaks;
		if (p->breaks) {
			refused = true;
			turns_failed(t, a);
			return;
		}
		p->stands = p->fills = false;
		if (!a->beside)
			idle[p->job] = false;
		break;
	case TURNS_FILL:
		must(a->ran == !p->stands);
		must(a->again || !p->fills);
		p->agains += a->again;
		if (p->breaks) {
			refused = true;
			turns_failed(t, a);
			return;
		}
		p->stands = false;
		p->fills = true;
		idle[p->job] = true;
		break;
	case TURNS_START:
		must(!p->exec);
		if (p->stands) {
			turns_failed(t, a);
			return;
		}
		p->exec = true;
		p->starts++;
		break;
	case TURNS_USE:
		turns_used(a->step, p->used, true);
		break;
	case TURNS_LOOK:
		p->looks++;
		if (!p->starting)
			turns_started(a->step);
		break;
	case TURNS_BEGIN:
		p->begins++;
		p->began = now;
		break;
	case TURNS_END:
		p->ends++;
		turn = a->over ? a->over - p->began : 0;
		turns_slept(a->step, turn, turn * p->asleep / 100, p->exact);
		break;
	}
	if (a->noted)
		noted[nnoted++ % 4096] = a->event.what;
}

/* It does while one step is to, and not without a step that is held.  What a kernel
 * that refuses leaves is right again with the job's next turn. */
static void see_group(uint32_t job)
{
	bool fills = false, held = false;

	for (int i = 0; i < STEPS; i++) {
		if (!step[i].s || step[i].job != job)
			continue;
		fills |= step[i].fills;
		held |= step[i].stands || step[i].fills;
	}
	must(fills ? idle[job] : held || !idle[job]);
}

/* Do all of it, and compare. */
static void run(void)
{
	const struct turns_act *a;
	uint32_t standing = 0;
	size_t n;

	do {
		a = turns_acts(t, &n);
		for (size_t i = 0; i < n; i++)
			do_act(&a[i]);
	} while (turns_more(t, now));
	for (int i = 0; i < STEPS; i++) {
		if (!step[i].s)
			continue;
		must(turns_step_stands(step[i].s) == step[i].stands);
		must(turns_step_fills(step[i].s) == step[i].fills);
		must(!step[i].stands || !step[i].fills);
		standing += step[i].stands || step[i].fills;
	}
	must(turns_standing(t) == standing);
	for (uint32_t job = 0; !refused && job < STEPS; job++)
		see_group(job);
}

static void begin(void)
{
	now = 1000 * STORM_SEC;
	number = EPOCH;
	version = 0;
	nnoted = 0;
	unmeasured = false;
	memset(step, 0, sizeof(step));
	memset(idle, 0, sizeof(idle));
	refused = false;
	t = turns_create(60 * STORM_SEC);
	must(t);
}

static void add_as(int i, struct turns_step_info is)
{
	is.owner = &step[i];
	is.measured = !unmeasured;
	step[i] = (struct played) { .job = is.job, .exec = true };
	step[i].s = turns_step_add(t, &is, now);
	must(step[i].s);
	run();
}

static void add(int i, uint32_t job)
{
	add_as(i, (struct turns_step_info) { .job = job });
}

static void gone(int i)
{
	struct turns_step *s = step[i].s;

	turns_step_end(t, s, now);
	step[i].s = NULL;
	run();
	must(step[i].breaks || (!step[i].stands && !step[i].fills));
	turns_step_free(t, s);
}

/* A map of jobs 1 to n.  rows[i]: a bit for each row of job i + 1. */
static void map_as(uint32_t rows, uint32_t n, const uint32_t *has,
		   enum gang_policy policy, uint64_t quantum)
{
	struct gang_map m = { .version = ++version, .nodes = 4 };

	m.zones = calloc(1, sizeof(*m.zones));
	m.nzones = 1;
	m.zones[0] = (struct gang_zone) { .rows = rows,
					  .quantum = quantum,
					  .policy = policy };
	must(!storm_idset_add(&m.zones[0].nodes, 0, 3));
	m.jobs = calloc(n, sizeof(*m.jobs));
	m.njobs = n;
	for (uint32_t i = 0; i < n; i++) {
		m.jobs[i].job_id = i + 1;
		must(!storm_idset_add(&m.jobs[i].nodes, 0, 3));
		for (uint32_t r = 0; r < rows; r++)
			if (has[i] >> r & 1)
				must(!storm_idset_add(&m.jobs[i].rows, r, r));
	}
	turns_map(t, &m, version + 100, 0, SELF, now);
	run();
	gang_map_clear(&m);
}

static void map(uint32_t rows, uint32_t n, const uint32_t *has)
{
	map_as(rows, n, has, GANG_POLICY_GANG, QUANTUM);
}

/* Job i + 1 has row i. */
static void map_each(uint32_t n)
{
	uint32_t has[32];

	for (uint32_t i = 0; i < n; i++)
		has[i] = 1u << i;
	map(n, n, has);
}

static void strobe_as(uint32_t slot, uint64_t of_version, bool slurmd)
{
	struct gang_strobe st = { .slot = slot,
				  .version = of_version,
				  .digest = of_version + 100,
				  .sent = now };

	turns_strobe(t, ++number, &st, now, slurmd, now);
	run();
}

static void strobe(uint32_t slot)
{
	now += QUANTUM;
	strobe_as(slot, version, true);
}

static void finish(void)
{
	turns_close(t, now);
	run();
	for (int i = 0; i < STEPS; i++)
		if (step[i].s && !step[i].breaks)
			must(!step[i].stands && !step[i].fills);
	turns_destroy(t);
}

#define runs(i) (!step[i].stands && !step[i].fills)

/* ----------------------------------------------------------------- strobes --- */

START_TEST(test_turns)
{
	begin();
	for (int i = 0; i < 3; i++)
		add(i, i + 1);
	map_each(3);
	must(runs(0) && runs(1) && runs(2)); /* no strobe yet */
	must(turns_late_at(t) == STORM_NEVER);
	for (int turn = 0; turn < 12; turn++) {
		strobe(turn % 3);
		for (int i = 0; i < 3; i++)
			must(runs(i) == (i == turn % 3));
		strobe(turn % 3); /* a repetition changes nothing */
		for (int i = 0; i < 3; i++)
			must(runs(i) == (i == turn % 3));
	}
	must(step[0].stops == 4 && turns_counted(t)->slots == 12);
	finish();
}
END_TEST

START_TEST(test_silence)
{
	uint64_t end;

	begin();
	add(0, 1);
	add(1, 2);
	map_each(2);
	strobe(0);
	end = turns_late_at(t);
	must(end > now && end <= now + gang_silence(QUANTUM));
	now = end - 1;
	must(turns_late(t, true, now) == end);
	run();
	must(!runs(1));
	now = end;
	turns_late(t, true, now);
	run();
	must(runs(0) && runs(1));
	must(turns_late_at(t) == STORM_NEVER);
	strobe(1);
	must(!runs(0) && runs(1));
	/* slurmd is away: at once */
	turns_late(t, false, now);
	run();
	must(runs(0) && runs(1));
	strobe_as(0, version, false);
	must(runs(0) && runs(1));
	finish();
}
END_TEST

START_TEST(test_unknown_map)
{
	struct gang_strobe other = { 0 };

	begin();
	add(0, 1);
	add(1, 2);
	map_each(2);
	strobe(0);
	must(!runs(1));
	strobe_as(0, version + 7, true);
	must(runs(0) && runs(1));
	strobe(0);
	must(!runs(1));
	/* another map of that version */
	other.version = version;
	other.digest = version;
	turns_strobe(t, ++number, &other, now, true, now);
	run();
	must(runs(0) && runs(1));
	strobe(0);
	/* strobes may still name the map before, not the one before that */
	map_each(2);
	must(!runs(1));
	strobe_as(1, version - 1, true);
	must(runs(1) && !runs(0));
	map_each(2);
	strobe_as(1, version - 2, true);
	must(runs(0) && runs(1));
	strobe_as(5, version, true); /* there is no such slot */
	must(runs(0) && runs(1));
	finish();
}
END_TEST

/* Slot i; it begins at the time that the strobe names, if that one waits. */
static void agreed_strobe(uint32_t i)
{
	struct gang_strobe st = { .slot = i % 2,
				  .version = version,
				  .digest = version + 100,
				  .sent = now,
				  .at = now + STORM_MS,
				  .next = (i + 1) % 2,
				  .next_at = now + STORM_MS + QUANTUM };

	if (!turns_strobe(t, ++number, &st, now, true, now)) {
		now = gang_agreed_due(turns_agreed_time(t));
		must(turns_agreed(t, true, now));
	}
	run();
	must(runs(i % 2) && !runs((i + 1) % 2));
}

START_TEST(test_agreed)
{
	const struct turns_count *count;
	uint64_t base;
	uint32_t i = 0;

	begin();
	add(0, 1);
	add(1, 2);
	map_each(2);
	base = now;
	count = turns_counted(t);
	for (; i < 400; i++) {
		now = base + i * QUANTUM;
		agreed_strobe(i);
	}
	must(count->agreed > 100 && !count->planned);
	/* the next one is lost */
	now = gang_agreed_due(turns_agreed_time(t));
	must(turns_agreed(t, true, now));
	run();
	must(count->planned == 1 && runs(i % 2) && !runs((i + 1) % 2));
	for (i++; i < 410; i++) {
		now = base + i * QUANTUM;
		agreed_strobe(i);
	}
	/* a new map may have other slots than were planned */
	map_each(2);
	now = gang_agreed_due(turns_agreed_time(t));
	must(!turns_agreed(t, true, now));
	run();
	must(count->planned == 1);
	finish();
}
END_TEST

START_TEST(test_not_in_map)
{
	begin();
	add(0, 1);
	add(1, 2);
	add(2, 9);
	map_each(2);
	strobe(0);
	must(runs(0) && !runs(1) && runs(2));
	/* it leaves the newest map: it runs, though the strobe's has it */
	map_each(1);
	must(runs(1));
	finish();
}
END_TEST

START_TEST(test_steps_come_and_go)
{
	begin();
	map_each(2);
	add(0, 1);
	strobe(0);
	add(1, 2);
	turns_decide(t, now);
	run();
	must(!runs(1));
	gone(1);
	add(1, 2);
	gone(0);
	strobe(0);
	must(!runs(1));
	strobe(1);
	must(runs(1));
	must(turns_counted(t)->steps == 3);
	finish();
}
END_TEST

START_TEST(test_missed)
{
	begin();
	add(0, 1);
	map_each(2);
	strobe(0);
	number += 5;
	strobe(1);
	must(turns_counted(t)->missed == 5);
	number += 1ull << 32; /* another epoch: nobody knows how many */
	strobe(1);
	must(turns_counted(t)->missed == 5);
	turns_returned(t, now);
	run();
	number += 3; /* they came while this process stood */
	strobe(0);
	must(turns_counted(t)->missed == 8);
	finish();
}
END_TEST

/* ----------------------------------------------------------------- failures --- */

/* The one truth stays that it stands. */
START_TEST(test_cannot_be_continued)
{
	begin();
	add(0, 1);
	add(1, 2);
	map_each(2);
	strobe(0);
	step[1].breaks = true;
	strobe(1);
	must(step[1].stands && turns_step_stands(step[1].s));
	strobe(1); /* again */
	must(step[1].stands);
	turns_open(t, GANG_WHY_NO_SLURMD, now);
	run();
	must(step[1].stands && turns_late_at(t) != STORM_NEVER);
	/* not as often as the caller can */
	now += STORM_SEC;
	must(turns_late(t, true, now) == STORM_NEVER);
	run();
	must(step[1].stands);
	step[1].breaks = false;
	turns_saw_doubt(t, step[1].s, false, now);
	run();
	must(runs(1));
	finish();
}
END_TEST

START_TEST(test_guard_freed_them)
{
	begin();
	add(0, 1);
	add(1, 2);
	map_each(2);
	strobe(0);
	must(step[1].stops == 1);
	/* behind the engine's back: it stops what stands for it already */
	step[1].stands = false;
	turns_freed(t);
	strobe(0); /* the same slot */
	must(step[1].stands && step[1].stops == 1 && step[1].agains == 1);
	must(noted[nnoted - 1] == GANG_OPEN);
	/* so with processes that began meanwhile */
	step[1].stands = false;
	turns_saw_doubt(t, step[1].s, true, now);
	run();
	must(step[1].stands && step[1].stops == 1 && step[1].agains == 2);
	finish();
}
END_TEST

/* One that owes turns gives way while it has a debugger, and a look changes nothing. */
START_TEST(test_debtor_with_a_debugger)
{
	begin();
	add(0, 1);
	add_as(1, (struct turns_step_info) { .job = 2, .can_fill = true });
	map_each(2);
	strobe(0);
	turns_saw_tracer(t, step[1].s, true, false, true, now);
	run();
	must(runs(1));
	for (int i = 0; i < 20 && !step[1].fills; i++) {
		strobe(i % 2);
		if (i % 2 == 0)
			step[1].used += QUANTUM;
	}
	must(step[1].fills);
	turns_saw_tracer(t, step[1].s, true, false, true, now);
	run();
	must(step[1].fills);
	finish();
}
END_TEST

/* Its tasks stay at the door if what was to let it run fails. */
START_TEST(test_door_of_one_that_stands)
{
	begin();
	add(0, 1);
	add(1, 2);
	map_each(2);
	step[1].exec = false;
	turns_step_door(step[1].s);
	strobe(0);
	turns_step_met(t, step[1].s, now, now);
	run();
	must(step[1].stands);
	step[1].breaks = true;
	strobe(1);
	must(step[1].stands && !step[1].exec);
	step[1].breaks = false;
	turns_saw_doubt(t, step[1].s, false, now);
	strobe(1);
	must(runs(1) && step[1].exec);
	finish();
}
END_TEST

/* What could not be continued, and was by a guard: turns.h learns that only of all, so
 * it counts until it can stop them again. */
START_TEST(test_guard_freed_a_stuck_one)
{
	begin();
	add(0, 1);
	add(1, 2);
	map_each(2);
	strobe(0);
	step[1].breaks = true;
	turns_open(t, GANG_WHY_SILENCE, now);
	run();
	must(!runs(1));
	turns_freed(t);
	turns_decide(t, now); /* a step has come or gone */
	run();
	must(!step[1].agains);
	strobe(0);
	must(!runs(1) && step[1].agains == 1);
	strobe(0);
	must(step[1].agains == 1);
	finish();
}
END_TEST

/* ------------------------------------------------------------------ excuses --- */

START_TEST(test_signal)
{
	begin();
	add(0, 1);
	add(1, 2);
	map_each(2);
	strobe(0);
	turns_saw_signal(t, step[1].s, now);
	run();
	must(runs(1));
	strobe(0);
	must(runs(1)); /* until its turn is over */
	strobe(1);
	must(runs(1));
	strobe(0);
	must(!runs(1));
	finish();
}
END_TEST

START_TEST(test_held)
{
	const uint32_t has[] = { 1, 0 };

	begin();
	add(0, 1);
	add(1, 2);
	add_as(2, (struct turns_step_info) { .job = 2, .script = true });
	map(2, 2, has);
	strobe(0);
	must(!runs(1) && runs(2)); /* a script runs for its step */
	must(turns_step_is_held(t, step[1].s));
	must(turns_step_must_stand(t, step[1].s));
	must(!turns_step_must_stand(t, step[2].s));
	strobe(1);
	must(!runs(1));
	turns_saw_signal(t, step[1].s, now);
	run();
	must(runs(1));
	now += 200 * STORM_MS;
	strobe(1);
	must(!runs(1)); /* it has no turn that would end that */
	/* a debugger looks at it as it stands, once it has attached */
	turns_saw_tracer(t, step[1].s, true, true, false, now);
	run();
	must(runs(1) && turns_step_attaches(step[1].s));
	turns_saw_tracer(t, step[1].s, true, false, false, now);
	run();
	strobe(1);
	must(!runs(1));
	/* another one */
	now += STORM_SEC;
	turns_saw_tracer(t, step[1].s, true, true, false, now);
	run();
	must(runs(1));
	finish();
}
END_TEST

START_TEST(test_debugger)
{
	begin();
	add(0, 1);
	add(1, 2);
	map_each(2);
	strobe(0);
	turns_saw_tracer(t, step[1].s, true, false, false, now);
	run();
	must(!runs(1)); /* GangDebug=no */
	turns_saw_tracer(t, step[1].s, true, false, true, now);
	run();
	must(runs(1));
	strobe(0);
	must(runs(1));
	turns_saw_tracer(t, step[1].s, false, false, true, now);
	run();
	strobe(0);
	must(!runs(1));
	finish();
}
END_TEST

START_TEST(test_script)
{
	begin();
	add(0, 1);
	add_as(1, (struct turns_step_info) { .job = 2, .script = true });
	map_each(2);
	strobe(0);
	must(!runs(1));
	turns_saw_srun(step[1].s, true);
	strobe(0);
	must(runs(1));
	turns_saw_srun(step[1].s, false);
	strobe(0);
	must(!runs(1));
	add(2, 2);
	strobe(0);
	must(runs(1) && !runs(2));
	gone(2);
	strobe(0);
	must(!runs(1));
	/* in a minute its commands would time out */
	map_as(2, 2, (const uint32_t[]) { 1, 2 }, GANG_POLICY_GANG,
	       60 * STORM_SEC);
	strobe(0);
	must(runs(1));
	finish();
}
END_TEST

START_TEST(test_starting)
{
	begin();
	add(0, 1);
	add_as(1, (struct turns_step_info) { .job = 2, .starting = true });
	step[1].starting = true;
	map_each(2);
	strobe(0);
	must(runs(1) && step[1].looks == 1);
	strobe(0);
	must(runs(1) && step[1].looks == 2);
	step[1].starting = false;
	strobe(0);
	must(!runs(1) && step[1].looks == 3);
	strobe(0);
	must(step[1].looks == 3);
	/* not for ever */
	add_as(2, (struct turns_step_info) { .job = 2, .starting = true });
	step[2].starting = true;
	strobe(0);
	must(runs(2));
	now += 6 * STORM_SEC;
	strobe(0);
	must(!runs(2));
	finish();
}
END_TEST

START_TEST(test_door)
{
	begin();
	add(0, 1);
	add(1, 2);
	map_each(2);
	step[1].exec = false;
	turns_step_door(step[1].s);
	strobe(0);
	must(runs(1) && !step[1].exec); /* some of its tasks come late */
	turns_step_met(t, step[1].s, now, now);
	run();
	must(!runs(1) && !step[1].exec);
	strobe(0);
	must(!step[1].exec);
	strobe(1);
	must(runs(1) && step[1].exec && step[1].starts == 1);
	strobe(0);
	strobe(1);
	must(step[1].starts == 1);
	/* without turns nobody waits */
	turns_open(t, GANG_WHY_CLOSED, now);
	run();
	add(2, 2);
	step[2].exec = false;
	turns_step_door(step[2].s);
	turns_step_met(t, step[2].s, now, now);
	run();
	must(step[2].exec);
	finish();
}
END_TEST

/* --------------------------------------------------------------------- bill --- */

/* A script that computes out of its turn pays with its job's turns. */
START_TEST(test_pays)
{
	int had = 0, turns = 0;

	begin();
	add(0, 1);
	add(1, 2);
	add_as(2, (struct turns_step_info) {
			  .job = 2, .script = true, .has_srun = true });
	map_each(2);
	for (int i = 0; i < 200; i++) {
		strobe(i % 2);
		if (i % 2) {
			turns++;
			had += runs(1);
		} else if (runs(2)) {
			step[2].used += QUANTUM / 2;
		}
	}
	must(turns == 100 && had > 30 && had < 70);
	finish();
}
END_TEST

/* One whose switches cost much gives others their time back. */
START_TEST(test_switches_cost)
{
	int had = 0;

	begin();
	add(0, 1);
	add(1, 2);
	map_each(2);
	for (int i = 0; i < 200; i++) {
		strobe(i % 2);
		turns_cost(step[1].s, TURNS_STOP, QUANTUM / 8);
		turns_cost(step[1].s, TURNS_CONTINUE, QUANTUM / 8);
		turns_cost(step[0].s, TURNS_STOP, 1000);
		if (i % 2)
			had += runs(1);
		else
			must(runs(0));
	}
	must(had > 10 && had < 90);
	finish();
}
END_TEST

/* What a step owes when it ends, another one of its job does. */
START_TEST(test_debt_stays)
{
	begin();
	add(0, 1);
	add(1, 2);
	add_as(2, (struct turns_step_info) {
			  .job = 2, .script = true, .has_srun = true });
	map_each(2);
	strobe(0);
	must(runs(2));
	step[2].used += 2 * QUANTUM;
	strobe(1);
	strobe(0);
	gone(2);
	strobe(1);
	must(!runs(1));
	finish();
}
END_TEST

/* A signal brings a step a turn that nobody can measure. */
START_TEST(test_signals_cost)
{
	int had = 0;

	begin();
	unmeasured = true;
	add(0, 1);
	add(1, 2);
	map_each(2);
	turns_cost(step[0].s, TURNS_STOP, 1000);
	for (int i = 0; i < 100; i++) {
		strobe(0);
		turns_saw_signal(t, step[1].s, now);
		run();
		must(runs(1));
		strobe(1); /* it skips no turn that it is to end in */
		must(runs(1) && !runs(0));
		strobe(0);
		strobe(1);
		had += runs(1);
	}
	must(had > 10 && had < 90);
	finish();
}
END_TEST

/* A turn that is skipped goes to one of those that may share cores. */
START_TEST(test_spare)
{
	int skipped = 0;

	begin();
	for (int i = 0; i < 3; i++)
		add(i, i + 1);
	turns_cost(step[1].s, TURNS_STOP, 1000);
	map_each(3);
	for (int i = 0; i < 300; i++) {
		turns_cost(step[0].s, TURNS_STOP, QUANTUM);
		strobe(i % 3);
		must(runs(0) + runs(1) + runs(2) == 1);
		skipped += i % 3 == 0 && !runs(0);
	}
	must(skipped > 10);
	finish();
}
END_TEST

/* A step that begins in such a turn, and has it, may have the cores of the one that
 * was given it. */
START_TEST(test_spare_ends)
{
	const uint32_t has[] = { 1, 2, 1 };

	begin();
	add(0, 1);
	add(1, 2);
	turns_cost(step[1].s, TURNS_STOP, 1000);
	map(2, 3, has);
	do {
		turns_cost(step[0].s, TURNS_STOP, QUANTUM);
		strobe(1);
		strobe(0);
	} while (runs(0));
	must(runs(1)); /* the first job pays */
	add(2, 3);
	turns_decide(t, now);
	run();
	must(runs(2) && !runs(1) && !runs(0));
	finish();
}
END_TEST

/* --------------------------------------------------------------------- fill --- */

START_TEST(test_fills)
{
	const uint32_t has[] = { 1, 2 };

	begin();
	for (int i = 0; i < 2; i++) {
		add_as(i, (struct turns_step_info) { .job = i + 1,
						     .can_fill = true });
		turns_saw_threads(step[i].s, true, true);
		step[i].exact = true;
	}
	step[0].asleep = 80;
	map_as(2, 2, has, GANG_POLICY_FLEXIBLE, QUANTUM);
	for (int i = 0; i < 40; i++)
		strobe(i % 2);
	strobe(0);
	must(runs(0) && step[1].fills); /* the first one sleeps */
	strobe(1);
	must(runs(1) && step[0].stands); /* the second one never does */
	must(step[0].begins && step[0].ends);
	/* who fills stops when nobody says whose turn it is */
	strobe(0);
	must(step[1].fills);
	turns_open(t, GANG_WHY_SILENCE, now);
	run();
	must(runs(0) && runs(1));
	/* one that cannot give way stands */
	strobe(0);
	step[1].breaks = true;
	strobe(1);
	strobe(0);
	must(!runs(1));
	finish();
}
END_TEST

/* -------------------------------------------------------------------- yield --- */

#define LONG (100 * STORM_MS)

static void two_yield(enum gang_policy policy, uint64_t quantum, bool can_fill)
{
	const uint32_t has[] = { 1, 2 };

	begin();
	for (int i = 0; i < 2; i++)
		add_as(i, (struct turns_step_info) { .job = i + 1,
						     .can_fill = can_fill });
	map_as(2, 2, has, policy, quantum);
}

/* Who has no turn gives way, and nobody is ever stopped. */
START_TEST(test_yields)
{
	two_yield(GANG_POLICY_YIELD, LONG, true);
	for (int i = 0; i < 20; i++) {
		strobe(i % 2);
		must(runs(i % 2) && step[!(i % 2)].fills);
	}
	/* a guard let it run as if nobody else were there */
	turns_freed(t);
	strobe(1);
	must(step[0].fills && step[0].agains == 1 && runs(1));
	strobe(1);
	must(step[0].agains == 1);
	turns_open(t, GANG_WHY_SILENCE, now);
	run();
	must(runs(0) && runs(1));
	strobe(0);
	/* a signal of root's is handled as it is */
	turns_saw_signal(t, step[1].s, now);
	run();
	must(step[1].fills && !step[0].stops && !step[1].stops);
	gone(1);
	strobe(1);
	must(step[0].fills && !step[0].stops);
	finish();
}
END_TEST

/* By the group of their job, as where all groups are Slurm's of version 2: what one of
 * its steps does must not end it for the others. */
START_TEST(test_yields_by_job)
{
	const struct turns_step_info script = { .job = 1,
						.script = true,
						.can_fill = true };

	two_yield(GANG_POLICY_YIELD, LONG, true);
	add_as(2, (struct turns_step_info) { .job = 1, .can_fill = true });
	add_as(3, (struct turns_step_info) { .job = 1, .can_fill = true });
	strobe(1);
	must(step[0].fills && step[2].fills && step[3].fills && idle[1]);
	gone(2);
	must(idle[1] && !idle[2]);
	strobe(0); /* all of them go on */
	must(runs(0) && runs(3) && !idle[1] && idle[2]);
	strobe(1);
	gone(0);
	must(idle[1]);
	gone(3); /* the last one */
	must(!idle[1]);
	/* a script that may run beside its step has what this has */
	add_as(2, (struct turns_step_info) { .job = 1, .can_fill = true });
	add_as(3, script);
	strobe(1);
	must(step[2].fills && runs(3) && idle[1]);
	gone(2);
	must(!idle[1]);
	/* and so has one that is let run by a signal, beside one that stands */
	map_as(2, 2, (const uint32_t[]) { 1, 2 }, GANG_POLICY_GANG, LONG);
	add_as(2, (struct turns_step_info) {
			  .job = 1, .can_fill = true, .yields = true });
	add_as(4, (struct turns_step_info) { .job = 1, .can_fill = true });
	strobe(1);
	must(step[2].fills && step[4].stands && idle[1]);
	turns_saw_signal(t, step[4].s, now);
	run();
	must(runs(4) && step[2].fills && idle[1]);
	turns_open(t, GANG_WHY_SILENCE, now);
	run();
	must(runs(2) && runs(4) && !idle[1]);
	finish();
}
END_TEST

/* Where it cannot give way, or would take too much of a short turn, it is stopped. */
START_TEST(test_yields_not)
{
	for (int i = 0; i < 3; i++) {
		two_yield(i == 0 ? GANG_POLICY_GANG : GANG_POLICY_YIELD,
			  i == 1 ? GANG_YIELD_MIN - 1 : GANG_YIELD_MIN, i != 2);
		strobe(0);
		must(runs(0) && step[1].stands);
		strobe(1);
		must(runs(1) && step[0].stands);
		finish();
	}
	two_yield(GANG_POLICY_YIELD, GANG_YIELD_MIN, true);
	step[1].breaks = true;
	strobe(0); /* at once, in place of giving way */
	must(runs(0) && step[1].stands);
	step[1].breaks = false;
	strobe(1);
	must(runs(1) && step[0].fills);
	strobe(0); /* not tried again */
	must(runs(0) && step[1].stands);
	finish();
}
END_TEST

/* A held job stands: storm hold promises that. */
START_TEST(test_yields_but_held)
{
	two_yield(GANG_POLICY_YIELD, LONG, true);
	strobe(0);
	must(step[1].fills);
	map_as(2, 2, (const uint32_t[]) { 1, 0 }, GANG_POLICY_YIELD, LONG);
	strobe(0);
	must(step[1].stands && turns_step_must_stand(t, step[1].s));
	strobe(1);
	must(step[1].stands && step[0].fills);
	map_as(2, 2, (const uint32_t[]) { 1, 2 }, GANG_POLICY_YIELD, LONG);
	strobe(0);
	must(step[1].fills && step[1].stops == 1);
	/* the policy is gang from now on, and yield again */
	map_as(2, 2, (const uint32_t[]) { 1, 2 }, GANG_POLICY_GANG, LONG);
	strobe(0);
	must(step[1].stands);
	map_as(2, 2, (const uint32_t[]) { 1, 2 }, GANG_POLICY_YIELD, LONG);
	strobe(0);
	must(step[1].fills && step[1].stops == 2);
	finish();
}
END_TEST

/* A user wants it: that one gives way beside one that stands, and pays for the CPU
 * time out of its turns, as its turns are its neighbour's then. */
START_TEST(test_yields_by_wish)
{
	const struct turns_step_info wish = { .job = 1,
					      .can_fill = true,
					      .yields = true };
	int had = 0, other = 0;

	begin();
	add_as(0, wish);
	add_as(1, (struct turns_step_info) { .job = 2, .can_fill = true });
	map_as(2, 2, (const uint32_t[]) { 1, 2 }, GANG_POLICY_GANG, LONG);
	for (int i = 0; i < 20; i++) {
		strobe(i % 2);
		must(i % 2 ? step[0].fills && runs(1) :
			     runs(0) && step[1].stands);
	}
	for (int i = 0; i < 200; i++) {
		strobe(i % 2);
		had += runs(0);
		other += runs(1);
		step[0].used += step[0].fills && runs(1) ? LONG / 4 : 0;
	}
	/* of three it pays one: a quarter of all that the other has */
	must(had > 60 && had < 75 && other == 200 - had);
	must(!step[0].stops);
	finish();
	/* nobody could bill that */
	begin();
	unmeasured = true;
	add_as(0, wish);
	unmeasured = false;
	add(1, 2);
	map_as(2, 2, (const uint32_t[]) { 1, 2 }, GANG_POLICY_GANG, LONG);
	strobe(1);
	must(step[0].stands);
	finish();
}
END_TEST

/* Where others fill gaps nobody has a wish: a step that never stands cannot be measured,
 * so nobody could fill what it leaves. */
START_TEST(test_no_wish_where_others_fill)
{
	begin();
	for (int i = 0; i < 2; i++) {
		add_as(i, (struct turns_step_info) { .job = i + 1,
						     .can_fill = true,
						     .yields = !i });
		turns_saw_threads(step[i].s, true, true);
	}
	step[0].asleep = 100;
	step[0].exact = true;
	map_as(2, 2, (const uint32_t[]) { 1, 2 }, GANG_POLICY_FLEXIBLE, LONG);
	for (int i = 0; i < 20; i++) {
		strobe(i % 2);
		must(i % 2 ? runs(1) && step[0].stands : runs(0));
	}
	must(step[0].stops && step[0].ends);
	strobe(0);
	must(runs(0) && step[1].fills);
	finish();
}
END_TEST

/* Where all give way nobody pays for what others leave. */
START_TEST(test_yields_free)
{
	two_yield(GANG_POLICY_YIELD, LONG, true);
	for (int i = 0; i < 100; i++) {
		strobe(i % 2);
		must(runs(i % 2) && step[!(i % 2)].fills);
		step[0].used += LONG / 2;
	}
	finish();
}
END_TEST

/* A new step need not wait for its turn. */
START_TEST(test_yields_before_exec)
{
	two_yield(GANG_POLICY_YIELD, LONG, true);
	strobe(0);
	add_as(2, (struct turns_step_info) { .job = 2, .can_fill = true });
	turns_step_door(step[2].s);
	step[2].exec = false;
	turns_decide(t, now);
	run();
	must(runs(2) && !step[2].starts);
	turns_step_met(t, step[2].s, now, now);
	run();
	must(step[2].fills && step[2].starts == 1 && !step[2].stops);
	finish();
}
END_TEST

/* What runs out of its turn, and owes for that, is not stopped either. */
START_TEST(test_yields_in_debt)
{
	int gave = 0;

	two_yield(GANG_POLICY_YIELD, LONG, true);
	add_as(2, (struct turns_step_info) { .job = 2,
					     .script = true,
					     .can_fill = true,
					     .has_srun = true });
	for (int i = 0; i < 40; i++) {
		strobe(i % 2);
		if (runs(2) && !(i % 2))
			step[2].used += LONG;
		must(runs(i % 2) || (i % 2 && step[1].fills));
		gave += i % 2 && step[1].fills; /* it pays */
		must(!step[2].stands);
	}
	must(gave > 5 && !step[1].stops && !step[2].stops);
	finish();
}
END_TEST

/* A number that a strober of a later version sends. */
START_TEST(test_later_policy)
{
	const uint32_t has[] = { 1, 2 };

	begin();
	for (int i = 0; i < 2; i++)
		add_as(i, (struct turns_step_info) { .job = i + 1,
						     .can_fill = true });
	map_as(2, 2, has, (enum gang_policy) UINT8_MAX, 100 * STORM_MS);
	for (int i = 0; i < 4; i++) {
		strobe(i % 2);
		must(runs(i % 2) && step[!(i % 2)].stands);
	}
	finish();
}
END_TEST

/* ------------------------------------------------------------------- by chance --- */

/* Whatever comes: what was said of steps is true (run()), all run without a strobe,
 * and all do in the end. */
static void something(struct rnd *r)
{
	uint32_t has[6];
	int i = (int) below(r, STEPS);
	struct played *p = &step[i];

	switch (below(r, 14)) {
	case 0:
		if (p->s)
			gone(i);
		else
			add_as(i, (struct turns_step_info) {
					  .job = 1 + below(r, 6),
					  .script = !below(r, 4),
					  .can_fill = below(r, 2),
					  .yields = !below(r, 3),
					  .starting = !below(r, 3) });
		p->starting = below(r, 2);
		p->asleep = below(r, 101);
		p->exact = below(r, 2);
		turns_decide(t, now);
		break;
	case 1:
		for (int k = 0; k < 6; k++)
			has[k] = below(r, 5) ? 1u << below(r, 3) : 0;
		map_as(3, 1 + below(r, 6), has,
		       (enum gang_policy) below(r, GANG_POLICIES),
		       below(r, 2) ? QUANTUM : LONG);
		return;
	case 2:
		turns_freed(t);
		return;
	case 3:
		now += below(r, 200) * STORM_MS;
		turns_late(t, below(r, 10), now);
		break;
	case 4:
		turns_open(t, GANG_WHY_NO_SLURMD, now);
		break;
	case 5:
		if (p->s)
			turns_saw_signal(t, p->s, now);
		break;
	case 6:
		if (p->s)
			turns_saw_tracer(t, p->s, below(r, 2), below(r, 2),
					 below(r, 2), now);
		break;
	case 7:
		if (p->s)
			turns_saw_threads(p->s, below(r, 4), below(r, 4) == 0);
		if (p->s)
			turns_saw_srun(p->s, below(r, 2));
		return;
	case 8:
		p->breaks = below(r, 4) == 0;
		if (p->s)
			turns_saw_doubt(t, p->s, below(r, 2), now);
		break;
	case 9:
		p->used += below(r, 20) * STORM_MS;
		if (p->s)
			turns_cost(p->s, TURNS_STOP, below(r, 2000) * 1000);
		return;
	case 10:
		turns_returned(t, now);
		break;
	default:
		number += !below(r, 20) * below(r, 5);
		now += below(r, 12) * STORM_MS;
		strobe_as(below(r, 3), version - !below(r, 15), below(r, 30));
		return;
	}
	run();
}

START_TEST(test_by_chance)
{
	struct rnd r = rnd_of(_i);

	begin();
	for (int n = 0; n < 2000; n++) {
		bool newest;

		something(&r);
		if (turns_strobed(t, &newest))
			continue;
		for (int i = 0; i < STEPS; i++)
			must(!step[i].s || runs(i) || step[i].failed);
	}
	finish();
}
END_TEST

int main(void)
{
	Suite *s = suite_create("turns");
	TCase *c = tcase_create("turns");

	tcase_add_test(c, test_turns);
	tcase_add_test(c, test_silence);
	tcase_add_test(c, test_unknown_map);
	tcase_add_test(c, test_agreed);
	tcase_add_test(c, test_not_in_map);
	tcase_add_test(c, test_steps_come_and_go);
	tcase_add_test(c, test_missed);
	tcase_add_test(c, test_cannot_be_continued);
	tcase_add_test(c, test_guard_freed_them);
	tcase_add_test(c, test_debtor_with_a_debugger);
	tcase_add_test(c, test_door_of_one_that_stands);
	tcase_add_test(c, test_guard_freed_a_stuck_one);
	tcase_add_test(c, test_signal);
	tcase_add_test(c, test_held);
	tcase_add_test(c, test_debugger);
	tcase_add_test(c, test_script);
	tcase_add_test(c, test_starting);
	tcase_add_test(c, test_door);
	tcase_add_test(c, test_pays);
	tcase_add_test(c, test_switches_cost);
	tcase_add_test(c, test_debt_stays);
	tcase_add_test(c, test_signals_cost);
	tcase_add_test(c, test_spare);
	tcase_add_test(c, test_spare_ends);
	tcase_add_test(c, test_fills);
	tcase_add_test(c, test_yields);
	tcase_add_test(c, test_yields_by_job);
	tcase_add_test(c, test_yields_not);
	tcase_add_test(c, test_yields_but_held);
	tcase_add_test(c, test_yields_by_wish);
	tcase_add_test(c, test_no_wish_where_others_fill);
	tcase_add_test(c, test_yields_free);
	tcase_add_test(c, test_yields_before_exec);
	tcase_add_test(c, test_yields_in_debt);
	tcase_add_test(c, test_later_policy);
	tcase_add_loop_test(c, test_by_chance, 0, unit_runs(100));
	suite_add_tcase(s, c);
	return unit_main(s);
}
