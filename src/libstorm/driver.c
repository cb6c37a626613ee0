/*
 * driver.c - see driver.h: which one, and the one for UDP.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include <errno.h>

#include "driver.h"
#include "udp.h"

static struct storm_net *create(const struct storm_settings *set,
				enum storm_role role,
				const struct storm_addr *peer,
				const struct storm_net_handler *h, int *err)
{
	struct storm_udp *u = storm_udp_create(set, role, peer, h, err);

	if (u && set->drop_ppm)
		storm_udp_drop(u, set->drop_ppm, set->drop_seed);
	return (struct storm_net *) u;
}

static void destroy(struct storm_net *net)
{
	storm_udp_destroy((struct storm_udp *) net);
}

static struct storm_transport *transport(struct storm_net *net)
{
	return storm_udp_transport((struct storm_udp *) net);
}

static void self(const struct storm_net *net, struct storm_addr *out)
{
	storm_udp_self((const struct storm_udp *) net, out);
}

static uint64_t dropped(const struct storm_net *net)
{
	struct storm_udp_stats u;

	storm_udp_stats((const struct storm_udp *) net, &u);
	return u.dropped_by_test;
}

static int fd(const struct storm_net *net)
{
	return storm_udp_fd((const struct storm_udp *) net);
}

static void poll_net(struct storm_net *net)
{
	storm_udp_poll((struct storm_udp *) net);
}

static void drop(struct storm_net *net, uint32_t ppm, uint64_t seed)
{
	storm_udp_drop((struct storm_udp *) net, ppm, seed);
}

static void counters(const struct storm_net *net, char *buf, size_t size)
{
	storm_udp_counters((const struct storm_udp *) net, buf, size);
}

const struct storm_driver storm_driver_udp = {
	.name = "udp", .create = create, .destroy = destroy,
	.transport = transport, .self = self, .dropped = dropped,
	.drop = drop, .counters = counters, .fd = fd, .poll = poll_net,
};

#ifndef STORM_HAVE_VERBS
static struct storm_net *absent(const struct storm_settings *set,
				enum storm_role role,
				const struct storm_addr *peer,
				const struct storm_net_handler *h, int *err)
{
	storm_log(set->transport_fallback ? STORM_LOG_WARN : STORM_LOG_ERROR,
		  "this libstorm was built without verbs (configure found no "
		  "libibverbs-dev and librdmacm-dev)%s",
		  set->transport_fallback ? ": UDP is used" : "");
	if (set->transport_fallback) {
		struct storm_settings udp = *set;

		udp.strobe_device[0] = 0;	/* a device, not an interface */
		return create(&udp, role, peer, h, err);
	}
	*err = STORM_ESYS;
	errno = ENOSYS;
	return NULL;
}

const struct storm_driver storm_driver_verbs = {
	.name = "udp", .create = absent, .destroy = destroy,
	.transport = transport, .self = self, .dropped = dropped,
	.drop = drop, .counters = counters, .fd = fd, .poll = poll_net,
};
#endif

const struct storm_driver *storm_driver;

const struct storm_driver *storm_driver_of(const struct storm_settings *set)
{
	if (storm_driver)
		return storm_driver;
	return set->transport == STORM_TRANSPORT_VERBS ? &storm_driver_verbs :
							 &storm_driver_udp;
}
