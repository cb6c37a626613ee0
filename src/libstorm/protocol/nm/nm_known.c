/*
 * nm_known.c - nodes that this one could not reach some minutes ago.
 *
 * The next session in which such a node is a child waits for it a sixth of the time
 * that else is needed, and then reports it as lost, for the same reason.  A node that
 * answers is no more known, in that session already.
 *
 * The owner of a session has its key.  So it can answer in the name of each of
 * its nodes, or keep one of them from ever taking part.  What datagrams show
 * therefore counts for the user of that session alone.  The kernel says that no
 * connection is made to an address which the host believes.  That counts for
 * all users, and so does what a session of root's or SlurmUser's shows.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include <errno.h>

#include "nm_private.h"
#include "src/libstorm/base/log_limit.h"

#define KNOWN_FOR (180 * STORM_SEC)

bool nm_known_connection(int sys)
{
	return sys == ETIMEDOUT || sys == EHOSTUNREACH;
}

static bool nm_known_is(const struct nm_known *k, const struct storm_addr *addr,
			uint64_t now)
{
	return k->sys && now < k->at + KNOWN_FOR &&
	       !memcmp(&k->addr, addr, sizeof(*addr));
}

/* The entry of this address in the list that counts for the session; NULL: none. */
static struct nm_known *nm_known_in(struct nm_session *s, bool all,
				    const struct storm_addr *addr, uint64_t now)
{
	struct nm_known *list = s->nm->known[all];

	for (int i = 0; i < NM_KNOWN_MAX; i++)
		if (nm_known_is(&list[i], addr, now) &&
		    (all || list[i].uid == s->open->uid))
			return &list[i];
	return NULL;
}

int nm_known_find(struct nm_session *s, uint32_t node, uint64_t now)
{
	const struct nm_known *k;
	struct storm_addr addr;

	/* the owner of the cluster domain knows itself which to leave out */
	if (!s->nm->known_any || s->open->cluster ||
	    s->link.epoch != s->open->epoch || !nm_route(s, node, &addr))
		return 0;
	k = nm_known_in(s, true, &addr, now);
	if (!k)
		k = nm_known_in(s, false, &addr, now);
	return k ? k->sys : 0;
}

static void nm_known_log(const struct nm_session *s, uint32_t node, int sys)
{
	struct storm_log_source from = storm_log_uid(s->open->uid);
	char name[STORM_NAME_MAX + 1];

	storm_nodes_name(&s->open->nodes, node, &name);
	if (sys == ECOMM)
		storm_log_from(
			&from, STORM_LOG_WARN,
			"node %s: no datagram comes from there (is a firewall in between?)",
			name);
	else if (sys == ENOLINK)
		storm_log_from(
			&from, STORM_LOG_WARN,
			"node %s: no datagram from here comes there (is a firewall in between?)",
			name);
	else
		storm_log_from(
			&from, STORM_LOG_WARN,
			"node %s: no connection from here (is a firewall in between?)",
			name);
}

/* It makes room. */
static struct nm_known *nm_known_oldest(struct nm_known *list)
{
	struct nm_known *k = &list[0];

	for (int i = 1; i < NM_KNOWN_MAX; i++)
		if (list[i].at < k->at)
			k = &list[i];
	return k;
}

void nm_known_add(struct nm_session *s, uint32_t node, int sys, uint64_t now)
{
	bool all = s->account.trusted || nm_known_connection(sys);
	struct storm_addr addr;
	struct nm_known *k;

	if (!nm_route(s, node, &addr))
		return;
	k = nm_known_in(s, all, &addr, now);
	if (!k)
		k = nm_known_oldest(s->nm->known[all]);
	*k = (struct nm_known) { addr, s->open->uid, sys, now };
	s->nm->known_any = true;
	nm_known_log(s, node, sys);
}

void nm_known_forget(struct nm_session *s, uint32_t node, uint64_t now)
{
	struct nm_known *k;
	struct storm_addr addr;

	if (!s->nm->known_any || !nm_route(s, node, &addr))
		return;
	for (int all = 0; all < 2; all++)
		if ((k = nm_known_in(s, all, &addr, now)))
			*k = (struct nm_known) { .sys = 0 };
}
