/*
 * verbs_cm.c - the connection manager: it resolves IP addresses to queue
 * pairs.  A peer that wants to send datagrams to this end sends a request to
 * its IP address and port (SIDR).  The answer has queue pair numbers and the
 * Q_Key.
 *
 * librdmacm uses one constant Q_Key for all programs.  So the private data
 * carry ours, which is random at each start.  It is no secret: it keeps out
 * datagrams of other programs and incarnations.  Sealing keeps out forged ones.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "verbs_private.h"

#define BACKLOG 256

void storm_verbs_hello(const struct storm_verbs *v,
		       uint8_t out[static VERBS_HELLO_LEN])
{
	struct verbs_hello h = {
		.mtu = v->port.mtu,
		.qkey = v->qkey,
		.qpn = { v->send[STORM_CONTROL].qp->qp_num,
			 v->send[STORM_BULK].qp->qp_num },
	};
	const uint8_t *ip;

	if (v->strobe && storm_verbs_working(v->strobe)) {
		ip = v->strobe->self.ip + 12;
		h.strobe = (uint32_t) ip[0] << 24 | (uint32_t) ip[1] << 16 |
			   (uint32_t) ip[2] << 8 | ip[3];
	}
	storm_verbs_hello_pack(&h, out);
}

/* ---------------------------------------------------------- open and close */

static int verbs_no_cm(struct storm_verbs *v)
{
	if (access("/dev/infiniband/rdma_cm", F_OK))
		storm_verbs_log(v,
				"/dev/infiniband/rdma_cm is missing: load "
				"the module rdma_ucm (package rdma-core), or "
				"set Transport=udp in storm.conf");
	else
		return storm_verbs_fail(v, "cannot use the connection "
					   "manager");
	return STORM_ESYS;
}

static int verbs_cm_bind(struct storm_verbs *v, struct rdma_cm_id **id,
			 uint16_t port)
{
	struct sockaddr_in sin = storm_verbs_sockaddr(&v->self);
	const uint8_t *ip = v->self.ip + 12;
	char what[128];

	sin.sin_port = htons(port);
	if (rdma_create_id(v->cm, id, v, RDMA_PS_UDP))
		return verbs_no_cm(v);
	if (rdma_bind_addr(*id, (struct sockaddr *) &sin)) {
		if (errno == EADDRINUSE)
			return STORM_EBUSY;
		if (errno == EADDRNOTAVAIL)
			errno = ENODEV;
	} else if ((*id)->verbs) {
		return STORM_OK;
	} else {
		errno = ENODEV;
	}
	snprintf(what, sizeof(what),
		 "no RDMA device has the address "
		 "%u.%u.%u.%u (`rdma link` lists their interfaces: set "
		 "DataRail or Interface)",
		 ip[0], ip[1], ip[2], ip[3]);
	return storm_verbs_fail(v, what);
}

int storm_verbs_cm_open(struct storm_verbs *v)
{
	v->cm = rdma_create_event_channel();
	if (!v->cm)
		return verbs_no_cm(v);
	if (fcntl(v->cm->fd, F_SETFL, O_NONBLOCK) ||
	    storm_verbs_watch(v, v->cm->fd, VERBS_FD_CM))
		return storm_verbs_fail(v, "cannot watch the connection "
					   "manager");
	return verbs_cm_bind(v, &v->listener, v->self.port);
}

int storm_verbs_cm_listen(struct storm_verbs *v)
{
	if (rdma_listen(v->listener, BACKLOG))
		return storm_verbs_fail(v, "cannot listen on the connection "
					   "manager's port");
	return verbs_cm_bind(v, &v->joiner, 0);
}

void storm_verbs_cm_close(struct storm_verbs *v)
{
	if (v->joiner)
		rdma_destroy_id(v->joiner);
	if (v->listener)
		rdma_destroy_id(v->listener);
	if (v->cm)
		rdma_destroy_event_channel(v->cm);
	v->joiner = v->listener = NULL;
	v->cm = NULL;
}

void storm_verbs_cm_forget(void)
{
	struct ibv_context **all = rdma_get_devices(NULL);

	if (all)
		rdma_free_devices(all);
}
