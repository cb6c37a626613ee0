/*
 * sim.h - the transport "sim": one owner and n nodes in one process under a
 * virtual clock.  The protocol code, its encoding and its sealing are the real
 * ones.  The network, the disks and the faults follow from a seed, so that
 * every run can be repeated.  The simulator does not know what an operation
 * should do: the program that runs it checks what the nodes show.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_SIM_H
#define STORM_SIM_H

#include "src/libstorm/protocol/nm/nm.h"
#include "src/libstorm/protocol/owner/owner.h"
#include "src/storm_sim/model/model.h"

struct storm_sim_conf {
	uint64_t seed;
	uint32_t nodes;
	struct storm_settings set;
	/* NULL: use latency and bandwidth.  Otherwise use this network and
	 * bus, the bandwidth of a host's bus in bytes/s (0: no limit). */
	const struct storm_model_net *net;
	double bus;
	uint64_t latency, jitter;   /* ns, one way */
	double bandwidth;	    /* bytes/s of each sender; 0: no limit */
	uint32_t loss_ppm, dup_ppm; /* of datagrams, at each receiver */
	uint32_t late_ppm; /* of datagrams: they arrive up to `late` ns later */
	uint64_t late;
	bool multicast; /* the network carries multicast */
	uint32_t mtu;	/* bytes of the largest datagram */
	uint64_t room;	/* of a receiver, bytes; 0: no limit */
	/* Datagrams that are sent at once arrive at once, as a frame with a
	 * mask of the lost ones.  They are not reordered, but far more nodes
	 * are possible. */
	bool frames;
	uint64_t disk_jitter; /* most ns of each step of a file */
	uint64_t host;	      /* ns to process a datagram */
	uint64_t cluster;     /* as in storm_domain_conf */
	bool guests;	      /* the only owner and nodes are programs', see
			storm_sim_drive() */
};

#define STORM_SIM_OWNERS 16 /* most owners, one after the other */

/* A file at a node under its final name. */
struct storm_sim_file {
	char *path;
	const uint8_t *data;
	uint64_t size;
	bool shared; /* data are storm_sim_source()'s */
};

/* A remote event that a node received. */
struct storm_sim_seen {
	uint32_t event;
	uint8_t *data;
	size_t len;
};

/* What an endpoint sent and received; bulk: DATA. */
struct storm_sim_count {
	uint64_t datagrams, bytes;
};
struct storm_sim_traffic {
	struct storm_sim_count tx_control, tx_bulk, rx_control, rx_bulk;
};

struct storm_sim;

/* Create a simulation with an owner, which has not sent OPEN, and its nodes.
 * conf and ops are copied; the owner's callbacks get arg.  Without memory the
 * process ends. */
struct storm_sim *storm_sim_create(const struct storm_sim_conf *conf,
				   const struct storm_owner_ops *ops,
				   void *arg);
void storm_sim_destroy(struct storm_sim *sim);

struct storm_owner *storm_sim_owner(struct storm_sim *sim);
struct storm_nm *storm_sim_nm(struct storm_sim *sim, uint32_t node);
uint64_t storm_sim_now(const struct storm_sim *sim);
/* The session of a node; 0: none. */
uint64_t storm_sim_session(const struct storm_sim *sim, uint32_t node);

/* Save memory: files of this size that begin from now on probably have these
 * bytes.  A node then stores which of them it has written, and no copy.  Other
 * data still work.  data must stay valid until the simulation is destroyed. */
void storm_sim_source(struct storm_sim *sim, const void *data, uint64_t size);

/* The cluster domain: start another owner from the state saved last, whether or
 * not the previous owner is dead.  storm_sim_owner() returns it from now on;
 * its callbacks get this arg.  It has not sent OPEN yet.  False: too many
 * owners. */
bool storm_sim_succeed(struct storm_sim *sim, void *arg);
/* The epoch saved last.  *excluded belongs to the simulation. */
uint32_t storm_sim_saved(const struct storm_sim *sim,
			 const struct storm_idset **excluded);

/* Run until done(arg) or for ns of virtual time.  True: done. */
bool storm_sim_run(struct storm_sim *sim, uint64_t ns, bool (*done)(void *arg),
		   void *arg);

/* Call this after calling the owner (STORM_NO_NODE) or a node from outside the
 * simulation: its timers may have changed. */
void storm_sim_called(struct storm_sim *sim, uint32_t node);

/* Callbacks before and after every turn of an endpoint (STORM_NO_NODE: the
 * owner).  from: the sender that sealed its input, STORM_SIM_NOBODY if none
 * did.  Each may be NULL. */
#define STORM_SIM_NOBODY (UINT32_MAX - 1)
struct storm_sim_watch {
	void (*before)(void *arg, uint32_t node, uint32_t from);
	void (*after)(void *arg, uint32_t node, uint32_t from);
	/* a node's storm_nm_xfer() or storm_nm_compare() has ended */
	void (*requested)(void *arg, uint32_t node, void *token,
			  enum storm_compare result,
			  const struct storm_outcome *out);
	/* a node is asked for what it has; NULL: nothing */
	void (*gather)(void *arg, uint32_t node, const void *query, size_t len,
		       storm_gather_t *g);
	void *arg;
};
void storm_sim_watch(struct storm_sim *sim, const struct storm_sim_watch *w);

/* Faults.  A crashed node answers nothing and refuses streams.  A restarted
 * node has only its committed files.  node may be STORM_NO_NODE, the owner,
 * which cannot restart. */
void storm_sim_crash(struct storm_sim *sim, uint32_t node);
void storm_sim_restart(struct storm_sim *sim, uint32_t node);
/* The node's agent has the next protocol version. */
void storm_sim_foreign(struct storm_sim *sim, uint32_t node);
/* The node's libstorm is older: it knows no message of this type or above. */
void storm_sim_older(struct storm_sim *sim, uint32_t node, uint8_t type);
/* The node does not run for ns.  Its socket holds up to socket_buffer bytes
 * that arrive meanwhile; the node receives them afterwards. */
void storm_sim_pause(struct storm_sim *sim, uint32_t node, uint64_t ns);
/* The loss of datagrams from now on. */
void storm_sim_loss(struct storm_sim *sim, uint32_t loss_ppm);
/* From now on the node's disk fails with this errno; 0: it works. */
void storm_sim_disk(struct storm_sim *sim, uint32_t node, int sys);
/* From now on the node's disk does not answer.  After STORM_SIM_HUNG its host
 * gives each operation up, with STORM_EHUNG. */
#define STORM_SIM_HUNG 10000000000ULL
void storm_sim_hang(struct storm_sim *sim, uint32_t node);
/* From now on each step of the node's disk takes up to ns longer. */
void storm_sim_slow(struct storm_sim *sim, uint32_t node, uint64_t ns);
/* Files that the node has to begin before `until` wait until then, and the node
 * says so. */
void storm_sim_queue(struct storm_sim *sim, uint32_t node, uint64_t until);
/* For ns nothing passes from `from` to `to`, in this direction only; streams
 * wait.  The id conf.nodes is the owner. */
void storm_sim_cut(struct storm_sim *sim, const struct storm_idset *from,
		   const struct storm_idset *to, uint64_t ns);
/* For ns no datagram longer than `above` bytes, which is not 0, passes from
 * `from` to `to`.  Streams pass. */
void storm_sim_filter(struct storm_sim *sim, const struct storm_idset *from,
		      const struct storm_idset *to, size_t above, uint64_t ns);
/* For ns no such long datagram passes that is for a single node.  Those to a
 * group pass, and streams. */
void storm_sim_filter_single(struct storm_sim *sim,
			     const struct storm_idset *from,
			     const struct storm_idset *to, size_t above,
			     uint64_t ns);
/* For ns these endpoints receive nothing of a group. */
void storm_sim_deafen(struct storm_sim *sim, const struct storm_idset *to,
		      uint64_t ns);
void storm_sim_heal(struct storm_sim *sim); /* end all cuts */
/* An attacker sends a datagram to an endpoint: noise, or an overheard datagram
 * with one bit changed. */
void storm_sim_forge(struct storm_sim *sim, uint32_t node);
/* Bytes sent in reply to forged datagrams, from the start. */
uint64_t storm_sim_answers(const struct storm_sim *sim);

const struct storm_sim_file *storm_sim_files(const struct storm_sim *sim,
					     uint32_t node, uint32_t *count);
/* Number of temporary files at a node. */
uint32_t storm_sim_temporaries(const struct storm_sim *sim, uint32_t node);
const struct storm_sim_seen *storm_sim_events(const struct storm_sim *sim,
					      uint32_t node, uint32_t *count);
/* The node's own reports of this kind that the owner has acknowledged. */
const struct storm_idset *storm_sim_acked(const struct storm_sim *sim,
					  uint32_t node, uint8_t kind);
/* The traffic of an endpoint (STORM_NO_NODE: the owner) from the start. */
const struct storm_sim_traffic *storm_sim_traffic(const struct storm_sim *sim,
						  uint32_t node);

/*
 * From now on storm_domain_create() and storm_node_create() use this
 * simulation, which must have conf.guests set.  Nodes have ports 1 to
 * conf.nodes.  NULL: use the real network again.
 */
void storm_sim_drive(struct storm_sim *sim);

#endif
