/*
 * test_strober_state.c - the cluster domain's epoch on disk: of all processes that
 * save a successor of the same epoch one succeeds, and damaged data are rejected.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <sys/wait.h>
#include <unistd.h>

#include "src/libstorm/storm.h"
#include "src/plugins/sched/storm/strober/strober_state.h"
#include "unit.h"

static char dir[64], path[96];

static void quiet(enum storm_log_level level, const char *msg)
{
	(void) level;
	(void) msg;
}

static void setup(void)
{
	storm_log_set(quiet);
	strcpy(dir, "/tmp/storm-test-state-XXXXXX");
	must(mkdtemp(dir));
	snprintf(path, sizeof(path), "%s/storm_gang", dir);
}

static void teardown(void)
{
	static const char *const ends[] = { "", ".lock", ".new" };
	char name[128];

	for (int i = 0; i < 3; i++) {
		snprintf(name, sizeof(name), "%s%s", path, ends[i]);
		unlink(name);
	}
	/* nothing else was left there */
	must(!rmdir(dir));
}

static char *names[] = { "n1", "a-node.with_a.name" };

START_TEST(test_round_trip)
{
	struct strober_saved now = { .epoch = 5,
				     .excluded = names,
				     .nexcluded = 2 },
			     s;

	must(!strober_state_load(path, &s));
	must(!s.epoch && !s.nexcluded && !s.excluded);
	must(strober_state_save(path, 4, &now) == -1);
	must(!strober_state_save(path, 0, &now));
	must(!strober_state_load(path, &s));
	must(s.epoch == 5 && s.nexcluded == 2);
	ck_assert_str_eq(s.excluded[0], names[0]);
	ck_assert_str_eq(s.excluded[1], names[1]);
	strober_state_clear(&s);
	now.epoch = UINT32_MAX;
	now.nexcluded = 0;
	must(strober_state_save(path, 0, &now) == -1);
	must(!strober_state_save(path, 5, &now));
	must(!strober_state_load(path, &s));
	must(s.epoch == UINT32_MAX && !s.nexcluded);
	strober_state_clear(&s);
}
END_TEST

static void put(const char *text, size_t len)
{
	FILE *f = fopen(path, "w");

	must(f && fwrite(text, 1, len, f) == len && !fclose(f));
}

START_TEST(test_damaged)
{
	static const char good[] =
		"storm gang 1\nepoch 7\nexcluded n1\nexcluded n2\nend\n";
	struct strober_saved s, now = { .epoch = 8 };

	put(good, sizeof(good) - 1);
	must(!strober_state_load(path, &s) && s.epoch == 7 && s.nexcluded == 2);
	strober_state_clear(&s);
	for (size_t n = 0; n < sizeof(good) - 1; n++) {
		put(good, n);
		must(strober_state_load(path, &s) == -1);
		must(!s.epoch && !s.excluded);
		must(strober_state_save(path, 0, &now) == -1);
		must(strober_state_save(path, 7, &now) == -1);
	}
	put("storm gang 2\nepoch 7\nend\n", 26);
	must(strober_state_load(path, &s) == -1);
	put("storm gang 1\nepoch x\nend\n", 26);
	must(strober_state_load(path, &s) == -1);
}
END_TEST

/* Processes at once: each epoch is saved by one of them. */
START_TEST(test_one_wins)
{
	enum { PROCESSES = 8, EPOCHS = 30 };
	uint32_t won = 0;

	for (int p = 0; p < PROCESSES; p++) {
		if (fork())
			continue;
		for (uint32_t e = 0; e < EPOCHS; e++) {
			struct strober_saved now = { .epoch = e + 1 };

			won += !strober_state_save(path, e, &now);
		}
		_exit((int) won);
	}
	for (int p = 0; p < PROCESSES; p++) {
		int status;

		must(wait(&status) > 0 && WIFEXITED(status));
		won += (uint32_t) WEXITSTATUS(status);
	}
	ck_assert_uint_eq(won, EPOCHS);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("strober_state");
	TCase *t = tcase_create("strober_state");

	tcase_add_checked_fixture(t, setup, teardown);
	tcase_set_timeout(t, 120);
	tcase_add_test(t, test_round_trip);
	tcase_add_test(t, test_damaged);
	tcase_add_test(t, test_one_wins);
	suite_add_tcase(s, t);
	return unit_main(s);
}
