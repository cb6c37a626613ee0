/*
 * test_data.c - DATA at a Node Manager, in batches as a network delivers them: in
 * any order, twice, from several senders, forged, and mixed with other messages.
 * What is reported as present is present, and equals what was sent.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include "src/libstorm/protocol/nm/nm_private.h"
#include "src/libstorm/wire/cast.h"
#include "unit.h"

#include "testsuite/fuzz/world.h"

#define BATCH 100
#define SELF 5
#define PARENT 1 /* with a radix of 4 */
#define OP 1
#define OWNER WORLD_NODES

static struct world w;
static struct nm_session *session;
static struct rnd r;
static uint8_t *file; /* what is sent */
static uint64_t size, chunks;
static uint32_t chunk;
static bool *sent;
/* not handed over yet */
static struct storm_rx rx[BATCH];
static size_t count;
static uint64_t forged, foreign;

static void open_session(void)
{
	struct storm_open *o = calloc(1, sizeof(*o));
	struct storm_node list[WORLD_NODES];

	must(o);
	o->job_id = 1;
	o->owner.port = 8383;
	o->radix = 4;
	o->mtu = STORM_DATAGRAM_MAX;
	o->window = 1 << 24;
	o->dead_timeout = o->heartbeat = 1000 * STORM_SEC;
	o->epoch = 1;
	o->count = WORLD_NODES;
	for (uint32_t i = 0; i < WORLD_NODES; i++)
		list[i] = (struct storm_node) { "n", { .port = 8383 } };
	must(!storm_nodes_make(&o->nodes, list, WORLD_NODES));
	o->has_begin = true;
	o->begin.op = OP;
	o->begin.size = size;
	o->begin.to.kind = STORM_TARGET_MEMORY;
	must(!storm_open_seal(o, 0));
	must(!world_open(&w, o, SELF, STORM_OK));
	storm_open_free(o);
	session = w.nm->sessions;
	must(session && session->xfer.mem);
}

static void begin(int seed)
{
	r = rnd_of(seed);
	chunk = 256 + below(&r, below(&r, 2) ? 1200 : 8600);
	size = 1 + below(&r, 1 << 20);
	chunks = (size + chunk - 1) / chunk;
	file = malloc(size);
	sent = calloc(chunks, sizeof(*sent));
	must(file && sent);
	rnd_fill(&r, file, size);
	forged = foreign = 0;
	memset(&w, 0, sizeof(w));
	world_create(&w);
	w.epoch = 1;
	open_session();
}

static void end(void)
{
	world_destroy(&w);
	free(file);
	free(sent);
}

/* Exactly what arrived is reported as present. */
static void check(void)
{
	const struct nm_xfer *x = &session->xfer;

	for (uint64_t i = 0; i < chunks; i++) {
		uint64_t off = i * chunk;

		must((x->mapped && storm_chunkmap_has(&x->map, i)) == sent[i]);
		must(!sent[i] ||
		     !memcmp(x->mem + off, file + off,
			     size - off < chunk ? size - off : chunk));
	}
	ck_assert_uint_eq(w.nm->link_stats.bad_seal, forged);
	ck_assert_uint_eq(w.nm->link_stats.bad_session, foreign);
}

static void hand_over(void)
{
	storm_nm_datagrams(w.nm, rx, count, w.now);
	while (count)
		free(rx[--count].buf);
}

static struct storm_rx *put_rx(uint32_t sender, uint8_t type, uint64_t op,
			       const void *body, size_t len)
{
	struct storm_header h = { .type = type, .epoch = 1, .op = op };

	if (count == BATCH)
		hand_over();
	sealer_make(w.sealer, sender, HOW_GROUP, &h, body, len, &rx[count]);
	return &rx[count++];
}

static size_t chunk_body(uint64_t i, uint8_t *body)
{
	struct storm_out o = { body, body + STORM_DATAGRAM_MAX, false };
	uint64_t off = i * chunk;
	size_t len = size - off < chunk ? size - off : chunk;

	storm_put64(&o, off);
	storm_put(&o, file + off, len);
	return (size_t) (o.p - body);
}

static void put_chunk(uint64_t i, uint32_t sender)
{
	uint8_t body[STORM_DATAGRAM_MAX];

	put_rx(sender, STORM_MSG_DATA, OP, body, chunk_body(i, body));
	sent[i] = true;
}

/* Flip a bit, but none of those that name the session. */
static void put_forged(uint64_t i, uint32_t sender)
{
	uint8_t body[STORM_DATAGRAM_MAX];
	struct storm_rx *d =
		put_rx(sender, STORM_MSG_DATA, OP, body, chunk_body(i, body));

	d->buf[STORM_HEADER_LEN +
	       below(&r, (uint32_t) (d->len - STORM_HEADER_LEN))] ^=
		(uint8_t) (1 << below(&r, 8));
	forged++;
}

/* Sealed correctly, but not part of this transfer. */
static void put_strange(uint32_t sender)
{
	uint8_t body[STORM_DATAGRAM_MAX];
	uint64_t i = below(&r, (uint32_t) chunks);
	size_t len = chunk_body(i, body);
	struct storm_rx *d;

	switch (below(&r, 5)) {
	case 0: /* another offset */
		body[7] ^= 1;
		put_rx(sender, STORM_MSG_DATA, OP, body, len);
		break;
	case 1: /* no chunk at all */
		put_rx(sender, STORM_MSG_DATA, OP, body, below(&r, 9));
		break;
	case 2: /* the last one's transfer, or the next one's */
		put_rx(sender, STORM_MSG_DATA, OP + 1, body, len);
		break;
	case 3: /* of another session */
		d = put_rx(sender, STORM_MSG_DATA, OP, body, len);
		d->buf[8] ^= 1;
		foreign++;
		break;
	default: /* something else in between */
		put_rx(PARENT, STORM_MSG_NACK, OP, body, 3);
	}
}

/* The owner's state once so many bytes are sent. */
static void say_sent(uint64_t bytes)
{
	struct storm_cast c = { .version = 1,
				.op = OP,
				.size = size,
				.chunk = chunk,
				.sent = bytes,
				.has_digest = bytes == size };
	uint8_t body[200];
	size_t len;

	storm_sha256(file, size, c.digest);
	len = storm_cast_pack(&c, body, sizeof(body));
	must(len);
	put_rx(OWNER, STORM_MSG_CAST, OP, body, len);
	hand_over();
	must(session->xfer.mapped);
}

static void say_chunk(void)
{
	say_sent(size);
}

/* From the owner, now and then from the parent, which retransmits. */
static uint32_t somebody(void)
{
	return below(&r, 10) ? OWNER : PARENT;
}

START_TEST(test_batches)
{
	uint64_t at = 0;

	begin(_i);
	say_chunk();
	for (int k = 0; k < 40 && !storm_chunkmap_full(&session->xfer.map);
	     k++) {
		for (uint32_t n = below(&r, 2 * BATCH); n; n--) {
			uint64_t i = below(&r, 20) ?
					     at++ :
					     below(&r, (uint32_t) chunks);

			i %= chunks;
			if (!below(&r, 12))
				put_forged(i, somebody());
			else if (!below(&r, 12))
				put_strange(somebody());
			else if (below(&r, 12))
				put_chunk(i, somebody());
			/* or it was lost */
		}
		hand_over();
		if (storm_chunkmap_full(&session->xfer.map))
			break;
		check();
	}
	for (uint64_t i = 0; i < chunks; i++)
		if (!sent[i])
			put_chunk(i, OWNER);
	hand_over();
	must(storm_chunkmap_full(&session->xfer.map));
	ck_assert_int_eq(session->xfer.phase, STORM_PHASE_STAGED);
	must(!memcmp(session->xfer.mem, file, size));
	end();
}
END_TEST

/* All of a batch but its first and last is forged. No forged chunk is reported
 * as present, and those two are. A chunk that was present before, in the place
 * of a forged one, still is. */
START_TEST(test_forged_in_the_middle)
{
	enum { N = 32 };

	begin(_i);
	if (chunks > N) {
		say_chunk();
		put_chunk(N / 2, OWNER);
		put_chunk(0, OWNER);
		hand_over();
		put_chunk(1, OWNER);
		for (uint64_t i = 2; i < N - 1; i++)
			put_forged(i, OWNER);
		put_chunk(N - 1, OWNER);
		hand_over();
		check();
	}
	end();
}
END_TEST

/* Memory is unsealed to where it stays, in whatever order it comes. */
START_TEST(test_not_moved)
{
	begin(_i);
	say_chunk();
	for (uint64_t i = 0; i < chunks; i++)
		put_chunk(_i % 2 ? i : chunks - 1 - i, OWNER);
	hand_over();
	must(storm_chunkmap_full(&session->xfer.map));
	must(!memcmp(session->xfer.mem, file, size));
	ck_assert_uint_eq(w.nm->stats.data_moved, 0);
	end();
}
END_TEST

/* A member of the session seals other bytes as a chunk of the transfer. */
START_TEST(test_forging_member)
{
	uint8_t body[STORM_DATAGRAM_MAX];
	uint64_t bad;
	size_t len;

	begin(_i);
	bad = below(&r, (uint32_t) chunks);
	say_chunk();
	for (uint64_t i = 0; i < chunks; i++) {
		if (i == bad) {
			len = chunk_body(i, body);
			body[8 + below(&r, (uint32_t) len - 8)] ^=
				(uint8_t) (1 << below(&r, 8));
			put_rx(PARENT, STORM_MSG_DATA, OP, body, len);
		}
		put_chunk(i, OWNER);
	}
	hand_over();
	must(storm_chunkmap_full(&session->xfer.map));
	ck_assert_int_eq(session->xfer.err, STORM_EVERIFY);
	ck_assert_int_eq(session->xfer.phase, STORM_PHASE_BEGUN);
	end();
}
END_TEST

/* Run timers for so long, and stop at each. */
static void wait_ms(uint64_t ms)
{
	for (uint64_t end = w.now + ms * STORM_MS; w.now < end;
	     w.now += STORM_MS)
		storm_nm_tick(w.nm, w.now);
}

static void begin_with_many(void)
{
	begin(1);
	for (int seed = 2; chunks < 20; seed++) {
		end();
		begin(seed);
	}
}

/* Chunk 1 of some is missing, and is asked for. */
static const struct nm_repair *begin_with_gap(void)
{
	begin_with_many();
	say_chunk();
	put_chunk(0, OWNER);
	put_chunk(2, OWNER);
	hand_over();
	wait_ms(5);
	ck_assert_uint_eq(session->xfer.repair.lost, 1);
	return &session->xfer.repair;
}

/* A chunk shows the round trip unless it was asked for twice: its repair may be the
 * first one's, and then seems to take no time. */
START_TEST(test_round_trip)
{
	const struct nm_repair *p = begin_with_gap();

	put_chunk(1, OWNER);
	hand_over();
	must(p->rtt && p->rtt < 5 * STORM_MS);
	end();

	p = begin_with_gap();
	wait_ms(60); /* silence: all is asked for, again and again */
	must(p->lost == chunks - 2 && w.nm->stats.nacks_sent > 2);
	put_chunk(1, OWNER);
	put_chunk(3, OWNER);
	hand_over();
	ck_assert_uint_eq(p->rtt, 0);
	end();
}
END_TEST

/* What is missing anew is asked for soon, also if it is time meanwhile to ask for
 * the old once more. */
START_TEST(test_gap_beside_older_ones)
{
	const struct nm_repair *p = begin_with_gap();
	uint64_t i = 3;

	while (w.now + STORM_MS < p->all_at) {
		if ((p->all_at - w.now) / STORM_MS % 4 == 1)
			put_chunk(i++, OWNER);
		hand_over();
		wait_ms(1);
	}
	must(i > 4 && i + 1 < chunks);
	put_chunk(i + 1, OWNER);
	hand_over();
	wait_ms(6);
	ck_assert_uint_eq(p->lost, 2);
	end();
}
END_TEST

/* The owner falls silent before it says that it has sent so much.  What is missing
 * is asked for again and again, and no timer is over for good. */
START_TEST(test_gap_beyond_what_was_said)
{
	begin_with_many();
	say_sent(0);
	put_chunk(0, OWNER);
	put_chunk(2, OWNER);
	hand_over();
	for (uint64_t over = w.now + 200 * STORM_MS; w.now < over;
	     w.now += STORM_MS)
		if (storm_nm_tick(w.nm, w.now) <= w.now)
			must(storm_nm_tick(w.nm, w.now) > w.now);
	ck_assert_uint_gt(w.nm->stats.nacks_sent, 3);
	end();
}
END_TEST

int main(void)
{
	Suite *s = suite_create("data");
	TCase *t = tcase_create("data");

	tcase_add_loop_test(t, test_batches, 0, unit_runs(40));
	tcase_add_loop_test(t, test_forged_in_the_middle, 0, 16);
	tcase_add_loop_test(t, test_not_moved, 0, 16);
	tcase_add_loop_test(t, test_forging_member, 0, 16);
	tcase_add_test(t, test_round_trip);
	tcase_add_test(t, test_gap_beside_older_ones);
	tcase_add_test(t, test_gap_beyond_what_was_said);
	suite_add_tcase(s, t);
	return unit_main(s);
}
