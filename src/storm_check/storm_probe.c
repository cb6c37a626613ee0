/*
 * storm_probe.c - what storm_check cannot do in a shell.  It needs nothing of
 * Slurm: storm_check looks for what keeps Slurm's programs from running.
 *
 *	conf FILE PLUGSTACK	the faults of storm.conf, and what other checks need
 *	plugin FILE		the version of Slurm that a plugin is for
 *	record FILE		the Slurm that a plugin or program of ours was built for
 *	build-id FILE		which build a library is
 *	port NUMBER		who has the agents' port
 *	neighbours		is the kernel's table of neighbours too small?
 *	hear, shout		multicast: see probe_cast.c
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "probe_cast.h"
#include "probe_plugin.h"
#include "src/libstorm/transport/udp/udp_neighbours.h"
#include "src/libstorm/transport/udp/udp_port.h"
#include "src/storm_common/conf_read.h"

static void probe_fault(void *arg, enum conf_fault kind, const char *text)
{
	(void) arg;
	printf("%s %s\n", kind == CONF_ERROR ? "error" : "warning", text);
}

/* Names as in storm.conf; a value that is not given has its default. */
static void probe_show(const struct storm_conf *c)
{
	const struct storm_settings *s = &c->set;
	char group[INET_ADDRSTRLEN];

	inet_ntop(AF_INET, s->group.ip + 12, group, sizeof(group));
	printf("Interface=%s\nPort=%u\nMTU=%u\nTTL=%u\nGroupBase=%s\n",
	       s->interface, s->port, (unsigned int) s->mtu,
	       (unsigned int) s->ttl, group);
	printf("SocketBuffer=%lu\nMulticast=%s\nTransport=%s\n",
	       (unsigned long) s->socket_buffer, s->multicast ? "yes" : "no",
	       s->transport == STORM_TRANSPORT_VERBS ? "verbs" : "udp");
}

/* A file "" is none.  1: there is an error, and the defaults are shown. */
static int probe_conf(const char *path, const char *plugstack)
{
	const struct conf_sources from = {
		.path = *path ? path : NULL,
		.plugstack = *plugstack ? plugstack : NULL,
	};
	static struct storm_conf conf; /* large */
	bool good;

	storm_conf_default(&conf);
	good = conf_read(&from, &conf, NULL, probe_fault, NULL);
	probe_show(&conf);
	return !good;
}

static int probe_port(const char *number)
{
	struct storm_udp_port p = STORM_UDP_PORT_NONE;
	char holder[128];

	if (!storm_udp_port_open(&p, atoi(number))) {
		storm_udp_port_close(&p);
		puts("free");
		return 0;
	}
	if (errno != EADDRINUSE) {
		printf("%s\n", strerror(errno));
		return 1;
	}
	storm_udp_port_holder(atoi(number), holder, sizeof(holder));
	puts(holder);
	return 1;
}

/* How many it has room for.  1: and that was too few. */
static int probe_neighbours(void)
{
	struct storm_neighbours n;

	if (storm_udp_neighbours(&n)) {
		fprintf(stderr, "%s\n", strerror(errno));
		return 2;
	}
	printf("%u\n", n.most);
	return storm_udp_neighbours_short(&n);
}

int main(int argc, char **argv)
{
	const char *verb = argc > 1 ? argv[1] : "";

	setvbuf(stdout, NULL, _IOLBF, 0);
	if (!strcmp(verb, "conf") && argc == 4)
		return probe_conf(argv[2], argv[3]);
	if (!strcmp(verb, "plugin") && argc == 3)
		return probe_plugin(argv[2]);
	if (!strcmp(verb, "record") && argc == 3)
		return probe_record(argv[2]);
	if (!strcmp(verb, "build-id") && argc == 3)
		return probe_build_id(argv[2]);
	if (!strcmp(verb, "port") && argc == 3)
		return probe_port(argv[2]);
	if (!strcmp(verb, "neighbours") && argc == 2)
		return probe_neighbours();
	if (!strcmp(verb, "hear") && argc == 6)
		return probe_hear(argv[2], atoi(argv[3]), argv[4],
				  atoi(argv[5]));
	if (!strcmp(verb, "shout") && argc == 6)
		return probe_shout(argv[2], atoi(argv[3]), argv[4],
				   atoi(argv[5]));
	fputs("storm_probe is a part of storm_check(1), which runs it\n",
	      stderr);
	return 2;
}
