/*
 * nm_private.h - the Node Manager's parts.  nm.c hands each part its input.
 * nm_admit.c begins and ends sessions, nm_tree.c knows parent and children.
 * nm_session.c looks sessions up.  nm_xfer.c has the
 * transfer under way, nm_data.c its data, nm_repair.c what is missing of them,
 * nm_give.c what nodes below miss.  nm_status.c answers the owner,
 * nm_report.c carries reports up, nm_request.c asks the owner for operations.
 * nm_gather.c combines what is gathered.
 * nm_known.c knows nodes that could not be reached shortly before.
 * nm_excluded.c has the excluded nodes of an epoch, where they come in parts.
 * nm_pulse.c gives signs of life,
 * nm_cluster.c keeps what a cluster domain has from one owner to the next,
 * nm_return.c brings a node back that has died.  Calls go from nm.c down to
 * nm_session.c: no part calls nm.c.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_NM_PRIVATE_H
#define STORM_NM_PRIVATE_H

#include "nm.h"
#include "src/libstorm/base/budget.h"
#include "src/libstorm/base/chunkmap.h"
#include "src/libstorm/base/clock.h"
#include "src/libstorm/protocol/child.h"
#include "src/libstorm/protocol/collect.h"
#include "src/libstorm/protocol/link.h"
#include "src/libstorm/wire/cast.h"
#include "src/libstorm/wire/excluded.h"
#include "src/libstorm/wire/open.h"
#include "src/libstorm/wire/reports.h"
#include "src/libstorm/wire/status.h"

#define RADIX_MAX STORM_RADIX_MAX
/* of a report, see nm_report.c */
#define HOLD_WELL (100 * STORM_MS)
#define HOLD_HASTE (4 * STORM_MS)
#define MEMORY_MAX (16u << 20) /* a transfer to memory */
#define NM_PARTS_BYTES (STORM_BEGIN_MAX + STORM_DATAGRAM_MAX)

/* A BEGIN that comes in several datagrams. */
struct nm_parts {
	uint8_t *buf; /* of all parts, the last one at the end */
	uint64_t op;
	uint32_t have; /* a bit for each part that has come */
	uint32_t len, last_len;
	uint16_t count;
};

/* What is missing of a transfer, see nm_repair.c. */
struct nm_repair {
	uint64_t gap_at;      /* when new gaps are asked for */
	uint64_t all_at;      /* when all that is missing is asked for again */
	uint64_t high;	      /* missing chunks below it were asked for */
	uint64_t old;	      /* those below it more than a round trip ago */
	uint64_t have;	      /* chunks here, at the last NACK */
	uint64_t probe;	      /* a chunk that was asked for only once */
	uint64_t sent_at;     /* when `probe` was asked for; 0: there is none */
	uint64_t asked_at;    /* when the last NACK was sent */
	uint64_t rtt, rto;    /* ns; rtt: from NACK to repair, smoothed */
	uint32_t tries;	      /* NACKs in a row that brought nothing */
	uint32_t vain;	      /* of these, after which the owner was heard */
	uint64_t vain_at;     /* when the first of `vain` was sent */
	uint64_t silent_have; /* chunks + 1, when silence was seen first */
	uint64_t repaired, lost; /* chunks, for STATUS */
	uint64_t given;		 /* chunks sent to nodes below */
	bool gap; /* some node has left the chain: those behind it lack the same */
};

#define GIVE_MAX 128 /* runs that wait to be read back */

/* Runs of chunks that nodes below have asked for, and which are read back from
 * the file; see nm_give.c. */
struct nm_give {
	struct nm_given {
		uint32_t to; /* node */
		uint64_t first, last;
	} * queue;
	uint32_t count;
	uint32_t reading; /* so many of the first are being read; 0: none */
	uint64_t off;	  /* where the bytes that are read begin */
	size_t len;
};

/* The transfer under way: XFER-AND-SIGNAL's remote half. */
struct nm_xfer {
	uint64_t op;   /* 0: none yet */
	uint8_t phase; /* enum storm_phase */
	struct storm_begin begin;
	struct nm_parts part;
	uint8_t *mem;
	void *file;
	bool opening, staging, committing; /* what the host does now */
	struct storm_chunkmap map;	   /* chunks that are here */
	struct storm_chunkmap written;	   /* to the file; nm_xfer_done() */
	bool mapped;
	struct storm_digest *digest; /* of what is in mem, up to hashed */
	uint64_t hashed;
	uint64_t sent; /* the owner's, as far as heard */
	enum storm_decision decision;
	int err, sys;	  /* this node's fault */
	bool no;	  /* a comparison: the relation is false here */
	uint64_t data_at; /* when the last DATA came */
	struct nm_repair repair;
	struct nm_give give;
};

/* A session as the host knows it. */
struct nm_guest {
	void *ctx;	  /* the host's own */
	uint64_t session; /* its number there: the first owner's */
	bool ready;	  /* the host was given it, and has it still */
	uint64_t bytes;	  /* that the host holds for the session */
};

/* The node's place in the combining tree. */
struct nm_tree {
	struct storm_tree shape;
	uint32_t parent;
	uint32_t height;     /* of the whole tree; the owner's is 0 */
	uint32_t height_max; /* height, if the owner had this node's radix */
	struct storm_child *child;
	uint32_t children;
	struct storm_fault fault[RADIX_MAX]; /* children that are gone */
	uint32_t nfaults;
	uint64_t checked_at; /* the last look for silent children */
};

/* Nodes whose addresses the host has confirmed, ascending. */
struct nm_routes {
	struct nm_route_to {
		uint32_t node;
		struct storm_addr addr;
	} * to;
	uint32_t count, room;
};

/* Membership in the cluster domain, see nm_cluster.c. */
struct nm_member {
	bool outside;
	bool orphan;	    /* the owner is silent */
	uint32_t out_epoch; /* in which this node saw itself excluded; 0: it
				   did not yet */
	uint32_t in_epoch;  /* in which it joined: a datagram of an earlier one
				   is about an earlier incarnation */
	uint64_t join_at;   /* when the next JOIN is sent */
	uint64_t taken;	    /* the last operation of the owner before */
};

/* A datagram as it came, for children that missed it. */
struct nm_said {
	uint8_t *buf;
	size_t len;
	uint64_t at;
};

/* What the owner has sent. */
struct nm_heard {
	uint64_t at;	   /* when the last of it came */
	uint64_t calm_at;  /* before this, heartbeats were missed recently */
	bool multicast;	   /* some of it came by the group */
	uint64_t group_at; /* when something came by the group last */
	uint64_t since;	   /* when something came again, after a long silence */
	uint32_t beside;   /* states that came another way since then */
	uint64_t beside_at;	/* when the first of those came */
	struct storm_cast cast; /* the owner's latest state */
	/* the owner's state, the BEGIN of the transfer under way, and the
	 * latest acknowledgement of each kind */
	struct nm_said state, begin, ack[STORM_REPORT_KINDS];
};

/* The excluded nodes of an epoch in parts, see nm_excluded.c. */
struct nm_excluded {
	uint32_t epoch;
	struct storm_excluded set;
	struct nm_said part[STORM_EXCLUDED_PARTS];
	bool relay; /* some part is to be passed on, in the epoch's tree */
	/* A state of that epoch that waits for them. */
	bool waits;
	struct storm_cast cast;
	struct nm_said state;
	uint16_t flags; /* of its header */
	uint64_t since;
};

struct nm_variables {
	uint64_t own[STORM_VARS];
	uint64_t global[STORM_GLOBALS];
};

/* STATUS, which goes to the parent; see nm_status.c. */
struct nm_answer {
	struct storm_status sent;  /* the last one */
	uint64_t version, sent_at; /* of it */
	bool answering;	       /* the owner has asked which nodes are late */
	uint64_t asked_at;     /* when it did last; 0: never */
	uint64_t direct_until; /* before this it goes to the owner, too, as
					   the parent is silent */
	uint64_t refine_at;    /* when it is sent, as fewer nodes are late */
	uint64_t again_at;     /* when it is sent once more */
};

/* REPORT, which goes to the parent; see nm_report.c. */
struct nm_report {
	struct storm_reports all;	     /* of the subtree */
	struct storm_reports mine;	     /* of this node */
	uint64_t mine_at;		     /* when this node reported last */
	uint32_t expect[STORM_REPORT_KINDS]; /* ids of this node, in all */
	struct storm_idset acked[STORM_REPORT_KINDS]; /* the owner has them */
	uint8_t complete;   /* a bit for each kind that lacks nothing */
	uint64_t version;   /* of `all` */
	uint64_t hop_acked; /* the version that the parent has */
	uint64_t mine_in;   /* the first version that has all of `mine` */
	uint64_t due_at, sent_at, rto;
	uint64_t hold;	    /* the next failure waits so long */
	uint64_t hold_most; /* and whatever it is, no longer than this */
};

/* Operations that this node asks the owner for; see nm_request.c. */
struct nm_requests {
	struct nm_request *first, **tail; /* the first is under way */
	uint64_t last_id, due_at, rto;
};

/* The gather under way, or the last one; see nm_gather.c. */
struct nm_gather {
	uint64_t id;		  /* 0: none yet */
	bool running;		  /* its table is not whole yet */
	bool own_due;		  /* the host has not answered */
	uint32_t to;		  /* its parent, or the owner */
	uint64_t until;		  /* then the table goes as it is */
	struct storm_idset asked; /* of this subtree */
	struct nm_said said;	  /* the question */
	struct storm_collect c;
	uint8_t *answer; /* the table, packed; NULL: none yet */
	size_t answer_len;
	uint64_t due_at, every; /* when it is sent again */
	uint32_t tries;
};

struct storm_pulser;

struct nm_session {
	struct nm_session *next;
	struct storm_nm *nm;
	struct storm_open *open;
	struct storm_link link;
	struct storm_account account; /* of the owner's user */
	uint32_t self;		      /* this node's number in the domain */
	bool closing;
	/* Bytes of the OPEN, and of the datagrams that were sent for it.  Until
	 * something of the owner's comes, they must not be more than the OPEN:
	 * one OPEN cannot be made into a flood. */
	size_t open_bytes, unheard_bytes;
	struct {
		uint64_t bytes; /* that may be relayed now */
		uint64_t at;	/* when they were counted */
	} relay;
	int fault, fault_sys; /* enum storm_err: why this node closes it */
	bool left;	      /* the cluster domain, and may come back */
	struct nm_guest host;
	struct nm_tree tree;
	struct nm_routes routes;
	struct nm_member member;
	struct nm_heard heard;
	struct nm_excluded excluded;
	struct nm_variables var;
	struct nm_xfer xfer;
	struct nm_answer status;
	struct nm_report report;
	struct nm_requests request;
	struct nm_gather gather;
	struct storm_pulser *pulser; /* NULL: another thread's, or none */
};

/* A node that could not be reached, see nm_known.c. */
#define NM_KNOWN_MAX 64
struct nm_known {
	struct storm_addr addr;
	uint32_t uid; /* the user whose session showed it */
	int sys;      /* an errno: why; 0: this entry is free */
	uint64_t at;  /* when */
};

/* An OPEN that the host is authenticating. */
struct nm_pending {
	uint64_t ticket, session;
	uint64_t stream; /* its sender waits there for the verdict */
	size_t len;	 /* of the OPEN */
	struct nm_pending *next;
};

struct storm_nm {
	struct storm_settings set;
	struct storm_transport *t;
	struct storm_nm_ops ops;
	void *host;
	bool stands;	      /* together with its owners */
	bool pulse_elsewhere; /* signs of life are another thread's */
	struct storm_budget budget;
	struct nm_session *sessions;
	struct nm_pending *pending;
	struct nm_known known[2][NM_KNOWN_MAX]; /* of a user; of all */
	bool known_any;				/* false: both are empty */
	struct nm_return *back; /* asks for an OPEN; NULL: no need */
	uint64_t joined_at;	/* when the groups were joined again */
	uint64_t tickets;	/* how many were given out */
	struct nm_segment {
		void *base;
		size_t len;
	} segment[STORM_SEGMENTS];
	uint64_t recent[256]; /* sessions that are over: no second life */
	uint32_t recent_at;
	struct storm_link_stats link_stats;
	struct storm_nm_stats stats;
	/* A run of decrypted chunks of one transfer, not yet written: of a file
	 * in the host's room, of one to memory in place. */
	uint8_t *stage; /* NULL: no room */
	size_t stage_room, stage_len;
	uint64_t stage_off;
	struct nm_session *stage_of;
	/* A run of datagrams, as received, to be passed on along the chain. */
	struct nm_session *pass_of;
	const uint8_t *pass;
	size_t pass_len, pass_seg, pass_last;
};

/* nm_session.c */
struct nm_session *nm_find(struct storm_nm *nm, uint64_t session);
/* By the number that the host knows. */
struct nm_session *nm_find_host(struct storm_nm *nm, uint64_t session);
/* The address of a node, or of the owner (STORM_NO_NODE).  False: nothing may
 * be sent to it. */
bool nm_route(struct nm_session *s, uint32_t node, struct storm_addr *to);
/* Seal a control message and send it to a node or the owner. */
void nm_send(struct nm_session *s, uint8_t type, uint64_t op, const void *body,
	     size_t len, uint32_t node);
/* The variable must be a known one (storm_var_known()). */
uint64_t nm_variable(const struct nm_session *s, uint32_t var);
/* The longest body, in bytes, that all nodes of the domain take. */
size_t nm_body_max(const struct nm_session *s);
/* A body that goes up the tree is never longer than what every path carries.
 * It is sent until it arrives, and only downwards a launch proves that long
 * datagrams pass. */
#define NM_UP_MAX 1200
static inline size_t nm_body_up(size_t max)
{
	size_t up = storm_body_max(NM_UP_MAX);

	return max < up ? max : up;
}
/* May the session relay len bytes now?  True: they are counted. */
bool nm_relay_pays(struct nm_session *s, size_t len, uint64_t now);
/* Keep a copy of rx in place of the one before.  No memory: that one stays. */
void nm_said_keep(struct nm_said *said, const struct storm_rx *rx,
		  uint64_t now);

/* nm_tree.c */
struct storm_child *nm_child_of(struct nm_session *s, uint32_t node);
/* Was this child lost in this epoch?  */
bool nm_child_gone(const struct nm_session *s, uint32_t node);
/* Add a child to those that STATUS names as lost.  False: there is no room. */
bool nm_child_lost(struct nm_session *s, uint32_t node, enum storm_err why,
		   int sys);
/* Another epoch has begun: forget the children that are lost.  follows: it is
 * the one after the last, in which those that are still members stay lost. */
void nm_children_forget(struct nm_session *s, bool follows);
/* OPEN goes to every child that has not had it from here. */
void nm_children_open(struct nm_session *s);
/* A state of the owner's was sent to the children: note it, for
 * nm_children_cut(). */
void nm_children_tell(struct nm_session *s, uint64_t now);
/* Find children that have taken the OPEN, but between which and this node
 * datagrams do not pass: they are lost.  True: there are some.  *next: when to
 * look again. */
bool nm_children_cut(struct nm_session *s, uint64_t *next, uint64_t now);
/* The tree has changed: find parent and children.  STORM_OK or STORM_ENOMEM. */
int nm_tree_rewire(struct nm_session *s, uint64_t now);

/* nm_known.c */
/* Is this errno one of a connection that is not made?  */
bool nm_known_connection(int sys);
/* The errno, as of STORM_ELOST, with which this node could not be reached
 * shortly before; 0: nothing is known that counts for this session. */
int nm_known_find(struct nm_session *s, uint32_t node, uint64_t now);
void nm_known_add(struct nm_session *s, uint32_t node, int sys, uint64_t now);
/* The node can be reached again. */
void nm_known_forget(struct nm_session *s, uint32_t node, uint64_t now);

/* nm_group.c */
/* A state of the owner's has come, by the group or another way.  It may turn out that
 * no multicast comes here. */
void nm_group_heard(struct nm_session *s, bool group, uint64_t now);

/* nm_admit.c */
/* How many sessions there are, with the OPENs that are being checked. */
uint32_t nm_session_count(const struct storm_nm *nm);
/* End and free the sessions that are closing. */
void nm_sessions_end(struct storm_nm *nm);

/* nm_memory.c */
/* Count what the session takes now.  False: that is more than it may. */
bool nm_memory_settle(struct nm_session *s);
/* May the session take so many bytes more?  */
bool nm_memory_fits(const struct nm_session *s, uint64_t bytes);
/* Close the session if it takes more than it may. */
void nm_memory_check(struct nm_session *s, uint64_t now);

/* nm_pulse.c */
/* Take a PULSE of this session. */
void nm_pulse_take(struct nm_session *s, const struct storm_rx *rx,
		   uint64_t now);
/* Give signs of life, and watch those of children, unless another thread does.
 * Returns when to call again. */
uint64_t nm_pulse_tick(struct nm_session *s, uint64_t now);
void nm_pulse_end(struct nm_session *s);

/* nm_status.c */
/* Send JOIN to the owner itself; a member's is just a sign of life that asks
 * for the owner's state. */
void nm_status_join(struct nm_session *s, uint64_t now);
/* Send STATUS to the parent: now, if there is news or asked is set. */
void nm_status_update(struct nm_session *s, bool asked, uint64_t now);
/* Run the timers of STATUS.  Returns the time of the next one, as every _tick()
 * does. */
uint64_t nm_status_tick(struct nm_session *s, uint64_t now);

/* nm_xfer.c */
/* A BEGIN has come whole; b is taken over. */
void nm_xfer_begin(struct nm_session *s, struct storm_begin *b, uint64_t now);
/* A part of a BEGIN has come. */
void nm_xfer_part(struct nm_session *s, uint64_t op, struct storm_in *in,
		  uint64_t now);
/* Do what the owner's latest state asks of the transfer. */
void nm_xfer_cast(struct nm_session *s, uint64_t now);
/* Free what the transfer has; its number stays, and it is not begun again. */
void nm_xfer_drop(struct nm_session *s);
/* Drop the transfer and forget its number, too. */
void nm_xfer_forget(struct nm_session *s);
/* This node takes no part in op, which counts as ended here. */
void nm_xfer_skip(struct nm_session *s, uint64_t op);
/* The transfer fails by this node's fault; only its first one is reported. */
void nm_xfer_fail(struct nm_session *s, enum storm_err err, int sys);
/* The size of a chunk, in bytes, is known now: make the maps of chunks. */
void nm_xfer_map(struct nm_session *s, uint32_t chunk);
/* More is in memory: hash what follows without a gap. */
void nm_xfer_hash(struct nm_xfer *x);
/* If all has come, go on: verify, or have the host stage the file. */
void nm_xfer_check_full(struct nm_session *s, uint64_t now);

static inline bool nm_xfer_is_file(const struct nm_xfer *x)
{
	return x->begin.to.kind == STORM_TARGET_FILE;
}

/* The chunks that are at their final place: written, or in memory. */
static inline const struct storm_chunkmap *nm_xfer_done(const struct nm_xfer *x)
{
	return nm_xfer_is_file(x) ? &x->written : &x->map;
}

/* nm_repair.c */
/* Another transfer is under way now, or none. */
void nm_repair_reset(struct nm_xfer *x);
/* Nothing is missing any more. */
void nm_repair_end(struct nm_xfer *x);
/* The owner's state of this transfer has come. */
void nm_repair_heard(struct nm_xfer *x, const struct storm_cast *c);
/* The owner has sent more. */
void nm_repair_sent(struct nm_xfer *x, uint64_t now);
/* Chunks were written. */
void nm_repair_written(struct nm_xfer *x, uint64_t now);
/* Chunk i, which was asked for, has come.  relayed: along the chain and not as
 * a repair, so it was only late. */
void nm_repair_came(struct nm_xfer *x, uint64_t i, bool relayed, uint64_t now);
uint64_t nm_repair_tick(struct nm_session *s, uint64_t now);

/* nm_give.c */
/* A node below asks for chunks. */
void nm_give_nacked(struct nm_session *s, const struct storm_header *h,
		    const struct storm_addr *from, const uint8_t *body,
		    size_t len);
/* Forget what nodes below asked for; nothing is read back any more. */
void nm_give_end(struct nm_xfer *x);

/* nm_data.c */
/* Take a DATA: unseal it, keep the chunk if it is new, gather it to be passed
 * on. */
void nm_data_take(struct nm_session *s, const struct storm_header *h,
		  const struct storm_rx *rx, uint64_t now);
/* No more datagrams for now: write and pass on what has been gathered. */
void nm_data_end(struct storm_nm *nm, uint64_t now);

/* nm_strobe.c */
/* Take a strobe that was unsealed: pass it on, and notify the host, if it is
 * new. */
void nm_strobe_take(struct nm_session *s, uint64_t number,
		    const struct storm_rx *rx, const uint8_t *body, size_t len,
		    uint64_t now);

/* nm_request.c */
uint64_t nm_request_tick(struct nm_session *s, uint64_t now);
/* A RESULT of the owner's has come. */
void nm_request_result(struct nm_session *s, uint64_t id, const uint8_t *body,
		       size_t len);
/* The domain is lost to this node: end its requests. */
void nm_request_end_all(struct nm_session *s);

/* nm_gather.c */
/* The owner gathers. */
void nm_gather_take(struct nm_session *s, const struct storm_header *h,
		    const struct storm_rx *rx, const uint8_t *body, size_t len,
		    uint64_t now);
/* A part of a child's table has come. */
void nm_gather_part(struct nm_session *s, uint32_t node, uint64_t id,
		    const uint8_t *body, size_t len, uint64_t now);
/* A node, or the owner, has this node's table. */
void nm_gather_acked(struct nm_session *s, uint32_t from, uint64_t id);
uint64_t nm_gather_tick(struct nm_session *s, uint64_t now);
/* Another epoch begins, or the session ends: forget what was gathered. */
void nm_gather_end(struct nm_session *s);
size_t nm_gather_bytes(const struct nm_session *s);

/* nm_cluster.c */
/* The session of this cluster domain; NULL: none, or no cluster. */
struct nm_session *nm_cluster_find(struct storm_nm *nm, uint64_t cluster);
/* s was made by a new owner's OPEN: it takes over the state that the previous
 * owner left in from (NULL: there was none), and ends from. */
void nm_cluster_take(struct nm_session *s, struct nm_session *from);
/* The owner's state of this epoch names this node as excluded. */
void nm_cluster_excluded(struct nm_session *s, uint32_t epoch, uint64_t now);
/* WELCOME has come: this node is a member again, if it is the one that is
 * named. */
void nm_cluster_welcome(struct nm_session *s, struct storm_in *in,
			uint32_t epoch);
uint64_t nm_cluster_tick(struct nm_session *s, uint64_t now);

/* nm_excluded.c */
/* Complete a state of the owner's that came without its excluded nodes.  False:
 * some of their parts are missing, and the state has to wait. */
bool nm_excluded_fill(struct nm_session *s, struct storm_cast *c,
		      uint32_t epoch);
/* Keep that state, which is taken over, until the parts have come. */
void nm_excluded_wait(struct nm_session *s, struct storm_cast *c,
		      uint32_t epoch, uint16_t flags, const struct storm_rx *rx,
		      uint64_t now);
/* A part has come.  True: the state that waits need not wait any longer. */
bool nm_excluded_part(struct nm_session *s, struct storm_in *in,
		      const struct storm_header *h, const struct storm_rx *rx,
		      uint64_t now);
/* The parts of a state are complete: take them.  False: no memory. */
bool nm_excluded_take(struct nm_session *s, struct storm_cast *c);
/* Send the parts of this epoch to a node that missed some. */
void nm_excluded_send(struct nm_session *s, uint32_t node, uint64_t now);
/* This node knows its place in the tree of the parts' epoch: pass them on, if
 * they are to be. */
void nm_excluded_pass(struct nm_session *s, uint64_t now);
/* Ask the owner for parts that have been missing for long. */
uint64_t nm_excluded_tick(struct nm_session *s, uint64_t now);
void nm_excluded_free(struct nm_excluded *x);

/* nm_return.c: of storm_nm_return(). */
uint64_t nm_return_tick(struct storm_nm *nm, uint64_t now);
void nm_return_end(struct storm_nm *nm);

/* nm_report.c */
/* A part of a child's REPORT has come. */
void nm_report_part(struct nm_session *s, struct storm_child *c,
		    const uint8_t *body, size_t len, uint64_t now);
/* The parent has acknowledged a version of the report. */
void nm_report_hop_acked(struct nm_session *s, const uint8_t *body, size_t len);
/* The owner has acknowledged reports of a kind. */
void nm_report_acked(struct nm_session *s, struct storm_in *in);
/* The owner needs no more reports: release those that await its
 * acknowledgement. */
void nm_report_release(struct nm_session *s);
/* When an acknowledgement of this node's own reports is overdue, or
 * STORM_NEVER. */
uint64_t nm_report_overdue(const struct nm_session *s);
uint64_t nm_report_tick(struct nm_session *s, uint64_t now);
/* The parent is another one: it has no version yet. */
void nm_report_reset(struct nm_session *s, uint64_t now);

#endif
