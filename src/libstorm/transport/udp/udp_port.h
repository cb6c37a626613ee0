/*
 * udp_port.h - the two sockets of a node's port, which may outlive the process
 * that reads them.  While no process of STORM holds the port, any user may bind
 * it.  So a parent keeps both sockets open and hands them to each process that
 * it starts.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_UDP_PORT_H
#define STORM_UDP_PORT_H

#include <stddef.h>
#include <stdint.h>

struct storm_udp_port {
	int udp, tcp; /* -1: none */
	uint16_t number;
};
#define STORM_UDP_PORT_NONE          \
	{                            \
		.udp = -1, .tcp = -1 \
	}

/* Bind both sockets to the port of all addresses.  They are close-on-exec, and
 * at rest.  0, or -1 and errno: EADDRINUSE if another process has the port. */
int storm_udp_port_open(struct storm_udp_port *p, uint16_t number);
void storm_udp_port_close(struct storm_udp_port *p);
/* The port that a socket is bound to; 0: none, or no socket. */
uint16_t storm_udp_port_number(int fd);
/* Duplicate a descriptor to a number that no start of a child overwrites.  -1
 * and errno. */
int storm_udp_port_dup(int fd);

/* Nobody reads the sockets now.  Until the next process listens, the host
 * refuses connections, as without a listener; no other process can bind the
 * port. */
void storm_udp_port_rest(const struct storm_udp_port *p);

/* The next storm_udp_create() of a node uses these sockets and owns them, if
 * they are bound to its port.  Not thread-safe. */
void storm_udp_port_inherit(const struct storm_udp_port *p);
/* For storm_udp_create(): the socket that was inherited for this port, emptied
 * of old datagrams; -1: none was.  type: SOCK_DGRAM or SOCK_STREAM. */
int storm_udp_port_inherited(int type, uint16_t number);

/* Write which process has the port: pid, command and uid. */
void storm_udp_port_holder(uint16_t number, char *out, size_t size);

#endif
