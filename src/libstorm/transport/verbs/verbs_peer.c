/*
 * verbs_peer.c - look-ups of peers: the queue pairs and Q_Key of an address.
 *
 * The first datagram to a peer starts a look-up and waits for the answer.
 * Unreliable datagrams do not show that a peer has gone, or has restarted with
 * other queue pairs.  So a peer that sends nothing back is looked up again.
 * One that does not answer is silent: it gets datagrams by UDP, if that is
 * allowed.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "src/libstorm/base/clock.h"
#include "verbs_private.h"

#define RESOLVE_TIME 2000 /* ms for each step of a look-up */
#define NO_LISTENER "nothing listens there"

/* One request of a look-up; the context of its id. */
struct verbs_ask {
	LIST_ENTRY(verbs_ask) link;
	struct rdma_cm_id *id;
	struct verbs_peer *peer;
};

static uint32_t verbs_peer_bucket(const struct storm_addr *a)
{
	uint32_t h = a->port;

	for (int i = 12; i < STORM_ADDR_LEN; i++)
		h = h * 31 + a->ip[i];
	return h % VERBS_BUCKETS;
}

static bool verbs_peer_same_addr(const struct storm_addr *a,
				 const struct storm_addr *b)
{
	return a->port == b->port && !memcmp(a->ip, b->ip, sizeof(a->ip));
}

/* -------------------------------------------------------------- requests */

static void verbs_peer_drop_ask(struct verbs_ask *a)
{
	LIST_REMOVE(a, link);
	a->peer->nasks--;
	if (a->id)
		rdma_destroy_id(a->id);
	free(a);
}

static void verbs_peer_drop_asks(struct verbs_peer *p)
{
	struct verbs_ask *a;

	while ((a = LIST_FIRST(&p->asks)))
		verbs_peer_drop_ask(a);
}

static void verbs_peer_ask(struct storm_verbs *v, struct verbs_peer *p)
{
	struct sockaddr_in from = storm_verbs_sockaddr(&v->self),
			   to = storm_verbs_sockaddr(&p->at);
	struct verbs_ask *a = calloc(1, sizeof(*a));

	p->ask_at = v->now + (VERBS_ASK_AGAIN << p->nasks);
	if (!p->asking_since) {
		p->asking_since = v->now;
		v->asking++;
		storm_verbs_timer(v);
	}
	if (!a)
		return;
	a->peer = p;
	LIST_INSERT_HEAD(&p->asks, a, link);
	p->nasks++;
	v->stats.asked++;
	from.sin_port = 0;
	if (rdma_create_id(v->cm, &a->id, a, RDMA_PS_UDP) ||
	    rdma_resolve_addr(a->id, (struct sockaddr *) &from,
			      (struct sockaddr *) &to, RESOLVE_TIME))
		verbs_peer_drop_ask(a); /* the tick repeats it */
}

static void verbs_peer_asked(struct storm_verbs *v, struct verbs_peer *p)
{
	verbs_peer_drop_asks(p);
	if (p->asking_since)
		v->asking--;
	p->asking_since = 0;
}

/* -------------------------------------------------------------- answers */

static void verbs_peer_forget_place(struct verbs_peer *p)
{
	for (int c = 0; c < 2; c++) {
		if (!p->ah[c])
			continue;
		LIST_REMOVE(p, same_qpn[c]);
		ibv_destroy_ah(p->ah[c]);
		p->ah[c] = NULL;
	}
}

static struct ibv_ah *verbs_peer_make_ah(struct storm_verbs *v,
					 struct ibv_ah_attr a,
					 enum storm_class c)
{
	bool bulk = c == STORM_BULK;

	a.sl = bulk ? v->set.service_level : v->set.service_level_control;
	a.port_num = v->port.number;
	if (v->port.ethernet) {
		a.grh.sgid_index = (uint8_t) v->port.gid_index;
		a.grh.traffic_class =
			(uint8_t) ((bulk ? v->set.dscp : v->set.dscp_control)
				   << 2);
	}
	return ibv_create_ah(v->port.pd, &a);
}

/* The look-up has ended: let the poll send what waited for it. */
static void verbs_peer_pending_ready(struct storm_verbs *v,
				     struct verbs_peer *p)
{
	TAILQ_CONCAT(&v->ready, &p->pending, link);
	p->pending_bytes = 0;
}

/* If the answer is the same as before, double the time until the next look-up:
 * the peer just has nothing to send. */
static bool verbs_peer_unchanged(struct storm_verbs *v, struct verbs_peer *p,
				 const struct verbs_hello *h,
				 const struct rdma_ud_param *ud)
{
	if (p->state != VERBS_KNOWN || memcmp(&p->hello, h, sizeof(*h)) ||
	    memcmp(&p->gid, &ud->ah_attr.grh.dgid, sizeof(p->gid)) ||
	    p->lid != ud->ah_attr.dlid)
		return false;
	p->heard = v->now;
	if (p->doubt < VERBS_DOUBT_MAX)
		p->doubt *= 2;
	return true;
}

static void verbs_peer_known(struct storm_verbs *v, struct verbs_peer *p,
			     const struct verbs_hello *h,
			     const struct rdma_ud_param *ud)
{
	if (verbs_peer_unchanged(v, p, h, ud))
		return;
	if (p->state == VERBS_SILENT) {
		v->stats.peers_by_udp--;
		storm_log(STORM_LOG_DEBUG, "a peer answers over verbs again");
	}
	verbs_peer_forget_place(p);
	p->hello = *h;
	p->gid = ud->ah_attr.grh.dgid;
	p->lid = ud->ah_attr.dlid;
	for (int c = 0; c < 2; c++) {
		p->ah[c] = verbs_peer_make_ah(v, ud->ah_attr,
					      (enum storm_class) c);
		if (!p->ah[c]) {
			storm_verbs_fail(v, "cannot create an address "
					    "handle");
			storm_verbs_break(v);
			return;
		}
		LIST_INSERT_HEAD(&v->by_qpn[c][h->qpn[c] % VERBS_BUCKETS], p,
				 same_qpn[c]);
	}
	p->state = VERBS_KNOWN;
	p->heard = v->now;
	p->doubt = VERBS_DOUBT;
	p->retry = 0;
	verbs_peer_pending_ready(v, p);
}

/* Warn once, for the first peer; the counters have the number.  A known agent
 * that has ended is no cause for a warning. */
static void verbs_peer_log_silent(struct storm_verbs *v,
				  const struct verbs_peer *p, const char *why)
{
	bool ended = p->state == VERBS_KNOWN && !strcmp(why, NO_LISTENER);
	const uint8_t *ip = p->addr.ip + 12;

	storm_log(v->logged_silent || ended ? STORM_LOG_DEBUG : STORM_LOG_WARN,
		  "%u.%u.%u.%u:%u cannot be reached over %s (%s)%s", ip[0],
		  ip[1], ip[2], ip[3], p->addr.port,
		  v->data ? "the strobe rail" : "verbs", why,
		  v->data ? ": the data rail is used; more such peers are not "
			    "logged" :
		  v->set.transport_fallback ? ": UDP is used; more "
					      "such peers are not logged" :
					      "");
	v->logged_silent |= !ended;
}

static void verbs_peer_silent(struct storm_verbs *v, struct verbs_peer *p,
			      const char *why)
{
	verbs_peer_asked(v, p);
	verbs_peer_forget_place(p);
	if (p->state != VERBS_SILENT) {
		v->stats.peers_by_udp++;
		verbs_peer_log_silent(v, p, why);
	}
	p->state = VERBS_SILENT;
	p->retry = p->retry ? p->retry * 2 : VERBS_RETRY_MIN;
	if (p->retry > VERBS_RETRY_MAX)
		p->retry = VERBS_RETRY_MAX;
	p->ask_at = v->now + p->retry;
	verbs_peer_pending_ready(v, p);
}

/* The next step of a request.  False: it failed. */
static bool verbs_peer_ask_step(struct storm_verbs *v, struct verbs_ask *a,
				enum rdma_cm_event_type type)
{
	uint8_t hello[VERBS_HELLO_LEN];
	struct rdma_conn_param p = {
		.private_data = hello,
		.private_data_len = sizeof(hello),
		.qp_num = v->send[STORM_CONTROL].qp->qp_num,
	};

	if (type == RDMA_CM_EVENT_ADDR_RESOLVED)
		return !rdma_resolve_route(a->id, RESOLVE_TIME);
	storm_verbs_hello(v, hello);
	return type == RDMA_CM_EVENT_ROUTE_RESOLVED && !rdma_connect(a->id, &p);
}

void storm_verbs_peer_event(struct storm_verbs *v, struct rdma_cm_event *e)
{
	struct verbs_ask *a = e->id->context;
	struct verbs_peer *p = a->peer;
	enum rdma_cm_event_type type = e->event;
	struct rdma_ud_param ud = e->param.ud;
	struct verbs_hello h;
	bool ok = type == RDMA_CM_EVENT_ESTABLISHED &&
		  storm_verbs_hello_unpack(ud.private_data, ud.private_data_len,
					   &h);

	rdma_ack_cm_event(e);
	if (ok) {
		uint64_t took = v->now - p->asking_since;

		if (took > v->stats.ask_longest)
			v->stats.ask_longest = took;
		storm_log(STORM_LOG_DEBUG, "found a peer in %llu us",
			  (unsigned long long) took / 1000);
		verbs_peer_asked(v, p);
		verbs_peer_known(v, p, &h, &ud);
		return;
	}
	if (verbs_peer_ask_step(v, a, type))
		return;
	/* refused or unreachable: the other requests would fail too */
	verbs_peer_silent(v, p,
			  type == RDMA_CM_EVENT_UNREACHABLE ?
				  NO_LISTENER :
				  rdma_event_str(type));
}

/* ------------------------------------------------------------- the peers */

struct verbs_peer *storm_verbs_peer_find(struct storm_verbs *v,
					 const struct storm_addr *to)
{
	struct verbs_peer *p;

	LIST_FOREACH(p, &v->by_addr[verbs_peer_bucket(to)], same_addr)
	if (verbs_peer_same_addr(&p->addr, to))
		break;
	return p;
}

static struct verbs_peer *verbs_peer_add(struct storm_verbs *v,
					 const struct storm_addr *to,
					 const struct storm_addr *at)
{
	struct verbs_peer *p = calloc(1, sizeof(*p));

	if (!p)
		return NULL;
	p->addr = *to;
	p->at = *at;
	LIST_INIT(&p->asks);
	TAILQ_INIT(&p->pending);
	LIST_INSERT_HEAD(&v->peers, p, all);
	LIST_INSERT_HEAD(&v->by_addr[verbs_peer_bucket(to)], p, same_addr);
	v->stats.peers++;
	verbs_peer_ask(v, p);
	return p;
}

struct verbs_peer *storm_verbs_peer(struct storm_verbs *v,
				    const struct storm_addr *to)
{
	return storm_verbs_peer_at(v, to, to);
}

struct verbs_peer *storm_verbs_peer_at(struct storm_verbs *v,
				       const struct storm_addr *to,
				       const struct storm_addr *at)
{
	struct verbs_peer *p = storm_verbs_peer_find(v, to);

	if (!p)
		p = verbs_peer_add(v, to, at);
	if (!p)
		return NULL;
	p->used = v->now;
	if (p->asking_since)
		return p;
	if (p->state == VERBS_KNOWN ? v->now > p->heard + p->doubt :
				      v->now >= p->ask_at)
		verbs_peer_ask(v, p);
	return p;
}

void storm_verbs_peer_doubt(struct storm_verbs *v, const struct storm_addr *to)
{
	struct verbs_peer *p = storm_verbs_peer_find(v, to);

	if (!p)
		p = verbs_peer_add(v, to, to);
	if (!p)
		return;
	p->used = v->now;
	if (!p->asking_since)
		verbs_peer_ask(v, p);
}

void storm_verbs_peers_doubt(struct storm_verbs *v)
{
	struct verbs_peer *p;

	LIST_FOREACH(p, &v->peers, all)
	{
		p->doubt = VERBS_DOUBT;
		p->heard = 0;
		if (!p->asking_since)
			p->ask_at = 0;
	}
}

void storm_verbs_peer_heard(struct storm_verbs *v, int class, uint32_t qpn,
			    const union ibv_gid *gid, uint16_t lid)
{
	struct verbs_peer *p;

	LIST_FOREACH(p, &v->by_qpn[class][qpn % VERBS_BUCKETS], same_qpn[class])
	if (p->hello.qpn[class] == qpn &&
	    (v->port.ethernet ? !memcmp(&p->gid, gid, sizeof(*gid)) :
				p->lid == lid))
		p->heard = v->now;
}

int storm_verbs_peer_keep(struct storm_verbs *v, struct verbs_peer *p,
			  enum storm_class c, const void *buf, size_t len,
			  size_t seg)
{
	size_t most = VERBS_PENDING_CONTROL;
	struct verbs_rest *r;

	if (c == STORM_BULK && v->role == STORM_ROLE_NODE)
		most = v->set.window;
	if (p->pending_bytes + len > most)
		return -ENOBUFS;
	r = malloc(sizeof(*r) + len);
	if (!r)
		return -ENOMEM;
	r->to = p->addr;
	r->class = c;
	r->seg = seg;
	r->len = len;
	memcpy(r->bytes, buf, len);
	TAILQ_INSERT_TAIL(&p->pending, r, link);
	p->pending_bytes += len;
	return 0;
}

static void verbs_peer_free(struct storm_verbs *v, struct verbs_peer *p)
{
	struct verbs_rest *r;

	verbs_peer_asked(v, p);
	verbs_peer_forget_place(p);
	while ((r = TAILQ_FIRST(&p->pending))) {
		TAILQ_REMOVE(&p->pending, r, link);
		free(r);
	}
	LIST_REMOVE(p, all);
	LIST_REMOVE(p, same_addr);
	v->stats.peers--;
	v->stats.peers_by_udp -= p->state == VERBS_SILENT;
	free(p);
}

/* ns until a look-up fails.  It is less than dead_timeout, or a node would be
 * lost before UDP or the data rail is tried.  Without those it is half of
 * dead_timeout. */
static uint64_t verbs_peer_patience(const struct storm_verbs *v)
{
	uint64_t half = v->set.dead_timeout / 2;
	bool way_on = v->set.transport_fallback || v->data;

	return way_on && half > VERBS_ASK_GIVE_UP ? VERBS_ASK_GIVE_UP : half;
}

void storm_verbs_peers_tick(struct storm_verbs *v)
{
	struct verbs_peer *p, *next;

	for (p = LIST_FIRST(&v->peers); p && !v->broken; p = next) {
		next = LIST_NEXT(p, all);
		if (!p->asking_since) {
			if (v->now > p->used + VERBS_PEER_IDLE)
				verbs_peer_free(v, p);
		} else if (v->now > p->asking_since + verbs_peer_patience(v)) {
			verbs_peer_silent(v, p, "no answer");
		} else if (v->now >= p->ask_at && p->nasks < VERBS_ASKS) {
			verbs_peer_ask(v, p);
		}
	}
}

void storm_verbs_peers_close(struct storm_verbs *v)
{
	struct verbs_peer *p;

	while ((p = LIST_FIRST(&v->peers)))
		verbs_peer_free(v, p);
}
