/*
 * test_child_watch.c - the contract of child_watch.h, with real processes: one that
 * dies at once, one that hangs, one that SIGKILL does not end, and a daemon that has
 * spent its descriptors or its processes.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "held_process.h"
#include "src/storm_common/child_limit.h"
#include "src/storm_common/child_spawn.h"
#include "src/storm_common/child_watch.h"
#include "src/storm_common/node_list.h"
#include "unit.h"

static struct child_watch w;
static char said[65536]; /* what was logged */
static int said_fd;	 /* stderr, to which Slurm's functions log */

static const char *said_all(void)
{
	ssize_t n = pread(said_fd, said, sizeof(said) - 1, 0);

	said[n > 0 ? n : 0] = '\0';
	return said;
}

/* How often it was logged. */
static int times(const char *what)
{
	int n = 0;

	for (const char *p = said_all(); (p = strstr(p, what)); p++)
		n++;
	return n;
}

static void setup(void)
{
	char path[] = "/tmp/storm-test-child-XXXXXX";

	said_fd = mkstemp(path);
	must(said_fd >= 0 && !unlink(path));
	must(dup2(said_fd, STDERR_FILENO) == STDERR_FILENO);
	memset(&w, 0, sizeof(w));
	w.name = "storm: the child (pid";
	w.program = "child";
	must(!child_watch_open(&w));
	must(child_watch_due(&w, storm_now()));
}

static void teardown(void)
{
	child_watch_close(&w);
	close(said_fd);
}

static int begin(const char *script)
{
	char *argv[] = { "sh", "-c", (char *) script, NULL };
	const struct child_fds fds = { .in = -1, .log = w.log_write };
	pid_t pid;

	must(!child_spawn("/bin/sh", argv, NULL, &fds, &pid));
	return child_watch_began(&w, pid, true);
}

/* The ms until the next start, as the end that was just now left them. */
static uint64_t wait_ms(void)
{
	uint64_t now = storm_now();

	must(!child_watch_due(&w, now));
	return w.start_at > now ? (w.start_at - now) / STORM_MS + 1 : 0;
}

static int end(int signal, int ms)
{
	int status = child_watch_end(&w, signal, ms);

	child_watch_tell(&w, status);
	child_watch_forget(&w);
	return status;
}

/* Each wait is twice as long; the end is told once, and its reason is passed on. */
START_TEST(test_dies_at_once)
{
	for (uint64_t ms = 100; ms <= 800; ms *= 2) {
		must(!begin("echo error: no disk >&2; exit 4"));
		must(child_watch_is_dead(&w, 60000));
		must(end(0, 0) == 4);
		must(wait_ms() <= ms && wait_ms() > ms / 2);
		must(child_watch_due(&w, w.start_at));
	}
	must(times("child: no disk") == 1);
	must(times(") ended with status 4") == 1);
	child_watch_at_once(&w);
	must(child_watch_due(&w, storm_now()));
	/* its configuration: no use in trying soon */
	must(!begin("exit 3"));
	must(child_watch_is_dead(&w, 60000));
	must(end(0, 0) == CHILD_EXIT_CONF);
	must(wait_ms() > 50000);
	must(times(") ended with status 3") == 1);
}
END_TEST

START_TEST(test_is_killed)
{
	must(!begin("exec sleep 1000"));
	must(!child_watch_is_dead(&w, 0));
	must(!kill(w.pid, SIGKILL));
	must(child_watch_is_dead(&w, 60000));
	must(end(0, 0) == 128 + SIGKILL);
	must(times(") was killed by signal 9") == 1);
	/* one that was asked to end did so */
	must(!begin("exec sleep 1000"));
	must(end(SIGTERM, 60000) == 128 + SIGTERM);
	must(!w.nleft);
}
END_TEST

/* One that does not hear the request is ended by SIGKILL.  A daemon that stood still
 * itself does not accuse it. */
START_TEST(test_hangs)
{
	uint64_t now;
	int status;

	w.patience = 5 * STORM_SEC;
	must(!begin("exec sleep 1000"));
	must(!kill(w.pid, SIGSTOP));
	must(waitpid(w.pid, &status, WUNTRACED) == w.pid && WIFSTOPPED(status));
	now = w.started;
	for (int i = 0; i < 4; i++)
		must(!child_watch_hangs(&w, now += STORM_SEC));
	child_watch_heard(&w, now);
	for (int i = 0; i < 4; i++)
		must(!child_watch_hangs(&w, now += STORM_SEC));
	must(!child_watch_hangs(&w, now += 60 * STORM_SEC));
	for (int i = 0; i < 4; i++)
		must(!child_watch_hangs(&w, now += STORM_SEC));
	must(!times("has not answered"));
	must(child_watch_hangs(&w, now += STORM_SEC));
	must(times(") has not answered for 5 s: replacing it") == 1);
	must(child_watch_end(&w, SIGTERM, 100) == 128 + SIGKILL);
	child_watch_forget(&w);
	must(!w.nleft);
}
END_TEST

static void eventually_none_left(void)
{
	for (int i = 0; w.nleft; i++) {
		must(i < 60000);
		usleep(1000);
		child_watch_bury(&w);
	}
}

/* It is named and left behind, another one starts beside it, and it is buried. */
START_TEST(test_cannot_be_killed)
{
	int go[2], pidfd;

	for (int i = 0; i < 2; i++) {
		must(child_watch_due(&w, w.start_at));
		must(!begin("exec sleep 1000"));
		must(held_process(w.pid, &go[i]) > 0);
		must(end(SIGTERM, 0) == -1);
		must(w.nleft == (unsigned int) i + 1 && !w.pid);
		must(times(") does not die by SIGKILL: it hangs in the kernel, in state") ==
		     i + 1);
	}
	/* so many, and no more */
	w.nleft = CHILD_LEFT_MAX;
	must(!child_watch_due(&w, w.start_at));
	w.nleft = 2;
	child_watch_bury(&w);
	must(w.nleft == 2);
	must(!begin("exec sleep 1000"));
	pidfd = w.pidfd;
	must(end(SIGTERM, 60000) == 128 + SIGTERM);
	must(write(go[0], "", 1) == 1);
	while (w.nleft == 2)
		child_watch_bury(&w);
	must(write(go[1], "", 1) == 1);
	eventually_none_left();
	must(times("), which was left behind, has ended") == 2);
	/* none of their descriptors is left */
	must(open("/dev/null", O_RDONLY) <= pidfd);
}
END_TEST

/* A tracer that does not wait for what it traces.  -1: the system allows none. */
static pid_t careless_tracer(pid_t pid)
{
	int ready[2];
	pid_t tracer;
	char c;

	must(!pipe2(ready, O_CLOEXEC));
	tracer = fork();
	if (!tracer) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (ptrace(PTRACE_SEIZE, pid, NULL, 0))
			_exit(77);
		if (write(ready[1], "", 1) == 1)
			pause();
		_exit(1);
	}
	close(ready[1]);
	if (read(ready[0], &c, 1) != 1) {
		must(waitpid(tracer, NULL, 0) == tracer);
		tracer = -1;
	}
	close(ready[0]);
	return tracer;
}

/* It is dead and cannot be waited for: that must not stop the daemon. */
START_TEST(test_a_debugger_keeps_it)
{
	pid_t tracer;

	must(!begin("exec sleep 1000"));
	tracer = careless_tracer(w.pid);
	if (tracer < 0) {
		end(SIGKILL, 60000);
		return;
	}
	must(end(SIGKILL, 60000) == -1);
	must(times(") is dead, and a debugger keeps it: it is left behind") ==
	     1);
	child_watch_bury(&w);
	must(w.nleft == 1);
	/* beside it the next one runs */
	must(!begin("exit 4"));
	must(child_watch_is_dead(&w, 60000));
	must(end(0, 0) == 4);
	must(!kill(tracer, SIGKILL) && waitpid(tracer, NULL, 0) == tracer);
	eventually_none_left();
	must(times("), which was left behind, has ended") == 1);
}
END_TEST

/* A daemon that has executed itself anew adopts its own child, and waits for it. */
START_TEST(test_adopts_its_child)
{
	must(!begin("exit 4"));
	w.child = false;
	must(child_watch_is_dead(&w, 60000));
	must(end(0, 0) == 4);
	must(waitpid(-1, NULL, WNOHANG) == -1);
}
END_TEST

/* Of children that do one thing, those that end in time are not late. */
static void limits(void)
{
	int status;
	bool late;
	pid_t pid = fork();

	if (!pid)
		_exit(5);
	status = child_limit(pid, 60000, &late);
	must(!late && WIFEXITED(status) && WEXITSTATUS(status) == 5);
	pid = fork();
	if (!pid) {
		pause();
		_exit(0);
	}
	status = child_limit(pid, 10, &late);
	must(late && WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
}

/* A process that cannot be watched does not run, and is no one that hangs. */
START_TEST(test_spent_descriptors)
{
	struct rlimit limit;
	int fd = open("/dev/null", O_RDONLY);
	pid_t pid = fork();

	if (!pid) {
		pause();
		_exit(0);
	}
	must(fd >= 0 && pid > 0);
	close(fd);
	must(!getrlimit(RLIMIT_NOFILE, &limit));
	limit.rlim_cur = (rlim_t) fd;
	must(!setrlimit(RLIMIT_NOFILE, &limit));
	must(child_watch_began(&w, pid, true) == EMFILE);
	must(times("pidfd_open: Too many open files: killing it") == 1);
	must(!w.pid && wait_ms() <= 100);
	eventually_none_left();
	must(kill(pid, 0) && errno == ESRCH);
	must(!times("left behind"));
	limits();
	must(!node_list_renew());
	must(times("could be started to read slurm.conf again, and the nodes stay those of before: Too many open files") ==
	     1);
	must(!times("slurm.conf cannot be read"));
	limit.rlim_cur = limit.rlim_max;
	must(!setrlimit(RLIMIT_NOFILE, &limit));
	must(!begin("exit 0"));
	must(child_watch_is_dead(&w, 60000));
	must(end(0, 0) == 0);
}
END_TEST

/* A start that fails is as an end: each wait is twice as long. */
START_TEST(test_spent_processes)
{
	char *argv[] = { "sh", "-c", "exit 0", NULL };
	const struct child_fds fds = { .in = -1, .log = w.log_write };
	const struct rlimit none = { 1, 1 };
	pid_t pid;

	/* the limit is not root's */
	must(getuid() || (!setgid(61234) && !setuid(61234)));
	must(!setrlimit(RLIMIT_NPROC, &none));
	for (uint64_t ms = 100; ms <= 800; ms *= 2) {
		must(child_spawn("/bin/sh", argv, NULL, &fds, &pid) == EAGAIN);
		child_watch_failed(&w);
		must(wait_ms() <= ms && wait_ms() > ms / 2);
	}
	must(!node_list_renew());
	must(times("could be started to read slurm.conf again, and the nodes stay those of before: Resource temporarily unavailable") ==
	     1);
	must(!times("slurm.conf cannot be read"));
}
END_TEST

/* One that runs on is not ours to wait for. */
START_TEST(test_adopted)
{
	int pair[2], status;
	pid_t parent, pid;
	bool late;

	must(!pipe2(pair, O_CLOEXEC));
	parent = fork();
	if (!parent) {
		/* Check's handler would end the test */
		signal(SIGTERM, SIG_DFL);
		pid = fork();
		if (!pid) {
			pause();
			_exit(0);
		}
		if (write(pair[1], &pid, sizeof(pid)) != sizeof(pid))
			_exit(1);
		_exit(waitpid(pid, &status, 0) != pid || !WIFSIGNALED(status));
	}
	must(read(pair[0], &pid, sizeof(pid)) == sizeof(pid));
	/* as where another part has waited for ours, and its number is in use again */
	must(child_limit(pid, 10, &late) == -1 && !late);
	must(!child_watch_began(&w, pid, false));
	child_watch_forget(&w);
	must(!kill(pid, 0) && child_watch_due(&w, storm_now()));
	must(!child_watch_began(&w, pid, false));
	must(end(SIGTERM, 60000) == -1);
	must(waitpid(parent, &status, 0) == parent && !status);
	must(!times("signal") && !times("status"));
}
END_TEST

/* A child that does one thing: it ends, it is late, or it does not die. */
START_TEST(test_limit)
{
	uint64_t before = storm_now();
	int status, go;
	bool late;
	pid_t pid;

	limits();
	pid = fork();
	if (!pid) {
		pause();
		_exit(0);
	}
	must(held_process(pid, &go) > 0);
	must(child_limit(pid, 10, &late) == -1 && late);
	must(storm_now() < before + 30 * STORM_SEC);
	must(write(go, "", 1) == 1 && waitpid(pid, &status, 0) == pid);
	must(WTERMSIG(status) == SIGKILL);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("child_watch");
	TCase *c = tcase_create("child_watch");

	if (!unit_has_pidfd())
		return unit_skip(s, "pidfd_open(2) is not there");
	tcase_add_checked_fixture(c, setup, teardown);
	tcase_add_test(c, test_dies_at_once);
	tcase_add_test(c, test_is_killed);
	tcase_add_test(c, test_hangs);
	tcase_add_test(c, test_cannot_be_killed);
	tcase_add_test(c, test_a_debugger_keeps_it);
	tcase_add_test(c, test_adopts_its_child);
	tcase_add_test(c, test_spent_descriptors);
	tcase_add_test(c, test_spent_processes);
	tcase_add_test(c, test_adopted);
	tcase_add_test(c, test_limit);
	suite_add_tcase(s, c);
	return unit_main(s);
}
