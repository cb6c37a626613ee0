/*
 * verbs_transport.c - the driver "verbs" (driver.h) on the verbs transport.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "verbs_private.h"

static struct storm_net *verbs_driver_create(const struct storm_settings *set,
					     enum storm_role role,
					     const struct storm_addr *peer,
					     const struct storm_net_handler *h,
					     int *err)
{
	return (struct storm_net *) storm_verbs_create(set, role, peer, h, err);
}

static void verbs_driver_destroy(struct storm_net *net)
{
	storm_verbs_destroy((struct storm_verbs *) net);
}

static struct storm_transport *verbs_driver_transport(struct storm_net *net)
{
	return storm_verbs_transport((struct storm_verbs *) net);
}

static void verbs_driver_self(const struct storm_net *net,
			      struct storm_addr *out)
{
	storm_verbs_self((const struct storm_verbs *) net, out);
}

static uint64_t verbs_driver_dropped(const struct storm_net *net)
{
	const struct storm_verbs *v = (const struct storm_verbs *) net;
	struct storm_verbs_stats s;

	storm_verbs_stats(v, &s);
	return s.dropped_by_test + (v->strobe ? v->strobe->drop.dropped : 0);
}

static void verbs_driver_drop(struct storm_net *net, uint32_t ppm,
			      uint64_t seed)
{
	struct storm_verbs *v = (struct storm_verbs *) net;

	v->drop.ppm = ppm;
	v->drop.state = seed;
	storm_udp_drop(v->udp, ppm, seed);
	if (v->strobe) {
		v->strobe->drop.ppm = ppm;
		v->strobe->drop.state = ~seed;
	}
}

/* Of a rail, behind what is there. */
static void verbs_rail_counters(const char *name, const struct storm_verbs *v,
				char *buf, size_t size)
{
	struct storm_verbs_stats s;
	size_t n = strlen(buf);

	storm_verbs_stats(v, &s);
#define F "\"%s\": %" PRIu64
#define V(field) #field, s.field
#define P(field) #field, s.rc.field
#define Q(field) #field, s.queue[STORM_CONTROL].field, \
	s.queue[STORM_BULK].field
#define F2 "\"%s\": [%" PRIu64 ", %" PRIu64 "]"
	snprintf(buf + n, size - n,
		 ",\n \"%s\": {\"working\": %s, " F ", " F ", " F ", " F
		 ", " F ", " F ", " F ", " F ", " F ", " F ", " F ", " F ", " F
		 ", " F ", \"peers\": %u, \"peers_by_udp\": %u,\n"
		 "  " F2 ", " F2 ", " F2 ", " F2 ", " F2 ", " F2 ", " F2 ",\n"
		 "  \"pairs\": {\"out\": %u, \"in\": %u, " F ", " F ", " F ", " F
		 ", " F ", " F ", " F ", " F ", " F ", " F ", " F "}}",
		 name, s.working ? "true" : "false", V(tx_datagrams), V(tx_bytes),
		 V(tx_group), V(rx_datagrams), V(rx_bytes), V(rx_group),
		 V(tx_copied), V(udp_tx_datagrams), V(udp_rx_datagrams),
		 V(receives), V(own_copies), V(send_errors),
		 V(asked), V(answered), s.peers, s.peers_by_udp,
		 Q(sends), Q(completed), Q(full), Q(kept), Q(received), Q(group),
		 Q(empty), s.rc.out, s.rc.in,
		 P(tx_datagrams), P(tx_bytes), P(rx_datagrams), P(rx_bytes),
		 P(no_slot), P(connected), P(accepted), P(refused), P(failed),
		 P(evicted), P(bad));
#undef P
#undef F2
#undef Q
#undef V
#undef F
}

static void verbs_driver_counters(const struct storm_net *net, char *buf,
				  size_t size)
{
	const struct storm_verbs *v = (const struct storm_verbs *) net;

	storm_udp_counters(v->udp, buf, size);
	verbs_rail_counters("verbs", v, buf, size);
	if (v->strobe)
		verbs_rail_counters("strobe_rail", v->strobe, buf, size);
}

static int verbs_driver_fd(const struct storm_net *net)
{
	return storm_verbs_fd((const struct storm_verbs *) net);
}

static void verbs_driver_poll(struct storm_net *net)
{
	storm_verbs_poll((struct storm_verbs *) net);
}

const struct storm_driver storm_driver_verbs = {
	.name = "verbs",
	.create = verbs_driver_create,
	.destroy = verbs_driver_destroy,
	.transport = verbs_driver_transport,
	.self = verbs_driver_self,
	.dropped = verbs_driver_dropped,
	.drop = verbs_driver_drop,
	.counters = verbs_driver_counters,
	.fd = verbs_driver_fd,
	.poll = verbs_driver_poll,
};
