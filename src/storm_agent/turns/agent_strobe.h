/*
 * agent_strobe.h - the thread that takes strobes, and what it and the main loop
 * exchange:
 *
 *	agent_strobe.c	the thread
 *	agent_gate.c	the main loop's part: whose strobes count, and whence
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_AGENT_STROBE_H
#define STORM_AGENT_STROBE_H

#include "agent_gang_private.h"
#include "src/libstorm/protocol/strobe.h"
#include "src/libstorm/transport/driver.h"

struct agent_strobe {
	struct agent *a;
	const struct storm_strobe_ops *ops; /* NULL: no socket of its own */
	int fd;				    /* that socket, or -1 */
	int epoll, wake;		    /* the thread's */
	int nap;			    /* an epoll of nothing */
	bool stop;			    /* with the lock */
	struct storm_strobes taker;	    /* with the lock */
	/* Only the thread uses these. */
	uint32_t returned; /* as in struct agent_away */
	uint64_t alarm;	   /* when it wakes up at the latest, to act */
	bool deaf;	   /* until then it hears nothing */
	uint8_t buf[STORM_DATAGRAM_MAX];
	struct storm_strobe strobe;
	uint64_t refused_since;
	uint32_t refused;
	/* With the lock: strobes of which the main loop does not know yet. */
	uint64_t taken, number, at; /* how many; the last one; when it came */
	bool muted;		    /* the main loop must steer anew */
	/* The main loop's. */
	struct storm_strobe_match match;
	_Atomic bool steered; /* strobes come to the thread, which reads it */
	uint64_t trust_at;
};

/* agent_strobe.c, without the lock: start the thread (0 or an errno), and stop
 * it. */
int agent_strobe_start(struct agent_gang *g);
void agent_strobe_stop(struct agent_gang *g);

/* agent_gate.c, with the lock: the session is over, so take no more strobes of
 * it. */
void agent_gate_close(struct agent_gang *g);

#endif
