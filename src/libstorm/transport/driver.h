/*
 * driver.h - the interface between the ends that programs create
 * (storm_domain_t, storm_node_t) and what carries them.  That is a network; the
 * simulator's driver also has a clock, and turns in place of threads.  The code
 * above does not depend on the driver.
 *
 * udp_transport.c, verbs_transport.c and the simulator implement it; drivers.h
 * chooses one.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_DRIVER_H
#define STORM_DRIVER_H

#include "transport.h"

#define STORM_NET_COUNTERS_MAX 4096

struct storm_net; /* an end in the network; private to the driver */
struct storm_runner;

struct storm_driver {
	const char *name;
	/* peer: see storm_udp_create().  The settings and the handler are
	 * copied.  NULL and *err (enum storm_err) on failure; the reason was
	 * logged. */
	struct storm_net *(*create)(const struct storm_settings *set,
				    enum storm_role role,
				    const struct storm_addr *peer,
				    const struct storm_net_handler *h,
				    int *err);
	void (*destroy)(struct storm_net *net); /* takes NULL, keeps errno */
	/* What the protocol sends by; it belongs to net. */
	struct storm_transport *(*transport)(struct storm_net *net);
	/* The address at which others reach it. */
	void (*self)(const struct storm_net *net, struct storm_addr *out);
	/* Datagrams that were dropped on purpose (drop_ppm). */
	uint64_t (*dropped)(const struct storm_net *net);
	/* Not in a simulation.  From now on drop ppm of a million datagrams
	 * received (tests). */
	void (*drop)(struct storm_net *net, uint32_t ppm, uint64_t seed);
	/* Not in a simulation.  Write its counters to buf, as members of a JSON
	 * object; they fit into STORM_NET_COUNTERS_MAX bytes. */
	void (*counters)(const struct storm_net *net, char *buf, size_t size);

	/* Real time: a descriptor that is readable when poll() has work.
	 * poll() does not block; it calls the handler. */
	int (*fd)(const struct storm_net *net);
	void (*poll)(struct storm_net *net);

	/*
	 * Simulated time, NULL otherwise.
	 * now: the virtual time, in ns.
	 * turn: run the next event.  False if there is none up to the deadline
	 * (0: none at all); the time is then the deadline.
	 * attach: give this end's turns to r; NULL: to nothing.
	 * wake: give this end a turn soon.
	 */
	uint64_t (*now)(void);
	bool (*turn)(uint64_t deadline);
	void (*attach)(struct storm_net *net, struct storm_runner *r);
	void (*wake)(struct storm_net *net);
};

#endif
