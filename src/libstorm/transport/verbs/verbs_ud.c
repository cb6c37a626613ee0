/*
 * verbs_ud.c - queues of unreliable datagrams.
 *
 * They implement XFER-AND-SIGNAL (paper section 2.4.1) on the fabric's
 * multicast.  Datagrams are lost when no receive is posted.  So the queues are
 * deep, and a sender has no more in flight than they hold (the transport's
 * room()).  Control and bulk have separate queue pairs, at both ends and in
 * groups.  So no control datagram waits behind bulk, or is lost because bulk
 * has filled a queue.
 *
 * Work is posted in lists, with one completion for each list.  Queues are
 * polled until they are empty; then the completion channel is armed.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "src/libstorm/base/minmax.h"
#include "verbs_private.h"

#define POLL_BATCH 32

static uint32_t ud_line_up(uint32_t n)
{
	return (n + 63) / 64 * 64;
}

static uint32_t ud_least(uint32_t a, int b)
{
	return b > 0 && (uint32_t) b < a ? (uint32_t) b : a;
}

/* ------------------------------------------------------------- receiving */

static int ud_post_list(struct verbs_recv *r, struct ibv_recv_wr *list)
{
	struct ibv_recv_wr *bad;

	return r->srq ? ibv_post_srq_recv(r->srq, list, &bad) :
			ibv_post_recv(r->qp, list, &bad);
}

/* Post receives for these places. */
static int ud_post_receives(struct storm_verbs *v, struct verbs_recv *r,
			    const uint32_t *place, uint32_t n)
{
	struct ibv_recv_wr wr[POLL_BATCH];
	struct ibv_sge sge[POLL_BATCH];

	for (uint32_t i = 0; i < n; i++) {
		sge[i] = (struct ibv_sge) {
			.addr = (uintptr_t) r->mem.at +
				(size_t) place[i] * r->slot + VERBS_LEAD -
				VERBS_GRH,
			.length = v->port.mtu + VERBS_GRH,
			.lkey = r->mem.mr->lkey,
		};
		wr[i] = (struct ibv_recv_wr) {
			.wr_id = place[i],
			.sg_list = &sge[i],
			.num_sge = 1,
			.next = i + 1 < n ? &wr[i + 1] : NULL,
		};
	}
	errno = ud_post_list(r, wr);
	if (errno)
		return storm_verbs_fail(v, "cannot post receives");
	r->posted += n;
	v->stats.receives += n;
	return STORM_OK;
}

static int ud_recv_fill(struct storm_verbs *v, struct verbs_recv *r)
{
	uint32_t place[POLL_BATCH], n = 0;
	int rc = STORM_OK;

	for (uint32_t i = 0; i < r->depth && !rc; i++) {
		place[n++] = i;
		if (n < POLL_BATCH && i + 1 < r->depth)
			continue;
		rc = ud_post_receives(v, r, place, n);
		n = 0;
	}
	return rc;
}

/* On RoCE with IPv4 the last 20 bytes of the GRH are an IPv4 header. */
static void ud_sender_gid(const struct storm_verbs *v, const uint8_t *slot,
			  union ibv_gid *out)
{
	const uint8_t *grh = slot + VERBS_LEAD - VERBS_GRH;

	if (v->port.ethernet && grh[20] >> 4 == 4 && grh[0] >> 4 != 6) {
		memset(out, 0, sizeof(*out));
		memset(out->raw + 10, 0xff, 2);
		memcpy(out->raw + 12, grh + 32, 4);
	} else {
		memcpy(out->raw, grh + 8, sizeof(out->raw));
	}
}

/* Multicast loops back to its sender.  Other processes here share the GID, and
 * other hosts may use the same number, so both must match. */
static bool ud_is_own(const struct storm_verbs *v, const struct ibv_wc *wc,
		      const union ibv_gid *gid)
{
	return (wc->src_qp == v->send[STORM_CONTROL].qp->qp_num ||
		wc->src_qp == v->send[STORM_BULK].qp->qp_num) &&
	       !memcmp(gid, &v->port.gid, sizeof(*gid));
}

/* Take a datagram from its completion.  False: there is nothing to deliver. */
static bool ud_recv_take(struct storm_verbs *v, struct verbs_recv *r,
			 const struct ibv_wc *wc, struct storm_rx *out)
{
	struct storm_verbs_queue_stats *stats = &v->stats.queue[r->class];
	uint8_t *slot = r->mem.at + (size_t) wc->wr_id * r->slot;
	union ibv_gid gid = { .raw = { 0 } };

	if (wc->status != IBV_WC_SUCCESS || wc->byte_len <= VERBS_GRH)
		return false;
	if (wc->wc_flags & IBV_WC_GRH)
		ud_sender_gid(v, slot, &gid);
	if (r->group && ud_is_own(v, wc, &gid)) {
		v->stats.own_copies++;
		return false;
	}
	if (!r->group)
		storm_verbs_peer_heard(v, (int) r->class, wc->src_qp, &gid,
				       wc->slid);
	out->buf = slot + VERBS_LEAD;
	out->len = wc->byte_len - VERBS_GRH;
	out->group = r->group;
	out->from.port = 0;
	stats->received++;
	stats->group += r->group;
	v->stats.rx_datagrams++;
	v->stats.rx_group += r->group;
	v->stats.rx_bytes += out->len;
	return !storm_drop(&v->drop);
}

static void ud_recv_was_empty(struct storm_verbs *v, const struct verbs_recv *r)
{
	v->stats.queue[r->class].empty++;
	if (!v->logged_empty)
		storm_log(STORM_LOG_WARN,
			  "a receive queue of RDMA device %s "
			  "was full (%u datagrams): others may have been lost "
			  "and are retransmitted; raise %s in storm.conf",
			  v->port.device, r->depth,
			  storm_verbs_key(v, "ReceiveQueue",
					  "StrobeReceiveQueue"));
	v->logged_empty = true;
}

/* Poll all completions at once: if none is left posted, the queue was empty. */
static void ud_recv_look(struct storm_verbs *v, struct verbs_recv *r)
{
	int n = ibv_poll_cq(r->cq, (int) r->depth, r->wc);

	if (n < 0)
		storm_verbs_break(v);
	if (n <= 0)
		return;
	r->next = 0;
	r->got = (uint32_t) n;
	r->posted -= r->got;
	if (!r->posted)
		ud_recv_was_empty(v, r);
}

/* Receive a batch from a queue.  Returns the number of completions. */
static uint32_t ud_recv_some(struct storm_verbs *v, struct verbs_recv *r)
{
	struct storm_rx rx[POLL_BATCH];
	uint32_t place[POLL_BATCH], n, used = 0;
	size_t got = 0;

	if (r->next == r->got)
		ud_recv_look(v, r);
	for (n = 0; n < POLL_BATCH && r->next < r->got; n++) {
		const struct ibv_wc *wc = &r->wc[r->next++];

		/* the queue pair is in the error state */
		if (wc->status == IBV_WC_WR_FLUSH_ERR) {
			storm_verbs_break(v);
			continue;
		}
		place[used++] = (uint32_t) wc->wr_id;
		got += ud_recv_take(v, r, wc, &rx[got]);
	}
	if (got)
		v->h.datagrams(v->h.arg, rx, got);
	if (used && ud_post_receives(v, r, place, used))
		storm_verbs_break(v);
	return n;
}

bool storm_verbs_receive(struct storm_verbs *v)
{
	static const int order[VERBS_RECVS] = {
		STORM_CONTROL,
		VERBS_RECV_GROUP + STORM_CONTROL,
		VERBS_RECV_GROUP + STORM_BULK,
		STORM_BULK,
	};
	uint32_t all = 0, n;

	do {
		n = 0;
		for (int i = 0; i < VERBS_RECVS && !v->broken; i++)
			if (v->recv[order[i]].cq)
				n += ud_recv_some(v, &v->recv[order[i]]);
		all += n;
	} while (n && all < VERBS_RECEIVE_BUDGET && !v->broken);
	return n;
}

static bool ud_cq_arm(struct ibv_cq *cq, bool *armed)
{
	if (*armed)
		return false;
	*armed = !ibv_req_notify_cq(cq, 0);
	return *armed;
}

bool storm_verbs_arm(struct storm_verbs *v)
{
	bool more = false;

	for (int i = 0; i < VERBS_RECVS && !v->broken; i++) {
		struct verbs_recv *r = &v->recv[i];

		/* arming does not report what came before */
		if (r->cq && ud_cq_arm(r->cq, &r->armed))
			more |= ud_recv_some(v, r);
	}
	return more;
}

/* --------------------------------------------------------------- sending */

void storm_verbs_sent(struct storm_verbs *v)
{
	struct ibv_wc wc[POLL_BATCH];
	int n;

	while (!v->broken && (n = ibv_poll_cq(v->send_cq, POLL_BATCH, wc))) {
		for (int i = 0; i < n; i++) {
			int c = wc[i].qp_num == v->send[STORM_BULK].qp->qp_num;

			if (wc[i].status != IBV_WC_SUCCESS) {
				v->stats.send_errors++;
				storm_verbs_log(
					v,
					"sending on RDMA device %s "
					"failed: %s",
					v->port.device,
					ibv_wc_status_str(wc[i].status));
				storm_verbs_break(v);
				return;
			}
			v->send[c].used -= (uint32_t) wc[i].wr_id;
			v->stats.queue[c].completed += wc[i].wr_id;
		}
		if (n < 0)
			storm_verbs_break(v);
	}
}

void storm_verbs_await_room(struct storm_verbs *v)
{
	if (ud_cq_arm(v->send_cq, &v->send_armed))
		storm_verbs_sent(v);
}

/* Post a list of at most VERBS_POST_MAX; the last one's completion covers
 * all. */
static int ud_post_sends(struct storm_verbs *v, enum storm_class c,
			 const struct verbs_dest *d, const uint8_t *buf,
			 size_t len, size_t seg)
{
	struct ibv_send_wr wr[VERBS_POST_MAX], *bad;
	struct ibv_sge sge[VERBS_POST_MAX];
	struct verbs_send *s = &v->send[c];
	uint32_t n = 0;

	for (size_t off = 0; off < len; off += seg, n++) {
		size_t size = storm_min(len - off, seg);
		uint8_t *at = s->mem.at +
			      (size_t) ((s->next + n) % s->depth) * s->slot;

		memcpy(at, buf + off, size);
		sge[n] = (struct ibv_sge) { .addr = (uintptr_t) at,
					    .length = (uint32_t) size,
					    .lkey = s->mem.mr->lkey };
		wr[n] = (struct ibv_send_wr) {
			.sg_list = &sge[n],
			.num_sge = 1,
			.opcode = IBV_WR_SEND,
			.next = &wr[n + 1],
			.wr.ud = { .ah = d->ah,
				   .remote_qpn = d->qpn,
				   .remote_qkey = d->qkey },
		};
	}
	wr[n - 1].next = NULL;
	wr[n - 1].send_flags = IBV_SEND_SIGNALED;
	wr[n - 1].wr_id = n;
	errno = ibv_post_send(s->qp, wr, &bad);
	if (errno)
		return -errno;
	s->next = (s->next + n) % s->depth;
	s->used += n;
	v->stats.tx_datagrams += n;
	v->stats.tx_bytes += len;
	v->stats.tx_copied += len;
	v->stats.queue[c].sends += n;
	return 0;
}

bool storm_verbs_has_room(struct storm_verbs *v, enum storm_class c, size_t n)
{
	struct verbs_send *s = &v->send[c];

	if (s->used + n > s->depth)
		storm_verbs_sent(v);
	return s->used + n <= s->depth;
}

int storm_verbs_post(struct storm_verbs *v, enum storm_class c,
		     const struct verbs_dest *d, const uint8_t *buf, size_t len,
		     size_t seg)
{
	struct verbs_send *s = &v->send[c];
	size_t n = (len + seg - 1) / seg, part = VERBS_POST_MAX * seg, size;
	bool room;
	int rc;

	if (n > s->depth)
		return -EMSGSIZE;
	room = storm_verbs_has_room(v, c, n);
	if (v->broken)
		return -ENETDOWN;
	if (!room) {
		v->stats.queue[c].full++;
		return -EAGAIN;
	}
	for (; len; buf += size, len -= size) {
		size = storm_min(len, part);
		rc = ud_post_sends(v, c, d, buf, size, seg);
		if (rc) {
			v->stats.send_errors++;
			storm_verbs_break(v);
			return rc;
		}
	}
	return 0;
}

/* ------------------------------------------------------------ queue pairs */

int storm_verbs_set_qkey(struct ibv_qp *qp, uint32_t qkey)
{
	struct ibv_qp_attr a = { .qp_state = IBV_QPS_RTS, .qkey = qkey };

	return ibv_modify_qp(qp, &a, IBV_QP_STATE | IBV_QP_QKEY);
}

/* Bring it through its states to ready-to-send. */
static int ud_qp_make_ready(struct storm_verbs *v, struct ibv_qp *qp,
			    uint32_t qkey)
{
	struct ibv_qp_attr a = {
		.qp_state = IBV_QPS_INIT,
		.pkey_index = v->port.pkey_index,
		.port_num = v->port.number,
		.qkey = qkey,
	};
	int rc;

	rc = ibv_modify_qp(qp, &a,
			   IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT |
				   IBV_QP_QKEY);
	a.qp_state = IBV_QPS_RTR;
	if (!rc)
		rc = ibv_modify_qp(qp, &a, IBV_QP_STATE);
	a.qp_state = IBV_QPS_RTS;
	if (!rc)
		rc = ibv_modify_qp(qp, &a, IBV_QP_STATE | IBV_QP_SQ_PSN);
	return rc;
}

static struct ibv_qp *ud_qp_create(struct storm_verbs *v, struct verbs_recv *r,
				   uint32_t sends, uint32_t qkey)
{
	struct ibv_qp_init_attr a = {
		.send_cq = v->send_cq,
		.recv_cq = r->cq,
		.srq = r->srq,
		.qp_type = IBV_QPT_UD,
		.cap = { .max_send_wr = sends,
			 .max_send_sge = 1,
			 .max_recv_wr = r->srq ? 0 : r->depth,
			 .max_recv_sge = r->srq ? 0 : 1 },
	};
	struct ibv_qp *qp = ibv_create_qp(v->port.pd, &a);

	if (!qp) {
		storm_verbs_fail(v, "cannot create a queue pair");
		return NULL;
	}
	errno = ud_qp_make_ready(v, qp, qkey);
	if (!errno)
		return qp;
	storm_verbs_fail(v, "cannot make a queue pair ready");
	ibv_destroy_qp(qp);
	return NULL;
}

struct ibv_qp *storm_verbs_group_qp(struct storm_verbs *v, enum storm_class c,
				    uint32_t qkey)
{
	struct verbs_recv *r = &v->recv[VERBS_RECV_GROUP + (int) c];

	return r->srq ? ud_qp_create(v, r, 1, qkey) : NULL;
}

static int ud_recv_open(struct storm_verbs *v, struct verbs_recv *r,
			enum storm_class c, uint32_t depth)
{
	r->class = c;
	r->slot = ud_line_up(VERBS_LEAD + v->port.mtu);
	r->depth = ud_least(ud_least(depth, v->port.limits.max_qp_wr),
			    v->port.limits.max_cqe);
	r->wc = calloc(r->depth, sizeof(*r->wc));
	if (!r->wc)
		return STORM_ENOMEM;
	r->cq = ibv_create_cq(v->port.ctx, (int) r->depth, NULL,
			      v->port.channel, 0);
	if (!r->cq)
		return storm_verbs_fail(v, "cannot create a completion "
					   "queue");
	return storm_verbs_memory(v, &r->mem, (size_t) r->depth * r->slot);
}

/* Open a queue pair with its send and receive queues. */
static int ud_class_open(struct storm_verbs *v, enum storm_class c,
			 uint32_t sends, uint32_t receives)
{
	struct verbs_recv *r = &v->recv[c];
	struct verbs_send *s = &v->send[c];
	int rc = ud_recv_open(v, r, c, receives);

	if (rc)
		return rc;
	s->slot = ud_line_up(v->port.mtu);
	s->depth = ud_least(sends, v->port.limits.max_qp_wr);
	rc = storm_verbs_memory(v, &s->mem, (size_t) s->depth * s->slot);
	if (rc)
		return rc;
	s->qp = r->qp = ud_qp_create(v, r, s->depth, v->qkey);
	return s->qp ? ud_recv_fill(v, r) : STORM_ESYS;
}

/* One receive queue of a class for all groups.  Which groups are used varies,
 * but not the total rate. */
static int ud_groups_open(struct storm_verbs *v, enum storm_class c)
{
	struct verbs_recv *r = &v->recv[VERBS_RECV_GROUP + (int) c];
	struct ibv_srq_init_attr a = { .attr.max_sge = 1 };
	int rc;

	r->group = true;
	rc = ud_recv_open(v, r, c,
			  ud_least(v->set.recv_depth,
				   v->port.limits.max_srq_wr));
	if (rc)
		return rc;
	a.attr.max_wr = r->depth;
	r->srq = ibv_create_srq(v->port.pd, &a);
	if (!r->srq)
		return storm_verbs_fail(v, "cannot create a shared receive "
					   "queue");
	return ud_recv_fill(v, r);
}

int storm_verbs_queues_open(struct storm_verbs *v)
{
	uint32_t sends = VERBS_CONTROL_SENDS + VERBS_BULK_SENDS;
	bool node = v->role == STORM_ROLE_NODE;
	uint32_t bulk_depth = v->set.recv_depth;
	int rc;

	if (!node || v->data) /* no bulk is expected */
		bulk_depth = VERBS_OWNER_BULK;
	v->send_cq = ibv_create_cq(v->port.ctx, (int) sends, NULL,
				   v->port.channel, 0);
	if (!v->send_cq)
		return storm_verbs_fail(v, "cannot create a completion "
					   "queue");
	rc = ud_class_open(v, STORM_CONTROL, VERBS_CONTROL_SENDS,
			   v->set.recv_depth);
	if (!rc)
		rc = ud_class_open(v, STORM_BULK, VERBS_BULK_SENDS, bulk_depth);
	if (rc || !node || !v->set.multicast)
		return rc;
	if (v->port.limits.max_srq < 2) {
		storm_log(STORM_LOG_INFO,
			  "RDMA device %s has no shared "
			  "receive queues: data come along the chain",
			  v->port.device);
		return STORM_OK;
	}
	rc = ud_groups_open(v, STORM_CONTROL);
	return rc || v->data ? rc : ud_groups_open(v, STORM_BULK);
}

static void ud_recv_close(struct verbs_recv *r)
{
	if (r->qp)
		ibv_destroy_qp(r->qp);
	if (r->srq)
		ibv_destroy_srq(r->srq);
	if (r->cq)
		ibv_destroy_cq(r->cq);
	storm_verbs_memory_free(&r->mem);
	free(r->wc);
	memset(r, 0, sizeof(*r));
}

void storm_verbs_queues_close(struct storm_verbs *v)
{
	for (int i = 0; i < VERBS_RECVS; i++)
		ud_recv_close(&v->recv[i]);
	for (int c = 0; c < 2; c++) {
		struct verbs_send *s = &v->send[c];

		storm_verbs_memory_free(&s->mem);
		s->qp = NULL;
		s->next = s->used = 0;
	}
	if (v->send_cq)
		ibv_destroy_cq(v->send_cq);
	v->send_cq = NULL;
	v->send_armed = false;
}
