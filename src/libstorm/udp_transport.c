/*
 * udp_transport.c - the driver "udp" (driver.h) on the UDP transport.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include "udp.h"

static struct storm_net *udp_driver_create(const struct storm_settings *set,
					   enum storm_role role,
					   const struct storm_addr *peer,
					   const struct storm_net_handler *h,
					   int *err)
{
	return (struct storm_net *) storm_udp_create(set, role, peer, h, err);
}

static void udp_driver_destroy(struct storm_net *net)
{
	storm_udp_destroy((struct storm_udp *) net);
}

static struct storm_transport *udp_driver_transport(struct storm_net *net)
{
	return storm_udp_transport((struct storm_udp *) net);
}

static void udp_driver_self(const struct storm_net *net, struct storm_addr *out)
{
	storm_udp_self((const struct storm_udp *) net, out);
}

static uint64_t udp_driver_dropped(const struct storm_net *net)
{
	struct storm_udp_stats u;

	storm_udp_stats((const struct storm_udp *) net, &u);
	return u.dropped_by_test;
}

static void udp_driver_drop(struct storm_net *net, uint32_t ppm, uint64_t seed)
{
	storm_udp_drop((struct storm_udp *) net, ppm, seed);
}

static void udp_driver_counters(const struct storm_net *net, char *buf,
				size_t size)
{
	storm_udp_counters((const struct storm_udp *) net, buf, size);
}

static int udp_driver_fd(const struct storm_net *net)
{
	return storm_udp_fd((const struct storm_udp *) net);
}

static void udp_driver_poll(struct storm_net *net)
{
	storm_udp_poll((struct storm_udp *) net);
}

const struct storm_driver storm_driver_udp = {
	.name = "udp",
	.create = udp_driver_create,
	.destroy = udp_driver_destroy,
	.transport = udp_driver_transport,
	.self = udp_driver_self,
	.dropped = udp_driver_dropped,
	.drop = udp_driver_drop,
	.counters = udp_driver_counters,
	.fd = udp_driver_fd,
	.poll = udp_driver_poll,
};
