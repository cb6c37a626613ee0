/*
 * agent_nursery.c - see agent_nursery.h.
 *
 * It is this program once more, with --nursery.  A fork of the agent would
 * inherit its keys and sockets.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* P_PIDFD */
#endif
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/epoll.h>
#include <sys/pidfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "slurm/slurm.h"
#include "src/common/log.h"
#include "src/common/xmalloc.h"
#include "src/common/xstring.h"

#include "agent.h"
#include "agent_container.h"
#include "agent_nursery.h"
#include "src/storm_agent/files/file_nursery.h"
#include "src/storm_common/child_spawn.h"
#include "src/storm_common/local/local.h"
#include "src/storm_common/slurm_conf_kept.h"

#define SOCKET 3
#define FD_MIN 64 /* see child_spawn() */

/* Without the keeper there would be no files any more. */
static void agent_nursery_ended(struct agent *a, struct agent_io *io,
				uint32_t events)
{
	siginfo_t si;
	const char *how = agent_io_reap(&a->ios, io, &si);

	(void) events;
	error("the process that keeps storm_nursery (storm_keeper, pid %d) %s %d: the agent ends, and slurmd starts another one",
	      si.si_pid, how, si.si_status);
	a->stop = true;
}

static int agent_nursery_exec(const char *node, int sock, pid_t *pid)
{
	char *argv[] = { "storm_keeper", "--node", (char *) node, "--nursery",
			 NULL };
	const struct child_fds fds = {
		.in = -1, .log = STDERR_FILENO, .more = &sock, .nmore = 1
	};

	return child_spawn("/proc/self/exe", argv, NULL, &fds, pid);
}

int agent_nursery_start(struct agent *a)
{
	struct agent_io *io = &a->file.nursery_io;
	int pair[2], high, rc;
	pid_t pid = -1;

	if (file_nursery_sockets(pair)) {
		error("cannot start storm_nursery: %m");
		return -1;
	}
	high = fcntl(pair[1], F_DUPFD_CLOEXEC, FD_MIN);
	rc = high < 0 ? errno : agent_nursery_exec(a->node, high, &pid);
	close(pair[1]);
	close(high);
	if (rc) {
		close(pair[0]);
		return -1;
	}
	a->file.nursery = pair[0];
	io->ready = agent_nursery_ended;
	io->fd = pidfd_open(pid, 0);
	if (io->fd < 0 || agent_io_add(&a->ios, io, EPOLLIN)) {
		error("cannot watch storm_keeper: %m");
		return -1;
	}
	return 0;
}

void agent_nursery_stop(struct agent *a)
{
	agent_io_close(&a->ios, &a->file.nursery_io);
	if (a->file.nursery >= 0)
		close(a->file.nursery);
	a->file.nursery = -1;
}

_Noreturn void agent_nursery_run(const char *node)
{
	log_options_t opts = LOG_OPTS_STDERR_ONLY;
	char *dir = xstrdup_printf("%s/%s", STORM_RUNDIR, node);

	log_init("storm_agent", opts, 0, NULL);
	free(slurm_conf_kept_init(dir));
	xfree(dir);
	agent_container_init(node);
	file_nursery_keep(SOCKET, agent_container_join);
}
