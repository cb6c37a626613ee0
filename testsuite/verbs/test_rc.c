/*
 * test_rc.c - reliable queue pairs between ends in one process, over the RDMA
 * device that has the address $RXE_ADDR.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include <arpa/inet.h>
#include <errno.h>
#include <poll.h>
#include <rdma/rdma_cma.h>
#include <sys/resource.h>
#include <unistd.h>

#include "../unit/unit.h"
#include "clock.h"
#include "verbs_rc.h"

#define SLOT 4096
#define SLOTS 16

static const char *address;

/* ------------------------------------------------------------------- ends */

struct end {
	struct storm_rc *rc;
	struct storm_addr at;
	uint32_t next;		/* number that is expected; each begins with it */
	uint64_t bytes;
	bool hold;		/* does not poll */
};

static void numbered(uint8_t *buf, size_t len, uint32_t number)
{
	struct rnd r = rnd_of((int) number);

	rnd_fill(&r, buf, len);
	memcpy(buf, &number, sizeof(number));
}

static void on_datagrams(void *arg, struct storm_rx *rx, size_t n)
{
	uint8_t want[SLOT];
	struct end *e = arg;

	for (size_t i = 0; i < n; i++) {
		must(!rx[i].group && rx[i].len >= 4 && rx[i].len <= SLOT);
		numbered(want, rx[i].len, e->next++);
		must(!memcmp(rx[i].buf, want, rx[i].len));
		e->bytes += rx[i].len;
	}
}

static struct storm_rc_conf conf_at(uint16_t port)
{
	struct storm_rc_conf conf;

	storm_rc_default(&conf);
	must(!storm_addr_set(&conf.self, address, port));
	conf.slot = SLOT;
	conf.slots[STORM_CONTROL] = conf.slots[STORM_BULK] = SLOTS;
	conf.busy = 1;
	return conf;
}

static void end_make(struct end *e, const struct storm_rc_conf *conf)
{
	struct storm_net_handler h = { .datagrams = on_datagrams, .arg = e };
	int err = 0;

	memset(e, 0, sizeof(*e));
	e->at = conf->self;
	e->rc = storm_rc_create(conf, &h, &err);
	if (!e->rc)
		ck_abort_msg("no end: %s", storm_strerror(err));
}

static void end_at(struct end *e, uint16_t port)
{
	struct storm_rc_conf conf = conf_at(port);

	end_make(e, &conf);
}

/* Let some ends do what they have to, until something happens or a while. */
static void turn(struct end **ends, int n)
{
	struct pollfd p[8];
	int i;

	for (i = 0; i < n; i++) {
		p[i].fd = ends[i]->hold ? -1 : storm_rc_fd(ends[i]->rc);
		p[i].events = POLLIN;
	}
	poll(p, (nfds_t) n, 100);
	for (i = 0; i < n; i++)
		if (!ends[i]->hold)
			storm_rc_poll(ends[i]->rc);
}

static struct storm_rc_stats stats(const struct end *e)
{
	struct storm_rc_stats s;

	storm_rc_stats(e->rc, &s);
	return s;
}

/* A datagram that is not meant for the other's count: only to have a pair. */
static void connect_to(struct end *a, struct end *b)
{
	struct end *both[] = { a, b };
	uint64_t was = stats(a).connected;
	uint8_t buf[4];

	numbered(buf, sizeof(buf), 0);
	while (stats(a).connected == was) {
		must(storm_rc_send(a->rc, STORM_CONTROL, &b->at, buf, 4, 4) == -ENOTCONN);
		turn(both, 2);
	}
}

/* ------------------------------------------------------------------- tests */

/* Sent in batches of any size, all arrives once and in order. */
START_TEST(test_order)
{
	struct rnd r = rnd_of(_i);
	uint8_t *buf = malloc(64 * SLOT);
	uint32_t number = 0, total = (uint32_t) unit_runs(3000);
	struct end a, b, *both[] = { &a, &b };
	uint64_t bytes = 0;

	must(buf);
	end_at(&a, 7001);
	end_at(&b, 7002);
	connect_to(&a, &b);
	while (number < total) {
		uint32_t n = 1 + below(&r, 64), i, first = number;
		size_t seg = 4 + below(&r, SLOT - 3), len = 0, off;
		ssize_t taken;

		for (i = 0; i < n; i++) {
			size_t l = i + 1 < n ? seg : 4 + below(&r, seg - 3);

			numbered(buf + len, l, number++);
			len += l;
		}
		for (off = 0; off < len; ) {
			taken = storm_rc_send(a.rc, STORM_CONTROL, &b.at, buf + off,
					      len - off, seg);
			if (taken == -EAGAIN) {
				turn(both, 2);
				continue;
			}
			must(taken > 0);
			off += (size_t) taken;
			/* whole segments, or all */
			must(off == len || off % seg == 0);
		}
		must(number - first == n);
		bytes += len;
	}
	while (b.next < number)
		turn(both, 2);
	must(b.bytes == bytes);
	must(stats(&a).tx_datagrams == number);
	must(stats(&b).rx_bytes == bytes);
	must(stats(&a).failed == 0 && stats(&b).failed == 0);
	must(stats(&a).no_slot > 0);
	storm_rc_destroy(a.rc);
	storm_rc_destroy(b.rc);
	free(buf);
}
END_TEST

/* A receiver that does not come round to reading is sent what it has room for,
 * and no more; then again. */
START_TEST(test_credits)
{
	struct end a, b, *both[] = { &a, &b };
	uint32_t number = 0;
	uint8_t buf[64];

	end_at(&a, 7001);
	end_at(&b, 7002);
	connect_to(&a, &b);
	for (int round = 0; round < 20; round++) {
		ssize_t r = 0;
		uint32_t n = 0;

		b.hold = true;
		while (n < 2 * SLOTS) {
			numbered(buf, sizeof(buf), number);
			r = storm_rc_send(a.rc, STORM_CONTROL, &b.at, buf, sizeof(buf),
					  sizeof(buf));
			if (r < 0)
				break;
			must(r == sizeof(buf));
			number++;
			n++;
		}
		must(r == -EAGAIN);
		/* it has told of all but what is less than a quarter */
		must(n <= SLOTS && n > SLOTS - SLOTS / 4);
		b.hold = false;
		while (b.next < number)
			turn(both, 2);
		/* and what was told must come through */
		while (stats(&a).failed == 0) {
			uint64_t was = stats(&a).tx_datagrams;

			numbered(buf, sizeof(buf), number);
			if (storm_rc_send(a.rc, STORM_CONTROL, &b.at, buf, sizeof(buf),
					  sizeof(buf)) > 0)
				number++;
			turn(both, 2);
			if (stats(&a).tx_datagrams > was && b.next == number &&
			    number % (SLOTS / 4) == 0)
				break;
		}
		/* the word is written without waking us: a few turns */
		for (int i = 0; i < 20; i++)
			turn(both, 2);
	}
	must(stats(&a).failed == 0 && stats(&b).bad == 0);
	storm_rc_destroy(a.rc);
	storm_rc_destroy(b.rc);
}
END_TEST

/* Two that speak with each other have two pairs. */
START_TEST(test_both_ways)
{
	struct end a, b, *both[] = { &a, &b };
	uint32_t to_a = 0, to_b = 0;
	uint8_t buf[512];

	end_at(&a, 7001);
	end_at(&b, 7002);
	while (to_a < 500 || to_b < 500) {
		numbered(buf, sizeof(buf), to_b);
		if (to_b < 500 && storm_rc_send(a.rc, STORM_CONTROL, &b.at, buf, sizeof(buf),
						sizeof(buf)) > 0)
			to_b++;
		numbered(buf, sizeof(buf), to_a);
		if (to_a < 500 && storm_rc_send(b.rc, STORM_CONTROL, &a.at, buf, sizeof(buf),
						sizeof(buf)) > 0)
			to_a++;
		turn(both, 2);
	}
	while (a.next < 500 || b.next < 500)
		turn(both, 2);
	must(stats(&a).out == 1 && stats(&a).in == 1);
	must(stats(&b).out == 1 && stats(&b).in == 1);
	storm_rc_destroy(a.rc);
	storm_rc_destroy(b.rc);
}
END_TEST

/* The other end goes, and comes again at the same address. */
START_TEST(test_reconnect)
{
	struct end a, b, *both[] = { &a, &b };
	uint8_t buf[4];

	end_at(&a, 7001);
	end_at(&b, 7002);
	connect_to(&a, &b);
	storm_rc_destroy(b.rc);
	while (stats(&a).out)
		turn(both, 1);
	numbered(buf, 4, 0);
	must(storm_rc_send(a.rc, STORM_CONTROL, &b.at, buf, 4, 4) == -ENOTCONN);
	end_at(&b, 7002);
	connect_to(&a, &b);
	must(storm_rc_send(a.rc, STORM_CONTROL, &b.at, buf, 4, 4) == 4);
	while (b.next < 1)
		turn(both, 2);
	storm_rc_destroy(a.rc);
	storm_rc_destroy(b.rc);
}
END_TEST

static char said[2048];

static void listen_to(enum storm_log_level level, const char *msg)
{
	size_t n = strlen(said);

	if (level <= STORM_LOG_INFO)
		snprintf(said + n, sizeof(said) - n, "%s\n", msg);
}

static void keep_log(void)
{
	said[0] = 0;
	storm_log_set(listen_to);
}

/* Where nobody listens there is no pair, and no try after each datagram. */
START_TEST(test_nobody)
{
	struct end a, *one[] = { &a };
	struct storm_addr to;
	uint8_t buf[4] = "";

	end_at(&a, 7001);
	must(!storm_addr_set(&to, address, 7999));
	keep_log();
	while (!stats(&a).failed) {
		must(storm_rc_send(a.rc, STORM_CONTROL, &to, buf, 4, 4) == -ENOTCONN);
		turn(one, 1);
	}
	for (int i = 0; i < 100; i++) {
		must(storm_rc_send(a.rc, STORM_CONTROL, &to, buf, 4, 4) == -ENOTCONN);
		must(stats(&a).out == 0);
	}
	must(strstr(said, "no queue pair to") && strstr(said, "port 7999") &&
	     strstr(said, "single datagrams"));
	storm_rc_destroy(a.rc);
}
END_TEST

/* No more pairs than may be; one that nobody uses makes room. */
START_TEST(test_caps)
{
	struct storm_rc_conf conf = conf_at(7001);
	struct end a, b[3], *all[] = { &a, &b[0], &b[1], &b[2] };
	uint8_t buf[4];
	int i;

	conf.out_max = 2;
	end_make(&a, &conf);
	for (i = 0; i < 3; i++)
		end_at(&b[i], (uint16_t) (7002 + i));
	connect_to(&a, &b[0]);
	connect_to(&a, &b[1]);
	numbered(buf, 4, 0);
	must(storm_rc_send(a.rc, STORM_CONTROL, &b[2].at, buf, 4, 4) == -ENOTCONN);
	must(stats(&a).out == 2 && stats(&a).evicted == 0);
	/* in time the one that is used least is given up, not the other one */
	while (stats(&a).connected < 3) {
		numbered(buf, 4, b[1].next);
		must(storm_rc_send(a.rc, STORM_CONTROL, &b[1].at, buf, 4, 4) == 4);
		numbered(buf, 4, 0);
		storm_rc_send(a.rc, STORM_CONTROL, &b[2].at, buf, 4, 4);
		for (uint32_t had = b[1].next; b[1].next == had; )
			turn(all, 4);
	}
	must(stats(&a).out == 2 && stats(&a).evicted == 1);
	while (stats(&b[0]).in)
		turn(all, 4);
	must(stats(&b[1]).in == 1 && stats(&b[2]).in == 1);
	storm_rc_destroy(a.rc);
	for (i = 0; i < 3; i++)
		storm_rc_destroy(b[i].rc);
}
END_TEST

/* An end that has all the pairs it accepts refuses one more, and keeps those. */
START_TEST(test_refused)
{
	struct storm_rc_conf conf = conf_at(7001);
	struct end a, b, c, *all[] = { &a, &b, &c };
	uint8_t buf[4];

	conf.in_max = 1;
	end_make(&a, &conf);
	end_at(&b, 7002);
	end_at(&c, 7003);
	connect_to(&b, &a);
	numbered(buf, 4, 0);
	while (!stats(&c).failed) {
		numbered(buf, 4, a.next);
		must(storm_rc_send(b.rc, STORM_CONTROL, &a.at, buf, 4, 4) == 4);
		storm_rc_send(c.rc, STORM_CONTROL, &a.at, buf, 4, 4);
		for (uint32_t had = a.next; a.next == had; )
			turn(all, 3);
	}
	must(stats(&a).refused == 1 && stats(&a).in == 1);
	must(stats(&b).out == 1);
	storm_rc_destroy(a.rc);
	storm_rc_destroy(b.rc);
	storm_rc_destroy(c.rc);
}
END_TEST

/* ----------------------------------------------------------- ill-behaved */

/* Someone who connects by hand, and what he was told. */
struct raw {
	struct rdma_event_channel *cm;
	struct rdma_cm_id *id;
	struct ibv_pd *pd;
	struct ibv_cq *cq;
	struct ibv_mr *mr;
	uint8_t mem[SLOT];
	uint64_t ring;
	uint32_t rkey;
};

/* The next event, while the end it is of goes on. */
static int raw_event(struct raw *w, struct end *a, uint8_t *private)
{
	struct rdma_cm_event *ev;
	struct pollfd p = { .fd = w->cm->fd, .events = POLLIN };
	int event;

	while (poll(&p, 1, 10) != 1)
		storm_rc_poll(a->rc);
	must(!rdma_get_cm_event(w->cm, &ev));
	event = ev->event;
	if (private && event == RDMA_CM_EVENT_ESTABLISHED)
		memcpy(private, ev->param.conn.private_data, 24);
	rdma_ack_cm_event(ev);
	return event;
}

static int raw_connect(struct raw *w, struct end *a, const void *private,
		       uint8_t private_len, uint8_t *answer)
{
	struct sockaddr_in to = { .sin_family = AF_INET,
				  .sin_port = htons(a->at.port) };
	struct ibv_qp_init_attr attr = {
		.qp_type = IBV_QPT_RC, .cap = { 64, 4, 1, 1, 0 } };
	struct rdma_conn_param param = {
		.private_data = private, .private_data_len = private_len,
		.retry_count = 6, .rnr_retry_count = 6,
	};

	memset(w, 0, sizeof(*w));
	memcpy(&to.sin_addr, a->at.ip + 12, 4);
	w->cm = rdma_create_event_channel();
	must(w->cm && !rdma_create_id(w->cm, &w->id, NULL, RDMA_PS_TCP));
	must(!rdma_resolve_addr(w->id, NULL, (struct sockaddr *) &to, 2000));
	must(raw_event(w, a, NULL) == RDMA_CM_EVENT_ADDR_RESOLVED);
	must(!rdma_resolve_route(w->id, 2000));
	must(raw_event(w, a, NULL) == RDMA_CM_EVENT_ROUTE_RESOLVED);
	w->pd = ibv_alloc_pd(w->id->verbs);
	w->cq = ibv_create_cq(w->id->verbs, 256, NULL, NULL, 0);
	must(w->pd && w->cq);
	w->mr = ibv_reg_mr(w->pd, w->mem, sizeof(w->mem),
			   IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);
	attr.send_cq = attr.recv_cq = w->cq;
	must(w->mr && !rdma_create_qp(w->id, w->pd, &attr));
	must(!rdma_connect(w->id, &param));
	return raw_event(w, a, answer);
}

static void raw_free(struct raw *w)
{
	rdma_destroy_qp(w->id);
	ibv_dereg_mr(w->mr);
	ibv_destroy_cq(w->cq);
	ibv_dealloc_pd(w->pd);
	rdma_destroy_id(w->id);
	rdma_destroy_event_channel(w->cm);
}

/* What a good one tells: version 1, 16 slots of 4096, some word to write to. */
static void hello(uint8_t *p, uint8_t version, uint16_t slots, uint32_t slot)
{
	memset(p, 0, 24);
	memcpy(p, "STRC", 4);
	p[4] = version;
	slots = htons(slots);
	slot = htonl(slot);
	memcpy(p + 6, &slots, 2);
	memcpy(p + 8, &slot, 4);
}

START_TEST(test_hostile_hello)
{
	static const struct {
		uint8_t version;
		uint16_t slots;
		uint32_t slot;
		uint8_t len;
	} bad[] = {
		{ 2, 16, 4096, 24 }, { 1, 0, 4096, 24 }, { 1, 3, 4096, 24 },
		{ 1, 17, 4096, 24 }, { 1, 16, 0, 24 }, { 1, 16, 4096, 3 },
		{ 1, 16, 4096, 0 },
	};
	uint8_t private[24];
	struct raw w;
	struct end a;

	end_at(&a, 7001);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		hello(private, bad[i].version, bad[i].slots, bad[i].slot);
		must(raw_connect(&w, &a, private, bad[i].len, NULL) ==
		     RDMA_CM_EVENT_REJECTED);
		raw_free(&w);
	}
	must(stats(&a).in == 0);
	must(stats(&a).refused == sizeof(bad) / sizeof(bad[0]));
	storm_rc_destroy(a.rc);
}
END_TEST

static void raw_write(struct raw *w, uint64_t offset, uint32_t len,
		      uint32_t imm)
{
	struct ibv_sge sge = { (uintptr_t) w->mem, len, w->mr->lkey };
	struct ibv_send_wr *bad, wr = {
		.sg_list = &sge, .num_sge = len ? 1 : 0,
		.opcode = IBV_WR_RDMA_WRITE_WITH_IMM,
		.send_flags = IBV_SEND_SIGNALED, .imm_data = htonl(imm),
		.wr.rdma = { w->ring + offset, w->rkey },
	};

	must(!ibv_post_send(w->id->qp, &wr, &bad));
}

/* Each is thrown out, and what he says is not read. */
START_TEST(test_hostile_writes)
{
	static const struct {
		uint64_t offset;
		uint32_t len, imm;
	} bad[] = {
		{ 0, 64, 1 << 20 | 64 },	/* not the first slot */
		{ 0, 64, 16 << 20 | 64 },	/* there is none such */
		{ 0, 64, 0 },			/* nothing */
		{ 0, 64, 4097 },		/* more than a slot */
		{ 0, 64, 0xfffff },
		{ 16 * 4096, 64, 64 },		/* behind the ring */
		{ 16 * 4096 - 4, 64, 64 },
	};
	uint8_t private[24], answer[24];
	struct raw w;
	struct end a, *one[] = { &a };

	end_at(&a, 7001);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		hello(private, 1, 16, 4096);
		must(raw_connect(&w, &a, private, 24, answer) ==
		     RDMA_CM_EVENT_ESTABLISHED);
		memcpy(&w.rkey, answer + 12, 4);
		memcpy(&w.ring, answer + 16, 8);
		w.rkey = ntohl(w.rkey);
		w.ring = be64toh(w.ring);
		must(stats(&a).in == 1);
		raw_write(&w, bad[i].offset, bad[i].len, bad[i].imm);
		while (stats(&a).in)
			turn(one, 1);
		must(stats(&a).rx_datagrams == 0);
		raw_free(&w);
	}
	must(stats(&a).accepted == sizeof(bad) / sizeof(bad[0]));
	storm_rc_destroy(a.rc);
}
END_TEST

/* He takes what is told of free slots where he likes: not even there. */
START_TEST(test_no_word)
{
	uint8_t private[24], answer[24];
	struct end a, *one[] = { &a };
	struct raw w;

	end_at(&a, 7001);
	hello(private, 1, 16, 4096);	/* a word that is none */
	must(raw_connect(&w, &a, private, 24, answer) ==
	     RDMA_CM_EVENT_ESTABLISHED);
	memcpy(&w.rkey, answer + 12, 4);
	memcpy(&w.ring, answer + 16, 8);
	w.rkey = ntohl(w.rkey);
	w.ring = be64toh(w.ring);
	for (uint32_t i = 0; i < SLOTS / 4; i++) {
		numbered(w.mem, 64, i);
		raw_write(&w, i * 4096, 64, i << 20 | 64);
		while (a.next <= i)
			turn(one, 1);
	}
	while (stats(&a).in)
		turn(one, 1);
	raw_free(&w);
	storm_rc_destroy(a.rc);
}
END_TEST

/* -------------------------------------------------------------- no memory */

/* A user who may lock nothing is told so, once, and goes on without. */
START_TEST(test_memlock)
{
	struct rlimit none = { 4096, 4096 };
	struct end a, b, *both[] = { &a, &b };
	uint8_t buf[4];

	must(!setgid(65534) && !setuid(65534));
	end_at(&a, 7001);
	end_at(&b, 7002);
	must(!setrlimit(RLIMIT_MEMLOCK, &none));
	keep_log();
	numbered(buf, 4, 0);
	while (!stats(&a).failed) {
		must(storm_rc_send(a.rc, STORM_CONTROL, &b.at, buf, 4, 4) == -ENOTCONN);
		turn(both, 2);
	}
	must(strstr(said, "ulimit -l") && strstr(said, "4 KiB"));
	must(storm_rc_send(a.rc, STORM_CONTROL, &b.at, buf, 4, 4) == -ENOTCONN);
	storm_rc_destroy(a.rc);
	storm_rc_destroy(b.rc);
}
END_TEST

/* An address that is no RDMA device's, a port that is in use. */
START_TEST(test_create_fails)
{
	struct storm_net_handler h = { .datagrams = on_datagrams };
	struct storm_rc_conf conf = conf_at(7001);
	struct end a;
	int err = 0;

	end_at(&a, 7001);
	keep_log();
	must(!storm_rc_create(&conf, &h, &err) && err == STORM_ESYS);
	must(strstr(said, "in use") && strstr(said, "7001"));
	must(!storm_addr_set(&conf.self, "127.0.0.1", 7001));
	must(!storm_rc_create(&conf, &h, &err) && err == STORM_ESYS);
	must(strstr(said, "127.0.0.1"));
	conf = conf_at(7003);
	conf.retries = 7;
	must(!storm_rc_create(&conf, &h, &err) && err == STORM_EINVAL);
	must(strstr(said, "7 retries make no sense"));
	storm_rc_destroy(a.rc);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("verbs_rc");
	TCase *c = tcase_create("verbs_rc");

	address = getenv("RXE_ADDR");
	if (!address) {
		puts("SKIP: no RDMA device named by RXE_ADDR");
		return 77;
	}
	tcase_set_timeout(c, 120);
	tcase_add_test(c, test_order);
	tcase_add_test(c, test_credits);
	tcase_add_test(c, test_both_ways);
	tcase_add_test(c, test_reconnect);
	tcase_add_test(c, test_nobody);
	tcase_add_test(c, test_caps);
	tcase_add_test(c, test_refused);
	tcase_add_test(c, test_hostile_hello);
	tcase_add_test(c, test_hostile_writes);
	tcase_add_test(c, test_no_word);
	tcase_add_test(c, test_memlock);
	tcase_add_test(c, test_create_fails);
	suite_add_tcase(s, c);
	return unit_main(s);
}
