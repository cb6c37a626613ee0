/*
 * driver.h - what carries the ends that programs create (storm_domain_t,
 * storm_node_t): a network, and with the simulator's also a clock and turns in
 * place of threads.  Everything above is the same whatever the driver is.
 *
 * udp_transport.c, verbs_transport.c and the simulator implement the interface;
 * drivers.h chooses one.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_DRIVER_H
#define STORM_DRIVER_H

#include "transport.h"

#define STORM_NET_COUNTERS_MAX 4096

struct storm_net;	/* an end's place in the network; the driver's own type */
struct storm_runner;

struct storm_driver {
	const char *name;
	/* peer: see storm_udp_create().  NULL and *err; the reason was
	 * logged. */
	struct storm_net *(*create)(const struct storm_settings *set,
				    enum storm_role role,
				    const struct storm_addr *peer,
				    const struct storm_net_handler *h,
				    int *err);
	void (*destroy)(struct storm_net *net);
	struct storm_transport *(*transport)(struct storm_net *net);
	/* The address that others reach it at. */
	void (*self)(const struct storm_net *net, struct storm_addr *out);
	/* Datagrams that were dropped because the settings ask for it. */
	uint64_t (*dropped)(const struct storm_net *net);
	/* Not in a simulation: drop so many of a million received from now on
	 * (tests); its counters, as members of an object in JSON, which fit
	 * into STORM_NET_COUNTERS_MAX bytes. */
	void (*drop)(struct storm_net *net, uint32_t ppm, uint64_t seed);
	void (*counters)(const struct storm_net *net, char *buf, size_t size);

	/* Real time: a descriptor that is readable when poll() has work. */
	int (*fd)(const struct storm_net *net);
	void (*poll)(struct storm_net *net);

	/* Simulated time, NULL otherwise.  now: what time it is.  turn: let
	 * something happen.  False if nothing does by the deadline (0: ever);
	 * then it is that time.  attach: run this end in its turns, NULL: no
	 * more.  wake: run it soon. */
	uint64_t (*now)(void);
	bool (*turn)(uint64_t deadline);
	void (*attach)(struct storm_net *net, struct storm_runner *r);
	void (*wake)(struct storm_net *net);
};

#endif
