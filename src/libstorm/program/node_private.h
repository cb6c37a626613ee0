/*
 * node_private.h - a node's parts: node.c has its thread and public calls,
 * node_host.c the callbacks of its Node Manager (nm.h), node_member.c the
 * public calls for one domain.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_NODE_PRIVATE_H
#define STORM_NODE_PRIVATE_H

#include "runner.h"
#include "src/libstorm/base/worker.h"
#include "src/libstorm/protocol/nm/nm.h"
#include "staged.h"

/* Most OPENs that wait for their check: a flood of OPENs is refused and does
 * not exhaust the node's memory. */
#define OPENS_WAITING 64

struct storm_member {
	struct storm_shared *sh;
	storm_node_t *node; /* NULL: the domain is closed */
	struct storm_member *next;
	uint64_t session;
	unsigned int users; /* the session, the handle, pending signals */
	bool accepted;
	struct storm_member_info info;
	struct storm_staging staging;
	struct node_signal *close;	/* the call of on_close(), or NULL */
	uint64_t signals[STORM_EVENTS]; /* signals not yet consumed, by event */
	uint64_t taken[STORM_EVENTS];	/* signals consumed, by event */
};

struct storm_node_manager {
	struct storm_shared *sh;
	const struct storm_driver *driver;
	struct storm_runner runner;
	struct storm_net *net;
	struct storm_nm *nm;
	struct storm_worker auth;  /* if there are threads */
	struct node_check *checks; /* finished checks, if there are none */
	struct storm_node_conf conf;
	int root;
	struct node_segment {
		uint8_t *base;
		size_t len;
	} segment[STORM_SEGMENTS];
	struct storm_member *members;
	struct node_file *files;
	uint8_t *room; /* for the next run of a file; NULL: not needed yet */
	struct node_signal *told, **told_end;
};

/* node_host.c.  All are locked. */
extern const struct storm_nm_ops node_host_ops;
/* Give the Manager the pending answers on files. */
void node_host_answer(storm_node_t *n);
/* Pass the results of finished checks to the Manager. */
void node_host_admit(storm_node_t *n);
/* Make the pending calls of on_signal(), on_strobe() and on_close().  Releases the lock
 * meanwhile. */
void node_host_notify(storm_node_t *n);
/* Release one use of m; the last one frees it. */
void node_member_leave(struct storm_member *m);

/* node_member.c: as storm_member_test_event().  *before: how many signals of
 * this event were consumed before. */
int node_member_take(storm_member_t *m, uint32_t event, bool block,
		     uint64_t deadline, uint64_t *before);

#endif
