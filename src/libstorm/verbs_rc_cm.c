/*
 * verbs_rc_cm.c - reliable pairs: how they come and go.
 *
 * By rdma_cm, at the same address and port number that datagrams go to.  Each
 * side sends the other the place of memory that it may write to
 * (verbs_wire.h).  The one that connects sends its word for free slots, and
 * the ring that it would like.  The one that accepts sends the ring that it
 * has made, which is no larger.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/timerfd.h>

#include "clock.h"
#include "verbs_rc_private.h"
#include "verbs_wire.h"

#define INLINE_WISH 192
#define EVENTS_PER_POLL 64
#define BACKLOG 128

#define PAUSE_FIRST (1 * STORM_SEC)	/* after a failure, twice as long each
					   time, at most */
#define PAUSE_MAX (64 * STORM_SEC)
#define PAUSE_MEMORY (60 * STORM_SEC)
/* What was used less long ago is in use. */
#define IN_USE (2 * STORM_SEC)

static void rc_sockaddr(const struct storm_addr *a, uint16_t port,
			struct sockaddr_in *sin)
{
	memset(sin, 0, sizeof(*sin));
	sin->sin_family = AF_INET;
	sin->sin_port = htons(port);
	memcpy(&sin->sin_addr, a->ip + 12, 4);
}

static const char *rc_addr_text(const struct storm_addr *a, char *text)
{
	return inet_ntop(AF_INET, a->ip + 12, text, INET_ADDRSTRLEN);
}

/* ----------------------------------------------------------------- timer */

void storm_rc_set_timer(struct storm_rc *rc, uint64_t first, uint64_t then)
{
	struct itimerspec when = {
		.it_value.tv_nsec = (long) first,
		.it_interval.tv_nsec = (long) then,
	};

	rc->ticking = !timerfd_settime(rc->timerfd, 0, &when, NULL) && first;
}

void storm_rc_timer(struct storm_rc *rc)
{
	bool need = rc->unacked || rc->connecting || rc->waiting;

	if (need != rc->ticking)
		storm_rc_set_timer(rc, need ? RC_TICK : 0, RC_TICK);
}

/* --------------------------------------------- memory and a queue pair */

/* Each pair has a protection domain: keys of memory can be guessed, and with
 * one domain for all pairs a peer could write into the rings of others. */
static int rc_pair_memory(struct storm_rc *rc, struct rc_pair *p)
{
	int remote = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE;
	size_t page = 4096, ring = (size_t) p->slots * p->slot;

	ring = (ring + page - 1) & ~(page - 1);
	p->mem_len = ring + page;
	p->mem = mmap(NULL, p->mem_len, PROT_READ | PROT_WRITE,
		      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (p->mem == MAP_FAILED) {
		p->mem = NULL;
		return -1;
	}
	/* after a copy on write we and the device would have different pages */
	madvise(p->mem, p->mem_len, MADV_DONTFORK);
	p->pd = ibv_alloc_pd(rc->verbs);
	if (!p->pd)
		return -1;
	p->ring = ibv_reg_mr(p->pd, p->mem, ring, p->out ? 0 : remote);
	p->word = ibv_reg_mr(p->pd, p->mem + ring, sizeof(uint64_t),
			     p->out ? remote : 0);
	return p->ring && p->word ? 0 : -1;
}

static int rc_pair_qp(struct storm_rc *rc, struct rc_pair *p)
{
	struct ibv_qp_init_attr attr = {
		.qp_type = IBV_QPT_RC,
		.send_cq = rc->scq, .recv_cq = rc->rcq,
		.cap = {
			.max_send_wr = p->out ? p->slots : RC_REPORTS_MAX,
			.max_recv_wr = p->out ? 1 : p->slots,
			.max_send_sge = 1, .max_recv_sge = 1,
			.max_inline_data = p->out ? INLINE_WISH : 0,
		},
	};

	if (rdma_create_qp(p->id, p->pd, &attr)) {
		if (!p->out)
			return -1;
		attr.cap.max_inline_data = 0;	/* it need not be */
		if (rdma_create_qp(p->id, p->pd, &attr))
			return -1;
	}
	p->inline_max = attr.cap.max_inline_data;
	return 0;
}

/* Once: what an administrator can mend. */
static void rc_log_memory(struct storm_rc *rc, size_t bytes, int err)
{
	struct rlimit limit = { 0 };

	if (rc->logged_memory)
		return;
	rc->logged_memory = true;
	getrlimit(RLIMIT_MEMLOCK, &limit);
	storm_log(STORM_LOG_WARN, "no memory or queue pair for another "
		  "neighbour on %s (%s; %zu bytes to be locked): raise "
		  "\"ulimit -l\", now %llu KiB; its datagrams go unconnected",
		  ibv_get_device_name(rc->verbs->device), strerror(err), bytes,
		  (unsigned long long) limit.rlim_cur / 1024);
}

static int rc_pair_build(struct storm_rc *rc, struct rc_pair *p)
{
	if (!rc_pair_memory(rc, p) && !rc_pair_qp(rc, p))
		return 0;
	rc_log_memory(rc, p->mem_len, errno);
	return -1;
}

/* How long the adapter waits for an answer, as its exponent: so many tries must
 * fit into dead_after. */
static uint8_t rc_ack_timeout(const struct storm_rc_conf *c)
{
	uint64_t ns = c->dead_after / (c->retries + 1);
	uint8_t e = 8;

	while (e < 31 && 4096ull << (e + 1) <= ns)
		e++;
	return e;
}

/* Older kernels lack one or the other, and do without. */
static void rc_pair_options(struct storm_rc *rc, struct rc_pair *p)
{
	uint8_t ack = rc_ack_timeout(&rc->conf);
	struct rdma_cm_id *id = p->id;

	rdma_set_option(id, RDMA_OPTION_ID, RDMA_OPTION_ID_ACK_TIMEOUT, &ack,
			sizeof(ack));
	rdma_set_option(id, RDMA_OPTION_ID, RDMA_OPTION_ID_TOS,
			&rc->conf.tos[p->class], sizeof(rc->conf.tos[0]));
}

static struct rdma_conn_param rc_conn_param(struct storm_rc *rc,
					    const uint8_t *ring)
{
	return (struct rdma_conn_param) {
		.private_data = ring, .private_data_len = VERBS_RING_LEN,
		.responder_resources = 1, .initiator_depth = 1,
		.flow_control = 1, .retry_count = rc->conf.retries,
		.rnr_retry_count = 6,
	};
}

/* Nothing is received into these: a write with an immediate value uses one up
 * for its completion. */
int storm_rc_post_receives(struct rc_pair *p, uint32_t n)
{
	struct ibv_recv_wr *bad, wr = { .wr_id = storm_rc_wr_id(p) };

	while (n--)
		if (ibv_post_recv(p->id->qp, &wr, &bad))
			return -1;
	return 0;
}

/* ------------------------------------------------------------ come and go */

static struct rc_pair *rc_pair_new(struct storm_rc *rc, bool out,
				   enum storm_class c,
				   const struct storm_addr *peer)
{
	uint32_t first = out ? 0 : rc->conf.out_max, i = first;
	struct rc_pair *p = calloc(1, sizeof(*p));

	if (!p)
		return NULL;
	while (rc->by_index[i])	/* the caller has checked: one is free */
		i++;
	rc->by_index[i] = p;
	p->index = i;
	p->serial = ++rc->serials;
	p->out = out;
	p->class = c;
	p->peer = *peer;
	p->slots = rc->conf.slots[c];
	p->slot = (uint32_t) rc->conf.slot;
	p->since = p->used = storm_now();
	TAILQ_INSERT_TAIL(out ? &rc->out : &rc->in, p, link);
	if (out) {
		LIST_INSERT_HEAD(&rc->bucket[storm_rc_hash(c, peer) %
					     RC_BUCKETS], p, same);
		rc->out_count++;
		rc->waiting++;
	} else {
		rc->in_count++;
	}
	return p;
}

static bool rc_is_connecting(const struct rc_pair *p)
{
	return p->out && p->state != RC_WAITING && p->state != RC_UP;
}

static void rc_pair_forget(struct storm_rc *rc, struct rc_pair *p)
{
	rc->by_index[p->index] = NULL;
	TAILQ_REMOVE(p->out ? &rc->out : &rc->in, p, link);
	if (!p->out) {
		rc->in_count--;
		rc->unacked -= p->reports_posted - p->reports_done;
		return;
	}
	LIST_REMOVE(p, same);
	rc->out_count--;
	rc->waiting -= p->state == RC_WAITING;
	rc->connecting -= rc_is_connecting(p);
	rc->unacked -= p->head - p->done;
}

void storm_rc_drop(struct storm_rc *rc, struct rc_pair *p)
{
	rc_pair_forget(rc, p);
	if (p->id && p->id->qp)
		rdma_destroy_qp(p->id);
	if (p->word)
		ibv_dereg_mr(p->word);
	if (p->ring)
		ibv_dereg_mr(p->ring);
	if (p->pd)
		ibv_dealloc_pd(p->pd);
	if (p->mem)
		munmap(p->mem, p->mem_len);
	if (p->id)
		rdma_destroy_id(p->id);
	free(p);
}

/* The least used one that is not in use. */
static struct rc_pair *rc_idle_pair(const struct rc_pairs *list)
{
	uint64_t now = storm_now();
	struct rc_pair *p;

	TAILQ_FOREACH(p, list, link)
		if (p->state == RC_UP && p->used + IN_USE < now &&
		    (!p->out || p->head == p->done))
			break;
	return p;
}

static struct rc_known *rc_known_of(struct storm_rc *rc, enum storm_class c,
				    const struct storm_addr *a)
{
	struct rc_known *k = &rc->known[storm_rc_hash(c, a) % RC_KNOWN];

	if (k->class != c || !storm_rc_same(&k->addr, a)) {
		memset(k, 0, sizeof(*k));
		k->addr = *a;
		k->class = c;
	}
	return k;
}

void storm_rc_fail(struct storm_rc *rc, struct rc_pair *p, const char *why)
{
	uint64_t pause = PAUSE_FIRST;
	char text[INET_ADDRSTRLEN];
	struct rc_known *k;

	if (p->out) {
		k = rc_known_of(rc, p->class, &p->peer);
		if (k->failures < 6)
			pause <<= k->failures++;
		else
			pause = PAUSE_MAX;
		k->not_before = storm_now() + pause;
		k->count = 0;
		/* that it was closed may be as it should */
		storm_log(why && k->failures == 1 ? STORM_LOG_INFO :
			  STORM_LOG_DEBUG, "no queue pair to %s port %u (%s): "
			  "it is sent single datagrams",
			  rc_addr_text(&p->peer, text), p->peer.port,
			  why ? why : "closed by the other end");
	}
	rc->stats.failed += why != NULL;
	storm_rc_drop(rc, p);
}

/* ------------------------------------------------------------- connecting */

static void rc_start_pair(struct storm_rc *rc, struct rc_pair *p)
{
	struct sockaddr_in from, to;
	int ms = (int) (rc->conf.connect_timeout / STORM_MS);

	rc->waiting--;
	rc->connecting++;
	p->state = RC_ADDR;
	p->since = storm_now();
	rc_sockaddr(&rc->conf.self, 0, &from);
	rc_sockaddr(&p->peer, p->peer.port, &to);
	if (rdma_create_id(rc->cm, &p->id, p, RDMA_PS_TCP)) {
		p->id = NULL;
		storm_rc_fail(rc, p, strerror(errno));
		return;
	}
	rc_pair_options(rc, p);
	if (rdma_resolve_addr(p->id, (struct sockaddr *) &from,
			      (struct sockaddr *) &to, ms))
		storm_rc_fail(rc, p, strerror(errno));
}

static void rc_start_more(struct storm_rc *rc)
{
	struct rc_pair *p, *next;

	for (p = TAILQ_FIRST(&rc->out); p; p = next) {
		next = TAILQ_NEXT(p, link);
		if (!rc->waiting || rc->connecting >= rc->conf.connecting_max)
			return;
		if (p->state == RC_WAITING)
			rc_start_pair(rc, p);
	}
}

void storm_rc_consider(struct storm_rc *rc, enum storm_class c,
		       const struct storm_addr *to)
{
	struct rc_known *k = rc_known_of(rc, c, to);
	uint64_t now = storm_now();
	struct rc_pair *p;

	if (now < k->not_before || !rc->listener)
		return;
	if (k->since + STORM_SEC < now) {
		k->since = now;
		k->count = 0;
	}
	if (++k->count < rc->conf.busy)
		return;
	if (rc->out_count >= rc->conf.out_max) {
		p = rc_idle_pair(&rc->out);
		if (!p)
			return;
		rc->stats.evicted++;
		storm_rc_drop(rc, p);
	}
	if (rc_pair_new(rc, true, c, to))
		rc_start_more(rc);
	storm_rc_timer(rc);
}

static void rc_on_addr(struct storm_rc *rc, struct rc_pair *p)
{
	if (p->id->verbs != rc->verbs) {
		storm_rc_fail(rc, p, "it is reached by another device");
		return;
	}
	p->state = RC_ROUTE;
	if (rdma_resolve_route(p->id, (int) (rc->conf.connect_timeout /
					     STORM_MS)))
		storm_rc_fail(rc, p, strerror(errno));
}

static void rc_on_route(struct storm_rc *rc, struct rc_pair *p)
{
	struct rdma_conn_param param;
	uint8_t ring[VERBS_RING_LEN];

	p->state = RC_CONNECTING;
	if (rc_pair_build(rc, p)) {
		/* a long pause */
		rc_known_of(rc, p->class, &p->peer)->failures = 6;
		storm_rc_fail(rc, p, "no memory");
		return;
	}
	storm_verbs_ring_pack(&(struct verbs_ring) {
		.class = (uint8_t) p->class, .slots = p->slots,
		.slot = p->slot, .rkey = p->word->rkey,
		.addr = (uintptr_t) p->word->addr }, ring);
	param = rc_conn_param(rc, ring);
	if (rdma_connect(p->id, &param))
		storm_rc_fail(rc, p, strerror(errno));
}

/* The other end's ring must not be larger than our copy of it. */
static void rc_on_established(struct storm_rc *rc, struct rc_pair *p,
			      const uint8_t *private, size_t len)
{
	char text[INET_ADDRSTRLEN];
	struct rc_known *k;
	struct verbs_ring t;

	if (!p->out)
		return;
	if (!storm_verbs_ring_unpack(private, len, &t) || t.slots > p->slots ||
	    t.slot > p->slot) {
		rc->stats.bad++;
		storm_rc_fail(rc, p, "it speaks another version");
		return;
	}
	rc->connecting--;
	p->state = RC_UP;
	p->slots = t.slots;
	p->slot = t.slot;
	p->remote = t.addr;
	p->rkey = t.rkey;
	p->used = storm_now();
	rc->stats.connected++;
	k = rc_known_of(rc, p->class, &p->peer);
	storm_log(k->failures ? STORM_LOG_INFO : STORM_LOG_DEBUG,
		  "a queue pair to %s port %u: %u slots of %u bytes",
		  rc_addr_text(&p->peer, text), p->peer.port, p->slots,
		  p->slot);
	k->failures = 0;
}

/* --------------------------------------------------------------- accepting */

/* Of the host that has most: the one that was used least. */
static struct rc_pair *rc_in_victim(struct storm_rc *rc)
{
	struct rc_pair *p, *other, *victim = NULL;
	uint64_t now = storm_now();
	uint32_t most = 0, n;

	TAILQ_FOREACH(p, &rc->in, link) {
		n = 0;
		TAILQ_FOREACH(other, &rc->in, link)
			n += storm_rc_same(&other->peer, &p->peer);
		if (n <= most || p->used + IN_USE >= now)
			continue;
		most = n;
		victim = p;
	}
	return victim;
}

static bool rc_in_room(struct storm_rc *rc)
{
	struct rc_pair *p;

	if (rc->in_count < rc->conf.in_max)
		return true;
	p = rc_in_victim(rc);
	if (!p)
		return false;
	rc->stats.evicted++;
	storm_rc_drop(rc, p);
	return true;
}

static void rc_ring_as_wished(struct rc_pair *p, const struct verbs_ring *t)
{
	if (t->slots < p->slots)
		p->slots = t->slots;
	if (t->slot < p->slot)
		p->slot = t->slot;
	p->remote = t->addr;
	p->rkey = t->rkey;
}

static int rc_accept_pair(struct storm_rc *rc, struct rc_pair *p)
{
	struct rdma_conn_param param;
	uint8_t ring[VERBS_RING_LEN];

	rc_pair_options(rc, p);
	if (rc_pair_build(rc, p) || storm_rc_post_receives(p, p->slots))
		return -1;
	storm_verbs_ring_pack(&(struct verbs_ring) {
		.class = (uint8_t) p->class, .slots = p->slots,
		.slot = p->slot, .rkey = p->ring->rkey,
		.addr = (uintptr_t) p->mem }, ring);
	param = rc_conn_param(rc, ring);
	return rdma_accept(p->id, &param);
}

static void rc_on_request(struct storm_rc *rc, struct rdma_cm_id *id,
			  const uint8_t *private, size_t len)
{
	const struct sockaddr_in *from =
		(const struct sockaddr_in *) rdma_get_peer_addr(id);
	struct storm_addr peer = { .ip = { [10] = 0xff, 0xff } };
	struct rc_pair *p;
	struct verbs_ring t;

	memcpy(peer.ip + 12, &from->sin_addr, 4);
	if (!storm_verbs_ring_unpack(private, len, &t) ||
	    id->verbs != rc->verbs || !rc_in_room(rc))
		goto refuse;
	p = rc_pair_new(rc, false, (enum storm_class) t.class, &peer);
	if (!p)
		goto refuse;
	p->state = RC_UP;	/* it may write before the event comes */
	p->id = id;
	id->context = p;
	rc_ring_as_wished(p, &t);
	if (rc_accept_pair(rc, p)) {
		rc->stats.refused++;
		rdma_reject(id, NULL, 0);
		storm_rc_drop(rc, p);
		return;
	}
	rc->stats.accepted++;
	return;
refuse:
	rc->stats.refused++;
	rdma_reject(id, NULL, 0);
	rdma_destroy_id(id);
}

/* ------------------------------------------------------------------ events */

/* The device is gone, or its address: there are no pairs from now on. */
static void rc_on_removal(struct storm_rc *rc)
{
	struct rc_pair *p;

	storm_log(STORM_LOG_DEBUG, "RDMA device %s was removed: no queue pairs "
		  "any more", ibv_get_device_name(rc->verbs->device));
	while ((p = TAILQ_FIRST(&rc->out)))
		storm_rc_drop(rc, p);
	while ((p = TAILQ_FIRST(&rc->in)))
		storm_rc_drop(rc, p);
	rdma_destroy_id(rc->listener);
	rc->listener = NULL;
}

static const char *rc_refusal_text(int status)
{
	switch (status) {
	case 8:			/* invalid service ID */
		return "nothing listens there";
	case 28:		/* consumer */
		return "it takes no more, or speaks another version";
	default:
		return "rejected";
	}
}

static void rc_on_pair(struct storm_rc *rc, struct rc_pair *p, int event,
		       int status, const uint8_t *private, size_t len)
{
	switch (event) {
	case RDMA_CM_EVENT_ADDR_RESOLVED:
		rc_on_addr(rc, p);
		break;
	case RDMA_CM_EVENT_ROUTE_RESOLVED:
		rc_on_route(rc, p);
		break;
	case RDMA_CM_EVENT_ESTABLISHED:
		rc_on_established(rc, p, private, len);
		break;
	case RDMA_CM_EVENT_DISCONNECTED:
		storm_rc_fail(rc, p, NULL);
		break;
	case RDMA_CM_EVENT_REJECTED:
		storm_rc_fail(rc, p, rc_refusal_text(status));
		break;
	case RDMA_CM_EVENT_ADDR_ERROR:
	case RDMA_CM_EVENT_ROUTE_ERROR:
	case RDMA_CM_EVENT_CONNECT_ERROR:
	case RDMA_CM_EVENT_UNREACHABLE:
	case RDMA_CM_EVENT_ADDR_CHANGE:
		storm_rc_fail(rc, p, rdma_event_str(event));
		break;
	default:		/* the end of a pair that is gone */
		break;
	}
}

static void rc_on_event(struct storm_rc *rc, struct rdma_cm_event *ev)
{
	enum rdma_cm_event_type event = ev->event;
	size_t len = ev->param.conn.private_data_len;
	struct rdma_cm_id *id = ev->id;
	uint8_t private[VERBS_RING_LEN];
	int status = ev->status;

	if (event != RDMA_CM_EVENT_CONNECT_REQUEST &&
	    event != RDMA_CM_EVENT_ESTABLISHED)
		len = 0;
	if (len > sizeof(private))
		len = sizeof(private);
	if (len)
		memcpy(private, ev->param.conn.private_data, len);
	/* first: only an id without unacknowledged events can be destroyed */
	rdma_ack_cm_event(ev);
	if (event == RDMA_CM_EVENT_DEVICE_REMOVAL)
		rc_on_removal(rc);
	else if (event == RDMA_CM_EVENT_CONNECT_REQUEST)
		rc_on_request(rc, id, private, len);
	else if (id->context)
		rc_on_pair(rc, id->context, event, status, private, len);
}

void storm_rc_cm_events(struct storm_rc *rc)
{
	struct rdma_cm_event *ev;

	for (int i = 0; i < EVENTS_PER_POLL && rc->listener; i++) {
		if (rdma_get_cm_event(rc->cm, &ev))
			break;
		rc_on_event(rc, ev);
	}
	rc_start_more(rc);
}

void storm_rc_cm_tick(struct storm_rc *rc, uint64_t now)
{
	struct rc_pair *p, *next;

	for (p = TAILQ_FIRST(&rc->out); p && rc->connecting; p = next) {
		next = TAILQ_NEXT(p, link);
		if (rc_is_connecting(p) &&
		    p->since + rc->conf.connect_timeout < now)
			storm_rc_fail(rc, p, "no answer in time");
	}
	rc_start_more(rc);
}

/* ------------------------------------------------------------------ listen */

int storm_rc_listen(struct storm_rc *rc)
{
	char text[INET_ADDRSTRLEN];
	struct sockaddr_in at;

	rc_addr_text(&rc->conf.self, text);
	rc_sockaddr(&rc->conf.self, rc->conf.self.port, &at);
	rc->cm = rdma_create_event_channel();
	if (!rc->cm || fcntl(rc->cm->fd, F_SETFL, O_NONBLOCK) ||
	    rdma_create_id(rc->cm, &rc->listener, NULL, RDMA_PS_TCP)) {
		storm_log(STORM_LOG_WARN, "cannot use /dev/infiniband/rdma_cm "
			  "(%m): load the module rdma_ucm, and let it be read "
			  "and written by all");
		return STORM_ESYS;
	}
	if (rdma_bind_addr(rc->listener, (struct sockaddr *) &at) ||
	    !rc->listener->verbs) {
		storm_log(STORM_LOG_WARN, errno == EADDRINUSE ?
			  "RDMA port %s:%u is in use (%m): is another agent "
			  "running? Otherwise set Port in storm.conf" :
			  "no RDMA device has the address %s (port %u, %m): "
			  "set Interface in storm.conf to the one that has",
			  text,
			  rc->conf.self.port);
		return STORM_ESYS;
	}
	rc->verbs = rc->listener->verbs;
	if (rdma_listen(rc->listener, BACKLOG)) {
		storm_log(STORM_LOG_WARN, "cannot listen on RDMA port %s:%u: "
			  "%m", text, rc->conf.self.port);
		return STORM_ESYS;
	}
	return STORM_OK;
}
