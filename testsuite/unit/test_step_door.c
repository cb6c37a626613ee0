/*
 * test_step_door.c - tasks wait at the door until the agent opens it, is gone, or
 * never was there; and no longer than the limit.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "src/stepd/step_door.h"
#include "src/storm_common/local/local.h"
#include "unit.h"

#define TASKS 3

static const struct step_owner owner = {
	.job = 7,
	.step = 1,
	.het = 5,
	.uid = 20001,
};

static char dir[64];
static int agent; /* listens */
static pid_t task[TASKS];
static int through[2]; /* each task writes a byte when it goes on */

static void setup(void)
{
	strcpy(dir, "/tmp/storm-test-door-XXXXXX");
	must(mkdtemp(dir));
	must((agent = local_listen(dir, "n1")) >= 0);
	must(!pipe(through));
}

static void teardown(void)
{
	char cmd[128];

	step_door_leave();
	close(agent);
	close(through[0]);
	close(through[1]);
	snprintf(cmd, sizeof(cmd), "rm -rf %s", dir);
	must(!system(cmd));
}

/* The agent's end, from the frame. */
static int take(void)
{
	static struct local_frame f;
	struct pollfd p = { .fd = agent, .events = POLLIN };
	enum local_type type;
	int conn, end;

	must(poll(&p, 1, -1) == 1);
	must((conn = accept(agent, NULL, NULL)) >= 0);
	must(local_recv(conn, &f, &type) == 1 && type == LOCAL_DOOR);
	must(local_get32(&f) == 7 && local_get32(&f) == 1);
	must(local_get32(&f) == 5 && local_get32(&f) == 20001);
	must(local_end(&f) && f.fd >= 0);
	end = f.fd;
	must(local_recv(conn, &f, &type) == 0);
	close(conn);
	return end;
}

static void begin(unsigned int i)
{
	must((task[i] = fork()) >= 0);
	if (task[i])
		return;
	step_door_wait();
	_exit(write(through[1], "", 1) != 1);
}

static bool is_through(void)
{
	struct pollfd p = { .fd = through[0], .events = POLLIN };

	return poll(&p, 1, 0);
}

static void end_well(unsigned int n)
{
	for (unsigned int i = 0; i < n; i++) {
		int status;

		must(waitpid(task[i], &status, 0) == task[i] && !status);
	}
}

/* The byte of the last task, or false: nobody waits any more. */
static bool hear(int end)
{
	char byte;

	return recv(end, &byte, 1, 0) == 1;
}

static bool arrived(int end)
{
	struct pollfd p = { .fd = end, .events = POLLIN };

	return poll(&p, 1, 0);
}

START_TEST(test_opened)
{
	int end;

	must(!step_door_make(dir, "n1", &owner, TASKS));
	end = take();
	for (unsigned int i = 0; i < TASKS; i++) {
		must(!arrived(end));
		begin(i);
	}
	step_door_leave();
	must(hear(end) && !is_through());
	must(!shutdown(end, SHUT_RDWR));
	end_well(TASKS);
	must(!hear(end));
	close(end);
}
END_TEST

START_TEST(test_agent_gone)
{
	int end;

	must(!step_door_make(dir, "n1", &owner, TASKS));
	end = take();
	begin(0);
	begin(1);
	step_door_leave();
	must(!is_through());
	close(end);
	end_well(2);
}
END_TEST

/* Another task fails, or waits for too long. */
START_TEST(test_opened_by_one)
{
	int end;

	must(!step_door_make(dir, "n1", &owner, TASKS));
	end = take();
	begin(0);
	begin(1);
	step_door_open();
	end_well(2);
	must(!hear(end));
	close(end);
}
END_TEST

START_TEST(test_limit)
{
	uint64_t since = storm_now();
	int end;

	must(!step_door_make(dir, "n1", &owner, 1));
	end = take();
	begin(0);
	step_door_leave();
	must(hear(end));
	end_well(1);
	must(storm_now() - since >= STEP_DOOR_LIMIT);
	/* the agent knows that nobody waits */
	must(!hear(end));
	close(end);
}
END_TEST

/* All of them have ended. */
START_TEST(test_killed)
{
	int end, status;

	must(!step_door_make(dir, "n1", &owner, 2));
	end = take();
	begin(0);
	begin(1);
	step_door_leave();
	must(hear(end));
	for (int i = 0; i < 2; i++) {
		must(!kill(task[i], SIGUSR1));
		must(waitpid(task[i], &status, 0) == task[i]);
		must(WIFSIGNALED(status) && WTERMSIG(status) == SIGUSR1);
	}
	must(!hear(end));
	close(end);
}
END_TEST

START_TEST(test_no_agent)
{
	must(step_door_make(dir, "n2", &owner, TASKS));
	begin(0);
	end_well(1);
	must(is_through());
}
END_TEST

int main(void)
{
	Suite *s = suite_create("step_door");
	TCase *c = tcase_create("step_door");

	tcase_add_checked_fixture(c, setup, teardown);
	tcase_add_test(c, test_opened);
	tcase_add_test(c, test_agent_gone);
	tcase_add_test(c, test_opened_by_one);
	tcase_add_test(c, test_limit);
	tcase_add_test(c, test_killed);
	tcase_add_test(c, test_no_agent);
	suite_add_tcase(s, c);
	return unit_main(s);
}
