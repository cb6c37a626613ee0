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

#include "small_disk.h"
#include "src/libstorm/storm.h"
#include "src/storm_strober/strober_state.h"
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
	static const char *const ends[] = { "", ".lock", ".old" };
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

static size_t take(char *buf, size_t size)
{
	FILE *f = fopen(path, "re");
	size_t n;

	must(f);
	n = fread(buf, 1, size, f);
	fclose(f);
	must(n && n < size);
	return n;
}

#define EPOCH(life, n) ((uint32_t) (life) << 16 | (n))

/* The damaged file is as good as one of a later owner than any that can have
 * written it, and can be replaced. */
static void must_recover(bool has_old)
{
	struct strober_saved s, now = { 0 };

	must(!strober_state_load(path, &s));
	if (has_old)
		must(s.epoch == EPOCH(3, 6) && s.nexcluded == 2);
	else /* of the date: half days since 2020 */
		must(s.epoch > EPOCH(4800, 0) && !s.nexcluded);
	now.epoch = s.epoch + 1;
	strober_state_clear(&s);
	must(!strober_state_save(path, s.epoch, &now));
	must(!strober_state_load(path, &s) && s.epoch == now.epoch);
	strober_state_clear(&s);
}

static void must_recover_from(const char *text, size_t len, const char *old,
			      size_t old_len)
{
	char name[128];

	snprintf(name, sizeof(name), "%s.old", path);
	put_file(path, text, len);
	if (old)
		put_file(name, old, old_len);
	else
		unlink(name);
	must_recover(old && old[old_len - 1] == '\n');
}

START_TEST(test_damaged)
{
	struct strober_saved s, old = { .epoch = EPOCH(2, 6),
					.excluded = names,
					.nexcluded = 2 };
	struct strober_saved now = { .epoch = EPOCH(2, 7) };
	char before[256], text[256];
	size_t blen, len;

	must(!strober_state_save(path, 0, &old));
	blen = take(before, sizeof(before));
	must(!strober_state_save(path, old.epoch, &now));
	len = take(text, sizeof(text));
	for (size_t i = 0; i < len; i++) {
		must_recover_from(text, i, before, blen);
		must_recover_from(text, i, before, blen - 1);
		must_recover_from(text, i, NULL, 0);
		for (int bit = 0; bit < 8; bit++) {
			text[i] ^= 1 << bit;
			must_recover_from(text, len, before, blen);
			text[i] ^= 1 << bit;
		}
	}
	put_file(path, text, len);
	must(!strober_state_load(path, &s) && s.epoch == now.epoch);
	strober_state_clear(&s);
}
END_TEST

/* What STORM 0.1 has written. */
START_TEST(test_version_1)
{
	static const char good[] =
		"storm gang 1\nepoch 7\nexcluded n1\nexcluded n2\nend\n";
	struct strober_saved s;

	put_file(path, good, sizeof(good) - 1);
	must(!strober_state_load(path, &s) && s.epoch == 7 && s.nexcluded == 2);
	strober_state_clear(&s);
	for (size_t n = 0; n < sizeof(good) - 1; n++) {
		put_file(path, good, n);
		must(!strober_state_load(path, &s) && s.epoch > 0xffff);
		strober_state_clear(&s);
	}
}
END_TEST

START_TEST(test_full_disk)
{
	struct strober_saved s, now = { .epoch = 1 };

	if (!small_disk(dir))
		return;
	must(!strober_state_save(path, 0, &now));
	now.epoch = 2;
	must(strober_state_save(path, 1, &now) == -1);
	must(!strober_state_load(path, &s) && s.epoch == 1);
	must(!umount(dir));
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
	tcase_add_test(t, test_round_trip);
	tcase_add_test(t, test_damaged);
	tcase_add_test(t, test_version_1);
	tcase_add_test(t, test_full_disk);
	tcase_add_test(t, test_one_wins);
	suite_add_tcase(s, t);
	return unit_main(s);
}
