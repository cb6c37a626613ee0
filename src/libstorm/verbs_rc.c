/*
 * verbs_rc.c - reliable pairs: the rings, and the poll loop.  See verbs_rc.h.
 *
 * A datagram is copied twice, once at each end.  The sender copies it into
 * registered memory, which the caller's is not.  The receiver copies it out of
 * the ring, because it must not change while it is unsealed: a peer that has
 * the ring's key could let one text be authenticated and another be decrypted.
 *
 * The immediate value: the slot in the upper 12 bits, the length in the lower
 * 20.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include <arpa/inet.h>
#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "clock.h"
#include "minmax.h"
#include "verbs_rc_private.h"

#define LENGTH_BITS 20
#define SLOT_MAX 65536
#define SLOTS_MAX 1024
#define PAIRS_MAX 4096
#define RX_ROUNDS 32		/* of RC_BATCH datagrams, a poll */

void storm_rc_default(struct storm_rc_conf *conf)
{
	memset(conf, 0, sizeof(*conf));
	conf->slot = 4096;
	conf->slots[STORM_CONTROL] = 64;
	conf->slots[STORM_BULK] = 128;
	conf->out_max = 64;
	conf->in_max = 64;
	conf->connecting_max = 8;
	conf->busy = 4;
	conf->retries = 6;	/* 7 would never give up */
	conf->dead_after = 2 * STORM_SEC;
	conf->connect_timeout = 3 * STORM_SEC;
}

/* ----------------------------------------------------------------- pairs */

static struct rc_pair *rc_pair_find(struct storm_rc *rc, enum storm_class c,
			      const struct storm_addr *to)
{
	struct rc_pair *p;

	LIST_FOREACH(p, &rc->bucket[storm_rc_hash(c, to) % RC_BUCKETS], same)
		if (p->class == c && storm_rc_same(&p->peer, to))
			break;
	return p;
}

/* The pair of a completion; NULL: of one that is gone. */
static struct rc_pair *rc_pair_of_wc(struct storm_rc *rc,
				     const struct ibv_wc *wc)
{
	uint32_t index = (uint32_t) wc->wr_id;
	struct rc_pair *p;

	if (index >= rc->conf.out_max + rc->conf.in_max)
		return NULL;
	p = rc->by_index[index];
	return p && storm_rc_wr_id(p) == wc->wr_id ? p : NULL;
}

static void rc_pair_used(struct rc_pairs *list, struct rc_pair *p)
{
	p->used = storm_now();
	TAILQ_REMOVE(list, p, link);
	TAILQ_INSERT_TAIL(list, p, link);
}

static uint64_t *rc_word_of(const struct rc_pair *p)
{
	return p->word->addr;
}

static uint8_t *rc_slot_of(const struct rc_pair *p, uint64_t n)
{
	return p->mem + (n & (p->slots - 1)) * p->slot;
}

/* ----------------------------------------------------------- completions */

/* Write into the sender's word how many slots were emptied so far. */
static int rc_report_free(struct storm_rc *rc, struct rc_pair *p)
{
	struct ibv_sge sge = {
		.addr = (uintptr_t) rc_word_of(p), .length = sizeof(uint64_t),
		.lkey = p->word->lkey,
	};
	struct ibv_send_wr *bad, wr = {
		.wr_id = storm_rc_wr_id(p), .sg_list = &sge, .num_sge = 1,
		.opcode = IBV_WR_RDMA_WRITE, .send_flags = IBV_SEND_SIGNALED,
		.wr.rdma = { p->remote, p->rkey },
	};

	/* It is one of a growing number, so it matters little which of its
	 * values a write that is under way takes along. */
	__atomic_store_n(rc_word_of(p), htobe64(p->head), __ATOMIC_RELEASE);
	if (ibv_post_send(p->id->qp, &wr, &bad))
		return -1;
	p->done = p->head;
	p->reports_posted++;
	rc->unacked++;
	return 0;
}

/* A quarter of the ring at once: the sender has the rest meanwhile. */
static int rc_report_if_due(struct storm_rc *rc, struct rc_pair *p)
{
	if (p->head - p->done < p->slots / 4 ||
	    p->reports_posted - p->reports_done >= RC_REPORTS_MAX)
		return 0;
	return rc_report_free(rc, p);
}

/* The pair of a completion; NULL: it is gone, or has failed with it. */
static struct rc_pair *rc_working_pair(struct storm_rc *rc,
				       const struct ibv_wc *wc)
{
	struct rc_pair *p = rc_pair_of_wc(rc, wc);

	if (!p || !wc->status)
		return p;
	storm_rc_fail(rc, p, wc->status == IBV_WC_WR_FLUSH_ERR ?
		      NULL : ibv_wc_status_str(wc->status));
	return NULL;
}

static void rc_completed(struct storm_rc *rc, const struct ibv_wc *wc)
{
	struct rc_pair *p = rc_working_pair(rc, wc);

	if (!p)
		return;
	rc->unacked--;
	if (p->out) {
		p->done++;
		return;
	}
	p->reports_done++;
	if (rc_report_if_due(rc, p))
		storm_rc_fail(rc, p, "cannot post");
}

static void rc_reap_sends(struct storm_rc *rc)
{
	struct ibv_wc wc[RC_BATCH];
	int i, n;

	do {
		n = ibv_poll_cq(rc->scq, RC_BATCH, wc);
		for (i = 0; i < n; i++)
			rc_completed(rc, &wc[i]);
	} while (n == RC_BATCH);
}

/* --------------------------------------------------------------- sending */

/* Slots that are free at both ends; false: the peer's word makes no sense. */
static bool rc_free_slots(const struct rc_pair *p, uint32_t *slots)
{
	uint64_t emptied = be64toh(__atomic_load_n(rc_word_of(p),
						   __ATOMIC_ACQUIRE));
	uint64_t there = p->head - emptied, here = p->head - p->done;

	if (there > p->slots)
		return false;
	*slots = p->slots - storm_max(there, here);
	return true;
}

static void rc_prepare_write(struct rc_pair *p, struct ibv_send_wr *wr,
			     struct ibv_sge *sge, const uint8_t *buf,
			     size_t len)
{
	uint64_t slot = p->head & (p->slots - 1);
	bool direct = len <= p->inline_max;

	if (!direct)
		memcpy(rc_slot_of(p, p->head), buf, len);
	*sge = (struct ibv_sge) {
		.addr = (uintptr_t) (direct ? buf : rc_slot_of(p, p->head)),
		.length = (uint32_t) len, .lkey = p->ring->lkey,
	};
	*wr = (struct ibv_send_wr) {
		.wr_id = storm_rc_wr_id(p), .sg_list = sge, .num_sge = 1,
		.opcode = IBV_WR_RDMA_WRITE_WITH_IMM,
		.send_flags = IBV_SEND_SIGNALED |
			(direct ? IBV_SEND_INLINE : 0),
		.imm_data = htonl((uint32_t) (slot << LENGTH_BITS | len)),
		.wr.rdma = { p->remote + slot * p->slot, p->rkey },
	};
	p->head++;
}

/* At most RC_BATCH segments; the bytes, or -1. */
static ssize_t rc_post_writes(struct storm_rc *rc, struct rc_pair *p,
			      const uint8_t *buf, size_t len, size_t seg,
			      uint32_t slots)
{
	struct ibv_send_wr wr[RC_BATCH], *bad;
	struct ibv_sge sge[RC_BATCH];
	size_t off = 0, n;
	uint32_t i;

	for (i = 0; i < RC_BATCH && i < slots && off < len; i++, off += n) {
		n = storm_min(len - off, seg);
		rc_prepare_write(p, &wr[i], &sge[i], buf + off, n);
		if (i)
			wr[i - 1].next = &wr[i];
	}
	rc->unacked += i;
	if (ibv_post_send(p->id->qp, wr, &bad))
		return -1;
	rc->stats.tx_datagrams += i;
	rc->stats.tx_bytes += off;
	return (ssize_t) off;
}

static ssize_t rc_send_by(struct storm_rc *rc, struct rc_pair *p,
			  const uint8_t *buf, size_t len, size_t seg)
{
	size_t done = 0;
	uint32_t slots;
	ssize_t n;

	while (done < len) {
		if (!rc_free_slots(p, &slots)) {
			rc->stats.bad++;
			storm_rc_fail(rc, p, "it frees slots that are free");
			return -ENOTCONN;
		}
		if (!slots)
			break;
		n = rc_post_writes(rc, p, buf + done, len - done, seg, slots);
		if (n < 0) {
			storm_rc_fail(rc, p, "cannot post");
			return -ENOTCONN;
		}
		done += (size_t) n;
	}
	if (done < len)
		rc->stats.no_slot++;
	rc_pair_used(&rc->out, p);
	storm_rc_timer(rc);
	return done ? (ssize_t) done : -EAGAIN;
}

uint32_t storm_rc_room(struct storm_rc *rc, enum storm_class c,
		       const struct storm_addr *to)
{
	struct rc_pair *p;
	uint32_t slots;

	rc_reap_sends(rc);
	p = rc_pair_find(rc, c, to);
	return p && p->state == RC_UP && rc_free_slots(p, &slots) ? slots : 0;
}

ssize_t storm_rc_send(struct storm_rc *rc, enum storm_class c,
		      const struct storm_addr *to, const void *buf, size_t len,
		      size_t seg)
{
	struct rc_pair *p;

	if (!len || !seg || !to->port)
		return -EINVAL;
	rc_reap_sends(rc);	/* may end a pair */
	p = rc_pair_find(rc, c, to);
	if (!p)
		storm_rc_consider(rc, c, to);
	if (!p || p->state != RC_UP)
		return -ENOTCONN;
	if (storm_min(len, seg) > p->slot)
		return -EMSGSIZE;
	return rc_send_by(rc, p, buf, len, seg);
}

/* ------------------------------------------------------------- receiving */

static void rc_deliver(struct storm_rc *rc)
{
	size_t n = rc->count;

	rc->count = 0;
	if (n)
		rc->h.datagrams(rc->h.arg, rc->batch, n);
}

static bool rc_take_slot(struct storm_rc *rc, struct rc_pair *p,
			 const struct ibv_wc *wc)
{
	uint32_t imm = ntohl(wc->imm_data);
	uint32_t len = imm & ((1u << LENGTH_BITS) - 1);
	struct storm_rx *rx = &rc->batch[rc->count];

	if (wc->opcode != IBV_WC_RECV_RDMA_WITH_IMM || !len || len > p->slot ||
	    imm >> LENGTH_BITS != (p->head & (p->slots - 1)))
		return false;
	rx->buf = rc->bufs + rc->count++ * rc->conf.slot;
	rx->len = len;
	rx->group = false;
	memcpy(rx->buf, rc_slot_of(p, p->head++), len);
	rc->stats.rx_datagrams++;
	rc->stats.rx_bytes += len;
	return true;
}

static void rc_received(struct storm_rc *rc, const struct ibv_wc *wc)
{
	struct rc_pair *p = rc_working_pair(rc, wc);

	if (!p)
		return;
	if (!rc_take_slot(rc, p, wc)) {
		rc->stats.bad++;
		storm_rc_fail(rc, p, "what it writes is not in its turn");
		return;
	}
	rc_pair_used(&rc->in, p);
	if (storm_rc_post_receives(p, 1) || rc_report_if_due(rc, p))
		storm_rc_fail(rc, p, "cannot post");
}

static bool rc_receive_some(struct storm_rc *rc)
{
	struct ibv_wc wc[RC_BATCH];
	int i, n = ibv_poll_cq(rc->rcq, RC_BATCH, wc);

	for (i = 0; i < n; i++)
		rc_received(rc, &wc[i]);
	rc_deliver(rc);
	return n > 0;
}

/* True: nothing is left, and what comes next wakes us. */
static bool rc_receive_all(struct storm_rc *rc)
{
	for (int round = 0; round < RX_ROUNDS; round++) {
		if (rc_receive_some(rc))
			continue;
		if (rc->armed)
			return true;
		/* then look again: it may have come just before */
		rc->armed = !ibv_req_notify_cq(rc->rcq, 0);
	}
	return false;
}

/* ------------------------------------------------------------------ poll */

static void rc_comp_events(struct storm_rc *rc)
{
	struct ibv_cq *cq;
	unsigned int n = 0;
	void *arg;

	while (!ibv_get_cq_event(rc->comp, &cq, &arg))
		n++;
	if (!n)
		return;
	ibv_ack_cq_events(rc->rcq, n);
	rc->armed = false;
}

void storm_rc_poll(struct storm_rc *rc)
{
	uint64_t ticks;

	if (read(rc->timerfd, &ticks, sizeof(ticks)) > 0)
		storm_rc_cm_tick(rc, storm_now());
	storm_rc_cm_events(rc);
	rc_comp_events(rc);
	rc_reap_sends(rc);
	if (rc_receive_all(rc))
		storm_rc_timer(rc);
	else
		storm_rc_set_timer(rc, 1, RC_TICK);	/* go on at once */
}

int storm_rc_fd(const struct storm_rc *rc)
{
	return rc->epfd;
}

void storm_rc_stats(const struct storm_rc *rc, struct storm_rc_stats *out)
{
	*out = rc->stats;
	out->out = rc->out_count;
	out->in = rc->in_count;
}

/* ------------------------------------------------------- create, destroy */

static bool rc_sane_slots(uint32_t n)
{
	return n >= 4 && n <= SLOTS_MAX && !(n & (n - 1));
}

static bool rc_sane_conf(const struct storm_rc_conf *c)
{
	return c->slot && c->slot <= SLOT_MAX && rc_sane_slots(c->slots[0]) &&
	       rc_sane_slots(c->slots[1]) && c->out_max &&
	       c->out_max <= PAIRS_MAX && c->in_max &&
	       c->in_max <= PAIRS_MAX && c->connecting_max && c->busy &&
	       c->retries && c->retries <= 6 &&
	       c->dead_after >= 10 * STORM_MS;
}

static int rc_watch_fd(struct storm_rc *rc, int fd)
{
	struct epoll_event ev = { .events = EPOLLIN };

	return epoll_ctl(rc->epfd, EPOLL_CTL_ADD, fd, &ev);
}

/* They may be smaller than all pairs together could fill: then fewer pairs. */
static int rc_make_cqs(struct storm_rc *rc)
{
	struct storm_rc_conf *c = &rc->conf;
	uint32_t slots = c->slots[0] > c->slots[1] ? c->slots[0] : c->slots[1];
	struct ibv_device_attr dev;

	if (ibv_query_device(rc->verbs, &dev))
		return -1;
	while (c->in_max > 1 &&
	       (int) ((c->in_max + 1) * slots) > dev.max_cqe)
		c->in_max /= 2;
	while (c->out_max > 1 && (int) ((c->out_max + 1) * slots +
				  c->in_max * RC_REPORTS_MAX) > dev.max_cqe)
		c->out_max /= 2;
	rc->comp = ibv_create_comp_channel(rc->verbs);
	if (!rc->comp)
		return -1;
	/* one more pair each: what one that is gone has left behind */
	rc->rcq = ibv_create_cq(rc->verbs, (c->in_max + 1) * slots, NULL,
				rc->comp, 0);
	rc->scq = ibv_create_cq(rc->verbs, (c->out_max + 1) * slots +
				c->in_max * RC_REPORTS_MAX, NULL, NULL, 0);
	if (!rc->rcq || !rc->scq)
		return -1;
	return fcntl(rc->comp->fd, F_SETFL, O_NONBLOCK);
}

static int rc_open_all(struct storm_rc *rc)
{
	int rc_listen;

	rc->epfd = epoll_create1(EPOLL_CLOEXEC);
	rc->timerfd = timerfd_create(CLOCK_MONOTONIC,
				     TFD_NONBLOCK | TFD_CLOEXEC);
	if (rc->epfd < 0 || rc->timerfd < 0 || rc_watch_fd(rc, rc->timerfd)) {
		storm_log(STORM_LOG_WARN, "cannot create an epoll or timer "
			  "descriptor: %m");
		return STORM_ESYS;
	}
	rc_listen = storm_rc_listen(rc);
	if (rc_listen)
		return rc_listen;
	if (rc_make_cqs(rc) || rc_watch_fd(rc, rc->cm->fd) ||
	    rc_watch_fd(rc, rc->comp->fd)) {
		storm_log(STORM_LOG_WARN, "cannot create the completion "
			  "queues for reliable queue pairs on %s: %m",
			  ibv_get_device_name(rc->verbs->device));
		return STORM_ESYS;
	}
	rc->by_index = calloc(rc->conf.out_max + rc->conf.in_max,
			      sizeof(struct rc_pair *));
	rc->bufs = malloc(RC_BATCH * rc->conf.slot);
	return rc->by_index && rc->bufs ? STORM_OK : STORM_ENOMEM;
}

struct storm_rc *storm_rc_create(const struct storm_rc_conf *conf,
				 const struct storm_net_handler *h, int *err)
{
	struct storm_rc *rc;
	int failed;

	if (!rc_sane_conf(conf)) {
		storm_log(STORM_LOG_WARN, "reliable queue pairs: %u and %u "
			  "slots of %zu bytes, %u and %u pairs, %u retries "
			  "make no sense", conf->slots[0], conf->slots[1],
			  conf->slot, conf->out_max, conf->in_max,
			  conf->retries);
		errno = EINVAL;
		*err = STORM_EINVAL;
		return NULL;
	}
	rc = calloc(1, sizeof(*rc));
	if (!rc) {
		*err = STORM_ENOMEM;
		return NULL;
	}
	rc->conf = *conf;
	rc->h = *h;
	rc->epfd = rc->timerfd = -1;
	TAILQ_INIT(&rc->out);
	TAILQ_INIT(&rc->in);
	failed = rc_open_all(rc);
	if (failed) {
		storm_rc_destroy(rc);
		*err = failed;
		return NULL;
	}
	return rc;
}

static void rc_close_all(struct storm_rc *rc)
{
	if (rc->listener)
		rdma_destroy_id(rc->listener);
	if (rc->scq)
		ibv_destroy_cq(rc->scq);
	if (rc->rcq)
		ibv_destroy_cq(rc->rcq);
	if (rc->comp)
		ibv_destroy_comp_channel(rc->comp);
	if (rc->cm)
		rdma_destroy_event_channel(rc->cm);
	if (rc->timerfd >= 0)
		close(rc->timerfd);
	if (rc->epfd >= 0)
		close(rc->epfd);
}

void storm_rc_destroy(struct storm_rc *rc)
{
	int keep = errno;
	struct rc_pair *p;

	if (!rc)
		return;
	while ((p = TAILQ_FIRST(&rc->out)))
		storm_rc_drop(rc, p);
	while ((p = TAILQ_FIRST(&rc->in)))
		storm_rc_drop(rc, p);
	rc_close_all(rc);
	free(rc->by_index);
	free(rc->bufs);
	free(rc);
	errno = keep;
}
