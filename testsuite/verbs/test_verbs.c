/*
 * test_verbs.c - the transport over RDMA verbs, between ends in one process on one
 * device: STORM_DEVICE, or what the machines have.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#define _GNU_SOURCE
#include <errno.h>
#include <glob.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../unit/unit.h"
#include "src/libstorm/base/clock.h"
#include "src/libstorm/transport/udp/udp.h"
#include "src/libstorm/transport/verbs/verbs_private.h"

#define PORT 18500
#define PATIENCE (40 * STORM_SEC)
#define NOBODY 65534

static const char *device;

/* ------------------------------------------------------------------- ends */

struct end {
	struct storm_verbs *v;
	struct storm_udp *u; /* or */
	struct storm_transport *t;
	struct storm_addr self;
	size_t count, in_group, bytes;
	uint8_t last[4096];
	size_t last_len;
	size_t control_at; /* when "control" came: its number */
	uint32_t order;	   /* number that is expected */
	bool disorder;
};

static struct end node, other, owner;
static struct storm_settings set;
static char log_text[4096];

static void keep_log(enum storm_log_level level, const char *msg)
{
	size_t n = strlen(log_text);

	if (getenv("STORM_TEST_LOG"))
		fprintf(stderr, "%d: %s\n", level, msg);
	if (level <= STORM_LOG_INFO)
		snprintf(log_text + n, sizeof(log_text) - n, "%s\n", msg);
}

static void on_datagrams(void *arg, struct storm_rx *rx, size_t n)
{
	struct end *e = arg;

	for (size_t i = 0; i < n; i++) {
		uint32_t number = 0;

		must(rx[i].len <= sizeof(e->last));
		memcpy(e->last, rx[i].buf, rx[i].len);
		memcpy(&number, e->last, sizeof(number));
		e->disorder |= number != e->order++;
		e->last_len = rx[i].len;
		e->bytes += rx[i].len;
		e->in_group += rx[i].group;
		e->count++;
		if (rx[i].len == 7 && !memcmp(rx[i].buf, "control", 7))
			e->control_at = e->count;
	}
}

static void on_stream(void *arg, uint64_t stream, const void *buf, size_t len)
{
	struct end *e = arg;

	(void) buf;
	(void) len;
	e->t->ops->end_stream(e->t, stream, STORM_OK);
}

static void on_failed(void *arg, uint64_t session, uint32_t n,
		      enum storm_err why, int sys)
{
	(void) arg;
	(void) session;
	(void) n;
	(void) why;
	(void) sys;
}

static int open_end(struct end *e, enum storm_role role, uint16_t port)
{
	struct storm_net_handler h = {
		.datagrams = on_datagrams,
		.stream = on_stream,
		.stream_failed = on_failed,
		.arg = e,
	};
	int err = STORM_OK;
	uint64_t end;

	memset(e, 0, sizeof(*e));
	set.port = port;
	e->v = storm_verbs_create(&set, role, NULL, &h, &err);
	if (!e->v)
		return err;
	e->t = storm_verbs_transport(e->v);
	storm_verbs_self(e->v, &e->self);
	/* what is sent to a group before would be lost */
	end = storm_now() + PATIENCE;
	while (e->v->joins && storm_now() < end)
		storm_verbs_poll(e->v);
	return STORM_OK;
}

static void close_end(struct end *e)
{
	storm_verbs_destroy(e->v);
	storm_udp_destroy(e->u);
	memset(e, 0, sizeof(*e));
}

static void setup(void)
{
	storm_log_set(keep_log);
	log_text[0] = 0; /* of the test before, by valgrind */
	storm_settings_default(&set);
	set.transport = STORM_TRANSPORT_VERBS;
	set.transport_fallback = false;
	snprintf(set.device, sizeof(set.device), "%s", device);
	set.groups = 2;
	set.recv_depth = 256;
}

static void teardown(void)
{
	close_end(&node);
	close_end(&other);
	close_end(&owner);
}

static void serve(struct end *e)
{
	struct pollfd p = { .fd = e->v ? storm_verbs_fd(e->v) :
				  e->u ? storm_udp_fd(e->u) :
					 -1,
			    .events = POLLIN };

	if (p.fd < 0 || poll(&p, 1, 0) <= 0)
		return;
	if (e->v)
		storm_verbs_poll(e->v);
	else
		storm_udp_poll(e->u);
}

static void serve_all(void)
{
	serve(&node);
	serve(&other);
	serve(&owner);
}

#define untilx(cond, meanwhile)                                      \
	({                                                           \
		uint64_t give_up_ = storm_now() + PATIENCE;          \
		bool holds_;                                         \
		while (!(holds_ = (cond)) && storm_now() < give_up_) \
			meanwhile;                                   \
		holds_;                                              \
	})
#define until(cond) untilx(cond, serve_all())

/* What was sent before has arrived, as far as it will. */
static void settle(void)
{
	uint64_t end = storm_now() + 300 * STORM_MS;

	while (storm_now() < end)
		serve_all();
}

static struct storm_verbs_stats stats_of(const struct end *e)
{
	struct storm_verbs_stats s;

	storm_verbs_stats(e->v, &s);
	return s;
}

static int say(struct end *from, const struct storm_addr *to, const char *text)
{
	return from->t->ops->send(from->t, STORM_CONTROL, to, text,
				  strlen(text), 4096);
}

/* Datagrams may be lost, and a join may be under way again: say it until it is
 * heard. */
static bool group_hears(struct end *from, const struct storm_addr *g,
			struct end *to)
{
	size_t before = to->in_group;

	return until(({
		say(from, g, "to all");
		usleep(20000);
		serve_all();
		to->in_group > before;
	}));
}

/* As if the device were that slow: the last of its places are taken, or not. */
static void hold(struct end *e, bool on)
{
	struct verbs_send *s = &e->v->send[STORM_BULK];

	s->used += on ? s->depth : -s->depth;
}

static void open_both(void)
{
	ck_assert_int_eq(open_end(&node, STORM_ROLE_NODE, PORT), STORM_OK);
	ck_assert_int_eq(open_end(&owner, STORM_ROLE_OWNER, 0), STORM_OK);
}

static struct storm_addr group(uint32_t i)
{
	struct storm_addr a = set.group;

	a.ip[15] = (uint8_t) (a.ip[15] + i);
	return a;
}

/* ----------------------------------------------------------------- unicast */

START_TEST(test_unicast)
{
	size_t mtu;
	uint8_t buf[4096];

	open_both();
	mtu = owner.t->ops->mtu(owner.t);
	must(mtu >= 256 && mtu <= sizeof(buf));
	for (size_t len = 1; len <= mtu; len += len < 70 ? 1 : 149) {
		enum storm_class c = len & 1 ? STORM_CONTROL : STORM_BULK;
		size_t n = node.count;

		memset(buf, (int) len, sizeof(buf));
		must(until(owner.t->ops->send(owner.t, c, &node.self, buf, len,
					      mtu) != -EAGAIN));
		must(until(node.count == n + 1));
		must(node.last_len == len && node.last[len - 1] == buf[0]);
	}
	must(!say(&node, &owner.self, "back"));
	must(until(owner.count == 1) && owner.last_len == 4);
	must(owner.t->ops->send(owner.t, STORM_BULK, &node.self, buf, mtu + 1,
				mtu + 1) < 0);
	must(!stats_of(&owner).udp_tx_datagrams &&
	     !stats_of(&node).udp_rx_datagrams);
	must(!node.in_group);
}
END_TEST

/* A send in segments: each a datagram, in order, whole or not at all. */
START_TEST(test_segments)
{
	enum { N = 44, SEG = 1000 };
	static uint8_t buf[N * SEG];

	open_both();
	for (uint32_t i = 0; i < N; i++)
		memcpy(buf + i * SEG, &i, sizeof(i));
	must(until(owner.t->ops->send(owner.t, STORM_BULK, &node.self, buf,
				      sizeof(buf) - 10, SEG) != -EAGAIN));
	must(until(node.count == N));
	must(!node.disorder && node.last_len == SEG - 10 &&
	     node.bytes == sizeof(buf) - 10);
}
END_TEST

/* The send queue has an end: never more work than it takes, and control has its
 * own. */
START_TEST(test_full)
{
	static uint8_t buf[44 * 1000];
	struct storm_verbs_stats s, before;

	open_both();
	must(!say(&owner, &node.self, "?") && until(node.count == 1));
	for (int i = 0; i < 100; i++) {
		must(!owner.t->ops->send(owner.t, STORM_BULK, &node.self, buf,
					 sizeof(buf), 1000));
		s = stats_of(&owner);
		must(s.queue[STORM_BULK].sends -
			     s.queue[STORM_BULK].completed <=
		     VERBS_BULK_SENDS);
	}
	hold(&owner, true);
	before = stats_of(&owner);
	ck_assert_int_eq(owner.t->ops->send(owner.t, STORM_BULK, &node.self,
					    buf, sizeof(buf), 1000),
			 -EAGAIN);
	must(!say(&owner, &node.self, "control"));
	s = stats_of(&owner);
	must(s.queue[STORM_BULK].full > before.queue[STORM_BULK].full);
	must(s.queue[STORM_BULK].sends == before.queue[STORM_BULK].sends);
	must(s.queue[STORM_CONTROL].sends ==
	     before.queue[STORM_CONTROL].sends + 1);
	hold(&owner, false);
	must(until(!owner.t->ops->send(owner.t, STORM_BULK, &node.self, buf,
				       sizeof(buf), 1000)));
}
END_TEST

/* A node that relays keeps what its queue has no room for. */
START_TEST(test_keeps)
{
	enum { N = 60 };
	static uint8_t buf[44 * 1000];
	struct storm_verbs_stats s;

	set.recv_depth = N * 44 + 1;
	ck_assert_int_eq(open_end(&node, STORM_ROLE_NODE, PORT), STORM_OK);
	ck_assert_int_eq(open_end(&other, STORM_ROLE_NODE, PORT + 1), STORM_OK);
	must(!say(&node, &other.self, "?") && until(other.count == 1));
	other.order = 0;
	other.disorder = false;
	for (uint32_t i = 0; i < N; i++) {
		if (i == 5)
			hold(&node, true);
		for (uint32_t k = 0; k < 44; k++) {
			uint32_t number = i * 44 + k;

			memcpy(buf + k * 1000, &number, sizeof(number));
		}
		must(!node.t->ops->send(node.t, STORM_BULK, &other.self, buf,
					sizeof(buf), 1000));
	}
	settle();
	must(other.count == 1 + 5 * 44);
	hold(&node, false);
	say(&other, &node.self, "wake"); /* as a completion would */
	must(until(other.count == 1 + N * 44));
	must(!other.disorder);
	s = stats_of(&node);
	must(s.queue[STORM_BULK].kept == N - 5);
}
END_TEST

/* A peer that ends and restarts is found again. */
START_TEST(test_reborn)
{
	struct storm_addr at;
	uint32_t qkey;

	open_both();
	at = node.self;
	qkey = node.v->qkey;
	must(!say(&owner, &at, "one") && until(node.count == 1));
	close_end(&node);
	ck_assert_int_eq(open_end(&node, STORM_ROLE_NODE, PORT), STORM_OK);
	must(node.v->qkey != qkey); /* what was sent to the one before */
	must(!memcmp(&at, &node.self, sizeof(at)));
	must(until(({
		say(&owner, &at, "two");
		usleep(20000);
		node.count;
	})));
}
END_TEST

static int wait_for(const struct end *e)
{
	struct pollfd p = { .fd = storm_verbs_fd(e->v), .events = POLLIN };

	return poll(&p, 1, (int) (PATIENCE / STORM_MS));
}

static bool is_armed(const struct end *e)
{
	for (int i = 0; i < VERBS_RECVS; i++)
		if (e->v->recv[i].cq && !e->v->recv[i].armed)
			return false;
	return true;
}

/* An idle end sleeps until the device wakes it; a busy one polls. */
START_TEST(test_idle_and_busy)
{
	enum { N = 20, EACH = 44 };
	static uint8_t buf[EACH * 1000];
	struct pollfd p = { .events = POLLIN };

	set.recv_depth = N * EACH + 64;
	open_both();
	must(!say(&owner, &node.self, "one") && until(node.count == 1));
	p.fd = storm_verbs_fd(node.v);
	must(until(is_armed(&node) && !poll(&p, 1, 0)));
	must(!say(&owner, &node.self, "two"));
	while (node.count < 2) {
		must(wait_for(&node) == 1);
		storm_verbs_poll(node.v);
	}
	for (int i = 0; i < N; i++)
		must(untilx(!owner.t->ops->send(owner.t, STORM_BULK, &node.self,
						buf, sizeof(buf), 1000),
			    storm_verbs_poll(owner.v)));
	must(untilx(stats_of(&owner).queue[STORM_BULK].completed == N * EACH,
		    storm_verbs_poll(owner.v)));
	usleep(200000); /* software's is there soon */
	storm_verbs_poll(node.v);
	must(node.count < 2 + N * EACH);
	/* as much as it takes at once, if so much has come by now */
	must(node.count - 2 < VERBS_RECEIVE_BUDGET ||
	     (node.v->again_on && !node.v->recv[STORM_BULK].armed));
	must(until(node.count == 2 + N * EACH));
	must(until(is_armed(&node)));
}
END_TEST

/* ------------------------------------------------------------------ groups */

START_TEST(test_group)
{
	struct storm_addr g = group(1);

	open_both();
	ck_assert_int_eq(open_end(&other, STORM_ROLE_NODE, PORT + 1), STORM_OK);
	owner.t->ops->group(owner.t, &g, 77, true);
	node.t->ops->group(node.t, &g, 77, true);
	other.t->ops->group(other.t, &g, 78, true); /* another session */
	other.t->ops->group(other.t, &g, 77, true); /* waits */
	must(!say(&owner, &g, "hear"));
	must(until(node.count == 1));
	must(node.in_group == 1 && node.last_len == 4);
	settle();
	must(!other.count && node.count == 1);
	other.t->ops->group(other.t, &g, 78, false);
	must(!say(&owner, &g, "again"));
	must(until(node.count == 2 && other.count == 1));
	node.t->ops->group(node.t, &g, 77, false);
	must(!say(&owner, &g, "more"));
	must(until(other.count == 2));
	settle();
	must(node.count == 2);
	must(stats_of(&owner).tx_group == 3 &&
	     !stats_of(&owner).udp_tx_datagrams);
}
END_TEST

/* More bulk than a node that is busy has room for: control, sent last, is not
 * lost with it, and is behind no more than two batches of it. */
START_TEST(test_group_full)
{
	enum { DEPTH = 64, N = 4, EACH = 44 };
	static uint8_t buf[EACH * 1000];
	struct storm_verbs_stats s;
	struct storm_addr g = group(1);

	set.recv_depth = DEPTH;
	open_both();
	node.t->ops->group(node.t, &g, 77, true);
	owner.t->ops->group(owner.t, &g, 77, true);
	for (int i = 0; i < N; i++)
		must(!owner.t->ops->send(owner.t, STORM_BULK, &g, buf,
					 sizeof(buf), 1000));
	/* sent is received: it is the same device */
	must(untilx(stats_of(&owner).queue[STORM_BULK].completed == N * EACH,
		    storm_verbs_poll(owner.v)));
	must(!say(&owner, &g, "control"));
	must(untilx(stats_of(&owner).queue[STORM_CONTROL].completed == 1,
		    storm_verbs_poll(owner.v)));
	usleep(100000); /* and software's is there soon */
	must(until(node.control_at));
	must(node.control_at <= 2 * 32 + 1);
	settle();
	s = stats_of(&node);
	must(node.count == DEPTH + 1 && node.in_group == node.count);
	must(s.queue[STORM_BULK].empty == 1 &&
	     s.queue[STORM_CONTROL].empty == 0);
	must(strstr(log_text, "full (64 datagrams)") &&
	     strstr(log_text, "raise ReceiveQueue in storm.conf"));
	must(s.queue[STORM_CONTROL].group == 1 &&
	     s.queue[STORM_BULK].group == DEPTH);
}
END_TEST

/* A sender's own multicasts that come back are not received. */
START_TEST(test_own_copies)
{
	struct storm_addr g = group(0);

	ck_assert_int_eq(open_end(&node, STORM_ROLE_NODE, PORT), STORM_OK);
	ck_assert_int_eq(open_end(&other, STORM_ROLE_NODE, PORT + 1), STORM_OK);
	node.t->ops->group(node.t, &g, 5, true);
	other.t->ops->group(other.t, &g, 5, true);
	must(!say(&node, &g, "all but me"));
	must(until(other.count == 1 && stats_of(&node).own_copies == 1));
	must(!node.count && !stats_of(&other).own_copies);
}
END_TEST

/* As on InfiniBand, where an owner asks for the group as one that only sends: it
 * has no queue pair in it, hears nothing, and needs no privilege. */
START_TEST(test_send_only)
{
	struct verbs_member *m;
	struct storm_addr g = group(0);

	open_both();
	owner.v->port.ethernet = false;
	node.t->ops->group(node.t, &g, 5, true);
	owner.t->ops->group(owner.t, &g, 5, true);
	must(say(&owner, &g, "not yet") < 0);
	m = &owner.v->group[0].by[STORM_CONTROL];
	must(m->asked && !m->joined && !m->qp);
	must(until(m->joined) && !m->attached);
	must(group_hears(&owner, &g, &node));
	must(!owner.count && m->ah);
}
END_TEST

/* ------------------------------------------------- what befalls a subnet */

/* The manager reports the loss of a group in this way when another subnet
 * manager has taken over. */
static void group_is_lost(struct end *e, struct verbs_member *m)
{
	struct rdma_cm_event ev = {
		.id = e->v->joiner,
		.event = RDMA_CM_EVENT_MULTICAST_ERROR,
		.status = -ENETRESET,
		.param.ud.private_data = m,
	};

	must(m->joined);
	storm_verbs_group_event(e->v, &ev);
	must(!m->joined && !m->attached && !m->ah);
}

/* No software adapter has a subnet manager: the events are made up, all that
 * follows from them is real. */
START_TEST(test_subnet_manager)
{
	static const enum ibv_event_type types[] = {
		IBV_EVENT_SM_CHANGE,
		IBV_EVENT_CLIENT_REREGISTER,
		IBV_EVENT_LID_CHANGE,
	};
	struct storm_addr g = group(0);
	struct verbs_group *theirs;
	uint64_t asked;

	open_both();
	node.t->ops->group(node.t, &g, 5, true);
	owner.t->ops->group(owner.t, &g, 5, true);
	must(!say(&owner, &node.self, "one") && until(node.count == 1));
	for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
		asked = stats_of(&owner).asked;
		log_text[0] = 0;
		storm_verbs_device_event(owner.v, types[i],
					 owner.v->port.number + 1);
		must(!log_text[0]); /* another port's */
		storm_verbs_device_event(owner.v, types[i],
					 owner.v->port.number);
		must(strstr(log_text, ibv_event_type_str(types[i])) &&
		     strstr(log_text, "looking up all peers again"));
		must(!say(&owner, &node.self, "two"));
		must(stats_of(&owner).asked == asked + 1);
		must(until(node.count == 2 + i && !owner.v->asking));
	}
	must(stats_of(&owner).working);
	theirs = &node.v->group[0];
	for (int c = 0; c < 2; c++)
		group_is_lost(&node, &theirs->by[c]);
	must(strstr(log_text, "joining again"));
	must(until(theirs->by[0].attached && theirs->by[1].attached));
	must(group_hears(&owner, &g, &node));
}
END_TEST

/* The device is opened again, and all continues. */
static void again(struct end *e)
{
	must(!stats_of(e).working);
	must(until(stats_of(e).working));
	must(until(({
		say(e, &node.self, "one");
		usleep(20000);
		node.count;
	})));
	node.count = 0;
	log_text[0] = 0;
}

/* Events that change nothing of what is used are no news. */
START_TEST(test_tables)
{
	open_both();
	log_text[0] = 0;
	storm_verbs_device_event(owner.v, IBV_EVENT_GID_CHANGE,
				 owner.v->port.number);
	storm_verbs_device_event(owner.v, IBV_EVENT_PKEY_CHANGE,
				 owner.v->port.number);
	must(!log_text[0] && stats_of(&owner).working);
	owner.v->port.gid.raw[15] ^= 1; /* it was another one then */
	storm_verbs_device_event(owner.v, IBV_EVENT_GID_CHANGE,
				 owner.v->port.number);
	must(strstr(log_text, "opening the device again"));
	again(&owner);
	owner.v->port.pkey ^= 1;
	storm_verbs_device_event(owner.v, IBV_EVENT_PKEY_CHANGE,
				 owner.v->port.number);
	must(strstr(log_text, "the subnet manager's partitions"));
	again(&owner);
}
END_TEST

/* What no software adapter does: the event is made up, the rest is real. */
START_TEST(test_fatal)
{
	open_both();
	log_text[0] = 0;
	storm_verbs_device_event(owner.v, IBV_EVENT_DEVICE_FATAL, 0);
	must(strstr(log_text, device) &&
	     strstr(log_text, "the kernel's log may have the reason"));
	again(&owner);
}
END_TEST

/* A queue pair that is in error, as after what the adapter does not like. */
START_TEST(test_queue_pair_fails)
{
	struct ibv_qp_attr a = { .qp_state = IBV_QPS_ERR };

	set.transport_fallback = true;
	open_both();
	must(!say(&owner, &node.self, "one") && until(node.count == 1));
	node.count = 0;
	must(!ibv_modify_qp(owner.v->send[STORM_CONTROL].qp, &a, IBV_QP_STATE));
	must(!say(&owner, &node.self, "two"));
	must(until(!stats_of(&owner).working));
	must(strstr(log_text, "verbs do not work here: UDP is used"));
	again(&owner);
}
END_TEST

/* No answer to a join: logged once, and the agent continues. */
START_TEST(test_joins_are_late)
{
	ck_assert_int_eq(open_end(&node, STORM_ROLE_NODE, PORT), STORM_OK);
	must(!node.v->joins);
	node.v->joins = 2;
	storm_verbs_wait_for_joins(node.v);
	must(strstr(log_text, "2 multicast groups are not joined yet") &&
	     strstr(log_text, "subnet manager"));
	node.v->joins = 0;
}
END_TEST

/* -------------------------------------------------------------- the way on */

/* A peer that cannot be reached over verbs gets UDP, and only UDP. */
START_TEST(test_fallback)
{
	struct storm_net_handler h = {
		.datagrams = on_datagrams,
		.stream = on_stream,
		.stream_failed = on_failed,
		.arg = &other,
	};
	int err;

	set.transport_fallback = true;
	ck_assert_int_eq(open_end(&owner, STORM_ROLE_OWNER, 0), STORM_OK);
	set.port = PORT + 1;
	other.u =
		storm_udp_create(&set, STORM_ROLE_NODE, &owner.self, &h, &err);
	must(other.u);
	other.t = storm_udp_transport(other.u);
	storm_udp_self(other.u, &other.self);
	must(!say(&owner, &other.self, "whatever way"));
	must(until(other.count == 1));
	must(stats_of(&owner).udp_tx_datagrams == 1);
	must(stats_of(&owner).peers_by_udp == 1);
	must(strstr(log_text, "UDP is used"));
	log_text[0] = 0;
	must(!say(&owner, &other.self, "again") && until(other.count == 2));
	must(!log_text[0]);
	must(!say(&other, &owner.self, "back") && until(owner.count == 1));
	must(stats_of(&owner).udp_rx_datagrams == 1);
}
END_TEST

START_TEST(test_no_fallback)
{
	struct storm_addr nobody;

	ck_assert_int_eq(open_end(&owner, STORM_ROLE_OWNER, 0), STORM_OK);
	nobody = owner.self;
	nobody.port = PORT + 1;
	must(!say(&owner, &nobody, "hello")); /* it waits */
	must(until(say(&owner, &nobody, "hello") < 0));
	must(!stats_of(&owner).udp_tx_datagrams);
}
END_TEST

static int said(const char *what)
{
	int n = 0;

	for (const char *p = log_text; (p = strstr(p, what)); p++)
		n++;
	return n;
}

/* It is tried again, which logs nothing new. */
static void tries_again(struct end *e)
{
	uint64_t was;

	for (int i = 0; i < 2; i++) {
		was = e->v->up_again;
		e->v->up_again = 1;
		must(was && until(e->v->up_again > was));
	}
}

START_TEST(test_no_device)
{
	strcpy(set.device, "nosuch0");
	strcpy(set.interface, "lo");
	ck_assert_int_ne(open_end(&node, STORM_ROLE_NODE, PORT), STORM_OK);
	must(!node.v);
	set.interface[0] = 0;
	ck_assert_int_eq(open_end(&node, STORM_ROLE_NODE, PORT), STORM_ESYS);
	must(strstr(log_text, "there is no RDMA device nosuch0") &&
	     strstr(log_text, "correct DataRail in storm.conf"));
	/* and now it may go on without */
	set.transport_fallback = true;
	set.device[0] = 0;
	strcpy(set.interface, "lo");
	log_text[0] = 0;
	ck_assert_int_eq(open_end(&node, STORM_ROLE_NODE, PORT), STORM_OK);
	must(strstr(log_text, "verbs do not work here: UDP is used"));
	must(said("set DataRail or Interface") == 1);
	tries_again(&node);
	must(said("verbs do not work here") == 1 &&
	     said("set DataRail or Interface") == 1);
	must(!stats_of(&node).working);
	ck_assert_int_eq(open_end(&owner, STORM_ROLE_OWNER, 0), STORM_OK);
	must(!say(&owner, &node.self, "by UDP") && until(node.count == 1));
}
END_TEST

/* ----------------------------------------------------------- a user's rights */

/* As another user: true if it holds there. */
static bool as_nobody(bool (*fn)(void))
{
	int status;
	pid_t pid = fork();

	must(pid >= 0);
	if (!pid) {
		if (setgid(NOBODY) || setuid(NOBODY))
			_exit(2);
		_exit(fn() ? 0 : 1);
	}
	must(waitpid(pid, &status, 0) == pid);
	return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

static bool user_is_owner(void)
{
	struct storm_addr g = group(0);

	if (open_end(&owner, STORM_ROLE_OWNER, 0))
		return false;
	owner.t->ops->group(owner.t, &g, 9, true);
	return !say(&owner, &g, "by a user") && !say(&owner, &node.self, "!") &&
	       until(stats_of(&owner).tx_datagrams == 2) && (settle(), true);
}

/* An owner needs no privilege. */
START_TEST(test_user)
{
	struct storm_addr g = group(0);

	ck_assert_int_eq(open_end(&node, STORM_ROLE_NODE, PORT), STORM_OK);
	node.t->ops->group(node.t, &g, 9, true);
	/* our own end is the parent's: the child must not touch it */
	{
		struct end mine = node;
		bool ok;
		pid_t pid;
		int status;

		pid = fork();
		must(pid >= 0);
		if (!pid) {
			node.v = NULL;
			if (setgid(NOBODY) || setuid(NOBODY))
				_exit(2);
			_exit(user_is_owner() ? 0 : 1);
		}
		ok = until(node.count == 2);
		must(waitpid(pid, &status, 0) == pid);
		must(ok && WIFEXITED(status) && !WEXITSTATUS(status));
		must(mine.v == node.v);
	}
}
END_TEST

static bool refused_memory(void)
{
	struct rlimit lim = { 64 * 1024, 64 * 1024 };

	return !setrlimit(RLIMIT_MEMLOCK, &lim) &&
	       open_end(&owner, STORM_ROLE_OWNER, 0) == STORM_ESYS &&
	       strstr(log_text, "locked memory is limited to 64 KiB") &&
	       strstr(log_text, device);
}

START_TEST(test_locked_memory)
{
	must(as_nobody(refused_memory));
}
END_TEST

static bool refused_device(void)
{
	return open_end(&owner, STORM_ROLE_OWNER, 0) == STORM_ESYS &&
	       strstr(log_text, "/dev/infiniband/");
}

static void permit(mode_t mode)
{
	glob_t g;

	must(!glob("/dev/infiniband/*", 0, NULL, &g));
	for (size_t i = 0; i < g.gl_pathc; i++)
		must(!chmod(g.gl_pathv[i], mode));
	globfree(&g);
}

START_TEST(test_permission)
{
	bool ok;

	permit(0600);
	ok = as_nobody(refused_device);
	permit(0666);
	must(ok);
}
END_TEST

/* The kernel has no connection manager. */
START_TEST(test_no_manager)
{
	int rc;

	must(!rename("/dev/infiniband/rdma_cm", "/dev/infiniband/away"));
	rc = open_end(&owner, STORM_ROLE_OWNER, 0);
	must(!rename("/dev/infiniband/away", "/dev/infiniband/rdma_cm"));
	ck_assert_int_ne(rc, STORM_OK);
	must(strstr(log_text, "/dev/infiniband/rdma_cm is missing") &&
	     strstr(log_text, "rdma_ucm"));
}
END_TEST

START_TEST(test_wrong_settings)
{
	set.gid_index = 99;
	ck_assert_int_ne(open_end(&owner, STORM_ROLE_OWNER, 0), STORM_OK);
	must(strstr(log_text, "has no GID 99") &&
	     strstr(log_text, "correct GidIndex in storm.conf"));
	set.gid_index = -1;
	set.pkey = 0x8123;
	ck_assert_int_ne(open_end(&owner, STORM_ROLE_OWNER, 0), STORM_OK);
	must(strstr(log_text, "P_Key 0x8123") &&
	     strstr(log_text, "correct PKey in storm.conf"));
	set.pkey = 0;
	set.ib_port = 9;
	ck_assert_int_ne(open_end(&owner, STORM_ROLE_OWNER, 0), STORM_OK);
	must(strstr(log_text, device));
}
END_TEST

/* Another program's port of the connection manager. */
START_TEST(test_manager_port)
{
	struct rdma_event_channel *cm = rdma_create_event_channel();
	struct sockaddr_in at;
	struct rdma_cm_id *id;

	ck_assert_int_eq(open_end(&owner, STORM_ROLE_OWNER, 0), STORM_OK);
	at = storm_verbs_sockaddr(&owner.self);
	at.sin_port = htons(PORT);
	must(cm && !rdma_create_id(cm, &id, NULL, RDMA_PS_UDP));
	must(!rdma_bind_addr(id, (struct sockaddr *) &at));
	ck_assert_int_ne(open_end(&node, STORM_ROLE_NODE, PORT), STORM_OK);
	must(strstr(log_text, "of the connection manager is in use") &&
	     strstr(log_text, "set Port in storm.conf"));
	rdma_destroy_id(id);
	rdma_destroy_event_channel(cm);
}
END_TEST

/* Interface and DataRail that are not the same; with two devices. */
START_TEST(test_contradictions)
{
	strcpy(set.interface, "eth1");
	ck_assert_int_ne(open_end(&owner, STORM_ROLE_OWNER, 0), STORM_OK);
	must(strstr(log_text, "interface eth1 belongs to RDMA device") &&
	     strstr(log_text, "contradict each other"));
	strcpy(set.interface, "eth0");
	set.ib_port = 2;
	log_text[0] = 0;
	ck_assert_int_ne(open_end(&owner, STORM_ROLE_OWNER, 0), STORM_OK);
	must(strstr(log_text, "belongs to port 1") &&
	     strstr(log_text, "not to port 2"));
}
END_TEST

/* Strobe rails that are none: the data rail is all there is. */
START_TEST(test_no_strobe_rail)
{
	const char *second = getenv("RXE_DEV2");

	must(second);
	strcpy(set.strobe_device, device);
	ck_assert_int_eq(open_end(&owner, STORM_ROLE_OWNER, 0), STORM_OK);
	must(!owner.v->strobe && strstr(log_text, "is the data rail"));
	close_end(&owner);
	strcpy(set.strobe_device, "nosuch0");
	ck_assert_int_eq(open_end(&owner, STORM_ROLE_OWNER, 0), STORM_OK);
	must(!owner.v->strobe && strstr(log_text, "correct StrobeRail") &&
	     strstr(log_text,
		    "StrobeRail nosuch0 in storm.conf cannot be used"));
	close_end(&owner);
	strcpy(set.strobe_device, second);
	set.strobe_pkey = 0x8123;
	ck_assert_int_eq(open_end(&owner, STORM_ROLE_OWNER, 0), STORM_OK);
	must(owner.v->strobe && strstr(log_text, "StrobePKey") &&
	     strstr(log_text, "the strobe rail does not work here: the data "
			      "rail is used for everything"));
}
END_TEST

/* ------------------------------------------------- what befalls a device */

static void command(const char *text)
{
	must(!system(text));
}

/* What machines begin with, and a cable takes along. */
static void cable(bool in)
{
	command(in ? "ip -batch /run/network" : "ip link set eth0 down");
}

/* Before anything is opened. Without a configured port a working one is chosen.
 * */
START_TEST(test_port_inactive)
{
	const char *second = getenv("RXE_DEV2");
	int rc;

	must(second);
	cable(false);
	rc = open_end(&owner, STORM_ROLE_OWNER, 0);
	set.device[0] = 0;
	if (open_end(&node, STORM_ROLE_NODE, PORT))
		node.v = NULL;
	cable(true);
	must(node.v && !strcmp(node.v->port.device, second));
	ck_assert_int_eq(rc, STORM_ESYS);
	must(strstr(log_text, "is active: `rdma link` shows") &&
	     strstr(log_text, device));
}
END_TEST

/* Rails are named by addresses. */
START_TEST(test_no_address)
{
	const char *second = getenv("RXE_DEV2");
	int rc;

	must(second);
	strcpy(set.device, second);
	command("ip addr flush dev eth1");
	rc = open_end(&owner, STORM_ROLE_OWNER, 0);
	cable(true);
	ck_assert_int_eq(rc, STORM_ESYS);
	must(strstr(log_text, "has an interface with an IPv4 address: give it "
			      "one"));
}
END_TEST

START_TEST(test_port_down)
{
	set.transport_fallback = true;
	open_both();
	must(!say(&owner, &node.self, "one") && until(node.count == 1));
	cable(false);
	must(until(!stats_of(&owner).working && !stats_of(&node).working));
	must(strstr(log_text, "port 1 of RDMA device ") &&
	     strstr(log_text, "is down") && strstr(log_text, "cable") &&
	     strstr(log_text, "UDP is used"));
	cable(true);
	must(until(stats_of(&owner).working && stats_of(&node).working));
	must(strstr(log_text, "is active again"));
	must(until(({
		say(&owner, &node.self, "two");
		usleep(20000);
		node.count > 1;
	})));
	must(!stats_of(&owner).udp_tx_datagrams);
}
END_TEST

/* With the address its place in the GID table goes. */
START_TEST(test_address)
{
	set.transport_fallback = true;
	open_both();
	must(!say(&owner, &node.self, "one") && until(node.count == 1));
	command("ip addr del $RXE_ADDR/24 dev eth0");
	must(until(!stats_of(&owner).working && !stats_of(&node).working));
	must(strstr(log_text, "interface's address") &&
	     strstr(log_text, "UDP is used"));
	tries_again(&node);
	must(said("UDP is used") == 2); /* each end once */
	cable(true);
	must(until(stats_of(&owner).working && stats_of(&node).working));
	must(until(({
		say(&owner, &node.self, "two");
		usleep(20000);
		node.count > 1;
	})));
}
END_TEST

/* It uses UDP at once, and verbs again when the device is back. */
START_TEST(test_removal)
{
	struct storm_addr g = group(0);
	size_t before;
	uint64_t by_udp;

	set.transport_fallback = true;
	open_both();
	node.t->ops->group(node.t, &g, 3, true);
	owner.t->ops->group(owner.t, &g, 3, true);
	must(!say(&owner, &node.self, "one") && until(node.count == 1));
	must(group_hears(&owner, &g, &node));
	settle();
	before = node.count;
	by_udp = stats_of(&owner).udp_tx_datagrams;
	/* it waits for those that have the device open */
	command("rdma link del rxe0 &");
	must(until(!stats_of(&owner).working && !stats_of(&node).working));
	must(strstr(log_text, "was removed") && strstr(log_text, "is back") &&
	     strstr(log_text, "UDP is used"));
	must(!say(&owner, &node.self, "two") &&
	     until(node.count == before + 1));
	must(stats_of(&owner).udp_tx_datagrams == by_udp + 1);
	command("(until rdma link add rxe0 type rxe netdev eth0 2>/dev/null; "
		"do sleep 0.2; done; chmod 666 /dev/infiniband/*) &");
	must(until(stats_of(&owner).working && stats_of(&node).working));
	must(until(({
		say(&owner, &node.self, "three");
		usleep(20000);
		node.count > before + 1;
	})));
	must(stats_of(&owner).udp_tx_datagrams == by_udp + 1);
	/* the group is joined again, with its key */
	must(group_hears(&owner, &g, &node));
}
END_TEST

int main(void)
{
	Suite *s = suite_create("verbs");
	TCase *t = tcase_create("verbs");

	device = getenv("STORM_DEVICE");
	if (!device)
		device = getenv("RXE_DEV");
	if (!device) {
		fprintf(stderr, "SKIP: no RDMA device: STORM_DEVICE names "
				"none\n");
		return 77;
	}
	tcase_set_timeout(t, 120);
	tcase_add_checked_fixture(t, setup, teardown);
	tcase_add_test(t, test_unicast);
	tcase_add_test(t, test_segments);
	tcase_add_test(t, test_full);
	tcase_add_test(t, test_keeps);
	tcase_add_test(t, test_reborn);
	tcase_add_test(t, test_idle_and_busy);
	tcase_add_test(t, test_group);
	tcase_add_test(t, test_group_full);
	tcase_add_test(t, test_own_copies);
	tcase_add_test(t, test_send_only);
	tcase_add_test(t, test_subnet_manager);
	tcase_add_test(t, test_tables);
	tcase_add_test(t, test_fatal);
	tcase_add_test(t, test_queue_pair_fails);
	tcase_add_test(t, test_joins_are_late);
	tcase_add_test(t, test_manager_port);
	tcase_add_test(t, test_fallback);
	tcase_add_test(t, test_no_fallback);
	tcase_add_test(t, test_no_device);
	tcase_add_test(t, test_wrong_settings);
	if (unit_by_valgrind()) {
		fprintf(stderr, "SKIP: what another user may do: it forks\n");
	} else if (!getuid()) {
		tcase_add_test(t, test_user);
		tcase_add_test(t, test_locked_memory);
		tcase_add_test(t, test_permission);
	} else {
		fprintf(stderr, "SKIP: what another user may do: not root\n");
	}
	/* in a machine of ours alone */
	if (getenv("RXE_DEV") && !getenv("STORM_DEVICE")) {
		tcase_add_test(t, test_no_manager);
		tcase_add_test(t, test_contradictions);
		tcase_add_test(t, test_no_strobe_rail);
		tcase_add_test(t, test_no_address);
		tcase_add_test(t, test_port_inactive);
		tcase_add_test(t, test_port_down);
		tcase_add_test(t, test_address);
		tcase_add_test(t, test_removal);
	}
	suite_add_tcase(s, t);
	return unit_main(s);
}
