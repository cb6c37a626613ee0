/*
 * talk_rdma.c - talk.h by RDMA: an unreliable queue pair, which joins the group by
 * the connection manager.  The device writes into the receive buffers while the task
 * stands.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include <poll.h>
#include <rdma/rdma_cma.h>

#include "talk.h"

#define ROOM 64 /* receive buffers: more than both windows */
#define GRH 40	/* bytes before each datagram */

static uint8_t memory[ROOM + 1][GRH + TALK_MOST]; /* the last one is sent */
static struct ibv_mr *mr;
static struct ibv_cq *sent, *come;
static struct ibv_comp_channel *wake;
static struct ibv_ah *to;
static struct rdma_cm_id *id;
static uint32_t to_qp, to_key;

static void check(bool good, const char *what)
{
	if (!good)
		talk_fail(what);
}

static void post(uint64_t i)
{
	struct ibv_sge s = { (uintptr_t) memory[i], sizeof(memory[i]),
			     mr->lkey };
	struct ibv_recv_wr wr = { .wr_id = i, .sg_list = &s, .num_sge = 1 },
			   *bad;

	check(!ibv_post_recv(id->qp, &wr, &bad), "a receive");
}

static void make_queues(void)
{
	struct ibv_qp_init_attr attr = { .qp_type = IBV_QPT_UD,
					 .cap = { .max_send_wr = 4,
						  .max_recv_wr = ROOM,
						  .max_send_sge = 1,
						  .max_recv_sge = 1 } };
	struct ibv_pd *pd = ibv_alloc_pd(id->verbs);

	check(pd, "a protection domain");
	mr = ibv_reg_mr(pd, memory, sizeof(memory), IBV_ACCESS_LOCAL_WRITE);
	check(mr, "memory for RDMA");
	wake = ibv_create_comp_channel(id->verbs);
	check(wake, "a completion channel");
	attr.send_cq = sent = ibv_create_cq(id->verbs, 4, NULL, NULL, 0);
	attr.recv_cq = come = ibv_create_cq(id->verbs, ROOM, NULL, wake, 0);
	check(sent && come && !rdma_create_qp(id, pd, &attr), "a queue pair");
	for (uint64_t i = 0; i < ROOM; i++)
		post(i);
}

void talk_open(struct in_addr own, struct in_addr group, uint16_t port)
{
	struct sockaddr_in from = { .sin_family = AF_INET, .sin_addr = own };
	struct sockaddr_in sin = { .sin_family = AF_INET, .sin_addr = group };
	struct rdma_event_channel *cm = rdma_create_event_channel();
	struct rdma_cm_event *e;

	(void) port;
	check(cm && !rdma_create_id(cm, &id, NULL, RDMA_PS_UDP) &&
		      !rdma_bind_addr(id, (struct sockaddr *) &from) &&
		      id->verbs,
	      "an RDMA device");
	make_queues();
	check(!rdma_join_multicast(id, (struct sockaddr *) &sin, NULL) &&
		      !rdma_get_cm_event(cm, &e) &&
		      e->event == RDMA_CM_EVENT_MULTICAST_JOIN,
	      "the group");
	to = ibv_create_ah(mr->pd, &e->param.ud.ah_attr);
	to_qp = e->param.ud.qp_num;
	to_key = e->param.ud.qkey;
	check(to, "the group's address");
	rdma_ack_cm_event(e);
}

void talk_send(const void *buf, size_t len)
{
	struct ibv_sge s = { (uintptr_t) memory[ROOM], (uint32_t) len,
			     mr->lkey };
	struct ibv_send_wr wr = { .sg_list = &s,
				  .num_sge = 1,
				  .opcode = IBV_WR_SEND,
				  .send_flags = IBV_SEND_SIGNALED,
				  .wr.ud = { to, to_qp, to_key } },
			   *bad;
	struct ibv_wc wc;
	int n;

	memcpy(memory[ROOM], buf, len);
	check(!ibv_post_send(id->qp, &wr, &bad), "a send");
	while (!(n = ibv_poll_cq(sent, 1, &wc)))
		;
	check(n == 1 && wc.status == IBV_WC_SUCCESS, "a send's end");
}

static bool take(void *buf, size_t len)
{
	struct ibv_wc wc;
	int n = ibv_poll_cq(come, 1, &wc);

	check(n >= 0 && (!n || (wc.status == IBV_WC_SUCCESS &&
				wc.byte_len == GRH + len)),
	      "a receive's end");
	if (!n)
		return false;
	memcpy(buf, memory[wc.wr_id] + GRH, len);
	post(wc.wr_id);
	return true;
}

bool talk_receive(void *buf, size_t len, int ms)
{
	struct pollfd p = { .fd = wake->fd, .events = POLLIN };
	struct ibv_cq *cq;
	void *context;

	if (take(buf, len))
		return true;
	check(!ibv_req_notify_cq(come, 0), "a notice");
	if (take(buf, len))
		return true;
	if (poll(&p, 1, ms) == 1) {
		check(!ibv_get_cq_event(wake, &cq, &context), "an event");
		ibv_ack_cq_events(cq, 1);
	}
	return take(buf, len);
}
