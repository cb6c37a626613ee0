/*
 * sim.h - the transport "sim": one owner and n nodes in one process under a
 * virtual clock.  The protocol code, its encoding and its sealing are the real
 * ones; the network, the disks and the faults come from a seed, so that every
 * run can be had again.  Nothing here knows what an operation should do: that
 * is judged by whoever runs the simulation, from what nodes show.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_SIM_H
#define STORM_SIM_H

#include "model.h"
#include "src/libstorm/protocol/nm/nm.h"
#include "src/libstorm/protocol/owner/owner.h"

struct storm_sim_conf {
	uint64_t seed;
	uint32_t nodes;
	struct storm_settings set;
	/* NULL: latency and bandwidth count.  Otherwise these two do not; and
	 * bus is what a host lets through, bytes/s, 0: no limit */
	const struct storm_model_net *net;
	double bus;
	uint64_t latency, jitter;	/* ns, one way */
	double bandwidth;		/* bytes/s of each sender; 0: no limit */
	uint32_t loss_ppm, dup_ppm;	/* of datagrams, at each receiver */
	uint32_t late_ppm;		/* ... that come up to so much later */
	uint64_t late;
	bool multicast;			/* does the network carry it? */
	uint32_t mtu;			/* largest datagram */
	uint64_t room;			/* of a receiver, bytes; 0: no limit */
	/* What is sent at once arrives at once, as a frame with a mask of what
	 * was lost of it: no reordering within one, but a thousand nodes more. */
	bool frames;
	uint64_t disk_jitter;		/* ns, up to: begin, stage, commit */
	uint64_t host;			/* ns that a datagram takes who gets it */
	uint64_t cluster;		/* as in storm_domain_conf */
	bool guests;	/* no owner and no nodes but storm_sim_drive()'s */
};

#define STORM_SIM_OWNERS 16	/* at most, one after the other */

/* A file as a node shows it: under its final name. */
struct storm_sim_file {
	char *path;
	const uint8_t *data;
	uint64_t size;
	bool shared;		/* data are storm_sim_source()'s */
};

/* A remote event as a node saw it. */
struct storm_sim_seen {
	uint32_t event;
	uint8_t *data;
	size_t len;
};

/* What an endpoint sent, or was given; bulk: DATA. */
struct storm_sim_count { uint64_t datagrams, bytes; };
struct storm_sim_traffic {
	struct storm_sim_count tx_control, tx_bulk, rx_control, rx_bulk;
};

struct storm_sim;

struct storm_sim *storm_sim_create(const struct storm_sim_conf *conf,
				   const struct storm_owner_ops *ops,
				   void *arg);
void storm_sim_destroy(struct storm_sim *sim);

struct storm_owner *storm_sim_owner(struct storm_sim *sim);
struct storm_nm *storm_sim_nm(struct storm_sim *sim, uint32_t node);
uint64_t storm_sim_now(const struct storm_sim *sim);
/* Session at a node, 0: none. */
uint64_t storm_sim_session(const struct storm_sim *sim, uint32_t node);

/* Files that begin from now on and have this size are likely to be these bytes,
 * which stay until the end: nodes compare what they write and keep where they
 * wrote it, rather than a copy each.  Nothing else is different. */
void storm_sim_source(struct storm_sim *sim, const void *data, uint64_t size);

/* The cluster domain: another owner begins where the one before has saved last,
 * dead or not, and is storm_sim_owner() from now on, its callbacks with this arg;
 * it is not OPEN yet.  False: there were too many. */
bool storm_sim_succeed(struct storm_sim *sim, void *arg);
/* What was saved last. */
uint32_t storm_sim_saved(const struct storm_sim *sim,
			 const struct storm_idset **excluded);

/* Run until done(arg) or so much virtual time has passed; true: done. */
bool storm_sim_run(struct storm_sim *sim, uint64_t ns,
		   bool (*done)(void *arg), void *arg);

/* The owner (STORM_NO_NODE) or a node was called from outside the simulation:
 * its timers may have moved. */
void storm_sim_called(struct storm_sim *sim, uint32_t node);

/* Told around every turn of an endpoint (STORM_NO_NODE: the owner); from: who
 * sealed what it is given, STORM_SIM_NOBODY if nobody did.  Either may be NULL. */
#define STORM_SIM_NOBODY (UINT32_MAX - 1)
struct storm_sim_watch {
	void (*before)(void *arg, uint32_t node, uint32_t from);
	void (*after)(void *arg, uint32_t node, uint32_t from);
	/* what a node asked for (storm_nm_xfer(), ..._compare()) has ended */
	void (*requested)(void *arg, uint32_t node, void *token,
			  enum storm_compare result,
			  const struct storm_outcome *out);
	void *arg;
};
void storm_sim_watch(struct storm_sim *sim, const struct storm_sim_watch *w);

/* Faults.  A crashed node answers nothing and refuses streams; restarted it
 * has forgotten all but the files it shows.  Where a node is named
 * STORM_NO_NODE is the owner, which is crashed for good. */
void storm_sim_crash(struct storm_sim *sim, uint32_t node);
void storm_sim_restart(struct storm_sim *sim, uint32_t node);
/* The node's agent is of the next version. */
void storm_sim_foreign(struct storm_sim *sim, uint32_t node);
/* It does not run for so long.  Its socket keeps socket_buffer bytes of what
 * comes meanwhile, and then it gets these, late as they are. */
void storm_sim_pause(struct storm_sim *sim, uint32_t node, uint64_t ns);
/* Loss from now on. */
void storm_sim_loss(struct storm_sim *sim, uint32_t loss_ppm);
/* From now on this node's disk fails with this errno (0: works). */
void storm_sim_disk(struct storm_sim *sim, uint32_t node, int sys);
/* From now on each step of its disk takes up to so much longer. */
void storm_sim_slow(struct storm_sim *sim, uint32_t node, uint64_t ns);
/* For so long nothing gets from these to those (their number of nodes is the
 * owner): one way, and streams wait. */
void storm_sim_cut(struct storm_sim *sim, const struct storm_idset *from,
		   const struct storm_idset *to, uint64_t ns);
void storm_sim_heal(struct storm_sim *sim);	/* all cuts end */
/* A stranger sends something to an endpoint: noise, or what he overheard with
 * a bit of it changed. */
void storm_sim_forge(struct storm_sim *sim, uint32_t node);
/* Bytes sent upon such, from the start. */
uint64_t storm_sim_answers(const struct storm_sim *sim);

const struct storm_sim_file *storm_sim_files(const struct storm_sim *sim,
					     uint32_t node, uint32_t *count);
/* Temporaries that exist at a node. */
uint32_t storm_sim_temporaries(const struct storm_sim *sim, uint32_t node);
const struct storm_sim_seen *storm_sim_events(const struct storm_sim *sim,
					      uint32_t node, uint32_t *count);
/* Own reports that the owner has acknowledged to this node, of a kind. */
const struct storm_idset *storm_sim_acked(const struct storm_sim *sim,
					  uint32_t node, uint8_t kind);
/* Of an endpoint (STORM_NO_NODE: the owner), from the start. */
const struct storm_sim_traffic *storm_sim_traffic(const struct storm_sim *sim,
						  uint32_t node);

/*
 * From now on storm_domain_create() and storm_node_create() put their ends into
 * this simulation, which was made with guests: owners anywhere, nodes at ports 1
 * to conf.nodes.  NULL: into the real network again.
 */
void storm_sim_drive(struct storm_sim *sim);

#endif
