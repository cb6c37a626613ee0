/*
 * verbs_strobe.c - the strobe rail: a second device or port, for control.
 *
 * It is a verbs transport within the verbs transport, with queues, groups and
 * peers of its own, and an address in its own network.  The hello on the data
 * rail announces that address.  Here too, a peer's identity is its address on
 * the data rail.  The data rail carries what the strobe rail cannot: datagrams
 * for a peer that it does not reach, and all while it is down.  Only the
 * counters show it.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include <errno.h>
#include <string.h>

#include "src/libstorm/transport/udp/udp_private.h"
#include "verbs_private.h"

/* ------------------------------------------------------------------- open */

static struct storm_settings
verbs_strobe_settings(const struct storm_settings *set)
{
	struct storm_settings s = *set;

	memcpy(s.device, set->strobe_device, sizeof(s.device));
	s.strobe_device[0] = s.interface[0] = 0;
	s.ib_port = set->strobe_ib_port;
	s.gid_index = set->strobe_gid_index;
	s.pkey = set->strobe_pkey;
	s.recv_depth = set->strobe_recv_depth;
	if (set->strobe_mtu)
		s.mtu = set->strobe_mtu;
	s.drop_seed = ~set->drop_seed;
	return s;
}

/* Find its own address; the port is the data rail's. */
static int verbs_strobe_find_self(struct storm_verbs *s)
{
	struct udp_iface iface;
	int rc = STORM_OK;

	storm_verbs_interface_for_device(s);
	if (!s->set.interface[0])
		rc = storm_verbs_choose(s);
	if (!rc)
		rc = storm_udp_iface(&s->set, NULL, &iface);
	if (!rc)
		storm_udp_addr(&s->self, iface.addr, s->data->self.port);
	return rc;
}

static int verbs_strobe_open_rail(struct storm_verbs *s)
{
	int rc = storm_verbs_open_fds(s);

	if (!rc)
		rc = verbs_strobe_find_self(s);
	if (!rc && !memcmp(s->self.ip, s->data->self.ip, sizeof(s->self.ip))) {
		storm_log(STORM_LOG_INFO,
			  "StrobeRail %s is the data rail "
			  "itself: the key has no effect",
			  s->data->set.strobe_device);
		return STORM_EINVAL;
	}
	if (!rc && storm_verbs_watch(s->data, s->epfd, VERBS_FD_STROBE))
		rc = STORM_ESYS;
	if (rc) {
		storm_log(STORM_LOG_WARN,
			  "StrobeRail %s in storm.conf cannot "
			  "be used: the data rail is used for everything",
			  s->data->set.strobe_device);
		return rc;
	}
	/* it may come up later */
	if (storm_verbs_up(s))
		storm_verbs_without(s);
	else if (s->role == STORM_ROLE_NODE)
		storm_verbs_wait_for_joins(s);
	return STORM_OK;
}

void storm_verbs_strobe_open(struct storm_verbs *v)
{
	struct storm_settings set = verbs_strobe_settings(&v->set);

	if (!set.device[0])
		return;
	v->strobe = storm_verbs_alloc(&set, v->role, &v->h);
	if (!v->strobe)
		return;
	v->strobe->data = v;
	if (!verbs_strobe_open_rail(v->strobe))
		return;
	storm_verbs_destroy(v->strobe);
	v->strobe = NULL;
}

/* ------------------------------------------------------------------- send */

/* Is the peer known on this rail?  If not, its look-up begins. */
static bool verbs_strobe_reaches(struct storm_verbs *v,
				 const struct storm_addr *to)
{
	struct verbs_peer *p, *q = storm_verbs_peer_find(v->strobe, to);
	struct storm_addr at = *to;

	if (!q) {
		p = storm_verbs_peer(v, to);
		if (!p || p->state != VERBS_KNOWN || !p->hello.strobe)
			return false;
		at.ip[12] = (uint8_t) (p->hello.strobe >> 24);
		at.ip[13] = (uint8_t) (p->hello.strobe >> 16);
		at.ip[14] = (uint8_t) (p->hello.strobe >> 8);
		at.ip[15] = (uint8_t) p->hello.strobe;
		q = storm_verbs_peer_at(v->strobe, to, &at);
	} else {
		q = storm_verbs_peer(v->strobe, to);
	}
	return q && q->state == VERBS_KNOWN;
}

int storm_verbs_strobe_send(struct storm_verbs *v, const struct storm_addr *to,
			    const void *buf, size_t len, size_t seg)
{
	struct storm_verbs *s = v->strobe;

	if (!s || !storm_verbs_working(s))
		return -EHOSTUNREACH;
	s->now = v->now;
	if (!storm_verbs_is_group(to) && !verbs_strobe_reaches(v, to))
		return -EHOSTUNREACH;
	return storm_verbs_send_by(s, STORM_CONTROL, to, buf, len, seg);
}
