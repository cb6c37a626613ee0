/*
 * nm_private.h - the Node Manager's parts.  nm.c hands each part its input.
 * nm_admit.c begins and ends sessions, nm_tree.c knows parent and children.
 * nm_session.c looks sessions up.  nm_xfer.c has the
 * transfer under way, nm_data.c its data, nm_repair.c what is missing of them,
 * nm_give.c what nodes below miss.  nm_status.c answers the owner,
 * nm_report.c carries reports up, nm_request.c asks the owner for operations.
 * nm_known.c knows nodes that could not be reached shortly before.
 * nm_excluded.c has the excluded nodes of an epoch, where they come in parts.
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
#include "src/libstorm/protocol/link.h"
#include "src/libstorm/wire/cast.h"
#include "src/libstorm/wire/excluded.h"
#include "src/libstorm/wire/open.h"
#include "src/libstorm/wire/reports.h"
#include "src/libstorm/wire/status.h"

#define RADIX_MAX STORM_RADIX_MAX
#define HOLD_HASTE (4 * STORM_MS) /* of a report, see nm_report.c */
#define MEMORY_MAX (16u << 20)	  /* a transfer to memory */
#define NM_PARTS_BYTES (STORM_BEGIN_MAX + STORM_DATAGRAM_MAX)

/* A BEGIN that comes in several datagrams. */
struct nm_parts {
	uint8_t *buf; /* the last part stands behind all others */
	uint64_t op;
	uint32_t have; /* a bit each */
	uint32_t len, last_len;
	uint16_t count;
};

/* What is missing of a transfer, see nm_repair.c. */
struct nm_repair {
	uint64_t gap_at;	 /* new gaps are asked for then */
	uint64_t all_at;	 /* all that is missing is asked for again */
	uint64_t high;		 /* chunks below were asked for */
	uint64_t old;		 /* those below, longer ago than a round trip */
	uint64_t have;		 /* chunks, when it was asked for last */
	uint64_t probe;		 /* a chunk that was asked for once */
	uint64_t sent_at;	 /* when it was; 0: none was */
	uint64_t asked_at;	 /* the last NACK */
	uint64_t rtt, rto;	 /* rtt: smoothed, asked -> repaired */
	uint32_t tries;		 /* in a row that brought nothing */
	uint32_t vain;		 /* of these, after which the owner was heard */
	uint64_t vain_at;	 /* when the first of `vain` was */
	uint64_t silent_have;	 /* chunks + 1, when silence was seen first */
	uint64_t repaired, lost; /* chunks, for STATUS */
	uint64_t given;		 /* chunks, to nodes below */
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
	bool opening, staging, committing; /* the host is at it */
	struct storm_chunkmap map;	   /* chunks that are here */
	struct storm_chunkmap written;	   /* to the file; nm_xfer_done() */
	bool mapped;
	struct storm_digest *digest; /* of what is in mem, up to hashed */
	uint64_t hashed;
	uint64_t sent; /* the owner's, as far as heard */
	enum storm_decision decision;
	int err, sys;	  /* this node's fault */
	bool no;	  /* the relation does not hold here */
	uint64_t data_at; /* the last DATA came */
	struct nm_repair repair;
	struct nm_give give;
};

/* A session as the host knows it. */
struct nm_guest {
	void *ctx;	  /* the host's own */
	uint64_t session; /* its number there: the first owner's */
	bool ready;	  /* the host was given it, and has it still */
	uint64_t bytes;	  /* that it holds for the session */
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

/* Nodes whose addresses the host believes, by number. */
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
	uint32_t out_epoch; /* this node saw itself excluded in it; 0: it
				   did not yet */
	uint32_t in_epoch;  /* it joined in this one: an earlier datagram
				   is about an earlier incarnation */
	uint64_t join_at;   /* the next JOIN */
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
	uint64_t at;	   /* the last of it */
	uint64_t calm_at;  /* until then heartbeats were missed not long ago */
	bool multicast;	   /* some of it came by the group */
	uint64_t group_at; /* the last that came by the group */
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
	bool answering;		   /* the owner asked which are late */
	uint64_t asked_at;	   /* when it did last; 0: never */
	uint64_t direct_until;	   /* the parent is silent: send it to the
					   owner, too */
	uint64_t refine_at;	   /* fewer nodes are late: send it then */
	uint64_t again_at;	   /* it is sent once more then */
};

/* REPORT, which goes to the parent; see nm_report.c. */
struct nm_report {
	struct storm_reports all;	     /* of the subtree */
	struct storm_reports mine;	     /* of this node */
	uint64_t mine_at;		     /* the last one of this node */
	uint32_t expect[STORM_REPORT_KINDS]; /* ids of this node, in all */
	struct storm_idset acked[STORM_REPORT_KINDS]; /* the owner has them */
	uint8_t complete;   /* kinds, a bit each, that lack nothing */
	uint64_t version;   /* of all reports */
	uint64_t hop_acked; /* the version that the parent has */
	uint64_t mine_in;   /* the version that has all of mine */
	uint64_t due_at, sent_at, rto, hold;
};

/* Operations that this node asks the owner for; see nm_request.c. */
struct nm_requests {
	struct nm_request *first, **tail; /* the first is under way */
	uint64_t last_id, due_at, rto;
};

struct nm_session {
	struct nm_session *next;
	struct storm_nm *nm;
	struct storm_open *open;
	struct storm_link link;
	struct storm_account account; /* of the owner's user */
	uint32_t self;		      /* this node's number in the domain */
	bool closing;
	/* bytes of the OPEN; until something of the owner's comes, datagrams of
	 * no more in all leave for it */
	size_t open_bytes, unheard_bytes;
	struct {
		uint64_t bytes, at; /* it may send now; counted at */
	} relay;
	int fault; /* enum storm_err: why this node closes it */
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
};

/* A node that could not be reached, see nm_known.c. */
#define NM_KNOWN_MAX 64
struct nm_known {
	struct storm_addr addr;
	uint32_t uid; /* whose session showed it */
	int sys;      /* why; 0: none */
	uint64_t at;
};

struct nm_pending { /* an OPEN that the host authenticates */
	uint64_t ticket, session;
	uint64_t stream; /* whose sender waits for the outcome */
	size_t len;	 /* of the OPEN */
	struct nm_pending *next;
};

struct storm_nm {
	struct storm_settings set;
	struct storm_transport *t;
	struct storm_nm_ops ops;
	void *host;
	struct storm_budget budget;
	struct nm_session *sessions;
	struct nm_pending *pending;
	struct nm_known known[2][NM_KNOWN_MAX]; /* of a user; of all */
	bool known_any;
	struct nm_return *back; /* asks for an OPEN; NULL: no need */
	uint64_t tickets;
	struct nm_segment {
		void *base;
		size_t len;
	} segment[STORM_SEGMENTS];
	uint64_t recent[256]; /* sessions that are over: no second life */
	uint32_t recent_at;
	struct storm_link_stats link_stats;
	struct storm_nm_stats stats;
	/* a run of decrypted chunks of one transfer, not yet written; of a file
	 * in room of the host's, of memory in place */
	uint8_t *stage; /* NULL: no room */
	size_t stage_room, stage_len;
	uint64_t stage_off;
	struct nm_session *stage_of;
	/* a run of datagrams, as received, to be passed on along the chain */
	struct nm_session *pass_of;
	const uint8_t *pass;
	size_t pass_len, pass_seg, pass_last;
};

/* nm_session.c */
struct nm_session *nm_find(struct storm_nm *nm, uint64_t session);
/* By the number that the host knows. */
struct nm_session *nm_find_host(struct storm_nm *nm, uint64_t session);
/* The address of a node, or of the owner (STORM_NO_NODE).  False: nothing may be
 * sent to it. */
bool nm_route(struct nm_session *s, uint32_t node, struct storm_addr *to);
/* Seal a control message and send it to a node or the owner. */
void nm_send(struct nm_session *s, uint8_t type, uint64_t op, const void *body,
	     size_t len, uint32_t node);
/* The variable must be a known one (storm_var_known()). */
uint64_t nm_variable(const struct nm_session *s, uint32_t var);
/* The longest body that all in the domain take. */
size_t nm_body_max(const struct nm_session *s);
/* What goes up, again and again until it arrives, is never longer than what every
 * path carries: only downwards a launch proves that long datagrams pass. */
#define NM_UP_MAX 1200
static inline size_t nm_body_up(size_t max)
{
	size_t up = storm_body_max(NM_UP_MAX);

	return max < up ? max : up;
}
/* May it relay len bytes now? */
bool nm_relay_pays(struct nm_session *s, size_t len, uint64_t now);
void nm_said_keep(struct nm_said *said, const struct storm_rx *rx,
		  uint64_t now);

/* nm_tree.c */
struct storm_child *nm_child_of(struct nm_session *s, uint32_t node);
/* Was it lost in this epoch? */
bool nm_child_gone(const struct nm_session *s, uint32_t node);
/* False: there is no room to name one more. */
bool nm_child_lost(struct nm_session *s, uint32_t node, enum storm_err why,
		   int sys);
/* Another epoch; follows: it is the next one. */
void nm_children_forget(struct nm_session *s, bool follows);
/* OPEN goes to every child that has not had it from here. */
void nm_children_open(struct nm_session *s);
/* The owner's state goes down to the children. */
void nm_children_tell(struct nm_session *s, uint64_t now);
/* Datagrams do not pass between this node and children that have taken the OPEN:
 * they are lost.  True: there are such; *next: when to look again. */
bool nm_children_cut(struct nm_session *s, uint64_t *next, uint64_t now);
int nm_tree_rewire(struct nm_session *s, uint64_t now);

/* nm_known.c */
/* Is this errno one of a connection that is not made? */
bool nm_known_connection(int sys);
/* Why this child could not be reached shortly before, an errno as that of
 * STORM_ELOST; 0: nothing is known that counts for this session. */
int nm_known_find(struct nm_session *s, uint32_t node, uint64_t now);
void nm_known_add(struct nm_session *s, uint32_t node, int sys, uint64_t now);
/* It can be reached. */
void nm_known_forget(struct nm_session *s, uint32_t node, uint64_t now);

/* nm_admit.c */
/* Sessions, and OPENs that are being checked. */
uint32_t nm_session_count(const struct storm_nm *nm);
void nm_sessions_end(struct storm_nm *nm); /* those that are closing */

/* nm_memory.c */
/* Count what the session takes now.  False: that is more than it may. */
bool nm_memory_settle(struct nm_session *s);
/* May it take so many bytes more? */
bool nm_memory_fits(const struct nm_session *s, uint64_t bytes);
/* Close it if it takes too much. */
void nm_memory_check(struct nm_session *s, uint64_t now);

/* nm_status.c */
/* JOIN, to the owner itself; or just a sign that asks for its state. */
void nm_status_join(struct nm_session *s, uint64_t now);
/* Send STATUS to the parent: now, if there is news or asked is set. */
void nm_status_update(struct nm_session *s, bool asked, uint64_t now);
/* Its timers; the time of the next one. */
uint64_t nm_status_tick(struct nm_session *s, uint64_t now);

/* nm_xfer.c */
void nm_xfer_begin(struct nm_session *s, struct storm_begin *b, uint64_t now);
void nm_xfer_part(struct nm_session *s, uint64_t op, struct storm_in *in,
		  uint64_t now);
void nm_xfer_cast(struct nm_session *s, uint64_t now);
void nm_xfer_drop(struct nm_session *s);
/* Drop the transfer and forget its number, too. */
void nm_xfer_forget(struct nm_session *s);
/* This node has no part in op, which is over for it. */
void nm_xfer_skip(struct nm_session *s, uint64_t op);
/* It is this node's fault: the first one counts. */
void nm_xfer_fail(struct nm_session *s, enum storm_err err, int sys);
/* So many bytes are in a datagram. */
void nm_xfer_map(struct nm_session *s, uint32_t chunk);
/* More is in memory. */
void nm_xfer_hash(struct nm_xfer *x);
/* Go on if all is there. */
void nm_xfer_check_full(struct nm_session *s, uint64_t now);

static inline bool nm_xfer_is_file(const struct nm_xfer *x)
{
	return x->begin.to.kind == STORM_TARGET_FILE;
}

/* The chunks that are where they stay. */
static inline const struct storm_chunkmap *nm_xfer_done(const struct nm_xfer *x)
{
	return nm_xfer_is_file(x) ? &x->written : &x->map;
}

/* nm_repair.c */
void nm_repair_reset(struct nm_xfer *x); /* another transfer, or none */
void nm_repair_end(struct nm_xfer *x);	 /* nothing is missing */
/* The owner has sent more. */
void nm_repair_sent(struct nm_xfer *x, uint64_t now);
/* Chunks were written. */
void nm_repair_written(struct nm_xfer *x, uint64_t now);
/* Chunk i has come, which was asked for.  relayed: by the chain, not as a
 * repair. */
void nm_repair_came(struct nm_xfer *x, uint64_t i, bool relayed, uint64_t now);
uint64_t nm_repair_tick(struct nm_session *s, uint64_t now);

/* nm_give.c */
/* A node below asks for chunks. */
void nm_give_nacked(struct nm_session *s, const struct storm_header *h,
		    const struct storm_addr *from, const uint8_t *body,
		    size_t len);
void nm_give_end(struct nm_xfer *x); /* nothing is read any more */

/* nm_data.c */
void nm_data_take(struct nm_session *s, const struct storm_header *h,
		  const struct storm_rx *rx, uint64_t now);
/* No more datagrams for now: write what has been gathered, pass on what is to
 * be. */
void nm_data_end(struct storm_nm *nm, uint64_t now);

/* nm_strobe.c */
void nm_strobe_take(struct nm_session *s, uint64_t number,
		    const struct storm_rx *rx, const uint8_t *body, size_t len,
		    uint64_t now);

/* nm_request.c */
uint64_t nm_request_tick(struct nm_session *s, uint64_t now);
void nm_request_result(struct nm_session *s, uint64_t id, const uint8_t *body,
		       size_t len);
/* The domain is lost to this node. */
void nm_request_end_all(struct nm_session *s);

/* nm_cluster.c */
/* The session of this cluster domain; NULL: none, or no cluster. */
struct nm_session *nm_cluster_find(struct storm_nm *nm, uint64_t cluster);
/* s was made by a new owner's OPEN: it takes over the state that the previous
 * owner left in from (NULL: there was none), and ends from. */
void nm_cluster_take(struct nm_session *s, struct nm_session *from);
/* The owner's state of this epoch names this node as excluded. */
void nm_cluster_excluded(struct nm_session *s, uint32_t epoch, uint64_t now);
void nm_cluster_welcome(struct nm_session *s, struct storm_in *in,
			uint32_t epoch);
uint64_t nm_cluster_tick(struct nm_session *s, uint64_t now);

/* nm_excluded.c */
/* Complete the owner's state, in which the excluded nodes are left out.  False:
 * it has to wait for them. */
bool nm_excluded_fill(struct nm_session *s, struct storm_cast *c,
		      uint32_t epoch);
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
/* This node has its place in their epoch: pass them on, if they are to be. */
void nm_excluded_pass(struct nm_session *s, uint64_t now);
/* Ask the owner for parts that have been missing for long. */
uint64_t nm_excluded_tick(struct nm_session *s, uint64_t now);
void nm_excluded_free(struct nm_excluded *x);

/* nm_return.c */
uint64_t nm_return_tick(struct storm_nm *nm, uint64_t now);
void nm_return_end(struct storm_nm *nm);

/* nm_report.c */
void nm_report_part(struct nm_session *s, struct storm_child *c,
		    const uint8_t *body, size_t len, uint64_t now);
void nm_report_hop_acked(struct nm_session *s, const uint8_t *body, size_t len);
void nm_report_acked(struct nm_session *s, struct storm_in *in);
/* The owner needs no more reports: release those that await its acknowledgement. */
void nm_report_release(struct nm_session *s);
/* When an acknowledgement of this node's own reports is overdue; or NEVER. */
uint64_t nm_report_overdue(const struct nm_session *s);
uint64_t nm_report_tick(struct nm_session *s, uint64_t now);
void nm_report_reset(struct nm_session *s, uint64_t now);

#endif
