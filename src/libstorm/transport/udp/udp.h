/*
 * udp.h - the transport over UDP: IPv4 multicast and unicast, GSO and GRO,
 * batched system calls; OPENs go over TCP, to the same port number.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_UDP_H
#define STORM_UDP_H

#include "src/libstorm/transport/driver.h"

extern const struct storm_driver storm_driver_udp;

struct storm_udp;

struct storm_udp_stats {
	uint64_t tx_datagrams, tx_bytes, tx_calls;
	uint64_t rx_datagrams, rx_bytes, rx_calls;
	uint64_t rx_rail; /* datagrams, over the strobe rail */
	uint64_t eagain, send_errors, dropped_by_test;
	/* datagrams that the kernel dropped at a socket: its buffer was full, or
	 * its filter refused them, as it does those of other sessions */
	uint64_t socket_drops;
	uint64_t streams_in, streams_refused;
};

/* peer: an address whose route determines the interface, if the settings name
 * none; NULL: the default route does.  set and h are copied.  On failure
 * NULL and *err (enum storm_err); errno is set, and the reason was logged. */
struct storm_udp *storm_udp_create(const struct storm_settings *set,
				   enum storm_role role,
				   const struct storm_addr *peer,
				   const struct storm_net_handler *h, int *err);
void storm_udp_destroy(struct storm_udp *u);

/*
 * The transport of storm_owner and storm_nm; it belongs to u.  One send() has
 * at most 256 KiB (-EMSGSIZE beyond).  The kernel takes 64 segments or 65280
 * bytes at once, whichever is less.  Cut bulk data there, at a whole segment,
 * or every second packet is a small one.  If the link cannot take more, an
 * owner gets -EAGAIN.  An agent relays, so up to settings.window bytes of bulk
 * are kept for it first.
 */
struct storm_transport *storm_udp_transport(struct storm_udp *u);

/* Set *out to the address of this host from which the route to peer begins; to
 * the peer's own, if this host has it.  False: there is no route, or peer is
 * not IPv4. */
bool storm_udp_source(const struct storm_addr *peer, struct storm_addr *out);

/* The unicast address and port at which others reach this end. */
void storm_udp_self(const struct storm_udp *u, struct storm_addr *self);

/* An epoll descriptor that is readable when storm_udp_poll() has work. */
int storm_udp_fd(const struct storm_udp *u);

/* Handle everything that is ready, without blocking; bounded work per call. */
void storm_udp_poll(struct storm_udp *u);

/* From now on send datagrams that exceed the path's MTU as fragments. */
void storm_udp_fragments(struct storm_udp *u);

/* Seeded loss on receipt, before unsealing (tests, stormlab). */
void storm_udp_drop(struct storm_udp *u, uint32_t ppm, uint64_t seed);

void storm_udp_stats(const struct storm_udp *u, struct storm_udp_stats *out);
/* Write the counters as a member of a JSON object: "udp": { ... } */
void storm_udp_counters(const struct storm_udp *u, char *buf, size_t size);

#endif
