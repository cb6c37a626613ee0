/*
 * verbs_wire.c - see verbs_wire.h.  Big-endian:
 *
 *	hello	 0                  4     8      12           16          20
 *		| magic + version | mtu | Q_Key | QP control | QP bulk | strobe |
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include "verbs_wire.h"
#include "src/libstorm/transport/transport.h"
#include "src/libstorm/wire/wire.h"

void storm_verbs_hello_pack(const struct verbs_hello *h,
			    uint8_t out[static VERBS_HELLO_LEN])
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
