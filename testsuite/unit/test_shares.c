/*
 * test_shares.c - the account of what each job has had: shares.h.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include "config.h"

#include <errno.h>

#include "slurm/slurm.h"
#include "src/common/xmalloc.h"
#include "src/common/xstring.h"

#include "src/plugins/sched/storm/shares.h"
#include "unit.h"

static uint32_t held_job;
static bool by_admin;

/* Two nodes of a core each; the jobs given, each on both nodes but 9, which is
 * on the second alone. */
static void look(struct plan *p, const uint32_t *ids, uint32_t n)
{
	struct snapshot s = { .nzones = 1, .nnodes = 2, .njobs = n };

	s.zones = xcalloc(1, sizeof(*s.zones));
	s.nodes = xcalloc(2, sizeof(*s.nodes));
	s.jobs = xcalloc(n + 1, sizeof(*s.jobs));
	s.zones[0].quantum = 20 * STORM_MS;
	s.zones[0].columns = 2;
	for (uint32_t i = 0; i < 2; i++) {
		s.nodes[i].name = xstrdup(i ? "n2" : "n1");
		s.nodes[i].column = i;
		s.nodes[i].cores = 1;
	}
	must(!storm_idset_add(&s.zones[0].nodes, 0, 1));
	for (uint32_t i = 0; i < n; i++) {
		uint32_t first = ids[i] == 9;

		s.jobs[i].job_id = ids[i];
		s.jobs[i].gang = ids[i];
		s.jobs[i].held = ids[i] == held_job;
		s.jobs[i].by_admin = s.jobs[i].held && by_admin;
		must(!storm_idset_add(&s.jobs[i].nodes, first, 1));
		must(!storm_idset_add(&s.jobs[i].columns, first, 1));
	}
	must(plan_update(p, &s, !p->matrix, MATRIX_FIRST_FIT));
}

static const struct share *of(const struct shares *s, uint32_t job_id)
{
	for (uint32_t i = 0; i < s->njobs; i++)
		if (s->job[i].job_id == job_id)
			return &s->job[i];
	return NULL;
}

/* A node that leaves and one that returns are news, each once. */
START_TEST(test_outside)
{
	static const uint32_t both[] = { 5, 7 };
	struct strober_outside out[2] = { { .node = 1, .since = 50 } };
	struct shares s = { 0 };
	struct plan p = { 0 };

	look(&p, both, 2);
	shares_update(&s, &p, NULL, 0);
	must(!shares_outside(&s, out, 0, false));
	must(shares_outside(&s, out, 1, false));
	must(!s.node[0].out && s.node[1].out == 50);
	must(!shares_outside(&s, out, 1, false));
	shares_update(&s, &p, NULL, 0);
	must(s.node[1].out == 50);
	out[0].node = 0;
	must(shares_outside(&s, out, 1, false));
	must(s.node[0].out == 50 && !s.node[1].out);
	/* for another reason than before */
	out[0].lacks = ENOSPC;
	must(shares_outside(&s, out, 1, false) && s.node[0].lacks == ENOSPC);
	must(!shares_outside(&s, out, 1, false));
	out[0].deaf = 1;
	must(shares_outside(&s, out, 1, false) && s.node[0].deaf);
	must(!shares_outside(&s, out, 1, false));
	out[0].unheard = 1;
	must(shares_outside(&s, out, 1, false) && s.node[0].unheard);
	must(!shares_outside(&s, out, 1, false));
	must(shares_outside(&s, out, 1, true));
	must(shares_outside(&s, NULL, 0, false));
	must(!s.node[0].out);
	shares_clear(&s);
	plan_clear(&p);
}
END_TEST

START_TEST(test_life)
{
	static const uint32_t alone[] = { 5 }, both[] = { 5, 7 };
	struct strober_given given[2] = {
		{ .job_id = 5, .ns = 100, .waited = 40 },
		{ .job_id = 7, .ns = 40, .waited = 100 }
	};
	struct shares s = { 0 };
	struct plan p = { 0 };

	look(&p, alone, 1);
	shares_update(&s, &p, NULL, 0);
	must(!s.njobs && !s.node[0].jobs); /* nothing is shared */
	look(&p, both, 2);
	shares_update(&s, &p, given, 2);
	must(s.njobs == 2 && s.node[0].jobs == 2 && s.node[1].jobs == 2);
	for (uint32_t i = 0; i < 2; i++) {
		const struct share *x = of(&s, both[i]);

		must(x->slots == 1 && x->cycle == 2 && x->round == 2);
		must(x->quantum == 20 * STORM_MS && x->fresh);
		must(x->had == given[i].ns && x->waited == given[i].waited);
	}
	must(of(&s, 5)->slot != of(&s, 7)->slot);
	/* 7 is suspended, and then the strober counts from nothing */
	look(&p, alone, 1);
	given[1].ns = 50;
	shares_update(&s, &p, given, 2);
	must(of(&s, 5)->slots == 1 && of(&s, 5)->cycle == 1);
	must(!of(&s, 7)->slots && of(&s, 7)->had == 50);
	must(!s.node[0].jobs);
	look(&p, both, 2);
	given[0].ns = given[0].waited = 0;
	given[1].ns = 3;
	given[1].waited = 2;
	shares_update(&s, &p, given, 2);
	must(of(&s, 5)->had == 100 && of(&s, 7)->had == 53);
	must(of(&s, 5)->waited == 40 && of(&s, 7)->waited == 102);
	given[1].ns = 10;
	shares_update(&s, &p, given, 2);
	must(of(&s, 7)->had == 60);
	s.job[0].gone = true;
	shares_forget(&s);
	must(s.njobs == 1 && !of(&s, 5) && of(&s, 7)->had == 60);
	shares_clear(&s);
	plan_clear(&p);
}
END_TEST

/* Each job has what its own nodes have missed while it shared. */
START_TEST(test_missed)
{
	static const uint32_t jobs[] = { 5, 7, 9 };
	uint64_t missed[2] = { 10, 20 };
	struct shares s = { 0 };
	struct plan p = { 0 };

	look(&p, jobs, 2);
	shares_update(&s, &p, NULL, 0);
	shares_missed(&s, &p, missed, 2);
	must(!of(&s, 5)->missed); /* not theirs */
	missed[0] += 30;
	shares_missed(&s, &p, missed, 2);
	must(of(&s, 5)->missed == 30);
	look(&p, jobs, 3);
	shares_update(&s, &p, NULL, 0);
	missed[0]++;
	missed[1] += 2;
	shares_missed(&s, &p, missed, 2);
	must(of(&s, 5)->missed == 33 && of(&s, 9)->missed == 2);
	must(s.node[0].missed == 41 && s.node[1].missed == 22);
	missed[1] = 1; /* another agent */
	shares_missed(&s, &p, missed, 2);
	must(of(&s, 9)->missed == 3 && s.node[1].missed == 1);
	shares_missed(&s, &p, missed, 1); /* of another domain */
	must(s.node[1].missed == 1);
	shares_clear(&s);
	plan_clear(&p);
}
END_TEST

/* A job is held as long as strobes are by maps that hold it.  It is proven to stand by
 * the first of these maps or a later one, and not where it may run. */
START_TEST(test_held)
{
	static const uint32_t both[] = { 5, 7 };
	struct strober_outside out = { .node = 0, .since = 50 };
	bool loose[2] = { false };
	struct shares_proof proof = { .force = 9, .proof = 9, .loose = loose };
	struct shares s = { 0 };
	struct plan p = { 0 };
	struct gang_map m;

	held_job = 5;
	look(&p, both, 2);
	must(plan_map(&p, &m) && m.njobs == 1 && gang_job_held(&m.jobs[0]));
	must(m.jobs[0].job_id == 5 && m.zones[0].rows == 2);
	gang_map_clear(&m);
	must(shares_held(&s, &p, 10, &proof));
	shares_update(&s, &p, NULL, 0);
	must(of(&s, 5) && !of(&s, 5)->slots && !of(&s, 7));
	must(shares_held(&s, &p, 10, &proof));
	must(of(&s, 5)->held == 10 && of(&s, 5)->nodes == 2);
	must(!of(&s, 5)->stands && !shares_held(&s, &p, 10, &proof));
	proof.proof = 10;
	must(shares_held(&s, &p, 10, &proof) && of(&s, 5)->stands == 2);
	/* a later map, which also holds it, is not proven yet */
	must(!shares_held(&s, &p, 11, &proof) && of(&s, 5)->stands == 2);
	loose[1] = true;
	must(shares_held(&s, &p, 11, &proof) && of(&s, 5)->stands == 1);
	must(shares_outside(&s, &out, 1, false));
	must(shares_held(&s, &p, 11, &proof) && !of(&s, 5)->stands);
	loose[1] = false;
	must(shares_outside(&s, NULL, 0, true));
	must(!shares_held(&s, &p, 11, &proof) && !of(&s, 5)->stands);
	must(shares_outside(&s, NULL, 0, false));
	must(shares_held(&s, &p, 11, &proof) && of(&s, 5)->stands == 2);
	/* released */
	held_job = 0;
	look(&p, both, 2);
	shares_update(&s, &p, NULL, 0);
	proof.force = 11;
	must(shares_held(&s, &p, 12, &proof) && of(&s, 5)->held);
	must(!of(&s, 5)->stands && !shares_held(&s, &p, 13, &proof));
	proof.force = 12;
	must(shares_held(&s, &p, 13, &proof) && !of(&s, 5)->held);
	/* held again, and gone */
	held_job = 5;
	look(&p, both, 2);
	must(shares_held(&s, &p, 14, &proof) && of(&s, 5)->held == 14);
	look(&p, both + 1, 1);
	must(shares_held(&s, &p, 15, &proof) && !of(&s, 5)->held);
	held_job = 0;
	shares_clear(&s);
	plan_clear(&p);
}
END_TEST

/* Its owner's holds are not time that it has waited, however often it is held and
 * released; an administrator's are. */
START_TEST(test_who_holds)
{
	static const uint32_t both[] = { 5, 7 };
	bool loose[2] = { false };
	struct shares_proof proof = { .force = 9, .proof = 9, .loose = loose };
	struct strober_given given = { .job_id = 5, .ns = 1, .waited = 10 };
	struct shares s = { 0 };
	struct plan p = { 0 };

	held_job = 5;
	look(&p, both, 2);
	shares_update(&s, &p, &given, 1);
	must(of(&s, 5)->waited == 0);
	held_job = 0;
	look(&p, both, 2);
	given.waited = 30;
	shares_update(&s, &p, &given, 1);
	must(of(&s, 5)->waited == 20);
	/* held between two accounts alone */
	held_job = 5;
	look(&p, both, 2);
	shares_held(&s, &p, 10, &proof);
	held_job = 0;
	look(&p, both, 2);
	given.waited = 40;
	shares_update(&s, &p, &given, 1);
	must(of(&s, 5)->waited == 20);
	by_admin = true;
	held_job = 5;
	look(&p, both, 2);
	shares_held(&s, &p, 11, &proof);
	given.waited = 100;
	shares_update(&s, &p, &given, 1);
	must(of(&s, 5)->waited == 80);
	by_admin = false;
	held_job = 0;
	shares_clear(&s);
	plan_clear(&p);
}
END_TEST

/* Beside jobs as heavy as itself a job waits for as many turns as there are others. */
START_TEST(test_wait_most)
{
	must(shares_wait_most(600, 3, 1, 1) == 1800);
	must(shares_wait_most(600, 3, 1, 4) == 7200);
	must(shares_wait_most(600, 1, 4, 4) == 600);
	must(shares_wait_most(600, 0, 0, 1) == 0);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("shares");
	TCase *t = tcase_create("shares");

	tcase_add_test(t, test_life);
	tcase_add_test(t, test_outside);
	tcase_add_test(t, test_missed);
	tcase_add_test(t, test_held);
	tcase_add_test(t, test_who_holds);
	tcase_add_test(t, test_wait_most);
	suite_add_tcase(s, t);
	return unit_main(s);
}
