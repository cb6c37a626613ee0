/*
 * verbs_wire.h - what two ends over verbs send each other while they connect
 * (private data of the connection manager).  Any program that can reach the
 * port may send it, so it is unpacked here, without verbs, and fuzzed.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_VERBS_WIRE_H
#define STORM_VERBS_WIRE_H

#include "src/libstorm/storm.h"

/* Where an end is: in a question, and in its answer. */
#define VERBS_HELLO_LEN 24
struct verbs_hello {
	uint32_t mtu, qkey, qpn[2];	/* by class */
	uint32_t strobe;	/* IPv4 address of its strobe rail; 0: none */
};
void storm_verbs_hello_pack(const struct verbs_hello *h,
			    uint8_t out[VERBS_HELLO_LEN]);
/* len is the room for it, and may be more than was sent. */
bool storm_verbs_hello_unpack(const void *buf, size_t len,
			      struct verbs_hello *out);

#endif
