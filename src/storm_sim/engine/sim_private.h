/*
 * sim_private.h - what the parts of the simulator share.  Each calls only those
 * above it in this list:
 *	sim_queue.c	random numbers, endpoints, frames, the queue of events
 *	sim_line.c	the time that the network takes
 *	sim_net.c	the network between endpoints
 *	sim_host.c	the host of a node: disk, credentials
 *	sim_fault.c	faults
 *	sim_turn.c	runs the next event
 *	sim_guest.c	domains and nodes of programs as endpoints
 *	sim.c		a simulation as a whole
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_SIM_PRIVATE_H
#define STORM_SIM_PRIVATE_H

#include "sim.h"
#include "src/libstorm/base/idset.h"
#include "src/libstorm/wire/credential.h"
#include "src/libstorm/wire/open.h"
#include "src/libstorm/wire/seal.h"

/*
 * The datagrams of one send(): up to 64 of seg bytes, the last one shorter.
 * All receivers share the frame, each with a mask of the datagrams that reached
 * it.
 */
struct frame {
	uint32_t refs, count, from;
	size_t len, seg;
	uint8_t **plain; /* what each sealed; NULL: not multicast */
	uint8_t bytes[];
};

enum kind {
	EV_DATAGRAM,
	EV_STREAM,
	EV_REFUSED,
	EV_AUTH,
	EV_BEGUN,
	EV_WRITTEN,
	EV_READ,
	EV_STAGED,
	EV_APPLIED,
	EV_TICK
};

struct event {
	uint64_t at;
	enum kind kind;
	uint32_t to, life; /* endpoint, and its life */
	uint32_t from;	   /* endpoint, or STORM_SIM_NOBODY */
	bool group;
	uint64_t session, op, ticket; /* ticket: a stream's number too */
	uint32_t node;
	int err, sys;
	uint64_t off; /* of what was written or read */
	struct frame *frame;
	uint64_t mask; /* the frame's datagrams that arrive */
	uint64_t held; /* bytes in the socket of a paused node */
	uint8_t *buf;
	size_t len;
};

/* The queue is a heap of these; the events are in a pool. */
struct turn {
	uint64_t at, order;
	uint32_t event;
};

/* An OPEN whose sender waits for the answer. */
struct stream {
	uint32_t from, life, node;
	uint64_t session;
	bool over, forged;
	uint32_t next; /* number of the sender's next stream, or of the
				   next free one; 0: none */
};

struct endpoint {
	struct storm_transport t; /* first */
	struct storm_sim *sim;
	uint32_t index; /* nodes, then from n on the owners */
	uint32_t life;
	bool down, foreign;
	uint8_t older; /* the first type of message that it does not know; 0:
			  it knows all */
	int disk_error;
	uint64_t disk_slow;
	uint64_t disk_turn;  /* no file begins before */
	uint64_t disk_until; /* when its last answer comes: they keep order */
	uint64_t disk_bytes; /* that are to be written */
	bool disk_hung;
	uint64_t held;			   /* bytes in its socket in a pause */
	uint64_t paused_until, busy_until; /* busy_until: its line */
	double busy_rest;		   /* a part of a ns of it */
	uint64_t works_until;	       /* its processor is busy until then */
	uint64_t tick_at, tick_queued; /* NEVER: no EV_TICK is queued */
	uint64_t writable_at;	       /* after EAGAIN: when to call it */
	uint32_t streams;	       /* number of its first stream */
	struct storm_sim_traffic traffic;
	struct storm_nm *nm;	   /* a node; or NULL */
	struct storm_owner *owner; /* an owner; or NULL */
	void *guest;		   /* what a program has created; or NULL */
	struct storm_net_handler handler;
	struct storm_runner *runner; /* NULL until it runs */
	uint64_t session;
	uint8_t note[STORM_NOTE_MAX]; /* for its next life */
	size_t note_len;
	struct storm_sim_file *files;
	uint32_t nfiles;
	uint32_t temporaries;
	struct storm_sim_seen *seen;
	uint32_t nseen;
	struct storm_idset acked[STORM_REPORT_KINDS];
};

/* Nothing passes from these endpoints to those. */
struct cut {
	struct storm_idset from, to; /* endpoints */
	uint64_t until;
	size_t above; /* bytes: only longer datagrams, and no streams; 0: all */
	bool group_passes;
	bool group_only; /* only those of a group */
	struct cut *next;
};

#define STORM_SIM_LEVELS 17 /* of a fat tree of 65536 nodes, and its root */

struct storm_sim {
	struct storm_sim_conf conf;
	int levels;			     /* of the network, and for each: */
	double round_trip[STORM_SIM_LEVELS]; /* ns */
	struct endpoint *ep;		     /* nodes, then the owners */
	uint32_t owners;		     /* owners created so far */
	struct storm_owner_ops ops;
	uint32_t saved; /* epoch, and the excluded nodes */
	struct storm_idset saved_excluded;
	char (*names)[16];
	uint64_t now, random, order;
	struct turn *heap;
	size_t count, room;
	struct event *event; /* the pool */
	uint32_t events, events_room;
	uint32_t *free_event;
	uint32_t free_events;
	const uint8_t *source; /* see storm_sim_source() */
	uint64_t source_size;
	bool source_hashed;
	uint8_t source_digest[32];
	struct frame *given; /* the one being received */
	uint8_t *disk_room;  /* for the next run of a file */
	/* The OPEN that was verified last, and the bytes of its stream, most of
	 * which are the same for all nodes. */
	struct storm_open *verified;
	uint8_t *verified_buf;
	size_t verified_len;
	struct stream *stream;
	uint32_t streams, stream_free;
	struct cut *cuts;
	uint64_t answers; /* bytes in reply to forged datagrams */
	struct storm_sim_watch watch;
};

/* sim_queue.c */
/* Draw from the seed: any number; true for ppm in a million; a number from 0 to
 * ns. */
uint64_t storm_sim_chance(struct storm_sim *sim);
bool storm_sim_happens(struct storm_sim *sim, uint32_t ppm);
uint64_t storm_sim_upto(struct storm_sim *sim, uint64_t ns);
void storm_sim_address(uint32_t index, struct storm_addr *a);
/* The endpoint of a node; STORM_NO_NODE: of the newest owner. */
struct endpoint *storm_sim_endpoint(const struct storm_sim *sim, uint32_t node);
struct frame *storm_sim_frame_new(const void *buf, size_t len, size_t seg);
void storm_sim_frame_put(struct frame *f);
/* Queue an event.  The simulator takes its buf. */
void storm_sim_push(struct storm_sim *sim, struct event e);
/* Take the first event of the queue, which must not be empty.  The caller frees
 * it. */
struct event storm_sim_pop(struct storm_sim *sim);
void storm_sim_event_free(struct event *e);
/* Run the timers of an endpoint at that time, or now. */
void storm_sim_wake_at(struct endpoint *ep, uint64_t at);
void storm_sim_wake(struct endpoint *ep);

/* sim_line.c */
void storm_sim_line_init(struct storm_sim *sim);
/* The ns from one endpoint to another, one way. */
uint64_t storm_sim_latency(const struct storm_sim *sim, uint32_t from,
			   uint32_t to);
/* Put len bytes on the sender's line.  Returns the time when the last one
 * leaves. */
uint64_t storm_sim_transmit(struct endpoint *ep, uint32_t to, size_t len);
/* Is there room in the owner's socket?  False: the owner is called when there
 * is. */
bool storm_sim_line_room(struct endpoint *ep);

/* sim_net.c */
extern const struct storm_transport_ops storm_sim_transport_ops;
/* Create a stream; returns its number. */
uint32_t storm_sim_stream_new(struct endpoint *from, uint64_t session,
			      uint32_t node);

/* sim_host.c */
extern const struct storm_credential_ops storm_sim_credential;
void storm_sim_node_start(struct endpoint *ep);
void storm_sim_host_clear(struct endpoint *ep);
/* As storm_open_verify(), but verifies the part that all nodes share only
 * once. */
int storm_sim_verify(struct storm_sim *sim, const void *buf, size_t len,
		     struct storm_open **out);
void storm_sim_forget_open(struct storm_sim *sim);

/* sim_fault.c */
/* Does the socket of a paused node keep this event? */
bool storm_sim_hold(struct endpoint *ep, struct event *e);

/* sim_turn.c */
/* Run the next event that is due by `end`.  False: there is none, and the time
 * is now `end`. */
bool storm_sim_step(struct storm_sim *sim, uint64_t end);

#endif
