/*
 * strobe.h - takes the strobes of one owner without the rest of the protocol.
 *
 * A thread of its own may do that while another one runs the Node Manager
 * (nm.h).  The Node Manager gives it a gate: which sender to believe, from
 * which epoch on, and to which children strobes are passed on.  If the Node
 * Manager's thread is late the gate is old.  That does no harm: it is as if the
 * strobes had overtaken what that thread has not read yet.  No I/O, and no
 * lock: the caller has one.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_STROBE_H
#define STORM_STROBE_H

#include "src/libstorm/base/tree.h"
#include "src/libstorm/wire/seal.h"

struct storm_gate {
	uint64_t session;
	uint8_t key[STORM_KEY_LEN];
	uint8_t incarnation[STORM_INCARNATION_LEN]; /* the owner's */
	uint32_t epoch;		 /* strobes of lower ones are refused */
	uint64_t number;	 /* of the last strobe that was taken */
	struct storm_addr group; /* port 0: no multicast */
	uint32_t children;
	struct storm_addr child[STORM_RADIX_MAX];
};

struct storm_strobes {
	struct storm_gate gate;
	struct storm_seal *seal; /* NULL: the gate is closed */
	uint64_t number;	 /* only higher ones are new */
};

struct storm_strobe {
	uint64_t number;
	bool relay; /* pass it on to gate.child */
	uint8_t body[STORM_STROBE_MAX + STORM_TAG_LEN];
	size_t len;
};

/* Open the gate, in place of the one before.  While the session is the same,
 * only strobes above the highest number so far are taken.  STORM_OK, or
 * STORM_ENOMEM: it is closed. */
int storm_strobes_open(struct storm_strobes *s, const struct storm_gate *gate);
void storm_strobes_close(struct storm_strobes *s);
/* Is the gate that is open this one?  The number of the last strobe may
 * differ. */
bool storm_strobes_same(const struct storm_strobes *s,
			const struct storm_gate *gate);
/* Verify and decrypt a datagram to *out.  False: it is no strobe of this owner,
 * or not a new one. */
bool storm_strobes_take(struct storm_strobes *s, const uint8_t *buf, size_t len,
			struct storm_strobe *out);
/* Another thread has taken the strobe of this number.  False: it is not new. */
bool storm_strobes_number(struct storm_strobes *s, uint64_t number);

#endif
