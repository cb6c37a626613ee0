/*
 * pulse.c - see pulse.h.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include "pulse.h"

int storm_pulse_tx_open(struct storm_pulse_tx *tx,
			const uint8_t key[STORM_KEY_LEN], uint64_t session,
			uint32_t self, const uint8_t inc[STORM_INCARNATION_LEN])
{
	struct storm_seal *seal =
		storm_seal_create(key, inc, session, self, STORM_LANE_PULSE);

	if (!seal)
		return STORM_ENOMEM;
	storm_seal_destroy(tx->seal);
	tx->seal = seal;
	tx->session = session;
	tx->self = self;
	memcpy(tx->incarnation, inc, sizeof(tx->incarnation));
	return STORM_OK;
}

void storm_pulse_tx_close(struct storm_pulse_tx *tx)
{
	storm_seal_destroy(tx->seal);
	tx->seal = NULL;
}

int storm_pulse_seal(struct storm_pulse_tx *tx, const struct storm_pulse *p,
		     uint64_t op, uint8_t out[static STORM_PULSE_LEN])
{
	uint8_t body[STORM_PULSE_BODY];
	struct storm_out o = { body, body + sizeof(body), false };
	struct storm_header h = {
		.type = STORM_MSG_PULSE,
		.epoch = tx->epoch,
		.session = tx->session,
		.sender = tx->self,
		.sequence = ++tx->sequence,
		.op = op,
	};

	memcpy(h.incarnation, tx->incarnation, sizeof(h.incarnation));
	storm_header_pack(&h, out);
	storm_put8(&o, p->kind);
	storm_put8(&o, p->flags);
	storm_put16(&o, 0);
	storm_put32(&o, p->node);
	storm_put32(&o, p->silence);
	return storm_seal_seal(tx->seal, out, h.sequence, body, sizeof(body),
			       out + STORM_HEADER_LEN);
}

int storm_pulse_rx_open(struct storm_pulse_rx *rx,
			const uint8_t key[STORM_KEY_LEN], uint64_t session,
			uint32_t sender,
			const uint8_t inc[STORM_INCARNATION_LEN])
{
	if (rx->seal && rx->sender == sender &&
	    !memcmp(rx->incarnation, inc, sizeof(rx->incarnation)))
		return STORM_OK;
	storm_pulse_rx_close(rx);
	rx->seal =
		storm_seal_create(key, inc, session, sender, STORM_LANE_PULSE);
	rx->sender = sender;
	memcpy(rx->incarnation, inc, sizeof(rx->incarnation));
	rx->top = 0;
	return rx->seal ? STORM_OK : STORM_ENOMEM;
}

void storm_pulse_rx_close(struct storm_pulse_rx *rx)
{
	storm_seal_destroy(rx->seal);
	rx->seal = NULL;
}

static int pulse_unpack(struct storm_pulse *p, const uint8_t *body)
{
	struct storm_in in = { body, body + STORM_PULSE_BODY, false };
	uint16_t zero;

	p->kind = storm_get8(&in);
	p->flags = storm_get8(&in);
	zero = storm_get16(&in);
	p->node = storm_get32(&in);
	p->silence = storm_get32(&in);
	if (!storm_in_done(&in) || zero || !p->kind ||
	    p->kind >= STORM_PULSE_KINDS || p->flags & ~STORM_PULSE_FLAGS ||
	    (p->kind != STORM_PULSE_NEWS && (p->node || p->silence)))
		return STORM_EINVAL;
	return STORM_OK;
}

int storm_pulse_open(struct storm_pulse_rx *rx, const struct storm_header *h,
		     const uint8_t *buf, size_t len, struct storm_pulse *out)
{
	uint8_t body[STORM_PULSE_BODY];

	if (len != STORM_PULSE_LEN || h->type != STORM_MSG_PULSE || h->flags)
		return STORM_EINVAL;
	if (!rx->seal || h->sender != rx->sender || h->sequence <= rx->top ||
	    memcmp(h->incarnation, rx->incarnation, sizeof(rx->incarnation)) ||
	    storm_seal_open(rx->seal, buf, h->sequence, buf + STORM_HEADER_LEN,
			    len - STORM_HEADER_LEN, body))
		return STORM_EAUTH;
	rx->top = h->sequence;
	return pulse_unpack(out, body);
}
