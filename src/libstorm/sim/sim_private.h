/*
 * sim_private.h - what the parts of the simulator share.  Each calls only those
 * above it in this list:
 *	sim_queue.c	chance, endpoints, frames, the queue of events
 *	sim_line.c	how long the network takes
 *	sim_net.c	the network between endpoints
 *	sim_host.c	what is inside a node
 *	sim_fault.c	what goes wrong
 *	sim_turn.c	the next event happens
 *	sim_guest.c	the ends of programs as endpoints
 *	sim.c		a simulation as a whole
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_SIM_PRIVATE_H
#define STORM_SIM_PRIVATE_H

#include "src/libstorm/wire/credential.h"
#include "src/libstorm/base/idset.h"
#include "src/libstorm/wire/open.h"
#include "src/libstorm/wire/seal.h"
#include "sim.h"

/*
 * What one send() gave: up to 64 datagrams of seg bytes, the last one shorter.
 * All who receive one share it, each with a mask of those that reached it.
 */
struct frame {
	uint32_t refs, count, from;
	size_t len, seg;
	uint8_t **plain;	/* of each what was sealed; NULL: not multicast */
	uint8_t bytes[];
};

enum kind { EV_DATAGRAM, EV_STREAM, EV_REFUSED, EV_AUTH, EV_BEGUN, EV_STAGED,
	    EV_APPLIED, EV_TICK };

struct event {
	uint64_t at;
	enum kind kind;
	uint32_t to, life;	/* endpoint, and which life of it */
	uint32_t from;		/* endpoint, or STORM_SIM_NOBODY */
	bool group;
	uint64_t session, op, ticket;	/* ticket: a stream's number too */
	uint32_t node;
	int err, sys;
	struct frame *frame;
	uint64_t mask;		/* which datagrams of the frame */
	uint64_t held;		/* bytes, in the socket of who is stopped */
	uint8_t *buf;
	size_t len;
};

/* The queue is a heap of these; the events stand in a pool. */
struct turn {
	uint64_t at, order;
	uint32_t event;
};

struct stream {			/* who waits for what becomes of it */
	uint32_t from, life, node;
	uint64_t session;
	bool over, forged;
	uint32_t next;		/* of the same sender, or free: number; 0: none */
};

struct endpoint {
	struct storm_transport t;	/* first */
	struct storm_sim *sim;
	uint32_t index;			/* from n on: the owners */
	uint32_t life;
	bool down, foreign;
	int disk_error;
	uint64_t disk_slow;
	uint64_t held;			/* bytes, while it is stopped */
	uint64_t paused_until, busy_until;	/* busy: its line */
	uint64_t works_until;			/* ... its processor */
	uint64_t tick_at, tick_queued;	/* NEVER: no EV_TICK is queued */
	uint64_t writable_at;		/* who was told EAGAIN is called then */
	uint32_t streams;		/* own ones: the first's number */
	struct storm_sim_traffic traffic;
	struct storm_nm *nm;		/* a node, or ... */
	struct storm_owner *owner;	/* ... an owner, or ... */
	void *guest;			/* ... what a program has created */
	struct storm_net_handler handler;
	struct storm_runner *runner;	/* once it runs */
	uint64_t session;
	uint8_t note[STORM_NOTE_MAX];	/* for its next life */
	size_t note_len;
	struct storm_sim_file *files;
	uint32_t nfiles;
	uint32_t temporaries;
	struct storm_sim_seen *seen;
	uint32_t nseen;
	struct storm_idset acked[STORM_REPORT_KINDS];
};

struct cut {			/* nothing gets from these to those */
	struct storm_idset from, to;	/* endpoints */
	uint64_t until;
	struct cut *next;
};

#define STORM_SIM_LEVELS 17	/* of a fat tree of 65536 nodes, and its root */

struct storm_sim {
	struct storm_sim_conf conf;
	int levels;			/* of the network, and for each: */
	double round_trip[STORM_SIM_LEVELS];	/* ns */
	struct endpoint *ep;		/* nodes, then the owners */
	uint32_t owners;		/* so many there were */
	struct storm_owner_ops ops;
	uint32_t saved;			/* epoch, and the nodes outside */
	struct storm_idset saved_excluded;
	char (*names)[16];
	uint64_t now, random, order;
	struct turn *heap;
	size_t count, room;
	struct event *event;	/* the pool */
	uint32_t events, events_room;
	uint32_t *free_event;
	uint32_t free_events;
	const uint8_t *source;	/* what files of that size are likely to be */
	uint64_t source_size;
	struct frame *given;	/* is being received */
	/* the OPEN that was verified last, and what of its stream is the same
	 * for all nodes */
	struct storm_open *verified;
	uint8_t *verified_buf;
	size_t verified_len;
	struct stream *stream;
	uint32_t streams, stream_free;
	struct cut *cuts;
	uint64_t answers;	/* bytes, to strangers */
	struct storm_sim_watch watch;
};

/* sim_queue.c: what the seed says: any number, a chance in a million, 0..ns */
uint64_t storm_sim_chance(struct storm_sim *sim);
bool storm_sim_happens(struct storm_sim *sim, uint32_t ppm);
uint64_t storm_sim_upto(struct storm_sim *sim, uint64_t ns);
void storm_sim_address(uint32_t index, struct storm_addr *a);
/* STORM_NO_NODE: the owner that began last. */
struct endpoint *storm_sim_endpoint(const struct storm_sim *sim, uint32_t node);
struct frame *storm_sim_frame_new(const void *buf, size_t len, size_t seg);
void storm_sim_frame_put(struct frame *f);
/* An event happens in its turn; its buf is the simulator's from here. */
void storm_sim_push(struct storm_sim *sim, struct event e);
/* The first event of the queue, which is not empty.  The caller frees it. */
struct event storm_sim_pop(struct storm_sim *sim);
void storm_sim_event_free(struct event *e);
/* An endpoint's timers are looked at then, or now. */
void storm_sim_wake_at(struct endpoint *ep, uint64_t at);
void storm_sim_wake(struct endpoint *ep);

/* sim_line.c */
void storm_sim_line_init(struct storm_sim *sim);
/* ns, one way */
uint64_t storm_sim_latency(const struct storm_sim *sim, uint32_t from,
			   uint32_t to);
/* The sender's line takes so many bytes; when the last one of them leaves. */
uint64_t storm_sim_transmit(struct endpoint *ep, uint32_t to, size_t len);
/* Is there room in the owner's socket?  If not it is called when there is. */
bool storm_sim_line_room(struct endpoint *ep);

/* sim_net.c */
extern const struct storm_transport_ops storm_sim_transport_ops;
/* A stream's number. */
uint32_t storm_sim_stream_new(struct endpoint *from, uint64_t session,
			      uint32_t node);

/* sim_host.c */
extern const struct storm_credential_ops storm_sim_credential;
void storm_sim_node_start(struct endpoint *ep);
void storm_sim_host_clear(struct endpoint *ep);
/* storm_open_verify(); what is the same for all nodes is verified once. */
int storm_sim_verify(struct storm_sim *sim, const void *buf, size_t len,
		     struct storm_open **out);
void storm_sim_forget_open(struct storm_sim *sim);

/* sim_fault.c: does the socket of a node that is stopped keep this for it? */
bool storm_sim_hold(struct endpoint *ep, struct event *e);

/* sim_turn.c: the next event that is due by then happens; false: there is none,
 * and it is that time. */
bool storm_sim_step(struct storm_sim *sim, uint64_t end);

#endif
