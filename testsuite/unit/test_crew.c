/*
 * test_crew.c - shared work: each piece is done once, with any number of workers,
 * even if some come late.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include <stdatomic.h>

#include "src/libstorm/base/crew.h"
#include "unit.h"

#define PIECES 100

struct job {
	atomic_uint times[PIECES], others;
	unsigned int size;
};

static void piece(void *arg, unsigned int who, size_t i)
{
	struct job *j = arg;

	if (who >= j->size)
		abort();
	atomic_fetch_add(&j->times[i], 1);
	if (who)
		atomic_fetch_add(&j->others, 1);
}

START_TEST(test_once)
{
	unsigned int size = 2 + (unsigned int) _i;
	struct storm_crew *c = storm_crew_start(size);
	struct rnd r = rnd_of(_i);

	must(c);
	for (int k = 0; k < unit_runs(2000); k++) {
		struct job j = { .size = size };
		size_t n = below(&r, PIECES + 1);

		storm_crew_run(c, piece, &j, n);
		for (size_t i = 0; i < PIECES; i++)
			must(atomic_load(&j.times[i]) == (i < n));
		/* some time they sleep */
		if (!below(&r, 500))
			usleep(2000);
	}
	storm_crew_stop(c);
}
END_TEST

/* A worker that waits for the others lets them work. */
static void meet(void *arg, unsigned int who, size_t i)
{
	atomic_uint *here = arg;

	(void) who;
	(void) i;
	atomic_fetch_add(here, 1);
	while (atomic_load(here) < 3)
		usleep(100);
}

START_TEST(test_all_work)
{
	struct storm_crew *c = storm_crew_start(3);
	atomic_uint here = 0;

	must(c);
	usleep(20000);		/* they sleep */
	storm_crew_run(c, meet, &here, 3);
	must(atomic_load(&here) == 3);
	storm_crew_stop(c);
	storm_crew_stop(NULL);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("crew");
	TCase *t = tcase_create("crew");

	tcase_set_timeout(t, 120);
	tcase_add_loop_test(t, test_once, 0, STORM_CREW_MAX - 1);
	tcase_add_test(t, test_all_work);
	suite_add_tcase(s, t);
	return unit_main(s);
}
