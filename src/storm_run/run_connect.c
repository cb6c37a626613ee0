/*
 * run_connect.c - see run_connect.h.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "run_connect.h"
#include "run_options.h"
#include "src/libstorm/base/clock.h"

#define SAY_STARTS 3000 /* ms */
#define TRIES 2		/* of starting launchers that end at once */
#define LATE_LIMIT \
	10 /* s until the launchers of another host's client serve here */

/* In the child: become the keeper of launchers.  It has the lock, too: a client that is
 * killed now must not let the next one start launchers beside these. */
__attribute__((noreturn)) static void run_become_keeper(const struct run_job *j,
							int tell, int lock)
{
	char log[RUN_SOCK_PATH];
	int null = open("/dev/null", O_RDWR);
	int out;

	run_sock_beside(j->path, "log", &log);
	out = open(log, O_RDWR | O_CREAT | O_TRUNC | O_APPEND | O_NOFOLLOW,
		   0600);
	setsid();
	if (null < 0 || out < 0 || dup2(null, 0) < 0 || dup2(out, 1) < 0 ||
	    dup2(out, 2) < 0 || chdir("/")) {
		dprintf(tell, "%s: %s", log, strerror(errno));
		_exit(RUN_FAILED);
	}
	/* out of the way of each other's places */
	tell = fcntl(tell, F_DUPFD, 5);
	lock = fcntl(lock, F_DUPFD, 5);
	if (tell < 0 || lock < 0 || dup2(tell, 3) < 0 || dup2(lock, 4) < 0)
		_exit(RUN_FAILED);
	/* the client's descriptors are not the keeper's: a pipe's reader would
	 * wait for their end */
	close_range(5, ~0U, 0);
	execl(PKGLIBEXECDIR "/storm_launcher", "storm_launcher", "--keep",
	      j->path, "3", "4", (char *) NULL);
	dprintf(3, PKGLIBEXECDIR "/storm_launcher: %s: install STORM again",
		strerror(errno));
	_exit(RUN_FAILED);
}

/* srun waits for ever where Slurm lets the step wait, and says so in the log. */
static void run_say_slow(const struct run_job *j)
{
	char log[RUN_SOCK_PATH], text[500] = "", *line;
	int fd;
	off_t end;
	ssize_t n;

	run_sock_beside(j->path, "log", &log);
	fd = open(log, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	end = lseek(fd, 0, SEEK_END);
	n = pread(fd, text, sizeof(text) - 1,
		  end < (off_t) sizeof(text) ? 0 :
					       end - (off_t) sizeof(text) + 1);
	if (fd >= 0)
		close(fd);
	while (n > 0 && text[n - 1] == '\n')
		text[--n] = '\0';
	line = strrchr(text, '\n');
	run_inform("waits for srun to start the launchers: %s",
		   line	 ? line + 1 :
		   *text ? text :
			   "it has said nothing yet");
}

enum run_startup { START_READY, START_LATE, START_FAILED };

/* What the keeper says: "ready" and the number of nodes, "late", or why not. */
static enum run_startup run_keeper_answers(const struct run_job *j, int fd,
					   unsigned int *nodes)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };
	char text[700] = "";
	size_t len = 0;
	ssize_t n;

	if (!poll(&p, 1, SAY_STARTS))
		run_say_slow(j);
	while ((n = read(fd, text + len, sizeof(text) - 1 - len)) > 0 ||
	       (n < 0 && errno == EINTR))
		len += n > 0 ? (size_t) n : 0;
	if (sscanf(text, "ready %u", nodes) == 1)
		return START_READY;
	if (!strcmp(text, "late\n"))
		return START_LATE;
	run_say("the launchers cannot be started: %s",
		*text ? text : "their keeper has died");
	return START_FAILED;
}

/* Is this in an ordinary step?  That ends with its tasks, and all that they started.
 * Numbers of others, as of an interactive one, are at the end of 32 bits. */
static bool run_in_step(void)
{
	const char *step = getenv("SLURM_STEP_ID");

	return step && *step && strtoul(step, NULL, 10) < 0xfffffff0;
}

static void run_say_started(unsigned int nodes, uint64_t ms)
{
	const char *text = getenv("SLURM_JOB_NUM_NODES");
	char of[32] = "";

	/* the job goes on without some that it had */
	if (text && strtoul(text, NULL, 10) != nodes)
		snprintf(of, sizeof(of), " of %.16s", text);
	run_inform(
		"started launchers on %u%s nodes in %llu ms; later runs find them there",
		nodes, of, (unsigned long long) ms);
}

static enum run_startup run_start_launchers(const struct run_job *j, int lock)
{
	uint64_t begun = storm_now();
	unsigned int nodes = 0;
	int p[2];
	enum run_startup how;
	pid_t pid;

	if (pipe2(p, O_CLOEXEC)) {
		run_say("%s", strerror(errno));
		return START_FAILED;
	}
	pid = fork();
	if (!pid)
		run_become_keeper(j, p[1], lock);
	close(p[1]);
	if (pid < 0) {
		run_say("%s", strerror(errno));
		close(p[0]);
		return START_FAILED;
	}
	how = run_keeper_answers(j, p[0], &nodes);
	close(p[0]);
	if (how == START_READY && run_in_step())
		run_inform(
			"the launchers end with step %s.%s, in which this is; those that the batch script starts stay",
			j->id, getenv("SLURM_STEP_ID"));
	if (how == START_READY)
		run_say_started(nodes, (storm_now() - begun) / STORM_MS);
	return how;
}

bool run_job_find(struct run_job *j)
{
	char why[256];

	j->id = getenv("SLURM_JOB_ID");
	if (!j->id || !*j->id || strspn(j->id, "0123456789") != strlen(j->id)) {
		run_say("not inside a job: use salloc or sbatch first");
		return false;
	}
	if (run_sock_path(j->id, &j->path, why, sizeof(why)))
		return true;
	run_say("%s", why);
	return false;
}

bool run_nobody_there(void)
{
	return errno == ENOENT || errno == ECONNREFUSED;
}

/* Another client was faster, on another host.  The door of its launcher here may not be
 * open yet. */
static int run_connect_late(const struct run_job *j)
{
	const struct timespec pause = { .tv_nsec = 5 * STORM_MS };
	uint64_t until = storm_now() + LATE_LIMIT * STORM_SEC;
	int sock;

	while ((sock = run_sock_connect(j->path)) < 0 && run_nobody_there() &&
	       storm_now() < until)
		nanosleep(&pause, NULL);
	return sock;
}

/* -1 with errno 0: it was said why. */
static int run_connect_or_start(const struct run_job *j, int lock, bool start)
{
	int sock = run_sock_connect(j->path);

	/* a head that is told to end as it begins has gone when it is called */
	for (int tries = 0; sock < 0 && run_nobody_there() && start; tries++) {
		enum run_startup how = START_FAILED;

		if (tries < TRIES)
			how = run_start_launchers(j, lock);
		else
			run_say("the launchers cannot be started: they have ended as soon as they were there, %d times",
				TRIES);
		if (how == START_FAILED) {
			errno = 0;
			return -1;
		}
		sock = how == START_LATE ? run_connect_late(j) :
					   run_sock_connect(j->path);
	}
	return sock;
}

/* The lock of the one that starts launchers; or -1, and it was said why. */
static int run_lock(const char *path)
{
	const struct timespec pause = { .tv_nsec = 20 * STORM_MS };
	uint64_t until = storm_now() + SAY_WAITS * STORM_MS;
	int lock;

	while ((lock = run_sock_lock(path, false)) < 0 &&
	       errno == EWOULDBLOCK && storm_now() < until)
		nanosleep(&pause, NULL);
	if (lock < 0 && errno == EWOULDBLOCK) {
		run_inform("waits for launchers that another storm run starts");
		lock = run_sock_lock(path, true);
	}
	if (lock < 0)
		run_say("%s: %s", path, strerror(errno));
	return lock;
}

/* One client starts the launchers; others wait for it, also one that starts none. */
static int run_start_or_wait(const struct run_job *j, bool start)
{
	char path[RUN_SOCK_PATH];
	int lock, sock, err;

	run_sock_beside(j->path, "lock", &path);
	lock = run_lock(path);
	if (lock < 0) {
		errno = 0;
		return -1;
	}
	sock = run_connect_or_start(j, lock, start);
	err = errno;
	unlink(path);
	close(lock);
	errno = err;
	return sock;
}

int run_connect(const struct run_job *j, bool start)
{
	int sock = run_sock_connect(j->path), err;

	if (sock < 0 && run_nobody_there())
		sock = run_start_or_wait(j, start);
	err = errno;
	if (sock < 0 && err && (start || !run_nobody_there()))
		run_say("%s: %s", j->path,
			err == EPERM ? "another user's program is there" :
				       strerror(err));
	errno = err;
	return sock;
}

void run_say_waits(const char *run, const struct run_ask *ask)
{
	bool more = ask->gpus || ask->node_gpus || ask->mem || ask->cpu_mem;
	const char *what = more ? "CPUs, GPUs or memory" : "CPUs";

	if (*run)
		run_inform("waits for %s: run %s", what, run);
	else
		run_inform("waits for %s: other runs of this job have them",
			   what);
}

void run_say_next(void)
{
	run_inform(
		"waits for the end of this job's launchers: a node is lost, or they are stopped, and runs that began before go on");
}

void run_say_unanswered(void)
{
	run_inform(
		"waits for the launchers: they do not answer while their job is suspended, held or out of turn");
}
