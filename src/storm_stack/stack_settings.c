/*
 * stack_settings.c - see stack_settings.h.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "src/libstorm/base/clock.h"
#include "src/libstorm/base/minmax.h"
#include "src/storm_common/conf_read.h"
#include "stack_settings.h"

#define BUFFER (1u << 20) /* of a socket: a user may have no larger one */

/* A fault in storm.conf is storm check's to explain; then the defaults count. */
static void stack_conf_fault(void *arg, enum conf_fault kind, const char *text)
{
	(void) arg;
	(void) kind;
	(void) text;
}

void stack_settings(struct storm_settings *out, uint16_t *first, uint16_t *last)
{
	static struct storm_conf conf; /* large */
	const char *slurm = getenv("SLURM_CONF");
	const char *slash = slurm ? strrchr(slurm, '/') : NULL;
	struct conf_sources from = { 0 };
	char path[PATH_MAX];

	snprintf(path, sizeof(path), "%.*s/storm.conf",
		 slash ? (int) (slash - slurm) : (int) strlen("/etc/slurm"),
		 slash ? slurm : "/etc/slurm");
	storm_conf_default(&conf);
	if (!access(path, R_OK)) {
		from.path = path;
		conf_read(&from, &conf, NULL, stack_conf_fault, NULL);
	}
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
