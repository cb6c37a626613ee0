/*
 * test_rota.c - the order of turns: every gang in every round, at deadlines that do
 * not drift; changes of the map starve no gang.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include "src/storm_strober/rota.h"
#include "unit.h"

#define MS STORM_MS
#define START (1000 * STORM_SEC)

/* One zone; job i has row i % rows. */
static void make_map(struct gang_map *m, uint64_t version, uint32_t rows,
		     uint64_t quantum, const uint32_t *ids, uint32_t njobs)
{
	memset(m, 0, sizeof(*m));
	m->version = version;
	m->nodes = 4;
	m->zones = calloc(1, sizeof(*m->zones));
	m->jobs = calloc(njobs + 1, sizeof(*m->jobs));
	must(m->zones && m->jobs);
	m->nzones = 1;
	m->njobs = njobs;
	m->zones[0].rows = rows;
	m->zones[0].quantum = quantum;
	must(!storm_idset_add(&m->zones[0].nodes, 0, 3));
	for (uint32_t i = 0; i < njobs; i++) {
		m->jobs[i].job_id = ids[i];
		must(!storm_idset_add(&m->jobs[i].rows, i % rows, i % rows));
		must(!storm_idset_add(&m->jobs[i].nodes, 0, 3));
	}
	must(!gang_map_check(m));
}

static struct rota *next_rota(struct rota *before, uint64_t version,
			      uint32_t rows, uint64_t quantum,
			      const uint32_t *ids, uint32_t njobs, uint64_t now)
{
	struct gang_map m;
	struct rota *r;

	make_map(&m, version, rows, quantum, ids, njobs);
	r = rota_create(&m, ~version, before, now);
	must(r && !m.jobs && !m.zones);
	rota_destroy(before);
	return r;
}

static const uint32_t three[] = { 11, 22, 33 };

START_TEST(test_cycle)
{
	struct rota *r = next_rota(NULL, 7, 3, 10 * MS, three, 3, START);
	struct gang_strobe s;
	struct rota_stats st;

	for (uint32_t n = 0; n < 12; n++) {
		/* asked late, but the deadlines stand */
		uint64_t now = START + 10 * MS * n + n % 3 * MS;

		must(rota_due(r) == (n ? START + 10 * MS * n : START));
		must(rota_next(r, now, &s));
		must(s.slot == n % 3 && !s.zone && s.version == 7);
		must(s.digest == ~7ULL);
		must(s.at == START + 10 * MS * n && !s.sent);
		must(s.next == (n + 1) % 3 && s.next_at == s.at + 10 * MS);
		must(!rota_next(r, now, &s));
	}
	rota_stats(r, &st);
	must(st.switches == 12 && !st.repeats && !st.late);
	must(rota_given(r, 0, START + 120 * MS) == 44 * MS);
	must(rota_waited(r, 0, START + 120 * MS) == 76 * MS);
	rota_destroy(r);
}
END_TEST

/* However late, each slot has a whole quantum, and what passed is counted. */
START_TEST(test_late)
{
	struct rota *r = next_rota(NULL, 1, 2, 10 * MS, three, 2, START);
	struct gang_strobe s;
	struct rota_stats st;

	must(rota_next(r, START, &s) && s.slot == 0);
	must(rota_next(r, START + 45 * MS, &s) && s.slot == 1);
	must(!rota_next(r, START + 45 * MS, &s));
	must(rota_due(r) == START + 55 * MS);
	rota_stats(r, &st);
	must(st.late == 3);
	rota_destroy(r);
}
END_TEST

/* Long quanta: the strobe is repeated, so that silence means something. */
START_TEST(test_repeats)
{
	uint64_t now = START;
	struct rota *r = next_rota(NULL, 1, 2, 60 * STORM_SEC, three, 2, now);
	struct gang_strobe s;

	for (uint32_t n = 0; n < 1000; n++) {
		uint64_t due = rota_due(r);

		must(due - now <= gang_silence(60 * STORM_SEC) / 2);
		now = due;
		must(rota_next(r, now, &s));
		must(s.slot == (now - START) / (60 * STORM_SEC) % 2);
		/* a repeat is not the beginning, but plans the same */
		must((now - START) % (60 * STORM_SEC) ? !s.at : s.at == now);
		must(s.next == !s.slot);
		must(s.next_at ==
		     START + ((now - START) / (60 * STORM_SEC) + 1) * 60 *
				     STORM_SEC);
	}
	rota_destroy(r);
}
END_TEST

/* Where nothing is shared there are no strobes, but for the farewell. */
START_TEST(test_nothing_shared)
{
	struct rota *r = next_rota(NULL, 1, 1, 10 * MS, three, 1, START);
	struct gang_strobe s;
	uint64_t now = START;

	must(rota_due(r) == STORM_NEVER && !rota_next(r, START, &s));
	r = next_rota(r, 2, 2, 10 * MS, three, 2, START + MS);
	must(rota_next(r, START + MS, &s));
	r = next_rota(r, 3, 1, 10 * MS, three, 1, START + 2 * MS);
	for (int n = 0; n < 3; n++) {
		must(rota_due(r) >= now);
		now = rota_due(r);
		must(rota_next(r, now, &s) && s.slot == GANG_SLOT_ALL);
		must(s.version == 3 && !s.at && !s.next_at);
		/* a map in between does not make nodes miss it */
		if (n == 1)
			r = next_rota(r, 3, 1, 10 * MS, three, 1, now);
	}
	while (rota_due(r) != STORM_NEVER)
		must(rota_next(r, rota_due(r), &s) && s.slot == GANG_SLOT_ALL);
	rota_destroy(r);
}
END_TEST

/* A running job gets its quantum; one that ends makes room at once. */
START_TEST(test_change)
{
	static const uint32_t more[] = { 11, 22, 33, 44 };
	static const uint32_t fewer[] = { 22, 33, 44 };
	struct rota *r = next_rota(NULL, 1, 3, 10 * MS, three, 3, START);
	struct gang_strobe s;

	must(rota_next(r, START, &s) && s.slot == 0);
	r = next_rota(r, 2, 4, 10 * MS, more, 4, START + 4 * MS);
	must(rota_next(r, START + 4 * MS, &s) && s.slot == 0);
	must(s.version == 2);
	must(rota_due(r) == START + 10 * MS);
	/* 11 ends: not at 10, now */
	r = next_rota(r, 3, 3, 10 * MS, fewer, 3, START + 6 * MS);
	must(rota_due(r) == START + 6 * MS);
	must(rota_next(r, START + 6 * MS, &s) && s.slot == 0);
	must(rota_due(r) == START + 16 * MS);
	/* 33, which has waited all along, before 44 */
	r = next_rota(r, 4, 3, 10 * MS, fewer, 3, START + 7 * MS);
	must(rota_next(r, START + 7 * MS, &s) && s.slot == 0);
	must(rota_next(r, START + 16 * MS, &s) && s.slot == 1);
	rota_destroy(r);
}
END_TEST

/* 11 has slot 0, 22 has 1 and 2, 33 has 2. */
static struct rota *two_slots(struct rota *before, uint64_t now)
{
	struct gang_map m;
	struct rota *r;

	make_map(&m, 1, 3, 10 * MS, three, 3);
	must(!storm_idset_add(&m.jobs[1].rows, 2, 2));
	r = rota_create(&m, 1, before, now);
	must(r);
	rota_destroy(before);
	return r;
}

/* A map is sent again for a returned node, in the second slot of a job. The
 * first slot would take the turn of the jobs that share the second slot. */
START_TEST(test_change_in_the_second_slot)
{
	static const uint32_t turns[] = { 0, 1, 2 };
	struct rota *r = two_slots(NULL, START);
	struct gang_strobe s;

	for (uint32_t i = 0; i < 3; i++)
		must(rota_next(r, START + 10 * MS * i, &s) && s.slot == i);
	r = two_slots(r, START + 24 * MS);
	must(rota_next(r, START + 24 * MS, &s) && s.slot == 2);
	for (uint32_t i = 0; i < 3; i++) {
		must(rota_due(r) == START + (30 + 10 * i) * MS);
		must(rota_next(r, START + (30 + 10 * i) * MS, &s));
		must(s.slot == turns[i]);
	}
	rota_destroy(r);
}
END_TEST

START_TEST(test_pause)
{
	struct rota *r = next_rota(NULL, 1, 2, 10 * MS, three, 2, START);
	struct gang_strobe s;
	uint64_t now = START;

	must(rota_next(r, now, &s) && s.slot == 0);
	now += 4 * MS;
	rota_pause(r, now);
	rota_pause(r, now);
	for (int n = 0; n < 3; n++) {
		must(rota_due(r) != STORM_NEVER);
		must(rota_next(r, rota_due(r), &s));
		must(s.slot == GANG_SLOT_ALL);
	}
	must(rota_due(r) == STORM_NEVER);
	now += STORM_SEC;
	/* all of them ran meanwhile */
	must(rota_given(r, 0, now) == STORM_SEC + 4 * MS);
	must(rota_given(r, 1, now) == STORM_SEC);
	rota_continue(r, now);
	rota_continue(r, now);
	must(rota_due(r) == now && rota_next(r, now, &s) && s.slot == 1);
	must(rota_given(r, 0, now + MS) == STORM_SEC + 4 * MS);
	must(rota_given(r, 1, now + MS) == STORM_SEC + MS);
	rota_destroy(r);
}
END_TEST

/* Every map puts 11 and 22 one behind the other, whichever runs, and 33 last. */
START_TEST(test_permuted)
{
	struct rota *r = next_rota(NULL, 1, 3, 10 * MS, three, 3, START);
	uint64_t now = START, served = now;
	struct gang_strobe s;

	for (uint32_t n = 2; n < 100; n++) {
		struct rota *before = r;
		struct gang_map m;

		now = rota_due(r);
		must(rota_next(r, now, &s));
		if (storm_idset_has(&rota_map(r)->jobs[2].rows, s.slot))
			served = now;
		must(now - served <= 50 * MS);
		make_map(&m, n, 3, 10 * MS, three, 3);
		if (storm_idset_has(&rota_map(r)->jobs[1].rows, s.slot)) {
			struct storm_idset swap = m.jobs[0].rows;

			m.jobs[0].rows = m.jobs[1].rows;
			m.jobs[1].rows = swap;
		}
		now += MS;
		r = rota_create(&m, 0, before, now);
		must(r);
		rota_destroy(before);
		must(rota_next(r, now, &s));
	}
	rota_destroy(r);
}
END_TEST

/*
 * Maps change at random, mostly faster than a cycle: no job that stays waits
 * longer than it takes to serve each of the others once.
 */
START_TEST(test_no_starvation)
{
	enum { JOBS = 12 };
	struct rnd r = rnd_of(_i);
	uint64_t now = START, quantum = (1 + below(&r, 20)) * MS;
	uint64_t change = now, waits_since[JOBS] = { now, now };
	uint32_t rows = 2, version = 0;
	uint64_t mean = quantum * (1 + below(&r, 8));
	struct rota *rota = NULL;
	bool in[JOBS] = { true, true };

	for (int n = 0; n < 3000; n++) {
		uint64_t due = rota ? rota_due(rota) : now;
		const struct gang_map *m;
		struct gang_strobe s;

		if (change <= due) {
			uint32_t ids[JOBS], count = 0;

			now = change;
			change += 1 + rnd64(&r) % mean;
			for (uint32_t i = 0; i < JOBS; i++) {
				if (!below(&r, 6)) {
					in[i] = !in[i];
					waits_since[i] = now;
				}
				if (in[i] || i < 2)
					ids[count++] = i + 1;
				if (!in[i] && i < 2)
					in[i] = true;
			}
			rows = 2 + below(&r, count - 1);
			rota = next_rota(rota, ++version, rows, quantum, ids,
					 count, now);
			continue;
		}
		now = due;
		must(rota_next(rota, now, &s));
		must(s.version == version && s.slot < rows);
		m = rota_map(rota);
		for (uint32_t i = 0; i < m->njobs; i++) {
			uint32_t id = m->jobs[i].job_id - 1;

			must(now <=
			     waits_since[id] + (JOBS + 1) * JOBS * quantum);
			if (storm_idset_has(&m->jobs[i].rows, s.slot))
				waits_since[id] = now;
		}
	}
	rota_destroy(rota);
}
END_TEST

/* A job without a row has no turn.  It waits, and the others go on, also if it had
 * waited longest.  Released, it is next. */
START_TEST(test_held)
{
	struct rota *r = next_rota(NULL, 1, 3, 10 * MS, three, 3, START);
	uint64_t now = START;
	struct gang_strobe s;
	struct gang_map m;

	must(rota_next(r, now, &s) && s.slot == 0);
	now += 5 * MS;
	/* job 11, whose turn it is, is held: there is a new slot at once */
	make_map(&m, 2, 2, 10 * MS, three, 3);
	storm_idset_clear(&m.jobs[0].rows);
	must(!gang_map_check(&m));
	for (int turn = 0; turn < 2; turn++) {
		struct rota *next = rota_create(&m, ~2ULL, r, now);

		must(next);
		rota_destroy(r);
		r = next;
		must(rota_due(r) == now && rota_next(r, now, &s));
		must(s.version == 2 && s.slot == 1);
		now += 10 * MS;
		must(rota_next(r, now, &s) && !s.slot);
		now += 10 * MS;
		must(rota_given(r, 0, now) == 5 * MS);
		must(rota_waited(r, 0, now) == 20 * MS * ((uint64_t) turn + 1));
		/* the others have other rows, as with a map that changes */
		make_map(&m, 2, 2, 10 * MS, three, 3);
		storm_idset_clear(&m.jobs[0].rows);
	}
	gang_map_clear(&m);
	/* as if nobody had had a turn */
	rota_pause(r, now);
	rota_continue(r, now + MS);
	must(rota_given(r, 0, now + MS) == 6 * MS);
	now += MS;
	must(rota_next(r, now, &s));
	now += 10 * MS;
	must(rota_next(r, now, &s));
	now += 10 * MS;
	r = next_rota(r, 3, 3, 10 * MS, three, 3, now);
	must(rota_next(r, now, &s) && s.version == 3 && s.slot == 0);
	must(rota_given(r, 0, now) == 6 * MS);
	must(rota_waited(r, 0, now) == 60 * MS);
	rota_destroy(r);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("rota");
	TCase *t = tcase_create("rota");

	tcase_add_test(t, test_cycle);
	tcase_add_test(t, test_late);
	tcase_add_test(t, test_repeats);
	tcase_add_test(t, test_nothing_shared);
	tcase_add_test(t, test_change);
	tcase_add_test(t, test_change_in_the_second_slot);
	tcase_add_test(t, test_pause);
	tcase_add_test(t, test_permuted);
	tcase_add_test(t, test_held);
	tcase_add_loop_test(t, test_no_starvation, 0, unit_runs(40));
	suite_add_tcase(s, t);
	return unit_main(s);
}
