/*
 * agent_place.c - see agent_place.h.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include "config.h"

#include <poll.h>
#include <unistd.h>

#include "slurm/slurm.h"
#include "src/common/log.h"

#include "agent_place.h"
#include "src/storm_common/child_limit.h"
#include "src/storm_common/node_place.h"

#define LIMIT 3000 /* ms for a name service to answer */

static void place_tell_none(void)
{
	error("no process could be started to look up this node's address: %m: the interface is that of the default route, unless Interface in storm.conf names one");
}

/* In a child: the agent must start even if a name service hangs. */
bool agent_place_find(const char *node, struct storm_addr *out)
{
	struct pollfd p = { .events = POLLIN };
	struct storm_addr a;
	int pipes[2];
	bool found;
	pid_t pid;

	if (pipe(pipes)) {
		place_tell_none();
		return false;
	}
	pid = fork();
	if (pid < 0)
		place_tell_none();
	if (!pid) {
		found = node_place_find(node, &a);
		_exit(found && write(pipes[1], &a, sizeof(a)) != sizeof(a));
	}
	close(pipes[1]);
	p.fd = pipes[0];
	if (pid > 0 && !poll(&p, 1, LIMIT))
		error("the name service has not answered in %d s: the interface is that of the default route, unless Interface in storm.conf names one",
		      LIMIT / 1000);
	found = pid > 0 && (p.revents & POLLIN) &&
		read(pipes[0], &a, sizeof(a)) == sizeof(a);
	close(pipes[0]);
	/* it has answered, or need not any more */
	if (pid > 0)
		child_limit(pid, 0, NULL);
	if (found)
		*out = a;
	return found;
}
