/*
 * udp_filter.h - classic BPF programs by which the kernel tells strobes, and
 * datagrams of known sessions, from all others.  What they refuse wakes no
 * process.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_UDP_FILTER_H
#define STORM_UDP_FILTER_H

#include <linux/filter.h>

#include "src/libstorm/transport/driver.h"

/* In older kernels a program for more sessions, beside the one that it
 * replaces, takes more memory than a socket may have by default
 * (net.core.optmem_max). */
#define UDP_FILTER_SESSIONS 512
#define UDP_FILTER_MAX (2 * UDP_FILTER_SESSIONS + 128) /* instructions */

struct udp_filter {
	uint32_t n;
	struct sock_filter at[UDP_FILTER_MAX];
};

/* Where the program sees a datagram. */
enum udp_filter_view {
	UDP_FILTER_SOCKET = 8, /* a socket's filter: from the UDP header on */
	UDP_FILTER_CHOICE =
		0 /* the choice among sockets: from the payload on */
};

/* The following append to f, and go on with what is appended next unless they
 * return. */
/* Return `value` for a strobe as m describes it. */
void storm_udp_filter_strobe(struct udp_filter *f, enum udp_filter_view view,
			     const struct storm_strobe_match *m,
			     uint32_t value);
/* Return `value` for a sign of life of this session, or a question. */
void storm_udp_filter_pulse(struct udp_filter *f, enum udp_filter_view view,
			    uint64_t session, uint32_t value);
/* Return 0 for a datagram of another version, or of none of these n sessions.
 * With more than UDP_FILTER_SESSIONS nothing is appended. */
void storm_udp_filter_sessions(struct udp_filter *f, enum udp_filter_view view,
			       const uint64_t *session, size_t n);
/* Return `value` in any case. */
void storm_udp_filter_end(struct udp_filter *f, uint32_t value);

/* Give a program that has an end to a socket; option: SO_ATTACH_FILTER, or
 * SO_ATTACH_REUSEPORT_CBPF for the choice.  0, or -1 and errno. */
int storm_udp_filter_attach(int fd, int option, struct udp_filter *f);

#endif
