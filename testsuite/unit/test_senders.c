/*
 * test_senders.c - real signals that wait for a stopped process: root's, a
 * timer's, and another process's of the same user.  It stays stopped, and nobody
 * traces it afterwards.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include <pthread.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "src/gang/freezer_private.h"
#include "src/gang/senders.h"
#include "unit.h"

#define USER 20001

static void nothing(int sig)
{
	(void) sig;
}

/* A user's process, with a timer or without, that is stopped. */
static pid_t stopped(bool timer)
{
	const struct itimerval often = { { 0, 5000 }, { 0, 5000 } };
	/* It may be stopped as it begins to handle one: the next one still waits,
	 * instead of being blocked. */
	const struct sigaction handle = { .sa_handler = nothing,
					  .sa_flags = SA_NODEFER };
	int status, fds[2];
	char ready;
	pid_t pid;

	must(!pipe(fds));
	pid = fork();
	must(pid >= 0);
	if (!pid) {
		must(!setuid(USER));
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		sigaction(SIGALRM, &handle, NULL);
		sigaction(SIGUSR1, &handle, NULL);
		if (timer)
			setitimer(ITIMER_REAL, &often, NULL);
		must(write(fds[1], "", 1) == 1);
		while (1)
			pause();
	}
	must(read(fds[0], &ready, 1) == 1);
	close(fds[0]);
	close(fds[1]);
	must(!kill(pid, SIGSTOP));
	must(waitpid(pid, &status, WUNTRACED) == pid && WIFSTOPPED(status));
	while (timer && !freezer_proc_waiting(pid))
		usleep(1000);
	return pid;
}

static bool roots(const pid_t *pids, size_t n)
{
	pid_t *copy = malloc(n * sizeof(*copy));
	struct senders *s;

	memcpy(copy, pids, n * sizeof(*copy));
	s = senders_start(copy, n);
	must(s);
	while (!senders_done(s))
		usleep(100);
	return senders_stop(s);
}

/* When its tracer has left it runs for a moment, and stops again. */
static void as_before(pid_t pid)
{
	for (int i = 0; freezer_proc_wants(pid) & FREEZER_TRACED ||
			!freezer_proc_stands(pid);
	     i++) {
		must(i < 5000);
		usleep(1000);
	}
}

static void end(pid_t pid)
{
	as_before(pid);
	kill(pid, SIGKILL);
	while (waitpid(pid, NULL, 0) != pid)
		;
}

/* A process has 20 ms to stand for its tracer, which a loaded machine may exceed:
 * then nothing is known of it. */
static bool roots_at_last(const pid_t *pids, size_t n, pid_t with)
{
	for (int i = 0; i < 200; i++) {
		as_before(with);
		if (roots(pids, n))
			return true;
	}
	return false;
}

static void send_as_user(pid_t to, int sig)
{
	pid_t pid = fork();

	if (!pid)
		_exit(setuid(USER) || kill(to, sig));
	must(waitpid(pid, NULL, 0) == pid);
	must(freezer_proc_waiting(to) & 1ull << (sig - 1));
}

START_TEST(test_roots)
{
	pid_t pid = stopped(_i);

	must(roots(&pid, 1) == false);
	must(!kill(pid, SIGUSR1));
	must(roots_at_last(&pid, 1, pid));
	must(roots_at_last(&pid, 1, pid)); /* it still waits */
	end(pid);
}
END_TEST

START_TEST(test_users)
{
	pid_t pid = stopped(_i);

	send_as_user(pid, SIGUSR1);
	must(!roots(&pid, 1));
	end(pid);
}
END_TEST

/* Of several, some gone. */
START_TEST(test_one_of_many)
{
	pid_t pids[4];

	for (int i = 0; i < 4; i++)
		pids[i] = stopped(true);
	end(pids[1]);
	must(!roots(pids, 4));
	must(!kill(pids[3], SIGUSR1));
	must(roots_at_last(pids, 4, pids[3]));
	for (int i = 0; i < 4; i++)
		if (i != 1)
			end(pids[i]);
}
END_TEST

static void *tell_and_wait(void *fd)
{
	pid_t self = gettid();

	must(write(*(int *) fd, &self, sizeof(self)) == sizeof(self));
	while (1)
		pause();
	return NULL;
}

/* A user's process, and a thread of it. */
static pid_t with_thread(pid_t *thread, int go)
{
	pthread_t other;
	int fds[2];
	pid_t pid;
	char c;

	must(!pipe(fds));
	pid = fork();
	must(pid >= 0);
	if (!pid) {
		must(!setuid(USER));
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		signal(SIGUSR1, nothing);
		must(!pthread_create(&other, NULL, tell_and_wait, &fds[1]));
		must(read(go, &c, 1) == 1);
		execl("/bin/sleep", "sleep", "1000", NULL);
		_exit(127);
	}
	must(read(fds[0], thread, sizeof(*thread)) == sizeof(*thread));
	close(fds[0]);
	close(fds[1]);
	return pid;
}

/* It traces the thread, and does not let it end. */
static pid_t holds(pid_t thread)
{
	int fds[2];
	char ready;
	pid_t pid;

	must(!pipe(fds));
	pid = fork();
	must(pid >= 0);
	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		must(!ptrace(PTRACE_SEIZE, thread, 0, 0));
		must(write(fds[1], "", 1) == 1);
		while (1)
			pause();
	}
	must(read(fds[0], &ready, 1) == 1);
	close(fds[0]);
	close(fds[1]);
	return pid;
}

/* A process that executes a program waits for its other threads, and a process that wants
 * to trace it waits for that.  Nothing waits for the thread that asks. */
START_TEST(test_process_that_executes)
{
	pid_t thread, pid, tracer, *copy = malloc(sizeof(*copy));
	struct senders *s;
	int go[2];

	must(!pipe(go));
	pid = with_thread(&thread, go[0]);
	tracer = holds(thread);
	must(write(go[1], "", 1) == 1);
	while (!freezer_proc_stands(thread)) /* a zombie */
		usleep(1000);
	must(!kill(pid, SIGUSR1));
	must(freezer_proc_waiting(pid));
	*copy = pid;
	s = senders_start(copy, 1);
	must(s);
	usleep(200000);
	must(!senders_done(s));
	must(!senders_stop(s));
	kill(tracer, SIGKILL);
	must(waitpid(tracer, NULL, 0) == tracer);
	kill(pid, SIGKILL);
	must(waitpid(pid, NULL, 0) == pid);
	close(go[0]);
	close(go[1]);
}
END_TEST

START_TEST(test_nobody)
{
	senders_stop(NULL);
	must(!roots(NULL, 0));
}
END_TEST

int main(void)
{
	Suite *s = suite_create("senders");
	TCase *t = tcase_create("senders");

	if (geteuid()) {
		printf("SKIP: only root can be root\n");
		return 77;
	}
	tcase_add_loop_test(t, test_roots, 0, 2);
	tcase_add_loop_test(t, test_users, 0, 2);
	tcase_add_test(t, test_one_of_many);
	tcase_add_test(t, test_process_that_executes);
	tcase_add_test(t, test_nobody);
	suite_add_tcase(s, t);
	return unit_main(s);
}
