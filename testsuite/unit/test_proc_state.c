/*
 * test_proc_state.c - a process that is stopped, continued, killed, and ends.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "src/storm_common/proc_state.h"
#include "unit.h"

static pid_t child(const char *name)
{
	pid_t pid = fork();

	if (pid)
		return pid;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	prctl(PR_SET_NAME, name);
	while (1)
		pause();
}

static void changes(pid_t pid, int sig, int how)
{
	int status;

	must(!kill(pid, sig));
	must(waitpid(pid, &status, how) == pid);
}

START_TEST(test_stopped)
{
	static const char *const name[] = { "plain", "a) T (b", "" };
	pid_t pid = child(name[_i]);

	must(pid > 0 && !proc_stopped(pid));
	for (int i = 0; i < 3; i++) {
		changes(pid, SIGSTOP, WUNTRACED);
		must(proc_stopped(pid));
		changes(pid, SIGCONT, WCONTINUED);
		must(!proc_stopped(pid));
	}
	changes(pid, SIGSTOP, WUNTRACED);
	changes(pid, SIGKILL, 0);
	must(!proc_stopped(pid) && !proc_stopped(0));
}
END_TEST

/* A zombie. */
START_TEST(test_killed)
{
	pid_t pid = child("killed");
	siginfo_t si;

	must(pid > 0 && !kill(pid, SIGKILL));
	must(!waitid(P_PID, (id_t) pid, &si, WEXITED | WNOWAIT));
	must(proc_stopped(pid));
	must(waitpid(pid, NULL, 0) == pid && !proc_stopped(pid));
}
END_TEST

START_TEST(test_program)
{
	struct stat ours, its, file;
	pid_t pid = child("program");

	must(pid > 0 && !stat("/proc/self/exe", &file));
	must(proc_program(getpid(), &ours) && proc_program(pid, &its));
	must(proc_same_file(&ours, &file) && proc_same_file(&its, &file));
	must(ours.st_uid == file.st_uid);
	must(!stat("/bin/sh", &file) && !proc_same_file(&ours, &file));
	changes(pid, SIGKILL, 0);
	must(!proc_program(pid, &its) && !proc_program(2, &its));
}
END_TEST

int main(void)
{
	Suite *s = suite_create("proc_state");
	TCase *t = tcase_create("proc_state");

	tcase_add_loop_test(t, test_stopped, 0, 3);
	tcase_add_test(t, test_killed);
	tcase_add_test(t, test_program);
	suite_add_tcase(s, t);
	return unit_main(s);
}
