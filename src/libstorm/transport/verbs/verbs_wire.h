/*
 * verbs_wire.h - the hello that two ends exchange in a look-up (private data of
 * the connection manager).  Any program that can reach the port may send it, so
 * its parser needs no verbs, and is fuzzed.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_VERBS_WIRE_H
#define STORM_VERBS_WIRE_H

#include "src/libstorm/storm.h"

/* What an end says of itself in a look-up, and in the answer. */
#define VERBS_HELLO_LEN 24
struct verbs_hello {
	uint32_t mtu, qkey, qpn[2]; /* by class */
	uint32_t strobe; /* IPv4 address of its strobe rail; 0: none */
};
void storm_verbs_hello_pack(const struct verbs_hello *h,
			    uint8_t out[static VERBS_HELLO_LEN]);
/* len: size of the private data, which may exceed what was sent.  False:
 * malformed, or of another version. */
bool storm_verbs_hello_unpack(const void *buf, size_t len,
			      struct verbs_hello *out);

#endif
