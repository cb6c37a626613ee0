/*
 * udp_choice.c - which of the sockets at one port gets a unicast.
 *
 * Strobes and signs of life have sockets of their own, which threads of their
 * own read.  The kernel runs one program for all sockets of a port
 * (SO_ATTACH_REUSEPORT_CBPF); it yields a socket's number, in the order in which
 * they were bound.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include "udp_filter.h"
#include "udp_private.h"

#define CONTROL 0

int storm_udp_choice_bind(struct storm_udp *u, int fd, uint32_t *number)
{
	const struct in_addr any = { .s_addr = htonl(INADDR_ANY) };

	/* Sockets of one user may share a port.  So no other user's gets
	 * between. */
	storm_udp_option(u->tx[STORM_CONTROL].src.fd, SOL_SOCKET, SO_REUSEPORT,
			 1);
	if (storm_udp_option(fd, SOL_SOCKET, SO_REUSEPORT, 1) ||
	    storm_udp_bind(fd, any, u->port))
		return -1;
	*number = ++u->choice.bound;
	return 0;
}

int storm_udp_choice_set(struct storm_udp *u)
{
	const struct udp_choice *c = &u->choice;
	struct udp_filter f = { .n = 0 };

	if (c->pulse)
		storm_udp_filter_pulse(&f, UDP_FILTER_CHOICE, c->pulse,
				       c->pulse_number);
	if (c->strobe)
		storm_udp_filter_strobe(&f, UDP_FILTER_CHOICE, c->strobe,
					c->strobe_number);
	storm_udp_filter_end(&f, CONTROL);
	return storm_udp_filter_attach(u->tx[STORM_CONTROL].src.fd,
				       SO_ATTACH_REUSEPORT_CBPF, &f);
}
