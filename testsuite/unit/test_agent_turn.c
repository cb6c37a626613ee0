/*
 * test_agent_turn.c - of several slurmds of a node, one watches the agent.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include "src/storm_agent/home/agent_turn.h"
#include "unit.h"

static char dir[64];

/* A process in slurmd's place. */
struct slurmd {
	pid_t pid;
	int news; /* 'T': it has the turn; 'L': it loses it; 'E': it ends */
	int wake; /* a byte ends it */
};

static void setup(void)
{
	strcpy(dir, "/tmp/storm-test-turn-XXXXXX");
	must(mkdtemp(dir));
}

static void teardown(void)
{
	char cmd[128];

	snprintf(cmd, sizeof(cmd), "rm -rf %s", dir);
	must(!system(cmd));
}

static void say(int fd, char what)
{
	if (write(fd, &what, 1) != 1)
		_exit(1);
}

static void serve(int news, int wake)
{
	if (agent_turn_begin(dir, "n1"))
		_exit(1);
	while (agent_turn_wait(wake)) {
		struct pollfd p = { .fd = wake, .events = POLLIN };

		say(news, 'T');
		do
			poll(&p, 1, 20);
		while (!p.revents && agent_turn_keep());
		say(news, 'L');
		agent_turn_give();
	}
	agent_turn_end();
	say(news, 'E');
	_exit(0);
}

static struct slurmd begin(void)
{
	struct slurmd s;
	int news[2], wake[2];

	must(!pipe(news) && !pipe(wake));
	s.pid = fork();
	if (!s.pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		close(news[0]);
		serve(news[1], wake[0]);
	}
	close(news[1]);
	close(wake[0]);
	s.news = news[0];
	s.wake = wake[1];
	return s;
}

static char hear(const struct slurmd *s)
{
	char what = 0;

	must(read(s->news, &what, 1) == 1);
	return what;
}

static bool is_silent(const struct slurmd *s)
{
	struct pollfd p = { .fd = s->news, .events = POLLIN };

	return !poll(&p, 1, 0);
}

static void finish(struct slurmd *s)
{
	char what;

	must(write(s->wake, "", 1) == 1);
	do
		what = hear(s);
	while (what != 'E');
	must(waitpid(s->pid, NULL, 0) == s->pid);
}

START_TEST(test_hand_over)
{
	struct slurmd old = begin(), new;

	must(hear(&old) == 'T');
	new = begin();
	must(hear(&old) == 'L');
	must(hear(&new) == 'T');
	/* the old one ends later, and takes nothing with it */
	finish(&old);
	must(is_silent(&new));
	finish(&new);
}
END_TEST

START_TEST(test_new_one_ends)
{
	struct slurmd old = begin(), new;

	must(hear(&old) == 'T');
	new = begin();
	must(hear(&old) == 'L');
	must(hear(&new) == 'T');
	kill(new.pid, SIGKILL);
	must(hear(&old) == 'T');
	must(waitpid(new.pid, NULL, 0) == new.pid);
	finish(&old);
}
END_TEST

START_TEST(test_old_one_hangs)
{
	struct slurmd old = begin(), new;

	must(hear(&old) == 'T');
	kill(old.pid, SIGSTOP);
	new = begin();
	kill(old.pid, SIGKILL);
	must(hear(&new) == 'T');
	must(waitpid(old.pid, NULL, 0) == old.pid);
	finish(&new);
}
END_TEST

START_TEST(test_chain)
{
	struct slurmd s[4] = { begin() };

	must(hear(&s[0]) == 'T');
	for (int i = 1; i < 4; i++) {
		s[i] = begin();
		must(hear(&s[i - 1]) == 'L');
		must(hear(&s[i]) == 'T');
	}
	for (int i = 0; i < 4; i++)
		finish(&s[i]);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("agent_turn");
	TCase *c = tcase_create("turns");

	tcase_add_checked_fixture(c, setup, teardown);
	tcase_add_test(c, test_hand_over);
	tcase_add_test(c, test_new_one_ends);
	tcase_add_test(c, test_old_one_hangs);
	tcase_add_test(c, test_chain);
	suite_add_tcase(s, c);
	return unit_main(s);
}
