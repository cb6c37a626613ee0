/*
 * test_step_wake.c - the contract of step_wake.h: a sleep ends, again and again;
 * what is no sleep goes on.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <time.h>

#include "src/libstorm/base/clock.h"
#include "src/stepd/step_wake.h"
#include "unit.h"

START_TEST(test_sleeps_end)
{
	const struct timespec minute = { .tv_sec = 60 };
	uint64_t begun = storm_now();

	step_wake_start();
	ck_assert(sleep(60) > 30);
	ck_assert(nanosleep(&minute, NULL) == -1 && errno == EINTR);
	/* after 1 s, and 2 s; the rest is patience with a busy machine */
	ck_assert(storm_now() - begun < 40 * STORM_SEC);
}
END_TEST

/* One long enough to be seen. */
START_TEST(test_others_go_on)
{
	int fds[2];
	struct pollfd p = { .events = POLLIN };

	must(!pipe(fds));
	p.fd = fds[0];
	step_wake_start();
	for (int i = 0; i < 3; i++)
		ck_assert_int_eq(poll(&p, 1, 1200), 0);
	/* and the next sleep ends */
	ck_assert(sleep(60) > 30);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("step_wake");
	TCase *t = tcase_create("step_wake");

	tcase_set_timeout(t, 120);
	tcase_add_test(t, test_sleeps_end);
	tcase_add_test(t, test_others_go_on);
	suite_add_tcase(s, t);
	return unit_main(s);
}
