/*
 * drivers.c - see drivers.h.
 *
 * A libstorm that is built without verbs still has a driver for them.  It
 * reports what is missing, and falls back to UDP if the settings allow it.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include <errno.h>
#include <pthread.h>

#include "drivers.h"
#include "src/libstorm/transport/udp/udp.h"
#include "src/libstorm/transport/verbs/verbs.h"

const struct storm_driver *storm_driver;

#ifdef STORM_HAVE_VERBS
static const struct storm_driver *verbs_driver(void)
{
	return &storm_driver_verbs;
}
#else
static struct storm_net *verbs_absent_create(const struct storm_settings *set,
					     enum storm_role role,
					     const struct storm_addr *peer,
					     const struct storm_net_handler *h,
					     int *err)
{
	struct storm_settings udp = *set;

	storm_log(set->transport_fallback ? STORM_LOG_WARN : STORM_LOG_ERROR,
		  "this libstorm was built without verbs (configure found no "
		  "libibverbs-dev and librdmacm-dev)%s",
		  set->transport_fallback ? ": UDP is used" : "");
	if (!set->transport_fallback) {
		*err = STORM_ESYS;
		errno = ENOSYS;
		return NULL;
	}
	udp.strobe_device[0] = 0; /* not an interface */
	return storm_driver_udp.create(&udp, role, peer, h, err);
}

/* UDP's driver with another create(). */
static struct storm_driver verbs_absent;

static void verbs_absent_init(void)
{
	verbs_absent = storm_driver_udp;
	verbs_absent.create = verbs_absent_create;
}

static const struct storm_driver *verbs_driver(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, verbs_absent_init);
	return &verbs_absent;
}
#endif

const struct storm_driver *storm_driver_of(const struct storm_settings *set)
{
	if (storm_driver)
		return storm_driver;
	return set->transport == STORM_TRANSPORT_VERBS ? verbs_driver() :
							 &storm_driver_udp;
}
