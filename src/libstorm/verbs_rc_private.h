/*
 * verbs_rc_private.h - what the two files of the reliable pairs share:
 *   verbs_rc_cm.c  how pairs come and go; calls nothing of the other
 *   verbs_rc.c     the rings: sending, receiving, the poll loop
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_VERBS_RC_PRIVATE_H
#define STORM_VERBS_RC_PRIVATE_H

#include <rdma/rdma_cma.h>
#include <sys/queue.h>

#include "verbs_rc.h"

#define RC_BUCKETS 64
#define RC_KNOWN 512		/* ends that are remembered; a power of 2 */
#define RC_BATCH 32
#define RC_REPORTS_MAX 8	/* writes that report free slots, under way */
#define RC_TICK (50 * STORM_MS)

enum rc_state {
	RC_WAITING,		/* for others to be connected first */
	RC_ADDR, RC_ROUTE,	/* being resolved */
	RC_CONNECTING,
	RC_UP
};

/* One direction.  "Out": we write into its ring; "in": our ring is written. */
struct rc_pair {
	TAILQ_ENTRY(rc_pair) link;	/* in rc->out or rc->in; those that are
					   up by use, the last one used most */
	LIST_ENTRY(rc_pair) same;	/* out: in its bucket */
	bool out;
	enum storm_class class;
	enum rc_state state;
	uint32_t index, serial;		/* for the completions, see wr_id */
	struct storm_addr peer;		/* in: port 0 */
	struct rdma_cm_id *id;
	struct ibv_pd *pd;		/* its own: see storm_rc_memory() */
	uint8_t *mem;			/* the ring, and a word behind it */
	size_t mem_len;
	struct ibv_mr *ring, *word;
	uint64_t remote;		/* the other's ring, or word */
	uint32_t rkey;
	uint32_t slots, slot;
	uint32_t inline_max;		/* out: is not copied here */
	uint64_t head;			/* out: written; in: taken out */
	uint64_t done;			/* out: completed; in: reported */
	uint32_t reports_posted, reports_done;	/* in */
	uint64_t since, used;
};
TAILQ_HEAD(rc_pairs, rc_pair);
LIST_HEAD(rc_bucket, rc_pair);

/* An end without a pair, as far as it is remembered: another with the same hash
 * takes its place. */
struct rc_known {
	struct storm_addr addr;
	enum storm_class class;
	uint32_t count;		/* sends since */
	uint64_t since;
	uint64_t not_before;	/* failed: try no sooner */
	uint32_t failures;	/* in a row */
};

struct storm_rc {
	struct storm_rc_conf conf;
	struct storm_net_handler h;
	int epfd, timerfd;
	bool ticking, armed;
	struct rdma_event_channel *cm;
	struct rdma_cm_id *listener;
	struct ibv_context *verbs;	/* rdma_cm's, as all that we use */
	struct ibv_comp_channel *comp;
	struct ibv_cq *rcq;		/* wakes us */
	struct ibv_cq *scq;		/* does not: looked at when sending, and
					   by the timer while something is
					   under way */

	struct rc_pairs out, in;
	uint32_t out_count, in_count, connecting, waiting;
	struct rc_bucket bucket[RC_BUCKETS];
	struct rc_known known[RC_KNOWN];
	struct rc_pair **by_index;
	uint32_t serials;
	uint64_t unacked;		/* sends that have not completed */
	bool logged_memory;

	struct storm_rx batch[RC_BATCH];
	size_t count;			/* in the batch */
	uint8_t *bufs;			/* RC_BATCH slots */

	struct storm_rc_stats stats;
};

static inline uint64_t storm_rc_wr_id(const struct rc_pair *p)
{
	return (uint64_t) p->serial << 32 | p->index;
}

/* Not the sum of its bytes: the addresses of a cluster differ in the last. */
static inline uint32_t storm_rc_hash(enum storm_class c,
				     const struct storm_addr *a)
{
	uint32_t h = 2166136261u ^ a->port ^ (uint32_t) c << 16;

	for (int i = 0; i < STORM_ADDR_LEN; i++)
		h = (h ^ a->ip[i]) * 16777619u;
	return h ^ h >> 15;
}

static inline bool storm_rc_same(const struct storm_addr *a,
				 const struct storm_addr *b)
{
	return a->port == b->port && !memcmp(a->ip, b->ip, STORM_ADDR_LEN);
}

/* verbs_rc_cm.c */
void storm_rc_timer(struct storm_rc *rc);	/* let it tick as needed */
void storm_rc_set_timer(struct storm_rc *rc, uint64_t first, uint64_t then);
int storm_rc_post_receives(struct rc_pair *p, uint32_t n);
int storm_rc_listen(struct storm_rc *rc);	/* STORM_OK, or logged */
/* A datagram is for an end without a pair: should it have one? */
void storm_rc_consider(struct storm_rc *rc, enum storm_class c,
		       const struct storm_addr *to);
void storm_rc_cm_events(struct storm_rc *rc);
void storm_rc_cm_tick(struct storm_rc *rc, uint64_t now);
/* It has failed, and is freed.  why: a static string. */
void storm_rc_fail(struct storm_rc *rc, struct rc_pair *p, const char *why);
void storm_rc_drop(struct storm_rc *rc, struct rc_pair *p);	/* quietly */

#endif
