/*
 * agent_flood.c - see agent_flood.h.
 *
 * There is an allowance of refused datagrams.  When it is used up for the first
 * time, the kernel gets a filter: it discards all that names no open session.
 * That costs nothing while all is quiet, and it suffices against a sender that
 * knows no session.  The filter follows the sessions while it is there.
 *
 * A member of a group knows its sessions, but no key.  If the allowance is used
 * up in spite of the filter, the network is read rarely.  Then the sockets'
 * buffers overflow, and good datagrams are lost with the bad ones:
 * the protocol retransmits them.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include "config.h"

#include <string.h>
#include <sys/epoll.h>

#include "slurm/slurm.h"
#include "src/common/log.h"
#include "src/common/xmalloc.h"

#include "agent_flood.h"
#include "src/libstorm/base/clock.h"
#include "src/libstorm/base/minmax.h"
#include "src/libstorm/protocol/nm/nm.h"
#include "src/libstorm/transport/driver.h"
#include "src/storm_agent/agent.h"

/* A refused datagram costs some 3 us: this is 3 % of a core. */
#define ALLOWED_A_MS 10
#define ALLOWED_MAX 400
#define PAUSE (5 * STORM_MS)
#define FILTER_TIME (10 * STORM_SEC)
#define SESSIONS_MAX 512

static bool flood_filtered(const struct agent *a)
{
	return a->flood.filter_until != 0;
}

/* Give the kernel the sessions, if they have changed. */
static void flood_renew_filter(struct agent *a, bool always)
{
	uint64_t now[SESSIONS_MAX];
	size_t n = storm_nm_sessions(a->nm, now, SESSIONS_MAX);

	if (n > SESSIONS_MAX) { /* too many for a filter */
		a->flood.sessions = 0;
		a->net.driver->admit(a->net.net, NULL, 0, false);
		return;
	}
	if (!always && n == a->flood.sessions &&
	    !memcmp(now, a->flood.session, n * sizeof(*now)))
		return;
	xfree(a->flood.session);
	a->flood.session = xcalloc(n + 1, sizeof(*now));
	memcpy(a->flood.session, now, n * sizeof(*now));
	a->flood.sessions = n;
	a->net.driver->admit(a->net.net, now, n, true);
}

static void flood_filter(struct agent *a, uint64_t now)
{
	a->flood.filter_until = now + FILTER_TIME;
	if (now > a->flood.logged_at + 60 * STORM_SEC || !a->flood.logged_at) {
		a->flood.logged_at = now;
		info("a flood of datagrams of no session: the kernel discards them from now on");
	}
	flood_renew_filter(a, true);
}

/* The allowance is used up. */
static void flood_defend(struct agent *a, uint64_t now)
{
	if (!flood_filtered(a) && a->net.driver->admit) {
		flood_filter(a, now);
		a->flood.allowed = ALLOWED_MAX;
		return;
	}
	if (a->flood.filter_until)
		a->flood.filter_until = now + FILTER_TIME;
	a->flood.resume_at = now + PAUSE;
	a->count.pauses++;
	agent_io_change(&a->ios, &a->net.io, 0);
}

void agent_flood_poll(struct agent *a)
{
	uint64_t before = storm_nm_refused(a->nm), refused, now;

	if (a->flood.resume_at)
		return;
	a->net.driver->poll(a->net.net);
	refused = storm_nm_refused(a->nm) - before;
	if (!refused)
		return;
	now = storm_now();
	a->flood.allowed =
		storm_min(ALLOWED_MAX,
			  a->flood.allowed + (now - a->flood.counted_at) *
						     ALLOWED_A_MS / STORM_MS);
	a->flood.counted_at = now;
	if (refused < a->flood.allowed) {
		a->flood.allowed -= refused;
		return;
	}
	a->flood.allowed = 0;
	flood_defend(a, now);
}

uint64_t agent_flood_tick(struct agent *a, uint64_t now)
{
	struct agent_flood *f = &a->flood;

	if (f->resume_at && now >= f->resume_at) {
		f->resume_at = 0;
		agent_io_change(&a->ios, &a->net.io, EPOLLIN);
	}
	if (f->filter_until && now >= f->filter_until) {
		f->filter_until = 0;
		a->net.driver->admit(a->net.net, NULL, 0, false);
	}
	/* a session may have begun since the last datagrams */
	if (flood_filtered(a) && a->net.driver->admit)
		flood_renew_filter(a, false);
	return storm_min(f->resume_at ? f->resume_at : STORM_NEVER,
			 f->filter_until ? f->filter_until : STORM_NEVER);
}
