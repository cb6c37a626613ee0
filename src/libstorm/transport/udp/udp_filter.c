/*
 * udp_filter.c - see udp_filter.h.
 *
 * The offsets are those of doc/wire-format.md.  A packet with IP options is no
 * strobe here: it takes the slow way, which reads all.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include <sys/socket.h>

#include "src/libstorm/wire/pulse.h"
#include "udp_filter.h"

/* Offsets in the header of a datagram. */
#define AT_TYPE 0 /* version and type */
#define AT_SESSION 8
#define AT_INCARNATION 16
#define AT_SENDER 32
/* In the packet. */
#define AT_IP SKF_NET_OFF
#define AT_IP_SOURCE (SKF_NET_OFF + 12)
#define AT_PORT_SOURCE (SKF_NET_OFF + 20)
#define IP_PLAIN 0x45 /* version 4, a header of 20 bytes */

static void filter_add(struct udp_filter *f, uint16_t code, uint8_t yes,
		       uint8_t no, uint32_t k)
{
	if (f->n < UDP_FILTER_MAX)
		f->at[f->n++] = (struct sock_filter) { code, yes, no, k };
}

/* Load `bytes` (1, 2 or 4) at k; the next instruction compares them. */
static void filter_load(struct udp_filter *f, unsigned int bytes, uint32_t k)
{
	uint16_t size = bytes == 4 ? BPF_W : bytes == 2 ? BPF_H : BPF_B;

	filter_add(f, BPF_LD | BPF_ABS | size, 0, 0, k);
}

/* Jumps to the end of a part are not known until it is complete. */
#define LATER 0xff

/* Go on if the loaded number is k, else leave the part. */
static void filter_must_be(struct udp_filter *f, uint32_t k)
{
	filter_add(f, BPF_JMP | BPF_JEQ | BPF_K, 0, LATER, k);
}

/* Make all jumps out of the part that began at `from` lead to here. */
static void filter_close_part(struct udp_filter *f, uint32_t from)
{
	for (uint32_t i = from; i < f->n; i++)
		if (BPF_CLASS(f->at[i].code) == BPF_JMP && f->at[i].jf == LATER)
			f->at[i].jf = (uint8_t) (f->n - i - 1);
}

static uint32_t filter_word(const uint8_t *p)
{
	return (uint32_t) p[0] << 24 | p[1] << 16 | p[2] << 8 | p[3];
}

static void filter_source(struct udp_filter *f, const struct storm_addr *from,
			  uint32_t value)
{
	/* on to the next source: over the instructions that follow */
	filter_load(f, 4, AT_IP_SOURCE);
	filter_add(f, BPF_JMP | BPF_JEQ | BPF_K, 0, 3,
		   filter_word(from->ip + 12));
	filter_load(f, 2, AT_PORT_SOURCE);
	filter_add(f, BPF_JMP | BPF_JEQ | BPF_K, 0, 1, from->port);
	filter_add(f, BPF_RET | BPF_K, 0, 0, value);
}

void storm_udp_filter_strobe(struct udp_filter *f, enum udp_filter_view view,
			     const struct storm_strobe_match *m, uint32_t value)
{
	uint32_t from = f->n, at = view;

	filter_add(f, BPF_LD | BPF_W | BPF_LEN, 0, 0, 0);
	filter_must_be(f, at + m->len);
	filter_load(f, 2, at + AT_TYPE);
	filter_must_be(f, STORM_WIRE_VERSION << 8 | STORM_MSG_STROBE);
	filter_load(f, 4, at + AT_SESSION);
	filter_must_be(f, (uint32_t) (m->session >> 32));
	filter_load(f, 4, at + AT_SESSION + 4);
	filter_must_be(f, (uint32_t) m->session);
	for (uint32_t i = 0; i < STORM_INCARNATION_LEN; i += 4) {
		filter_load(f, 4, at + AT_INCARNATION + i);
		filter_must_be(f, filter_word(m->incarnation + i));
	}
	filter_load(f, 4, at + AT_SENDER);
	filter_must_be(f, STORM_NO_NODE);
	filter_load(f, 1, AT_IP);
	filter_must_be(f, IP_PLAIN);
	for (uint32_t i = 0; i < m->sources; i++)
		filter_source(f, &m->source[i], value);
	filter_close_part(f, from);
}

void storm_udp_filter_pulse(struct udp_filter *f, enum udp_filter_view view,
			    uint64_t session, uint32_t value)
{
	uint32_t from = f->n, at = view;

	filter_add(f, BPF_LD | BPF_W | BPF_LEN, 0, 0, 0);
	filter_must_be(f, at + STORM_PULSE_LEN);
	filter_load(f, 2, at + AT_TYPE);
	filter_must_be(f, STORM_WIRE_VERSION << 8 | STORM_MSG_PULSE);
	filter_load(f, 4, at + AT_SESSION);
	filter_must_be(f, (uint32_t) (session >> 32));
	filter_load(f, 4, at + AT_SESSION + 4);
	filter_must_be(f, (uint32_t) session);
	filter_add(f, BPF_RET | BPF_K, 0, 0, value);
	filter_close_part(f, from);
}

void storm_udp_filter_sessions(struct udp_filter *f, enum udp_filter_view view,
			       const uint64_t *session, size_t n)
{
	uint32_t at = view;

	if (n > UDP_FILTER_SESSIONS)
		return; /* the seal tells */
	filter_load(f, 1, at + AT_TYPE);
	filter_add(f, BPF_JMP | BPF_JEQ | BPF_K, 1, 0, STORM_WIRE_VERSION);
	filter_add(f, BPF_RET | BPF_K, 0, 0, 0);
	/* A half of the number does: it is random, and the seal tells. */
	filter_load(f, 4, at + AT_SESSION + 4);
	for (size_t i = 0; i < n; i++) {
		filter_add(f, BPF_JMP | BPF_JEQ | BPF_K, 0, 1,
			   (uint32_t) session[i]);
		/* over the sessions that follow, and the return */
		filter_add(f, BPF_JMP | BPF_JA, 0, 0,
			   (uint32_t) (2 * (n - i - 1) + 1));
	}
	filter_add(f, BPF_RET | BPF_K, 0, 0, 0);
}

void storm_udp_filter_end(struct udp_filter *f, uint32_t value)
{
	filter_add(f, BPF_RET | BPF_K, 0, 0, value);
}

int storm_udp_filter_attach(int fd, int option, struct udp_filter *f)
{
	struct sock_fprog p = { .len = (unsigned short) f->n, .filter = f->at };

	return setsockopt(fd, SOL_SOCKET, option, &p, sizeof(p));
}
