/*
 * pulser.h - a node's part in the signs of life of a cluster domain: it gives
 * its own to its parent in the tree, answers the owner, and tells the owner at
 * once of a child that is quiet.
 *
 * A thread of its own may do that while another one runs the Node Manager
 * (nm.h), which gives it a gate: whom to tell and whom to believe.  A gate that
 * is old does no harm: who is watched in vain is asked by the owner.  No I/O,
 * and no lock: the caller has one.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_PULSER_H
#define STORM_PULSER_H

#include "src/libstorm/base/tree.h"
#include "src/libstorm/wire/pulse.h"
#include "watch.h"

struct storm_pulse_gate {
	uint64_t session;
	uint8_t key[STORM_KEY_LEN];
	uint32_t self, epoch;
	uint8_t incarnation[STORM_INCARNATION_LEN]; /* this node's */
	uint8_t owner_incarnation[STORM_INCARNATION_LEN];
	struct storm_addr owner, parent; /* port 0: nothing may be sent there */
	uint32_t children;
	struct storm_pulse_child {
		uint32_t node;
		uint8_t incarnation[STORM_INCARNATION_LEN];
	} child[STORM_RADIX_MAX];
};

struct storm_pulser;

/* Where pulses go: a datagram for this address. */
typedef void (*storm_pulse_send)(void *arg, const struct storm_addr *to,
				 const void *buf, size_t len);

/* every: ns between two signs.  NULL: no memory. */
struct storm_pulser *storm_pulser_create(uint64_t every, storm_pulse_send send,
					 void *arg);
void storm_pulser_destroy(struct storm_pulser *p);
/* Open this gate in place of the one before; NULL: close it.  STORM_OK, or
 * STORM_ENOMEM: it is closed. */
int storm_pulser_gate(struct storm_pulser *p,
		      const struct storm_pulse_gate *gate, uint64_t now);
/* Is the gate that is open this one?  NULL: is none open? */
bool storm_pulser_same(const struct storm_pulser *p,
		       const struct storm_pulse_gate *gate);
/* What this node says of itself from now on (STORM_PULSE_HUNG and the like). */
void storm_pulser_flags(struct storm_pulser *p, uint8_t flags);
/* Take a datagram.  False: it is refused. */
bool storm_pulser_take(struct storm_pulser *p, const uint8_t *buf, size_t len,
		       uint64_t now);
/* Do what time demands.  All that has come was taken before.  Returns when to
 * call again, or STORM_NEVER. */
uint64_t storm_pulser_tick(struct storm_pulser *p, uint64_t now);

#endif
