/*
 * strobe.c - see strobe.h.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include <openssl/crypto.h>

#include "strobe.h"

void storm_strobes_close(struct storm_strobes *s)
{
	storm_seal_destroy(s->seal);
	s->seal = NULL;
	OPENSSL_cleanse(s->gate.key, sizeof(s->gate.key));
}

int storm_strobes_open(struct storm_strobes *s, const struct storm_gate *gate)
{
	bool same = s->gate.session == gate->session;

	storm_strobes_close(s);
	s->gate = *gate;
	if (!same || gate->number > s->number)
		s->number = gate->number;
	s->seal = storm_seal_create(gate->key, gate->incarnation, gate->session,
				    STORM_NO_NODE, STORM_LANE_CONTROL);
	if (s->seal)
		return STORM_OK;
	storm_strobes_close(s);
	return STORM_ENOMEM;
}

bool storm_strobes_same(const struct storm_strobes *s,
			const struct storm_gate *gate)
{
	const struct storm_gate *g = &s->gate;

	return s->seal && g->session == gate->session &&
	       !memcmp(g->key, gate->key, sizeof(g->key)) &&
	       !memcmp(g->incarnation, gate->incarnation,
		       sizeof(g->incarnation)) &&
	       g->epoch == gate->epoch &&
	       !memcmp(&g->group, &gate->group, sizeof(g->group)) &&
	       g->children == gate->children &&
	       !memcmp(g->child, gate->child,
		       g->children * sizeof(g->child[0]));
}

bool storm_strobes_number(struct storm_strobes *s, uint64_t number)
{
	if (number <= s->number)
		return false;
	s->number = number;
	return true;
}

/* What costs little first: most of a flood ends here. */
bool storm_strobes_take(struct storm_strobes *s, const uint8_t *buf, size_t len,
			struct storm_strobe *out)
{
	const struct storm_gate *g = &s->gate;
	struct storm_header h;

	if (!s->seal || len > STORM_DATAGRAM_MIN + STORM_STROBE_MAX ||
	    storm_header_unpack(&h, buf, len))
		return false;
	if (h.type != STORM_MSG_STROBE || h.sender != STORM_NO_NODE ||
	    h.session != g->session || h.epoch < g->epoch ||
	    h.op <= s->number ||
	    memcmp(h.incarnation, g->incarnation, sizeof(h.incarnation)))
		return false;
	if (storm_seal_open(s->seal, buf, h.sequence, buf + STORM_HEADER_LEN,
			    len - STORM_HEADER_LEN, out->body))
		return false;
	s->number = out->number = h.op;
	out->relay = h.flags & STORM_HDR_RELAY;
	out->len = len - STORM_DATAGRAM_MIN;
	return true;
}
