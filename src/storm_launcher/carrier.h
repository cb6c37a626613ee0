/*
 * carrier.h - streams of many clients in one stream of sealed records: channels, each with
 * a window in each direction, so that one that nobody reads stops only itself.  No I/O.
 *
 * A record's text is a channel (u32), a kind (u8) and a body.  The first record of each
 * end proves that it has the key; no byte of a channel is sent before the other end's has
 * come.  One end, the door's, opens channels: the first DATA with a number does that, and
 * numbers only grow.  Channel 0 is there from the start.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_CARRIER_H
#define STORM_CARRIER_H

#include "sealed.h"

#define CARRIER_WINDOW 65536u /* bytes on their way, of a channel, each way */
#define CARRIER_CHANNELS 512u /* beside channel 0 */

struct carrier;

/* s becomes the carrier's.  opens: this end opens channels.  NULL: no memory, and s is
 * destroyed. */
struct carrier *carrier_create(struct sealed *s, bool opens);
/* NULL is allowed. */
void carrier_destroy(struct carrier *c);

/* NULL; or what is wrong, and the stream is to be closed.  All other calls may still be
 * made, and do nothing. */
const char *carrier_fault(const struct carrier *c);
/* Has the other end shown that it has the key? */
bool carrier_is_proven(const struct carrier *c);

/* Where the stream's next bytes belong, *room of them, and that n came. */
uint8_t *carrier_room(struct carrier *c, size_t *room);
void carrier_came(struct carrier *c, size_t n);
/* What the stream is to take, *len bytes, and that it took n. */
const uint8_t *carrier_out(const struct carrier *c, size_t *len);
void carrier_sent(struct carrier *c, size_t n);

/* A channel that was opened, has data or has ended since it was returned last.  False:
 * there is no more. */
bool carrier_next(struct carrier *c, uint32_t *channel);

/* A new one; 0: there are CARRIER_CHANNELS, or the other end is not proven. */
uint32_t carrier_open(struct carrier *c);
/* How many of these bytes were taken, which is up to the window. */
size_t carrier_put(struct carrier *c, uint32_t channel, const void *buf,
		   size_t len);
/* May some be put? */
bool carrier_may_put(const struct carrier *c, uint32_t channel);
/* Bytes that have come, until the next call, and that n of them are used. */
const uint8_t *carrier_data(const struct carrier *c, uint32_t channel,
			    size_t *len);
void carrier_used(struct carrier *c, uint32_t channel, size_t n);
/* Nothing more will come: the other end has closed it, and all data are used. */
bool carrier_ended(const struct carrier *c, uint32_t channel);
/* After what was put.  What still comes is lost.  Each channel but 0 has to be closed,
 * also one that has ended. */
void carrier_close(struct carrier *c, uint32_t channel);

#endif
