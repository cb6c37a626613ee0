/*
 * agent_peers.c - see agent_peers.h.  A table by name has what was found.  Only
 * names that slurm.conf has, or slurmctld, get into it.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include "config.h"

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

#include "slurm/slurm.h"
#include "src/common/xmalloc.h"
#include "src/common/xstring.h"

#include "agent_peers.h"
#include "src/libstorm/base/clock.h"
#include "src/libstorm/base/minmax.h"
#include "src/storm_common/node_addr.h"
#include "src/storm_common/node_list.h"

#define BUCKETS 4096
#define ADDRS 4 /* that a name service has for a name; more are ignored */
/* A name service's answer is believed for so long. */
#define BELIEVED (600 * STORM_SEC)
/* A node that sends from elsewhere is looked up again, but not more often. */
#define AGAIN (10 * STORM_SEC)
/* What slurmctld has signed serves a session's later neighbours, too. */
#define TOLD (86400 * STORM_SEC)
/* slurm.conf may have changed.  It takes at most this part of the time, whatever
 * names a user sends. */
#define CONF_AGAIN (5 * STORM_SEC)
#define CONF_PART 100
#define CONF_WRONG (20 * STORM_SEC) /* each time adds lines to the log */

struct agent_peer {
	struct agent_peer *next;
	char *name;
	struct storm_addr addr[ADDRS];
	int addrs;
	uint64_t at;		/* it was looked up; 0: never */
	struct storm_addr told; /* by slurmctld */
	uint64_t told_at;	/* 0: never */
};

static struct {
	pthread_mutex_t lock;
	struct agent_peer *bucket[BUCKETS];
	atomic_bool doubted; /* slurm.conf is to be read */
	uint64_t conf_at;    /* when slurm.conf may be read again */
} table = { .lock = PTHREAD_MUTEX_INITIALIZER };

static struct agent_peer **peers_bucket(const char *name)
{
	uint32_t h = 2166136261u;

	for (const char *p = name; *p; p++)
		h = (h ^ (uint8_t) *p) * 16777619u;
	return &table.bucket[h % BUCKETS];
}

/* Locked. */
static struct agent_peer *peers_find(const char *name)
{
	struct agent_peer *p = *peers_bucket(name);

	while (p && strcmp(p->name, name))
		p = p->next;
	return p;
}

static bool peer_has(const struct agent_peer *p, const struct storm_addr *a)
{
	for (int i = 0; i < p->addrs; i++)
		if (!memcmp(p->addr[i].ip, a->ip, sizeof(a->ip)))
			return true;
	return false;
}

static bool peer_was_told(const struct agent_peer *p,
			  const struct storm_addr *a, uint64_t now)
{
	return p->told_at && now < p->told_at + TOLD &&
	       !memcmp(p->told.ip, a->ip, sizeof(a->ip));
}

/* STORM_EBUSY: look it up. */
static int peers_answer(const char *name, const struct storm_addr *addr,
			uint64_t now)
{
	const struct agent_peer *p;
	int err = STORM_EBUSY;

	pthread_mutex_lock(&table.lock);
	p = peers_find(name);
	if (p && peer_was_told(p, addr, now))
		err = STORM_OK;
	else if (p && peer_has(p, addr))
		err = now < p->at + BELIEVED ? STORM_OK : STORM_EBUSY;
	else if (p && p->at)
		err = now < p->at + AGAIN ? STORM_EACCES : STORM_EBUSY;
	pthread_mutex_unlock(&table.lock);
	return err;
}

/* Locked. */
static struct agent_peer *peers_entry(const char *name)
{
	struct agent_peer *p = peers_find(name), **b = peers_bucket(name);

	if (p)
		return p;
	p = xmalloc(sizeof(*p));
	p->name = xstrdup(name);
	p->next = *b;
	*b = p;
	return p;
}

void agent_peers_believe(const char *name, const struct storm_addr *addr)
{
	struct agent_peer *p;

	pthread_mutex_lock(&table.lock);
	p = peers_entry(name);
	p->told = *addr;
	p->told_at = storm_now();
	pthread_mutex_unlock(&table.lock);
}

static void peers_keep(const char *name, const struct storm_addr *addr,
		       int addrs, uint64_t now)
{
	struct agent_peer *p;

	pthread_mutex_lock(&table.lock);
	p = peers_entry(name);
	memcpy(p->addr, addr, (size_t) addrs * sizeof(*addr));
	p->addrs = addrs;
	p->at = now;
	pthread_mutex_unlock(&table.lock);
}

void agent_peers_doubt(void)
{
	pthread_mutex_lock(&table.lock);
	for (int i = 0; i < BUCKETS; i++)
		for (struct agent_peer *p = table.bucket[i]; p; p = p->next)
			p->addrs = p->at = 0;
	table.doubted = true;
	pthread_mutex_unlock(&table.lock);
}

/* Nodes may have been added, moved or removed since slurm.conf was read.  One
 * thread. */
static bool peers_read_conf(uint64_t now)
{
	uint64_t took;
	bool good;

	if (now < table.conf_at)
		return false;
	good = node_list_renew();
	took = storm_now() - now;
	table.conf_at = storm_now() + storm_max(good ? CONF_AGAIN : CONF_WRONG,
						CONF_PART * took);
	return good;
}

static int peers_ask(const char *name, const struct storm_addr *addr,
		     uint64_t now)
{
	struct storm_addr found[ADDRS];
	int n = node_list_lacks(name) ? 0 : node_addrs(name, found, ADDRS);

	if (n)
		peers_keep(name, found, n, now);
	return n ? peers_answer(name, addr, now) : STORM_EACCES;
}

int agent_peers_know(const char *name, const struct storm_addr *addr)
{
	return peers_answer(name, addr, storm_now());
}

int agent_peers_look(const char *name, const struct storm_addr *addr)
{
	uint64_t now = storm_now();
	int err = peers_answer(name, addr, now);

	if (err == STORM_EBUSY) {
		if (atomic_exchange(&table.doubted, false)) {
			table.conf_at = 0;
			peers_read_conf(now);
		}
		err = peers_ask(name, addr, now);
	}
	if (err && peers_read_conf(now))
		err = peers_ask(name, addr, now);
	return err;
}

void agent_peers_forget(void)
{
	for (int i = 0; i < BUCKETS; i++) {
		struct agent_peer *p;

		while ((p = table.bucket[i])) {
			table.bucket[i] = p->next;
			xfree(p->name);
			xfree(p);
		}
	}
}
