/*
 * test_memory.c - what a Node Manager keeps of its sessions: an owner names the
 * sizes, and pays for them from its user's budget.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include <malloc.h>

#include "src/libstorm/protocol/nm/nm_private.h"
#include "unit.h"

#include "testsuite/fuzz/world.h"

#define NODES 16384
#define MOST 256

/* -------------------------------------------------------------- a silent net --- */

static enum storm_err verdict;
static uint64_t sent;

static int net_send(struct storm_transport *t, enum storm_class c,
		    const struct storm_addr *to, const void *buf, size_t len,
		    size_t seg)
{
	(void) t;
	(void) c;
	(void) to;
	(void) buf;
	(void) seg;
	sent += len;
	return 0;
}

static int net_send_stream(struct storm_transport *t,
			   const struct storm_addr *to, uint64_t session,
			   uint32_t node, const void *buf, size_t len)
{
	(void) t;
	(void) to;
	(void) session;
	(void) node;
	(void) buf;
	sent += len;
	return 0;
}

static void net_end_stream(struct storm_transport *t, uint64_t stream,
			   enum storm_err err)
{
	(void) t;
	(void) stream;
	verdict = err;
}

static bool net_waits(struct storm_transport *t, uint64_t stream)
{
	(void) t;
	(void) stream;
	return true;
}

static void net_drop(struct storm_transport *t, uint64_t session)
{
	(void) t;
	(void) session;
}

static size_t net_mtu(struct storm_transport *t)
{
	(void) t;
	return 1472;
}

static const struct storm_transport_ops net_ops = {
	.send = net_send,
	.send_stream = net_send_stream,
	.end_stream = net_end_stream,
	.stream_waits = net_waits,
	.drop_streams = net_drop,
	.mtu = net_mtu,
};
static struct storm_transport net = { &net_ops };

/* ------------------------------------------------------------------ the host --- */

static uint64_t tickets;
static int sessions;

static void host_check(void *host, uint64_t ticket,
		       const struct storm_addr *from, void *buf, size_t len)
{
	(void) from;
	(void) host;
	(void) len;
	tickets = ticket;
	free(buf);
}

static void host_open(void *host, uint64_t session,
		      const struct storm_open_info *info, void **ctx)
{
	(void) host;
	(void) session;
	(void) info;
	*ctx = NULL;
	sessions++;
}

static void host_close(void *host, void *ctx)
{
	(void) host;
	(void) ctx;
	sessions--;
}

static void host_event(void *host, void *ctx, uint64_t session, uint32_t event,
		       const void *buf, size_t len)
{
	(void) host;
	(void) ctx;
	(void) session;
	(void) event;
	(void) buf;
	(void) len;
}

static const struct storm_nm_ops host_ops = {
	.authenticate = host_check,
	.session_open = host_open,
	.session_close = host_close,
	.event = host_event,
};

static struct storm_nm *nm;
static struct storm_settings set;
static struct storm_nodes nodes; /* the list that all OPENs have */
static uint64_t now = 1000 * STORM_SEC;
static uint32_t opens;

static void begin(uint32_t count)
{
	struct storm_node *list = calloc(count, sizeof(*list));
	char(*name)[16] = calloc(count, sizeof(*name));
	int err;

	world_init();
	must(list && name);
	for (uint32_t i = 0; i < count; i++) {
		snprintf(name[i], sizeof(name[i]), "node%05u", i);
		list[i].name = name[i];
		list[i].addr =
			(struct storm_addr) { .ip = { [10] = 0xff,
						      0xff,
						      10,
						      (uint8_t) (i >> 16),
						      (uint8_t) (i >> 8),
						      (uint8_t) i },
					      .port = 8383 };
	}
	must(!storm_nodes_make(&nodes, list, count));
	free(list);
	free(name);
	storm_settings_default(&set);
	nm = storm_nm_create(&set, &net, &host_ops, NULL, &err);
	must(nm);
}

static void end(void)
{
	storm_nm_destroy(nm);
	storm_nodes_free(&nodes);
	must(!sessions);
}

static struct storm_open *open_of(uint64_t memory)
{
	struct storm_open *o = calloc(1, sizeof(*o));

	must(o);
	o->job_id = ++opens;
	o->owner.port = o->group.port = 8383;
	o->radix = 2;
	o->mtu = 1472;
	o->window = 65536;
	o->dead_timeout = o->op_timeout = o->heartbeat = 3600 * STORM_SEC;
	o->epoch = 1;
	o->count = nodes.count;
	o->nodes = nodes;
	o->nodes.run = NULL; /* borrowed: bytes alone are needed */
	o->nodes.own = NULL;
	o->has_begin = memory > 0;
	o->begin = (struct storm_begin) { .op = 1,
					  .size = memory,
					  .to.kind = STORM_TARGET_MEMORY };
	must(!storm_open_seal(o, 0));
	return o;
}

static enum storm_err offer(uint64_t memory, uint32_t uid)
{
	struct storm_open *o = open_of(memory), *got = NULL;
	size_t len;
	uint8_t *p = storm_open_stream(o, NODES - 1 < o->count ? NODES - 1 : 0,
				       &len);

	must(p);
	storm_nm_stream(nm, opens, p, len, now);
	must(!storm_open_verify(p, len, &got));
	got->uid = uid;
	storm_nm_admit(nm, tickets, got, STORM_OK, now);
	free(p);
	storm_open_free(o);
	return verdict;
}

/* --------------------------------------------------------------------- tests --- */

/* Many sessions of many nodes. */
START_TEST(test_sessions_are_small)
{
	struct mallinfo2 before, after;
	int n = 0;

	begin(NODES);
	must(!offer(0, 1000));
	before = mallinfo2();
	for (; n < 200 && !offer(0, 1001 + (uint32_t) n % 10); n++)
		;
	after = mallinfo2();
	ck_assert_int_eq(n, 200);
	ck_assert_uint_le((after.uordblks - before.uordblks) / 200, 16384);
	/* and what is counted is what is taken, or a little more */
	ck_assert_uint_ge(nm->budget.bytes, after.uordblks - before.uordblks);
	ck_assert_uint_le(nm->budget.bytes,
			  3 * (after.uordblks - before.uordblks));
	end();
}
END_TEST

START_TEST(test_sessions_of_a_user)
{
	uint32_t n;

	begin(4);
	for (n = 0; n < MOST && !offer(0, 1000); n++)
		;
	ck_assert_uint_eq(n, set.user_sessions_max);
	ck_assert_int_eq(verdict, STORM_EBUSY);
	/* nothing of the refused one is kept */
	ck_assert_int_eq(sessions, (int) n);
	for (n = 0; n < MOST && !offer(0, 1001); n++)
		;
	ck_assert_uint_eq(n, MOST - MOST / 8 - set.user_sessions_max);
	ck_assert_int_eq(offer(0, 1002), STORM_EBUSY);
	for (n = 0; n < MOST && !offer(0, 0); n++)
		;
	ck_assert_uint_eq(n, MOST / 8);
	end();
}
END_TEST

/* Transfers to memory: the user's next one fails, that of another does not. */
START_TEST(test_memory_of_a_user)
{
	begin(4);
	must(!offer(11 << 20, 1000) && !nm->sessions->xfer.err);
	must(!offer(11 << 20, 1000));
	ck_assert_int_eq(nm->sessions->xfer.err, STORM_EBUSY);
	must(!nm->sessions->xfer.mem);
	must(!offer(11 << 20, 1001) && !nm->sessions->xfer.err);
	must(!offer(11 << 20, 1001) && nm->sessions->xfer.err);
	/* what users may have is gone, what is root's is not */
	must(!offer(14 << 20, 1002));
	ck_assert_int_eq(nm->sessions->xfer.err, STORM_EBUSY);
	must(!offer(14 << 20, 0) && !nm->sessions->xfer.err);
	end();
}
END_TEST

/* Time-outs of an hour: the silent owner's session ends within seconds. */
START_TEST(test_time_outs)
{
	begin(NODES);
	must(!offer(0, 1000));
	ck_assert_int_eq(sessions, 1);
	now += 16 * STORM_SEC;
	storm_nm_tick(nm, now);
	ck_assert_int_eq(sessions, 0);
	must(!nm->budget.bytes && !nm->budget.sessions);
	end();
}
END_TEST

/* What the host holds is counted, too. */
START_TEST(test_held)
{
	uint64_t session;

	begin(4);
	must(!offer(0, 1000));
	session = nm->sessions->host.session;
	ck_assert_int_eq(storm_nm_hold(nm, session, 15 << 20), STORM_OK);
	ck_assert_int_eq(storm_nm_hold(nm, session, 15 << 20), STORM_EBUSY);
	ck_assert_int_eq(storm_nm_hold(nm, session, -(15 << 20)), STORM_OK);
	ck_assert_int_eq(storm_nm_hold(nm, session, 15 << 20), STORM_OK);
	ck_assert_int_eq(storm_nm_hold(nm, session + 1, 1), STORM_ENOENT);
	end();
}
END_TEST

/* An owner has the key of all nodes, and can say that it is each of them. */
START_TEST(test_peers)
{
	struct nm_session *s;

	begin(65536);
	must(!offer(0, 1000));
	s = nm->sessions;
	for (uint32_t i = 0; i < 65536; i++) {
		uint8_t inc[STORM_INCARNATION_LEN] = { 1 };
		struct storm_header h = { .type = STORM_MSG_NACK,
					  .epoch = 1,
					  .session = s->link.session,
					  .sender = i,
					  .sequence = 1 };
		uint8_t buf[STORM_HEADER_LEN + STORM_TAG_LEN + 4],
			body[4] = { 0 };
		struct storm_rx rx = { .buf = buf, .len = sizeof(buf) };
		struct storm_seal *seal;

		memcpy(h.incarnation, inc, sizeof(inc));
		storm_header_pack(&h, buf);
		seal = storm_seal_create(s->open->key, inc, h.session, i,
					 STORM_LANE_CONTROL);
		must(seal && !storm_seal_seal(seal, buf, 1, body, 4,
					      buf + STORM_HEADER_LEN));
		storm_seal_destroy(seal);
		storm_nm_datagrams(nm, &rx, 1, now);
	}
	must(nm->budget.bytes <= set.user_memory_max);
	must(s->link.npeers > 1000 && s->link.npeers < 65536);
	/* it is this user's loss alone */
	must(!offer(1 << 20, 1001) && !nm->sessions->xfer.err);
	end();
}
END_TEST

/* Casts that are to be passed on, as fast as they come. */
START_TEST(test_relays)
{
	uint8_t inc[STORM_INCARNATION_LEN] = { 1 };
	struct storm_cast c = { .version = 1 };
	struct storm_seal *seal;
	struct nm_session *s;
	uint64_t before;

	begin(4);
	must(!offer(0, 1000));
	s = nm->sessions;
	must(s->tree.children == 2);
	seal = storm_seal_create(s->open->key, inc, s->link.session,
				 STORM_NO_NODE, STORM_LANE_CONTROL);
	must(seal);
	before = sent;
	for (uint64_t i = 1; i <= 100000; i++) {
		uint8_t buf[STORM_DATAGRAM_MAX], body[1400] = { 0 };
		struct storm_header h = { .type = STORM_MSG_CAST,
					  .flags = STORM_HDR_RELAY,
					  .epoch = 1,
					  .session = s->link.session,
					  .sender = STORM_NO_NODE,
					  .sequence = i };
		struct storm_rx rx = { .buf = buf };
		size_t len = storm_cast_pack(&c, body, sizeof(body));

		memcpy(h.incarnation, inc, sizeof(inc));
		storm_header_pack(&h, buf);
		must(!storm_seal_seal(seal, buf, i, body, len,
				      buf + STORM_HEADER_LEN));
		rx.len = STORM_HEADER_LEN + len + STORM_TAG_LEN;
		storm_nm_datagrams(nm, &rx, 1, now);
	}
	storm_seal_destroy(seal);
	must(nm->link_stats.rx_datagrams == 100000);
	ck_assert_uint_ge(sent - before, 1 << 20);
	ck_assert_uint_le(sent - before, 5 << 20);
	end();
}
END_TEST

int main(void)
{
	Suite *s = suite_create("memory");
	TCase *t = tcase_create("memory");

	tcase_add_test(t, test_sessions_are_small);
	tcase_add_test(t, test_sessions_of_a_user);
	tcase_add_test(t, test_memory_of_a_user);
	tcase_add_test(t, test_time_outs);
	tcase_add_test(t, test_held);
	tcase_add_test(t, test_peers);
	tcase_add_test(t, test_relays);
	suite_add_tcase(s, t);
	return unit_main(s);
}
