/*
 * sim_private.h - what the parts of the simulator share: sim.c runs it,
 * sim_net.c is the network between nodes, sim_host.c what is inside a node.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_SIM_PRIVATE_H
#define STORM_SIM_PRIVATE_H

#include "credential.h"
#include "idset.h"
#include "sim.h"

enum kind { EV_DATAGRAM, EV_STREAM, EV_REFUSED, EV_AUTH, EV_BEGUN, EV_STAGED,
	    EV_APPLIED };

struct event {
	uint64_t at, order;
	enum kind kind;
	uint32_t to, life;	/* endpoint, and which life of it */
	bool group;
	uint64_t session, op, ticket;	/* ticket: a stream's number too */
	uint32_t node;
	int err, sys;
	uint8_t *buf;
	size_t len;
};

struct stream {			/* who waits for what becomes of it */
	uint32_t from, life, node;
	uint64_t session;
	bool over;
};

struct endpoint {
	struct storm_transport t;	/* first */
	struct storm_sim *sim;
	uint32_t index;			/* n: the owner */
	uint32_t life;
	bool down, foreign;
	int disk_error;
	uint64_t paused_until, busy_until, tick_at, sent;
	struct storm_nm *nm;
	uint64_t session;
	struct storm_sim_file *files;
	uint32_t nfiles;
	uint32_t temporaries;
	struct storm_sim_seen *seen;
	uint32_t nseen;
	struct storm_idset acked[STORM_REPORT_KINDS];
};

struct storm_sim {
	struct storm_sim_conf conf;
	struct endpoint *ep;		/* nodes, then the owner */
	struct storm_owner *owner;
	char (*names)[16];
	uint64_t now, random, order;
	struct event *heap;
	size_t count, room;
	struct stream *stream;
	size_t streams;
};

/* sim.c: an event happens in its turn; its buf is the simulator's from here */
void storm_sim_push(struct storm_sim *sim, struct event e);

/* sim_net.c: what the seed says: any number, a chance in a million, 0..ns */
uint64_t storm_sim_chance(struct storm_sim *sim);
bool storm_sim_happens(struct storm_sim *sim, uint32_t ppm);
uint64_t storm_sim_upto(struct storm_sim *sim, uint64_t ns);
extern const struct storm_transport_ops storm_sim_transport_ops;
void storm_sim_address(uint32_t index, struct storm_addr *a);

/* sim_host.c */
extern const struct storm_nm_ops storm_sim_host_ops;
extern const struct storm_credential_ops storm_sim_credential;
void storm_sim_host_clear(struct endpoint *ep);

#endif
