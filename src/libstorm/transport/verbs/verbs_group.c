/*
 * verbs_group.c - the pool of multicast groups.
 *
 * Each group of a session is two of the fabric.  The one for control has the
 * agreed address; the one for bulk data is further up by the size of the pool.
 * Each has a queue pair, and each class a receive queue, so one class cannot
 * fill the other's.
 *
 * A join takes up to a third of a second.  So an agent joins the whole pool
 * when it starts, and no launch waits.  A group's queue pair receives only
 * datagrams with its Q_Key.  It is random while no session uses the group, and
 * then the key of the first session that does.  Both sides derive it from the
 * session's key (seal.h).  The device drops datagrams with other keys.  A
 * second session on the same group receives no multicast, and its data take the
 * relay.  It gets the group when the first one leaves.
 *
 * On RoCE an owner needs only a group's address and joins nothing.  So it
 * neither waits nor needs privileges.  On InfiniBand it joins as a member that
 * only sends.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/libstorm/wire/seal.h"
#include "verbs_private.h"

#define JOIN_AGAIN 2000000000ull /* ns */
#define MULTICAST_QPN 0xffffff

bool storm_verbs_is_group(const struct storm_addr *a)
{
	return a->ip[12] >= 224 && a->ip[12] < 240;
}

static uint32_t verbs_group_random_qkey(void)
{
	uint32_t key;

	/* keys with the highest bit set need privileges */
	return storm_random(&key, sizeof(key)) ? 1 : key & 0x7fffffff;
}

static struct verbs_group *verbs_group_find(struct storm_verbs *v,
					    const struct storm_addr *a)
{
	for (uint32_t i = 0; i < v->groups; i++)
		if (!memcmp(v->group[i].by[STORM_CONTROL].addr.ip, a->ip,
			    sizeof(a->ip)))
			return &v->group[i];
	return NULL;
}

/* Log what failed about a group; errno has the reason. */
static void verbs_group_fail(struct storm_verbs *v,
			     const struct verbs_member *m, const char *what)
{
	const uint8_t *ip = m->addr.ip + 12;
	char text[96];

	snprintf(text, sizeof(text), "%s multicast group %u.%u.%u.%u", what,
		 ip[0], ip[1], ip[2], ip[3]);
	storm_verbs_fail(v, text);
}

/* ------------------------------------------------------------------ joins */

static void verbs_group_join(struct storm_verbs *v, struct verbs_member *m)
{
	struct sockaddr_in sin = storm_verbs_sockaddr(&m->addr);
	struct rdma_cm_join_mc_attr_ex a = {
		.comp_mask = RDMA_CM_JOIN_MC_ATTR_ADDRESS |
			     RDMA_CM_JOIN_MC_ATTR_JOIN_FLAGS,
		.join_flags = RDMA_MC_JOIN_FLAG_SENDONLY_FULLMEMBER,
		.addr = (struct sockaddr *) &sin,
	};
	int rc;

	sin.sin_port = 0;
	rc = v->role == STORM_ROLE_NODE ?
		     rdma_join_multicast(v->joiner, (struct sockaddr *) &sin,
					 m) :
		     rdma_join_multicast_ex(v->joiner, &a, m);
	m->asked = !rc;
	if (!rc) {
		v->joins++;
		return;
	}
	verbs_group_fail(v, m, "cannot join");
	v->group_failed = true;
	v->join_at = v->now + JOIN_AGAIN;
	storm_verbs_timer(v);
}

/* The last step of a join. */
static void verbs_group_attach(struct storm_verbs *v, struct verbs_member *m)
{
	if (!m->qp)
		return;
	errno = ibv_attach_mcast(m->qp, &m->gid, m->lid);
	m->attached = !errno;
	if (errno)
		verbs_group_fail(v, m, "cannot attach a queue pair to");
}

static void verbs_group_leave(struct storm_verbs *v, struct verbs_member *m)
{
	struct sockaddr_in sin = storm_verbs_sockaddr(&m->addr);

	sin.sin_port = 0;
	if (m->attached)
		ibv_detach_mcast(m->qp, &m->gid, m->lid);
	if (m->asked && v->joiner)
		rdma_leave_multicast(v->joiner, (struct sockaddr *) &sin);
	m->attached = m->asked = m->joined = false;
	/* after the next join its LID may differ */
	if (m->ah)
		ibv_destroy_ah(m->ah);
	m->ah = NULL;
}

void storm_verbs_group_event(struct storm_verbs *v,
			     const struct rdma_cm_event *e)
{
	struct verbs_member *m =
		(struct verbs_member *) e->param.ud.private_data;

	if (e->event == RDMA_CM_EVENT_MULTICAST_JOIN) {
		v->joins--;
		m->joined = true;
		m->gid = e->param.ud.ah_attr.grh.dgid;
		m->lid = e->param.ud.ah_attr.dlid;
		verbs_group_attach(v, m);
	} else if (e->event == RDMA_CM_EVENT_MULTICAST_ERROR) {
		v->joins -= !m->joined;
		storm_log(STORM_LOG_INFO,
			  "RDMA device %s left a multicast "
			  "group (%d): joining again",
			  v->port.device, e->status);
		verbs_group_leave(v, m);
		v->group_failed = true;
		v->join_at = v->now + JOIN_AGAIN;
		storm_verbs_timer(v);
	}
}

void storm_verbs_groups_tick(struct storm_verbs *v)
{
	if (!v->group_failed || v->now < v->join_at)
		return;
	v->group_failed = false;
	for (uint32_t i = 0; i < 2 * v->groups; i++) {
		struct verbs_group *g = &v->group[i / 2];
		struct verbs_member *m = &g->by[i % 2];

		if (!m->asked &&
		    (v->role == STORM_ROLE_NODE ? m->qp != NULL :
						  !TAILQ_EMPTY(&g->users)))
			verbs_group_join(v, m);
	}
}

/* ---------------------------------------------------------- open and close */

/* The groups for control, then as many for bulk. */
static int verbs_group_make_pool(struct storm_verbs *v)
{
	uint32_t first;

	if (v->group)
		return STORM_OK;
	v->group = calloc(v->set.groups, sizeof(*v->group));
	if (!v->group)
		return STORM_ENOMEM;
	memcpy(&first, v->set.group.ip + 12, sizeof(first));
	for (uint32_t i = 0; i < 2 * v->set.groups; i++) {
		struct verbs_group *g = &v->group[i % v->set.groups];
		enum storm_class c = i < v->set.groups ? STORM_CONTROL :
							 STORM_BULK;
		uint32_t ip = htonl(ntohl(first) + i);

		g->by[c].class = c;
		g->by[c].addr = v->set.group;
		memcpy(g->by[c].addr.ip + 12, &ip, sizeof(ip));
		TAILQ_INIT(&g->users);
	}
	v->groups = v->set.groups;
	return STORM_OK;
}

/* Make a node receive from it, if its class has a shared queue. */
static int verbs_group_open_member(struct storm_verbs *v,
				   struct verbs_member *m,
				   const struct verbs_user *u)
{
	if (!v->recv[VERBS_RECV_GROUP + (int) m->class].srq)
		return STORM_OK;
	m->qp = storm_verbs_group_qp(v, m->class,
				     u ? u->qkey : verbs_group_random_qkey());
	if (!m->qp)
		return STORM_ESYS;
	verbs_group_join(v, m);
	return STORM_OK;
}

int storm_verbs_groups_open(struct storm_verbs *v)
{
	int rc = v->set.multicast ? verbs_group_make_pool(v) : STORM_OK;

	for (uint32_t i = 0; i < 2 * v->groups && !rc; i++) {
		struct verbs_group *g = &v->group[i / 2];

		rc = verbs_group_open_member(v, &g->by[i % 2],
					     TAILQ_FIRST(&g->users));
	}
	return rc;
}

static void verbs_group_close_member(struct storm_verbs *v,
				     struct verbs_member *m)
{
	verbs_group_leave(v, m);
	if (m->qp)
		ibv_destroy_qp(m->qp);
	m->qp = NULL;
}

void storm_verbs_groups_close(struct storm_verbs *v)
{
	for (uint32_t i = 0; i < 2 * v->groups; i++)
		verbs_group_close_member(v, &v->group[i / 2].by[i % 2]);
	v->joins = 0;
	v->group_failed = false;
}

void storm_verbs_groups_free(struct storm_verbs *v)
{
	struct verbs_user *u;

	for (uint32_t i = 0; i < v->groups; i++)
		while ((u = TAILQ_FIRST(&v->group[i].users))) {
			TAILQ_REMOVE(&v->group[i].users, u, link);
			free(u);
		}
	free(v->group);
	v->group = NULL;
	v->groups = 0;
}

/* ----------------------------------------------------------------- sending */

/* On RoCE v2 a group's GID is its IPv4-mapped address. */
static bool verbs_group_make_ah(struct storm_verbs *v, struct verbs_member *m)
{
	bool bulk = m->class == STORM_BULK;
	struct ibv_ah_attr a = {
		.is_global = 1, .port_num = v->port.number, .dlid = m->lid,
		.sl = bulk ? v->set.service_level :
			     v->set.service_level_control,
		.grh = {
			.dgid = m->gid, .hop_limit = v->set.ttl,
			.sgid_index = (uint8_t) v->port.gid_index,
			.traffic_class = (uint8_t) ((bulk ? v->set.dscp :
					  v->set.dscp_control) << 2),
		},
	};

	m->ah = ibv_create_ah(v->port.pd, &a);
	if (!m->ah)
		verbs_group_fail(v, m, "cannot create an address handle for");
	return m->ah;
}

bool storm_verbs_group_dest(struct storm_verbs *v, const struct storm_addr *to,
			    enum storm_class c, struct verbs_dest *out)
{
	struct verbs_group *g = verbs_group_find(v, to);
	struct verbs_user *u = g ? TAILQ_FIRST(&g->users) : NULL;
	struct verbs_member *m;

	if (!u)
		return false;
	m = &g->by[c];
	if (v->port.ethernet)
		memcpy(m->gid.raw, m->addr.ip, sizeof(m->gid.raw));
	else if (!m->asked)
		verbs_group_join(v, m);
	if (!v->port.ethernet && !m->joined)
		return false;
	if (!m->ah && !verbs_group_make_ah(v, m))
		return false;
	*out = (struct verbs_dest) { .ah = m->ah,
				     .qpn = MULTICAST_QPN,
				     .qkey = u->qkey };
	return true;
}

/* --------------------------------------------------------------- sessions */

static void verbs_group_set_qkey(struct verbs_group *g)
{
	struct verbs_user *u = TAILQ_FIRST(&g->users);
	uint32_t qkey = u ? u->qkey : verbs_group_random_qkey();

	for (int c = 0; c < 2; c++)
		if (g->by[c].qp &&
		    (errno = storm_verbs_set_qkey(g->by[c].qp, qkey)))
			storm_log(STORM_LOG_WARN,
				  "cannot set the Q_Key of a "
				  "multicast group (%m): its data go along the "
				  "chain");
}

static void verbs_group_add_user(struct verbs_group *g, uint32_t qkey)
{
	struct verbs_user *u = malloc(sizeof(*u));

	if (!u)
		return; /* this session gets no multicast */
	u->qkey = qkey;
	TAILQ_INSERT_TAIL(&g->users, u, link);
	if (u == TAILQ_FIRST(&g->users))
		verbs_group_set_qkey(g);
}

static void verbs_group_drop_user(struct verbs_group *g, uint32_t qkey)
{
	struct verbs_user *u;
	bool first;

	TAILQ_FOREACH(u, &g->users, link)
	if (u->qkey == qkey)
		break;
	if (!u)
		return;
	first = u == TAILQ_FIRST(&g->users);
	TAILQ_REMOVE(&g->users, u, link);
	free(u);
	if (first)
		verbs_group_set_qkey(g);
}

void storm_verbs_group_use(struct storm_transport *t,
			   const struct storm_addr *group, uint32_t qkey,
			   bool on)
{
	struct storm_verbs *v = (struct storm_verbs *) t;
	struct verbs_group *g;

	/* even without a device: there may be one later */
	if (!v->set.multicast || verbs_group_make_pool(v))
		return;
	g = verbs_group_find(v, group);
	if (g && on)
		verbs_group_add_user(g, qkey);
	else if (g)
		verbs_group_drop_user(g, qkey);
	if (v->strobe)
		storm_verbs_group_use(&v->strobe->transport, group, qkey, on);
}
