/*
 * nodes.h - a domain for tests from a program's side: some nodes in this process,
 * each with its own port of the loopback interface, and an owner.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef NODES_H
#define NODES_H

#include "clock.h"
#include "namespace.h"
#include "unit.h"
#include "storm.h"

#define NODES 5
#define OWNER_UID 1000		/* as the simulator's credentials say */
#define SIZE 4096
#define PATIENCE (storm_now() + 15 * STORM_SEC)

extern struct storm_settings set;	/* may be changed before nodes_open() */
extern struct storm_node list[NODES];
extern char names[NODES][8], dir[64];	/* root of node i: dir/names[i] */
extern storm_node_t *host[NODES];
extern storm_member_t *member[NODES];
extern uint8_t memory[NODES][SIZE];	/* segment 3 */
extern storm_domain_t *domain;

/* What on_signal() was told, by node. */
extern struct heard {
	uint32_t count, event;
	size_t len;
	char text[64];
	const void *at;
} heard[NODES];

/* A fixture: the nodes. */
void nodes_setup(void);
void nodes_teardown(void);

storm_domain_t *nodes_domain(void);	/* not opened */
void nodes_open(void);			/* domain, and member of all nodes */

/* To the end; out may be NULL. */
enum storm_state transfer(const struct storm_idset *P,
			  const struct storm_target *to, const void *buf,
			  size_t len, struct storm_outcome *out);
struct storm_idset some(uint32_t first, uint32_t last);

/* In a network namespace, if there may be one. */
int nodes_main(Suite *s);

#endif
