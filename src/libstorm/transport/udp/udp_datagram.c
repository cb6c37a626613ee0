/*
 * udp_datagram.c - sending and receiving datagrams in bulk.
 *
 * XFER-AND-SIGNAL (paper section 2.4.1) needs a multicast at wire speed.  One
 * system call and one pass through the network stack per 1500-byte packet are
 * too slow.  So the kernel takes up to 64 equal segments as one super-packet
 * (UDP_SEGMENT), and returns such when it receives (UDP_GRO).
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/udp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>

#include "src/libstorm/base/minmax.h"
#include "udp_private.h"

/* --------------------------------------------------------------- sending */

static ssize_t udp_send_super(struct storm_udp *u, int fd,
			      const struct sockaddr_in *to, const uint8_t *buf,
			      size_t len, size_t seg)
{
	union {
		char bytes[CMSG_SPACE(sizeof(uint16_t))];
		struct cmsghdr align;
	} control = { .bytes = "" };
	struct iovec iov = { .iov_base = (void *) buf, .iov_len = len };
	struct msghdr msg = {
		.msg_name = (void *) to,
		.msg_namelen = sizeof(*to),
		.msg_iov = &iov,
		.msg_iovlen = 1,
		.msg_control = control.bytes,
		.msg_controllen = sizeof(control.bytes),
	};
	struct cmsghdr *c = CMSG_FIRSTHDR(&msg);
	uint16_t size = seg;

	c->cmsg_level = SOL_UDP;
	c->cmsg_type = UDP_SEGMENT;
	c->cmsg_len = CMSG_LEN(sizeof(size));
	memcpy(CMSG_DATA(c), &size, sizeof(size));
	u->stats.tx_calls++;
	return sendmsg(fd, &msg, MSG_DONTWAIT | MSG_NOSIGNAL);
}

/* As udp_send_super(), but one packet per segment.  Bytes taken, or -1. */
static ssize_t udp_send_plain(struct storm_udp *u, int fd,
			      const struct sockaddr_in *to, const uint8_t *buf,
			      size_t len, size_t seg)
{
	struct mmsghdr hdr[UDP_SUPER_SEGS];
	struct iovec iov[UDP_SUPER_SEGS];
	size_t off;
	int n, r;

	for (n = 0, off = 0; n < UDP_SUPER_SEGS && off < len; n++, off += seg) {
		iov[n].iov_base = (void *) (buf + off);
		iov[n].iov_len = storm_min(len - off, seg);
		memset(&hdr[n], 0, sizeof(hdr[n]));
		hdr[n].msg_hdr.msg_name = (void *) to;
		hdr[n].msg_hdr.msg_namelen = sizeof(*to);
		hdr[n].msg_hdr.msg_iov = &iov[n];
		hdr[n].msg_hdr.msg_iovlen = 1;
	}
	u->stats.tx_calls++;
	r = sendmmsg(fd, hdr, n, MSG_DONTWAIT | MSG_NOSIGNAL);
	if (r < 0)
		return -1;
	return storm_min(r * seg, len);
}

/* Errors of kernels or devices that cannot segment. */
static bool udp_gso_refused(int err)
{
	return err == EIO || err == EINVAL || err == EOPNOTSUPP;
}

/* Send as much as the socket takes, *done bytes.  0, or an errno. */
static int udp_push_segments(struct storm_udp *u, int fd,
			     const struct sockaddr_in *to, const uint8_t *buf,
			     size_t len, size_t seg, size_t *done)
{
	size_t segs = UDP_SUPER_MAX / seg, n;
	bool gso = u->gso && segs > 1;
	ssize_t r;

	if (segs > UDP_SUPER_SEGS)
		segs = UDP_SUPER_SEGS;
	for (*done = 0; *done < len; *done += r) {
		n = len - *done;
		if (gso && n > seg) {
			if (n > segs * seg)
				n = segs * seg;
			r = udp_send_super(u, fd, to, buf + *done, n, seg);
			if (r < 0 && udp_gso_refused(errno)) {
				gso = false;
				r = 0;
				continue;
			}
		} else {
			r = udp_send_plain(u, fd, to, buf + *done, n, seg);
		}
		if (r < 0)
			return errno;
		u->stats.tx_datagrams += (r + seg - 1) / seg;
		u->stats.tx_bytes += r;
	}
	/* the same bytes were accepted without GSO, so GSO was the cause */
	if (u->gso && segs > 1 && !gso) {
		storm_log(STORM_LOG_INFO,
			  "interface %s does not segment UDP "
			  "(no checksum offload?): sending packet by packet",
			  u->iface.name);
		u->gso = false;
	}
	return 0;
}

static void udp_tx_arm(struct storm_udp *u, struct udp_tx *tx, bool on)
{
	uint32_t events = tx->src.kind == UDP_CONTROL ? EPOLLIN : 0;

	if (tx->armed == on)
		return;
	if (!storm_udp_watch(u, EPOLL_CTL_MOD, &tx->src,
			     events | (on ? EPOLLOUT : 0)))
		tx->armed = on;
}

/* Count a failed send.  Log the first, and the first that is too long. */
static void udp_send_failed(struct storm_udp *u, const struct sockaddr_in *to,
			    size_t seg, int err)
{
	char text[INET_ADDRSTRLEN];
	bool *logged = err == EMSGSIZE ? &u->logged_size : &u->logged_send;

	u->stats.send_errors++;
	if (*logged)
		return;
	*logged = true;
	inet_ntop(AF_INET, &to->sin_addr, text, sizeof(text));
	if (err == EMSGSIZE)
		storm_log(
			STORM_LOG_WARN,
			"%zu bytes do not fit in a packet to "
			"%s (interface %s): set a smaller MTU in storm.conf, or restart slurmd if the interface's MTU was changed",
			seg, text, u->iface.name);
	else
		storm_log(STORM_LOG_WARN,
			  "sending to %s failed (interface "
			  "%s): %s",
			  text, u->iface.name, strerror(err));
}

/* Queue what the socket did not take. */
static int udp_rest_keep(struct udp_tx *tx, const struct sockaddr_in *to,
			 const uint8_t *buf, size_t len, size_t seg)
{
	struct udp_rest *r = malloc(sizeof(*r) + len);

	if (!r)
		return -ENOMEM;
	r->to = *to;
	r->seg = seg;
	r->len = len;
	r->off = 0;
	memcpy(r->bytes, buf, len);
	TAILQ_INSERT_TAIL(&tx->rests, r, link);
	tx->kept += len;
	return 0;
}

static void udp_rest_free(struct udp_tx *tx, struct udp_rest *r)
{
	TAILQ_REMOVE(&tx->rests, r, link);
	tx->kept -= r->len;
	free(r);
}

/* Send what was kept.  True: nothing is left. */
static bool udp_tx_flush(struct storm_udp *u, struct udp_tx *tx)
{
	struct udp_rest *r;
	size_t done;
	int err;

	while ((r = TAILQ_FIRST(&tx->rests))) {
		err = udp_push_segments(u, tx->src.fd, &r->to,
					r->bytes + r->off, r->len - r->off,
					r->seg, &done);
		if (err == EAGAIN) {
			r->off += done;
			return false;
		}
		if (err)
			udp_send_failed(u, &r->to, r->seg, err);
		udp_rest_free(tx, r);
	}
	return true;
}

int storm_udp_send(struct storm_transport *t, enum storm_class c,
		   const struct storm_addr *to, const void *buf, size_t len,
		   size_t seg)
{
	struct storm_udp *u = (struct storm_udp *) t;
	struct udp_tx *tx = &u->tx[c];
	struct sockaddr_in sin;
	size_t done = 0;
	int err = EAGAIN;

	if (!len || !seg || !to->port)
		return -EINVAL;
	if (len > UDP_SEND_MAX || seg > UDP_PAYLOAD_MAX)
		return -EMSGSIZE;
	if (!storm_udp_sockaddr(u, to, &sin))
		return -EAFNOSUPPORT;
	/* while armed, the socket would return EAGAIN */
	if (!tx->armed && udp_tx_flush(u, tx))
		err = udp_push_segments(u, tx->src.fd, &sin, buf, len, seg,
					&done);
	if (err == EAGAIN) {
		udp_tx_arm(u, tx, true);
		if (done || tx->kept + len <= tx->room)
			return udp_rest_keep(tx, &sin,
					     (const uint8_t *) buf + done,
					     len - done, seg);
		u->stats.eagain++;
		return -EAGAIN;
	}
	if (err)
		udp_send_failed(u, &sin, seg, err);
	return -err;
}

void storm_udp_writable(struct storm_udp *u, struct udp_tx *tx)
{
	if (udp_tx_flush(u, tx))
		udp_tx_arm(u, tx, false);
}

void storm_udp_tx_fini(struct udp_tx *tx)
{
	struct udp_rest *r;

	while ((r = TAILQ_FIRST(&tx->rests)))
		udp_rest_free(tx, r);
}

/* ------------------------------------------------------------- receiving */

#define RX_CONTROL CMSG_SPACE(sizeof(int))

struct rx_control {
	char bytes[RX_CONTROL];
} __attribute__((aligned(_Alignof(struct cmsghdr))));

/* Set up once; recvmmsg() changes only the lengths. */
struct udp_rx {
	struct mmsghdr hdr[UDP_RX_BUFS];
	struct iovec iov[UDP_RX_BUFS];
	struct rx_control control[UDP_RX_BUFS];
	struct sockaddr_in from[UDP_RX_BUFS];
	struct storm_rx batch[UDP_RX_BATCH];
	size_t count; /* in the batch */
	uint8_t bufs[UDP_RX_BUFS][UDP_RX_BUF_SIZE];
};

int storm_udp_rx_init(struct storm_udp *u)
{
	struct udp_rx *rx = malloc(sizeof(*rx));
	int i;

	if (!rx)
		return ENOMEM;
	memset(rx->hdr, 0, sizeof(rx->hdr));
	for (i = 0; i < UDP_RX_BUFS; i++) {
		rx->iov[i].iov_base = rx->bufs[i];
		rx->iov[i].iov_len = UDP_RX_BUF_SIZE;
		rx->hdr[i].msg_hdr.msg_iov = &rx->iov[i];
		rx->hdr[i].msg_hdr.msg_iovlen = 1;
		rx->hdr[i].msg_hdr.msg_control = rx->control[i].bytes;
		rx->hdr[i].msg_hdr.msg_name = &rx->from[i];
	}
	rx->count = 0;
	u->rx = rx;
	return 0;
}

void storm_udp_rx_fini(struct storm_udp *u)
{
	free(u->rx);
}

/* Segment size of one receive; len, if the kernel gives none. */
static size_t udp_segment_size(struct msghdr *msg, size_t len)
{
	struct cmsghdr *c;
	int size;

	for (c = CMSG_FIRSTHDR(msg); c; c = CMSG_NXTHDR(msg, c)) {
		if (c->cmsg_level != SOL_UDP || c->cmsg_type != UDP_GRO)
			continue;
		memcpy(&size, CMSG_DATA(c), sizeof(size));
		if (size > 0)
			return size;
	}
	return len;
}

static void udp_rx_deliver(struct storm_udp *u)
{
	size_t n = u->rx->count;

	u->rx->count = 0;
	if (n)
		u->h.datagrams(u->h.arg, u->rx->batch, n);
}

static void udp_rx_split(struct storm_udp *u, uint8_t *buf, size_t len,
			 size_t seg, const struct sockaddr_in *from, bool group)
{
	struct storm_rx *r;
	size_t off, n;

	for (off = 0; off < len; off += seg) {
		n = storm_min(len - off, seg);
		u->stats.rx_datagrams++;
		u->stats.rx_bytes += n;
		if (storm_drop(&u->drop))
			continue;
		r = &u->rx->batch[u->rx->count++];
		r->buf = buf + off;
		r->len = n;
		r->group = group;
		storm_udp_addr(&r->from, from->sin_addr, ntohs(from->sin_port));
		if (u->rx->count == UDP_RX_BATCH)
			udp_rx_deliver(u);
	}
}

void storm_udp_receive(struct storm_udp *u, int fd, bool group)
{
	struct udp_rx *rx = u->rx;
	struct msghdr *msg;
	int i, n;

	int rounds = u->role == STORM_ROLE_NODE ? UDP_RX_ROUNDS :
						  UDP_RX_ROUNDS_OWNER;

	for (int round = 0; round < rounds; round++) {
		for (i = 0; i < UDP_RX_BUFS; i++) {
			rx->hdr[i].msg_hdr.msg_controllen = RX_CONTROL;
			rx->hdr[i].msg_hdr.msg_namelen = sizeof(rx->from[i]);
		}
		n = recvmmsg(fd, rx->hdr, UDP_RX_BUFS, MSG_DONTWAIT, NULL);
		if (n <= 0)
			return;
		u->stats.rx_calls++;
		for (i = 0; i < n; i++) {
			msg = &rx->hdr[i].msg_hdr;
			udp_rx_split(u, rx->bufs[i], rx->hdr[i].msg_len,
				     udp_segment_size(msg, rx->hdr[i].msg_len),
				     &rx->from[i], group);
		}
		udp_rx_deliver(u); /* before the buffers are reused */
		if (n < UDP_RX_BUFS)
			return;
	}
}
