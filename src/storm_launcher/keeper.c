/*
 * keeper.c - see keeper.h.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "keeper.h"
#include "keeper_link.h"
#include "keeper_nodes.h"
#include "keeper_step.h"
#include "launcher_base.h"
#include "run_sock.h"
#include "run_sweep.h"

static struct {
	const char *socket;
	struct run_step step;
	int signals;
	bool ended; /* the head has said that it ends */
	bool locked;
} keeper = { .signals = -1 };

static bool keeper_init(char *why, size_t size)
{
	if (!keeper_nodes_init(&keeper.step, why, size))
		return false;
	if (getrandom(keeper.step.key, RUN_KEY, 0) == RUN_KEY)
		return true;
	snprintf(why, size, "getrandom: %s", strerror(errno));
	return false;
}

/* A keeper holds a lock for its life: the next one begins when the step of the one
 * before has ended. */
static bool keeper_lock(char *why, size_t size)
{
	keeper.locked = launcher_lock(keeper.socket, why, size) >= 0;
	if (keeper.locked)
		run_sweep(keeper.socket);
	return keeper.locked; /* it is never closed */
}

/* The first name of SLURM_JOB_NODELIST, as n[1-4,7] or n1,m2, is it this one? */
static bool keeper_is_first(const char *name, const char *list)
{
	size_t n = strcspn(list, "[,");
	const char *rest = list + n + (list[n] == '[');
	size_t digits = list[n] == '[' ? strspn(rest, "0123456789") : 0;

	return strlen(name) == n + digits && !strncmp(name, list, n) &&
	       !strncmp(name + n, rest, digits);
}

/* The head is on the job's first node. */
static enum keeper_place keeper_place(void)
{
	const char *here = getenv("SLURMD_NODENAME");
	const char *list = getenv("SLURM_JOB_NODELIST");

	if (!here)
		return KEEPER_OUTSIDE;
	return !list || keeper_is_first(here, list) ? KEEPER_WITH_HEAD :
						      KEEPER_WITH_LAUNCHER;
}

static bool keeper_take_signals(void)
{
	static const int ignored[] = { KEEPER_IGNORES };
	sigset_t set;

	for (size_t i = 0; i < sizeof(ignored) / sizeof(*ignored); i++)
		signal(ignored[i], SIG_IGN);
	sigemptyset(&set);
	sigaddset(&set, SIGCHLD);
	signal(SIGCHLD, SIG_DFL);
	sigprocmask(SIG_SETMASK, &set, NULL);
	keeper.signals = signalfd(-1, &set, SFD_NONBLOCK | SFD_CLOEXEC);
	return keeper.signals >= 0;
}

/* srun starts no step on nodes that the job has lost: then it has those that are left. */
static bool keeper_start(char *why, size_t size)
{
	do
		if (keeper_step_start(&keeper.step, keeper.socket,
				      keeper_link_port(), why, size))
			return true;
	while (keeper_step_ended() && keeper_nodes_lose(&keeper.step));
	return false;
}

static void keeper_stay(void)
{
	struct pollfd p = { .fd = keeper_link_fd(), .events = POLLIN };

	do
		if (!keeper_step_wait(keeper.signals, &p, 1,
				      keeper_link_patience()))
			return;
	while (keeper_link_serve(&keeper.ended));
}

/* The client's lock file is left to nobody if the client is gone. */
static void keeper_tell(int tell, int lock, const char *what)
{
	char path[RUN_SOCK_PATH];

	run_sock_beside(keeper.socket, "lock", &path);
	if (dprintf(tell, "%s", what) < 0)
		unlink(path);
	close(lock);
	close(tell);
}

int keeper_serve(const char *socket, int tell, int lock)
{
	char why[600] = "no signals", ready[32];
	bool good, late;

	fcntl(tell, F_SETFD, FD_CLOEXEC);
	fcntl(lock, F_SETFD, FD_CLOEXEC);
	launcher_log_as("keeper");
	keeper.socket = socket;
	good = keeper_take_signals() && keeper_lock(why, sizeof(why)) &&
	       keeper_init(why, sizeof(why)) &&
	       keeper_link_open(socket, keeper_place(), why, sizeof(why)) &&
	       keeper_start(why, sizeof(why)) &&
	       keeper_link_reach(&keeper.step, keeper.signals, why,
				 sizeof(why));
	late = !good && strstr(why, LAUNCHERS_THERE);
	snprintf(ready, sizeof(ready), KEEPER_READY "%u\n", keeper.step.count);
	keeper_tell(tell, lock, good ? ready : late ? KEEPER_LATE : why);
	if (good)
		keeper_stay();
	/* a head whose step has ended hears it by this */
	keeper_link_close();
	keeper_step_stop(keeper.ended);
	/* no other head can be there before the lock is free; but a launcher can,
	 * and the name of its door is its own */
	if (keeper.locked && keeper_place() == KEEPER_WITH_LAUNCHER)
		run_sock_remove_lock(keeper.socket, good || late);
	else if (keeper.locked)
		run_sock_remove(keeper.socket, good || late);
	return !good;
}
