/*
 * owner_private.h - the owner's state, and what its parts offer to those above
 * them; owner.c lists the parts.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_OWNER_PRIVATE_H
#define STORM_OWNER_PRIVATE_H

#include "owner.h"
#include "owner_each.h"
#include "owner_window.h"
#include "src/libstorm/base/clock.h"
#include "src/libstorm/base/faults.h"
#include "src/libstorm/protocol/child.h"
#include "src/libstorm/protocol/collect.h"
#include "src/libstorm/protocol/link.h"
#include "src/libstorm/protocol/watch.h"
#include "src/libstorm/wire/cast.h"
#include "src/libstorm/wire/open.h"
#include "src/libstorm/wire/pulse.h"
#include "src/libstorm/wire/request.h"

#define ADOPTED_MAX 64 /* nodes, see struct owner_round */

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
	bool unreadable;      /* `from` could not be read */
	void *token;	      /* NULL: forgotten */
	owner_ended_fn ended; /* reports the end, unless it is forgotten */
	enum xfer_state state;
	enum storm_decision decision;
	struct storm_faults faults;
	uint64_t sent, chunks;	     /* chunks sent, and in all */
	struct storm_digest *digest; /* of what is sent; NULL: of no bytes */
	uint64_t progress;	     /* bytes written everywhere */
	uint64_t least;	   /* bytes that the last of all has at the end */
	uint64_t moved_at; /* when it made progress last */
	uint64_t behind;   /* number of nodes that it waits for */
	struct owner_each each;
	bool no;       /* a comparison: the relation does not hold everywhere */
	bool canceled; /* while it was QUEUED */
};

/* The last request of a node. */
struct owner_request {
	struct owner_request *next;
	uint32_t node;
	bool busy, gone; /* it is under way; the node left meanwhile */
	uint64_t id;	 /* the node's own number of it */
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

/* Children of silent nodes, which the owner asks and hears itself meanwhile:
 * owner_round.c. */
struct owner_round {
	struct owner_adopted {
		struct storm_child c;
		uint32_t of; /* the silent node, its parent */
	} adopted[ADOPTED_MAX];
	uint32_t count;
	uint64_t at; /* when those that are late were asked last */
};

/* How the owner reaches all nodes: owner_cast.c. */
struct owner_send {
	bool multicast;	     /* confirmed by all */
	uint32_t deaf_beats; /* heartbeats in a row that some node has not heard
				by multicast */
	bool doubted;	     /* multicast was given up for that, and logged */
	bool lossy;	     /* a datagram of the owner's was lost */
	bool files;	     /* a transfer was one of a file */
	uint32_t mtu;	     /* of the domain, in bytes; until it is known, the
				least there is */
	uint64_t state_at;   /* when a version was sent, at a tick's accuracy */
	uint64_t again_at;   /* when the state is sent once more */
	uint64_t strobe;     /* number of the last one */
};

/* When the nodes are asked again: owner_ask.c. */
struct owner_ask {
	uint64_t at, every;   /* the next time; ns until the one after it */
	uint64_t asked_at;    /* 0: these answers are not timed */
	uint64_t answer_time; /* ns until all answered, smoothed; 0: none yet */
};

/* Reports of termination: owner_report.c. */
struct owner_reports {
	struct storm_reports got;
	uint64_t acks_at; /* when ACKED is sent */
	uint8_t acks;	  /* a bit for each of its kinds */
	bool acked_once;  /* it is sent once more */
	uint64_t acked_at;
	uint64_t delay; /* ns, of the next one if reports come soon after
			   acked_at */
	/* When all that is here may be acknowledged again, and how many ns
	 * later once more. */
	uint64_t again_at, again_wait;
};

/* The queue of ordered operations, in their order: owner_queue.c, owner_xfer.c. */
struct owner_operations {
	struct owner_xfer *first, **tail; /* the first is under way */
	struct owner_xfer *heir; /* room for one of the previous owner */
	uint64_t made;		 /* number of the last one that was queued */
};

/* DATA of the operation under way.  A token bucket paces them, and the
 * receivers' losses slow it down: owner_data.c. */
struct owner_data {
	uint32_t chunk, batch; /* bytes; datagrams in one send */
	double rate, tokens;   /* bytes/s (0: no limit); bytes */
	uint64_t tokens_at;    /* when the tokens were counted */
	/* When the losses were looked at last, and the chunks sent and lost by
	 * then. */
	uint64_t rate_at, rate_sent, rate_lost;
	double sent, lost; /* recent chunks: the older, the less they count */
};

#define OWNER_BURST (256u << 10) /* bytes, of the token bucket */
#define OWNER_AGAIN_MAX 128

/* DATA that nodes have asked for: owner_repair.c. */
struct owner_repair {
	struct owner_lack { /* the nodes that lack a chunk, if few do */
		uint32_t who[2];
	} * want;	    /* by chunk, a ring */
	uint64_t room;	    /* of the ring */
	uint64_t low, high; /* the chunks wanted are in [low, high) */
	uint64_t count;	    /* how many are wanted */
	uint64_t at;	    /* when they are sent */
	/* Those sent once, which are sent once more at again_at. */
	struct owner_wanted {
		uint64_t chunk;
		struct owner_lack lack;
	} again[OWNER_AGAIN_MAX];
	uint32_t again_count;
	uint64_t again_at;
	bool vain; /* single nodes were sent chunks in vain: use the group */
};

/* The unordered ones: owner_compare.c. */
struct owner_comparisons {
	struct owner_compare *first, **tail; /* the first is under way */
	uint64_t asked_at; /* when the first was asked; 0: none is under way */
};

/* A gather, see owner_gather.c. */
struct owner_gather {
	struct owner_gather *next;
	struct storm_idset p; /* empty: all members, until it begins */
	uint8_t query[STORM_GATHER_QUERY];
	uint16_t len;
	uint64_t limit; /* ns, from its turn on */
	void *token;
	uint64_t id;		  /* of the question under way; 0: none yet */
	uint64_t until;		  /* its end */
	uint64_t round_until;	  /* the end of this question */
	uint64_t slice;		  /* ns for each level of the tree */
	uint32_t epoch;		  /* of this question */
	bool past;		  /* it goes past silent nodes */
	struct storm_idset asked; /* now */
	struct storm_idset tried; /* asked by the owner itself, in vain or not */
	struct storm_collect c;
};
struct owner_gathers {
	struct owner_gather *first, **tail; /* the first is under way */
	uint64_t made;			    /* number of the last question */
};

/* Changes of the members: owner_member.c. */
struct owner_members {
	uint64_t epoch_at;	    /* when this epoch began */
	uint64_t again_at;	    /* when it is announced again */
	uint64_t again_every;	    /* ns until the time after; 0: never */
	uint64_t lost_at;	    /* before this no loss is acted on */
	uint64_t lost_every;	    /* ns from one loss to the next */
	uint64_t renewed_at;	    /* when OPEN's credential was made */
	uint32_t invited;	    /* one past the last node invited */
	struct storm_idset joining; /* non-members that have sent JOIN */
	bool joining_deaf;	    /* one of them has received no multicast */
	struct storm_idset overdue; /* as reported: owner_overdue.c */
};

/* Whose signs of life are watched: owner_pulse.c. */
struct owner_pulse {
	struct storm_pulse_tx tx; /* closed: there are no signs */
	struct owner_watched *watched;
	uint32_t count, room;
	uint64_t ticked; /* 0: never */
	bool elsewhere;	 /* in another thread */
};

/* Nodes that have restarted: owner_member.c. */
struct owner_returning {
	struct storm_idset nodes;    /* they ask for an OPEN */
	uint64_t answer_at;	     /* no OPEN is sent to them before */
	struct storm_idset answered; /* nodes that were sent one recently */
	uint64_t answered_at;	     /* when the first of those was */
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
	struct owner_window window;
	struct owner_repair repair;
	struct owner_comparisons comparisons;
	struct owner_gathers gathers;
	struct owner_request *requests;
	struct owner_members members;
	struct owner_returning returning;
	struct owner_pulse pulse;
	struct storm_timeline tl;
	struct storm_stats stats;
};

static inline struct storm_addr owner_addr(const struct storm_owner *o,
					   uint32_t node)
{
	return storm_nodes_addr(&o->open->nodes, node);
}

/* owner_round.c */
/* Late nodes are about to be asked: adopt the children of silent ones.  False:
 * there are none. */
bool owner_round_ask(struct storm_owner *o, uint64_t now);
/* A child has answered, but not for all of its subtree.  True: more nodes were
 * adopted, which the caller must ask. */
bool owner_round_heard(struct storm_owner *o, const struct storm_child *c,
		       uint64_t now);
/* The adopted nodes count as late in st, the sum of the tree: put in their own
 * answers. */
void owner_round_merge(struct storm_owner *o, struct storm_status *st,
		       const struct storm_asked *a);
/* The adopted node of this number; NULL: it is not adopted. */
struct storm_child *owner_round_find(struct storm_owner *o, uint32_t node);
/* Write the addresses of the adopted nodes to `to`, which has room for
 * ADOPTED_MAX. Returns how many there are. */
size_t owner_round_addrs(const struct storm_owner *o, struct storm_addr *to);
/* Another epoch begins, or the domain ends: adopt none. */
void owner_round_end(struct storm_owner *o);

/* owner_cast.c */
typedef bool (*owner_child_fn)(const struct storm_owner *o,
			       const struct storm_child *c);
bool owner_cast_by_group(const struct storm_owner *o);
/* Send the state, or another body, to all: by multicast or down the tree.
 * flags: of STORM_CAST_ASK and the like. */
void owner_cast_state(struct storm_owner *o, uint8_t flags);
void owner_cast_body(struct storm_owner *o, uint64_t op, const uint8_t *body,
		     size_t len);
/* Send it down the tree, even if multicast works: to the children that
 * to_child chooses, which pass it on.  NULL: to all of them, and to the
 * adopted nodes. */
void owner_cast_state_relay(struct storm_owner *o, uint8_t flags,
			    owner_child_fn to_child);
void owner_cast_body_relay(struct storm_owner *o, uint64_t op,
			   const uint8_t *body, size_t len);
/* Send a new version of the state to these addresses, and the excluded nodes,
 * too, if they go in parts.  owner_cast_state() is for nodes that have those
 * parts. */
void owner_cast_state_to(struct storm_owner *o, uint8_t flags, bool relay,
			 const struct storm_addr *to, size_t n);
/* Send a new version of the state, with the excluded nodes, to all. */
void owner_cast_state_whole(struct storm_owner *o);
/* Do the excluded nodes go in parts, as they are too many for the state?  */
bool owner_cast_in_parts(const struct storm_owner *o);
/* Is there room for these nodes in the state?  */
bool owner_cast_fits(const struct storm_owner *o, const struct storm_idset *p);
/* The longest body, in bytes, of what goes to all. */
size_t owner_cast_max(const struct storm_owner *o);
/* Retransmit the latest version to a node, member or not. */
void owner_cast_again_node(struct storm_owner *o, uint32_t node);
/* Retransmit it to the group, even if that is not known to reach all. */
void owner_cast_again_group(struct storm_owner *o);

/* owner_ask.c */
/* Something new was asked: the answers are outstanding from now on. */
void owner_ask_soon(struct storm_owner *o, uint64_t now);
/* All answers have come: remember how long that took. */
void owner_ask_answered(struct storm_owner *o, uint64_t now);
/* Is the answer of this child's subtree outstanding?  */
bool owner_ask_owes(const struct storm_owner *o, const struct storm_child *c);
/* Merge the answers of all subtrees into o->sum. */
void owner_ask_sum(struct storm_owner *o);
/* Ask all nodes something new: send the state, and wait for their answers. */
void owner_ask_new(struct storm_owner *o, uint64_t now);
/* Have all nodes answer, even those without news. */
void owner_ask_all(struct storm_owner *o, uint64_t now);
/* It is time: ask again those whose answers are outstanding. */
void owner_ask_late(struct storm_owner *o, uint64_t now);
/* Ask the adopted nodes, and all below them.  They answer to the owner, past
 * the silent nodes. */
void owner_ask_adopted(struct storm_owner *o);
/* Ask these nodes, which have lost their parents. */
void owner_ask_orphans(struct storm_owner *o, const struct storm_idset *node);
/* The time-out has passed: add the late nodes to the faults l (STORM_ETIME). */
void owner_blame_late(const struct storm_owner *o,
		      const struct storm_idset *late, struct storm_faults *l);
/* Add the nodes of p (empty: all members) that are not members to the
 * faults. */
void owner_blame_outside(const struct storm_owner *o,
			 const struct storm_idset *p, struct storm_faults *l);
/* Log at INFO what has become of multicast, and which children have heard none, or nodes
 * below them. */
void owner_log_deaf(const struct storm_owner *o, const char *what);

/* owner_report.c */
/* A part of a report of this child's subtree has come. */
void owner_report_part(struct storm_owner *o, struct storm_child *c,
		       const uint8_t *body, size_t len, uint64_t now);
/* Some node has missed an acknowledgement. */
void owner_report_unacked(struct storm_owner *o, uint64_t now);
/* Send due acknowledgements.  Returns when to call again, or STORM_NEVER. */
uint64_t owner_report_tick(struct storm_owner *o, uint64_t now);

/* owner_member.c */
bool owner_is_cluster(const struct storm_owner *o);
/* The first epoch of an owner; saved: the epoch that was saved last. */
uint32_t owner_first_epoch(uint32_t saved);
/* Save the first epoch before OPEN is sent.  STORM_OK or STORM_ESUPERSEDED. */
int owner_begin_epoch(struct storm_owner *o);
/* True: this is a STATUS of a restarted node, in an incarnation that is not
 * known yet.  It needs no other processing. */
bool owner_newborn(struct storm_owner *o, const struct storm_header *h,
		   const struct storm_rx *rx, uint64_t now);
/* Send OPEN to returning nodes that ask for it.  Returns when to call again. */
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
/* Begin it without the nodes that a STATUS names as lost; or without the
 * children that are silent.  True: it has begun.  False: there are none, or the
 * last epoch is too young. */
bool owner_exclude_lost(struct storm_owner *o, uint64_t now);
bool owner_exclude_silent(struct storm_owner *o, uint64_t now);
/* Repeat what announces a new epoch in parts, until heartbeats do.  Returns
 * when to call again. */
uint64_t owner_announce_again(struct storm_owner *o, uint64_t now);
/* Find children that datagrams do not reach, or from which none come, and add
 * them to the faults of the opening.  True: there are some.  *next: when to
 * look again. */
bool owner_find_cut(struct storm_owner *o, uint64_t *next, uint64_t now);
/* Find such children of an open domain, and exclude them.  True: there are
 * some. */
bool owner_exclude_cut(struct storm_owner *o, uint64_t *next, uint64_t now);
/* Set *out, which must be empty, to those of these silent nodes that hear
 * nothing, as storm_owner_cut() tells it.  STORM_OK or STORM_ENOMEM. */
int owner_cut_nodes(const struct storm_owner *o,
		    const struct storm_idset *nodes, bool relays,
		    struct storm_idset *out);
int owner_exclude_one(struct storm_owner *o, uint32_t node, enum storm_err why,
		      int sys, uint64_t now);
/* A node has refused OPEN, as it serves another owner: begin a new epoch.  If
 * that cannot be saved, the domain is lost (ESUPERSEDED). */
int owner_superseded(struct storm_owner *o, uint64_t now);
/* Begin an epoch without the nodes that answer with no state of the domain. */
void owner_exclude_fresh(struct storm_owner *o, uint64_t now);
/* Send OPEN to some of the nodes outside, in turn. */
void owner_invite_some(struct storm_owner *o, uint64_t now);
/* With every heartbeat: try multicast if it is not used, or check that it still
 * reaches all nodes. */
void owner_try_multicast(struct storm_owner *o, uint64_t now);
/* Notify a member that does not know that it is one. */
void owner_welcome(struct storm_owner *o, uint32_t node);
/* Between two operations: make the nodes that have sent JOIN members. */
void owner_admit(struct storm_owner *o, uint64_t now);

/* owner_overdue.c */
/* Report nodes that have become overdue, or are so no longer.  Returns when to
 * call again. */
uint64_t owner_overdue(struct storm_owner *o, uint64_t now);
/* Has the epoch lasted so long that silent nodes are known to be overdue?  */
bool owner_overdue_settled(const struct storm_owner *o, uint64_t now);

/* owner_pulse.c */
/* Take a PULSE of this session. */
void owner_pulse_take(struct storm_owner *o, const struct storm_header *h,
		      const uint8_t *buf, size_t len, uint64_t now);
/* Ask who is quiet, and tell who does not answer.  Returns when to call
 * again. */
uint64_t owner_pulse_tick(struct storm_owner *o, uint64_t now);
void owner_pulse_end(struct storm_owner *o);

/* owner_request.c */
/* A node asks for an operation; id: its own number of it.  True: it was
 * queued. */
bool owner_request(struct storm_owner *o, uint32_t node, uint64_t id,
		   const uint8_t *body, size_t len);
/* The node is not a member any more. */
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
/* Is such a comparison queued with the transfers?  */
bool owner_compare_ordered(uint32_t var, const struct storm_assign *write);
/* The sum of the subtrees has changed: end the comparison under way, begin the
 * next. */
void owner_compare_advance(struct storm_owner *o, uint64_t now);
/* End the comparison under way if it is late.  Returns when to call again, or
 * STORM_NEVER. */
uint64_t owner_compare_tick(struct storm_owner *o, uint64_t now);
void owner_compare_end_all(struct storm_owner *o);

/* owner_gather.c */
/* A part of a table has come; id: of its question. */
void owner_gather_part(struct storm_owner *o, uint32_t node, uint64_t id,
		       const uint8_t *body, size_t len, uint64_t now);
/* Go on with the gather under way, and begin the next.  Returns when to call
 * again, or STORM_NEVER. */
uint64_t owner_gather_tick(struct storm_owner *o, uint64_t now);
/* Nobody waits for this gather any more; tell: its gathered() is called, ABORTED.
 * False: there is no such gather. */
bool owner_gather_forget(struct storm_owner *o, const void *token, bool tell);
void owner_gather_end_all(struct storm_owner *o);

/* owner_data.c */
/* Begin to send the DATA of the next operation. */
void owner_data_begin(struct storm_owner *o, uint64_t now);
/* Send what window, pace and network allow.  Returns when to call again. */
uint64_t owner_data_send(struct storm_owner *o, uint64_t now);
/* A node whose losses have set the pace does not count any more. */
void owner_data_recover(struct storm_owner *o);
/* len bytes of this transfer from off on.  NULL: they cannot be read, and the
 * transfer is to be aborted. */
const uint8_t *owner_data_bytes(struct owner_xfer *x, uint64_t off, size_t len);

/* owner_repair.c */
/* A NACK has come: a node lacks some of what was sent. */
void owner_repair_nacked(struct storm_owner *o, const struct storm_header *h,
			 const uint8_t *body, size_t len, uint64_t now);
/* All is sent.  Where datagrams are lost, send the last chunk once more: a node
 * that has it sees what it lacks of those before. */
void owner_repair_last(struct storm_owner *o, uint64_t now);
/* Send what is due and what the network takes.  Returns when to call again. */
uint64_t owner_repair_tick(struct storm_owner *o, uint64_t now);
void owner_repair_end(struct storm_owner *o); /* nobody lacks anything */

/* owner_queue.c */
/* Copy P to the empty out.  NULL leaves it empty, which means all members. */
int owner_set_copy(const struct storm_owner *o, const struct storm_idset *P,
		   struct storm_idset *out);
/* Queue what b, which is taken over, announces; nothing is begun. */
int owner_xfer_queue(struct storm_owner *o, struct storm_begin *b,
		     const struct storm_bytes *from, void *token, bool each,
		     owner_ended_fn ended);
/* Queue a transfer, see storm_owner_xfer(). */
int owner_xfer_queue_target(struct storm_owner *o, const struct storm_idset *P,
			    const struct storm_target *to,
			    const struct storm_bytes *from, uint64_t len,
			    void *token);

/* owner_xfer.c */
/* Queue the operation that the previous owner may have left undecided. */
void owner_xfer_inherit(struct storm_owner *o, uint64_t now);
/* The sum of the subtrees has changed: go on with the operation under way.
 * True: it has ended, or there was none.  Then nodes may join, and the next one
 * may begin. */
bool owner_xfer_advance(struct storm_owner *o, uint64_t now);
/* If no operation is under way, begin the first in the queue.  It ends at once
 * if it names non-members.  False: the queue is empty. */
bool owner_xfer_begin(struct storm_owner *o, uint64_t now);
/* Send as much of the operation under way as window, pace and network allow.
 * *next: when to call again.  True: all is sent, and the answers may have come
 * already. */
bool owner_xfer_send(struct storm_owner *o, uint64_t *next, uint64_t now);
/* Abort the operation under way if it is late.  True: it is decided already,
 * and the nodes behind (o->sum) have not confirmed it; what happens to them is
 * up to the caller. */
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
/* Run the timers of a domain that is not open yet.  Returns when to call
 * again. */
uint64_t owner_open_tick(struct storm_owner *o, uint64_t now);

/* owner.c */
/* An answer came in, or a member went: go on with all that waits for it. */
void owner_advance(struct storm_owner *o, uint64_t now);
/* Go on with operations; between two of them nodes that have asked for it
 * join. */
void owner_advance_operations(struct storm_owner *o, uint64_t now);

#endif
