/*
 * nodes.h - a domain for tests as a program sees it: some nodes in this process
 * and their owner, in one of several worlds.  Each node has its own port of the
 * loopback interface or of an RDMA device, or is in the simulator.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef NODES_H
#define NODES_H

#include "namespace.h"
#include "src/libstorm/base/clock.h"
#include "src/libstorm/storm.h"
#include "unit.h"

#define NODES 5
#define OWNER_UID 1000 /* as in the simulator's credentials */
#define SIZE 4096
/* long enough for an emulated processor that others use, too */
#define PATIENCE (nodes_now() + 60 * STORM_SEC * unit_slower())

/* Where they are: set before nodes_setup(). */
enum world {
	WORLD_UDP,	/* along the chain: ports of one host */
	WORLD_UDP_LOSS, /* 3 datagrams in a hundred are dropped */
	WORLD_VERBS,	/* by multicast: ports of an RDMA device's address */
	WORLD_VERBS_LOSS,
	WORLD_VERBS_CHAIN,
	WORLD_SIM,	 /* by multicast */
	WORLD_SIM_LOSS,	 /* lost, doubled, late */
	WORLD_SIM_CHAIN, /* likewise, and no multicast */
};
extern enum world world;

extern struct storm_settings set; /* may be changed before nodes_open() */
extern struct storm_node list[NODES];
extern char names[NODES][8], dir[64]; /* root of node i: dir/names[i] */
extern storm_node_t *host[NODES];
extern storm_member_t *member[NODES];
extern uint8_t memory[NODES][SIZE]; /* segment 3 */
extern storm_domain_t *domain;

/* The arguments of on_signal(), on_strobe() and on_close(), by node. */
extern struct heard {
	uint32_t count, event;
	size_t len;
	char text[64];
	const void *at;
	uint32_t strobes;
	uint64_t strobe; /* number of the last one */
	char said[64];	 /* ... and its data */
	uint32_t closes, count_at_close;
	uint32_t gathers; /* how often it was asked */
} heard[NODES];

/* A fixture: the nodes. */
void nodes_setup(void);
void nodes_teardown(void);

void nodes_start(uint32_t i); /* again, after storm_node_destroy() */

/* The world's time; some of it passes; the simulator's chances are another run's. */
uint64_t nodes_now(void);
void nodes_pass(uint64_t ns);
void nodes_seed(int seed);
/* The datagrams of all nodes so far, in the simulator; elsewhere 0. */
uint64_t nodes_sent(void);

storm_domain_t *nodes_domain(void); /* not opened */
void nodes_open(void);		    /* domain, and member of all nodes */

/* To the end; out may be NULL. */
enum storm_state transfer(const struct storm_idset *P,
			  const struct storm_target *to, const void *buf,
			  size_t len, struct storm_outcome *out);
struct storm_idset some(uint32_t first, uint32_t last);

/* The RDMA device to test, if STORM_TRANSPORT=verbs is in the environment:
 * STORM_DEVICE, or the device of the machines of testsuite/verbs.  NULL: the
 * worlds that need no device are tested. */
const char *nodes_device(void);

/* In a network namespace, if there may be one (no RDMA device is in another). */
int nodes_main(Suite *s);

#endif
