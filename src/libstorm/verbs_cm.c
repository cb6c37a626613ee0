/*
 * verbs_cm.c - the connection manager: whoever wants to send us datagrams asks
 * at our IP address and port (SIDR) and is told queue pairs and Q_Key.
 *
 * The Q_Key of SIDR itself is the same for all programs of the world, so ours,
 * random at each start, goes in the private data.  Neither is a secret: it keeps
 * strays out, the seal keeps out the rest.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <string.h>
#include <unistd.h>

#include "verbs_private.h"

#define BACKLOG 256
#define EVENTS_PER_POLL 64

/* Not called storm_udp_sockaddr(), which logs: the contained UDP transport has
 * seen the address before. */
struct sockaddr_in storm_verbs_sockaddr(const struct storm_addr *a)
{
	struct sockaddr_in sin = { .sin_family = AF_INET,
				   .sin_port = htons(a->port) };

	memcpy(&sin.sin_addr, a->ip + 12, sizeof(sin.sin_addr));
	return sin;
}

void storm_verbs_hello(const struct storm_verbs *v,
		       uint8_t out[VERBS_HELLO_LEN])
{
	struct verbs_hello h = {
		.mtu = v->port.mtu, .qkey = v->qkey,
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

static int no_cm(struct storm_verbs *v)
{
	if (access("/dev/infiniband/rdma_cm", F_OK))
		storm_verbs_say(v, "/dev/infiniband/rdma_cm is missing: load "
				"the module rdma_ucm (package rdma-core), or "
				"set Transport=udp in storm.conf");
	else
		return storm_verbs_refused(v, "cannot use the connection "
					      "manager");
	return STORM_ESYS;
}

static int bind_id(struct storm_verbs *v, struct rdma_cm_id **id, uint16_t port)
{
	struct sockaddr_in sin = storm_verbs_sockaddr(&v->self);

	sin.sin_port = htons(port);
	if (rdma_create_id(v->cm, id, v, RDMA_PS_UDP))
		return no_cm(v);
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
	return storm_verbs_refused(v, "the rail's interface is no RDMA device's "
				      "(`rdma link` shows those that are: set "
				      "DataRail or Interface)");
}

int storm_verbs_cm_open(struct storm_verbs *v)
{
	v->cm = rdma_create_event_channel();
	if (!v->cm)
		return no_cm(v);
	if (fcntl(v->cm->fd, F_SETFL, O_NONBLOCK) ||
	    storm_verbs_watch(v, v->cm->fd, VERBS_FD_CM))
		return storm_verbs_refused(v, "cannot watch the connection "
					      "manager");
	return bind_id(v, &v->listener, v->self.port);
}

int storm_verbs_cm_listen(struct storm_verbs *v)
{
	if (rdma_listen(v->listener, BACKLOG))
		return storm_verbs_refused(v, "cannot listen for who asks "
					      "where we are");
	return bind_id(v, &v->joiner, 0);
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

/* ----------------------------------------------------------------- events */

/* Somebody asks where we are.  On another device we are not. */
static void answer(struct storm_verbs *v, struct rdma_cm_event *e)
{
	uint8_t hello[VERBS_HELLO_LEN];
	struct rdma_conn_param p = {
		.private_data = hello, .private_data_len = sizeof(hello),
		.qp_num = v->send[STORM_CONTROL].qp->qp_num,
	};
	struct rdma_cm_id *id = e->id;

	storm_verbs_hello(v, hello);
	if (e->event != RDMA_CM_EVENT_CONNECT_REQUEST)
		;		/* of the listener itself: nothing to do */
	else if (id->verbs == v->listener->verbs &&
		 id->port_num == v->port.number)
		v->stats.answered += !rdma_accept(id, &p);
	else
		rdma_reject(id, NULL, 0);
	rdma_ack_cm_event(e);
	if (id != v->listener)
		rdma_destroy_id(id);
}

static void dispatch(struct storm_verbs *v, struct rdma_cm_event *e)
{
	if (e->event == RDMA_CM_EVENT_DEVICE_REMOVAL) {
		rdma_ack_cm_event(e);
		if (!v->broken)
			storm_verbs_say(v, "RDMA device %s was removed: it is "
					"used again when it is back",
					v->port.device);
		storm_verbs_break(v);
	} else if (e->id == v->listener || e->listen_id == v->listener) {
		answer(v, e);
	} else if (e->id == v->joiner) {
		storm_verbs_group_event(v, e);
		rdma_ack_cm_event(e);
	} else {
		storm_verbs_peer_event(v, e);
	}
}

void storm_verbs_cm_events(struct storm_verbs *v)
{
	struct rdma_cm_event *e;

	for (int i = 0; i < EVENTS_PER_POLL && !v->broken; i++) {
		if (rdma_get_cm_event(v->cm, &e))
			return;
		dispatch(v, e);
	}
}
