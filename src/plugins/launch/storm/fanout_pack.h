/*
 * fanout_pack.h - a message as the bytes that a slurmd reads.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_FANOUT_PACK_H
#define STORM_FANOUT_PACK_H

#include <stddef.h>
#include <stdint.h>

#include "src/common/slurm_protocol_defs.h"

#include "src/libstorm/storm.h"

/*
 * The bytes that slurm_send_node_msg() writes to a slurmd, after `head` zero
 * bytes (xfree); *len of all.  self: the address that
 * replies go to, which is set in msg; without it slurmd answers the agent on its
 * host.  NULL: the reason was logged.  Any thread.
 */
uint8_t *fanout_pack(slurm_msg_t *msg, const struct storm_addr *self,
		     size_t head, size_t *len);

#endif
