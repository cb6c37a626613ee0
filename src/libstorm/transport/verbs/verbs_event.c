/*
 * verbs_event.c - handles events of the connection manager and of the device.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include <errno.h>
#include <string.h>

#include "verbs_private.h"

#define EVENTS_PER_POLL 64

/* ------------------------------------------------- the connection manager */

/* Answer a peer's look-up.  Refuse it if it came over another device. */
static void verbs_cm_answer(struct storm_verbs *v, struct rdma_cm_event *e)
{
	uint8_t hello[VERBS_HELLO_LEN];
	struct rdma_conn_param p = {
		.private_data = hello,
		.private_data_len = sizeof(hello),
		.qp_num = v->send[STORM_CONTROL].qp->qp_num,
	};
	struct rdma_cm_id *id = e->id;

	storm_verbs_hello(v, hello);
	if (e->event != RDMA_CM_EVENT_CONNECT_REQUEST)
		; /* an event of the listener itself */
	else if (id->verbs == v->listener->verbs &&
		 id->port_num == v->port.number)
		v->stats.answered += !rdma_accept(id, &p);
	else
		rdma_reject(id, NULL, 0);
	rdma_ack_cm_event(e);
	if (id != v->listener)
		rdma_destroy_id(id);
}

static void verbs_cm_dispatch(struct storm_verbs *v, struct rdma_cm_event *e)
{
	if (e->event == RDMA_CM_EVENT_DEVICE_REMOVAL) {
		rdma_ack_cm_event(e);
		if (!v->broken)
			storm_verbs_log(v,
					"RDMA device %s was removed: STORM "
					"uses it again once it is back",
					v->port.device);
		storm_verbs_break(v);
	} else if (e->id == v->listener || e->listen_id == v->listener) {
		verbs_cm_answer(v, e);
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
		verbs_cm_dispatch(v, e);
	}
}

/* ------------------------------------------------------------- the device */

static void verbs_port_down(struct storm_verbs *v, const char *why)
{
	if (v->port_down)
		return;
	v->port_down = true;
	storm_verbs_log(v,
			"port %u of RDMA device %s is down (%s): check "
			"its cable and switch; until it is up, %s",
			v->port.number, v->port.device, why,
			v->data			  ? "the data rail is used" :
			v->set.transport_fallback ? "UDP is used" :
						    "nothing is sent");
}

static void verbs_port_up(struct storm_verbs *v)
{
	if (!v->port_down)
		return;
	v->port_down = false;
	storm_log(STORM_LOG_INFO, "port %u of RDMA device %s is active again",
		  v->port.number, v->port.device);
}

/* Are GID and P_Key still at their indexes?  If an interface loses its address,
 * the GID goes too, and may come back at another index. */
static bool verbs_port_is_as_opened(const struct verbs_port *p)
{
	union ibv_gid gid;
	__be16 pkey = 0;

	return !ibv_query_gid(p->ctx, p->number, p->gid_index, &gid) &&
	       !memcmp(&gid, &p->gid, sizeof(gid)) &&
	       (!p->pkey ||
		(!ibv_query_pkey(p->ctx, p->number, p->pkey_index, &pkey) &&
		 pkey == p->pkey));
}

static void verbs_table_changed(struct storm_verbs *v, const char *what)
{
	if (verbs_port_is_as_opened(&v->port))
		return;
	storm_verbs_log(v,
			"port %u of RDMA device %s: %s: the GID or "
			"P_Key in use is gone: check the interface's address "
			"and the subnet manager's partitions; opening the "
			"device again",
			v->port.number, v->port.device, what);
	storm_verbs_break(v);
}

/* LIDs in the fabric may have changed.  Groups that must be joined again have
 * an event of their own: storm_verbs_group_event(). */
static void verbs_subnet_changed(struct storm_verbs *v, const char *what)
{
	storm_log(STORM_LOG_INFO,
		  "port %u of RDMA device %s: %s: "
		  "looking up all peers again",
		  v->port.number, v->port.device, what);
	storm_verbs_peers_doubt(v);
}

/* All other events are the device's. */
static bool verbs_is_port_event(enum ibv_event_type type)
{
	switch (type) {
	case IBV_EVENT_PORT_ERR:
	case IBV_EVENT_PORT_ACTIVE:
	case IBV_EVENT_SM_CHANGE:
	case IBV_EVENT_LID_CHANGE:
	case IBV_EVENT_CLIENT_REREGISTER:
	case IBV_EVENT_GID_CHANGE:
	case IBV_EVENT_PKEY_CHANGE:
		return true;
	default:
		return false;
	}
}

void storm_verbs_device_event(struct storm_verbs *v, enum ibv_event_type type,
			      int port)
{
	const char *text = ibv_event_type_str(type);

	if (verbs_is_port_event(type) && port != v->port.number)
		return;
	switch (type) {
	case IBV_EVENT_PORT_ERR:
		verbs_port_down(v, text);
		break;
	case IBV_EVENT_PORT_ACTIVE:
		verbs_port_up(v);
		break;
	case IBV_EVENT_LID_CHANGE:
	case IBV_EVENT_SM_CHANGE:
	case IBV_EVENT_CLIENT_REREGISTER:
		verbs_subnet_changed(v, text);
		break;
	case IBV_EVENT_GID_CHANGE:
	case IBV_EVENT_PKEY_CHANGE:
		verbs_table_changed(v, text);
		break;
	case IBV_EVENT_COMM_EST:
	case IBV_EVENT_SQ_DRAINED:
	case IBV_EVENT_QP_LAST_WQE_REACHED:
	case IBV_EVENT_SRQ_LIMIT_REACHED:
		break;
	default:
		storm_verbs_log(v,
				"RDMA device %s: %s: opening it again; the "
				"kernel's log may have the reason",
				v->port.device, text);
		storm_verbs_break(v);
	}
}

void storm_verbs_port_events(struct storm_verbs *v)
{
	struct ibv_async_event e;

	while (!v->broken && !ibv_get_async_event(v->port.ctx, &e)) {
		storm_verbs_device_event(v, e.event_type, e.element.port_num);
		ibv_ack_async_event(&e);
	}
}
