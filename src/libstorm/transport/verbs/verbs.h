/*
 * verbs.h - the transport over RDMA verbs (InfiniBand, RoCE): unreliable
 * datagrams, and multicast by the fabric.  It contains a UDP transport (udp.h)
 * with the same address and port.  The UDP transport carries OPENs, over TCP,
 * and datagrams for peers that verbs do not reach, if the settings allow it.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_VERBS_H
#define STORM_VERBS_H

#include "src/libstorm/transport/driver.h"

extern const struct storm_driver storm_driver_verbs;

struct storm_verbs;

/* Sends are counted when they are posted.  So a queue holds as many as sends
 * exceed completed. */
struct storm_verbs_queue_stats {
	uint64_t sends, completed; /* datagrams: completed <= sends */
	uint64_t full;		   /* sends that found no room */
	uint64_t kept;		   /* sends that were kept in memory */
	uint64_t received, group;  /* datagrams, and those by multicast */
	uint64_t empty;		   /* times that no receive was posted:
					   datagrams may have been lost */
};

struct storm_verbs_stats {
	uint64_t tx_datagrams, tx_bytes, tx_group; /* by verbs */
	uint64_t rx_datagrams, rx_bytes, rx_group;
	uint64_t tx_copied; /* bytes, into registered memory */
	uint64_t udp_tx_datagrams, udp_rx_datagrams; /* failed over */
	uint64_t receives;			     /* posted */
	uint64_t own_copies;	  /* own multicasts, discarded */
	uint64_t send_errors;	  /* sends that were lost here */
	uint64_t asked, answered; /* look-ups of peers, by peers */
	uint64_t ask_longest;	  /* ns of the longest look-up */
	uint64_t dropped_by_test;
	uint32_t peers, peers_by_udp;
	bool working; /* false: everything uses UDP */
	struct storm_verbs_queue_stats queue[2]; /* by class */
};

/* As storm_udp_create().  Without a working device it fails; or, with
 * set->transport_fallback, begins with UDP and changes to verbs when it can. */
struct storm_verbs *storm_verbs_create(const struct storm_settings *set,
				       enum storm_role role,
				       const struct storm_addr *peer,
				       const struct storm_net_handler *h,
				       int *err);
void storm_verbs_destroy(struct storm_verbs *v);

/*
 * One send() has at most 256 KiB.  It takes a place of a send queue for each
 * datagram.  If they are not free, an agent keeps up to settings.window bytes
 * of bulk.  Everything else returns -EAGAIN, and the descriptor becomes
 * readable when there is room again.
 */
struct storm_transport *storm_verbs_transport(struct storm_verbs *v);
void storm_verbs_self(const struct storm_verbs *v, struct storm_addr *self);
int storm_verbs_fd(const struct storm_verbs *v);
void storm_verbs_poll(struct storm_verbs *v);
void storm_verbs_stats(const struct storm_verbs *v,
		       struct storm_verbs_stats *out);
/* Counters of the strobe rail, whose traffic storm_verbs_stats() leaves out.
 * False: there is no strobe rail. */
bool storm_verbs_strobe_stats(const struct storm_verbs *v,
			      struct storm_verbs_stats *out);

#endif
