/*
 * test_hostile.c - a Node Manager with an owner that holds the key and seals
 * nonsense with it, and with such neighbours.  A user has the session key, but the
 * agent runs as root and serves all users.  Whatever is sealed, it must survive,
 * keep its limits, and serve the next session.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include "src/libstorm/base/auth_reason.h"
#include "src/libstorm/wire/cast.h"
#include "src/libstorm/wire/gather.h"
#include "src/libstorm/wire/reports.h"
#include "src/libstorm/wire/status.h"
#include "unit.h"

#include <errno.h>

#include "src/libstorm/protocol/nm/nm_private.h"
#include "testsuite/fuzz/world.h"

#define NODES WORLD_NODES

/* ----------------------------------------------------------- the hostile --- */

struct hostile {
	struct world w; /* the node: see there */
	struct rnd r;
	struct storm_open *open; /* the owner's, with the key */
	uint64_t op, version;
};

static void begin(struct hostile *t, int seed)
{
	memset(t, 0, sizeof(*t));
	t->r = rnd_of(seed);
	world_create(&t->w);
}

static void begin_random(struct hostile *t, struct storm_begin *b)
{
	bool file = below(&t->r, 3);
	uint64_t size = below(&t->r, 20000);

	if (!below(&t->r, 10))
		size = below(&t->r, 2) ? 0 :
					 rnd64(&t->r) >> 1 >> below(&t->r, 40);
	memset(b, 0, sizeof(*b));
	b->op = ++t->op;
	b->size = size;
	b->to.kind = file ? STORM_TARGET_FILE : STORM_TARGET_MEMORY;
	b->to.path = file ? "/tmp/x" : NULL;
}

static struct storm_open *open_random(struct hostile *t)
{
	struct storm_open *o = calloc(1, sizeof(*o));
	struct storm_node list[NODES];

	must(o);
	o->job_id = (uint32_t) rnd64(&t->r); /* each session is another */
	o->owner.port = o->group.port = 8383;
	o->multicast = below(&t->r, 2);
	o->radix = 2 + below(&t->r, 4);
	o->mtu = below(&t->r, 3) ? 1472 : STORM_MTU_MIN;
	o->window = 65536;
	o->dead_timeout = 5 * STORM_SEC;
	o->heartbeat = STORM_SEC;
	o->epoch = 1;
	o->count = NODES;
	for (uint32_t i = 0; i < NODES; i++)
		list[i] = (struct storm_node) {
			"n", { .ip[15] = (uint8_t) i, .port = 8383 }
		};
	must(!storm_nodes_make(&o->nodes, list, NODES));
	o->has_begin = below(&t->r, 2);
	if (o->has_begin) {
		begin_random(t, &o->begin);
		if (o->begin.to.path)
			o->begin.to.path = strdup(o->begin.to.path);
	}
	must(!storm_open_seal(o, 0));
	return o;
}

static void owner_opens(struct hostile *t, bool hangs_up)
{
	enum storm_err err;

	t->op = t->version = 0;
	t->open = open_random(t);
	t->w.nobody_waits = hangs_up;
	err = world_open(&t->w, t->open, below(&t->r, NODES), STORM_OK);
	t->w.nobody_waits = false;
	must(t->w.sessions == !hangs_up && !t->w.waiting);
	must(!err == !hangs_up);
}

static void owner_goes(struct hostile *t)
{
	storm_open_free(t->open);
	t->open = NULL;
}

/* -------------------------------------------------------------- nonsense --- */

static void set_random(struct hostile *t, struct storm_idset *s, uint32_t max)
{
	for (uint32_t n = below(&t->r, 4); n; n--) {
		uint32_t first = below(&t->r, max);

		must(!storm_idset_add(s, first, first));
	}
}

static size_t cast_random(struct hostile *t, uint8_t *buf, size_t max)
{
	struct storm_out o = { buf, buf + max, false };
	struct storm_cast c = { 0 };
	struct storm_idset ids = { 0 };
	struct storm_begin b;
	uint8_t whole[256];
	size_t len, part;

	switch (below(&t->r, 4)) {
	case 0:
		begin_random(t, &b);
		len = storm_begin_pack(&b, whole, sizeof(whole));
		part = below(&t->r, 2) ? len : 1 + below(&t->r, 100);
		storm_put8(&o, STORM_CAST_BEGIN);
		storm_put16(&o, 0);
		storm_put16(&o,
			    (uint16_t) (below(&t->r, 2) ? 1 :
							  below(&t->r, 40)));
		storm_put(&o, whole, part < len ? part : len);
		break;
	case 1:
		storm_put8(&o, STORM_CAST_ACKED);
		storm_put8(&o, (uint8_t) below(&t->r, 10));
		set_random(t, &ids, 1000);
		storm_put_idset(&o, &ids);
		storm_idset_clear(&ids);
		break;
	default:
		c.version = t->version += below(&t->r, 3);
		c.flags = (uint8_t) below(&t->r, 8) & ~STORM_CAST_CLOSING;
		c.op = t->op ? t->op - below(&t->r, 10) / 9 : 0;
		c.size = t->open->begin.size;
		c.chunk = below(&t->r, 8) ? 256 + below(&t->r, 8) * 100 : 0;
		if (below(&t->r, 4) == 0)
			c.size = below(&t->r, 20000);
		c.sent = below(&t->r, 2) ? c.size : 0;
		c.decision =
			(uint8_t) (below(&t->r, 6) / 4 * (1 + below(&t->r, 2)));
		c.cmp = below(&t->r, 5);
		c.cmp_var = (uint8_t) below(&t->r, 8);
		c.cmp_rel = (uint8_t) below(&t->r, 4);
		if (below(&t->r, 10) == 0)
			set_random(t, &c.excluded, NODES);
		len = storm_cast_pack(&c, buf, max);
		storm_cast_free(&c);
		return len;
	}
	return (size_t) (o.p - buf);
}

static size_t data_random(struct hostile *t, uint8_t *buf, size_t max)
{
	struct storm_out o = { buf, buf + max, false };
	static const size_t lens[] = { 0, 1, 255, 256, 356, 456, 556, 1000 };
	size_t len = lens[below(&t->r, 8)];
	uint64_t off = below(&t->r, 60) * (len ? len : 256);

	if (!below(&t->r, 10))
		off = rnd64(&t->r) >> below(&t->r, 64);
	storm_put64(&o, off);
	memset(o.p, 0x77, len);
	return 8 + len;
}

static size_t status_random(struct hostile *t, uint8_t *buf, size_t max)
{
	struct storm_status s = {
		.version = below(&t->r, 1000),
		.op = t->op,
		.phase = (uint8_t) below(&t->r, 4),
		.flags = (uint8_t) below(&t->r, 5),
		.progress = rnd64(&t->r) >> below(&t->r, 64),
		.cmp = below(&t->r, 5),
		.mtu = 332 + below(&t->r, 1500),
		.seen = below(&t->r, 20),
	};
	size_t len;

	set_random(t, &s.behind, NODES);
	set_random(t, &s.unanswered, NODES);
	set_random(t, &s.fresh, NODES);
	for (uint32_t n = below(&t->r, 40); n; n--)
		storm_status_fault(&s, below(&t->r, NODES),
				   1 + below(&t->r, 17), 5);
	len = storm_status_pack(&s, buf, max);
	storm_status_free(&s);
	return len;
}

static size_t other_random(struct hostile *t, uint8_t type, uint8_t *buf,
			   size_t max)
{
	struct storm_out o = { buf, buf + max, false };
	struct storm_idset ids = { 0 };
	uint32_t n;

	switch (type) {
	case STORM_MSG_NACK:
		n = below(&t->r, 6);
		storm_put32(&o, below(&t->r, 5) ? n : (uint32_t) rnd64(&t->r));
		for (; n; n--) {
			uint64_t first = below(&t->r, 80);

			storm_put64(&o, first);
			storm_put64(&o, below(&t->r, 9) ?
						first + below(&t->r, 80) :
						rnd64(&t->r));
		}
		break;
	case STORM_MSG_REPORT:
		n = below(&t->r, 3);
		storm_put64(&o, below(&t->r, 50));
		storm_put16(&o, (uint16_t) (n ? 0 : below(&t->r, 4)));
		storm_put16(&o, (uint16_t) (n ? 1 : below(&t->r, 5)));
		storm_put32(&o, n ? 200 : below(&t->r, 300));
		for (n = below(&t->r, 4); n; n--) {
			storm_put8(&o, (uint8_t) below(&t->r, 10));
			storm_put32(&o, below(&t->r, 5));
			set_random(t, &ids, 1000);
			storm_put_idset(&o, &ids);
			storm_idset_clear(&ids);
		}
		break;
	default:
		storm_put64(&o, below(&t->r, 60));
	}
	return (size_t) (o.p - buf);
}

static void receive(struct hostile *t, struct storm_rx *rx)
{
	storm_nm_datagrams(t->w.nm, rx, 1, t->w.now);
	free(rx->buf);
}

/* Sealed by this node, or by the owner (NODES). */
static void send_as(struct hostile *t, uint32_t who, uint8_t type,
		    uint32_t epoch, uint64_t op, const void *body, size_t len)
{
	struct storm_header h = { .type = type, .epoch = epoch, .op = op };
	struct storm_rx rx;

	sealer_make(t->w.sealer, who, 0, &h, body, len, &rx);
	receive(t, &rx);
}

static size_t body_random(struct hostile *t, uint8_t type, uint8_t *body,
			  size_t max)
{
	size_t len = type == STORM_MSG_CAST ? cast_random(t, body, max) :
		     type == STORM_MSG_DATA ? data_random(t, body, max) :
		     type == STORM_MSG_STATUS ?
					      status_random(t, body, max) :
					      other_random(t, type, body, max);

	must(len);
	if (!below(&t->r, 6)) /* bits, lengths */
		for (uint32_t n = 1 + below(&t->r, 3); n; n--)
			body[below(&t->r, (uint32_t) len)] =
				(uint8_t) rnd64(&t->r);
	if (!below(&t->r, 12))
		len = below(&t->r, (uint32_t) len + 1);
	return len;
}

static void send_random(struct hostile *t)
{
	uint8_t type = (uint8_t) (1 + below(&t->r, 6)), how = 0;
	uint32_t who = type <= STORM_MSG_DATA && below(&t->r, 10) ?
			       NODES :
			       below(&t->r, NODES + 1);
	struct storm_header h = {
		.type = type,
		.epoch = below(&t->r, 20) ? 1 : below(&t->r, 4),
		.op = below(&t->r, 20) ? t->op : rnd64(&t->r),
	};
	uint8_t body[1300];
	struct storm_rx rx;
	size_t len = body_random(t, type, body, sizeof(body));

	how |= below(&t->r, 4) ? 0 : HOW_RELAY;
	how |= below(&t->r, 2) ? HOW_GROUP : 0;
	sealer_make(t->w.sealer, who, how, &h, body, len, &rx);
	receive(t, &rx);
}

/* Faults of the node itself, and calls of its host at any time. */
static void node_random(struct hostile *t)
{
	struct storm_idset ids = { 0 };

	t->w.sends_fail = !below(&t->r, 20);
	t->w.writes_fail = !below(&t->r, 200);
	t->w.no_room = !below(&t->r, 20);
	if (below(&t->r, 4))
		world_answer(&t->w, below(&t->r, 10) ? STORM_OK : STORM_ESYS);
	if (!below(&t->r, 20)) {
		set_random(t, &ids, 100);
		storm_nm_report(t->w.nm, t->w.session,
				(uint8_t) below(&t->r, 9), 0, &ids, t->w.now);
		storm_idset_clear(&ids);
	}
	t->w.now += below(&t->r, 10) ? below(&t->r, 5 * STORM_MS) :
				       below(&t->r, 200 * STORM_MS);
	if (!below(&t->r, 3))
		must(storm_nm_tick(t->w.nm, t->w.now) > 0);
}

START_TEST(test_nonsense)
{
	struct hostile t;
	struct storm_nm_stats st;

	begin(&t, _i);
	for (int session = 0; session < 3; session++) {
		/* Gone before it is admitted: make no session, which nothing
		 * would close. */
		owner_opens(&t, true);
		owner_goes(&t);
		owner_opens(&t, false);
		for (int i = 0; i < 1500 && t.w.sessions; i++) {
			send_random(&t);
			node_random(&t);
		}
		/* The owner has gone. Its session ends soon, or once all nodes
		 * that relay its messages would have been found dead. */
		for (int i = 0; i < 1000 && t.w.sessions; i++) {
			t.w.now += STORM_SEC / 10;
			storm_nm_tick(t.w.nm, t.w.now);
		}
		must(!t.w.sessions && !t.w.files);
		storm_nm_stats(t.w.nm, &st);
		must(st.sessions == 0 &&
		     st.sessions_total == (uint64_t) session + 1);
		must(st.rx_datagrams && !st.bad_seal);
		owner_goes(&t);
	}
	must(t.w.sent);
	world_destroy(&t.w);
}
END_TEST

static enum storm_err offer(struct hostile *t, const void *buf, size_t len)
{
	return world_stream(&t->w, buf, len, STORM_OK);
}

/* Another version: reply with it only to an authenticated sender. */
START_TEST(test_version)
{
	struct storm_nm_stats st;
	struct hostile t;
	uint8_t *p;
	size_t len;

	begin(&t, 1);
	owner_opens(&t, false);
	p = storm_open_stream(t.open, 1, &len);
	must(p);
	ck_assert_int_eq(offer(&t, p, len), STORM_OK); /* the same again */
	p[len - 1] ^= 1; /* another body: not what was signed */
	ck_assert_int_eq(offer(&t, p, len), STORM_EAUTH);
	p[5] = STORM_WIRE_VERSION + 1;
	ck_assert_int_eq(offer(&t, p, len), STORM_EAUTH);
	p[16] ^= 1; /* a credential that MUNGE did not make */
	ck_assert_int_eq(offer(&t, p, len), STORM_EAUTH);
	p[16] ^= 1;
	ck_assert_int_eq(offer(&t, p, len - 1), STORM_EAUTH);
	ck_assert_int_eq(offer(&t, p, 6), STORM_EAUTH);
	ck_assert_int_eq(offer(&t, "GET /", 5), STORM_EAUTH);
	storm_nm_stats(t.w.nm, &st);
	ck_assert_uint_eq(st.sessions_total, 1);
	ck_assert_uint_eq(st.opens_refused, 6);
	free(p);
	owner_goes(&t);

	/* rightly signed */
	for (int version = 0; version < 300; version += 1 + version / 4) {
		char cred[] = "fuzz";
		struct storm_open o = { .count = 1, .cred = cred };
		uint8_t body[40] = "whatever that version has here";

		if (version == STORM_WIRE_VERSION)
			continue;
		body[39] = (uint8_t) version;
		o.body = body;
		o.body_len = sizeof(body);
		storm_sha256(body, sizeof(body), world_payload + STORM_KEY_LEN);
		p = storm_open_stream(&o, 0, &len);
		must(p);
		p[4] = (uint8_t) (version >> 8);
		p[5] = (uint8_t) version;
		ck_assert_int_eq(offer(&t, p, len), STORM_EVERSION);
		/* and again: it is not taken for one that is known */
		ck_assert_int_eq(offer(&t, p, len), STORM_EVERSION);
		free(p);
	}
	world_destroy(&t.w);
}
END_TEST

/* The owner reports its state of operation 1, of two chunks of 1000 bytes. */
static void say_state(struct hostile *t, uint32_t epoch, uint32_t without)
{
	struct storm_cast c = { .version = ++t->version,
				.op = 1,
				.size = 2000,
				.chunk = 1000,
				.sent = 2000 };
	uint8_t body[200];
	size_t len;

	if (without < NODES)
		must(!storm_idset_add(&c.excluded, without, without));
	len = storm_cast_pack(&c, body, sizeof(body));
	must(len);
	send_as(t, NODES, STORM_MSG_CAST, epoch, 1, body, len);
	storm_cast_free(&c);
}

static void say_begin(struct hostile *t)
{
	struct storm_begin b = { .op = 1,
				 .size = 2000,
				 .to = { .kind = STORM_TARGET_MEMORY } };
	uint8_t body[200];
	struct storm_out o = { body, body + sizeof(body), false };

	storm_put8(&o, STORM_CAST_BEGIN);
	storm_put16(&o, 0);
	storm_put16(&o, 1);
	o.p += storm_begin_pack(&b, o.p, sizeof(body) - 5);
	send_as(t, NODES, STORM_MSG_CAST, 1, 1, body, (size_t) (o.p - body));
}

static void say_data(struct hostile *t, uint32_t who, uint64_t off)
{
	uint8_t body[8 + 1000] = { 0 };
	struct storm_out o = { body, body + 8, false };

	storm_put64(&o, off);
	send_as(t, who, STORM_MSG_DATA, 1, 1, body, sizeof(body));
}

/* An excluded node retransmits to no other. */
START_TEST(test_excluded)
{
	struct storm_nm_stats st;
	struct hostile t;
	uint32_t other;

	begin(&t, 1);
	do { /* until an OPEN without a BEGIN */
		if (t.open) {
			world_destroy(&t.w);
			world_create(&t.w);
			owner_goes(&t);
		}
		owner_opens(&t, false);
	} while (t.open->has_begin);
	other = (t.w.self + 1) % NODES;
	say_begin(&t);
	say_state(&t, 1, NODES);
	say_data(&t, other, 0);
	storm_nm_stats(t.w.nm, &st);
	ck_assert_uint_eq(st.data_new, 1);
	say_state(&t, 2, other);
	say_data(&t, other, 1000);
	storm_nm_stats(t.w.nm, &st);
	ck_assert_uint_eq(st.data_new, 1);
	ck_assert_uint_eq(st.fenced, 1);
	say_data(&t,
		 (other + 1) % NODES == t.w.self ? NODES : (other + 1) % NODES,
		 1000);
	storm_nm_stats(t.w.nm, &st);
	ck_assert_uint_eq(st.data_new, 2);
	world_destroy(&t.w);
	owner_goes(&t);
}
END_TEST

/* The owner asks a question, in an epoch; its bytes may come again. */
static struct storm_rx question(struct hostile *t, uint32_t epoch, uint64_t id)
{
	struct storm_gather_ask a = { .root = STORM_NO_NODE,
				      .slice = 50 * STORM_MS };
	struct storm_header h = { .type = STORM_MSG_GATHER,
				  .epoch = epoch,
				  .op = id };
	uint8_t body[64];
	struct storm_rx rx;

	sealer_make(t->w.sealer, NODES, 0, &h, body,
		    storm_gather_ask_pack(&a, body, sizeof(body)), &rx);
	return rx;
}

static void comes_again(struct hostile *t, const struct storm_rx *rx)
{
	struct storm_rx copy = *rx;

	copy.buf = malloc(rx->len);
	must(copy.buf);
	memcpy(copy.buf, rx->buf, rx->len);
	receive(t, &copy);
}

/* A question that overtakes the state of its epoch is for another tree. It comes again
 * from the node above, after the state, and is answered then; in the epoch after that,
 * nobody wants the answer. */
START_TEST(test_question_of_an_epoch)
{
	const struct nm_gather *g;
	struct storm_rx rx;
	struct hostile t;
	uint32_t other;

	begin(&t, 1);
	owner_opens(&t, false);
	other = (t.w.self + 1) % NODES;
	g = &t.w.nm->sessions->gather;
	rx = question(&t, 2, 1);
	comes_again(&t, &rx);
	must(!g->id);
	say_state(&t, 2, other);
	comes_again(&t, &rx);
	must(g->id == 1);
	t.w.now += STORM_SEC;
	storm_nm_tick(t.w.nm, t.w.now);
	must(g->answer && !g->running);
	say_state(&t, 3, other);
	must(!g->answer && !g->running);
	comes_again(&t, &rx);
	must(!g->answer && !g->running);
	free(rx.buf);
	world_destroy(&t.w);
	owner_goes(&t);
}
END_TEST

/* A session in which this node is the first, above many, and its owner begins a
 * transfer. */
static void begin_above(struct hostile *t, const struct storm_begin *b)
{
	uint8_t body[256];
	struct storm_out o = { body, body + sizeof(body), false };

	begin(t, 1);
	do {
		owner_goes(t);
		world_destroy(&t->w);
		world_create(&t->w);
		owner_opens(t, false);
	} while (t->open->has_begin || t->w.self);
	storm_put8(&o, STORM_CAST_BEGIN);
	storm_put16(&o, 0);
	storm_put16(&o, 1);
	o.p += storm_begin_pack(b, o.p, 200);
	send_as(t, NODES, STORM_MSG_CAST, 1, 1, body, (size_t) (o.p - body));
}

/* A neighbour requests all of a file of a terabyte, repeatedly, of which
 * nothing is here. The agent serves all users and must not search through it.
 * */
START_TEST(test_asked_for_nothing)
{
	const uint64_t size = 1ULL << 36, chunks = size / 1000;
	struct storm_begin b = { .op = 1,
				 .size = size,
				 .to = { .kind = STORM_TARGET_FILE,
					 .path = "/tmp/x" } };
	struct storm_cast c = {
		.version = 1, .op = 1, .size = size, .chunk = 1000
	};
	uint8_t body[1400];
	struct storm_out o;
	struct storm_nm_stats st;
	struct hostile t;

	begin_above(&t, &b);
	world_answer(&t.w, STORM_OK);
	send_as(&t, NODES, STORM_MSG_CAST, 1, 1, body,
		storm_cast_pack(&c, body, sizeof(body)));
	say_data(&t, NODES, 999000);
	o = (struct storm_out) { body, body + sizeof(body), false };
	storm_put32(&o, 80);
	for (int i = 0; i < 80; i++) {
		storm_put64(&o, 1000);
		storm_put64(&o, chunks - 1);
	}
	for (uint32_t i = 1; i < NODES; i++)
		send_as(&t, i, STORM_MSG_NACK, 1, 1, body,
			(size_t) (o.p - body));
	storm_nm_stats(t.w.nm, &st);
	ck_assert_uint_eq(st.data_new, 1);
	ck_assert_uint_lt(st.bad_wire, NODES - 1); /* some were accepted */
	world_destroy(&t.w);
	owner_goes(&t);
}
END_TEST

/* The owner has the key of all nodes: it asks for chunks in the name of one, again
 * and again. */
START_TEST(test_repairs_end)
{
	const uint64_t size = 100000;
	struct storm_begin b = { .op = 1,
				 .size = size,
				 .to = { .kind = STORM_TARGET_MEMORY } };
	struct storm_cast c = {
		.version = 1, .op = 1, .size = size, .chunk = 1000
	};
	uint8_t body[1400];
	struct storm_out o;
	struct storm_nm_stats st;
	struct hostile t;
	uint64_t before;

	begin_above(&t, &b);
	send_as(&t, NODES, STORM_MSG_CAST, 1, 1, body,
		storm_cast_pack(&c, body, sizeof(body)));
	for (uint64_t i = 0; i < 99; i++) /* one is missing: it is not staged */
		say_data(&t, NODES, i * 1000);
	before = t.w.bytes_out;
	for (int k = 0; k < 1000; k++) {
		o = (struct storm_out) { body, body + sizeof(body), false };
		storm_put32(&o, 1);
		storm_put64(&o, 0);
		storm_put64(&o, 98);
		/* its first child */
		send_as(&t, t.open->radix, STORM_MSG_NACK, 1, 1, body,
			(size_t) (o.p - body));
	}
	storm_nm_stats(t.w.nm, &st);
	/* its children are five at the most */
	ck_assert_uint_ge(st.nacks_served, 99);
	ck_assert_uint_le(st.nacks_served, 6 * 99 + 44);
	ck_assert_uint_le(t.w.bytes_out - before, 8 * size);
	world_destroy(&t.w);
	owner_goes(&t);
}
END_TEST

/* It asks in the name of a node, from elsewhere: that node gets nothing.  The node
 * itself does. */
START_TEST(test_repairs_of_its_own)
{
	struct storm_begin b = { .op = 1,
				 .size = 100000,
				 .to = { .kind = STORM_TARGET_MEMORY } };
	struct storm_cast c = {
		.version = 1, .op = 1, .size = 100000, .chunk = 1000
	};
	uint8_t body[1400], ask[20];
	struct storm_out o = { ask, ask + sizeof(ask), false };
	struct storm_nm_stats st;
	struct hostile t;
	uint32_t child;

	begin_above(&t, &b);
	child = t.open->radix;
	send_as(&t, NODES, STORM_MSG_CAST, 1, 1, body,
		storm_cast_pack(&c, body, sizeof(body)));
	for (uint64_t i = 0; i < 99; i++)
		say_data(&t, NODES, i * 1000);
	storm_put32(&o, 1);
	storm_put64(&o, 0);
	storm_put64(&o, 9);
	for (int elsewhere = 1; elsewhere >= 0; elsewhere--) {
		struct storm_header h = { .type = STORM_MSG_NACK,
					  .epoch = 1,
					  .op = 1 };
		struct storm_rx rx;

		sealer_make(t.w.sealer, child, 0, &h, ask, sizeof(ask), &rx);
		rx.from = storm_nodes_addr(&t.open->nodes, child);
		rx.from.ip[15] ^= elsewhere;
		rx.from.port = 8383;
		receive(&t, &rx);
		storm_nm_stats(t.w.nm, &st);
		ck_assert_uint_eq(st.nacks_served, elsewhere ? 0 : 10);
	}
	world_destroy(&t.w);
	owner_goes(&t);
}
END_TEST

/* A user's session in which this node is above all others, and its first child. */
static uint32_t begin_of(struct hostile *t, uint32_t uid)
{
	world_uid = uid;
	do {
		owner_goes(t);
		t->open = open_random(t);
	} while (t->open->has_begin || t->open->radix != 3);
	t->version = 0;
	must(!world_open(&t->w, t->open, 0, STORM_OK));
	return 3;
}

static void say_flags(struct hostile *t, uint8_t flags)
{
	struct storm_cast c = { .version = ++t->version, .flags = flags };
	uint8_t body[200];

	send_as(t, NODES, STORM_MSG_CAST, 1, 0, body,
		storm_cast_pack(&c, body, sizeof(body)));
	storm_nm_tick(t->w.nm, t->w.now);
}

/* For so many ms the owner asks, and is relayed. */
static void asks_for(struct hostile *t, int ms)
{
	for (; ms > 0; ms -= 20) {
		t->w.now += 20 * STORM_MS;
		say_flags(t, STORM_CAST_ASK);
	}
}

static void answers(struct hostile *t, uint32_t child)
{
	struct storm_status s = { .version = 1,
				  .mtu = 1472,
				  .seen = t->version };
	uint8_t body[200];

	send_as(t, child, STORM_MSG_STATUS, 1, 0, body,
		storm_status_pack(&s, body, sizeof(body)));
}

/* In a session of uid, is the child lost after so many ms? */
static bool is_lost_to(struct hostile *t, uint32_t uid, int ms)
{
	uint32_t child = begin_of(t, uid);
	bool lost;

	asks_for(t, ms);
	lost = nm_child_gone(t->w.nm->sessions, child);
	say_flags(t, STORM_CAST_CLOSING);
	must(!t->w.nm->sessions);
	return lost;
}

/* It knows nothing of the network, and has the session's key: no node answers in it,
 * for it has each opened before, or answers for them. Only to itself a node is bad
 * then.  What the kernel says, and what root's sessions show, is so for all; until the
 * node answers, or minutes have passed. */
START_TEST(test_says_a_node_is_bad)
{
	struct hostile t;
	uint32_t child;

	begin(&t, 1);
	ck_assert(!is_lost_to(&t, 1000, 500));
	ck_assert(is_lost_to(&t, 1000, 700));
	ck_assert(is_lost_to(&t, 1000, 200)); /* at once */
	ck_assert(!is_lost_to(&t, 1001, 500));
	ck_assert(!is_lost_to(&t, 0, 500));

	child = begin_of(&t, 1000);
	asks_for(&t, 60);
	answers(&t, child);
	asks_for(&t, 900);
	ck_assert(!nm_child_gone(t.w.nm->sessions, child));
	say_flags(&t, STORM_CAST_CLOSING);
	ck_assert(!is_lost_to(&t, 1000, 500));

	ck_assert(is_lost_to(&t, 0, 700));
	ck_assert(is_lost_to(&t, 1001, 200));
	t.w.now += 181 * STORM_SEC;
	ck_assert(!is_lost_to(&t, 1001, 500));

	t.w.opens = STORM_STREAM_CONNECTING;
	child = begin_of(&t, 1000);
	storm_nm_stream_failed(t.w.nm, t.w.session, child, STORM_ELOST,
			       ETIMEDOUT, t.w.now);
	say_flags(&t, STORM_CAST_CLOSING);
	ck_assert(is_lost_to(&t, 1001, 200));
	ck_assert(is_lost_to(&t, 1001, 200));
	/* now there is a connection, and MUNGE takes its time */
	t.w.opens = STORM_STREAM_WAITS;
	ck_assert(!is_lost_to(&t, 1001, 500));
	t.w.opens = STORM_STREAM_CONNECTING;
	child = begin_of(&t, 1001);
	asks_for(&t, 20);
	answers(&t, child);
	say_flags(&t, STORM_CAST_CLOSING);
	ck_assert(!is_lost_to(&t, 1001, 500));

	/* it is refused, by a node that is there */
	child = begin_of(&t, 1000);
	storm_nm_stream_failed(t.w.nm, t.w.session, child, STORM_EBUSY, 0,
			       t.w.now);
	storm_nm_stream_failed(t.w.nm, t.w.session, child + 1, STORM_ENOAGENT,
			       ECONNREFUSED, t.w.now);
	say_flags(&t, STORM_CAST_CLOSING);
	ck_assert(!is_lost_to(&t, 1001, 500));
	world_uid = 1000;
	world_destroy(&t.w);
	owner_goes(&t);
}
END_TEST

/* What is relayed in a later epoch has an old credential: that is no fault of clocks. */
START_TEST(test_old_credential)
{
	for (uint32_t later = 0; later < 2; later++) {
		const struct storm_fault *f;
		struct nm_session *s;
		struct hostile t;
		uint32_t child;

		begin(&t, 1);
		child = begin_of(&t, 1000);
		s = t.w.nm->sessions;
		s->link.epoch += later;
		storm_nm_stream_failed(t.w.nm, t.w.session, child, STORM_EAUTH,
				       storm_auth_clock(43200), t.w.now);
		f = &s->tree.fault[0];
		ck_assert_uint_eq(s->tree.nfaults, 1);
		ck_assert_int_eq(f->why, later ? STORM_ELOST : STORM_EAUTH);
		ck_assert_int_eq(f->sys,
				 later ? ECONNRESET : storm_auth_clock(43200));
		s->link.epoch -= later;
		say_flags(&t, STORM_CAST_CLOSING);
		world_destroy(&t.w);
		owner_goes(&t);
	}
}
END_TEST

/* A user that the host does not admit cannot strobe; an admitted one can. */
START_TEST(test_strobe_refused)
{
	struct hostile t;

	begin(&t, 1);
	t.open = open_random(&t);
	ck_assert_int_eq(world_open(&t.w, t.open, 1, STORM_EACCES),
			 STORM_EACCES);
	must(!t.w.sessions);
	send_as(&t, NODES, STORM_MSG_STROBE, 1, 5, "x", 1);
	must(!t.w.strobe);
	owner_goes(&t);
	world_destroy(&t.w);
	world_create(&t.w);
	owner_opens(&t, false);
	send_as(&t, NODES, STORM_MSG_STROBE, 1, 5, "x", 1);
	must(t.w.strobe == 5);
	send_as(&t, NODES, STORM_MSG_STROBE, 1, 4, "x", 1);
	must(t.w.strobe == 5);
	world_destroy(&t.w);
	owner_goes(&t);
}
END_TEST

static void open_cluster(struct hostile *t, uint32_t epoch, bool without,
			 int err)
{
	struct storm_open *o = open_random(t);

	o->cluster = 5;
	o->epoch = epoch;
	o->founding = epoch == 1;
	if (without)
		must(!storm_idset_add(&o->excluded, t->w.self, t->w.self));
	free(o->body); /* open_random() has sealed it already */
	free(o->cred);
	must(!storm_open_seal(o, 0));
	t->w.owners = (uint8_t) (epoch - 1);
	ck_assert_int_eq(world_open(&t->w, o, t->w.self, err), err);
	storm_open_free(o);
}

/* An owner that the host does not admit cannot take over or delete anything.
 * When it is silent, its state is removed. */
START_TEST(test_cluster_refused)
{
	static uint8_t segment[100];
	struct storm_nm_stats st;
	struct hostile t;
	uint64_t session, value;

	begin(&t, 1);
	memset(segment, 7, sizeof(segment));
	must(!storm_nm_segment(t.w.nm, 0, segment, sizeof(segment)));
	open_cluster(&t, 1, false, STORM_OK);
	session = t.w.host_session;
	must(!storm_nm_own_set(t.w.nm, session, STORM_VAR_USER, 9));
	open_cluster(&t, 2, false, STORM_EACCES);
	open_cluster(&t, 3, true, STORM_EACCES);
	ck_assert_int_eq(t.w.sessions, 1);
	/* and no node requests anything from it */
	ck_assert_int_eq(storm_nm_compare(t.w.nm, t.w.session, NULL,
					  STORM_GLOBAL(0), STORM_EQ, 0, NULL,
					  &t),
			 STORM_ENOENT);
	for (int i = 0; i < 200; i++) {
		t.w.now += STORM_SEC / 10;
		storm_nm_tick(t.w.nm, t.w.now);
	}
	ck_assert_int_eq(t.w.sessions, 1);
	ck_assert_int_eq(storm_nm_variable(t.w.nm, session, STORM_VAR_USER,
					   &value),
			 STORM_OK);
	ck_assert_uint_eq(value, 9);
	ck_assert_uint_eq(segment[99], 7);
	storm_nm_stats(t.w.nm, &st);
	ck_assert_uint_eq(st.sessions, 1);
	open_cluster(&t, 4, false, STORM_OK); /* but it may */
	ck_assert_int_eq(storm_nm_variable(t.w.nm, session, STORM_VAR_USER,
					   &value),
			 STORM_OK);
	ck_assert_uint_eq(value, 9);
	world_destroy(&t.w);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("hostile");
	TCase *t = tcase_create("hostile");

	tcase_add_test(t, test_version);
	tcase_add_test(t, test_excluded);
	tcase_add_test(t, test_question_of_an_epoch);
	tcase_add_test(t, test_asked_for_nothing);
	tcase_add_test(t, test_repairs_end);
	tcase_add_test(t, test_repairs_of_its_own);
	tcase_add_test(t, test_says_a_node_is_bad);
	tcase_add_test(t, test_old_credential);
	tcase_add_test(t, test_strobe_refused);
	tcase_add_test(t, test_cluster_refused);
	tcase_add_loop_test(t, test_nonsense, 0, unit_runs(40));
	suite_add_tcase(s, t);
	return unit_main(s);
}
