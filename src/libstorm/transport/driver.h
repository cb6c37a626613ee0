/*
 * driver.h - what the ends that programs create (storm_domain_t, storm_node_t)
 * ask of a network.  The simulator's driver also has a clock, and turns in
 * place of threads.  The code above does not depend on the driver.
 *
 * udp_transport.c, verbs_transport.c and the simulator implement it; drivers.h
 * chooses one.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_DRIVER_H
#define STORM_DRIVER_H

#include <sys/types.h>

#include "transport.h"

#define STORM_NET_COUNTERS_MAX 4096

struct storm_net; /* an end in the network; private to the driver */
struct storm_runner;

#define STORM_STROBE_SOURCES 4

/* How the strobes of one owner look before they are unsealed. */
struct storm_strobe_match {
	uint64_t session;
	uint8_t incarnation[16];
	uint32_t len; /* of the datagram */
	/* The hosts that send them here: the owner, or the parent in the tree.
	 * */
	struct storm_addr source[STORM_STROBE_SOURCES];
	uint32_t sources;
	struct storm_addr group; /* port 0: none */
};

/*
 * A socket for strobes alone, which a thread of its own may read while another
 * one calls poll().  The kernel chooses the datagrams that come to it.  All
 * others, and strobes that do not match, come to poll().
 */
struct storm_strobe_ops {
	/* Open the socket.  Returns a descriptor that is readable when strobes
	 * wait.  -1: it failed, which was logged, and all strobes come to
	 * poll(). */
	int (*open)(struct storm_net *net);
	/* From now on the strobes that match m come to this socket; NULL:
	 * none. */
	void (*steer)(struct storm_net *net,
		      const struct storm_strobe_match *m);
	/* In the strobes' thread: receive one, without blocking.  Returns its
	 * length; -1: there is none.  *at: when this host received it
	 * (storm_now(), ns). */
	ssize_t (*receive)(struct storm_net *net, void *buf, size_t size,
			   uint64_t *at);
	/* In the strobes' thread: pass one on to a child. */
	void (*send)(struct storm_net *net, const struct storm_addr *to,
		     const void *buf, size_t len);
	/* In the strobes' thread: receive none until the next steer(). */
	void (*mute)(struct storm_net *net);
};

/*
 * A socket for PULSE alone, which a thread of its own may read while another one
 * calls poll().
 */
struct storm_pulse_ops {
	/* Open the socket.  Returns a descriptor that is readable when pulses
	 * wait.  -1: it failed, which was logged, and all come to poll(). */
	int (*open)(struct storm_net *net);
	/* From now on the pulses of this session come to it; 0: none. */
	void (*steer)(struct storm_net *net, uint64_t session);
	/* In the pulses' thread: receive one, without blocking.  Returns its
	 * length; -1: there is none. */
	ssize_t (*receive)(struct storm_net *net, void *buf, size_t size);
	/* In the pulses' thread: send one. */
	void (*send)(struct storm_net *net, const struct storm_addr *to,
		     const void *buf, size_t len);
};

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
	/* The transport by which the protocol sends; it belongs to net. */
	struct storm_transport *(*transport)(struct storm_net *net);
	/* The address at which others reach it. */
	void (*self)(const struct storm_net *net, struct storm_addr *out);
	/* How many datagrams were dropped on purpose (drop_ppm). */
	uint64_t (*dropped)(const struct storm_net *net);
	/* For tests; NULL in a simulation.  From now on drop ppm of a million
	 * datagrams received, which ones by this seed. */
	void (*drop)(struct storm_net *net, uint32_t ppm, uint64_t seed);
	/* Write its counters to buf, as members of a JSON object.  They fit
	 * into STORM_NET_COUNTERS_MAX bytes.  NULL in a simulation. */
	void (*counters)(const struct storm_net *net, char *buf, size_t size);

	/* Real time: a descriptor that is readable when poll() has work.
	 * poll() does not block; it calls the handler. */
	int (*fd)(const struct storm_net *net);
	void (*poll)(struct storm_net *net);
	/* NULL: strobes have no socket of their own. */
	const struct storm_strobe_ops *strobe;
	/* NULL: pulses have no socket of their own. */
	const struct storm_pulse_ops *pulse;
	/* on: have the kernel discard all datagrams but those of these n
	 * sessions; else none.  It is for a flood, as a call takes longer than
	 * a datagram.  NULL: the network cannot. */
	void (*admit)(struct storm_net *net, const uint64_t *session, size_t n,
		      bool on);

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
