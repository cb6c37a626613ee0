/*
 * verbs_wire.c - see verbs_wire.h.  Big-endian:
 *
 *	hello	 0                  4     8      12           16          20
 *		| magic + version | mtu | Q_Key | QP control | QP bulk | strobe |
 *	ring	 0       4         5       6       8      12     16
 *		| "STRC" | version | class | slots | slot | rkey | address |
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include "verbs_wire.h"
#include "transport.h"
#include "wire.h"

#define RING_MAGIC 0x53545243u	/* "STRC" */
#define RING_VERSION 1
#define RING_SLOTS_MIN 4

void storm_verbs_hello_pack(const struct verbs_hello *h,
			    uint8_t out[VERBS_HELLO_LEN])
{
	struct storm_out o = { out, out + VERBS_HELLO_LEN, false };

	storm_put32(&o, STORM_WIRE_MAGIC + STORM_WIRE_VERSION);
	storm_put32(&o, h->mtu);
	storm_put32(&o, h->qkey);
	storm_put32(&o, h->qpn[STORM_CONTROL]);
	storm_put32(&o, h->qpn[STORM_BULK]);
	storm_put32(&o, h->strobe);
}

bool storm_verbs_hello_unpack(const void *buf, size_t len,
			      struct verbs_hello *out)
{
	struct storm_in i = { buf, (const uint8_t *) buf + len, false };
	uint32_t magic = storm_get32(&i);

	out->mtu = storm_get32(&i);
	out->qkey = storm_get32(&i);
	out->qpn[STORM_CONTROL] = storm_get32(&i);
	out->qpn[STORM_BULK] = storm_get32(&i);
	out->strobe = storm_get32(&i);
	return !i.bad && magic == STORM_WIRE_MAGIC + STORM_WIRE_VERSION &&
	       out->mtu >= STORM_MTU_MIN;
}

void storm_verbs_ring_pack(const struct verbs_ring *r,
			   uint8_t out[VERBS_RING_LEN])
{
	struct storm_out o = { out, out + VERBS_RING_LEN, false };

	storm_put32(&o, RING_MAGIC);
	storm_put8(&o, RING_VERSION);
	storm_put8(&o, r->class);
	storm_put16(&o, (uint16_t) r->slots);
	storm_put32(&o, r->slot);
	storm_put32(&o, r->rkey);
	storm_put64(&o, r->addr);
}

bool storm_verbs_ring_unpack(const void *buf, size_t len,
			     struct verbs_ring *out)
{
	struct storm_in i = { buf, (const uint8_t *) buf + len, false };
	uint32_t magic = storm_get32(&i);
	uint8_t version = storm_get8(&i);

	out->class = storm_get8(&i);
	out->slots = storm_get16(&i);
	out->slot = storm_get32(&i);
	out->rkey = storm_get32(&i);
	out->addr = storm_get64(&i);
	return !i.bad && magic == RING_MAGIC && version == RING_VERSION &&
	       out->class <= STORM_BULK && out->slot &&
	       out->slots >= RING_SLOTS_MIN &&
	       !(out->slots & (out->slots - 1));
}
