/*
 * owner_private.h - the owner's state, and what its parts offer to those above
 * them; owner.c lists the parts.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_OWNER_PRIVATE_H
#define STORM_OWNER_PRIVATE_H

#include "owner.h"
#include "src/libstorm/base/clock.h"
#include "src/libstorm/base/faults.h"
#include "src/libstorm/protocol/child.h"
#include "src/libstorm/protocol/link.h"
#include "src/libstorm/wire/cast.h"
#include "src/libstorm/wire/open.h"
#include "src/libstorm/wire/request.h"

#define ADOPTED_MAX 64

enum owner_phase {
	OWNER_NEW,
	OWNER_OPENING,
	OWNER_PROBING,
	OWNER_OPEN,
	OWNER_FAILED,
	OWNER_CLOSED
};

enum xfer_state {
	XFER_QUEUED,
	XFER_BEGINNING,
	XFER_SENDING,
	XFER_STAGING,
	XFER_DECIDED
};

/* An operation has ended.  The callee clears out. */
typedef void (*owner_ended_fn)(struct storm_owner *o, void *token,
			       enum storm_compare result,
			       struct storm_outcome *out);

struct owner_xfer {
	struct owner_xfer *next;
	struct storm_begin begin;
	struct storm_bytes from;
	bool unreadable;      /* they could not be had */
	void *token;	      /* NULL: forgotten */
	owner_ended_fn ended; /* reports the end, unless it is forgotten */
	enum xfer_state state;
	enum storm_decision decision;
	struct storm_faults faults;
	uint64_t sent; /* chunks */
	uint64_t chunks;
	struct storm_digest *digest; /* of what is sent; NULL: of no bytes */
	uint64_t progress;	     /* bytes written everywhere */
	uint64_t moved_at;	     /* last sign of progress */
	uint64_t behind;	     /* nodes it waits for */
	bool no; /* a comparison: it does not hold everywhere */
};

/* The last request of a node. */
struct owner_request {
	struct owner_request *next;
	uint32_t node;
	bool busy, gone; /* under way; the node left meanwhile */
	uint64_t id;
	uint8_t *data;
	uint8_t result[STORM_RESULT_MAX];
	size_t result_len; /* 0: none yet */
};

/* An unordered comparison of an own variable. */
struct owner_compare {
	struct owner_compare *next;
	struct storm_idset p; /* empty: all members */
	struct storm_comparison c;
	uint64_t limit; /* ns until it fails */
	void *token;
};

/* Children of silent nodes, which are heard directly meanwhile:
 * owner_round.c. */
struct owner_round {
	struct owner_adopted {
		struct storm_child c;
		uint32_t of; /* the silent one */
	} adopted[ADOPTED_MAX];
	uint32_t count;
	uint64_t at; /* when those that are late were asked last */
};

/* How the owner reaches all nodes: owner_cast.c. */
struct owner_send {
	bool multicast;	     /* confirmed by all */
	uint32_t deaf_beats; /* so many heartbeats some node has heard none */
	bool doubted;	     /* and was so before */
	bool lossy;	     /* a datagram of the owner's was lost */
	bool files;	     /* a transfer was one of a file */
	uint32_t mtu;	     /* of the domain; the least there is, until it is
			      known */
	uint64_t state_at;   /* the state was sent; or a little earlier */
	uint64_t again_at;   /* it is sent once more then */
	uint64_t strobe;     /* number of the last one */
};

/* When the nodes are asked again: owner_ask.c. */
struct owner_ask {
	uint64_t at, every;
	uint64_t asked_at;    /* 0: what it takes is not measured */
	uint64_t answer_time; /* 0: not measured yet */
};

/* Reports of termination: owner_report.c. */
struct owner_reports {
	struct storm_reports got;
	uint64_t acks_at; /* ACKED is due */
	uint8_t acks;	  /* its kinds, a bit each */
	bool acked_once;  /* they are sent once more */
	uint64_t delay; /* of the next ones, if reports come soon after acked_at */
	uint64_t acked_at;
	/* All that is here is acknowledged again at the earliest at again_at;
	 * the next wait is that long. */
	uint64_t again_at, again_wait;
};

/* In the order in which they are executed: owner_xfer.c. */
struct owner_operations {
	struct owner_xfer *first, **tail; /* the first is under way */
	struct owner_xfer *heir; /* room for an operation of the previous owner */
	uint64_t made;		 /* number of the last one */
};

/* DATA of the operation under way.  A token bucket paces them, which receivers'
 * losses slow down: owner_data.c. */
struct owner_data {
	uint32_t chunk, batch; /* bytes; datagrams in one send */
	double rate, tokens;
	uint64_t tokens_at, rate_at, rate_sent, rate_lost;
	double sent, lost; /* chunks of late, the older the less */
};

#define OWNER_BURST (256u << 10) /* bytes, of the token bucket */
#define OWNER_AGAIN_MAX 128

/* DATA that nodes have asked for: owner_repair.c. */
struct owner_repair {
	struct owner_lack { /* the nodes that lack a chunk, if few do */
		uint32_t who[2];
	} * want;	    /* by chunk, a ring */
	uint64_t room;	    /* of the ring */
	uint64_t low, high; /* those wanted are in [low, high) */
	uint64_t count;	    /* how many are wanted */
	uint64_t at;	    /* they are sent then */
	/* sent once, and once more then */
	struct owner_wanted {
		uint64_t chunk;
		struct owner_lack lack;
	} again[OWNER_AGAIN_MAX];
	uint32_t again_count;
	uint64_t again_at;
	bool vain; /* to single nodes: they go to the group */
};

/* The unordered ones: owner_compare.c. */
struct owner_comparisons {
	struct owner_compare *first, **tail; /* the first is under way */
	uint64_t asked_at;		     /* 0: it is not */
};

/* Changes of the members: owner_member.c. */
struct owner_members {
	uint64_t epoch_at;	    /* when this epoch began */
	uint64_t again_at;	    /* then it is announced again */
	uint64_t again_every;	    /* how often from then on; 0: never */
	uint64_t lost_at;	    /* no loss is acted on before */
	uint64_t lost_every;	    /* how long until the next one is */
	uint64_t renewed_at;	    /* OPEN's credential */
	uint32_t invited;	    /* one past the last node invited */
	struct storm_idset joining; /* non-members that have sent JOIN */
	bool joining_deaf;	    /* one of them has received no multicast */
	struct storm_idset overdue; /* as reported: owner_overdue.c */
};

/* Nodes that have restarted: owner_member.c. */
struct owner_returning {
	struct storm_idset nodes;    /* which ask for an OPEN */
	uint64_t answer_at;	     /* then it is sent at the earliest */
	struct storm_idset answered; /* those it was sent to lately */
	uint64_t answered_at;	     /* when it was sent to the first one */
};

struct storm_owner {
	struct storm_domain_conf conf;
	struct storm_transport *t;
	struct storm_owner_ops ops;
	void *arg;
	enum owner_phase phase;
	uint64_t phase_at; /* when this phase began */
	uint64_t ticked, beat_at;
	struct storm_open *open;
	struct storm_faults faults; /* of the opening */
	struct storm_link link;
	struct storm_link_stats link_stats;
	struct storm_tree tree;
	struct storm_child *child;
	uint32_t children;
	struct storm_cast cast;	 /* the state that is sent to all */
	struct storm_status sum; /* what all subtrees have answered */
	struct owner_round round;
	struct owner_send send;
	struct owner_ask ask;
	struct owner_reports reports;
	struct owner_operations operations;
	struct owner_data data;
	struct owner_repair repair;
	struct owner_comparisons comparisons;
	struct owner_request *requests;
	struct owner_members members;
	struct owner_returning returning;
	struct storm_timeline tl;
	struct storm_stats stats;
};

static inline struct storm_addr owner_addr(const struct storm_owner *o,
					   uint32_t node)
{
	return storm_nodes_addr(&o->open->nodes, node);
}

/* owner_round.c */
/* Late nodes are about to be asked: those below silent ones are adopted.
 * False: there are none. */
bool owner_round_ask(struct storm_owner *o, uint64_t now);
/* A child has answered, but not for all of its subtree.  True: more nodes are
 * adopted now, and are to be asked. */
bool owner_round_heard(struct storm_owner *o, const struct storm_child *c,
		       uint64_t now);
/* The sum of the tree has the adopted as late: take their own answers. */
void owner_round_merge(struct storm_owner *o, struct storm_status *st,
		       const struct storm_asked *a);
/* NULL: not adopted. */
struct storm_child *owner_round_find(struct storm_owner *o, uint32_t node);
/* The addresses of those adopted, at most ADOPTED_MAX; returns how many. */
size_t owner_round_addrs(const struct storm_owner *o, struct storm_addr *to);
void owner_round_end(struct storm_owner *o); /* another epoch, or none */

/* owner_cast.c */
typedef bool (*owner_child_fn)(const struct storm_owner *o,
			       const struct storm_child *c);
bool owner_cast_by_group(const struct storm_owner *o);
/* Send the state, or anything else, to all: by multicast or down the tree. */
void owner_cast_state(struct storm_owner *o, uint8_t flags);
void owner_cast_body(struct storm_owner *o, uint64_t op, const uint8_t *body,
		     size_t len);
/* Send it down the tree, whatever the network does with multicast: from those
 * children on that to_child chooses; NULL: all, and those adopted. */
void owner_cast_state_relay(struct storm_owner *o, uint8_t flags,
			    owner_child_fn to_child);
void owner_cast_body_relay(struct storm_owner *o, uint64_t op,
			   const uint8_t *body, size_t len);
/* A new version of the state, with these flags, to these; with the excluded
 * nodes, if they go in parts.  owner_cast_state() is for those that have
 * them. */
void owner_cast_state_to(struct storm_owner *o, uint8_t flags, bool relay,
			 const struct storm_addr *to, size_t n);
/* The same, to all. */
void owner_cast_state_whole(struct storm_owner *o);
/* Do the excluded nodes go in parts, as they are too many for the state? */
bool owner_cast_in_parts(const struct storm_owner *o);
/* Is there room for these nodes in the state? */
bool owner_cast_fits(const struct storm_owner *o, const struct storm_idset *p);
/* The longest body of what goes to all. */
size_t owner_cast_max(const struct storm_owner *o);
/* Retransmit the latest version to a node, member or not. */
void owner_cast_again_node(struct storm_owner *o, uint32_t node);
/* Retransmit it to the group, even if that is not known to reach all. */
void owner_cast_again_group(struct storm_owner *o);

/* owner_ask.c */
/* Something new is asked: the answers are outstanding from now on. */
void owner_ask_soon(struct storm_owner *o, uint64_t now);
/* All answers are there: how long that took is remembered. */
void owner_ask_answered(struct storm_owner *o, uint64_t now);
/* Is the answer of this child's subtree outstanding? */
bool owner_ask_owes(const struct storm_owner *o, const struct storm_child *c);
/* The answers of all subtrees, together, into o->sum. */
void owner_ask_sum(struct storm_owner *o);
/* Something new is asked of all: send it, and wait for their answers. */
void owner_ask_new(struct storm_owner *o, uint64_t now);
/* All are to answer, whatever they have. */
void owner_ask_all(struct storm_owner *o, uint64_t now);
/* Time to ask again those whose answers are outstanding. */
void owner_ask_late(struct storm_owner *o, uint64_t now);
/* Ask those below silent nodes: with all below them, and to answer past
 * those. */
void owner_ask_adopted(struct storm_owner *o);
/* Ask these nodes, which have lost their parents. */
void owner_ask_orphans(struct storm_owner *o, const struct storm_idset *node);
/* The time-out has passed: add the late nodes to the faults. */
void owner_blame_late(const struct storm_owner *o,
		      const struct storm_idset *late, struct storm_faults *l);
/* Add the nodes of p (empty: all members) that are not members to the
 * faults. */
void owner_blame_outside(const struct storm_owner *o,
			 const struct storm_idset *p, struct storm_faults *l);

/* owner_report.c */
/* A part of a report of this child's subtree. */
void owner_report_part(struct storm_owner *o, struct storm_child *c,
		       const uint8_t *body, size_t len, uint64_t now);
/* Some node has missed an acknowledgement. */
void owner_report_unacked(struct storm_owner *o, uint64_t now);
/* Send due acknowledgements.  Returns when to call again, or STORM_NEVER. */
uint64_t owner_report_tick(struct storm_owner *o, uint64_t now);

/* owner_member.c */
bool owner_is_cluster(const struct storm_owner *o);
/* The first epoch of an owner, if this one was saved last. */
uint32_t owner_first_epoch(uint32_t saved);
/* Save the next epoch before OPEN is sent. */
int owner_begin_epoch(struct storm_owner *o);
/* True: this is a STATUS of a restarted node, in an incarnation that is not
 * known yet.  It needs no other processing. */
bool owner_newborn(struct storm_owner *o, const struct storm_header *h,
		   const struct storm_rx *rx, uint64_t now);
/* Send OPEN to returning nodes that ask for it; when to call again. */
uint64_t owner_invite_returned(struct storm_owner *o, uint64_t now);
/* Send OPEN to every child that has not received it. */
void owner_invite_children(struct storm_owner *o);
/* The domain is lost: OPEN fails, if the domain is not open yet, and so do all
 * operations. */
void owner_fail(struct storm_owner *o);
/* Begin the next epoch without these nodes.  On an error they are still
 * members, or the domain is lost (ESUPERSEDED). */
int owner_exclude(struct storm_owner *o, const struct storm_idset *nodes,
		  enum storm_err why, int sys, uint64_t now);
/* Begin it without the nodes that a STATUS has as lost, or without the children
 * that are silent.  True: there are such, and no epoch began just before. */
bool owner_exclude_lost(struct storm_owner *o, uint64_t now);
bool owner_exclude_silent(struct storm_owner *o, uint64_t now);
/* All of a new epoch that goes in parts, until heartbeats have it.  When to
 * call again. */
uint64_t owner_announce_again(struct storm_owner *o, uint64_t now);
/* Children that datagrams do not reach, or from which none come: into the faults of
 * the opening; *next: when to look again. */
bool owner_find_cut(struct storm_owner *o, uint64_t *next, uint64_t now);
/* Find such children of an open domain, and exclude them.  True: there are some. */
bool owner_exclude_cut(struct storm_owner *o, uint64_t *next, uint64_t now);
/* Which of these that do not answer hear nothing, into the empty *out. */
int owner_cut_nodes(const struct storm_owner *o,
		    const struct storm_idset *nodes, struct storm_idset *out);
int owner_exclude_one(struct storm_owner *o, uint32_t node, enum storm_err why,
		      int sys, uint64_t now);
/* A node has refused OPEN, as it serves another owner: begins a new epoch.  If
 * that cannot be saved the domain is lost (ESUPERSEDED). */
int owner_superseded(struct storm_owner *o, uint64_t now);
/* Begin an epoch without the nodes that answer with no state of the domain. */
void owner_exclude_fresh(struct storm_owner *o, uint64_t now);
/* Send OPEN to some of the nodes outside, in turn. */
void owner_invite_some(struct storm_owner *o, uint64_t now);
void owner_try_multicast(struct storm_owner *o, uint64_t now);
/* Notify a member that does not know that it is one. */
void owner_welcome(struct storm_owner *o, uint32_t node);
/* Between two operations: make the nodes that have sent JOIN members. */
void owner_admit(struct storm_owner *o, uint64_t now);

/* owner_overdue.c */
/* Report nodes that are overdue now, or no longer; when to call again. */
uint64_t owner_overdue(struct storm_owner *o, uint64_t now);
/* Has the epoch lasted so long that silent nodes are known to be overdue? */
bool owner_overdue_settled(const struct storm_owner *o, uint64_t now);

/* owner_request.c */
/* A node asks for an operation, by its own number.  True: it is in the
 * queue. */
bool owner_request(struct storm_owner *o, uint32_t node, uint64_t id,
		   const uint8_t *body, size_t len);
void owner_request_forget(struct storm_owner *o, uint32_t node);
void owner_request_end_all(struct storm_owner *o);

/* owner_compare.c */
/* See storm_owner_compare(); nothing is begun. */
int owner_compare_queue(struct storm_owner *o, const struct storm_idset *P,
			uint32_t var, enum storm_relation rel, uint64_t value,
			const struct storm_assign *write, void *token);
/* See storm_owner_compare_within(); nothing is begun. */
int owner_compare_queue_within(struct storm_owner *o,
			       const struct storm_idset *P, uint32_t var,
			       enum storm_relation rel, uint64_t value,
			       uint64_t limit, void *token);
/* Is such a comparison queued with the transfers? */
bool owner_compare_ordered(uint32_t var, const struct storm_assign *write);
void owner_compare_advance(struct storm_owner *o, uint64_t now);
/* When the one under way is late, or STORM_NEVER. */
uint64_t owner_compare_tick(struct storm_owner *o, uint64_t now);
void owner_compare_end_all(struct storm_owner *o);

/* owner_data.c */
/* Begin to send the DATA of the next operation. */
void owner_data_begin(struct storm_owner *o, uint64_t now);
/* Send what window, pace and network allow.  Returns when to call again. */
uint64_t owner_data_send(struct storm_owner *o, uint64_t now);
/* Bytes of this transfer.  NULL: they cannot be had, and it is to be aborted. */
const uint8_t *owner_data_bytes(struct owner_xfer *x, uint64_t off, size_t len);

/* owner_repair.c */
/* A node lacks some of what was sent. */
void owner_repair_nacked(struct storm_owner *o, const struct storm_header *h,
			 const uint8_t *body, size_t len, uint64_t now);
/* All is sent: from here on it is the end that may be lost. */
void owner_repair_last(struct storm_owner *o, uint64_t now);
/* Send what is due and what the network takes.  Returns when to call again. */
uint64_t owner_repair_tick(struct storm_owner *o, uint64_t now);
void owner_repair_end(struct storm_owner *o); /* nobody lacks anything */

/* owner_xfer.c */
/* P for an operation: NULL makes an empty set, all members. */
int owner_set_copy(const struct storm_owner *o, const struct storm_idset *P,
		   struct storm_idset *out);
/* Queue what b announces (taken over); nothing is begun. */
int owner_xfer_queue(struct storm_owner *o, struct storm_begin *b,
		     const struct storm_bytes *from, void *token,
		     owner_ended_fn ended);
/* Queue a transfer, see storm_owner_xfer(). */
int owner_xfer_queue_target(struct storm_owner *o, const struct storm_idset *P,
			    const struct storm_target *to,
			    const struct storm_bytes *from, uint64_t len,
			    void *token);
/* Queue the operation that the previous owner may have left undecided. */
void owner_xfer_inherit(struct storm_owner *o, uint64_t now);
/* The sum of the subtrees has changed: the operation under way goes on.  True:
 * it has ended, or there was none: nodes may join, and the next one may
 * begin. */
bool owner_xfer_advance(struct storm_owner *o, uint64_t now);
/* If no operation is under way, begin the first in the queue.  It ends at once
 * if it names non-members.  False: the queue is empty. */
bool owner_xfer_begin(struct storm_owner *o, uint64_t now);
/* Send of the operation under way what window, pace and network allow.  *next:
 * when to call again.  True: all is sent, and the answers may have arrived
 * already. */
bool owner_xfer_send(struct storm_owner *o, uint64_t *next, uint64_t now);
/* Aborts the operation under way, if it is late.  True: it is decided already,
 * and the nodes behind (o->sum) have not confirmed that: it is up to the
 * caller. */
bool owner_xfer_late(struct storm_owner *o, uint64_t now);
/* Late nodes are about to be asked. */
void owner_xfer_ask(struct storm_owner *o);
/* A member is lost: the operation under way fails, if it names that node. */
void owner_xfer_lost(struct storm_owner *o, uint32_t node, enum storm_err why,
		     int sys);
void owner_xfer_end_all(struct storm_owner *o);

/* owner_open.c */
/* The sum of the subtrees has changed.  True: the domain is open, just now. */
bool owner_open_advance(struct storm_owner *o, uint64_t now);
/* As long as the domain is not open; when to call again. */
uint64_t owner_open_tick(struct storm_owner *o, uint64_t now);

/* owner.c */
/* An answer came in, or a member went: go on with all that waits for it. */
void owner_advance(struct storm_owner *o, uint64_t now);
/* Go on with operations; between two of them nodes that have asked for it
 * join. */
void owner_advance_operations(struct storm_owner *o, uint64_t now);

#endif
