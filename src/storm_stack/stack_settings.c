/*
 * stack_settings.c - see stack_settings.h.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include "stack_settings.h"
#include "src/libstorm/base/clock.h"
#include "src/libstorm/base/minmax.h"
#include "src/storm_common/conf_user.h"

#define BUFFER (1u << 20) /* of a socket: a user may have no larger one */

void stack_settings(struct storm_settings *out, uint16_t *first, uint16_t *last)
{
	static struct storm_conf conf; /* large */

	/* a fault in it is storm check's to explain; then the defaults count */
	conf_user_read(&conf, NULL, NULL);
	*out = conf.set;
	*first = conf.launcher_port_first;
	*last = conf.launcher_port_last;
	/* verbs want what a user seldom has, and this is a few datagrams */
	out->transport = STORM_TRANSPORT_UDP;
	out->strobe_device[0] = '\0';
	out->multicast = false;
	out->open_timeout = 3 * STORM_SEC;
	out->op_timeout = STORM_SEC;
	out->socket_buffer = (uint32_t) storm_min(out->socket_buffer, BUFFER);
}
