/*
 * agent_place.c - see agent_place.h.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include "config.h"

#include <arpa/inet.h>
#include <poll.h>
#include <string.h>
#include <unistd.h>

#include "slurm/slurm.h"
#include "src/common/log.h"
#include "src/common/xmalloc.h"

#include "agent_place.h"
#include "src/libstorm/base/clock.h"
#include "src/libstorm/base/minmax.h"
#include "src/libstorm/transport/driver.h"
#include "src/storm_common/child_limit.h"
#include "src/storm_common/node_place.h"

#define LIMIT 3000 /* ms for a name service to answer */
/* What was not found is looked for again after this time; then after twice as long. */
#define AGAIN_FIRST (5 * STORM_SEC)
#define AGAIN_RARELY (320 * STORM_SEC)

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

/* -------------------------------------------------------------------- again --- */

struct place_look {
	struct storm_job job;
	const char *node;
	struct storm_addr place;
	uint64_t took;
	bool found;
};

static void agent_place_work(struct storm_job *j)
{
	struct place_look *l = (struct place_look *) j;
	uint64_t began = storm_now();

	l->found = node_place_find(l->node, &l->place);
	l->took = storm_now() - began;
}

/* The interface cannot be changed.  The next agent finds it, if it has to wait no
 * longer than this one. */
static void agent_place_found(struct agent *a, const struct place_look *l)
{
	char place[INET_ADDRSTRLEN];
	struct storm_addr self;

	if (l->took > LIMIT * STORM_MS / 2)
		return;
	a->net.has_place = true;
	a->net.driver->self(a->net.net, &self);
	if (!memcmp(self.ip, l->place.ip, sizeof(self.ip)))
		return;
	inet_ntop(AF_INET, l->place.ip + 12, place, sizeof(place));
	error("now the name service answers: this node is at %s, which is not the address of this agent's interface: the agent ends, and slurmd starts another one",
	      place);
	a->stop = true;
}

static void agent_place_done(void *host, struct storm_job *j)
{
	struct place_look *l = (struct place_look *) j;
	struct agent *a = host;

	a->net.place_asked = false;
	if (j->worked && l->found && !a->stop)
		agent_place_found(a, l);
	xfree(l);
}

uint64_t agent_place_tick(struct agent *a, uint64_t now)
{
	struct place_look *l;

	if (a->net.has_place || a->net.place_asked ||
	    a->conf.set.interface[0] ||
	    a->conf.set.transport != STORM_TRANSPORT_UDP)
		return STORM_NEVER;
	if (!a->net.place_after) {
		a->net.place_after = AGAIN_FIRST;
		a->net.place_at = now + AGAIN_FIRST;
	}
	if (now < a->net.place_at)
		return a->net.place_at;
	a->net.place_after = storm_min(2 * a->net.place_after, AGAIN_RARELY);
	a->net.place_at = now + a->net.place_after;
	l = xmalloc(sizeof(*l));
	l->job.work = agent_place_work;
	l->job.done = agent_place_done;
	l->node = a->node;
	a->net.place_asked = storm_worker_add(&a->controller.w, &l->job);
	if (!a->net.place_asked)
		xfree(l);
	return a->net.place_at;
}
